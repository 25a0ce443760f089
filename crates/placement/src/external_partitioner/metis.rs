//! METIS only partitions graphs, so it is run once per domain with edges inside, from the whole machine down to the smallest domains.

use std::fmt::Write;

use super::Error;
use super::exact_sizes::enforce_sizes;
use super::subprocess::PartitionerRun;
use crate::graph::{ExchangeEdge, RankGraph};
use crate::hierarchy::SlotHierarchy;

/// The slot of each rank; there are as many ranks as slots.
pub(super) fn place(graph: &RankGraph, hierarchy: &SlotHierarchy, folder: &PartitionerRun) -> Result<Vec<u32>, Error> {
    // The rank on each slot: final up to the order within a domain, which the next level determines.
    let mut ranks: Vec<u32> = (0..hierarchy.slot_count()).collect();
    let mut names = vec![u32::MAX; ranks.len()];
    for levels in hierarchy.levels().windows(2) {
        for domain in levels[0].starts.windows(2) {
            let ends = [0, 1].map(|end| levels[1].starts.partition_point(|start| *start < domain[end]));
            let sizes: Vec<u32> = levels[1].starts[ends[0]..=ends[1]].windows(2).map(|ends| ends[1] - ends[0]).collect();
            let here = &mut ranks[domain[0] as usize..domain[1] as usize];
            if sizes.len() > 1 {
                divide_domain(graph, here, &mut names, &sizes, folder)?;
            }
        }
    }
    let mut slots = vec![0; ranks.len()];
    ranks.iter().zip(0..).for_each(|(rank, slot)| slots[*rank as usize] = slot);
    Ok(slots)
}

/// Orders the ranks of a domain by parts of these sizes. `names` has an entry per rank, unset before and after.
fn divide_domain(graph: &RankGraph, ranks: &mut [u32], names: &mut [u32], sizes: &[u32], folder: &PartitionerRun) -> Result<(), Error> {
    ranks.iter().zip(0..).for_each(|(rank, name)| names[*rank as usize] = name);
    let inside = subgraph(graph, ranks, names);
    if inside.edge_count() > 0 {
        let mut part = run_gpmetis(&inside, sizes, folder)?;
        enforce_sizes(&inside, &mut part, sizes);
        ranks.sort_by_key(|rank| part[names[*rank as usize] as usize]);
    }
    ranks.iter().for_each(|rank| names[*rank as usize] = u32::MAX);
    Ok(())
}

/// The traffic among these ranks, under their local names.
fn subgraph(graph: &RankGraph, ranks: &[u32], names: &[u32]) -> RankGraph {
    let mut edges = Vec::new();
    for (rank, name) in ranks.iter().zip(0..) {
        let others = graph.arcs(*rank).iter().map(|arc| (names[arc.to as usize], arc.weight));
        edges.extend(others.filter(|(other, _)| *other != u32::MAX && *other > name).map(|(other, weight)| ExchangeEdge {
            ranks: [name, other],
            forward: weight,
            backward: 0,
        }));
    }
    RankGraph::new(vec![1; ranks.len()], &edges)
}

/// The part of each rank according to METIS, with approximately these sizes.
fn run_gpmetis(graph: &RankGraph, sizes: &[u32], folder: &PartitionerRun) -> Result<Vec<u32>, Error> {
    let edge = |rank: u32| {
        let later = graph.arcs(rank).iter().filter(move |arc| arc.to > rank);
        later.map(move |arc| sintonia_formats::WeightedEdge { endpoints: [rank, arc.to], weight: arc.weight })
    };
    let edges = (0..graph.rank_count() as u32).flat_map(edge).collect();
    let written = sintonia_formats::WeightedGraph { comments: Vec::new(), vertex_weights: vec![1; graph.rank_count()], edges };
    let mut text = Vec::new();
    sintonia_formats::metis::write(&written, &mut text).map_err(|source| Error::Io { path: "graph".into(), source })?;
    folder.write("graph", text)?;
    let mut shares = String::new();
    for (size, part) in sizes.iter().zip(0..) {
        let _ = writeln!(shares, "{part} = {:.9}", f64::from(*size) / graph.rank_count() as f64);
    }
    folder.write("shares", shares)?;
    let parts = sizes.len();
    let count = parts.to_string();
    // Recursive bisection keeps closer to the sizes than k-way partitioning, and cuts better for small parts.
    folder.run(&["-ptype=rb", "-ufactor=1", "-tpwgts=shares", "graph", &count])?;
    let expected = "a part for each rank";
    let part = folder.read_numbers(&format!("graph.part.{parts}"), graph.rank_count(), expected)?;
    if part.iter().all(|part| (*part as usize) < parts) { Ok(part) } else { Err(folder.unexpected(expected)) }
}
