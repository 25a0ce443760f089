//! Loop detection in the control flow observed on all ranks.
//!
//! A loop is a strongly connected component of the control flow graph. Without the back edges to its header (the node through which it is
//! entered), its body decomposes, and the components that remain are the nested loops. Nested loops often share a header; their back edges
//! then distinguish them, since those of the inner loop come from a smaller part of the body. The recursion also yields the program order:
//! loops are contiguous, and every node comes after its predecessors.

use std::collections::{BTreeMap, BTreeSet};

use super::components::{components, topological_order};

/// Deeper than any program nests its loops. Helpers called from everywhere look like endlessly nested loops.
const MAX_LOOP_DEPTH: usize = 24;

/// Control flow over all ranks.
pub struct ControlFlowGraph {
    /// How often a call at the second node followed one at the first.
    pub edges: BTreeMap<(usize, usize), u64>,
    /// How often a thread started at each node.
    pub entry_counts: Vec<u64>,
    /// Order in which the nodes were first seen.
    pub first_seen: Vec<usize>,
}

/// A loop of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLoop {
    /// The node through which it is entered.
    pub header: usize,
    /// Further nodes through which some ranks enter it: those that do not visit the header.
    pub other_entries: Vec<usize>,
    /// Index of the enclosing loop.
    pub parent: Option<usize>,
    /// All nodes in it, in program order.
    pub nodes: Vec<usize>,
}

/// The loops of a program and the program order of its nodes.
#[derive(Debug, Default)]
pub struct LoopForest {
    /// The loops, each after its enclosing loop.
    pub loops: Vec<ProgramLoop>,
    /// The nodes in program order.
    pub order: Vec<usize>,
}

impl LoopForest {
    /// Finds the loops of a control flow graph.
    pub fn from_control_flow(control: &ControlFlowGraph) -> LoopForest {
        let size = control.entry_counts.len();
        let mut neighbours = Neighbours { successors: vec![Vec::new(); size], predecessors: vec![Vec::new(); size] };
        for (from, to) in control.edges.keys() {
            neighbours.successors[*from].push(*to);
            neighbours.predecessors[*to].push(*from);
        }
        let mut forest = LoopForest::default();
        forest.find_loops(control, &neighbours, (0..size).collect(), None, 0);
        forest
    }

    /// Finds the loops among these nodes.
    fn find_loops(&mut self, control: &ControlFlowGraph, neighbours: &Neighbours, nodes: Vec<usize>, parent: Option<usize>, depth: usize) {
        let successors = &neighbours.successors;
        for component in topological_order(components(&nodes, successors), successors, &control.first_seen) {
            let comes_back = component.len() > 1 || control.edges.contains_key(&(component[0], component[0]));
            if !comes_back {
                self.order.push(component[0]);
            } else if depth >= MAX_LOOP_DEPTH {
                self.order.extend(component);
            } else {
                self.add_component(control, neighbours, component, parent, depth);
            }
        }
    }

    /// Adds the loops of a component: one, or several nested loops with the same header.
    fn add_component(
        &mut self,
        control: &ControlFlowGraph,
        neighbours: &Neighbours,
        component: Vec<usize>,
        parent: Option<usize>,
        depth: usize,
    ) {
        let entered = parent.and_then(|parent| control.other_entry(&component, &self.loops[parent].nodes, neighbours));
        let header = entered.unwrap_or_else(|| control.entry_node(&component, neighbours));
        let mut bodies = neighbours.bodies(component, header);
        bodies.truncate(MAX_LOOP_DEPTH - depth);
        // The loop of each body; the outermost one may be the parent, entered by other ranks.
        let mut numbers = Vec::with_capacity(bodies.len());
        for (index, body) in bodies.iter().enumerate() {
            match parent.filter(|_| index == 0 && entered.is_some()) {
                Some(parent) => {
                    self.loops[parent].other_entries.push(header);
                    numbers.push(parent);
                }
                None => {
                    let parent = numbers.last().copied().or(parent);
                    numbers.push(self.loops.len());
                    self.loops.push(ProgramLoop { header, other_entries: Vec::new(), parent, nodes: body.iter().copied().collect() });
                }
            }
        }
        self.order.push(header);
        let mut seen = BTreeSet::from([header]);
        for (body, number) in bodies.iter().zip(&numbers).rev() {
            let rest: Vec<usize> = body.difference(&seen).copied().collect();
            seen.extend(body);
            self.find_loops(control, neighbours, rest, Some(*number), depth + bodies.len());
        }
    }

    /// Renumbers the nodes.
    pub fn renumber(&mut self, number: &[usize]) {
        self.order.iter_mut().for_each(|node| *node = number[*node]);
        for one in &mut self.loops {
            one.header = number[one.header];
            one.other_entries.iter_mut().for_each(|node| *node = number[*node]);
            one.nodes.iter_mut().for_each(|node| *node = number[*node]);
            one.nodes.sort_unstable();
        }
    }

    /// Keeps the loops for which `keep` is true; nodes of the others go to the enclosing loops.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut index = Vec::new();
        let mut kept = Vec::new();
        for (mut one, keep) in std::mem::take(&mut self.loops).into_iter().zip(keep) {
            one.parent = one.parent.and_then(|parent: usize| index[parent]);
            index.push(if *keep { Some(kept.len()) } else { one.parent });
            if *keep {
                kept.push(one);
            }
        }
        self.loops = kept;
    }

    /// For each node, the loops that contain it, outermost first.
    pub fn enclosing_loops(&self) -> Vec<Vec<usize>> {
        let mut around = vec![Vec::new(); self.order.len()];
        for (number, one) in self.loops.iter().enumerate() {
            one.nodes.iter().for_each(|node| around[*node].push(number));
        }
        around
    }
}

impl ControlFlowGraph {
    /// The node through which a component is entered most often; the earliest on a tie.
    fn entry_node(&self, component: &[usize], neighbours: &Neighbours) -> usize {
        let inside: BTreeSet<usize> = component.iter().copied().collect();
        let entered = |node: &usize| self.entries_from_outside(*node, &inside, neighbours);
        let max = inside.iter().max_by_key(|node| (entered(node), std::cmp::Reverse(self.first_seen[**node])));
        max.copied().unwrap_or(component[0])
    }

    /// The node of a component through which a loop around it is entered most often, if any is: ranks that do not visit the header of that
    /// loop repeat it without the header, which is no loop inside it.
    fn other_entry(&self, component: &[usize], around: &[usize], neighbours: &Neighbours) -> Option<usize> {
        let around: BTreeSet<usize> = around.iter().copied().collect();
        let entered = |node: &usize| self.entries_from_outside(*node, &around, neighbours);
        let max = component.iter().max_by_key(|node| (entered(node), std::cmp::Reverse(self.first_seen[**node])));
        max.copied().filter(|node| entered(node) > 0)
    }

    /// How often a node was reached from outside these nodes.
    fn entries_from_outside(&self, node: usize, inside: &BTreeSet<usize>, neighbours: &Neighbours) -> u64 {
        let outside = neighbours.predecessors[node].iter().filter(|from| !inside.contains(from));
        self.entry_counts[node] + outside.map(|from| self.edges[&(*from, node)]).sum::<u64>()
    }
}

/// The edges of a control flow graph, by node.
struct Neighbours {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Neighbours {
    /// The bodies of the nested loops with this header, outermost first: for each node with a back edge, all nodes that reach it without
    /// passing the header. Bodies that merely overlap are branches of the same loop.
    fn bodies(&self, component: Vec<usize>, header: usize) -> Vec<BTreeSet<usize>> {
        // Nodes that reach each other without passing the header are reached by the same nodes.
        let without_header: Vec<usize> = component.iter().copied().filter(|node| *node != header).collect();
        let whole: BTreeSet<usize> = component.into_iter().collect();
        let is_back = |node: &usize| self.successors[*node].binary_search(&header).is_ok();
        let equal = components(&without_header, &self.successors).into_iter();
        let mut back: Vec<usize> = equal.filter_map(|nodes| nodes.into_iter().filter(is_back).min()).collect();
        back.extend(is_back(&header).then_some(header));
        back.sort_unstable();
        let mut bodies: Vec<BTreeSet<usize>> = back.into_iter().map(|node| self.nodes_reaching(node, header, &whole)).collect();
        bodies.sort_by_key(BTreeSet::len);
        let mut nested: Vec<BTreeSet<usize>> = Vec::new();
        for body in bodies.into_iter().chain([whole]) {
            match nested.last_mut() {
                Some(inner) if !inner.is_subset(&body) || inner.len() == body.len() => inner.extend(body),
                _ => nested.push(body),
            }
        }
        nested.reverse();
        nested
    }

    /// The header and all nodes of a component that reach `node` without passing the header.
    fn nodes_reaching(&self, node: usize, header: usize, component: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([header, node]);
        let mut open = if node == header { Vec::new() } else { vec![node] };
        while let Some(node) = open.pop() {
            let before = self.predecessors[node].iter().copied();
            open.extend(before.filter(|before| component.contains(before) && found.insert(*before)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control flow of one thread that visits these nodes in order.
    fn way(nodes: &[usize]) -> ControlFlowGraph {
        let size = nodes.iter().max().map_or(0, |node| node + 1);
        let mut steps = BTreeMap::new();
        nodes.windows(2).for_each(|step| *steps.entry((step[0], step[1])).or_default() += 1);
        let mut starts = vec![0; size];
        starts[nodes[0]] = 1;
        let seen = |node: usize| nodes.iter().position(|other| *other == node).unwrap_or(usize::MAX);
        ControlFlowGraph { edges: steps, entry_counts: starts, first_seen: (0..size).map(seen).collect() }
    }

    fn loops(forest: &LoopForest) -> Vec<(usize, Option<usize>, Vec<usize>)> {
        forest.loops.iter().map(|one| (one.header, one.parent, one.nodes.clone())).collect()
    }

    #[test]
    fn a_straight_program_has_no_loop() {
        let forest = LoopForest::from_control_flow(&way(&[2, 0, 1]));
        assert_eq!((loops(&forest), forest.order), (vec![], vec![2, 0, 1]));
    }

    #[test]
    fn loops_lie_in_loops() {
        // 0 (1 (2 3)* 4)* 5
        let forest = LoopForest::from_control_flow(&way(&[0, 1, 2, 3, 2, 3, 4, 1, 2, 3, 2, 3, 2, 3, 4, 5]));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3, 4]), (2, Some(0), vec![2, 3])]);
        assert_eq!(forest.order, [0, 1, 2, 3, 4, 5]);
        assert_eq!(forest.enclosing_loops()[3], [0, 1]);
    }

    #[test]
    fn a_node_that_repeats_is_a_loop_of_its_own() {
        let forest = LoopForest::from_control_flow(&way(&[0, 1, 1, 1, 2]));
        assert_eq!(loops(&forest), [(1, None, vec![1])]);
    }

    #[test]
    fn loops_that_begin_with_the_same_call_are_told_apart() {
        // 0 (((1 2)* 3)* 4)* 5
        let inner = |trip_counts: usize| [1, 2].repeat(trip_counts);
        let middle = |trip_counts: usize| [inner(2), vec![3]].concat().repeat(trip_counts);
        let forest = LoopForest::from_control_flow(&way(&[vec![0], [middle(3), vec![4]].concat().repeat(2), vec![5]].concat()));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3, 4]), (1, Some(0), vec![1, 2, 3]), (1, Some(1), vec![1, 2])]);
        assert_eq!(forest.order, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn branches_of_one_loop_are_not_loops_of_their_own() {
        let forest = LoopForest::from_control_flow(&way(&[0, 1, 2, 1, 3, 1, 2, 1, 3, 1, 4]));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3])]);
    }

    #[test]
    fn ranks_that_enter_a_loop_elsewhere_make_no_loop_inside_it() {
        // 0 (1 2 (3 4)*)* 5 of two ranks, and 0 (2 (3 4)*)* 5 of another one.
        let mut both = way(&[0, 1, 2, 3, 4, 3, 4, 1, 2, 3, 4, 3, 4, 1, 2, 3, 4, 3, 4, 5]);
        both.edges.values_mut().for_each(|count| *count *= 2);
        for (step, count) in way(&[0, 2, 3, 4, 3, 4, 2, 3, 4, 3, 4, 5]).edges {
            *both.edges.entry(step).or_default() += count;
        }
        let forest = LoopForest::from_control_flow(&both);
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3, 4]), (3, Some(0), vec![3, 4])]);
        assert_eq!(forest.loops[0].other_entries, [2]);
    }

    #[test]
    fn the_length_of_the_run_and_the_order_of_calls_do_not_change_the_loops() {
        let short = LoopForest::from_control_flow(&way(&[0, 1, 2, 1, 3, 1, 3, 1, 2, 1, 4]));
        let mut long = vec![0, 1];
        (0..1000).for_each(|round| long.extend([2 + (round * 7 % 5) % 2, 1]));
        long.push(4);
        let long = LoopForest::from_control_flow(&way(&long));
        assert_eq!((loops(&short), short.order), (loops(&long), long.order));
    }

    #[test]
    fn what_was_in_a_loop_that_is_none_belongs_to_the_one_around_it() {
        let mut forest = LoopForest::from_control_flow(&way(&[0, 1, 2, 2, 1, 0, 1, 2, 2, 1, 0]));
        assert_eq!(loops(&forest), [(0, None, vec![0, 1, 2]), (1, Some(0), vec![1, 2]), (2, Some(1), vec![2])]);
        forest.retain(&[true, false, true]);
        assert_eq!(loops(&forest), [(0, None, vec![0, 1, 2]), (2, Some(0), vec![2])]);
    }
}
