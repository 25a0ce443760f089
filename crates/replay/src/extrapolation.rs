//! Extrapolation to more ranks than were recorded.
//!
//! Recordings with a few numbers of ranks show how the communication pattern scales: peers usually follow the same rule for eight ranks and
//! for a thousand. [`recognise`] searches for rules that reproduce every recorded peer of every rank in every recording, and fails if there
//! are none. The rules yield the [`schedule`](ProgramPattern::schedule) of a larger run.

mod block_share;
mod call_rule;
mod communicators;
mod describe;
mod error;
mod extrapolated;
mod extrapolated_schedule;
mod filters;
mod folded_trace;
mod group_rule;
mod header;
mod iteration_counts;
mod loop_nest;
mod observations;
mod outstanding_requests;
mod pattern;
mod peer_rule;
mod peer_search;
mod peer_sequence;
mod process_grid;
mod program_sites;
mod rank_tree;
mod reader;
mod recognise;
mod recording_family;
mod scaling_law;
mod segment_times;
mod value_observation;
mod value_rule;
mod verification;

pub use error::{ExtrapolationError, RecognitionError};
pub use extrapolated::ExtrapolatedRun;
pub use pattern::ProgramPattern;
pub use recognise::recognise;

/// User settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtrapolationOptions {
    /// Scaling from a single recording.
    pub scaling: ProblemScaling,
    /// Whether segment times vary as recorded.
    pub noise: bool,
    /// Sides of the process grid of the larger run; inferred if `None`.
    pub grid: Option<Vec<u32>>,
}

/// Scaling of the problem size, if there is only one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemScaling {
    /// Constant work per rank.
    #[default]
    Weak,
    /// Constant total work.
    Strong,
}
