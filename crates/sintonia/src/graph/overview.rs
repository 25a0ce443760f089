//! The phases of a program in the words that are drawn.

use sintonia_formats::program_graph::overview::{Cell, Overview, Phase};
use sintonia_program::graph::{self, PhaseTime, ProgramGraph};

use super::drawing::{notes, percent, ranks_of};
use crate::text::{plural, seconds};

/// Phases that take less than this share of the run are put together with others like them.
const SHORT: f64 = 0.01;

/// The overview of a program graph.
pub fn of(graph: &ProgramGraph, title: String) -> Overview {
    let phase = |row: Row| Phase {
        name: row.name(graph),
        note: row.operations(graph),
        depth: row.depth,
        cells: graph.roles.iter().map(|role| cell(&row.spent(graph, role), role, row.goes_round(graph, role))).collect(),
    };
    Overview {
        title,
        notes: notes(graph),
        roles: graph.roles.iter().map(|role| (role.name.clone(), ranks_of(role))).collect(),
        phases: rows(graph).into_iter().map(phase).collect(),
    }
}

/// A phase, or several short ones in a row.
pub struct Row {
    phases: Vec<usize>,
    /// How many phases it is a part of.
    pub depth: usize,
}

/// The phases that are worth showing: the outermost ones, and the parts of those that take most of the run.
pub fn rows(graph: &ProgramGraph) -> Vec<Row> {
    let main = graph.phases.main();
    let around = |phase: usize| std::iter::successors(graph.phases.list[phase].parent, |parent| graph.phases.list[*parent].parent);
    let shown = |phase: &usize| main.contains(phase) || main.iter().any(|part| around(*part).any(|parent| parent == *phase));
    let run = graph.phases.parts(None).map(|phase| graph.phases.elapsed_ns(phase)).fold(0, u64::saturating_add);
    let is_short = |phase: usize| (graph.phases.elapsed_ns(phase) as f64) < SHORT * run as f64;
    let mut rows: Vec<Row> = Vec::new();
    for phase in (0..graph.phases.list.len()).filter(shown) {
        let depth = around(phase).count();
        match rows.last_mut() {
            Some(row) if is_short(phase) && row.depth == depth && row.phases.iter().all(|before| is_short(*before)) => {
                row.phases.push(phase)
            }
            _ => rows.push(Row { phases: vec![phase], depth }),
        }
    }
    rows
}

impl Row {
    /// What the phase is called, or the first and the last of several.
    pub fn name(&self, graph: &ProgramGraph) -> String {
        let name = |phase: &usize| graph.phases.list[*phase].name.as_str();
        match &self.phases[..] {
            [first, .., last] => format!("{} short phases: {} … {}", self.phases.len(), name(first), name(last)),
            phases => phases.iter().map(name).collect(),
        }
    }

    /// Whether it is a loop.
    pub fn repeats(&self, graph: &ProgramGraph) -> bool {
        matches!(self.phases[..], [only] if graph.phases.list[only].repeats)
    }

    /// The operations, each once.
    fn operations(&self, graph: &ProgramGraph) -> String {
        let mut names: Vec<&str> = Vec::new();
        let nodes = self.phases.iter().flat_map(|phase| &graph.phases.list[*phase].nodes);
        for name in nodes.map(|node| graph.nodes[*node].operation.name()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Whether the ranks of a role go round in it.
    fn goes_round(&self, graph: &ProgramGraph, role: &graph::Role) -> bool {
        let rounds = role.rounds.iter().filter(|(_, rounds)| rounds.most > 1);
        let mut headers = rounds.map(|(number, _)| graph.loops[*number].header);
        self.repeats(graph) && headers.any(|header| graph.phases.list[self.phases[0]].nodes.contains(&header))
    }

    /// What the ranks of a role did in it, together.
    pub fn spent(&self, graph: &ProgramGraph, role: &graph::Role) -> PhaseTime {
        let ranks = graph.phases.ranks.iter().filter(|(rank, _)| role.ranks.binary_search(rank).is_ok());
        let times = ranks.flat_map(|(_, times)| self.phases.iter().map(|phase| &times[*phase]));
        times.fold(PhaseTime::default(), |sum, time| PhaseTime {
            elapsed_ns: sum.elapsed_ns.saturating_add(time.elapsed_ns),
            outside_ns: sum.outside_ns.saturating_add(time.outside_ns),
            calls: sum.calls + time.calls,
            ..sum
        })
    }
}

fn cell(spent: &PhaseTime, role: &graph::Role, repeats: bool) -> Option<Cell> {
    let ranks = role.ranks.len().max(1) as u64;
    let share = spent.elapsed_ns as f64 / role.elapsed_ns.max(1) as f64;
    let elapsed = seconds(spent.elapsed_ns as f64 * 1e-9 / ranks as f64);
    (spent.calls > 0).then(|| Cell {
        share,
        outside: spent.outside_ns as f64 / spent.elapsed_ns.max(1) as f64,
        repeats,
        note: format!("{} · {elapsed} · {}", percent(share), plural((spent.calls / ranks).max(1), "call")),
    })
}
