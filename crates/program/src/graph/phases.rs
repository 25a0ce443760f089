//! The phases of a program: sections that all ranks pass one after the other.
//!
//! Two nodes belong to the same phase if the first is reachable from the second, along control flow or along messages in either direction.
//! Such a component is completed by all ranks before they continue, so phases are loops and the straight sections between them. Inside a
//! loop the same is repeated for a single iteration.

use std::collections::BTreeSet;

use super::components::{components, topological_order};
use super::loops::ProgramLoop;
use super::rank_path::RankPath;

/// Maximum nesting depth of phases.
const MAX_PHASE_DEPTH: usize = 3;
/// A phase with more than this share of the run is split into its children in the overview.
const DOMINANT_SHARE: f64 = 0.8;

/// A phase of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPhase {
    /// Its source location.
    pub name: String,
    /// Index of the enclosing phase.
    pub parent: Option<usize>,
    /// Whether it is a loop; otherwise every rank passes it once.
    pub repeats: bool,
    /// Its nodes, in program order.
    pub nodes: Vec<usize>,
}

/// The time of one rank in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTime {
    /// When the rank entered it.
    pub begin_ns: i64,
    /// When the rank left it, for the last time if it is part of a loop.
    pub end_ns: i64,
    /// Nanoseconds in it, including computation.
    pub elapsed_ns: u64,
    /// Nanoseconds of computation in it.
    pub compute_ns: u64,
    /// Nanoseconds in it without a core, as far as that is known.
    pub no_core_ns: u64,
    /// Calls of all threads; the times are those of the first thread.
    pub calls: u64,
}

/// The phases of a program, and the time of each rank in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTree {
    /// The phases in program order, each after its enclosing phase.
    pub list: Vec<ProgramPhase>,
    /// For each recorded rank, its time in each phase.
    pub ranks: Vec<(u32, Vec<PhaseTime>)>,
    /// For each node, its innermost phase.
    innermost: Vec<usize>,
}

/// The input of phase detection.
pub struct PhaseInput<'a> {
    /// Control flow edges.
    pub steps: &'a [(usize, usize)],
    /// Nodes connected by messages or because they are the same collective.
    pub links: &'a [(usize, usize)],
    /// The loops.
    pub loops: &'a [ProgramLoop],
    /// Number of nodes; they are numbered in program order.
    pub nodes: usize,
}

impl PhaseTree {
    /// The phases of a program, without names and times.
    pub fn from_input(material: &PhaseInput) -> PhaseTree {
        let mut phases = PhaseTree { innermost: vec![0; material.nodes], ..PhaseTree::default() };
        phases.split(&PhaseIndex::new(material), &(0..material.nodes).collect::<Vec<_>>(), &BTreeSet::new(), None, 0);
        phases
    }

    /// The innermost phase of a node.
    pub fn innermost_phase(&self, node: usize) -> usize {
        self.innermost[node]
    }

    /// The phases that contain a node, outermost first.
    pub fn enclosing_phases(&self, node: usize) -> Vec<usize> {
        let mut around: Vec<usize> = self.ancestors(self.innermost[node]).collect();
        around.reverse();
        around
    }

    /// The phases that make up the run: the outermost ones, or the children of a dominant one.
    pub fn main_phases(&self) -> Vec<usize> {
        let run = self.children(None).map(|phase| self.elapsed_ns(phase)).fold(0, u64::saturating_add);
        let mut main = Vec::new();
        let mut open: Vec<usize> = self.children(None).collect();
        open.reverse();
        while let Some(phase) = open.pop() {
            let parts: Vec<usize> = self.children(Some(phase)).collect();
            if self.elapsed_ns(phase) as f64 > DOMINANT_SHARE * run as f64 && !parts.is_empty() {
                open.extend(parts.into_iter().rev());
            } else {
                main.push(phase);
            }
        }
        main
    }

    /// The children of a phase, or the outermost phases.
    pub fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        self.list.iter().enumerate().filter(move |(_, phase)| phase.parent == parent).map(|(number, _)| number)
    }

    /// Nanoseconds in a phase, summed over all ranks.
    pub fn elapsed_ns(&self, phase: usize) -> u64 {
        self.ranks.iter().map(|(_, times)| times[phase].elapsed_ns).fold(0, u64::saturating_add)
    }

    /// Whether a phase is another one or in it.
    pub fn contains(&self, phase: usize, inner: usize) -> bool {
        self.ancestors(inner).any(|around| around == phase)
    }

    fn ancestors(&self, phase: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(phase), |phase| self.list[*phase].parent)
    }

    /// Finds the phases among these nodes for one iteration of the loops in `cut`.
    fn split(&mut self, index: &PhaseIndex, nodes: &[usize], cut: &BTreeSet<usize>, parent: Option<usize>, depth: usize) {
        let found = index.components(nodes, cut);
        if depth > 0 && found.len() < 2 {
            return;
        }
        for (section, inside) in found {
            let number = self.list.len();
            section.iter().for_each(|node| self.innermost[*node] = number);
            self.list.push(ProgramPhase { name: String::new(), parent, repeats: !inside.is_empty(), nodes: section.clone() });
            if !inside.is_empty() && depth < MAX_PHASE_DEPTH {
                self.split(index, &section, &cut.iter().copied().chain(inside).collect(), Some(number), depth + 1);
            }
        }
    }

    /// Adds the times of a rank.
    pub fn add_rank(&mut self, path: &RankPath) {
        let mut times: Vec<PhaseTime> = vec![PhaseTime::default(); self.list.len()];
        for (thread, path) in path.threads.iter().enumerate() {
            for (node, visit) in path.visited() {
                for phase in self.ancestors(self.innermost[node]) {
                    let time = &mut times[phase];
                    if thread == 0 {
                        time.begin_ns = if time.calls > 0 { time.begin_ns.min(visit.first_ns) } else { visit.first_ns };
                        time.end_ns = if time.calls > 0 { time.end_ns.max(visit.last_ns) } else { visit.last_ns };
                        time.elapsed_ns = time.elapsed_ns.saturating_add(visit.calls.total_ns);
                        time.no_core_ns = time.no_core_ns.saturating_add(visit.no_core_ns);
                    }
                    time.calls += visit.calls.count;
                }
            }
        }
        for ((from, to), segment) in path.threads.first().iter().flat_map(|thread| &thread.segments) {
            let owner = self.segment_phase(*from, *to);
            for phase in self.ancestors(owner) {
                let (time, nodes) = (&mut times[phase], &self.list[phase].nodes);
                time.elapsed_ns = time.elapsed_ns.saturating_add(segment.total_ns);
                time.compute_ns = time.compute_ns.saturating_add(segment.total_ns);
                let [begins, ends] = [from, to].map(|node| nodes.binary_search(node).is_err());
                if segment.count == 1 {
                    time.begin_ns = time.begin_ns.saturating_sub(if begins { segment.total_ns as i64 } else { 0 });
                    time.end_ns = time.end_ns.saturating_add(if ends { segment.total_ns as i64 } else { 0 });
                }
            }
        }
        for ((from, to), ns) in path.threads.first().iter().flat_map(|thread| &thread.preempted_ns) {
            for phase in self.ancestors(self.segment_phase(*from, *to)) {
                times[phase].no_core_ns = times[phase].no_core_ns.saturating_add(*ns);
            }
        }
        self.ranks.push((path.rank, times));
    }

    /// The phase that owns the computation between two nodes. Between two phases it is the one that is not a loop, since the computation
    /// happens once; otherwise the one it leads to.
    pub fn segment_phase(&self, from: usize, to: usize) -> usize {
        let (before, after) = (self.enclosing_phases(from), self.enclosing_phases(to));
        let parting = before.iter().zip(&after).find(|(before, after)| before != after);
        match parting {
            Some((before, after)) if self.list[*after].repeats && !self.list[*before].repeats => *before,
            _ => self.innermost[to],
        }
    }
}

/// The input of phase detection by node: phases are found in parts of the program, thousands of them in a large one.
struct PhaseIndex<'a> {
    loops: &'a [ProgramLoop],
    /// The control flow edges from each node, each with the loop that it repeats, if any.
    steps: Vec<Vec<(usize, Option<usize>)>>,
    /// The nodes connected with each node.
    links: Vec<Vec<usize>>,
    /// The loops that are entered at each node.
    loops_at: Vec<Vec<usize>>,
}

impl PhaseIndex<'_> {
    fn new<'a>(input: &PhaseInput<'a>) -> PhaseIndex<'a> {
        let empty = || vec![Vec::new(); input.nodes];
        let mut index = PhaseIndex { loops: input.loops, steps: vec![Vec::new(); input.nodes], links: empty(), loops_at: empty() };
        for (number, one) in input.loops.iter().enumerate() {
            std::iter::once(one.header).chain(one.other_entries.iter().copied()).for_each(|entry| index.loops_at[entry].push(number));
        }
        for (from, to) in input.steps {
            // A back edge belongs to the innermost of the loops with that header.
            let innermost = index.loops_at[*to].iter().rev().find(|number| input.loops[**number].nodes.binary_search(from).is_ok());
            index.steps[*from].push((*to, innermost.copied()));
        }
        for (one, other) in input.links {
            index.links[*one].push(*other);
            index.links[*other].push(*one);
        }
        index
    }

    /// The components of these nodes without the back edges of the loops in `cut`, in order, each with the loops it consists of. Adjacent
    /// straight sections are merged.
    fn components(&self, nodes: &[usize], cut: &BTreeSet<usize>) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut successors = vec![Vec::new(); self.steps.len()];
        for node in nodes {
            let steps = self.steps[*node].iter().filter(|(_, repeats)| repeats.is_none_or(|number| !cut.contains(&number)));
            successors[*node] = steps.map(|(to, _)| *to).chain(self.links[*node].iter().copied()).collect();
        }
        let first_seen: Vec<usize> = (0..self.steps.len()).collect();
        let mut sections: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for section in topological_order(components(nodes, &successors), &successors, &first_seen) {
            let inside = self.outermost_loops(&section, cut);
            match sections.last_mut() {
                Some((before, loops)) if loops.is_empty() && inside.is_empty() => before.extend(section),
                _ => sections.push((section, inside)),
            }
        }
        sections.iter_mut().for_each(|(section, _)| section.sort_unstable());
        sections
    }

    /// The loops among these nodes that are nested only in loops of `cut`.
    fn outermost_loops(&self, nodes: &[usize], cut: &BTreeSet<usize>) -> Vec<usize> {
        let outermost = |number: &usize| !cut.contains(number) && self.loops[*number].parent.is_none_or(|parent| cut.contains(&parent));
        let mut found: Vec<usize> = nodes.iter().flat_map(|node| &self.loops_at[*node]).copied().filter(outermost).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::DurationStats;
    use super::super::rank_path::{NodeVisits, ThreadPath};
    use super::*;

    fn one(header: usize, parent: Option<usize>, nodes: &[usize]) -> ProgramLoop {
        ProgramLoop { header, other_entries: Vec::new(), parent, nodes: nodes.to_vec() }
    }

    fn lists(phases: &PhaseTree) -> Vec<(Option<usize>, bool, Vec<usize>)> {
        phases.list.iter().map(|phase| (phase.parent, phase.repeats, phase.nodes.clone())).collect()
    }

    #[test]
    fn loops_are_phases_and_so_are_the_straight_pieces_between_them() {
        let (steps, loops) = ([(0, 1), (1, 2), (2, 3), (3, 2), (3, 4), (4, 5)], [one(2, None, &[2, 3])]);
        let phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[], loops: &loops, nodes: 6 });
        assert_eq!(lists(&phases), [(None, false, vec![0, 1]), (None, true, vec![2, 3]), (None, false, vec![4, 5])]);
        assert_eq!((phases.innermost_phase(3), phases.innermost_phase(5)), (1, 2));
    }

    #[test]
    fn loops_that_exchange_messages_are_one_phase() {
        // The master does 0, 1*, 4 and the workers 0, 2, 3*, 4; node 1 sends to 2 and to 3.
        let steps = [(0, 1), (1, 1), (1, 4), (0, 2), (2, 3), (3, 3), (3, 4)];
        let loops = [one(1, None, &[1]), one(3, None, &[3])];
        let phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[(1, 2), (1, 3)], loops: &loops, nodes: 5 });
        assert_eq!(lists(&phases), [(None, false, vec![0]), (None, true, vec![1, 2, 3]), (None, false, vec![4])]);
    }

    #[test]
    fn a_loop_of_loops_has_parts() {
        // 0 (1 2* 3 4*)*
        let steps = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 4), (4, 4), (4, 1)];
        let loops = [one(1, None, &[1, 2, 3, 4]), one(2, Some(0), &[2]), one(4, Some(0), &[4])];
        let phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[], loops: &loops, nodes: 5 });
        let parts: Vec<_> = lists(&phases).split_off(2);
        assert_eq!(parts, [(Some(1), false, vec![1]), (Some(1), true, vec![2]), (Some(1), false, vec![3]), (Some(1), true, vec![4])]);
        assert_eq!(phases.enclosing_phases(4), [1, 5]);
    }

    #[test]
    fn loops_with_one_header_are_parts_too() {
        // ((0 1)* 2)*
        let steps = [(0, 1), (1, 0), (1, 2), (2, 0)];
        let loops = [one(0, None, &[0, 1, 2]), one(0, Some(0), &[0, 1])];
        let phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[], loops: &loops, nodes: 3 });
        assert_eq!(lists(&phases), [(None, true, vec![0, 1, 2]), (Some(0), true, vec![0, 1]), (Some(0), false, vec![2])]);
    }

    #[test]
    fn a_rank_s_time_is_divided_without_rest() {
        let (steps, loops) = ([(0, 1), (1, 1), (1, 2)], [one(1, None, &[1])]);
        let mut phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[], loops: &loops, nodes: 3 });
        let times = |durations: &[u64]| {
            let mut times = DurationStats::default();
            durations.iter().for_each(|ns| times.add(*ns));
            times
        };
        let visit =
            |first_ns, last_ns, durations: &[u64]| NodeVisits { calls: times(durations), first_ns, last_ns, ..NodeVisits::default() };
        // 0 from 0 to 5, computation to 20, 1 to 24, computation to 30, 1 to 33, computation to 40, 2 to 50.
        let visits = vec![visit(0, 5, &[5]), visit(20, 33, &[4, 3]), visit(40, 50, &[10])];
        let segments = [((0, 1), times(&[15])), ((1, 1), times(&[6])), ((1, 2), times(&[7]))].into_iter().collect();
        let thread = ThreadPath { visits, segments, ..ThreadPath::default() };
        phases.add_rank(&RankPath { rank: 3, threads: vec![thread], ..RankPath::default() });
        let time = |begin_ns, end_ns, outside_ns, calls| PhaseTime {
            begin_ns,
            end_ns,
            elapsed_ns: (end_ns - begin_ns) as u64,
            compute_ns: outside_ns,
            calls,
            ..PhaseTime::default()
        };
        assert_eq!(phases.ranks, [(3, vec![time(0, 20, 15, 1), time(20, 33, 6, 2), time(33, 50, 7, 1)])]);
    }

    #[test]
    fn time_without_a_core_belongs_to_the_phase_of_the_segment_or_call() {
        let (steps, loops) = ([(0, 1), (1, 1), (1, 2)], [one(1, None, &[1])]);
        let mut phases = PhaseTree::from_input(&PhaseInput { steps: &steps, links: &[], loops: &loops, nodes: 3 });
        let visit = |no_core_ns| {
            let mut calls = DurationStats::default();
            calls.add(5);
            NodeVisits { calls, no_core_ns, ..NodeVisits::default() }
        };
        let thread = ThreadPath {
            visits: vec![visit(0), visit(2), visit(0)],
            preempted_ns: [((0, 1), 8), ((1, 1), 4)].into_iter().collect(),
            ..ThreadPath::default()
        };
        phases.add_rank(&RankPath { rank: 3, threads: vec![thread], ..RankPath::default() });
        let no_core: Vec<u64> = phases.ranks[0].1.iter().map(|time| time.no_core_ns).collect();
        assert_eq!(no_core, [8, 6, 0], "the segment before a loop is not repeated");
    }
}
