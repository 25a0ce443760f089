//! The scopes of the program: phases, and in them the functions and loops of the source as the call paths of the nodes show them.
//!
//! A real program has hundreds of nodes, too many for one picture. Its scopes form a tree over them, so that a picture can show some of
//! them folded. A function is a scope below its caller, one for each place of the call. A loop is a scope of the innermost function that
//! all its nodes are called from. Scopes that contain the same nodes are one.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::header::SourceFrame;
use sintonia_text::function_name::short_function_name;

use super::{ProgramGraph, call_frames};

/// More phases than this are no overview: then the outermost scopes are functions and loops.
const MAX_PHASES: usize = 40;

/// A phase, function or loop of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramScope {
    /// Index of the enclosing scope.
    pub parent: Option<usize>,
    /// The outermost phase that it is, if any.
    pub phase: Option<usize>,
    /// The function, or the one that contains the loop, in short; `None` without symbols.
    pub function: Option<String>,
    /// The source file of the function.
    pub file: Option<String>,
    /// The first and the last of its lines that lead to nodes.
    pub lines: Option<(u32, u32)>,
    /// The loops that it is, outermost first; none if it is not repeated.
    pub loops: Vec<usize>,
    /// Its nodes, in program order; at least two.
    pub nodes: Vec<usize>,
}

/// The scopes of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeTree {
    /// The scopes, each after the one around it.
    pub list: Vec<ProgramScope>,
    /// For each node, the innermost scope around it.
    pub innermost: Vec<Option<usize>>,
}

/// What tells scopes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScopeKey {
    Phase(usize),
    /// Id of a function under its callers, and its depth in the call path.
    Function(usize, usize),
    /// Index of a loop, and the depth of its function, if all its nodes have one.
    Loop(usize, Option<usize>),
}

/// Nodes of one scope, or a single node.
struct ScopeGroup {
    key: Option<ScopeKey>,
    nodes: Vec<usize>,
    /// Bit set of the roles that visit them.
    roles: u64,
}

/// The scopes around each node.
struct ScopePaths<'a> {
    /// For each node, its frames with a function, outermost first.
    frames: Vec<Vec<&'a SourceFrame>>,
    /// For each node, the scopes around it, outermost first.
    keys: Vec<Vec<ScopeKey>>,
    /// For each node, the bit set of the roles that visit it.
    roles: Vec<u64>,
}

impl ScopeTree {
    /// The scopes of a program.
    pub(super) fn from_graph(graph: &ProgramGraph, recording: &Recording) -> ScopeTree {
        let paths = ScopePaths::new(graph, recording);
        let mut tree = ScopeTree { list: Vec::new(), innermost: vec![None; graph.nodes.len()] };
        tree.add_scopes(&paths, (0..graph.nodes.len()).collect(), 0, None);
        tree
    }

    /// The scopes around a scope and itself, innermost first.
    pub fn enclosing_scopes(&self, scope: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(scope), |scope| self.list[*scope].parent)
    }

    /// The depth of a scope; 1 for the outermost ones.
    pub fn depth(&self, scope: usize) -> usize {
        self.enclosing_scopes(scope).count()
    }

    /// The depth at which nothing is folded.
    pub fn max_depth(&self) -> usize {
        (0..self.list.len()).map(|scope| self.depth(scope)).max().unwrap_or(0) + 1
    }

    /// The scopes that are open at a depth: 1 shows the outermost scopes folded.
    pub fn open_at_depth(&self, depth: usize) -> Vec<bool> {
        (0..self.list.len()).map(|scope| self.depth(scope) < depth).collect()
    }

    /// The greatest depth at which at most this number of items are shown; at least 1.
    pub fn fitting_depth(&self, max_items: usize) -> usize {
        let fits = |depth: &usize| self.shown_items(&self.open_at_depth(*depth)).len() <= max_items;
        (1..=self.max_depth()).rev().find(fits).unwrap_or(1)
    }

    /// What is shown with some scopes open, in program order: folded scopes, and the nodes outside them.
    pub(super) fn shown_items(&self, open: &[bool]) -> Vec<GraphItem> {
        let mut order: Vec<usize> = (0..self.innermost.len()).collect();
        // Nodes of one scope are together, even if other roles visit others in between.
        order.sort_by_cached_key(|node| self.order_key(*node));
        let mut items: Vec<GraphItem> = order.into_iter().map(|node| self.item_of(node, open)).collect();
        items.dedup();
        items
    }

    /// The item that contains a node.
    pub(super) fn item_of(&self, node: usize, open: &[bool]) -> GraphItem {
        let around: Vec<usize> = self.innermost[node].into_iter().flat_map(|scope| self.enclosing_scopes(scope)).collect();
        around.into_iter().rev().find(|scope| !open[*scope]).map_or(GraphItem::Node(node), GraphItem::Scope)
    }

    /// Sorts nodes so that scopes are contiguous: the first nodes of the scopes around it, outermost first, and itself.
    fn order_key(&self, node: usize) -> Vec<usize> {
        let around = self.innermost[node].into_iter().flat_map(|scope| self.enclosing_scopes(scope));
        let mut key: Vec<usize> = around.map(|scope| self.list[scope].nodes[0]).collect();
        key.reverse();
        key.push(node);
        key
    }

    /// Adds the scopes of these nodes from a level of their paths on.
    fn add_scopes(&mut self, paths: &ScopePaths, nodes: Vec<usize>, level: usize, parent: Option<usize>) {
        for ScopeGroup { key, nodes: inside, .. } in paths.groups(&nodes, level) {
            let Some(key) = key.filter(|_| inside.len() > 1) else {
                inside.iter().for_each(|node| self.innermost[*node] = parent);
                continue;
            };
            let is_all = inside.len() == nodes.len();
            match parent {
                Some(scope) if is_all => self.describe(scope, key, paths),
                // A scope around the whole program says nothing.
                None if is_all => {}
                _ => {
                    self.list.push(ProgramScope { parent, nodes: inside.clone(), ..ProgramScope::default() });
                    self.describe(self.list.len() - 1, key, paths);
                }
            }
            let scope = if is_all { parent } else { Some(self.list.len() - 1) };
            self.add_scopes(paths, inside, level + 1, scope);
        }
    }

    /// A scope is also this one.
    fn describe(&mut self, scope: usize, key: ScopeKey, paths: &ScopePaths) {
        let scope = &mut self.list[scope];
        let depth = match key {
            ScopeKey::Phase(phase) => {
                scope.phase = Some(phase);
                None
            }
            ScopeKey::Function(_, depth) => Some(depth),
            ScopeKey::Loop(number, depth) => {
                scope.loops.push(number);
                depth
            }
        };
        let frames = || scope.nodes.iter().filter_map(|node| paths.frames[*node].get(depth?).copied());
        if let Some(first) = frames().next() {
            scope.function = first.function.as_deref().map(short_function_name);
            scope.file = first.file.clone();
            let lines = || frames().filter_map(|frame| frame.line);
            scope.lines = lines().min().zip(lines().max());
        }
    }
}

impl<'a> ScopePaths<'a> {
    fn new(graph: &ProgramGraph, recording: &'a Recording) -> ScopePaths<'a> {
        let named = |node: &super::ProgramNode| -> Vec<&SourceFrame> {
            call_frames(node.site, |site| recording.site(site)).into_iter().filter(|frame| frame.function.is_some()).collect()
        };
        let frames: Vec<Vec<&SourceFrame>> = graph.nodes.iter().map(named).collect();
        let functions = function_ids(&frames);
        let mut roles = vec![0; graph.nodes.len()];
        for (role, visited) in graph.roles.iter().enumerate() {
            visited.visits.iter().for_each(|(node, _)| roles[*node] |= 1 << role.min(63));
        }
        let mut loops = vec![Vec::new(); graph.nodes.len()];
        for (number, one) in graph.loops.iter().enumerate() {
            let depth = common_depth(&one.nodes, &functions);
            one.nodes.iter().for_each(|node| loops[*node].push((number, depth)));
        }
        let has_phases = graph.phases.children(None).count() <= MAX_PHASES;
        let path = |node: usize| {
            let phase = has_phases.then(|| ScopeKey::Phase(graph.phases.enclosing_phases(node)[0]));
            let loops_at = |depth: Option<usize>| {
                loops[node].iter().filter(move |(_, at)| *at == depth).map(|(number, at)| ScopeKey::Loop(*number, *at))
            };
            let called = functions[node].iter().enumerate();
            let called = called.flat_map(|(depth, id)| std::iter::once(ScopeKey::Function(*id, depth)).chain(loops_at(Some(depth))));
            phase.into_iter().chain(loops_at(None)).chain(called).collect()
        };
        ScopePaths { keys: (0..graph.nodes.len()).map(path).collect(), frames, roles }
    }

    /// Groups nodes by the scope at a level of their paths. Nodes with other nodes of the same role in between stay apart.
    fn groups(&self, nodes: &[usize], level: usize) -> Vec<ScopeGroup> {
        let mut groups: Vec<ScopeGroup> = Vec::new();
        for node in nodes {
            let (key, roles) = (self.keys[*node].get(level).copied(), self.roles[*node]);
            let same = groups.iter().rposition(|group| key.is_some() && group.key == key);
            let joined = same.filter(|same| {
                let group = groups[*same].roles | roles;
                groups[same + 1..].iter().all(|between| between.roles & group == 0)
            });
            match joined {
                Some(same) => {
                    groups[same].nodes.push(*node);
                    groups[same].roles |= roles;
                }
                None => groups.push(ScopeGroup { key, nodes: vec![*node], roles }),
            }
        }
        groups
    }
}

/// The id of the caller, the line of the call in it, and the function.
type CalledFunction<'a> = (Option<usize>, Option<u32>, Option<&'a str>);

/// For each node the ids of the functions on its call path, outermost first. A function called from two lines has two ids.
fn function_ids<'a>(frames: &[Vec<&'a SourceFrame>]) -> Vec<Vec<usize>> {
    let mut known: HashMap<CalledFunction<'a>, usize> = HashMap::new();
    let mut path_ids = |frames: &Vec<&'a SourceFrame>| {
        let mut called_at = (None, None);
        let mut ids = Vec::with_capacity(frames.len());
        for frame in frames {
            let next = known.len();
            let id = *known.entry((called_at.0, called_at.1, frame.function.as_deref())).or_insert(next);
            called_at = (Some(id), frame.line);
            ids.push(id);
        }
        ids
    };
    frames.iter().map(&mut path_ids).collect()
}

/// The depth of the innermost function that all these nodes are called from.
fn common_depth(nodes: &[usize], functions: &[Vec<usize>]) -> Option<usize> {
    let first = &functions[*nodes.first()?];
    let is_common = |depth: &usize| nodes.iter().all(|node| functions[*node].get(*depth) == first.get(*depth));
    (0..first.len()).take_while(is_common).count().checked_sub(1)
}

/// A part of a picture of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphItem {
    /// A node.
    Node(usize),
    /// A folded scope.
    Scope(usize),
}
