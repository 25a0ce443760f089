//! What a tool adds to an MPI call.
//!
//! All tools are measured in one run: round after round, each time in another order, so that whatever else the machine does meets all
//! of them alike. What a tool adds is told against the bare program of the same round.

mod figures;
mod output;
mod page;
mod peers;
mod programs;
mod rounds;
mod tool;

use std::path::PathBuf;

use clap::{Args, value_parser};

use self::figures::{LibraryFigures, OverheadFigures};
use self::programs::BenchPrograms;
use self::rounds::MeasuredRounds;
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
    /// Only with this MPI library: openmpi or mpich [default: those found]
    #[arg(long, value_name = "NAME")]
    mpi: Option<String>,
    /// Only tools with this in their name, ignoring case
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Also measure this binary of an earlier version, in the same rounds
    #[arg(long, value_name = "BINARY")]
    previous: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options { rounds: ROUNDS, mpi: None, only: Vec::new(), previous: None }
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
    let sides = libraries.iter().map(|mpi| side(mpi, options)).collect::<Result<_, _>>()?;
    let figures = OverheadFigures { machine: machine.after(), rounds: options.rounds, sides };
    paths::publish("overhead", &figures, &page::text(&figures))
}

fn side(mpi: &Mpi, options: &Options) -> Result<LibraryFigures, Error> {
    let folder = paths::folder()?;
    let programs = BenchPrograms::build(mpi, &folder.join(mpi.name))?;
    let (tools, mut absent) = tools(mpi, options)?;
    let measured = MeasuredRounds::measure(mpi, &programs, tools, options.rounds, &folder.join("run"), &mut absent)?;
    Ok(LibraryFigures::new(measured, absent))
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
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|text| name.to_lowercase().contains(&text.to_lowercase()));
    tools.retain(|tool| wanted(&tool.name));
    absent.retain(|absent| wanted(&absent.name));
    tools.insert(0, Tool::nothing());
    Ok((tools, absent))
}
