//! Several runs compared with the first of them, with figures that follow from their definitions.

use sintonia_insight::{RunEfficiency, RunSummary, ScaledRun, ScalingMode};
use sintonia_program::process_group::SingleProcess;
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
    assert!(close(found.speedup, speedup), "{found:?}");
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
