//! Recordings whose ranks had to wait for a core are replayed as if each had had one. All expected times are counted by hand.

use std::path::Path;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::testing::{RecordingBuilder, TestCall, TestRecording, collective, finalize, init, receive, send};
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::core_waits::CoreWaitRemoval;
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, TransferCounts, replay};
use sintonia_replay::scenario::{ReplayScenario, ScenarioResult};
use sintonia_replay::what_if::WhatIf;

const US: u64 = 1000;
const MS: u64 = 1_000_000;

/// A thread that waited for a core in these intervals, all the time.
fn waits(intervals: &[(u64, u64)]) -> [ThreadOffCpu; 1] {
    let interval = |(begin, end): &(u64, u64)| OffCpuInterval {
        begin: *begin as i64,
        end: *end as i64,
        waiting_ns: end - begin,
        ..OffCpuInterval::default()
    };
    [ThreadOffCpu::new(0, intervals.iter().map(interval).collect())]
}

/// The calls of a rank, and when it waited for a core.
type RankCalls<'a> = (Vec<TestCall>, &'a [(u64, u64)]);

fn record(ranks: [RankCalls; 2]) -> TestRecording {
    ranks.into_iter().fold(RecordingBuilder::new(), |builder, (calls, off)| builder.rank(calls).off_cpu(&waits(off))).write()
}

fn scenario<'a>(recording: &'a Recording, what_if: &str) -> ReplayScenario<'a> {
    ReplayScenario { schedule: recording, bounds: None, machine: None, what_ifs: WhatIf::parse(what_if).unwrap() }
}

fn run(recording: &Recording) -> ScenarioResult {
    scenario(recording, "").run().unwrap()
}

fn ns(seconds: f64) -> f64 {
    (seconds * 1e9).round()
}

/// Rank 0 computes for 1 ms, for which it needs 2 ms. Rank 1 waits for its message, and then 900 us for the core.
fn late_receiver() -> TestRecording {
    record([
        (
            vec![init().at(0, 100), send(1).sent(8).at(2 * MS + 100, 2 * MS + 200), finalize().at(2 * MS + 200, 2 * MS + 300)],
            &[(500 * US, 1500 * US)],
        ),
        (
            vec![
                init().at(0, 100),
                receive(0).received(8).at(MS + 100, 2 * MS + 900 * US + 200),
                finalize().at(2 * MS + 900 * US + 200, 3 * MS),
            ],
            &[(2 * MS + 150, 2 * MS + 900 * US + 150)],
        ),
    ])
}

#[test]
fn computation_takes_processor_time_and_a_receive_does_not_wait_for_a_core() {
    let made = late_receiver();
    let found = run(&made);
    assert_eq!(found.seconds.map(ns), [1_000_100.0; 3], "1 ms of computation, and 100 ns from the send to the end of the receive");
    assert_eq!(ns(found.outcome.recorded_s), 2_900_100.0);
    // 1.9 ms of waiting in 2.0001 ms of rank 0 and 2.9001 ms of rank 1.
    assert!((found.outcome.core_waits.share - 1.9 / 4.9002).abs() < 1e-6, "{:?}", found.outcome.core_waits);
}

#[test]
fn with_the_cores_as_recorded_it_takes_as_long_as_recorded() {
    let made = late_receiver();
    let changes = ReplayChanges { core_waits: CoreWaitRemoval::Nothing, ..ReplayChanges::default() };
    let found = replay(&made.recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &changes, None).unwrap();
    assert_eq!((ns(found.replayed_s), ns(found.recorded_s)), (2_900_100.0, 2_900_100.0));
    let found_so = scenario(&made.recording, "cores=recorded").run().unwrap();
    assert_eq!((found_so.seconds.map(ns), found_so.baseline.map(|run| ns(run.replayed_s))), ([2_900_100.0; 3], Some(1_000_100.0)));
    assert_eq!(found.core_waits.share, 0.0);
}

#[test]
fn on_a_machine_only_computation_counts() {
    const MACHINE: &str =
        "format = 1\n[machine]\nname = \"two\"\n[network.other_node]\ntransfer.pieces = [{ intercept_s = 1e-5, slope_s_per_byte = 0 }]\n";
    let made = late_receiver();
    let machine = Machine::parse(MACHINE, Path::new("two.machine.toml")).unwrap();
    let case = ReplayScenario { schedule: &made.recording, bounds: None, machine: Some(machine), what_ifs: Vec::new() };
    let found = case.run().unwrap();
    assert_eq!(found.seconds.map(ns), [1_010_000.0; 3]);
    assert_eq!(found.undisturbed_s.map(ns), Some(1_000_100.0), "what to compare with");
}

#[test]
fn a_partner_without_a_core_delays_a_call_and_the_interval_says_by_how_much_at_most() {
    // Rank 0 enters its send, and waits 4 ms for the core on which rank 1 polls.
    let made = record([
        (
            vec![init().at(0, 100), send(1).sent(8).at(MS + 100, 5 * MS + 200), finalize().at(5 * MS + 200, 6 * MS)],
            &[(MS + 150, 5 * MS + 150)],
        ),
        (vec![init().at(0, 100), receive(0).received(8).at(MS, 5 * MS + 1100), finalize().at(5 * MS + 1100, 6 * MS)], &[]),
    ]);
    let found = run(&made);
    assert_eq!(found.outcome.core_waits.disturbed_calls, 1);
    assert_eq!(found.seconds.map(ns), [1_001_000.0, 1_001_000.0, 5_001_000.0], "1 us after the send, or 4 ms and 1 us");
}

#[test]
fn a_rank_without_a_core_delays_a_collective() {
    // Both arrive at 1 ms; rank 1 gets the core 4 ms later, rank 0 polls meanwhile.
    let made = record([
        (vec![init().at(0, 100), collective("MPI_Barrier").at(MS + 100, 5 * MS + 2100), finalize().at(5 * MS + 2100, 6 * MS)], &[]),
        (
            vec![init().at(0, 100), collective("MPI_Barrier").at(MS + 100, 5 * MS + 2100), finalize().at(5 * MS + 2100, 6 * MS)],
            &[(MS + 100, 5 * MS + 100)],
        ),
    ]);
    assert_eq!(run(&made).seconds.map(ns), [1_002_000.0, 1_002_000.0, 5_002_000.0]);
}

#[test]
fn time_in_which_both_ranks_wait_is_removed_once() {
    // From the send at 1 ms on, rank 0 waits 2 ms, rank 1 the second of them and one more; 50 us remain.
    let made = record([
        (vec![init().at(0, 100), send(1).sent(8).at(MS + 100, 3 * MS + 200), finalize().at(4 * MS, 5 * MS)], &[(MS + 100, 3 * MS + 100)]),
        (
            vec![init().at(0, 100), receive(0).received(8).at(MS, 4 * MS + 50_100), finalize().at(4 * MS + 50_100, 5 * MS)],
            &[(2 * MS + 100, 4 * MS + 100)],
        ),
    ]);
    assert_eq!(ns(run(&made).outcome.ranks[1].replayed_s), 1_050_000.0);
}

/// Messages of 8 bytes: `clean` ones take 3 us, in the others the sender waits 16 ms for a core.
fn messages(clean: u64, disturbed: u64) -> TestRecording {
    let (mut sends, mut receives, mut off) = (vec![init().at(0, 100)], vec![init().at(0, 100)], Vec::new());
    for turn in 0..clean + disturbed {
        let begin = MS + turn * 20 * MS;
        let late = if turn < clean { 0 } else { 16 * MS };
        if late > 0 {
            off.push((begin + 100, begin + 100 + late));
        }
        sends.push(send(1).sent(8).at(begin, begin + late + 500));
        receives.push(receive(0).received(8).at(begin - 10 * US, begin + late + 3 * US));
    }
    let end = MS + (clean + disturbed) * 20 * MS;
    [&mut sends, &mut receives].into_iter().for_each(|calls| calls.push(finalize().at(end, end + 100)));
    record([(sends, &off), (receives, &[])])
}

#[test]
fn the_network_is_estimated_from_undisturbed_messages_or_not_at_all() {
    let made = messages(20, 200);
    let network = run(&made).recorded_network.unwrap();
    assert!((network.latency_s / 3e-6 - 1.0).abs() < 1e-3, "{network:?}");
    assert_eq!(network.transfers, TransferCounts { undisturbed: 20, disturbed: 200 });
    let few = messages(3, 200);
    let network = run(&few).recorded_network.unwrap();
    assert!(network.transfers.are_too_few() && network.latency_s == 0.0, "{network:?}");
    for change in ["latency=10us", "latency=x2", "latency=0", "bandwidth=1Gb"] {
        let error = scenario(&few.recording, change).run().unwrap_err().to_string();
        assert!(error.contains("in 200 of 203 messages that were waited for, a rank waited for a core"), "{change}: {error}");
        assert!(error.contains("--machine") && error.contains("record again"), "{change}: {error}");
    }
    let error = scenario(&few.recording, "").sensitivity().unwrap_err().to_string();
    assert!(error.contains("the recorded network is unknown"), "{error}");
    // On an ideal network and for computation it is not needed.
    assert!(scenario(&few.recording, "latency=0,bandwidth=inf").run().is_ok());
    assert!(scenario(&few.recording, "compute=x0.5").run().is_ok());
}

#[test]
fn a_disturbed_message_takes_at_least_as_long_as_undisturbed_ones() {
    let made = messages(20, 200);
    let found = run(&made);
    let site = found.outcome.sites.iter().find(|site| site.function == "MPI_Recv").unwrap();
    // Each receive waits 10 us for its send, and 3 us after it.
    assert_eq!(ns(site.replayed_s), 220.0 * 13_000.0, "{site:?}");
}

#[test]
fn the_replayed_run_waits_for_no_core() {
    let made = late_receiver();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replayed.sin");
    scenario(&made.recording, "").write_recording(made.recording.header.clone(), &path).unwrap();
    let written = Recording::open(&path).unwrap();
    assert!(written.header.ranks.iter().all(|rank| rank.off_cpu.is_none() && rank.usage.is_empty()));
    assert!(
        written.header.notes.iter().any(|note| note.contains("without the time in which ranks waited for a core")),
        "{:?}",
        written.header.notes
    );
    assert_eq!(run(&written).seconds.map(ns), [1_000_100.0; 3]);
}

#[test]
fn a_poll_that_lost_its_core_is_still_only_a_poll() {
    use sintonia_recording::raw::part;
    use sintonia_recording::testing::{call, irecv, wait};
    // Rank 1 tests twice, is without a core for 4 ms between the tests, and gets the message 1 us after it was sent.
    let test = |at: u64| call("MPI_Test").mark(part::FLAG_FALSE).at(at, at + 200);
    let made = record([
        (vec![init().at(0, 100), send(1).sent(8).at(6 * MS + 100, 6 * MS + 200), finalize().at(6 * MS + 200, 7 * MS)], &[]),
        (
            vec![
                init().at(0, 100),
                irecv(0).at(100, 200),
                test(300),
                test(4 * MS + 600),
                wait("MPI_Wait", &[(0, Some(0))]).received(8).at(4 * MS + 900, 6 * MS + 1100),
                finalize().at(6 * MS + 1100, 7 * MS),
            ],
            &[(550, 4 * MS + 550)],
        ),
    ]);
    let changes = ReplayChanges::default();
    let found = replay(&made.recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &changes, None).unwrap();
    assert_eq!(ns(found.replayed_s), 6_001_000.0, "rank 1 has nothing else to do than to wait for its message");
}
