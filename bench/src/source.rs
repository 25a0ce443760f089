//! How well programs are predicted that were never run: the paper's two, from their source.
//!
//! The operations of this machine are measured first, in the same virtual machine that runs the tasks. Then the source of pi and primes is
//! compiled to models, each of the paper's versions is predicted for 1, 2 and 4 workers, and all of them are run in one random order.

mod page;
mod version;

use std::path::Path;

use clap::Args;
use serde::{Deserialize, Serialize};

use self::version::{JavaProgram, PROGRAMS, VersionCase};
use crate::error::Error;
use crate::machine::Machine;
use crate::paths;
use crate::prediction_row::{PredictOutput, PredictionRow};
use crate::random::Random;
use crate::sintonia_command::SintoniaCommand;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// How many times each run is made
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only the program of this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The machine file, if its operations are not to be measured now
    #[arg(long, value_name = "FILE.machine.toml")]
    machine: Option<std::path::PathBuf>,
}

#[derive(Serialize)]
struct SourceFigures {
    machine: Machine,
    rounds: usize,
    programs: Vec<SourceOutcome>,
}

/// What came of one program.
#[derive(Serialize)]
struct SourceOutcome {
    program: &'static str,
    rows: Vec<PredictionRow>,
}

#[derive(Deserialize)]
struct Ended {
    seconds: f64,
}

const HERE: &str = "here.machine.toml";

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let sintonia = SintoniaCommand::in_folder("source")?;
    match &options.machine {
        Some(file) => drop(std::fs::copy(file, sintonia.folder.join(HERE)).map_err(Error::at(file))?),
        None => drop(sintonia.run(&words("bench --java -o here.machine.toml"))?),
    }
    let wanted = |program: &&JavaProgram| options.only.as_ref().is_none_or(|name| name == program.name);
    let programs = PROGRAMS.iter().filter(wanted).map(|program| outcome(&sintonia, program, options.rounds)).collect::<Result<_, _>>()?;
    sintonia.clear()?;
    let figures = SourceFigures { machine: machine.after(), rounds: options.rounds, programs };
    paths::publish("source", &figures, &page::text(&figures))
}

fn outcome(sintonia: &SintoniaCommand, program: &JavaProgram, rounds: usize) -> Result<SourceOutcome, Error> {
    eprintln!("{}", program.name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps").join(program.name);
    let sources = program.sources.iter().map(|file| folder.join(file).display().to_string());
    let model = format!("{}.pam", program.name);
    sintonia.run(&["compile".to_owned()].into_iter().chain(sources).chain(["-o".to_owned(), model.clone()]).collect::<Vec<_>>())?;
    let cases = program.cases();
    let mut seconds = vec![Vec::new(); cases.len()];
    for job in Random::new().order(cases.len() * rounds) {
        let place = job % cases.len();
        let command = format!("run-tasks {} {}", folder.join(program.sources[0]).display(), cases[place].run());
        seconds[place].push(sintonia.ask::<Ended>(&words(&command))?.seconds);
    }
    let rows = cases.iter().zip(seconds).map(|(case, runs)| row(sintonia, program, &model, case, runs));
    Ok(SourceOutcome { program: program.name, rows: rows.collect::<Result<_, _>>()? })
}

fn row(sintonia: &SintoniaCommand, program: &JavaProgram, model: &str, case: &VersionCase, runs: Vec<f64>) -> Result<PredictionRow, Error> {
    let mut command = words(&format!("predict {model} --machine {HERE} {}", case.prediction()));
    command.extend(program.taken(case).into_iter().flat_map(|share| ["--taken".to_owned(), share]));
    let run = case.to_string();
    let predicted: PredictOutput = sintonia.ask(&command)?;
    PredictionRow::new(run.clone(), predicted.seconds(&run)?, runs)
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
