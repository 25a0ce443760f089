//! The program graph as text: per role what it does from top to bottom, with the loops as indentation.

use std::io::{self, Write};

use sintonia_program::graph::{ProgramGraph, Role, Segment};
use sintonia_recording::Recording;

use super::drawing::{notes, per_rank, percent, place, ranks_of, rounds_note};
use super::overview;
use crate::text::{bytes, head, plural, seconds};

const COLUMNS: usize = 100;
/// Computation that takes less than this share of a role's time is not worth a line.
const WORTH_A_LINE: f64 = 0.001;
const MESSAGES: usize = 20;

/// Writes the graph, or only its phases.
pub fn write(graph: &ProgramGraph, recording: &Recording, title: &str, only_phases: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![title.to_owned()];
    lines.extend(notes(graph));
    lines.push(String::new());
    lines.extend(phases(graph));
    if !only_phases {
        graph.roles.iter().for_each(|role| lines.extend(role_lines(graph, role, recording)));
        lines.extend(messages(graph, recording));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{}", head(line.trim_end(), COLUMNS)))
}

fn phases(graph: &ProgramGraph) -> Vec<String> {
    let mut lines = vec!["Phases, with the share of each role's time and of that the part outside MPI".to_owned()];
    for row in overview::rows(graph) {
        let name = format!("{}{}", if row.repeats(graph) { "loop " } else { "" }, row.name(graph));
        let cells = graph.roles.iter().map(|role| {
            let spent = row.spent(graph, role);
            let share = spent.elapsed_ns as f64 / role.elapsed_ns.max(1) as f64;
            let outside = spent.outside_ns as f64 / spent.elapsed_ns.max(1) as f64;
            match spent.calls {
                0 => format!("{}: -", role.name),
                _ => format!("{}: {} ({})", role.name, percent(share), percent(outside)),
            }
        });
        let name = format!("{}{name}", "  ".repeat(row.depth));
        lines.push(format!("  {:<46} {}", head(&name, 46), cells.collect::<Vec<_>>().join("  ")));
    }
    lines
}

fn role_lines(graph: &ProgramGraph, role: &Role, recording: &Recording) -> Vec<String> {
    let which = ranks_of(role);
    let title = if which.is_empty() { role.name.clone() } else { format!("{} ({which})", role.name) };
    let mut lines = vec![String::new(), title];
    let ranks = role.ranks.len() as u64;
    let mut open: Vec<usize> = Vec::new();
    for (node, visit) in &role.visits {
        let around = |(number, _): &&(usize, _)| graph.loops[*number].nodes.contains(node);
        let inside: Vec<usize> =
            role.rounds.iter().filter(around).filter(|(_, rounds)| rounds.most > 1).map(|(number, _)| *number).collect();
        let same = open.iter().zip(&inside).take_while(|(open, inside)| open == inside).count();
        open.truncate(same);
        for number in &inside[same..] {
            let rounds = role.rounds.iter().find(|(other, _)| other == number).map(|(_, rounds)| *rounds).unwrap_or_default();
            lines.push(format!("  {}loop {}", "  ".repeat(open.len()), rounds_note(&rounds, ranks)));
            open.push(*number);
        }
        let indent = "  ".repeat(open.len());
        let share = |ns: u64| ns as f64 / role.threads_ns.max(1) as f64;
        let name = format!("{indent}{}", graph.nodes[*node].operation.name());
        let each = format!("{} x {}", per_rank(visit.calls.count, ranks), seconds(visit.calls.mean_s()));
        let at = place(&graph.nodes[*node], recording);
        lines.push(format!("  {name:<32} {each:>20} {:>7}  {at}", percent(share(visit.calls.total_ns))));
        let worth = |segment: &&Segment| segment.from == *node && share(segment.times.total_ns) >= WORTH_A_LINE;
        for segment in role.segments.iter().filter(worth) {
            let each = format!("{} x {}", per_rank(segment.times.count, ranks), seconds(segment.times.mean_s()));
            let to = format!("to {}", place(&graph.nodes[segment.to], recording));
            let name = format!("{indent}[computes]");
            lines.push(format!("  {name:<32} {each:>20} {:>7}  {to}", percent(share(segment.times.total_ns))));
        }
    }
    lines
}

fn messages(graph: &ProgramGraph, recording: &Recording) -> Vec<String> {
    if graph.messages.is_empty() {
        return Vec::new();
    }
    let mut edges: Vec<_> = graph.messages.iter().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.bytes, edge.messages)));
    let shown = if edges.len() > MESSAGES { format!(" ({MESSAGES} of {})", edges.len()) } else { String::new() };
    let mut lines = vec![String::new(), format!("Messages{shown}")];
    for edge in edges.into_iter().take(MESSAGES) {
        let end = |(role, node): (usize, usize)| format!("{} at {}", graph.roles[role].name, place(&graph.nodes[node], recording));
        let amount = format!("{}, {}", plural(edge.messages, "message"), bytes(edge.bytes));
        lines.push(format!("  {amount:<28} {} -> {}", end(edge.from), end(edge.to)));
    }
    lines
}
