//! Tables of calls: one row per MPI call, one table per thread.
//!
//! Programs loop, so most calls differ from earlier ones only in time. What calls have in common is stored once, as a [`CallDescriptor`]; a
//! row is then enter time, return time and descriptor index.

use sintonia_mpi::{FunctionId, FunctionRole, ObjectKind};

use crate::raw::{self, bytes_or_zero};

/// Everything about a call except its time. Peers are ranks of the recording, or [`raw::NONE`], [`raw::PROC_NULL`], [`raw::ANY`],
/// [`raw::ROOT`] or [`raw::EXTERNAL`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallDescriptor {
    /// The MPI function.
    pub function: FunctionId,
    /// Parts and flags: bits of [`raw::part`].
    pub parts: u16,
    /// Index of the call site in the header.
    pub site: u32,
    /// Index in the header of the communicator, window or file (depending on the function's role), or [`raw::NO_OBJECT`].
    pub object: u32,
    /// The destination, source, root or target; the actual source of a completed receive.
    pub peer: i32,
    /// The tag; the actual one of a completed receive.
    pub tag: i32,
    /// Source of a send-receive.
    pub source: i32,
    /// Receive tag of a send-receive. For a receive: [`raw::ANY`] if it was a wildcard receive.
    pub recv_tag: i32,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received. For a nonblocking receive: the buffer size; the actual size comes with the completion.
    pub received: u64,
    /// The communicator, window or file that the call created or freed, or [`raw::NO_OBJECT`].
    pub created: u32,
    /// Error code, level of `MPI_Pcontrol`, group index or lock type: see [`raw::part::VALUE`].
    pub value: i32,
    /// The requests it completed, freed or started ([`raw::part::STARTED`]).
    pub requests: Vec<ListedRequest>,
}

impl CallDescriptor {
    /// A descriptor with only the function set.
    pub fn new(function: FunctionId) -> CallDescriptor {
        CallDescriptor {
            function,
            parts: 0,
            site: 0,
            object: raw::NO_OBJECT,
            peer: raw::NONE,
            tag: raw::NONE,
            source: raw::NONE,
            recv_tag: raw::NONE,
            sent: 0,
            received: 0,
            created: raw::NO_OBJECT,
            value: 0,
            requests: Vec::new(),
        }
    }

    /// Whether the call creates a request.
    #[inline]
    pub fn makes_request(&self) -> bool {
        self.parts & raw::part::REQUEST != 0
    }

    /// Whether the value is a group index: the origin group of `MPI_Win_post` or the target group of `MPI_Win_start`.
    pub fn has_group_operand(&self) -> bool {
        let succeeded = self.parts & (raw::part::VALUE | raw::part::ERROR) == raw::part::VALUE;
        succeeded && self.function.role() == FunctionRole::WindowSync && matches!(self.function.name(), "MPI_Win_post" | "MPI_Win_start")
    }

    /// Index of the communicator the call is made on; `None` if it is made on something else, or if that is unknown.
    pub fn communicator(&self) -> Option<u32> {
        self.object_of(ObjectKind::Communicator)
    }

    /// Index of the window the call is made on.
    pub fn window(&self) -> Option<u32> {
        self.object_of(ObjectKind::Window)
    }

    /// Index of the file the call is made on.
    pub fn file(&self) -> Option<u32> {
        self.object_of(ObjectKind::File)
    }

    fn object_of(&self, kind: ObjectKind) -> Option<u32> {
        (self.object != raw::NO_OBJECT && self.function.role().object_kind() == kind).then_some(self.object)
    }

    /// Bytes sent by one call; 0 if unknown.
    pub fn bytes_sent(&self) -> u64 {
        bytes_or_zero(self.sent)
    }

    /// Bytes received by one call; 0 if unknown. Those of a nonblocking receive count at its completion.
    pub fn bytes_received(&self) -> u64 {
        let later = self.makes_request()
            && matches!(self.function.role(), FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::SendReceive);
        let itself = if later { 0 } else { bytes_or_zero(self.received) };
        let completed = self.parts & raw::part::STARTED == 0;
        self.requests.iter().filter(|r| completed && r.is_receive).fold(itself, |sum, r| sum.saturating_add(bytes_or_zero(r.received)))
    }
}

/// A request that a call completed, freed or started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedRequest {
    /// The request.
    pub request: raw::RequestRef,
    /// Whether it is a receive; the fields below are valid only then.
    pub is_receive: bool,
    /// The actual source.
    pub peer: i32,
    /// The actual tag.
    pub tag: i32,
    /// The actual size in bytes.
    pub received: u64,
}

/// Identity of a request within one process: creating thread, and sequence number there. Those of unknown requests
/// ([`raw::RequestRef::UNKNOWN`]) are all the same, and that of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// The thread.
    pub thread: u16,
    /// Sequence number among the requests of that thread.
    pub number: u64,
}

impl RequestId {
    /// Whether it is known which request it is.
    pub fn is_known(self) -> bool {
        self.thread != raw::UNKNOWN_THREAD
    }
}

/// The calls of one thread, in order.
#[derive(Clone, Debug, Default)]
pub struct CallTable {
    /// The thread's number in its process.
    pub thread: u16,
    /// Enter time of each call, in nanoseconds since the start of the recording.
    pub enter: Vec<i64>,
    /// Return time of each call.
    pub leave: Vec<i64>,
    /// Descriptor index of each call.
    pub descriptor_ids: Vec<u32>,
    /// The descriptors.
    pub descriptors: Vec<CallDescriptor>,
    /// Points where request numbering restarts, e.g. after lost blocks: from this row on, the next request has this number.
    pub request_bases: Vec<(usize, u64)>,
}

/// One row of a [`CallTable`].
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall<'a> {
    /// Enter time.
    pub enter: i64,
    /// Return time.
    pub leave: i64,
    /// Everything but the time.
    pub descriptor: &'a CallDescriptor,
    /// The request it created, if any.
    pub request: Option<RequestId>,
    /// Number of the thread's next request when the call returns: base of the relative references in [`RecordedCall::requests`].
    next_request: u64,
    /// The thread that made it.
    pub thread: u16,
}

impl<'a> RecordedCall<'a> {
    /// The requests that the call completed or started, with their identities.
    pub fn requests(&self) -> impl Iterator<Item = (RequestId, &'a ListedRequest)> + use<'a> {
        let (next, thread) = (self.next_request, self.thread);
        self.descriptor.requests.iter().map(move |entry| {
            let id = match entry.request {
                raw::RequestRef::Relative(ago) => RequestId { thread, number: next.wrapping_sub(1 + ago) },
                raw::RequestRef::Absolute(thread, number) => RequestId { thread, number },
            };
            (id, entry)
        })
    }
}

impl CallTable {
    /// Number of calls.
    pub fn len(&self) -> usize {
        self.enter.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.enter.is_empty()
    }

    /// For each call, the number of the thread's next request before it.
    pub fn next_requests(&self) -> Vec<u64> {
        let next = |call: RecordedCall| call.request.map_or(call.next_request, |request| request.number);
        self.calls().map(next).collect()
    }

    /// The calls in order, with their requests numbered.
    pub fn calls(&self) -> impl Iterator<Item = RecordedCall<'_>> {
        let mut cursor = TableCursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }
}

/// A position in a [`CallTable`].
#[derive(Clone, Copy, Default)]
pub(crate) struct TableCursor {
    /// Row of the next call.
    pub row: usize,
    next_request: u64,
    bases_used: usize,
}

impl TableCursor {
    /// The next call, with its request numbered.
    pub(crate) fn next<'a>(&mut self, table: &'a CallTable) -> Option<RecordedCall<'a>> {
        let row = self.row;
        let number = *table.descriptor_ids.get(row)?;
        while let Some((_, base)) = table.request_bases.get(self.bases_used).filter(|(from, _)| *from <= row) {
            (self.next_request, self.bases_used) = (*base, self.bases_used + 1);
        }
        self.row += 1;
        let descriptor = &table.descriptors[number as usize];
        let mut request = None;
        if descriptor.makes_request() {
            request = Some(RequestId { thread: table.thread, number: self.next_request });
            self.next_request = self.next_request.wrapping_add(1);
        }
        let (enter, leave) = (table.enter[row], table.leave[row]);
        Some(RecordedCall { enter, leave, descriptor, request, next_request: self.next_request, thread: table.thread })
    }
}

/// Totals of the calls with one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DescriptorTotals {
    /// Number of calls.
    pub calls: u64,
    /// Total time in nanoseconds.
    pub total_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Total bytes sent.
    pub sent: u64,
    /// Total bytes received.
    pub received: u64,
}
