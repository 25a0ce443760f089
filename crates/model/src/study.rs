//! A scaling study: several runs of a program become its model, and the run that would tell most next.

use std::ffi::OsString;

use sintonia_fit::measurements::{DataPoint, MeasurementError, Measurements};
use sintonia_fit::table::MeasurementSeries;
use sintonia_machine::Machine;
use sintonia_recording::program_name::program_name;

use crate::curve::FitError;
use crate::experiment::{Experiment, ExperimentError};
use crate::host_effects::HostEffects;
use crate::model::PerformanceModel;
use crate::next_run::NextRun;
use crate::run::{MeasuredRun, parameter_kind};
use crate::run_metric::{RunMetric, UnknownMetric};
use crate::series::{CurveForm, SeriesModelError};

/// The result of a scaling study.
#[derive(Clone, Debug)]
pub struct ScalingStudy {
    /// The model.
    pub model: PerformanceModel,
    /// The number of runs.
    pub runs: usize,
    /// The least and the most time that the runs spent in MPI_Init and MPI_Finalize, which the model does not include.
    pub init_finalize_s: [f64; 2],
    /// The suggested next run.
    pub next: Option<NextRun>,
}

/// Why a study has no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StudyError {
    /// The runs cannot be combined.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// There are too few of them.
    #[error("not enough recordings: {reason}{}", next.as_ref().map(|next| format!("; suggested next run: {}", next.record_command())).unwrap_or_default())]
    NotEnough {
        /// What is missing.
        reason: FitError,
        /// The run that would help.
        next: Option<NextRun>,
    },
    /// The times cannot be used.
    #[error(transparent)]
    Measurements(#[from] MeasurementError),
    /// The given form cannot be fitted to them.
    #[error(transparent)]
    Form(#[from] SeriesModelError),
    /// A run does not have the requested metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
}

impl ScalingStudy {
    /// Fits a model to runs, with optional name, parameters to fit over, and machine.
    pub fn from_runs(
        runs: Vec<MeasuredRun>,
        name: Option<String>,
        over: Option<&[String]>,
        machine: Option<&Machine>,
    ) -> Result<ScalingStudy, StudyError> {
        let name = name.unwrap_or_else(|| recorded_program(&runs));
        let experiment = Experiment::from_runs(runs, over)?;
        let mut model = PerformanceModel::from_experiment(&name, &experiment).map_err(|reason| {
            let next = NextRun::for_insufficient_data(&reason, &experiment);
            StudyError::NotEnough { reason, next }
        })?;
        if let Some(machine) = machine {
            model.set_reference_machine(machine, &experiment);
        }
        let next = NextRun::most_informative(&model, &experiment);
        Ok(ScalingStudy::new(model, next, &experiment))
    }

    /// Fits a total of runs, without parts, with optional name, parameters to fit over, and machine.
    pub fn from_total(
        runs: Vec<MeasuredRun>,
        name: Option<String>,
        over: Option<&[String]>,
        metric: &RunMetric,
        form: &CurveForm,
        machine: Option<&Machine>,
    ) -> Result<ScalingStudy, StudyError> {
        let name = name.unwrap_or_else(|| recorded_program(&runs));
        let experiment = Experiment::from_runs(runs, over)?;
        let values: Vec<f64> = experiment.runs.iter().map(|run| metric.value_of(run)).collect::<Result<_, _>>()?;
        let points = experiment.settings.iter().zip(values).map(|(at, value)| DataPoint { at: at.clone(), values: vec![value] }).collect();
        let measurements = Measurements::new(experiment.parameters.clone(), points)?;
        let kinds = experiment.parameters.iter().map(|name| parameter_kind(name)).collect();
        let unit = metric.unit_in(&experiment.runs[0]);
        let series = MeasurementSeries::new(String::new(), metric.name().to_owned(), Some(unit), measurements).with_parameter_kinds(kinds);
        let model = PerformanceModel::from_series(&series, form)?;
        let notes = experiment.notes.iter().cloned().chain(model.notes).collect();
        let mut model = PerformanceModel { name, fixed: experiment.fixed.clone(), notes, ..model };
        if *metric == RunMetric::Time {
            model.host_effects = HostEffects::from_experiment(&experiment);
            if let Some(machine) = machine {
                model.set_reference_machine(machine, &experiment);
            }
        }
        Ok(ScalingStudy::new(model, None, &experiment))
    }

    fn new(model: PerformanceModel, next: Option<NextRun>, experiment: &Experiment) -> ScalingStudy {
        let times = || experiment.runs.iter().map(|run| run.init_finalize_s);
        let init_finalize_s = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)];
        ScalingStudy { model, runs: experiment.runs.len(), init_finalize_s, next }
    }
}

/// The name of the program that was recorded.
fn recorded_program(runs: &[MeasuredRun]) -> String {
    let command: Vec<OsString> = runs.first().map(|run| run.command.iter().map(OsString::from).collect()).unwrap_or_default();
    program_name(&command)
}
