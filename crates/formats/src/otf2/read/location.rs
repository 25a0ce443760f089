//! The events of one location, in order, on the clock of all.

use std::path::Path;

use crate::error::Error;
use crate::otf2::attributes::{Attributes, Field};
use crate::otf2::chunks::{Chunks, Content};
use crate::otf2::event::{self, ATTRIBUTES, Event, Read};
use crate::otf2::local::{self, Local};
use crate::otf2::table::Table;

/// Reads the events of a location.
pub struct Location {
    chunks: Chunks,
    local: Local,
    now: u64,
    /// The attributes of the latest event.
    pub attributes: Attributes,
}

impl Location {
    /// Opens the files of a location in the folder of an archive.
    pub fn open(folder: &Path, id: u64, definition_chunk: u64, event_chunk: u64) -> Result<Location, Error> {
        let local = local::read(&folder.join(format!("{id}.def")), definition_chunk)?;
        let chunks = Chunks::open(&folder.join(format!("{id}.evt")), Content::Events, event_chunk)?;
        Ok(Location { chunks, local, now: 0, attributes: Attributes::default() })
    }

    /// The regions of its program are inside each other without end.
    pub fn too_deep(&self) -> Error {
        self.chunks.malformed(self.chunks.position(), "more regions have begun than a program can be in")
    }

    /// How wrong its clock can be, in ticks.
    pub fn deviation(&self) -> f64 {
        self.local.clock.deviation
    }

    /// The next event that says something of MPI, and when it was. Time does not go back.
    pub fn next(&mut self, fields: &Table<Field>) -> Result<Option<(u64, Event)>, Error> {
        self.attributes.clear();
        loop {
            let at = self.chunks.position();
            let Some(record) = self.chunks.next(event::bare_length)? else { return Ok(None) };
            let (kind, time) = (record.kind, record.time);
            let understood = if kind == ATTRIBUTES {
                let read = self.attributes.read(record.content, &self.local.ids, |number| fields.get(number).copied());
                read.map_or(Read::Malformed, |()| Read::Other)
            } else {
                event::read(kind, record.content, &self.local.ids)
            };
            match understood {
                Read::Event(event) => {
                    self.now = self.now.max(self.local.clock.correct(time));
                    return Ok(Some((self.now, event)));
                }
                Read::Other if kind != ATTRIBUTES => self.attributes.clear(),
                Read::Other => {}
                Read::Malformed => return Err(self.chunks.malformed(at, format!("an event of kind {kind} makes no sense"))),
            }
        }
    }
}
