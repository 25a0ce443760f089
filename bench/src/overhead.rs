//! What a tool adds to an MPI call, to a program that computes, to constructs of OpenMP and to calls that use files.
//!
//! All tools are measured in one run: round after round, each time in another order, so that whatever else the machine does meets all
//! of them alike. What a tool adds is told against the bare program of the same round.

mod calls;
mod figures;
mod files;
mod openmp;
mod output;
mod page;
mod peers;
mod programs;
mod rounds;
mod run;
mod samples;
mod sampling_peers;
mod study;
mod tool;

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use self::calls::{CallPrograms, CallRounds};
use self::figures::{LibraryFigures, OverheadFigures};
use self::study::{OverheadStudy, StudyFigures};
use self::tool::Tool;
use crate::error::Error;
use crate::machine::Machine;
use crate::mpi::Mpi;
use crate::paths;
use crate::search::Search;

const ROUNDS: u32 = 15;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// How many rounds
    #[arg(long, default_value_t = ROUNDS, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only what is added to these [default: all]
    #[arg(long, value_enum)]
    part: Vec<OverheadPart>,
    /// Only with this MPI library: openmpi or mpich [default: those found]
    #[arg(long, value_name = "NAME")]
    mpi: Option<String>,
    /// Only tools with this in their name, ignoring case
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Also measure MPI calls with this binary of an earlier version, in the same rounds
    #[arg(long, value_name = "BINARY")]
    previous: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options { rounds: ROUNDS, part: Vec::new(), mpi: None, only: Vec::new(), previous: None }
    }
}

/// What something is added to.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OverheadPart {
    /// MPI calls
    Calls,
    /// The processor time of a program that computes, by samples
    Samples,
    /// Constructs of OpenMP
    Openmp,
    /// Calls that use files
    Files,
}

impl Options {
    fn measures(&self, part: OverheadPart) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn wants(&self, tool: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| tool.to_lowercase().contains(&text.to_lowercase()))
    }
}

/// A tool that was not measured.
#[derive(serde::Serialize)]
pub(crate) struct AbsentTool {
    pub name: String,
    pub why: String,
}

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let libraries = Mpi::found(options.mpi.as_deref())?;
    let mut sides = Vec::new();
    let mut studies = Vec::new();
    for mpi in &libraries {
        if options.measures(OverheadPart::Calls) {
            sides.push(side(mpi, options)?);
        }
        studies.extend(measured_studies(mpi, options)?);
    }
    let figures = OverheadFigures { machine: machine.after(), rounds: options.rounds, sides, studies };
    paths::publish("overhead", &figures, &page::text(&figures))
}

fn side(mpi: &Mpi, options: &Options) -> Result<LibraryFigures, Error> {
    let folder = paths::folder()?;
    let programs = CallPrograms::build(mpi, &folder.join(mpi.name))?;
    let (tools, mut absent) = tools(mpi, options)?;
    let run = folder.join("run");
    let sample = |tool: &Tool| programs.sample(mpi, tool, &run);
    let measured = CallRounds::measure(mpi.name, tools, options.rounds, &mut absent, sample)?;
    Ok(LibraryFigures::new(measured, absent))
}

fn measured_studies(mpi: &Mpi, options: &Options) -> Result<Vec<StudyFigures>, Error> {
    let folder = paths::folder()?.join(mpi.name);
    let mut studies = Vec::new();
    if options.measures(OverheadPart::Samples) {
        studies.push(samples::study(mpi, &folder)?);
    }
    if options.measures(OverheadPart::Openmp) {
        studies.extend(openmp::studies(mpi, &folder)?);
    }
    if options.measures(OverheadPart::Files) {
        studies.push(files::study(mpi, &folder)?);
    }
    let wanted = |mut study: OverheadStudy| {
        study.tools.retain(|tool| options.wants(&tool.name));
        study.absent.retain(|absent| options.wants(&absent.name));
        study.measure(options.rounds)
    };
    studies.into_iter().map(wanted).collect()
}

/// The bare program first, then Sintonia, then the peers that are here.
fn tools(mpi: &Mpi, options: &Options) -> Result<(Vec<Tool>, Vec<AbsentTool>), Error> {
    let mut tools = tool::sintonia("Sintonia", &paths::sintonia()?);
    tools.push(tool::without_call_paths(&paths::sintonia()?));
    tools.extend(options.previous.iter().flat_map(|binary| tool::sintonia("Sintonia before", binary)));
    let mut absent = Vec::new();
    let search = Search::from_environment();
    for (name, find) in peers::PEERS {
        match find(&search, mpi) {
            Ok(found) => tools.extend(found),
            Err(why) => absent.push(AbsentTool { name: (*name).into(), why }),
        }
    }
    tools.retain(|tool| options.wants(&tool.name));
    absent.retain(|absent| options.wants(&absent.name));
    tools.insert(0, Tool::nothing());
    Ok((tools, absent))
}
