//! Predictions from a law instead of a model: Amdahl, Gustafson, granularity, message times.

mod display;
mod json;
mod law_query;
mod plot;

use std::path::Path;

use sintonia_model::laws::LawAnswer;
use sintonia_model::laws::task_times::{MeanEstimate, TaskGranularity};
use sintonia_model::master_worker::MasterWorkerRun;
use sintonia_plot::render_svg;
use sintonia_recording::Recording;

use super::PredictArgs;
use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, output};

/// The granularity laws.
const GRANULARITY_LAWS: [&str; 2] = ["all-to-one-simple", "all-to-one-composite"];

/// Where values come from.
pub(super) enum ValueOrigin {
    /// The command line.
    Given,
    /// A recording, with what was found in it.
    Recorded(String, MasterWorkerRun, TaskGranularity),
}

/// Evaluates the requested laws.
pub(super) fn run(args: &PredictArgs) -> Result<(), Error> {
    let (efficiency, procs) = (args.efficiency, args.procs.as_deref());
    let one = |name: &str, values: &str| {
        let answer = law_query::parse(name, values, procs).and_then(|query| query.evaluate(efficiency).map_err(|error| error.to_string()));
        answer.unwrap_or_else(|error| usage_error(error))
    };
    let (answers, origin) = match args {
        // Values contain an equals sign, but so may the name of a recording.
        PredictArgs { granularity: Some(text), .. } if !text.contains('=') || Path::new(text).exists() => {
            evaluate_recording(text, procs, efficiency)?
        }
        PredictArgs { granularity: Some(values), .. } => (GRANULARITY_LAWS.map(|name| one(name, values)).into(), ValueOrigin::Given),
        PredictArgs { amdahl: Some(values), .. } => (vec![one("amdahl", values)], ValueOrigin::Given),
        PredictArgs { gustafson: Some(values), .. } => (vec![one("gustafson", values)], ValueOrigin::Given),
        PredictArgs { law: Some(words), .. } if words.len() > 1 => (vec![one(&words[0], &words[1..].join(","))], ValueOrigin::Given),
        _ => usage_error("a model or a law is required"),
    };
    print(args, &answers, &origin)
}

fn print(args: &PredictArgs, answers: &[LawAnswer], origin: &ValueOrigin) -> Result<(), Error> {
    if let Some(file) = &args.plot {
        output::write_file(file, |out| out.write_all(render_svg(&plot::plot_answers(answers)).as_bytes()))?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::LawAnswersJson::new(answers, origin)),
        false => out.write_all(display::render(answers, origin, args.efficiency).as_bytes()),
    })
}

/// Evaluates the granularity laws with the task times of a recording.
fn evaluate_recording(path: &str, procs: Option<&str>, efficiency: f64) -> Result<(Vec<LawAnswer>, ValueOrigin), Error> {
    let other = |error: String| Error::Other(format!("{path}: {error}"));
    let recording = Recording::open(Path::new(path))?;
    let progress = ProgressBar::new("reading ranks", recording.header.ranks.len());
    let master_worker = MasterWorkerRun::from_recording(&recording, &|| progress.step()).map_err(|error| other(error.to_string()))?;
    drop(progress);
    let found = master_worker.tasks.granularity().map_err(|error| other(error.to_string()))?;
    let exact = |value: f64| MeanEstimate { value, interval: None };
    let values = [("RM", found.computing), ("CM", found.overhead), ("G", found.granularity), ("M", exact(found.tasks as f64))];
    let answers = GRANULARITY_LAWS.map(|name| {
        let query = law_query::from_estimates(name, &values, procs);
        let answer = query.and_then(|query| query.evaluate(efficiency).map_err(|error| error.to_string()));
        answer.unwrap_or_else(|error| usage_error(error))
    });
    Ok((answers.into(), ValueOrigin::Recorded(path.to_owned(), master_worker, found)))
}
