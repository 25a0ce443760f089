//! The METIS graph file, read by gpmetis, KaHIP, VieM and Scotch's converters.
//!
//! The first line has the numbers of vertices and edges and the weight format (`011`: one weight per vertex and edge); then one line per
//! vertex has its weight and each neighbour (from 1) with the edge weight. Each edge appears in the lines of both ends. Lines that start
//! with `%` are comments.
//!
//! Common builds of METIS sum weights in 32 bits, so [`write()`] scales weights that would overflow and says so in a comment. [`read()`]
//! accepts what the METIS 5.1 manual allows, and reports everything else with its line.

mod error;
mod read;
mod write;

pub use error::{GraphFileError, GraphFileErrorKind};
pub use read::read;
pub use write::write;
