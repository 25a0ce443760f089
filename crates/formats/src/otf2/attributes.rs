//! Attributes of Sintonia for what OTF2 events do not express.
//!
//! Other tools understand the events. What they lack (Fortran flags, the posted tag of a receive, a message to MPI_PROC_NULL) is stored as
//! attributes of the enter event, and only where it differs.

use sintonia_otf2::code::ValueType;
use sintonia_otf2::reference::{AttributeRef, CallingContextRef, SourceCodeLocationRef};
use sintonia_otf2::{AttributeList, Value};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::counters::CounterIntervalKind;
use sintonia_recording::raw;
use sintonia_recording::samples::Sample;

use crate::otf2::id_table::IdTable;

/// The attribute with the source line of an event, as other tools name it.
pub(super) const SOURCE_CODE_LOCATION: &str = "SOURCE_CODE_LOCATION";

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
    /// Flags of a sample, where its calling context does not express them.
    SampleFlags,
    /// Frame of a sample, where its calling context does not express it.
    SampleFrame,
    /// Time between two calls that a metric ends, in nanoseconds.
    SegmentLength,
    /// Time between two samples that a metric ends, in nanoseconds.
    SampleLength,
}

impl CallAttribute {
    pub(super) const ALL: [CallAttribute; 18] = [
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
        CallAttribute::SampleFlags,
        CallAttribute::SampleFrame,
        CallAttribute::SegmentLength,
        CallAttribute::SampleLength,
    ];

    /// Name, type and description.
    pub(super) fn definition(self) -> (&'static str, ValueType, &'static str) {
        match self {
            CallAttribute::SourceLine => (SOURCE_CODE_LOCATION, ValueType::SOURCE_CODE_LOCATION, "Source code location"),
            CallAttribute::CallSite => ("SINTONIA_SITE", ValueType::CALLING_CONTEXT, "Call site"),
            CallAttribute::Parts => ("SINTONIA_PARTS", ValueType::UINT16, "Parts and flags of the call, as in a recording of Sintonia"),
            CallAttribute::Object => {
                ("SINTONIA_OBJECT", ValueType::UINT32, "Communicator, window or file, by its index among the definitions")
            }
            CallAttribute::Peer => ("SINTONIA_PEER", ValueType::INT32, "World rank of the destination, source, root or target"),
            CallAttribute::Tag => ("SINTONIA_TAG", ValueType::INT32, "Tag"),
            CallAttribute::Source => ("SINTONIA_SOURCE", ValueType::INT32, "World rank of the source of the receive half"),
            CallAttribute::ReceiveTag => ("SINTONIA_RECEIVE_TAG", ValueType::INT32, "Tag of the receive half"),
            CallAttribute::Sent => ("SINTONIA_SENT", ValueType::UINT64, "Bytes sent"),
            CallAttribute::Received => ("SINTONIA_RECEIVED", ValueType::UINT64, "Bytes received"),
            CallAttribute::Created => {
                ("SINTONIA_MADE", ValueType::UINT32, "Communicator, window or file created or freed, by its index among the definitions")
            }
            CallAttribute::Value => ("SINTONIA_VALUE", ValueType::INT32, "Error code, or the level of MPI_Pcontrol"),
            CallAttribute::Request => ("SINTONIA_REQUEST", ValueType::UINT64, "Request that the call created"),
            CallAttribute::ProcessId => ("ProcessId", ValueType::UINT64, "Process identifier"),
            CallAttribute::SampleFrame => ("SINTONIA_FRAME", ValueType::UINT32, "Innermost frame of the sample, by its index"),
            CallAttribute::SegmentLength => ("SINTONIA_SEGMENT", ValueType::UINT64, "Time since the previous call, in nanoseconds"),
            CallAttribute::SampleLength => ("SINTONIA_SAMPLE_TIME", ValueType::UINT64, "Time since the previous sample, in nanoseconds"),
            CallAttribute::SampleFlags => {
                ("SINTONIA_SAMPLE", ValueType::UINT16, "Sample in the kernel (1), in MPI (2), with a stack that is not complete (4)")
            }
        }
    }

    /// The attribute with the length of an interval that a metric ends.
    pub(super) fn interval_length(intervals: CounterIntervalKind) -> CallAttribute {
        match intervals {
            CounterIntervalKind::Segments => CallAttribute::SegmentLength,
            CounterIntervalKind::Samples => CallAttribute::SampleLength,
        }
    }

    /// The reference of its definition.
    pub(super) fn reference(self) -> AttributeRef {
        AttributeRef(self as u32)
    }

    fn value(self, bits: u64) -> Value {
        match self.definition().1 {
            ValueType::UINT16 => Value::Uint16(bits as u16),
            ValueType::UINT32 => Value::Uint32(bits as u32),
            ValueType::INT32 => Value::Int32(bits as i32),
            ValueType::SOURCE_CODE_LOCATION => Value::SourceCodeLocation(SourceCodeLocationRef(bits as u32)),
            ValueType::CALLING_CONTEXT => Value::CallingContext(CallingContextRef(bits as u32)),
            _ => Value::Uint64(bits),
        }
    }

    pub(super) fn from_name(name: &str) -> Option<CallAttribute> {
        CallAttribute::ALL.into_iter().find(|field| field.definition().0 == name)
    }
}

/// The attributes of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallAttributeList {
    list: Vec<(CallAttribute, u64)>,
}

impl CallAttributeList {
    pub(super) fn add(&mut self, field: CallAttribute, value: u64) {
        self.list.push((field, value));
    }

    pub(super) fn get(&self, wanted: CallAttribute) -> Option<u64> {
        self.list.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value)
    }

    /// Sets a list of OTF2 to the same attributes.
    pub(super) fn write_to(&self, list: &mut AttributeList) {
        list.clear();
        for (attribute, bits) in &self.list {
            list.add(attribute.reference(), attribute.value(*bits));
        }
    }

    /// Sets the attributes to those of an event; the ones that `known` does not have are skipped.
    pub(super) fn read_from(&mut self, list: &AttributeList, known: &IdTable<CallAttribute>) {
        self.list.clear();
        let known = |(attribute, value): (AttributeRef, Value)| Some((*known.get(attribute.0)?, value.to_bits()));
        self.list.extend(list.iter().filter_map(known));
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
                CallAttribute::SourceLine
                | CallAttribute::CallSite
                | CallAttribute::Request
                | CallAttribute::ProcessId
                | CallAttribute::SampleFlags
                | CallAttribute::SampleFrame
                | CallAttribute::SegmentLength
                | CallAttribute::SampleLength => {}
            }
        }
    }

    /// Adds attributes for what differs in a sample from what its calling context expresses: its frame, if that has one, and in MPI or not.
    pub(super) fn add_sample_differences(&mut self, frame: Option<u32>, in_mpi: bool, sample: &Sample) {
        if frame != Some(sample.frame) {
            self.add(CallAttribute::SampleFrame, sample.frame.into());
        }
        let expressed = Sample { in_mpi, in_kernel: false, is_truncated: false, ..*sample };
        self.add_if_different(CallAttribute::SampleFlags, sample_flags(&expressed), sample_flags(sample));
    }

    /// The sample of an event whose calling context expresses a frame and whether it is in MPI; none without a frame.
    pub(super) fn to_sample(&self, time: i64, frame: Option<u32>, in_mpi: bool) -> Option<Sample> {
        let frame = self.get(CallAttribute::SampleFrame).map(|frame| frame as u32).or(frame)?;
        let sample = Sample { time, frame, in_kernel: false, in_mpi, is_truncated: false };
        let flags = self.get(CallAttribute::SampleFlags).unwrap_or_else(|| sample_flags(&sample));
        Some(Sample { in_kernel: flags & 1 != 0, in_mpi: flags & 2 != 0, is_truncated: flags & 4 != 0, ..sample })
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

/// The flags of a sample as the attribute has them.
fn sample_flags(sample: &Sample) -> u64 {
    u64::from(sample.in_kernel) | u64::from(sample.in_mpi) << 1 | u64::from(sample.is_truncated) << 2
}

fn i32_bits(number: i32) -> u64 {
    u64::from(number as u32)
}

/// A listed request with unknown details.
pub(super) fn unknown_request(request: raw::RequestRef, receive: bool) -> ListedRequest {
    ListedRequest { request, is_receive: receive, peer: raw::NONE, tag: raw::NONE, received: raw::UNKNOWN_BYTES }
}
