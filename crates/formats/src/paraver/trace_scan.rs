//! The first pass over a trace: every line once, in file order.
//!
//! Processes are imported one after the other, each in time order, so that only one is in memory. This pass therefore adds every line to
//! the [external sort](super::external_sort) of the processes it concerns. It also finds the roots of collectives, which no process knows
//! alone.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_paraver::{CommunicationEnd, IntercommunicatorSide, Record, TaskDefinition, TraceHeader, TraceObject, TraceReader};

use super::communicators::CommunicatorTable;
use super::event_types::{self, MpiEventType};
use super::external_sort::{RunCollector, SortRuns};
use super::label_parser::TraceLabels;
use super::sort_entry::{EncodedEvents, EntryKey, EntryKind, KEY_BYTES, TraceMessage};
use crate::{Error, FilePosition};

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
        let mut records = TraceReader::open(path)?;
        let rooted = SortRuns::new(folder)?;
        let mut scanner = RecordScanner {
            path,
            line: 0,
            scan: TraceScan::new(records.header().clone()),
            names,
            entries: entries.collector(),
            rooted: rooted.collector(),
            rooted_calls: HashMap::new(),
            starting: HashSet::new(),
            events: EncodedEvents::default(),
        };
        while let Some((line, record)) = records.next_record()? {
            scanner.line = line;
            scanner.scan_record(record)?;
        }
        let RecordScanner { scan, mut entries, rooted: rooted_calls, .. } = scanner;
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

/// Scans records.
struct RecordScanner<'a> {
    path: &'a Path,
    /// The line of the current record.
    line: u64,
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

impl RecordScanner<'_> {
    fn scan_record(&mut self, record: Record) -> Result<(), Error> {
        match record {
            Record::State { object, begin, end, .. } => self.scan_state(object, begin, end),
            Record::Events { object, time, events } => self.scan_events(object, time, events),
            Record::Communication { send, receive, size, tag } => self.scan_communication(send, receive, size, tag),
            Record::Communicator { application, id, tasks } => self.scan_communicator(application, id, tasks),
            Record::Intercommunicator { application, id, sides } => {
                let application = self.application(application)?;
                let sides = sides.map(|IntercommunicatorSide { communicator, leader }| (communicator, leader));
                self.scan.communicators.define_intercommunicator(application, id, sides);
                Ok(())
            }
            _ => {
                self.scan.unknown_records += 1;
                Ok(())
            }
        }
    }

    /// An error at the current record.
    fn malformed(&self, what: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.to_owned(), position: FilePosition::Line(self.line), what: what.into() }
    }

    fn thread_object(&self, object: TraceObject) -> Result<ThreadObject, Error> {
        let TraceObject { application, task, thread, .. } = object;
        let index = (application as usize).wrapping_sub(1);
        let tasks = self.scan.header.applications.get(index).map(Vec::as_slice).unwrap_or_default();
        let known = tasks.get((task as usize).wrapping_sub(1)).filter(|task| (1..=task.threads).contains(&thread));
        match (known, u16::try_from(thread.wrapping_sub(1))) {
            (Some(_), Ok(thread)) => Ok(ThreadObject { application: index, rank: self.scan.first_ranks[index] + task as u32 - 1, thread }),
            _ => Err(self.malformed(format!("the header has no thread {thread} of task {task} of application {application}"))),
        }
    }

    /// A time in nanoseconds.
    fn time_ns(&mut self, time: u64) -> Result<u64, Error> {
        let time = time.checked_mul(self.scan.header.unit_ns).filter(|time| *time < MAX_TIME);
        let time = time.ok_or_else(|| self.malformed("expected a time"))?;
        self.scan.end_time = self.scan.end_time.max(time);
        Ok(time)
    }

    /// States are redundant with events and messages; they are only checked.
    fn scan_state(&mut self, object: TraceObject, begin: u64, end: u64) -> Result<(), Error> {
        self.thread_object(object)?;
        self.time_ns(begin)?;
        self.time_ns(end).map(|_| ())
    }

    fn scan_events(&mut self, object: TraceObject, time: u64, events: &[(u64, u64)]) -> Result<(), Error> {
        let object = self.thread_object(object)?;
        let time = self.time_ns(time)?;
        let mut rooted = RootedEvent::default();
        self.events.reset(object.thread);
        for &(event_type, value) in events {
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
        let key = EntryKey { rank: object.rank, time, kind: EntryKind::Events, line: self.line };
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

    fn scan_communication(&mut self, send: CommunicationEnd, receive: CommunicationEnd, bytes: u64, tag: u64) -> Result<(), Error> {
        let from = self.thread_object(send.object)?;
        let (sent, _) = (self.time_ns(send.logical_time)?, self.time_ns(send.physical_time)?);
        let to = self.thread_object(receive.object)?;
        let (posted, arrived) = (self.time_ns(receive.logical_time)?, self.time_ns(receive.physical_time)?);
        // Extrae writes MPI's internal tags without their sign.
        let tag = tag as i32;
        let line = self.line;
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

    fn scan_communicator(&mut self, application: u64, id: u64, tasks: &[u64]) -> Result<(), Error> {
        let application = self.application(application)?;
        let (first, size) = (self.scan.first_ranks[application], self.scan.header.applications[application].len() as u64);
        if tasks.iter().any(|task| *task > size) {
            return Err(self.malformed("expected a task"));
        }
        let members = tasks.iter().filter(|task| **task > 0).map(|task| (u64::from(first) + task - 1) as i32).collect();
        self.scan.communicators.define(application, id, members);
        Ok(())
    }

    /// The index of an application.
    fn application(&self, application: u64) -> Result<usize, Error> {
        let index = (application as usize).wrapping_sub(1);
        if index < self.scan.first_ranks.len() { Ok(index) } else { Err(self.malformed(format!("there is no application {application}"))) }
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
