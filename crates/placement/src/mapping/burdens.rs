//! How much the domains of a machine have to compute, and what too much of it costs.
//!
//! A domain may compute as much as average ranks on all its slots would, on faster slots more, and a tolerance: 5 % or one average rank, if that
//! is more. An average rank's compute above that costs as much as if an average rank had all its neighbours in other domains. So bytes times
//! distance comes first where placements differ in it a lot. Where all ranks compute alike and all slots are alike, nothing can be too much.

use super::tree::Tree;
use crate::partition::net::Net;

/// How much the domains of each level compute.
#[derive(Clone)]
pub(crate) struct Burdens<'a> {
    compute: &'a [f64],
    tree: &'a Tree,
    levels: Vec<Level>,
}

/// The same of one level.
#[derive(Clone)]
struct Level {
    limits: Vec<f64>,
    burdens: Vec<f64>,
    price: f64,
}

/// How much a slot may compute for each unit of its speed.
pub(crate) fn fair(net: &Net, speeds: &[f64]) -> f64 {
    let busy = net.compute.iter().filter(|compute| **compute > 0.0).count().max(1) as f64;
    let speed = if speeds.is_empty() { 1.0 } else { speeds.iter().sum::<f64>() / speeds.len() as f64 };
    net.compute.iter().sum::<f64>() / busy / speed.max(f64::MIN_POSITIVE)
}

/// The speed of all slots of a range together.
pub(crate) fn speed(speeds: &[f64], slots: std::ops::Range<u32>) -> f64 {
    speeds.get(slots.start as usize..slots.end as usize).map_or(slots.len() as f64, |speeds| speeds.iter().sum())
}

impl<'a> Burdens<'a> {
    /// The limits of all domains but the whole machine; nothing if none can be reached.
    pub fn new(net: &'a Net, tree: &'a Tree, speeds: &[f64]) -> Option<Burdens<'a>> {
        let mut busy = net.compute.iter().filter(|compute| **compute > 0.0);
        let first = busy.next()?;
        if busy.all(|compute| compute == first) && speeds.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let fair = fair(net, speeds);
        let average = net.compute.iter().sum::<f64>() / net.compute.iter().filter(|compute| **compute > 0.0).count() as f64;
        let exchange = (0..net.len() as u32).flat_map(|rank| net.arcs(rank)).map(|(_, weight)| weight as f64).sum::<f64>();
        let level = |pair: &[super::tree::Domains]| {
            let share = |domain: usize| fair * speed(speeds, pair[1].slots(domain as u32));
            let limits: Vec<f64> = (0..pair[1].starts.len() - 1).map(share).map(|share| share + average.max(0.05 * share)).collect();
            let price = pair[0].distance * (exchange / net.len() as f64).max(1.0) / average;
            Level { burdens: vec![0.0; limits.len()], limits, price }
        };
        Some(Burdens { compute: &net.compute, tree, levels: tree.levels().windows(2).map(level).collect() })
    }

    /// The same with ranks on these slots.
    pub fn with(mut self, slots: &[u32]) -> Burdens<'a> {
        for (level, domains) in self.levels.iter_mut().zip(&self.tree.levels()[1..]) {
            level.burdens.fill(0.0);
            slots.iter().zip(self.compute).for_each(|(slot, compute)| level.burdens[domains.of[*slot as usize] as usize] += compute);
        }
        self
    }

    /// What is too much costs so much.
    pub fn cost(&self) -> f64 {
        let of_level = |level: &Level| -> f64 {
            let above: f64 = level.burdens.iter().zip(&level.limits).map(|(load, limit)| (load - limit).max(0.0)).sum();
            level.price * above
        };
        self.levels.iter().map(of_level).sum()
    }

    /// How much that falls when a rank on one slot and another on another change places.
    pub fn gain(&self, ranks: [u32; 2], slots: [u32; 2]) -> f64 {
        let more = self.compute[ranks[1] as usize] - self.compute[ranks[0] as usize];
        if more == 0.0 {
            return 0.0;
        }
        let of_level = |level: &Level, of: &[u32]| {
            let [a, b] = slots.map(|slot| of[slot as usize] as usize);
            let above = |domain: usize, more: f64| (level.burdens[domain] + more - level.limits[domain]).max(0.0);
            if a == b { 0.0 } else { level.price * (above(a, 0.0) + above(b, 0.0) - above(a, more) - above(b, -more)) }
        };
        self.levels.iter().zip(&self.tree.levels()[1..]).map(|(level, domains)| of_level(level, &domains.of)).sum()
    }

    /// Takes down that they did.
    pub fn swap(&mut self, ranks: [u32; 2], slots: [u32; 2]) {
        let more = self.compute[ranks[1] as usize] - self.compute[ranks[0] as usize];
        for (level, domains) in self.levels.iter_mut().zip(&self.tree.levels()[1..]) {
            level.burdens[domains.of[slots[0] as usize] as usize] += more;
            level.burdens[domains.of[slots[1] as usize] as usize] -= more;
        }
    }
}
