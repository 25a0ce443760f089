//! Replays on the recorded network: call overrides, and incomplete recordings.

use std::sync::Arc;

use sintonia_recording::testing::{TestRecording, record_program};
use sintonia_replay::Error;
use sintonia_replay::call_overrides::{CallOverride, CallOverrides, RankRelocation};
use sintonia_replay::changes::{DurationChange, ReplayChanges};
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, ReplayResult, replay};
use sintonia_replay::schedule::LocationId;

fn run(made: &TestRecording, changes: &ReplayChanges) -> Result<ReplayResult, Error> {
    replay(&made.recording, &ReplayCosts::Recorded(RecordedNetwork::default()), changes, None)
}

/// Nanoseconds from MPI_Init to MPI_Finalize.
fn length(made: &TestRecording, changes: &ReplayChanges) -> f64 {
    (run(made, changes).unwrap().replayed_s * 1e9).round()
}

fn manners(say: impl FnOnce(&mut CallOverrides)) -> ReplayChanges {
    let mut manners = CallOverrides::default();
    say(&mut manners);
    ReplayChanges { call_overrides: Some(manners), ..ReplayChanges::default() }
}

/// An override for the calls at a line.
fn manner(line: u32, manner: CallOverride) -> ReplayChanges {
    manners(|manners| manners.add(line, manner))
}

/// Rank 0 computes for 1000 ns and sends; rank 1 receives, then computes for 40 ns. Calls take 100 ns.
fn one_message() -> TestRecording {
    record_program(2, |process| match process.rank {
        0 => {
            process.compute(1000);
            process.send(10, 1, 7, 8);
        }
        _ => {
            // Recorded to wait.
            process.compute(1050);
            process.receive(20, 0, 7, 8);
            process.compute(40);
        }
    })
}

#[test]
fn nothing_is_different_if_nothing_is_changed() {
    let made = one_message();
    assert_eq!(length(&made, &ReplayChanges::default()), 1190.0);
    let idle = ReplayChanges { call_overrides: Some(CallOverrides::default()), force_progress: true, ..ReplayChanges::default() };
    assert_eq!(length(&made, &idle), 1190.0);
    assert_eq!(run(&made, &idle).unwrap().forced_calls, 0);
}

#[test]
fn calls_can_be_left_out_be_free_or_shared() {
    let made = one_message();
    assert_eq!(length(&made, &manner(20, CallOverride::Skipped)), 1100.0, "the end of rank 0");
    assert_eq!(length(&made, &manner(20, CallOverride::ZeroCost)), 1100.0, "received when it is entered");
    assert_eq!(length(&made, &manner(20, CallOverride::SharedByRanks)), 1140.0, "half as long on two ranks");
}

#[test]
fn an_overlapped_call_runs_beside_the_computation_after_it() {
    // 60 of its 100 ns remain after that computation.
    assert_eq!(length(&one_message(), &manner(20, CallOverride::Overlapped)), 1150.0);
}

#[test]
fn a_rank_computes_another_time_between_two_calls() {
    let mut changes = ReplayChanges::default();
    changes.loads.change((1, 10), 0, DurationChange::Scale(3.0));
    // Sent at 3000; the receive takes 100 ns after that, as recorded.
    assert_eq!(length(&one_message(), &changes), 3140.0);
    changes.loads.change((1, 10), 1, DurationChange::Scale(9.0));
    assert_eq!(length(&one_message(), &changes), 3140.0, "rank 1 does not compute there");
}

#[test]
fn what_is_waited_for_can_be_there() {
    let mut late = manner(20, CallOverride::NoWait);
    late.loads.change((1, 10), 0, DurationChange::Scale(3.0));
    let ranks = run(&one_message(), &late).unwrap().ranks;
    assert_eq!((ranks[1].replayed_s * 1e9).round(), 1190.0, "it does not wait for the later message");
}

#[test]
fn small_messages_in_a_row_can_be_one() {
    let made = record_program(2, |process| {
        for _ in 0..3 {
            match process.rank {
                0 => process.send(10, 1, 7, 8),
                _ => process.receive(20, 0, 7, 8),
            }
        }
    });
    assert_eq!(length(&made, &ReplayChanges::default()), 300.0);
    let mut merged = manner(10, CallOverride::Merged);
    merged.call_overrides.as_mut().unwrap().add(20, CallOverride::Merged);
    assert_eq!(length(&made, &merged), 100.0);
}

#[test]
fn merged_messages_take_what_their_bytes_take() {
    let made = record_program(2, |process| {
        for _ in 0..3 {
            match process.rank {
                0 => process.send(10, 1, 7, 2048),
                _ => process.receive(20, 0, 7, 2048),
            }
        }
    });
    let merged = |s_per_byte: f64| {
        manners(|manners| {
            [10, 20].into_iter().for_each(|line| manners.add(line, CallOverride::Merged));
            manners.s_per_byte = s_per_byte;
        })
    };
    // Twice 2048 bytes more than the first message.
    assert_eq!(length(&made, &merged(1e-11)), 141.0);
    assert_eq!(length(&made, &merged(f64::INFINITY)), 200.0, "half of the size up to which a message takes about as long as an empty one");
}

#[test]
fn relocated_ranks_receive_faster() {
    let moved =
        |to: Vec<u32>| manners(|manners| manners.relocation = Some(RankRelocation { old_hosts: vec![0, 1], new_hosts: to, factor: 0.25 }));
    assert_eq!(length(&one_message(), &moved(vec![0, 0])), 1115.0);
    assert_eq!(length(&one_message(), &moved(vec![1, 0])), 1190.0, "as far as before");
}

#[test]
fn a_send_that_waited_for_its_receive_waits_again() {
    let made = record_program(2, |process| match process.rank {
        0 => process.send(10, 1, 7, 8),
        _ => {
            process.compute(50);
            process.receive(20, 0, 7, 8);
        }
    });
    let end = |mut changes: ReplayChanges| {
        changes.loads.change((1, 20), 1, DurationChange::Fixed(1e-6));
        (run(&made, &changes).unwrap().ranks[0].replayed_s * 1e9).round()
    };
    assert_eq!(end(ReplayChanges::default()), 100.0, "nothing says that it waits");
    let waited = manners(|manners| manners.waiting_sends = Arc::new([(LocationId { rank: 0, thread: 0 }, vec![1])].into_iter().collect()));
    assert_eq!(end(waited), 1050.0, "it leaves 50 ns after the receive has begun");
}

/// Rank 2 waits in several ways for messages of rank 0 that are missing from the recording.
fn lacks_messages() -> TestRecording {
    record_program(3, |process| match process.rank {
        2 => {
            process.receive(20, 0, 7, 8);
            process.irecv(21, 0, 8, 8);
            process.wait_all(22);
            process.send_receive(23, 1, 0, 9, 8);
            process.collective(30, "MPI_Barrier", 0, -1, [0, 0]);
        }
        1 => {
            process.compute(250);
            process.receive(24, 2, 9, 8);
            process.collective(30, "MPI_Barrier", 0, -1, [0, 0]);
        }
        _ => {
            process.compute(400);
            process.collective(30, "MPI_Barrier", 0, -1, [0, 0]);
        }
    })
}

#[test]
fn missing_messages_are_skipped_with_forced_progress() {
    let made = lacks_messages();
    assert!(matches!(run(&made, &ReplayChanges::default()), Err(Error::Deadlock(_))));
    let outcome = run(&made, &ReplayChanges { force_progress: true, ..ReplayChanges::default() }).unwrap();
    assert_eq!(outcome.forced_calls, 3, "the receive, the wait and the exchange");
    assert_eq!((outcome.replayed_s * 1e9).round(), 500.0, "as recorded");
}
