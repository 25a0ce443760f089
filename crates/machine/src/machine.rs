//! A machine: the contents of its file.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use crate::{CollectiveKind, MessageMetric, NodeType, PairClass, PiecewiseCost, Topology, UncertainValue};

/// Costs of computation and communication on a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// Where the numbers come from.
    pub metadata: MachineMetadata,
    /// Node types.
    pub nodes: Vec<NodeType>,
    /// Costs of messages, by distance of the processes.
    pub networks: BTreeMap<PairClass, NetworkCosts>,
    /// Costs of collectives.
    pub collective_costs: BTreeMap<CollectiveKind, CollectiveCost>,
    /// Algorithms of collectives.
    pub collective_algorithms: CollectiveAlgorithms,
    /// How nodes are connected, if links can be contended.
    pub topology: Option<Topology>,
}

/// Algorithms of collectives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectiveAlgorithms {
    /// MPI library whose selection applies where no algorithm is given.
    pub library: Option<String>,
    /// Algorithms chosen explicitly, by name.
    pub algorithms: BTreeMap<CollectiveKind, String>,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MachineMetadata {
    /// Name of the machine.
    pub name: String,
    /// Date of the measurement.
    pub date: Option<String>,
    /// Source of the numbers, if not measured with Sintonia.
    pub source: Option<String>,
    /// MPI library.
    pub mpi: Option<String>,
    /// Launcher command, as words.
    pub launcher: Vec<String>,
    /// Number of processes.
    pub processes: Option<u64>,
    /// Number of launches.
    pub launches: Option<u64>,
    /// Seed of the random order of measurements.
    pub seed: Option<u64>,
    /// Whether processes shared cores, so that times include scheduling.
    pub oversubscribed: bool,
    /// Confidence level of the intervals.
    pub confidence: Option<f64>,
    /// How disturbed the measurement was, if known: with 0.5 a cost may be 1.5 times smaller or larger than its interval says.
    pub disturbance: Option<f64>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// How a timing was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasurementSummary {
    /// Smallest and largest size.
    pub bytes: [u64; 2],
    /// Number of sizes.
    pub sizes: u64,
    /// Number of measurements.
    pub samples: u64,
    /// How many of them are outliers; they are included.
    pub outliers: u64,
    /// Mean relative error of the fit against the medians.
    pub mean_error_percent: f64,
    /// Largest relative error.
    pub worst_error_percent: f64,
}

/// Cost of an operation by size.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationTiming {
    /// Time by size.
    pub pieces: PiecewiseCost,
    /// How it was measured, if it was.
    pub measured: Option<MeasurementSummary>,
    /// Measured sizes, ascending, and the median seconds at each. May be empty.
    pub medians: Vec<(u64, f64)>,
}

/// How much of a transfer computation hides, at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverlapPoint {
    /// Message size.
    pub bytes: u64,
    /// Hidden share of the transfer, from 0 to 1.
    pub share: UncertainValue,
}

/// Costs of messages between two processes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NetworkCosts {
    /// Eager limit: the largest message that `MPI_Send` completes before it is received.
    pub eager_bytes: Option<u64>,
    /// The same while the receiver does not call MPI.
    pub unattended_bytes: Option<u64>,
    /// The largest message that `MPI_Isend` has copied when it returns.
    pub detached_bytes: Option<u64>,
    /// Timing of each metric.
    pub messages: BTreeMap<MessageMetric, OperationTiming>,
    /// Overlap of transfers with computation.
    pub overlap: Vec<OverlapPoint>,
}

/// Cost of a collective with a number of processes.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveTiming {
    /// Number of processes.
    pub processes: u64,
    /// Cost by message size.
    pub timing: OperationTiming,
}

/// Cost of a collective.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveCost {
    /// Growth with the number of processes `p` beyond those measured; only its ratios matter.
    pub growth: Formula,
    /// Measurements by number of processes, ascending; at least one.
    pub timings: Vec<CollectiveTiming>,
}

impl Machine {
    /// The machine with the intervals of all measured costs widened by its disturbance, for predictions.
    pub fn widened(mut self) -> Machine {
        let factor = 1.0 + self.metadata.disturbance.unwrap_or(0.0);
        let widen = |value: &mut UncertainValue| *value = value.widened(factor);
        for node in &mut self.nodes {
            let costs = node.compute.values_mut().chain(node.java.values_mut()).flat_map(|costs| costs.values_mut());
            costs.for_each(|cost| [&mut cost.latency, &mut cost.throughput].into_iter().for_each(widen));
            node.memory.iter_mut().flat_map(|level| level.access.values_mut()).for_each(widen);
        }
        for network in self.networks.values_mut() {
            network.messages.values_mut().for_each(|timing| timing.pieces = timing.pieces.widened(factor));
        }
        for collective in self.collective_costs.values_mut() {
            collective.timings.iter_mut().for_each(|at| at.timing.pieces = at.timing.pieces.widened(factor));
        }
        self
    }

    /// The network of a class; where unknown, the next farther class, else the next nearer one.
    pub fn network(&self, class: PairClass) -> Option<&NetworkCosts> {
        let farther = self.networks.range(class..).next();
        farther.or_else(|| self.networks.range(..class).next_back()).map(|(_, network)| network)
    }

    /// Cost of a collective, if known.
    pub fn collective_cost(&self, what: CollectiveKind) -> Option<&CollectiveCost> {
        self.collective_costs.get(&what)
    }
}
