//! Fits a model to recordings.

use sintonia_machine::Machine;
use sintonia_model::run::MeasuredRun;
use sintonia_model::study::ScalingStudy;
use sintonia_recording::Recording;

use super::{FitArgs, FitResult};
use crate::progress::ProgressBar;
use crate::{Error, text};

/// Reads the recordings and fits the model.
pub(super) fn fit_recordings(args: &FitArgs) -> Result<FitResult, Error> {
    let recordings = Recording::open_all(&args.inputs)?;
    let progress = ProgressBar::new("reading ranks", recordings.iter().map(MeasuredRun::progress_steps).sum());
    let named = args.inputs.iter().zip(&recordings);
    let runs = named.map(|(path, recording)| MeasuredRun::from_recording(&path.display().to_string(), recording, &|| progress.step()));
    let runs: Vec<MeasuredRun> = runs.collect::<Result<_, _>>().map_err(|error| Error::Other(error.to_string()))?;
    drop(progress);
    let machine = args.machine.as_ref().map(|path| Machine::read(path)).transpose().map_err(|error| Error::Other(error.to_string()))?;
    let study = ScalingStudy::from_runs(runs, args.name.clone(), args.x.as_deref(), machine.as_ref());
    let study = study.map_err(|error| Error::Other(error.to_string()))?;
    let [least, most] = study.init_finalize_s.map(text::format_seconds);
    Ok(FitResult {
        input_summary: text::format_plural(study.runs as u64, "run"),
        excluded_time: format!("from the end of MPI_Init to MPI_Finalize; these two take another {least} to {most}"),
        next: study.next,
        model: study.model,
    })
}
