//! From runs to a model: a formula for each part, what they add up to, and how well that predicts.
//!
//! A model is tried before it is shown: the runs with the largest value of each parameter are held out in turn, and predicted from the
//! others. The sum of the parts explains more than one formula of the whole time, so it is used for predictions as well; unless it
//! predicts the held-out runs clearly worse, by more than chance does: [`AS_GOOD`] percent of their time and twice what repetitions scatter,
//! and [`CLEARLY`] times as badly. (With parts that are known, the sum is mostly far better: the formula of the whole has to find in one
//! curve what several were laid over each other. It wins where the path changes from run to run.)

use rayon::prelude::*;
use sintonia_fit::sample::median;

use crate::curve::NoCurve;
use crate::exact;
use crate::experiment::{Experiment, PartRow};
use crate::model::{Calls, Limit, Measured, Model, ModelPart, Parameter, Quantity, Uses, Validation};
use crate::part::Part;
use crate::run::Traffic;
use crate::term::{Term, digits};

/// The sum of the parts may be worse than the formula of the whole by so many percent of the time, besides chance, and is still used.
pub const AS_GOOD: f64 = 1.0;
/// An error so many times as large is clearly worse.
pub const CLEARLY: f64 = 1.25;
/// A role that is busy for more than this share of the time of a run is what the time is made of already.
const ON_THE_PATH: f64 = 0.9;
/// From the median of errors, whatever their sign, to the standard deviation of a normal distribution.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;

impl Model {
    /// The model of runs.
    pub fn of(name: &str, experiment: &Experiment) -> Result<Model, NoCurve> {
        let all: Vec<usize> = (0..experiment.runs.len()).collect();
        let mut model = Model::of_runs(name, experiment, &all)?;
        model.validation = validate(experiment);
        model.uses = if model.parts.is_empty() || model.is_worse_in_parts() { Uses::Whole } else { Uses::Parts };
        if model.uses == Uses::Whole && !model.parts.is_empty() {
            model
                .notes
                .push("predictions use the formula of the whole: it predicts the largest runs better than the sum of the parts".into());
        }
        model.noise_percent = digits(model.noise(experiment));
        Ok(model)
    }

    /// The model of some of the runs, not tried yet.
    fn of_runs(name: &str, experiment: &Experiment, runs: &[usize]) -> Result<Model, NoCurve> {
        let settings: Vec<Vec<f64>> = runs.iter().map(|run| experiment.settings[*run].clone()).collect();
        let seconds: Vec<f64> = runs.iter().map(|run| experiment.runs[*run].seconds).collect();
        let whole = Term::fit(&experiment.parameters, &settings, &seconds, 0)?;
        let fitted = experiment.parts.par_iter().map(|row| part(experiment, row, runs)).collect::<Vec<_>>();
        let mut notes = experiment.notes.clone();
        let mut parts = Vec::new();
        for (row, fitted) in experiment.parts.iter().zip(fitted) {
            match fitted {
                Ok(part) => parts.push(part),
                Err(reason) => notes.push(format!("{} is left out ({:.0} % of the time): {reason}", row.part, 100.0 * row.share)),
            }
        }
        let points = settings.iter().zip(&seconds).map(|(at, value)| Measured { at: at.clone(), value: *value });
        Ok(Model {
            name: name.to_owned(),
            quantity: Quantity { name: "time".into(), unit: "s".into() },
            parameters: ranges(&experiment.parameters, &settings),
            fixed: experiment.fixed.clone(),
            parts,
            limits: limits(experiment, runs, &settings),
            whole: Some(whole),
            uses: Uses::Parts,
            home: None,
            noise_percent: 0.0,
            validation: None,
            points: points.collect(),
            notes,
        })
    }

    /// Whether the sum of the parts predicts clearly worse than the formula of the whole.
    fn is_worse_in_parts(&self) -> bool {
        let Some(Validation { parts_error_percent: Some(parts), whole_error_percent: whole, .. }) = self.validation else { return false };
        parts > (whole + AS_GOOD + 2.0 * self.scatter_percent()).max(whole * CLEARLY)
    }

    /// How far runs scatter around the formula of the whole, in percent.
    fn scatter_percent(&self) -> f64 {
        self.whole.as_ref().and_then(|whole| whole.curve.as_ref()).map_or(0.0, |curve| curve.noise_percent())
    }

    /// How far the runs scatter around what predictions are made with, in percent.
    fn noise(&self, experiment: &Experiment) -> f64 {
        let whole = self.scatter_percent();
        if self.uses == Uses::Whole {
            return whole;
        }
        let errors: Vec<f64> = (0..experiment.runs.len()).filter_map(|run| Some(self.error_at(experiment, run)?.abs())).collect();
        // One run that was disturbed says nothing of the others, so it is the median that counts.
        let usual = median(&errors).map_or(0.0, |error| 100.0 * MEDIAN_TO_DEVIATION * error);
        whole.max(usual)
    }

    /// By which share of its time the model is wrong about a run.
    fn error_at(&self, experiment: &Experiment, run: usize) -> Option<f64> {
        let predicted = self.value(&experiment.settings[run])?;
        Some(predicted / experiment.runs[run].seconds - 1.0)
    }
}

fn ranges(names: &[String], settings: &[Vec<f64>]) -> Vec<Parameter> {
    let range = |(place, name): (usize, &String)| {
        let values = || settings.iter().map(|setting| setting[place]);
        Parameter { name: name.clone(), from: values().fold(f64::INFINITY, f64::min), to: values().fold(0.0, f64::max) }
    };
    names.iter().enumerate().map(range).collect()
}

fn part(experiment: &Experiment, row: &PartRow, runs: &[usize]) -> Result<ModelPart, NoCurve> {
    let there = runs.iter().filter_map(|run| Some((experiment.settings[*run].clone(), row.seconds[*run]?)));
    let (settings, seconds): (Vec<Vec<f64>>, Vec<f64>) = there.unzip();
    let term = Term::fit(&experiment.parameters, &settings, &seconds, row.left_out)?;
    let calls = match (&row.part, &row.traffic) {
        (Part::Communication { at }, Some(traffic)) => calls(experiment, &at.operation, traffic),
        _ => None,
    };
    Ok(ModelPart { name: row.part.to_string(), kind: row.part.kind(), share: digits(row.share), term, calls, home_cost: None })
}

/// How often an operation is called, and with how many bytes.
fn calls(experiment: &Experiment, operation: &str, traffic: &[Traffic]) -> Option<Calls> {
    let formula = |of: fn(&Traffic) -> u64| {
        let counted: Vec<f64> = traffic.iter().map(|traffic| of(traffic) as f64).collect();
        let exact = exact::formula(&experiment.parameters, &experiment.settings, &counted);
        exact.or_else(|| Some(Term::fit(&experiment.parameters, &experiment.settings, &counted, 0).ok()?.formula))
    };
    Some(Calls { operation: operation.to_owned(), count: formula(|t| t.calls)?, bytes: formula(|t| t.bytes)? })
}

/// The roles that are not what the time is made of already. Where all ranks do the same, the path is theirs.
fn limits(experiment: &Experiment, runs: &[usize], settings: &[Vec<f64>]) -> Vec<Limit> {
    let limit = |row: &crate::experiment::RoleRow| {
        let busy: Vec<f64> = runs.iter().map(|run| row.busy_s[*run]).collect();
        let share = runs.iter().zip(&busy).map(|(run, busy)| busy / experiment.runs[*run].seconds);
        if share.fold(0.0, f64::max) > ON_THE_PATH {
            return None;
        }
        Some(Limit { role: row.name.clone(), term: Term::fit(&experiment.parameters, settings, &busy, 0).ok()? })
    };
    let roles = if experiment.roles.len() > 1 { &experiment.roles[..] } else { &[] };
    roles.iter().filter_map(limit).collect()
}

/// Predicts the runs with the largest value of each parameter from the others.
fn validate(experiment: &Experiment) -> Option<Validation> {
    let folds: Vec<(Vec<usize>, Vec<usize>)> = (0..experiment.parameters.len()).map(|parameter| fold(experiment, parameter)).collect();
    let mut errors: Vec<(Option<f64>, f64)> = Vec::new();
    for (known, held_out) in folds {
        let Ok(model) = Model::of_runs("", experiment, &known) else { continue };
        let whole = Model { uses: Uses::Whole, ..model.clone() };
        for run in held_out {
            let parts = if model.parts.is_empty() { None } else { model.error_at(experiment, run) };
            errors.extend(whole.error_at(experiment, run).map(|whole| (parts.map(f64::abs), whole.abs())));
        }
    }
    let mean = |values: Vec<f64>| (!values.is_empty()).then(|| digits(100.0 * values.iter().sum::<f64>() / values.len() as f64));
    Some(Validation {
        parts_error_percent: mean(errors.iter().filter_map(|(parts, _)| *parts).collect()),
        whole_error_percent: mean(errors.iter().map(|(_, whole)| *whole).collect())?,
        runs: errors.len(),
    })
}

/// The runs with less than the largest value of a parameter, and those with it.
fn fold(experiment: &Experiment, parameter: usize) -> (Vec<usize>, Vec<usize>) {
    let value = |run: &usize| experiment.settings[*run][parameter];
    let runs = 0..experiment.runs.len();
    let largest = runs.clone().map(|run| value(&run)).fold(0.0, f64::max);
    runs.partition(|run| value(run) < largest)
}
