//! Writes the calls of one rank as events.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sintonia_otf2::reference::LocationRef;
use sintonia_otf2::{ArchiveWriter, AttributeList, EventWriter};
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::header::{ProcessExit, RecordedRank};

use crate::error::Error;
use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::decoded_call::{DecodedCall, RequestHandle};
use crate::otf2::event::MpiEvent;
use crate::otf2::properties::Property;
use crate::otf2::write::counter_writer::PendingReadings;
use crate::otf2::write::event_builder::{CallEvents, EventBuilder, UnmappedOperations, request_id};
use crate::otf2::write::sample_writer::PendingSamples;
use crate::otf2::write::{ExportContext, definitions};

/// A written rank.
pub(super) struct WrittenRank {
    pub rank: u32,
    /// Its threads, the main one first.
    pub locations: Vec<LocationSummary>,
    /// Time of its last event.
    pub last_time: u64,
    /// What OTF2 could not express.
    pub unmapped: UnmappedOperations,
    /// What was counted.
    pub counter_properties: Vec<Property>,
}

/// A written location.
pub(super) struct LocationSummary {
    pub id: u64,
    /// Its thread number.
    pub thread: u16,
    /// Number of events.
    pub event_count: u64,
    /// How many samples were lost.
    pub lost_samples: u64,
}

/// The location id of a thread, numbered as by Score-P.
pub(super) fn location_id(rank: u32, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

/// Writes the events of a rank; a rank without data has a location without events.
pub(super) fn write(context: &ExportContext, archive: &ArchiveWriter, rank: u32) -> Result<WrittenRank, Error> {
    let samples = if context.has_samples { PendingSamples::read(context.recording, rank)? } else { PendingSamples::default() };
    let readings = PendingReadings::read(context.recording, &context.metric_classes, rank, context.has_samples)?;
    let mut out = RankEventWriter {
        context,
        archive,
        rank,
        threads: BTreeMap::new(),
        event_builder: EventBuilder::new(&context.comm_ranks, rank),
        events: CallEvents::default(),
        attributes: AttributeList::new(),
        samples,
        readings,
    };
    let about = context.recording.header.rank(rank);
    out.begin(about)?;
    let mut calls = context.recording.calls(rank)?;
    while let Some(call) = calls.next_call() {
        out.write_call(&call)?;
    }
    out.finish(about)
}

struct RankEventWriter<'a> {
    context: &'a ExportContext<'a>,
    archive: &'a ArchiveWriter,
    rank: u32,
    threads: BTreeMap<u16, EventWriter>,
    event_builder: EventBuilder<'a>,
    /// The events of the current call.
    events: CallEvents,
    /// The attributes of the current event.
    attributes: AttributeList,
    samples: PendingSamples,
    /// The counters.
    readings: PendingReadings,
}

impl RankEventWriter<'_> {
    fn begin(&mut self, about: Option<&RecordedRank>) -> Result<(), Error> {
        self.event_writer(0)?;
        if let Some(rank) = about {
            let mut attributes = CallAttributeList::default();
            attributes.add(CallAttribute::ProcessId, rank.pid.into());
            // The program began before its first sample, which can be before the first call.
            let begin = self.samples.next_time(0).map_or(rank.begin_ns, |time| time.min(rank.begin_ns));
            self.write_event(0, self.context.time_origin.relative_ns(begin), &self.context.program_begin.clone(), &attributes)?;
        }
        Ok(())
    }

    fn finish(mut self, about: Option<&RecordedRank>) -> Result<WrittenRank, Error> {
        for thread in self.samples.threads().into_iter().chain(self.readings.threads()) {
            self.event_writer(thread)?;
            self.write_between(thread, i64::MAX, None)?;
        }
        if let Some(rank) = about.filter(|rank| rank.end != ProcessExit::CutShort) {
            let status = self.context.recording.header.exit_status.map_or(i64::MIN, i64::from);
            let time = self.context.time_origin.relative_ns(rank.end_ns);
            self.write_event(0, time, &MpiEvent::ProgramEnd(status), &CallAttributeList::default())?;
        }
        let (rank, end) = (self.rank, self.threads.values().map(EventWriter::last_time).max().unwrap_or(0));
        let mut locations = Vec::new();
        for (thread, writer) in self.threads {
            let (event_count, lost_samples) = (writer.finish()?, self.samples.lost(thread));
            locations.push(LocationSummary { id: location_id(rank, thread), thread, event_count, lost_samples });
        }
        let (unmapped, counter_properties) = (self.event_builder.unmapped, self.readings.properties);
        Ok(WrittenRank { rank, locations, last_time: end, unmapped, counter_properties })
    }

    fn event_writer(&mut self, thread: u16) -> Result<&mut EventWriter, Error> {
        match self.threads.entry(thread) {
            Entry::Occupied(writer) => Ok(writer.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(self.archive.events(LocationRef(location_id(self.rank, thread)))?)),
        }
    }

    fn write_event(&mut self, thread: u16, time: u64, event: &MpiEvent, attributes: &CallAttributeList) -> Result<(), Error> {
        let mut list = std::mem::take(&mut self.attributes);
        attributes.write_to(&mut list);
        let written = self.event_writer(thread)?.write_with(time, &event.to_otf2(), &list);
        self.attributes = list;
        Ok(written?)
    }

    fn write_call(&mut self, call: &RecordedCall) -> Result<(), Error> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.event_builder.build_events(call, &mut events);
        let (enter, leave) = (self.context.time_origin.relative_ns(call.enter), self.context.time_origin.relative_ns(call.leave));
        let contexts = &self.context.calling_contexts;
        let call_context = contexts.context_of_call(call.descriptor.site, call.descriptor.function);
        let attributes = self.attributes(call, &events, call_context.is_some());
        self.write_between(call.thread, call.enter, None)?;
        let enter_event = match call_context {
            Some(context) => MpiEvent::CallingContextEnter(context, self.samples.enter(call.thread, context, contexts)),
            None => MpiEvent::Enter(definitions::region_id(call.descriptor.function)),
        };
        self.write_event(call.thread, enter, &enter_event, &attributes)?;
        for (event, attributes) in &events.at_enter {
            self.write_event(call.thread, enter, event, attributes)?;
        }
        self.write_between(call.thread, call.leave, call_context)?;
        for (event, attributes) in &events.at_leave {
            self.write_event(call.thread, leave, event, attributes)?;
        }
        let leave_event = match call_context {
            Some(context) => MpiEvent::CallingContextLeave(context),
            None => MpiEvent::Leave(definitions::region_id(call.descriptor.function)),
        };
        self.write_event(call.thread, leave, &leave_event, &CallAttributeList::default())?;
        if let Some(context) = call_context {
            self.samples.leave(call.thread, context, contexts);
        }
        self.events = events;
        Ok(())
    }

    /// Writes the samples of a thread before a time, in a call or in none, and its counters up to that time: a reading is before its event.
    fn write_between(&mut self, thread: u16, end: i64, call: Option<u32>) -> Result<(), Error> {
        let contexts = &self.context.calling_contexts;
        loop {
            let (sample, reading) = (self.samples.next_time(thread), self.readings.next_time(thread));
            let (sample, reading) = (sample.filter(|time| *time < end), reading.filter(|time| *time <= end));
            let next = match (sample, reading) {
                (None, None) => return Ok(()),
                (Some(sample), reading) if reading.is_none_or(|reading| sample < reading) => self.samples.next(thread, call, contexts),
                _ => self.readings.next(thread),
            };
            let Some((time, event, attributes)) = next else { return Ok(()) };
            self.write_event(thread, self.context.time_origin.relative_ns(time), &event, &attributes)?;
        }
    }

    /// The attributes of a call: its line, its site if it has no context, and what its events do not express.
    fn attributes(&self, call: &RecordedCall, events: &CallEvents, has_context: bool) -> CallAttributeList {
        let mut attributes = CallAttributeList::default();
        if let Some((context, line)) = self.context.calling_contexts.context_of_site(call.descriptor.site) {
            if let Some(line) = line {
                attributes.add(CallAttribute::SourceLine, line.into());
            }
            if !has_context {
                attributes.add(CallAttribute::CallSite, context.into());
            }
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
