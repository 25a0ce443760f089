//! Writes the global definitions of an archive.

use std::collections::HashMap;

use sintonia_mpi::{CollectiveOp, FUNCTIONS, FunctionId, FunctionRole};
use sintonia_otf2::buffer::UNDEFINED_UINT64;
use sintonia_otf2::code::{
    Base, CommFlags, GroupFlags, GroupType, InterruptGeneratorMode, IoHandleFlags, IoParadigmClass, IoParadigmFlags, LocationGroupType,
    LocationType, Paradigm, ParadigmClass, ParameterType, RegionFlags, RegionRole, RmaWinFlags, SystemTreeDomain,
};
use sintonia_otf2::reference::{
    CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef, LocationGroupRef, LocationRef,
    ParameterRef, RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef, SystemTreeNodeRef,
};
use sintonia_otf2::{ArchiveWriter, Definition, Group, Value};
use sintonia_recording::Recording;
use sintonia_recording::definitions::parse_ranks;
use sintonia_recording::header::RecordingHeader;

use crate::error::Error;
use crate::otf2::attributes::CallAttribute;
use crate::otf2::event::MpiEvent;
use crate::otf2::properties::{self, Property, PropertyValue};
use crate::otf2::write::calling_contexts::ContextDefinition;
use crate::otf2::write::comm_ranks::group_id;
use crate::otf2::write::rank_writer::{self, WrittenRank};
use crate::otf2::write::{ExportContext, sample_writer};
use crate::otf2::{MACHINE_NODE, MPI_IO, NANOSECOND_RESOLUTION};

/// The parameter with a request that a call completes or starts.
pub(super) const REQUEST_PARAMETER: u32 = 0;

const MPI_IO_PARADIGM: IoParadigmRef = IoParadigmRef(0);
/// Limit of program arguments in the event, so that it fits into a chunk; a property has all of them.
const MAX_ARGUMENTS: usize = 1 << 14;

/// The region id of an MPI function.
pub(super) fn region_id(operation: FunctionId) -> u32 {
    operation.0.into()
}

/// The ProgramBegin event of each process; its strings are defined first.
pub(super) fn program_begin(header: &RecordingHeader, archive: &mut ArchiveWriter) -> MpiEvent {
    let mut words = header.command.iter().map(|word| archive.string(word).0).collect::<Vec<_>>().into_iter();
    let name = words.next();
    MpiEvent::ProgramBegin(name.unwrap_or_else(|| archive.string("").0), words.take(MAX_ARGUMENTS).collect())
}

/// Adds all definitions.
pub(super) fn define_all(context: &ExportContext, ranks: &[WrittenRank], archive: &mut ArchiveWriter) -> Result<(), Error> {
    let begin = context.time_origin.relative_ns(0);
    archive.define(&Definition::ClockProperties {
        timer_resolution: NANOSECOND_RESOLUTION,
        global_offset: begin,
        // The last event is within the length.
        trace_length: 1 + ranks.iter().map(|rank| rank.last_time).max().unwrap_or(0).saturating_sub(begin),
        realtime_timestamp: real_time_ns(context.recording.header.started_s),
    });
    define_paradigms(archive);
    define_attributes(archive);
    define_system_tree(&context.recording.header, archive);
    define_processes(context, ranks, archive);
    define_mpi_regions(archive);
    define_communicators(context, ranks, archive)?;
    define_windows_and_files(context, archive);
    define_calling_contexts(context, archive);
    define_interrupt_generators(context, archive);
    context.metric_classes.define(archive);
    Ok(())
}

/// Nanoseconds since 1970; undefined if not known.
fn real_time_ns(seconds: f64) -> u64 {
    if seconds > 0.0 { (seconds * 1e9) as u64 } else { UNDEFINED_UINT64 }
}

fn define_paradigms(archive: &mut ArchiveWriter) {
    let name = archive.string("MPI");
    archive.define(&Definition::Paradigm { paradigm: Paradigm::MPI, name, paradigm_class: ParadigmClass::PROCESS });
    let name = archive.string(MPI_IO);
    archive.define(&Definition::IoParadigm {
        reference: MPI_IO_PARADIGM,
        identification: name,
        name,
        io_paradigm_class: IoParadigmClass::PARALLEL,
        flags: IoParadigmFlags::NONE,
        properties: Vec::new(),
    });
}

fn define_attributes(archive: &mut ArchiveWriter) {
    for attribute in CallAttribute::ALL {
        let (name, value_type, about) = attribute.definition();
        let (name, description) = (archive.string(name), archive.string(about));
        archive.define(&Definition::Attribute { reference: attribute.reference(), name, value_type, description });
    }
    let name = archive.string("SINTONIA_LISTED_REQUEST");
    let reference = ParameterRef(REQUEST_PARAMETER);
    archive.define(&Definition::Parameter { reference, name, parameter_type: ParameterType::UINT64 });
}

fn define_system_tree(header: &RecordingHeader, archive: &mut ArchiveWriter) {
    let mut node = |reference, name: &str, class: &str, parent, domain| {
        let (name, class_name) = (archive.string(name), archive.string(class));
        archive.define(&Definition::SystemTreeNode { reference, name, class_name, parent });
        archive.define(&Definition::SystemTreeNodeDomain { system_tree_node: reference, domain });
    };
    node(MACHINE_NODE, "machine", "machine", SystemTreeNodeRef::UNDEFINED, SystemTreeDomain::MACHINE);
    for (index, host) in (0..).zip(&header.hosts) {
        node(host_node(index), host, "node", MACHINE_NODE, SystemTreeDomain::SHARED_MEMORY);
    }
    for (name, value) in properties::run_properties(header) {
        let (name, value) = property(archive, name, &value);
        archive.define(&Definition::SystemTreeNodeProperty { system_tree_node: MACHINE_NODE, name, value });
    }
    for (index, host) in (0..).zip(&header.host_descriptions).take(header.hosts.len()) {
        let (name, value) = properties::host_property(host);
        let (name, value) = property(archive, name, &value);
        archive.define(&Definition::SystemTreeNodeProperty { system_tree_node: host_node(index), name, value });
    }
}

/// Name and value of a property.
fn property(archive: &mut ArchiveWriter, name: &str, value: &PropertyValue) -> (StringRef, Value) {
    let value = match value {
        PropertyValue::String(text) => Value::String(archive.string(text)),
        PropertyValue::Uint64(number) => Value::Uint64(*number),
        PropertyValue::Int64(number) => Value::Int64(*number),
        PropertyValue::Double(number) => Value::Double(*number),
    };
    (archive.string(name), value)
}

fn host_node(host: u32) -> SystemTreeNodeRef {
    SystemTreeNodeRef(MACHINE_NODE.0 + 1 + host)
}

fn define_processes(context: &ExportContext, ranks: &[WrittenRank], archive: &mut ArchiveWriter) {
    let header = &context.recording.header;
    for written in ranks {
        let about = header.rank(written.rank);
        let host = about.map(|rank| rank.host).filter(|host| (*host as usize) < header.hosts.len());
        let process = LocationGroupRef(written.rank);
        define_location_group(archive, process, &format!("MPI Rank {}", written.rank), host.map_or(MACHINE_NODE, host_node));
        let missing = || vec![(properties::MISSING, PropertyValue::String(properties::ABSENT.into()))];
        let known = about.map_or_else(missing, properties::rank_properties);
        for (name, value) in known.iter().chain(&written.counter_properties) {
            let (name, value) = property(archive, name, value);
            archive.define(&Definition::LocationGroupProperty { location_group: process, name, value });
        }
        for location in &written.locations {
            let name = if location.thread == 0 { "Master thread".to_owned() } else { format!("Thread {}", location.thread) };
            let reference = LocationRef(location.id);
            define_location(archive, reference, &name, location.event_count, process);
            let thread = (properties::THREAD, PropertyValue::Uint64(location.thread.into()));
            let affinity = about.and_then(|rank| properties::affinity_property(rank, location.thread));
            let lost = (location.lost_samples > 0).then_some((properties::LOST_SAMPLES, PropertyValue::Uint64(location.lost_samples)));
            for (name, value) in std::iter::once(thread).chain(affinity).chain(lost) {
                let (name, value) = property(archive, name, &value);
                archive.define(&Definition::LocationProperty { location: reference, name, value });
            }
        }
    }
}

fn define_location_group(archive: &mut ArchiveWriter, reference: LocationGroupRef, name: &str, node: SystemTreeNodeRef) {
    let name = archive.string(name);
    archive.define(&Definition::LocationGroup {
        reference,
        name,
        location_group_type: LocationGroupType::PROCESS,
        system_tree_parent: node,
        creating_location_group: LocationGroupRef::UNDEFINED,
    });
}

fn define_location(archive: &mut ArchiveWriter, reference: LocationRef, name: &str, events: u64, process: LocationGroupRef) {
    let name = archive.string(name);
    archive.define(&Definition::Location {
        reference,
        name,
        location_type: LocationType::CPU_THREAD,
        number_of_events: events,
        location_group: process,
    });
}

fn define_mpi_regions(archive: &mut ArchiveWriter) {
    for (number, function) in (0..).zip(FUNCTIONS) {
        define_region(archive, RegionRef(number), function.name, Some("MPI"), (region_role(function.role), Paradigm::MPI));
    }
}

fn define_region(
    archive: &mut ArchiveWriter,
    reference: RegionRef,
    name: &str,
    file: Option<&str>,
    (region_role, paradigm): (RegionRole, Paradigm),
) {
    let (name, description) = (archive.string(name), archive.string(""));
    let source_file = file.map_or(StringRef::UNDEFINED, |file| archive.string(file));
    archive.define(&Definition::Region {
        reference,
        name,
        description,
        region_type: 0,
        source_file,
        begin_line: 0,
        end_line: 0,
        canonical_name: name,
        region_role,
        paradigm,
        flags: RegionFlags::NONE,
    });
}

/// OTF2's region role of an MPI function.
fn region_role(role: FunctionRole) -> RegionRole {
    match role {
        FunctionRole::Collective(CollectiveOp::Barrier) => RegionRole::BARRIER,
        FunctionRole::Collective(CollectiveOp::Broadcast | CollectiveOp::Scatter | CollectiveOp::Scatterv) => RegionRole::COLL_ONE2ALL,
        FunctionRole::Collective(CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Gatherv) => RegionRole::COLL_ALL2ONE,
        FunctionRole::Collective(CollectiveOp::Scan | CollectiveOp::Exscan) => RegionRole::COLL_OTHER,
        FunctionRole::Collective(_) => RegionRole::COLL_ALL2ALL,
        role if role.is_file() => RegionRole::FILE_IO,
        role if role.is_one_sided() => RegionRole::RMA,
        FunctionRole::Send
        | FunctionRole::Receive
        | FunctionRole::SendReceive
        | FunctionRole::Probe
        | FunctionRole::MatchedProbe
        | FunctionRole::MatchedReceive => RegionRole::POINT2POINT,
        FunctionRole::Start
        | FunctionRole::StartAll
        | FunctionRole::CompleteOne
        | FunctionRole::CompleteAll
        | FunctionRole::CompleteAny
        | FunctionRole::CompleteSome => RegionRole::POINT2POINT,
        FunctionRole::RequestFree
        | FunctionRole::Cancel
        | FunctionRole::RequestCreate
        | FunctionRole::PartitionReady
        | FunctionRole::PartitionArrived => RegionRole::POINT2POINT,
        _ => RegionRole::FUNCTION,
    }
}

/// Defines the communicators, and a location for external processes, if a communicator has any.
fn define_communicators(context: &ExportContext, ranks: &[WrittenRank], archive: &mut ArchiveWriter) -> Result<(), Error> {
    let (recording, header) = (context.recording, &context.recording.header);
    let mut locations: Vec<u64> = ranks.iter().map(|rank| rank.locations[0].id).collect();
    let outside = locations.len() as u64;
    let mut all = (0..header.communicators.len() as u32).flat_map(|number| [recording.members(number), recording.remote(number)]);
    if all.any(|members| members.iter().any(|member| member_index(*member, outside) == outside)) {
        locations.push(define_external_process(header, archive)?);
    }
    define_group(archive, GroupRef(0), "", GroupType::COMM_LOCATIONS, locations);
    for (number, members) in (0..).zip(&header.groups) {
        let members = parse_ranks(members).unwrap_or_default();
        let members = members.iter().map(|member| member_index(*member, outside)).collect();
        define_group(archive, GroupRef(group_id(number)), properties::GROUP, GroupType::COMM_GROUP, members);
    }
    let mut groups = DefinedGroups { known: HashMap::new(), next_id: group_id(header.groups.len() as u32), external_index: outside };
    for (number, communicator) in (0..).zip(&header.communicators) {
        // OTF2 does not allow an intercommunicator as the parent of an intracommunicator.
        let between = |parent: &u32| header.communicators.get(*parent as usize).is_some_and(|parent| parent.remote.is_some());
        let unspoken = communicator.parent.filter(between);
        let name = properties::communicator_name(number, &communicator.made_by, unspoken);
        let predefined = communicator.made_by.starts_with("MPI_COMM_");
        let flags = if predefined { CommFlags::NONE } else { CommFlags::CREATE_DESTROY_EVENTS };
        let parent = communicator.parent.filter(|_| unspoken.is_none()).map_or(CommRef::UNDEFINED, CommRef);
        let reference = CommRef(number);
        let group = groups.define(archive, recording.members(number));
        let definition = match communicator.remote {
            None => Definition::Comm { reference, name: archive.string(&name), group, parent, flags },
            Some(_) => {
                let group_b = groups.define(archive, recording.remote(number));
                let name = archive.string(&name);
                Definition::InterComm { reference, name, group_a: group, group_b, common_communicator: parent, flags }
            }
        };
        archive.define(&definition);
    }
    Ok(())
}

/// The index of a member in the list of locations; external processes share the last one.
fn member_index(member: i32, outside: u64) -> u64 {
    u64::try_from(member).map_or(outside, |member| member.min(outside))
}

fn define_group(archive: &mut ArchiveWriter, reference: GroupRef, name: &str, group_type: GroupType, members: Vec<u64>) {
    let name = archive.string(name);
    archive.define(&Definition::Group(Group { reference, name, group_type, paradigm: Paradigm::MPI, flags: GroupFlags::NONE, members }));
}

/// Defined groups by members.
struct DefinedGroups<'a> {
    known: HashMap<&'a [i32], GroupRef>,
    next_id: u32,
    external_index: u64,
}

impl<'a> DefinedGroups<'a> {
    fn define(&mut self, archive: &mut ArchiveWriter, members: &'a [i32]) -> GroupRef {
        let DefinedGroups { known, next_id: next, external_index: outside } = self;
        *known.entry(members).or_insert_with(|| {
            let reference = GroupRef(*next);
            let members = members.iter().map(|member| member_index(*member, *outside)).collect();
            define_group(archive, reference, "", GroupType::COMM_GROUP, members);
            *next += 1;
            reference
        })
    }
}

/// Defines one location, without events, for all processes outside the recording.
fn define_external_process(header: &RecordingHeader, archive: &mut ArchiveWriter) -> Result<u64, Error> {
    let process = LocationGroupRef(header.rank_count());
    define_location_group(archive, process, "Processes outside the recording", MACHINE_NODE);
    let (name, value) = property(archive, properties::MISSING, &PropertyValue::String(properties::OUTSIDE.into()));
    archive.define(&Definition::LocationGroupProperty { location_group: process, name, value });
    let id = rank_writer::location_id(header.rank_count(), 0);
    define_location(archive, LocationRef(id), "Outside", 0, process);
    archive.events(LocationRef(id))?.finish()?;
    Ok(id)
}

fn define_windows_and_files(context: &ExportContext, archive: &mut ArchiveWriter) {
    for (number, object) in (0..).zip(&context.recording.header.objects) {
        let Some(definition) = context.comm_ranks.object(number) else { continue };
        let comm = object.communicator.map_or(CommRef::UNDEFINED, CommRef);
        let name = archive.string(&object.path.clone().unwrap_or_else(|| format!("{} {number}", object.kind)));
        if object.kind == "window" {
            let flags = RmaWinFlags::CREATE_DESTROY_EVENTS;
            archive.define(&Definition::RmaWin { reference: RmaWinRef(definition), name, comm, flags });
        } else {
            let file = IoFileRef(definition);
            archive.define(&Definition::IoRegularFile { reference: file, name, scope: SystemTreeNodeRef::UNDEFINED });
            archive.define(&Definition::IoHandle {
                reference: IoHandleRef(definition),
                name,
                file,
                io_paradigm: MPI_IO_PARADIGM,
                flags: IoHandleFlags::NONE,
                comm,
                parent: IoHandleRef::UNDEFINED,
            });
        }
    }
}

fn define_calling_contexts(context: &ExportContext, archive: &mut ArchiveWriter) {
    for (number, (file, line)) in (0..).zip(&context.calling_contexts.source_lines) {
        let file = archive.string(file);
        archive.define(&Definition::SourceCodeLocation { reference: SourceCodeLocationRef(number), file, line: *line });
    }
    let mut regions = HashMap::new();
    for (number, calling) in (0..).zip(&context.calling_contexts.contexts) {
        let next = RegionRef((FUNCTIONS.len() + regions.len()) as u32);
        let region = calling.call.map(|function| RegionRef(region_id(function))).unwrap_or_else(|| {
            *regions.entry(&calling.function).or_insert_with(|| {
                define_region(archive, next, &calling.function, calling.file.as_deref(), (RegionRole::FUNCTION, Paradigm::COMPILER));
                next
            })
        });
        let reference = CallingContextRef(number);
        archive.define(&Definition::CallingContext {
            reference,
            region,
            source_code_location: calling.source_line.map_or(SourceCodeLocationRef::UNDEFINED, SourceCodeLocationRef),
            parent: calling.parent.map_or(CallingContextRef::UNDEFINED, CallingContextRef),
        });
        for (name, value) in context_properties(context.recording, calling) {
            let (name, value) = property(archive, name, &value);
            archive.define(&Definition::CallingContextProperty { calling_context: reference, name, value });
        }
    }
}

/// What a recording has of a call site or a frame beyond function and line.
fn context_properties(recording: &Recording, context: &ContextDefinition) -> Vec<Property> {
    let site = context.site.map(|site| recording.site(site)).into_iter().flat_map(|site| {
        [(properties::MODULE, PropertyValue::String(site.module.clone())), (properties::OFFSET, PropertyValue::Uint64(site.offset))]
    });
    let module = |frame: u32| recording.stack_frames().ok().and_then(|frames| frames.get(frame as usize)).map(|frame| frame.module.clone());
    let frame = context.frame.into_iter().flat_map(|frame| {
        [
            (properties::FRAME, PropertyValue::Uint64(frame.into())),
            (properties::FRAME_MODULE, PropertyValue::String(module(frame).unwrap_or_default())),
        ]
    });
    site.chain(frame).collect()
}

fn define_interrupt_generators(context: &ExportContext, archive: &mut ArchiveWriter) {
    if !context.has_samples {
        return;
    }
    let name = archive.string("processor time");
    for (number, period) in (0..).zip(sample_writer::sample_periods(&context.recording.header.ranks)) {
        archive.define(&Definition::InterruptGenerator {
            reference: InterruptGeneratorRef(number),
            name,
            mode: InterruptGeneratorMode::TIME,
            base: Base::DECIMAL,
            exponent: -9,
            period,
        });
    }
}
