//! Fits a model to recordings.

use std::ffi::OsString;

use sintonia_machine::Machine;
use sintonia_model::experiment::Experiment;
use sintonia_model::model::PerformanceModel;
use sintonia_model::next_run::NextRun;
use sintonia_model::run::MeasuredRun;
use sintonia_recording::Recording;

use super::{FitArgs, FitResult};
use crate::progress::ProgressBar;
use crate::record::program_lookup;
use crate::{Error, text};

/// Reads the recordings and fits the model.
pub(crate) fn fit_recordings(args: &FitArgs) -> Result<FitResult, Error> {
    let recordings: Vec<Recording> = args.inputs.iter().map(|path| Recording::open(path)).collect::<Result<_, _>>()?;
    let progress = ProgressBar::new("reading ranks", recordings.iter().map(MeasuredRun::progress_steps).sum());
    let named = args.inputs.iter().zip(&recordings);
    let runs = named.map(|(path, recording)| MeasuredRun::from_recording(&path.display().to_string(), recording, &|| progress.step()));
    let runs: Vec<MeasuredRun> = runs.collect::<Result<_, _>>().map_err(|error| Error::Other(error.to_string()))?;
    drop(progress);
    let machine = args.machine.as_ref().map(|path| Machine::read(path)).transpose().map_err(|error| Error::Other(error.to_string()))?;
    fit_runs(runs, args.name.clone(), args.x.as_deref(), machine.as_ref())
}

/// Fits a model to runs, with optional name, parameters to fit over, and machine.
pub(crate) fn fit_runs(
    runs: Vec<MeasuredRun>,
    name: Option<String>,
    over: Option<&[String]>,
    machine: Option<&Machine>,
) -> Result<FitResult, Error> {
    let name = name.unwrap_or_else(|| {
        let command: Vec<OsString> = runs.first().map(|run| run.command.iter().map(OsString::from).collect()).unwrap_or_default();
        program_lookup::recording_name(&command)
    });
    let experiment = Experiment::from_runs(runs, over).map_err(|error| Error::Other(error.to_string()))?;
    let mut model = PerformanceModel::from_experiment(&name, &experiment).map_err(|reason| {
        let next =
            NextRun::for_insufficient_data(&reason, &experiment).map(|next| format!("; suggested next run: {}", record_command(&next)));
        Error::Other(format!("not enough recordings: {reason}{}", next.unwrap_or_default()))
    })?;
    if let Some(machine) = machine {
        model.set_reference_machine(machine, &experiment);
    }
    let next = NextRun::most_informative(&model, &experiment);
    Ok(FitResult {
        input_summary: text::format_plural(experiment.runs.len() as u64, "run"),
        excluded_time: excluded_time(&experiment),
        next,
        model,
    })
}

/// The command to record a run.
pub(crate) fn record_command(next: &NextRun) -> String {
    let parameters: String = next.explicit_parameters().map(|(name, value)| format!(" --param {name}={value}")).collect();
    format!("sintonia record{parameters} -- {}", text::shell_command(&next.command))
}

fn excluded_time(experiment: &Experiment) -> String {
    let times = || experiment.runs.iter().map(|run| run.init_finalize_s);
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    format!(
        "from the end of MPI_Init to MPI_Finalize; these two take another {} to {}",
        text::format_seconds(least),
        text::format_seconds(most)
    )
}
