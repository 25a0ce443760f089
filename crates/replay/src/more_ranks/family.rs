//! Recordings of one program with different numbers of ranks, as one: call sites, operations and loops numbered alike.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sintonia_mpi::{Mode, Operation, Role};
use sintonia_program::graph::{Control, Forest};
use sintonia_recording::Recording;
use sintonia_recording::raw::part;
use sintonia_recording::table::{Call, Shape};

use super::error::Unrecognised;
use super::nest::{Judge, Nest};
use super::place::{Numbering, Place, Places};

/// An operation at a place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The MPI function.
    pub operation: Operation,
    /// The place, by number in [`Family::places`].
    pub site: u32,
}

/// A loop of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The loop around it.
    pub parent: Option<usize>,
    /// What it does in a round, in order.
    pub body: Vec<Part>,
    /// Its nodes stand from here ...
    pub first: usize,
    /// ... to here in program order.
    pub last: usize,
    /// How many loops are around it.
    pub depth: usize,
}

/// What a program or a loop consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A call at a node, by place in program order.
    Call(usize),
    /// A loop, by number.
    Loop(usize),
}

/// One of the recordings.
pub struct Run<'a> {
    /// It.
    pub recording: &'a Recording,
    /// How many ranks it has.
    pub ranks: u32,
    /// For each of its call sites the number of its place.
    sites: Vec<u32>,
}

/// Recordings of one program.
pub struct Family<'a> {
    /// The recordings, by their number of ranks.
    pub runs: Vec<Run<'a>>,
    /// The places of calls.
    pub places: Vec<Place>,
    /// The operations in program order.
    pub nodes: Vec<Node>,
    /// The loops, each after the one around it.
    pub loops: Vec<Loop>,
    /// What the program does outside all loops.
    pub body: Vec<Part>,
    /// For each node the loops around it, from the outermost on.
    pub around: Vec<Vec<usize>>,
    numbers: HashMap<Node, usize>,
}

impl<'a> Family<'a> {
    /// Puts recordings together.
    pub fn of(recordings: &'a [Recording], places: Places) -> Result<Family<'a>, Unrecognised> {
        let mut numbering = Numbering::of(places);
        let mut run =
            |recording: &'a Recording| Run { recording, ranks: recording.header.rank_count(), sites: numbering.numbers(recording) };
        let mut runs: Vec<Run> = recordings.iter().map(&mut run).collect();
        runs.sort_by_key(|run| run.ranks);
        if runs.is_empty() {
            return Err(Unrecognised::NoRecording);
        }
        for run in &runs {
            check(run)?;
        }
        let mut family = Family {
            runs,
            places: numbering.list,
            nodes: Vec::new(),
            loops: Vec::new(),
            body: Vec::new(),
            around: Vec::new(),
            numbers: HashMap::new(),
        };
        family.find_loops()?;
        Ok(family)
    }

    /// Where a node is called, as people know it.
    pub fn site(&self, node: usize) -> String {
        self.places.get(self.nodes[node].site as usize).map_or_else(|| "?".into(), |place| place.name.clone())
    }

    /// The node of a call in one of the runs; `None` if it does nothing to others and counts as computation.
    pub fn node(&self, run: &Run, shape: &Shape) -> Option<usize> {
        self.numbers.get(&of_call(run, shape)?).copied()
    }

    fn find_loops(&mut self) -> Result<(), Unrecognised> {
        let mut ways: BTreeMap<BTreeSet<usize>, Way> = BTreeMap::new();
        for run in &self.runs {
            for rank in 0..run.ranks {
                let mut way = Way::default();
                run.each_call(rank, |call| {
                    let Some(node) = of_call(run, call.shape) else { return Ok(()) };
                    check_operation(&self.places, node)?;
                    let next = self.numbers.len();
                    way.come_to(*self.numbers.entry(node).or_insert(next));
                    Ok(())
                })?;
                ways.entry(way.nodes()).or_default().merge(way);
            }
        }
        let mut forest = Forest::of(&control(&ways, self.numbers.len()));
        self.number_nodes(&mut forest);
        loop {
            self.build(&forest);
            let keep = self.judge()?;
            if keep.iter().all(|keep| *keep) {
                return Ok(());
            }
            forest.retain(&keep);
        }
    }

    /// For each loop whether it is one.
    fn judge(&self) -> Result<Vec<bool>, Unrecognised> {
        let mut judge = Judge::new(self);
        for run in self.runs.iter().filter(|_| !self.loops.is_empty()) {
            for rank in 0..run.ranks {
                let mut nest = Nest::default();
                run.each_call(rank, |call| match self.node(run, call.shape) {
                    Some(node) => nest.come_to(node, self, &mut judge).map(|_| ()),
                    None => Ok(()),
                })?;
                nest.end(&mut judge);
            }
        }
        Ok(judge.keep())
    }

    /// Numbers nodes in program order.
    fn number_nodes(&mut self, forest: &mut Forest) {
        let mut place = vec![0; forest.order.len()];
        forest.order.iter().enumerate().for_each(|(now, before)| place[*before] = now);
        forest.renumber(&place);
        self.numbers.values_mut().for_each(|number| *number = place[*number]);
        let mut nodes: Vec<(usize, Node)> = self.numbers.iter().map(|(node, number)| (*number, *node)).collect();
        nodes.sort_unstable_by_key(|(number, _)| *number);
        self.nodes = nodes.into_iter().map(|(_, node)| node).collect();
    }

    /// Makes bodies of loops.
    fn build(&mut self, forest: &Forest) {
        (self.around, self.loops, self.body) = (forest.around(), Vec::new(), Vec::new());
        for one in &forest.loops {
            let (first, last) = (one.nodes.first().copied().unwrap_or(0), one.nodes.last().copied().unwrap_or(0));
            let depth = one.parent.map_or(0, |parent| self.loops[parent].depth + 1);
            self.loops.push(Loop { parent: one.parent, body: Vec::new(), first, last, depth });
        }
        for node in 0..self.nodes.len() {
            self.enter_loops(node);
            match self.around[node].last() {
                None => self.body.push(Part::Call(node)),
                Some(innermost) => self.loops[*innermost].body.push(Part::Call(node)),
            }
        }
    }

    /// Where a node is the first of loops, they begin there.
    fn enter_loops(&mut self, node: usize) {
        for number in self.around[node].clone().into_iter().filter(|number| self.loops[*number].first == node).collect::<Vec<_>>() {
            match self.loops[number].parent {
                None => self.body.push(Part::Loop(number)),
                Some(parent) => self.loops[parent].body.push(Part::Loop(number)),
            }
        }
    }
}

impl Run<'_> {
    /// Goes through the calls of a rank in order.
    pub fn each_call(&self, rank: u32, mut look: impl FnMut(&Call) -> Result<(), Unrecognised>) -> Result<(), Unrecognised> {
        let mut calls = self.recording.calls(rank)?;
        let mut thread = None;
        while let Some(call) = calls.next_call() {
            if *thread.get_or_insert(call.thread) != call.thread {
                return Err(Unrecognised::Threads { ranks: self.ranks, rank });
            }
            look(&call)?;
        }
        Ok(())
    }
}

/// From which node to which a rank goes, and how often.
#[derive(Default)]
struct Way {
    steps: BTreeMap<(usize, usize), u64>,
    starts: BTreeMap<usize, u64>,
    last: Option<usize>,
}

impl Way {
    fn come_to(&mut self, node: usize) {
        match self.last.replace(node) {
            None => *self.starts.entry(node).or_default() += 1,
            Some(before) => *self.steps.entry((before, node)).or_default() += 1,
        }
    }

    fn nodes(&self) -> BTreeSet<usize> {
        self.starts.keys().copied().chain(self.steps.keys().map(|(_, to)| *to)).collect()
    }

    fn merge(&mut self, other: Way) {
        other.steps.into_iter().for_each(|(step, count)| *self.steps.entry(step).or_default() += count);
        other.starts.into_iter().for_each(|(node, count)| *self.starts.entry(node).or_default() += count);
    }
}

/// The control flow of the program, from the ways of ranks by the nodes they come by.
///
/// At a border ranks pass by some calls, which makes loops look like others. Whoever comes by all that they come by tells more.
fn control(ways: &BTreeMap<BTreeSet<usize>, Way>, nodes: usize) -> Control {
    let mut all = Way::default();
    for (own, way) in ways {
        let told_by_others = ways.keys().any(|other| other.len() > own.len() && own.is_subset(other));
        if !told_by_others {
            all.merge(Way { steps: way.steps.clone(), starts: way.starts.clone(), last: None });
        }
    }
    let starts = (0..nodes).map(|node| all.starts.get(&node).copied().unwrap_or(0)).collect();
    Control { steps: all.steps, starts, earliness: (0..nodes).collect() }
}

/// The node of a call; `None` if it does nothing to others.
fn of_call(run: &Run, shape: &Shape) -> Option<Node> {
    let local = matches!(
        shape.operation.role(),
        Role::Datatype | Role::DatatypeFree | Role::Other | Role::Local | Role::Switch | Role::CommunicatorFree
    );
    if local || shape.parts & part::FOUND_NOTHING != 0 {
        return None;
    }
    Some(Node { operation: shape.operation, site: run.sites.get(shape.site as usize).copied().unwrap_or(u32::MAX) })
}

/// Whether everything is there that is needed.
fn check(run: &Run) -> Result<(), Unrecognised> {
    let ranks = run.ranks;
    if ranks == 0 {
        return Err(Unrecognised::NoRecording);
    }
    if run.recording.header.profile {
        return Err(Unrecognised::Profile { ranks });
    }
    match run.recording.incomplete_ranks().first() {
        Some((rank, why)) => Err(Unrecognised::Incomplete { ranks, rank: *rank, why: *why }),
        None => Ok(()),
    }
}

/// Whether what the operation does can be told for more ranks.
fn check_operation(places: &[Place], node: Node) -> Result<(), Unrecognised> {
    let role = node.operation.role();
    let persistent = node.operation.function().mode == Mode::Persistent && matches!(role, Role::Collective(_));
    let known = matches!(
        role,
        Role::Send
            | Role::Receive
            | Role::SendReceive
            | Role::Probe
            | Role::Start
            | Role::StartAll
            | Role::CompleteOne
            | Role::CompleteAll
            | Role::CompleteAny
            | Role::RequestFree
            | Role::Collective(_)
            | Role::CommunicatorCreate
            | Role::Init
            | Role::Finalize
    );
    if known && !persistent {
        return Ok(());
    }
    let site = places.get(node.site as usize).map(|place| place.name.clone()).unwrap_or_default();
    Err(Unrecognised::Operation { operation: node.operation.name(), site })
}
