//! Advice that rests on samples and counters.

use sintonia_insight::advice::Advice;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};
use sintonia_recording::testing::*;

use crate::play::{Play, given};

const PERIOD_MS: u64 = 10;

/// Samples of all computation, in one frame.
fn samples(calls: &[TestCall], frame: u32) -> ThreadSamples {
    let mut samples = Vec::new();
    for pair in calls.windows(2) {
        let times = (pair[0].leave + 1..pair[1].enter).step_by((PERIOD_MS * MS as u64) as usize);
        samples.extend(times.map(|time| Sample { time: time as i64, frame, in_kernel: false, in_mpi: false, is_truncated: false }));
    }
    ThreadSamples { thread: 0, lost: 0, samples }
}

fn frame(caller: Option<u32>, file: Option<&str>, line: Option<u32>) -> StackFrame {
    StackFrame { caller, function: Some("f".into()), file: file.map(Into::into), line, module: "module".into() }
}

/// Rank 0 spends 60 ms at the line of a broadcast of an object, in one of these frames.
fn broadcast(busy_in: u32) -> Vec<Advice> {
    let source = "/home/me/solve.py";
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.all_work(|_| 20);
        play.meet(3, &collective("MPI_Barrier"), 0);
        play.work(0, 60);
        for bytes in [8, 1 << 20] {
            play.meet(5, &collective("MPI_Bcast").peer(0).sent(bytes).received(bytes), 0);
        }
    }
    let frames = vec![
        frame(None, Some(source), Some(5)),
        // The module _pickle, called by mpi4py.
        frame(Some(0), Some("/lib/mpi4py/MPI.pyx"), Some(77)),
        // A function of the program, which the argument calls.
        frame(Some(0), Some(source), Some(20)),
        frame(Some(0), Some("/lib/python3/pickle.py"), Some(9)),
    ];
    let recording = play.into_calls().into_iter().fold(RecordingBuilder::new().source(source), |builder, calls| {
        let sampled = samples(&calls, busy_in);
        builder.rank(calls).samples(PERIOD_MS * MS as u64, &[sampled])
    });
    given(&recording.stack_frames(frames).write())
}

#[test]
fn pickling_at_the_line_of_a_broadcast_is_told_from_what_its_argument_computes() {
    for pickling in [1, 3] {
        let advice = broadcast(pickling);
        assert_eq!((advice[0].kind, advice[0].source.line), ("pickled_messages", Some(5)), "{advice:#?}");
    }
    let advice = broadcast(2);
    assert!(advice.iter().all(|advice| advice.kind != "pickled_messages"), "solve() is no pickling: {advice:#?}");
}

/// Ranks that compute between calls of one line, the first `slow` of them for half as long again, and count something.
fn counted(slow: usize, counter: &str, per_usual_ms: fn(bool) -> i64, runs: bool) -> Vec<Advice> {
    let mut play = Play::new(5);
    for _ in 0..20 {
        play.all_work(|rank| if rank < slow { 90 } else { 60 });
        play.meet(2, &collective("MPI_Barrier"), 0);
    }
    let mut builder = RecordingBuilder::new();
    for (rank, calls) in play.into_calls().into_iter().enumerate() {
        let mut thread = ThreadCounters::new(0);
        for pair in calls.windows(2) {
            thread.push(pair[0].leave as i64, pair[1].enter as i64, &[60 * per_usual_ms(rank < slow)]);
        }
        let counters = RankCounters { counters: vec![CounterDefinition::event_count(counter)], threads: vec![thread] };
        let sampled = if runs { samples(&calls, 0) } else { ThreadSamples::default() };
        builder = builder.rank(calls).counters(CounterIntervalKind::Segments, &counters).samples(PERIOD_MS * MS as u64, &[sampled]);
    }
    given(&builder.stack_frames(vec![frame(None, None, None)]).write())
}

#[test]
fn counters_tell_slow_ranks_at_a_single_place() {
    let kind = |advice: &[Advice]| advice[0].kind;
    let equal = |_| 1_000_000;
    let more = |is_slow| if is_slow { 1_500_000 } else { 1_000_000 };
    for slow in [1, 2] {
        let advice = counted(slow, "instructions", equal, true);
        assert_eq!(kind(&advice), "slow_rank", "{advice:#?}");
        assert!(advice[0].evidence.contains("with as many instructions"), "{}", advice[0].evidence);
    }
    let slower_clock = counted(2, "cycles", equal, true);
    assert_eq!(kind(&slower_clock), "slow_rank");
    assert!(slower_clock[0].evidence.contains("with as many cycles"), "{}", slower_clock[0].evidence);
    assert_eq!(kind(&counted(2, "instructions", more, true)), "load_imbalance", "they have more work");
    assert_eq!(kind(&counted(2, "cycles", more, true)), "load_imbalance");
    assert_eq!(kind(&counted(2, "instructions", equal, false)), "load_imbalance", "they sleep");
}
