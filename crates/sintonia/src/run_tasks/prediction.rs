//! What the run was predicted to take, from the application's source and a machine file.

use std::path::Path;

use sintonia_formula::{Interval, Values};
use sintonia_machine::Machine;
use sintonia_pamela::compile::Shares;
use sintonia_pamela::estimate::{Allocation, Estimator, Setting};
use sintonia_tasks::{Options, Policy};

/// Lowest, middle and highest seconds, or why they cannot be told: a run is none the worse for it.
pub type Prediction = Result<[f64; 3], String>;

/// What the application takes on so many workers of a machine; the shares say how often its conditions hold.
pub fn of(application: &Path, machine: &Machine, shares: &Shares, options: &Options, workers: usize) -> Prediction {
    let compiled = sintonia_source::compile(&[application.to_owned()]).map_err(|error| error.to_string())?;
    let mut estimator = Estimator::new(&compiled.model, machine, shares).map_err(|error| error.to_string())?;
    let given = options.parameters.iter().map(|(name, value)| (name.as_str(), Interval::point(value.nearest())));
    let allocation = match options.policy {
        Policy::Mixed => Allocation::Mixed,
        Policy::Static => Allocation::Static,
    };
    let setting = Setting { workers: workers as u64, parameters: given.collect::<Values<Interval>>(), allocation };
    Ok(estimator.at(&setting).map_err(|error| error.to_string())?.seconds)
}
