//! The program graph as text: what each role does from top to bottom, with functions and loops as indentation.

use std::collections::BTreeMap;
use std::io::{self, Write};

use sintonia_program::graph::{DurationStats, FoldedGraph, GraphItem, ItemVisits, ProgramGraph, ProgramRole, RoleSegment};
use sintonia_recording::Recording;
use sintonia_view::program_graph::{
    depth_note, folded_note, graph_notes, loop_note, node_location, per_rank, phase_groups, precise_percent, role_ranks, scope_iterations,
    scope_label, segment_functions,
};

use crate::text::{format_bytes, format_plural, format_seconds, truncate_end, truncate_start};

const COLUMNS: usize = 100;
/// Computation with less than this share of a role's time gets no line.
const MIN_LINE_SHARE: f64 = 0.001;
const MAX_MESSAGES: usize = 20;
/// Widths of the columns of a role's table.
const LABEL_WIDTH: usize = 46;
const EACH_WIDTH: usize = 16;
const NOTE_WIDTH: usize = COLUMNS - LABEL_WIDTH - EACH_WIDTH - 13;

/// Writes the graph, or only its phases.
pub(super) fn render(folded: &FoldedGraph, recording: &Recording, title: &str, only_phases: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![title.to_owned()];
    lines.extend(graph_notes(folded.graph));
    lines.extend(depth_note(folded).filter(|_| !only_phases));
    lines.push(String::new());
    lines.extend(phase_lines(folded.graph));
    if !only_phases {
        (0..folded.roles.len()).for_each(|role| lines.extend(RoleText::new(folded, recording, role).lines()));
        lines.extend(message_lines(folded, recording));
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

/// What one role does, line by line.
struct RoleText<'a> {
    folded: &'a FoldedGraph<'a>,
    recording: &'a Recording,
    number: usize,
    role: &'a ProgramRole,
    /// The function of each computation between two items.
    functions: BTreeMap<(usize, usize), (u64, &'a str)>,
}

/// What is around an item: an open scope, or a loop of a single node.
#[derive(Clone, Copy, PartialEq)]
enum EnclosingBlock {
    Scope(usize),
    Loop(usize),
}

impl<'a> RoleText<'a> {
    fn new(folded: &'a FoldedGraph<'a>, recording: &'a Recording, number: usize) -> RoleText<'a> {
        let role = &folded.graph.roles[number];
        RoleText { folded, recording, number, role, functions: segment_functions(folded, role) }
    }

    fn lines(&self) -> Vec<String> {
        let which = role_ranks(self.role);
        let title = if which.is_empty() { self.role.name.clone() } else { format!("{} ({which})", self.role.name) };
        let mut lines = vec![String::new(), title];
        let mut open: Vec<EnclosingBlock> = Vec::new();
        for (item, visits) in &self.folded.roles[self.number].visits {
            let around = self.enclosures(*item);
            let same = open.iter().zip(&around).take_while(|(open, around)| open == around).count();
            lines.extend((same..around.len()).map(|depth| format!("  {}{}", "  ".repeat(depth), self.heading(around[depth]))));
            open = around;
            let indent = "  ".repeat(open.len());
            lines.push(self.item_line(*item, visits, &indent));
            lines.extend(self.segment_lines(*item, &indent));
        }
        lines
    }

    /// What is around an item, outermost first.
    fn enclosures(&self, item: usize) -> Vec<EnclosingBlock> {
        let graph = self.folded.graph;
        let node = self.folded.nodes(item)[0];
        let scope = graph.scopes.innermost[node].into_iter().flat_map(|scope| graph.scopes.enclosing_scopes(scope));
        let mut around: Vec<EnclosingBlock> = scope.filter(|scope| self.folded.open.contains(scope)).map(EnclosingBlock::Scope).collect();
        around.reverse();
        if self.folded.items[item] == GraphItem::Node(node) {
            let is_own = |number: &usize| graph.loops[*number].nodes == [node] && loop_note(self.role, *number).is_some();
            around.extend((0..graph.loops.len()).filter(is_own).map(EnclosingBlock::Loop));
        }
        around
    }

    fn heading(&self, around: EnclosingBlock) -> String {
        match around {
            EnclosingBlock::Loop(number) => format!("loop {}", loop_note(self.role, number).unwrap_or_default()),
            EnclosingBlock::Scope(scope) => {
                let label = scope_label(self.folded.graph, scope);
                match scope_iterations(self.role, &self.folded.graph.scopes.list[scope]).as_str() {
                    "" => label,
                    iterations => format!("loop {iterations}  {label}"),
                }
            }
        }
    }

    fn share(&self, ns: u64) -> String {
        precise_percent(ns as f64 / self.role.threads_ns.max(1) as f64)
    }

    fn item_line(&self, item: usize, visits: &ItemVisits, indent: &str) -> String {
        let graph = self.folded.graph;
        match self.folded.items[item] {
            GraphItem::Node(node) => {
                let location = node_location(&graph.nodes[node], self.recording);
                let label = format!("{indent}{}", fit_location(&location, LABEL_WIDTH - indent.len()));
                table_line(
                    &label,
                    &self.count_and_mean(&visits.calls),
                    &self.share(visits.calls.total_ns),
                    graph.nodes[node].operation.name(),
                )
            }
            GraphItem::Scope(scope) => {
                let label = format!("{indent}+ {}", fit_location(&scope_label(graph, scope), LABEL_WIDTH - indent.len() - 2));
                let note = folded_note(graph, self.role, &graph.scopes.list[scope], visits);
                table_line(&label, "", &self.share(visits.elapsed_ns()), &note)
            }
        }
    }

    /// The computation after an item.
    fn segment_lines(&self, item: usize, indent: &str) -> Vec<String> {
        let is_long = |segment: &&RoleSegment| segment.times.total_ns as f64 >= MIN_LINE_SHARE * self.role.threads_ns.max(1) as f64;
        let after = self.folded.roles[self.number].segments.iter().filter(|segment| segment.from == item);
        let line = |segment: &RoleSegment| {
            let function = self.functions.get(&(item, segment.to)).map_or("computes", |(_, function)| function);
            let label = format!("{indent}[{function}]");
            let to = format!("to {}", fit_location(&item_label(self.folded, self.recording, segment.to), NOTE_WIDTH - 3));
            table_line(&label, &self.count_and_mean(&segment.times), &self.share(segment.times.total_ns), &to)
        };
        after.filter(is_long).map(line).collect()
    }

    fn count_and_mean(&self, times: &DurationStats) -> String {
        format!("{} x {}", per_rank(times.count, self.role.ranks.len() as u64), format_seconds(times.mean_s()))
    }
}

/// A line of the table of a role: what or where, how often and how long, its share, and a note.
fn table_line(label: &str, each: &str, share: &str, note: &str) -> String {
    format!("  {:<LABEL_WIDTH$} {each:>EACH_WIDTH$} {share:>7}  {note}", truncate_end(label, LABEL_WIDTH))
}

/// A function with its file and line in a number of columns: callers are left out first, then the end of the function's name.
fn fit_location(location: &str, width: usize) -> String {
    if location.chars().count() <= width {
        return location.to_owned();
    }
    let line = location.split(" < ").next().unwrap_or(location);
    match line.rsplit_once(' ').map(|(function, file)| (function, file, file.chars().count())) {
        Some((function, file, columns)) if columns + 3 < width && line.chars().count() > width => {
            format!("{} {file}", truncate_end(function, width - columns - 1))
        }
        Some((_, file, _)) if line.chars().count() > width => truncate_start(file, width),
        _ => line.to_owned(),
    }
}

/// Function and lines of an item.
fn item_label(folded: &FoldedGraph, recording: &Recording, item: usize) -> String {
    match folded.items[item] {
        GraphItem::Node(node) => node_location(&folded.graph.nodes[node], recording),
        GraphItem::Scope(scope) => scope_label(folded.graph, scope),
    }
}

fn message_lines(folded: &FoldedGraph, recording: &Recording) -> Vec<String> {
    if folded.messages.is_empty() {
        return Vec::new();
    }
    let mut edges: Vec<_> = folded.messages.iter().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.bytes, edge.messages)));
    let shown = if edges.len() > MAX_MESSAGES { format!(" ({MAX_MESSAGES} of {})", edges.len()) } else { String::new() };
    let mut lines = vec![String::new(), format!("Messages{shown}")];
    let roles = &folded.graph.roles;
    // With a single role its name says nothing.
    let role = |role: usize| if roles.len() > 1 { format!("{} at ", roles[role].name) } else { String::new() };
    for edge in edges.into_iter().take(MAX_MESSAGES) {
        let end = |(number, item): (usize, usize)| format!("{}{}", role(number), item_label(folded, recording, item));
        let amount = format!("{}, {}", format_plural(edge.messages, "message"), format_bytes(edge.bytes));
        lines.push(format!("  {amount:<28} {} -> {}", end(edge.from), end(edge.to)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_line_stay_where_a_name_is_too_long() {
        assert_eq!(fit_location("exchange src/halo.c:12", 30), "exchange src/halo.c:12");
        assert_eq!(fit_location("exchange src/halo.c:12 < step:4 < main:9", 30), "exchange src/halo.c:12");
        assert_eq!(fit_location("Grid<…>::exchange_all_borders src/halo.cc:12", 30), "Grid<…>::excha… src/halo.cc:12");
        assert_eq!(fit_location("exchange src/halo.c:12", 13), "src/halo.c:12");
    }

    #[test]
    fn a_line_has_the_place_before_the_function_of_mpi() {
        let line = table_line("  exchange src/halo.c:12", "20 x 1.00 ms", "12 %", "MPI_Neighbor_alltoallv");
        assert!(line.starts_with("    exchange src/halo.c:12 ") && line.ends_with(" 12 %  MPI_Neighbor_alltoallv"), "{line}");
        assert!(line.chars().count() <= COLUMNS, "{line}");
    }
}
