//! Sums over the calls of a rank, and their merging over ranks.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_mpi::BlockingMode;
use sintonia_program::{MessageFlow, RankActivity};
use sintonia_recording::call_table::{CallDescriptor, DescriptorTotals};

/// Calls, their time and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallSum {
    pub calls: u64,
    pub nanoseconds: u64,
    pub bytes: u64,
}

/// The calls of one rank at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankSiteCalls {
    pub rank: u32,
    pub operation: u16,
    pub site: u32,
    pub calls: u64,
    pub nanoseconds: u64,
    /// The shortest and the longest call, in nanoseconds.
    pub min_ns: u64,
    pub max_ns: u64,
}

impl RankSiteCalls {
    /// Adds the calls of the same rank at another address of the same source line, or with another descriptor.
    pub(crate) fn add(&mut self, other: &RankSiteCalls) {
        let has_both = self.calls > 0 && other.calls > 0;
        self.min_ns = if has_both { self.min_ns.min(other.min_ns) } else { self.min_ns.max(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.calls += other.calls;
        self.nanoseconds += other.nanoseconds;
    }
}

/// Messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessageTotals {
    pub messages: u64,
    pub bytes: u64,
}

/// Sums over calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallTally {
    /// By operation id and call site.
    pub sites: FxHashMap<(u16, u32), CallSum>,
    /// The same for each rank.
    pub by_rank: Vec<RankSiteCalls>,
    /// Messages by (source, destination).
    pub pairs: FxHashMap<(i32, i32), MessageTotals>,
    /// Messages by size, rounded up to a power of two.
    pub sizes: FxHashMap<u64, MessageTotals>,
    /// Calls in progress at the end: rank, operation id, call site.
    pub unfinished: Vec<(u32, u16, u32)>,
    /// Number of calls that the program left without returning from them.
    pub non_local_exits: u64,
}

impl CallSum {
    fn from_totals(descriptor: &CallDescriptor, totals: &DescriptorTotals) -> CallSum {
        CallSum { calls: totals.calls, nanoseconds: totals.total_ns, bytes: bytes(descriptor, totals) }
    }

    pub(crate) fn add(&mut self, other: CallSum) {
        self.calls += other.calls;
        self.nanoseconds += other.nanoseconds;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Bytes sent and received by calls; persistent operations move data when they are started.
fn bytes(descriptor: &CallDescriptor, totals: &DescriptorTotals) -> u64 {
    match descriptor.function.definition().mode {
        BlockingMode::Persistent => 0,
        BlockingMode::Blocking | BlockingMode::Nonblocking => totals.sent.saturating_add(totals.received),
    }
}

impl MessageTotals {
    fn add(&mut self, other: MessageTotals) {
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl CallTally {
    /// The sums of one rank.
    pub(crate) fn from_activity(activity: &RankActivity) -> CallTally {
        let mut tally = CallTally::default();
        let mut by_site: FxHashMap<(u16, u32), RankSiteCalls> = FxHashMap::default();
        for (descriptor, totals) in &activity.totals {
            let (operation, site) = (descriptor.function.0, descriptor.site);
            let DescriptorTotals { calls, total_ns: nanoseconds, min_ns, max_ns, .. } = *totals;
            let calls = RankSiteCalls { rank: activity.rank, operation, site, calls, nanoseconds, min_ns, max_ns };
            by_site.entry((operation, site)).and_modify(|sum| sum.add(&calls)).or_insert(calls);
            tally.sites.entry((descriptor.function.0, descriptor.site)).or_default().add(CallSum::from_totals(descriptor, totals));
            if descriptor.is_in_progress() && totals.calls > 0 {
                tally.unfinished.push((activity.rank, descriptor.function.0, descriptor.site));
            }
            tally.non_local_exits += descriptor.non_local_exit().map_or(0, |_| totals.calls);
        }
        tally.by_rank = by_site.into_values().collect();
        tally.by_rank.sort_unstable_by_key(|calls| (calls.operation, calls.site));
        for flow in activity.sent_flows() {
            let messages = MessageTotals { messages: flow.messages, bytes: flow.bytes };
            tally.pairs.entry((flow.from, flow.to)).or_default().add(messages);
            tally.sizes.entry(size_class(&flow)).or_default().add(messages);
        }
        tally
    }

    /// Adds the sums of another rank.
    pub(crate) fn add(&mut self, other: CallTally) {
        merge_maps(&mut self.sites, other.sites, CallSum::add);
        self.by_rank.extend(other.by_rank);
        merge_maps(&mut self.pairs, other.pairs, MessageTotals::add);
        merge_maps(&mut self.sizes, other.sizes, MessageTotals::add);
        self.unfinished.extend(other.unfinished);
        self.non_local_exits += other.non_local_exits;
    }
}

fn merge_maps<K: Eq + Hash, V: Default>(sums: &mut FxHashMap<K, V>, others: FxHashMap<K, V>, add: impl Fn(&mut V, V)) {
    for (key, value) in others {
        add(sums.entry(key).or_default(), value);
    }
}

/// Message size rounded up to a power of two; 0 for empty messages.
fn size_class(flow: &MessageFlow) -> u64 {
    match flow.bytes / flow.messages.max(1) {
        0 => 0,
        bytes => bytes.checked_next_power_of_two().unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;

    #[test]
    fn what_a_persistent_operation_moves_does_not_count_where_it_is_made() {
        let calls = |operation| {
            let totals = DescriptorTotals { calls: 2, total_ns: 10, sent: 3, received: 4, ..DescriptorTotals::default() };
            (CallDescriptor::new(FunctionId::from_name(operation).unwrap()), totals)
        };
        let totals = vec![calls("MPI_Waitall"), calls("MPI_Waitall"), calls("MPI_Send_init")];
        let tally = CallTally::from_activity(&RankActivity { totals, ..RankActivity::default() });
        let sum = |name| tally.sites[&(FunctionId::from_name(name).unwrap().0, 0)];
        assert_eq!(sum("MPI_Waitall"), CallSum { calls: 4, nanoseconds: 20, bytes: 14 });
        assert_eq!(sum("MPI_Send_init"), CallSum { calls: 2, nanoseconds: 10, bytes: 0 });
    }

    #[test]
    fn sizes_are_classed_by_the_power_of_two_they_fit_into() {
        for (bytes, messages, class) in [(0, 3, 0), (1, 1, 1), (8, 1, 8), (9, 1, 16), (4096, 4, 1024), (u64::MAX, 1, u64::MAX)] {
            assert_eq!(size_class(&MessageFlow { from: 0, to: 1, messages, bytes }), class);
        }
    }
}
