//! The program graph: the program as its ranks went through it.
//!
//! The recording lists calls in the order in which they happened, as many as the run was long. The program that made them is small: it has
//! so many places where MPI is called, and so many ways from one to the next. That is the graph (the DP*Graph of Li's method): a node is an
//! MPI operation at a call site, an edge is the segment of computation from one to the next, loops are found again, ranks that do the same
//! are one role, and messages join the nodes where they are sent and received. Its [`Phases`] are the overview (the T-Graph*).

mod along;
mod components;
mod context;
mod ground;
mod loops;
mod meetings;
mod messages;
mod names;
mod phases;
mod places;
mod roles;
mod rounds;
#[cfg(test)]
mod tests;
mod times;
mod walk;

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sintonia_mpi::Operation;
use sintonia_recording::header::Rank;
use sintonia_recording::{Error, Recording};

use crate::company::{Alone, Company, Share};
use along::Atlas;
use context::Key;
use ground::{Ground, Steps};
use phases::Material;
use places::{Numbers, Places, Spot};
use roles::Behaviour;
use rounds::Map;
use walk::{LocalNode, RankWalk, Walker};

pub use along::Along;
pub use loops::{Control, Forest, Loop};
pub use messages::MessageEdge;
pub use phases::{Phase, PhaseTime, Phases};
pub use roles::ranges;
pub use rounds::Rounds;
pub use times::Times;
pub use walk::{Outcome, Visit};

/// A program, as its ranks went through it.
#[derive(Debug, Default)]
pub struct ProgramGraph {
    /// The operations, in program order: loops stand together, and everything comes after what leads to it.
    pub nodes: Vec<Node>,
    /// The loops, each after the one around it.
    pub loops: Vec<Loop>,
    /// The roles, in the order of their first ranks.
    pub roles: Vec<Role>,
    /// The messages between nodes.
    pub messages: Vec<MessageEdge>,
    /// Messages that were sent, but not received.
    pub not_received: u64,
    /// Messages that were received, but whose sending was not recorded.
    pub not_sent: u64,
    /// Nodes at different places, two or more each, that are one operation of a group.
    pub together: Vec<Vec<usize>>,
    /// Which nodes complete what others began.
    pub completions: Vec<Completion>,
    /// The phases.
    pub phases: Phases,
    atlas: Atlas,
}

/// An MPI operation at a place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The MPI function.
    pub operation: Operation,
    /// The call site, by place in the header's list; the first of several addresses of one line.
    pub site: u32,
    /// What came of its calls, on all ranks.
    pub outcome: Outcome,
}

/// Ranks that do the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// What it is called.
    pub name: String,
    /// The ranks, in order.
    pub ranks: Vec<u32>,
    /// Nanoseconds of its ranks together, from the first moment of each to its last.
    pub elapsed_ns: u64,
    /// The same of all their threads that called MPI.
    pub threads_ns: u64,
    /// What they did at the nodes they came by, in program order.
    pub visits: Vec<(usize, Visit)>,
    /// What they computed between two calls.
    pub segments: Vec<Segment>,
    /// The loops they went round, by number.
    pub rounds: Vec<(usize, Rounds)>,
}

/// The computation between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The node before it.
    pub from: usize,
    /// The node after it.
    pub to: usize,
    /// How often and how long.
    pub times: Times,
}

/// What a call at one node began was completed at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Where it began.
    pub beginning: usize,
    /// Where it was complete.
    pub end: usize,
    /// How often.
    pub count: u64,
}

impl ProgramGraph {
    /// How often every rank is read.
    pub const READINGS: usize = 3;

    /// The graph of a recorded program. Every rank is read [`ProgramGraph::READINGS`] times; `progress` is called each time one is done.
    ///
    /// A recording that holds only sums has no order of calls, and so no graph: it is empty.
    pub fn of(recording: &Recording, progress: impl Fn() + Sync) -> Result<ProgramGraph, Error> {
        ProgramGraph::with(recording, &Alone, &progress)
    }

    /// The same with others, each of whom reads some of the ranks; all of them get all of it.
    pub fn with(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<ProgramGraph, Error> {
        let readers = Readers { recording, company, share: Share::new(recording, company), progress };
        let places = Places::of(&recording.header);
        let steps = readers.each_rank(|rank| Steps::of(recording, rank, &places))?;
        let ground = Ground::of(&recording.header, steps);
        let walked = readers.each_rank(|rank| Walker::walk(recording, rank, &ground))?;
        let mut atlas = Atlas::of(ground, &walked);
        let (mut walks, keys) = number(walked, &atlas);
        let (control, mut forest) = program_order(&mut walks, keys.len());
        let keys: Vec<Key> = forest.order.iter().map(|before| keys[*before]).collect();
        forest.order = (0..keys.len()).collect();
        atlas.number(&keys);
        let map = Map::new(&forest);
        let rounds = readers.each_rank(|rank| Ok((rank, map.count(recording, rank, &atlas)?)))?;
        let spots: Vec<Spot> = keys.iter().map(|key| atlas.ground().spots.list[key.spot]).collect();
        let mut graph = ProgramGraph { atlas, ..ProgramGraph::default() };
        graph.put_together(&walks, &spots, &control, forest, rounds);
        for role in &mut graph.roles {
            let ranks = role.ranks.iter().filter_map(|rank| recording.header.rank(*rank));
            let elapsed = |rank: &Rank| u64::try_from(rank.end_ns.saturating_sub(rank.begin_ns)).unwrap_or(0);
            role.elapsed_ns = ranks.map(elapsed).fold(0, u64::saturating_add);
            role.threads_ns = role.threads_ns.saturating_add(role.elapsed_ns);
        }
        graph.name_phases(recording);
        Ok(graph)
    }

    /// Goes along with the calls of a rank: from any row of the recording to its place in the program.
    pub fn along(&self, rank: u32) -> Along<'_> {
        self.atlas.along(rank)
    }

    fn put_together(
        &mut self,
        walks: &[RankWalk],
        spots: &[Spot],
        control: &[(usize, usize)],
        mut forest: Forest,
        rounds: Vec<(u32, Vec<Rounds>)>,
    ) {
        let rounds = keep_repeated(&mut forest, rounds);
        self.loops = forest.loops;
        let behaviours: Vec<Behaviour> = walks.iter().map(Behaviour::of).filter(|rank| !rank.nodes.is_empty()).collect();
        let groups = roles::group(&behaviours);
        let role_of: HashMap<u32, usize> =
            groups.iter().enumerate().flat_map(|(role, group)| group.ranks.iter().map(move |rank| (*rank, role))).collect();
        self.roles = groups.into_iter().map(|group| Role { name: group.name, ranks: group.ranks, ..Role::default() }).collect();
        for (number, role) in self.roles.iter_mut().enumerate() {
            role.add_up(walks.iter().filter(|walk| role_of.get(&walk.rank) == Some(&number)));
            role.add_rounds(
                rounds.iter().filter(|(rank, _)| role_of.get(rank) == Some(&number)).map(|(_, rounds)| rounds),
                self.loops.len(),
            );
        }
        let messages = messages::join(walks, &role_of);
        (self.messages, self.not_received, self.not_sent) = (messages.edges, messages.not_received, messages.not_sent);
        self.together = meetings::together(walks, |node| spots[node].operation, spots.len());
        self.completions = completions(walks);
        self.nodes = nodes(spots, &self.roles);
        let tied = self.messages.iter().map(|edge| (edge.from.1, edge.to.1));
        let ties: Vec<(usize, usize)> =
            tied.chain(self.together.iter().flat_map(|set| set.windows(2).map(|two| (two[0], two[1])))).collect();
        self.phases = Phases::of(&Material { steps: control, ties: &ties, loops: &self.loops, nodes: spots.len() });
        walks.iter().for_each(|walk| self.phases.add(walk));
    }

    fn name_phases(&mut self, recording: &Recording) {
        for phase in &mut self.phases.list {
            phase.name = names::phase(phase.nodes.iter().map(|node| &self.nodes[*node]), |site| recording.site(site));
        }
    }
}

impl Role {
    fn add_up<'a>(&mut self, walks: impl Iterator<Item = &'a RankWalk>) {
        let mut visits: BTreeMap<usize, Visit> = BTreeMap::new();
        let mut segments: BTreeMap<(usize, usize), Times> = BTreeMap::new();
        for (place, thread) in walks.flat_map(|walk| walk.threads.iter().enumerate()) {
            // The first thread is there as long as its rank.
            self.threads_ns = self.threads_ns.saturating_add(if place > 0 { thread.span_ns() } else { 0 });
            thread.visited().for_each(|(node, visit)| visits.entry(node).or_default().merge(visit));
            thread.segments.iter().for_each(|(ends, times)| segments.entry(*ends).or_default().merge(times));
        }
        self.visits = visits.into_iter().collect();
        self.segments = segments.into_iter().map(|((from, to), times)| Segment { from, to, times }).collect();
    }

    fn add_rounds<'a>(&mut self, ranks: impl Iterator<Item = &'a Vec<Rounds>>, loops: usize) {
        let mut sums = vec![Rounds::default(); loops];
        for rounds in ranks {
            sums.iter_mut().zip(rounds).for_each(|(sum, more)| sum.merge(more));
        }
        self.rounds = sums.into_iter().enumerate().filter(|(_, rounds)| rounds.entries > 0).collect();
    }
}

/// Those who read the ranks of a recording.
struct Readers<'a> {
    recording: &'a Recording,
    company: &'a dyn Company,
    share: Share,
    progress: &'a (dyn Fn() + Sync),
}

impl Readers<'_> {
    /// Does something for each rank, on all cores of all processes; everyone gets what came of it, in the order of the header.
    fn each_rank<T>(&self, task: impl Fn(u32) -> Result<T, Error> + Sync) -> Result<Vec<T>, Error>
    where
        T: Send + Serialize + DeserializeOwned,
    {
        let (progress, share, here) = (self.progress, &self.share, self.company.here());
        let one = |(place, rank): (usize, &Rank)| {
            let done = task(rank.rank)?;
            progress();
            Ok((place, done))
        };
        let ranks = self.recording.header.ranks.par_iter().enumerate();
        let own = ranks.filter(|(_, rank)| share.owner(rank.rank) == here).map(one);
        let own: Vec<(usize, T)> = own.collect::<Result<_, Error>>()?;
        let mut all: Vec<(usize, T)> = self.company.gather(own).into_iter().flatten().collect();
        all.sort_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, done)| done).collect())
    }
}

/// Numbers the nodes of all ranks in the same way.
fn number(walked: Vec<(RankWalk, Vec<LocalNode>)>, atlas: &Atlas) -> (Vec<RankWalk>, Vec<Key>) {
    let mut keys = Numbers::default();
    let renumbered = walked.into_iter().map(|(mut walk, own)| {
        let number: Vec<usize> = own.iter().map(|local| keys.number(atlas.key(walk.rank, local))).collect();
        walk.renumber(&number);
        walk
    });
    let walks = renumbered.collect();
    (walks, keys.list)
}

/// Numbers the nodes in the order of the program. In the forest, `order` says which number each had before.
fn program_order(walks: &mut [RankWalk], nodes: usize) -> (Vec<(usize, usize)>, Forest) {
    let mut control = Control { steps: BTreeMap::new(), starts: vec![0; nodes], earliness: (0..nodes).collect() };
    for thread in walks.iter().flat_map(|walk| &walk.threads) {
        control.starts[thread.first] += 1;
        thread.segments.iter().for_each(|(ends, times)| *control.steps.entry(*ends).or_default() += times.count);
    }
    let mut forest = Forest::of(&control);
    let before = forest.order.clone();
    let mut number = vec![0; nodes];
    before.iter().enumerate().for_each(|(now, before)| number[*before] = now);
    walks.iter_mut().for_each(|walk| walk.renumber(&number));
    forest.renumber(&number);
    forest.order = before;
    (control.steps.keys().map(|(from, to)| (number[*from], number[*to])).collect(), forest)
}

/// Leaves out loops that are none: those that no rank ever went round, since ranks that pass the same places in different order make them
/// up; and a few repetitions of the first call of a loop, which a branch makes as well.
fn keep_repeated(forest: &mut Forest, rounds: Vec<(u32, Vec<Rounds>)>) -> Vec<(u32, Vec<Rounds>)> {
    let is_one = |number: usize| {
        let mut sum = Rounds::default();
        rounds.iter().for_each(|(_, rounds)| sum.merge(&rounds[number]));
        let one = &forest.loops[number];
        let begins_like_its_parent = one.parent.is_some_and(|parent| forest.loops[parent].header == one.header);
        sum.most > 1 && (!begins_like_its_parent || sum.mean() >= 2.0)
    };
    let keep: Vec<bool> = (0..forest.loops.len()).map(is_one).collect();
    forest.retain(&keep);
    let kept = |rounds: Vec<Rounds>| rounds.into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(rounds, _)| rounds).collect();
    rounds.into_iter().map(|(rank, rounds)| (rank, kept(rounds))).collect()
}

fn completions(walks: &[RankWalk]) -> Vec<Completion> {
    let mut sums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    walks.iter().flat_map(|walk| &walk.completed).for_each(|(ends, count)| *sums.entry(*ends).or_default() += count);
    sums.into_iter().map(|((beginning, end), count)| Completion { beginning, end, count }).collect()
}

fn nodes(spots: &[Spot], roles: &[Role]) -> Vec<Node> {
    let mut nodes: Vec<Node> =
        spots.iter().map(|spot| Node { operation: spot.operation, site: spot.site, outcome: Outcome::default() }).collect();
    roles.iter().flat_map(|role| &role.visits).for_each(|(node, visit)| nodes[*node].outcome.merge(visit.outcome));
    nodes
}
