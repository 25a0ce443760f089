//! `sintonia predict`: how long a program takes at any size and number of processes, from a model, from its source or from a law.

pub mod json;
mod law;
mod plot;
mod screen;
mod source;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_formats::plot::svg;
use sintonia_machine::Machine;
use sintonia_model::forecast::{Forecast, Question};
use sintonia_model::model::Model;
use sintonia_model::predict::Predictor;
use sintonia_model::run::RANKS;

use crate::error::wrong_usage;
use crate::fit::may_write;
use crate::{Error, output};

/// What `sintonia predict` is told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    printf 'format = 1\\n[model]\\nname = \"lu\"\\nformula = \"2e-9*n^3/p + 1e-4*p\"\\n' > lu.model.toml\n  \
    printf '[[parameter]]\\nname = \"n\"\\nfrom = 100\\nto = 1000\\n[[parameter]]\\nname = \"p\"\\nfrom = 1\\nto = 16\\n' >> lu.model.toml\n  \
    sintonia predict lu.model.toml -p n=2000 --procs 2,4,8,16..256")]
pub struct Arguments {
    /// The model, as `sintonia fit -o` writes it; or PROGRAM.pam, as `sintonia compile -o` makes it from source
    #[arg(value_name = "MODEL.toml|PROGRAM.pam", required_unless_present_any = ["granularity", "amdahl", "gustafson", "law"])]
    model: Option<PathBuf>,
    /// A parameter and its values: numbers, ranges that double (16..256) and ranges with a step (2..10:2)
    #[arg(short, long, value_name = "NAME=VALUES")]
    param: Vec<String>,
    /// The numbers of processes, in the same way
    #[arg(long, value_name = "VALUES")]
    procs: Option<String>,
    /// Another machine than the model's, or the one to predict for from source: its machine file (sintonia bench, or written by hand)
    #[arg(long, value_name = "FILE.machine.toml", requires = "model")]
    machine: Option<PathBuf>,
    /// The least efficiency that is enough, for the best number of processes
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    efficiency: f64,
    /// The number of processes that speed-ups are counted from, which count as so many without losses [default: the fewest measured]
    #[arg(long, value_name = "P", requires = "model")]
    base: Option<f64>,
    /// From source: how often the condition at a place holds: a number, a range (0.05..0.1) or a formula of the model's names
    #[arg(long, value_name = "PLACE=SHARE", requires = "model")]
    taken: Vec<String>,
    /// From source: only half of the tasks are dealt to workers at the beginning, the others to whoever is free
    #[arg(long, requires = "model")]
    mixed: bool,
    /// Show what each prediction is made of, term by term
    #[arg(long)]
    explain: bool,
    /// Instead of a model, all workers report to one: time R for a task, communication C, M tasks (or R/C as G); or a recording of such
    /// a program, where they are found. A value may be an interval: C=[0.01,0.02]
    #[arg(long, value_name = "R=…,C=…,M=…|NAME.sin", conflicts_with_all = ["model", "param", "explain"])]
    granularity: Option<String>,
    /// Instead of a model, Amdahl's law
    #[arg(long, value_name = "serial=…,parallel=…", conflicts_with_all = ["model", "param", "explain", "granularity"])]
    amdahl: Option<String>,
    /// Instead of a model, Gustafson's law
    #[arg(long, value_name = "serial=…,parallel=…", conflicts_with_all = ["model", "param", "explain", "granularity", "amdahl"])]
    gustafson: Option<String>,
    /// Instead of a model, another law by its name and its values, as for messages that pass d nodes:
    /// store-and-forward F=…,P=…,L=…,d=0..8 (also wormhole, virtual-cut-through, adjacent, ray-tracing: docs/laws.md)
    #[arg(long, visible_alias = "flow", value_names = ["LAW", "VALUES"], num_args = 2.., conflicts_with_all = ["model", "param", "explain", "granularity", "amdahl", "gustafson"])]
    law: Option<Vec<String>>,
    /// Draw the prediction
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Show everything as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if !(arguments.efficiency > 0.0 && arguments.efficiency <= 1.0) {
        wrong_usage(format!("--efficiency is a share between 0 and 1, not {}", arguments.efficiency));
    }
    arguments.plot.iter().try_for_each(|path| may_write(path))?;
    match &arguments.model {
        Some(path) if path.extension().is_some_and(|ending| ending == "pam") => source::run(path, &arguments)?,
        Some(path) => with_model(path, &arguments)?,
        None => law::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn with_model(path: &Path, arguments: &Arguments) -> Result<(), Error> {
    if arguments.mixed || !arguments.taken.is_empty() {
        wrong_usage("--taken and --mixed are of programs that are predicted from source, with a PROGRAM.pam");
    }
    let about = |error: &dyn std::fmt::Display| Error::Other(format!("{}: {error}", path.display()));
    if path.is_dir() {
        return Err(about(&"this is a folder, not a model file; `sintonia fit NAME.sin... -o MODEL.toml` makes one from recordings"));
    }
    let mut model = Model::read(path).map_err(|error| Error::Other(error.to_string()))?;
    if let Some(file) = &arguments.machine {
        let machine = Machine::read(file).map_err(|error| Error::Other(error.to_string()))?;
        model = model.on(&machine).map_err(|error| about(&error))?;
    }
    let names = model.names();
    let predictor = Predictor::new(&model, &names);
    let forecast = Forecast::of(&model, &predictor, &question(arguments)).map_err(|error| about(&error))?;
    if arguments.base.is_some() && forecast.base.is_none() {
        return Err(about(&"the time does not depend on p, so there are no speed-ups and --base means nothing"));
    }
    if let Some(base) = arguments.base.filter(|_| forecast.rows.iter().all(|row| row.speedup.is_none())) {
        return Err(about(&format!("the formula has no value at p = {base}, so nothing can be counted from there: choose another --base")));
    }
    if let Some(file) = &arguments.plot {
        let drawing = plot::of(&forecast).ok_or_else(|| about(&"it has no parameters, so there is nothing to draw"))?;
        output::to_file(file, |out| out.write_all(svg(&drawing).as_bytes()))?;
    }
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::Shown::of(&forecast, arguments.explain)),
        false => out.write_all(screen::show(&forecast, arguments.efficiency, arguments.explain).as_bytes()),
    })
}

fn question(arguments: &Arguments) -> Question {
    let mut question = Question { efficiency: arguments.efficiency, base: arguments.base, ..Question::default() };
    for text in &arguments.param {
        let Some((name, list)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            wrong_usage(format!("-p {text}: a parameter and its values are needed, such as n=2000"));
        };
        set(&mut question, name.trim(), list);
    }
    if let Some(list) = &arguments.procs {
        set(&mut question, RANKS, list);
    }
    let processes = || question.parameters.get(RANKS).into_iter().flatten().chain(&arguments.base);
    if let Some(bad) = processes().find(|processes| **processes < 1.0 || processes.fract() != 0.0) {
        wrong_usage(format!("there cannot be {bad} processes: their number is whole, from 1 on"));
    }
    question
}

fn set(question: &mut Question, name: &str, list: &str) {
    let values = values::doubling(list).unwrap_or_else(|error| wrong_usage(format!("{name}={list}: {error}")));
    if question.parameters.insert(name.to_owned(), values).is_some() {
        wrong_usage(format!("{name} is given twice; several values stand together, as in {name}=1,2,4"));
    }
}
