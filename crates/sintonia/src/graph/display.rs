//! The program graph as text: what each role does from top to bottom, with loops as indentation.

use std::io::{self, Write};

use sintonia_program::graph::{ProgramGraph, ProgramRole, RoleSegment};
use sintonia_recording::Recording;
use sintonia_view::program_graph::{graph_notes, iterations_note, node_location, per_rank, phase_groups, precise_percent, role_ranks};

use crate::text::{format_bytes, format_plural, format_seconds, truncate_end};

const COLUMNS: usize = 100;
/// Computation with less than this share of a role's time gets no line.
const MIN_LINE_SHARE: f64 = 0.001;
const MAX_MESSAGES: usize = 20;

/// Writes the graph, or only its phases.
pub(super) fn render(graph: &ProgramGraph, recording: &Recording, title: &str, only_phases: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![title.to_owned()];
    lines.extend(graph_notes(graph));
    lines.push(String::new());
    lines.extend(phase_lines(graph));
    if !only_phases {
        graph.roles.iter().for_each(|role| lines.extend(role_lines(graph, role, recording)));
        lines.extend(message_lines(graph, recording));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{}", truncate_end(line.trim_end(), COLUMNS)))
}

fn phase_lines(graph: &ProgramGraph) -> Vec<String> {
    let mut lines = vec!["Phases, with the share of each role's time (and the share of computation in it)".to_owned()];
    for row in phase_groups(graph) {
        let name = format!("{}{}", if row.repeats(graph) { "loop " } else { "" }, row.name(graph));
        let cells = graph.roles.iter().map(|role| {
            let spent = row.role_time(graph, role);
            let share = spent.elapsed_ns as f64 / role.elapsed_ns.max(1) as f64;
            let outside = spent.compute_ns as f64 / spent.elapsed_ns.max(1) as f64;
            match spent.calls {
                0 => format!("{}: -", role.name),
                _ => format!("{}: {} ({})", role.name, precise_percent(share), precise_percent(outside)),
            }
        });
        let name = format!("{}{name}", "  ".repeat(row.depth));
        lines.push(format!("  {:<46} {}", truncate_end(&name, 46), cells.collect::<Vec<_>>().join("  ")));
    }
    lines
}

fn role_lines(graph: &ProgramGraph, role: &ProgramRole, recording: &Recording) -> Vec<String> {
    let which = role_ranks(role);
    let title = if which.is_empty() { role.name.clone() } else { format!("{} ({which})", role.name) };
    let mut lines = vec![String::new(), title];
    let ranks = role.ranks.len() as u64;
    let mut open: Vec<usize> = Vec::new();
    for (node, visit) in &role.visits {
        let around = |(number, _): &&(usize, _)| graph.loops[*number].nodes.contains(node);
        let inside: Vec<usize> =
            role.trip_counts.iter().filter(around).filter(|(_, rounds)| rounds.max > 1).map(|(number, _)| *number).collect();
        let same = open.iter().zip(&inside).take_while(|(open, inside)| open == inside).count();
        open.truncate(same);
        for number in &inside[same..] {
            let rounds = role.trip_counts.iter().find(|(other, _)| other == number).map(|(_, rounds)| *rounds).unwrap_or_default();
            lines.push(format!("  {}loop {}", "  ".repeat(open.len()), iterations_note(&rounds, ranks)));
            open.push(*number);
        }
        let indent = "  ".repeat(open.len());
        let share = |ns: u64| ns as f64 / role.threads_ns.max(1) as f64;
        let name = format!("{indent}{}", graph.nodes[*node].operation.name());
        let each = format!("{} x {}", per_rank(visit.calls.count, ranks), format_seconds(visit.calls.mean_s()));
        let at = node_location(&graph.nodes[*node], recording);
        lines.push(format!("  {name:<32} {each:>20} {:>7}  {at}", precise_percent(share(visit.calls.total_ns))));
        let worth = |segment: &&RoleSegment| segment.from == *node && share(segment.times.total_ns) >= MIN_LINE_SHARE;
        for segment in role.segments.iter().filter(worth) {
            let each = format!("{} x {}", per_rank(segment.times.count, ranks), format_seconds(segment.times.mean_s()));
            let to = format!("to {}", node_location(&graph.nodes[segment.to], recording));
            let name = format!("{indent}[{}]", truncate_end(graph.segment_function(segment.from, segment.to).unwrap_or("computes"), 26));
            lines.push(format!("  {name:<32} {each:>20} {:>7}  {to}", precise_percent(share(segment.times.total_ns))));
        }
    }
    lines
}

fn message_lines(graph: &ProgramGraph, recording: &Recording) -> Vec<String> {
    if graph.messages.is_empty() {
        return Vec::new();
    }
    let mut edges: Vec<_> = graph.messages.iter().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.bytes, edge.messages)));
    let shown = if edges.len() > MAX_MESSAGES { format!(" ({MAX_MESSAGES} of {})", edges.len()) } else { String::new() };
    let mut lines = vec![String::new(), format!("Messages{shown}")];
    for edge in edges.into_iter().take(MAX_MESSAGES) {
        let end = |(role, node): (usize, usize)| format!("{} at {}", graph.roles[role].name, node_location(&graph.nodes[node], recording));
        let amount = format!("{}, {}", format_plural(edge.messages, "message"), format_bytes(edge.bytes));
        lines.push(format!("  {amount:<28} {} -> {}", end(edge.from), end(edge.to)));
    }
    lines
}
