//! `sintonia place`: finds a placement of ranks on hosts and cores.

mod apply;
mod available_hosts;
mod display;
mod json;
mod launcher_file;
mod placement_input;
mod search;
pub(crate) mod view_data;

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_placement::Host;
use sintonia_placement::launcher::{PlacementFormat, parse_hosts};
use sintonia_placement::objective::{self, PlacementCost};
use sintonia_placement::paired_runs::PairedRuns;
use sintonia_placement::partition;

use crate::error::usage_error;
use crate::{Error, help, output};
use available_hosts::AvailableHosts;
use launcher_file::WrittenPlacement;
use placement_input::PlacementInput;
use search::PlacementResult;

/// Arguments of `sintonia place`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia place hello.sin --hosts nodeA:2,nodeB:2"))]
pub(crate) struct PlaceArgs {
    /// Recording whose ranks are placed
    #[arg(value_name = "NAME.sin", conflicts_with_all = ["graph", "apply"])]
    recording: Option<PathBuf>,
    /// Place the vertices of a METIS graph instead
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    graph: Option<PathBuf>,
    /// Target machine: its nodes, cores and topology; with it, the gain is estimated by replay
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// Hosts with their number of slots: nodeA:4,nodeB:4 or node[01-16]:8 [default: those of the machine file, or of the recording]
    #[arg(long, value_name = "NAME:SLOTS,...")]
    hosts: Option<String>,
    /// What to minimise
    #[arg(long, value_enum, default_value_t = ObjectiveArg::Congestion)]
    objective: ObjectiveArg,
    /// Search effort
    #[arg(long, value_enum, default_value_t = EffortArg::Usual)]
    effort: EffortArg,
    /// Also evaluate other placements: current, by core, by node, and by METIS and Scotch if installed
    #[arg(long)]
    compare: bool,
    /// Do not run METIS or Scotch, even if installed
    #[arg(long)]
    built_in: bool,
    /// Write the placement in the format of the launcher
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format to write: openmpi4, openmpi5, mpich, intel, slurm, cray, table or json [default: the launcher of the recording, else a table]
    #[arg(long, value_name = "KIND", value_parser = launcher_file::parse_form)]
    launcher: Option<PlacementFormat>,
    /// Bind ranks to cores, or only to hosts [default: cores; with --apply hosts, unless the machine file has sockets or caches]
    #[arg(long, value_enum)]
    bind: Option<BindArg>,
    /// Write the placement even if it does not help
    #[arg(long)]
    force: bool,
    /// Record the command, place its ranks, run it both ways in turn, and report the gain
    #[arg(long, requires = "command")]
    apply: bool,
    /// With --apply: number of runs each way
    #[arg(long, value_name = "N", default_value_t = 5, requires = "apply", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// With --apply: the command
    #[arg(last = true, value_name = "COMMAND", requires = "apply")]
    command: Vec<String>,
}

/// What to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ObjectiveArg {
    /// Time the most loaded link is busy
    Congestion,
    /// Bytes times distance
    Bytes,
    /// Replayed time of the run; needs --machine
    Time,
}

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BindArg {
    /// One core per rank
    Cores,
    /// Host only: for hosts with fewer cores than slots
    Hosts,
}

/// Search effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EffortArg {
    /// Fast
    Quick,
    /// Usually sufficient
    Usual,
    /// Longest search
    Thorough,
}

impl ObjectiveArg {
    /// The objective of the search before any replay.
    fn search_objective(self) -> objective::PlacementObjective {
        match self {
            ObjectiveArg::Congestion | ObjectiveArg::Time => objective::PlacementObjective::Congestion,
            ObjectiveArg::Bytes => objective::PlacementObjective::ByteDistance,
        }
    }

    /// The objective's value of a placement.
    fn cost_value(self, cost: &PlacementCost) -> f64 {
        match self {
            ObjectiveArg::Congestion | ObjectiveArg::Time => cost.busiest_link_s,
            ObjectiveArg::Bytes => cost.byte_distance,
        }
    }
}

impl From<EffortArg> for partition::SearchEffort {
    fn from(effort: EffortArg) -> partition::SearchEffort {
        match effort {
            EffortArg::Quick => partition::SearchEffort::Quick,
            EffortArg::Usual => partition::SearchEffort::Usual,
            EffortArg::Thorough => partition::SearchEffort::Thorough,
        }
    }
}

impl PlaceArgs {
    /// The given machine.
    fn read_machine(&self) -> Result<Option<Machine>, Error> {
        self.machine.as_deref().map(Machine::read).transpose().map_err(|error| Error::Other(error.to_string()))
    }

    /// The given hosts.
    fn parse_hosts_option(&self) -> Result<Option<Vec<Host>>, Error> {
        self.hosts.as_deref().map(parse_hosts).transpose().map_err(|error| Error::Other(error.to_string()))
    }
}

/// Everything that is printed.
struct PlaceOutput<'a> {
    args: &'a PlaceArgs,
    subject: &'a PlacementInput,
    hosts: &'a AvailableHosts,
    found: &'a PlacementResult,
    written: &'a WrittenPlacement,
    measured: Option<PairedRuns>,
}

impl PlaceOutput<'_> {
    fn print(&self) -> Result<ExitCode, Error> {
        output::write_stdout(|out| match self.args.json {
            true => output::write_json_line(out, &json::placement_json(self)),
            false => out.write_all(display::render(self).as_bytes()),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs `sintonia place`.
pub(crate) fn run(args: PlaceArgs) -> Result<ExitCode, Error> {
    if args.apply {
        return apply::run(&args);
    }
    let subject = match (&args.recording, &args.graph) {
        (Some(recording), _) => PlacementInput::from_recording(recording)?,
        (None, Some(graph)) => PlacementInput::from_metis(graph)?,
        (None, None) => {
            usage_error("nothing to place: give a recording (NAME.sin), a graph (--graph FILE), or a command (--apply -- mpirun ...)")
        }
    };
    subject.check_connected()?;
    let room = AvailableHosts::find(args.read_machine()?, args.parse_hosts_option()?, &subject)?;
    let found = search::find_placement(&args, &subject, &room)?;
    let written = launcher_file::write_if_useful(&args, &subject, &room, &found)?;
    let shown = PlaceOutput { args: &args, subject: &subject, hosts: &room, found: &found, written: &written, measured: None };
    shown.print()
}
