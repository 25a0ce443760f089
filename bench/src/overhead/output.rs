//! What one run of a program said: `bench:` lines among whatever the tool wrote.

use std::collections::BTreeMap;

/// What one run said.
#[derive(Default)]
pub(super) struct ProgramOutput {
    pub library: String,
    /// MPI calls that the program made while it was measured.
    pub calls: u64,
    /// Nanoseconds of processor time that its process has used, if it says so.
    pub processor_ns: Option<f64>,
    pub cases: BTreeMap<String, BatchTimes>,
}

/// Nanoseconds per call over the batches of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BatchTimes {
    pub least: f64,
    pub median: f64,
    pub mean: f64,
}

impl ProgramOutput {
    /// Reads what a program wrote; lines that say something else are the tool's.
    pub(super) fn read(text: &str) -> ProgramOutput {
        let mut output = ProgramOutput::default();
        for line in text.lines() {
            // A tool may have left a line of its own unfinished.
            let Some((_, said)) = line.split_once("bench: ") else { continue };
            match said.split_once(' ') {
                Some(("library", name)) => output.library = name.replace(['\t', '\r'], " "),
                Some(("calls", count)) => output.calls = count.trim().parse().unwrap_or(0),
                Some(("processor", ns)) => output.processor_ns = ns.trim().parse().ok(),
                Some(("case", case)) => output.cases.extend(read_case(case)),
                _ => {}
            }
        }
        output
    }
}

fn read_case(text: &str) -> Option<(String, BatchTimes)> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next()?.to_owned();
    let mut number = || words.next()?.parse().ok();
    Some((name, BatchTimes { least: number()?, median: number()?, mean: number()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_other_lines() {
        let output = ProgramOutput::read(
            "mpiP: hello\nbench: library Open MPI v4\n[P0]bench: case barrier 5.5 6 7.25\nbench: case bad 1\nbench: calls 12\n",
        );
        assert_eq!((output.library.as_str(), output.calls), ("Open MPI v4", 12));
        assert_eq!(output.cases.len(), 1);
        assert_eq!(output.cases["barrier"], BatchTimes { least: 5.5, median: 6.0, mean: 7.25 });
    }
}
