//! Which message meets which receive: of those that can, the first that came meets the first that was asked for.
//!
//! A receive that names its sender and its tag can meet nothing but its channel, where either messages or receives wait in a line. Only
//! ranks that receive from anyone, or any tag, have lists that are searched.

use std::collections::VecDeque;

use sintonia_formats::goal::Goal;
use sintonia_formats::goal::graph::{ANY, Kind};

use super::line::{Line, State};

/// What waits for a message or a receive.
pub struct Meetings {
    /// By channel.
    lines: Vec<Line>,
    /// By rank, where receives are open: messages that came, and receives that wait.
    lists: Vec<Option<Box<[VecDeque<u32>; 2]>>>,
}

impl Meetings {
    /// Nothing waits yet.
    pub fn of(goal: &Goal) -> Meetings {
        let mut lists = Vec::new();
        for channel in goal.channels().iter().filter(|channel| channel.source == ANY || channel.tag == ANY) {
            lists.resize_with(goal.rank_count(), || None);
            lists[channel.destination as usize] = Some(Box::default());
        }
        Meetings { lines: vec![Line::EMPTY; goal.channels().len()], lists }
    }

    /// A message has come or a receive has begun: what it meets; nothing if it waits from now on.
    #[inline]
    pub fn meet(&mut self, operation: u32, channel: usize, goal: &Goal, states: &mut [State]) -> Option<u32> {
        if !self.lists.is_empty() {
            let list = self.lists[goal.channels()[channel].destination as usize].as_deref_mut();
            if let Some(list) = list {
                return search(operation, channel, goal, list);
            }
        }
        let line = &mut self.lines[channel];
        let kind = goal.operations()[operation as usize].kind;
        let met = line.first().filter(|first| goal.operations()[*first as usize].kind != kind);
        *line = if met.is_some() { line.without_first(states) } else { line.with(operation, states) };
        met
    }

    /// All that waits, by number.
    pub fn waiting(&self, states: &[State]) -> Vec<u32> {
        let listed = self.lists.iter().flatten().flat_map(|lists| lists.iter().flatten().copied());
        let mut waiting: Vec<u32> = listed.collect();
        for mut line in self.lines.iter().copied() {
            while let Some(operation) = line.first() {
                waiting.push(operation);
                line = line.without_first(states);
            }
        }
        waiting.sort_unstable();
        waiting
    }
}

fn search(operation: u32, channel: usize, goal: &Goal, [messages, receives]: &mut [VecDeque<u32>; 2]) -> Option<u32> {
    let (own, others) = match goal.operations()[operation as usize].kind {
        Kind::Send => (messages, receives),
        Kind::Receive | Kind::Compute => (receives, messages),
    };
    let here = goal.channels()[channel];
    let channel_of = |other: &u32| goal.operations()[*other as usize].channel().map(|channel| goal.channels()[channel]);
    let found = others.iter().position(|other| channel_of(other).is_some_and(|there| here.meets(there)));
    if found.is_none() {
        own.push_back(operation);
    }
    found.and_then(|place| others.remove(place))
}
