//! Adds calls up by shape.

use std::collections::hash_map::Entry;

use crate::hash::QuickMap;
use crate::raw::{self, RequestRef, profile};
use crate::sealed::Sums;
use crate::table::{CallTable, Shape, Totals};

/// From so many shapes on, sizes are rounded: a program that never sends the same size twice must not fill the memory.
const MOST_EXACT: usize = 1 << 16;

/// The sums so far.
#[derive(Default)]
pub struct Summary {
    places: QuickMap<Shape, usize>,
    totals: Vec<Totals>,
}

impl Summary {
    /// Adds the calls of a table.
    pub fn add_calls(&mut self, table: &CallTable) {
        let mut sums = vec![Totals::default(); table.shapes.len()];
        for ((enter, leave), shape) in table.enter.iter().zip(&table.leave).zip(&table.shape) {
            add_call(&mut sums[*shape as usize], leave.wrapping_sub(*enter).max(0) as u64);
        }
        for (shape, mut totals) in table.shapes.iter().zip(sums) {
            totals.sent = shape.bytes_sent().saturating_mul(totals.calls);
            totals.received = shape.bytes_received().saturating_mul(totals.calls);
            self.add(shape.clone(), &totals);
        }
    }

    /// Adds sums that were recorded as such.
    pub fn add_sums(&mut self, shapes: Vec<Shape>, sums: &[Sums], ns_per_tick: f64) {
        let nanoseconds = |ticks: u64| (ticks as f64 * ns_per_tick) as u64;
        for (shape, sums) in shapes.into_iter().zip(sums) {
            let totals = Totals {
                calls: sums.calls,
                nanoseconds: nanoseconds(sums.ticks),
                least_ns: nanoseconds(sums.least),
                most_ns: nanoseconds(sums.most),
                sent: sums.sent,
                received: sums.received,
            };
            self.add(shape, &totals);
        }
    }

    fn add(&mut self, mut shape: Shape, more: &Totals) {
        if more.calls == 0 {
            return;
        }
        forget_identity(&mut shape);
        if self.totals.len() >= MOST_EXACT && !self.places.contains_key(&shape) {
            round_sizes(&mut shape);
        }
        match self.places.entry(shape) {
            Entry::Occupied(place) => add_totals(&mut self.totals[*place.get()], more),
            Entry::Vacant(place) => {
                place.insert(self.totals.len());
                self.totals.push(*more);
            }
        }
    }

    /// Every shape with its sums, in the order in which they came up.
    pub fn into_totals(self) -> Vec<(Shape, Totals)> {
        let mut shapes: Vec<(Shape, usize)> = self.places.into_iter().collect();
        shapes.sort_unstable_by_key(|(_, place)| *place);
        shapes.into_iter().map(|(shape, place)| (shape, self.totals[place])).collect()
    }
}

#[inline]
fn add_call(sum: &mut Totals, nanoseconds: u64) {
    sum.least_ns = if sum.calls == 0 { nanoseconds } else { sum.least_ns.min(nanoseconds) };
    sum.most_ns = sum.most_ns.max(nanoseconds);
    sum.nanoseconds = sum.nanoseconds.saturating_add(nanoseconds);
    sum.calls += 1;
}

fn add_totals(sum: &mut Totals, more: &Totals) {
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.nanoseconds = sum.nanoseconds.saturating_add(more.nanoseconds);
    sum.least_ns = sum.least_ns.min(more.least_ns);
    sum.most_ns = sum.most_ns.max(more.most_ns);
    sum.sent = sum.sent.saturating_add(more.sent);
    sum.received = sum.received.saturating_add(more.received);
}

/// Leaves out what tells one call from another but means nothing in a sum.
fn forget_identity(shape: &mut Shape) {
    (shape.tag, shape.recv_tag) = (raw::NONE, raw::NONE);
    for request in &mut shape.requests {
        request.request = RequestRef::Ago(0);
        request.tag = raw::NONE;
    }
}

fn round_sizes(shape: &mut Shape) {
    shape.sent = profile::size_bound(profile::size_class(shape.sent));
    shape.received = profile::size_bound(profile::size_class(shape.received));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;

    fn send(tag: i32, sent: u64) -> Shape {
        Shape { tag, sent, ..Shape::of(Operation::named("MPI_Send").unwrap()) }
    }

    #[test]
    fn calls_that_differ_in_their_tag_are_added_up() {
        let table = CallTable {
            enter: vec![0, 10, 20],
            leave: vec![1, 15, 22],
            shape: vec![0, 1, 2],
            shapes: vec![send(1, 8), send(2, 8), send(2, 9)],
            ..CallTable::default()
        };
        let mut summary = Summary::default();
        summary.add_calls(&table);
        let totals = summary.into_totals();
        let first = Totals { calls: 2, nanoseconds: 6, least_ns: 1, most_ns: 5, sent: 16, received: 0 };
        let second = Totals { calls: 1, nanoseconds: 2, least_ns: 2, most_ns: 2, sent: 9, received: 0 };
        assert_eq!(totals, [(send(raw::NONE, 8), first), (send(raw::NONE, 9), second)]);
    }

    #[test]
    fn sizes_without_number_do_not_fill_the_memory() {
        let mut summary = Summary::default();
        let one = Totals { calls: 1, sent: 1, ..Totals::default() };
        for size in 0..(MOST_EXACT as u64 + 5000) {
            summary.add(send(0, size), &one);
        }
        assert!(summary.totals.len() < MOST_EXACT + 64);
        assert_eq!(summary.into_totals().iter().map(|(_, t)| t.calls).sum::<u64>(), MOST_EXACT as u64 + 5000);
    }
}
