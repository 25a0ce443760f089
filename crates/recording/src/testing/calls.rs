//! Calls as tests write them: a function, what the test cares about, and a time.

use sintonia_mpi::{BlockingMode, FunctionId};

use crate::call_table::{CallDescriptor, CallTable, DescriptorTotals, ListedRequest};
use crate::raw::{self, RequestRef, part};

/// Nanoseconds of a millisecond.
pub const MS: i64 = 1_000_000;

/// The tag of messages, unless another is given.
pub const TAG: i32 = 7;

/// The size of messages, unless another is given.
const BYTES: u64 = 8;

/// A call with its time, in nanoseconds since the start of the recording.
#[derive(Clone, Debug)]
pub struct TestCall {
    /// The thread that made it.
    pub thread: u16,
    /// When it was entered.
    pub enter: u64,
    /// When it returned.
    pub leave: u64,
    /// The call.
    pub descriptor: CallDescriptor,
}

impl TestCall {
    /// The same call made by another thread.
    pub fn thread(self, thread: u16) -> TestCall {
        TestCall { thread, ..self }
    }
}

/// For tests: sets one property each, together with the bits that mark it as known.
impl CallDescriptor {
    /// The source line of its call site.
    pub fn line(self, line: u32) -> CallDescriptor {
        CallDescriptor { site: line, ..self }
    }

    /// The communicator, window or file it is made on.
    pub fn on(self, object: u32) -> CallDescriptor {
        CallDescriptor { object, ..self.mark(part::OBJECT) }
    }

    /// The destination, source, root or target.
    pub fn peer(self, peer: i32) -> CallDescriptor {
        CallDescriptor { peer, ..self.mark(part::OBJECT) }
    }

    /// The tag.
    pub fn tag(self, tag: i32) -> CallDescriptor {
        CallDescriptor { tag, ..self.mark(part::TAG) }
    }

    /// The source of a send-receive.
    pub fn source(self, source: i32) -> CallDescriptor {
        CallDescriptor { source, ..self.mark(part::SOURCE) }
    }

    /// Bytes sent.
    pub fn sent(self, bytes: u64) -> CallDescriptor {
        CallDescriptor { sent: bytes, ..self.mark(part::SENT) }
    }

    /// Bytes received.
    pub fn received(self, bytes: u64) -> CallDescriptor {
        CallDescriptor { received: bytes, ..self.mark(part::RECEIVED) }
    }

    /// The communicator, window or file it creates.
    pub fn created(self, object: u32) -> CallDescriptor {
        CallDescriptor { created: object, ..self.mark(part::CREATED) }
    }

    /// Its value: see [`part::VALUE`].
    pub fn value(self, value: i32) -> CallDescriptor {
        CallDescriptor { value, ..self.mark(part::VALUE) }
    }

    /// The requests it completes, frees or starts.
    pub fn requests(self, requests: impl IntoIterator<Item = ListedRequest>) -> CallDescriptor {
        CallDescriptor { requests: requests.into_iter().collect(), ..self }
    }

    /// Sets bits of [`part`].
    pub fn mark(self, parts: u16) -> CallDescriptor {
        CallDescriptor { parts: self.parts | parts, ..self }
    }

    /// Such a call of the first thread, entered and left at these nanoseconds.
    pub fn at(self, enter: u64, leave: u64) -> TestCall {
        TestCall { thread: 0, enter, leave, descriptor: self }
    }

    /// The same in milliseconds.
    pub fn at_ms(self, enter: u64, leave: u64) -> TestCall {
        self.at(enter * MS as u64, leave * MS as u64)
    }
}

/// A call of a function. If the function is not blocking, the call creates a request.
pub fn call(function: &str) -> CallDescriptor {
    let function = FunctionId::from_name(function).expect("the name of an MPI function");
    let is_blocking = function.definition().mode == BlockingMode::Blocking;
    CallDescriptor { parts: if is_blocking { 0 } else { part::REQUEST }, ..CallDescriptor::new(function) }
}

/// `MPI_Init`.
pub fn init() -> CallDescriptor {
    call("MPI_Init")
}

/// `MPI_Finalize`.
pub fn finalize() -> CallDescriptor {
    call("MPI_Finalize")
}

/// A function of point-to-point communication on `MPI_COMM_WORLD`.
pub fn message(function: &str, peer: i32) -> CallDescriptor {
    call(function).on(0).peer(peer).tag(TAG)
}

/// `MPI_Send`.
pub fn send(to: i32) -> CallDescriptor {
    message("MPI_Send", to).sent(BYTES)
}

/// `MPI_Recv`.
pub fn receive(from: i32) -> CallDescriptor {
    message("MPI_Recv", from).received(BYTES)
}

/// `MPI_Isend`.
pub fn isend(to: i32) -> CallDescriptor {
    message("MPI_Isend", to).sent(BYTES)
}

/// `MPI_Irecv`, from [`raw::ANY`] too.
pub fn irecv(from: i32) -> CallDescriptor {
    message("MPI_Irecv", from).received(BYTES)
}

/// A collective on `MPI_COMM_WORLD`; one with a root gets it with [`CallDescriptor::peer`].
pub fn collective(function: &str) -> CallDescriptor {
    call(function).on(0)
}

/// A call that completes requests: how many requests ago each was created, and from which rank it received, if it is a receive.
pub fn wait(function: &str, requests: &[(u64, Option<i32>)]) -> CallDescriptor {
    let listed = |(ago, from): &(u64, Option<i32>)| match from {
        Some(from) => completed_receive(RequestRef::Relative(*ago), *from, BYTES),
        None => ListedRequest { request: RequestRef::Relative(*ago), is_receive: false, peer: raw::NONE, tag: raw::NONE, received: 0 },
    };
    call(function).requests(requests.iter().map(listed))
}

/// A receive that a call completed.
pub fn completed_receive(request: RequestRef, from: i32, bytes: u64) -> ListedRequest {
    ListedRequest { request, is_receive: true, peer: from, tag: TAG, received: bytes }
}

/// A call on the window of the recording.
pub fn on_window(function: &str) -> CallDescriptor {
    call(function).on(0)
}

/// `MPI_Win_post` or `MPI_Win_start` with a group of the header.
pub fn with_group(function: &str, group: i32) -> CallDescriptor {
    on_window(function).value(group)
}

/// `MPI_Put` to the window of a rank.
pub fn put(target: i32) -> CallDescriptor {
    on_window("MPI_Put").peer(target).sent(BYTES)
}

/// `MPI_Win_lock` of the window of a rank: [`raw::LOCK_EXCLUSIVE`] or [`raw::LOCK_SHARED`].
pub fn win_lock(kind: i32, target: i32) -> CallDescriptor {
    on_window("MPI_Win_lock").value(kind).peer(target)
}

/// `MPI_Win_unlock` of the window of a rank.
pub fn win_unlock(target: i32) -> CallDescriptor {
    on_window("MPI_Win_unlock").peer(target)
}

/// The calls of a thread, one nanosecond each.
pub fn call_table(thread: u16, calls: Vec<CallDescriptor>) -> CallTable {
    let count = calls.len();
    CallTable {
        thread,
        enter: (0..count as i64).collect(),
        leave: (1..=count as i64).collect(),
        descriptor_ids: (0..count as u32).collect(),
        descriptors: calls,
        request_bases: Vec::new(),
    }
}

/// The totals of equal calls, one nanosecond each.
pub fn descriptor_totals(descriptor: CallDescriptor, calls: u64) -> (CallDescriptor, DescriptorTotals) {
    let (sent, received) = (descriptor.bytes_sent() * calls, descriptor.bytes_received() * calls);
    (descriptor, DescriptorTotals { calls, total_ns: calls, min_ns: 1, max_ns: 1, sent, received })
}
