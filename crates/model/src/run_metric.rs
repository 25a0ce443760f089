//! What is fitted of a run: its time, its processor time, or what was counted in it.

use crate::run::MeasuredRun;

/// The metric of a run that is fitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunMetric {
    /// Seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    #[default]
    Time,
    /// A total over all threads of all ranks, by its name: processor time, or a counter.
    Total(String),
}

/// A run does not have a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{run} has no total of {metric} over all ranks; its metrics are {known}")]
pub struct UnknownMetric {
    run: String,
    metric: String,
    known: String,
}

const TIME: &str = "time";

impl RunMetric {
    /// The metric with a name.
    pub fn from_name(name: &str) -> RunMetric {
        if name == TIME { RunMetric::Time } else { RunMetric::Total(name.to_owned()) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            RunMetric::Time => TIME,
            RunMetric::Total(name) => name,
        }
    }

    pub(crate) fn value_of(&self, run: &MeasuredRun) -> Result<f64, UnknownMetric> {
        let RunMetric::Total(metric) = self else { return Ok(run.seconds) };
        run.totals.get(metric).map(|total| total.value).ok_or_else(|| {
            let known = [TIME].into_iter().chain(run.totals.keys().map(String::as_str)).collect::<Vec<_>>().join(", ");
            UnknownMetric { run: run.name.clone(), metric: metric.clone(), known }
        })
    }

    /// The unit of its value in a run.
    pub(crate) fn unit_in(&self, run: &MeasuredRun) -> String {
        run.totals.get(self.name()).map_or_else(|| "s".to_owned(), |total| total.unit.clone())
    }
}
