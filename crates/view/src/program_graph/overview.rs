//! Labels of the overview of phases.

use sintonia_plot::program_graph::overview::{OverviewPhase, PhaseOverview, RolePhaseTime};
use sintonia_program::graph::{self, PhaseTime, ProgramGraph};
use sintonia_text::quantity::{format_plural, format_seconds};

use super::drawing::{graph_notes, precise_percent, role_ranks};

/// Consecutive phases with less than this share of the run are merged.
const SHORT_PHASE_SHARE: f64 = 0.01;

/// The overview of a program graph.
pub(super) fn build_overview(graph: &ProgramGraph, title: String) -> PhaseOverview {
    let phase = |row: PhaseGroup| OverviewPhase {
        name: row.name(graph),
        note: row.operations(graph),
        depth: row.depth,
        cells: graph.roles.iter().map(|role| overview_cell(&row.role_time(graph, role), role, row.iterates(graph, role))).collect(),
    };
    PhaseOverview {
        title,
        notes: graph_notes(graph),
        roles: graph.roles.iter().map(|role| (role.name.clone(), role_ranks(role))).collect(),
        phases: phase_groups(graph).into_iter().map(phase).collect(),
    }
}

/// A phase, or several short ones in a row.
pub struct PhaseGroup {
    phases: Vec<usize>,
    /// Nesting depth.
    pub depth: usize,
}

/// The phases to show: the outermost ones, and the parts of those that take most of the run.
pub fn phase_groups(graph: &ProgramGraph) -> Vec<PhaseGroup> {
    let main = graph.phases.main_phases();
    let around = |phase: usize| std::iter::successors(graph.phases.list[phase].parent, |parent| graph.phases.list[*parent].parent);
    let shown = |phase: &usize| main.contains(phase) || main.iter().any(|part| around(*part).any(|parent| parent == *phase));
    let run = graph.phases.children(None).map(|phase| graph.phases.elapsed_ns(phase)).fold(0, u64::saturating_add);
    let is_short = |phase: usize| (graph.phases.elapsed_ns(phase) as f64) < SHORT_PHASE_SHARE * run as f64;
    let mut rows: Vec<PhaseGroup> = Vec::new();
    for phase in (0..graph.phases.list.len()).filter(shown) {
        let depth = around(phase).count();
        match rows.last_mut() {
            Some(row) if is_short(phase) && row.depth == depth && row.phases.iter().all(|before| is_short(*before)) => {
                row.phases.push(phase)
            }
            _ => rows.push(PhaseGroup { phases: vec![phase], depth }),
        }
    }
    rows
}

impl PhaseGroup {
    /// The name of the phase, or of the first and last of several.
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

    /// Whether the ranks of a role iterate in it.
    fn iterates(&self, graph: &ProgramGraph, role: &graph::ProgramRole) -> bool {
        let rounds = role.trip_counts.iter().filter(|(_, rounds)| rounds.max > 1);
        let mut headers = rounds.map(|(number, _)| graph.loops[*number].header);
        self.repeats(graph) && headers.any(|header| graph.phases.list[self.phases[0]].nodes.contains(&header))
    }

    /// The total time of the ranks of a role.
    pub fn role_time(&self, graph: &ProgramGraph, role: &graph::ProgramRole) -> PhaseTime {
        let ranks = graph.phases.ranks.iter().filter(|(rank, _)| role.ranks.binary_search(rank).is_ok());
        let times = ranks.flat_map(|(_, times)| self.phases.iter().map(|phase| &times[*phase]));
        times.fold(PhaseTime::default(), |sum, time| PhaseTime {
            elapsed_ns: sum.elapsed_ns.saturating_add(time.elapsed_ns),
            compute_ns: sum.compute_ns.saturating_add(time.compute_ns),
            calls: sum.calls + time.calls,
            ..sum
        })
    }
}

fn overview_cell(spent: &PhaseTime, role: &graph::ProgramRole, repeats: bool) -> Option<RolePhaseTime> {
    let ranks = role.ranks.len().max(1) as u64;
    let share = spent.elapsed_ns as f64 / role.elapsed_ns.max(1) as f64;
    let elapsed = format_seconds(spent.elapsed_ns as f64 * 1e-9 / ranks as f64);
    (spent.calls > 0).then(|| RolePhaseTime {
        share,
        computation_share: spent.compute_ns as f64 / spent.elapsed_ns.max(1) as f64,
        repeats,
        note: format!("{} · {elapsed} · {}", precise_percent(share), format_plural((spent.calls / ranks).max(1), "call")),
    })
}
