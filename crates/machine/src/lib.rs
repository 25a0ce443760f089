//! What computing and communicating cost on a machine.
//!
//! A [`Machine`] holds these costs, each with an interval: what arithmetic and memory cost on every kind of node, what messages cost between
//! processes that are near or far, what groups cost. It lives in a file that people read and edit (`NAME.machine.toml`), because half of the
//! machines one wants to ask about are not at hand. [`bench`] measures the machine that is.

pub mod bench;
mod cost;
mod error;
mod exchange;
mod figure;
mod formulas;
mod machine;
mod memory;
mod names;
mod pieces;
mod read;
pub mod topology;
mod write;

pub use cost::{Cost, Costs, Layout, MemoryLevel, Node};
pub use error::{Error, Problem};
pub use exchange::{dimemas, simgrid};
pub use figure::Figure;
pub use machine::{About, AtProcesses, Collectives, Group, Machine, Measured, Network, Overlap, Timing};
pub use memory::free_memory;
pub use names::{Access, Arithmetic, Collective, Duplex, Message, Named, NumberType, PairClass, Sharing};
pub use pieces::{Line, Pieces, PiecesProblem};
pub use sintonia_text::place::Place;
pub use topology::Topology;
