//! Collectives as point-to-point messages: who sends how much to whom in each round.
//!
//! MPI libraries have several algorithms per collective and select by group size and message size; the replay does the same.

mod algorithm;
mod broadcast;
mod byte_range;
mod doubling;
mod exchange;
mod halving;
mod name;
pub mod op_names;
mod plan;
mod power_of_two;
mod rank_arithmetic;
mod ring;
mod selection;
#[cfg(test)]
mod spec;
mod tree;
mod tree_shape;

pub use algorithm::{CollectiveAlgorithm, FoldMode, TreeShape, fill_round};
pub use name::AlgorithmNameError;
pub use plan::{CollectivePlan, has_root, op_of_collective, parse_global_model, parse_model, plan_collective};
pub use selection::{LibraryRules, UnknownLibrary, choose_algorithm};

/// A collective from the point of view of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Group size.
    pub size: u32,
    /// Rank in the group.
    pub rank: u32,
    /// Rank of the root; 0 if there is none.
    pub root: u32,
    /// Size of one unit: the whole vector (broadcast, reduce, allreduce, scan) or the block of one rank (gather, scatter, allgather,
    /// alltoall, reduce-scatter). Mean size if blocks differ.
    pub bytes: u64,
}

/// A message of a round, to or from another rank of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundMessage {
    /// Rank of the other end.
    pub peer: u32,
    /// Message size.
    pub bytes: u64,
}

/// One round of a rank: all sends and receives are concurrent, then operands are reduced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRound {
    /// Messages sent.
    pub sends: Vec<RoundMessage>,
    /// Messages received.
    pub receives: Vec<RoundMessage>,
    /// Operand bytes reduced at the end of the round.
    pub reduced_bytes: u64,
}
