//! `sintonia predict`: predicts the time of a program for any size and number of processes, from a model, from source or from a law.

mod display;
mod json;
mod law;
mod number_list;
mod plot;
mod source;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_model::forecast::json::ForecastJson;
use sintonia_model::forecast::{Forecast, PredictionQuery};
use sintonia_model::model::PerformanceModel;
use sintonia_model::predict::Predictor;
use sintonia_model::run::RANKS_PARAMETER;
use sintonia_plot::render_svg;

use crate::error::usage_error;
use crate::{Error, output};
use json::SeriesForecastsJson;

/// Arguments of `sintonia predict`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    printf 'format = 1\\n[model]\\nname = \"lu\"\\nformula = \"2e-9*n^3/p + 1e-4*p\"\\n' > lu.model.toml\n  \
    printf '[[parameter]]\\nname = \"n\"\\nfrom = 100\\nto = 1000\\n[[parameter]]\\nname = \"p\"\\nfrom = 1\\nto = 16\\n' >> lu.model.toml\n  \
    sintonia predict lu.model.toml -p n=2000 --procs 2,4,8,16..256")]
pub(crate) struct PredictArgs {
    /// Model file from `sintonia fit -o`, or PROGRAM.pam from `sintonia compile -o`
    #[arg(value_name = "MODEL.toml|PROGRAM.pam", required_unless_present_any = ["granularity", "amdahl", "gustafson", "law"])]
    model: Option<PathBuf>,
    /// Parameter values: numbers, doubling ranges (16..256) and ranges with a step (2..10:2)
    #[arg(short, long, value_name = "NAME=VALUES")]
    param: Vec<String>,
    /// Model of several series: only those of this region or metric (region=NAME, metric=NAME)
    #[arg(long = "where", value_name = "KEY=NAME", requires = "model")]
    only: Vec<String>,
    /// Numbers of processes, in the same syntax
    #[arg(long, value_name = "VALUES")]
    procs: Option<String>,
    /// Machine file of another machine than the model's; required for a PROGRAM.pam (from sintonia bench, or written by hand)
    #[arg(long, value_name = "FILE.machine.toml", requires = "model")]
    machine: Option<PathBuf>,
    /// Minimum parallel efficiency, for the largest useful number of processes
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    efficiency: f64,
    /// Number of processes that speed-ups are relative to, taken as fully efficient [default: the fewest measured]
    #[arg(long, value_name = "P", requires = "model")]
    base: Option<f64>,
    /// PROGRAM.pam: probability of the condition at a source location: a number, a range (0.05..0.1) or a formula of the model's names
    #[arg(long, value_name = "PLACE=SHARE", requires = "model")]
    taken: Vec<String>,
    /// PROGRAM.pam: assign only half of the tasks to workers in advance, the others to whichever worker is free
    #[arg(long, requires = "model")]
    mixed: bool,
    /// Show the terms of each prediction
    #[arg(long)]
    explain: bool,
    /// Instead of a model, workers that all report to one master: time R per task, communication C, M tasks (or R/C as G); or a recording of
    /// such a program, from which they are estimated. Values may be intervals: C=[0.01,0.02]
    #[arg(long, value_name = "R=…,C=…,M=…|NAME.sin", conflicts_with_all = ["model", "param", "explain"])]
    granularity: Option<String>,
    /// Instead of a model, Amdahl's law
    #[arg(long, value_name = "serial=…,parallel=…", conflicts_with_all = ["model", "param", "explain", "granularity"])]
    amdahl: Option<String>,
    /// Instead of a model, Gustafson's law
    #[arg(long, value_name = "serial=…,parallel=…", conflicts_with_all = ["model", "param", "explain", "granularity", "amdahl"])]
    gustafson: Option<String>,
    /// Instead of a model, another law by name with its values, for example for messages over d hops:
    /// store-and-forward F=…,P=…,L=…,d=0..8 (also wormhole, virtual-cut-through, adjacent, ray-tracing: docs/laws.md)
    #[arg(long, visible_alias = "flow", value_names = ["LAW", "VALUES"], num_args = 2.., conflicts_with_all = ["model", "param", "explain", "granularity", "amdahl", "gustafson"])]
    law: Option<Vec<String>>,
    /// Plot the prediction
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `sintonia predict`.
pub(crate) fn run(args: PredictArgs) -> Result<ExitCode, Error> {
    if !(args.efficiency > 0.0 && args.efficiency <= 1.0) {
        usage_error(format!("--efficiency must be between 0 and 1, not {}", args.efficiency));
    }
    args.plot.iter().try_for_each(|path| output::check_writable(path))?;
    match &args.model {
        Some(path) if path.extension().is_some_and(|ending| ending == "pam") => {
            if !args.only.is_empty() {
                usage_error("--where applies only to a MODEL.toml");
            }
            source::run(path, &args)?;
        }
        Some(path) => predict_from_model(path, &args)?,
        None => law::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn predict_from_model(path: &Path, args: &PredictArgs) -> Result<(), Error> {
    if args.mixed || !args.taken.is_empty() {
        usage_error("--taken and --mixed apply only to a PROGRAM.pam");
    }
    let about = |error: &dyn std::fmt::Display| Error::Other(format!("{}: {error}", path.display()));
    if path.is_dir() {
        return Err(about(&"this is a directory, not a model file; `sintonia fit NAME.sin... -o MODEL.toml` fits a model to recordings"));
    }
    let mut models = PerformanceModel::read_all(path).map_err(|error| Error::Other(error.to_string()))?;
    select_series(args, &mut models).map_err(|error| about(&error))?;
    if let Some(file) = &args.machine {
        let machine = Machine::read(file).map_err(|error| Error::Other(error.to_string()))?;
        models = models.iter().map(|model| model.on_machine(&machine)).collect::<Result<_, _>>().map_err(|error| about(&error))?;
    }
    let names: Vec<Vec<String>> = models.iter().map(PerformanceModel::parameter_names).collect();
    let predictors: Vec<Predictor> = models.iter().zip(&names).map(|(model, names)| Predictor::new(model, names)).collect();
    let question = build_query(args);
    let forecasts = models.iter().zip(&predictors).map(|(model, predictor)| forecast(args, model, predictor, &question));
    let forecasts = forecasts.collect::<Result<Vec<Forecast>, String>>().map_err(|error| about(&error))?;
    if let Some(file) = &args.plot {
        let [forecast] = &forecasts[..] else { usage_error("a plot shows one series: choose it with --where region=NAME") };
        let drawing = plot::plot_forecast(forecast).ok_or_else(|| about(&"it has no parameters, so there is nothing to plot"))?;
        output::write_file(file, |out| out.write_all(render_svg(&drawing).as_bytes()))?;
    }
    let text = |forecast: &Forecast| display::render(forecast, args.efficiency, args.explain);
    output::write_stdout(|out| match (args.json, &forecasts[..]) {
        (true, [forecast]) => output::write_json_line(out, &ForecastJson::new(forecast, args.explain)),
        (true, several) => output::write_json_line(out, &SeriesForecastsJson::new(several, args.explain)),
        (false, several) => out.write_all(several.iter().map(text).collect::<Vec<_>>().join("\n").as_bytes()),
    })
}

/// Keeps the requested series.
fn select_series(args: &PredictArgs, models: &mut Vec<PerformanceModel>) -> Result<(), String> {
    for condition in &args.only {
        let wrong = || -> ! { usage_error(format!("--where {condition}: expected region=NAME or metric=NAME")) };
        let (key, name) = condition.split_once('=').unwrap_or_else(|| wrong());
        let own: fn(&PerformanceModel) -> &str = match key {
            "region" => |model| model.region.as_deref().unwrap_or_default(),
            "metric" => |model| &model.quantity.name,
            _ => wrong(),
        };
        let known: BTreeSet<String> = models.iter().map(|model| own(model).to_owned()).collect();
        models.retain(|model| own(model) == name);
        if models.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(format!("no {key} `{name}`; available: {}", known.join(", ")));
        }
    }
    if models.is_empty() { Err("it has no models".to_owned()) } else { Ok(()) }
}

/// Answers the query with one model.
fn forecast<'a>(
    args: &PredictArgs,
    model: &'a PerformanceModel,
    predictor: &'a Predictor<'a>,
    question: &PredictionQuery,
) -> Result<Forecast<'a>, String> {
    let forecast = Forecast::new(model, predictor, question).map_err(|error| error.to_string())?;
    if args.base.is_some() && forecast.speedup_base.is_none() {
        return Err("the time does not depend on p, so there are no speed-ups and --base has no effect".to_owned());
    }
    match args.base.filter(|_| forecast.rows.iter().all(|row| row.speedup.is_none())) {
        Some(base) => Err(format!("the formula has no value at p = {base}: choose another --base")),
        None => Ok(forecast),
    }
}

fn build_query(args: &PredictArgs) -> PredictionQuery {
    let mut question = PredictionQuery { efficiency: args.efficiency, speedup_base: args.base, ..PredictionQuery::default() };
    for text in &args.param {
        let Some((name, list)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            usage_error(format!("-p {text}: expected NAME=VALUES, such as n=2000"));
        };
        set_values(&mut question, name.trim(), list);
    }
    if let Some(list) = &args.procs {
        set_values(&mut question, RANKS_PARAMETER, list);
    }
    let processes = || question.parameters.get(RANKS_PARAMETER).into_iter().flatten().chain(&args.base);
    if let Some(bad) = processes().find(|processes| **processes < 1.0 || processes.fract() != 0.0) {
        usage_error(format!("the number of processes must be a positive integer, not {bad}"));
    }
    question
}

fn set_values(question: &mut PredictionQuery, name: &str, list: &str) {
    let values = number_list::parse_doubling(list).unwrap_or_else(|error| usage_error(format!("{name}={list}: {error}")));
    if question.parameters.insert(name.to_owned(), values).is_some() {
        usage_error(format!("{name} is given twice; list several values as in {name}=1,2,4"));
    }
}
