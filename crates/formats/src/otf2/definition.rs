//! The records of global definitions: their kinds, and how they are written.

use std::collections::HashMap;

use crate::otf2::bytes::{Put, UNDEFINED, UNDEFINED_LONG};
use crate::otf2::facts::Value;

/// Kinds of global definitions.
pub mod kind {
    #![allow(missing_docs, reason = "the names are OTF2's")]
    pub const CLOCK_PROPERTIES: u8 = 5;
    pub const PARADIGM: u8 = 6;
    pub const IO_PARADIGM: u8 = 8;
    pub const STRING: u8 = 10;
    pub const ATTRIBUTE: u8 = 11;
    pub const SYSTEM_TREE_NODE: u8 = 12;
    pub const LOCATION_GROUP: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const COMM: u8 = 22;
    pub const PARAMETER: u8 = 23;
    pub const RMA_WIN: u8 = 24;
    pub const SYSTEM_TREE_NODE_PROPERTY: u8 = 26;
    pub const SYSTEM_TREE_NODE_DOMAIN: u8 = 27;
    pub const LOCATION_GROUP_PROPERTY: u8 = 28;
    pub const LOCATION_PROPERTY: u8 = 29;
    pub const SOURCE_CODE_LOCATION: u8 = 33;
    pub const CALLING_CONTEXT: u8 = 34;
    pub const CALLING_CONTEXT_PROPERTY: u8 = 35;
    pub const IO_REGULAR_FILE: u8 = 38;
    pub const IO_HANDLE: u8 = 40;
    pub const INTER_COMM: u8 = 43;
}

/// Ticks a second of a clock that counts nanoseconds.
pub const NANOSECONDS: u64 = 1_000_000_000;
/// The number of the machine, of which all other parts of the system tree are parts.
pub const MACHINE: u32 = 0;
/// The domain of a part of the machine in which processes share memory.
pub const SHARED_MEMORY: u8 = 1;
/// The type of a location group that is a process.
pub const PROCESS: u8 = 1;
/// The type of a location that is a thread.
pub const CPU_THREAD: u8 = 1;
/// The name of MPI's access to files among the paradigms of I/O.
pub const MPI_IO: &str = "MPI-IO";
/// The number of MPI among the paradigms.
pub const MPI: u8 = 4;
/// The number of code that a compiler instrumented.
pub const COMPILER: u8 = 2;

/// Types of groups.
pub mod group_type {
    /// The locations that the ranks of all other groups stand for.
    pub const LOCATIONS: u8 = 4;
    /// The members of a communicator.
    pub const COMMUNICATOR: u8 = 5;
    /// Each process alone.
    pub const OWN: u8 = 6;
    /// A flag: members are locations themselves, not their places in the list of locations.
    pub const GLOBAL_MEMBERS: u32 = 1;
}

/// Types of values.
pub mod value_type {
    #![allow(missing_docs, reason = "the names are OTF2's")]
    pub const UINT64: u8 = 4;
    pub const INT64: u8 = 8;
    pub const DOUBLE: u8 = 10;
    pub const STRING: u8 = 11;
}

/// One field of a definition.
pub enum Part<'a> {
    /// A byte.
    Byte(u8),
    /// A number of 32 bits.
    Number(u32),
    /// A number of 64 bits.
    Long(u64),
    /// A text, which is written as the number of its own definition.
    Text(&'a str),
    /// No text.
    NoText,
}

/// Global definitions, as they will stand in their file.
#[derive(Default)]
pub struct Definitions {
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
    strings: HashMap<String, u32>,
}

impl Definitions {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// The number of a string, which is defined if it is new.
    pub fn string(&mut self, text: &str) -> u32 {
        if let Some(number) = self.strings.get(text) {
            return *number;
        }
        let number = self.strings.len() as u32;
        self.strings.insert(text.to_owned(), number);
        let mut content = Vec::new();
        content.put_u32(number);
        content.put_string(text);
        self.record(kind::STRING, &content);
        number
    }

    /// Adds a definition.
    pub fn add(&mut self, kind: u8, parts: &[Part]) {
        let mut content = Vec::new();
        for part in parts {
            match part {
                Part::Byte(byte) => content.push(*byte),
                Part::Number(number) => content.put_u32(*number),
                Part::Long(number) => content.put_u64(*number),
                Part::Text(text) => content.put_u32(self.string(text)),
                Part::NoText => content.put_u32(UNDEFINED),
            }
        }
        self.record(kind, &content);
    }

    /// Adds a group.
    pub fn add_group(&mut self, number: u32, name: &str, kind: u8, members: impl ExactSizeIterator<Item = u64>) {
        let name = self.string(name);
        let mut content = Vec::new();
        content.put_u32(number);
        content.put_u32(name);
        content.push(kind);
        content.put_u32(members.len() as u32);
        members.for_each(|member| content.put_u64(member));
        content.extend([kind, MPI]);
        content.put_u32(0);
        self.record(kind::GROUP, &content);
    }

    /// Adds a property of a definition, which is named by a number of 32 or 64 bits.
    pub fn add_property(&mut self, kind: u8, of: Part, name: &str, value: &Value) {
        let name = Part::Text(name);
        // Old readers know only texts, and find them in a field of their own.
        let old = matches!(kind, kind::SYSTEM_TREE_NODE_PROPERTY | kind::LOCATION_GROUP_PROPERTY | kind::LOCATION_PROPERTY);
        let text = match value {
            Value::Text(text) => self.string(text),
            _ => UNDEFINED,
        };
        let (of_type, value) = match value {
            Value::Text(_) => (value_type::STRING, Part::Number(text)),
            Value::Number(number) => (value_type::UINT64, Part::Long(*number)),
            Value::Signed(number) => (value_type::INT64, Part::Long(*number as u64)),
            Value::Fraction(fraction) => return self.add_fraction(kind, of, name, *fraction, old),
        };
        match old {
            true => self.add(kind, &[of, name, Part::Number(text), Part::Byte(of_type), value]),
            false => self.add(kind, &[of, name, Part::Byte(of_type), value]),
        }
    }

    fn add_fraction(&mut self, kind: u8, of: Part, name: Part, fraction: f64, old: bool) {
        let mut parts = vec![of, name];
        parts.extend(old.then_some(Part::NoText));
        parts.push(Part::Byte(value_type::DOUBLE));
        parts.extend(fraction.to_bits().to_le_bytes().map(Part::Byte));
        self.add(kind, &parts);
    }

    fn record(&mut self, kind: u8, content: &[u8]) {
        self.bytes.put_record(kind, content);
        self.ends.push(self.bytes.len());
    }
}

/// A time in nanoseconds since 1970; undefined if it is not known.
pub fn real_time(seconds: f64) -> u64 {
    if seconds > 0.0 { (seconds * 1e9) as u64 } else { UNDEFINED_LONG }
}
