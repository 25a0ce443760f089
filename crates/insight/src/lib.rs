//! What a recording means.
//!
//! The table of calls answers any question, but people ask few: did the ranks work or wait ([`Efficiency`]), where did the time go, who
//! sends what to whom, and can the recording be trusted ([`Summary`])?

pub mod advice;
pub mod delay;
mod efficiency;
pub mod findings;
pub mod ideal;
pub mod path;
pub mod phases;
mod place;
mod scaling;
pub mod segment;
pub mod shown;
mod summary;
mod tally;
pub mod wait;

pub use efficiency::Efficiency;
pub use place::Place;
pub use scaling::{Growth, Scaled};
pub use summary::{CallSite, IncompleteRank, OperationSum, Pair, RankTime, SizeClass, Spread, Summary, Unfinished};
