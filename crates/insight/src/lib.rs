//! What a recording means.
//!
//! The table of calls answers any question, but people ask few: did the ranks work or wait ([`Efficiency`]), where did the time go, who
//! sends what to whom, and can the recording be trusted ([`Summary`])? Then: where did they wait ([`wait`]) and for what ([`delay`]), what
//! made the run as long as it was ([`path`]), and what can be done about it ([`advice`])?

pub mod advice;
mod bounds;
pub mod delay;
mod efficiency;
pub mod findings;
pub mod gaps;
pub mod ideal;
pub mod path;
pub mod phases;
mod place;
mod scaling;
pub mod segment;
pub mod shown;
mod summary;
mod tally;
mod times;
pub mod wait;
pub mod words;

pub use efficiency::Efficiency;
pub use place::Place;
pub use scaling::{Growth, Run, Scaled};
pub use sintonia_replay::Error;
pub use summary::{CallSite, IncompleteRank, OperationSum, Pair, SizeClass, Spread, Summary, Unfinished};
pub use times::RankTime;
