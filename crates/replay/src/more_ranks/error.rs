//! Why a run with more ranks cannot be told from recordings.

use sintonia_recording::Incomplete;

/// Why no pattern was found.
#[derive(Debug, thiserror::Error)]
pub enum Unrecognised {
    /// There is nothing to learn from.
    #[error("there is no recording to learn a pattern from")]
    NoRecording,
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A recording has only sums.
    #[error("the recording with {ranks} ranks holds only sums: record it again without `--profile`")]
    Profile {
        /// How many ranks it has.
        ranks: u32,
    },
    /// A rank is not known as a whole.
    #[error("the recording with {ranks} ranks is not complete: rank {rank}: {why}")]
    Incomplete {
        /// How many ranks it has.
        ranks: u32,
        /// The rank.
        rank: u32,
        /// What is missing.
        why: Incomplete,
    },
    /// Several threads of a rank call MPI.
    #[error("in the recording with {ranks} ranks several threads of rank {rank} call MPI, and no pattern is known for that")]
    Threads {
        /// How many ranks it has.
        ranks: u32,
        /// The rank.
        rank: u32,
    },
    /// An operation for which there are no rules.
    #[error("{site}: {operation} cannot be told for more ranks")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// Where it is called.
        site: String,
    },
    /// Something about a call that no rule explains.
    #[error("{site}: no pattern explains {what} of {operation}: {examples}; tried: {tried}")]
    Call {
        /// Where it is called.
        site: String,
        /// The operation.
        operation: &'static str,
        /// What is not explained.
        what: &'static str,
        /// Some of what was recorded.
        examples: String,
        /// What was tried.
        tried: &'static str,
    },
    /// A loop whose rounds are too different to be looked at.
    #[error("{site}: the rounds of the loop that begins here differ too much to be a pattern")]
    Irregular {
        /// Where it begins.
        site: String,
    },
}

/// Why a pattern cannot have so many ranks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// There must be at least one.
    #[error("a run has at least one rank")]
    NoRanks,
    /// There are more than can be numbered.
    #[error("{ranks} ranks are more than can be told: at most {most}")]
    TooMany {
        /// How many ranks.
        ranks: u32,
        /// How many there can be.
        most: u32,
    },
    /// They make no grid like those recorded.
    #[error("{ranks} ranks make no grid like those of the recordings: {why}")]
    Grid {
        /// How many ranks.
        ranks: u32,
        /// Why not.
        why: String,
    },
    /// A rule means nothing for so many.
    #[error("{site}: {operation} goes to {rule}, and {why}")]
    Rule {
        /// Where it is called.
        site: String,
        /// The operation.
        operation: &'static str,
        /// The rule.
        rule: String,
        /// Why it means nothing.
        why: String,
    },
}
