//! Schedules of other tools in GOAL, played on a LogGOPS machine as LogGOPSim plays them.
//!
//! T. Hoefler, T. Schneider and A. Lumsdaine, *LogGOPSim: simulating large-scale applications in the LogGOPS model* (HPDC 2010): a send
//! keeps its processor busy for `o + (n-1)O` and its network interface for `g + (n-1)G`; the first byte arrives `o + L` after it began, and
//! taking a message in keeps the processor of the receiver busy for `o + (n-1)max(O, G)`, whether a receive is there already or not. A
//! message of more than `S` bytes is done for its sender when its receive meets it; that this must be told to the sender costs nothing.
//!
//! What happens at the same time happens in the order in which it became possible, as in LogGOPSim, so the results are the same to the last
//! digit. There are exceptions: an empty message costs as much as one of a byte (there: less); what waits for an operation of another
//! processor of its rank waits until that is done (there: until it has begun); whether a message is large is its own size (there: at times
//! that of its receive); and where more than 16 operations of a rank become possible at once, they keep the order of the file (there: that
//! of a sort which is not stable).

mod costs;
mod error;
mod event;
mod line;
mod loggps;
mod meeting;
mod pairs;
mod player;
mod queue;
mod ranks;
mod stuck;

pub use error::{Error, Place};
pub use loggps::Loggps;
pub use player::{Played, play};

#[cfg(test)]
mod tests;
