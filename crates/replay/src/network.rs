//! Network models with contention.
//!
//! Without contention, the transfer time is known at departure, and no network model is needed. With it, messages are processed in time
//! order: the replay calls [`begin`](NetworkModel::begin), and the model reports arrivals.

mod event_heap;
mod fluid;
mod forwarding;
mod limited;
mod packets;
mod slot_arena;
#[cfg(test)]
mod tests;
pub mod topology;
mod uncontended;

use sintonia_machine::topology::{ConcurrencyLimits, LinkParameters, TopologyError};
use sintonia_machine::{BandwidthSharing, Machine, UncertainValue};

use fluid::FluidNetwork;
use forwarding::ForwardingModel;
use limited::LimitedNetwork;
use packets::PacketNetwork;
use topology::{LinkSpeed, NetworkRoutes};
use uncontended::UncontendedNetwork;

use crate::interval_bound::IntervalBound;

/// A message in flight, by an id chosen by the replay.
pub type TransferId = u32;

/// A network whose messages share resources.
pub trait NetworkModel {
    /// A message departs. Times must not decrease, nor precede the last [`advance`](NetworkModel::advance).
    fn begin(&mut self, at_s: f64, id: TransferId, transfer: NetworkTransfer);

    /// Time of the next event if no message departs before.
    fn next_time(&self) -> Option<f64>;

    /// Advances to [`next_time`](NetworkModel::next_time) and reports the messages that have arrived.
    fn advance(&mut self, arrived: &mut Vec<TransferId>);
}

/// A message between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkTransfer {
    /// Source node.
    pub from: u32,
    /// Destination node.
    pub to: u32,
    /// Message size.
    pub bytes: f64,
    /// Latency besides that of the links: end points, software, protocol.
    pub latency_s: f64,
    /// Minimum seconds per byte, whatever the links allow.
    pub min_s_per_byte: f64,
}

/// Errors of network construction.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// The machine has no topology.
    #[error("the machine `{machine}` has no [topology], so there is no contention")]
    NoTopology {
        /// The machine.
        machine: String,
    },
    /// The topology is invalid.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The topology is too large.
    #[error("this topology has more than {} million links", topology::MOST_LINKS / 1_000_000)]
    TooManyLinks,
}

/// The network of a machine with a topology, at a bound of its figures. Nodes are below [`nodes`](sintonia_machine::Topology::nodes).
pub fn build(machine: &Machine, figures: FigureSelection) -> Result<Box<dyn NetworkModel>, NetworkError> {
    let topology = machine.topology.as_ref().ok_or_else(|| NetworkError::NoTopology { machine: machine.metadata.name.clone() })?;
    let bound = figures;
    let routes = NetworkRoutes::new(topology, bound)?;
    let network: Box<dyn NetworkModel> = match (topology.sharing, &topology.flow_control) {
        (BandwidthSharing::None, control) => Box::new(UncontendedNetwork::new(routes, ForwardingModel::new(control.as_ref(), bound))),
        (BandwidthSharing::Fair, None) => Box::new(FluidNetwork::new(routes)),
        (BandwidthSharing::Fair, Some(control)) => Box::new(PacketNetwork::new(routes, control, bound)),
    };
    let limited = topology.limits != ConcurrencyLimits::default();
    Ok(if limited { Box::new(LimitedNetwork::new(network, topology.limits, topology.kind.node_count()?)) } else { network })
}

/// How the figures of a machine are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureSelection {
    /// The bound of their intervals.
    pub bound: IntervalBound,
    /// Factor on latencies.
    pub latency_factor: f64,
    /// Factor on per-byte costs.
    pub per_byte_factor: f64,
}

impl From<IntervalBound> for FigureSelection {
    fn from(end: IntervalBound) -> FigureSelection {
        FigureSelection { bound: end, latency_factor: 1.0, per_byte_factor: 1.0 }
    }
}

/// Limit of the speed-up of links: with infinite bandwidth there would be no sharing.
const MIN_PER_BYTE_FACTOR: f64 = 1e-9;

impl FigureSelection {
    fn time(self, figure: UncertainValue) -> f64 {
        <[f64; 3]>::from(figure)[self.bound as usize] * self.latency_factor
    }

    /// The fast bound of a rate is the high one.
    fn rate(self, figure: UncertainValue) -> f64 {
        <[f64; 3]>::from(figure)[2 - self.bound as usize] / self.per_byte_factor.max(MIN_PER_BYTE_FACTOR)
    }

    fn speed(self, link: LinkParameters) -> LinkSpeed {
        LinkSpeed { bytes_per_s: self.rate(link.bandwidth), latency_s: self.time(link.latency) }
    }
}

/// Latest time that counts as simultaneous: rounding errors of summed times.
fn latest_simultaneous(at_s: f64) -> f64 {
    at_s + at_s.abs() * 1e-12
}
