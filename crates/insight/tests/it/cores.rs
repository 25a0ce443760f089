//! Ranks without a core, on handmade runs in which every millisecond is known: what is reported, and what no longer is.

use sintonia_insight::RunSummary;
use sintonia_program::process_group::SingleProcess;
use sintonia_program::testing::run_in_group;
use sintonia_recording::host::{HostDescription, ThreadUsage};
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::testing::*;

const ROUNDS: u64 = 20;
const NS_PER_MS: u64 = MS as u64;

/// When a core is missing.
#[derive(PartialEq)]
enum Missing {
    /// Rank 1 is preempted before it meets rank 0.
    WhileComputing,
    /// Rank 0 has none before rank 1 arrives.
    WhilePolling,
}

fn two_ranks(preempted: u64) -> TestRecording {
    two_ranks_of(Missing::WhileComputing, preempted)
}

/// Two ranks that meet after 30 and 60 ms in each round; one of them had no core for the last `missing` ms of each round.
fn two_ranks_of(when: Missing, missing: u64) -> TestRecording {
    let begin = |round: u64| 10 + 60 * round;
    let calls = |takes: u64| {
        let meetings = (0..ROUNDS)
            .map(move |round| collective("MPI_Allreduce").sent(8).received(8).line(2).at_ms(begin(round) + takes, begin(round) + 60));
        let end = begin(ROUNDS);
        std::iter::once(init().line(1).at_ms(0, 10)).chain(meetings).chain([finalize().line(9).at_ms(end, end + 1)])
    };
    let without_core = |round: u64| OffCpuInterval {
        begin: ((begin(round) + 60 - missing) * NS_PER_MS) as i64,
        end: ((begin(round) + 60) * NS_PER_MS) as i64,
        waiting_ns: missing * NS_PER_MS,
        blocked_ns: 0,
        processor: Some(0),
    };
    let intervals = |here: bool| vec![ThreadOffCpu::new(0, (0..ROUNDS).filter(|_| here && missing > 0).map(without_core).collect())];
    let usage = ThreadUsage { elapsed_ns: (begin(ROUNDS) + 1) * NS_PER_MS, affinity: "0".into(), ..ThreadUsage::default() };
    RecordingBuilder::new()
        .rank(calls(30))
        .off_cpu(&intervals(when == Missing::WhilePolling))
        .rank(calls(60))
        .off_cpu(&intervals(when == Missing::WhileComputing))
        .header(|header| {
            header.mpi.abi = "openmpi".into();
            header.host_descriptions = vec![HostDescription { processors: "0-3".into(), ..HostDescription::default() }];
            header.ranks.iter_mut().for_each(|rank| rank.usage = vec![usage.clone()]);
        })
        .write()
}

fn summary(recording: &TestRecording) -> RunSummary {
    RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap()
}

fn rounded(shares: impl IntoIterator<Item = f64>) -> Vec<i64> {
    shares.into_iter().map(|share| (share * 1e3).round() as i64).collect()
}

#[test]
fn a_rank_that_is_late_because_it_had_no_core_is_not_told_to_compute_less() {
    let report = summary(&two_ranks(30));
    let statement = "Ranks 0 and 1 were bound to the same core 0: 25 % of their time they waited for a core.";
    assert_eq!(report.cores.statement.as_deref(), Some(statement));
    let kinds: Vec<&str> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!((kinds, report.cores.held_back), (vec!["core_shortage"], 1));
    assert_eq!(report.advice[0].saves_s, None);
    assert!(report.advice[0].try_this.contains("--bind-to core"), "{}", report.advice[0].try_this);
    // Both compute 30 ms of 60 on a core.
    let efficiency = report.efficiency.unwrap();
    assert_eq!(rounded([efficiency.parallel, efficiency.load_balance]), [500, 1000]);
    let split = report.cores.split.unwrap();
    assert_eq!(rounded([split.computing_s, split.preempted_s, split.message_s, split.mpi_no_core_s]), [1200, 600, 600, 0]);
    let waits = &report.wait_states[0];
    assert_eq!(("wait_at_nxn", rounded([waits.seconds, waits.no_core_s])), (waits.kind, vec![600, 600]));
}

#[test]
fn the_same_run_with_a_core_for_each_keeps_its_advice() {
    let report = summary(&two_ranks(0));
    assert_eq!((report.cores.statement, report.cores.share, report.cores.held_back), (None, Some(0.0), 0));
    let kinds: Vec<(&str, i64)> =
        report.advice.iter().map(|advice| (advice.kind, (advice.saves_s.unwrap() * 1e3).round() as i64)).collect();
    assert_eq!(kinds, [("load_imbalance", 285)], "19 rounds of 45 instead of 60 ms; the first is another segment");
    assert_eq!(rounded([report.efficiency.unwrap().load_balance]), [750]);
    assert_eq!(report.wait_states[0].no_core_s, 0.0);
}

#[test]
fn an_imbalance_that_missing_cores_do_not_explain_is_reported_with_what_is_left() {
    let report = summary(&two_ranks(7));
    assert!(report.cores.statement.is_some());
    let kinds: Vec<&str> = report.advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(kinds, ["core_shortage", "load_imbalance"]);
    assert_eq!(rounded([report.advice[1].saves_s.unwrap()]), [285 - 7 * ROUNDS as i64]);
}

/// Rank 0 waits without a core for what is not there yet: nobody is delayed by that.
#[test]
fn a_rank_that_polls_without_a_core_is_not_delayed() {
    let report = summary(&two_ranks_of(Missing::WhilePolling, 25));
    assert_eq!((report.cores.statement, report.cores.held_back), (None, 0));
    assert_eq!(rounded([report.cores.share.unwrap(), report.cores.split.unwrap().mpi_no_core_s]), [208, 500]);
    assert_eq!(report.advice[0].kind, "load_imbalance");
}

#[test]
fn an_old_recording_says_that_it_is_not_known() {
    let recording = two_ranks(0).with_header(|header| {
        header.ranks.iter_mut().for_each(|rank| (rank.usage, rank.off_cpu) = (Vec::new(), None));
    });
    let report = summary(&recording);
    assert_eq!((report.cores.basis.as_str(), report.cores.share, report.cores.split), ("unknown", None, None));
    assert_eq!(report.advice[0].kind, "load_imbalance");
}

#[test]
fn several_processes_find_what_one_finds() {
    let recording = two_ranks(30);
    let alone = summary(&recording);
    for other in run_in_group(2, |comm| RunSummary::from_recording(&recording, comm, &|_, _| ()).unwrap()) {
        assert_eq!(other, alone);
    }
}
