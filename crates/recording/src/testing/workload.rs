//! Recordings of programs that are hard to analyse: whatever an analysis may search for again and again, one of them has very much of it.
//!
//! Test suites of MPI libraries look like this: thousands of communicators and windows that live for a few calls, calls that all differ,
//! thousands of pending requests. The ranks are simulated step by step, so nothing arrives before it is sent.

use std::path::Path;

use super::builder::{RecordingBuilder, TestRecording};
use super::calls::{call, completed_receive, finalize, init, message, wait};
use crate::call_table::CallDescriptor;
use crate::definitions::format_ranks;
use crate::header::{CallSiteDefinition, CommunicatorDefinition, ObjectDefinition, RecordingHeader, SourceFrame};
use crate::raw::{self, RequestRef};
use crate::sealed::{RankFileWriter, WriteStats};

/// What a recording has very much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Communicators that are created, used twice and freed.
    Communicators,
    /// Messages that all differ in tag and size.
    Descriptors,
    /// Pending requests, completed one by one, newest first.
    Requests,
    /// Wildcard receives of one rank from all others.
    Wildcards,
    /// Windows that are created, used in epochs of all kinds and freed.
    Windows,
    /// Windows whose communicator is not known.
    UnknownGroups,
    /// Call sites, in random order.
    Sites,
    /// Loops that follow each other.
    Phases,
    /// Nonblocking collectives.
    Nonblocking,
    /// Pairs of ranks that wait for each other rarely.
    Partners,
    /// Prefix reductions that the ranks enter from the last to the first.
    Scans,
    /// Messages of which one end is missing.
    Unmatched,
    /// Unsuccessful probes and tests.
    Polls,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 13] = [
        Workload::Communicators,
        Workload::Descriptors,
        Workload::Requests,
        Workload::Wildcards,
        Workload::Windows,
        Workload::UnknownGroups,
        Workload::Sites,
        Workload::Phases,
        Workload::Nonblocking,
        Workload::Partners,
        Workload::Scans,
        Workload::Unmatched,
        Workload::Polls,
    ];

    /// Its name, in lower case.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// A recording with at least this number of calls in a folder.
    pub fn record(self, folder: &Path, calls: u64, ranks: u32) -> TestRecording {
        let mut run = SimulatedRun::new(folder, ranks);
        run.all(|_| init());
        while run.calls < calls {
            match self {
                Workload::Communicators => run.use_communicator(),
                Workload::Descriptors => run.exchange_anything(),
                Workload::Requests => run.complete_backwards(),
                Workload::Wildcards => run.serve_any(),
                Workload::Windows => run.use_window(Some(0)),
                Workload::UnknownGroups => run.use_window(None),
                Workload::Sites => run.call_anywhere(),
                Workload::Phases => run.execute_loop(),
                Workload::Nonblocking => run.join_early(),
                Workload::Partners => run.meet_anyone(),
                Workload::Scans => run.scan(),
                Workload::Unmatched => run.lose_messages(),
                Workload::Polls => run.poll(),
            }
        }
        run.all(|_| finalize());
        run.finish(folder)
    }
}

/// Number of call sites.
const SITES: u64 = 4000;

/// Number of pending requests of a rank.
const PENDING: u64 = 500;

/// Iterations of a loop.
const ITERATIONS: u64 = 5;

struct SimulatedRun {
    writers: Vec<RankFileWriter>,
    /// The time of each rank.
    now: Vec<u64>,
    /// Calls and steps so far.
    calls: u64,
    steps: u64,
    random: fastrand::Rng,
    communicators: Vec<CommunicatorDefinition>,
    objects: Vec<ObjectDefinition>,
}

impl SimulatedRun {
    fn new(folder: &Path, ranks: u32) -> SimulatedRun {
        std::fs::create_dir_all(folder).expect("a folder for the recording");
        let writer = |rank| RankFileWriter::create(folder, rank).expect("a file for the rank");
        SimulatedRun {
            writers: (0..ranks).map(writer).collect(),
            now: vec![1000; ranks as usize],
            calls: 0,
            steps: 0,
            random: fastrand::Rng::with_seed(1),
            communicators: Vec::new(),
            objects: Vec::new(),
        }
    }

    fn ranks(&self) -> usize {
        self.now.len()
    }

    /// A rank computes and enters a call that returns at this time or later.
    fn call(&mut self, rank: usize, descriptor: &CallDescriptor, until: u64) {
        let enter = self.now[rank];
        self.now[rank] = until.max(enter) + 100;
        self.writers[rank].write_call(0, enter, self.now[rank], descriptor).expect("a call is written");
        self.calls += 1;
    }

    fn compute(&mut self, rank: usize) {
        self.now[rank] += 500 + self.random.u64(..20_000);
    }

    /// A collective of some ranks, entered after computation.
    fn together(&mut self, members: &[usize], descriptor: impl Fn(usize) -> CallDescriptor) {
        members.iter().for_each(|rank| self.compute(*rank));
        let last = members.iter().map(|rank| self.now[*rank]).max().unwrap_or(0);
        members.iter().for_each(|rank| self.call(*rank, &descriptor(*rank), last));
    }

    fn all(&mut self, descriptor: impl Fn(usize) -> CallDescriptor) {
        self.together(&(0..self.ranks()).collect::<Vec<_>>(), descriptor);
    }

    /// A message that the receiver waits for, if it enters the receive first.
    fn send_message(&mut self, from: usize, to: usize, change: impl Fn(CallDescriptor) -> CallDescriptor) {
        let sent = self.now[from];
        self.call(from, &change(message("MPI_Send", to as i32).sent(64)), 0);
        self.call(to, &change(message("MPI_Recv", from as i32).received(64)), sent);
    }

    fn any_rank(&mut self) -> usize {
        self.random.usize(..self.ranks())
    }

    /// Two ranks, the first of which computes.
    fn any_pair(&mut self) -> (usize, usize) {
        let (from, by) = (self.any_rank(), 1 + self.random.usize(..self.ranks() - 1));
        self.compute(from);
        (from, (from + by) % self.ranks())
    }

    /// Up to four ranks next to each other.
    fn some_ranks(&mut self) -> Vec<usize> {
        let first = self.any_rank();
        let mut members: Vec<usize> = (0..self.ranks().min(4)).map(|by| (first + by) % self.ranks()).collect();
        members.sort_unstable();
        members
    }

    fn use_communicator(&mut self) {
        let members = self.some_ranks();
        let created = self.communicators.len() as u32 + 1;
        let ranks: Vec<i32> = members.iter().map(|rank| *rank as i32).collect();
        let made_by = "MPI_Comm_create_group".to_owned();
        self.communicators.push(CommunicatorDefinition { made_by, members: format_ranks(&ranks), ..CommunicatorDefinition::default() });
        self.together(&members, |_| call("MPI_Comm_create_group").on(0).created(created).line(2));
        self.together(&members, |_| call("MPI_Allreduce").on(created).sent(8).received(8).line(3));
        self.together(&members, |_| call("MPI_Scan").on(created).sent(8).received(8).line(4));
        self.together(&members, |_| call("MPI_Comm_free").on(created).line(5));
    }

    fn exchange_anything(&mut self) {
        let (from, to) = self.any_pair();
        let (tag, bytes) = (self.random.i32(0..i32::MAX), self.random.u64(..1 << 20));
        self.send_message(from, to, |call| {
            let bytes_known = if call.function.name() == "MPI_Send" { call.sent(bytes) } else { call.received(bytes) };
            bytes_known.tag(tag).line(2)
        });
    }

    fn complete_backwards(&mut self) {
        let ranks = self.ranks();
        for rank in 0..ranks {
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            for _ in 0..PENDING {
                self.call(rank, &message("MPI_Irecv", left as i32).received(8).line(2), 0);
                self.call(rank, &message("MPI_Isend", right as i32).sent(8).line(3), 0);
            }
            self.compute(rank);
        }
        let sent = self.now.iter().copied().max().unwrap_or(0);
        for rank in 0..ranks {
            for pair in 0..PENDING {
                // Every message is received after all are sent; the newest request comes first.
                self.call(rank, &wait("MPI_Wait", &[(2 * pair, None)]).line(4), 0);
                let from = ((rank + ranks - 1) % ranks) as i32;
                let receives = call("MPI_Wait").requests([completed_receive(RequestRef::Relative(2 * pair + 1), from, 8)]);
                self.call(rank, &receives.line(5), sent);
            }
        }
    }

    fn serve_any(&mut self) {
        let worker = 1 + self.random.usize(..self.ranks() - 1);
        self.compute(worker);
        let sent = self.now[worker];
        self.call(0, &message("MPI_Irecv", raw::ANY).received(8).line(2), 0);
        self.call(worker, &message("MPI_Send", 0).sent(8).line(3), 0);
        let receives = call("MPI_Wait").requests([completed_receive(RequestRef::Relative(0), worker as i32, 8)]);
        self.call(0, &receives.line(4), sent);
        self.send_message(0, worker, |call| call.line(5));
    }

    fn use_window(&mut self, communicator: Option<u32>) {
        let members: Vec<usize> = (0..self.ranks()).collect();
        let window = self.objects.len() as u32;
        self.objects.push(ObjectDefinition { kind: "window".into(), communicator, path: None });
        let on = |function: &str| call(function).on(window);
        self.together(&members, |_| call("MPI_Win_create").on(0).created(window).line(2));
        for _ in 0..2 {
            self.together(&members, |_| on("MPI_Win_fence").line(3));
            let origin = self.any_rank();
            self.call(origin, &on("MPI_Put").peer(0).sent(8).line(4), 0);
        }
        let target = self.any_rank();
        let mut released = 0;
        for origin in self.some_ranks() {
            self.compute(origin);
            self.call(origin, &on("MPI_Win_lock").value(raw::LOCK_EXCLUSIVE).peer(target as i32).line(5), released);
            self.call(origin, &on("MPI_Put").peer(target as i32).sent(8).line(6), 0);
            released = self.now[origin];
            self.call(origin, &on("MPI_Win_unlock").peer(target as i32).line(7), 0);
        }
        let (origin, target) = self.any_pair();
        self.compute(target);
        let posted = self.now[target];
        self.call(target, &on("MPI_Win_post").value(origin as i32).line(8), 0);
        self.call(origin, &on("MPI_Win_start").value(target as i32).line(9), posted);
        self.compute(origin);
        let completed = self.now[origin];
        self.call(origin, &on("MPI_Win_complete").line(10), 0);
        self.call(target, &on("MPI_Win_wait").line(11), completed);
        self.together(&members, |_| call("MPI_Win_free").created(window).line(12));
    }

    fn call_anywhere(&mut self) {
        let (from, to) = self.any_pair();
        let (sends, receives) = (self.random.u64(..SITES) as u32, self.random.u64(..SITES) as u32);
        self.send_message(from, to, |call| if call.function.name() == "MPI_Send" { call.line(sends) } else { call.line(receives) });
    }

    fn execute_loop(&mut self) {
        let site = (2 * self.steps % SITES) as u32;
        self.steps += 1;
        for _ in 0..ITERATIONS {
            self.all(|_| call("MPI_Barrier").on(0).line(site));
            self.all(|_| call("MPI_Allreduce").on(0).sent(8).received(8).line(site + 1));
        }
    }

    fn join_early(&mut self) {
        let ranks = self.ranks();
        for rank in 0..ranks {
            self.compute(rank);
            self.call(rank, &call("MPI_Ibarrier").on(0).line(2), 0);
        }
        let last = self.now.iter().copied().max().unwrap_or(0);
        (0..ranks).for_each(|rank| self.call(rank, &wait("MPI_Wait", &[(0, None)]).line(3), last));
    }

    fn meet_anyone(&mut self) {
        let (from, to) = self.any_pair();
        self.send_message(from, to, |call| call.line(2));
    }

    fn scan(&mut self) {
        let mut left = 0;
        for rank in 0..self.ranks() {
            self.now[rank] = self.now[rank].max(self.now[0] + 1000 * (self.ranks() - rank) as u64);
            left = left.max(self.now[rank]);
            self.call(rank, &call("MPI_Scan").on(0).sent(8).received(8).line(2), left);
        }
    }

    fn lose_messages(&mut self) {
        let (from, to) = self.any_pair();
        self.call(from, &message("MPI_Send", to as i32).tag(1).sent(64).line(2), 0);
        self.call(to, &message("MPI_Recv", from as i32).tag(2).received(64).line(3), 0);
        self.send_message(from, to, |call| call.tag(3).line(4));
    }

    fn poll(&mut self) {
        let (from, to) = self.any_pair();
        for _ in 0..20 {
            self.call(to, &message("MPI_Iprobe", raw::ANY).mark(raw::part::FLAG_FALSE).line(2), 0);
        }
        self.send_message(from, to, |call| call.line(3));
    }

    fn finish(self, folder: &Path) -> TestRecording {
        let SimulatedRun { writers, now, communicators, objects, .. } = self;
        let written = writers.into_iter().map(|writer| writer.finish().expect("a rank is written"));
        let add = |builder: RecordingBuilder, (stats, now): (WriteStats, u64)| builder.written_rank(stats, now as i64);
        let builder = written.zip(now).fold(RecordingBuilder::in_folder(folder), add);
        let describe = |header: &mut RecordingHeader| {
            super::builder::single_rank_groups(header);
            header.communicators.extend(communicators);
            if !objects.is_empty() {
                header.objects = objects;
            }
            header.sites = (0..SITES).map(call_site).collect();
        };
        builder.header(describe).write()
    }
}

fn call_site(line: u64) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("program.c".into()), line: Some(line as u32) };
    CallSiteDefinition { module: "program".into(), offset: line, caller: None, frames: vec![frame] }
}
