//! METIS only cuts graphs, so it is asked once for each domain with an edge inside, from the whole machine down to the smallest domains.

use std::fmt::Write;

use super::Error;
use super::exact::make_exact;
use super::program::Folder;
use crate::graph::{Edge, Graph};
use crate::hierarchy::Hierarchy;

/// The slot of each rank; there are as many ranks as slots.
pub(super) fn place(graph: &Graph, hierarchy: &Hierarchy, folder: &Folder) -> Result<Vec<u32>, Error> {
    // The rank on each slot: those of a domain are known, their order in it comes from the next level.
    let mut ranks: Vec<u32> = (0..hierarchy.slots()).collect();
    let mut names = vec![u32::MAX; ranks.len()];
    for levels in hierarchy.levels().windows(2) {
        for domain in levels[0].starts.windows(2) {
            let ends = [0, 1].map(|end| levels[1].starts.partition_point(|start| *start < domain[end]));
            let sizes: Vec<u32> = levels[1].starts[ends[0]..=ends[1]].windows(2).map(|ends| ends[1] - ends[0]).collect();
            let here = &mut ranks[domain[0] as usize..domain[1] as usize];
            if sizes.len() > 1 {
                divide(graph, here, &mut names, &sizes, folder)?;
            }
        }
    }
    let mut slots = vec![0; ranks.len()];
    ranks.iter().zip(0..).for_each(|(rank, slot)| slots[*rank as usize] = slot);
    Ok(slots)
}

/// Puts the ranks of a domain in the order of parts of these sizes. Names are of all ranks, and unset before and after.
fn divide(graph: &Graph, ranks: &mut [u32], names: &mut [u32], sizes: &[u32], folder: &Folder) -> Result<(), Error> {
    ranks.iter().zip(0..).for_each(|(rank, name)| names[*rank as usize] = name);
    let inside = inside(graph, ranks, names);
    if inside.edges() > 0 {
        let mut part = cut(&inside, sizes, folder)?;
        make_exact(&inside, &mut part, sizes);
        ranks.sort_by_key(|rank| part[names[*rank as usize] as usize]);
    }
    ranks.iter().for_each(|rank| names[*rank as usize] = u32::MAX);
    Ok(())
}

/// What these ranks exchange among themselves, under their names.
fn inside(graph: &Graph, ranks: &[u32], names: &[u32]) -> Graph {
    let mut edges = Vec::new();
    for (rank, name) in ranks.iter().zip(0..) {
        let others = graph.arcs(*rank).iter().map(|arc| (names[arc.to as usize], arc.weight));
        edges.extend(others.filter(|(other, _)| *other != u32::MAX && *other > name).map(|(other, weight)| Edge {
            ranks: [name, other],
            there: weight,
            back: 0,
        }));
    }
    Graph::new(vec![1; ranks.len()], &edges)
}

/// The part of each rank as METIS sees it, of about these sizes.
fn cut(graph: &Graph, sizes: &[u32], folder: &Folder) -> Result<Vec<u32>, Error> {
    let edge = |rank: u32| {
        let later = graph.arcs(rank).iter().filter(move |arc| arc.to > rank);
        later.map(move |arc| sintonia_formats::Edge { ends: [rank, arc.to], weight: arc.weight })
    };
    let edges = (0..graph.ranks() as u32).flat_map(edge).collect();
    let written = sintonia_formats::Graph { comments: Vec::new(), vertices: vec![1; graph.ranks()], edges };
    let mut text = Vec::new();
    sintonia_formats::metis::write(&written, &mut text).map_err(|source| Error::Io { path: "graph".into(), source })?;
    folder.write("graph", text)?;
    let mut shares = String::new();
    for (size, part) in sizes.iter().zip(0..) {
        let _ = writeln!(shares, "{part} = {:.9}", f64::from(*size) / graph.ranks() as f64);
    }
    folder.write("shares", shares)?;
    let parts = sizes.len();
    let count = parts.to_string();
    // Recursive bisection keeps closer to the sizes than the direct way, and cuts better where parts are small.
    folder.run(&["-ptype=rb", "-ufactor=1", "-tpwgts=shares", "graph", &count])?;
    let expected = "a part for each rank";
    let part = folder.numbers(&format!("graph.part.{parts}"), graph.ranks(), expected)?;
    if part.iter().all(|part| (*part as usize) < parts) { Ok(part) } else { Err(folder.unexpected(expected)) }
}
