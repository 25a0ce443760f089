//! Labels and symbols of the program graph.

use std::collections::BTreeMap;

use sintonia_insight::SourceLocation;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_plot::program_graph::{
    GraphDrawing, LaneMessage, LaneNode, LanePath, LaneScope, NodeStage, NodeSymbol, OperationNode, PathComputation, RoleLane,
};
use sintonia_program::graph::{
    self, DurationStats, FoldedGraph, GraphItem, ItemVisits, NodeVisits, ProgramGraph, ProgramScope, RoleSegment,
};
use sintonia_recording::Recording;
use sintonia_text::function_name::short_function_name;
use sintonia_text::quantity::{format_bytes, format_count, format_plural, format_seconds};
use sintonia_text::rank_list::format_rank_list;

use super::scope_labels::{contents, folded_loops, loop_note, per_rank, scope_iterations, scope_label, scope_name};

/// Computation with less than this share of a role's time is drawn only as an arrow.
const MIN_BOX_SHARE: f64 = 0.001;

/// The drawing of a program graph, folded or not.
pub fn build_drawing(folded: &FoldedGraph, recording: &Recording, title: String) -> GraphDrawing {
    let sent: u64 = folded.messages.iter().map(|edge| edge.messages).sum();
    let message = |edge: &graph::MessageEdge| LaneMessage {
        from: edge.from,
        to: edge.to,
        note: format!("{} × {}", format_count(edge.messages), format_bytes(edge.bytes / edge.messages.max(1))),
        share: edge.messages as f64 / sent.max(1) as f64,
    };
    let item = |item: &GraphItem| match item {
        GraphItem::Node(node) => drawing_node(&folded.graph.nodes[*node], recording),
        GraphItem::Scope(scope) => drawing_scope(folded.graph, *scope),
    };
    GraphDrawing {
        title,
        notes: graph_notes(folded.graph).into_iter().chain(depth_note(folded)).collect(),
        nodes: folded.items.iter().map(item).collect(),
        lanes: (0..folded.roles.len()).map(|role| role_lane(folded, role)).collect(),
        messages: folded.messages.iter().map(message).collect(),
        collectives: folded.collective_sets.clone(),
        min_box_share: MIN_BOX_SHARE,
    }
}

/// What is folded, if anything is.
pub fn depth_note(folded: &FoldedGraph) -> Option<String> {
    let shown = folded.items.iter().filter(|item| matches!(item, GraphItem::Node(_))).count();
    let (hidden, deepest) = (folded.graph.nodes.len() - shown, folded.graph.scopes.max_depth());
    let many = format_plural(hidden as u64, "operation");
    (hidden > 0).then(|| format!("{many} of {} folded into functions and loops; --depth {deepest} shows all", folded.graph.nodes.len()))
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
    OperationNode { symbol, stage, name: name.into(), source: node_location(node, recording), short, scope: None }
}

fn drawing_scope(graph: &ProgramGraph, number: usize) -> OperationNode {
    OperationNode {
        symbol: NodeSymbol::Folded,
        stage: NodeStage::Whole,
        name: scope_label(graph, number),
        source: contents(graph, number).unwrap_or_default(),
        short: scope_name(graph, number),
        scope: Some(number),
    }
}

/// The function of a node and its source location.
pub fn node_location(node: &graph::ProgramNode, recording: &Recording) -> String {
    let location = SourceLocation::of(recording, node.site);
    let line = location.line_only();
    match (location.function.as_deref().map(short_function_name), location.line) {
        (Some(function), Some(_)) if location.callers.is_empty() => format!("{function} {line}"),
        (Some(function), Some(_)) => format!("{function} {line} < {}", location.callers.join(" < ")),
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

fn role_lane(folded: &FoldedGraph, number: usize) -> RoleLane {
    let (graph, role) = (folded.graph, &folded.graph.roles[number]);
    let share = |ns: u64| ns as f64 / role.threads_ns.max(1) as f64;
    let ranks = role.ranks.len() as u64;
    let step = |(item, visits): &(usize, ItemVisits)| match folded.items[*item] {
        GraphItem::Node(node) => LaneNode {
            node: *item,
            note: format!("{} · {}", count_and_mean(&visits.calls, ranks), precise_percent(share(visits.calls.total_ns))),
            more: String::new(),
            details: role_visit(role, node).map_or(String::new(), visit_details),
        },
        GraphItem::Scope(scope) => LaneNode {
            node: *item,
            note: precise_percent(share(visits.elapsed_ns())),
            more: folded_note(graph, role, &graph.scopes.list[scope], visits),
            details: folded_details(visits),
        },
    };
    let functions = segment_functions(folded, role);
    let path = |segment: &RoleSegment| {
        let times = &segment.times;
        let function = functions.get(&(segment.from, segment.to)).map(|(_, name)| (*name).to_owned());
        let time = format_seconds(times.total_s() / ranks as f64);
        let work = PathComputation {
            share: share(times.total_ns),
            function: function.unwrap_or_default(),
            note: format!("{} · {time}", precise_percent(share(times.total_ns))),
            per_iteration: count_mean_and_deviation(times, ranks),
        };
        LanePath {
            from: segment.from,
            to: segment.to,
            computation: (work.share >= MIN_BOX_SHARE).then_some(work),
            details: time_details(times),
        }
    };
    RoleLane {
        name: role.name.clone(),
        note: role_ranks(role),
        steps: folded.roles[number].visits.iter().map(step).collect(),
        paths: folded.roles[number].segments.iter().map(path).collect(),
        scopes: lane_scopes(folded, number),
    }
}

/// The open scopes of a role, and its loops that are no scopes: those of a single node, or of the whole program.
fn lane_scopes(folded: &FoldedGraph, number: usize) -> Vec<LaneScope> {
    let (graph, role) = (folded.graph, &folded.graph.roles[number]);
    let visited = |nodes: &[usize]| -> Vec<usize> {
        let visits = &folded.roles[number].visits;
        let is_visited = |item: &usize| visits.binary_search_by_key(item, |(item, _)| *item).is_ok();
        folded.items_of(nodes).into_iter().filter(is_visited).collect()
    };
    let open = folded.open.iter().map(|scope| (*scope, &graph.scopes.list[*scope]));
    let scopes = open.map(|(index, scope)| LaneScope {
        nodes: visited(&scope.nodes),
        name: scope_label(graph, index),
        iterations: scope_iterations(role, scope),
        scope: Some(index),
    });
    let is_scope = |number: &usize| graph.scopes.list.iter().any(|scope| scope.loops.contains(number));
    let others = (0..graph.loops.len()).filter(|number| !is_scope(number)).filter_map(|number| {
        let iterations = loop_note(role, number)?;
        Some(LaneScope { nodes: visited(&graph.loops[number].nodes), iterations, ..LaneScope::default() })
    });
    let is_node = |item: &usize| matches!(folded.items[*item], GraphItem::Node(_));
    let (single, whole): (Vec<LaneScope>, Vec<LaneScope>) = others.partition(|one| one.nodes.len() == 1);
    let single = single.into_iter().filter(|one| one.nodes.iter().all(is_node));
    whole.into_iter().chain(scopes).chain(single).filter(|scope| !scope.nodes.is_empty()).collect()
}

/// The function that took most of each computation between two items, and its time.
pub fn segment_functions<'a>(folded: &FoldedGraph<'a>, role: &graph::ProgramRole) -> BTreeMap<(usize, usize), (u64, &'a str)> {
    let mut functions: BTreeMap<(usize, usize), (u64, &str)> = BTreeMap::new();
    for segment in &role.segments {
        let Some(function) = folded.graph.segment_function(segment.from, segment.to) else { continue };
        let longest = functions.entry((folded.item_of(segment.from), folded.item_of(segment.to))).or_default();
        *longest = (*longest).max((segment.times.total_ns, function));
    }
    functions
}

/// What is said of a folded scope in a role: loops, calls and messages.
pub fn folded_note(graph: &ProgramGraph, role: &graph::ProgramRole, scope: &ProgramScope, visits: &ItemVisits) -> String {
    let ranks = role.ranks.len() as u64;
    let amounts = [(visits.calls.count, "call"), (visits.messages, "message")].into_iter().filter(|(count, _)| *count > 0);
    let amounts = amounts.map(|(count, what)| format!("{} {what}{}", per_rank(count, ranks), if count == ranks { "" } else { "s" }));
    folded_loops(graph, role, scope).into_iter().chain(amounts).collect::<Vec<_>>().join(" · ")
}

fn folded_details(visits: &ItemVisits) -> String {
    let computation = format_seconds(visits.compute_ns as f64 * 1e-9);
    format!("calls: {}\ncomputation between them: {computation} in total", time_details(&visits.calls))
}

fn role_visit(role: &graph::ProgramRole, node: usize) -> Option<&NodeVisits> {
    role.visits.binary_search_by_key(&node, |(node, _)| *node).ok().map(|index| &role.visits[index].1)
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
    fn small_shares_are_told_apart() {
        assert_eq!([0.0, 0.0001, 0.012, 0.5].map(precise_percent), ["0 %", "<0.1 %", "1.2 %", "50 %"]);
    }
}
