//! What a machine makes of messages and computation: where each rank is, and what everything costs there.

use sintonia_formula::Values;
use sintonia_machine::{AtProcesses, Collective, Line, Machine, Message, Network, PairClass};
use sintonia_mpi::Pattern;
use sintonia_recording::deed::Purpose;

use crate::Error;
use crate::network::Figures;
use crate::schedule::SendMode;

/// Which end of the machine's intervals is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything as quick as it may be.
    Low = 0,
    /// What is most likely.
    Middle = 1,
    /// Everything as slow as it may be.
    High = 2,
}

/// What a message costs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Price {
    /// In a blocking send.
    pub send: f64,
    /// In the call that starts a nonblocking one.
    pub start: f64,
    /// In the call that completes it.
    pub wait: f64,
    /// In the receive, once the message is there.
    pub receive: f64,
    /// From leaving until all of it is there, if nothing is in its way: a part that does not depend on its size,
    pub latency: f64,
    /// and one for each byte.
    pub per_byte: f64,
    /// How large it is.
    pub bytes: f64,
    /// How long it keeps the process's way onto the network busy.
    pub occupies: f64,
    /// Whether it leaves only when its receive has begun.
    pub rendezvous: bool,
    /// Whether it only goes on while both processes are in MPI.
    pub attended: bool,
    /// Whether it goes from node to node.
    pub leaves_node: bool,
}

impl Price {
    /// From leaving until all of it is there.
    pub fn wire(&self) -> f64 {
        self.latency + self.per_byte * self.bytes
    }
}

/// What is made different from the machine file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjust {
    /// Times as long for everything that does not depend on size.
    pub latency: f64,
    /// Times as long for every byte.
    pub per_byte: f64,
    /// The largest message that is sent before its receive has begun.
    pub eager_bytes: Option<u64>,
}

impl Default for Adjust {
    fn default() -> Adjust {
        Adjust { latency: 1.0, per_byte: 1.0, eager_bytes: None }
    }
}

/// Which rank is on which node.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// Nodes are filled one after another.
    #[default]
    Block,
    /// Ranks are dealt out to the nodes in turn.
    Cyclic,
    /// The node of each rank.
    Nodes(Vec<u32>),
}

/// A machine with the ranks of a run on it.
#[derive(Clone, Debug)]
pub struct Platform {
    machine: Machine,
    end: End,
    /// What is made different.
    pub adjust: Adjust,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// How many times as fast as the recorded machine each rank computes.
    speeds: Vec<f64>,
}

impl Platform {
    /// Puts ranks on a machine.
    pub fn new(machine: &Machine, ranks: u32, placement: &Placement, end: End) -> Result<Platform, Error> {
        let nodes = place(machine, ranks, placement)?;
        let speeds = nodes.iter().map(|node| speed(machine, *node, end)).collect();
        Ok(Platform { machine: machine.clone(), end, adjust: Adjust::default(), nodes, speeds })
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How its figures are taken.
    pub fn figures(&self) -> Figures {
        Figures { end: self.end, latency: self.adjust.latency, per_byte: self.adjust.per_byte }
    }

    /// Which end of its intervals is taken.
    pub fn end(&self) -> End {
        self.end
    }

    /// How many times as fast as recorded a rank computes.
    pub fn speed(&self, rank: u32) -> f64 {
        self.speeds.get(rank as usize).copied().unwrap_or(1.0)
    }

    /// The network between two ranks.
    fn network(&self, from: u32, to: u32) -> Option<&Network> {
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

    /// What a message costs.
    pub fn price(&self, from: u32, to: u32, bytes: u64, mode: SendMode) -> Price {
        let leaves_node = self.leaves_node(from, to);
        let none = Network::default();
        let network = self.network(from, to).unwrap_or(&none);
        let time = |message: Message| self.line(network, message, bytes);
        let size = bytes as f64;
        let total = |line: (f64, f64)| (line.0 + line.1 * size).max(0.0);
        let transfer = time(Message::Transfer).or_else(|| time(Message::Send)).unwrap_or((0.0, 0.0));
        let transfer_total = total(transfer);
        let receive = time(Message::Receive).map_or(0.0, total).min(transfer_total);
        let send = match mode {
            SendMode::Synchronous => time(Message::SynchronousSend).or_else(|| time(Message::Send)),
            SendMode::Buffered => time(Message::BufferedSend).or_else(|| time(Message::Send)),
            SendMode::Ready => time(Message::ReadySend).or_else(|| time(Message::Send)),
            SendMode::Standard => time(Message::Send),
        };
        let eager = self.adjust.eager_bytes.or(network.eager_bytes).unwrap_or(u64::MAX);
        let rendezvous = match mode {
            SendMode::Synchronous => true,
            SendMode::Buffered | SendMode::Ready => false,
            SendMode::Standard => bytes > eager,
        };
        let share =
            network.overlap.iter().rev().find(|overlap| overlap.bytes <= bytes.max(1)).map_or(1.0, |overlap| overlap.share.middle());
        let per_byte = transfer.1.max(0.0);
        let occupies = time(Message::Gap).map_or(if leaves_node { per_byte * size } else { 0.0 }, total);
        Price {
            send: send.map_or(0.0, total),
            start: time(Message::StartSend).or(send).map_or(0.0, total),
            wait: time(Message::WaitSend).map_or(0.0, total),
            receive,
            latency: (transfer_total - receive - per_byte * size).max(0.0),
            per_byte: if transfer_total - receive < per_byte * size && bytes > 0 { (transfer_total - receive) / size } else { per_byte },
            bytes: size,
            occupies,
            rendezvous,
            attended: rendezvous && share < 0.5,
            leaves_node,
        }
    }

    /// A timing at a size: what does not depend on size there, and what each byte takes.
    fn line(&self, network: &Network, message: Message, bytes: u64) -> Option<(f64, f64)> {
        let pieces = &network.messages.get(&message)?.pieces;
        Some(self.adjusted(pieces.line(bytes as f64)))
    }

    /// A line of the machine file with what is made different. A line that begins below zero is one through large messages: what is below zero
    /// there goes with their bytes.
    fn adjusted(&self, line: &Line) -> (f64, f64) {
        let (intercept, slope) = (<[f64; 3]>::from(line.intercept), <[f64; 3]>::from(line.slope));
        let (intercept, slope) = (intercept[self.end as usize], slope[self.end as usize]);
        let times = if intercept < 0.0 { self.adjust.per_byte } else { self.adjust.latency };
        (intercept * times, slope * self.adjust.per_byte)
    }

    /// What an operation of a group takes once everyone is there, as measured; `None` if it was not.
    pub fn measured(&self, purpose: Purpose, members: u32, bytes: u64) -> Option<f64> {
        let group = self.machine.group(collective(purpose)?)?;
        let at: &AtProcesses = group.at.iter().find(|at| at.processes >= u64::from(members)).or_else(|| group.at.last())?;
        let (intercept, slope) = self.adjusted(at.timing.pieces.line(bytes as f64));
        let seconds = (intercept + slope * bytes as f64).max(0.0);
        if u64::from(members) <= at.processes {
            return Some(seconds);
        }
        let values = Values::from_iter([("p", f64::from(members))]);
        Some(seconds * group.growth.evaluate(&values).unwrap_or(1.0).max(1.0))
    }

    /// Whether messages share links.
    pub fn is_shared(&self) -> bool {
        self.machine.topology.is_some()
    }

    /// What it takes to combine one byte of operands.
    pub fn combines_s_per_byte(&self, unknown: f64) -> f64 {
        use sintonia_machine::{Access, Arithmetic, NumberType};
        let node = self.machine.nodes.first();
        let add = node.and_then(|node| node.compute.get(&NumberType::Float64)?.get(&Arithmetic::Add));
        let memory =
            node.and_then(|node| node.memory.last()).and_then(|level| level.access.get(&Access::Read)).map_or(0.0, |read| read.middle());
        add.map_or(unknown, |add| add.throughput.middle() / 8.0 + memory)
    }
}

/// The operation of the machine file that an operation of a group is like.
pub fn collective(purpose: Purpose) -> Option<Collective> {
    use Pattern::*;
    Some(match purpose {
        Purpose::Collective(pattern) => match pattern {
            Barrier => Collective::Barrier,
            Broadcast => Collective::Bcast,
            Reduce => Collective::Reduce,
            Allreduce => Collective::Allreduce,
            Gather | Gatherv => Collective::Gather,
            Scatter | Scatterv => Collective::Scatter,
            Allgather | Allgatherv => Collective::Allgather,
            Alltoall | Alltoallv | Alltoallw => Collective::Alltoall,
            ReduceScatter | ReduceScatterBlock => Collective::ReduceScatterBlock,
            Scan | Exscan => Collective::Scan,
            NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => return None,
        },
        _ => Collective::Barrier,
    })
}

/// How many times as fast as the recorded machine a node computes.
fn speed(machine: &Machine, node: u32, end: End) -> f64 {
    let mut first = 0u64;
    let kind = machine.nodes.iter().find(|kind| {
        first = first.saturating_add(kind.count);
        u64::from(node) < first
    });
    kind.map_or(1.0, |kind| match end {
        // A quick machine computes fast.
        End::Low => kind.speed.high(),
        End::Middle => kind.speed.middle(),
        End::High => kind.speed.low(),
    })
}

/// The node of each rank. Without nodes every rank has one of its own.
fn place(machine: &Machine, ranks: u32, placement: &Placement) -> Result<Vec<u32>, Error> {
    let count = machine.nodes.iter().fold(0u64, |sum, node| sum.saturating_add(node.count));
    if let Placement::Nodes(nodes) = placement {
        return told(nodes, ranks, count);
    }
    if count == 0 {
        return Ok((0..ranks).collect());
    }
    let room = machine.nodes.iter().fold(0u64, |sum, node| sum.saturating_add(node.count.saturating_mul(node.cores)));
    if room < u64::from(ranks) {
        return Err(Error::TooSmall { ranks, cores: room });
    }
    // However many nodes there are, ranks are on no more of them than there are ranks.
    let of_kind = |node: &sintonia_machine::Node| std::iter::repeat_n(node.cores, node.count.min(ranks.into()) as usize);
    let cores: Vec<u64> = machine.nodes.iter().flat_map(of_kind).take(ranks as usize).collect();
    let slots = |(node, cores): (usize, &u64)| std::iter::repeat_n(node as u32, (*cores).min(ranks.into()) as usize);
    Ok(match placement {
        Placement::Cyclic => {
            let most = cores.iter().copied().max().unwrap_or(0);
            let round = |turn: u64| cores.iter().enumerate().filter(move |(_, cores)| **cores > turn).map(|(node, _)| node as u32);
            (0..most).flat_map(round).take(ranks as usize).collect()
        }
        _ => cores.iter().enumerate().flat_map(slots).take(ranks as usize).collect(),
    })
}

/// The nodes that somebody told, of so many that there are; where the machine does not tell of nodes, there are as many as are named.
fn told(nodes: &[u32], ranks: u32, count: u64) -> Result<Vec<u32>, Error> {
    let told = nodes.get(..ranks as usize).ok_or(Error::Unplaced { rank: nodes.len() as u32 })?;
    match told.iter().find(|node| count > 0 && u64::from(**node) >= count) {
        Some(node) => Err(Error::NoSuchNode { node: *node, nodes: count }),
        None => Ok(told.to_vec()),
    }
}
