//! The first pass over a trace: every line once, in file order.
//!
//! Processes are imported one after the other, each in time order, so that only one is in memory. This pass therefore adds every line to
//! the [external sort](super::external_sort) of the processes it concerns. It also finds the roots of collectives, which no process knows
//! alone.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sintonia_mpi::{FunctionId, FunctionRole};

use super::communicators::CommunicatorTable;
use super::event_types::{self, MpiEventType};
use super::external_sort::{RunCollector, SortRuns};
use super::header::{TaskDefinition, TraceHeader};
use super::label_parser::TraceLabels;
use super::lines::{ColonFields, TraceLines};
use super::sort_entry::{EncodedEvents, EntryKey, EntryKind, KEY_BYTES, TraceMessage};
use crate::Error;

/// Later times are corruption: it is more than a century.
const MAX_TIME: u64 = 1 << 62;
/// Limit of distinct persistent messages remembered per rank.
const MAX_PERSISTENT: usize = 1 << 16;

/// A message of a persistent request: destination, tag and bytes.
pub(super) type SentMessage = (u32, i32, u64);

/// Result of the scan.
pub(super) struct TraceScan {
    /// The first line.
    pub header: TraceHeader,
    /// Rank of the first task of each application.
    pub first_ranks: Vec<u32>,
    pub communicators: CommunicatorTable,
    /// The last time.
    pub end_time: u64,
    /// Messages of persistent requests by rank, in order of first occurrence.
    pub persistent_sends: HashMap<u32, Vec<SentMessage>>,
    pub message_count: u64,
    /// Records of obsolete types.
    pub unknown_records: u64,
    /// Calls of functions without a name.
    pub nameless_calls: u64,
}

impl TraceScan {
    /// Scans a trace and collects its entries by process and time; temporary files are in this folder.
    pub(super) fn scan(path: &Path, names: &TraceLabels, folder: &Path, entries: &SortRuns<KEY_BYTES>) -> Result<TraceScan, Error> {
        let mut lines = TraceLines::open(path)?;
        let header = match lines.next_line()? {
            Some(b"new format") => lines.next_line()?.unwrap_or_default(),
            line => line.unwrap_or_default(),
        };
        let header = TraceHeader::parse(header).map_err(|what| lines.malformed(what))?;
        let rooted = SortRuns::new(folder)?;
        let mut scanner = LineScanner::new(TraceScan::new(header), names, entries.collector(), rooted.collector());
        while lines.next_line()?.is_some() {
            scanner.scan_line(&lines)?;
        }
        let LineScanner { scan, mut entries, rooted: rooted_calls, .. } = scanner;
        rooted_calls.finish()?;
        assign_roots(&rooted, &mut entries)?;
        entries.finish()?;
        Ok(scan)
    }

    fn new(header: TraceHeader) -> TraceScan {
        let ranks = header.applications.iter().scan(0, |next, tasks| {
            let first = *next;
            *next += tasks.len() as u32;
            Some(first)
        });
        TraceScan {
            first_ranks: ranks.collect(),
            communicators: CommunicatorTable::new(header.applications.iter().map(Vec::len)),
            header,
            end_time: 0,
            persistent_sends: HashMap::new(),
            message_count: 0,
            unknown_records: 0,
            nameless_calls: 0,
        }
    }

    /// The application of a rank, and its task there.
    pub(super) fn task(&self, rank: u32) -> (usize, TaskDefinition) {
        let application = self.first_ranks.partition_point(|first| *first <= rank) - 1;
        (application, self.header.applications[application][(rank - self.first_ranks[application]) as usize])
    }
}

/// Scans lines.
struct LineScanner<'a> {
    scan: TraceScan,
    names: &'a TraceLabels,
    entries: RunCollector<'a, KEY_BYTES>,
    rooted: RunCollector<'a, KEY_BYTES>,
    /// Number of rooted calls of each rank on each communicator.
    rooted_calls: HashMap<(usize, u64, u32), u64>,
    /// Threads that are starting persistent requests.
    starting: HashSet<(u32, u16)>,
    events: EncodedEvents,
}

/// The thread of a record.
struct ThreadObject {
    application: usize,
    rank: u32,
    thread: u16,
}

impl<'a> LineScanner<'a> {
    fn new(
        scan: TraceScan,
        names: &'a TraceLabels,
        entries: RunCollector<'a, KEY_BYTES>,
        rooted: RunCollector<'a, KEY_BYTES>,
    ) -> LineScanner<'a> {
        let (rooted_calls, starting) = (HashMap::new(), HashSet::new());
        LineScanner { scan, names, entries, rooted, rooted_calls, starting, events: EncodedEvents::default() }
    }

    fn scan_line(&mut self, lines: &TraceLines) -> Result<(), Error> {
        let line = lines.line();
        let (kind, rest) = match line {
            [] | [b'#', ..] => return Ok(()),
            [kind, b':', rest @ ..] => (*kind, ColonFields::new(rest)),
            _ => return Err(lines.malformed("expected a record type and a colon")),
        };
        match kind {
            b'1' => self.scan_state(rest, lines),
            b'2' => self.scan_events(rest, lines),
            b'3' => self.scan_communication(rest, lines),
            b'c' | b'C' => self.scan_communicator(rest, lines),
            b'i' | b'I' => self.scan_intercommunicator(rest, lines),
            b'4'..=b'9' => {
                self.scan.unknown_records += 1;
                Ok(())
            }
            _ => Err(lines.malformed(format!("unknown record type {:?}", char::from(kind)))),
        }
    }

    /// `cpu:application:task:thread`.
    fn parse_object(&self, fields: &mut ColonFields, lines: &TraceLines) -> Result<ThreadObject, Error> {
        let numbers = (fields.next_number(), fields.next_number(), fields.next_number(), fields.next_number());
        let (Some(_), Some(application), Some(task), Some(thread)) = numbers else {
            return Err(lines.malformed("expected processor:application:task:thread"));
        };
        let index = (application as usize).wrapping_sub(1);
        let tasks = self.scan.header.applications.get(index).map(Vec::as_slice).unwrap_or_default();
        let known = tasks.get((task as usize).wrapping_sub(1)).filter(|task| (1..=task.threads).contains(&thread));
        match (known, u16::try_from(thread.wrapping_sub(1))) {
            (Some(_), Ok(thread)) => Ok(ThreadObject { application: index, rank: self.scan.first_ranks[index] + task as u32 - 1, thread }),
            _ => Err(lines.malformed(format!("the header has no thread {thread} of task {task} of application {application}"))),
        }
    }

    fn parse_time(&mut self, fields: &mut ColonFields, lines: &TraceLines) -> Result<u64, Error> {
        let time = fields.next_number().and_then(|time| time.checked_mul(self.scan.header.unit_ns)).filter(|time| *time < MAX_TIME);
        let time = time.ok_or_else(|| lines.malformed("expected a time"))?;
        self.scan.end_time = self.scan.end_time.max(time);
        Ok(time)
    }

    /// States are redundant with events and messages; they are only checked.
    fn scan_state(&mut self, mut fields: ColonFields, lines: &TraceLines) -> Result<(), Error> {
        self.parse_object(&mut fields, lines)?;
        self.parse_time(&mut fields, lines)?;
        self.parse_time(&mut fields, lines)?;
        fields.next_value().map(|_| ()).ok_or_else(|| lines.malformed("expected a state"))
    }

    fn scan_events(&mut self, mut fields: ColonFields, lines: &TraceLines) -> Result<(), Error> {
        let object = self.parse_object(&mut fields, lines)?;
        let time = self.parse_time(&mut fields, lines)?;
        let mut rooted = RootedEvent::default();
        self.events.reset(object.thread);
        while !fields.is_empty() {
            let (Some(event_type), Some(value)) = (fields.next_number(), fields.next_value()) else {
                return Err(lines.malformed("expected the type and the value of an event"));
            };
            if let Some(group) = MpiEventType::from_type_id(event_type) {
                self.note_call(&object, group, value, &mut rooted);
            } else if !is_detail(event_type) {
                continue;
            }
            match event_type {
                event_types::COLLECTIVE_COMMUNICATOR => rooted.communicator = value,
                event_types::COLLECTIVE_ROOT => rooted.is_root = value != 0,
                _ => {}
            }
            self.events.add(event_type, value);
        }
        if self.events.is_empty() {
            return Ok(());
        }
        let key = EntryKey { rank: object.rank, time, kind: EntryKind::Events, line: lines.number() };
        self.entries.add(key.to_bytes(), self.events.as_bytes())?;
        self.note_rooted_call(&object, key, &rooted)
    }

    /// A call begins or ends.
    fn note_call(&mut self, object: &ThreadObject, group: MpiEventType, value: u64, rooted: &mut RootedEvent) {
        let operation = (value != 0).then(|| self.names.operation(group, value)).flatten();
        self.scan.nameless_calls += u64::from(value != 0 && operation.is_none());
        let starts = operation.is_some_and(|operation| matches!(operation.role(), FunctionRole::Start | FunctionRole::StartAll));
        if starts {
            self.starting.insert((object.rank, object.thread));
        } else if !self.starting.is_empty() {
            self.starting.remove(&(object.rank, object.thread));
        }
        if value != 0 {
            rooted.operation = operation.filter(|operation| event_types::has_root(*operation));
        }
    }

    /// Notes a rooted collective: the n-th of each member on a communicator is the same instance.
    fn note_rooted_call(&mut self, object: &ThreadObject, key: EntryKey, rooted: &RootedEvent) -> Result<(), Error> {
        let Some(operation) = rooted.operation else { return Ok(()) };
        let count = self.rooted_calls.entry((object.application, rooted.communicator, object.rank)).or_default();
        let call = RootedCallKey { application: object.application as u32, communicator: rooted.communicator, number: *count };
        *count += 1;
        let mut content = key.to_bytes().to_vec();
        content.extend_from_slice(&operation.0.to_le_bytes());
        self.rooted.add(call.to_bytes(rooted.is_root), &content)
    }

    fn scan_communication(&mut self, mut fields: ColonFields, lines: &TraceLines) -> Result<(), Error> {
        let from = self.parse_object(&mut fields, lines)?;
        let (sent, _) = (self.parse_time(&mut fields, lines)?, self.parse_time(&mut fields, lines)?);
        let to = self.parse_object(&mut fields, lines)?;
        let (posted, arrived) = (self.parse_time(&mut fields, lines)?, self.parse_time(&mut fields, lines)?);
        let (Some(bytes), Some(tag)) = (fields.next_value(), fields.next_value()) else {
            return Err(lines.malformed("expected the size and the tag of a message"));
        };
        // Extrae writes MPI's internal tags without their sign.
        let tag = tag as i32;
        let line = lines.number();
        self.scan.message_count += 1;
        let mut add =
            |rank, time, kind, message: TraceMessage| self.entries.add(EntryKey { rank, time, kind, line }.to_bytes(), &message.to_bytes());
        add(from.rank, sent, EntryKind::Send, TraceMessage { thread: from.thread, peer: to.rank, tag, bytes })?;
        let message = TraceMessage { thread: to.thread, peer: from.rank, tag, bytes };
        add(to.rank, posted, EntryKind::Post, message)?;
        // In other tools' traces a message may arrive before the receive is posted; it is received when both have happened.
        add(to.rank, posted.max(arrived), EntryKind::Received, message)?;
        if self.starting.contains(&(from.rank, from.thread)) {
            let known = self.scan.persistent_sends.entry(from.rank).or_default();
            let message = (to.rank, tag, bytes);
            if known.len() < MAX_PERSISTENT && !known.contains(&message) {
                known.push(message);
            }
        }
        Ok(())
    }

    /// `application:id:size:task:task...`.
    fn scan_communicator(&mut self, mut fields: ColonFields, lines: &TraceLines) -> Result<(), Error> {
        let (application, id) = self.parse_communicator_id(&mut fields, lines)?;
        let (first, size) = (self.scan.first_ranks[application], self.scan.header.applications[application].len() as u64);
        let count = fields.next_number();
        let mut members = Vec::new();
        let mut listed = 0;
        while !fields.is_empty() {
            // Old traces have empty communicators with a single task -1.
            let task = fields.next_value().filter(|task| *task <= size).ok_or_else(|| lines.malformed("expected a task"))?;
            members.extend((task > 0).then(|| (u64::from(first) + task - 1) as i32));
            listed += 1;
        }
        if count != Some(listed) {
            return Err(lines.malformed("expected the number of tasks of the communicator, and as many tasks"));
        }
        self.scan.communicators.define(application, id, members);
        Ok(())
    }

    /// `application:id:communicator:leader:communicator:leader`.
    fn scan_intercommunicator(&mut self, mut fields: ColonFields, lines: &TraceLines) -> Result<(), Error> {
        let (application, id) = self.parse_communicator_id(&mut fields, lines)?;
        let groups = [(fields.next_number(), fields.next_number()), (fields.next_number(), fields.next_number())];
        let [(Some(local), Some(leader)), (Some(other), Some(other_leader))] = groups else {
            return Err(lines.malformed("expected two communicators, each with its leader"));
        };
        self.scan.communicators.define_intercommunicator(application, id, [(local, leader), (other, other_leader)]);
        Ok(())
    }

    fn parse_communicator_id(&self, fields: &mut ColonFields, lines: &TraceLines) -> Result<(usize, u64), Error> {
        let (Some(application), Some(id)) = (fields.next_number(), fields.next_number()) else {
            return Err(lines.malformed("expected the application and the number of a communicator"));
        };
        let index = (application as usize).wrapping_sub(1);
        if index < self.scan.first_ranks.len() {
            Ok((index, id))
        } else {
            Err(lines.malformed(format!("there is no application {application}")))
        }
    }
}

/// Whether an event type describes a call.
fn is_detail(event_type: u64) -> bool {
    let is_caller = |first: u64| (first..first + event_types::MAX_CALLERS).contains(&event_type);
    is_caller(event_types::CALLER)
        || is_caller(event_types::CALLER_LINE)
        || matches!(
            event_type,
            event_types::COLLECTIVE_SENT
                | event_types::COLLECTIVE_RECEIVED
                | event_types::COLLECTIVE_ROOT
                | event_types::COLLECTIVE_COMMUNICATOR
                | event_types::ONE_SIDED_BYTES
                | event_types::ONE_SIDED_TARGET
                | event_types::FILE_BYTES
                | event_types::FOUND_NOTHING
                | event_types::COMMUNICATOR
                | event_types::COMMUNICATOR_CREATED
        )
}

/// A rooted collective in an event line.
#[derive(Default)]
struct RootedEvent {
    operation: Option<FunctionId>,
    communicator: u64,
    is_root: bool,
}

/// A rooted collective instance.
struct RootedCallKey {
    application: u32,
    communicator: u64,
    number: u64,
}

impl RootedCallKey {
    /// As a sort key; the root sorts first.
    fn to_bytes(&self, is_root: bool) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.application.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.communicator.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.number.to_be_bytes());
        bytes[20] = u8::from(!is_root);
        bytes
    }
}

/// Assigns the root to every member of a collective.
fn assign_roots(rooted: &SortRuns<KEY_BYTES>, entries: &mut RunCollector<KEY_BYTES>) -> Result<(), Error> {
    let mut root = None;
    let mut merge = rooted.merge()?;
    while let Some((call, content)) = merge.next_item()? {
        let (key, operation) = content.split_at(KEY_BYTES);
        let key = EntryKey::from_bytes(key.try_into().expect("a key was written here"));
        let (same_call, is_root) = (call[..KEY_BYTES - 1].to_vec(), call[KEY_BYTES - 1] == 0);
        if is_root {
            root = Some((same_call.clone(), operation.to_vec(), key.rank));
        }
        if let Some((_, _, rank)) = root.as_ref().filter(|(call, function, _)| *call == same_call && function == operation) {
            entries.add(EntryKey { kind: EntryKind::Root, ..key }.to_bytes(), &rank.to_le_bytes())?;
        }
    }
    Ok(())
}
