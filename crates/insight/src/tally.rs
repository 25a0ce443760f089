//! Counting: what the calls of one rank add up to, and how ranks are added up.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};
use sintonia_mpi::Mode;
use sintonia_program::{Activity, Flow};
use sintonia_recording::raw::part;
use sintonia_recording::table::{Shape, Totals};

/// Calls, the time in them and the bytes they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub calls: u64,
    pub nanoseconds: u64,
    pub bytes: u64,
}

/// Messages, and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Messages {
    pub messages: u64,
    pub bytes: u64,
}

/// What calls add up to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// By number of the operation and call site.
    pub sites: HashMap<(u16, u32), Sum>,
    /// Messages by the ranks they go from and to.
    pub pairs: HashMap<(i32, i32), Messages>,
    /// Messages by the power of two that they fit into.
    pub sizes: HashMap<u64, Messages>,
    /// Calls that were under way at the end: rank, number of the operation, call site.
    pub unfinished: Vec<(u32, u16, u32)>,
}

impl Sum {
    fn of(shape: &Shape, totals: &Totals) -> Sum {
        Sum { calls: totals.calls, nanoseconds: totals.nanoseconds, bytes: bytes(shape, totals) }
    }

    pub(crate) fn add(&mut self, other: Sum) {
        self.calls += other.calls;
        self.nanoseconds += other.nanoseconds;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The bytes that calls sent and received; those of persistent operations move when they are started.
fn bytes(shape: &Shape, totals: &Totals) -> u64 {
    match shape.operation.function().mode {
        Mode::Persistent => 0,
        Mode::Blocking | Mode::Nonblocking => totals.sent.saturating_add(totals.received),
    }
}

impl Messages {
    fn add(&mut self, other: Messages) {
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Tally {
    /// What one rank's calls add up to.
    pub(crate) fn of(activity: &Activity) -> Tally {
        let mut tally = Tally::default();
        for (shape, totals) in &activity.totals {
            tally.sites.entry((shape.operation.0, shape.site)).or_default().add(Sum::of(shape, totals));
            if shape.parts & part::UNFINISHED != 0 {
                tally.unfinished.push((activity.rank, shape.operation.0, shape.site));
            }
        }
        for flow in activity.sent() {
            let messages = Messages { messages: flow.messages, bytes: flow.bytes };
            tally.pairs.entry((flow.from, flow.to)).or_default().add(messages);
            tally.sizes.entry(size_class(&flow)).or_default().add(messages);
        }
        tally
    }

    /// Adds what another rank's calls add up to.
    pub(crate) fn add(&mut self, other: Tally) {
        add_all(&mut self.sites, other.sites, Sum::add);
        add_all(&mut self.pairs, other.pairs, Messages::add);
        add_all(&mut self.sizes, other.sizes, Messages::add);
        self.unfinished.extend(other.unfinished);
    }
}

fn add_all<K: Eq + Hash, V: Default>(sums: &mut HashMap<K, V>, others: HashMap<K, V>, add: impl Fn(&mut V, V)) {
    for (key, value) in others {
        add(sums.entry(key).or_default(), value);
    }
}

/// The power of two that each message of a flow fits into; 0 for empty ones.
fn size_class(flow: &Flow) -> u64 {
    match flow.bytes / flow.messages.max(1) {
        0 => 0,
        bytes => bytes.checked_next_power_of_two().unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;

    #[test]
    fn what_a_persistent_operation_moves_does_not_count_where_it_is_made() {
        let calls = |operation| {
            let totals = Totals { calls: 2, nanoseconds: 10, sent: 3, received: 4, ..Totals::default() };
            (Shape::of(Operation::named(operation).unwrap()), totals)
        };
        let totals = vec![calls("MPI_Waitall"), calls("MPI_Waitall"), calls("MPI_Send_init")];
        let tally = Tally::of(&Activity { totals, ..Activity::default() });
        let sum = |name| tally.sites[&(Operation::named(name).unwrap().0, 0)];
        assert_eq!(sum("MPI_Waitall"), Sum { calls: 4, nanoseconds: 20, bytes: 14 });
        assert_eq!(sum("MPI_Send_init"), Sum { calls: 2, nanoseconds: 10, bytes: 0 });
    }

    #[test]
    fn sizes_are_classed_by_the_power_of_two_they_fit_into() {
        for (bytes, messages, class) in [(0, 3, 0), (1, 1, 1), (8, 1, 8), (9, 1, 16), (4096, 4, 1024), (u64::MAX, 1, u64::MAX)] {
            assert_eq!(size_class(&Flow { from: 0, to: 1, messages, bytes }), class);
        }
    }
}
