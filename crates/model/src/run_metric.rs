//! What is fitted of a run: its time, its processor time, or what was counted in it.

use std::collections::BTreeMap;

use sintonia_recording::Recording;
use sintonia_recording::counters::CounterIntervalKind;

use crate::run::{MeasuredRun, RunError};

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

/// A total over all threads of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotal {
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

const TIME: &str = "time";
const CPU: &str = "cpu";
/// The unit of what is counted, which has an exact formula if there is a simple one.
const COUNT: &str = "count";

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

/// The totals of a run: what the kernel knows of its threads, and its counters, if every rank has them.
pub(crate) fn totals(recording: &Recording) -> Result<BTreeMap<String, RunTotal>, RunError> {
    let ranks = &recording.header.ranks;
    let mut totals: BTreeMap<String, RunTotal> = BTreeMap::new();
    for (index, rank) in ranks.iter().enumerate() {
        let mut own: BTreeMap<String, RunTotal> = BTreeMap::new();
        let counted = recording.counters(rank.rank, CounterIntervalKind::Segments)?;
        for (counter, definition) in counted.counters.iter().enumerate().filter(|(_, definition)| definition.is_sum) {
            let values = counted.threads.iter().flat_map(|thread| thread.iter()).map(|interval| interval.values[counter] as f64);
            let unit = if definition.unit.is_empty() { COUNT.to_owned() } else { definition.unit.clone() };
            own.insert(definition.name.clone(), RunTotal { value: definition.scale * values.sum::<f64>(), unit });
        }
        // What is known of whole threads is more than what was counted in their long segments.
        if !rank.usage.is_empty() {
            let cpu_ns: u64 = rank.usage.iter().map(|thread| thread.cpu_ns).sum();
            let faults: u64 = rank.usage.iter().map(|thread| thread.minor_faults + thread.major_faults).sum();
            own.insert(CPU.to_owned(), RunTotal { value: cpu_ns as f64 * 1e-9, unit: "s".to_owned() });
            own.insert("page-faults".to_owned(), RunTotal { value: faults as f64, unit: COUNT.to_owned() });
        }
        if index == 0 {
            totals = own;
            continue;
        }
        totals.retain(|name, _| own.contains_key(name));
        totals.iter_mut().for_each(|(name, total)| total.value += own[name].value);
    }
    Ok(totals)
}
