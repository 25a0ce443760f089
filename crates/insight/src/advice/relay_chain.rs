//! Chains of ranks that receive from the one before and then send to the next: pipelines, wavefronts, and exchanges that go from rank to
//! rank.

use std::collections::{BTreeMap, BTreeSet};

use super::AdviceCandidate;
use super::relays::{Relay, RelayTotals};
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::WhatIfChange;

/// Fewer ranks do not form a chain.
const MIN_RANKS: usize = 3;

/// Stages that differ by more than this factor are a matter of balance.
const MAX_STAGE_RATIO: i64 = 3;

/// If a rank computes more than one part in this many of its stage before it receives, it may have something to send before.
const MAX_PREPARED_SHARE: i64 = 4;

/// A chain of ranks.
pub(super) struct RelayChain {
    /// The sites of the receives.
    pub receive_sites: BTreeSet<u32>,
    /// The sites of the sends.
    pub send_sites: BTreeSet<u32>,
    /// All of its ranks.
    pub ranks: BTreeSet<u32>,
    /// Number of ranks on the longest path.
    pub length: usize,
    /// What the ranks in the middle do, by rank.
    pub stages: BTreeMap<u32, RelayTotals>,
}

impl RelayChain {
    /// All chains whose ranks do about the same.
    pub(super) fn find_all(context: &RuleContext) -> Vec<RelayChain> {
        let forwarded = || context.inputs.relays.iter().filter(|(relay, _)| relay.from != relay.to);
        let mut sites = SiteUnion::default();
        forwarded().for_each(|(relay, _)| sites.join(RelaySite::Receive(relay.receive_site), RelaySite::Send(relay.send_site)));
        let mut groups: BTreeMap<RelaySite, RelayGroup> = BTreeMap::new();
        for (relay, totals) in forwarded() {
            groups.entry(sites.root(RelaySite::Receive(relay.receive_site))).or_default().add(relay, totals);
        }
        groups.into_values().filter_map(RelayGroup::into_chain).collect()
    }

    /// Mean computation of a stage between its receive and its send, in nanoseconds.
    pub(super) fn stage_ns(&self) -> i64 {
        self.sum().mean_between_ns()
    }

    /// Whether what is sent comes from what was received: its ranks compute hardly anything before they receive.
    pub(super) fn is_pipeline(&self) -> bool {
        let sum = self.sum();
        MAX_PREPARED_SHARE * (sum.before_ns / sum.count.max(1) as i64) < self.stage_ns()
    }

    /// A candidate about it, if a rank waits for more than one part in this many of the run.
    pub(super) fn candidate(&self, context: &RuleContext, change: WhatIfChange, min_share: i64) -> Option<AdviceCandidate> {
        let most = self.most_waiting_ns(context);
        let ranks = self.ranks.iter().copied().collect();
        let candidate = AdviceCandidate::at_call(self.main_receive_site(context)?, ranks, change, most);
        (most > context.run_ns() / min_share).then_some(candidate)
    }

    /// Mean number of messages that a stage passes on.
    pub(super) fn messages(&self) -> u64 {
        self.sum().count / self.stages.len().max(1) as u64
    }

    fn sum(&self) -> RelayTotals {
        let mut sum = RelayTotals::default();
        self.stages.values().for_each(|totals| sum.add(totals));
        sum
    }

    /// Nanoseconds of waiting for late senders at its receives, on the rank that waits most.
    fn most_waiting_ns(&self, context: &RuleContext) -> i64 {
        let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
        for (site, waiting) in context.waits(&["late_sender"]) {
            if self.receive_sites.contains(&site) {
                waiting.ranks.iter().for_each(|(rank, ns)| *ranks.entry(*rank).or_default() += ns);
            }
        }
        ranks.into_values().max().unwrap_or(0)
    }

    /// The receive site at which most is waited.
    fn main_receive_site(&self, context: &RuleContext) -> Option<u32> {
        let waits = context.waits(&["late_sender"]);
        let waited = |site: &u32| waits.get(site).map_or(0, CombinedWaits::ns);
        self.receive_sites.iter().copied().max_by_key(|site| (waited(site), std::cmp::Reverse(*site)))
    }
}

/// A site of relays; one line may both receive and send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RelaySite {
    Receive(u32),
    Send(u32),
}

/// Which sites belong together: a rank of a grid receives from two sides and sends to two.
#[derive(Default)]
struct SiteUnion {
    parents: BTreeMap<RelaySite, RelaySite>,
}

impl SiteUnion {
    fn root(&self, mut site: RelaySite) -> RelaySite {
        while let Some(parent) = self.parents.get(&site) {
            site = *parent;
        }
        site
    }

    fn join(&mut self, one: RelaySite, other: RelaySite) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.parents.insert(one.max(other), one.min(other));
        }
    }
}

/// Relays that share sites.
#[derive(Default)]
struct RelayGroup {
    receive_sites: BTreeSet<u32>,
    send_sites: BTreeSet<u32>,
    edges: BTreeSet<(u32, u32)>,
    stages: BTreeMap<u32, RelayTotals>,
}

impl RelayGroup {
    fn add(&mut self, relay: &Relay, totals: &RelayTotals) {
        self.receive_sites.insert(relay.receive_site);
        self.send_sites.insert(relay.send_site);
        self.edges.extend([(relay.from, relay.rank), (relay.rank, relay.to)]);
        self.stages.entry(relay.rank).or_default().add(totals);
    }

    fn into_chain(self) -> Option<RelayChain> {
        let length = longest_path(&self.edges)?;
        let means = || self.stages.values().map(RelayTotals::mean_between_ns);
        let even = means().max()? <= MAX_STAGE_RATIO * means().min()?;
        let ranks = self.edges.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let Self { receive_sites, send_sites, stages, .. } = self;
        (length >= MIN_RANKS && even).then_some(RelayChain { receive_sites, send_sites, ranks, length, stages })
    }
}

/// Number of ranks on the longest path; `None` if there is a circle.
fn longest_path(edges: &BTreeSet<(u32, u32)>) -> Option<usize> {
    let mut open: BTreeMap<u32, usize> = BTreeMap::new();
    for (from, to) in edges {
        open.entry(*from).or_default();
        *open.entry(*to).or_default() += 1;
    }
    let mut lengths: BTreeMap<u32, usize> = open.keys().map(|rank| (*rank, 1)).collect();
    let mut ready: Vec<u32> = open.iter().filter(|(_, incoming)| **incoming == 0).map(|(rank, _)| *rank).collect();
    let mut done = 0;
    while let Some(rank) = ready.pop() {
        done += 1;
        for (_, to) in edges.range((rank, 0)..=(rank, u32::MAX)) {
            let length = lengths[&rank] + 1;
            lengths.entry(*to).and_modify(|known| *known = (*known).max(length));
            if let Some(incoming) = open.get_mut(to) {
                *incoming -= 1;
                if *incoming == 0 {
                    ready.push(*to);
                }
            }
        }
    }
    (done == open.len()).then(|| lengths.into_values().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_of_a_chain_and_of_a_grid_is_found_and_a_ring_has_none() {
        assert_eq!(longest_path(&[(0, 1), (1, 2), (2, 3)].into()), Some(4));
        assert_eq!(longest_path(&[(0, 1), (0, 2), (1, 3), (2, 3)].into()), Some(3), "a wavefront on two by two ranks");
        assert_eq!(longest_path(&[(0, 1), (1, 2), (2, 0)].into()), None);
        assert_eq!(longest_path(&[(0, 1), (1, 0)].into()), None);
    }
}
