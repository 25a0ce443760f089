//! `sintonia place`: finds a placement of ranks on hosts and cores.

mod apply;
mod display;
mod launcher_file;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_insight::critical_path::CriticalPathProfile;
use sintonia_machine::Machine;
use sintonia_placement::Host;
use sintonia_placement::available_hosts::AvailableHosts;
use sintonia_placement::input::{CriticalMessages, PlacementInput};
use sintonia_placement::launcher::{CoreBinding, PlacementFormat, parse_hosts};
use sintonia_placement::partition::SearchEffort;
use sintonia_placement::proposal::{PlacementGoal, PlacementProposal, PlacementRequest, ProposalSearch};
use sintonia_placement::report::PlacementReport;
use sintonia_recording::Recording;

use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, help, output};

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

impl From<ObjectiveArg> for PlacementGoal {
    fn from(objective: ObjectiveArg) -> PlacementGoal {
        match objective {
            ObjectiveArg::Congestion => PlacementGoal::Congestion,
            ObjectiveArg::Bytes => PlacementGoal::Bytes,
            ObjectiveArg::Time => PlacementGoal::Time,
        }
    }
}

impl From<EffortArg> for SearchEffort {
    fn from(effort: EffortArg) -> SearchEffort {
        match effort {
            EffortArg::Quick => SearchEffort::Quick,
            EffortArg::Usual => SearchEffort::Usual,
            EffortArg::Thorough => SearchEffort::Thorough,
        }
    }
}

impl From<BindArg> for CoreBinding {
    fn from(bind: BindArg) -> CoreBinding {
        match bind {
            BindArg::Cores => CoreBinding::Bound,
            BindArg::Hosts => CoreBinding::Free,
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

    fn request(&self) -> PlacementRequest {
        PlacementRequest { goal: self.objective.into(), effort: self.effort.into(), compare: self.compare, built_in: self.built_in }
    }

    fn print(&self, report: &PlacementReport) -> Result<ExitCode, Error> {
        output::write_stdout(|out| match self.json {
            true => output::write_json_line(out, &report.to_json()),
            false => out.write_all(display::render(report, self.force).as_bytes()),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs `sintonia place`.
pub(crate) fn run(args: PlaceArgs) -> Result<ExitCode, Error> {
    if args.apply {
        return apply::run(&args);
    }
    let input = match (&args.recording, &args.graph) {
        (Some(recording), _) => read_ranks(recording)?,
        (None, Some(graph)) => PlacementInput::from_metis(graph)?,
        (None, None) => {
            usage_error("nothing to place: give a recording (NAME.sin), a graph (--graph FILE), or a command (--apply -- mpirun ...)")
        }
    };
    input.check_connected()?;
    let hosts = AvailableHosts::find(args.read_machine()?, args.parse_hosts_option()?, &input)?;
    let proposal = find_placement(&args.request(), &input, &hosts)?;
    let written = launcher_file::write_if_useful(&args, &input, &hosts, &proposal)?;
    let goal = args.objective.into();
    args.print(&PlacementReport { goal, input: &input, hosts: &hosts, proposal: &proposal, written: &written, measured: None })
}

pub(crate) fn read_ranks(path: &Path) -> Result<PlacementInput, Error> {
    let recording = Recording::open(path)?;
    let progress = ProgressBar::new("reading ranks", recording.header.ranks.len());
    Ok(PlacementInput::from_recording(path, recording, || progress.step())?)
}

pub(crate) fn find_placement(
    request: &PlacementRequest,
    input: &PlacementInput,
    hosts: &AvailableHosts,
) -> Result<PlacementProposal, Error> {
    let search = ProposalSearch::new(request, input, hosts)?;
    let critical = critical_messages(input)?;
    let bar = OnceCell::new();
    Ok(search.run(critical, &|total| bar.get_or_init(|| ProgressBar::new("replaying placements", total)).step())?)
}

/// The messages on the critical path; none without single calls.
fn critical_messages(input: &PlacementInput) -> Result<CriticalMessages, Error> {
    let Some(recording) = input.recorded_calls() else { return Ok(CriticalMessages::new()) };
    let progress = ProgressBar::new("following the critical path", recording.header.ranks.len());
    Ok(CriticalPathProfile::messages(recording, &|| progress.step())?)
}
