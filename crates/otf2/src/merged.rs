//! The events of several locations in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::attribute_list::AttributeList;
use crate::error::Error;
use crate::event::Event;
use crate::reader::{ArchiveReader, EventReader};
use crate::reference::LocationRef;

/// An event with its location and time.
#[derive(Clone, Debug, PartialEq)]
pub struct LocatedEvent {
    /// The location.
    pub location: LocationRef,
    /// The time in ticks of the archive's clock.
    pub time: u64,
    /// The event.
    pub event: Event,
}

/// Reads the events of several locations in the order of time; those of the same time in the order of the locations. After an error there
/// are no more.
pub struct MergedEvents {
    streams: Vec<Stream>,
    /// Time and stream of the next event of each stream.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// The stream of the latest event.
    latest: Option<usize>,
}

struct Stream {
    location: LocationRef,
    events: EventReader,
    next: Option<Event>,
}

impl MergedEvents {
    /// Opens the events of these locations.
    pub fn open(archive: &ArchiveReader, locations: impl IntoIterator<Item = LocationRef>) -> Result<MergedEvents, Error> {
        let mut merged = MergedEvents { streams: Vec::new(), order: BinaryHeap::new(), latest: None };
        for location in locations {
            merged.streams.push(Stream { location, events: archive.events(location)?, next: None });
            merged.advance(merged.streams.len() - 1)?;
        }
        Ok(merged)
    }

    /// The attributes of the latest event.
    pub fn attributes(&self) -> Option<&AttributeList> {
        self.latest.map(|stream| self.streams[stream].events.attributes())
    }

    fn advance(&mut self, stream: usize) -> Result<(), Error> {
        if let Some((time, event)) = self.streams[stream].events.next().transpose()? {
            self.streams[stream].next = Some(event);
            self.order.push(Reverse((time, stream)));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<LocatedEvent>, Error> {
        // The attributes of an event live until its reader goes on.
        if let Some(latest) = self.latest.take() {
            self.advance(latest)?;
        }
        let Some(Reverse((time, index))) = self.order.pop() else { return Ok(None) };
        self.latest = Some(index);
        let stream = &mut self.streams[index];
        Ok(stream.next.take().map(|event| LocatedEvent { location: stream.location, time, event }))
    }
}

impl Iterator for MergedEvents {
    type Item = Result<LocatedEvent, Error>;

    fn next(&mut self) -> Option<Result<LocatedEvent, Error>> {
        let read = self.read().transpose();
        if matches!(read, Some(Err(_))) {
            self.order.clear();
        }
        read
    }
}
