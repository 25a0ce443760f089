//! The predicted time of a run, from the application's source and a machine file.

use std::path::Path;

use sintonia_formula::{Interval, SymbolValues};
use sintonia_machine::Machine;
use sintonia_pamela::compile::BranchShares;
use sintonia_pamela::estimate::{AllocationPolicy, EstimateRequest, ModelEstimator};

use crate::{CoordinatorOptions, DistributionPolicy};

/// Low, middle and high seconds, or why there is no prediction, which does not affect the run.
pub type RunPrediction = Result<[f64; 3], String>;

/// Predicts the application's time on this many workers; `shares` are branch probabilities.
pub fn predict_run(
    application: &Path,
    machine: &Machine,
    shares: &BranchShares,
    options: &CoordinatorOptions,
    workers: usize,
) -> RunPrediction {
    let compiled = sintonia_source::compile(&[application.to_owned()]).map_err(|error| error.to_string())?;
    let mut estimator = ModelEstimator::new(&compiled.model, machine, shares).map_err(|error| error.to_string())?;
    let given = options.parameters.iter().map(|(name, value)| (name.as_str(), Interval::point(value.to_f64())));
    let allocation = match options.policy {
        DistributionPolicy::Mixed => AllocationPolicy::Mixed,
        DistributionPolicy::Static => AllocationPolicy::Static,
    };
    let setting = EstimateRequest { workers: workers as u64, parameters: given.collect::<SymbolValues<Interval>>(), allocation };
    Ok(estimator.estimate(&setting).map_err(|error| error.to_string())?.seconds)
}
