//! The graph file of METIS, which gpmetis, KaHIP, VieM and Scotch's converters read.
//!
//! The first line says how many vertices and edges there are and which weights they have (`011`: vertices and edges have one each); then there
//! is one line per vertex: its weight, and each neighbour (counted from 1) with the weight of the edge to it. An edge stands in the lines of
//! both its ends. Lines that start with `%` are comments.
//!
//! METIS as everyone has it counts with 32 bits and sums up weights on the way, so [`write()`] divides weights that would not fit and says so
//! in a comment. [`read()`] takes what the manual of METIS 5.1 allows, and says of everything else in which line it stands and what is expected.

mod problem;
mod read;
mod write;

pub use problem::{Problem, Reason};
pub use read::read;
pub use write::write;
