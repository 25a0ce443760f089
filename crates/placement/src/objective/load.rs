//! The load of each link and host under a placement.

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::RankGraph;

/// Bytes over each link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkLoads(pub Vec<u64>);

/// Computation of each host and its number of ranks.
///
/// A host's time is the mean over its ranks: total computation divided by used slots and speed. The reference is the time with equal ranks
/// on slots of mean speed, which does not depend on the placement.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputeBalance {
    hosts: Vec<HostWork>,
    mean: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct HostWork {
    compute: u64,
    ranks: u32,
    speed: f64,
}

impl LinkLoads {
    /// The load of each link under a placement.
    pub fn from_placement(graph: &RankGraph, fabric: &Fabric, placement: &Placement) -> LinkLoads {
        let mut loads = vec![0u64; fabric.s_per_byte().len()];
        let mut buffer = Vec::new();
        let host = |rank: u32| fabric.host(placement.0[rank as usize]);
        for rank in 0..graph.rank_count() as u32 {
            for arc in graph.arcs(rank).iter().filter(|arc| arc.sent > 0) {
                let route = fabric.route(host(rank), host(arc.to), &mut buffer);
                route.iter().for_each(|link| add_saturating(&mut loads[*link as usize], arc.sent));
            }
        }
        LinkLoads(loads)
    }

    /// Busy time of the most loaded link.
    pub fn busiest_s(&self, fabric: &Fabric) -> f64 {
        self.0.iter().zip(fabric.s_per_byte()).map(|(bytes, s_per_byte)| *bytes as f64 * s_per_byte).fold(0.0, f64::max)
    }
}

/// Saturates on overflow.
fn add_saturating(load: &mut u64, bytes: u64) {
    *load = load.saturating_add(bytes);
}

impl ComputeBalance {
    /// The computation of each host under a placement.
    pub fn from_placement(graph: &RankGraph, fabric: &Fabric, placement: &Placement) -> ComputeBalance {
        let idle = |host: u32| HostWork { compute: 0, ranks: 0, speed: fabric.speed(host) };
        let mut hosts: Vec<HostWork> = (0..fabric.host_count()).map(idle).collect();
        for (slot, compute) in placement.0.iter().zip(graph.compute()) {
            hosts[fabric.host(*slot) as usize].add(*compute);
        }
        let speed = (0..fabric.host_count()).map(|host| f64::from(fabric.host_slots(host).len() as u32) * fabric.speed(host)).sum::<f64>();
        let all: f64 = graph.compute().iter().map(|compute| *compute as f64).sum();
        let ranks = graph.rank_count().max(1) as f64;
        ComputeBalance { hosts, mean: all / ranks / (speed / f64::from(fabric.slot_count())) }
    }

    /// Relative excess of the slowest host over the mean.
    pub fn imbalance(&self) -> f64 {
        (0..self.hosts.len() as u32).map(|host| self.excess(host)).fold(0.0, f64::max)
    }

    /// Relative excess of a host over the mean.
    pub fn excess(&self, host: u32) -> f64 {
        self.relative_excess(self.hosts[host as usize])
    }

    /// Relative excess of the slower of two hosts if a rank of the first and possibly one of the second were swapped.
    pub fn excess_after(&self, hosts: [u32; 2], computes: [Option<u64>; 2]) -> f64 {
        let [mut one, mut other] = hosts.map(|host| self.hosts[host as usize]);
        swap_ranks(&mut one, &mut other, computes);
        self.relative_excess(one).max(self.relative_excess(other))
    }

    /// Swaps a rank of the first host with one of the second, as far as they exist.
    pub fn swap(&mut self, hosts: [u32; 2], computes: [Option<u64>; 2]) {
        let [mut one, mut other] = hosts.map(|host| self.hosts[host as usize]);
        swap_ranks(&mut one, &mut other, computes);
        self.hosts[hosts[0] as usize] = one;
        self.hosts[hosts[1] as usize] = other;
    }

    fn relative_excess(&self, host: HostWork) -> f64 {
        let takes = host.compute as f64 / (f64::from(host.ranks.max(1)) * host.speed);
        if self.mean > 0.0 { takes / self.mean - 1.0 } else { 0.0 }
    }
}

impl HostWork {
    fn add(&mut self, compute: u64) {
        self.compute = self.compute.wrapping_add(compute);
        self.ranks += 1;
    }

    fn remove(&mut self, compute: u64) {
        self.compute = self.compute.wrapping_sub(compute);
        self.ranks -= 1;
    }
}

fn swap_ranks(one: &mut HostWork, other: &mut HostWork, [of_one, of_other]: [Option<u64>; 2]) {
    of_one.into_iter().for_each(|compute| {
        one.remove(compute);
        other.add(compute);
    });
    of_other.into_iter().for_each(|compute| {
        other.remove(compute);
        one.add(compute);
    });
}
