//! Ranks divided among the domains of a machine from the top down: first among its largest parts, then inside each of them.

use super::burdens::{fair, speed};
use super::tree::Tree;
use crate::partition::bisect::Tries;
use crate::partition::net::{Members, Net};
use crate::partition::{Effort, Part, divide};
use rayon::prelude::*;
use std::ops::Range;

/// A slot for each vertex; there are as many as slots.
pub(crate) fn multisection(net: &Net, tree: &Tree, speeds: &[f64], effort: Effort, seed: u64) -> Vec<u32> {
    let fair = fair(net, speeds);
    Division { tree, speeds, fair, tries: Tries::new(effort, net), seed }.place(net, 0..net.len() as u32, 0)
}

struct Division<'a> {
    tree: &'a Tree,
    speeds: &'a [f64],
    /// How much a slot may compute for each unit of its speed.
    fair: f64,
    tries: Tries,
    seed: u64,
}

impl Division<'_> {
    /// A slot of a domain of a level for each vertex of a net.
    fn place(&self, net: &Net, slots: Range<u32>, level: usize) -> Vec<u32> {
        let Some(inside) = self.tree.levels().get(level + 1) else { return slots.collect() };
        if slots.len() <= 1 {
            return slots.collect();
        }
        let children = inside.of[slots.start as usize]..inside.of[slots.end as usize - 1] + 1;
        if children.len() == 1 {
            return self.place(net, slots, level + 1);
        }
        let total = net.compute.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let share = |child: u32| self.fair * speed(self.speeds, inside.slots(child)) / total;
        let part = |child: u32| Part { slots: inside.slots(child).len() as u32, share: share(child) };
        let parts: Vec<Part> = children.clone().map(part).collect();
        let part = divide(net, &parts, self.tries, self.seed ^ u64::from(slots.start) << 8 ^ level as u64);
        let members = Members::new(&part, parts.len());
        let nets = net.split(&part, parts.len());
        let placed: Vec<Vec<u32>> = nets
            .into_par_iter()
            .zip(children.into_par_iter())
            .map(|(net, child)| self.place(&net, inside.slots(child), level + 1))
            .collect();
        let mut slot = vec![0; net.len()];
        for (place, placed) in placed.into_iter().enumerate() {
            members.of(place).iter().zip(placed).for_each(|(vertex, own)| slot[*vertex as usize] = own);
        }
        slot
    }
}
