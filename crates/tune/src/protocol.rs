//! Messages between analyzer and host agents: names and numbers, never addresses, so that they mean the same everywhere.

use serde::{Deserialize, Serialize};

use crate::tuning_points::{MeasurePoint, TunletRequirements};
use crate::tunlet::{EventSummary, PointEvent};

/// A request of the analyzer; every host receives the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentRequest {
    /// Bind the tunlets' requirements in every process.
    Bind(Vec<TunletRequirements>),
    /// All changes before the start of MPI have been requested.
    Begin,
    /// Make a change.
    Change(ChangeRequest),
    /// Add a measure point of a tunlet.
    AddPoint {
        /// The tunlet.
        tunlet: usize,
        /// The number that its events carry.
        number: usize,
        /// The point.
        point: MeasurePoint,
    },
    /// Remove an added measure point.
    RemovePoint {
        /// The tunlet.
        tunlet: usize,
        /// The number of the point.
        number: usize,
    },
    /// List the functions that a function of the program calls.
    Callees {
        /// The tunlet.
        tunlet: usize,
        /// The function.
        function: String,
    },
}

/// A requested change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangeRequest {
    /// Number that identifies it in reports.
    pub number: u64,
    /// The tunlet.
    pub tunlet: usize,
    /// Index of its tuning point.
    pub point: usize,
    /// The new value.
    pub value: f64,
    /// In this rank only.
    pub rank: Option<u32>,
    /// Also where the point is changed repeatedly: this ends the repetition.
    pub once: bool,
}

impl ChangeRequest {
    /// Whether the other is about the same point in the same processes, so that the later one replaces it.
    pub fn is_same_point(&self, other: &ChangeRequest) -> bool {
        (self.tunlet, self.point, self.rank) == (other.tunlet, other.point, other.rank)
    }
}

/// Effect of a change in a process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangeEffect {
    /// The previous value, if there is one.
    pub before: Option<f64>,
    /// The value that is there now: what the type of the variable makes of the requested one.
    pub after: f64,
    /// When it was made, on the clock of [`PointEvent::time`].
    pub time: f64,
}

/// A report of a host agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentReport {
    /// Another host has joined, by name.
    HostJoined(String),
    /// A process of a program of this size has connected.
    ProcessJoined {
        /// Number of processes of the program.
        size: u32,
    },
    /// A process can be tuned.
    Ready {
        /// Its rank.
        rank: u32,
    },
    /// A process has disconnected.
    ProcessLeft {
        /// Its rank.
        rank: u32,
        /// Whether it had finalized MPI.
        finished: bool,
    },
    /// An event for a tunlet.
    Event {
        /// The tunlet.
        tunlet: usize,
        /// The event.
        event: PointEvent,
    },
    /// An interval of aggregated events for a tunlet.
    Summary {
        /// The tunlet.
        tunlet: usize,
        /// The aggregate.
        summary: EventSummary,
    },
    /// Result of a change in a process.
    Changed {
        /// Number of the change.
        number: u64,
        /// The rank.
        rank: u32,
        /// Its effect, or why the change was refused.
        outcome: Result<ChangeEffect, String>,
    },
    /// The functions that a function calls.
    Callees {
        /// The tunlet.
        tunlet: usize,
        /// The function.
        function: String,
        /// Its callees.
        callees: Vec<String>,
    },
    /// The iteration of a process was found in its MPI calls.
    Iteration {
        /// Its rank.
        rank: u32,
        /// Its median duration in seconds.
        seconds: f64,
        /// The call that is made once per iteration.
        location: String,
    },
    /// A problem.
    Problem(String),
    /// Numbers of events since the last report.
    Count {
        /// Events read.
        events: u64,
        /// Events dropped.
        dropped: u64,
    },
}
