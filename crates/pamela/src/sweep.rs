//! Estimates of a model for many numbers of workers and values of its parameters, with speed-ups.

use std::collections::BTreeMap;

use sintonia_formula::{Interval, SymbolValues};
use sintonia_machine::Machine;

use crate::estimate::{AllocationPolicy, EstimateError, EstimateRequest, ModelEstimator, Seconds, TimeEstimate};

/// More predictions than this are refused.
const MAX_PREDICTIONS: usize = 100_000;

/// What to predict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepRequest {
    /// The values of each parameter; every combination is predicted.
    pub parameters: BTreeMap<String, Vec<f64>>,
    /// The numbers of processes or workers [default: doubling, up to all cores of the machine].
    pub processes: Option<Vec<u64>>,
    /// The number of processes that speed-ups are relative to [default: one, if it does all the work, else the fewest].
    pub speedup_base: Option<u64>,
    /// How tasks are assigned to workers.
    pub allocation: AllocationPolicy,
}

/// Why there are no predictions.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// There would be too many.
    #[error("more than {MAX_PREDICTIONS} combinations of values")]
    TooMany,
    /// One of them cannot be computed.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
}

/// One prediction.
pub struct SourcePredictionRow {
    /// The number of processes or workers.
    pub processes: u64,
    /// The given parameter values.
    pub parameters: BTreeMap<String, f64>,
    /// The estimate.
    pub estimate: TimeEstimate,
    /// The speed-up over the base.
    pub speedup: Seconds,
}

impl SourcePredictionRow {
    /// The parallel efficiency.
    pub fn efficiency(&self) -> Seconds {
        self.speedup.map(|speedup| speedup / self.processes as f64)
    }
}

/// Numbers of processes to choose among the requested ones.
pub struct BestOfSweep {
    /// The fastest.
    pub time: u64,
    /// The largest that is efficient enough.
    pub efficiency: Option<u64>,
}

impl BestOfSweep {
    /// Numbers of processes to choose in a sweep.
    pub fn choose(sweep: &[SourcePredictionRow], efficiency: f64) -> Option<BestOfSweep> {
        let fastest = sweep.iter().min_by(|a, b| a.estimate.seconds[1].total_cmp(&b.estimate.seconds[1]))?;
        let enough = sweep.iter().filter(|row| row.efficiency()[1] >= efficiency * (1.0 - 1e-12)).map(|row| row.processes).max();
        Some(BestOfSweep { time: fastest.processes, efficiency: enough })
    }
}

/// All predictions, and the number of processes that their speed-ups are relative to.
pub fn predict_rows(
    estimator: &mut ModelEstimator,
    request: &SweepRequest,
    machine: &Machine,
) -> Result<(Vec<SourcePredictionRow>, u64), SweepError> {
    let allocation = request.allocation;
    let processes = request.processes.clone().unwrap_or_else(|| doubling_workers(machine));
    let mut settings: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new()];
    for (name, values) in &request.parameters {
        settings = settings.iter().flat_map(|setting| values.iter().map(|value| with_value(setting, name, *value))).collect();
        if settings.len().saturating_mul(processes.len()) > MAX_PREDICTIONS {
            return Err(SweepError::TooMany);
        }
    }
    let mut at = |workers: u64, parameters: &BTreeMap<String, f64>| {
        let parameters: SymbolValues<Interval> = parameters.iter().map(|(name, value)| (name.as_str(), Interval::point(*value))).collect();
        estimator.estimate(&EstimateRequest { workers, parameters, allocation })
    };
    let fewest = processes.iter().copied().min().unwrap_or(1);
    let base = match request.speedup_base {
        Some(base) => base,
        None if is_complete_alone(at(1, &settings[0]), at(fewest, &settings[0])?) => 1,
        None => fewest,
    };
    let mut rows = Vec::new();
    for parameters in settings {
        let alone = at(base, &parameters)?.seconds;
        for processes in &processes {
            let estimate = at(*processes, &parameters)?;
            let speedup = speedup(alone, base, estimate.seconds);
            rows.push(SourcePredictionRow { processes: *processes, parameters: parameters.clone(), estimate, speedup });
        }
    }
    Ok((rows, base))
}

/// Whether one process does the work of several. A master without workers has an estimate too, but its work is not done.
fn is_complete_alone(alone: Result<TimeEstimate, EstimateError>, together: TimeEstimate) -> bool {
    alone.is_ok_and(|alone| alone.work >= together.work / 2.0)
}

fn with_value(setting: &BTreeMap<String, f64>, name: &str, value: f64) -> BTreeMap<String, f64> {
    let mut setting = setting.clone();
    setting.insert(name.to_owned(), value);
    setting
}

/// The speed-up at low, middle and high costs, which are the same for both times.
fn speedup(alone: Seconds, base: u64, seconds: Seconds) -> Seconds {
    let ratios = [0, 1, 2].map(|level: usize| if seconds[level] > 0.0 { base as f64 * alone[level] / seconds[level] } else { 1.0 });
    [ratios.into_iter().fold(f64::INFINITY, f64::min), ratios[1], ratios.into_iter().fold(0.0, f64::max)]
}

/// One worker, two, four, up to all cores of a machine.
fn doubling_workers(machine: &Machine) -> Vec<u64> {
    let cores = machine.nodes.iter().map(|node| node.count as f64 * node.cores as f64).sum::<f64>().max(1.0);
    std::iter::successors(Some(1.0), |workers| Some(workers * 2.0))
        .take_while(|workers| *workers < cores)
        .chain([cores])
        .map(|workers| workers as u64)
        .collect()
}
