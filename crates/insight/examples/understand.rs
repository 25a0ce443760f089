//! Benchmarks the analysis of a recording: `understand NAME.sin [SUMMARY.json]` prints figures as JSON, and writes the summary to a file.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use sintonia_insight::RunSummary;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("which recording?")?;
    let begin = Instant::now();
    let recording = Recording::open(Path::new(&name))?;
    let summary = RunSummary::from_recording(&recording, &SingleProcess, &|_, _| ())?;
    let figures = serde_json::json!({
        "calls": summary.calls,
        "seconds": begin.elapsed().as_secs_f64(),
        "processor_seconds": processor_seconds()?,
        "peak_bytes": peak_bytes()?,
        "wait_states": summary.wait_states.len(),
    });
    println!("{figures}");
    if let Some(file) = std::env::args().nth(2) {
        fs::write(file, serde_json::to_string(&summary)?)?;
    }
    Ok(())
}

/// CPU time of this process: fields 14 and 15 of its stat file, in hundredths of seconds.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let state = fs::read_to_string("/proc/self/stat")?;
    let fields = state.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks = fields.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

/// Peak memory of this process.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(peak.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
