//! `sintonia place`: which rank should go to which core of which host.

mod apply;
mod finding;
mod json;
mod launch;
pub mod picture;
mod room;
mod screen;
mod subject;

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_placement::Host;
use sintonia_placement::launcher::{Form, parse_hosts};
use sintonia_placement::measured::Measured;
use sintonia_placement::objective::{self, Cost};
use sintonia_placement::partition;

use crate::error::wrong_usage;
use crate::{Error, help, output};
use finding::Found;
use launch::Written;
use room::Room;
use subject::Subject;

/// What `sintonia place` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia place hello.sin --hosts nodeA:2,nodeB:2"))]
pub struct Arguments {
    /// The recording whose ranks are placed
    #[arg(value_name = "NAME.sin", conflicts_with_all = ["graph", "apply"])]
    recording: Option<PathBuf>,
    /// Place the vertices of a graph in METIS's format instead
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    graph: Option<PathBuf>,
    /// The machine to place them on: its nodes, cores and topology; with it, runs are replayed to say what is gained
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// The hosts and how many ranks each has room for: nodeA:4,nodeB:4 or node[01-16]:8 [default: those of the machine file, or of the recording]
    #[arg(long, value_name = "NAME:SLOTS,...")]
    hosts: Option<String>,
    /// What should be little
    #[arg(long, value_enum, default_value_t = Objective::Congestion)]
    objective: Objective,
    /// How long to search
    #[arg(long, value_enum, default_value_t = Effort::Usual)]
    effort: Effort,
    /// Also show what other placements would do: as it is now, by core, by node, by METIS and Scotch where installed
    #[arg(long)]
    compare: bool,
    /// Do not ask METIS or Scotch, even where they are installed
    #[arg(long)]
    built_in: bool,
    /// Write the placement for the launcher
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write it for: openmpi4, openmpi5, mpich, intel, slurm, cray, table or json [default: the launcher of the recording, else a table]
    #[arg(long, value_name = "KIND", value_parser = launch::form)]
    launcher: Option<Form>,
    /// What ranks are told [default: cores; with --apply hosts, unless the machine file tells of sockets or caches]
    #[arg(long, value_enum)]
    bind: Option<Bind>,
    /// Write it even where it is of no use
    #[arg(long)]
    force: bool,
    /// Record the command, place its ranks, run it both ways in turn, and say what was gained
    #[arg(long, requires = "command")]
    apply: bool,
    /// With --apply: how often it is run each way
    #[arg(long, value_name = "N", default_value_t = 5, requires = "apply", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Say it as one JSON object
    #[arg(long)]
    json: bool,
    /// With --apply: the command
    #[arg(last = true, value_name = "COMMAND", requires = "apply")]
    command: Vec<String>,
}

/// What should be little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Objective {
    /// How long the busiest link is busy
    Congestion,
    /// Bytes times the distance they go
    Bytes,
    /// The replayed time of the run; takes --machine
    Time,
}

/// What ranks are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Bind {
    /// The core that each of them stays on
    Cores,
    /// Their host only: where a host has fewer cores than slots
    Hosts,
}

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Effort {
    /// Not long
    Quick,
    /// As long as it is worth it, mostly
    Usual,
    /// Longer
    Thorough,
}

impl Objective {
    /// What is looked for before runs are replayed.
    fn of_search(self) -> objective::Objective {
        match self {
            Objective::Congestion | Objective::Time => objective::Objective::Congestion,
            Objective::Bytes => objective::Objective::ByteDistance,
        }
    }

    /// It, of a placement.
    fn of(self, cost: &Cost) -> f64 {
        match self {
            Objective::Congestion | Objective::Time => cost.busiest_link_s,
            Objective::Bytes => cost.byte_distance,
        }
    }
}

impl From<Effort> for partition::Effort {
    fn from(effort: Effort) -> partition::Effort {
        match effort {
            Effort::Quick => partition::Effort::Quick,
            Effort::Usual => partition::Effort::Usual,
            Effort::Thorough => partition::Effort::Thorough,
        }
    }
}

impl Arguments {
    /// The machine that is told.
    fn told_machine(&self) -> Result<Option<Machine>, Error> {
        self.machine.as_deref().map(Machine::read).transpose().map_err(|error| Error::Other(error.to_string()))
    }

    /// The hosts that are told.
    fn told_hosts(&self) -> Result<Option<Vec<Host>>, Error> {
        self.hosts.as_deref().map(parse_hosts).transpose().map_err(|error| Error::Other(error.to_string()))
    }
}

/// Everything that is shown.
struct Shown<'a> {
    arguments: &'a Arguments,
    subject: &'a Subject,
    room: &'a Room,
    found: &'a Found,
    written: &'a Written,
    measured: Option<Measured>,
}

impl Shown<'_> {
    fn show(&self) -> Result<ExitCode, Error> {
        output::to_stdout(|out| match self.arguments.json {
            true => output::json_line(out, &json::object(self)),
            false => out.write_all(screen::show(self).as_bytes()),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Places the ranks.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if arguments.apply {
        return apply::run(&arguments);
    }
    let subject = match (&arguments.recording, &arguments.graph) {
        (Some(recording), _) => Subject::of_recording(recording)?,
        (None, Some(graph)) => Subject::of_graph(graph)?,
        (None, None) => {
            wrong_usage("what is to be placed? Give a recording (NAME.sin), a graph (--graph FILE), or a command (--apply -- mpirun ...)")
        }
    };
    subject.is_connected()?;
    let room = Room::find(arguments.told_machine()?, arguments.told_hosts()?, &subject)?;
    let found = finding::find(&arguments, &subject, &room)?;
    let written = launch::write(&arguments, &subject, &room, &found)?;
    let shown = Shown { arguments: &arguments, subject: &subject, room: &room, found: &found, written: &written, measured: None };
    shown.show()
}
