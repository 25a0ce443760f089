//! Fits piecewise linear functions to many tables, for benchmarks: one JSON object per input line, one per output line.
//!
//!     {"points": [[8, 1.5], [16, 1.6]], "at": [12]}

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use sintonia_fit::piecewise::{PiecewiseLinear, PiecewiseOptions};
use std::io::{BufRead, Write};

#[derive(Deserialize)]
struct PiecewiseRequest {
    points: Vec<(f64, f64)>,
    at: Vec<f64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let table: PiecewiseRequest = serde_json::from_str(&line?)?;
        let begin = processor_seconds();
        let fit = PiecewiseLinear::fit(&table.points, &PiecewiseOptions::default())?;
        let seconds = processor_seconds() - begin;
        let predicted: Vec<_> = table.at.iter().map(|x| fit.predict(*x)).collect();
        let breaks: Vec<_> = fit.breaks.iter().map(|b| [b.interval.low, b.at, b.interval.high]).collect();
        writeln!(out, "{}", serde_json::json!({ "seconds": seconds, "predicted": predicted, "breaks": breaks }))?;
        out.flush()?;
    }
    Ok(())
}

/// CPU time of this thread: other programs on the machine do not count.
fn processor_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
