//! Swaps whole hosts with all their ranks: that changes the load of links between switches, but not what each host sends.
//!
//! It is the same search on a contracted graph: all ranks of a host are one, and a host is one slot.

use std::collections::BTreeMap;

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::{ExchangeEdge, RankGraph};

/// Hosts as ranks.
pub(super) struct WholeHosts {
    pub graph: RankGraph,
    pub fabric: Fabric,
}

impl WholeHosts {
    /// The hosts of a placement, if they are not equivalent in the network but equal in slots and speed.
    pub(super) fn from_placement(graph: &RankGraph, fabric: &Fabric, placement: &Placement) -> Option<WholeHosts> {
        let hosts = 0..fabric.host_count();
        let about = |host: u32| (fabric.host_slots(host).len(), fabric.speed(host));
        let are_alike = hosts.clone().all(|host| about(host) == about(0));
        (are_alike && !fabric.is_flat() && hosts.len() > 1)
            .then(|| WholeHosts { graph: host_graph(graph, fabric, placement), fabric: fabric.with_one_slot_per_host() })
    }

    /// The identity placement.
    pub(super) fn start(&self) -> Placement {
        Placement::by_core(self.fabric.host_count())
    }

    /// The placement of ranks if hosts are placed like this.
    pub(super) fn expand(&self, fabric: &Fabric, placement: &Placement, hosts: &Placement) -> Placement {
        let moved = |slot: &u32| {
            let host = fabric.host(*slot);
            fabric.host_slots(hosts.0[host as usize]).start + (slot - fabric.host_slots(host).start)
        };
        Placement(placement.0.iter().map(moved).collect())
    }
}

/// The traffic between hosts.
fn host_graph(graph: &RankGraph, fabric: &Fabric, placement: &Placement) -> RankGraph {
    let host = |rank: u32| fabric.host(placement.0[rank as usize]);
    let mut sent: BTreeMap<[u32; 2], u64> = BTreeMap::new();
    for rank in 0..graph.rank_count() as u32 {
        for arc in graph.arcs(rank).iter().filter(|arc| arc.sent > 0 && host(arc.to) != host(rank)) {
            let bytes = sent.entry([host(rank), host(arc.to)]).or_default();
            *bytes = bytes.saturating_add(arc.sent);
        }
    }
    let edges: Vec<ExchangeEdge> = sent.into_iter().map(|(ranks, there)| ExchangeEdge { ranks, forward: there, backward: 0 }).collect();
    RankGraph::new(vec![0; fabric.host_count() as usize], &edges)
}
