//! Reads an archive.

use std::path::{Path, PathBuf};

use crate::anchor::AnchorFile;
use crate::attribute_list::{ATTRIBUTE_LIST, AttributeList};
use crate::chunks::{ChunkContent, ChunkReader};
use crate::definition::Definition;
use crate::error::Error;
use crate::event::Event;
use crate::id_mappings::IdMappings;
use crate::local_definition::{self, LocalDefinitions};
use crate::reference::LocationRef;

/// An archive whose anchor file has been read.
#[derive(Clone, Debug)]
pub struct ArchiveReader {
    anchor: AnchorFile,
    path: PathBuf,
}

impl ArchiveReader {
    /// Opens an archive by its anchor file `NAME.otf2`.
    pub fn open(path: impl AsRef<Path>) -> Result<ArchiveReader, Error> {
        let path = path.as_ref().to_owned();
        Ok(ArchiveReader { anchor: AnchorFile::read(&path)?, path })
    }

    /// The content of the anchor file.
    pub fn anchor(&self) -> &AnchorFile {
        &self.anchor
    }

    /// The file of the global definitions.
    pub fn definitions_path(&self) -> PathBuf {
        self.path.with_extension("def")
    }

    /// Reads the global definitions, in file order.
    pub fn definitions(&self) -> Result<DefinitionReader, Error> {
        let chunks = ChunkReader::open(&self.definitions_path(), ChunkContent::Definitions, self.anchor.definition_chunk_size)?;
        Ok(DefinitionReader { chunks, ids: IdMappings::default(), ended: false })
    }

    /// Reads the events of a location.
    pub fn events(&self, location: LocationRef) -> Result<EventReader, Error> {
        let folder = self.path.with_extension("");
        let (definitions, events) = (folder.join(format!("{}.def", location.0)), folder.join(format!("{}.evt", location.0)));
        Ok(EventReader {
            local: local_definition::read(&definitions, self.anchor.definition_chunk_size)?,
            chunks: ChunkReader::open(&events, ChunkContent::Events, self.anchor.event_chunk_size)?,
            time: 0,
            attributes: AttributeList::new(),
            ended: false,
        })
    }
}

/// Reads global definitions. After an error there are no more.
pub struct DefinitionReader {
    chunks: ChunkReader,
    ids: IdMappings,
    ended: bool,
}

impl DefinitionReader {
    fn read(&mut self) -> Result<Option<Definition>, Error> {
        let at = self.chunks.position();
        let Some(mut record) = self.chunks.next_record(|_, _| None)? else { return Ok(None) };
        let record_type = record.record_type;
        let definition = Definition::decode(record_type, &mut record.content, &self.ids);
        definition.map(Some).ok_or_else(|| self.chunks.malformed(at, format!("invalid definition of type {record_type}")))
    }
}

impl Iterator for DefinitionReader {
    type Item = Result<Definition, Error>;

    fn next(&mut self) -> Option<Result<Definition, Error>> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}

/// Reads the events of a location: local ids replaced by global ones, times corrected and never going back. After an error there are no
/// more.
pub struct EventReader {
    chunks: ChunkReader,
    local: LocalDefinitions,
    time: u64,
    attributes: AttributeList,
    ended: bool,
}

impl EventReader {
    /// The attributes of the latest event.
    pub fn attributes(&self) -> &AttributeList {
        &self.attributes
    }

    /// The largest deviation of the location's clock, in ticks.
    pub fn clock_deviation(&self) -> f64 {
        self.local.clock.deviation
    }

    /// The file of the events.
    pub fn path(&self) -> &Path {
        self.chunks.path()
    }

    /// The offset of the next record in the file.
    pub fn position(&self) -> u64 {
        self.chunks.position()
    }

    fn read(&mut self) -> Result<Option<(u64, Event)>, Error> {
        self.attributes.clear();
        loop {
            let at = self.chunks.position();
            let Some(mut record) = self.chunks.next_record(Event::implicit_length)? else { return Ok(None) };
            let (record_type, time) = (record.record_type, record.time);
            let event = if record_type == ATTRIBUTE_LIST {
                if self.attributes.decode(&mut record.content, &self.local.ids).is_some() {
                    continue;
                }
                None
            } else {
                Event::decode(record_type, &mut record.content, &self.local.ids)
            };
            let event = event.ok_or_else(|| self.chunks.malformed(at, format!("invalid event of type {record_type}")))?;
            self.time = self.time.max(self.local.clock.correct(time));
            return Ok(Some((self.time, event)));
        }
    }
}

/// Each event with its time in ticks of the archive's clock.
impl Iterator for EventReader {
    type Item = Result<(u64, Event), Error>;

    #[inline]
    fn next(&mut self) -> Option<Result<(u64, Event), Error>> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}
