//! Labels of scopes: functions, loops and phases.

use sintonia_program::graph::{GraphItem, ProgramGraph, ProgramRole, ProgramScope, TripCounts};
use sintonia_text::quantity::format_count;

/// Maximum number of names in the label of a scope.
const MAX_CONTENTS: usize = 4;
/// Maximum number of loops in the label of a folded scope.
const MAX_INNER_LOOPS: usize = 2;

/// The function of a scope, or what else its name is.
pub(super) fn scope_name(graph: &ProgramGraph, number: usize) -> String {
    let scope = &graph.scopes.list[number];
    let phase = || scope.phase.map(|phase| graph.phases.list[phase].name.clone());
    let operations = || contents(graph, number).unwrap_or_default();
    scope.function.clone().or_else(phase).unwrap_or_else(operations)
}

/// The source lines of a scope: `file.c:20-31`; empty if they are not known.
fn scope_lines(scope: &ProgramScope) -> String {
    let Some((file, (first, last))) = scope.file.as_deref().zip(scope.lines) else { return String::new() };
    let file = file.rsplit('/').next().unwrap_or(file);
    if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") }
}

/// Function and lines of a scope; of a loop only the lines if the scope around it has the same function.
pub fn scope_label(graph: &ProgramGraph, number: usize) -> String {
    let scope = &graph.scopes.list[number];
    let lines = scope_lines(scope);
    let around = scope.parent.map(|parent| &graph.scopes.list[parent]);
    let repeats_parent = around.is_some_and(|around| around.function.is_some() && around.function == scope.function);
    if repeats_parent && !lines.is_empty() && !scope.loops.is_empty() {
        return lines;
    }
    format!("{} {lines}", scope_name(graph, number)).trim_end().to_owned()
}

/// What the scopes and nodes directly in a scope are, in short.
pub(super) fn contents(graph: &ProgramGraph, number: usize) -> Option<String> {
    let scope = &graph.scopes.list[number];
    let mut names: Vec<String> = Vec::new();
    for node in &scope.nodes {
        let name = match child_item(graph, number, *node) {
            GraphItem::Scope(child) => graph.scopes.list[child].function.clone().unwrap_or_else(|| "loop".into()),
            GraphItem::Node(node) => graph.nodes[node].operation.name().to_owned(),
        };
        if !names.contains(&name) && Some(&name) != scope.function.as_ref() {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MAX_CONTENTS);
    names.truncate(MAX_CONTENTS);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| names.join(", ") + &rest)
}

/// The item directly in a scope that contains a node.
fn child_item(graph: &ProgramGraph, scope: usize, node: usize) -> GraphItem {
    let innermost = graph.scopes.innermost[node];
    let mut around = innermost.into_iter().flat_map(|scope| graph.scopes.enclosing_scopes(scope));
    around.find(|child| graph.scopes.list[*child].parent == Some(scope)).map_or(GraphItem::Node(node), GraphItem::Scope)
}

/// The iterations of a scope in a role, outermost loop first; empty if the role does not repeat it.
pub fn scope_iterations(role: &ProgramRole, scope: &ProgramScope) -> String {
    let notes = scope.loops.iter().filter_map(|number| loop_note(role, *number));
    notes.collect::<Vec<_>>().join(", ")
}

/// The iterations of a loop in a role, if it repeats it.
pub fn loop_note(role: &ProgramRole, number: usize) -> Option<String> {
    let repeated = |counts: &&TripCounts| counts.max > 1;
    let counts = role.trip_counts.iter().find(|(other, _)| *other == number).map(|(_, counts)| counts).filter(repeated)?;
    Some(iterations_note(counts, role.ranks.len() as u64))
}

/// The loops of a folded scope: itself, and those in it.
pub(super) fn folded_loops(graph: &ProgramGraph, role: &ProgramRole, scope: &ProgramScope) -> Vec<String> {
    let own = scope_iterations(role, scope);
    let mut notes: Vec<String> = (!own.is_empty()).then(|| format!("loop {own}")).into_iter().collect();
    let is_inside = |number: usize| {
        !scope.loops.contains(&number) && graph.loops[number].nodes.iter().all(|node| scope.nodes.binary_search(node).is_ok())
    };
    let inner = (0..graph.loops.len()).filter(|number| is_inside(*number) && !graph.loops[*number].parent.is_some_and(is_inside));
    let inner: Vec<String> = inner.filter_map(|number| loop_note(role, number)).collect();
    match inner.len() {
        0 => {}
        1..=MAX_INNER_LOOPS => {
            notes.push(format!("inside: {}", inner.iter().map(|note| format!("loop {note}")).collect::<Vec<_>>().join(", ")))
        }
        many => notes.push(format!("{many} loops inside")),
    }
    notes
}

/// Mean count per rank.
pub fn per_rank(number: u64, ranks: u64) -> String {
    let ranks = ranks.max(1);
    let mean = number as f64 / ranks as f64;
    if number.is_multiple_of(ranks) || mean >= 100.0 { format_count(mean.round() as u64) } else { format!("{mean:.1}") }
}

/// The number of iterations of a loop.
fn iterations_note(rounds: &TripCounts, ranks: u64) -> String {
    let round = if rounds.min == rounds.max {
        format!("× {}", format_count(rounds.max))
    } else {
        format!("× {} to {}, mean {:.1}", format_count(rounds.min), format_count(rounds.max), rounds.mean())
    };
    if rounds.entries > ranks { format!("{round}, entered {} times", per_rank(rounds.entries, ranks)) } else { round }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_say_how_much_they_differ() {
        assert_eq!(iterations_note(&TripCounts { entries: 4, total: 2000, min: 500, max: 500 }, 4), "× 500");
        assert_eq!(iterations_note(&TripCounts { entries: 40, total: 100, min: 2, max: 3 }, 4), "× 2 to 3, mean 2.5, entered 10 times");
    }

    #[test]
    fn what_some_ranks_do_is_not_shown_as_nothing() {
        assert_eq!([(6, 3), (1, 3), (1000, 3)].map(|(number, ranks)| per_rank(number, ranks)), ["2", "0.3", "333"]);
    }
}
