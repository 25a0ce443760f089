//! Translates the definitions of an archive to a recording: processes, communicators, windows and files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_otf2::code::{GroupFlags, GroupType, Paradigm};
use sintonia_recording::definitions::format_ranks;
use sintonia_recording::header;
use sintonia_recording::raw;

use crate::otf2::id_translation::{CommMapping, IdTranslation, ObjectMapping};
use crate::otf2::properties::{self, PropertyValue};
use crate::otf2::read::definitions::{self, ArchiveDefinitions};
use crate::otf2::read::text_budget::TextBudget;

/// Limit of all member lists in a header together.
const MAX_MEMBERS_TEXT: usize = 1 << 28;
/// Limit of the system tree's depth.
const MAX_TREE_DEPTH: usize = 64;

/// An archive in the terms of a recording.
#[derive(Default)]
pub(super) struct ArchiveLayout {
    /// Number of processes.
    pub size: usize,
    /// Processes with data.
    pub processes: Vec<MpiProcess>,
    /// Host names.
    pub hosts: Vec<String>,
    /// Communicators, windows and files for the header.
    pub communicators: Vec<header::CommunicatorDefinition>,
    /// See `communicators`.
    pub objects: Vec<header::ObjectDefinition>,
    /// See `communicators`: groups used in window synchronisation.
    pub groups: Vec<String>,
    /// Translation of the ids in events.
    pub ids: IdTranslation,
    /// Location groups that are no MPI processes.
    pub skipped_location_groups: usize,
}

/// An MPI process.
pub(super) struct MpiProcess {
    pub rank: u32,
    pub location_group: u32,
    pub host: u32,
    /// Its threads: number and location id.
    pub threads: Vec<(u16, u64)>,
}

/// Builds the layout of an archive.
pub(super) fn build_layout(definitions: &ArchiveDefinitions) -> Result<ArchiveLayout, String> {
    let mut layout = ArchiveLayout::default();
    let world = WorldMembers::from_definitions(definitions);
    layout.size = world.ranks.iter().filter(|rank| **rank != raw::EXTERNAL).count();
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

/// The locations that represent MPI_COMM_WORLD, and their ranks in the recording.
struct WorldMembers {
    locations: Vec<u64>,
    ranks: Vec<i32>,
    by_location: HashMap<u64, usize>,
}

impl WorldMembers {
    fn from_definitions(definitions: &ArchiveDefinitions) -> WorldMembers {
        let processes: HashMap<u64, u32> = definitions.locations.iter().map(|location| (location.id, location.location_group)).collect();
        let locations = definitions.comm_locations.clone().unwrap_or_else(|| first_threads(definitions));
        let mut next = 0;
        let ranks = locations.iter().map(|location| {
            let outside = processes.get(location).is_some_and(|process| absence_reason(definitions, *process) == Some(properties::OUTSIDE));
            next += i32::from(!outside);
            if outside { raw::EXTERNAL } else { next - 1 }
        });
        let ranks = ranks.collect();
        let by_location = locations.iter().enumerate().map(|(index, location)| (*location, index)).collect();
        WorldMembers { locations, ranks, by_location }
    }

    /// The world ranks of a group's members.
    fn ranks(&self, group: &definitions::GroupDefinition) -> Arc<[i32]> {
        let index = |member: &u64| match group.flags.contains(GroupFlags::GLOBAL_MEMBERS) {
            false => usize::try_from(*member).ok(),
            true => self.by_location.get(member).copied(),
        };
        let rank = |member: &u64| index(member).and_then(|index| self.ranks.get(index)).copied().unwrap_or(raw::EXTERNAL);
        group.members.iter().map(rank).collect()
    }
}

/// The first thread of each process, where no group defines the representatives.
fn first_threads(definitions: &ArchiveDefinitions) -> Vec<u64> {
    let processes: HashSet<u32> =
        definitions.location_groups.iter().filter(|process| process.is_process).map(|process| process.number).collect();
    let mut seen = HashSet::new();
    let threads = definitions.locations.iter().filter(|location| location.is_thread && processes.contains(&location.location_group));
    threads.filter(|location| seen.insert(location.location_group)).map(|location| location.id).collect()
}

/// Why a process has no data, if so.
fn absence_reason(definitions: &ArchiveDefinitions, process: u32) -> Option<&str> {
    definitions.rank_properties.get(&process)?.iter().find_map(|(name, value)| match value {
        PropertyValue::String(text) if name == properties::MISSING => Some(text.as_str()),
        _ => None,
    })
}

impl ArchiveLayout {
    fn add_processes(&mut self, definitions: &ArchiveDefinitions, world: &WorldMembers) -> Result<(), String> {
        let nodes: HashMap<u32, u32> = definitions.location_groups.iter().map(|process| (process.number, process.node)).collect();
        let mut by_process: HashMap<u32, Vec<u64>> = HashMap::new();
        for location in definitions.locations.iter().filter(|location| location.is_thread) {
            by_process.entry(location.location_group).or_default().push(location.id);
        }
        let owners: HashMap<u64, u32> = definitions.locations.iter().map(|location| (location.id, location.location_group)).collect();
        let mut hosts = HashMap::new();
        for (main, rank) in world.locations.iter().zip(&world.ranks) {
            let (Ok(rank), Some(&definition)) = (u32::try_from(*rank), owners.get(main)) else { continue };
            let mut locations = by_process.remove(&definition).unwrap_or_default();
            if locations.is_empty() || absence_reason(definitions, definition).is_some() {
                continue;
            }
            // The representative of the rank comes first.
            locations.sort_by_key(|location| location != main);
            let threads = locations.iter().enumerate().map(|(index, location)| {
                let number = definitions.thread_numbers.get(location).copied().unwrap_or(index as u64);
                u16::try_from(number).map(|number| (number, *location)).map_err(|_| format!("rank {rank} has too many threads"))
            });
            let threads = threads.collect::<Result<_, _>>()?;
            let name = host_name(definitions, nodes.get(&definition).copied().unwrap_or(UNDEFINED_UINT32));
            let next = hosts.len() as u32;
            let host = *hosts.entry(name).or_insert_with_key(|name| {
                self.hosts.push(name.clone());
                next
            });
            self.processes.push(MpiProcess { rank, location_group: definition, host, threads });
        }
        let known = definitions.location_groups.iter().filter(|process| absence_reason(definitions, process.number).is_none());
        let mpi: HashSet<u32> = self.processes.iter().map(|process| process.location_group).collect();
        self.skipped_location_groups = known.filter(|process| !mpi.contains(&process.number)).count();
        Ok(())
    }

    fn add_communicators(&mut self, definitions: &ArchiveDefinitions, world: &WorldMembers) -> Result<(), String> {
        let of_mpi = |communicator: &&definitions::CommDefinition| {
            definitions.groups.get(&communicator.groups.0).is_some_and(|group| group.paradigm == Paradigm::MPI)
        };
        let mut in_order: Vec<&definitions::CommDefinition> = definitions.communicators.iter().filter(of_mpi).collect();
        in_order.sort_by_key(|communicator| !definitions.is_from_sintonia() && communicator.name != WORLD);
        // The first communicator of a recording is the world, whatever its name.
        if !definitions.is_from_sintonia() && in_order.first().is_none_or(|first| first.name != WORLD) {
            let everyone: Vec<i32> = (0..self.size as i32).collect();
            let members = format_ranks(&everyone);
            self.communicators.push(header::CommunicatorDefinition {
                made_by: WORLD.into(),
                members,
                ..header::CommunicatorDefinition::default()
            });
        }
        let mut groups = GroupCache { definitions, world, known: HashMap::new(), total_text: 0 };
        let mut own = None;
        for defined in &in_order {
            let number = self.communicators.len() as u32;
            let is_own = definitions.groups.get(&defined.groups.0).is_some_and(|group| group.group_type == GroupType::COMM_SELF);
            let communicator = if is_own {
                let first = *own.get_or_insert_with(|| {
                    self.communicators.extend((0..self.size).map(self_communicator));
                    number
                });
                CommMapping::SelfComm(first)
            } else {
                self.add_communicator(defined, &mut groups)?
            };
            self.ids.communicators.insert(defined.number, communicator);
        }
        self.add_groups(&mut groups)?;
        for defined in in_order {
            let (_, parent) = properties::parse_communicator_name(&defined.name);
            let unspoken = parent.filter(|_| defined.parent == UNDEFINED_UINT32 && definitions.is_from_sintonia());
            if let Some(number) = self.communicator(defined.number) {
                self.communicators[number as usize].parent = self.communicator(unspoken.unwrap_or(defined.parent));
            }
        }
        Ok(())
    }

    /// Sintonia marks the groups used in window synchronisation; in other archives it may be any.
    fn add_groups(&mut self, all: &mut GroupCache) -> Result<(), String> {
        let definitions = all.definitions;
        let ours = definitions.is_from_sintonia();
        let wanted = |group: &definitions::GroupDefinition| if ours { group.name == properties::GROUP } else { is_mpi_group(group) };
        let windows = definitions.windows_and_files.iter().any(|object| object.is_window);
        let mut numbers: Vec<u32> =
            definitions.groups.iter().filter(|(_, group)| windows && wanted(group)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        for (index, number) in (0..).zip(numbers) {
            self.ids.groups.insert(number, index);
            self.groups.push(all.rank_list(number)?.text.to_string());
        }
        Ok(())
    }

    fn add_communicator(&mut self, defined: &definitions::CommDefinition, groups: &mut GroupCache) -> Result<CommMapping, String> {
        let number = self.communicators.len() as u32;
        let here = groups.rank_list(defined.groups.0)?;
        let there = defined.groups.1.map(|group| groups.rank_list(group)).transpose()?;
        self.communicators.push(header::CommunicatorDefinition {
            made_by: properties::parse_communicator_name(&defined.name).0,
            members: here.text.to_string(),
            remote: there.as_ref().map(|there| there.text.to_string()),
            ..header::CommunicatorDefinition::default()
        });
        Ok(match there {
            None => CommMapping::Intra(number, here.members),
            Some(there) => CommMapping::Inter(number, here.members, there.members),
        })
    }

    /// The index of a communicator with the same index on all members.
    fn communicator(&self, definition: u32) -> Option<u32> {
        match self.ids.communicators.get(definition)? {
            CommMapping::Intra(number, _) | CommMapping::Inter(number, ..) => Some(*number),
            CommMapping::SelfComm(_) => None,
        }
    }

    fn add_objects(&mut self, definitions: &ArchiveDefinitions) {
        let mut paths = TextBudget::new();
        for (number, defined) in (0..).zip(&definitions.windows_and_files) {
            let object = ObjectMapping { number, communicator: defined.communicator };
            let objects = if defined.is_window { &mut self.ids.windows } else { &mut self.ids.files };
            objects.insert(defined.number, object);
            let kind = if defined.is_window { "window" } else { "file" };
            let communicator = self.communicator(defined.communicator);
            let path = definitions.file_path(defined.file).and_then(|path| paths.copy_text(path));
            self.objects.push(header::ObjectDefinition { kind: kind.into(), communicator, path });
        }
    }
}

fn is_mpi_group(group: &definitions::GroupDefinition) -> bool {
    group.group_type == GroupType::COMM_GROUP && group.paradigm == Paradigm::MPI
}

const WORLD: &str = "MPI_COMM_WORLD";

/// The members of a group, and their text in a header.
#[derive(Clone)]
struct RankList {
    members: Arc<[i32]>,
    text: Arc<str>,
}

/// The groups of an archive, each translated once.
struct GroupCache<'a> {
    definitions: &'a ArchiveDefinitions,
    world: &'a WorldMembers,
    known: HashMap<u32, RankList>,
    /// Total length of the lists of all communicators.
    total_text: usize,
}

impl GroupCache<'_> {
    fn rank_list(&mut self, number: u32) -> Result<RankList, String> {
        let listed = self.known.entry(number).or_insert_with(|| {
            let members = self.definitions.groups.get(&number).map_or_else(Arc::default, |group| self.world.ranks(group));
            RankList { text: format_ranks(&members).into(), members }
        });
        self.total_text += listed.text.len();
        if self.total_text > MAX_MEMBERS_TEXT {
            return Err("the communicators have implausibly many members".into());
        }
        Ok(listed.clone())
    }
}

fn self_communicator(rank: usize) -> header::CommunicatorDefinition {
    header::CommunicatorDefinition {
        made_by: "MPI_COMM_SELF".into(),
        members: rank.to_string(),
        ..header::CommunicatorDefinition::default()
    }
}

/// The host name of a system tree node: of the node itself or the nearest parent that is a host.
fn host_name(definitions: &ArchiveDefinitions, node: u32) -> String {
    let mut at = node;
    let mut nearest = None;
    for _ in 0..MAX_TREE_DEPTH {
        let Some(node) = definitions.system_tree_nodes.get(&at) else { break };
        nearest.get_or_insert(&node.name);
        if node.shared_memory || node.class == "node" {
            return node.name.clone();
        }
        at = node.parent;
    }
    nearest.cloned().unwrap_or_default()
}
