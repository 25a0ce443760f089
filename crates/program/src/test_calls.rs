//! Handmade calls for the unit tests of this crate.

use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::{CallDescriptor, CallTable, DescriptorTotals, ListedRequest};
use sintonia_recording::raw::{RequestRef, part};

/// Builder of a call descriptor.
pub(crate) struct DescriptorBuilder(CallDescriptor);

/// A descriptor with only an operation.
pub(crate) fn descriptor(operation: &str) -> DescriptorBuilder {
    DescriptorBuilder(CallDescriptor::new(FunctionId::from_name(operation).unwrap()))
}

impl DescriptorBuilder {
    pub(crate) fn on(mut self, communicator: u32) -> Self {
        self.0.parts |= part::OBJECT;
        self.0.object = communicator;
        self
    }

    pub(crate) fn peer(mut self, peer: i32) -> Self {
        self.0.parts |= part::OBJECT;
        self.0.peer = peer;
        self
    }

    pub(crate) fn source(mut self, source: i32) -> Self {
        self.0.parts |= part::SOURCE;
        self.0.source = source;
        self
    }

    pub(crate) fn sent(mut self, bytes: u64) -> Self {
        self.0.parts |= part::SENT;
        self.0.sent = bytes;
        self
    }

    pub(crate) fn received(mut self, bytes: u64) -> Self {
        self.0.parts |= part::RECEIVED;
        self.0.received = bytes;
        self
    }

    pub(crate) fn mark(mut self, mark: u16) -> Self {
        self.0.parts |= mark;
        self
    }

    pub(crate) fn requests(mut self, requests: Vec<ListedRequest>) -> Self {
        self.0.requests = requests;
        self
    }

    pub(crate) fn build(self) -> CallDescriptor {
        self.0
    }
}

/// Totals of `calls` calls of one nanosecond each.
pub(crate) fn calls(sample: DescriptorBuilder, calls: u64) -> (CallDescriptor, DescriptorTotals) {
    let descriptor = sample.build();
    let (sent, received) = (descriptor.bytes_sent() * calls, descriptor.bytes_received() * calls);
    let totals = DescriptorTotals { calls, total_ns: calls, min_ns: 1, max_ns: 1, sent, received };
    (descriptor, totals)
}

/// A receive completed by a call.
pub(crate) fn completed(request: RequestRef, peer: i32, received: u64) -> ListedRequest {
    ListedRequest { request, is_receive: true, peer, tag: 0, received }
}

/// The calls of a thread, one nanosecond each.
pub(crate) fn table(thread: u16, calls: Vec<DescriptorBuilder>) -> CallTable {
    let count = calls.len();
    CallTable {
        thread,
        enter: (0..count as i64).collect(),
        leave: (1..=count as i64).collect(),
        descriptor_ids: (0..count as u32).collect(),
        descriptors: calls.into_iter().map(DescriptorBuilder::build).collect(),
        request_bases: Vec::new(),
    }
}
