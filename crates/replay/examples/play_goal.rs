//! Simulates a GOAL schedule and prints as JSON how long parsing and simulating took; used by `bench/replay/loggopsim.py`.
//!
//!     play_goal app.goal L o g G O S        (nanoseconds, and bytes for S, as the options of LogGOPSim)

use std::path::Path;
use std::time::Instant;

use sintonia_formats::goal::read;
use sintonia_replay::goal::{LogGopsParameters, simulate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = &arguments[..] else { return Err("usage: play_goal FILE L o g G O S".into()) };
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<f64>, _>>()?;
    let [latency, overhead, gap, gap_per_byte, overhead_per_byte, eager] = numbers[..] else { return Err("six numbers are needed".into()) };
    let machine = LogGopsParameters {
        latency_s: latency / 1e9,
        overhead_s: overhead / 1e9,
        gap_s: gap / 1e9,
        gap_s_per_byte: gap_per_byte / 1e9,
        overhead_s_per_byte: overhead_per_byte / 1e9,
        eager_bytes: eager as u64,
    };
    let begin = Instant::now();
    let goal = read(Path::new(path))?;
    let read_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let played = simulate(&goal, &machine)?;
    let play_s = begin.elapsed().as_secs_f64();
    let ends_ns: Vec<u64> = played.ends_ps.iter().map(|end| end / 1000).collect();
    let last = ends_ns.iter().max().copied().unwrap_or(0);
    let shown = if ends_ns.len() <= 64 { format!(", \"ends_ns\": {ends_ns:?}") } else { String::new() };
    println!("{{\"read_s\": {read_s}, \"play_s\": {play_s}, \"events\": {}, \"last_ns\": {last}{shown}}}", played.events);
    Ok(())
}
