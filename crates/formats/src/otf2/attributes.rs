//! Attributes of Sintonia for what OTF2 events do not express.
//!
//! Other tools understand the events. What they lack (Fortran flags, the posted tag of a receive, a message to MPI_PROC_NULL) is stored as
//! attributes of the enter event, and only where it differs.

use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw;

use crate::otf2::buffer::{BufferReader, BufferWrite};
use crate::otf2::event::ATTRIBUTE_LIST;
use crate::otf2::local_definitions::{IdMappings, MappingType};

/// The attribute with the source line of an event, as other tools name it.
pub(super) const SOURCE_CODE_LOCATION: &str = "SOURCE_CODE_LOCATION";

/// OTF2's attribute types, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeType {
    /// Unsigned 16-bit.
    U16 = 2,
    /// Unsigned 32-bit.
    U32 = 3,
    /// Unsigned 64-bit.
    U64 = 4,
    /// Signed 32-bit.
    I32 = 7,
    /// A source code location.
    SourceLocation = 20,
    CallingContext = 21,
}

/// A defined attribute; its index in [`CallAttribute::ALL`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallAttribute {
    /// Source line of the call.
    SourceLine,
    CallSite,
    /// Bits of `raw::part`.
    Parts,
    /// Communicator, window or file.
    Object,
    /// Destination, source, root or target.
    Peer,
    Tag,
    /// Source of the receive half of a send-receive.
    Source,
    /// Tag of the receive half.
    ReceiveTag,
    /// Bytes sent.
    Sent,
    /// Bytes received.
    Received,
    /// Communicator, window or file that was created or freed.
    Created,
    /// Error code, or level of `MPI_Pcontrol`.
    Value,
    /// Request created by the call.
    Request,
    /// Process id; Score-P's attribute of the ProgramBegin event.
    ProcessId,
}

impl CallAttribute {
    pub(super) const ALL: [CallAttribute; 14] = [
        CallAttribute::SourceLine,
        CallAttribute::CallSite,
        CallAttribute::Parts,
        CallAttribute::Object,
        CallAttribute::Peer,
        CallAttribute::Tag,
        CallAttribute::Source,
        CallAttribute::ReceiveTag,
        CallAttribute::Sent,
        CallAttribute::Received,
        CallAttribute::Created,
        CallAttribute::Value,
        CallAttribute::Request,
        CallAttribute::ProcessId,
    ];

    /// Name, type and description.
    pub(super) fn definition(self) -> (&'static str, AttributeType, &'static str) {
        match self {
            CallAttribute::SourceLine => (SOURCE_CODE_LOCATION, AttributeType::SourceLocation, "Source code location"),
            CallAttribute::CallSite => ("SINTONIA_SITE", AttributeType::CallingContext, "Call site"),
            CallAttribute::Parts => ("SINTONIA_PARTS", AttributeType::U16, "Parts and flags of the call, as in a recording of Sintonia"),
            CallAttribute::Object => {
                ("SINTONIA_OBJECT", AttributeType::U32, "Communicator, window or file, by its index among the definitions")
            }
            CallAttribute::Peer => ("SINTONIA_PEER", AttributeType::I32, "World rank of the destination, source, root or target"),
            CallAttribute::Tag => ("SINTONIA_TAG", AttributeType::I32, "Tag"),
            CallAttribute::Source => ("SINTONIA_SOURCE", AttributeType::I32, "World rank of the source of the receive half"),
            CallAttribute::ReceiveTag => ("SINTONIA_RECEIVE_TAG", AttributeType::I32, "Tag of the receive half"),
            CallAttribute::Sent => ("SINTONIA_SENT", AttributeType::U64, "Bytes sent"),
            CallAttribute::Received => ("SINTONIA_RECEIVED", AttributeType::U64, "Bytes received"),
            CallAttribute::Created => {
                ("SINTONIA_MADE", AttributeType::U32, "Communicator, window or file created or freed, by its index among the definitions")
            }
            CallAttribute::Value => ("SINTONIA_VALUE", AttributeType::I32, "Error code, or the level of MPI_Pcontrol"),
            CallAttribute::Request => ("SINTONIA_REQUEST", AttributeType::U64, "Request that the call created"),
            CallAttribute::ProcessId => ("ProcessId", AttributeType::U64, "Process identifier"),
        }
    }

    pub(super) fn from_name(name: &str) -> Option<CallAttribute> {
        CallAttribute::ALL.into_iter().find(|field| field.definition().0 == name)
    }
}

/// The attribute list of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AttributeList {
    list: Vec<(CallAttribute, u64)>,
}

impl AttributeList {
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn add(&mut self, field: CallAttribute, value: u64) {
        self.list.push((field, value));
    }

    pub(super) fn get(&self, wanted: CallAttribute) -> Option<u64> {
        self.list.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value)
    }

    /// Appends the attribute record, unless the list is empty.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if self.list.is_empty() {
            return;
        }
        let mut content = Vec::with_capacity(64);
        content.put_u32(self.list.len() as u32);
        for (field, value) in &self.list {
            let kind = field.definition().1;
            content.put_u32(*field as u32);
            content.push(kind as u8);
            match kind {
                AttributeType::U16 => content.extend((*value as u16).to_le_bytes()),
                AttributeType::U64 => content.put_u64(*value),
                _ => content.put_u32(*value as u32),
            }
        }
        out.put_record(ATTRIBUTE_LIST, &content);
    }

    /// Decodes an attribute record; attributes that `fields` does not know are skipped.
    pub(super) fn decode(
        &mut self,
        mut content: BufferReader,
        ids: &IdMappings,
        fields: impl Fn(u32) -> Option<CallAttribute>,
    ) -> Option<()> {
        for _ in 0..content.u32()? {
            let attribute = ids.read_global(MappingType::Attribute, &mut content)?;
            let value = decode_value(&mut content, ids)?;
            if let Some(field) = fields(attribute) {
                self.list.push((field, value));
            }
        }
        Some(())
    }

    fn add_if_different(&mut self, field: CallAttribute, decoded: u64, actual: u64) {
        if decoded != actual {
            self.add(field, actual);
        }
    }

    /// Adds an attribute for each field in which `actual` differs from what the events express.
    pub(super) fn add_differences(&mut self, decoded: &CallDescriptor, actual: &CallDescriptor) {
        self.add_if_different(CallAttribute::Parts, decoded.parts.into(), actual.parts.into());
        self.add_if_different(CallAttribute::Object, decoded.object.into(), actual.object.into());
        self.add_if_different(CallAttribute::Peer, i32_bits(decoded.peer), i32_bits(actual.peer));
        self.add_if_different(CallAttribute::Tag, i32_bits(decoded.tag), i32_bits(actual.tag));
        self.add_if_different(CallAttribute::Source, i32_bits(decoded.source), i32_bits(actual.source));
        self.add_if_different(CallAttribute::ReceiveTag, i32_bits(decoded.recv_tag), i32_bits(actual.recv_tag));
        self.add_if_different(CallAttribute::Sent, decoded.sent, actual.sent);
        self.add_if_different(CallAttribute::Received, decoded.received, actual.received);
        self.add_if_different(CallAttribute::Created, decoded.created.into(), actual.created.into());
        self.add_if_different(CallAttribute::Value, i32_bits(decoded.value), i32_bits(actual.value));
    }

    /// Sets the fields that the events do not express.
    pub(super) fn apply_to(&self, descriptor: &mut CallDescriptor) {
        for (field, value) in &self.list {
            let value = *value;
            match field {
                CallAttribute::Parts => descriptor.parts = value as u16,
                CallAttribute::Object => descriptor.object = value as u32,
                CallAttribute::Peer => descriptor.peer = value as i32,
                CallAttribute::Tag => descriptor.tag = value as i32,
                CallAttribute::Source => descriptor.source = value as i32,
                CallAttribute::ReceiveTag => descriptor.recv_tag = value as i32,
                CallAttribute::Sent => descriptor.sent = value,
                CallAttribute::Received => descriptor.received = value,
                CallAttribute::Created => descriptor.created = value as u32,
                CallAttribute::Value => descriptor.value = value as i32,
                CallAttribute::SourceLine | CallAttribute::CallSite | CallAttribute::Request | CallAttribute::ProcessId => {}
            }
        }
    }

    /// Adds an attribute for each field in which a listed request differs from what its event expresses.
    pub(super) fn add_request_differences(&mut self, decoded: &ListedRequest, actual: &ListedRequest) {
        self.add_if_different(CallAttribute::Peer, i32_bits(decoded.peer), i32_bits(actual.peer));
        self.add_if_different(CallAttribute::Tag, i32_bits(decoded.tag), i32_bits(actual.tag));
        self.add_if_different(CallAttribute::Received, decoded.received, actual.received);
        self.add_if_different(CallAttribute::Value, decoded.is_receive.into(), actual.is_receive.into());
    }

    /// Sets the fields that the event does not express.
    pub(super) fn apply_to_request(&self, listed: &mut ListedRequest) {
        for (field, value) in &self.list {
            match field {
                CallAttribute::Peer => listed.peer = *value as i32,
                CallAttribute::Tag => listed.tag = *value as i32,
                CallAttribute::Received => listed.received = *value,
                CallAttribute::Value => listed.is_receive = *value != 0,
                _ => {}
            }
        }
    }
}

fn i32_bits(number: i32) -> u64 {
    u64::from(number as u32)
}

/// Decodes a value by its type.
fn decode_value(content: &mut BufferReader, ids: &IdMappings) -> Option<u64> {
    const ONE_BYTE: [u8; 2] = [1, 5];
    const TWO_BYTES: [u8; 2] = [2, 6];
    const FOUR_BYTES: u8 = 9;
    const EIGHT_BYTES: u8 = 10;
    match content.u8()? {
        kind if ONE_BYTE.contains(&kind) => content.u8().map(u64::from),
        kind if TWO_BYTES.contains(&kind) => content.u16().map(u64::from),
        FOUR_BYTES => content.full_u32().map(u64::from),
        EIGHT_BYTES => content.full_u64(),
        kind if kind == AttributeType::SourceLocation as u8 => ids.read_global(MappingType::SourceLocation, content).map(u64::from),
        kind if kind == AttributeType::CallingContext as u8 => ids.read_global(MappingType::CallingContext, content).map(u64::from),
        // 64-bit numbers, locations, and types of later versions.
        4 | 8 | 13 | 26.. => content.u64(),
        _ => content.u32().map(u64::from),
    }
}

/// A listed request with unknown details.
pub(super) fn unknown_request(request: raw::RequestRef, receive: bool) -> ListedRequest {
    ListedRequest { request, is_receive: receive, peer: raw::NONE, tag: raw::NONE, received: raw::UNKNOWN_BYTES }
}
