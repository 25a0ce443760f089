//! Which communicators of different runs are the same to the program.

use std::collections::{BTreeMap, HashMap};

use sintonia_recording::neighbours::Neighbours;
use sintonia_recording::raw;

use super::error::Unrecognised;
use super::family::Family;
use super::grid::{Grid, Spot};
use super::part::Part;
use super::peer::Peer;
use super::reading::Readings;
use super::sight::Sights;
use super::step::Target;
use super::targets::{Tried, Turn};
use super::who::Who;

/// The kind of the communicators that hold everyone.
pub const WORLD: usize = 0;
/// The kind of those that hold one rank each.
pub const OWN: usize = 1;
/// Where a place makes more communicators than this one after another, each takes the place of the one before.
const MOST_AT_ONCE: usize = 8;

/// Communicators that were made by the same call of the program.
pub struct Kind {
    /// The node that made them; those that were there from the start have none.
    node: Option<usize>,
    /// Who has which: run, rank, and number in the run.
    seen: Vec<(usize, u32, u32)>,
}

/// The kinds of communicators of a family.
pub struct Kinds {
    /// They.
    pub list: Vec<Kind>,
    of: HashMap<(usize, u32), usize>,
}

impl Kinds {
    /// Finds the kinds.
    pub fn of(family: &Family, sights: &Sights, readings: &Readings) -> Kinds {
        let mut kinds =
            Kinds { list: vec![Kind { node: None, seen: Vec::new() }, Kind { node: None, seen: Vec::new() }], of: HashMap::new() };
        for (number, run) in family.runs.iter().enumerate() {
            for (communicator, defined) in run.recording.header.communicators.iter().enumerate() {
                let kind = match defined.made_by.as_str() {
                    "MPI_COMM_WORLD" => WORLD,
                    "MPI_COMM_SELF" => OWN,
                    _ => continue,
                };
                let communicator = communicator as u32;
                kinds.of.insert((number, communicator), kind);
                let members = run.recording.members(communicator).iter();
                kinds.list[kind].seen.extend(members.filter_map(|rank| Some((number, u32::try_from(*rank).ok()?, communicator))));
            }
        }
        (0..family.nodes.len()).for_each(|node| kinds.add_made(node, sights, readings));
        kinds
    }

    /// The communicators that calls at a node made.
    fn add_made(&mut self, node: usize, sights: &Sights, readings: &Readings) {
        let mut made: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        for sight in &sights.calls[node] {
            let Some(details) = sight.call.map(|call| readings.details.get(call)) else { continue };
            let of_rank = made.entry((sight.run, sight.rank)).or_default();
            if details.shape.operation.role() == sintonia_mpi::Role::CommunicatorCreate {
                of_rank.push(details.shape.made);
            }
        }
        let longest = made.values().map(Vec::len).max().unwrap_or(0);
        let separate = if longest > MOST_AT_ONCE { 1 } else { longest };
        let first = self.list.len();
        self.list.extend((0..separate).map(|_| Kind { node: Some(node), seen: Vec::new() }));
        for ((run, rank), communicators) in made {
            for (place, communicator) in communicators.into_iter().enumerate().filter(|(_, made)| *made != raw::NO_OBJECT) {
                let kind = first + place % separate;
                self.of.insert((run, communicator), kind);
                self.list[kind].seen.push((run, rank, communicator));
            }
        }
    }

    /// The kind of a communicator of a run.
    pub fn kind(&self, run: usize, communicator: u32) -> Option<usize> {
        self.of.get(&(run, communicator)).copied()
    }

    /// The rules by which ranks find their neighbours in communicators of each kind, for kinds that need them.
    pub fn neighbours(
        &self,
        family: &Family,
        grids: &[Grid],
        parts: &[Part],
        used: impl Fn(usize) -> bool,
    ) -> Result<Vec<[Vec<Peer>; 2]>, Unrecognised> {
        self.list.iter().enumerate().map(|(number, kind)| kind.neighbours(family, grids, parts, used(number))).collect()
    }

    /// The rules by which ranks belong to the communicators of each kind, in grids of the runs.
    pub fn parts(&self, family: &Family, grids: &[Grid]) -> Result<Vec<Part>, Unrecognised> {
        let least = family.runs.iter().map(|run| run.ranks).min().unwrap_or(1);
        let candidates = Part::all(&grids[0], least);
        self.list.iter().map(|kind| kind.part(family, grids, &candidates)).collect()
    }
}

impl Kind {
    /// Whom members receive from and send to in operations among neighbours: none if there are no such operations.
    fn neighbours(&self, family: &Family, grids: &[Grid], parts: &[Part], used: bool) -> Result<[Vec<Peer>; 2], Unrecognised> {
        let sources = |neighbours: &Neighbours| neighbours.sources.clone();
        let destinations = |neighbours: &Neighbours| neighbours.destinations.clone();
        if !used {
            return Ok([Vec::new(), Vec::new()]);
        }
        let both = self.peers(family, grids, parts, sources).zip(self.peers(family, grids, parts, destinations));
        let (sources, destinations) =
            both.ok_or_else(|| self.unexplained(family, "the neighbours", "neighbours in a grid, open and around the ends"))?;
        Ok([sources, destinations])
    }

    /// The rule for each place of the lists of neighbours, which are equally long for all.
    fn peers(&self, family: &Family, grids: &[Grid], parts: &[Part], of: impl Fn(&Neighbours) -> Vec<i32>) -> Option<Vec<Peer>> {
        let list = |(run, rank, communicator): &(usize, u32, u32)| {
            let known = family.runs[*run].recording.neighbours(*communicator, *rank)?;
            Some((Spot { rank: *rank, ranks: family.runs[*run].ranks, grid: &grids[*run] }, of(known)))
        };
        let lists: Vec<(Spot, Vec<i32>)> = self.seen.iter().map(list).collect::<Option<_>>()?;
        let length = lists.first()?.1.len();
        if lists.iter().any(|(_, list)| list.len() != length) {
            return None;
        }
        let tried = Tried { parts, whos: &[Who::Everyone], any_order: false };
        let peer = |place: usize| {
            let turns: Vec<Turn> = lists.iter().map(|(spot, list)| Turn { spot: *spot, rounds: &[], peer: Some(list[place]) }).collect();
            if let Target::Same(peer) = tried.explain(&turns)?.target { Some(peer) } else { None }
        };
        (0..length).map(peer).collect()
    }

    fn part(&self, family: &Family, grids: &[Grid], candidates: &[Part]) -> Result<Part, Unrecognised> {
        let fits = |part: &&Part| {
            self.seen.iter().all(|(run, rank, communicator)| {
                let spot = Spot { rank: *rank, ranks: family.runs[*run].ranks, grid: &grids[*run] };
                let (members, remote) =
                    (family.runs[*run].recording.members(*communicator), family.runs[*run].recording.remote(*communicator));
                let wanted = (0..part.size(spot)).map(|place| part.member(spot, place).map(|rank| rank as i32));
                remote.is_empty() && members.len() == part.size(spot) as usize && members.iter().map(|rank| Some(*rank)).eq(wanted)
            })
        };
        candidates.iter().find(fits).cloned().ok_or_else(|| {
            let tried = "all ranks, each alone, lines and planes of the grid, blocks, ranks at equal distances; members in the order of their ranks";
            self.unexplained(family, "the members", tried)
        })
    }

    fn unexplained(&self, family: &Family, what: &'static str, tried: &'static str) -> Unrecognised {
        let example = |(run, rank, communicator): &(usize, u32, u32)| {
            let run = &family.runs[*run];
            let members = run.recording.header.communicators.get(*communicator as usize).map_or("?", |defined| defined.members.as_str());
            format!("of {} ranks, rank {rank} is with {members}", run.ranks)
        };
        let node = self.node.map(|node| family.nodes[node]);
        Unrecognised::Call {
            site: node
                .and_then(|node| family.places.get(node.site as usize))
                .map(|place| place.name.clone())
                .unwrap_or_else(|| "at the start".into()),
            operation: node.map_or("MPI_Init", |node| node.operation.name()),
            what,
            examples: self.seen.iter().rev().take(3).map(example).collect::<Vec<_>>().join("; "),
            tried,
        }
    }
}
