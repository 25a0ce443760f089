//! Fits a model to recordings.

use sintonia_machine::Machine;
use sintonia_model::run::MeasuredRun;
use sintonia_model::run_metric::RunMetric;
use sintonia_model::run_selection::RunSelection;
use sintonia_model::series::CurveForm;
use sintonia_model::study::ScalingStudy;
use sintonia_recording::Recording;

use super::{FitArgs, FitResult};
use crate::progress::ProgressBar;
use crate::{Error, text};

/// Reads the recordings and fits the model.
pub(super) fn fit_recordings(args: &FitArgs) -> Result<FitResult, Error> {
    let metric = args.run_metric();
    let recordings = Recording::open_all(&args.inputs)?;
    let progress = ProgressBar::new("reading ranks", recordings.iter().map(MeasuredRun::progress_steps).sum());
    let mut runs = RunSelection::including(args.include.iter().copied());
    for (path, recording) in args.inputs.iter().zip(&recordings) {
        let read = runs.read(&path.display().to_string(), recording, &|| progress.step());
        read.map_err(|error| Error::Other(error.to_string()))?;
    }
    drop(progress);
    let machine = args.machine.as_ref().map(|path| Machine::read(path)).transpose().map_err(|error| Error::Other(error.to_string()))?;
    let (name, over, form) = (args.name.clone(), args.x.as_deref(), args.curve_form());
    let study = runs.into_study(|runs| match (&metric, &form) {
        (RunMetric::Time, CurveForm::Scaling) => ScalingStudy::from_runs(runs, name, over, machine.as_ref()),
        _ => ScalingStudy::from_total(runs, name, over, &metric, &form, machine.as_ref()),
    });
    let study = study.map_err(|error| Error::Other(error.to_string()))?;
    let [least, most] = study.init_finalize_s.map(text::format_seconds);
    let excluded_time = match metric {
        RunMetric::Time => format!("from the end of MPI_Init to MPI_Finalize; these two take another {least} to {most}"),
        RunMetric::Total(_) => String::new(),
    };
    Ok(FitResult { excluded_time, next: study.next, ..FitResult::new(study.model, text::format_plural(study.runs as u64, "run"), &form) })
}
