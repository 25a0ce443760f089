//! Global definitions field by field, as tools write them that know fewer fields than OTF2 3.0.

use std::collections::HashMap;

use sintonia_otf2::buffer::BufferWrite;

/// Types of global definition records.
pub(super) mod kind {
    pub(crate) const CLOCK_PROPERTIES: u8 = 5;
    pub(crate) const STRING: u8 = 10;
    pub(crate) const ATTRIBUTE: u8 = 11;
    pub(crate) const SYSTEM_TREE_NODE: u8 = 12;
    pub(crate) const LOCATION_GROUP: u8 = 13;
    pub(crate) const LOCATION: u8 = 14;
    pub(crate) const REGION: u8 = 15;
    pub(crate) const GROUP: u8 = 18;
    pub(crate) const COMM: u8 = 22;
    pub(crate) const RMA_WIN: u8 = 24;
    pub(crate) const SOURCE_CODE_LOCATION: u8 = 33;
    pub(crate) const CALLING_CONTEXT: u8 = 34;
    pub(crate) const CALLING_CONTEXT_PROPERTY: u8 = 35;
}

/// The MPI paradigm.
pub(super) const PARADIGM_MPI: u8 = 4;
/// The type of a value that is a string.
pub(super) const STRING_VALUE: u8 = 11;

/// Types of groups.
pub(super) mod group_type {
    /// The locations that represent the ranks of all other groups.
    pub(crate) const COMM_LOCATIONS: u8 = 4;
    /// The members of a communicator.
    pub(crate) const COMM_GROUP: u8 = 5;
    /// Each process alone.
    pub(crate) const COMM_SELF: u8 = 6;
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
}

/// Encoded global definitions.
#[derive(Default)]
pub(super) struct DefinitionWriter {
    records: Vec<Vec<u8>>,
    strings: HashMap<String, u32>,
}

impl DefinitionWriter {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter().map(Vec::as_slice)
    }

    /// The reference of a string, which is defined on first use.
    fn intern_string(&mut self, text: &str) -> u32 {
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

    fn push_record(&mut self, kind: u8, content: &[u8]) {
        let mut record = Vec::new();
        record.put_record(kind, content);
        self.records.push(record);
    }
}
