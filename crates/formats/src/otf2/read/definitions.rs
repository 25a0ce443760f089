//! Reads the MPI-related global definitions of an archive.

use std::collections::HashMap;

use sintonia_otf2::buffer::{UNDEFINED_UINT32, UNDEFINED_UINT64};
use sintonia_otf2::code::{
    Base, GroupFlags, GroupType, InterruptGeneratorMode, LocationGroupType, LocationType, MetricMode, MetricOccurrence, Paradigm,
    SystemTreeDomain, ValueType,
};
use sintonia_otf2::reference::StringRef;
use sintonia_otf2::{ArchiveReader, Definition, Group, Value};

use crate::error::Error;
use crate::otf2::attributes::CallAttribute;
use crate::otf2::id_table::IdTable;
use crate::otf2::properties::{self, PropertyValue};
use crate::otf2::{MACHINE_NODE, MPI_IO, NANOSECOND_RESOLUTION};

/// The definitions by id, in file order.
#[derive(Default)]
pub(super) struct ArchiveDefinitions {
    /// Clock ticks per second.
    pub resolution: u64,
    /// The trace's start time in ticks.
    pub offset: u64,
    /// Its length in ticks.
    pub length: u64,
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
    io_files: HashMap<u32, StringRef>,
    /// Source lines.
    pub source_code_locations: IdTable<SourceCodeLocation>,
    pub calling_contexts: Vec<CallingContext>,
    pub metric_members: IdTable<MetricMember>,
    pub metric_classes: Vec<MetricClass>,
    /// What caused the samples.
    pub interrupt_generators: Vec<InterruptGenerator>,
    /// The frames of Sintonia's samples by calling context: index and module.
    pub frames: HashMap<u32, (u32, String)>,
    /// Samples that were lost, by location.
    pub lost_samples: HashMap<u64, u64>,
    /// Sintonia's call sites by calling context: module and offset.
    pub call_sites: HashMap<u32, (String, u64)>,
    pub run_properties: Vec<(String, PropertyValue)>,
    pub host_properties: Vec<String>,
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
    /// The line where it begins.
    pub begin_line: Option<u32>,
}

/// A group of processes.
pub(super) struct GroupDefinition {
    pub name: String,
    pub group_type: GroupType,
    pub members: Vec<u64>,
    /// The paradigm that uses it.
    pub paradigm: Paradigm,
    pub flags: GroupFlags,
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
    /// The definition of a file; undefined for a window.
    pub file: u32,
}

/// A source line.
#[derive(Clone)]
pub(super) struct SourceCodeLocation {
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// A calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallingContext {
    pub number: u32,
    /// The called region.
    pub region: u32,
    /// The line in it.
    pub source_code_location: u32,
    /// The calling context around it.
    pub parent: u32,
}

/// A metric.
pub(super) struct MetricMember {
    pub name: StringRef,
    pub unit: StringRef,
    /// What a value means.
    pub mode: MetricMode,
    pub is_floating_point: bool,
    /// Base and exponent of the factor of values.
    pub base: Base,
    pub exponent: i64,
}

/// Metrics that are read together.
pub(super) struct MetricClass {
    pub number: u32,
    pub members: Vec<u32>,
    /// Whether they are read where events happen.
    pub is_synchronous: bool,
}

/// A source of samples.
pub(super) struct InterruptGenerator {
    pub number: u32,
    /// Nanoseconds between two samples, if they are taken at regular times.
    pub period_ns: Option<u64>,
}

impl ArchiveDefinitions {
    /// Reads the global definitions.
    pub(super) fn read(archive: &ArchiveReader) -> Result<ArchiveDefinitions, Error> {
        let mut definitions = ArchiveDefinitions { resolution: NANOSECOND_RESOLUTION, ..ArchiveDefinitions::default() };
        for definition in archive.definitions()? {
            definitions.add(definition?);
        }
        Ok(definitions)
    }

    /// A string; `None` if undefined.
    pub(super) fn string(&self, number: u32) -> Option<&str> {
        self.strings.get(number).map(String::as_str)
    }

    /// Whether Sintonia wrote the archive, with its properties.
    pub(super) fn is_from_sintonia(&self) -> bool {
        !self.run_properties.is_empty()
    }

    /// The path of a file, if its name is one.
    pub(super) fn file_path(&self, file: u32) -> Option<&str> {
        self.string(self.io_files.get(&file)?.0).filter(|name| name.starts_with('/'))
    }

    fn string_or_empty(&self, reference: StringRef) -> String {
        self.string(reference.0).unwrap_or_default().to_owned()
    }

    fn file_name(&self, reference: StringRef) -> Option<String> {
        self.string(reference.0).filter(|file| !file.is_empty()).map(str::to_owned)
    }

    /// Adds the clock, a name or a region, or a definition of another area.
    fn add(&mut self, definition: Definition) {
        match definition {
            Definition::ClockProperties { timer_resolution, global_offset, trace_length, realtime_timestamp } => {
                (self.resolution, self.offset, self.length) = (timer_resolution.max(1), global_offset, trace_length);
                self.real_time = Some(realtime_timestamp).filter(|time| *time != UNDEFINED_UINT64);
            }
            Definition::String { reference, string } => self.strings.insert(reference.0, string),
            Definition::Attribute { reference, name, .. } => {
                if let Some(field) = self.string(name.0).and_then(CallAttribute::from_name) {
                    self.attributes.insert(reference.0, field);
                }
            }
            Definition::Region { reference, name, source_file, begin_line, canonical_name, .. } => {
                let canonical_name = if canonical_name.is_defined() { canonical_name } else { name };
                let (name, canonical_name) = (self.string_or_empty(name), self.string_or_empty(canonical_name));
                let file = self.file_name(source_file);
                self.regions.insert(reference.0, RegionDefinition { name, canonical_name, file, begin_line: known_line(begin_line) });
            }
            Definition::SourceCodeLocation { reference, file, line } => {
                let line = SourceCodeLocation { file: self.file_name(file), line: known_line(line) };
                self.source_code_locations.insert(reference.0, line);
            }
            Definition::CallingContext { reference, region, source_code_location, parent } => self.calling_contexts.push(CallingContext {
                number: reference.0,
                region: region.0,
                source_code_location: source_code_location.0,
                parent: parent.0,
            }),
            _ => self.add_metric_part(definition),
        }
    }

    /// Adds a definition of samples or metrics, or one of another area.
    fn add_metric_part(&mut self, definition: Definition) {
        match definition {
            Definition::InterruptGenerator { reference, mode, base, exponent, period, .. } => {
                let period_ns = (mode == InterruptGeneratorMode::TIME).then(|| period_ns(base, exponent, period));
                self.interrupt_generators.push(InterruptGenerator { number: reference.0, period_ns });
            }
            Definition::MetricMember { reference, name, metric_mode: mode, value_type, base, exponent, unit, .. } => {
                let is_floating_point = matches!(value_type, ValueType::DOUBLE | ValueType::FLOAT);
                self.metric_members.insert(reference.0, MetricMember { name, unit, mode, is_floating_point, base, exponent });
            }
            Definition::MetricClass { reference, members, occurrence, .. } => self.metric_classes.push(MetricClass {
                number: reference.0,
                members: members.iter().map(|member| member.0).collect(),
                is_synchronous: occurrence != MetricOccurrence::ASYNCHRONOUS,
            }),
            _ => self.add_comm_part(definition),
        }
    }

    /// Adds a definition of what processes communicate in or share, or one of another area.
    fn add_comm_part(&mut self, definition: Definition) {
        match definition {
            Definition::Group(group) => self.add_group(group),
            Definition::Comm { reference, name, group, parent, .. } => self.communicators.push(CommDefinition {
                number: reference.0,
                name: self.string_or_empty(name),
                groups: (group.0, None),
                parent: parent.0,
            }),
            Definition::InterComm { reference, name, group_a, group_b, common_communicator, .. } => {
                self.communicators.push(CommDefinition {
                    number: reference.0,
                    name: self.string_or_empty(name),
                    groups: (group_a.0, Some(group_b.0)),
                    parent: common_communicator.0,
                })
            }
            Definition::RmaWin { reference, comm, .. } => self.windows_and_files.push(WindowOrFile {
                number: reference.0,
                is_window: true,
                communicator: comm.0,
                file: UNDEFINED_UINT32,
            }),
            Definition::IoParadigm { reference, identification, .. } => {
                self.io_paradigms.insert(reference.0, self.string_or_empty(identification));
            }
            Definition::IoRegularFile { reference, name, .. } => {
                self.io_files.insert(reference.0, name);
            }
            Definition::IoHandle { reference, io_paradigm, comm, file, .. } => {
                if self.io_paradigms.get(&io_paradigm.0).is_some_and(|name| name == MPI_IO) {
                    self.windows_and_files.push(WindowOrFile { number: reference.0, is_window: false, communicator: comm.0, file: file.0 });
                }
            }
            _ => self.add_system_part(definition),
        }
    }

    /// Adds a definition of the system tree, or a property.
    fn add_system_part(&mut self, definition: Definition) {
        match definition {
            Definition::SystemTreeNode { reference, name, class_name, parent } => {
                let (name, class) = (self.string_or_empty(name), self.string_or_empty(class_name));
                self.system_tree_nodes.insert(reference.0, SystemTreeNode { name, class, parent: parent.0, shared_memory: false });
            }
            Definition::SystemTreeNodeDomain { system_tree_node, domain } => {
                if let Some(node) = self.system_tree_nodes.get_mut(&system_tree_node.0) {
                    node.shared_memory |= domain == SystemTreeDomain::SHARED_MEMORY;
                }
            }
            Definition::LocationGroup { reference, location_group_type, system_tree_parent, .. } => {
                let is_process = location_group_type == LocationGroupType::PROCESS;
                self.location_groups.push(LocationGroup { number: reference.0, is_process, node: system_tree_parent.0 });
            }
            Definition::Location { reference, location_type, location_group, .. } => {
                let is_thread = location_type == LocationType::CPU_THREAD;
                self.locations.push(LocationDefinition { id: reference.0, is_thread, location_group: location_group.0 });
            }
            Definition::SystemTreeNodeProperty { system_tree_node, name, value } => {
                let (name, value) = (self.string_or_empty(name), self.property_value(value));
                if system_tree_node == MACHINE_NODE && name.starts_with(properties::PREFIX) {
                    self.run_properties.push((name, value));
                } else if let (properties::HOST, PropertyValue::String(json)) = (name.as_str(), value) {
                    self.host_properties.push(json);
                }
            }
            Definition::LocationGroupProperty { location_group, name, value } => {
                let property = (self.string_or_empty(name), self.property_value(value));
                self.rank_properties.entry(location_group.0).or_default().push(property);
            }
            Definition::LocationProperty { location, name, value: Value::Uint64(number) } => match self.string(name.0) {
                Some(properties::THREAD) => _ = self.thread_numbers.insert(location.0, number),
                Some(properties::LOST_SAMPLES) => _ = self.lost_samples.insert(location.0, number),
                _ => {}
            },
            Definition::CallingContextProperty { calling_context, name, value } => {
                match (self.string(name.0), self.property_value(value)) {
                    (Some(properties::MODULE), PropertyValue::String(module)) => {
                        self.call_sites.entry(calling_context.0).or_default().0 = module
                    }
                    (Some(properties::OFFSET), PropertyValue::Uint64(offset)) => {
                        self.call_sites.entry(calling_context.0).or_default().1 = offset
                    }
                    (Some(properties::FRAME), PropertyValue::Uint64(index)) => {
                        self.frames.entry(calling_context.0).or_default().0 = index as u32
                    }
                    (Some(properties::FRAME_MODULE), PropertyValue::String(module)) => {
                        self.frames.entry(calling_context.0).or_default().1 = module
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn add_group(&mut self, group: Group) {
        let Group { reference, name, group_type, paradigm, flags, members } = group;
        if (group_type, paradigm) == (GroupType::COMM_LOCATIONS, Paradigm::MPI) {
            self.comm_locations.get_or_insert(members);
            return;
        }
        let name = self.string_or_empty(name);
        self.groups.insert(reference.0, GroupDefinition { name, group_type, members, paradigm, flags });
    }

    fn property_value(&self, value: Value) -> PropertyValue {
        match value {
            Value::String(text) => PropertyValue::String(self.string_or_empty(text)),
            Value::Uint64(number) => PropertyValue::Uint64(number),
            Value::Int64(number) => PropertyValue::Int64(number),
            Value::Double(number) => PropertyValue::Double(number),
            // Other types are not used here.
            _ => PropertyValue::Uint64(0),
        }
    }
}

/// A line, if it is known: debug information has 0 for one that is not.
fn known_line(line: u32) -> Option<u32> {
    Some(line).filter(|line| *line != 0 && *line != UNDEFINED_UINT32)
}

/// The period of an interrupt generator in nanoseconds, at least one.
fn period_ns(base: Base, exponent: i64, period: u64) -> u64 {
    ((period as f64 * scale_factor(base, exponent) * NANOSECOND_RESOLUTION as f64).round() as u64).max(1)
}

/// What the numbers of a definition are multiplied with; 1 if base and exponent give no such number.
pub(super) fn scale_factor(base: Base, exponent: i64) -> f64 {
    let base = if base == Base::BINARY { 2.0_f64 } else { 10.0 };
    let factor = base.powi(i32::try_from(exponent).unwrap_or(0));
    if factor.is_normal() { factor } else { 1.0 }
}
