//! How well runs are predicted that were not made yet.
//!
//! A real program is recorded at small sizes, or on few processes; its model predicts sizes at least four times larger, or four times as
//! many processes; then these runs are made. All runs of a study, those that are fitted and those that are predicted, are made in one
//! random order: whatever else the machine does meets both alike.

mod page;
mod run;
mod study;

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
}

#[derive(Serialize)]
struct PredictFigures {
    machine: Machine,
    rounds: usize,
    studies: Vec<StudyOutcome>,
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
    let wanted = |study: &&PredictionStudy| options.only.is_empty() || options.only.iter().any(|text| study.name.contains(text.as_str()));
    let mut studies = Vec::new();
    for mpi in &libraries {
        for study in STUDIES.iter().filter(wanted) {
            eprintln!("{}: {}", mpi.name, study.name);
            studies.push(outcome(mpi, study, options.rounds)?);
        }
    }
    let figures = PredictFigures { machine: machine.after(), rounds: options.rounds, studies };
    paths::publish("predict", &figures, &page::text(&figures))
}

fn outcome(mpi: &Mpi, study: &PredictionStudy, rounds: usize) -> Result<StudyOutcome, Error> {
    let workshop = StudyRunner::new(mpi, study)?;
    let settings: Vec<RunSetting> = study.known.iter().chain(study.asked).copied().collect();
    let mut random = Random::new();
    let mut seconds = vec![Vec::new(); settings.len()];
    for job in random.order(settings.len() * rounds) {
        let (place, round) = (job % settings.len(), job / settings.len());
        seconds[place].push(workshop.record(settings[place], round)?);
    }
    let fitted = workshop.fit(rounds)?;
    let asked = study.asked.iter().zip(&seconds[study.known.len()..]);
    let rows = asked
        .map(|(setting, runs)| PredictionRow::new(setting.to_string(), workshop.predict(*setting)?, runs.clone()))
        .collect::<Result<_, Error>>()?;
    workshop.clear()?;
    let (formula, own_error_percent) = (fitted.formula, fitted.error_percent);
    Ok(StudyOutcome { mpi: mpi.name, study: study.name, known: study.known.to_vec(), formula, own_error_percent, rows })
}
