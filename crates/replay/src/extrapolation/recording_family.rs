//! Recordings of one program with different numbers of ranks, with common numbering of call sites, operations and loops.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sintonia_mpi::{BlockingMode, FunctionId, FunctionRole};
use sintonia_program::graph::{ControlFlowGraph, LoopForest};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, RecordedCall};
use sintonia_recording::raw::part;

use super::error::RecognitionError;
use super::loop_nest::{LoopNest, LoopValidator};
use super::program_sites::{ProgramSite, SiteGranularity, SiteNumbering};
use crate::core_waits::{LocationCoreWaits, core_waits_of_thread};

/// An operation at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallNode {
    /// The MPI function.
    pub operation: FunctionId,
    /// Index in [`RecordingFamily::sites`].
    pub site: u32,
}

/// A loop of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatternLoop {
    /// The enclosing loop.
    pub parent: Option<usize>,
    /// Its body in program order.
    pub body: Vec<BodyElement>,
    /// First node in program order.
    pub first: usize,
    /// Last node in program order.
    pub last: usize,
    /// Number of enclosing loops.
    pub depth: usize,
}

/// Element of a program or loop body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyElement {
    /// A call, by node index.
    Call(usize),
    /// A loop, by index.
    Loop(usize),
}

/// One of the recordings.
pub(super) struct RecordedRun<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Number of ranks.
    pub ranks: u32,
    /// Site index of each of its call sites.
    site_ids: Vec<u32>,
}

/// Recordings of one program.
pub(super) struct RecordingFamily<'a> {
    /// The recordings by number of ranks.
    pub runs: Vec<RecordedRun<'a>>,
    /// Call sites of all runs.
    pub sites: Vec<ProgramSite>,
    /// Operations in program order.
    pub nodes: Vec<CallNode>,
    /// Loops, each after its parent.
    pub loops: Vec<PatternLoop>,
    /// The program outside all loops.
    pub body: Vec<BodyElement>,
    /// Enclosing loops of each node, outermost first.
    pub enclosing_loops: Vec<Vec<usize>>,
    node_ids: HashMap<CallNode, usize>,
}

impl<'a> RecordingFamily<'a> {
    /// Combines recordings.
    pub(super) fn new(recordings: &'a [Recording], granularity: SiteGranularity) -> Result<RecordingFamily<'a>, RecognitionError> {
        let mut numbering = SiteNumbering::new(granularity);
        let mut run = |recording: &'a Recording| RecordedRun {
            recording,
            ranks: recording.header.rank_count(),
            site_ids: numbering.number_sites(recording),
        };
        let mut runs: Vec<RecordedRun> = recordings.iter().map(&mut run).collect();
        runs.sort_by_key(|run| run.ranks);
        if runs.is_empty() {
            return Err(RecognitionError::NoRecording);
        }
        for run in &runs {
            check_complete(run)?;
        }
        let mut family = RecordingFamily {
            runs,
            sites: numbering.sites,
            nodes: Vec::new(),
            loops: Vec::new(),
            body: Vec::new(),
            enclosing_loops: Vec::new(),
            node_ids: HashMap::new(),
        };
        family.find_loops()?;
        Ok(family)
    }

    /// Call site of a node, as text.
    pub(super) fn site_name(&self, node: usize) -> String {
        self.sites.get(self.nodes[node].site as usize).map_or_else(|| "?".into(), |site| site.name.clone())
    }

    /// The node of a call; `None` if it does not communicate and counts as computation.
    pub(super) fn node(&self, run: &RecordedRun, call: &CallDescriptor) -> Option<usize> {
        self.node_ids.get(&node_of_call(run, call)?).copied()
    }

    fn find_loops(&mut self) -> Result<(), RecognitionError> {
        let mut paths: BTreeMap<BTreeSet<usize>, ControlPath> = BTreeMap::new();
        for run in &self.runs {
            for rank in 0..run.ranks {
                let mut path = ControlPath::default();
                run.for_each_call(rank, |call| {
                    let Some(node) = node_of_call(run, call.descriptor) else { return Ok(()) };
                    check_operation(&self.sites, node)?;
                    let next = self.node_ids.len();
                    path.visit(*self.node_ids.entry(node).or_insert(next));
                    Ok(())
                })?;
                paths.entry(path.nodes()).or_default().merge(path);
            }
        }
        let mut forest = LoopForest::from_control_flow(&control_flow(&paths, self.node_ids.len()));
        self.number_nodes(&mut forest);
        loop {
            self.build_bodies(&forest);
            let keep = self.validate_loops()?;
            if keep.iter().all(|keep| *keep) {
                return Ok(());
            }
            forest.retain(&keep);
        }
    }

    /// For each loop, whether it is a real one.
    fn validate_loops(&self) -> Result<Vec<bool>, RecognitionError> {
        let mut validator = LoopValidator::new(self);
        for run in self.runs.iter().filter(|_| !self.loops.is_empty()) {
            for rank in 0..run.ranks {
                let mut nest = LoopNest::default();
                run.for_each_call(rank, |call| match self.node(run, call.descriptor) {
                    Some(node) => nest.advance_to(node, self, &mut validator).map(|_| ()),
                    None => Ok(()),
                })?;
                nest.finish(&mut validator);
            }
        }
        Ok(validator.valid_loops())
    }

    /// Numbers nodes in program order.
    fn number_nodes(&mut self, forest: &mut LoopForest) {
        let mut index = vec![0; forest.order.len()];
        forest.order.iter().enumerate().for_each(|(now, before)| index[*before] = now);
        forest.renumber(&index);
        self.node_ids.values_mut().for_each(|number| *number = index[*number]);
        let mut nodes: Vec<(usize, CallNode)> = self.node_ids.iter().map(|(node, number)| (*number, *node)).collect();
        nodes.sort_unstable_by_key(|(number, _)| *number);
        self.nodes = nodes.into_iter().map(|(_, node)| node).collect();
    }

    /// Builds the loop bodies.
    fn build_bodies(&mut self, forest: &LoopForest) {
        (self.enclosing_loops, self.loops, self.body) = (forest.enclosing_loops(), Vec::new(), Vec::new());
        for one in &forest.loops {
            let (first, last) = (one.nodes.first().copied().unwrap_or(0), one.nodes.last().copied().unwrap_or(0));
            let depth = one.parent.map_or(0, |parent| self.loops[parent].depth + 1);
            self.loops.push(PatternLoop { parent: one.parent, body: Vec::new(), first, last, depth });
        }
        for node in 0..self.nodes.len() {
            self.enter_loops(node);
            match self.enclosing_loops[node].last() {
                None => self.body.push(BodyElement::Call(node)),
                Some(innermost) => self.loops[*innermost].body.push(BodyElement::Call(node)),
            }
        }
    }

    /// Adds the loops that start at a node.
    fn enter_loops(&mut self, node: usize) {
        for number in self.enclosing_loops[node].clone().into_iter().filter(|number| self.loops[*number].first == node).collect::<Vec<_>>()
        {
            match self.loops[number].parent {
                None => self.body.push(BodyElement::Loop(number)),
                Some(parent) => self.loops[parent].body.push(BodyElement::Loop(number)),
            }
        }
    }
}

impl RecordedRun<'_> {
    /// When a rank waited for a core; only one of its threads calls MPI.
    pub(super) fn core_waits(&self, rank: u32) -> Result<Option<LocationCoreWaits>, RecognitionError> {
        let Some(thread) = self.recording.threads(rank)?.first().copied() else { return Ok(None) };
        Ok(core_waits_of_thread(self.recording, rank, thread)?)
    }

    /// Visits the calls of a rank in order.
    pub(super) fn for_each_call(
        &self,
        rank: u32,
        mut visit: impl FnMut(&RecordedCall) -> Result<(), RecognitionError>,
    ) -> Result<(), RecognitionError> {
        let mut calls = self.recording.calls(rank)?;
        let mut thread = None;
        while let Some(call) = calls.next_call() {
            if *thread.get_or_insert(call.thread) != call.thread {
                return Err(RecognitionError::Threads { ranks: self.ranks, rank });
            }
            visit(&call)?;
        }
        Ok(())
    }
}

/// Control-flow edges of a rank with their counts.
#[derive(Default)]
struct ControlPath {
    steps: BTreeMap<(usize, usize), u64>,
    starts: BTreeMap<usize, u64>,
    last: Option<usize>,
}

impl ControlPath {
    fn visit(&mut self, node: usize) {
        match self.last.replace(node) {
            None => *self.starts.entry(node).or_default() += 1,
            Some(before) => *self.steps.entry((before, node)).or_default() += 1,
        }
    }

    fn nodes(&self) -> BTreeSet<usize> {
        self.starts.keys().copied().chain(self.steps.keys().map(|(_, to)| *to)).collect()
    }

    fn merge(&mut self, other: ControlPath) {
        other.steps.into_iter().for_each(|(step, count)| *self.steps.entry(step).or_default() += count);
        other.starts.into_iter().for_each(|(node, count)| *self.starts.entry(node).or_default() += count);
    }
}

/// Control flow of the program, from the paths of ranks by their set of nodes.
///
/// Ranks at a boundary skip some calls, which can hide loops. Paths through a superset of their nodes are more informative and are used
/// instead.
fn control_flow(paths: &BTreeMap<BTreeSet<usize>, ControlPath>, nodes: usize) -> ControlFlowGraph {
    let mut all = ControlPath::default();
    for (own, path) in paths {
        let told_by_others = paths.keys().any(|other| other.len() > own.len() && own.is_subset(other));
        if !told_by_others {
            all.merge(ControlPath { steps: path.steps.clone(), starts: path.starts.clone(), last: None });
        }
    }
    let starts = (0..nodes).map(|node| all.starts.get(&node).copied().unwrap_or(0)).collect();
    ControlFlowGraph { edges: all.steps, entry_counts: starts, first_seen: (0..nodes).collect() }
}

/// The node of a call; `None` if it does not communicate.
fn node_of_call(run: &RecordedRun, call: &CallDescriptor) -> Option<CallNode> {
    let local = matches!(
        call.function.role(),
        FunctionRole::Datatype
            | FunctionRole::DatatypeFree
            | FunctionRole::Other
            | FunctionRole::Local
            | FunctionRole::Switch
            | FunctionRole::CommunicatorFree
    );
    if local || call.parts & part::FLAG_FALSE != 0 {
        return None;
    }
    Some(CallNode { operation: call.function, site: run.site_ids.get(call.site as usize).copied().unwrap_or(u32::MAX) })
}

/// Checks that a recording is complete.
fn check_complete(run: &RecordedRun) -> Result<(), RecognitionError> {
    let ranks = run.ranks;
    if ranks == 0 {
        return Err(RecognitionError::NoRecording);
    }
    if run.recording.header.profile {
        return Err(RecognitionError::Profile { ranks });
    }
    match run.recording.incomplete_ranks().first() {
        Some((rank, why)) => Err(RecognitionError::Incomplete { ranks, rank: *rank, why: *why }),
        None => Ok(()),
    }
}

/// Checks that an operation can be extrapolated.
fn check_operation(sites: &[ProgramSite], node: CallNode) -> Result<(), RecognitionError> {
    let role = node.operation.role();
    let persistent = node.operation.definition().mode == BlockingMode::Persistent && matches!(role, FunctionRole::Collective(_));
    let known = matches!(
        role,
        FunctionRole::Send
            | FunctionRole::Receive
            | FunctionRole::SendReceive
            | FunctionRole::Probe
            | FunctionRole::Start
            | FunctionRole::StartAll
            | FunctionRole::CompleteOne
            | FunctionRole::CompleteAll
            | FunctionRole::CompleteAny
            | FunctionRole::RequestFree
            | FunctionRole::Collective(_)
            | FunctionRole::CommunicatorCreate
            | FunctionRole::Init
            | FunctionRole::Finalize
    );
    if known && !persistent {
        return Ok(());
    }
    let site = sites.get(node.site as usize).map(|site| site.name.clone()).unwrap_or_default();
    Err(RecognitionError::Operation { operation: node.operation.name(), site })
}
