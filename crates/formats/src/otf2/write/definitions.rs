//! Writes the global definitions of an archive.

use std::collections::HashMap;

use sintonia_mpi::{CollectiveOp, FUNCTIONS, FunctionId, FunctionRole};
use sintonia_recording::definitions::parse_ranks;
use sintonia_recording::header::RecordingHeader;

use crate::error::Error;
use crate::otf2::attributes::CallAttribute;
use crate::otf2::buffer::UNDEFINED_UINT32;
use crate::otf2::definition_records::{
    DOMAIN_SHARED_MEMORY, DefinitionField, DefinitionWriter, LOCATION_CPU_THREAD, LOCATION_GROUP_PROCESS, MACHINE_NODE, MPI_IO,
    NANOSECOND_RESOLUTION, PARADIGM_COMPILER, PARADIGM_MPI, group_type, kind, real_time_ns,
};
use crate::otf2::event::EventRecord;
use crate::otf2::properties::{self, PropertyValue};
use crate::otf2::write::ExportContext;
use crate::otf2::write::comm_ranks::group_id;
use crate::otf2::write::rank_writer::{self, WrittenRank};

/// The parameter with a request that a call completes or starts.
pub(super) const REQUEST_PARAMETER: u32 = 0;

const MACHINE_DOMAIN: u8 = 0;
const FUNCTION_ROLE: u8 = 1;
const UNSIGNED_PARAMETER: u8 = 2;
const MPI_IO_PARADIGM: u8 = 0;
const PARALLEL_IO: u8 = 1;
/// Its creation and destruction are recorded as events.
const FLAG_HAS_EVENTS: u32 = 1;
/// Limit of program arguments in the event, so that it fits into a chunk; a property has all of them.
const MAX_ARGUMENTS: usize = 1 << 14;

/// The region id of an MPI function.
pub(super) fn region_id(operation: FunctionId) -> u32 {
    operation.0.into()
}

/// The ProgramBegin event of each process; its strings are defined first.
pub(super) fn program_begin(header: &RecordingHeader, definitions: &mut DefinitionWriter) -> EventRecord {
    let mut words = header.command.iter().map(|word| definitions.intern_string(word)).collect::<Vec<_>>().into_iter();
    let name = words.next();
    EventRecord::ProgramBegin(name.unwrap_or_else(|| definitions.intern_string("")), words.take(MAX_ARGUMENTS).collect())
}

/// Adds all definitions; returns the number of locations.
pub(super) fn define_all(archive: &ExportContext, ranks: &[WrittenRank], definitions: &mut DefinitionWriter) -> Result<u64, Error> {
    let begin = archive.time_origin.relative_ns(0);
    // The last event is within the length.
    let length = 1 + ranks.iter().map(|rank| rank.last_time).max().unwrap_or(0).saturating_sub(begin);
    let started = real_time_ns(archive.recording.header.started_s);
    let clock = [
        DefinitionField::U64(NANOSECOND_RESOLUTION),
        DefinitionField::U64(begin),
        DefinitionField::U64(length),
        DefinitionField::U64(started),
    ];
    definitions.add(kind::CLOCK_PROPERTIES, &clock);
    define_paradigms(definitions);
    define_attributes(definitions);
    define_system_tree(&archive.recording.header, definitions);
    define_processes(archive, ranks, definitions);
    define_mpi_regions(definitions);
    let outside = define_communicators(archive, ranks, definitions);
    if let Some(location) = outside {
        rank_writer::write_empty_location(archive, location)?;
    }
    define_windows_and_files(archive, definitions);
    define_call_sites(archive, definitions);
    Ok(ranks.iter().map(|rank| rank.locations.len() as u64).sum::<u64>() + u64::from(outside.is_some()))
}

fn define_paradigms(definitions: &mut DefinitionWriter) {
    definitions.add(kind::PARADIGM, &[DefinitionField::U8(PARADIGM_MPI), DefinitionField::StringRef("MPI"), DefinitionField::U8(0)]);
    let number = DefinitionField::U8(MPI_IO_PARADIGM);
    let io = [
        number,
        DefinitionField::StringRef(MPI_IO),
        DefinitionField::StringRef(MPI_IO),
        DefinitionField::U8(PARALLEL_IO),
        DefinitionField::U32(0),
        DefinitionField::U8(0),
    ];
    definitions.add(kind::IO_PARADIGM, &io);
}

fn define_attributes(definitions: &mut DefinitionWriter) {
    for (number, field) in (0..).zip(CallAttribute::ALL) {
        let (name, of_type, about) = field.definition();
        let parts = [
            DefinitionField::U32(number),
            DefinitionField::StringRef(name),
            DefinitionField::U8(of_type as u8),
            DefinitionField::StringRef(about),
        ];
        definitions.add(kind::ATTRIBUTE, &parts);
    }
    let parts = [
        DefinitionField::U32(REQUEST_PARAMETER),
        DefinitionField::StringRef("SINTONIA_LISTED_REQUEST"),
        DefinitionField::U8(UNSIGNED_PARAMETER),
    ];
    definitions.add(kind::PARAMETER, &parts);
}

fn define_system_tree(header: &RecordingHeader, definitions: &mut DefinitionWriter) {
    let mut node = |number: u32, name: &str, class: &str, parent: u32, domain: u8| {
        let parts = [
            DefinitionField::U32(number),
            DefinitionField::StringRef(name),
            DefinitionField::StringRef(class),
            DefinitionField::U32(parent),
        ];
        definitions.add(kind::SYSTEM_TREE_NODE, &parts);
        definitions.add(kind::SYSTEM_TREE_NODE_DOMAIN, &[DefinitionField::U32(number), DefinitionField::U8(domain)]);
    };
    node(MACHINE_NODE, "machine", "machine", UNDEFINED_UINT32, MACHINE_DOMAIN);
    for (index, host) in header.hosts.iter().enumerate() {
        node(host_node_id(index as u32), host, "node", MACHINE_NODE, DOMAIN_SHARED_MEMORY);
    }
    for (name, value) in properties::run_properties(header) {
        definitions.add_property(kind::SYSTEM_TREE_NODE_PROPERTY, DefinitionField::U32(MACHINE_NODE), name, &value);
    }
}

fn host_node_id(host: u32) -> u32 {
    MACHINE_NODE + 1 + host
}

fn define_processes(archive: &ExportContext, ranks: &[WrittenRank], definitions: &mut DefinitionWriter) {
    let header = &archive.recording.header;
    for written in ranks {
        let about = header.rank(written.rank);
        let host = about.map(|rank| rank.host).filter(|host| (*host as usize) < header.hosts.len());
        let node = host.map_or(MACHINE_NODE, host_node_id);
        define_location_group(definitions, written.rank, &format!("MPI Rank {}", written.rank), node);
        let missing = || vec![(properties::MISSING, PropertyValue::String(properties::ABSENT.into()))];
        for (name, value) in about.map_or_else(missing, properties::rank_properties) {
            definitions.add_property(kind::LOCATION_GROUP_PROPERTY, DefinitionField::U32(written.rank), name, &value);
        }
        for location in &written.locations {
            let name = if location.thread == 0 { "Master thread".to_owned() } else { format!("Thread {}", location.thread) };
            define_location(definitions, location.id, &name, location.event_count, written.rank);
            let number = PropertyValue::Uint64(location.thread.into());
            definitions.add_property(kind::LOCATION_PROPERTY, DefinitionField::U64(location.id), properties::THREAD, &number);
        }
    }
}

fn define_location_group(definitions: &mut DefinitionWriter, number: u32, name: &str, node: u32) {
    let parts = [
        DefinitionField::U32(number),
        DefinitionField::StringRef(name),
        DefinitionField::U8(LOCATION_GROUP_PROCESS),
        DefinitionField::U32(node),
        DefinitionField::U32(UNDEFINED_UINT32),
    ];
    definitions.add(kind::LOCATION_GROUP, &parts);
}

fn define_location(definitions: &mut DefinitionWriter, id: u64, name: &str, events: u64, process: u32) {
    let parts = [
        DefinitionField::U64(id),
        DefinitionField::StringRef(name),
        DefinitionField::U8(LOCATION_CPU_THREAD),
        DefinitionField::U64(events),
        DefinitionField::U32(process),
    ];
    definitions.add(kind::LOCATION, &parts);
}

fn define_mpi_regions(definitions: &mut DefinitionWriter) {
    for (number, function) in (0..).zip(FUNCTIONS) {
        define_region(definitions, number, function.name, DefinitionField::StringRef("MPI"), region_role(function.role), PARADIGM_MPI);
    }
}

fn define_region(definitions: &mut DefinitionWriter, number: u32, name: &str, file: DefinitionField, role: u8, paradigm: u8) {
    let parts = [
        DefinitionField::U32(number),
        DefinitionField::StringRef(name),
        DefinitionField::StringRef(""),
        DefinitionField::U8(0),
        file,
        DefinitionField::U32(0),
        DefinitionField::U32(0),
        DefinitionField::StringRef(name),
        DefinitionField::U8(role),
        DefinitionField::U8(paradigm),
        DefinitionField::U32(0),
    ];
    definitions.add(kind::REGION, &parts);
}

/// OTF2's region role of an MPI function.
fn region_role(role: FunctionRole) -> u8 {
    const BARRIER: u8 = 15;
    const ONE_TO_ALL: u8 = 23;
    const ALL_TO_ONE: u8 = 24;
    const ALL_TO_ALL: u8 = 25;
    const OTHER_COLLECTIVE: u8 = 26;
    const FILE: u8 = 27;
    const POINT_TO_POINT: u8 = 28;
    const ONE_SIDED: u8 = 29;
    match role {
        FunctionRole::Collective(CollectiveOp::Barrier) => BARRIER,
        FunctionRole::Collective(CollectiveOp::Broadcast | CollectiveOp::Scatter | CollectiveOp::Scatterv) => ONE_TO_ALL,
        FunctionRole::Collective(CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Gatherv) => ALL_TO_ONE,
        FunctionRole::Collective(CollectiveOp::Scan | CollectiveOp::Exscan) => OTHER_COLLECTIVE,
        FunctionRole::Collective(_) => ALL_TO_ALL,
        role if role.is_file() => FILE,
        role if role.is_one_sided() => ONE_SIDED,
        FunctionRole::Send
        | FunctionRole::Receive
        | FunctionRole::SendReceive
        | FunctionRole::Probe
        | FunctionRole::MatchedProbe
        | FunctionRole::MatchedReceive => POINT_TO_POINT,
        FunctionRole::Start
        | FunctionRole::StartAll
        | FunctionRole::CompleteOne
        | FunctionRole::CompleteAll
        | FunctionRole::CompleteAny
        | FunctionRole::CompleteSome => POINT_TO_POINT,
        FunctionRole::RequestFree
        | FunctionRole::Cancel
        | FunctionRole::RequestCreate
        | FunctionRole::PartitionReady
        | FunctionRole::PartitionArrived => POINT_TO_POINT,
        _ => FUNCTION_ROLE,
    }
}

/// Defines the communicators; returns the location for external processes, if a communicator has any.
fn define_communicators(archive: &ExportContext, ranks: &[WrittenRank], definitions: &mut DefinitionWriter) -> Option<u64> {
    let header = &archive.recording.header;
    let mut locations: Vec<u64> = ranks.iter().map(|rank| rank.locations[0].id).collect();
    let outside = locations.len() as u64;
    let all =
        (0..header.communicators.len() as u32).flat_map(|number| [archive.recording.members(number), archive.recording.remote(number)]);
    let strangers = all.flatten().any(|member| member_index(*member, outside) == outside);
    let strangers = strangers.then(|| define_external_process(archive, definitions));
    locations.extend(strangers);
    definitions.add_group(0, "", group_type::COMM_LOCATIONS, locations.into_iter());
    for (number, members) in (0..).zip(&header.groups) {
        let members = parse_ranks(members).unwrap_or_default();
        let members = members.iter().map(|member| member_index(*member, outside));
        definitions.add_group(group_id(number), properties::GROUP, group_type::COMM_GROUP, members);
    }
    let mut groups = DefinedGroups { known: HashMap::new(), next_id: group_id(header.groups.len() as u32), external_index: outside };
    for (number, communicator) in (0..).zip(&header.communicators) {
        // OTF2 does not allow an intercommunicator as the parent of an intracommunicator.
        let between = |parent: &u32| header.communicators.get(*parent as usize).is_some_and(|parent| parent.remote.is_some());
        let unspoken = communicator.parent.filter(between);
        let name = properties::communicator_name(number, &communicator.made_by, unspoken);
        let flags = if communicator.made_by.starts_with("MPI_COMM_") { 0 } else { FLAG_HAS_EVENTS };
        let parent = communicator.parent.filter(|_| unspoken.is_none()).unwrap_or(UNDEFINED_UINT32);
        let here = groups.define(definitions, archive.recording.members(number));
        let mut parts = vec![DefinitionField::U32(number), DefinitionField::StringRef(&name), DefinitionField::U32(here)];
        let kind = match communicator.remote {
            None => kind::COMM,
            Some(_) => {
                parts.push(DefinitionField::U32(groups.define(definitions, archive.recording.remote(number))));
                kind::INTER_COMM
            }
        };
        parts.extend([DefinitionField::U32(parent), DefinitionField::U32(flags)]);
        definitions.add(kind, &parts);
    }
    strangers
}

/// The index of a member in the list of locations; external processes share the last one.
fn member_index(member: i32, outside: u64) -> u64 {
    u64::try_from(member).map_or(outside, |member| member.min(outside))
}

/// Defined groups by members.
struct DefinedGroups<'a> {
    known: HashMap<&'a [i32], u32>,
    next_id: u32,
    external_index: u64,
}

impl<'a> DefinedGroups<'a> {
    fn define(&mut self, definitions: &mut DefinitionWriter, members: &'a [i32]) -> u32 {
        let DefinedGroups { known, next_id: next, external_index: outside } = self;
        *known.entry(members).or_insert_with(|| {
            definitions.add_group(*next, "", group_type::COMM_GROUP, members.iter().map(|member| member_index(*member, *outside)));
            *next += 1;
            *next - 1
        })
    }
}

/// Defines one location for all processes outside the recording.
fn define_external_process(archive: &ExportContext, definitions: &mut DefinitionWriter) -> u64 {
    let number = archive.recording.header.rank_count();
    define_location_group(definitions, number, "Processes outside the recording", MACHINE_NODE);
    let value = PropertyValue::String(properties::OUTSIDE.into());
    definitions.add_property(kind::LOCATION_GROUP_PROPERTY, DefinitionField::U32(number), properties::MISSING, &value);
    let id = rank_writer::location_id(number, 0);
    define_location(definitions, id, "Outside", 0, number);
    id
}

fn define_windows_and_files(archive: &ExportContext, definitions: &mut DefinitionWriter) {
    for (number, object) in (0..).zip(&archive.recording.header.objects) {
        let Some(definition) = archive.comm_ranks.object(number) else { continue };
        let communicator = DefinitionField::U32(object.communicator.unwrap_or(UNDEFINED_UINT32));
        let name = format!("{} {number}", object.kind);
        if object.kind == "window" {
            definitions.add(
                kind::RMA_WIN,
                &[DefinitionField::U32(definition), DefinitionField::StringRef(&name), communicator, DefinitionField::U32(FLAG_HAS_EVENTS)],
            );
        } else {
            definitions.add(
                kind::IO_REGULAR_FILE,
                &[DefinitionField::U32(definition), DefinitionField::StringRef(&name), DefinitionField::U32(UNDEFINED_UINT32)],
            );
            let parts = [
                DefinitionField::U32(definition),
                DefinitionField::StringRef(&name),
                DefinitionField::U32(definition),
                DefinitionField::U8(MPI_IO_PARADIGM),
                DefinitionField::U32(0),
                communicator,
                DefinitionField::U32(UNDEFINED_UINT32),
            ];
            definitions.add(kind::IO_HANDLE, &parts);
        }
    }
}

fn define_call_sites(archive: &ExportContext, definitions: &mut DefinitionWriter) {
    for (number, (file, line)) in (0..).zip(&archive.calling_contexts.source_lines) {
        definitions.add(
            kind::SOURCE_CODE_LOCATION,
            &[DefinitionField::U32(number), DefinitionField::StringRef(file), DefinitionField::U32(*line)],
        );
    }
    let mut regions = HashMap::new();
    for (number, context) in (0..).zip(&archive.calling_contexts.contexts) {
        let next = (FUNCTIONS.len() + regions.len()) as u32;
        let region = *regions.entry(&context.function).or_insert_with(|| {
            let file = context.file.as_deref().map_or(DefinitionField::NoString, DefinitionField::StringRef);
            define_region(definitions, next, &context.function, file, FUNCTION_ROLE, PARADIGM_COMPILER);
            next
        });
        let (line, around) = (context.source_line.unwrap_or(UNDEFINED_UINT32), context.parent.unwrap_or(UNDEFINED_UINT32));
        let parts = [DefinitionField::U32(number), DefinitionField::U32(region), DefinitionField::U32(line), DefinitionField::U32(around)];
        definitions.add(kind::CALLING_CONTEXT, &parts);
        if let Some(site) = context.site {
            let site = archive.recording.site(site);
            let mut property = |name, value: PropertyValue| {
                definitions.add_property(kind::CALLING_CONTEXT_PROPERTY, DefinitionField::U32(number), name, &value)
            };
            property(properties::MODULE, PropertyValue::String(site.module.clone()));
            property(properties::OFFSET, PropertyValue::Uint64(site.offset));
        }
    }
}
