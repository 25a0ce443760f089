//! `--ranks`: a program with more ranks than it was recorded with.

use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_replay::case::Case;
use sintonia_replay::more_ranks::{self, Options, recognise};
use sintonia_replay::platform::End;
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use super::{Arguments, Subject, show};
use crate::Error;

/// How the work of a rank depends on how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scaling {
    /// Each rank has as much to do
    Weak,
    /// All ranks together have as much to do
    Strong,
}

/// The sides of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(Vec<u32>);

/// Reads `32x32`.
pub fn sides(text: &str) -> Result<Sides, String> {
    let sides = text.split('x').map(|side| side.parse().ok().filter(|side| *side > 0)).collect::<Option<Vec<u32>>>();
    sides.map(Sides).ok_or_else(|| "the sides of a grid have an x between them, such as 32x32".to_owned())
}

/// Replays the pattern of recordings with so many ranks.
pub fn run(arguments: &Arguments, ranks: u32, machine: &Machine, what_ifs: Vec<WhatIf>, sweeps: &[Sweep]) -> Result<ExitCode, Error> {
    let recordings = arguments.recordings.iter().map(|path| Recording::open(path)).collect::<Result<Vec<_>, _>>()?;
    let scaling = arguments.scaling.map(|scaling| match scaling {
        Scaling::Weak => more_ranks::Scaling::Weak,
        Scaling::Strong => more_ranks::Scaling::Strong,
    });
    let grid = arguments.grid.as_ref().map(|sides| sides.0.clone());
    let options = Options { scaling: scaling.unwrap_or_default(), noise: arguments.scatter, grid };
    let pattern = recognise(&recordings, &options).map_err(|error| Error::Other(error.to_string()))?;
    let at = |end| pattern.schedule(ranks, end).map_err(|error| Error::Other(error.to_string()));
    let (low, middle, high) = (at(End::Low)?, at(End::Middle)?, at(End::High)?);
    let case = Case { schedule: &middle, ends: Some([&low, &high]), machine: Some(machine.clone()), what_ifs };
    let names: Vec<String> = arguments.recordings.iter().map(|path| path.display().to_string()).collect();
    let mut notes: Vec<String> = pattern.describe().lines().map(str::to_owned).collect();
    notes.extend(pattern.doubts(ranks));
    let header = || middle.header(&recordings[0].header);
    show(arguments, &case, sweeps, Subject { name: names.join(", "), was_run: false, notes, header: &header })
}
