//! What a placement asks of each link and of each host.

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::Graph;

/// How many bytes go over each link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loads(pub Vec<u64>);

/// How much each host computes, and with how many of its slots.
///
/// A host computes as long as its ranks do on average: all of them divided by slots in use and speed. The mean is what it would be if every
/// rank computed as long as the others on a slot of mean speed, so that it does not depend on the placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Computing {
    hosts: Vec<Work>,
    mean: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    compute: u64,
    ranks: u32,
    speed: f64,
}

impl Loads {
    /// What a placement sends over each link.
    pub fn of(graph: &Graph, fabric: &Fabric, placement: &Placement) -> Loads {
        let mut loads = vec![0u64; fabric.s_per_byte().len()];
        let mut room = Vec::new();
        let host = |rank: u32| fabric.host(placement.0[rank as usize]);
        for rank in 0..graph.ranks() as u32 {
            for arc in graph.arcs(rank).iter().filter(|arc| arc.sent > 0) {
                let route = fabric.route(host(rank), host(arc.to), &mut room);
                route.iter().for_each(|link| add(&mut loads[*link as usize], arc.sent));
            }
        }
        Loads(loads)
    }

    /// How long the busiest link is busy.
    pub fn busiest_s(&self, fabric: &Fabric) -> f64 {
        self.0.iter().zip(fabric.s_per_byte()).map(|(bytes, s_per_byte)| *bytes as f64 * s_per_byte).fold(0.0, f64::max)
    }
}

/// More bytes than can be counted are as many as can be counted.
fn add(load: &mut u64, bytes: u64) {
    *load = load.saturating_add(bytes);
}

impl Computing {
    /// What a placement lets each host compute.
    pub fn of(graph: &Graph, fabric: &Fabric, placement: &Placement) -> Computing {
        let idle = |host: u32| Work { compute: 0, ranks: 0, speed: fabric.speed(host) };
        let mut hosts: Vec<Work> = (0..fabric.hosts()).map(idle).collect();
        for (slot, compute) in placement.0.iter().zip(graph.compute()) {
            hosts[fabric.host(*slot) as usize].add(*compute);
        }
        let speed = (0..fabric.hosts()).map(|host| f64::from(fabric.slots_of(host).len() as u32) * fabric.speed(host)).sum::<f64>();
        let all: f64 = graph.compute().iter().map(|compute| *compute as f64).sum();
        let ranks = graph.ranks().max(1) as f64;
        Computing { hosts, mean: all / ranks / (speed / f64::from(fabric.slots())) }
    }

    /// How much longer than the mean the slowest host computes.
    pub fn imbalance(&self) -> f64 {
        (0..self.hosts.len() as u32).map(|host| self.excess(host)).fold(0.0, f64::max)
    }

    /// How much longer than the mean a host computes.
    pub fn excess(&self, host: u32) -> f64 {
        self.relative(self.hosts[host as usize])
    }

    /// How much longer than the mean the slower of two hosts would compute if a rank of the first and maybe one of the second changed places.
    pub fn excess_after(&self, hosts: [u32; 2], computes: [Option<u64>; 2]) -> f64 {
        let [mut one, mut other] = hosts.map(|host| self.hosts[host as usize]);
        exchange(&mut one, &mut other, computes);
        self.relative(one).max(self.relative(other))
    }

    /// A rank of the first host and one of the second change places, as far as there are any.
    pub fn exchange(&mut self, hosts: [u32; 2], computes: [Option<u64>; 2]) {
        let [mut one, mut other] = hosts.map(|host| self.hosts[host as usize]);
        exchange(&mut one, &mut other, computes);
        self.hosts[hosts[0] as usize] = one;
        self.hosts[hosts[1] as usize] = other;
    }

    fn relative(&self, host: Work) -> f64 {
        let takes = host.compute as f64 / (f64::from(host.ranks.max(1)) * host.speed);
        if self.mean > 0.0 { takes / self.mean - 1.0 } else { 0.0 }
    }
}

impl Work {
    fn add(&mut self, compute: u64) {
        self.compute = self.compute.wrapping_add(compute);
        self.ranks += 1;
    }

    fn take(&mut self, compute: u64) {
        self.compute = self.compute.wrapping_sub(compute);
        self.ranks -= 1;
    }
}

fn exchange(one: &mut Work, other: &mut Work, [of_one, of_other]: [Option<u64>; 2]) {
    of_one.into_iter().for_each(|compute| {
        one.take(compute);
        other.add(compute);
    });
    of_other.into_iter().for_each(|compute| {
        other.take(compute);
        one.add(compute);
    });
}
