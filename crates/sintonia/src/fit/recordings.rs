//! A model from recordings.

use std::ffi::OsString;

use sintonia_machine::Machine;
use sintonia_model::experiment::Experiment;
use sintonia_model::model::Model;
use sintonia_model::next::NextRun;
use sintonia_model::run::Run;
use sintonia_recording::Recording;

use super::{Arguments, Found};
use crate::progress::Progress;
use crate::record::program;
use crate::{Error, text};

/// Reads the recordings and finds the model.
pub fn fit(arguments: &Arguments) -> Result<Found, Error> {
    let recordings: Vec<Recording> = arguments.inputs.iter().map(|path| Recording::open(path)).collect::<Result<_, _>>()?;
    let progress = Progress::new("reading ranks", recordings.iter().map(Run::steps).sum());
    let named = arguments.inputs.iter().zip(&recordings);
    let runs = named.map(|(path, recording)| Run::of(&path.display().to_string(), recording, &|| progress.step()));
    let runs: Vec<Run> = runs.collect::<Result<_, _>>().map_err(|error| Error::Other(error.to_string()))?;
    drop(progress);
    let machine =
        arguments.machine.as_ref().map(|path| Machine::read(path)).transpose().map_err(|error| Error::Other(error.to_string()))?;
    find(runs, arguments.name.clone(), arguments.x.as_deref(), machine.as_ref())
}

/// The model of runs: its name (or else that of the program), the parameters to fit over (or else all that change), and the machine that they ran on.
pub fn find(runs: Vec<Run>, name: Option<String>, over: Option<&[String]>, machine: Option<&Machine>) -> Result<Found, Error> {
    let name = name.unwrap_or_else(|| {
        let command: Vec<OsString> = runs.first().map(|run| run.command.iter().map(OsString::from).collect()).unwrap_or_default();
        program::name(&command)
    });
    let experiment = Experiment::of(runs, over).map_err(|error| Error::Other(error.to_string()))?;
    let mut model = Model::of(&name, &experiment).map_err(|reason| {
        let next = NextRun::missing(&reason, &experiment).map(|next| format!("; the next run to make: {}", record(&next)));
        Error::Other(format!("not enough recordings: {reason}{}", next.unwrap_or_default()))
    })?;
    if let Some(machine) = machine {
        model.at_home(machine, &experiment);
    }
    let next = NextRun::after(&model, &experiment);
    Ok(Found { of: text::plural(experiment.runs.len() as u64, "run"), outside: outside(&experiment), next, model })
}

/// How a run is recorded.
pub fn record(next: &NextRun) -> String {
    let parameters: String = next.told().map(|(name, value)| format!(" --param {name}={value}")).collect();
    format!("sintonia record{parameters} -- {}", text::command(&next.command))
}

fn outside(experiment: &Experiment) -> String {
    let times = || experiment.runs.iter().map(|run| run.around_s);
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    format!("from the end of MPI_Init to MPI_Finalize, which take {} to {} besides", text::seconds(least), text::seconds(most))
}
