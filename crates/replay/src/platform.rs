//! A machine with the ranks of a run: placement and costs.

use sintonia_formula::SymbolValues;
use sintonia_machine::{CollectiveKind, CollectiveTiming, LinearCost, Machine, MessageMetric, NetworkCosts, PairClass};
use sintonia_mpi::CollectiveOp;
use sintonia_recording::comm_event::GroupOp;

use crate::Error;
pub use crate::interval_bound::IntervalBound;
use crate::network::FigureSelection;
use crate::send_mode::SendMode;

/// Cost of a message in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct MessageCost {
    /// Blocking send.
    pub send: f64,
    /// Call that starts a nonblocking send.
    pub start: f64,
    /// Call that completes it.
    pub wait: f64,
    /// Receive, once the message has arrived.
    pub receive: f64,
    /// Transfer time without contention, constant part.
    pub latency: f64,
    /// Transfer time without contention, per byte.
    pub per_byte: f64,
    /// Message size.
    pub bytes: f64,
    /// Time the injection port is occupied.
    pub occupancy: f64,
    /// Whether it waits for its receive.
    pub rendezvous: bool,
    /// Whether it only progresses while both processes are in MPI.
    pub needs_progress: bool,
    /// Whether it is between nodes.
    pub leaves_node: bool,
}

impl MessageCost {
    /// Transfer time without contention.
    pub fn transfer_time(&self) -> f64 {
        self.latency + self.per_byte * self.bytes
    }
}

/// What-if changes to the machine file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineAdjustment {
    /// Factor on latencies.
    pub latency_factor: f64,
    /// Factor on per-byte costs.
    pub per_byte_factor: f64,
    /// Largest eager message.
    pub eager_bytes: Option<u64>,
}

impl Default for MachineAdjustment {
    fn default() -> MachineAdjustment {
        MachineAdjustment { latency_factor: 1.0, per_byte_factor: 1.0, eager_bytes: None }
    }
}

/// Placement of ranks on nodes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum RankPlacement {
    /// Fill one node after another.
    #[default]
    Block,
    /// Round-robin.
    Cyclic,
    /// The node of each rank.
    Nodes(Vec<u32>),
}

/// A machine with the ranks of a run on it.
#[derive(Clone, Debug)]
pub struct Platform {
    machine: Machine,
    bound: IntervalBound,
    /// What-if changes.
    pub adjustment: MachineAdjustment,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// Speed of each rank relative to the recording.
    speeds: Vec<f64>,
}

impl Platform {
    /// Places ranks on a machine.
    pub fn new(machine: &Machine, ranks: u32, placement: &RankPlacement, end: IntervalBound) -> Result<Platform, Error> {
        let nodes = assign_nodes(machine, ranks, placement)?;
        let speeds = nodes.iter().map(|node| node_speed(machine, *node, end)).collect();
        Ok(Platform { machine: machine.clone(), bound: end, adjustment: MachineAdjustment::default(), nodes, speeds })
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How its figures are used.
    pub fn figure_selection(&self) -> FigureSelection {
        FigureSelection {
            bound: self.bound,
            latency_factor: self.adjustment.latency_factor,
            per_byte_factor: self.adjustment.per_byte_factor,
        }
    }

    /// The bound of its intervals.
    pub fn bound(&self) -> IntervalBound {
        self.bound
    }

    /// Speed of a rank relative to the recording.
    pub fn speed(&self, rank: u32) -> f64 {
        self.speeds.get(rank as usize).copied().unwrap_or(1.0)
    }

    /// Network parameters between two ranks.
    fn network(&self, from: u32, to: u32) -> Option<&NetworkCosts> {
        use PairClass::{OtherNode, SameComplex, SameNode};
        let networks = &self.machine.networks;
        match self.leaves_node(from, to) {
            true => self.machine.network(OtherNode),
            false => networks.get(&SameNode).or_else(|| networks.get(&SameComplex)).or_else(|| networks.get(&OtherNode)),
        }
    }

    /// Whether two ranks are on different nodes.
    pub fn leaves_node(&self, from: u32, to: u32) -> bool {
        self.nodes.get(from as usize) != self.nodes.get(to as usize)
    }

    /// Messages of at most this size are eager between any two ranks.
    pub(crate) fn min_eager_bytes(&self) -> u64 {
        let of_networks = || self.machine.networks.values().filter_map(|network| network.eager_bytes).min();
        self.adjustment.eager_bytes.or_else(of_networks).unwrap_or(u64::MAX)
    }

    /// Cost of a message.
    pub fn message_cost(&self, from: u32, to: u32, bytes: u64, mode: SendMode) -> MessageCost {
        if mode == SendMode::Signal {
            return MessageCost::default();
        }
        let leaves_node = self.leaves_node(from, to);
        let none = NetworkCosts::default();
        let network = self.network(from, to).unwrap_or(&none);
        let time = |message: MessageMetric| self.timing_at(network, message, bytes);
        let size = bytes as f64;
        let total = |line: (f64, f64)| (line.0 + line.1 * size).max(0.0);
        let transfer = time(MessageMetric::Transfer).or_else(|| time(MessageMetric::Send)).unwrap_or((0.0, 0.0));
        let transfer_total = total(transfer);
        let receive = time(MessageMetric::Receive).map_or(0.0, total).min(transfer_total);
        let send = match mode {
            SendMode::Synchronous => time(MessageMetric::SynchronousSend).or_else(|| time(MessageMetric::Send)),
            SendMode::Buffered => time(MessageMetric::BufferedSend).or_else(|| time(MessageMetric::Send)),
            SendMode::Ready => time(MessageMetric::ReadySend).or_else(|| time(MessageMetric::Send)),
            SendMode::Standard | SendMode::Signal => time(MessageMetric::Send),
        };
        let eager = self.adjustment.eager_bytes.or(network.eager_bytes).unwrap_or(u64::MAX);
        let rendezvous = match mode {
            SendMode::Synchronous => true,
            SendMode::Buffered | SendMode::Ready | SendMode::Signal => false,
            SendMode::Standard => bytes > eager,
        };
        let share =
            network.overlap.iter().rev().find(|overlap| overlap.bytes <= bytes.max(1)).map_or(1.0, |overlap| overlap.share.middle());
        let per_byte = transfer.1.max(0.0);
        let occupies = time(MessageMetric::Gap).map_or(if leaves_node { per_byte * size } else { 0.0 }, total);
        MessageCost {
            send: send.map_or(0.0, total),
            start: time(MessageMetric::StartSend).or(send).map_or(0.0, total),
            wait: time(MessageMetric::WaitSend).map_or(0.0, total),
            receive,
            latency: (transfer_total - receive - per_byte * size).max(0.0),
            per_byte: if transfer_total - receive < per_byte * size && bytes > 0 { (transfer_total - receive) / size } else { per_byte },
            bytes: size,
            occupancy: occupies,
            rendezvous,
            needs_progress: rendezvous && share < 0.5,
            leaves_node,
        }
    }

    /// Constant and per-byte part of a timing at a size.
    fn timing_at(&self, network: &NetworkCosts, message: MessageMetric, bytes: u64) -> Option<(f64, f64)> {
        let pieces = &network.messages.get(&message)?.pieces;
        Some(self.adjusted_line(pieces.line(bytes as f64)))
    }

    /// A piece of a timing with the what-if changes. A negative intercept belongs to a fit through large messages and scales with the
    /// bytes.
    fn adjusted_line(&self, line: &LinearCost) -> (f64, f64) {
        let (intercept, slope) = line.bounds()[self.bound as usize];
        let factor = if intercept < 0.0 { self.adjustment.per_byte_factor } else { self.adjustment.latency_factor };
        (intercept * factor, slope * self.adjustment.per_byte_factor)
    }

    /// Measured time of a collective after all ranks have arrived; `None` if it was not measured.
    pub fn measured_collective(&self, group_op: GroupOp, members: u32, bytes: u64) -> Option<f64> {
        let group = self.machine.collective_cost(machine_collective(group_op)?)?;
        let at: &CollectiveTiming = group.timings.iter().find(|at| at.processes >= u64::from(members)).or_else(|| group.timings.last())?;
        let (intercept, slope) = self.adjusted_line(at.timing.pieces.line(bytes as f64));
        let seconds = (intercept + slope * bytes as f64).max(0.0);
        if u64::from(members) <= at.processes {
            return Some(seconds);
        }
        let values = SymbolValues::from_iter([("p", f64::from(members))]);
        Some(seconds * group.growth.evaluate(&values).unwrap_or(1.0).max(1.0))
    }

    /// Whether messages share links.
    pub fn has_shared_links(&self) -> bool {
        self.machine.topology.is_some()
    }

    /// Cost of reducing one byte of operands.
    pub fn reduce_s_per_byte(&self, unknown: f64) -> f64 {
        use sintonia_machine::{ArithmeticOp, MemoryAccess, NumberType};
        let node = self.machine.nodes.first();
        let add = node.and_then(|node| node.compute.get(&NumberType::Float64)?.get(&ArithmeticOp::Add));
        let memory = node
            .and_then(|node| node.memory.last())
            .and_then(|level| level.access.get(&MemoryAccess::Read))
            .map_or(0.0, |read| read.middle());
        add.map_or(unknown, |add| add.throughput.middle() / 8.0 + memory)
    }
}

/// The machine-file entry for a collective.
pub fn machine_collective(group_op: GroupOp) -> Option<CollectiveKind> {
    use CollectiveOp::*;
    Some(match group_op {
        GroupOp::Collective(op) => match op {
            Barrier => CollectiveKind::Barrier,
            Broadcast => CollectiveKind::Bcast,
            Reduce => CollectiveKind::Reduce,
            Allreduce => CollectiveKind::Allreduce,
            Gather | Gatherv => CollectiveKind::Gather,
            Scatter | Scatterv => CollectiveKind::Scatter,
            Allgather | Allgatherv => CollectiveKind::Allgather,
            Alltoall | Alltoallv | Alltoallw => CollectiveKind::Alltoall,
            ReduceScatter | ReduceScatterBlock => CollectiveKind::ReduceScatterBlock,
            Scan | Exscan => CollectiveKind::Scan,
            NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => return None,
        },
        _ => CollectiveKind::Barrier,
    })
}

/// Speed of a node relative to the recording.
fn node_speed(machine: &Machine, node: u32, end: IntervalBound) -> f64 {
    let mut first = 0u64;
    let kind = machine.nodes.iter().find(|kind| {
        first = first.saturating_add(kind.count);
        u64::from(node) < first
    });
    kind.map_or(1.0, |kind| match end {
        // The fast bound has the high speed.
        IntervalBound::Low => kind.speed.high(),
        IntervalBound::Middle => kind.speed.middle(),
        IntervalBound::High => kind.speed.low(),
    })
}

/// Node of each rank. Without nodes in the machine file, every rank has its own.
fn assign_nodes(machine: &Machine, ranks: u32, placement: &RankPlacement) -> Result<Vec<u32>, Error> {
    let count = machine.nodes.iter().fold(0u64, |sum, node| sum.saturating_add(node.count));
    if let RankPlacement::Nodes(nodes) = placement {
        return check_given_nodes(nodes, ranks, count);
    }
    if count == 0 {
        return Ok((0..ranks).collect());
    }
    let room = machine.nodes.iter().fold(0u64, |sum, node| sum.saturating_add(node.count.saturating_mul(node.cores)));
    if room < u64::from(ranks) {
        return Err(Error::MachineTooSmall { ranks, cores: room });
    }
    // No more nodes than ranks can be in use.
    let of_kind = |node: &sintonia_machine::NodeType| std::iter::repeat_n(node.cores, node.count.min(ranks.into()) as usize);
    let cores: Vec<u64> = machine.nodes.iter().flat_map(of_kind).take(ranks as usize).collect();
    let slots = |(node, cores): (usize, &u64)| std::iter::repeat_n(node as u32, (*cores).min(ranks.into()) as usize);
    Ok(match placement {
        RankPlacement::Cyclic => {
            let most = cores.iter().copied().max().unwrap_or(0);
            let round = |turn: u64| cores.iter().enumerate().filter(move |(_, cores)| **cores > turn).map(|(node, _)| node as u32);
            (0..most).flat_map(round).take(ranks as usize).collect()
        }
        _ => cores.iter().enumerate().flat_map(slots).take(ranks as usize).collect(),
    })
}

/// Checks a placement given by the user; any node is valid if the machine file has none.
fn check_given_nodes(nodes: &[u32], ranks: u32, count: u64) -> Result<Vec<u32>, Error> {
    let given = nodes.get(..ranks as usize).ok_or(Error::Unplaced { rank: nodes.len() as u32 })?;
    match given.iter().find(|node| count > 0 && u64::from(**node) >= count) {
        Some(node) => Err(Error::NoSuchNode { node: *node, nodes: count }),
        None => Ok(given.to_vec()),
    }
}
