//! Errors of machine files, with their position.

use std::io;
use std::path::PathBuf;

use sintonia_text::source_pos::SourcePos;
use sintonia_toml_file::{TomlProblem, TomlReadError};

use crate::PiecewiseCostError;
use crate::topology_error::TopologyError;
use crate::uncertain_value::UncertainValueError;

/// Why a machine cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is invalid.
    #[error("{place}: {problem}{}", place.excerpt)]
    Invalid {
        /// Position in the file.
        place: SourcePos,
        /// What is wrong.
        problem: Box<MachineFileProblem>,
    },
}

impl TomlReadError for Error {
    type Problem = MachineFileProblem;

    fn at(place: SourcePos, problem: MachineFileProblem) -> Error {
        Error::Invalid { place, problem: Box::new(problem) }
    }
}

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MachineFileProblem {
    /// Keys, types or syntax of the TOML file.
    #[error(transparent)]
    Toml(#[from] TomlProblem),
    /// The file format's own syntax is violated.
    #[error("{0}")]
    Syntax(String),
    /// Numbers that do not form a value with an interval.
    #[error("`{key}`: {problem}")]
    Figure {
        /// The key.
        key: String,
        /// What is wrong with them.
        problem: UncertainValueError,
    },
    /// A value that must not be negative.
    #[error("`{key}` is negative: {value}")]
    Negative {
        /// The key.
        key: String,
        /// The value.
        value: f64,
    },
    /// A value that must be positive.
    #[error("`{key}` must be positive, not {value}")]
    NotAboveZero {
        /// The key.
        key: String,
        /// The value.
        value: f64,
    },
    /// A fraction above 1.
    #[error("`{key}` must be from 0 to 1, not {value}")]
    NotAFraction {
        /// The key.
        key: String,
        /// The value.
        value: f64,
    },
    /// A number that does not divide another evenly.
    #[error("`{key}` = {parts} does not divide {of} {what} evenly")]
    Uneven {
        /// The key.
        key: String,
        /// Number of parts.
        parts: u64,
        /// The number to divide.
        of: u64,
        /// Of what.
        what: &'static str,
    },
    /// Not one name for each node.
    #[error("`hosts` has {names} names, but `count` is {count}: name every node of this kind, or none")]
    Hosts {
        /// Number of names.
        names: usize,
        /// Number of nodes.
        count: u64,
    },
    /// Two nodes with the same name.
    #[error("the host \"{0}\" occurs twice")]
    HostTwice(String),
    /// Sizes that no piece covers.
    #[error("gap: no piece covers sizes above {after} and up to {before} bytes")]
    Gap {
        /// Upper end of the previous piece.
        after: f64,
        /// Lower end of this piece.
        before: f64,
    },
    /// Sizes that two pieces cover.
    #[error("this piece begins at {begins} bytes, but the previous one extends to {ends}")]
    Overlapping {
        /// Lower end of this piece.
        begins: f64,
        /// Upper end of the previous piece.
        ends: f64,
    },
    /// There are no pieces.
    #[error("`pieces` is empty: at least one is needed")]
    NoPieces,
    /// A piece other than the last has no upper end.
    #[error("this piece is not the last, so it needs an upper end: `up_to_bytes`")]
    MissingUpperBound,
    /// The last piece has an upper end.
    #[error("the last piece covers all larger messages: remove `up_to_bytes`, or add another piece")]
    UnexpectedUpperBound,
    /// Pieces that are not a cost.
    #[error(transparent)]
    Pieces(#[from] PiecewiseCostError),
    /// An invalid topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A formula that cannot be parsed.
    #[error("`{key}` is not a formula: {reason}")]
    Formula {
        /// The key.
        key: String,
        /// The cause.
        reason: String,
    },
    /// A growth that is not positive.
    #[error("`growth` is {value} at {processes} processes: it must be a positive number")]
    InvalidGrowth {
        /// Number of processes.
        processes: u64,
        /// Its value there.
        value: f64,
    },
    /// Numbers of processes that do not ascend.
    #[error("numbers of processes must ascend from 2: {processes} after {before}")]
    ProcessCountOrder {
        /// The previous number.
        before: u64,
        /// The number.
        processes: u64,
    },
    /// An unsupported version of the format.
    #[error("this is a machine file of format {0}, and only format 1 is supported")]
    Format(u64),
    /// A file of another tool that lacks data a machine needs.
    #[error("{0}")]
    MissingData(String),
}
