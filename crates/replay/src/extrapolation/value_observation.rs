//! A recorded number with its circumstances, from which rules are inferred.

use super::filters::LoopIteration;
use super::process_grid::RankPosition;

/// A recorded number.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueObservation<'a> {
    /// The rank and its run.
    pub position: RankPosition<'a>,
    /// Iterations of the enclosing loops, outermost first.
    pub iterations: &'a [LoopIteration],
    /// The peer of the call, if it has one.
    pub peer: Option<u32>,
    /// The value.
    pub value: i64,
}
