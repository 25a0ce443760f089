//! Errors of pattern recognition and extrapolation.

use sintonia_recording::IncompleteReason;

/// Why no pattern was found.
#[derive(Debug, thiserror::Error)]
pub enum RecognitionError {
    /// There are no recordings.
    #[error("there are no recordings to infer a pattern from")]
    NoRecording,
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A recording only has totals.
    #[error("the recording with {ranks} ranks only has totals: record it again without `--profile`")]
    Profile {
        /// Number of ranks.
        ranks: u32,
    },
    /// A rank is incomplete.
    #[error("the recording with {ranks} ranks is not complete: rank {rank}: {why}")]
    Incomplete {
        /// Number of ranks.
        ranks: u32,
        /// The rank.
        rank: u32,
        /// What is missing.
        why: IncompleteReason,
    },
    /// Several threads of a rank call MPI.
    #[error("in the recording with {ranks} ranks several threads of rank {rank} call MPI, which is not supported")]
    Threads {
        /// Number of ranks.
        ranks: u32,
        /// The rank.
        rank: u32,
    },
    /// An operation without extrapolation rules.
    #[error("{site}: {operation} cannot be extrapolated")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// Call site.
        site: String,
    },
    /// A property of a call that no rule explains.
    #[error("{site}: no pattern explains {what} of {operation}: {examples}; tried: {tried}")]
    Call {
        /// Call site.
        site: String,
        /// The operation.
        operation: &'static str,
        /// The property.
        what: &'static str,
        /// Some recorded values.
        examples: String,
        /// The rules tried.
        tried: &'static str,
    },
    /// A loop with too many different iterations.
    #[error("{site}: the iterations of the loop that starts here are too irregular")]
    Irregular {
        /// Site of its first call.
        site: String,
    },
}

/// Why a pattern cannot be extrapolated to a number of ranks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtrapolationError {
    /// Zero ranks.
    #[error("a run has at least one rank")]
    NoRanks,
    /// More ranks than can be numbered.
    #[error("{ranks} ranks are too many: at most {most}")]
    TooMany {
        /// Number of ranks.
        ranks: u32,
        /// The maximum.
        most: u32,
    },
    /// The ranks do not form a grid like the recorded ones.
    #[error("{ranks} ranks do not form a grid like those of the recordings: {why}")]
    Grid {
        /// Number of ranks.
        ranks: u32,
        /// The reason.
        why: String,
    },
    /// A rule is undefined for this number of ranks.
    #[error("{site}: {operation} goes to {rule}, but {why}")]
    Rule {
        /// Call site.
        site: String,
        /// The operation.
        operation: &'static str,
        /// The rule.
        rule: String,
        /// The reason.
        why: String,
    },
}
