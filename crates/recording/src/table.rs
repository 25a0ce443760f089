//! A recording as a table: per thread one row per MPI call.
//!
//! Programs loop, so most calls differ from earlier ones only in time. The table keeps what two calls have in common once, as a [`Shape`];
//! a row is then the moment it was entered, the moment it was left, and the number of its shape.

use sintonia_mpi::{ObjectKind, Operation, Role};

use crate::raw::{self, known_bytes};

/// Everything about a call except when it happened. Peers are ranks of the recording ([`raw::NONE`], [`raw::PROC_NULL`], [`raw::ANY`],
/// [`raw::ROOT_HERE`] and [`raw::OUTSIDE`] where they are no process of it).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The MPI function.
    pub operation: Operation,
    /// The parts and marks it has: bits of [`raw::part`].
    pub parts: u16,
    /// The call site, by place in the header's list.
    pub site: u32,
    /// The communicator, or the window or file (by the role of the operation), by place in the header's lists; [`raw::NO_OBJECT`] if none.
    pub object: u32,
    /// The destination, source, root or target; the actual source of a completed receive.
    pub peer: i32,
    /// The tag; the actual one of a completed receive.
    pub tag: i32,
    /// The source of the receiving half of a send-receive.
    pub source: i32,
    /// The tag of the receiving half of a send-receive; of a receive, [`raw::ANY`] if it would have taken a message from anyone.
    pub recv_tag: i32,
    /// Bytes handed over to be sent.
    pub sent: u64,
    /// Bytes received (for a nonblocking receive: at most, the actual number comes with the completion).
    pub received: u64,
    /// The communicator, window or file that the call made or freed; [`raw::NO_OBJECT`] if none.
    pub made: u32,
    /// The error code it returned, the level of `MPI_Pcontrol`, the number of a group, or the kind of a lock: see [`raw::part::VALUE`].
    pub value: i32,
    /// The requests it completed or gave back (or started: [`raw::part::STARTED`]).
    pub requests: Vec<ListedRequest>,
}

impl Shape {
    /// The shape of a call of which nothing but the function is known.
    pub fn of(operation: Operation) -> Shape {
        Shape {
            operation,
            parts: 0,
            site: 0,
            object: raw::NO_OBJECT,
            peer: raw::NONE,
            tag: raw::NONE,
            source: raw::NONE,
            recv_tag: raw::NONE,
            sent: 0,
            received: 0,
            made: raw::NO_OBJECT,
            value: 0,
            requests: Vec::new(),
        }
    }

    /// Whether a call of this shape makes a request.
    #[inline]
    pub fn makes_request(&self) -> bool {
        self.parts & raw::part::REQUEST != 0
    }

    /// Whether the value is the number of a group: of those whose accesses `MPI_Win_post` lets in, or whom `MPI_Win_start` will access.
    pub fn names_group(&self) -> bool {
        let succeeded = self.parts & (raw::part::VALUE | raw::part::ERROR) == raw::part::VALUE;
        succeeded && self.operation.role() == Role::WindowSync && matches!(self.operation.name(), "MPI_Win_post" | "MPI_Win_start")
    }

    /// The communicator that the call is made on, by number; `None` if it is made on something else, or that is not known.
    pub fn communicator(&self) -> Option<u32> {
        self.object_of(ObjectKind::Communicator)
    }

    /// The window that the call is made on, by number.
    pub fn window(&self) -> Option<u32> {
        self.object_of(ObjectKind::Window)
    }

    /// The file that the call is made on, by number.
    pub fn file(&self) -> Option<u32> {
        self.object_of(ObjectKind::File)
    }

    fn object_of(&self, kind: ObjectKind) -> Option<u32> {
        (self.object != raw::NO_OBJECT && self.operation.role().object_kind() == kind).then_some(self.object)
    }

    /// Bytes that one call sends, as far as they are known.
    pub fn bytes_sent(&self) -> u64 {
        known_bytes(self.sent)
    }

    /// Bytes that one call receives, as far as they are known: those of a nonblocking receive count where it completes.
    pub fn bytes_received(&self) -> u64 {
        let later = self.makes_request() && matches!(self.operation.role(), Role::Receive | Role::MatchedReceive | Role::SendReceive);
        let itself = if later { 0 } else { known_bytes(self.received) };
        let completed = self.parts & raw::part::STARTED == 0;
        self.requests.iter().filter(|r| completed && r.receive).fold(itself, |sum, r| sum.saturating_add(known_bytes(r.received)))
    }
}

/// A request that a call completed, gave back or started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedRequest {
    /// Which one.
    pub request: raw::RequestRef,
    /// Whether it was a receive; then the fields below hold.
    pub receive: bool,
    /// The actual source.
    pub peer: i32,
    /// The actual tag.
    pub tag: i32,
    /// The actual number of bytes.
    pub received: u64,
}

/// The identity of a request within one process: the thread that made it, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// The thread.
    pub thread: u16,
    /// Its number among the requests of that thread.
    pub number: u64,
}

/// The calls of one thread, in order.
#[derive(Clone, Debug, Default)]
pub struct CallTable {
    /// The thread's number in its process.
    pub thread: u16,
    /// When each call was entered, in nanoseconds since the recording began.
    pub enter: Vec<i64>,
    /// When each call was left.
    pub leave: Vec<i64>,
    /// The number of each call's shape.
    pub shape: Vec<u32>,
    /// The shapes.
    pub shapes: Vec<Shape>,
    /// Places where request numbers are known anew, such as after a gap: from this row on, the next request made has this number.
    pub request_bases: Vec<(usize, u64)>,
}

/// One row of a [`CallTable`].
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// When it was entered.
    pub enter: i64,
    /// When it was left.
    pub leave: i64,
    /// Everything else about it.
    pub shape: &'a Shape,
    /// The request it made, if it made one.
    pub request: Option<RequestId>,
    /// The number that the thread's next request has when this call returns: what [`Call::listed`] counts back from.
    next_request: u64,
    /// The thread that made it.
    pub thread: u16,
}

impl<'a> Call<'a> {
    /// The requests that the call completed or started, with their identity.
    pub fn listed(&self) -> impl Iterator<Item = (RequestId, &'a ListedRequest)> + use<'a> {
        let (next, thread) = (self.next_request, self.thread);
        self.shape.requests.iter().map(move |listed| {
            let id = match listed.request {
                raw::RequestRef::Ago(ago) => RequestId { thread, number: next.wrapping_sub(1 + ago) },
                raw::RequestRef::Of(thread, number) => RequestId { thread, number },
            };
            (id, listed)
        })
    }
}

impl CallTable {
    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.enter.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.enter.is_empty()
    }

    /// The calls in order, with the requests they made numbered.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }
}

/// A place in a [`CallTable`] that moves on call by call.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    /// The row of the next call.
    pub row: usize,
    next_request: u64,
    bases: usize,
}

impl Cursor {
    /// The next call, with the request it made numbered.
    pub fn next<'a>(&mut self, table: &'a CallTable) -> Option<Call<'a>> {
        let row = self.row;
        let number = *table.shape.get(row)?;
        while let Some((_, base)) = table.request_bases.get(self.bases).filter(|(from, _)| *from <= row) {
            (self.next_request, self.bases) = (*base, self.bases + 1);
        }
        self.row += 1;
        let shape = &table.shapes[number as usize];
        let mut request = None;
        if shape.makes_request() {
            request = Some(RequestId { thread: table.thread, number: self.next_request });
            self.next_request = self.next_request.wrapping_add(1);
        }
        let (enter, leave) = (table.enter[row], table.leave[row]);
        Some(Call { enter, leave, shape, request, next_request: self.next_request, thread: table.thread })
    }
}

/// The calls of one shape summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// How many calls.
    pub calls: u64,
    /// Nanoseconds in them together.
    pub nanoseconds: u64,
    /// The shortest.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
    /// Bytes sent by all of them together.
    pub sent: u64,
    /// Bytes received by all of them together.
    pub received: u64,
}
