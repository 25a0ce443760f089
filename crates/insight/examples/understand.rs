//! How long it takes to understand a recording: `understand NAME.sin` tells the seconds, the calls per second and the memory.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use sintonia_insight::Summary;
use sintonia_program::company::Alone;
use sintonia_recording::Recording;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("which recording?")?;
    let begin = Instant::now();
    let recording = Recording::open(Path::new(&name))?;
    let summary = Summary::of(&recording, &Alone, &|| ())?;
    let seconds = begin.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(str::trim).unwrap_or("?");
    println!("{} calls in {seconds:.2} s: {:.1} M calls/s, memory {peak}", summary.calls, summary.calls as f64 / seconds / 1e6);
    println!("{} wait states, {} root causes", summary.wait_states.len(), summary.root_causes.len());
    Ok(())
}
