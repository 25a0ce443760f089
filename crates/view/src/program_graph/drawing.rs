//! Labels and symbols of the program graph.

use sintonia_insight::SourceLocation;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_plot::program_graph::{
    GraphDrawing, LaneLoop, LaneMessage, LaneNode, LanePath, NodeStage, NodeSymbol, OperationNode, PathComputation, RoleLane,
};
use sintonia_program::graph::{self, DurationStats, NodeVisits, ProgramGraph, RoleSegment, TripCounts};
use sintonia_recording::Recording;
use sintonia_text::layout::truncate_end;
use sintonia_text::quantity::{format_bytes, format_count, format_plural, format_seconds};
use sintonia_text::rank_list::format_rank_list;

/// Computation with less than this share of a role's time is drawn only as an arrow.
const MIN_BOX_SHARE: f64 = 0.001;
/// Longer names of functions are cut.
const MAX_FUNCTION_NAME: usize = 24;

/// The drawing of a program graph.
pub fn build_drawing(graph: &ProgramGraph, recording: &Recording, title: String) -> GraphDrawing {
    let sent: u64 = graph.messages.iter().map(|edge| edge.messages).sum();
    let message = |edge: &graph::MessageEdge| LaneMessage {
        from: edge.from,
        to: edge.to,
        note: format!("{} × {}", format_count(edge.messages), format_bytes(edge.bytes / edge.messages.max(1))),
        share: edge.messages as f64 / sent.max(1) as f64,
    };
    GraphDrawing {
        title,
        notes: graph_notes(graph),
        nodes: graph.nodes.iter().map(|node| drawing_node(node, recording)).collect(),
        lanes: graph.roles.iter().map(|role| role_lane(role, graph)).collect(),
        messages: graph.messages.iter().map(message).collect(),
        collectives: graph.collective_sets.clone(),
        min_box_share: MIN_BOX_SHARE,
    }
}

/// Notes on the graph as a whole.
pub fn graph_notes(graph: &ProgramGraph) -> Vec<String> {
    let ranks: usize = graph.roles.iter().map(|role| role.ranks.len()).sum();
    let roles = format_plural(graph.roles.len() as u64, "role");
    let mut notes = vec![format!("{} in {roles}; counts and times are means per rank of a role", format_plural(ranks as u64, "rank"))];
    for (messages, what) in
        [(graph.unmatched_sends, "sent but not received"), (graph.unmatched_receives, "received without a recorded send")]
    {
        if messages > 0 {
            notes.push(format!("{} {what}", format_plural(messages, "message")));
        }
    }
    notes
}

fn drawing_node(node: &graph::ProgramNode, recording: &Recording) -> OperationNode {
    let (symbol, stage) = symbol_and_stage(node);
    let name = node.operation.name();
    let line = SourceLocation::from_site(recording.site(node.site)).line;
    let short = line.map_or(name.into(), |line| format!("line {line}"));
    OperationNode { symbol, stage, name: name.into(), source: node_location(node, recording), short }
}

/// The source location of a node, and its function.
pub fn node_location(node: &graph::ProgramNode, recording: &Recording) -> String {
    let location = SourceLocation::of(recording, node.site);
    let line = location.line_only();
    match (&location.function, location.line) {
        (Some(function), Some(_)) if location.callers.is_empty() => format!("{line} {function}"),
        (Some(function), Some(_)) => format!("{line} {function} < {}", location.callers.join(" < ")),
        _ => location.to_string(),
    }
}

/// The symbol of an operation; that of a completion follows from the completed requests.
pub(super) fn symbol_and_stage(node: &graph::ProgramNode) -> (NodeSymbol, NodeStage) {
    let (does, mode, came) = (node.operation.role(), node.operation.definition().mode, node.effects);
    let symbol = match does {
        FunctionRole::Send | FunctionRole::Put => NodeSymbol::Send,
        FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::Get => NodeSymbol::Receive,
        FunctionRole::SendReceive | FunctionRole::Exchange => NodeSymbol::Exchange,
        FunctionRole::Collective(_) => NodeSymbol::Collective,
        _ if came.sends && came.receives => NodeSymbol::Exchange,
        _ if came.sends => NodeSymbol::Send,
        _ if came.receives => NodeSymbol::Receive,
        _ if came.joins => NodeSymbol::Collective,
        _ => NodeSymbol::Other,
    };
    let stage = match does {
        FunctionRole::Start | FunctionRole::StartAll => NodeStage::Begin,
        FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => NodeStage::End,
        _ if mode != BlockingMode::Blocking => NodeStage::Begin,
        _ => NodeStage::Whole,
    };
    (symbol, stage)
}

fn role_lane(role: &graph::ProgramRole, graph: &ProgramGraph) -> RoleLane {
    let share = |times: &DurationStats| times.total_ns as f64 / role.threads_ns.max(1) as f64;
    let ranks = role.ranks.len() as u64;
    let step = |(node, visit): &(usize, NodeVisits)| LaneNode {
        node: *node,
        note: format!("{} · {}", count_and_mean(&visit.calls, ranks), precise_percent(share(&visit.calls))),
        details: visit_details(visit),
    };
    let path = |segment: &RoleSegment| {
        let times = &segment.times;
        let function = graph.segment_function(segment.from, segment.to).map(|name| format!("{} · ", truncate_end(name, MAX_FUNCTION_NAME)));
        let time = format_seconds(times.total_s() / ranks as f64);
        let work = PathComputation {
            share: share(times),
            note: format!("{}{} · {time}", function.unwrap_or_default(), precise_percent(share(times))),
            per_iteration: count_mean_and_deviation(times, ranks),
        };
        LanePath {
            from: segment.from,
            to: segment.to,
            computation: (work.share >= MIN_BOX_SHARE).then_some(work),
            details: time_details(times),
        }
    };
    let in_lane = |number: usize| graph.loops[number].nodes.iter().copied().filter(|node| role_visits(role, *node)).collect();
    let went_round = role.trip_counts.iter().filter(|(_, rounds)| rounds.max > 1);
    RoleLane {
        name: role.name.clone(),
        note: role_ranks(role),
        steps: role.visits.iter().map(step).collect(),
        paths: role.segments.iter().map(path).collect(),
        loops: went_round.map(|(number, rounds)| LaneLoop { nodes: in_lane(*number), note: iterations_note(rounds, ranks) }).collect(),
    }
}

fn role_visits(role: &graph::ProgramRole, node: usize) -> bool {
    role.visits.binary_search_by_key(&node, |(node, _)| *node).is_ok()
}

/// The ranks of a role, unless its name says it.
pub fn role_ranks(role: &graph::ProgramRole) -> String {
    let (number, named) = (role.ranks.len() as u64, role.name.starts_with("rank"));
    match number {
        1 if named => String::new(),
        1 => format!("rank {}", role.ranks[0]),
        _ if named => format_plural(number, "rank"),
        _ => format!("{}: {}", format_plural(number, "rank"), format_rank_list(&role.ranks)),
    }
}

/// Count per rank, and mean duration.
fn count_and_mean(times: &DurationStats, ranks: u64) -> String {
    format!("{} × {}", per_rank(times.count, ranks), format_seconds(times.mean_s()))
}

fn count_mean_and_deviation(times: &DurationStats, ranks: u64) -> String {
    let around = if times.count > 1 { format!(" ± {}", format_seconds(times.std_dev_s())) } else { String::new() };
    count_and_mean(times, ranks) + around.as_str()
}

/// Mean count per rank.
pub fn per_rank(number: u64, ranks: u64) -> String {
    let ranks = ranks.max(1);
    let mean = number as f64 / ranks as f64;
    if number.is_multiple_of(ranks) || mean >= 100.0 { format_count(mean.round() as u64) } else { format!("{mean:.1}") }
}

/// The number of iterations of a loop.
pub fn iterations_note(rounds: &TripCounts, ranks: u64) -> String {
    let round = if rounds.min == rounds.max {
        format!("× {}", format_count(rounds.max))
    } else {
        format!("× {} to {}, mean {:.1}", format_count(rounds.min), format_count(rounds.max), rounds.mean())
    };
    if rounds.entries > ranks { format!("{round}, entered {} times", per_rank(rounds.entries, ranks)) } else { round }
}

/// A percentage, with one more digit if small.
pub fn precise_percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        percent if percent < 0.1 => "<0.1 %".into(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

fn time_details(times: &DurationStats) -> String {
    let [total, mean, deviation] = [times.total_s(), times.mean_s(), times.std_dev_s()].map(format_seconds);
    let [least, most] = [times.min_s(), times.max_s()].map(format_seconds);
    format!("{} times on all ranks, {total} in total, {mean} ± {deviation} each, from {least} to {most}", format_count(times.count))
}

fn visit_details(visit: &NodeVisits) -> String {
    let mut lines = vec![time_details(&visit.calls)];
    for (number, what) in [(visit.sent, "sent"), (visit.received, "received")] {
        if number > 0 {
            lines.push(format!("{} {what}", format_bytes(number)));
        }
    }
    for (number, what) in [(visit.unsuccessful, "found nothing"), (visit.proc_null, "with MPI_PROC_NULL")] {
        if number > 0 {
            lines.push(format!("{} {what}", format_plural(number, "call")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;
    use sintonia_program::graph::NodeEffects;

    #[test]
    fn a_wait_looks_like_what_it_completed() {
        let look = |name: &str, outcome| {
            symbol_and_stage(&graph::ProgramNode { operation: FunctionId::from_name(name).unwrap(), site: 0, effects: outcome })
        };
        let none = NodeEffects::default();
        assert_eq!(look("MPI_Send", none), (NodeSymbol::Send, NodeStage::Whole));
        assert_eq!(look("MPI_Irecv", none), (NodeSymbol::Receive, NodeStage::Begin));
        assert_eq!(look("MPI_Waitall", NodeEffects { sends: true, receives: true, ..none }), (NodeSymbol::Exchange, NodeStage::End));
        assert_eq!(look("MPI_Wait", NodeEffects { joins: true, ..none }), (NodeSymbol::Collective, NodeStage::End));
        assert_eq!(look("MPI_Start", NodeEffects { sends: true, ..none }), (NodeSymbol::Send, NodeStage::Begin));
        assert_eq!(look("MPI_Comm_free", none), (NodeSymbol::Other, NodeStage::Whole));
    }

    #[test]
    fn ranks_are_not_said_twice() {
        let label = |name: &str, ranks: &[u32]| {
            role_ranks(&graph::ProgramRole { name: name.into(), ranks: ranks.to_vec(), ..graph::ProgramRole::default() })
        };
        assert_eq!([label("master", &[0]), label("workers", &[1, 2, 3])], ["rank 0", "3 ranks: 1-3"]);
        assert_eq!([label("rank 4", &[4]), label("ranks 1-2", &[1, 2])], ["", "2 ranks"]);
    }

    #[test]
    fn rounds_say_how_much_they_differ() {
        assert_eq!(iterations_note(&TripCounts { entries: 4, total: 2000, min: 500, max: 500 }, 4), "× 500");
        assert_eq!(iterations_note(&TripCounts { entries: 40, total: 100, min: 2, max: 3 }, 4), "× 2 to 3, mean 2.5, entered 10 times");
    }

    #[test]
    fn what_some_ranks_do_is_not_shown_as_nothing() {
        assert_eq!([(6, 3), (1, 3), (1000, 3)].map(|(number, ranks)| per_rank(number, ranks)), ["2", "0.3", "333"]);
    }

    #[test]
    fn small_shares_are_told_apart() {
        assert_eq!([0.0, 0.0001, 0.012, 0.5].map(precise_percent), ["0 %", "<0.1 %", "1.2 %", "50 %"]);
    }
}
