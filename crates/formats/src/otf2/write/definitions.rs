//! The global definitions of an archive: machine, processes, functions, communicators, call sites.

use std::collections::HashMap;

use sintonia_mpi::{FUNCTIONS, Operation, Pattern, Role};
use sintonia_recording::definitions::read_ranks;
use sintonia_recording::header::Header;

use crate::error::Error;
use crate::otf2::attributes::Field;
use crate::otf2::bytes::UNDEFINED;
use crate::otf2::definition::{
    COMPILER, CPU_THREAD, Definitions, MACHINE, MPI, MPI_IO, NANOSECONDS, PROCESS, Part, SHARED_MEMORY, group_type, kind, real_time,
};
use crate::otf2::event::Event;
use crate::otf2::facts::{self, Value};
use crate::otf2::write::Archive;
use crate::otf2::write::places::group_of_window;
use crate::otf2::write::rank::{self, WrittenRank};

/// The parameter of a call that names a request it completes or starts.
pub const REQUEST: u32 = 0;

const MACHINE_DOMAIN: u8 = 0;
const FUNCTION_ROLE: u8 = 1;
const UNSIGNED_PARAMETER: u8 = 2;
const NUMBER_OF_MPI_IO: u8 = 0;
const PARALLEL_IO: u8 = 1;
/// Its making and freeing are events.
const HAS_EVENTS: u32 = 1;
/// The most arguments of a program that an event tells, so that it fits into a chunk; a property of the machine has all of them.
const MOST_ARGUMENTS: usize = 1 << 14;

/// The region of an MPI function.
pub fn region(operation: Operation) -> u32 {
    operation.0.into()
}

/// The event at which each process begins; its strings are the first to be defined.
pub fn program(header: &Header, definitions: &mut Definitions) -> Event {
    let mut words = header.command.iter().map(|word| definitions.string(word)).collect::<Vec<_>>().into_iter();
    let name = words.next();
    Event::ProgramBegin(name.unwrap_or_else(|| definitions.string("")), words.take(MOST_ARGUMENTS).collect())
}

/// Adds all definitions, and says how many locations there are.
pub fn define(archive: &Archive, ranks: &[WrittenRank], definitions: &mut Definitions) -> Result<u64, Error> {
    let begin = archive.timeline.at(0);
    // The last event is within the length.
    let length = 1 + ranks.iter().map(|rank| rank.end).max().unwrap_or(0).saturating_sub(begin);
    let started = real_time(archive.recording.header.started_s);
    let clock = [Part::Long(NANOSECONDS), Part::Long(begin), Part::Long(length), Part::Long(started)];
    definitions.add(kind::CLOCK_PROPERTIES, &clock);
    paradigms(definitions);
    attributes(definitions);
    machine(&archive.recording.header, definitions);
    processes(archive, ranks, definitions);
    functions(definitions);
    let outside = communicators(archive, ranks, definitions);
    if let Some(location) = outside {
        rank::write_nothing(archive, location)?;
    }
    objects(archive, definitions);
    sites(archive, definitions);
    Ok(ranks.iter().map(|rank| rank.locations.len() as u64).sum::<u64>() + u64::from(outside.is_some()))
}

fn paradigms(definitions: &mut Definitions) {
    definitions.add(kind::PARADIGM, &[Part::Byte(MPI), Part::Text("MPI"), Part::Byte(0)]);
    let number = Part::Byte(NUMBER_OF_MPI_IO);
    let io = [number, Part::Text(MPI_IO), Part::Text(MPI_IO), Part::Byte(PARALLEL_IO), Part::Number(0), Part::Byte(0)];
    definitions.add(kind::IO_PARADIGM, &io);
}

fn attributes(definitions: &mut Definitions) {
    for (number, field) in (0..).zip(Field::ALL) {
        let (name, of_type, about) = field.about();
        let parts = [Part::Number(number), Part::Text(name), Part::Byte(of_type as u8), Part::Text(about)];
        definitions.add(kind::ATTRIBUTE, &parts);
    }
    let parts = [Part::Number(REQUEST), Part::Text("SINTONIA_LISTED_REQUEST"), Part::Byte(UNSIGNED_PARAMETER)];
    definitions.add(kind::PARAMETER, &parts);
}

fn machine(header: &Header, definitions: &mut Definitions) {
    let mut node = |number: u32, name: &str, class: &str, parent: u32, domain: u8| {
        let parts = [Part::Number(number), Part::Text(name), Part::Text(class), Part::Number(parent)];
        definitions.add(kind::SYSTEM_TREE_NODE, &parts);
        definitions.add(kind::SYSTEM_TREE_NODE_DOMAIN, &[Part::Number(number), Part::Byte(domain)]);
    };
    node(MACHINE, "machine", "machine", UNDEFINED, MACHINE_DOMAIN);
    for (place, host) in header.hosts.iter().enumerate() {
        node(node_of(place as u32), host, "node", MACHINE, SHARED_MEMORY);
    }
    for (name, value) in facts::of_run(header) {
        definitions.add_property(kind::SYSTEM_TREE_NODE_PROPERTY, Part::Number(MACHINE), name, &value);
    }
}

fn node_of(host: u32) -> u32 {
    MACHINE + 1 + host
}

fn processes(archive: &Archive, ranks: &[WrittenRank], definitions: &mut Definitions) {
    let header = &archive.recording.header;
    for written in ranks {
        let about = header.rank(written.rank);
        let host = about.map(|rank| rank.host).filter(|host| (*host as usize) < header.hosts.len());
        let node = host.map_or(MACHINE, node_of);
        process(definitions, written.rank, &format!("MPI Rank {}", written.rank), node);
        let missing = || vec![(facts::MISSING, Value::Text(facts::ABSENT.into()))];
        for (name, value) in about.map_or_else(missing, facts::of_rank) {
            definitions.add_property(kind::LOCATION_GROUP_PROPERTY, Part::Number(written.rank), name, &value);
        }
        for location in &written.locations {
            let name = if location.thread == 0 { "Master thread".to_owned() } else { format!("Thread {}", location.thread) };
            thread(definitions, location.id, &name, location.events, written.rank);
            let number = Value::Number(location.thread.into());
            definitions.add_property(kind::LOCATION_PROPERTY, Part::Long(location.id), facts::THREAD, &number);
        }
    }
}

fn process(definitions: &mut Definitions, number: u32, name: &str, node: u32) {
    let parts = [Part::Number(number), Part::Text(name), Part::Byte(PROCESS), Part::Number(node), Part::Number(UNDEFINED)];
    definitions.add(kind::LOCATION_GROUP, &parts);
}

fn thread(definitions: &mut Definitions, id: u64, name: &str, events: u64, process: u32) {
    let parts = [Part::Long(id), Part::Text(name), Part::Byte(CPU_THREAD), Part::Long(events), Part::Number(process)];
    definitions.add(kind::LOCATION, &parts);
}

fn functions(definitions: &mut Definitions) {
    for (number, function) in (0..).zip(FUNCTIONS) {
        define_region(definitions, number, function.name, Part::Text("MPI"), role(function.role), MPI);
    }
}

fn define_region(definitions: &mut Definitions, number: u32, name: &str, file: Part, role: u8, paradigm: u8) {
    let parts = [
        Part::Number(number),
        Part::Text(name),
        Part::Text(""),
        Part::Byte(0),
        file,
        Part::Number(0),
        Part::Number(0),
        Part::Text(name),
        Part::Byte(role),
        Part::Byte(paradigm),
        Part::Number(0),
    ];
    definitions.add(kind::REGION, &parts);
}

/// OTF2's number for what a function does.
fn role(role: Role) -> u8 {
    const BARRIER: u8 = 15;
    const ONE_TO_ALL: u8 = 23;
    const ALL_TO_ONE: u8 = 24;
    const ALL_TO_ALL: u8 = 25;
    const OTHER_COLLECTIVE: u8 = 26;
    const FILE: u8 = 27;
    const POINT_TO_POINT: u8 = 28;
    const ONE_SIDED: u8 = 29;
    match role {
        Role::Collective(Pattern::Barrier) => BARRIER,
        Role::Collective(Pattern::Broadcast | Pattern::Scatter | Pattern::Scatterv) => ONE_TO_ALL,
        Role::Collective(Pattern::Reduce | Pattern::Gather | Pattern::Gatherv) => ALL_TO_ONE,
        Role::Collective(Pattern::Scan | Pattern::Exscan) => OTHER_COLLECTIVE,
        Role::Collective(_) => ALL_TO_ALL,
        role if role.is_file() => FILE,
        role if role.is_one_sided() => ONE_SIDED,
        Role::Send | Role::Receive | Role::SendReceive | Role::Probe | Role::MatchedProbe | Role::MatchedReceive => POINT_TO_POINT,
        Role::Start | Role::StartAll | Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => POINT_TO_POINT,
        Role::RequestFree | Role::Cancel | Role::RequestCreate | Role::PartitionReady | Role::PartitionArrived => POINT_TO_POINT,
        _ => FUNCTION_ROLE,
    }
}

/// Defines the communicators, and the location of processes that are not of the recording if one of them has such members.
fn communicators(archive: &Archive, ranks: &[WrittenRank], definitions: &mut Definitions) -> Option<u64> {
    let header = &archive.recording.header;
    let mut locations: Vec<u64> = ranks.iter().map(|rank| rank.locations[0].id).collect();
    let outside = locations.len() as u64;
    let all =
        (0..header.communicators.len() as u32).flat_map(|number| [archive.recording.members(number), archive.recording.remote(number)]);
    let strangers = all.flatten().any(|member| place(*member, outside) == outside);
    let strangers = strangers.then(|| define_outside(archive, definitions));
    locations.extend(strangers);
    definitions.add_group(0, "", group_type::LOCATIONS, locations.into_iter());
    for (number, members) in (0..).zip(&header.groups) {
        let members = read_ranks(members).unwrap_or_default();
        let members = members.iter().map(|member| place(*member, outside));
        definitions.add_group(group_of_window(number), facts::GROUP, group_type::COMMUNICATOR, members);
    }
    let mut groups = Groups { known: HashMap::new(), next: group_of_window(header.groups.len() as u32), outside };
    for (number, communicator) in (0..).zip(&header.communicators) {
        // OTF2 has no place for a communicator between two groups as the parent of one that is none.
        let between = |parent: &u32| header.communicators.get(*parent as usize).is_some_and(|parent| parent.remote.is_some());
        let unspoken = communicator.parent.filter(between);
        let name = facts::communicator_name(number, &communicator.made_by, unspoken);
        let flags = if communicator.made_by.starts_with("MPI_COMM_") { 0 } else { HAS_EVENTS };
        let parent = communicator.parent.filter(|_| unspoken.is_none()).unwrap_or(UNDEFINED);
        let here = groups.define(definitions, archive.recording.members(number));
        let mut parts = vec![Part::Number(number), Part::Text(&name), Part::Number(here)];
        let kind = match communicator.remote {
            None => kind::COMM,
            Some(_) => {
                parts.push(Part::Number(groups.define(definitions, archive.recording.remote(number))));
                kind::INTER_COMM
            }
        };
        parts.extend([Part::Number(parent), Part::Number(flags)]);
        definitions.add(kind, &parts);
    }
    strangers
}

/// The place of a member among the locations; that of the last one if it is no process of the recording.
fn place(member: i32, outside: u64) -> u64 {
    u64::try_from(member).map_or(outside, |member| member.min(outside))
}

/// Groups that were defined, by their members.
struct Groups<'a> {
    known: HashMap<&'a [i32], u32>,
    next: u32,
    outside: u64,
}

impl<'a> Groups<'a> {
    fn define(&mut self, definitions: &mut Definitions, members: &'a [i32]) -> u32 {
        let Groups { known, next, outside } = self;
        *known.entry(members).or_insert_with(|| {
            definitions.add_group(*next, "", group_type::COMMUNICATOR, members.iter().map(|member| place(*member, *outside)));
            *next += 1;
            *next - 1
        })
    }
}

/// One location that stands for all processes that are not of the recording.
fn define_outside(archive: &Archive, definitions: &mut Definitions) -> u64 {
    let number = archive.recording.header.rank_count();
    process(definitions, number, "Processes outside the recording", MACHINE);
    let value = Value::Text(facts::OUTSIDE.into());
    definitions.add_property(kind::LOCATION_GROUP_PROPERTY, Part::Number(number), facts::MISSING, &value);
    let id = rank::location(number, 0);
    thread(definitions, id, "Outside", 0, number);
    id
}

fn objects(archive: &Archive, definitions: &mut Definitions) {
    for (number, object) in (0..).zip(&archive.recording.header.objects) {
        let Some(definition) = archive.places.object(number) else { continue };
        let communicator = Part::Number(object.communicator.unwrap_or(UNDEFINED));
        let name = format!("{} {number}", object.kind);
        if object.kind == "window" {
            definitions.add(kind::RMA_WIN, &[Part::Number(definition), Part::Text(&name), communicator, Part::Number(HAS_EVENTS)]);
        } else {
            definitions.add(kind::IO_REGULAR_FILE, &[Part::Number(definition), Part::Text(&name), Part::Number(UNDEFINED)]);
            let parts = [
                Part::Number(definition),
                Part::Text(&name),
                Part::Number(definition),
                Part::Byte(NUMBER_OF_MPI_IO),
                Part::Number(0),
                communicator,
                Part::Number(UNDEFINED),
            ];
            definitions.add(kind::IO_HANDLE, &parts);
        }
    }
}

fn sites(archive: &Archive, definitions: &mut Definitions) {
    for (number, (file, line)) in (0..).zip(&archive.sites.lines) {
        definitions.add(kind::SOURCE_CODE_LOCATION, &[Part::Number(number), Part::Text(file), Part::Number(*line)]);
    }
    let mut regions = HashMap::new();
    for (number, context) in (0..).zip(&archive.sites.contexts) {
        let next = (FUNCTIONS.len() + regions.len()) as u32;
        let region = *regions.entry(&context.function).or_insert_with(|| {
            let file = context.file.as_deref().map_or(Part::NoText, Part::Text);
            define_region(definitions, next, &context.function, file, FUNCTION_ROLE, COMPILER);
            next
        });
        let (line, around) = (context.line.unwrap_or(UNDEFINED), context.around.unwrap_or(UNDEFINED));
        let parts = [Part::Number(number), Part::Number(region), Part::Number(line), Part::Number(around)];
        definitions.add(kind::CALLING_CONTEXT, &parts);
        if let Some(site) = context.site {
            let site = archive.recording.site(site);
            let mut property =
                |name, value: Value| definitions.add_property(kind::CALLING_CONTEXT_PROPERTY, Part::Number(number), name, &value);
            property(facts::MODULE, Value::Text(site.module.clone()));
            property(facts::OFFSET, Value::Number(site.offset));
        }
    }
}
