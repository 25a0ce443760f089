//! Costs of computation and communication on a machine.
//!
//! A [`Machine`] holds these costs with their uncertainty: arithmetic and memory for every node type, messages by distance of the processes,
//! and collectives. It is stored in a file that people read and edit (`NAME.machine.toml`), because many machines of interest are not at
//! hand. [`bench`] measures the one that is.

#![forbid(unsafe_code)]

pub mod bench;
mod error;
mod file_reader;
mod file_writer;
mod formulas;
mod interop;
mod json;
mod machine;
mod memory;
mod names;
mod node;
mod piecewise_cost;
pub mod topology;
mod topology_error;
mod uncertain_value;
mod worker_speeds;

pub use error::{Error, MachineFileProblem};
pub use interop::{dimemas, simgrid};
pub use machine::{
    CollectiveAlgorithms, CollectiveCost, CollectiveTiming, Machine, MachineMetadata, MeasurementSummary, NetworkCosts, OperationTiming,
    OverlapPoint,
};
pub use memory::free_memory;
pub use names::{ArithmeticOp, BandwidthSharing, CollectiveKind, Duplex, MemoryAccess, MessageMetric, Named, NumberType, PairClass};
pub use node::{ArithmeticCosts, MemoryLevel, NodeLayout, NodeType, OperationCost};
pub use piecewise_cost::{LinearCost, PiecewiseCost, PiecewiseCostError};
pub use sintonia_text::source_pos::SourcePos;
pub use topology::Topology;
pub use uncertain_value::UncertainValue;
