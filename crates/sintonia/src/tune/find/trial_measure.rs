//! What is measured in the runs of a search.

use regex::Regex;

use crate::Error;

/// A number in the output of a run that is measured.
pub(super) struct PrintedNumber {
    expression: Regex,
    /// Whether more is better.
    is_rate: bool,
}

impl PrintedNumber {
    pub(super) fn new(expression: &str, is_rate: bool) -> Result<PrintedNumber, Error> {
        let expression = parse_expression(expression)?;
        match expression.captures_len() {
            1 => Err(Error::Other(format!("'{expression}' captures nothing: put the number in parentheses"))),
            _ => Ok(PrintedNumber { expression, is_rate }),
        }
    }

    /// The time, or the time for one unit of a rate.
    pub(super) fn seconds(&self, output: &str) -> Result<f64, String> {
        let last = self.expression.captures_iter(output).last().and_then(|captures| captures.get(1));
        let number = last.and_then(|number| number.as_str().trim().parse::<f64>().ok()).filter(|number| *number > 0.0);
        let number = number.ok_or_else(|| format!("no number was printed that matches '{}'", self.expression))?;
        Ok(if self.is_rate { 1.0 / number } else { number })
    }
}

/// Parses a regular expression that the user gave.
pub(super) fn parse_expression(expression: &str) -> Result<Regex, Error> {
    Regex::new(expression).map_err(|error| Error::Other(format!("'{expression}' is not a regular expression: {error}")))
}

/// What is measured in each run.
pub(super) enum TrialMeasure {
    /// A number that the program prints.
    Printed(PrintedNumber),
    /// The time from MPI_Init to MPI_Finalize.
    Run,
    /// The time in the main loop with this name.
    MainLoop(String),
}

impl TrialMeasure {
    /// The name of a number that the program prints, which need not be in seconds.
    pub(super) const PRINTED: &'static str = "printed number";

    pub(super) fn name(&self) -> &'static str {
        match self {
            TrialMeasure::Printed(_) => TrialMeasure::PRINTED,
            TrialMeasure::Run => "run",
            TrialMeasure::MainLoop(_) => "main loop",
        }
    }
}
