//! Schedules and traces of other tools: GOAL (LogGOPSim), Dimemas, SMPI.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::{dimemas, goal as file, smpi};
use sintonia_machine::Machine;
use sintonia_recording::header::{Communicator, Header};
use sintonia_replay::case::Case;
use sintonia_replay::goal::{self, Loggps};
use sintonia_replay::platform::End;
use sintonia_replay::schedule::Schedule;
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use super::{Arguments, Subject, show};
use crate::text::{count, plural, seconds};
use crate::{Error, output};

/// What a file is, by the end of its name.
enum Kind {
    Goal,
    Dimemas,
    Smpi,
}

impl Kind {
    fn of(path: &Path) -> Kind {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("goal" | "bin") => Kind::Goal,
            Some("dim") => Kind::Dimemas,
            _ => Kind::Smpi,
        }
    }
}

/// Replays a file of another tool on a machine.
pub fn run(
    arguments: &Arguments,
    path: &Path,
    machine: Option<Machine>,
    what_ifs: Vec<WhatIf>,
    sweeps: &[Sweep],
) -> Result<ExitCode, Error> {
    let Some(machine) = machine else {
        return Err(Error::Other(format!(
            "{}: it has no network of its own: give a machine with --machine NAME.machine.toml",
            path.display()
        )));
    };
    match Kind::of(path) {
        Kind::Goal => play(arguments, path, &machine),
        Kind::Dimemas => replay(arguments, path, &dimemas::open(path)?, machine, what_ifs, sweeps),
        Kind::Smpi => replay(arguments, path, &smpi::open(path, arguments.flops)?, machine, what_ifs, sweeps),
    }
}

fn replay(
    arguments: &Arguments,
    path: &Path,
    schedule: &dyn Schedule,
    machine: Machine,
    what_ifs: Vec<WhatIf>,
    sweeps: &[Sweep],
) -> Result<ExitCode, Error> {
    let case = Case { schedule, ends: None, machine: Some(machine), what_ifs };
    let (name, ranks) = (path.display().to_string(), schedule.ranks());
    let header = || {
        let members = format!("0-{}", ranks.saturating_sub(1));
        let world = Communicator { made_by: "MPI_COMM_WORLD".into(), members, ..Communicator::default() };
        Header { size: ranks as usize, communicators: vec![world], command: vec![name.clone()], ..Header::default() }
    };
    show(arguments, &case, sweeps, Subject { name: name.clone(), was_run: false, notes: Vec::new(), header: &header })
}

/// Plays a GOAL schedule as LogGOPSim does.
fn play(arguments: &Arguments, path: &Path, machine: &Machine) -> Result<ExitCode, Error> {
    if !arguments.what_if.is_empty() || !arguments.sweep.is_empty() || arguments.output.is_some() || arguments.sensitivity {
        return Err(Error::Other(
            "a GOAL schedule has no calls of MPI: it is played on a machine as it is; change the machine file instead".into(),
        ));
    }
    let schedule = file::read(path)?;
    let at = |end| -> Result<goal::Played, Error> {
        let played = Loggps::from_machine(machine, end).and_then(|machine| goal::play(&schedule, &machine));
        played.map_err(|error| Error::Other(format!("{}: {error}", path.display())))
    };
    let (low, middle, high) = (at(End::Low)?, at(End::Middle)?, at(End::High)?);
    let times = [low.seconds().min(middle.seconds()), middle.seconds(), high.seconds().max(middle.seconds())];
    let (ranks, operations) = (schedule.rank_count(), schedule.operations().len() as u64);
    output::to_stdout(|out| match arguments.json {
        true => {
            let value = json!({"recording": path.display().to_string(), "seconds": times, "ranks": ranks, "operations": operations, "events": middle.events});
            output::json_line(out, &value)
        }
        false => {
            let (ranks, interval) = (plural(ranks as u64, "rank"), format!("[{}, {}]", seconds(times[0]), seconds(times[2])));
            writeln!(out, "{} played on {}: {ranks}, {} operations", path.display(), machine.about.name, count(operations))?;
            writeln!(out, "\n  {}  {}", seconds(times[1]), if times[0] == times[2] { String::new() } else { interval })
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
