//! The communication graph in GraphViz's DOT language, with edge widths by weight.

use std::io::{self, Write};

use crate::WeightedGraph;

/// The pen width of the heaviest edge.
const THICKEST: f64 = 8.0;

/// Writes a graph in DOT.
pub fn write(graph: &WeightedGraph, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    for comment in graph.comment_lines() {
        writeln!(out, "// {comment}")?;
    }
    writeln!(out, "graph communication {{\n  node [shape=circle];")?;
    for (vertex, weight) in graph.vertex_weights.iter().enumerate() {
        writeln!(out, "  {vertex} [tooltip=\"{weight}\"];")?;
    }
    let heaviest = graph.edges.iter().map(|e| e.weight).max().unwrap_or(1).max(1) as f64;
    for edge in &graph.edges {
        let width = 1.0 + (THICKEST - 1.0) * edge.weight as f64 / heaviest;
        let [a, b] = edge.endpoints;
        writeln!(out, "  {a} -- {b} [label=\"{}\", penwidth={width:.1}];", edge.weight)?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WeightedEdge;

    #[test]
    fn heavier_edges_are_thicker() {
        let edges = vec![WeightedEdge { endpoints: [0, 1], weight: 50 }, WeightedEdge { endpoints: [1, 2], weight: 100 }];
        let graph = WeightedGraph { comments: vec!["weights are bytes".into()], vertex_weights: vec![7, 8, 9], edges };
        let mut out = Vec::new();
        write(&graph, &mut out).unwrap();
        let expected = "\
// weights are bytes
graph communication {
  node [shape=circle];
  0 [tooltip=\"7\"];
  1 [tooltip=\"8\"];
  2 [tooltip=\"9\"];
  0 -- 1 [label=\"50\", penwidth=4.5];
  1 -- 2 [label=\"100\", penwidth=8.0];
}
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
