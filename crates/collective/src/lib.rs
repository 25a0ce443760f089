//! Collectives as point-to-point messages: who sends how much to whom in each round.
//!
//! MPI libraries have several algorithms per collective and select by group size and message size. Everything that needs the messages of a
//! collective (replay, communication graph, exports) asks here, so that all of them see the same ones.

#![forbid(unsafe_code)]

mod algorithm;
mod broadcast;
mod byte_range;
mod dependency;
mod doubling;
mod exchange;
mod halving;
mod name;
pub mod op_names;
mod participant;
mod power_of_two;
mod rank_set;
mod ring;
mod selection;
#[cfg(test)]
mod spec;
mod tree;
mod tree_shape;

pub use algorithm::{CollectiveAlgorithm, FoldMode, TreeShape, fill_round, rounds};
pub use dependency::{DependencyCache, DependencySets};
pub use name::AlgorithmNameError;
pub use participant::{Participant, unit_bytes};
pub use rank_set::RankSet;
pub use selection::{LibraryRules, UnknownLibrary, choose_algorithm, describe_selection};

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
