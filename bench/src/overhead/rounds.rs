//! The measurement itself: every tool once in each round, in an order that changes.

use std::io::{IsTerminal, Write};

use super::AbsentTool;
use super::tool::Tool;
use crate::error::Error;
use crate::random::Random;

/// What was measured, of type `S` for each tool in each round.
pub(super) struct MeasuredRounds<S> {
    pub tools: Vec<Tool>,
    /// By round and tool; none where the run failed.
    pub samples: Vec<Vec<Option<S>>>,
}

impl<S> MeasuredRounds<S> {
    /// Measures in this number of rounds. A tool that does not work is moved to the absent ones when first tried.
    pub(super) fn measure(
        title: &str,
        tools: Vec<Tool>,
        rounds: u32,
        absent: &mut Vec<AbsentTool>,
        sample: impl Fn(&Tool) -> Result<S, Error>,
    ) -> Result<MeasuredRounds<S>, Error> {
        let tools = working(title, tools, absent, &sample)?;
        let mut random = Random::new();
        let mut samples = Vec::new();
        for number in 1..=rounds {
            show_progress(&format!("{title}: round {number} of {rounds}"));
            samples.push(round(&tools, &random.order(tools.len()), &sample)?);
        }
        show_progress("");
        Ok(MeasuredRounds { tools, samples })
    }
}

fn working<S>(
    title: &str,
    tools: Vec<Tool>,
    absent: &mut Vec<AbsentTool>,
    sample: &impl Fn(&Tool) -> Result<S, Error>,
) -> Result<Vec<Tool>, Error> {
    let mut working = Vec::new();
    for tool in tools {
        show_progress(&format!("{title}: trying {}", tool.name));
        match sample(&tool) {
            Ok(_) => working.push(tool),
            // Without the bare program there is nothing to compare with, and without Sintonia nothing to tell.
            Err(error) if working.is_empty() || tool.counts => return Err(error),
            Err(Error::Failed { why, .. }) => absent.push(AbsentTool { name: tool.name, why }),
            Err(error) => return Err(error),
        }
    }
    Ok(working)
}

fn round<S>(tools: &[Tool], order: &[usize], sample: &impl Fn(&Tool) -> Result<S, Error>) -> Result<Vec<Option<S>>, Error> {
    let mut samples: Vec<Option<S>> = tools.iter().map(|_| None).collect();
    for &number in order {
        match sample(&tools[number]) {
            Ok(sample) => samples[number] = Some(sample),
            // It worked when it was tried, so the other rounds can tell.
            Err(error @ Error::Failed { .. }) => eprintln!("left out of this round: {error}"),
            Err(error) => return Err(error),
        }
    }
    Ok(samples)
}

/// Shows how far it is, on a terminal.
fn show_progress(text: &str) {
    let mut errors = std::io::stderr();
    if errors.is_terminal() {
        let _ = write!(errors, "\r\x1b[K{text}");
    }
}
