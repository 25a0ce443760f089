//! The first look at a trace: every line once, in the order of the file.
//!
//! What a process did is understood in the order of time, one process after the other, so that only one is in memory. This look therefore
//! hands every line to the [sort](super::sort) of the processes it is about. It also finds out what no process knows alone: which of them
//! was the root of a collective call.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sintonia_mpi::{Operation, Role};

use super::communicators::Communicators;
use super::entry::{Events, KEY_BYTES, Key, Kind, Message};
use super::events::{self, Group};
use super::header::{Header, Task};
use super::lines::{Fields, Lines};
use super::names::Names;
use super::sort::{Collector, Runs};
use crate::Error;

/// Times beyond this are damage: it is more than a century.
const LAST_TIME: u64 = 1 << 62;
/// The most different messages of persistent requests that are remembered of a rank.
const MOST_PERSISTENT: usize = 1 << 16;

/// A message that a persistent request sends: destination, tag and bytes.
pub type Sent = (u32, i32, u64);

/// What the whole trace says.
pub struct Survey {
    /// Its first line.
    pub header: Header,
    /// The rank of the first task of each application.
    pub first: Vec<u32>,
    /// Its communicators.
    pub communicators: Communicators,
    /// The last moment.
    pub end: u64,
    /// Messages that persistent requests sent, by rank, in the order in which they were first seen.
    pub persistent: HashMap<u32, Vec<Sent>>,
    /// How many messages it holds.
    pub messages: u64,
    /// Records of kinds that nobody writes any more.
    pub unknown_records: u64,
    /// Calls of functions that have no name.
    pub nameless_calls: u64,
}

impl Survey {
    /// Looks at a trace and collects what stands in it, by process and time; temporary files will be in this folder.
    pub fn of(path: &Path, names: &Names, folder: &Path, entries: &Runs<KEY_BYTES>) -> Result<Survey, Error> {
        let mut lines = Lines::open(path)?;
        let header = match lines.next_line()? {
            Some(b"new format") => lines.next_line()?.unwrap_or_default(),
            line => line.unwrap_or_default(),
        };
        let header = Header::read(header).map_err(|what| lines.wrong(what))?;
        let rooted = Runs::new(folder)?;
        let mut look = Look::new(Survey::begin(header), names, entries.collect(), rooted.collect());
        while lines.next_line()?.is_some() {
            look.line(&lines)?;
        }
        let Look { survey, mut entries, rooted: rooted_calls, .. } = look;
        rooted_calls.finish()?;
        tell_roots(&rooted, &mut entries)?;
        entries.finish()?;
        Ok(survey)
    }

    fn begin(header: Header) -> Survey {
        let ranks = header.applications.iter().scan(0, |next, tasks| {
            let first = *next;
            *next += tasks.len() as u32;
            Some(first)
        });
        Survey {
            first: ranks.collect(),
            communicators: Communicators::new(header.applications.iter().map(Vec::len)),
            header,
            end: 0,
            persistent: HashMap::new(),
            messages: 0,
            unknown_records: 0,
            nameless_calls: 0,
        }
    }

    /// The application of a rank, and its task there.
    pub fn task(&self, rank: u32) -> (usize, Task) {
        let application = self.first.partition_point(|first| *first <= rank) - 1;
        (application, self.header.applications[application][(rank - self.first[application]) as usize])
    }
}

/// Looks at lines.
struct Look<'a> {
    survey: Survey,
    names: &'a Names,
    entries: Collector<'a, KEY_BYTES>,
    rooted: Collector<'a, KEY_BYTES>,
    /// How many calls with a root each rank has made on each communicator.
    rooted_calls: HashMap<(usize, u64, u32), u64>,
    /// Threads that are starting persistent requests.
    starting: HashSet<(u32, u16)>,
    events: Events,
}

/// The thread that a record is about.
struct Object {
    application: usize,
    rank: u32,
    thread: u16,
}

impl<'a> Look<'a> {
    fn new(survey: Survey, names: &'a Names, entries: Collector<'a, KEY_BYTES>, rooted: Collector<'a, KEY_BYTES>) -> Look<'a> {
        let (rooted_calls, starting) = (HashMap::new(), HashSet::new());
        Look { survey, names, entries, rooted, rooted_calls, starting, events: Events::default() }
    }

    fn line(&mut self, lines: &Lines) -> Result<(), Error> {
        let line = lines.line();
        let (kind, rest) = match line {
            [] | [b'#', ..] => return Ok(()),
            [kind, b':', rest @ ..] => (*kind, Fields::of(rest)),
            _ => return Err(lines.wrong("expected a kind of record and a colon")),
        };
        match kind {
            b'1' => self.state(rest, lines),
            b'2' => self.events(rest, lines),
            b'3' => self.communication(rest, lines),
            b'c' | b'C' => self.communicator(rest, lines),
            b'i' | b'I' => self.between(rest, lines),
            b'4'..=b'9' => {
                self.survey.unknown_records += 1;
                Ok(())
            }
            _ => Err(lines.wrong(format!("there is no kind of record {:?}", char::from(kind)))),
        }
    }

    /// `processor:application:task:thread`.
    fn object(&self, fields: &mut Fields, lines: &Lines) -> Result<Object, Error> {
        let numbers = (fields.number(), fields.number(), fields.number(), fields.number());
        let (Some(_), Some(application), Some(task), Some(thread)) = numbers else {
            return Err(lines.wrong("expected processor:application:task:thread"));
        };
        let place = (application as usize).wrapping_sub(1);
        let tasks = self.survey.header.applications.get(place).map(Vec::as_slice).unwrap_or_default();
        let known = tasks.get((task as usize).wrapping_sub(1)).filter(|task| (1..=task.threads).contains(&thread));
        match (known, u16::try_from(thread.wrapping_sub(1))) {
            (Some(_), Ok(thread)) => Ok(Object { application: place, rank: self.survey.first[place] + task as u32 - 1, thread }),
            _ => Err(lines.wrong(format!("the first line names no thread {thread} of task {task} of application {application}"))),
        }
    }

    fn time(&mut self, fields: &mut Fields, lines: &Lines) -> Result<u64, Error> {
        let time = fields.number().and_then(|time| time.checked_mul(self.survey.header.unit_ns)).filter(|time| *time < LAST_TIME);
        let time = time.ok_or_else(|| lines.wrong("expected a time"))?;
        self.survey.end = self.survey.end.max(time);
        Ok(time)
    }

    /// States say what events and messages say better; they are only checked.
    fn state(&mut self, mut fields: Fields, lines: &Lines) -> Result<(), Error> {
        self.object(&mut fields, lines)?;
        self.time(&mut fields, lines)?;
        self.time(&mut fields, lines)?;
        fields.value().map(|_| ()).ok_or_else(|| lines.wrong("expected a state"))
    }

    fn events(&mut self, mut fields: Fields, lines: &Lines) -> Result<(), Error> {
        let object = self.object(&mut fields, lines)?;
        let time = self.time(&mut fields, lines)?;
        let mut rooted = Rooted::default();
        self.events.begin(object.thread);
        while !fields.is_empty() {
            let (Some(event_type), Some(value)) = (fields.number(), fields.value()) else {
                return Err(lines.wrong("expected the type and the value of an event"));
            };
            if let Some(group) = Group::of_type(event_type) {
                self.call(&object, group, value, &mut rooted);
            } else if !is_detail(event_type) {
                continue;
            }
            match event_type {
                events::COLLECTIVE_COMMUNICATOR => rooted.communicator = value,
                events::COLLECTIVE_ROOT => rooted.is_root = value != 0,
                _ => {}
            }
            self.events.add(event_type, value);
        }
        if self.events.is_empty() {
            return Ok(());
        }
        let key = Key { rank: object.rank, time, kind: Kind::Events, line: lines.number() };
        self.entries.add(key.bytes(), self.events.bytes())?;
        self.rooted(&object, key, &rooted)
    }

    /// A call begins or ends.
    fn call(&mut self, object: &Object, group: Group, value: u64, rooted: &mut Rooted) {
        let operation = (value != 0).then(|| self.names.operation(group, value)).flatten();
        self.survey.nameless_calls += u64::from(value != 0 && operation.is_none());
        let starts = operation.is_some_and(|operation| matches!(operation.role(), Role::Start | Role::StartAll));
        if starts {
            self.starting.insert((object.rank, object.thread));
        } else if !self.starting.is_empty() {
            self.starting.remove(&(object.rank, object.thread));
        }
        if value != 0 {
            rooted.operation = operation.filter(|operation| events::has_root(*operation));
        }
    }

    /// Notes a collective call of which one process is the root: the n-th of each member on a communicator is the same call.
    fn rooted(&mut self, object: &Object, key: Key, rooted: &Rooted) -> Result<(), Error> {
        let Some(operation) = rooted.operation else { return Ok(()) };
        let count = self.rooted_calls.entry((object.application, rooted.communicator, object.rank)).or_default();
        let call = RootedCall { application: object.application as u32, communicator: rooted.communicator, number: *count };
        *count += 1;
        let mut content = key.bytes().to_vec();
        content.extend_from_slice(&operation.0.to_le_bytes());
        self.rooted.add(call.bytes(rooted.is_root), &content)
    }

    fn communication(&mut self, mut fields: Fields, lines: &Lines) -> Result<(), Error> {
        let from = self.object(&mut fields, lines)?;
        let (sent, _) = (self.time(&mut fields, lines)?, self.time(&mut fields, lines)?);
        let to = self.object(&mut fields, lines)?;
        let (posted, arrived) = (self.time(&mut fields, lines)?, self.time(&mut fields, lines)?);
        let (Some(bytes), Some(tag)) = (fields.value(), fields.value()) else {
            return Err(lines.wrong("expected the size and the tag of a message"));
        };
        // Tags that Extrae writes without their sign are those that MPI keeps for itself.
        let tag = tag as i32;
        let line = lines.number();
        self.survey.messages += 1;
        let mut add = |rank, time, kind, message: Message| self.entries.add(Key { rank, time, kind, line }.bytes(), &message.bytes());
        add(from.rank, sent, Kind::Send, Message { thread: from.thread, peer: to.rank, tag, bytes })?;
        let message = Message { thread: to.thread, peer: from.rank, tag, bytes };
        add(to.rank, posted, Kind::Post, message)?;
        // Elsewhere a message may have arrived before anyone asked for it; it was received when both had happened.
        add(to.rank, posted.max(arrived), Kind::Received, message)?;
        if self.starting.contains(&(from.rank, from.thread)) {
            let known = self.survey.persistent.entry(from.rank).or_default();
            let message = (to.rank, tag, bytes);
            if known.len() < MOST_PERSISTENT && !known.contains(&message) {
                known.push(message);
            }
        }
        Ok(())
    }

    /// `application:number:size:task:task...`.
    fn communicator(&mut self, mut fields: Fields, lines: &Lines) -> Result<(), Error> {
        let (application, id) = self.communicator_number(&mut fields, lines)?;
        let (first, size) = (self.survey.first[application], self.survey.header.applications[application].len() as u64);
        let count = fields.number();
        let mut members = Vec::new();
        let mut listed = 0;
        while !fields.is_empty() {
            // Old traces have communicators of nobody, whose only task is -1.
            let task = fields.value().filter(|task| *task <= size).ok_or_else(|| lines.wrong("expected a task"))?;
            members.extend((task > 0).then(|| (u64::from(first) + task - 1) as i32));
            listed += 1;
        }
        if count != Some(listed) {
            return Err(lines.wrong("expected the number of tasks of the communicator, and as many tasks"));
        }
        self.survey.communicators.define(application, id, members);
        Ok(())
    }

    /// `application:number:communicator:leader:communicator:leader`.
    fn between(&mut self, mut fields: Fields, lines: &Lines) -> Result<(), Error> {
        let (application, id) = self.communicator_number(&mut fields, lines)?;
        let groups = [(fields.number(), fields.number()), (fields.number(), fields.number())];
        let [(Some(local), Some(leader)), (Some(other), Some(other_leader))] = groups else {
            return Err(lines.wrong("expected two communicators, each with its leader"));
        };
        self.survey.communicators.define_between(application, id, [(local, leader), (other, other_leader)]);
        Ok(())
    }

    fn communicator_number(&self, fields: &mut Fields, lines: &Lines) -> Result<(usize, u64), Error> {
        let (Some(application), Some(id)) = (fields.number(), fields.number()) else {
            return Err(lines.wrong("expected the application and the number of a communicator"));
        };
        let place = (application as usize).wrapping_sub(1);
        if place < self.survey.first.len() { Ok((place, id)) } else { Err(lines.wrong(format!("there is no application {application}"))) }
    }
}

/// Whether a type of event says something of a call.
fn is_detail(event_type: u64) -> bool {
    let is_caller = |first: u64| (first..first + events::MOST_CALLERS).contains(&event_type);
    is_caller(events::CALLER)
        || is_caller(events::CALLER_LINE)
        || matches!(
            event_type,
            events::COLLECTIVE_SENT
                | events::COLLECTIVE_RECEIVED
                | events::COLLECTIVE_ROOT
                | events::COLLECTIVE_COMMUNICATOR
                | events::ONE_SIDED_BYTES
                | events::ONE_SIDED_TARGET
                | events::FILE_BYTES
                | events::FOUND_NOTHING
                | events::COMMUNICATOR
                | events::COMMUNICATOR_MADE
        )
}

/// What a line says of a collective call that has a root.
#[derive(Default)]
struct Rooted {
    operation: Option<Operation>,
    communicator: u64,
    is_root: bool,
}

/// A call that all members of a communicator make together.
struct RootedCall {
    application: u32,
    communicator: u64,
    number: u64,
}

impl RootedCall {
    /// As a key; the root comes first.
    fn bytes(&self, is_root: bool) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.application.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.communicator.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.number.to_be_bytes());
        bytes[20] = u8::from(!is_root);
        bytes
    }
}

/// Tells every member of a collective call who was its root.
fn tell_roots(rooted: &Runs<KEY_BYTES>, entries: &mut Collector<KEY_BYTES>) -> Result<(), Error> {
    let mut root = None;
    let mut merge = rooted.merge()?;
    while let Some((call, content)) = merge.next_item()? {
        let (key, operation) = content.split_at(KEY_BYTES);
        let key = Key::of(key.try_into().expect("a key was written here"));
        let (same_call, is_root) = (call[..KEY_BYTES - 1].to_vec(), call[KEY_BYTES - 1] == 0);
        if is_root {
            root = Some((same_call.clone(), operation.to_vec(), key.rank));
        }
        if let Some((_, _, rank)) = root.as_ref().filter(|(call, function, _)| *call == same_call && function == operation) {
            entries.add(Key { kind: Kind::Root, ..key }.bytes(), &rank.to_le_bytes())?;
        }
    }
    Ok(())
}
