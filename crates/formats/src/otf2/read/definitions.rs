//! Reads the MPI-related global definitions of an archive.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::otf2::attributes::CallAttribute;
use crate::otf2::buffer::{BufferReader, UNDEFINED_UINT32, UNDEFINED_UINT64};
use crate::otf2::chunks::{ChunkContent, ChunkReader};
use crate::otf2::definition_records::{
    DOMAIN_SHARED_MEMORY, LOCATION_CPU_THREAD, LOCATION_GROUP_PROCESS, MACHINE_NODE, MPI_IO, NANOSECOND_RESOLUTION, PARADIGM_MPI,
    group_type, kind, value_type,
};
use crate::otf2::id_table::IdTable;
use crate::otf2::properties::{self, PropertyValue};

/// The definitions by id, in file order.
#[derive(Default)]
pub(super) struct ArchiveDefinitions {
    /// Clock ticks per second.
    pub resolution: u64,
    /// The trace's start time in ticks.
    pub offset: u64,
    /// The start time in nanoseconds since 1970.
    pub real_time: Option<u64>,
    strings: IdTable<String>,
    /// Known attributes.
    pub attributes: IdTable<CallAttribute>,
    pub system_tree_nodes: HashMap<u32, SystemTreeNode>,
    /// Processes and other location groups.
    pub location_groups: Vec<LocationGroup>,
    /// Threads and other locations.
    pub locations: Vec<LocationDefinition>,
    /// Functions and other regions.
    pub regions: IdTable<RegionDefinition>,
    /// The locations that represent MPI ranks. EZTrace reuses the id of this group, so it is stored separately.
    pub comm_locations: Option<Vec<u64>>,
    /// Groups of processes.
    pub groups: HashMap<u32, GroupDefinition>,
    pub communicators: Vec<CommDefinition>,
    /// Windows and MPI-IO files.
    pub windows_and_files: Vec<WindowOrFile>,
    io_paradigms: HashMap<u8, String>,
    /// Source lines.
    pub source_code_locations: IdTable<SourceCodeLocation>,
    pub calling_contexts: Vec<CallingContext>,
    /// Sintonia's call sites by calling context: module and offset.
    pub call_sites: HashMap<u32, (String, u64)>,
    pub run_properties: Vec<(String, PropertyValue)>,
    /// Properties of processes.
    pub rank_properties: HashMap<u32, Vec<(String, PropertyValue)>>,
    pub thread_numbers: HashMap<u64, u64>,
}

/// A node of the system tree.
pub(super) struct SystemTreeNode {
    pub name: String,
    pub class: String,
    pub parent: u32,
    /// Whether it has shared memory.
    pub shared_memory: bool,
}

/// A process or an accelerator.
pub(super) struct LocationGroup {
    pub number: u32,
    /// Whether it is a process.
    pub is_process: bool,
    /// Its system tree node.
    pub node: u32,
}

/// A CPU thread, or another location.
pub(super) struct LocationDefinition {
    pub id: u64,
    /// Whether it is a thread.
    pub is_thread: bool,
    pub location_group: u32,
}

/// A function or another region.
#[derive(Clone)]
pub(super) struct RegionDefinition {
    pub name: String,
    /// Its mangled name.
    pub canonical_name: String,
    /// Its source file.
    pub file: Option<String>,
}

/// A group of processes.
pub(super) struct GroupDefinition {
    pub name: String,
    pub group_type: u8,
    pub members: Vec<u64>,
    /// The paradigm that uses it.
    pub paradigm: u8,
    pub flags: u32,
}

/// A communicator.
pub(super) struct CommDefinition {
    pub number: u32,
    pub name: String,
    /// The group of its members, and the remote group of an intercommunicator.
    pub groups: (u32, Option<u32>),
    /// The communicator it was created from.
    pub parent: u32,
}

/// A window or an MPI-IO file.
pub(super) struct WindowOrFile {
    /// Its number among those of its kind.
    pub number: u32,
    /// Whether it is a window.
    pub is_window: bool,
    pub communicator: u32,
}

/// A source line.
#[derive(Clone)]
pub(super) struct SourceCodeLocation {
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// A calling context.
pub(super) struct CallingContext {
    pub number: u32,
    /// The called region.
    pub region: u32,
    /// The line of the next call in it.
    pub source_code_location: u32,
    /// The calling context around it.
    pub parent: u32,
}

/// Reads the global definitions file.
pub(super) fn read(path: &Path, chunk: u64) -> Result<ArchiveDefinitions, Error> {
    let mut definitions = ArchiveDefinitions { resolution: NANOSECOND_RESOLUTION, ..ArchiveDefinitions::default() };
    let mut chunks = ChunkReader::open(path, ChunkContent::Definitions, chunk)?;
    loop {
        let at = chunks.position();
        let Some(record) = chunks.next_record(|_, _| None)? else { break };
        let kind = record.record_type;
        let understood = definitions.add_record(kind, record.content);
        understood.ok_or_else(|| chunks.malformed(at, format!("invalid definition of type {kind}")))?;
    }
    Ok(definitions)
}

impl ArchiveDefinitions {
    /// A string; `None` if undefined.
    pub(super) fn string(&self, number: u32) -> Option<&str> {
        self.strings.get(number).map(String::as_str)
    }

    /// Whether Sintonia wrote the archive, with its properties.
    pub(super) fn is_from_sintonia(&self) -> bool {
        !self.run_properties.is_empty()
    }

    fn string_or_empty(&self, number: u32) -> String {
        self.string(number).unwrap_or_default().to_owned()
    }

    fn add_record(&mut self, kind: u8, mut content: BufferReader) -> Option<()> {
        let content = &mut content;
        match kind {
            kind::CLOCK_PROPERTIES => self.add_clock(content)?,
            kind::STRING => self.strings.insert(content.u32()?, content.string()?),
            kind::ATTRIBUTE => {
                let (number, name) = (content.u32()?, content.u32()?);
                if let Some(field) = self.string(name).and_then(CallAttribute::from_name) {
                    self.attributes.insert(number, field);
                }
            }
            kind::SYSTEM_TREE_NODE => {
                let (number, name, class, parent) = (content.u32()?, content.u32()?, content.u32()?, content.u32()?);
                let (name, class) = (self.string_or_empty(name), self.string_or_empty(class));
                self.system_tree_nodes.insert(number, SystemTreeNode { name, class, parent, shared_memory: false });
            }
            kind::SYSTEM_TREE_NODE_DOMAIN => {
                let (number, domain) = (content.u32()?, content.u8()?);
                if let Some(node) = self.system_tree_nodes.get_mut(&number) {
                    node.shared_memory |= domain == DOMAIN_SHARED_MEMORY;
                }
            }
            kind::LOCATION_GROUP => {
                let (number, _name, kind, node) = (content.u32()?, content.u32()?, content.u8()?, content.u32()?);
                self.location_groups.push(LocationGroup { number, is_process: kind == LOCATION_GROUP_PROCESS, node });
            }
            kind::LOCATION => {
                let (id, _name, kind, _events, process) = (content.u64()?, content.u32()?, content.u8()?, content.u64()?, content.u32()?);
                self.locations.push(LocationDefinition { id, is_thread: kind == LOCATION_CPU_THREAD, location_group: process });
            }
            kind::REGION => self.add_region(content)?,
            kind::GROUP => self.add_group(content)?,
            kind::COMM | kind::INTER_COMM => self.add_communicator(kind, content)?,
            kind::RMA_WIN => {
                let (number, _name, communicator) = (content.u32()?, content.u32()?, content.u32()?);
                self.windows_and_files.push(WindowOrFile { number, is_window: true, communicator });
            }
            kind::IO_PARADIGM => {
                let (number, name) = (content.u8()?, content.u32()?);
                self.io_paradigms.insert(number, self.string_or_empty(name));
            }
            kind::IO_HANDLE => self.add_file(content)?,
            kind::SOURCE_CODE_LOCATION => {
                let (number, file, line) = (content.u32()?, content.u32()?, content.u32()?);
                let file = self.string(file).filter(|file| !file.is_empty()).map(str::to_owned);
                self.source_code_locations
                    .insert(number, SourceCodeLocation { file, line: Some(line).filter(|line| *line != 0 && *line != UNDEFINED_UINT32) });
            }
            kind::CALLING_CONTEXT => {
                let (number, region, line, parent) = (content.u32()?, content.u32()?, content.u32()?, content.u32()?);
                self.calling_contexts.push(CallingContext { number, region, source_code_location: line, parent });
            }
            kind::SYSTEM_TREE_NODE_PROPERTY => {
                let (node, (name, value)) = (content.u32()?, self.legacy_property(content)?);
                if node == MACHINE_NODE && name.starts_with(properties::PREFIX) {
                    self.run_properties.push((name, value));
                }
            }
            kind::LOCATION_GROUP_PROPERTY => {
                let (process, property) = (content.u32()?, self.legacy_property(content)?);
                self.rank_properties.entry(process).or_default().push(property);
            }
            kind::LOCATION_PROPERTY => {
                let (location, property) = (content.u64()?, self.legacy_property(content)?);
                if let (properties::THREAD, PropertyValue::Uint64(thread)) = (property.0.as_str(), property.1) {
                    self.thread_numbers.insert(location, thread);
                }
            }
            kind::CALLING_CONTEXT_PROPERTY => self.add_site(content)?,
            _ => {}
        }
        Some(())
    }

    fn add_clock(&mut self, content: &mut BufferReader) -> Option<()> {
        (self.resolution, self.offset) = (content.u64()?.max(1), content.u64()?);
        let _length = content.u64()?;
        // Old archives have no real time.
        self.real_time = content.u64().filter(|time| *time != UNDEFINED_UINT64);
        Some(())
    }

    fn add_region(&mut self, content: &mut BufferReader) -> Option<()> {
        let (number, name, _about, _kind) = (content.u32()?, content.u32()?, content.u32()?, content.u8()?);
        let (file, _begin, _end) = (content.u32()?, content.u32()?, content.u32()?);
        let canonical = content.u32().unwrap_or(name);
        let file = self.string(file).filter(|file| !file.is_empty()).map(str::to_owned);
        self.regions
            .insert(number, RegionDefinition { name: self.string_or_empty(name), canonical_name: self.string_or_empty(canonical), file });
        Some(())
    }

    fn add_group(&mut self, content: &mut BufferReader) -> Option<()> {
        let (number, name, old_kind, count) = (content.u32()?, content.u32()?, content.u8()?, content.u32()?);
        // Each member takes at least a byte: refuse absurd counts before allocating.
        if count as usize > content.remaining() {
            return None;
        }
        let members = (0..count).map(|_| content.u64()).collect::<Option<Vec<u64>>>()?;
        // Old archives have only MPI groups, and end here.
        let (kind, paradigm) = (content.u8().unwrap_or(old_kind), content.u8().unwrap_or(PARADIGM_MPI));
        if (kind, paradigm) == (group_type::COMM_LOCATIONS, PARADIGM_MPI) {
            self.comm_locations.get_or_insert(members);
            return Some(());
        }
        self.groups.insert(
            number,
            GroupDefinition { name: self.string_or_empty(name), group_type: kind, members, paradigm, flags: content.u32().unwrap_or(0) },
        );
        Some(())
    }

    fn add_communicator(&mut self, kind: u8, content: &mut BufferReader) -> Option<()> {
        let (number, name, group) = (content.u32()?, content.u32()?, content.u32()?);
        let other = if kind == kind::INTER_COMM { Some(content.u32()?) } else { None };
        self.communicators.push(CommDefinition {
            number,
            name: self.string_or_empty(name),
            groups: (group, other),
            parent: content.u32()?,
        });
        Some(())
    }

    fn add_file(&mut self, content: &mut BufferReader) -> Option<()> {
        let (number, _name, _file, paradigm) = (content.u32()?, content.u32()?, content.u32()?, content.u8()?);
        let (_flags, communicator) = (content.u32()?, content.u32()?);
        if self.io_paradigms.get(&paradigm).is_some_and(|name| name == MPI_IO) {
            self.windows_and_files.push(WindowOrFile { number, is_window: false, communicator });
        }
        Some(())
    }

    fn add_site(&mut self, content: &mut BufferReader) -> Option<()> {
        let (context, name) = (content.u32()?, content.u32()?);
        let value = self.property_value(content)?;
        match (self.string(name), value) {
            (Some(properties::MODULE), PropertyValue::String(module)) => self.call_sites.entry(context).or_default().0 = module,
            (Some(properties::OFFSET), PropertyValue::Uint64(offset)) => self.call_sites.entry(context).or_default().1 = offset,
            _ => {}
        }
        Some(())
    }

    /// A property of a type that used to be a string.
    fn legacy_property(&self, content: &mut BufferReader) -> Option<(String, PropertyValue)> {
        let (name, text) = (content.u32()?, content.u32()?);
        let value =
            if content.remaining() == 0 { PropertyValue::String(self.string_or_empty(text)) } else { self.property_value(content)? };
        Some((self.string_or_empty(name), value))
    }

    fn property_value(&self, content: &mut BufferReader) -> Option<PropertyValue> {
        match content.u8()? {
            value_type::STRING => content.u32().map(|text| PropertyValue::String(self.string_or_empty(text))),
            value_type::UINT64 => content.u64().map(PropertyValue::Uint64),
            value_type::INT64 => content.u64().map(|number| PropertyValue::Int64(number as i64)),
            value_type::DOUBLE => content.f64().map(PropertyValue::Double),
            // Other types are not used here.
            _ => Some(PropertyValue::Uint64(0)),
        }
    }
}
