//! Identifies communicators across runs with different numbers of ranks.

use std::collections::{BTreeMap, HashMap};

use sintonia_recording::neighbours::TopologyNeighbours;
use sintonia_recording::raw;

use super::call_rule::PeerTarget;
use super::error::RecognitionError;
use super::filters::RankFilter;
use super::folded_trace::FoldedTraces;
use super::group_rule::GroupRule;
use super::observations::ProgramObservations;
use super::peer_rule::PeerRule;
use super::peer_search::{PeerObservation, PeerSearch};
use super::process_grid::{ProcessGrid, RankPosition};
use super::recording_family::RecordingFamily;

/// Class of `MPI_COMM_WORLD`.
pub(super) const COMM_WORLD: usize = 0;
/// Class of `MPI_COMM_SELF`.
pub(super) const COMM_SELF: usize = 1;
/// If a call creates more communicators in sequence, each replaces the one before.
const MAX_SEPARATE: usize = 8;

/// Communicators created by the same call of the program.
pub(super) struct CommunicatorClass {
    /// The creating call; `None` for predefined communicators.
    node: Option<usize>,
    /// (run, rank, communicator) of each member.
    instances: Vec<(usize, u32, u32)>,
}

/// All communicator classes of a family.
pub(super) struct CommunicatorClasses {
    /// The classes.
    pub classes: Vec<CommunicatorClass>,
    class_ids: HashMap<(usize, u32), usize>,
}

impl CommunicatorClasses {
    /// Classifies the communicators of all runs.
    pub(super) fn new(family: &RecordingFamily, observations: &ProgramObservations, traces: &FoldedTraces) -> CommunicatorClasses {
        let mut classes = CommunicatorClasses {
            classes: vec![CommunicatorClass { node: None, instances: Vec::new() }, CommunicatorClass { node: None, instances: Vec::new() }],
            class_ids: HashMap::new(),
        };
        for (number, run) in family.runs.iter().enumerate() {
            for (communicator, defined) in run.recording.header.communicators.iter().enumerate() {
                let class = match defined.made_by.as_str() {
                    "MPI_COMM_WORLD" => COMM_WORLD,
                    "MPI_COMM_SELF" => COMM_SELF,
                    _ => continue,
                };
                let communicator = communicator as u32;
                classes.class_ids.insert((number, communicator), class);
                let members = run.recording.members(communicator).iter();
                classes.classes[class]
                    .instances
                    .extend(members.filter_map(|rank| Some((number, u32::try_from(*rank).ok()?, communicator))));
            }
        }
        (0..family.nodes.len()).for_each(|node| classes.add_created(node, observations, traces));
        classes
    }

    /// Adds the communicators created at a node.
    fn add_created(&mut self, node: usize, observations: &ProgramObservations, traces: &FoldedTraces) {
        let mut made: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        for observation in &observations.calls[node] {
            let Some(details) = observation.call.map(|call| traces.details.get(call)) else { continue };
            let of_rank = made.entry((observation.run, observation.rank)).or_default();
            if details.call.function.role() == sintonia_mpi::FunctionRole::CommunicatorCreate {
                of_rank.push(details.call.created);
            }
        }
        let longest = made.values().map(Vec::len).max().unwrap_or(0);
        let separate = if longest > MAX_SEPARATE { 1 } else { longest };
        let first = self.classes.len();
        self.classes.extend((0..separate).map(|_| CommunicatorClass { node: Some(node), instances: Vec::new() }));
        for ((run, rank), communicators) in made {
            for (index, communicator) in communicators.into_iter().enumerate().filter(|(_, made)| *made != raw::NO_OBJECT) {
                let class = first + index % separate;
                self.class_ids.insert((run, communicator), class);
                self.classes[class].instances.push((run, rank, communicator));
            }
        }
    }

    /// Class of a communicator of a run.
    pub(super) fn class_id(&self, run: usize, communicator: u32) -> Option<usize> {
        self.class_ids.get(&(run, communicator)).copied()
    }

    /// Neighbour rules of each class that has neighbourhood collectives.
    pub(super) fn neighbours(
        &self,
        family: &RecordingFamily,
        grids: &[ProcessGrid],
        groups: &[GroupRule],
        used: impl Fn(usize) -> bool,
    ) -> Result<Vec<[Vec<PeerRule>; 2]>, RecognitionError> {
        self.classes.iter().enumerate().map(|(number, class)| class.neighbours(family, grids, groups, used(number))).collect()
    }

    /// Group rule of each class.
    pub(super) fn group_rules(&self, family: &RecordingFamily, grids: &[ProcessGrid]) -> Result<Vec<GroupRule>, RecognitionError> {
        let least = family.runs.iter().map(|run| run.ranks).min().unwrap_or(1);
        let candidates = GroupRule::all(&grids[0], least);
        self.classes.iter().map(|class| class.group_rule(family, grids, &candidates)).collect()
    }
}

impl CommunicatorClass {
    /// Sources and destinations in neighbourhood collectives; none if there are no such collectives.
    fn neighbours(
        &self,
        family: &RecordingFamily,
        grids: &[ProcessGrid],
        groups: &[GroupRule],
        used: bool,
    ) -> Result<[Vec<PeerRule>; 2], RecognitionError> {
        let sources = |neighbours: &TopologyNeighbours| neighbours.sources.clone();
        let destinations = |neighbours: &TopologyNeighbours| neighbours.destinations.clone();
        if !used {
            return Ok([Vec::new(), Vec::new()]);
        }
        let both = self.peer_rules(family, grids, groups, sources).zip(self.peer_rules(family, grids, groups, destinations));
        let (sources, destinations) =
            both.ok_or_else(|| self.unexplained_error(family, "the neighbours", "neighbours in a grid, open and periodic"))?;
        Ok([sources, destinations])
    }

    /// One rule per position in the neighbour lists, which must have equal lengths.
    fn peer_rules(
        &self,
        family: &RecordingFamily,
        grids: &[ProcessGrid],
        groups: &[GroupRule],
        of: impl Fn(&TopologyNeighbours) -> Vec<i32>,
    ) -> Option<Vec<PeerRule>> {
        let list = |(run, rank, communicator): &(usize, u32, u32)| {
            let known = family.runs[*run].recording.neighbours(*communicator, *rank)?;
            Some((RankPosition { rank: *rank, rank_count: family.runs[*run].ranks, grid: &grids[*run] }, of(known)))
        };
        let lists: Vec<(RankPosition, Vec<i32>)> = self.instances.iter().map(list).collect::<Option<_>>()?;
        let length = lists.first()?.1.len();
        if lists.iter().any(|(_, list)| list.len() != length) {
            return None;
        }
        let tried = PeerSearch { groups, rank_filters: &[RankFilter::Everyone], any_order: false };
        let peer = |index: usize| {
            let turns: Vec<PeerObservation> = lists
                .iter()
                .map(|(position, list)| PeerObservation { position: *position, iterations: &[], peer: Some(list[index]) })
                .collect();
            if let PeerTarget::Constant(peer) = tried.explain(&turns)?.target { Some(peer) } else { None }
        };
        (0..length).map(peer).collect()
    }

    fn group_rule(&self, family: &RecordingFamily, grids: &[ProcessGrid], candidates: &[GroupRule]) -> Result<GroupRule, RecognitionError> {
        let fits = |group: &&GroupRule| {
            self.instances.iter().all(|(run, rank, communicator)| {
                let position = RankPosition { rank: *rank, rank_count: family.runs[*run].ranks, grid: &grids[*run] };
                let (members, remote) =
                    (family.runs[*run].recording.members(*communicator), family.runs[*run].recording.remote(*communicator));
                let wanted = (0..group.size(position)).map(|index| group.member(position, index).map(|rank| rank as i32));
                remote.is_empty() && members.len() == group.size(position) as usize && members.iter().map(|rank| Some(*rank)).eq(wanted)
            })
        };
        candidates.iter().find(fits).cloned().ok_or_else(|| {
            let tried = "all ranks, single ranks, lines and planes of the grid, blocks, strides; members in rank order";
            self.unexplained_error(family, "the members", tried)
        })
    }

    fn unexplained_error(&self, family: &RecordingFamily, what: &'static str, tried: &'static str) -> RecognitionError {
        let example = |(run, rank, communicator): &(usize, u32, u32)| {
            let run = &family.runs[*run];
            let members = run.recording.header.communicators.get(*communicator as usize).map_or("?", |defined| defined.members.as_str());
            format!("of {} ranks, rank {rank} is in {members}", run.ranks)
        };
        let node = self.node.map(|node| family.nodes[node]);
        RecognitionError::Call {
            site: node
                .and_then(|node| family.sites.get(node.site as usize))
                .map(|site| site.name.clone())
                .unwrap_or_else(|| "at the start".into()),
            operation: node.map_or("MPI_Init", |node| node.operation.name()),
            what,
            examples: self.instances.iter().rev().take(3).map(example).collect::<Vec<_>>().join("; "),
            tried,
        }
    }
}
