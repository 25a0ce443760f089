//! Writes an archive.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::anchor::{AnchorFile, MAX_CHUNK_SIZE};
use crate::attribute_list::AttributeList;
use crate::chunks::{ChunkContent, ChunkWriter};
use crate::definition::Definition;
use crate::error::{Error, PathContext};
use crate::event::Event;
use crate::local_definition::LocalDefinition;
use crate::reference::{LocationRef, StringRef};

/// Size of event chunks: OTF2's minimum, because each open writer holds one.
const EVENT_CHUNK_SIZE: u64 = 256 << 10;
/// Size of definition chunks, unless a definition needs more.
const DEFINITION_CHUNK_SIZE: u64 = 4 << 20;

/// Writes an archive: `NAME.otf2`, the anchor file, with `NAME.def` and the folder `NAME` beside it.
///
/// The events of each location are written by an [`EventWriter`] of its own, in any order and from any thread. The definitions are kept in
/// memory, encoded, until [`finish`](ArchiveWriter::finish) writes them and the anchor file; without it there is no archive.
pub struct ArchiveWriter {
    path: PathBuf,
    folder: PathBuf,
    anchor: AnchorFile,
    /// The definitions as records.
    records: Vec<u8>,
    /// End of each record.
    ends: Vec<usize>,
    strings: HashMap<String, StringRef>,
}

impl ArchiveWriter {
    /// Begins an archive with this anchor file `NAME.otf2`; the folder `NAME` is created if it does not exist.
    pub fn create(path: impl AsRef<Path>) -> Result<ArchiveWriter, Error> {
        let path = path.as_ref().to_owned();
        if path.extension().is_none_or(|ending| ending != "otf2") {
            return Err(Error::InvalidName { path });
        }
        let folder = path.with_extension("");
        fs::create_dir_all(&folder).with_path(&folder)?;
        let anchor = AnchorFile {
            event_chunk_size: EVENT_CHUNK_SIZE,
            definition_chunk_size: DEFINITION_CHUNK_SIZE,
            location_count: 0,
            definition_count: 0,
            machine_name: String::new(),
            creator: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).into(),
            description: String::new(),
            properties: Vec::new(),
        };
        Ok(ArchiveWriter { path, folder, anchor, records: Vec::new(), ends: Vec::new(), strings: HashMap::new() })
    }

    /// Says where the trace was made.
    pub fn set_machine_name(&mut self, name: impl Into<String>) {
        self.anchor.machine_name = name.into();
    }

    /// Says which tool makes the archive.
    pub fn set_creator(&mut self, creator: impl Into<String>) {
        self.anchor.creator = creator.into();
    }

    /// Says what the trace is about.
    pub fn set_description(&mut self, description: impl Into<String>) {
        self.anchor.description = description.into();
    }

    /// Adds a trace property, such as `OTF2::MPI_COMMUNICATION_COMPLETE`.
    pub fn add_property(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.anchor.properties.push((name.into(), value.into()));
    }

    /// The reference of a string, which is defined on first use.
    pub fn string(&mut self, text: &str) -> StringRef {
        if let Some(reference) = self.strings.get(text) {
            return *reference;
        }
        let reference = StringRef(self.strings.len() as u32);
        self.strings.insert(text.to_owned(), reference);
        self.define(&Definition::String { reference, string: text.to_owned() });
        reference
    }

    /// Adds a definition. What it refers to should be defined before; strings by [`string`](ArchiveWriter::string), which numbers them.
    pub fn define(&mut self, definition: &Definition) {
        self.anchor.location_count += u64::from(matches!(definition, Definition::Location { .. }));
        definition.encode(&mut self.records);
        self.ends.push(self.records.len());
    }

    /// Begins the events of a location.
    pub fn events(&self, location: LocationRef) -> Result<EventWriter, Error> {
        let file = |ending: &str| self.folder.join(format!("{}.{ending}", location.0));
        Ok(EventWriter {
            chunks: ChunkWriter::create(file("evt"), ChunkContent::Events, EVENT_CHUNK_SIZE)?,
            definitions_path: file("def"),
            local: Vec::new(),
            record: Vec::new(),
        })
    }

    /// Writes the definitions and the anchor file.
    pub fn finish(mut self) -> Result<(), Error> {
        self.write_definitions()?;
        self.anchor.definition_count = self.ends.len() as u64;
        fs::write(&self.path, self.anchor.encode()).with_path(&self.path)
    }

    fn write_definitions(&mut self) -> Result<(), Error> {
        let path = self.path.with_extension("def");
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let records = begins.zip(&self.ends).map(|(begin, end)| &self.records[begin..*end]);
        let longest = records.clone().map(<[u8]>::len).max().unwrap_or(0);
        let chunk_size = ChunkWriter::min_chunk_size(longest).max(DEFINITION_CHUNK_SIZE);
        if chunk_size > MAX_CHUNK_SIZE {
            return Err(Error::RecordTooLong { path, bytes: longest });
        }
        self.anchor.definition_chunk_size = chunk_size;
        let mut chunks = ChunkWriter::create(path, ChunkContent::Definitions, chunk_size)?;
        for record in records {
            chunks.write_definition(record)?;
        }
        chunks.finish().map(|_| ())
    }
}

/// Writes the events of a location.
pub struct EventWriter {
    chunks: ChunkWriter,
    definitions_path: PathBuf,
    local: Vec<LocalDefinition>,
    /// The record that is being written.
    record: Vec<u8>,
}

impl EventWriter {
    /// Adds a definition that is valid for this location.
    pub fn define(&mut self, definition: LocalDefinition) {
        self.local.push(definition);
    }

    /// Appends an event. A time before the latest one becomes the latest one.
    #[inline]
    pub fn write(&mut self, time: u64, event: &Event) -> Result<(), Error> {
        self.record.clear();
        event.encode(&mut self.record);
        self.chunks.write_event(time, &self.record)
    }

    /// Appends an event with attributes. A time before the latest one becomes the latest one.
    #[inline]
    pub fn write_with(&mut self, time: u64, event: &Event, attributes: &AttributeList) -> Result<(), Error> {
        self.record.clear();
        attributes.encode(&mut self.record);
        event.encode(&mut self.record);
        self.chunks.write_event(time, &self.record)
    }

    /// Time of the latest event; 0 if there is none.
    pub fn last_time(&self) -> u64 {
        self.chunks.last_time()
    }

    /// Completes the files of the location; returns the number of events, which its definition needs.
    pub fn finish(self) -> Result<u64, Error> {
        // Readers expect the file even if nothing is defined.
        let mut definitions = ChunkWriter::create(self.definitions_path, ChunkContent::Definitions, DEFINITION_CHUNK_SIZE)?;
        for definition in &self.local {
            let mut record = Vec::new();
            definition.encode(&mut record);
            definitions.write_definition(&record)?;
        }
        definitions.finish()?;
        self.chunks.finish()
    }
}
