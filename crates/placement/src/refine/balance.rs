//! Balances the computation of hosts before other refinements.

use super::working_placement::{SlotSwap, WorkingPlacement};
use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::RankGraph;
use crate::objective::TOLERATED_IMBALANCE;

/// With at most this many hosts all are tried against the slowest; otherwise this many of the least loaded ones and of those nearby.
const MAX_CANDIDATE_HOSTS: usize = 8;

/// Maximum number of swaps and hosts examined, which takes a few seconds.
const MAX_WORK: usize = 10_000_000;

/// The placement with balanced hosts, if they are imbalanced and swaps help.
pub(super) fn balance_hosts(graph: &RankGraph, fabric: &Fabric, start: &Placement) -> Option<Placement> {
    let mut placement = WorkingPlacement::new(graph, fabric, start);
    let (mut steps, mut work) = (0, 0);
    while let Some(exchange) = best_relief(&placement, &mut work).filter(|_| steps < graph.rank_count() && work < MAX_WORK) {
        placement.swap(exchange);
        steps += 1;
    }
    (steps > 0).then(|| placement.placement())
}

/// The swap that relieves the slowest host with the least increase of byte distance.
fn best_relief(placement: &WorkingPlacement, work: &mut usize) -> Option<SlotSwap> {
    let excess = |host: u32| placement.compute_balance().excess(host);
    let slowest = (0..placement.fabric.host_count()).max_by(|one, other| excess(*one).total_cmp(&excess(*other)))?;
    let worst = excess(slowest);
    if worst <= TOLERATED_IMBALANCE {
        return None;
    }
    let others: Vec<u32> = candidate_hosts(placement, slowest).into_iter().flat_map(|host| placement.fabric.host_slots(host)).collect();
    let own = placement.fabric.host_slots(slowest).filter(|slot| placement.rank(*slot).is_some());
    *work += placement.fabric.host_count() as usize + others.len() * placement.fabric.host_slots(slowest).len();
    let price = |exchange: SlotSwap| {
        let relief = worst - placement.excess_after(exchange).max(TOLERATED_IMBALANCE);
        let distance_change = placement.distance_change(exchange);
        // A large relief makes a loss small and a gain large.
        (relief > 1e-9).then_some(if distance_change < 0.0 { distance_change * relief } else { distance_change / relief })
    };
    let exchanges = own.flat_map(|own| others.iter().map(move |other| [own, *other]));
    let priced = exchanges.filter_map(|exchange| price(exchange).map(|price| (price, exchange)));
    priced.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, exchange)| exchange)
}

/// Hosts that could take load from the slowest.
fn candidate_hosts(placement: &WorkingPlacement, slowest: u32) -> Vec<u32> {
    let mut hosts: Vec<u32> = (0..placement.fabric.host_count()).filter(|host| *host != slowest).collect();
    if hosts.len() > MAX_CANDIDATE_HOSTS {
        let excess = |host: &u32| placement.compute_balance().excess(*host);
        let mut nearby: Vec<u32> =
            hosts.iter().copied().filter(|host| host.abs_diff(slowest) as usize <= MAX_CANDIDATE_HOSTS / 2).collect();
        hosts.select_nth_unstable_by(MAX_CANDIDATE_HOSTS, |one, other| excess(one).total_cmp(&excess(other)).then(one.cmp(other)));
        hosts.truncate(MAX_CANDIDATE_HOSTS);
        hosts.append(&mut nearby);
        hosts.sort_unstable();
        hosts.dedup();
    }
    hosts
}
