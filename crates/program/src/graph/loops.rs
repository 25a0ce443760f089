//! The loops of a program, found in the ways that its ranks took.
//!
//! Where one can come back there is a loop: a strongly connected component of the control flow. Without the edges back to its header, the
//! node through which it is entered, its body falls into pieces, and those that are still connected are the loops inside it. Loops inside
//! each other often begin with the same call; then the edges back to it tell them apart, since those of the inner loop come from a smaller
//! part of the body. The order in which all this is found is the order of the program: loops stand together, and everything comes after
//! what leads to it.

use std::collections::{BTreeMap, BTreeSet};

use super::components::{components, in_order};

/// Deeper than any program nests its loops. Calls from everywhere through one helper look like loops in loops without end.
const DEEPEST: usize = 24;

/// Which nodes follow which, over all ranks.
pub struct Control {
    /// How often a call at the second node followed one at the first.
    pub steps: BTreeMap<(usize, usize), u64>,
    /// How often a thread began at each node.
    pub starts: Vec<u64>,
    /// When each node was first seen, compared to others.
    pub earliness: Vec<usize>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node through which it is entered.
    pub header: usize,
    /// The loop around it, by number.
    pub parent: Option<usize>,
    /// All nodes in it, in program order.
    pub nodes: Vec<usize>,
}

/// The loops of a program and the order of its nodes.
#[derive(Debug, Default)]
pub struct Forest {
    /// The loops, each after the one around it.
    pub loops: Vec<Loop>,
    /// The nodes in program order.
    pub order: Vec<usize>,
}

impl Forest {
    /// Finds the loops.
    pub fn of(control: &Control) -> Forest {
        let size = control.starts.len();
        let mut successors = vec![Vec::new(); size];
        control.steps.keys().for_each(|(from, to)| successors[*from].push(*to));
        let mut forest = Forest::default();
        forest.grow(control, &successors, (0..size).collect(), None, 0);
        forest
    }

    /// Finds the loops among these nodes.
    fn grow(&mut self, control: &Control, successors: &[Vec<usize>], nodes: Vec<usize>, parent: Option<usize>, depth: usize) {
        for component in in_order(components(&nodes, successors), successors, &control.earliness) {
            let comes_back = component.len() > 1 || control.steps.contains_key(&(component[0], component[0]));
            if !comes_back {
                self.order.push(component[0]);
            } else if depth >= DEEPEST {
                self.order.extend(component);
            } else {
                self.add(control, successors, component, parent, depth);
            }
        }
    }

    /// Adds the loops that make up a component: one, or several inside each other that begin with the same node.
    fn add(&mut self, control: &Control, successors: &[Vec<usize>], component: Vec<usize>, parent: Option<usize>, depth: usize) {
        let header = control.header(&component);
        let mut bodies = control.bodies(component, header);
        bodies.truncate(DEEPEST - depth);
        let outermost = self.loops.len();
        let around = |place: usize| if place == 0 { parent } else { Some(outermost + place - 1) };
        let loops =
            bodies.iter().enumerate().map(|(place, body)| Loop { header, parent: around(place), nodes: body.iter().copied().collect() });
        self.loops.extend(loops);
        self.order.push(header);
        let mut seen = BTreeSet::from([header]);
        for (place, body) in bodies.iter().enumerate().rev() {
            let rest: Vec<usize> = body.difference(&seen).copied().collect();
            seen.extend(body);
            self.grow(control, successors, rest, Some(outermost + place), depth + bodies.len());
        }
    }

    /// Gives the nodes other numbers.
    pub fn renumber(&mut self, number: &[usize]) {
        self.order.iter_mut().for_each(|node| *node = number[*node]);
        for one in &mut self.loops {
            one.header = number[one.header];
            one.nodes.iter_mut().for_each(|node| *node = number[*node]);
            one.nodes.sort_unstable();
        }
    }

    /// Keeps the loops for which `keep` holds; what is inside the others belongs to the loops around them.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut place = Vec::new();
        let mut kept = Vec::new();
        for (mut one, keep) in std::mem::take(&mut self.loops).into_iter().zip(keep) {
            one.parent = one.parent.and_then(|parent: usize| place[parent]);
            place.push(if *keep { Some(kept.len()) } else { one.parent });
            if *keep {
                kept.push(one);
            }
        }
        self.loops = kept;
    }

    /// For each node the loops it is in, from the outermost to the innermost.
    pub fn around(&self) -> Vec<Vec<usize>> {
        let mut around = vec![Vec::new(); self.order.len()];
        for (number, one) in self.loops.iter().enumerate() {
            one.nodes.iter().for_each(|node| around[*node].push(number));
        }
        around
    }
}

impl Control {
    /// The node through which a component is entered most; the earliest of several.
    fn header(&self, component: &[usize]) -> usize {
        let mut entries: BTreeMap<usize, u64> = component.iter().map(|node| (*node, self.starts[*node])).collect();
        for ((from, to), count) in &self.steps {
            if !entries.contains_key(from)
                && let Some(entered) = entries.get_mut(to)
            {
                *entered += count;
            }
        }
        let most = entries.into_iter().max_by_key(|(node, entered)| (*entered, std::cmp::Reverse(self.earliness[*node])));
        most.map_or(component[0], |(node, _)| node)
    }

    /// The bodies of the loops with this header that make up a component, from the outermost to the innermost: for each node that leads
    /// back, all from which it can be reached without passing the header. Two that only overlap are ways through one and the same body.
    fn bodies(&self, component: Vec<usize>, header: usize) -> Vec<BTreeSet<usize>> {
        let whole: BTreeSet<usize> = component.into_iter().collect();
        let mut predecessors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (from, to) in self.steps.keys().filter(|(from, to)| whole.contains(from) && whole.contains(to)) {
            predecessors.entry(*to).or_default().push(*from);
        }
        let back = predecessors.get(&header).into_iter().flatten();
        let mut bodies: Vec<BTreeSet<usize>> = back.map(|node| before(*node, header, &predecessors)).collect();
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
}

/// All nodes from which a node can be reached without passing the header; and the header.
fn before(node: usize, header: usize, predecessors: &BTreeMap<usize, Vec<usize>>) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([header, node]);
    let mut open = if node == header { Vec::new() } else { vec![node] };
    while let Some(node) = open.pop() {
        open.extend(predecessors.get(&node).into_iter().flatten().copied().filter(|before| found.insert(*before)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control flow of one thread that comes by these nodes in this order.
    fn way(nodes: &[usize]) -> Control {
        let size = nodes.iter().max().map_or(0, |node| node + 1);
        let mut steps = BTreeMap::new();
        nodes.windows(2).for_each(|step| *steps.entry((step[0], step[1])).or_default() += 1);
        let mut starts = vec![0; size];
        starts[nodes[0]] = 1;
        let seen = |node: usize| nodes.iter().position(|other| *other == node).unwrap_or(usize::MAX);
        Control { steps, starts, earliness: (0..size).map(seen).collect() }
    }

    fn loops(forest: &Forest) -> Vec<(usize, Option<usize>, Vec<usize>)> {
        forest.loops.iter().map(|one| (one.header, one.parent, one.nodes.clone())).collect()
    }

    #[test]
    fn a_straight_program_has_no_loop() {
        let forest = Forest::of(&way(&[2, 0, 1]));
        assert_eq!((loops(&forest), forest.order), (vec![], vec![2, 0, 1]));
    }

    #[test]
    fn loops_lie_in_loops() {
        // 0 (1 (2 3)* 4)* 5
        let forest = Forest::of(&way(&[0, 1, 2, 3, 2, 3, 4, 1, 2, 3, 2, 3, 2, 3, 4, 5]));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3, 4]), (2, Some(0), vec![2, 3])]);
        assert_eq!(forest.order, [0, 1, 2, 3, 4, 5]);
        assert_eq!(forest.around()[3], [0, 1]);
    }

    #[test]
    fn a_node_that_repeats_is_a_loop_of_its_own() {
        let forest = Forest::of(&way(&[0, 1, 1, 1, 2]));
        assert_eq!(loops(&forest), [(1, None, vec![1])]);
    }

    #[test]
    fn loops_that_begin_with_the_same_call_are_told_apart() {
        // 0 (((1 2)* 3)* 4)* 5
        let inner = |rounds: usize| [1, 2].repeat(rounds);
        let middle = |rounds: usize| [inner(2), vec![3]].concat().repeat(rounds);
        let forest = Forest::of(&way(&[vec![0], [middle(3), vec![4]].concat().repeat(2), vec![5]].concat()));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3, 4]), (1, Some(0), vec![1, 2, 3]), (1, Some(1), vec![1, 2])]);
        assert_eq!(forest.order, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn branches_of_one_loop_are_not_loops_of_their_own() {
        let forest = Forest::of(&way(&[0, 1, 2, 1, 3, 1, 2, 1, 3, 1, 4]));
        assert_eq!(loops(&forest), [(1, None, vec![1, 2, 3])]);
    }

    #[test]
    fn the_length_of_the_run_and_the_order_of_calls_do_not_change_the_loops() {
        let short = Forest::of(&way(&[0, 1, 2, 1, 3, 1, 3, 1, 2, 1, 4]));
        let mut long = vec![0, 1];
        (0..1000).for_each(|round| long.extend([2 + (round * 7 % 5) % 2, 1]));
        long.push(4);
        let long = Forest::of(&way(&long));
        assert_eq!((loops(&short), short.order), (loops(&long), long.order));
    }

    #[test]
    fn what_was_in_a_loop_that_is_none_belongs_to_the_one_around_it() {
        let mut forest = Forest::of(&way(&[0, 1, 2, 2, 1, 0, 1, 2, 2, 1, 0]));
        assert_eq!(loops(&forest), [(0, None, vec![0, 1, 2]), (1, Some(0), vec![1, 2]), (2, Some(1), vec![2])]);
        forest.retain(&[true, false, true]);
        assert_eq!(loops(&forest), [(0, None, vec![0, 1, 2]), (2, Some(0), vec![2])]);
    }
}
