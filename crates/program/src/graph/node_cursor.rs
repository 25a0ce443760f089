//! Maps calls of a recording to nodes of the program graph.
//!
//! One call site can be several nodes, so the caller steps through a rank's calls in order with a cursor.

use rustc_hash::FxHashMap;
use sintonia_recording::call_table::RecordedCall;

use super::node_context::{ContextTable, NodeContext, NodeKey, ThreadParts};
use super::rank_path::{LocalNode, RankPath};
use super::transitions::{PathPosition, TransitionTable};

/// Everything needed to find the node of a call.
#[derive(Debug, Default)]
pub(super) struct NodeIndex {
    transitions: TransitionTable,
    contexts: ContextTable,
    /// For each thread of each rank, the context of each fragment of its path.
    contexts_by_thread: FxHashMap<(u32, u16), Vec<NodeContext>>,
    /// Id of each node.
    node_ids: FxHashMap<NodeKey, usize>,
}

impl NodeIndex {
    /// Derives the contexts from the paths of all ranks; node ids are assigned later.
    pub(super) fn from_paths(transitions: TransitionTable, rank_paths: &[(RankPath, Vec<LocalNode>)]) -> NodeIndex {
        let threads = rank_paths.iter().flat_map(|(path, nodes)| path.threads.iter().map(move |thread| (path.rank, thread, nodes)));
        let parts: Vec<((u32, u16), ThreadParts)> =
            threads.map(|(rank, thread, nodes)| ((rank, thread.thread), ThreadParts::from_fragments(&thread.fragments(nodes)))).collect();
        let contexts = ContextTable::from_threads(parts.iter().map(|(_, parts)| parts));
        let contexts_by_thread = parts.iter().map(|(thread, parts)| (*thread, contexts.fragment_contexts(parts))).collect();
        NodeIndex { transitions, contexts, contexts_by_thread, node_ids: FxHashMap::default() }
    }

    /// The graph-wide key of a rank-local node.
    pub(super) fn node_key(&self, rank: u32, local: &LocalNode) -> NodeKey {
        let context = self.context(rank, local.thread, local.fragment);
        self.contexts.node_key(local.point, context)
    }

    /// Assigns node ids by position in this list.
    pub(super) fn set_node_ids(&mut self, keys: &[NodeKey]) {
        self.node_ids = keys.iter().enumerate().map(|(number, key)| (*key, number)).collect();
    }

    /// The call points and transitions of the program.
    pub(super) fn transitions(&self) -> &TransitionTable {
        &self.transitions
    }

    /// A cursor along the calls of a rank.
    pub(super) fn cursor(&self, rank: u32) -> NodeCursor<'_> {
        NodeCursor { index: self, rank, threads: FxHashMap::default() }
    }

    fn context(&self, rank: u32, thread: u16, fragment: usize) -> NodeContext {
        self.contexts_by_thread.get(&(rank, thread)).and_then(|fragments| fragments.get(fragment)).copied().unwrap_or(NodeContext::Start)
    }
}

/// Finds the node of each call of a rank; calls are passed in order of completion.
pub struct NodeCursor<'a> {
    index: &'a NodeIndex,
    rank: u32,
    /// Position and context of each thread.
    threads: FxHashMap<u16, (PathPosition, NodeContext)>,
}

impl NodeCursor<'_> {
    /// The node of the next call.
    pub fn next_node(&mut self, call: &RecordedCall) -> Option<usize> {
        let node_index = self.index;
        let point = node_index.transitions.point(call)?;
        let context = |fragment| node_index.context(self.rank, call.thread, fragment);
        let (position, current) = self.threads.entry(call.thread).or_insert_with(|| (PathPosition::default(), context(0)));
        if position.advance(point, &node_index.transitions) {
            *current = context(position.fragment);
        }
        node_index.node_ids.get(&node_index.contexts.node_key(point, *current)).copied()
    }
}
