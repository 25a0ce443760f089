//! Errors of GOAL simulation.

use std::fmt;

use sintonia_formats::goal::graph::{ANY, GoalChannel, GoalOpKind};

/// What is wrong with a schedule or its machine.
#[derive(Debug, thiserror::Error)]
pub enum GoalError {
    /// Cyclic dependencies within a rank.
    #[error("cyclic dependencies in rank {rank}; remove one of these:{}", listed(circle))]
    DependencyCycle {
        /// The rank.
        rank: usize,
        /// The first operations of the cycle; each waits for the next, the last for the first.
        circle: Vec<GoalOperationRef>,
    },
    /// Unmatched sends or receives.
    #[error("the schedule does not complete: {}{}", left_over(*messages, *receives), listed(first))]
    Unmatched {
        /// Number of unreceived messages.
        messages: usize,
        /// Number of unmatched receives.
        receives: usize,
        /// The first of them.
        first: Vec<GoalOperationRef>,
    },
    /// The simulated time overflows.
    #[error("the schedule takes more than 200 days, more than fits into 64-bit picoseconds: are its times in nanoseconds?")]
    TooLong,
    /// The machine file has no network.
    #[error("the machine file has no network: add [network.other_node]")]
    NoNetwork,
    /// The machine file lacks a timing.
    #[error("the machine file lacks [network.other_node.{key}], which GOAL schedules need")]
    NoTiming {
        /// Its key.
        key: &'static str,
    },
}

/// An operation with its position, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalOperationRef {
    /// Its rank.
    pub rank: usize,
    /// Index in the rank.
    pub number: usize,
    /// Its kind.
    pub kind: GoalOpKind,
    /// Bytes, or nanoseconds.
    pub size: u64,
    /// Source, destination and tag of a message.
    pub channel: Option<GoalChannel>,
    /// Source line and text, if read from a text file.
    pub source_line: Option<sintonia_formats::goal::SourceLine>,
}

impl fmt::Display for GoalOperationRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GoalOperationRef { rank, number, size, .. } = self;
        write!(out, "rank {rank}, ")?;
        match &self.source_line {
            Some(source_line) => write!(out, "line {} (`{}`): ", source_line.line, source_line.text)?,
            None => write!(out, "operation {}: ", number + 1)?,
        }
        match (self.kind, self.channel) {
            (GoalOpKind::Send, Some(channel)) => {
                write!(out, "{size} bytes to rank {} with tag {}", channel.destination, or_any(channel.tag))
            }
            (_, Some(channel)) => write!(out, "a receive from rank {} with tag {}", or_any(channel.source), or_any(channel.tag)),
            (_, None) => write!(out, "{size} ns of computation"),
        }
    }
}

fn or_any(number: u32) -> String {
    if number == ANY { "-1 (any)".to_owned() } else { number.to_string() }
}

fn left_over(messages: usize, receives: usize) -> String {
    let count = |number, one: &str, many: &str| if number == 1 { format!("1 {one}") } else { format!("{number} {many}") };
    let messages = (messages > 0).then(|| count(messages, "message is never received", "messages are never received"));
    let receives = (receives > 0).then(|| count(receives, "receive is never matched", "receives are never matched"));
    messages.into_iter().chain(receives).collect::<Vec<_>>().join(", ") + "; each send needs a receive with matching source and tag"
}

fn listed(operations: &[GoalOperationRef]) -> String {
    operations.iter().map(|operation| format!("\n  {operation}")).collect()
}
