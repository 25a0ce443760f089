//! The program graph: the control flow of the program as its ranks executed it.
//!
//! A recording lists calls in time order and grows with the run. The program that made them is small: a fixed number of call sites and
//! transitions. That is the graph (the DP*Graph of Li's method): a node is an MPI operation at a call site, an edge is the segment of
//! computation between two of them, loops are detected, ranks with the same behaviour form a role, and messages connect the nodes that send
//! and receive them. Its phases ([`PhaseTree`]) are the overview (the T-Graph*).

mod call_points;
mod collective_nodes;
mod components;
mod duration_stats;
mod folded;
mod loops;
mod message_edges;
mod node_context;
mod node_cursor;
mod phase_names;
mod phases;
mod rank_path;
mod roles;
mod scopes;
mod segment_functions;
#[cfg(test)]
mod tests;
mod transitions;
mod trip_counts;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sintonia_mpi::FunctionId;
use sintonia_recording::header::{CallSiteDefinition, RecordedRank, SourceFrame};
use sintonia_recording::{Error, Recording};

use crate::history::{History, Location, UnmatchedMessages};
use crate::process_group::{ProcessGroup, RankDistribution, SingleProcess};
use call_points::{CallPoint, IdMap};
use node_context::NodeKey;
use node_cursor::NodeIndex;
use phases::PhaseInput;
use rank_path::{LocalNode, PathBuilder, RankPath};
use roles::RankBehaviour;
use transitions::{RankTransitions, TransitionTable};
use trip_counts::LoopNesting;

pub use duration_stats::DurationStats;
pub use folded::{FoldedGraph, FoldedRole, ItemVisits};
pub use loops::{ControlFlowGraph, LoopForest, ProgramLoop};
pub use message_edges::MessageEdge;
pub use node_cursor::NodeCursor;
pub use phases::{PhaseTime, PhaseTree, ProgramPhase};
pub use rank_path::{NodeEffects, NodeVisits};
pub use scopes::{GraphItem, ProgramScope, ScopeTree};
pub use trip_counts::TripCounts;

/// The control flow of a program, as its ranks executed it.
#[derive(Debug, Default)]
pub struct ProgramGraph {
    /// The operations in program order: loops are contiguous, and every node comes after its predecessors.
    pub nodes: Vec<ProgramNode>,
    /// The loops, each after its enclosing loop.
    pub loops: Vec<ProgramLoop>,
    /// The roles, ordered by their first ranks.
    pub roles: Vec<ProgramRole>,
    /// The messages between nodes.
    pub messages: Vec<MessageEdge>,
    /// Messages sent but not received.
    pub unmatched_sends: u64,
    /// Messages received whose send was not recorded.
    pub unmatched_receives: u64,
    /// Sets of nodes at different call sites that are the same collective.
    pub collective_sets: Vec<Vec<usize>>,
    /// Which nodes complete requests of other nodes.
    pub completions: Vec<RequestCompletion>,
    /// The phases.
    pub phases: PhaseTree,
    /// The functions and loops of the source in the phases.
    pub scopes: ScopeTree,
    /// The function that took most of the segment between two call sites, where there are samples.
    functions: BTreeMap<(u32, u32), String>,
    loop_names: Vec<String>,
    node_index: NodeIndex,
}

/// An MPI operation at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramNode {
    /// The MPI function.
    pub operation: FunctionId,
    /// Index of the call site in the header; the first of several addresses of one source line.
    pub site: u32,
    /// Effects of its calls, on all ranks.
    pub effects: NodeEffects,
}

/// Ranks with the same behaviour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramRole {
    /// Name of the role.
    pub name: String,
    /// The ranks, in order.
    pub ranks: Vec<u32>,
    /// Elapsed nanoseconds summed over its ranks.
    pub elapsed_ns: u64,
    /// The same, summed over all threads that called MPI.
    pub threads_ns: u64,
    /// Its visits to nodes, in program order.
    pub visits: Vec<(usize, NodeVisits)>,
    /// Its computation between two calls.
    pub segments: Vec<RoleSegment>,
    /// Its loops with their trip counts.
    pub trip_counts: Vec<(usize, TripCounts)>,
}

/// The computation between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleSegment {
    /// The preceding node.
    pub from: usize,
    /// The following node.
    pub to: usize,
    /// Number of visits and their durations.
    pub times: DurationStats,
}

/// Requests started at one node and completed at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCompletion {
    /// The node that started them.
    pub begin_node: usize,
    /// The node that completed them.
    pub end_node: usize,
    /// Number of requests.
    pub count: u64,
}

impl ProgramGraph {
    /// Number of passes over the calls of every rank, if the history is known.
    pub const PASSES: usize = 3;
    /// Number of passes if the history must be read too.
    pub const PASSES_WITH_HISTORY: usize = ProgramGraph::PASSES + 1;

    /// Builds the graph of a recorded program. Every rank is read [`ProgramGraph::PASSES_WITH_HISTORY`] times; `progress` is called after
    /// each pass over a rank.
    ///
    /// A profile has no order of calls, so its graph is empty.
    pub fn from_recording(recording: &Recording, progress: impl Fn() + Sync) -> Result<ProgramGraph, Error> {
        let history = History::read(recording, &SingleProcess, &progress)?;
        ProgramGraph::from_history(recording, &history, &SingleProcess, &progress)
    }

    /// Builds the graph of a program whose history is known, in the process group that read it; every process gets the whole graph. Every
    /// rank is read [`ProgramGraph::PASSES`] times.
    pub fn from_history(
        recording: &Recording,
        history: &History,
        comm: &dyn ProcessGroup,
        progress: &(dyn Fn() + Sync),
    ) -> Result<ProgramGraph, Error> {
        let readers = RankReader { recording, group: comm, distribution: RankDistribution::new(recording, comm), progress };
        let sites = recording.call_paths();
        let steps = readers.map_ranks(|rank| RankTransitions::from_recording(recording, rank, sites))?;
        let transitions = TransitionTable::from_ranks(&recording.header, steps);
        let rank_paths = readers.map_ranks(|rank| PathBuilder::read_rank(recording, rank, &transitions))?;
        let mut node_index = NodeIndex::from_paths(transitions, &rank_paths);
        let (mut paths, keys) = assign_node_ids(rank_paths, &node_index);
        let (control, mut forest) = renumber_in_program_order(&mut paths, keys.len());
        let keys: Vec<NodeKey> = forest.order.iter().map(|before| keys[*before]).collect();
        forest.order = (0..keys.len()).collect();
        node_index.set_node_ids(&keys);
        let map = LoopNesting::new(&forest);
        let trip_counts = readers.map_ranks(|rank| Ok((rank, map.count_trips(recording, rank, &node_index)?)))?;
        let points: Vec<CallPoint> = keys.iter().map(|key| node_index.transitions().points.items[key.point]).collect();
        let mut graph = ProgramGraph { node_index, ..ProgramGraph::default() };
        let unmatched = UnmatchedMessages::total(history, comm);
        (graph.unmatched_sends, graph.unmatched_receives) = (unmatched.sends, unmatched.receives);
        graph.add_roles(&paths, retain_iterated_loops(&mut forest, trip_counts), forest.loops);
        let role_of = graph.roles.iter().enumerate().flat_map(|(role, group)| group.ranks.iter().map(move |rank| (*rank, role)));
        graph.messages = message_edges::message_edges(history, &graph.node_index, &role_of.collect(), comm);
        graph.add_nodes_and_phases(&paths, &points, &control);
        for role in &mut graph.roles {
            let ranks = role.ranks.iter().filter_map(|rank| recording.header.rank(*rank));
            let elapsed = |rank: &RecordedRank| u64::try_from(rank.end_ns.saturating_sub(rank.begin_ns)).unwrap_or(0);
            role.elapsed_ns = ranks.map(elapsed).fold(0, u64::saturating_add);
            role.threads_ns = role.threads_ns.saturating_add(role.elapsed_ns);
        }
        graph.name_phases(recording);
        graph.scopes = ScopeTree::from_graph(&graph, recording);
        let silent = RankReader { progress: &|| (), ..readers };
        let sampled = silent.map_ranks(|rank| segment_functions::of_rank(recording, rank))?;
        graph.functions = segment_functions::hottest(recording, &sampled)?;
        Ok(graph)
    }

    /// The function that took most of the computation between two nodes, where there are samples.
    pub fn segment_function(&self, from: usize, to: usize) -> Option<&str> {
        let site = |node: usize| self.nodes.get(node).map(|node| node.site);
        self.functions.get(&(site(from)?, site(to)?)).map(String::as_str)
    }

    /// A cursor that maps the calls of a rank to nodes.
    pub fn node_cursor(&self, rank: u32) -> NodeCursor<'_> {
        self.node_index.cursor(rank)
    }

    /// The node of each call of a location.
    pub fn nodes_of(&self, location: &Location) -> Vec<Option<usize>> {
        let mut along = self.node_cursor(location.rank);
        location.calls.calls().map(|call| along.next_node(&call)).collect()
    }

    /// The loop in which the ranks spend most of their time, of those that are in no other loop.
    pub fn main_loop(&self) -> Option<usize> {
        let time_ns = |number: usize| {
            let inside = |node: &usize| self.loops[number].nodes.binary_search(node).is_ok();
            let visits = self.roles.iter().flat_map(|role| &role.visits).filter(|(node, _)| inside(node));
            let segments = self.roles.iter().flat_map(|role| &role.segments).filter(|one| inside(&one.from) && inside(&one.to));
            visits.map(|(_, visit)| visit.calls.total_ns).sum::<u64>() + segments.map(|one| one.times.total_ns).sum::<u64>()
        };
        let outermost = (0..self.loops.len()).filter(|number| self.loops[*number].parent.is_none());
        outermost.max_by_key(|number| (time_ns(*number), std::cmp::Reverse(*number)))
    }

    /// The name of a loop: what it calls, and its lines.
    pub fn loop_name(&self, number: usize) -> String {
        self.loop_names[number].clone()
    }

    /// The node of each call of a location, and the iteration of a loop, from 0; `None` outside of it.
    pub fn iterations(&self, number: usize, location: &Location) -> Vec<(Option<usize>, Option<u64>)> {
        LoopNesting::of_loops(&self.loops, self.nodes.len()).iterations(number, &self.nodes_of(location))
    }

    /// Adds the loops, and the roles with their sums.
    fn add_roles(&mut self, paths: &[RankPath], trip_counts: Vec<(u32, Vec<TripCounts>)>, loops: Vec<ProgramLoop>) {
        self.loops = loops;
        let behaviours: Vec<RankBehaviour> = paths.iter().map(RankBehaviour::from_path).filter(|rank| !rank.nodes.is_empty()).collect();
        let groups = roles::find_roles(&behaviours).into_iter();
        self.roles = groups.map(|group| ProgramRole { name: group.name, ranks: group.ranks, ..ProgramRole::default() }).collect();
        for role in &mut self.roles {
            let has = |rank: u32, role: &ProgramRole| role.ranks.binary_search(&rank).is_ok();
            role.sum_paths(&paths.iter().filter(|path| has(path.rank, role)).collect::<Vec<_>>());
            let own: Vec<&Vec<TripCounts>> =
                trip_counts.iter().filter(|(rank, _)| has(*rank, role)).map(|(_, trip_counts)| trip_counts).collect();
            role.sum_trip_counts(&own, self.loops.len());
        }
    }

    /// Adds the nodes, and the phases that follow from the messages between them.
    fn add_nodes_and_phases(&mut self, paths: &[RankPath], points: &[CallPoint], control: &[(usize, usize)]) {
        self.collective_sets = collective_nodes::find_collective_sets(paths, |node| points[node].operation, points.len());
        self.completions = completions(paths);
        self.nodes = nodes(points, &self.roles);
        let tied = self.messages.iter().map(|edge| (edge.from.1, edge.to.1));
        let ties: Vec<(usize, usize)> =
            tied.chain(self.collective_sets.iter().flat_map(|set| set.windows(2).map(|two| (two[0], two[1])))).collect();
        self.phases = PhaseTree::from_input(&PhaseInput { steps: control, links: &ties, loops: &self.loops, nodes: points.len() });
        paths.iter().for_each(|path| self.phases.add_rank(path));
    }

    fn name_phases(&mut self, recording: &Recording) {
        for phase in &mut self.phases.list {
            phase.name = phase_names::phase(phase.nodes.iter().map(|node| &self.nodes[*node]), |site| recording.site(site));
        }
        let name = |one: &ProgramLoop| phase_names::phase(one.nodes.iter().map(|node| &self.nodes[*node]), |site| recording.site(site));
        self.loop_names = self.loops.iter().map(name).collect();
    }
}

impl ProgramRole {
    fn sum_paths(&mut self, paths: &[&RankPath]) {
        let mut visits: BTreeMap<usize, NodeVisits> = BTreeMap::new();
        let mut segments: BTreeMap<(usize, usize), DurationStats> = BTreeMap::new();
        for (index, thread) in paths.iter().flat_map(|path| path.threads.iter().enumerate()) {
            // The elapsed time of the first thread is that of its rank.
            self.threads_ns = self.threads_ns.saturating_add(if index > 0 { thread.span_ns() } else { 0 });
            thread.visited().for_each(|(node, visit)| visits.entry(node).or_default().merge(visit));
            thread.segments.iter().for_each(|(ends, times)| segments.entry(*ends).or_default().merge(times));
        }
        self.visits = visits.into_iter().collect();
        self.segments = segments.into_iter().map(|((from, to), times)| RoleSegment { from, to, times }).collect();
    }

    fn sum_trip_counts(&mut self, ranks: &[&Vec<TripCounts>], loops: usize) {
        let mut sums = vec![TripCounts::default(); loops];
        for trip_counts in ranks {
            sums.iter_mut().zip(*trip_counts).for_each(|(sum, more)| sum.merge(more));
        }
        self.trip_counts = sums.into_iter().enumerate().filter(|(_, trip_counts)| trip_counts.entries > 0).collect();
    }
}

/// Reads the ranks of a recording in parallel.
struct RankReader<'a> {
    recording: &'a Recording,
    group: &'a dyn ProcessGroup,
    distribution: RankDistribution,
    progress: &'a (dyn Fn() + Sync),
}

impl RankReader<'_> {
    /// Runs a task for each rank, on all cores of all processes; every process gets all results, in header order.
    fn map_ranks<T>(&self, task: impl Fn(u32) -> Result<T, Error> + Sync) -> Result<Vec<T>, Error>
    where
        T: Send + Serialize + DeserializeOwned,
    {
        let (progress, distribution, current) = (self.progress, &self.distribution, self.group.own_index());
        let one = |(index, rank): (usize, &RecordedRank)| {
            let done = task(rank.rank)?;
            progress();
            Ok((index, done))
        };
        let ranks = self.recording.header.ranks.par_iter().enumerate();
        let own = ranks.filter(|(_, rank)| distribution.owner(rank.rank) == current).map(one);
        let own: Vec<(usize, T)> = own.collect::<Result<_, Error>>()?;
        let mut all: Vec<(usize, T)> = self.group.all_gather(own).into_iter().flatten().collect();
        all.sort_by_key(|(index, _)| *index);
        Ok(all.into_iter().map(|(_, done)| done).collect())
    }
}

/// Assigns graph-wide ids to the nodes of all ranks.
fn assign_node_ids(rank_paths: Vec<(RankPath, Vec<LocalNode>)>, node_index: &NodeIndex) -> (Vec<RankPath>, Vec<NodeKey>) {
    let mut keys = IdMap::default();
    let renumbered = rank_paths.into_iter().map(|(mut path, own)| {
        let number: Vec<usize> = own.iter().map(|local| keys.get_or_insert(node_index.node_key(path.rank, local))).collect();
        path.renumber(&number);
        path
    });
    let paths = renumbered.collect();
    (paths, keys.items)
}

/// Renumbers the nodes in program order. In the forest, `order` holds the previous ids.
fn renumber_in_program_order(paths: &mut [RankPath], nodes: usize) -> (Vec<(usize, usize)>, LoopForest) {
    let mut control = ControlFlowGraph { edges: BTreeMap::new(), entry_counts: vec![0; nodes], first_seen: (0..nodes).collect() };
    for thread in paths.iter().flat_map(|path| &path.threads) {
        control.entry_counts[thread.first_node] += 1;
        thread.segments.iter().for_each(|(ends, times)| *control.edges.entry(*ends).or_default() += times.count);
    }
    let mut forest = LoopForest::from_control_flow(&control);
    let before = forest.order.clone();
    let mut number = vec![0; nodes];
    before.iter().enumerate().for_each(|(now, before)| number[*before] = now);
    paths.iter_mut().for_each(|path| path.renumber(&number));
    forest.renumber(&number);
    forest.order = before;
    (control.edges.keys().map(|(from, to)| (number[*from], number[*to])).collect(), forest)
}

/// Drops spurious loops: those no rank ever iterated (they arise when ranks visit the same nodes in different order), and a few repetitions
/// of a loop's first call, which a branch also produces.
fn retain_iterated_loops(forest: &mut LoopForest, trip_counts: Vec<(u32, Vec<TripCounts>)>) -> Vec<(u32, Vec<TripCounts>)> {
    let is_one = |number: usize| {
        let mut sum = TripCounts::default();
        trip_counts.iter().for_each(|(_, trip_counts)| sum.merge(&trip_counts[number]));
        let one = &forest.loops[number];
        let begins_like_its_parent = one.parent.is_some_and(|parent| forest.loops[parent].header == one.header);
        sum.max > 1 && (!begins_like_its_parent || sum.mean() >= 2.0)
    };
    let keep: Vec<bool> = (0..forest.loops.len()).map(is_one).collect();
    forest.retain(&keep);
    let kept = |trip_counts: Vec<TripCounts>| {
        trip_counts.into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(trip_counts, _)| trip_counts).collect()
    };
    trip_counts.into_iter().map(|(rank, trip_counts)| (rank, kept(trip_counts))).collect()
}

fn completions(paths: &[RankPath]) -> Vec<RequestCompletion> {
    let mut sums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    paths.iter().flat_map(|path| &path.completions).for_each(|(ends, count)| *sums.entry(*ends).or_default() += count);
    sums.into_iter().map(|((beginning, end), count)| RequestCompletion { begin_node: beginning, end_node: end, count }).collect()
}

fn nodes(points: &[CallPoint], roles: &[ProgramRole]) -> Vec<ProgramNode> {
    let mut nodes: Vec<ProgramNode> =
        points.iter().map(|point| ProgramNode { operation: point.operation, site: point.site, effects: NodeEffects::default() }).collect();
    roles.iter().flat_map(|role| &role.visits).for_each(|(node, visit)| nodes[*node].effects.merge(visit.effects));
    nodes
}

/// The frames of a call path, outermost first.
fn call_frames<'b>(site: u32, at: impl Fn(u32) -> &'b CallSiteDefinition) -> Vec<&'b SourceFrame> {
    let caller = |site: &u32| at(*site).caller.filter(|caller| caller < site);
    let mut frames: Vec<&SourceFrame> = std::iter::successors(Some(site), caller).flat_map(|site| &at(site).frames).collect();
    frames.reverse();
    frames
}
