//! Link loads under swaps: a swap affects only the links on the routes of the two ranks.

use super::working_placement::{SlotSwap, WorkingPlacement};
use crate::fabric::{Fabric, LinkId};
use crate::objective::LinkLoads;

/// Link loads with staged changes.
#[derive(Clone)]
pub(super) struct LinkTraffic {
    loads: LinkLoads,
    /// By link; zero except on touched links.
    changes: Vec<i64>,
    is_touched: Vec<bool>,
    touched: Vec<LinkId>,
    per_host: PerHostExchange,
    route_buffer: Vec<LinkId>,
    /// Neighbours and links examined.
    work: u64,
}

/// Weighting of busy links: the higher the power, the more the busiest one dominates.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkWeighting {
    /// The exponent is 2 to this power.
    pub doublings: u32,
    /// A link with this busy time has weight 1.
    pub scale_s: f64,
}

/// The traffic of a rank with all ranks of each host.
#[derive(Clone, Default)]
struct PerHostExchange {
    /// By host: sent and received.
    bytes: Vec<[u64; 2]>,
    hosts: Vec<u32>,
}

impl LinkWeighting {
    #[inline]
    fn weight(self, busy_s: f64) -> f64 {
        (0..self.doublings).fold(busy_s / self.scale_s, |weight, _| weight * weight)
    }
}

impl LinkTraffic {
    pub(super) fn new(placement: &WorkingPlacement) -> LinkTraffic {
        let loads = LinkLoads::from_placement(placement.graph, placement.fabric, &placement.placement());
        let per_host = PerHostExchange { bytes: vec![[0, 0]; placement.fabric.host_count() as usize], hosts: Vec::new() };
        let links = loads.0.len();
        let (changes, is_touched) = (vec![0; links], vec![false; links]);
        LinkTraffic { loads, changes, is_touched, touched: Vec::new(), per_host, route_buffer: Vec::new(), work: 0 }
    }

    /// Neighbours and links examined since the last call.
    pub(super) fn work_done(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    pub(super) fn loads(&self) -> &LinkLoads {
        &self.loads
    }

    /// Stages a swap on top of those already staged, and applies it to the placement.
    pub(super) fn stage(&mut self, placement: &mut WorkingPlacement, exchange: SlotSwap) {
        let ranks = exchange.map(|slot| placement.rank(slot));
        let hosts = exchange.map(|slot| placement.fabric.host(slot));
        if hosts[0] != hosts[1] {
            // One after the other: in between, both are on the same host.
            let [first, second] = ranks;
            first.into_iter().for_each(|rank| self.stage_move(placement, rank, hosts, None));
            second.into_iter().for_each(|rank| self.stage_move(placement, rank, [hosts[1], hosts[0]], first.map(|rank| (rank, hosts[1]))));
        }
        placement.swap(exchange);
    }

    /// Stages the move of a rank between hosts; another one may have moved before it.
    fn stage_move(&mut self, placement: &WorkingPlacement, rank: u32, [from, to]: [u32; 2], gone: Option<(u32, u32)>) {
        let arcs = placement.graph.arcs(rank);
        self.work += arcs.len() as u64;
        for arc in arcs {
            let host = gone.filter(|(rank, _)| *rank == arc.to).map_or_else(|| placement.host_of(arc.to), |(_, host)| host);
            self.per_host.add(host, [arc.sent, arc.weight - arc.sent]);
        }
        while let Some(host) = self.per_host.hosts.pop() {
            let [sent, received] = std::mem::take(&mut self.per_host.bytes[host as usize]);
            self.stage_bytes(placement.fabric, [from, host], -(sent as i64));
            self.stage_bytes(placement.fabric, [host, from], -(received as i64));
            self.stage_bytes(placement.fabric, [to, host], sent as i64);
            self.stage_bytes(placement.fabric, [host, to], received as i64);
        }
    }

    /// Stages additional bytes between two hosts.
    fn stage_bytes(&mut self, fabric: &Fabric, [from, to]: [u32; 2], bytes: i64) {
        if bytes == 0 || from == to {
            return;
        }
        let route = fabric.route(from, to, &mut self.route_buffer);
        self.work += route.len() as u64;
        for link in route {
            let change = &mut self.changes[*link as usize];
            *change = change.wrapping_add(bytes);
            if !std::mem::replace(&mut self.is_touched[*link as usize], true) {
                self.touched.push(*link);
            }
        }
    }

    /// Change of the link cost by the staged swaps, 0 if negligible; `None` if a link would exceed the scale.
    pub(super) fn cost_change(&self, fabric: &Fabric, weighting: LinkWeighting) -> Option<f64> {
        const HAIR: f64 = 1e-9;
        let (mut before, mut after) = (0.0, 0.0);
        for link in self.touched.iter().map(|link| *link as usize) {
            let (load, s_per_byte) = (self.loads.0[link], fabric.s_per_byte()[link]);
            let then_s = load.wrapping_add_signed(self.changes[link]) as f64 * s_per_byte;
            if then_s > weighting.scale_s * (1.0 + HAIR) && self.changes[link] > 0 {
                return None;
            }
            before += weighting.weight(load as f64 * s_per_byte);
            after += weighting.weight(then_s);
        }
        Some(if (after - before).abs() <= HAIR * before { 0.0 } else { after - before })
    }

    /// Makes the staged changes permanent.
    pub(super) fn commit(&mut self) {
        for link in &self.touched {
            let load = &mut self.loads.0[*link as usize];
            *load = load.wrapping_add_signed(self.changes[*link as usize]);
        }
        self.discard();
    }

    /// Drops the staged changes.
    pub(super) fn discard(&mut self) {
        for link in self.touched.drain(..) {
            self.changes[link as usize] = 0;
            self.is_touched[link as usize] = false;
        }
    }

    /// The ranks with traffic over links of at least this busy time, most bytes first.
    pub(super) fn busy_ranks(&mut self, placement: &WorkingPlacement, busy_s: f64) -> Vec<u32> {
        let times = self.loads.0.iter().zip(placement.fabric.s_per_byte()).map(|(load, s_per_byte)| *load as f64 * s_per_byte);
        let is_busy: Vec<bool> = times.map(|time_s| time_s > 0.0 && time_s >= busy_s).collect();
        let mut bytes = vec![0u64; placement.graph.rank_count()];
        for rank in 0..bytes.len() as u32 {
            let host = placement.host_of(rank);
            for arc in placement.graph.arcs(rank).iter().filter(|arc| arc.sent > 0) {
                let route = placement.fabric.route(host, placement.host_of(arc.to), &mut self.route_buffer);
                self.work += 1 + route.len() as u64;
                if route.iter().any(|link| is_busy[*link as usize]) {
                    [rank, arc.to].iter().for_each(|end| bytes[*end as usize] = bytes[*end as usize].saturating_add(arc.sent));
                }
            }
        }
        let mut ranks: Vec<u32> = (0..bytes.len() as u32).filter(|rank| bytes[*rank as usize] > 0).collect();
        ranks.sort_by_key(|rank| std::cmp::Reverse(bytes[*rank as usize]));
        ranks
    }

    /// Total weight of all links.
    pub(super) fn total_weight(&self, fabric: &Fabric, weighting: LinkWeighting) -> f64 {
        self.loads.0.iter().zip(fabric.s_per_byte()).map(|(load, s_per_byte)| weighting.weight(*load as f64 * s_per_byte)).sum()
    }
}

impl PerHostExchange {
    #[inline]
    fn add(&mut self, host: u32, [sent, received]: [u64; 2]) {
        let bytes = &mut self.bytes[host as usize];
        if *bytes == [0, 0] {
            self.hosts.push(host);
        }
        *bytes = [bytes[0].wrapping_add(sent), bytes[1].wrapping_add(received)];
    }
}
