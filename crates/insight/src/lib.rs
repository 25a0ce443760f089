//! What a recording means.
//!
//! The table of calls answers any question, but people ask few: did the ranks work or wait ([`Efficiency`]), where did the time go, who
//! sends what to whom, and can the recording be trusted ([`Summary`])?

mod efficiency;
mod place;
mod summary;
mod tally;

pub use efficiency::Efficiency;
pub use place::Place;
pub use summary::{CallSite, IncompleteRank, OperationSum, Pair, RankTime, SizeClass, Spread, Summary, Unfinished};
