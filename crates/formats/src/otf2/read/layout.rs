//! What an archive describes, in the terms of a recording: its processes, communicators, windows and files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sintonia_recording::definitions::write_ranks;
use sintonia_recording::header;
use sintonia_recording::raw;

use crate::otf2::bytes::UNDEFINED;
use crate::otf2::definition::{MPI, group_type};
use crate::otf2::facts::{self, Value};
use crate::otf2::read::definitions::{self, Definitions};
use crate::otf2::terms::{Communicator, Object, Terms};

/// The longest lists of members that are written into a header, all together: more would be absurd.
const MOST_MEMBERS_TEXT: usize = 1 << 28;
/// How many parts of a machine can be inside each other.
const MOST_NODES_DEEP: usize = 64;

/// What an archive describes.
#[derive(Default)]
pub struct Layout {
    /// How many processes there are.
    pub size: usize,
    /// Those that left something.
    pub processes: Vec<Process>,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The communicators, windows and files as a header describes them.
    pub communicators: Vec<header::Communicator>,
    /// See `communicators`.
    pub objects: Vec<header::Object>,
    /// See `communicators`: groups that windows are synchronised with.
    pub groups: Vec<String>,
    /// What their numbers are in events.
    pub terms: Terms,
    /// Groups of locations that are no processes of MPI.
    pub left_out: usize,
}

/// A process.
pub struct Process {
    /// Its rank.
    pub rank: u32,
    /// Its number among the definitions.
    pub definition: u32,
    /// Its host.
    pub host: u32,
    /// Its threads: their number in the process, and the number of their location.
    pub threads: Vec<(u16, u64)>,
}

/// Finds out what an archive describes; an error is a sentence.
pub fn understand(definitions: &Definitions) -> Result<Layout, String> {
    let mut layout = Layout::default();
    let world = Members::of_world(definitions);
    layout.size = world.ranks.iter().filter(|rank| **rank != raw::OUTSIDE).count();
    if layout.size == 0 {
        return Err("the archive has no MPI process".into());
    }
    if world.locations.len() > definitions.locations.len() {
        return Err("the archive lists more MPI processes than it has locations".into());
    }
    layout.add_processes(definitions, &world)?;
    layout.add_communicators(definitions, &world)?;
    layout.add_objects(definitions);
    Ok(layout)
}

/// The locations that stand for the ranks of the world, and the ranks they have in the recording.
struct Members {
    locations: Vec<u64>,
    ranks: Vec<i32>,
    by_location: HashMap<u64, usize>,
}

impl Members {
    fn of_world(definitions: &Definitions) -> Members {
        let processes: HashMap<u64, u32> = definitions.locations.iter().map(|location| (location.id, location.process)).collect();
        let locations = definitions.ranks.clone().unwrap_or_else(|| first_threads(definitions));
        let mut next = 0;
        let ranks = locations.iter().map(|location| {
            let outside = processes.get(location).is_some_and(|process| missing(definitions, *process) == Some(facts::OUTSIDE));
            next += i32::from(!outside);
            if outside { raw::OUTSIDE } else { next - 1 }
        });
        let ranks = ranks.collect();
        let by_location = locations.iter().enumerate().map(|(place, location)| (*location, place)).collect();
        Members { locations, ranks, by_location }
    }

    /// The ranks of a group's members.
    fn ranks(&self, group: &definitions::Group) -> Arc<[i32]> {
        let place = |member: &u64| match group.flags & group_type::GLOBAL_MEMBERS {
            0 => usize::try_from(*member).ok(),
            _ => self.by_location.get(member).copied(),
        };
        let rank = |member: &u64| place(member).and_then(|place| self.ranks.get(place)).copied().unwrap_or(raw::OUTSIDE);
        group.members.iter().map(rank).collect()
    }
}

/// The first thread of each process, where no group says which thread stands for a rank.
fn first_threads(definitions: &Definitions) -> Vec<u64> {
    let processes: HashSet<u32> = definitions.processes.iter().filter(|process| process.is_process).map(|process| process.number).collect();
    let mut seen = HashSet::new();
    let threads = definitions.locations.iter().filter(|location| location.is_thread && processes.contains(&location.process));
    threads.filter(|location| seen.insert(location.process)).map(|location| location.id).collect()
}

/// Why a process is none that left something.
fn missing(definitions: &Definitions, process: u32) -> Option<&str> {
    definitions.facts.get(&process)?.iter().find_map(|(name, value)| match value {
        Value::Text(text) if name == facts::MISSING => Some(text.as_str()),
        _ => None,
    })
}

impl Layout {
    fn add_processes(&mut self, definitions: &Definitions, world: &Members) -> Result<(), String> {
        let nodes: HashMap<u32, u32> = definitions.processes.iter().map(|process| (process.number, process.node)).collect();
        let mut by_process: HashMap<u32, Vec<u64>> = HashMap::new();
        for location in definitions.locations.iter().filter(|location| location.is_thread) {
            by_process.entry(location.process).or_default().push(location.id);
        }
        let owners: HashMap<u64, u32> = definitions.locations.iter().map(|location| (location.id, location.process)).collect();
        let mut hosts = HashMap::new();
        for (main, rank) in world.locations.iter().zip(&world.ranks) {
            let (Ok(rank), Some(&definition)) = (u32::try_from(*rank), owners.get(main)) else { continue };
            let mut locations = by_process.remove(&definition).unwrap_or_default();
            if locations.is_empty() || missing(definitions, definition).is_some() {
                continue;
            }
            // The thread that stands for the rank is the first one.
            locations.sort_by_key(|location| location != main);
            let threads = locations.iter().enumerate().map(|(place, location)| {
                let number = definitions.threads.get(location).copied().unwrap_or(place as u64);
                u16::try_from(number).map(|number| (number, *location)).map_err(|_| format!("rank {rank} has too many threads"))
            });
            let threads = threads.collect::<Result<_, _>>()?;
            let name = host(definitions, nodes.get(&definition).copied().unwrap_or(UNDEFINED));
            let next = hosts.len() as u32;
            let host = *hosts.entry(name).or_insert_with_key(|name| {
                self.hosts.push(name.clone());
                next
            });
            self.processes.push(Process { rank, definition, host, threads });
        }
        let known = definitions.processes.iter().filter(|process| missing(definitions, process.number).is_none());
        let mpi: HashSet<u32> = self.processes.iter().map(|process| process.definition).collect();
        self.left_out = known.filter(|process| !mpi.contains(&process.number)).count();
        Ok(())
    }

    fn add_communicators(&mut self, definitions: &Definitions, world: &Members) -> Result<(), String> {
        let of_mpi = |communicator: &&definitions::Communicator| {
            definitions.groups.get(&communicator.groups.0).is_some_and(|group| group.paradigm == MPI)
        };
        let mut in_order: Vec<&definitions::Communicator> = definitions.communicators.iter().filter(of_mpi).collect();
        in_order.sort_by_key(|communicator| !definitions.is_ours() && communicator.name != WORLD);
        // Sintonia's first communicator is the world, whatever it is called.
        if !definitions.is_ours() && in_order.first().is_none_or(|first| first.name != WORLD) {
            let everyone: Vec<i32> = (0..self.size as i32).collect();
            let members = write_ranks(&everyone);
            self.communicators.push(header::Communicator { made_by: WORLD.into(), members, ..header::Communicator::default() });
        }
        let mut groups = Groups { definitions, world, known: HashMap::new(), text: 0 };
        let mut own = None;
        for defined in &in_order {
            let number = self.communicators.len() as u32;
            let is_own = definitions.groups.get(&defined.groups.0).is_some_and(|group| group.kind == group_type::OWN);
            let communicator = if is_own {
                let first = *own.get_or_insert_with(|| {
                    self.communicators.extend((0..self.size).map(of_one));
                    number
                });
                Communicator::Own(first)
            } else {
                self.add_communicator(defined, &mut groups)?
            };
            self.terms.communicators.insert(defined.number, communicator);
        }
        self.add_groups(&mut groups)?;
        for defined in in_order {
            let (_, parent) = facts::named_communicator(&defined.name);
            let unspoken = parent.filter(|_| defined.parent == UNDEFINED && definitions.is_ours());
            if let Some(number) = self.communicator(defined.number) {
                self.communicators[number as usize].parent = self.communicator(unspoken.unwrap_or(defined.parent));
            }
        }
        Ok(())
    }

    /// Sintonia says which groups windows are synchronised with; in other archives it may be any.
    fn add_groups(&mut self, all: &mut Groups) -> Result<(), String> {
        let definitions = all.definitions;
        let ours = definitions.is_ours();
        let wanted = |group: &definitions::Group| if ours { group.name == facts::GROUP } else { is_group_of_mpi(group) };
        let windows = definitions.objects.iter().any(|object| object.is_window);
        let mut numbers: Vec<u32> =
            definitions.groups.iter().filter(|(_, group)| windows && wanted(group)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        for (place, number) in (0..).zip(numbers) {
            self.terms.groups.insert(number, place);
            self.groups.push(all.list(number)?.text.to_string());
        }
        Ok(())
    }

    fn add_communicator(&mut self, defined: &definitions::Communicator, groups: &mut Groups) -> Result<Communicator, String> {
        let number = self.communicators.len() as u32;
        let here = groups.list(defined.groups.0)?;
        let there = defined.groups.1.map(|group| groups.list(group)).transpose()?;
        self.communicators.push(header::Communicator {
            made_by: facts::named_communicator(&defined.name).0,
            members: here.text.to_string(),
            remote: there.as_ref().map(|there| there.text.to_string()),
            ..header::Communicator::default()
        });
        Ok(match there {
            None => Communicator::Within(number, here.members),
            Some(there) => Communicator::Between(number, here.members, there.members),
        })
    }

    /// The number of a communicator that is one and the same for all its members.
    fn communicator(&self, definition: u32) -> Option<u32> {
        match self.terms.communicators.get(definition)? {
            Communicator::Within(number, _) | Communicator::Between(number, ..) => Some(*number),
            Communicator::Own(_) => None,
        }
    }

    fn add_objects(&mut self, definitions: &Definitions) {
        for (number, defined) in (0..).zip(&definitions.objects) {
            let object = Object { number, communicator: defined.communicator };
            let objects = if defined.is_window { &mut self.terms.windows } else { &mut self.terms.files };
            objects.insert(defined.number, object);
            let kind = if defined.is_window { "window" } else { "file" };
            self.objects.push(header::Object { kind: kind.into(), communicator: self.communicator(defined.communicator) });
        }
    }
}

fn is_group_of_mpi(group: &definitions::Group) -> bool {
    group.kind == group_type::COMMUNICATOR && group.paradigm == MPI
}

const WORLD: &str = "MPI_COMM_WORLD";

/// The members of a group, and the same as a header says it.
#[derive(Clone)]
struct Listed {
    members: Arc<[i32]>,
    text: Arc<str>,
}

/// The groups of an archive, each listed once.
struct Groups<'a> {
    definitions: &'a Definitions,
    world: &'a Members,
    known: HashMap<u32, Listed>,
    /// How long the lists of all communicators are together.
    text: usize,
}

impl Groups<'_> {
    fn list(&mut self, number: u32) -> Result<Listed, String> {
        let listed = self.known.entry(number).or_insert_with(|| {
            let members = self.definitions.groups.get(&number).map_or_else(Arc::default, |group| self.world.ranks(group));
            Listed { text: write_ranks(&members).into(), members }
        });
        self.text += listed.text.len();
        if self.text > MOST_MEMBERS_TEXT {
            return Err("the communicators have more members than makes sense".into());
        }
        Ok(listed.clone())
    }
}

fn of_one(rank: usize) -> header::Communicator {
    header::Communicator { made_by: "MPI_COMM_SELF".into(), members: rank.to_string(), ..header::Communicator::default() }
}

/// The name of the host that a part of the machine is, or is in.
fn host(definitions: &Definitions, node: u32) -> String {
    let mut at = node;
    let mut nearest = None;
    for _ in 0..MOST_NODES_DEEP {
        let Some(node) = definitions.nodes.get(&at) else { break };
        nearest.get_or_insert(&node.name);
        if node.shared_memory || node.class == "node" {
            return node.name.clone();
        }
        at = node.parent;
    }
    nearest.cloned().unwrap_or_default()
}
