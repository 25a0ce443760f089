//! Writes the calls of one rank as events.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::header::{ProcessExit, RecordedRank};

use crate::error::Error;
use crate::otf2::attributes::{AttributeList, CallAttribute};
use crate::otf2::chunks::{ChunkContent, ChunkWriter};
use crate::otf2::decoded_call::{DecodedCall, RequestHandle};
use crate::otf2::event::{EventEncoder, EventRecord};
use crate::otf2::write::event_builder::{CallEvents, EventBuilder, UnmappedOperations, request_id};
use crate::otf2::write::{DEFINITION_CHUNK_SIZE, EVENT_CHUNK_SIZE, ExportContext, definitions};

/// A written rank.
pub(super) struct WrittenRank {
    pub rank: u32,
    /// Its threads, the main one first.
    pub locations: Vec<LocationSummary>,
    /// Time of its last event.
    pub last_time: u64,
    /// What OTF2 could not express.
    pub unmapped: UnmappedOperations,
}

/// A written location.
pub(super) struct LocationSummary {
    pub id: u64,
    /// Its thread number.
    pub thread: u16,
    /// Number of events.
    pub event_count: u64,
}

/// The location id of a thread, numbered as by Score-P.
pub(super) fn location_id(rank: u32, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

/// Writes the events of a rank; a rank without data has a location without events.
pub(super) fn write(archive: &ExportContext, rank: u32) -> Result<WrittenRank, Error> {
    let mut out = RankEventWriter {
        archive,
        rank,
        threads: BTreeMap::new(),
        event_builder: EventBuilder::new(&archive.comm_ranks, rank),
        events: CallEvents::default(),
        encoder: EventEncoder::default(),
        record: Vec::new(),
    };
    let about = archive.recording.header.rank(rank);
    out.begin(about)?;
    let mut calls = archive.recording.calls(rank)?;
    while let Some(call) = calls.next_call() {
        out.write_call(&call)?;
    }
    out.finish(about)
}

/// Writes the files of a location without events and local definitions.
pub(super) fn write_empty_location(archive: &ExportContext, location: u64) -> Result<(), Error> {
    ChunkWriter::create(archive.folder.join(format!("{location}.evt")), ChunkContent::Events, EVENT_CHUNK_SIZE)?.finish()?;
    write_empty_definitions(archive, location)
}

/// Ids and clock are global, so nothing is defined; but readers expect the file.
fn write_empty_definitions(archive: &ExportContext, location: u64) -> Result<(), Error> {
    let path = archive.folder.join(format!("{location}.def"));
    ChunkWriter::create(path, ChunkContent::Definitions, DEFINITION_CHUNK_SIZE)?.finish().map(|_| ())
}

struct RankEventWriter<'a> {
    archive: &'a ExportContext<'a>,
    rank: u32,
    threads: BTreeMap<u16, ChunkWriter>,
    event_builder: EventBuilder<'a>,
    /// The events of the current call.
    events: CallEvents,
    encoder: EventEncoder,
    record: Vec<u8>,
}

impl RankEventWriter<'_> {
    fn begin(&mut self, about: Option<&RecordedRank>) -> Result<(), Error> {
        self.chunk_writer(0)?;
        if let Some(rank) = about {
            let mut attributes = AttributeList::default();
            attributes.add(CallAttribute::ProcessId, rank.pid.into());
            self.write_event(0, self.archive.time_origin.relative_ns(rank.begin_ns), &self.archive.program_begin.clone(), &attributes)?;
        }
        Ok(())
    }

    fn finish(mut self, about: Option<&RecordedRank>) -> Result<WrittenRank, Error> {
        if let Some(rank) = about.filter(|rank| rank.end != ProcessExit::CutShort) {
            let status = self.archive.recording.header.exit_status.map_or(i64::MIN, i64::from);
            let time = self.archive.time_origin.relative_ns(rank.end_ns);
            self.write_event(0, time, &EventRecord::ProgramEnd(status), &AttributeList::default())?;
        }
        let (rank, end) = (self.rank, self.threads.values().map(ChunkWriter::last_time).max().unwrap_or(0));
        let mut locations = Vec::new();
        for (thread, writer) in self.threads {
            write_empty_definitions(self.archive, location_id(rank, thread))?;
            locations.push(LocationSummary { id: location_id(rank, thread), thread, event_count: writer.finish()? });
        }
        Ok(WrittenRank { rank, locations, last_time: end, unmapped: self.event_builder.unmapped })
    }

    fn chunk_writer(&mut self, thread: u16) -> Result<&mut ChunkWriter, Error> {
        match self.threads.entry(thread) {
            Entry::Occupied(writer) => Ok(writer.into_mut()),
            Entry::Vacant(entry) => {
                let path = self.archive.folder.join(format!("{}.evt", location_id(self.rank, thread)));
                Ok(entry.insert(ChunkWriter::create(path, ChunkContent::Events, EVENT_CHUNK_SIZE)?))
            }
        }
    }

    fn write_event(&mut self, thread: u16, time: u64, event: &EventRecord, attributes: &AttributeList) -> Result<(), Error> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        attributes.encode(&mut record);
        self.encoder.encode(event, &mut record);
        let put = self.chunk_writer(thread)?.write_event(time, &record);
        self.record = record;
        put
    }

    fn write_call(&mut self, call: &RecordedCall) -> Result<(), Error> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.event_builder.build_events(call, &mut events);
        let attributes = self.attributes(call, &events);
        let (enter, leave) = (self.archive.time_origin.relative_ns(call.enter), self.archive.time_origin.relative_ns(call.leave));
        let region = definitions::region_id(call.descriptor.function);
        self.write_event(call.thread, enter, &EventRecord::Enter(region), &attributes)?;
        for (event, attributes) in &events.at_enter {
            self.write_event(call.thread, enter, event, attributes)?;
        }
        for (event, attributes) in &events.at_leave {
            self.write_event(call.thread, leave, event, attributes)?;
        }
        self.write_event(call.thread, leave, &EventRecord::Leave(region), &AttributeList::default())?;
        self.events = events;
        Ok(())
    }

    /// The attributes of a call: its site, and what its events do not express.
    fn attributes(&self, call: &RecordedCall, events: &CallEvents) -> AttributeList {
        let mut attributes = AttributeList::default();
        if let Some((context, line)) = self.archive.calling_contexts.context_of_site(call.descriptor.site) {
            if let Some(line) = line {
                attributes.add(CallAttribute::SourceLine, line.into());
            }
            attributes.add(CallAttribute::CallSite, context.into());
        }
        let context = self.event_builder.decode_context();
        let mut decoded = DecodedCall::new(call.descriptor.function);
        let mut listed = call.requests().map(|(_, listed)| listed.request);
        let mut resolve = |_: RequestHandle| listed.next();
        for (event, of_event) in events.at_enter.iter().chain(&events.at_leave) {
            decoded.apply_event(event, of_event, context, &mut resolve);
        }
        attributes.add_differences(&decoded.descriptor, call.descriptor);
        if let Some(request) = call.request.filter(|_| decoded.created_request.is_none()) {
            attributes.add(CallAttribute::Request, request_id(request));
        }
        attributes
    }
}
