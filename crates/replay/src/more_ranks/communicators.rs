//! Which communicators of different runs are the same to the program.

use std::collections::{BTreeMap, HashMap};

use sintonia_recording::raw;

use super::error::Unrecognised;
use super::family::Family;
use super::grid::{Grid, Spot};
use super::part::Part;
use super::reading::Readings;
use super::sight::Sights;

/// The kind of the communicators that hold everyone.
pub const WORLD: usize = 0;
/// The kind of those that hold one rank each.
const OWN: usize = 1;
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
        let mut kinds = Kinds { list: vec![Kind { node: None, seen: Vec::new() }, Kind { node: None, seen: Vec::new() }], of: HashMap::new() };
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

    /// The rules by which ranks belong to the communicators of each kind, in grids of the runs.
    pub fn parts(&self, family: &Family, grids: &[Grid]) -> Result<Vec<Part>, Unrecognised> {
        let least = family.runs.iter().map(|run| run.ranks).min().unwrap_or(1);
        let candidates = Part::all(&grids[0], least);
        self.list.iter().map(|kind| kind.part(family, grids, &candidates)).collect()
    }
}

impl Kind {
    fn part(&self, family: &Family, grids: &[Grid], candidates: &[Part]) -> Result<Part, Unrecognised> {
        let fits = |part: &&Part| {
            self.seen.iter().all(|(run, rank, communicator)| {
                let spot = Spot { rank: *rank, ranks: family.runs[*run].ranks, grid: &grids[*run] };
                let (members, remote) = (family.runs[*run].recording.members(*communicator), family.runs[*run].recording.remote(*communicator));
                let wanted = (0..part.size(spot)).map(|place| part.member(spot, place).map(|rank| rank as i32));
                remote.is_empty() && members.len() == part.size(spot) as usize && members.iter().map(|rank| Some(*rank)).eq(wanted)
            })
        };
        candidates.iter().find(fits).cloned().ok_or_else(|| self.unexplained(family))
    }

    fn unexplained(&self, family: &Family) -> Unrecognised {
        let example = |(run, rank, communicator): &(usize, u32, u32)| {
            let run = &family.runs[*run];
            format!("of {} ranks, rank {rank} is with {}", run.ranks, run.recording.header.communicators[*communicator as usize].members)
        };
        let node = self.node.map(|node| family.nodes[node]);
        Unrecognised::Call {
            site: node.and_then(|node| family.sites.get(node.site as usize).cloned()).unwrap_or_else(|| "at the start".into()),
            operation: node.map_or("MPI_Init", |node| node.operation.name()),
            what: "the members of the communicator",
            examples: self.seen.iter().rev().take(3).map(example).collect::<Vec<_>>().join("; "),
            tried: "all ranks, each alone, lines and planes of the grid, blocks, ranks at equal distances; members in the order of their ranks",
        }
    }
}
