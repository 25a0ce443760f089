//! The call tree of a selection: functions under their callers, with their time.

use std::collections::HashMap;

use serde::Serialize;

use super::{RecordedStacks, SelectedStacks, StackLeaf};

/// The nodes, as columns of equal length, each after its caller. All times are in nanoseconds; the time of a node is that of the function
/// and of what it called.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StackTree {
    /// The caller, by index; -1 if there is none.
    caller: Vec<i64>,
    /// The function, by index.
    function: Vec<u32>,
    /// The line; 0 if it is not known. Only in a tree of lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    line: Vec<u32>,
    /// Time in the function itself.
    #[serde(rename = "self")]
    self_ns: Vec<u64>,
    computation: Vec<u64>,
    kernel: Vec<u64>,
    mpi: Vec<u64>,
}

/// What tells a node from the others: its caller, its function, its line.
type NodeKey = (i64, u32, u32);

/// Adds nodes, each of them once.
struct TreeBuilder<'a> {
    stacks: &'a RecordedStacks,
    has_lines: bool,
    tree: StackTree,
    nodes: HashMap<NodeKey, usize>,
    node_of_frame: HashMap<u32, usize>,
}

impl StackTree {
    /// The tree of a selection; functions are split by line if `has_lines` is set.
    pub(crate) fn new(stacks: &RecordedStacks, selected: &SelectedStacks, has_lines: bool) -> StackTree {
        let mut builder =
            TreeBuilder { stacks, has_lines, tree: StackTree::default(), nodes: HashMap::new(), node_of_frame: HashMap::new() };
        let mut times: Vec<_> = selected.times.iter().collect();
        times.sort_unstable_by_key(|(stack, _)| **stack);
        for ((frame, leaf), ns) in times {
            builder.add_stack(*frame, *leaf, *ns);
        }
        builder.tree.add_to_callers();
        builder.tree
    }

    /// Adds the times of callees to those of their callers, which are before them.
    fn add_to_callers(&mut self) {
        for node in (0..self.caller.len()).rev() {
            let Ok(caller) = usize::try_from(self.caller[node]) else { continue };
            for times in [&mut self.computation, &mut self.kernel, &mut self.mpi] {
                times[caller] += times[node];
            }
        }
    }
}

impl TreeBuilder<'_> {
    fn add_stack(&mut self, frame: u32, leaf: StackLeaf, ns: u64) {
        let inner = self.frame_node(frame);
        let node = match self.stacks.leaf_function(leaf) {
            None => inner,
            Some(function) => self.node((inner as i64, function, 0)),
        };
        self.tree.self_ns[node] += ns;
        let times = match leaf {
            StackLeaf::Computation => &mut self.tree.computation,
            StackLeaf::Kernel => &mut self.tree.kernel,
            StackLeaf::Mpi(_) => &mut self.tree.mpi,
        };
        times[node] += ns;
    }

    /// The node of a frame, under those of its callers.
    fn frame_node(&mut self, frame: u32) -> usize {
        let path: Vec<u32> = self.stacks.path(frame).collect();
        let mut caller = -1;
        for frame in path.into_iter().rev() {
            let node = match self.node_of_frame.get(&frame) {
                Some(node) => *node,
                None => {
                    let line = if self.has_lines { self.stacks.frames[frame as usize].line.unwrap_or(0) } else { 0 };
                    let node = self.node((caller, self.stacks.tree.function_of_frame(frame), line));
                    self.node_of_frame.insert(frame, node);
                    node
                }
            };
            caller = node as i64;
        }
        caller as usize
    }

    fn node(&mut self, key: NodeKey) -> usize {
        let tree = &mut self.tree;
        *self.nodes.entry(key).or_insert_with(|| {
            let (caller, function, line) = key;
            tree.caller.push(caller);
            tree.function.push(function);
            if self.has_lines {
                tree.line.push(line);
            }
            for times in [&mut tree.self_ns, &mut tree.computation, &mut tree.kernel, &mut tree.mpi] {
                times.push(0);
            }
            tree.caller.len() - 1
        })
    }
}
