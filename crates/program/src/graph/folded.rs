//! The program graph with some scopes folded: sums over what they contain.

use std::collections::BTreeMap;

use super::scopes::GraphItem;
use super::{DurationStats, MessageEdge, ProgramGraph, RoleSegment};

/// A program graph, some of whose scopes are folded. Items are referenced by index.
pub struct FoldedGraph<'a> {
    /// The graph.
    pub graph: &'a ProgramGraph,
    /// The scopes whose contents are shown, by index; each is in open scopes only.
    pub open: Vec<usize>,
    /// What is shown, in program order.
    pub items: Vec<GraphItem>,
    /// The roles with their sums, as in the graph.
    pub roles: Vec<FoldedRole>,
    /// Messages between items, or from a node to itself.
    pub messages: Vec<MessageEdge>,
    /// Sets of items at different call sites that are the same collective.
    pub collective_sets: Vec<Vec<usize>>,
    /// For each node, the item that contains it.
    item_of: Vec<usize>,
}

/// The behaviour of a role, by item.
#[derive(Default)]
pub struct FoldedRole {
    /// Its visits to items, in program order.
    pub visits: Vec<(usize, ItemVisits)>,
    /// Its computation between two items, or between two calls at a node.
    pub segments: Vec<RoleSegment>,
}

/// The calls of a role in an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemVisits {
    /// Number of calls and their durations.
    pub calls: DurationStats,
    /// Nanoseconds of computation between them.
    pub compute_ns: u64,
    /// Messages sent by them.
    pub messages: u64,
}

impl ItemVisits {
    /// Nanoseconds in calls and in computation.
    pub fn elapsed_ns(&self) -> u64 {
        self.calls.total_ns.saturating_add(self.compute_ns)
    }
}

impl<'a> FoldedGraph<'a> {
    /// The graph at a depth; 1 shows the outermost scopes.
    pub fn at_depth(graph: &'a ProgramGraph, depth: usize) -> FoldedGraph<'a> {
        FoldedGraph::new(graph, &graph.scopes.open_at_depth(depth))
    }

    /// The graph with these scopes open. A scope in a folded one does not show.
    pub fn new(graph: &'a ProgramGraph, open: &[bool]) -> FoldedGraph<'a> {
        let scopes = &graph.scopes;
        let items = scopes.shown_items(open);
        let index: std::collections::HashMap<GraphItem, usize> = items.iter().enumerate().map(|(index, item)| (*item, index)).collect();
        let item_of: Vec<usize> = (0..graph.nodes.len()).map(|node| index[&scopes.item_of(node, open)]).collect();
        let is_open = |scope: &usize| scopes.enclosing_scopes(*scope).all(|around| open[around]);
        let mut folded = FoldedGraph {
            graph,
            open: (0..scopes.list.len()).filter(is_open).collect(),
            items,
            roles: Vec::new(),
            messages: Vec::new(),
            collective_sets: Vec::new(),
            item_of,
        };
        folded.roles = (0..graph.roles.len()).map(|role| folded.fold_role(role)).collect();
        folded.messages = folded.fold_messages();
        let sets = graph.collective_sets.iter().map(|set| set.iter().map(|node| folded.item_of[*node]).collect::<Vec<usize>>());
        folded.collective_sets = sets.filter(|set| set.iter().all(|item| matches!(folded.items[*item], GraphItem::Node(_)))).collect();
        folded
    }

    /// The item that contains a node.
    pub fn item_of(&self, node: usize) -> usize {
        self.item_of[node]
    }

    /// The items that contain these nodes, in program order.
    pub fn items_of(&self, nodes: &[usize]) -> Vec<usize> {
        let mut items: Vec<usize> = nodes.iter().map(|node| self.item_of[*node]).collect();
        items.sort_unstable();
        items.dedup();
        items
    }

    /// The nodes of an item.
    pub fn nodes(&self, item: usize) -> &[usize] {
        match &self.items[item] {
            GraphItem::Node(node) => std::slice::from_ref(node),
            GraphItem::Scope(scope) => &self.graph.scopes.list[*scope].nodes,
        }
    }

    fn is_folded(&self, item: usize) -> bool {
        matches!(self.items[item], GraphItem::Scope(_))
    }

    fn fold_role(&self, number: usize) -> FoldedRole {
        let role = &self.graph.roles[number];
        let mut visits: BTreeMap<usize, ItemVisits> = BTreeMap::new();
        for (node, visit) in &role.visits {
            visits.entry(self.item_of[*node]).or_default().calls.merge(&visit.calls);
        }
        let mut segments: BTreeMap<(usize, usize), DurationStats> = BTreeMap::new();
        for segment in &role.segments {
            let (from, to) = (self.item_of[segment.from], self.item_of[segment.to]);
            if from == to && self.is_folded(from) {
                let visit = visits.entry(from).or_default();
                visit.compute_ns = visit.compute_ns.saturating_add(segment.times.total_ns);
            } else {
                segments.entry((from, to)).or_default().merge(&segment.times);
            }
        }
        for edge in self.graph.messages.iter().filter(|edge| edge.from.0 == number) {
            visits.entry(self.item_of[edge.from.1]).or_default().messages += edge.messages;
        }
        let segments = segments.into_iter().map(|((from, to), times)| RoleSegment { from, to, times }).collect();
        FoldedRole { visits: visits.into_iter().collect(), segments }
    }

    fn fold_messages(&self) -> Vec<MessageEdge> {
        let mut sums: BTreeMap<[(usize, usize); 2], (u64, u64)> = BTreeMap::new();
        for edge in &self.graph.messages {
            let ends = [edge.from, edge.to].map(|(role, node)| (role, self.item_of[node]));
            if ends[0].1 == ends[1].1 && self.is_folded(ends[0].1) {
                continue;
            }
            let sum = sums.entry(ends).or_default();
            *sum = (sum.0 + edge.messages, sum.1.saturating_add(edge.bytes));
        }
        sums.into_iter().map(|([from, to], (messages, bytes))| MessageEdge { from, to, messages, bytes }).collect()
    }
}
