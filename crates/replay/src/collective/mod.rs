//! Operations of groups as the messages that make them up: who sends how much to whom, round by round.
//!
//! MPI libraries build each operation in several ways and choose by the number of processes and bytes; so does the replay.

mod algorithm;
mod broadcast;
mod choice;
mod circle;
mod doubling;
mod exchange;
mod halving;
mod name;
pub mod operation;
mod piece;
mod ring;
mod seats;
mod shape;
#[cfg(test)]
mod spec;
mod tree;
mod way;

pub use algorithm::{Algorithm, Folding, Shape, round};
pub use choice::{Library, UnknownLibrary, choose};
pub use name::NameError;
pub use way::{Way, built, built_all, has_root, pattern, way};

/// What one member knows of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// How many members there are.
    pub size: u32,
    /// The place of this one among them.
    pub here: u32,
    /// The place of the root, 0 where there is none.
    pub root: u32,
    /// Bytes of one unit of the operation: the whole vector (broadcast, reduce, allreduce, scan), the block of one member (gather, scatter,
    /// allgather, alltoall, reduce-scatter). Where blocks differ, their mean.
    pub bytes: u64,
}

/// A message of a round to or from another member, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The other member.
    pub peer: u32,
    /// How much.
    pub bytes: u64,
}

/// What a member does in one round: it sends and receives all these at the same time, and when all is there it computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// What it sends.
    pub sends: Vec<Part>,
    /// What it receives.
    pub receives: Vec<Part>,
    /// Bytes of operands that it then combines into a result.
    pub combines: u64,
}
