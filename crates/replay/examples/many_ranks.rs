//! Replay rate and memory use of an extrapolated run.
//!
//! `cargo run --release -p sintonia-replay --example many_ranks -- RANKS NAME.sin NAME.sin ...`

use std::path::Path;
use std::time::Instant;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{ReplayCosts, replay};
use sintonia_replay::extrapolation::{ExtrapolationOptions, recognise};
use sintonia_replay::platform::{IntervalBound, Platform, RankPlacement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, names @ ..] = &arguments[..] else { return Err("how many ranks, and of which recordings?".into()) };
    let ranks: u32 = ranks.parse()?;
    let recordings = names.iter().map(|name| Recording::open(Path::new(name))).collect::<Result<Vec<_>, _>>()?;
    let pattern = recognise(&recordings, &ExtrapolationOptions::default())?;
    let schedule = pattern.schedule(ranks, IntervalBound::Middle)?;
    let machine = Machine::parse(MACHINE, Path::new("many.machine.toml"))?;
    let costs = ReplayCosts::Machine(Box::new(Platform::new(&machine, ranks, &RankPlacement::Block, IntervalBound::Middle)?));
    let begin = Instant::now();
    let outcome = replay(&schedule, &costs, &ReplayChanges::default(), None)?;
    let seconds = begin.elapsed().as_secs_f64();
    let rate = outcome.calls as f64 / seconds / 1e6;
    println!("{ranks} ranks: {} calls in {seconds:.3} s: {rate:.2} M calls/s; the run takes {:.9} s", outcome.calls, outcome.replayed_s);
    let unmatched = &outcome.unmatched;
    println!("at most {} of memory; {} sends and {} receives without their other end", memory(), unmatched.sends, unmatched.receives);
    Ok(())
}

/// Peak resident memory, as the kernel reports it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |figure| figure.trim().to_owned())
}

const MACHINE: &str = r#"
format = 1
[machine]
name = "many"
[[node]]
kind = "PC"
count = 65536
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
