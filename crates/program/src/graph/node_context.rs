//! Distinguishes the same call point in different parts of the program.
//!
//! A thread's path is a sequence of fragments. A loop interrupted by a transition taken only once (such as writing a checkpoint) forms one
//! part with everything that interrupts it, and so does a loop with its first iterations, in which much is new. A call point that occurs in
//! one part only is an anchor. All other call points are told apart by the anchor of their part.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

/// Minimum share of common transitions (Jaccard) for two fragments to be the same loop.
const MIN_SIMILARITY: f64 = 0.5;
/// Maximum number of fragments that may interrupt the first iteration of a loop: initialisation on first use.
const MAX_INTERRUPTIONS: usize = 4;

/// The part of the program in which a call point occurs. Anchors are call point ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum NodeContext {
    /// At an anchor, which occurs once.
    Anchor,
    /// Before any anchor.
    Start,
    /// In the part of an anchor.
    In(usize),
    /// After the part of an anchor, in a part without one.
    After(usize),
}

/// Key of a node of the program graph: a call point and its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeKey {
    /// Id of the call point.
    pub point: usize,
    /// The part of the program it occurs in.
    pub context: NodeContext,
}

/// A section of a thread's path between two transitions that no thread takes twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFragment {
    /// Call points and their number of visits.
    pub points: BTreeMap<usize, u64>,
    /// Transitions between them.
    pub steps: BTreeSet<(usize, usize)>,
}

impl PathFragment {
    fn is_loop(&self) -> bool {
        self.points.values().any(|count| *count > 1)
    }

    fn is_similar(&self, other: &PathFragment) -> bool {
        let common = self.steps.intersection(&other.steps).count();
        let all = self.steps.len() + other.steps.len() - common;
        common > 0 && common as f64 >= MIN_SIMILARITY * all as f64
    }
}

/// The parts of the program along one thread's path.
#[derive(Debug)]
pub(super) struct ThreadParts {
    /// The parts in order.
    parts: Vec<PathPart>,
}

/// Fragments that belong to one part.
#[derive(Debug, Default)]
struct PathPart {
    fragment_count: usize,
    points: BTreeSet<usize>,
    is_loop: bool,
    /// Whether none of its call points occurred before.
    is_new: bool,
}

impl ThreadParts {
    /// Merges the fragments of one loop with everything between them.
    pub(super) fn from_fragments(pieces: &[PathFragment]) -> ThreadParts {
        let mut before = interrupted_loops(pieces);
        let mut parts: Vec<PathPart> = Vec::new();
        while let Some(mut part) = before.pop() {
            while let Some(begin) = loop_begin(&before, &part) {
                let earlier = before.split_off(begin).into_iter().rev();
                part = earlier.fold(part, |part, earlier| earlier.merge(part));
            }
            parts.push(part);
        }
        parts.reverse();
        ThreadParts { parts }
    }
}

/// Where a loop really begins, if preceding parts contain its first iterations.
fn loop_begin(before: &[PathPart], one: &PathPart) -> Option<usize> {
    if !one.is_loop {
        return None;
    }
    let last = before.len().checked_sub(1)?;
    let is_in_it = |index: &usize| before[*index].points.is_subset(&one.points);
    // Further back, only new parts can be the beginning: one that is not new is a helper that is also called elsewhere.
    let farther = (last.saturating_sub(MAX_INTERRUPTIONS)..last).rev().take_while(|index| !before[*index].is_loop);
    let adjacent = Some(last).filter(is_in_it);
    adjacent.or_else(|| farther.filter(|_| !before[last].is_loop).find(|index| before[*index].is_new && is_in_it(index)))
}

/// The fragments in order, those of one loop merged with everything between them. A helper may contain a loop that recurs, so no other loop
/// may lie between two fragments of one loop, and a single repeated call does not count as a loop.
fn interrupted_loops(pieces: &[PathFragment]) -> Vec<PathPart> {
    let mut parts: Vec<PathPart> = Vec::new();
    let mut last_round: Option<(usize, &PathFragment)> = None;
    let mut seen = BTreeSet::new();
    for fragment in pieces {
        let same = last_round.filter(|(_, before)| fragment.is_loop() && fragment.points.len() > 1 && fragment.is_similar(before));
        let is_new = fragment.points.keys().filter(|point| seen.insert(**point)).count() == fragment.points.len();
        parts.push(PathPart { fragment_count: 1, points: fragment.points.keys().copied().collect(), is_loop: fragment.is_loop(), is_new });
        if let Some((begin, _)) = same {
            let together = parts.split_off(begin).into_iter().reduce(PathPart::merge);
            parts.extend(together);
        }
        if fragment.is_loop() {
            last_round = Some((parts.len() - 1, fragment));
        }
    }
    parts
}

impl PathPart {
    fn merge(mut self, next: PathPart) -> PathPart {
        self.points.extend(next.points);
        PathPart { fragment_count: self.fragment_count + next.fragment_count, is_loop: self.is_loop || next.is_loop, ..self }
    }
}

/// The contexts of all threads of a program.
#[derive(Debug, Default)]
pub(super) struct ContextTable {
    /// Call points that occur in several parts of the program.
    shared: FxHashSet<usize>,
    /// Number of threads on which each call point occurs.
    thread_counts: FxHashMap<usize, usize>,
}

impl ContextTable {
    /// Combines the parts of all threads.
    pub(super) fn from_threads<'a>(threads: impl Iterator<Item = &'a ThreadParts>) -> ContextTable {
        let mut contexts = ContextTable::default();
        for parts in threads {
            let mut seen = BTreeSet::new();
            for point in parts.parts.iter().flat_map(|part| &part.points) {
                if !seen.insert(*point) {
                    contexts.shared.insert(*point);
                }
            }
            seen.into_iter().for_each(|point| *contexts.thread_counts.entry(point).or_default() += 1);
        }
        contexts
    }

    /// The context of each fragment of a thread, for call points that are not anchors.
    pub(super) fn fragment_contexts(&self, parts: &ThreadParts) -> Vec<NodeContext> {
        let mut before = Vec::new();
        let contexts = parts.parts.iter().map(|part| vec![self.part_context(&part.points, &mut before); part.fragment_count]);
        contexts.flatten().collect()
    }

    /// A part is identified by the anchor most threads visit, so that all of them agree on it.
    fn part_context(&self, points: &BTreeSet<usize>, before: &mut Vec<usize>) -> NodeContext {
        let anchors = points.iter().copied().filter(|point| !self.shared.contains(point));
        let usual = |point: &usize| self.thread_counts.get(point).copied().unwrap_or(0);
        if let Some(anchor) = anchors.max_by_key(|point| (usual(point), std::cmp::Reverse(*point))) {
            before.push(anchor);
            return NodeContext::In(anchor);
        }
        let needed = points.iter().map(usual).max().unwrap_or(0);
        let known_to_all = before.iter().rev().find(|anchor| usual(anchor) >= needed);
        known_to_all.or(before.last()).map_or(NodeContext::Start, |anchor| NodeContext::After(*anchor))
    }

    /// The node key of a call point in a context.
    pub(super) fn node_key(&self, point: usize, context: NodeContext) -> NodeKey {
        NodeKey { point, context: if self.shared.contains(&point) { context } else { NodeContext::Anchor } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fragments of a thread that visits these call points.
    fn pieces(way: &[usize]) -> Vec<PathFragment> {
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        way.windows(2).for_each(|step| *counts.entry((step[0], step[1])).or_default() += 1);
        let mut pieces = vec![PathFragment::default()];
        for (index, point) in way.iter().enumerate() {
            if index > 0 && (counts[&(way[index - 1], *point)] == 1 || !way[..index].contains(point)) {
                pieces.push(PathFragment::default());
            } else if index > 0 {
                pieces.last_mut().unwrap().steps.insert((way[index - 1], *point));
            }
            *pieces.last_mut().unwrap().points.entry(*point).or_default() += 1;
        }
        pieces
    }

    /// The nodes visited by several threads, in order, each once.
    fn nodes(ways: &[&[usize]]) -> Vec<Vec<(usize, NodeContext)>> {
        let pieces: Vec<Vec<PathFragment>> = ways.iter().map(|way| pieces(way)).collect();
        let parts: Vec<ThreadParts> = pieces.iter().map(|pieces| ThreadParts::from_fragments(pieces)).collect();
        let contexts = ContextTable::from_threads(parts.iter());
        let keys = |(pieces, parts): (&Vec<PathFragment>, &ThreadParts)| {
            let of_pieces = contexts.fragment_contexts(parts);
            let keys = pieces
                .iter()
                .zip(&of_pieces)
                .flat_map(|(fragment, context)| fragment.points.keys().map(|point| contexts.node_key(*point, *context)));
            let mut seen = Vec::new();
            keys.map(|key| (key.point, key.context)).for_each(|key| {
                if !seen.contains(&key) {
                    seen.push(key)
                }
            });
            seen
        };
        pieces.iter().zip(&parts).map(keys).collect()
    }

    #[test]
    fn a_helper_is_told_apart_by_who_calls_it() {
        use NodeContext::{Anchor, In};
        // Two consecutive loops that both call the helper 9.
        let way = [0, 1, 9, 1, 9, 1, 9, 2, 9, 2, 9, 2, 9, 3];
        assert_eq!(nodes(&[&way]), [[(0, Anchor), (1, Anchor), (9, In(1)), (2, Anchor), (9, In(2)), (3, Anchor)]]);
    }

    #[test]
    fn a_helper_between_straight_calls_belongs_to_the_one_before_it() {
        use NodeContext::{After, Anchor, Start};
        assert_eq!(
            nodes(&[&[8, 9, 0, 8, 9, 1, 8, 9, 2]])[0],
            [(8, Start), (9, Start), (0, Anchor), (8, After(0)), (9, After(0)), (1, Anchor), (8, After(1)), (9, After(1)), (2, Anchor)]
        );
    }

    #[test]
    fn a_loop_stays_whole_when_something_happens_in_it_once() {
        let way = [0, 1, 2, 1, 2, 1, 2, 7, 1, 2, 1, 2, 1, 2, 3];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == NodeContext::Anchor));
    }

    #[test]
    fn a_loop_stays_whole_when_something_happens_in_its_first_round_only() {
        let way = [0, 1, 2, 7, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == NodeContext::Anchor));
    }

    #[test]
    fn a_loop_stays_whole_when_its_branches_are_seen_late() {
        let way = [0, 1, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 3, 1, 2, 1, 3, 1, 1, 4];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == NodeContext::Anchor));
    }

    #[test]
    fn ranks_with_more_to_do_call_parts_like_all_others() {
        use NodeContext::{After, Anchor};
        let plain: &[usize] = &[0, 9, 1, 9, 2];
        let chief: &[usize] = &[0, 5, 9, 1, 9, 2];
        let both = nodes(&[plain, plain, chief]);
        assert_eq!(both[0], [(0, Anchor), (9, After(0)), (1, Anchor), (9, After(1)), (2, Anchor)]);
        assert_eq!(both[2], [(0, Anchor), (5, Anchor), (9, After(0)), (1, Anchor), (9, After(1)), (2, Anchor)]);
    }

    #[test]
    fn the_length_of_a_loop_changes_nothing() {
        let way = |trip_counts: usize| [vec![0, 9], [1, 9].repeat(trip_counts), vec![2, 9, 3]].concat();
        assert_eq!(nodes(&[&way(3)]), nodes(&[&way(1000)]));
    }
}
