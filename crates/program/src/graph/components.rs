//! Strongly connected components (Tarjan) and a topological order of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The strongly connected components of a graph, successors first.
///
/// Tarjan's algorithm with an explicit stack: a program may have more nodes than the thread's stack has room for recursive calls.
pub(super) fn components(nodes: &[usize], successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = TarjanState { discovery: vec![OUTSIDE; successors.len()], ..TarjanState::default() };
    nodes.iter().for_each(|node| search.discovery[*node] = UNSEEN);
    nodes.iter().for_each(|node| search.search_from(*node, successors));
    search.components
}

/// Components in topological order; ties are broken by the node seen first.
pub(super) fn topological_order(components: Vec<Vec<usize>>, successors: &[Vec<usize>], first_seen: &[usize]) -> Vec<Vec<usize>> {
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
    let rank = |number: usize| Reverse((components[number].iter().map(|node| first_seen[*node]).min(), number));
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
struct TarjanState {
    /// Discovery index of each node, or one of the constants above.
    discovery: Vec<usize>,
    next_discovery: usize,
    /// Nodes not yet assigned to a component.
    stack: Vec<usize>,
    components: Vec<Vec<usize>>,
}

/// A frame of the explicit stack: the next successor to visit, and the lowest reachable discovery index.
struct TarjanFrame {
    node: usize,
    next_successor: usize,
    low: usize,
}

impl TarjanState {
    fn search_from(&mut self, start: usize, successors: &[Vec<usize>]) {
        if self.discovery[start] != UNSEEN {
            return;
        }
        let mut way = vec![self.discover(start)];
        while let Some(step) = way.last_mut() {
            if let Some(&to) = successors[step.node].get(step.next_successor) {
                step.next_successor += 1;
                match self.discovery[to] {
                    OUTSIDE | DONE => {}
                    UNSEEN => way.push(self.discover(to)),
                    seen => step.low = step.low.min(seen),
                }
                continue;
            }
            let (node, low) = (step.node, step.low);
            way.pop();
            if let Some(before) = way.last_mut() {
                before.low = before.low.min(low);
            }
            if low == self.discovery[node] {
                self.pop_component(node);
            }
        }
    }

    fn discover(&mut self, node: usize) -> TarjanFrame {
        let low = self.next_discovery;
        self.discovery[node] = low;
        self.next_discovery += 1;
        self.stack.push(node);
        TarjanFrame { node, next_successor: 0, low }
    }

    /// All nodes pushed since this one form a component.
    fn pop_component(&mut self, node: usize) {
        let begin = self.stack.iter().rposition(|open| *open == node).expect("a node is open until its component is finished");
        let mut component = self.stack.split_off(begin);
        component.iter().for_each(|node| self.discovery[*node] = DONE);
        component.sort_unstable();
        self.components.push(component);
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
        assert_eq!(topological_order(found, &successors, &[0, 1, 2, 3, 4]), [vec![2], vec![3], vec![4], vec![0, 1]]);
    }

    #[test]
    fn a_long_way_needs_no_deep_stack() {
        let edges: Vec<(usize, usize)> = (1..300_000).map(|node| (node - 1, node)).collect();
        assert_eq!(components(&[0], &graph(300_000, &edges)).len(), 1);
        let all: Vec<usize> = (0..300_000).collect();
        assert_eq!(components(&all, &graph(300_000, &edges)).len(), 300_000);
    }
}
