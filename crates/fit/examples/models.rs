//! Fits many tables, for benchmarks: one JSON object with a table per input line, one with predictions per output line.
//!
//!     {"id": 1, "parameters": ["n"], "points": [[4], [8]], "values": [[1.0, 1.1], [2.0, 2.1]], "at": [[64]]}

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use sintonia_fit::measurements::{DataPoint, Measurements};
use sintonia_fit::scaling;
use std::io::{BufRead, Write};

#[derive(Deserialize)]
struct FitRequest {
    id: u64,
    parameters: Vec<String>,
    points: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    at: Vec<Vec<f64>>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let table: FitRequest = serde_json::from_str(&line?)?;
        let points = table.points.into_iter().zip(table.values).map(|(at, values)| DataPoint { at, values }).collect();
        let measurements = Measurements::new(table.parameters, points)?;
        let begin = processor_seconds();
        let model = scaling::fit(&measurements)?;
        let seconds = processor_seconds() - begin;
        let predicted: Vec<_> = table.at.iter().map(|x| model.predict(x)).collect();
        let expected: Vec<_> = table.at.iter().map(|x| model.predict_mean(x)).collect();
        let answer = serde_json::json!({
            "id": table.id,
            "seconds": seconds,
            "predicted": predicted,
            "expected": expected,
            "shown": model.shown,
            "formula": model.formula().to_string(),
            "noise": model.noise,
            "error_percent": model.error_percent,
        });
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// CPU time of this thread: other programs on the machine do not count.
fn processor_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
