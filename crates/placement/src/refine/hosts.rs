//! Hosts that change places with all their ranks: where the ways between hosts differ, that changes what goes over the links between switches
//! and leaves as it is what each host sends.
//!
//! It is the same search with fewer ranks: all ranks of a host are one, and a host is one slot.

use std::collections::BTreeMap;

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::{Edge, Graph};

/// Hosts as ranks.
pub struct WholeHosts {
    pub graph: Graph,
    pub fabric: Fabric,
}

impl WholeHosts {
    /// The hosts of a placement, if it matters which of them is where and each could be in the place of each other.
    pub fn of(graph: &Graph, fabric: &Fabric, placement: &Placement) -> Option<WholeHosts> {
        let hosts = 0..fabric.hosts();
        let about = |host: u32| (fabric.slots_of(host).len(), fabric.speed(host));
        let are_alike = hosts.clone().all(|host| about(host) == about(0));
        (are_alike && !fabric.is_flat() && hosts.len() > 1)
            .then(|| WholeHosts { graph: contracted(graph, fabric, placement), fabric: fabric.of_whole_hosts() })
    }

    /// Where the hosts are before any changes places.
    pub fn start(&self) -> Placement {
        Placement::by_core(self.fabric.hosts())
    }

    /// The placement of ranks if hosts are placed like this.
    pub fn unfolded(&self, fabric: &Fabric, placement: &Placement, hosts: &Placement) -> Placement {
        let moved = |slot: &u32| {
            let host = fabric.host(*slot);
            fabric.slots_of(hosts.0[host as usize]).start + (slot - fabric.slots_of(host).start)
        };
        Placement(placement.0.iter().map(moved).collect())
    }
}

/// What hosts send each other.
fn contracted(graph: &Graph, fabric: &Fabric, placement: &Placement) -> Graph {
    let host = |rank: u32| fabric.host(placement.0[rank as usize]);
    let mut sent: BTreeMap<[u32; 2], u64> = BTreeMap::new();
    for rank in 0..graph.ranks() as u32 {
        for arc in graph.arcs(rank).iter().filter(|arc| arc.sent > 0 && host(arc.to) != host(rank)) {
            let bytes = sent.entry([host(rank), host(arc.to)]).or_default();
            *bytes = bytes.saturating_add(arc.sent);
        }
    }
    let edges: Vec<Edge> = sent.into_iter().map(|(ranks, there)| Edge { ranks, there, back: 0 }).collect();
    Graph::new(vec![0; fabric.hosts() as usize], &edges)
}
