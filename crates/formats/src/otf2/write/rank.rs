//! The calls of one rank as events.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sintonia_recording::header::{End, Rank};
use sintonia_recording::table::Call;

use crate::error::Error;
use crate::otf2::attributes::{Attributes, Field};
use crate::otf2::chunks::{Content, Writer};
use crate::otf2::event::{Encoder, Event};
use crate::otf2::meaning::{Handle, Told};
use crate::otf2::write::process::{Missing, Moment, Process, number};
use crate::otf2::write::{Archive, DEFINITION_CHUNK, EVENT_CHUNK, definitions};

/// What was written of a rank.
pub struct WrittenRank {
    /// The rank.
    pub rank: u32,
    /// Its threads, the main one first.
    pub locations: Vec<Location>,
    /// When its last event was.
    pub end: u64,
    /// What OTF2 could not hold.
    pub missing: Missing,
}

/// What was written of a thread.
pub struct Location {
    /// Its number in the archive.
    pub id: u64,
    /// Its number in its process.
    pub thread: u16,
    /// How many events it has.
    pub events: u64,
}

/// The number of a thread's location: as Score-P numbers them.
pub fn location(rank: u32, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

/// Writes the events of a rank; one that left nothing has a location without events.
pub fn write(archive: &Archive, rank: u32) -> Result<WrittenRank, Error> {
    let mut out = RankWriter {
        archive,
        rank,
        threads: BTreeMap::new(),
        process: Process::new(&archive.places, rank),
        moment: Moment::default(),
        encoder: Encoder::default(),
        record: Vec::new(),
    };
    let about = archive.recording.header.rank(rank);
    out.begin(about)?;
    let mut calls = archive.recording.calls(rank)?;
    while let Some(call) = calls.next_call() {
        out.call(&call)?;
    }
    out.finish(about)
}

/// Writes the files of a location that has neither events nor definitions of its own.
pub fn write_nothing(archive: &Archive, location: u64) -> Result<(), Error> {
    Writer::create(archive.folder.join(format!("{location}.evt")), Content::Events, EVENT_CHUNK)?.finish()?;
    write_no_definitions(archive, location)
}

/// A location's numbers and clock are those of all, so there is nothing to define; but readers expect the file.
fn write_no_definitions(archive: &Archive, location: u64) -> Result<(), Error> {
    let path = archive.folder.join(format!("{location}.def"));
    Writer::create(path, Content::Definitions, DEFINITION_CHUNK)?.finish().map(|_| ())
}

struct RankWriter<'a> {
    archive: &'a Archive<'a>,
    rank: u32,
    threads: BTreeMap<u16, Writer>,
    process: Process<'a>,
    /// The events of the latest call.
    moment: Moment,
    encoder: Encoder,
    record: Vec<u8>,
}

impl RankWriter<'_> {
    fn begin(&mut self, about: Option<&Rank>) -> Result<(), Error> {
        self.thread(0)?;
        if let Some(rank) = about {
            let mut attributes = Attributes::default();
            attributes.add(Field::ProcessId, rank.pid.into());
            self.put(0, self.archive.timeline.at(rank.begin_ns), &self.archive.program.clone(), &attributes)?;
        }
        Ok(())
    }

    fn finish(mut self, about: Option<&Rank>) -> Result<WrittenRank, Error> {
        if let Some(rank) = about.filter(|rank| rank.end != End::CutShort) {
            let status = self.archive.recording.header.exit_status.map_or(i64::MIN, i64::from);
            let time = self.archive.timeline.at(rank.end_ns);
            self.put(0, time, &Event::ProgramEnd(status), &Attributes::default())?;
        }
        let (rank, end) = (self.rank, self.threads.values().map(Writer::now).max().unwrap_or(0));
        let mut locations = Vec::new();
        for (thread, writer) in self.threads {
            write_no_definitions(self.archive, location(rank, thread))?;
            locations.push(Location { id: location(rank, thread), thread, events: writer.finish()? });
        }
        Ok(WrittenRank { rank, locations, end, missing: self.process.missing })
    }

    fn thread(&mut self, thread: u16) -> Result<&mut Writer, Error> {
        match self.threads.entry(thread) {
            Entry::Occupied(writer) => Ok(writer.into_mut()),
            Entry::Vacant(place) => {
                let path = self.archive.folder.join(format!("{}.evt", location(self.rank, thread)));
                Ok(place.insert(Writer::create(path, Content::Events, EVENT_CHUNK)?))
            }
        }
    }

    fn put(&mut self, thread: u16, time: u64, event: &Event, attributes: &Attributes) -> Result<(), Error> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        attributes.put(&mut record);
        self.encoder.put(event, &mut record);
        let put = self.thread(thread)?.event(time, &record);
        self.record = record;
        put
    }

    fn call(&mut self, call: &Call) -> Result<(), Error> {
        let mut moment = std::mem::take(&mut self.moment);
        moment.clear();
        self.process.understand(call, &mut moment);
        let attributes = self.attributes(call, &moment);
        let (enter, leave) = (self.archive.timeline.at(call.enter), self.archive.timeline.at(call.leave));
        let region = definitions::region(call.shape.operation);
        self.put(call.thread, enter, &Event::Enter(region), &attributes)?;
        for (event, attributes) in &moment.at_enter {
            self.put(call.thread, enter, event, attributes)?;
        }
        for (event, attributes) in &moment.at_leave {
            self.put(call.thread, leave, event, attributes)?;
        }
        self.put(call.thread, leave, &Event::Leave(region), &Attributes::default())?;
        self.moment = moment;
        Ok(())
    }

    /// The attributes of a call: its site, and what its events do not tell.
    fn attributes(&self, call: &Call, moment: &Moment) -> Attributes {
        let mut attributes = Attributes::default();
        if let Some((context, line)) = self.archive.sites.of(call.shape.site) {
            if let Some(line) = line {
                attributes.add(Field::SourceLine, line.into());
            }
            attributes.add(Field::Site, context.into());
        }
        let teller = self.process.teller();
        let mut told = Told::of(call.shape.operation);
        let mut listed = call.listed().map(|(_, listed)| listed.request);
        let mut resolve = |_: Handle| listed.next();
        for (event, of_event) in moment.at_enter.iter().chain(&moment.at_leave) {
            told.add(event, of_event, teller, &mut resolve);
        }
        attributes.add_differences(&told.shape, call.shape);
        if let Some(request) = call.request.filter(|_| told.made.is_none()) {
            attributes.add(Field::Request, number(request));
        }
        attributes
    }
}
