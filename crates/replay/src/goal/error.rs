//! Why a schedule cannot be played to its end.

use std::fmt;

use sintonia_formats::goal::graph::{ANY, Channel, Kind};

/// What is wrong with a schedule or its machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Operations of a rank wait for each other.
    #[error("operations of rank {rank} wait for each other in a circle; take one of these dependencies out:{}", listed(circle))]
    Circle {
        /// The rank.
        rank: usize,
        /// The operations, each waiting for the next and the last for the first; not more than a few.
        circle: Vec<Place>,
    },
    /// Messages and receives are left over.
    #[error("the schedule does not come to its end: {}{}", left_over(*messages, *receives), listed(first))]
    Stuck {
        /// How many messages are not received.
        messages: usize,
        /// How many receives get no message.
        receives: usize,
        /// The first of them.
        first: Vec<Place>,
    },
    /// It takes longer than can be told.
    #[error("the schedule takes more than 200 days, longer than can be counted in picoseconds: are its times in nanoseconds?")]
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

/// An operation, as a person finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its rank.
    pub rank: usize,
    /// Its number in the rank, from 0.
    pub number: usize,
    /// What it is.
    pub kind: Kind,
    /// Bytes or nanoseconds.
    pub size: u64,
    /// Of a message, who sends it to whom.
    pub channel: Option<Channel>,
    /// Its line, and what stands there, if it comes from a text.
    pub told: Option<sintonia_formats::goal::Told>,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { rank, number, size, .. } = self;
        write!(out, "rank {rank}, ")?;
        match &self.told {
            Some(told) => write!(out, "line {} (`{}`): ", told.line, told.text)?,
            None => write!(out, "operation {}: ", number + 1)?,
        }
        match (self.kind, self.channel) {
            (Kind::Send, Some(channel)) => write!(out, "{size} bytes to rank {} with tag {}", channel.destination, or_any(channel.tag)),
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
    let receives = (receives > 0).then(|| count(receives, "receive never gets a message", "receives never get a message"));
    messages.into_iter().chain(receives).collect::<Vec<_>>().join(", ") + "; each send needs a receive with its sender and tag"
}

fn listed(places: &[Place]) -> String {
    places.iter().map(|place| format!("\n  {place}")).collect()
}
