//! How well runs are predicted that were not made yet.
//!
//! A real program is recorded at small sizes, or on few processes; its model predicts sizes at least four times larger, or four times as
//! many processes; then these runs are made. Programs by others are in a folder that `bench/predict/build` makes. All runs of a study, those that are fitted and those that are predicted, are made in one
//! random order: whatever else the machine does meets both alike.

mod page;
mod run;
mod study;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use self::run::StudyRunner;
use self::study::{PredictionStudy, RunSetting, STUDIES};
use crate::error::Error;
use crate::machine::Machine;
use crate::mpi::Mpi;
use crate::paths;
use crate::prediction_row::PredictionRow;
use crate::random::Random;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// How many times each run is made
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only with this MPI library: openmpi or mpich [default: those found]
    #[arg(long, value_name = "NAME")]
    mpi: Option<String>,
    /// Only studies with this in their name
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// The programs by others in this folder, instead of those of this project
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

#[derive(Serialize)]
struct PredictFigures {
    machine: Machine,
    rounds: usize,
    studies: Vec<StudyOutcome>,
    /// The studies that could not be made, and why.
    failed: Vec<String>,
}

/// What came of one study with one MPI library.
#[derive(Serialize)]
struct StudyOutcome {
    mpi: &'static str,
    study: &'static str,
    known: Vec<RunSetting>,
    formula: String,
    /// The error at the largest runs that were known, when they were held out: what the model says of itself.
    own_error_percent: Option<f64>,
    rows: Vec<PredictionRow>,
}

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let libraries = Mpi::found(options.mpi.as_deref())?;
    let programs = options.programs.as_ref().map(|folder| folder.canonicalize().map_err(Error::at(folder))).transpose()?;
    let wanted = |study: &&PredictionStudy| {
        study.is_by_others() == programs.is_some()
            && (options.only.is_empty() || options.only.iter().any(|text| study.name.contains(text.as_str())))
    };
    let (mut studies, mut failed) = (Vec::new(), Vec::new());
    for mpi in &libraries {
        for study in STUDIES.iter().filter(wanted) {
            eprintln!("{}: {}", mpi.name, study.name);
            match outcome(mpi, study, programs.as_deref().unwrap_or(Path::new("")), options.rounds) {
                Ok(outcome) => studies.push(outcome),
                Err(error) => failed.push(format!("{}, {}: {error}", study.name, mpi.name)),
            }
        }
    }
    let figures = PredictFigures { machine: machine.after(), rounds: options.rounds, studies, failed };
    paths::publish("predict", &figures, &page::text(&figures))
}

fn outcome(mpi: &Mpi, study: &PredictionStudy, programs: &Path, rounds: usize) -> Result<StudyOutcome, Error> {
    let runner = StudyRunner::new(mpi, study, programs)?;
    let settings: Vec<RunSetting> = study.known.iter().chain(study.asked).copied().collect();
    let mut random = Random::new();
    let mut seconds = vec![Vec::new(); settings.len()];
    for job in random.order(settings.len() * rounds) {
        let (place, round) = (job % settings.len(), job / settings.len());
        seconds[place].push(runner.record(settings[place], round)?);
    }
    let fitted = runner.fit(rounds)?;
    let asked = study.asked.iter().zip(&seconds[study.known.len()..]);
    let rows = asked
        .map(|(setting, runs)| PredictionRow::new(setting.to_string(), runner.predict(*setting)?, runs.clone()))
        .collect::<Result<_, Error>>()?;
    runner.clear()?;
    let (formula, own_error_percent) = (fitted.formula, fitted.error_percent);
    Ok(StudyOutcome { mpi: mpi.name, study: study.name, known: study.known.to_vec(), formula, own_error_percent, rows })
}
