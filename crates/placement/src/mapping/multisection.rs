//! Recursive multisection: partitions the ranks among the domains of the machine from the top down.

use super::domain_loads::{fair_share, total_speed};
use super::slot_codes::SlotCodes;
use crate::partition::bisect::BisectionBudget;
use crate::partition::partition_graph::{GroupMembers, PartitionGraph};
use crate::partition::{PartTarget, SearchEffort, partition_vertices};
use rayon::prelude::*;
use std::ops::Range;

/// A slot for each vertex; there are as many vertices as slots.
pub(crate) fn multisection(graph: &PartitionGraph, tree: &SlotCodes, speeds: &[f64], effort: SearchEffort, seed: u64) -> Vec<u32> {
    let fair = fair_share(graph, speeds);
    MultisectionRun { tree, speeds, fair_share: fair, tries: BisectionBudget::new(effort, graph), seed }.place(
        graph,
        0..graph.len() as u32,
        0,
    )
}

struct MultisectionRun<'a> {
    tree: &'a SlotCodes,
    speeds: &'a [f64],
    /// Fair share of computation per unit of slot speed.
    fair_share: f64,
    tries: BisectionBudget,
    seed: u64,
}

impl MultisectionRun<'_> {
    /// A slot of a domain for each vertex of a graph.
    fn place(&self, graph: &PartitionGraph, slots: Range<u32>, level: usize) -> Vec<u32> {
        let Some(inside) = self.tree.levels().get(level + 1) else { return slots.collect() };
        if slots.len() <= 1 {
            return slots.collect();
        }
        let children = inside.domain_of_slot[slots.start as usize]..inside.domain_of_slot[slots.end as usize - 1] + 1;
        if children.len() == 1 {
            return self.place(graph, slots, level + 1);
        }
        let total = graph.compute.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let share = |child: u32| self.fair_share * total_speed(self.speeds, inside.slots(child)) / total;
        let part = |child: u32| PartTarget { slots: inside.slots(child).len() as u32, share: share(child) };
        let parts: Vec<PartTarget> = children.clone().map(part).collect();
        let part = partition_vertices(graph, &parts, self.tries, self.seed ^ u64::from(slots.start) << 8 ^ level as u64);
        let members = GroupMembers::new(&part, parts.len());
        let graphs = graph.split(&part, parts.len());
        let placed: Vec<Vec<u32>> = graphs
            .into_par_iter()
            .zip(children.into_par_iter())
            .map(|(graph, child)| self.place(&graph, inside.slots(child), level + 1))
            .collect();
        let mut slot = vec![0; graph.len()];
        for (place, placed) in placed.into_iter().enumerate() {
            members.group(place).iter().zip(placed).for_each(|(vertex, own)| slot[*vertex as usize] = own);
        }
        slot
    }
}
