//! Reads and writes OTF2 archives, the trace format of Score-P, Scalasca and Vampir.
//!
//! The crate is written in safe Rust and does not need the OTF2 library. It knows all definitions and events up to OTF2 3.0; records of
//! later versions are kept as they are. Both directions stream: memory does not grow with the number of events.
//!
//! An archive consists of the anchor file `NAME.otf2` ([`AnchorFile`]), the global definitions `NAME.def` ([`Definition`]), and in the
//! folder `NAME` for each location (a thread, in most cases) its events `ID.evt` ([`Event`], each with a time and an [`AttributeList`]) and
//! its local definitions `ID.def` ([`LocalDefinition`]), which the reader applies. Archives in SIONlib containers, compressed ones,
//! snapshots, thumbnails and markers are not supported.
//!
//! ```
//! use sintonia_otf2::{ArchiveReader, ArchiveWriter, Definition, Definitions, Event};
//! use sintonia_otf2::code::{LocationGroupType, LocationType, Paradigm, RegionFlags, RegionRole};
//! use sintonia_otf2::reference::{LocationGroupRef, LocationRef, RegionRef, StringRef, SystemTreeNodeRef};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("trace.otf2");
//!
//! // A thread that is in a region from 10 to 20.
//! let mut archive = ArchiveWriter::create(&path)?;
//! let (thread, region) = (LocationRef(0), RegionRef(0));
//! let mut events = archive.events(thread)?;
//! events.write(10, &Event::Enter { region })?;
//! events.write(20, &Event::Leave { region })?;
//! let number_of_events = events.finish()?;
//!
//! archive.define(&Definition::ClockProperties {
//!     timer_resolution: 1_000_000_000,
//!     global_offset: 10,
//!     trace_length: 11,
//!     realtime_timestamp: u64::MAX,
//! });
//! let (machine, process) = (SystemTreeNodeRef(0), LocationGroupRef(0));
//! let name = archive.string("machine");
//! archive.define(&Definition::SystemTreeNode { reference: machine, name, class_name: name, parent: SystemTreeNodeRef::UNDEFINED });
//! let name = archive.string("a process");
//! archive.define(&Definition::LocationGroup {
//!     reference: process,
//!     name,
//!     location_group_type: LocationGroupType::PROCESS,
//!     system_tree_parent: machine,
//!     creating_location_group: LocationGroupRef::UNDEFINED,
//! });
//! let name = archive.string("a thread");
//! archive.define(&Definition::Location {
//!     reference: thread,
//!     name,
//!     location_type: LocationType::CPU_THREAD,
//!     number_of_events,
//!     location_group: process,
//! });
//! let name = archive.string("work");
//! archive.define(&Definition::Region {
//!     reference: region,
//!     name,
//!     description: StringRef::UNDEFINED,
//!     region_type: 0,
//!     source_file: StringRef::UNDEFINED,
//!     begin_line: 0,
//!     end_line: 0,
//!     canonical_name: name,
//!     region_role: RegionRole::FUNCTION,
//!     paradigm: Paradigm::USER,
//!     flags: RegionFlags::NONE,
//! });
//! archive.finish()?;
//!
//! let archive = ArchiveReader::open(&path)?;
//! let definitions = Definitions::read(&archive)?;
//! for location in definitions.locations() {
//!     for event in archive.events(location)? {
//!         let (time, event) = event?;
//!         if let Event::Enter { region } = event {
//!             assert_eq!((time, definitions.region_name(region)), (10, Some("work")));
//!         }
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod anchor;
mod attribute_list;
pub mod buffer;
pub mod chunks;
pub mod code;
mod definition;
mod definitions;
mod error;
mod event;
mod field;
mod id_mappings;
mod local_definition;
mod merged;
mod reader;
pub mod reference;
mod value;
mod writer;

pub use anchor::AnchorFile;
pub use attribute_list::AttributeList;
pub use definition::{Definition, Group, IoParadigmPropertyValue};
pub use definitions::Definitions;
pub use error::Error;
pub use event::{Event, NO_ROOT, ROOT_SELF, ROOT_THIS_GROUP};
pub use id_mappings::MappingTable;
pub use local_definition::LocalDefinition;
pub use merged::{LocatedEvent, MergedEvents};
pub use reader::{ArchiveReader, DefinitionReader, EventReader};
pub use value::Value;
pub use writer::{ArchiveWriter, EventWriter};
