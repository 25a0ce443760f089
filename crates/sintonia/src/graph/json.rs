//! The program graph as JSON: everything that is known of it, for programs.

use serde_json::{Value, json};
use sintonia_formats::program_graph::{Stage, Symbol};
use sintonia_insight::Place;
use sintonia_program::graph::{Node, Phases, ProgramGraph, Role, Times, Visit};
use sintonia_recording::Recording;

use super::drawing;

/// The graph.
pub fn value(graph: &ProgramGraph, recording: &Recording) -> Value {
    let messages = graph.messages.iter().map(|edge| {
        let [from, to] = [edge.from, edge.to].map(|(role, node)| json!({"role": role, "node": node}));
        json!({"from": from, "to": to, "messages": edge.messages, "bytes": edge.bytes})
    });
    let loops = graph.loops.iter().map(|one| json!({"header": one.header, "parent": one.parent, "nodes": one.nodes}));
    let completions = graph.completions.iter().map(|one| json!({"begin": one.beginning, "end": one.end, "count": one.count}));
    json!({
        "command": recording.header.command,
        "ranks": recording.header.size,
        "nodes": graph.nodes.iter().map(|node| node_object(node, recording)).collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
        "roles": graph.roles.iter().map(role).collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
        "not_received": graph.not_received,
        "not_sent": graph.not_sent,
        "one_operation": graph.together,
        "completions": completions.collect::<Vec<_>>(),
        "phases": phases(&graph.phases),
    })
}

fn node_object(node: &Node, recording: &Recording) -> Value {
    let (symbol, stage) = drawing::look(node);
    let symbol = match symbol {
        Symbol::Send => "send",
        Symbol::Receive => "receive",
        Symbol::Exchange => "exchange",
        Symbol::Group => "group",
        Symbol::Other => "other",
    };
    let stage = match stage {
        Stage::Whole => "whole",
        Stage::Begin => "begin",
        Stage::End => "end",
    };
    let place = Place::of(recording.site(node.site));
    json!({
        "operation": node.operation.name(), "does": symbol, "stage": stage,
        "file": place.file, "line": place.line, "function": place.function, "module": place.module,
    })
}

fn role(role: &Role) -> Value {
    let node = |(node, visit): &(usize, Visit)| {
        let mut object = times(&visit.calls);
        object["node"] = json!(node);
        object["bytes_sent"] = json!(visit.sent);
        object["bytes_received"] = json!(visit.received);
        object["found_nothing"] = json!(visit.in_vain);
        object["proc_null"] = json!(visit.nobody);
        object
    };
    let segments = role.segments.iter().map(|segment| {
        let mut object = times(&segment.times);
        object["from"] = json!(segment.from);
        object["to"] = json!(segment.to);
        object
    });
    let loops = role.rounds.iter().map(|(number, rounds)| {
        json!({
            "loop": number, "entries": rounds.entries, "iterations": rounds.total,
            "least": rounds.least, "mean": rounds.mean(), "most": rounds.most,
        })
    });
    json!({
        "name": role.name, "ranks": role.ranks, "elapsed_s": role.elapsed_ns as f64 * 1e-9,
        "nodes": role.visits.iter().map(node).collect::<Vec<_>>(),
        "segments": segments.collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
    })
}

fn times(times: &Times) -> Value {
    json!({
        "count": times.count, "total_s": times.total_s(), "least_s": times.least_s(), "most_s": times.most_s(),
        "mean_s": times.mean_s(), "deviation_s": times.deviation_s(),
    })
}

fn phases(phases: &Phases) -> Vec<Value> {
    let seconds = |ns: i64| ns as f64 * 1e-9;
    let phase = |(number, phase): (usize, &sintonia_program::graph::Phase)| {
        let ranks = phases.ranks.iter().map(|(rank, times)| (rank, &times[number])).filter(|(_, time)| time.calls > 0);
        let ranks = ranks.map(|(rank, time)| {
            json!({
                "rank": rank, "begin_s": seconds(time.begin_ns), "end_s": seconds(time.end_ns),
                "elapsed_s": seconds(time.elapsed_ns as i64), "outside_s": seconds(time.outside_ns as i64), "calls": time.calls,
            })
        });
        json!({
            "name": phase.name, "parent": phase.parent, "repeats": phase.repeats, "nodes": phase.nodes,
            "ranks": ranks.collect::<Vec<_>>(),
        })
    };
    phases.list.iter().enumerate().map(phase).collect()
}
