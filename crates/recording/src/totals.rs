//! Totals of calls per descriptor.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::call_table::{CallDescriptor, CallTable, DescriptorTotals};
use crate::raw::{self, RequestRef, profile};
use crate::sealed::TickTotals;

/// Above this number of descriptors sizes are rounded, so that a program that never repeats a size cannot exhaust the memory.
const MAX_EXACT: usize = 1 << 16;

/// Accumulates totals.
#[derive(Default)]
pub(crate) struct TotalsBuilder {
    indices: FxHashMap<CallDescriptor, usize>,
    totals: Vec<DescriptorTotals>,
}

impl TotalsBuilder {
    /// Adds the calls of a table.
    pub(crate) fn add_calls(&mut self, table: &CallTable) {
        let mut totals = vec![DescriptorTotals::default(); table.descriptors.len()];
        for ((enter, leave), descriptor) in table.enter.iter().zip(&table.leave).zip(&table.descriptor_ids) {
            add_call(&mut totals[*descriptor as usize], leave.wrapping_sub(*enter).max(0) as u64);
        }
        for (descriptor, mut totals) in table.descriptors.iter().zip(totals) {
            totals.sent = descriptor.bytes_sent().saturating_mul(totals.calls);
            totals.received = descriptor.bytes_received().saturating_mul(totals.calls);
            self.add(descriptor.clone(), &totals);
        }
    }

    /// Adds totals from a profile.
    pub(crate) fn add_sums(&mut self, descriptors: Vec<CallDescriptor>, totals: &[TickTotals], ns_per_tick: f64) {
        let nanoseconds = |ticks: u64| (ticks as f64 * ns_per_tick) as u64;
        for (descriptor, totals) in descriptors.into_iter().zip(totals) {
            let totals = DescriptorTotals {
                calls: totals.calls,
                total_ns: nanoseconds(totals.ticks),
                min_ns: nanoseconds(totals.min),
                max_ns: nanoseconds(totals.max),
                sent: totals.sent,
                received: totals.received,
            };
            self.add(descriptor, &totals);
        }
    }

    fn add(&mut self, mut descriptor: CallDescriptor, added: &DescriptorTotals) {
        if added.calls == 0 {
            return;
        }
        clear_identity(&mut descriptor);
        if self.totals.len() >= MAX_EXACT && !self.indices.contains_key(&descriptor) {
            round_sizes(&mut descriptor);
        }
        match self.indices.entry(descriptor) {
            Entry::Occupied(index) => add_totals(&mut self.totals[*index.get()], added),
            Entry::Vacant(index) => {
                index.insert(self.totals.len());
                self.totals.push(*added);
            }
        }
    }

    /// The totals per descriptor, in order of first occurrence.
    pub(crate) fn into_totals(self) -> Vec<(CallDescriptor, DescriptorTotals)> {
        let mut descriptors: Vec<(CallDescriptor, usize)> = self.indices.into_iter().collect();
        descriptors.sort_unstable_by_key(|(_, index)| *index);
        descriptors.into_iter().map(|(descriptor, index)| (descriptor, self.totals[index])).collect()
    }
}

#[inline]
fn add_call(sum: &mut DescriptorTotals, nanoseconds: u64) {
    sum.min_ns = if sum.calls == 0 { nanoseconds } else { sum.min_ns.min(nanoseconds) };
    sum.max_ns = sum.max_ns.max(nanoseconds);
    sum.total_ns = sum.total_ns.saturating_add(nanoseconds);
    sum.calls += 1;
}

fn add_totals(sum: &mut DescriptorTotals, added: &DescriptorTotals) {
    sum.calls = sum.calls.saturating_add(added.calls);
    sum.total_ns = sum.total_ns.saturating_add(added.total_ns);
    sum.min_ns = sum.min_ns.min(added.min_ns);
    sum.max_ns = sum.max_ns.max(added.max_ns);
    sum.sent = sum.sent.saturating_add(added.sent);
    sum.received = sum.received.saturating_add(added.received);
}

/// Clears what distinguishes single calls but is irrelevant for totals.
fn clear_identity(descriptor: &mut CallDescriptor) {
    (descriptor.tag, descriptor.recv_tag) = (raw::NONE, raw::NONE);
    for request in &mut descriptor.requests {
        request.request = RequestRef::Relative(0);
        request.tag = raw::NONE;
    }
}

fn round_sizes(descriptor: &mut CallDescriptor) {
    descriptor.sent = profile::size_bound(profile::size_class(descriptor.sent));
    descriptor.received = profile::size_bound(profile::size_class(descriptor.received));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;

    fn send(tag: i32, sent: u64) -> CallDescriptor {
        CallDescriptor { tag, sent, ..CallDescriptor::new(FunctionId::from_name("MPI_Send").unwrap()) }
    }

    #[test]
    fn calls_that_differ_in_their_tag_are_added_up() {
        let table = CallTable {
            enter: vec![0, 10, 20],
            leave: vec![1, 15, 22],
            descriptor_ids: vec![0, 1, 2],
            descriptors: vec![send(1, 8), send(2, 8), send(2, 9)],
            ..CallTable::default()
        };
        let mut summary = TotalsBuilder::default();
        summary.add_calls(&table);
        let totals = summary.into_totals();
        let first = DescriptorTotals { calls: 2, total_ns: 6, min_ns: 1, max_ns: 5, sent: 16, received: 0 };
        let second = DescriptorTotals { calls: 1, total_ns: 2, min_ns: 2, max_ns: 2, sent: 9, received: 0 };
        assert_eq!(totals, [(send(raw::NONE, 8), first), (send(raw::NONE, 9), second)]);
    }

    #[test]
    fn sizes_without_number_do_not_fill_the_memory() {
        let mut summary = TotalsBuilder::default();
        let one = DescriptorTotals { calls: 1, sent: 1, ..DescriptorTotals::default() };
        for size in 0..(MAX_EXACT as u64 + 5000) {
            summary.add(send(0, size), &one);
        }
        assert!(summary.totals.len() < MAX_EXACT + 64);
        assert_eq!(summary.into_totals().iter().map(|(_, t)| t.calls).sum::<u64>(), MAX_EXACT as u64 + 5000);
    }
}
