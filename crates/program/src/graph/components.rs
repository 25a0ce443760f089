//! Strongly connected components: nodes from which one can come back; and an order in which everything comes after what leads to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The strongly connected components of the nodes of a graph, each after those that it leads to.
///
/// Tarjan's algorithm with its stack in memory of its own: a program may have more nodes than a thread's stack has room for calls.
pub fn components(nodes: &[usize], successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search { place: vec![OUTSIDE; successors.len()], ..Search::default() };
    nodes.iter().for_each(|node| search.place[*node] = UNSEEN);
    nodes.iter().for_each(|node| search.from(*node, successors));
    search.found
}

/// The components in an order in which each comes after those that lead to it; where that leaves a choice, the one with the earliest
/// node comes first.
pub fn in_order(components: Vec<Vec<usize>>, successors: &[Vec<usize>], earliness: &[usize]) -> Vec<Vec<usize>> {
    let mut component_of = vec![OUTSIDE; successors.len()];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|node| component_of[*node] = number);
    }
    let leads_to = |number: usize| {
        let nodes = components[number].iter().flat_map(|node| &successors[*node]);
        nodes.map(|to| component_of[*to]).filter(move |to| *to != number && *to != OUTSIDE)
    };
    let mut waiting_for = vec![0usize; components.len()];
    (0..components.len()).flat_map(leads_to).for_each(|to| waiting_for[to] += 1);
    let rank = |number: usize| Reverse((components[number].iter().map(|node| earliness[*node]).min(), number));
    let mut ready: BinaryHeap<_> = (0..components.len()).filter(|number| waiting_for[*number] == 0).map(rank).collect();
    let mut order = Vec::with_capacity(components.len());
    while let Some(Reverse((_, number))) = ready.pop() {
        order.push(number);
        for to in leads_to(number) {
            waiting_for[to] -= 1;
            if waiting_for[to] == 0 {
                ready.push(rank(to));
            }
        }
    }
    let mut components: Vec<Option<Vec<usize>>> = components.into_iter().map(Some).collect();
    order.into_iter().filter_map(|number| components[number].take()).collect()
}

const OUTSIDE: usize = usize::MAX;
const UNSEEN: usize = usize::MAX - 1;
const DONE: usize = usize::MAX - 2;

#[derive(Default)]
struct Search {
    /// When each node was seen; or one of the constants above.
    place: Vec<usize>,
    seen: usize,
    /// Nodes that belong to no finished component yet.
    open: Vec<usize>,
    found: Vec<Vec<usize>>,
}

/// A node on the way of the search: its next successor, and the earliest node that can be reached through it.
struct Step {
    node: usize,
    next: usize,
    low: usize,
}

impl Search {
    fn from(&mut self, start: usize, successors: &[Vec<usize>]) {
        if self.place[start] != UNSEEN {
            return;
        }
        let mut way = vec![self.see(start)];
        while let Some(step) = way.last_mut() {
            if let Some(&to) = successors[step.node].get(step.next) {
                step.next += 1;
                match self.place[to] {
                    OUTSIDE | DONE => {}
                    UNSEEN => way.push(self.see(to)),
                    seen => step.low = step.low.min(seen),
                }
                continue;
            }
            let (node, low) = (step.node, step.low);
            way.pop();
            if let Some(before) = way.last_mut() {
                before.low = before.low.min(low);
            }
            if low == self.place[node] {
                self.finish(node);
            }
        }
    }

    fn see(&mut self, node: usize) -> Step {
        let low = self.seen;
        self.place[node] = low;
        self.seen += 1;
        self.open.push(node);
        Step { node, next: 0, low }
    }

    /// Everything that was opened from this node on is one component.
    fn finish(&mut self, node: usize) {
        let begin = self.open.iter().rposition(|open| *open == node).expect("a node is open until its component is finished");
        let mut component = self.open.split_off(begin);
        component.iter().for_each(|node| self.place[*node] = DONE);
        component.sort_unstable();
        self.found.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(size: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let mut successors = vec![Vec::new(); size];
        edges.iter().for_each(|(from, to)| successors[*from].push(*to));
        successors
    }

    #[test]
    fn cycles_are_one_component_and_those_they_lead_to_come_first() {
        let successors = graph(6, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 4), (2, 5)]);
        assert_eq!(components(&[0, 1, 2, 3, 4, 5], &successors), [vec![4], vec![5], vec![1, 2, 3], vec![0]]);
    }

    #[test]
    fn nodes_outside_are_not_looked_at() {
        let successors = graph(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]);
        assert_eq!(components(&[0, 2, 3], &successors), [vec![0], vec![3], vec![2]]);
    }

    #[test]
    fn what_leads_to_something_comes_before_it_and_early_nodes_before_late_ones() {
        let successors = graph(5, &[(4, 0), (0, 1), (1, 0), (3, 1)]);
        let found = components(&[0, 1, 2, 3, 4], &successors);
        assert_eq!(in_order(found, &successors, &[0, 1, 2, 3, 4]), [vec![2], vec![3], vec![4], vec![0, 1]]);
    }

    #[test]
    fn a_long_way_needs_no_deep_stack() {
        let edges: Vec<(usize, usize)> = (1..300_000).map(|node| (node - 1, node)).collect();
        assert_eq!(components(&[0], &graph(300_000, &edges)).len(), 1);
        let all: Vec<usize> = (0..300_000).collect();
        assert_eq!(components(&all, &graph(300_000, &edges)).len(), 300_000);
    }
}
