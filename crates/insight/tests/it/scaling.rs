//! Several runs compared with the first of them, with figures that follow from their definitions.

use sintonia_insight::{RunEfficiency, RunSummary, ScaledRun, ScalingMode};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use sintonia_recording::testing::*;

/// A run in which every rank computes for some milliseconds and is then in a barrier for ten.
fn run(ranks: usize, computes: u64) -> RunEfficiency {
    let calls = vec![
        init().line(1).at_ms(0, 10),
        collective("MPI_Barrier").line(2).at_ms(10 + computes, 20 + computes),
        finalize().line(99).at_ms(20 + computes, 21 + computes),
    ];
    let recording = record_calls(vec![calls; ranks]);
    let run = RunEfficiency::from_recording(&format!("{ranks}.sin"), &recording, &SingleProcess, &|| ()).unwrap();
    let summary = RunSummary::from_recording(&recording, &SingleProcess, &|_, _| ()).unwrap();
    assert_eq!((run.work_s, run.efficiency), (summary.work_s, summary.efficiency), "a run has the efficiencies of its report");
    run
}

fn assert_close(found: &ScaledRun, speedup: f64, computation_scalability: f64, global: f64) {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(close(found.speedup.unwrap(), speedup), "{found:?}");
    assert!(close(found.computation_scalability.unwrap(), computation_scalability), "{found:?}");
    assert!(close(found.global.unwrap(), global), "{found:?}");
}

#[test]
fn the_same_work_on_more_ranks_is_compared_by_time() {
    // 100 ms and 180 ms of computation in all, then 60 ms and 200 ms.
    let scaled = ScaledRun::compare(&[run(2, 90), run(4, 50)], ScalingMode::Strong);
    assert_close(&scaled[0], 1.0, 1.0, 0.9);
    assert_close(&scaled[1], 100.0 / 60.0, 0.9, 0.9 * 50.0 / 60.0);
}

#[test]
fn work_that_grows_with_the_ranks_is_compared_by_work_per_time() {
    let scaled = ScaledRun::compare(&[run(2, 90), run(4, 90)], ScalingMode::Weak);
    assert_close(&scaled[0], 1.0, 1.0, 0.9);
    assert_close(&scaled[1], 2.0, 1.0, 0.9);
}

/// The same with counters: half of the computation was counted.
fn counted_run(ranks: usize, computes: u64, instructions: i64, cycles: i64) -> (RunEfficiency, RunSummary) {
    let calls = vec![
        init().line(1).at_ms(0, 10),
        collective("MPI_Barrier").line(2).at_ms(10 + computes, 20 + computes),
        finalize().line(99).at_ms(20 + computes, 21 + computes),
    ];
    let mut thread = ThreadCounters::new(0);
    let (begin, end) = (10_000_000, 10_000_000 + computes as i64 * 500_000);
    thread.push(begin, end, &[instructions, cycles]);
    let counters = ["instructions", "PAPI_TOT_CYC"].map(CounterDefinition::event_count).to_vec();
    let counters = RankCounters { counters, threads: vec![thread] };
    let ranks = (0..ranks)
        .fold(RecordingBuilder::new(), |builder, _| builder.rank(calls.clone()).counters(CounterIntervalKind::Segments, &counters));
    let recording = ranks.write();
    let run = RunEfficiency::from_recording("run.sin", &recording, &SingleProcess, &|| ()).unwrap();
    (run, RunSummary::from_recording(&recording, &SingleProcess, &|_, _| ()).unwrap())
}

#[test]
fn computation_scalability_is_the_product_of_instructions_ipc_and_frequency() {
    // On twice the ranks 25 % more instructions in all, at 80 % of the instructions per cycle; each rank computes 50 ms instead of 80.
    let (first, summary) = counted_run(2, 80, 100_000_000, 50_000_000);
    let (second, _) = counted_run(4, 50, 62_500_000, 39_062_500);
    let scaled = ScaledRun::compare(&[first, second], ScalingMode::Strong);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let parts = scaled[1].computation.unwrap();
    assert!(close(parts.instructions, 0.8) && close(parts.ipc, 0.8), "{parts:?}");
    assert!(close(parts.instructions * parts.ipc * parts.frequency, scaled[1].computation_scalability.unwrap()), "{parts:?}");
    let counters = summary.counters.unwrap();
    assert_eq!((counters.total.values.clone(), counters.total.ipc), (vec![2e8, 1e8], Some(2.0)));
    assert!(close(counters.total.ghz.unwrap(), 1.25) && close(counters.share, 0.5), "{counters:?}");
    assert_eq!(counters.segments.iter().map(|row| (row.from.line, row.to.line)).collect::<Vec<_>>(), [(Some(1), Some(2))]);
    assert_eq!(ScaledRun::compare(&[counted_run(2, 80, 1, 1).0, run(4, 50)], ScalingMode::Strong)[1].computation, None);
}
