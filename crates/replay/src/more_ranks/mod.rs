//! A program with more ranks than it was recorded with.
//!
//! Recordings of one program with a few numbers of ranks show how it goes on: whom a rank talks to is found in the same way whether there
//! are eight ranks or a thousand. [`recognise`] looks for rules that reproduce every recorded peer of every rank in every recording; where
//! there is none, it says so. The rules make the [`schedule`](Pattern::schedule) of a run that nobody has made.

mod amount;
mod communicators;
mod counts;
mod describe;
mod error;
mod extrapolated;
mod family;
mod grid;
mod growth;
mod header;
mod line;
mod list;
mod nest;
mod open;
mod part;
mod pattern;
mod peer;
mod place;
mod proof;
mod reading;
mod recognise;
mod share;
mod sight;
mod step;
mod targets;
mod times;
mod tree;
mod who;

pub use error::{Impossible, Unrecognised};
pub use extrapolated::Extrapolated;
pub use pattern::Pattern;
pub use recognise::recognise;

/// What is known beside the recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How a single recording goes on.
    pub scaling: Scaling,
    /// Whether times scatter as they were recorded to.
    pub noise: bool,
    /// The sides of the grid of the larger run, if they do not follow from those of the recordings.
    pub grid: Option<Vec<u32>>,
}

/// How the problem grows with the number of ranks, where one recording cannot say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// Each rank has as much to do as before.
    #[default]
    Weak,
    /// All ranks together have.
    Strong,
}
