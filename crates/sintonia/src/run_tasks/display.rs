//! Prints the outcome of a run as text.

use std::io::{self, Write};

use sintonia_tasks::{BatchOutcome, RunPrediction, TaskRunOutcome, WorkerOutcome};

use crate::text;

/// The maximum number of printed results; JSON has all.
const MAX_RESULTS: usize = 10;

pub(super) fn render(out: &mut dyn Write, outcome: &TaskRunOutcome, prediction: Option<&RunPrediction>) -> io::Result<()> {
    let parameters: Vec<String> = outcome.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join(", ")) };
    writeln!(out, "{}{parameters}: {}", outcome.application, text::format_seconds(outcome.seconds))?;
    match prediction {
        Some(Ok(seconds)) => {
            let [low, middle, high] = seconds.map(text::format_seconds);
            writeln!(out, "  predicted: {middle} [{low}, {high}]")?;
        }
        Some(Err(problem)) => writeln!(out, "  no prediction: {problem}")?,
        None => {}
    }
    outcome.batches.iter().try_for_each(|batch| write_results(out, batch))?;
    writeln!(out, "\n  {:<28}{:>8}{:>12}{:>12}", "batch", "tasks", "time", "computing")?;
    for batch in &outcome.batches {
        let [time, busy] = [batch.seconds, batch.busy_seconds].map(text::format_seconds);
        writeln!(out, "  {:<28}{:>8}{time:>12}{busy:>12}", batch.name, batch.tasks)?;
    }
    writeln!(out, "\n  {:<28}{:>8}{:>12}{:>12}{:>10}", "worker", "tasks", "replicas", "computing", "factor")?;
    outcome.workers.iter().try_for_each(|one| write_worker(out, one))
}

fn write_results(out: &mut dyn Write, batch: &BatchOutcome) -> io::Result<()> {
    let Some(results) = &batch.results else { return Ok(()) };
    for (index, result) in results.iter().take(MAX_RESULTS).enumerate() {
        let number = if results.len() > 1 { format!(" {}", index + 1) } else { String::new() };
        writeln!(out, "  {}{number} = {result}", batch.name)?;
    }
    if results.len() > MAX_RESULTS {
        writeln!(out, "  … {} in total", text::format_plural(results.len() as u64, "result"))
    } else {
        Ok(())
    }
}

fn write_worker(out: &mut dyn Write, worker: &WorkerOutcome) -> io::Result<()> {
    let name = format!("{} {}", worker.host, worker.process);
    let factor = if worker.factor.is_finite() { format!("{:.2}", worker.factor) } else { "-".into() };
    write!(out, "  {name:<28}{:>8}{:>12}{:>12}{factor:>10}", worker.tasks, worker.replicas, text::format_seconds(worker.busy_seconds))?;
    match &worker.lost {
        Some(reason) => writeln!(out, "  lost: {reason}"),
        None => writeln!(out),
    }
}
