//! Attributes of events.

use crate::buffer::{BufferReader, BufferWrite};
use crate::field::{Field, set_length};
use crate::id_mappings::IdMappings;
use crate::reference::AttributeRef;
use crate::value::Value;

/// The type of the record with the attributes; it precedes the event.
pub(crate) const ATTRIBUTE_LIST: u8 = 6;

/// The attributes of an event. A list can be cleared and filled again without allocating.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeList {
    entries: Vec<(AttributeRef, Value)>,
}

impl AttributeList {
    /// An empty list.
    pub fn new() -> AttributeList {
        AttributeList::default()
    }

    /// Adds an attribute.
    pub fn add(&mut self, attribute: AttributeRef, value: Value) {
        self.entries.push((attribute, value));
    }

    /// Removes all attributes.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The value of an attribute.
    pub fn get(&self, attribute: AttributeRef) -> Option<Value> {
        self.iter().find(|(known, _)| *known == attribute).map(|(_, value)| value)
    }

    /// All attributes, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeRef, Value)> + '_ {
        self.entries.iter().copied()
    }

    /// Appends the record, unless the list is empty.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        out.push(ATTRIBUTE_LIST);
        let begin = out.len();
        out.push(0);
        out.put_u32(self.entries.len() as u32);
        for (attribute, value) in &self.entries {
            attribute.write(out);
            value.write(out);
        }
        set_length(out, begin);
    }

    /// Appends the attributes of a record; `None` if it is invalid.
    pub(crate) fn decode(&mut self, content: &mut BufferReader, ids: &IdMappings) -> Option<()> {
        for _ in 0..content.u32()? {
            let attribute = AttributeRef::read(content, ids)?;
            self.entries.push((attribute, Value::read(content, ids)?));
        }
        Some(())
    }
}
