//! The program graph as JSON.

use serde_json::{Value, json};
use sintonia_insight::SourceLocation;
use sintonia_plot::program_graph::{NodeStage, NodeSymbol};
use sintonia_program::graph::{
    DurationStats, FoldedGraph, FoldedRole, GraphItem, ItemVisits, NodeVisits, PhaseTree, ProgramGraph, ProgramNode, ProgramRole,
    ProgramScope,
};
use sintonia_recording::Recording;

use super::drawing;
use super::scope_labels::scope_label;

/// The graph.
pub fn graph_json(graph: &ProgramGraph, recording: &Recording) -> Value {
    let messages = graph.messages.iter().map(|edge| {
        let [from, to] = [edge.from, edge.to].map(|(role, node)| json!({"role": role, "node": node}));
        json!({"from": from, "to": to, "messages": edge.messages, "bytes": edge.bytes})
    });
    let loops = graph
        .loops
        .iter()
        .map(|one| json!({"header": one.header, "other_entries": one.other_entries, "parent": one.parent, "nodes": one.nodes}));
    let completions = graph.completions.iter().map(|one| json!({"begin": one.begin_node, "end": one.end_node, "count": one.count}));
    json!({
        "command": recording.header.command,
        "ranks": recording.header.size,
        "nodes": graph.nodes.iter().map(|node| node_json(node, recording)).collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
        "roles": graph.roles.iter().map(|role| role_json(role, graph)).collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
        "not_received": graph.unmatched_sends,
        "not_sent": graph.unmatched_receives,
        "one_operation": graph.collective_sets,
        "completions": completions.collect::<Vec<_>>(),
        "phases": phases_json(&graph.phases),
        "scopes": graph.scopes.list.iter().map(scope_json).collect::<Vec<_>>(),
    })
}

/// The graph with sums over what is folded.
pub fn folded_json(folded: &FoldedGraph, recording: &Recording) -> Value {
    let item = |item: &GraphItem| match item {
        GraphItem::Node(node) => json!({"node": node}),
        GraphItem::Scope(scope) => json!({"scope": scope, "label": scope_label(folded.graph, *scope)}),
    };
    let visit = |(item, visits): &(usize, ItemVisits)| {
        json!({
            "item": item, "calls": visits.calls.count, "calls_s": visits.calls.total_s(), "compute_s": visits.compute_ns as f64 * 1e-9,
            "messages": visits.messages,
        })
    };
    let role = |role: &FoldedRole| {
        let segments = role.segments.iter().map(|segment| {
            let mut object = times_json(&segment.times);
            object["from"] = json!(segment.from);
            object["to"] = json!(segment.to);
            object
        });
        json!({"items": role.visits.iter().map(visit).collect::<Vec<_>>(), "segments": segments.collect::<Vec<_>>()})
    };
    let messages = folded.messages.iter().map(|edge| {
        let [from, to] = [edge.from, edge.to].map(|(role, item)| json!({"role": role, "item": item}));
        json!({"from": from, "to": to, "messages": edge.messages, "bytes": edge.bytes})
    });
    let mut object = graph_json(folded.graph, recording);
    object["folded"] = json!({
        "items": folded.items.iter().map(item).collect::<Vec<_>>(),
        "roles": folded.roles.iter().map(role).collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
    });
    object
}

fn scope_json(scope: &ProgramScope) -> Value {
    json!({
        "parent": scope.parent, "phase": scope.phase, "function": scope.function, "file": scope.file,
        "first_line": scope.lines.map(|lines| lines.0), "last_line": scope.lines.map(|lines| lines.1),
        "loops": scope.loops, "nodes": scope.nodes,
    })
}

fn node_json(node: &ProgramNode, recording: &Recording) -> Value {
    let (symbol, stage) = drawing::symbol_and_stage(node);
    let symbol = match symbol {
        NodeSymbol::Send => "send",
        NodeSymbol::Receive => "receive",
        NodeSymbol::Exchange => "exchange",
        NodeSymbol::Collective => "group",
        NodeSymbol::Other | NodeSymbol::Folded => "other",
    };
    let stage = match stage {
        NodeStage::Whole => "whole",
        NodeStage::Begin => "begin",
        NodeStage::End => "end",
    };
    let location = SourceLocation::of(recording, node.site);
    json!({
        "operation": node.operation.name(), "does": symbol, "stage": stage,
        "file": location.file, "line": location.line, "function": location.function, "module": location.module, "callers": location.callers,
    })
}

fn role_json(role: &ProgramRole, graph: &ProgramGraph) -> Value {
    let node = |(node, visit): &(usize, NodeVisits)| {
        let mut object = times_json(&visit.calls);
        object["node"] = json!(node);
        object["bytes_sent"] = json!(visit.sent);
        object["bytes_received"] = json!(visit.received);
        object["found_nothing"] = json!(visit.unsuccessful);
        object["proc_null"] = json!(visit.proc_null);
        object
    };
    let segments = role.segments.iter().map(|segment| {
        let mut object = times_json(&segment.times);
        object["from"] = json!(segment.from);
        object["to"] = json!(segment.to);
        object["function"] = json!(graph.segment_function(segment.from, segment.to));
        object
    });
    let loops = role.trip_counts.iter().map(|(number, rounds)| {
        json!({
            "loop": number, "entries": rounds.entries, "iterations": rounds.total,
            "least": rounds.min, "mean": rounds.mean(), "most": rounds.max,
        })
    });
    json!({
        "name": role.name, "ranks": role.ranks, "elapsed_s": role.elapsed_ns as f64 * 1e-9,
        "nodes": role.visits.iter().map(node).collect::<Vec<_>>(),
        "segments": segments.collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
    })
}

fn times_json(times: &DurationStats) -> Value {
    json!({
        "count": times.count, "total_s": times.total_s(), "least_s": times.min_s(), "most_s": times.max_s(),
        "mean_s": times.mean_s(), "deviation_s": times.std_dev_s(),
    })
}

fn phases_json(phases: &PhaseTree) -> Vec<Value> {
    let seconds = |ns: i64| ns as f64 * 1e-9;
    let phase = |(number, phase): (usize, &sintonia_program::graph::ProgramPhase)| {
        let ranks = phases.ranks.iter().map(|(rank, times)| (rank, &times[number])).filter(|(_, time)| time.calls > 0);
        let ranks = ranks.map(|(rank, time)| {
            let mut json = json!({
                "rank": rank, "begin_s": seconds(time.begin_ns), "end_s": seconds(time.end_ns),
                "elapsed_s": seconds(time.elapsed_ns as i64), "outside_s": seconds(time.compute_ns as i64), "calls": time.calls,
            });
            if time.no_core_ns > 0 {
                json["no_core_s"] = seconds(time.no_core_ns as i64).into();
            }
            json
        });
        json!({
            "name": phase.name, "parent": phase.parent, "repeats": phase.repeats, "nodes": phase.nodes,
            "ranks": ranks.collect::<Vec<_>>(),
        })
    };
    phases.list.iter().enumerate().map(phase).collect()
}
