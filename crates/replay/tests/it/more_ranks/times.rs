//! Compute times of extrapolated ranks, and replays of many.

use super::patterns::plate;
use super::*;

fn computed(schedule: &dyn Schedule, rank: u32) -> f64 {
    calls(schedule, rank).0.iter().map(|(_, computed)| *computed as f64).sum()
}

#[test]
fn what_each_rank_computes_shrinks_and_grows_as_it_did() {
    let program = |process: &mut TestProcess| {
        let (here, last) = (process.signed_rank(), process.ranks as i32 - 1);
        for _ in 0..50 {
            // The ends of the chain have half the work.
            let whole = 64_000_000 / u64::from(process.ranks);
            process.compute(if here == 0 || here == last { whole / 2 } else { whole });
            if here > 0 {
                process.send_receive(10, here - 1, here - 1, 0, 8);
            }
            if here < last {
                process.send_receive(11, here + 1, here + 1, 0, 8);
            }
        }
    };
    let pattern = recognise(&family(&[4, 8, 16, 32], program).recordings, &ExtrapolationOptions::default()).unwrap();
    let made = record_program(128, program);
    let [low, middle, high] =
        [IntervalBound::Low, IntervalBound::Middle, IntervalBound::High].map(|which| pattern.schedule(128, which).unwrap());
    for rank in [0, 1, 64, 127] {
        let told = [&low, &middle, &high].map(|schedule| computed(schedule, rank));
        let ratio = told[1] / computed(&made.recording, rank);
        assert!((0.9..1.1).contains(&ratio), "rank {rank}: {ratio}");
        assert!(told[0] <= told[1] && told[1] <= told[2], "rank {rank}: {told:?}");
    }
}

#[test]
fn a_single_recording_scales_as_the_user_says() {
    let family = family(&[16], plate);
    let told = |scaling| {
        let options = ExtrapolationOptions { scaling, ..ExtrapolationOptions::default() };
        let pattern = recognise(&family.recordings, &options).unwrap();
        let schedule: ExtrapolatedRun = pattern.schedule(64, IntervalBound::Middle).unwrap();
        let (calls, _) = calls(&schedule, 9);
        let bytes = calls.iter().find(|(seen, _)| seen.operation == "MPI_Isend").map_or(0, |(seen, _)| seen.bytes[0]);
        (calls.iter().map(|(_, computed)| *computed).sum::<i64>() as f64, bytes as f64)
    };
    let (weak, strong) = (told(ProblemScaling::Weak), told(ProblemScaling::Strong));
    assert!((0.24..0.26).contains(&(strong.0 / weak.0)), "a quarter of the work: {strong:?} {weak:?}");
    assert!((0.49..0.51).contains(&(strong.1 / weak.1)), "half of the border: {strong:?} {weak:?}");
}

#[test]
fn times_scatter_if_asked() {
    let program = |process: &mut TestProcess| {
        for round in 0..200u64 {
            process.compute(10_000 + round * 2_654_435_761 % 5000);
            process.collective(10, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
        }
    };
    let family = family(&[4, 8], program);
    let told = |noise| {
        let pattern = recognise(&family.recordings, &ExtrapolationOptions { noise, ..ExtrapolationOptions::default() }).unwrap();
        let schedule = pattern.schedule(32, IntervalBound::Middle).unwrap();
        calls(&schedule, 7).0.into_iter().map(|(_, computed)| computed).skip(2).take(190).collect::<Vec<i64>>()
    };
    let (smooth, rough) = (told(false), told(true));
    assert!(smooth.iter().all(|time| *time == smooth[0]));
    let mean = |times: &[i64]| times.iter().sum::<i64>() as f64 / times.len() as f64;
    assert!((0.95..1.05).contains(&(mean(&rough) / mean(&smooth))));
    assert!(rough.iter().any(|time| *time != rough[0]));
}

/// A machine on which everything has a cost.
const MACHINE: &str = r#"
format = 1
[machine]
name = "many"
[[node]]
kind = "PC"
count = 64
cores = 16
[network.same_node]
eager_bytes = 4096
send.pieces = [{ intercept_s = 5e-7, slope_s_per_byte = 1e-10 }]
receive.pieces = [{ intercept_s = 5e-7, slope_s_per_byte = 1e-10 }]
transfer.pieces = [{ intercept_s = 1.5e-6, slope_s_per_byte = 2e-10 }]
[network.other_node]
eager_bytes = 65536
send.pieces = [{ intercept_s = 4e-6, slope_s_per_byte = 1e-10 }]
receive.pieces = [{ intercept_s = 5e-6, slope_s_per_byte = 1e-10 }]
transfer.pieces = [{ intercept_s = 4e-5, slope_s_per_byte = 8e-8 }]
"#;

#[test]
fn an_extrapolated_run_takes_as_long_as_a_recorded_one() {
    let machine = Machine::parse(MACHINE, Path::new("many.machine.toml")).unwrap();
    let replayed = |schedule: &dyn Schedule| {
        let platform = Platform::new(&machine, schedule.ranks(), &RankPlacement::Block, IntervalBound::Middle).unwrap();
        replay(schedule, &ReplayCosts::Machine(Box::new(platform)), &ReplayChanges::default(), None).unwrap()
    };
    let pattern = recognise(&family(&[4, 8, 16], plate).recordings, &ExtrapolationOptions::default()).unwrap();
    let (told, made) = (replayed(&pattern.schedule(64, IntervalBound::Middle).unwrap()), record_program(64, plate));
    let recorded = replayed(&made.recording);
    assert_eq!(told.calls, recorded.calls);
    let ratio = told.replayed_s / recorded.replayed_s;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
    let larger = replayed(&pattern.schedule(1024, IntervalBound::Middle).unwrap());
    assert_eq!(larger.ranks.len(), 1024);
    assert!(larger.replayed_s < recorded.replayed_s * 2.0, "{} against {}", larger.replayed_s, recorded.replayed_s);
}

#[test]
fn a_million_ranks_are_read_one_iteration_at_a_time() {
    let pattern = recognise(&family(&[4, 8, 16], plate).recordings, &ExtrapolationOptions::default()).unwrap();
    let schedule = pattern.schedule(1 << 20, IntervalBound::Middle).unwrap();
    let (calls, new) = calls(&schedule, 123_456);
    let exchanges = calls.iter().filter(|(seen, _)| seen.operation == "MPI_Waitall").count();
    assert_eq!(exchanges, 40);
    let neighbours: Vec<i32> =
        calls.iter().filter(|(seen, _)| seen.operation == "MPI_Irecv").take(4).map(|(seen, _)| seen.ends[0]).collect();
    assert_eq!(neighbours, [123_456 - 1024, 123_456 + 1024, 123_455, 123_457]);
    assert!(new < 50, "{new} stretches");
    assert_eq!(calls[0].0.parts & part::ERROR, 0);
}
