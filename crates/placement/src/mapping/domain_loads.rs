//! Computation of the domains of a machine, and the penalty for overload.
//!
//! The limit of a domain is the computation of average ranks on all its slots (more on faster slots) plus a tolerance: 5 % or one average
//! rank, whichever is larger. An average rank's computation above the limit costs as much as an average rank with all its neighbours in
//! other domains. So byte distance dominates where placements differ much in it. With equal computation and equal slots there is no limit.

use super::slot_codes::SlotCodes;
use crate::partition::partition_graph::PartitionGraph;

/// Computation of the domains of all levels.
#[derive(Clone)]
pub(crate) struct DomainLoads<'a> {
    compute: &'a [f64],
    tree: &'a SlotCodes,
    levels: Vec<LevelLoads>,
}

/// Computation of the domains of one level.
#[derive(Clone)]
struct LevelLoads {
    limits: Vec<f64>,
    loads: Vec<f64>,
    penalty: f64,
}

/// Fair share of computation per unit of slot speed.
pub(crate) fn fair_share(graph: &PartitionGraph, speeds: &[f64]) -> f64 {
    let busy = graph.compute.iter().filter(|compute| **compute > 0.0).count().max(1) as f64;
    let speed = if speeds.is_empty() { 1.0 } else { speeds.iter().sum::<f64>() / speeds.len() as f64 };
    graph.compute.iter().sum::<f64>() / busy / speed.max(f64::MIN_POSITIVE)
}

/// Total speed of a range of slots.
pub(crate) fn total_speed(speeds: &[f64], slots: std::ops::Range<u32>) -> f64 {
    speeds.get(slots.start as usize..slots.end as usize).map_or(slots.len() as f64, |speeds| speeds.iter().sum())
}

impl<'a> DomainLoads<'a> {
    /// The limits of all domains but the whole machine; `None` if none can be exceeded.
    pub(super) fn new(graph: &'a PartitionGraph, tree: &'a SlotCodes, speeds: &[f64]) -> Option<DomainLoads<'a>> {
        let mut busy = graph.compute.iter().filter(|compute| **compute > 0.0);
        let first = busy.next()?;
        if busy.all(|compute| compute == first) && speeds.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let fair = fair_share(graph, speeds);
        let average = graph.compute.iter().sum::<f64>() / graph.compute.iter().filter(|compute| **compute > 0.0).count() as f64;
        let exchange = (0..graph.len() as u32).flat_map(|rank| graph.arcs(rank)).map(|(_, weight)| weight as f64).sum::<f64>();
        let level = |pair: &[super::slot_codes::LevelDomains]| {
            let share = |domain: usize| fair * total_speed(speeds, pair[1].slots(domain as u32));
            let limits: Vec<f64> = (0..pair[1].starts.len() - 1).map(share).map(|share| share + average.max(0.05 * share)).collect();
            let price = pair[0].distance * (exchange / graph.len() as f64).max(1.0) / average;
            LevelLoads { loads: vec![0.0; limits.len()], limits, penalty: price }
        };
        Some(DomainLoads { compute: &graph.compute, tree, levels: tree.levels().windows(2).map(level).collect() })
    }

    /// With ranks on these slots.
    pub(super) fn with_slots(mut self, slots: &[u32]) -> DomainLoads<'a> {
        for (level, domains) in self.levels.iter_mut().zip(&self.tree.levels()[1..]) {
            level.loads.fill(0.0);
            slots
                .iter()
                .zip(self.compute)
                .for_each(|(slot, compute)| level.loads[domains.domain_of_slot[*slot as usize] as usize] += compute);
        }
        self
    }

    /// The total penalty.
    pub(super) fn cost(&self) -> f64 {
        let of_level = |level: &LevelLoads| -> f64 {
            let above: f64 = level.loads.iter().zip(&level.limits).map(|(load, limit)| (load - limit).max(0.0)).sum();
            level.penalty * above
        };
        self.levels.iter().map(of_level).sum()
    }

    /// Decrease of the penalty if two ranks swap their slots.
    pub(super) fn gain(&self, ranks: [u32; 2], slots: [u32; 2]) -> f64 {
        let more = self.compute[ranks[1] as usize] - self.compute[ranks[0] as usize];
        if more == 0.0 {
            return 0.0;
        }
        let of_level = |level: &LevelLoads, of: &[u32]| {
            let [a, b] = slots.map(|slot| of[slot as usize] as usize);
            let above = |domain: usize, more: f64| (level.loads[domain] + more - level.limits[domain]).max(0.0);
            if a == b { 0.0 } else { level.penalty * (above(a, 0.0) + above(b, 0.0) - above(a, more) - above(b, -more)) }
        };
        self.levels.iter().zip(&self.tree.levels()[1..]).map(|(level, domains)| of_level(level, &domains.domain_of_slot)).sum()
    }

    /// Applies such a swap.
    pub(super) fn swap(&mut self, ranks: [u32; 2], slots: [u32; 2]) {
        let more = self.compute[ranks[1] as usize] - self.compute[ranks[0] as usize];
        for (level, domains) in self.levels.iter_mut().zip(&self.tree.levels()[1..]) {
            level.loads[domains.domain_of_slot[slots[0] as usize] as usize] += more;
            level.loads[domains.domain_of_slot[slots[1] as usize] as usize] -= more;
        }
    }
}
