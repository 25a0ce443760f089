//! Writes a graph file.

use std::io::{self, Write};

use crate::{WeightedEdge, WeightedGraph};

/// The largest number of METIS's 32-bit integers.
const MAX_METIS_INT: u64 = i32::MAX as u64;

/// Writes a graph; weights are at least 1, and divided where their sum would exceed 32 bits.
pub fn write(graph: &WeightedGraph, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let neighbours = adjacency(graph);
    let vertex_divisor = weight_divisor(graph.vertex_weights.iter().copied(), graph.vertex_weights.len());
    let edge_divisor = weight_divisor(neighbours.iter().flatten().map(|n| n.1), 2 * graph.edges.len());
    for comment in graph.comment_lines() {
        writeln!(out, "% {comment}")?;
    }
    for (what, divisor) in [("vertex", vertex_divisor), ("edge", edge_divisor)] {
        if divisor > 1 {
            writeln!(out, "% {what} weights were divided by {divisor}, so that METIS can add them up in 32 bits")?;
        }
    }
    writeln!(out, "{} {} 011", graph.vertex_weights.len(), graph.edges.len())?;
    for (weight, neighbours) in graph.vertex_weights.iter().zip(neighbours) {
        write!(out, "{}", scale_weight(*weight, vertex_divisor))?;
        for (neighbour, weight) in neighbours {
            write!(out, " {} {}", neighbour + 1, scale_weight(weight, edge_divisor))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Each vertex's neighbours in order, with edge weights.
fn adjacency(graph: &WeightedGraph) -> Vec<Vec<(u32, u64)>> {
    let mut neighbours = vec![Vec::new(); graph.vertex_weights.len()];
    for WeightedEdge { endpoints: [a, b], weight } in graph.edges.iter().copied() {
        neighbours[a as usize].push((b, weight));
        neighbours[b as usize].push((a, weight));
    }
    neighbours.iter_mut().for_each(|list| list.sort_unstable());
    neighbours
}

/// A divisor for which the sum of weights fits, even with small ones rounded up to 1.
fn weight_divisor(weights: impl Iterator<Item = u64>, count: usize) -> u64 {
    let sum: u128 = weights.map(|w| u128::from(w.max(1))).sum();
    if sum <= u128::from(MAX_METIS_INT) {
        return 1;
    }
    let room = MAX_METIS_INT.saturating_sub(count as u64).max(1);
    sum.div_ceil(u128::from(room)).try_into().unwrap_or(u64::MAX)
}

fn scale_weight(weight: u64, divisor: u64) -> u64 {
    (weight / divisor).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(a: u32, b: u32, weight: u64) -> WeightedEdge {
        WeightedEdge { endpoints: [a, b], weight }
    }

    fn written(graph: &WeightedGraph) -> String {
        let mut out = Vec::new();
        write(graph, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The weights of the vertices, and of their edges.
    fn weights(text: &str) -> (Vec<u64>, Vec<u64>) {
        let lines = text.lines().filter(|line| !line.starts_with('%')).skip(1);
        let numbers = |line: &str| line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
        let lines: Vec<Vec<u64>> = lines.map(numbers).collect();
        let edges = |line: &Vec<u64>| line.iter().skip(2).step_by(2).copied().collect::<Vec<u64>>();
        (lines.iter().map(|line| line[0]).collect(), lines.iter().flat_map(edges).collect())
    }

    #[test]
    fn each_edge_is_listed_at_both_ends_and_isolated_vertices_have_their_weight() {
        let graph = WeightedGraph {
            comments: vec!["weights\nare bytes".into()],
            vertex_weights: vec![10, 20, 30, 0],
            edges: vec![edge(0, 2, 7), edge(0, 1, 5)],
        };
        assert_eq!(written(&graph), "% weights are bytes\n4 2 011\n10 2 5 3 7\n20 1 5\n30 1 7\n1\n");
    }

    #[test]
    fn weights_whose_sum_does_not_fit_are_divided_and_the_file_says_so() {
        let graph = WeightedGraph {
            comments: vec![],
            vertex_weights: vec![u64::MAX, 5, 1],
            edges: vec![edge(0, 1, 3 << 30), edge(1, 2, 1 << 30), edge(0, 2, 1)],
        };
        let text = written(&graph);
        assert!(text.starts_with("% vertex weights were divided by 8589934609"), "{text}");
        assert!(text.contains("% edge weights were divided by 5, "), "{text}");
        let (vertices, edges) = weights(&text);
        assert!(vertices.iter().sum::<u64>() <= MAX_METIS_INT && edges.iter().sum::<u64>() <= MAX_METIS_INT);
        assert_eq!((vertices[1..].to_vec(), edges), (vec![1, 1], [3, 0, 3, 1, 0, 1].map(|weight| ((weight << 30) / 5).max(1)).to_vec()));
    }
}
