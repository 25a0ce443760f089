//! What can be wrong with a machine file, said with the place.

use std::io;
use std::path::PathBuf;

use sintonia_text::place::Place;

use crate::PiecesProblem;
use crate::figure::BadFigure;
use crate::topology::TopologyProblem;

/// Why there is no machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error("{place}: {problem}{}", place.excerpt)]
    Wrong {
        /// Where.
        place: Place,
        /// What.
        problem: Box<Problem>,
    },
}

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// It is not even a file of that format.
    #[error("{0}")]
    Syntax(String),
    /// A key that means nothing.
    #[error("`{key}` means nothing {table}; what can be there: {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table it is in.
        table: String,
        /// The keys that mean something there.
        known: String,
    },
    /// A key without its unit, or with another.
    #[error("`{key}` has no unit that is known here: write `{known}`, in {unit}")]
    Unit {
        /// The key.
        key: String,
        /// The key with its unit.
        known: String,
        /// The unit, in words.
        unit: &'static str,
    },
    /// A key that must be there.
    #[error("`{key}` is missing {table}")]
    Missing {
        /// The key.
        key: String,
        /// The table it belongs in.
        table: String,
    },
    /// A value of another kind.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// Numbers that make no figure.
    #[error("`{key}`: {problem}")]
    Figure {
        /// The key.
        key: String,
        /// What is wrong with them.
        problem: BadFigure,
    },
    /// A figure that must not be below zero.
    #[error("`{key}` is below zero: {value}")]
    Negative {
        /// The key.
        key: String,
        /// The figure.
        value: f64,
    },
    /// A figure that must be above zero.
    #[error("`{key}` must be above zero, not {value}")]
    NotAboveZero {
        /// The key.
        key: String,
        /// The figure.
        value: f64,
    },
    /// A word of which only some mean something.
    #[error("`{key}` cannot be \"{word}\"; what it can be: {known}")]
    UnknownWord {
        /// The key.
        key: String,
        /// The word.
        word: String,
        /// The words that mean something there.
        known: String,
    },
    /// A share that is more than the whole.
    #[error("`{key}` is a share, from 0 to 1, not {value}")]
    NoShare {
        /// The key.
        key: String,
        /// The number.
        value: f64,
    },
    /// Parts that a whole cannot be divided into.
    #[error("`{key}` = {parts} does not divide {of} {what} evenly")]
    Uneven {
        /// The key.
        key: String,
        /// How many parts.
        parts: u64,
        /// How much there is to divide.
        of: u64,
        /// Of what.
        what: &'static str,
    },
    /// Not as many names as nodes.
    #[error("`hosts` has {names} names, but `count` is {count}: name every node of this kind, or none")]
    Hosts {
        /// How many names.
        names: usize,
        /// How many nodes.
        count: u64,
    },
    /// Two nodes of one name.
    #[error("the host \"{0}\" is there twice")]
    HostTwice(String),
    /// Sizes that no piece covers.
    #[error("a gap: no piece holds for sizes above {after} and up to {before} bytes")]
    Gap {
        /// Where the piece before ends.
        after: f64,
        /// Where this one begins.
        before: f64,
    },
    /// Sizes that two pieces cover.
    #[error("this piece begins at {begins} bytes, but the one before holds up to {ends}")]
    Overlapping {
        /// Where this one begins.
        begins: f64,
        /// Where the one before ends.
        ends: f64,
    },
    /// There are no pieces.
    #[error("`pieces` is empty: at least one is needed")]
    NoPieces,
    /// Only the last piece goes on for ever.
    #[error("this piece is not the last, so it must say where it ends: `up_to_bytes`")]
    Endless,
    /// The last piece goes on for ever.
    #[error("the last piece holds for all larger messages: leave `up_to_bytes` away, or add a piece for what is beyond")]
    Ending,
    /// Pieces that contradict each other or time.
    #[error(transparent)]
    Pieces(#[from] PiecesProblem),
    /// Nodes that are not connected as they should be.
    #[error(transparent)]
    Topology(#[from] TopologyProblem),
    /// A formula that cannot be understood.
    #[error("`{key}` is no formula: {reason}")]
    Formula {
        /// The key.
        key: String,
        /// Why not.
        reason: String,
    },
    /// A growth that makes no time.
    #[error("`growth` is {value} at {processes} processes: it multiplies a time, so it must be a number above zero")]
    NoGrowth {
        /// The number of processes.
        processes: u64,
        /// What it comes to.
        value: f64,
    },
    /// The same number of processes twice, or not in order.
    #[error("numbers of processes must grow, from 2: {processes} after {before}")]
    Processes {
        /// The number before.
        before: u64,
        /// The number.
        processes: u64,
    },
    /// Made for another version.
    #[error("this is a machine file of format {0}, and only format 1 is known")]
    Format(u64),
    /// A file of another tool that lacks what a machine needs.
    #[error("{0}")]
    Lacking(String),
}
