//! A run that was predicted, and then made several times.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::quartiles::Quartiles;

/// What was predicted of a run, and what came of it.
#[derive(Serialize)]
pub(crate) struct PredictionRow {
    pub run: String,
    /// Seconds: the least, the likeliest, the most.
    pub predicted: [f64; 3],
    pub measured: Quartiles,
    pub runs: Vec<f64>,
    pub error_percent: f64,
    /// How many of the runs took as long as the interval says.
    pub inside: usize,
}

/// What `sintonia predict --json` says, as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct PredictOutput {
    pub formula: String,
    pub error_percent: Option<f64>,
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Prediction {
    seconds: [f64; 3],
}

impl PredictOutput {
    /// The seconds of the first prediction.
    pub(crate) fn seconds(&self, run: &str) -> Result<[f64; 3], Error> {
        let nothing = || Error::Failed { command: format!("sintonia predict, {run}"), why: "it predicts nothing".into() };
        self.predictions.first().map(|one| one.seconds).ok_or_else(nothing)
    }
}

impl PredictionRow {
    /// A prediction beside the runs.
    pub(crate) fn new(run: String, predicted: [f64; 3], runs: Vec<f64>) -> Result<PredictionRow, Error> {
        let nothing = || Error::Failed { command: "predict".into(), why: "at least one round is needed".into() };
        let measured = Quartiles::from_values(runs.iter().copied()).ok_or_else(nothing)?;
        let [low, middle, high] = predicted;
        let error_percent = 100.0 * (middle / measured.median - 1.0);
        let inside = runs.iter().filter(|seconds| (low..=high).contains(*seconds)).count();
        Ok(PredictionRow { run, predicted, measured, runs, error_percent, inside })
    }

    /// By how many percent the median of the runs lies outside of the interval; 0 inside.
    pub(crate) fn outside_percent(&self) -> f64 {
        let [low, _, high] = self.predicted;
        let median = self.measured.median;
        100.0 * (1.0 - median / low).max(median / high - 1.0).max(0.0)
    }

    /// How many times its low end the interval's high end is.
    pub(crate) fn width(&self) -> f64 {
        self.predicted[2] / self.predicted[0]
    }

    /// The row of a table: the run, what was predicted, between what, what was measured, the error.
    pub(crate) fn cells(&self) -> Vec<String> {
        let [low, middle, high] = self.predicted;
        let Quartiles { low: first, median, high: third } = self.measured;
        vec![
            self.run.clone(),
            format!("{middle:.3}"),
            format!("{low:.3}–{high:.3}"),
            format!("{median:.3} ({first:.3}–{third:.3})"),
            format!("{:+.1} %", self.error_percent),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_outside_is_so_many_percent_away_from_the_nearer_end() {
        let row = |runs: &[f64]| PredictionRow::new(String::new(), [1.0, 2.0, 4.0], runs.to_vec()).expect("there are runs");
        assert_eq!(row(&[1.0, 3.0]).outside_percent(), 0.0);
        assert_eq!(row(&[0.75]).outside_percent(), 25.0);
        assert_eq!(row(&[5.0]).outside_percent(), 25.0);
        assert_eq!(row(&[3.0]).width(), 4.0);
        assert_eq!(row(&[3.0, 5.0]).inside, 1);
    }
}
