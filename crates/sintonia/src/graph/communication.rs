//! The communication graph in its output formats.

use std::io::{self, Write};

use serde_json::json;
use sintonia_formats::{WeightedEdge, WeightedGraph};
use sintonia_program::CommunicationGraph;

use super::EdgeWeight;
use crate::output;

/// The graph with one weight per edge, and comments that describe it.
pub(super) fn weighted_graph(graph: &CommunicationGraph, title: &str, weight: EdgeWeight) -> WeightedGraph {
    let what = match weight {
        EdgeWeight::Bytes => "bytes",
        EdgeWeight::Messages => "messages",
    };
    let counted = match graph.collectives {
        Some(_) => "messages: point-to-point, one-sided, and those of collectives:",
        None => "messages: point-to-point and one-sided; collectives are left out",
    };
    let mut comments = vec![
        format!("communication graph of {title}"),
        "vertex: a rank (the first one is rank 0); weight: microseconds of computation, at least 1".into(),
        format!("edge: two ranks that communicate; weight: {what} in both directions, at least 1"),
        counted.into(),
    ];
    comments.extend(graph.collectives.into_iter().flatten().map(|algorithms| format!("  {algorithms}")));
    comments.extend(graph.omitted.notes().map(String::from));
    if graph.edges.is_empty() {
        comments.push("no ranks communicate, so there is nothing to partition: METIS rejects a graph without edges".into());
    }
    let edge = |edge: &sintonia_program::CommEdge| {
        let weight = if weight == EdgeWeight::Bytes { edge.bytes } else { edge.messages };
        WeightedEdge { endpoints: edge.ranks, weight: weight.max(1) }
    };
    WeightedGraph { comments, vertex_weights: graph.compute_us.clone(), edges: graph.edges.iter().map(edge).collect() }
}

/// The graph as JSON.
pub(super) fn write_json(graph: &CommunicationGraph, out: &mut dyn Write) -> io::Result<()> {
    let vertices = graph.compute_us.iter().enumerate().map(|(rank, compute_us)| json!({"rank": rank, "compute_us": compute_us}));
    let edges = graph.edges.iter().map(|e| json!({"ranks": e.ranks, "bytes": e.bytes, "messages": e.messages}));
    let object = json!({
        "ranks": graph.compute_us.len(),
        "vertices": vertices.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "collectives": graph.collectives,
        "left_out": graph.omitted.notes().collect::<Vec<_>>(),
    });
    output::write_json_line(out, &object)
}
