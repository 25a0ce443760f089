//! What passes between the analyzer and the hosts: names and numbers, never addresses, so that it means the same everywhere.

use serde::{Deserialize, Serialize};

use crate::point::{MeasurePoint, Needs};
use crate::tunlet::{Happening, Joined};

/// What the analyzer asks of a host; every host is asked the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Find what the tunlets need in every process.
    Needs(Vec<Needs>),
    /// All that is to be done before MPI begins has been asked for.
    Begin,
    /// Make a change.
    Change(Change),
    /// Measure at one more place, for a tunlet, under a number.
    Look {
        /// Which tunlet.
        tunlet: usize,
        /// The number that events there carry.
        number: usize,
        /// The place.
        point: MeasurePoint,
    },
    /// Measure there no more.
    LookAway {
        /// Which tunlet.
        tunlet: usize,
        /// The number of the place.
        number: usize,
    },
    /// Say which functions a function of the program calls.
    Callees {
        /// Which tunlet wants to know.
        tunlet: usize,
        /// The function.
        function: String,
    },
}

/// A change that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The number by which answers are known.
    pub number: u64,
    /// Which tunlet wants it.
    pub tunlet: usize,
    /// Which of its tuning points.
    pub point: usize,
    /// The new value.
    pub value: f64,
    /// In this process only.
    pub rank: Option<u32>,
}

impl Change {
    /// Whether another is about the same point, in the same processes: the later takes the place of the earlier.
    pub fn is_of_same(&self, other: &Change) -> bool {
        (self.tunlet, self.point, self.rank) == (other.tunlet, other.point, other.rank)
    }
}

/// What a host tells the analyzer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// Another host has come, with this name.
    Host(String),
    /// A process of a program with so many has come, on this host.
    Came {
        /// How many processes the program has.
        size: u32,
    },
    /// The process with this rank is ready to be tuned.
    Ready {
        /// Its rank.
        rank: u32,
    },
    /// It is gone; whether it said good-bye.
    Gone {
        /// Its rank.
        rank: u32,
        /// Whether MPI had ended.
        finished: bool,
    },
    /// Something happened, of interest to a tunlet.
    Happened {
        /// Which tunlet.
        tunlet: usize,
        /// What.
        happening: Happening,
    },
    /// All that happened in a while, of interest to a tunlet.
    Joined {
        /// Which tunlet.
        tunlet: usize,
        /// What.
        joined: Joined,
    },
    /// What came of a change in a process: the value before, if there was one.
    Changed {
        /// The number of the change.
        number: u64,
        /// In which process.
        rank: u32,
        /// The value before, or why it was not made.
        outcome: Result<Option<f64>, String>,
    },
    /// The functions that a function calls.
    Callees {
        /// Which tunlet wanted to know.
        tunlet: usize,
        /// The function.
        function: String,
        /// Those that it calls.
        callees: Vec<String>,
    },
    /// Something is not as it was asked for.
    Problem(String),
    /// So many events were read, and so many dropped, since the last time.
    Count {
        /// Events read.
        events: u64,
        /// Events dropped.
        dropped: u64,
    },
}
