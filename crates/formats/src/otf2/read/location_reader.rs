//! Reads the events of one location in global time.

use std::path::Path;

use crate::error::Error;
use crate::otf2::attributes::{AttributeList, CallAttribute};
use crate::otf2::chunks::{ChunkContent, ChunkReader};
use crate::otf2::event::{self, ATTRIBUTE_LIST, DecodedRecord, EventRecord};
use crate::otf2::id_table::IdTable;
use crate::otf2::local_definitions::{self, LocalDefinitions};

/// Reads the events of a location.
pub(super) struct LocationReader {
    chunks: ChunkReader,
    definitions: LocalDefinitions,
    time: u64,
    /// Attributes of the latest event.
    pub attributes: AttributeList,
}

impl LocationReader {
    /// Opens the files of a location in an archive's folder.
    pub(super) fn open(folder: &Path, id: u64, definition_chunk: u64, event_chunk: u64) -> Result<LocationReader, Error> {
        let definitions = local_definitions::read(&folder.join(format!("{id}.def")), definition_chunk)?;
        let chunks = ChunkReader::open(&folder.join(format!("{id}.evt")), ChunkContent::Events, event_chunk)?;
        Ok(LocationReader { chunks, definitions, time: 0, attributes: AttributeList::default() })
    }

    /// The error for too deeply nested regions.
    pub(super) fn nesting_error(&self) -> Error {
        self.chunks.malformed(self.chunks.position(), "regions are nested too deeply")
    }

    /// Largest clock deviation in ticks.
    pub(super) fn clock_deviation(&self) -> f64 {
        self.definitions.clock.deviation
    }

    /// The next MPI-related event with its time. Times are monotonic.
    pub(super) fn next_event(&mut self, fields: &IdTable<CallAttribute>) -> Result<Option<(u64, EventRecord)>, Error> {
        self.attributes.clear();
        loop {
            let at = self.chunks.position();
            let Some(record) = self.chunks.next_record(event::implicit_length)? else { return Ok(None) };
            let (kind, time) = (record.record_type, record.time);
            let understood = if kind == ATTRIBUTE_LIST {
                let read = self.attributes.decode(record.content, &self.definitions.ids, |number| fields.get(number).copied());
                read.map_or(DecodedRecord::Malformed, |()| DecodedRecord::Ignored)
            } else {
                event::decode_event(kind, record.content, &self.definitions.ids)
            };
            match understood {
                DecodedRecord::Event(event) => {
                    self.time = self.time.max(self.definitions.clock.correct(time));
                    return Ok(Some((self.time, event)));
                }
                DecodedRecord::Ignored if kind != ATTRIBUTE_LIST => self.attributes.clear(),
                DecodedRecord::Ignored => {}
                DecodedRecord::Malformed => return Err(self.chunks.malformed(at, format!("invalid event of type {kind}"))),
            }
        }
    }
}
