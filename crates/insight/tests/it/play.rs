//! Handmade runs for the tests of advice.

use sintonia_insight::RunSummary;
use sintonia_insight::advice::Advice;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::testing::*;

/// A run under construction: the calls of each rank, and its current time.
pub(crate) struct Play {
    pub(crate) now: Vec<u64>,
    calls: Vec<Vec<TestCall>>,
}

impl Play {
    pub(crate) fn new(ranks: usize) -> Play {
        Play { now: vec![10; ranks], calls: vec![vec![init().line(1).at_ms(0, 10)]; ranks] }
    }

    pub(crate) fn work(&mut self, rank: usize, ms: u64) {
        self.now[rank] += ms;
    }

    pub(crate) fn all_work(&mut self, ms: impl Fn(usize) -> u64) {
        (0..self.now.len()).for_each(|rank| self.work(rank, ms(rank)));
    }

    pub(crate) fn call(&mut self, rank: usize, line: u32, descriptor: CallDescriptor, until: u64) {
        self.calls[rank].push(descriptor.line(line).at_ms(self.now[rank], until));
        self.now[rank] = until;
    }

    /// All ranks wait for the last one; then the collective takes a while.
    pub(crate) fn meet(&mut self, line: u32, descriptor: &CallDescriptor, takes: u64) {
        let last = self.now.iter().max().unwrap() + takes;
        (0..self.now.len()).for_each(|rank| self.call(rank, line, descriptor.clone(), last));
    }

    /// The root continues, the others wait for it.
    pub(crate) fn broadcast(&mut self, line: u32, root: usize) {
        let from_root = self.now[root];
        for rank in 0..self.now.len() {
            let until = self.now[rank].max(from_root);
            self.call(rank, line, collective("MPI_Bcast").peer(root as i32).sent(8), until);
        }
    }

    /// A message with an eager send.
    pub(crate) fn send(&mut self, from: usize, to: usize, line: u32) -> u64 {
        let sent = self.now[from];
        self.call(from, line, send(to as i32), sent);
        sent
    }

    pub(crate) fn receive(&mut self, to: usize, from: usize, line: u32, sent: u64) {
        let until = self.now[to].max(sent);
        self.call(to, line, receive(from as i32), until);
    }

    pub(crate) fn message(&mut self, from: usize, to: usize, lines: (u32, u32)) {
        let sent = self.send(from, to, lines.0);
        self.receive(to, from, lines.1, sent);
    }

    /// A message with a synchronous send.
    pub(crate) fn hand_over(&mut self, from: usize, to: usize, lines: (u32, u32)) {
        let met = self.now[from].max(self.now[to]) + 1;
        self.call(from, lines.0, send(to as i32).sent(1 << 20), met);
        self.call(to, lines.1, receive(from as i32).received(1 << 20), met);
    }

    /// The calls of each rank, to the end of the run.
    pub(crate) fn into_calls(mut self) -> Vec<Vec<TestCall>> {
        for rank in 0..self.now.len() {
            let until = self.now[rank] + 1;
            self.call(rank, 99, finalize(), until);
        }
        self.calls
    }

    pub(crate) fn into_recording(self) -> TestRecording {
        record_calls(self.into_calls())
    }

    pub(crate) fn advice(self) -> Vec<Advice> {
        let recording = self.into_recording();
        given(&recording)
    }

    /// The advice if the ranks ran on these hosts.
    pub(crate) fn advice_on(self, hosts: &[&str], of_rank: &[u32]) -> Vec<Advice> {
        let recording = self.into_recording().with_header(|header| {
            header.hosts = hosts.iter().map(|host| (*host).into()).collect();
            header.ranks.iter_mut().zip(of_rank).for_each(|(rank, host)| rank.host = *host);
        });
        given(&recording)
    }
}

pub(crate) fn given(recording: &Recording) -> Vec<Advice> {
    let summary = RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap();
    let sum: f64 = summary.advice.iter().filter_map(|advice| advice.saving).map(|saving| saving.likely_s()).sum();
    assert!(sum <= summary.work_s, "no second is saved twice: {:#?}", summary.advice);
    summary.advice
}

/// Milliseconds that a change most likely saves.
pub(crate) fn saved_ms(advice: &Advice) -> i64 {
    (advice.saving.unwrap().likely_s() * 1e3).round() as i64
}

/// Kind, line and milliseconds.
pub(crate) fn advice_rows(advice: &[Advice]) -> Vec<(&'static str, u32, i64)> {
    advice.iter().map(|advice| (advice.kind, advice.source.line.unwrap(), saved_ms(advice))).collect()
}
