//! Ranks in which several threads call MPI, with every number computed by hand.

use sintonia_insight::segment::Segment;
use sintonia_insight::{RunSummary, ThreadSummary};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::raw::part;
use sintonia_recording::testing::*;

use crate::found::{findings_of, ranks};

fn summary(recording: &TestRecording) -> RunSummary {
    RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap()
}

fn threads(summary: &RunSummary) -> &ThreadSummary {
    summary.threads.as_ref().expect("several threads call MPI")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Barriers of a rank or a thread from 10 to 200 ms: each computes up to `enter` and waits until `leave`.
fn barriers(times: &[(u64, u64)], thread: u16) -> Vec<TestCall> {
    times.iter().map(|(enter, leave)| collective("MPI_Barrier").line(5).at_ms(*enter, *leave).thread(thread)).collect()
}

#[test]
fn threads_and_ranks_with_the_same_work_have_the_same_efficiencies() {
    // One thread computes 190 ms less 2 x 10 ms in barriers, the other 190 ms less 2 x 60 ms.
    let (busy, waiting) = ([(10, 20), (100, 100), (190, 200)], [(10, 70), (100, 160), (200, 200)]);
    let twin = summary(&record_calls(ranks(vec![barriers(&busy, 0), barriers(&waiting, 0)])));
    let calls = [barriers(&busy, 0), barriers(&waiting, 1)].concat();
    let hybrid = summary(&record_calls(ranks(vec![calls])));
    let (a, b) = (twin.efficiency.unwrap(), hybrid.efficiency.unwrap());
    assert!(twin.threads.is_none());
    assert!(close(a.parallel, (170.0 + 70.0) / 2.0 / 190.0) && close(a.load_balance, 120.0 / 170.0), "{a:?}");
    assert!(close(a.parallel, b.parallel) && close(a.load_balance, b.load_balance), "{a:?} {b:?}");
    assert!(close(a.communication, b.communication), "{a:?} {b:?}");
    let per_thread: Vec<_> = threads(&hybrid).per_thread.iter().map(|t| (t.rank, t.thread, t.main, t.calls)).collect();
    assert_eq!(per_thread, [(0, 0, true, 5), (0, 1, false, 3)]);
    assert!(close(hybrid.per_rank[0].outside_s, 0.240) && close(hybrid.per_rank[0].mpi_s, 0.010 + 0.010 + 0.020 + 0.120));
    assert!(close(threads(&hybrid).active_s, 0.210 + 0.190));
}

#[test]
fn a_thread_counts_from_its_first_call_to_its_last() {
    // The main thread computes all the time; the other is active for 40 ms, 10 of them outside MPI.
    let run = ranks(vec![barriers(&[(100, 120), (130, 140)], 1), vec![]]);
    let s = summary(&record_calls(run));
    let e = s.efficiency.unwrap();
    assert!(close(e.parallel, (190.0 + 190.0 + 10.0) / (190.0 + 190.0 + 40.0)), "{e:?}");
    assert_eq!((threads(&s).threads, threads(&s).min_per_rank, threads(&s).max_per_rank), (3, 1, 2));
    assert_eq!((threads(&s).communication_threads, threads(&s).blocked_known), (0, false));
}

#[test]
fn a_thread_that_only_receives_or_polls_is_said_to() {
    let polls =
        (20..150).map(|ms| call("MPI_Iprobe").mark(part::FLAG_FALSE).line(7).at(ms * 1_000_000, ms * 1_000_000 + 999_000).thread(1));
    for calls in [vec![receive(1).line(3).at_ms(15, 195).thread(1)], polls.collect()] {
        let active: f64 = (calls[calls.len() - 1].leave - calls[0].enter) as f64 / 1e6;
        let s = summary(&record_calls(ranks(vec![calls, vec![]])));
        let (e, told) = (s.efficiency.unwrap(), threads(&s));
        assert!(close(e.parallel, 380.0 / (380.0 + active)), "{e:?}");
        assert_eq!(told.communication_threads, 1);
        assert!(close(told.communication_share, active / (210.0 + 210.0 + active)), "{told:?}");
        assert!(close(told.efficiency_without.unwrap().parallel, 1.0));
    }
}

#[test]
fn threads_that_only_communicate_are_no_helpers_if_they_are_the_majority() {
    let waiting = |thread| receive(0).line(3).at_ms(15, 195).thread(thread);
    let s = summary(&record_calls(ranks(vec![vec![waiting(1), waiting(2)]])));
    assert!(close(s.efficiency.unwrap().parallel, 190.0 / (190.0 + 2.0 * 180.0)));
    assert_eq!((threads(&s).communication_threads, threads(&s).efficiency_without), (2, None));
}

#[test]
fn a_main_thread_that_waits_for_the_others_to_end_does_not_compute() {
    // The other thread waits 90 of its 180 ms; the main thread is blocked until it has ended.
    let run = ranks(vec![barriers(&[(15, 60), (105, 150), (195, 195)], 1)]);
    let blocked = OffCpuInterval { begin: 12 * MS, end: 196 * MS, blocked_ns: 184 * MS as u64, ..OffCpuInterval::default() };
    let known = RecordingBuilder::new().ranks(run.clone()).off_cpu(&[ThreadOffCpu::new(0, vec![blocked])]).write();
    let s = summary(&known);
    let e = s.efficiency.unwrap();
    assert!(close(e.parallel, (6.0 + 90.0) / (190.0 + 180.0)) && close(e.communication, 0.5), "{e:?}");
    assert!(threads(&s).blocked_known && close(threads(&s).per_thread[0].blocked_s, 0.184));
    let e = summary(&record_calls(run)).efficiency.unwrap();
    assert!(close(e.parallel, (190.0 + 90.0) / (190.0 + 180.0)), "{e:?}");
}

#[test]
fn the_phases_have_all_threads() {
    // Only the second threads are in the loop: each computes 10 ms and waits, one of them 10 ms, the other 20 ms.
    let turns = |wait: u64| (0..4).map(move |turn| (20 + 30 * turn, 20 + 30 * turn + wait)).collect::<Vec<_>>();
    let run = ranks(vec![barriers(&turns(10), 1), barriers(&turns(20), 1)]);
    let s = summary(&record_calls(run));
    let phase = s.phases.iter().find(|phase| phase.repeats).expect("a loop");
    let e = phase.efficiency.expect("it computes");
    // 3 segments of 20 and 10 ms, 4 calls of 10 and 20 ms.
    assert!(close(phase.seconds, 0.110), "{phase:?}");
    assert!(close(e.parallel, (60.0 + 30.0) / 2.0 / 110.0) && close(e.load_balance, 45.0 / 60.0), "{e:?}");
    assert_eq!(phase.ranks, 2);
}

#[test]
fn the_critical_path_goes_through_the_thread_that_the_main_thread_waits_for() {
    // The second thread of rank 1 waits from 50 to 120 ms for rank 0, which computes until then, and then computes until 170 ms.
    let worker = vec![receive(0).line(3).at_ms(50, 120).thread(1), send(0).line(4).at_ms(170, 171).thread(1)];
    let run = ranks(vec![vec![send(1).line(5).at_ms(120, 120), receive(1).line(6).at_ms(121, 171)], worker]);
    let path = findings_of(&run).critical_path;
    assert_eq!(path.length_ns(), 190 * MS, "from MPI_Init to MPI_Finalize");
    assert_eq!(path.segments[&Segment { from: 1, to: 5 }], 110 * MS, "rank 0 computes");
    assert_eq!(path.segments[&Segment { from: 3, to: 4 }], 50 * MS, "the thread computes");
    assert_eq!(path.ranks, [(0, 110 * MS), (1, 80 * MS)].into());
}

#[test]
fn the_critical_path_stays_on_the_main_thread_if_another_one_only_polls() {
    let poll = |ms: u64| call("MPI_Iprobe").mark(part::FLAG_FALSE).line(7).at_ms(ms, ms + 1).thread(1);
    let path = findings_of(&ranks(vec![(20..150).map(poll).collect(), vec![]])).critical_path;
    assert_eq!(path.segments, [(Segment { from: 1, to: 99 }, 190 * MS)].into());
}
