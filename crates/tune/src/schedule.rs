//! How a master cuts tasks into chunks for its workers.
//!
//! A master follows a few numbers ([`Cutting`]); the rules of the literature on self-scheduling are ways to choose them ([`Rule`]); and
//! what a choice would come to can be tried before it is made ([`simulate`]).

mod cutting;
mod rule;
mod simulate;

pub use cutting::{Cutter, Cutting};
pub use rule::{Known, Rule, Worker, dynamic_factors};
pub use simulate::{Costs, Outcome, Situation, simulate};
