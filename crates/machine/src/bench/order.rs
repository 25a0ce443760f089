//! What the leading process tells the others to do, and what they answer.

use serde::{Deserialize, Serialize};

use super::sample::Sample;
use crate::{Collective, Message};

/// What two processes do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Exchange {
    /// Times it.
    Time(Message),
    /// Finds out how much of it computation hides.
    Overlap,
    /// Sees whether it is sent before it is received; the other one waits in MPI for so many seconds before it receives.
    Eager(f64),
    /// The same, while the other one does not even call MPI.
    Unattended(f64),
    /// Sees whether it is copied at once.
    Detached(f64),
}

/// What two processes do, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What they do.
    pub exchange: Exchange,
    /// The size of the message.
    pub bytes: usize,
    /// How often before it counts.
    pub first: usize,
    /// How often then.
    pub times: usize,
    /// Of a transfer: how many round trips follow each other between two readings of the clock.
    pub train: usize,
    /// How long it takes until what the other one began is surely under way, in seconds.
    pub settle: f64,
}

/// What a group does, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// What it does.
    pub what: Collective,
    /// The size.
    pub bytes: usize,
    /// How often before it counts.
    pub first: usize,
    /// How often then.
    pub times: usize,
}

/// How often something is done before it counts. Processes slept since the last time, and libraries go round through memory of their own;
/// what is short is slow until both are over.
pub fn first_times(bytes: u64) -> usize {
    const MOST: usize = 32;
    const ENOUGH: u64 = 128 << 10;
    ENOUGH.checked_div(bytes).map_or(MOST, |times| times.clamp(1, MOST as u64) as usize)
}

/// What a process is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Measure a message to or from the other one.
    Measure(Task, usize),
    /// Take part in what the other one measures.
    Assist(Task, usize),
    /// The first so many processes become a group.
    Gather(usize),
    /// The group does something together.
    Join(Round),
    /// The group ends.
    Dissolve,
    /// Measure computation.
    Compute(usize, u64),
    /// Measure so much memory, for so many seconds.
    Memory(usize, u64, u64, f64),
    /// Nothing more is to do.
    Leave,
}

/// Seconds, or shares, as they were measured; for each thing that was timed.
pub type Values = Vec<Vec<f64>>;

/// What a process answers to an order that asks for something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// What was timed.
    Values(Values),
    /// Samples.
    Samples(Vec<Sample>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_done_more_often_before_it_counts() {
        assert_eq!([0, 8, 4096, 16 << 10, 128 << 10, 4 << 20].map(first_times), [32, 32, 32, 8, 1, 1]);
    }
}
