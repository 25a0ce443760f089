//! How messages get from node to node when they are in each other's way.
//!
//! Without that, what a message takes is known when it leaves, and the replay needs no network at all. With it, messages begin and end in
//! the order of time: the replay lets them [`begin`](Network::begin), and the network says what has arrived.

mod alone;
mod events;
mod few;
mod fluid;
mod limits;
mod packets;
mod slots;
#[cfg(test)]
mod tests;
pub mod topology;
mod train;

use sintonia_machine::topology::{Limits, Link, TopologyProblem};
use sintonia_machine::{Figure, Machine, Sharing};

use alone::Alone;
use fluid::Fluid;
use limits::Limited;
use packets::Packets;
use topology::{Routes, Speed};
use train::Trains;

use crate::platform::End;

/// A message under way, by a number that the replay gave it.
pub type Flow = u32;

/// Something that messages go through, where they share what there is.
pub trait Network {
    /// A message leaves; moments never go back, neither here nor before what [`advance`](Network::advance) has come to.
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer);

    /// When something happens next if nothing else begins.
    fn next(&self) -> Option<f64>;

    /// Goes on to the moment of [`next`](Network::next), and says which messages have arrived by then.
    fn advance(&mut self, arrived: &mut Vec<Flow>);
}

/// A message from node to node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The node it leaves, by number from 0.
    pub from: u32,
    /// The node it goes to.
    pub to: u32,
    /// How large it is.
    pub bytes: f64,
    /// What it takes besides its bytes, even when it is alone: the ends, software, protocol. The links of the route add theirs.
    pub latency_s: f64,
    /// What each byte takes at least, whatever the links could do: no single message is faster.
    pub least_s_per_byte: f64,
}

/// Why there is no network.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The machine does not say how its nodes are connected.
    #[error("the machine `{machine}` has no [topology], so no message can be in another's way")]
    NoTopology {
        /// The machine.
        machine: String,
    },
    /// The topology is none.
    #[error(transparent)]
    Topology(#[from] TopologyProblem),
    /// More links than there is memory for.
    #[error("this topology has more than {} million links", topology::MOST_LINKS / 1_000_000)]
    TooManyLinks,
}

/// The network of a machine that has a topology, as quick as its figures allow, as they say or as slow as they allow. Messages go between nodes
/// below [`nodes`](sintonia_machine::Topology::nodes).
pub fn build(machine: &Machine, figures: Figures) -> Result<Box<dyn Network>, Problem> {
    let topology = machine.topology.as_ref().ok_or_else(|| Problem::NoTopology { machine: machine.about.name.clone() })?;
    let bound = figures;
    let routes = Routes::of(topology, bound)?;
    let network: Box<dyn Network> = match (topology.sharing, &topology.flow_control) {
        (Sharing::None, control) => Box::new(Alone::new(routes, Trains::new(control.as_ref(), bound))),
        (Sharing::Fair, None) => Box::new(Fluid::new(routes)),
        (Sharing::Fair, Some(control)) => Box::new(Packets::new(routes, control, bound)),
    };
    let limited = topology.limits != Limits::default();
    Ok(if limited { Box::new(Limited::new(network, topology.limits, topology.kind.nodes()?)) } else { network })
}

/// How the figures of a machine are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Which end of them: that which makes everything quick, or slow.
    pub end: End,
    /// Times as long for everything that does not depend on size.
    pub latency: f64,
    /// Times as long for every byte.
    pub per_byte: f64,
}

impl From<End> for Figures {
    fn from(end: End) -> Figures {
        Figures { end, latency: 1.0, per_byte: 1.0 }
    }
}

/// No link is more than so many times as fast as its file says: without any limit there would be nothing to share.
const LEAST_PER_BYTE: f64 = 1e-9;

impl Figures {
    fn time(self, figure: Figure) -> f64 {
        <[f64; 3]>::from(figure)[self.end as usize] * self.latency
    }

    /// A rate is quick where it is high.
    fn rate(self, figure: Figure) -> f64 {
        <[f64; 3]>::from(figure)[2 - self.end as usize] / self.per_byte.max(LEAST_PER_BYTE)
    }

    fn speed(self, link: Link) -> Speed {
        Speed { bytes_per_s: self.rate(link.bandwidth), latency_s: self.time(link.latency) }
    }
}

/// Moments up to this one are the same: times that were added up can be told apart no better.
fn same_moment(at_s: f64) -> f64 {
    at_s + at_s.abs() * 1e-12
}
