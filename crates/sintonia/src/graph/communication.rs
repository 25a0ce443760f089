//! The communication graph in the formats it is written in.

use std::io::{self, Write};

use serde_json::json;
use sintonia_formats::{Edge, Graph};
use sintonia_program::CommunicationGraph;

use super::Weight;
use crate::output;

/// The graph with one weight per edge, and comments that say what it is.
pub fn weighted(graph: &CommunicationGraph, title: &str, weight: Weight) -> Graph {
    let what = match weight {
        Weight::Bytes => "bytes",
        Weight::Messages => "messages",
    };
    let counted = match graph.collectives {
        Some(_) => "messages: point to point, one-sided, and those that usual algorithms send for collectives:",
        None => "messages: point to point and one-sided; collectives are left out",
    };
    let mut comments = vec![
        format!("communication graph of {title}"),
        "vertex: a rank (the first one is rank 0); its weight: microseconds outside MPI, at least 1".into(),
        format!("edge: two ranks that communicate; its weight: {what} in both directions, at least 1"),
        counted.into(),
    ];
    comments.extend(graph.collectives.into_iter().flatten().map(|algorithms| format!("  {algorithms}")));
    comments.extend(graph.left_out.sentences().map(String::from));
    if graph.edges.is_empty() {
        comments.push("no two ranks communicate, so there is nothing to partition: METIS refuses a graph without edges".into());
    }
    let edge = |edge: &sintonia_program::Edge| {
        let weight = if weight == Weight::Bytes { edge.bytes } else { edge.messages };
        Edge { ends: edge.ranks, weight: weight.max(1) }
    };
    Graph { comments, vertices: graph.compute_us.clone(), edges: graph.edges.iter().map(edge).collect() }
}

/// The graph as JSON.
pub fn write_json(graph: &CommunicationGraph, out: &mut dyn Write) -> io::Result<()> {
    let vertices = graph.compute_us.iter().enumerate().map(|(rank, compute_us)| json!({"rank": rank, "compute_us": compute_us}));
    let edges = graph.edges.iter().map(|e| json!({"ranks": e.ranks, "bytes": e.bytes, "messages": e.messages}));
    let object = json!({
        "ranks": graph.compute_us.len(),
        "vertices": vertices.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "collectives": graph.collectives,
        "left_out": graph.left_out.sentences().collect::<Vec<_>>(),
    });
    output::json_line(out, &object)
}
