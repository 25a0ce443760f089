//! Small calls made by hand, for the tests of this crate.

use sintonia_mpi::Operation;
use sintonia_recording::raw::{RequestRef, part};
use sintonia_recording::table::{CallTable, ListedRequest, Shape, Totals};

/// A shape under construction.
pub struct Sample(Shape);

/// A shape with nothing but its operation.
pub fn shape(operation: &str) -> Sample {
    Sample(Shape::of(Operation::named(operation).unwrap()))
}

impl Sample {
    pub fn on(mut self, communicator: u32) -> Self {
        self.0.parts |= part::OBJECT;
        self.0.object = communicator;
        self
    }

    pub fn peer(mut self, peer: i32) -> Self {
        self.0.parts |= part::OBJECT;
        self.0.peer = peer;
        self
    }

    pub fn source(mut self, source: i32) -> Self {
        self.0.parts |= part::SOURCE;
        self.0.source = source;
        self
    }

    pub fn sent(mut self, bytes: u64) -> Self {
        self.0.parts |= part::SENT;
        self.0.sent = bytes;
        self
    }

    pub fn received(mut self, bytes: u64) -> Self {
        self.0.parts |= part::RECEIVED;
        self.0.received = bytes;
        self
    }

    pub fn mark(mut self, mark: u16) -> Self {
        self.0.parts |= mark;
        self
    }

    pub fn requests(mut self, requests: Vec<ListedRequest>) -> Self {
        self.0.requests = requests;
        self
    }

    pub fn done(self) -> Shape {
        self.0
    }
}

/// So many calls of a shape, one nanosecond each.
pub fn calls(sample: Sample, calls: u64) -> (Shape, Totals) {
    let shape = sample.done();
    let (sent, received) = (shape.bytes_sent() * calls, shape.bytes_received() * calls);
    let totals = Totals { calls, nanoseconds: calls, least_ns: 1, most_ns: 1, sent, received };
    (shape, totals)
}

/// A receive that a call completed.
pub fn completed(request: RequestRef, peer: i32, received: u64) -> ListedRequest {
    ListedRequest { request, receive: true, peer, tag: 0, received }
}

/// The calls of a thread, one nanosecond each.
pub fn table(thread: u16, calls: Vec<Sample>) -> CallTable {
    let count = calls.len();
    CallTable {
        thread,
        enter: (0..count as i64).collect(),
        leave: (1..=count as i64).collect(),
        shape: (0..count as u32).collect(),
        shapes: calls.into_iter().map(Sample::done).collect(),
        request_bases: Vec::new(),
    }
}
