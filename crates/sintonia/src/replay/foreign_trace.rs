//! Replays schedules and traces of other tools: GOAL (LogGOPSim), Dimemas, SMPI.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::{dimemas, goal as file, smpi};
use sintonia_machine::Machine;
use sintonia_recording::header::{CommunicatorDefinition, RecordingHeader};
use sintonia_replay::goal::{self, LogGopsParameters};
use sintonia_replay::platform::IntervalBound;
use sintonia_replay::scenario::ReplayScenario;
use sintonia_replay::schedule::{OrderedGoal, Schedule};
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use super::{ReplayArgs, ReplaySubject, replay_and_print};
use crate::text::{format_count, format_plural, format_seconds};
use crate::{Error, output};

/// The format of a file, by its extension.
enum TraceKind {
    Goal,
    Dimemas,
    Smpi,
}

impl TraceKind {
    fn from_path(path: &Path) -> TraceKind {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("goal" | "bin") => TraceKind::Goal,
            Some("dim") => TraceKind::Dimemas,
            _ => TraceKind::Smpi,
        }
    }
}

/// How GOAL schedules are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum GoalSimulatorArg {
    /// Exactly as by LogGOPSim
    Loggops,
    /// Like recordings, with changes, topology and output
    Engine,
}

impl GoalSimulatorArg {
    /// The simulator that was asked for, or the one that can do what was asked for.
    fn choose(args: &ReplayArgs, machine: &Machine) -> Result<GoalSimulatorArg, Error> {
        let needs_engine = !args.what_if.is_empty() || !args.sweep.is_empty() || args.output.is_some() || args.sensitivity;
        match args.simulator {
            Some(GoalSimulatorArg::Loggops) if needs_engine => Err(Error::Other(
                "--what-if, --sweep, -o and --sensitivity do not apply to --simulator loggops; use --simulator engine".into(),
            )),
            Some(simulator) => Ok(simulator),
            None if needs_engine || machine.topology.is_some() => Ok(GoalSimulatorArg::Engine),
            None => Ok(GoalSimulatorArg::Loggops),
        }
    }
}

/// Replays a file of another tool on a machine.
pub(super) fn run(
    args: &ReplayArgs,
    path: &Path,
    machine: Option<Machine>,
    what_ifs: Vec<WhatIf>,
    sweeps: &[Sweep],
) -> Result<ExitCode, Error> {
    let Some(machine) = machine else {
        return Err(Error::Other(format!("{}: no recorded network: use --machine NAME.machine.toml", path.display())));
    };
    match TraceKind::from_path(path) {
        TraceKind::Goal => match GoalSimulatorArg::choose(args, &machine)? {
            GoalSimulatorArg::Loggops => simulate_loggops(args, path, &machine),
            GoalSimulatorArg::Engine => {
                let goal = file::read(path)?;
                let schedule = OrderedGoal::new(&goal).map_err(|error| Error::Other(format!("{}: {error}", path.display())))?;
                replay_schedule(args, path, &schedule, &OrderedGoal::COMMUNICATORS, machine, what_ifs, sweeps)
            }
        },
        TraceKind::Dimemas => replay_schedule(args, path, &dimemas::open(path)?, &WORLD, machine, what_ifs, sweeps),
        TraceKind::Smpi => replay_schedule(args, path, &smpi::open(path, args.flops)?, &WORLD, machine, what_ifs, sweeps),
    }
}

/// The communicators of traces that name no others.
const WORLD: [&str; 1] = ["MPI_COMM_WORLD"];

/// Replays a schedule with these communicators of all ranks, named by what made them.
fn replay_schedule(
    args: &ReplayArgs,
    path: &Path,
    schedule: &dyn Schedule,
    communicators: &[&str],
    machine: Machine,
    what_ifs: Vec<WhatIf>,
    sweeps: &[Sweep],
) -> Result<ExitCode, Error> {
    let case = ReplayScenario { schedule, bounds: None, machine: Some(machine), what_ifs };
    let (name, ranks) = (path.display().to_string(), schedule.ranks());
    let header = || {
        let made_by = |made_by: &&str| CommunicatorDefinition {
            made_by: (*made_by).to_owned(),
            members: format!("0-{}", ranks.saturating_sub(1)),
            ..CommunicatorDefinition::default()
        };
        let communicators = communicators.iter().map(made_by).collect();
        RecordingHeader { size: ranks as usize, communicators, command: vec![name.clone()], ..RecordingHeader::default() }
    };
    replay_and_print(
        args,
        &case,
        sweeps,
        ReplaySubject { name: name.clone(), was_executed: false, notes: Vec::new(), kept_core_wait_share: 0.0, header: &header },
    )
}

/// Simulates a GOAL schedule like LogGOPSim.
fn simulate_loggops(args: &ReplayArgs, path: &Path, machine: &Machine) -> Result<ExitCode, Error> {
    let schedule = file::read(path)?;
    let at = |end| -> Result<goal::GoalResult, Error> {
        let played = LogGopsParameters::from_machine(machine, end).and_then(|machine| goal::simulate(&schedule, &machine));
        played.map_err(|error| Error::Other(format!("{}: {error}", path.display())))
    };
    let (low, middle, high) = (at(IntervalBound::Low)?, at(IntervalBound::Middle)?, at(IntervalBound::High)?);
    let times = [low.seconds().min(middle.seconds()), middle.seconds(), high.seconds().max(middle.seconds())];
    let (ranks, operations) = (schedule.rank_count(), schedule.operations().len() as u64);
    output::write_stdout(|out| match args.json {
        true => {
            let value = json!({"recording": path.display().to_string(), "seconds": times, "ranks": ranks, "operations": operations, "events": middle.events});
            output::write_json_line(out, &value)
        }
        false => {
            let (ranks, interval) =
                (format_plural(ranks as u64, "rank"), format!("[{}, {}]", format_seconds(times[0]), format_seconds(times[2])));
            writeln!(out, "{} played on {}: {ranks}, {} operations", path.display(), machine.metadata.name, format_count(operations))?;
            writeln!(out, "\n  {}  {}", format_seconds(times[1]), if times[0] == times[2] { String::new() } else { interval })
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
