//! `--ranks`: replays a program with more ranks than recorded.

use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_replay::core_shortage_note::KnownCoreWaits;
use sintonia_replay::extrapolation::{self, ExtrapolationOptions, recognise};
use sintonia_replay::platform::IntervalBound;
use sintonia_replay::scenario::ReplayScenario;
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use super::{ReplayArgs, ReplaySubject, replay_and_print};
use crate::Error;

/// How the work of a rank depends on the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ScalingArg {
    /// Constant work per rank
    Weak,
    /// Constant total work
    Strong,
}

/// The sides of a process grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GridSides(Vec<u32>);

/// Parses `32x32`.
pub(super) fn parse_grid(text: &str) -> Result<GridSides, String> {
    let sides = text.split('x').map(|side| side.parse().ok().filter(|side| *side > 0)).collect::<Option<Vec<u32>>>();
    sides.map(GridSides).ok_or_else(|| "expected a grid such as 32x32".to_owned())
}

/// Replays the pattern of recordings with this many ranks.
pub(super) fn run(args: &ReplayArgs, ranks: u32, machine: &Machine, what_ifs: Vec<WhatIf>, sweeps: &[Sweep]) -> Result<ExitCode, Error> {
    let recordings = Recording::open_all(&args.recordings)?;
    let scaling = args.scaling.map(|scaling| match scaling {
        ScalingArg::Weak => extrapolation::ProblemScaling::Weak,
        ScalingArg::Strong => extrapolation::ProblemScaling::Strong,
    });
    let grid = args.grid.as_ref().map(|sides| sides.0.clone());
    let options = ExtrapolationOptions { scaling: scaling.unwrap_or_default(), noise: args.scatter, grid };
    let pattern = recognise(&recordings, &options).map_err(|error| Error::Other(error.to_string()))?;
    let at = |end| pattern.schedule(ranks, end).map_err(|error| Error::Other(error.to_string()));
    let (low, middle, high) = (at(IntervalBound::Low)?, at(IntervalBound::Middle)?, at(IntervalBound::High)?);
    let case = ReplayScenario { schedule: &middle, bounds: Some([&low, &high]), machine: Some(machine.clone()), what_ifs };
    let names: Vec<String> = args.recordings.iter().map(|path| path.display().to_string()).collect();
    let mut notes: Vec<String> = pattern.describe().lines().map(str::to_owned).collect();
    notes.extend(pattern.ambiguities(ranks));
    let mut kept_core_wait_share: f64 = 0.0;
    for (name, recording) in names.iter().zip(&recordings) {
        let core_waits = KnownCoreWaits::from_recording(recording, &[])?;
        notes.extend(core_waits.notes.iter().map(|note| format!("{name}: {note}")));
        kept_core_wait_share = kept_core_wait_share.max(core_waits.kept_share);
    }
    let header = || middle.header(&recordings[0].header);
    let subject = ReplaySubject { name: names.join(", "), was_executed: false, notes, kept_core_wait_share, header: &header };
    replay_and_print(args, &case, sweeps, subject)
}
