//! What a call is besides its events: attributes of Sintonia's own.
//!
//! OTF2's events tell most of a call, and any tool understands them. What they do not tell (the marks of Fortran, the posted tag of a
//! receive, a message to nobody) stands in attributes of the event at which the call begins, and only there and only then.

use sintonia_recording::raw;
use sintonia_recording::table::{ListedRequest, Shape};

use crate::otf2::bytes::{Put, Reader};
use crate::otf2::event::ATTRIBUTES;
use crate::otf2::local::{Ids, Mapped};

/// The name of the attribute by which tools find the source line of an event.
pub const SOURCE_CODE_LOCATION: &str = "SOURCE_CODE_LOCATION";

/// A type of attribute values, by OTF2's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number of 16 bits.
    U16 = 2,
    /// A number of 32 bits.
    U32 = 3,
    /// A number of 64 bits.
    U64 = 4,
    /// A number of 32 bits that can be negative.
    I32 = 7,
    /// A place in the source.
    SourceLocation = 20,
    /// A calling context.
    CallingContext = 21,
}

/// An attribute of Sintonia's own; its place in [`Field::ALL`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The source line of the call.
    SourceLine,
    /// The call site.
    Site,
    /// The parts and marks of the call.
    Parts,
    /// The communicator, window or file.
    Object,
    /// The destination, source, root or target.
    Peer,
    /// The tag.
    Tag,
    /// The source of the receiving half of a send-receive.
    Source,
    /// The tag of the receiving half.
    ReceiveTag,
    /// Bytes sent.
    Sent,
    /// Bytes received.
    Received,
    /// The communicator, window or file that was made or freed.
    Made,
    /// The error code, or the level of `MPI_Pcontrol`.
    Value,
    /// The request that the call made.
    Request,
    /// The number that the system gave a process; Score-P's attribute of the event at which a program begins.
    ProcessId,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 14] = [
        Field::SourceLine,
        Field::Site,
        Field::Parts,
        Field::Object,
        Field::Peer,
        Field::Tag,
        Field::Source,
        Field::ReceiveTag,
        Field::Sent,
        Field::Received,
        Field::Made,
        Field::Value,
        Field::Request,
        Field::ProcessId,
    ];

    /// Its name, its type, and what it is.
    pub fn about(self) -> (&'static str, Type, &'static str) {
        match self {
            Field::SourceLine => (SOURCE_CODE_LOCATION, Type::SourceLocation, "Source code location"),
            Field::Site => ("SINTONIA_SITE", Type::CallingContext, "Call site"),
            Field::Parts => ("SINTONIA_PARTS", Type::U16, "Parts and marks of the call, as in a recording of Sintonia"),
            Field::Object => ("SINTONIA_OBJECT", Type::U32, "Communicator, window or file, by its place among the definitions"),
            Field::Peer => ("SINTONIA_PEER", Type::I32, "World rank of the destination, source, root or target"),
            Field::Tag => ("SINTONIA_TAG", Type::I32, "Tag"),
            Field::Source => ("SINTONIA_SOURCE", Type::I32, "World rank of the source of the receiving half"),
            Field::ReceiveTag => ("SINTONIA_RECEIVE_TAG", Type::I32, "Tag of the receiving half"),
            Field::Sent => ("SINTONIA_SENT", Type::U64, "Bytes sent"),
            Field::Received => ("SINTONIA_RECEIVED", Type::U64, "Bytes received"),
            Field::Made => ("SINTONIA_MADE", Type::U32, "Communicator, window or file made or freed, by its place among the definitions"),
            Field::Value => ("SINTONIA_VALUE", Type::I32, "Error code, or the level of MPI_Pcontrol"),
            Field::Request => ("SINTONIA_REQUEST", Type::U64, "Request that the call made"),
            Field::ProcessId => ("ProcessId", Type::U64, "Process identifier"),
        }
    }

    /// The field with this name.
    pub fn named(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.about().0 == name)
    }
}

/// The attributes of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    list: Vec<(Field, u64)>,
}

impl Attributes {
    /// Forgets them.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds one.
    pub fn add(&mut self, field: Field, value: u64) {
        self.list.push((field, value));
    }

    /// One of them.
    pub fn get(&self, wanted: Field) -> Option<u64> {
        self.list.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value)
    }

    /// Appends their record, if there are any.
    pub fn put(&self, out: &mut Vec<u8>) {
        if self.list.is_empty() {
            return;
        }
        let mut content = Vec::with_capacity(64);
        content.put_u32(self.list.len() as u32);
        for (field, value) in &self.list {
            let kind = field.about().1;
            content.put_u32(*field as u32);
            content.push(kind as u8);
            match kind {
                Type::U16 => content.extend((*value as u16).to_le_bytes()),
                Type::U64 => content.put_u64(*value),
                _ => content.put_u32(*value as u32),
            }
        }
        out.put_record(ATTRIBUTES, &content);
    }

    /// Reads a record of attributes; those that `fields` does not know are passed over.
    pub fn read(&mut self, mut content: Reader, ids: &Ids, fields: impl Fn(u32) -> Option<Field>) -> Option<()> {
        for _ in 0..content.u32()? {
            let attribute = ids.read(Mapped::Attribute, &mut content)?;
            let value = value(&mut content, ids)?;
            if let Some(field) = fields(attribute) {
                self.list.push((field, value));
            }
        }
        Some(())
    }

    fn differ(&mut self, field: Field, told: u64, actual: u64) {
        if told != actual {
            self.add(field, actual);
        }
    }

    /// Says of a call what its events do not: where `told`, which they tell, is not `actual`.
    pub fn add_differences(&mut self, told: &Shape, actual: &Shape) {
        self.differ(Field::Parts, told.parts.into(), actual.parts.into());
        self.differ(Field::Object, told.object.into(), actual.object.into());
        self.differ(Field::Peer, small(told.peer), small(actual.peer));
        self.differ(Field::Tag, small(told.tag), small(actual.tag));
        self.differ(Field::Source, small(told.source), small(actual.source));
        self.differ(Field::ReceiveTag, small(told.recv_tag), small(actual.recv_tag));
        self.differ(Field::Sent, told.sent, actual.sent);
        self.differ(Field::Received, told.received, actual.received);
        self.differ(Field::Made, told.made.into(), actual.made.into());
        self.differ(Field::Value, small(told.value), small(actual.value));
    }

    /// Adds to a shape what its events did not tell.
    pub fn complete(&self, shape: &mut Shape) {
        for (field, value) in &self.list {
            let value = *value;
            match field {
                Field::Parts => shape.parts = value as u16,
                Field::Object => shape.object = value as u32,
                Field::Peer => shape.peer = value as i32,
                Field::Tag => shape.tag = value as i32,
                Field::Source => shape.source = value as i32,
                Field::ReceiveTag => shape.recv_tag = value as i32,
                Field::Sent => shape.sent = value,
                Field::Received => shape.received = value,
                Field::Made => shape.made = value as u32,
                Field::Value => shape.value = value as i32,
                Field::SourceLine | Field::Site | Field::Request | Field::ProcessId => {}
            }
        }
    }

    /// Says of a listed request what its event does not.
    pub fn add_listed_differences(&mut self, told: &ListedRequest, actual: &ListedRequest) {
        self.differ(Field::Peer, small(told.peer), small(actual.peer));
        self.differ(Field::Tag, small(told.tag), small(actual.tag));
        self.differ(Field::Received, told.received, actual.received);
        self.differ(Field::Value, told.receive.into(), actual.receive.into());
    }

    /// Adds to a listed request what its event did not tell.
    pub fn complete_listed(&self, listed: &mut ListedRequest) {
        for (field, value) in &self.list {
            match field {
                Field::Peer => listed.peer = *value as i32,
                Field::Tag => listed.tag = *value as i32,
                Field::Received => listed.received = *value,
                Field::Value => listed.receive = *value != 0,
                _ => {}
            }
        }
    }
}

fn small(number: i32) -> u64 {
    u64::from(number as u32)
}

/// A value in the form that its type has.
fn value(content: &mut Reader, ids: &Ids) -> Option<u64> {
    const ONE_BYTE: [u8; 2] = [1, 5];
    const TWO_BYTES: [u8; 2] = [2, 6];
    const FOUR_BYTES: u8 = 9;
    const EIGHT_BYTES: u8 = 10;
    match content.u8()? {
        kind if ONE_BYTE.contains(&kind) => content.u8().map(u64::from),
        kind if TWO_BYTES.contains(&kind) => content.u16().map(u64::from),
        FOUR_BYTES => content.full_u32().map(u64::from),
        EIGHT_BYTES => content.full_u64(),
        kind if kind == Type::SourceLocation as u8 => ids.read(Mapped::SourceLocation, content).map(u64::from),
        kind if kind == Type::CallingContext as u8 => ids.read(Mapped::CallingContext, content).map(u64::from),
        // Numbers of 64 bits, places, and whatever later versions add.
        4 | 8 | 13 | 26.. => content.u64(),
        _ => content.u32().map(u64::from),
    }
}

/// A request that is listed with nothing known of it.
pub fn listed(request: raw::RequestRef, receive: bool) -> ListedRequest {
    ListedRequest { request, receive, peer: raw::NONE, tag: raw::NONE, received: raw::UNKNOWN_BYTES }
}
