//! A scaling study: several runs of a program become its model, and the run that would tell most next.

use std::ffi::OsString;

use sintonia_fit::measurements::{DataPoint, MeasurementError, Measurements};
use sintonia_fit::table::MeasurementSeries;
use sintonia_machine::Machine;
use sintonia_recording::program_name::program_name;

use crate::curve::FitError;
use crate::experiment::{Experiment, ExperimentError};
use crate::model::PerformanceModel;
use crate::next_run::NextRun;
use crate::run::MeasuredRun;
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
    /// The given form cannot be fitted to their times.
    #[error(transparent)]
    Form(#[from] SeriesModelError),
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

    /// Fits the total time of runs in a given form, with optional name and parameters to fit over.
    pub fn of_total_time(
        runs: Vec<MeasuredRun>,
        name: Option<String>,
        over: Option<&[String]>,
        form: &CurveForm,
    ) -> Result<ScalingStudy, StudyError> {
        let name = name.unwrap_or_else(|| recorded_program(&runs));
        let experiment = Experiment::from_runs(runs, over)?;
        let settings = experiment.settings.iter().zip(&experiment.runs);
        let points = settings.map(|(at, run)| DataPoint { at: at.clone(), values: vec![run.seconds] }).collect();
        let measurements = Measurements::new(experiment.parameters.clone(), points)?;
        let series = MeasurementSeries::new(String::new(), "time".into(), Some("s".into()), measurements);
        let model = PerformanceModel::from_series(&series, form)?;
        let notes = experiment.notes.iter().cloned().chain(model.notes).collect();
        let model = PerformanceModel { name, fixed: experiment.fixed.clone(), notes, ..model };
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
