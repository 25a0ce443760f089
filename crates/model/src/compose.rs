//! Fits a model to runs: a formula for each part, their sum, and its validation.
//!
//! The runs with the largest value of each parameter are held out in turn and predicted from the others. The sum of the parts explains more
//! than one formula of the total time, so predictions use it unless it predicts the held-out runs clearly worse: by more than
//! [`TOLERATED_ERROR_PERCENT`] percent of their time plus twice the noise, and by a factor of [`WORSE_ERROR_FACTOR`]. (The sum is mostly far
//! better, because one formula has to fit several superimposed curves. The total wins where the critical path changes from run to run.)
//!
//! Held-out runs outside of the interval that the others give say that intervals are too narrow for this program: predictions are widened by as much.

use rayon::prelude::*;
use sintonia_fit::sample::median;

use crate::curve::FitError;
use crate::exact_counts;
use crate::experiment::{Experiment, PartSeries};
use crate::fitted_term::{FittedTerm, round_to_four_digits};
use crate::host_effects::HostEffects;
use crate::model::{
    CallFormulas, HoldOutValidation, MeasuredParameter, MeasuredSetting, ModelPart, ModelledQuantity, PerformanceModel, PredictionBasis,
    RoleLimit,
};
use crate::predict::Predictor;
use crate::run::{SiteTraffic, parameter_kind};
use sintonia_insight::program_part::ProgramPart;

/// The sum of the parts may be worse than the formula of the total by this many percent of the time, plus noise, and is still used.
pub const TOLERATED_ERROR_PERCENT: f64 = 1.0;
/// An error larger by this factor is clearly worse.
pub const WORSE_ERROR_FACTOR: f64 = 1.25;
/// A part with at least this share of the time has its notes among those of the model.
const NOTED_SHARE: f64 = 0.1;
/// A role busy for more than this share of a run's time is on the critical path already.
const CRITICAL_ROLE_SHARE: f64 = 0.9;
/// Held-out runs widen intervals by at most this factor: one value less may leave the growth open.
const MAX_WIDENING: f64 = 3.0;
/// From the median absolute error to the standard deviation of a normal distribution.
const MAD_TO_STD_DEV: f64 = 1.4826;

impl PerformanceModel {
    /// The model of an experiment.
    pub fn from_experiment(name: &str, experiment: &Experiment) -> Result<PerformanceModel, FitError> {
        let all: Vec<usize> = (0..experiment.runs.len()).collect();
        let mut model = PerformanceModel::from_runs(name, experiment, &all)?;
        model.validation = cross_validate(experiment);
        model.uses = if model.parts.is_empty() || model.is_sum_worse() { PredictionBasis::Whole } else { PredictionBasis::Parts };
        if model.uses == PredictionBasis::Whole && !model.parts.is_empty() {
            model.notes.push(
                "predictions use the formula of the total time: it predicts the largest runs better than the sum of the parts".into(),
            );
        }
        let notes = model.curve_notes(&experiment.settings);
        model.notes.extend(notes);
        model.noise_percent = round_to_four_digits(model.estimate_noise_percent(experiment, &all));
        model.host_effects = HostEffects::from_experiment(experiment);
        Ok(model)
    }

    /// The model of some of the runs, not yet validated.
    fn from_runs(name: &str, experiment: &Experiment, runs: &[usize]) -> Result<PerformanceModel, FitError> {
        let settings: Vec<Vec<f64>> = runs.iter().map(|run| experiment.settings[*run].clone()).collect();
        let seconds: Vec<f64> = runs.iter().map(|run| experiment.runs[*run].seconds).collect();
        let whole = FittedTerm::fit(&experiment.parameters, &settings, &seconds, 0)?;
        let fitted = experiment.parts.par_iter().map(|row| fit_part(experiment, row, runs)).collect::<Vec<_>>();
        let mut notes = experiment.notes.clone();
        let mut parts = Vec::new();
        for (row, fitted) in experiment.parts.iter().zip(fitted) {
            match fitted {
                Ok(part) => parts.push(part),
                Err(reason) => notes.push(format!("{} is left out ({:.0} % of the time): {reason}", row.part, 100.0 * row.share)),
            }
        }
        let points = settings.iter().zip(&seconds).map(|(at, value)| MeasuredSetting { at: at.clone(), value: *value });
        Ok(PerformanceModel {
            name: name.to_owned(),
            region: None,
            quantity: ModelledQuantity { name: "time".into(), unit: "s".into() },
            parameters: parameter_ranges(&experiment.parameters, &settings),
            fixed: experiment.fixed.clone(),
            parts,
            limits: fit_role_limits(experiment, runs, &settings),
            whole: Some(whole),
            uses: PredictionBasis::Parts,
            reference_machine: None,
            host_effects: HostEffects::default(),
            noise_percent: 0.0,
            validation: None,
            points: points.collect(),
            notes,
        })
    }

    /// What is to be said of the formulas that matter.
    fn curve_notes(&self, settings: &[Vec<f64>]) -> Vec<String> {
        let notes_of = |term: &FittedTerm| term.curve.as_ref().map_or_else(Vec::new, |curve| curve.notes(settings, &self.quantity.unit));
        match self.uses {
            PredictionBasis::Whole => self.whole.as_ref().map_or_else(Vec::new, notes_of),
            PredictionBasis::Parts => {
                let parts = self.parts.iter().filter(|part| part.share >= NOTED_SHARE);
                parts.flat_map(|part| notes_of(&part.term).into_iter().map(|note| format!("{}: {note}", part.name))).collect()
            }
        }
    }

    /// Whether the sum of the parts predicts clearly worse than the formula of the total.
    fn is_sum_worse(&self) -> bool {
        let Some(HoldOutValidation { parts_error_percent: Some(parts), whole_error_percent: whole, .. }) = self.validation else {
            return false;
        };
        parts > (whole + TOLERATED_ERROR_PERCENT + 2.0 * self.whole_noise_percent()).max(whole * WORSE_ERROR_FACTOR)
    }

    /// The noise of runs around the formula of the total, in percent.
    fn whole_noise_percent(&self) -> f64 {
        self.whole.as_ref().and_then(|whole| whole.curve.as_ref()).map_or(0.0, |curve| curve.noise_percent())
    }

    /// The noise of runs around the prediction, in percent.
    fn estimate_noise_percent(&self, experiment: &Experiment, runs: &[usize]) -> f64 {
        let whole = self.whole_noise_percent();
        if self.uses == PredictionBasis::Whole {
            return whole;
        }
        let errors: Vec<f64> = runs.iter().filter_map(|run| Some(self.relative_error(experiment, *run)?.abs())).collect();
        // The median is robust to a single disturbed run.
        let usual = median(&errors).map_or(0.0, |error| 100.0 * MAD_TO_STD_DEV * error);
        whole.max(usual)
    }

    /// The relative error of the model for a run.
    fn relative_error(&self, experiment: &Experiment, run: usize) -> Option<f64> {
        let predicted = self.point_estimate(&experiment.settings[run])?;
        Some(predicted / experiment.runs[run].seconds - 1.0)
    }
}

fn parameter_ranges(names: &[String], settings: &[Vec<f64>]) -> Vec<MeasuredParameter> {
    let range = |(index, name): (usize, &String)| {
        let values = || settings.iter().map(|setting| setting[index]);
        let (from, to) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        MeasuredParameter { name: name.clone(), from, to, kind: parameter_kind(name) }
    };
    names.iter().enumerate().map(range).collect()
}

fn fit_part(experiment: &Experiment, row: &PartSeries, runs: &[usize]) -> Result<ModelPart, FitError> {
    let there = runs.iter().filter_map(|run| Some((experiment.settings[*run].clone(), row.seconds[*run]?)));
    let (settings, seconds): (Vec<Vec<f64>>, Vec<f64>) = there.unzip();
    let term = FittedTerm::fit(&experiment.parameters, &settings, &seconds, row.idle_ranks)?;
    let calls = match (&row.part, &row.traffic) {
        (ProgramPart::Communication { at }, Some(traffic)) => fit_call_counts(experiment, &at.operation, traffic, row.idle_ranks),
        _ => None,
    };
    Ok(ModelPart { name: row.name(), kind: row.part.kind(), share: round_to_four_digits(row.share), term, calls, reference_cost: None })
}

/// How often an operation is called, and with how many bytes.
fn fit_call_counts(experiment: &Experiment, operation: &str, traffic: &[SiteTraffic], idle_ranks: usize) -> Option<CallFormulas> {
    let formula = |of: fn(&SiteTraffic) -> u64| {
        let counted: Vec<f64> = traffic.iter().map(|traffic| of(traffic) as f64).collect();
        let exact = exact_counts::find_formula(&experiment.parameters, &experiment.settings, &counted);
        exact.or_else(|| Some(FittedTerm::fit(&experiment.parameters, &experiment.settings, &counted, 0).ok()?.formula))
    };
    Some(CallFormulas { operation: operation.to_owned(), count: formula(|t| t.calls)?, bytes: formula(|t| t.bytes)?, idle_ranks })
}

/// The roles that are not on the critical path already. Where all ranks do the same, the path is theirs.
fn fit_role_limits(experiment: &Experiment, runs: &[usize], settings: &[Vec<f64>]) -> Vec<RoleLimit> {
    let limit = |row: &crate::experiment::RoleSeries| {
        let busy: Vec<f64> = runs.iter().map(|run| row.busy_s[*run]).collect();
        let share = runs.iter().zip(&busy).map(|(run, busy)| busy / experiment.runs[*run].seconds);
        if share.fold(0.0, f64::max) > CRITICAL_ROLE_SHARE {
            return None;
        }
        Some(RoleLimit { role: row.name.clone(), term: FittedTerm::fit(&experiment.parameters, settings, &busy, 0).ok()? })
    };
    let roles = if experiment.roles.len() > 1 { &experiment.roles[..] } else { &[] };
    roles.iter().filter_map(limit).collect()
}

/// Predicts the runs with the largest value of each parameter from the others.
fn cross_validate(experiment: &Experiment) -> Option<HoldOutValidation> {
    let folds: Vec<(Vec<usize>, Vec<usize>)> =
        (0..experiment.parameters.len()).map(|parameter| hold_out_largest(experiment, parameter)).collect();
    let mut errors: Vec<(Option<f64>, f64)> = Vec::new();
    let (mut parts_widening, mut whole_widening) = (1.0_f64, 1.0_f64);
    for (known, held_out) in folds {
        let Ok(mut model) = PerformanceModel::from_runs("", experiment, &known) else { continue };
        let mut whole = PerformanceModel { uses: PredictionBasis::Whole, ..model.clone() };
        for run in &held_out {
            let parts = if model.parts.is_empty() { None } else { model.relative_error(experiment, *run) };
            errors.extend(whole.relative_error(experiment, *run).map(|whole| (parts.map(f64::abs), whole.abs())));
        }
        for (model, widening) in [(&mut model, &mut parts_widening), (&mut whole, &mut whole_widening)] {
            model.noise_percent = model.estimate_noise_percent(experiment, &known);
            *widening = widening.max(widening_for(model, experiment, &held_out));
        }
    }
    let mean =
        |values: Vec<f64>| (!values.is_empty()).then(|| round_to_four_digits(100.0 * values.iter().sum::<f64>() / values.len() as f64));
    Some(HoldOutValidation {
        parts_error_percent: mean(errors.iter().filter_map(|(parts, _)| *parts).collect()),
        whole_error_percent: mean(errors.iter().map(|(_, whole)| *whole).collect())?,
        parts_widening: round_to_four_digits(parts_widening),
        whole_widening: round_to_four_digits(whole_widening),
        runs: errors.len(),
    })
}

/// How far outside of the intervals of a model the median of some runs is, relative to the half-width of the intervals on a logarithmic scale;
/// at least 1.
fn widening_for(model: &PerformanceModel, experiment: &Experiment, runs: &[usize]) -> f64 {
    let names = model.parameter_names();
    let predictor = Predictor::new(model, &names);
    let outside = |run: &usize| {
        let [low, middle, high] = predictor.predict_from_formulas(&experiment.settings[*run])?;
        let end = if experiment.runs[*run].seconds > middle { high } else { low };
        let (distance, half_width) = ((experiment.runs[*run].seconds / middle).ln().abs(), (end / middle).ln().abs());
        (distance.is_finite() && half_width > 0.0).then(|| distance / half_width)
    };
    let outside: Vec<f64> = runs.iter().filter_map(outside).collect();
    median(&outside).unwrap_or(1.0).clamp(1.0, MAX_WIDENING)
}

/// The runs below the largest value of a parameter, and those at it.
fn hold_out_largest(experiment: &Experiment, parameter: usize) -> (Vec<usize>, Vec<usize>) {
    let value = |run: &usize| experiment.settings[*run][parameter];
    let runs = 0..experiment.runs.len();
    let largest = runs.clone().map(|run| value(&run)).fold(0.0, f64::max);
    runs.partition(|run| value(run) < largest)
}
