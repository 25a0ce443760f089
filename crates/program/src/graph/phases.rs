//! The phases of a program: what all ranks go through one after the other.
//!
//! Two nodes belong to one phase if one can come back from the second to the first, along the program or along messages in either
//! direction. What is connected in that way is finished by everyone before it goes on; loops are therefore phases, and the straight
//! pieces of program between them. Inside a loop the same is done again for a single round.

use std::collections::BTreeSet;

use super::components::{components, in_order};
use super::loops::Loop;
use super::walk::RankWalk;

/// Phases in phases deeper than this are not looked for.
const DEEPEST: usize = 3;
/// The share of the run from which on a phase is shown by its parts.
const DOMINANT: f64 = 0.8;

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Where it is in the source.
    pub name: String,
    /// The phase it is a part of, by number.
    pub parent: Option<usize>,
    /// Whether it goes round; else every rank comes by once each time.
    pub repeats: bool,
    /// Its nodes, in program order.
    pub nodes: Vec<usize>,
}

/// What one rank did in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTime {
    /// When the rank came to it.
    pub begin_ns: i64,
    /// When the rank was through with it. Parts of a loop are come to again and again: this is the last time.
    pub end_ns: i64,
    /// Nanoseconds in it, computation included.
    pub elapsed_ns: u64,
    /// Nanoseconds of these outside MPI.
    pub outside_ns: u64,
    /// Calls, of all threads; times are those of the first thread.
    pub calls: u64,
}

/// The phases of a program, and the time that each rank spent in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// The phases in program order, each after the one it is a part of.
    pub list: Vec<Phase>,
    /// For each rank that was recorded its number, and its time in each phase.
    pub ranks: Vec<(u32, Vec<PhaseTime>)>,
    /// For each node the innermost phase it belongs to.
    innermost: Vec<usize>,
}

/// What phases are made from.
pub struct Material<'a> {
    /// Which nodes follow which.
    pub steps: &'a [(usize, usize)],
    /// Nodes that belong together, by messages or because they are one operation.
    pub ties: &'a [(usize, usize)],
    /// The loops.
    pub loops: &'a [Loop],
    /// How many nodes there are; they are numbered in program order.
    pub nodes: usize,
}

impl Phases {
    /// The phases of a program, without names and times.
    pub fn of(material: &Material) -> Phases {
        let mut phases = Phases { innermost: vec![0; material.nodes], ..Phases::default() };
        phases.split(material, &(0..material.nodes).collect::<Vec<_>>(), &BTreeSet::new(), None, 0);
        phases
    }

    /// The innermost phase of a node.
    pub fn at(&self, node: usize) -> usize {
        self.innermost[node]
    }

    /// The phases from the outermost to the innermost one of a node.
    pub fn around(&self, node: usize) -> Vec<usize> {
        let mut around: Vec<usize> = self.outwards(self.innermost[node]).collect();
        around.reverse();
        around
    }

    /// The phases that make up the run: the outermost ones, or the parts of one that takes most of it.
    pub fn main(&self) -> Vec<usize> {
        let run = self.parts(None).map(|phase| self.elapsed_ns(phase)).fold(0, u64::saturating_add);
        let mut main = Vec::new();
        let mut open: Vec<usize> = self.parts(None).collect();
        open.reverse();
        while let Some(phase) = open.pop() {
            let parts: Vec<usize> = self.parts(Some(phase)).collect();
            if self.elapsed_ns(phase) as f64 > DOMINANT * run as f64 && !parts.is_empty() {
                open.extend(parts.into_iter().rev());
            } else {
                main.push(phase);
            }
        }
        main
    }

    /// The parts of a phase, or the outermost phases.
    pub fn parts(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        self.list.iter().enumerate().filter(move |(_, phase)| phase.parent == parent).map(|(number, _)| number)
    }

    /// Nanoseconds of all ranks together in a phase.
    pub fn elapsed_ns(&self, phase: usize) -> u64 {
        self.ranks.iter().map(|(_, times)| times[phase].elapsed_ns).fold(0, u64::saturating_add)
    }

    fn outwards(&self, phase: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(phase), |phase| self.list[*phase].parent)
    }

    /// Finds the phases among these nodes, as they are passed in one round of the loops in `cut`.
    fn split(&mut self, material: &Material, nodes: &[usize], cut: &BTreeSet<usize>, parent: Option<usize>, depth: usize) {
        let found = material.pieces(nodes, cut);
        if depth > 0 && found.len() < 2 {
            return;
        }
        for (piece, inside) in found {
            let number = self.list.len();
            piece.iter().for_each(|node| self.innermost[*node] = number);
            self.list.push(Phase { name: String::new(), parent, repeats: !inside.is_empty(), nodes: piece.clone() });
            if !inside.is_empty() && depth < DEEPEST {
                self.split(material, &piece, &cut.iter().copied().chain(inside).collect(), Some(number), depth + 1);
            }
        }
    }

    /// Adds the times of a rank.
    pub fn add(&mut self, walk: &RankWalk) {
        let mut times: Vec<PhaseTime> = vec![PhaseTime::default(); self.list.len()];
        for (thread, walk) in walk.threads.iter().enumerate() {
            for (node, visit) in walk.visited() {
                for phase in self.outwards(self.innermost[node]) {
                    let time = &mut times[phase];
                    if thread == 0 {
                        time.begin_ns = if time.calls > 0 { time.begin_ns.min(visit.first_ns) } else { visit.first_ns };
                        time.end_ns = if time.calls > 0 { time.end_ns.max(visit.last_ns) } else { visit.last_ns };
                        time.elapsed_ns = time.elapsed_ns.saturating_add(visit.calls.total_ns);
                    }
                    time.calls += visit.calls.count;
                }
            }
        }
        for ((from, to), segment) in walk.threads.first().iter().flat_map(|thread| &thread.segments) {
            let owner = self.owner(*from, *to);
            for phase in self.outwards(owner) {
                let (time, nodes) = (&mut times[phase], &self.list[phase].nodes);
                time.elapsed_ns = time.elapsed_ns.saturating_add(segment.total_ns);
                time.outside_ns = time.outside_ns.saturating_add(segment.total_ns);
                let [begins, ends] = [from, to].map(|node| nodes.binary_search(node).is_err());
                if segment.count == 1 {
                    time.begin_ns = time.begin_ns.saturating_sub(if begins { segment.total_ns as i64 } else { 0 });
                    time.end_ns = time.end_ns.saturating_add(if ends { segment.total_ns as i64 } else { 0 });
                }
            }
        }
        self.ranks.push((walk.rank, times));
    }

    /// The phase that the computation between two nodes belongs to: where it leads from one phase into another, the one that does not go
    /// round, since it is done but once; else the one it leads to.
    fn owner(&self, from: usize, to: usize) -> usize {
        let (before, after) = (self.around(from), self.around(to));
        let parting = before.iter().zip(&after).find(|(before, after)| before != after);
        match parting {
            Some((before, after)) if self.list[*after].repeats && !self.list[*before].repeats => *before,
            _ => self.innermost[to],
        }
    }
}

impl Material<'_> {
    /// The pieces that these nodes fall into when nobody goes round the loops in `cut`, in order; each with the loops it consists of.
    /// Straight pieces that follow one another are one.
    fn pieces(&self, nodes: &[usize], cut: &BTreeSet<usize>) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut successors = vec![Vec::new(); self.nodes];
        // The innermost of the loops that begin with a node is the one that an edge back to it goes round.
        let goes_round = |from: &usize, to: &usize| {
            let innermost = self.loops.iter().rposition(|one| one.header == *to && one.nodes.binary_search(from).is_ok());
            innermost.is_some_and(|number| cut.contains(&number))
        };
        for (from, to) in self.steps.iter().filter(|(from, to)| !goes_round(from, to)) {
            successors[*from].push(*to);
        }
        for (one, other) in self.ties {
            successors[*one].push(*other);
            successors[*other].push(*one);
        }
        let earliness: Vec<usize> = (0..self.nodes).collect();
        let mut pieces: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for piece in in_order(components(nodes, &successors), &successors, &earliness) {
            let inside = self.outermost_loops(&piece, cut);
            match pieces.last_mut() {
                Some((before, loops)) if loops.is_empty() && inside.is_empty() => before.extend(piece),
                _ => pieces.push((piece, inside)),
            }
        }
        pieces.iter_mut().for_each(|(piece, _)| piece.sort_unstable());
        pieces
    }

    /// The loops among these nodes that are in no other one but those in `cut`.
    fn outermost_loops(&self, nodes: &[usize], cut: &BTreeSet<usize>) -> Vec<usize> {
        let outermost = |number: &usize| !cut.contains(number) && self.loops[*number].parent.is_none_or(|parent| cut.contains(&parent));
        (0..self.loops.len()).filter(outermost).filter(|number| nodes.binary_search(&self.loops[*number].header).is_ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Times;
    use super::super::walk::{ThreadWalk, Visit};
    use super::*;

    fn one(header: usize, parent: Option<usize>, nodes: &[usize]) -> Loop {
        Loop { header, parent, nodes: nodes.to_vec() }
    }

    fn lists(phases: &Phases) -> Vec<(Option<usize>, bool, Vec<usize>)> {
        phases.list.iter().map(|phase| (phase.parent, phase.repeats, phase.nodes.clone())).collect()
    }

    #[test]
    fn loops_are_phases_and_so_are_the_straight_pieces_between_them() {
        let (steps, loops) = ([(0, 1), (1, 2), (2, 3), (3, 2), (3, 4), (4, 5)], [one(2, None, &[2, 3])]);
        let phases = Phases::of(&Material { steps: &steps, ties: &[], loops: &loops, nodes: 6 });
        assert_eq!(lists(&phases), [(None, false, vec![0, 1]), (None, true, vec![2, 3]), (None, false, vec![4, 5])]);
        assert_eq!((phases.at(3), phases.at(5)), (1, 2));
    }

    #[test]
    fn loops_that_exchange_messages_are_one_phase() {
        // The master does 0, 1*, 4 and the workers 0, 2, 3*, 4; node 1 sends to 2 and to 3.
        let steps = [(0, 1), (1, 1), (1, 4), (0, 2), (2, 3), (3, 3), (3, 4)];
        let loops = [one(1, None, &[1]), one(3, None, &[3])];
        let phases = Phases::of(&Material { steps: &steps, ties: &[(1, 2), (1, 3)], loops: &loops, nodes: 5 });
        assert_eq!(lists(&phases), [(None, false, vec![0]), (None, true, vec![1, 2, 3]), (None, false, vec![4])]);
    }

    #[test]
    fn a_loop_of_loops_has_parts() {
        // 0 (1 2* 3 4*)*
        let steps = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 4), (4, 4), (4, 1)];
        let loops = [one(1, None, &[1, 2, 3, 4]), one(2, Some(0), &[2]), one(4, Some(0), &[4])];
        let phases = Phases::of(&Material { steps: &steps, ties: &[], loops: &loops, nodes: 5 });
        let parts: Vec<_> = lists(&phases).split_off(2);
        assert_eq!(parts, [(Some(1), false, vec![1]), (Some(1), true, vec![2]), (Some(1), false, vec![3]), (Some(1), true, vec![4])]);
        assert_eq!(phases.around(4), [1, 5]);
    }

    #[test]
    fn loops_with_one_header_are_parts_too() {
        // ((0 1)* 2)*
        let steps = [(0, 1), (1, 0), (1, 2), (2, 0)];
        let loops = [one(0, None, &[0, 1, 2]), one(0, Some(0), &[0, 1])];
        let phases = Phases::of(&Material { steps: &steps, ties: &[], loops: &loops, nodes: 3 });
        assert_eq!(lists(&phases), [(None, true, vec![0, 1, 2]), (Some(0), true, vec![0, 1]), (Some(0), false, vec![2])]);
    }

    #[test]
    fn a_rank_s_time_is_divided_without_rest() {
        let (steps, loops) = ([(0, 1), (1, 1), (1, 2)], [one(1, None, &[1])]);
        let mut phases = Phases::of(&Material { steps: &steps, ties: &[], loops: &loops, nodes: 3 });
        let times = |durations: &[u64]| {
            let mut times = Times::default();
            durations.iter().for_each(|ns| times.add(*ns));
            times
        };
        let visit = |first_ns, last_ns, durations: &[u64]| Visit { calls: times(durations), first_ns, last_ns, ..Visit::default() };
        // 0 from 0 to 5, computation to 20, 1 to 24, computation to 30, 1 to 33, computation to 40, 2 to 50.
        let visits = vec![visit(0, 5, &[5]), visit(20, 33, &[4, 3]), visit(40, 50, &[10])];
        let segments = [((0, 1), times(&[15])), ((1, 1), times(&[6])), ((1, 2), times(&[7]))].into();
        let thread = ThreadWalk { visits, segments, ..ThreadWalk::default() };
        phases.add(&RankWalk { rank: 3, threads: vec![thread], ..RankWalk::default() });
        let time =
            |begin_ns, end_ns, outside_ns, calls| PhaseTime { begin_ns, end_ns, elapsed_ns: (end_ns - begin_ns) as u64, outside_ns, calls };
        assert_eq!(phases.ranks, [(3, vec![time(0, 20, 15, 1), time(20, 33, 6, 2), time(33, 50, 7, 1)])]);
    }
}
