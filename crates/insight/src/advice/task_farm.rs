//! Task farms: workers that ask one rank for tasks, compute, and report to it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::relays::RelayTotals;
use super::rule_context::RuleContext;

/// The master computes less than one part in this many of what a worker computes for a task.
const MIN_WORK_RATIO: i64 = 4;

/// Shorter computation of the master for a task is not worth comparing.
const MASTER_OVERHEAD_NS: i64 = 2_000;

/// A rank that hands out tasks, and its workers.
pub(super) struct TaskFarm {
    pub master: u32,
    /// What each worker does for its tasks.
    pub workers: BTreeMap<u32, RelayTotals>,
    /// The site at which most tasks are received.
    pub receive_site: u32,
    /// The site at which most results are sent.
    pub send_site: u32,
    /// The sites of the master's calls.
    pub master_sites: Vec<u32>,
}

impl TaskFarm {
    /// The task farm of a run, if it is one.
    pub(super) fn find(context: &RuleContext) -> Option<TaskFarm> {
        // What a rank does for another one: from the receive of its message to the answer.
        let mut served: BTreeMap<u32, BTreeMap<u32, RelayTotals>> = BTreeMap::new();
        for (relay, totals) in context.inputs.relays.iter().filter(|(relay, _)| relay.from == relay.to) {
            served.entry(relay.rank).or_default().entry(relay.from).or_default().add(totals);
        }
        // Workers exchange messages with their master only.
        let mut workers_of: BTreeMap<u32, BTreeMap<u32, RelayTotals>> = BTreeMap::new();
        for (rank, partners) in served.iter().filter(|(_, partners)| partners.len() == 1) {
            partners.iter().for_each(|(master, work)| _ = workers_of.entry(*master).or_default().insert(*rank, *work));
        }
        let farms = workers_of.into_iter().filter_map(|(master, workers)| {
            let own = served.get(&master)?.values().fold(RelayTotals::default(), |mut sum, totals| {
                sum.add(totals);
                sum
            });
            let tasks: u64 = workers.values().map(|work| work.count).sum();
            let work_ns = workers.values().map(|work| work.between_ns).sum::<i64>() / tasks.max(1) as i64;
            let is_master = own.mean_between_ns() < (work_ns / MIN_WORK_RATIO).max(MASTER_OVERHEAD_NS.min(work_ns));
            (is_master && tasks > 0).then_some((workers.len(), own.wildcards, Reverse(master), workers))
        });
        let (_, _, Reverse(master), workers) = farms.max_by_key(|(count, wildcards, master, _)| (*count, *wildcards, *master))?;
        // All other ranks that take part are workers.
        let partners = &served[&master];
        if partners.keys().any(|rank| !workers.contains_key(rank)) {
            return None;
        }
        let mut sites: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut master_sites = Vec::new();
        for (relay, totals) in context.inputs.relays.iter().filter(|(relay, _)| relay.from == relay.to) {
            if relay.rank == master {
                master_sites.extend([relay.receive_site, relay.send_site]);
            } else if workers.contains_key(&relay.rank) {
                *sites.entry((relay.receive_site, relay.send_site)).or_default() += totals.count;
            }
        }
        master_sites.sort_unstable();
        master_sites.dedup();
        let ((receive_site, send_site), _) = sites.into_iter().max_by_key(|(_, count)| *count)?;
        // Ranks that execute the same calls exchange with each other.
        if master_sites.contains(&receive_site) || master_sites.contains(&send_site) {
            return None;
        }
        Some(TaskFarm { master, workers, receive_site, send_site, master_sites })
    }

    /// The workers.
    pub(super) fn worker_ranks(&self) -> Vec<u32> {
        self.workers.keys().copied().collect()
    }

    /// Number of tasks.
    pub(super) fn tasks(&self) -> u64 {
        self.workers.values().map(|work| work.count).sum()
    }
}
