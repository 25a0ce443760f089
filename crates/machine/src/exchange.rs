//! Machines of other tools, out and in.

pub mod dimemas;
pub mod simgrid;

use crate::{Figure, Line, Machine, Message, Named, Network, PairClass, Timing};

/// A machine that lacks what another tool must know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the machine `{machine}` {lacks}")]
pub struct Lacking {
    machine: String,
    lacks: String,
}

/// The network between nodes, or the next best, with its name.
fn widest(machine: &Machine) -> Result<(PairClass, &Network), Lacking> {
    let farthest = machine.networks.iter().next_back();
    farthest.map(|(class, network)| (*class, network)).ok_or_else(|| lacking(machine, "has no network".into()))
}

/// What an operation of a network costs.
fn needed<'a>(machine: &Machine, class: PairClass, network: &'a Network, what: Message) -> Result<&'a Timing, Lacking> {
    network
        .messages
        .get(&what)
        .ok_or_else(|| lacking(machine, format!("does not say what `network.{}.{}` costs", class.name(), what.name())))
}

fn lacking(machine: &Machine, lacks: String) -> Lacking {
    Lacking { machine: machine.about.name.clone(), lacks }
}

/// A line without intervals, as other tools know them. None if a number is not finite.
fn plain(intercept: f64, slope: f64) -> Option<Line> {
    Some(Line { intercept: Figure::exact(intercept).ok()?, slope: Figure::exact(slope).ok()? })
}

/// Faster than any memory, in bytes per second: for lines on which size makes no difference.
const FASTEST: f64 = 1e13;

/// How many bytes a second a line comes to.
fn bandwidth(line: &Line) -> f64 {
    if line.slope.middle() > 1.0 / FASTEST { 1.0 / line.slope.middle() } else { FASTEST }
}
