//! The records of global definitions: types and encoding.

use std::collections::HashMap;

use crate::otf2::buffer::{BufferWrite, UNDEFINED_UINT32, UNDEFINED_UINT64};
use crate::otf2::properties::PropertyValue;

/// Types of global definition records.
pub(super) mod kind {
    #![allow(missing_docs, reason = "the names are OTF2's")]
    pub(crate) const CLOCK_PROPERTIES: u8 = 5;
    pub(crate) const PARADIGM: u8 = 6;
    pub(crate) const IO_PARADIGM: u8 = 8;
    pub(crate) const STRING: u8 = 10;
    pub(crate) const ATTRIBUTE: u8 = 11;
    pub(crate) const SYSTEM_TREE_NODE: u8 = 12;
    pub(crate) const LOCATION_GROUP: u8 = 13;
    pub(crate) const LOCATION: u8 = 14;
    pub(crate) const REGION: u8 = 15;
    pub(crate) const GROUP: u8 = 18;
    pub(crate) const COMM: u8 = 22;
    pub(crate) const PARAMETER: u8 = 23;
    pub(crate) const RMA_WIN: u8 = 24;
    pub(crate) const SYSTEM_TREE_NODE_PROPERTY: u8 = 26;
    pub(crate) const SYSTEM_TREE_NODE_DOMAIN: u8 = 27;
    pub(crate) const LOCATION_GROUP_PROPERTY: u8 = 28;
    pub(crate) const LOCATION_PROPERTY: u8 = 29;
    pub(crate) const SOURCE_CODE_LOCATION: u8 = 33;
    pub(crate) const CALLING_CONTEXT: u8 = 34;
    pub(crate) const CALLING_CONTEXT_PROPERTY: u8 = 35;
    pub(crate) const IO_REGULAR_FILE: u8 = 38;
    pub(crate) const IO_HANDLE: u8 = 40;
    pub(crate) const INTER_COMM: u8 = 43;
}

/// Clock resolution of 1 ns, in ticks per second.
pub(super) const NANOSECOND_RESOLUTION: u64 = 1_000_000_000;
/// The root of the system tree.
pub(super) const MACHINE_NODE: u32 = 0;
/// The domain of a system tree node with shared memory.
pub(super) const DOMAIN_SHARED_MEMORY: u8 = 1;
/// The type of a location group that is a process.
pub(super) const LOCATION_GROUP_PROCESS: u8 = 1;
/// The type of a location that is a CPU thread.
pub(super) const LOCATION_CPU_THREAD: u8 = 1;
/// The name of the MPI-IO paradigm.
pub(super) const MPI_IO: &str = "MPI-IO";
/// The MPI paradigm.
pub(super) const PARADIGM_MPI: u8 = 4;
/// The paradigm of compiler-instrumented code.
pub(super) const PARADIGM_COMPILER: u8 = 2;

/// Types of groups.
pub(super) mod group_type {
    /// The locations that represent the ranks of all other groups.
    pub(crate) const COMM_LOCATIONS: u8 = 4;
    /// The members of a communicator.
    pub(crate) const COMM_GROUP: u8 = 5;
    /// Each process alone.
    pub(crate) const COMM_SELF: u8 = 6;
    /// Flag: members are location ids, not indices into the list of locations.
    pub(crate) const GLOBAL_MEMBERS: u32 = 1;
}

/// Types of values.
pub(super) mod value_type {
    #![allow(missing_docs, reason = "the names are OTF2's")]
    pub(crate) const UINT64: u8 = 4;
    pub(crate) const INT64: u8 = 8;
    pub(crate) const DOUBLE: u8 = 10;
    pub(crate) const STRING: u8 = 11;
}

/// A field of a definition record.
pub(super) enum DefinitionField<'a> {
    /// A byte.
    U8(u8),
    /// A 32-bit number.
    U32(u32),
    /// A 64-bit number.
    U64(u64),
    /// A string, written as its reference.
    StringRef(&'a str),
    /// An undefined string reference.
    NoString,
}

/// Encoded global definitions.
#[derive(Default)]
pub(super) struct DefinitionWriter {
    bytes: Vec<u8>,
    /// End offset of each record.
    ends: Vec<usize>,
    strings: HashMap<String, u32>,
}

impl DefinitionWriter {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// The reference of a string, which is defined on first use.
    pub(super) fn intern_string(&mut self, text: &str) -> u32 {
        if let Some(number) = self.strings.get(text) {
            return *number;
        }
        let number = self.strings.len() as u32;
        self.strings.insert(text.to_owned(), number);
        let mut content = Vec::new();
        content.put_u32(number);
        content.put_string(text);
        self.push_record(kind::STRING, &content);
        number
    }

    pub(super) fn add(&mut self, kind: u8, parts: &[DefinitionField]) {
        let mut content = Vec::new();
        for part in parts {
            match part {
                DefinitionField::U8(byte) => content.push(*byte),
                DefinitionField::U32(number) => content.put_u32(*number),
                DefinitionField::U64(number) => content.put_u64(*number),
                DefinitionField::StringRef(text) => content.put_u32(self.intern_string(text)),
                DefinitionField::NoString => content.put_u32(UNDEFINED_UINT32),
            }
        }
        self.push_record(kind, &content);
    }

    pub(super) fn add_group(&mut self, number: u32, name: &str, kind: u8, members: impl ExactSizeIterator<Item = u64>) {
        let name = self.intern_string(name);
        let mut content = Vec::new();
        content.put_u32(number);
        content.put_u32(name);
        content.push(kind);
        content.put_u32(members.len() as u32);
        members.for_each(|member| content.put_u64(member));
        content.extend([kind, PARADIGM_MPI]);
        content.put_u32(0);
        self.push_record(kind::GROUP, &content);
    }

    /// Adds a property of a definition with a 32- or 64-bit id.
    pub(super) fn add_property(&mut self, kind: u8, of: DefinitionField, name: &str, value: &PropertyValue) {
        let name = DefinitionField::StringRef(name);
        // Old readers know only strings, in a field of their own.
        let old = matches!(kind, kind::SYSTEM_TREE_NODE_PROPERTY | kind::LOCATION_GROUP_PROPERTY | kind::LOCATION_PROPERTY);
        let text = match value {
            PropertyValue::String(text) => self.intern_string(text),
            _ => UNDEFINED_UINT32,
        };
        let (of_type, value) = match value {
            PropertyValue::String(_) => (value_type::STRING, DefinitionField::U32(text)),
            PropertyValue::Uint64(number) => (value_type::UINT64, DefinitionField::U64(*number)),
            PropertyValue::Int64(number) => (value_type::INT64, DefinitionField::U64(*number as u64)),
            PropertyValue::Double(fraction) => return self.add_double_property(kind, of, name, *fraction, old),
        };
        match old {
            true => self.add(kind, &[of, name, DefinitionField::U32(text), DefinitionField::U8(of_type), value]),
            false => self.add(kind, &[of, name, DefinitionField::U8(of_type), value]),
        }
    }

    fn add_double_property(&mut self, kind: u8, of: DefinitionField, name: DefinitionField, fraction: f64, old: bool) {
        let mut parts = vec![of, name];
        parts.extend(old.then_some(DefinitionField::NoString));
        parts.push(DefinitionField::U8(value_type::DOUBLE));
        parts.extend(fraction.to_bits().to_le_bytes().map(DefinitionField::U8));
        self.add(kind, &parts);
    }

    fn push_record(&mut self, kind: u8, content: &[u8]) {
        self.bytes.put_record(kind, content);
        self.ends.push(self.bytes.len());
    }
}

/// Nanoseconds since 1970; undefined if not known.
pub(super) fn real_time_ns(seconds: f64) -> u64 {
    if seconds > 0.0 { (seconds * 1e9) as u64 } else { UNDEFINED_UINT64 }
}
