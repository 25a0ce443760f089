//! Communication events: the messages each call sends and receives, and the collectives it takes part in.
//!
//! One call's arguments are often not enough to know its effect: a wait completes a receive posted long before, a start sends what an
//! `_init` described. A [`RequestTracker`] processes the calls of one process in order, keeps track of its requests and returns the events
//! of every call.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_mpi::{BlockingMode, CollectiveOp, FunctionRole};

use crate::call_table::{CallDescriptor, ListedRequest, RecordedCall, RequestId};
use crate::header::RecordingHeader;
use crate::raw::{self, part};
use crate::request_table::RequestTable;

/// A point-to-point message. The peer is a rank of the recording, or [`raw::EXTERNAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointToPointMessage {
    /// Destination or source rank.
    pub peer: i32,
    /// The communicator.
    pub communicator: u32,
    /// The tag.
    pub tag: i32,
    /// Size in bytes, or [`raw::UNKNOWN_BYTES`].
    pub bytes: u64,
}

/// Semantic effect of a call on other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommEvent {
    /// A send starts. Without a request it is complete when the call returns.
    Send {
        /// The message.
        message: PointToPointMessage,
        /// The request that completes it.
        request: Option<RequestId>,
        /// Synchronous mode (`MPI_Ssend` and variants): completes only after the matching receive has started.
        synchronous: bool,
    },
    /// A nonblocking or persistent send completes.
    SendComplete {
        /// The request.
        request: RequestId,
        /// Index of the call that started it, counting all calls of the process from 0.
        begin_call: u64,
    },
    /// A nonblocking receive is posted; a later call completes it.
    ReceivePost {
        /// The request.
        request: RequestId,
    },
    /// A receive completes.
    Receive {
        /// The message.
        message: PointToPointMessage,
        /// The request, if the receive was posted by an earlier call.
        request: Option<RequestId>,
        /// Index of the call that posted the receive; this call if it is blocking.
        begin_call: u64,
    },
    /// A receive completes because it was cancelled.
    ReceiveCancel {
        /// The request.
        request: RequestId,
    },
    /// The process enters a collective.
    CollectiveBegin {
        /// Identity of the collective, the same on all participants.
        collective: CollectiveId,
        /// Which operation it is.
        op: GroupOp,
        /// The root, where there is one ([`raw::ROOT`] and [`raw::PROC_NULL`] on an intercommunicator).
        root: i32,
        /// The request that completes it; without one it is complete when the call returns.
        request: Option<RequestId>,
    },
    /// A nonblocking or persistent collective completes.
    CollectiveEnd {
        /// The request.
        request: RequestId,
        /// Index of the call that started it.
        begin_call: u64,
    },
}

/// Identity of one collective: its group and its sequence number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveId {
    /// The participants.
    pub group: CollectiveGroup,
    /// Sequence number among the collectives of that group.
    pub number: u64,
}

/// The processes that take part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CollectiveGroup {
    /// The members of a communicator, given by its index.
    Communicator(u32),
    /// The members of a window or file, given by its index: fences and collective file access.
    Object(u32),
    /// All processes of one `MPI_COMM_WORLD`, given by its communicator index.
    World(u32),
    /// The members of a communicator, for one of its persistent collectives: communicator index, and index in creation order. MPI requires
    /// all members to create them in the same order, but allows starting them in any order.
    Persistent(u32, u32),
}

impl CollectiveGroup {
    /// Encodes the group as three words.
    pub fn to_words(self) -> [u32; 3] {
        match self {
            CollectiveGroup::Communicator(number) => [0, number, 0],
            CollectiveGroup::Object(number) => [1, number, 0],
            CollectiveGroup::World(number) => [2, number, 0],
            CollectiveGroup::Persistent(number, operation) => [3, number, operation],
        }
    }

    /// Inverse of [`CollectiveGroup::to_words`].
    pub fn from_words([kind, number, operation]: [u32; 3]) -> Option<CollectiveGroup> {
        match kind {
            0 => Some(CollectiveGroup::Communicator(number)),
            1 => Some(CollectiveGroup::Object(number)),
            2 => Some(CollectiveGroup::World(number)),
            3 => Some(CollectiveGroup::Persistent(number, operation)),
            _ => None,
        }
    }
}

/// A collective operation in the wide sense: everything that all members of a group call together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupOp {
    /// A collective communication operation.
    Collective(CollectiveOp),
    /// Communicator creation.
    CommunicatorCreate,
    /// Window creation.
    WindowCreate,
    /// Free a window.
    WindowFree,
    /// Fence a window.
    Fence,
    /// Collective open, close or access of a file.
    FileAccess,
    /// `MPI_Init`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
}

impl GroupOp {
    /// All variants but [`GroupOp::Collective`], in the order of their encoding.
    const NON_COLLECTIVE: [GroupOp; 7] = [
        GroupOp::CommunicatorCreate,
        GroupOp::WindowCreate,
        GroupOp::WindowFree,
        GroupOp::Fence,
        GroupOp::FileAccess,
        GroupOp::Init,
        GroupOp::Finalize,
    ];

    /// Encodes the operation as one word.
    pub fn to_word(self) -> u32 {
        match self {
            GroupOp::Collective(collective_op) => collective_op as u32,
            other => (CollectiveOp::ALL.len() + GroupOp::NON_COLLECTIVE.iter().position(|known| *known == other).unwrap_or(0)) as u32,
        }
    }

    /// Inverse of [`GroupOp::to_word`].
    pub fn from_word(word: u32) -> Option<GroupOp> {
        let word = word as usize;
        match CollectiveOp::ALL.get(word) {
            Some(collective_op) => Some(GroupOp::Collective(*collective_op)),
            None => GroupOp::NON_COLLECTIVE.get(word - CollectiveOp::ALL.len()).copied(),
        }
    }
}

/// A pending or persistent request.
#[derive(Clone, Copy)]
struct RequestState {
    op: RequestOp,
    begin_call: u64,
}

#[derive(Clone, Copy)]
enum RequestOp {
    Send { message: PointToPointMessage, synchronous: bool },
    Receive { communicator: u32 },
    SendReceive { message: PointToPointMessage },
    Collective { group: CollectiveGroup, op: GroupOp, root: i32 },
}

/// Tracks the requests of one process through its calls.
#[derive(Default)]
pub struct RequestTracker {
    pending: RequestTable<RequestId, RequestState>,
    next_collective: FxHashMap<CollectiveGroup, u64>,
    /// Number of persistent collectives created on each communicator.
    persistent_count: FxHashMap<u32, u32>,
    /// Index of the process's `MPI_COMM_WORLD`.
    world: u32,
    call_count: u64,
    events: Vec<CommEvent>,
}

impl RequestTracker {
    /// A tracker for a process of the world with this communicator index.
    pub fn for_world(world: u32) -> RequestTracker {
        RequestTracker { world, ..RequestTracker::default() }
    }

    /// The events of the next call. Calls of all threads must come in order of their return.
    pub fn track(&mut self, call: &RecordedCall) -> &[CommEvent] {
        self.events.clear();
        self.dispatch(call);
        self.call_count += 1;
        &self.events
    }

    fn dispatch(&mut self, call: &RecordedCall) {
        let function = call.descriptor.function.definition();
        match function.role {
            FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
                call.requests().for_each(|(request, listed)| self.complete(request, listed));
                // A wait lists requests in array order, but messages match in the order in which the receives were posted.
                self.events.sort_by_key(|event| if let CommEvent::Receive { begin_call, .. } = event { *begin_call } else { 0 });
            }
            FunctionRole::Start | FunctionRole::StartAll => call.requests().for_each(|(request, _)| self.start(request)),
            FunctionRole::RequestFree => {
                call.requests().for_each(|(request, _)| _ = self.pending.remove(&request));
            }
            _ if failed(call.descriptor) => self.track_failed(call.descriptor, function.mode),
            _ => self.track_begin(call, function.mode),
        }
    }

    /// A call that returned an error. It transferred no known message, but a collective that failed here may have succeeded on other ranks,
    /// so it still takes a sequence number.
    fn track_failed(&mut self, descriptor: &CallDescriptor, mode: BlockingMode) {
        if let Some(RequestOp::Collective { group, op, root }) = self.classify(descriptor, mode)
            && mode != BlockingMode::Persistent
        {
            self.join(group, op, root, None);
        }
    }

    /// A call whose own arguments determine its effect.
    fn track_begin(&mut self, call: &RecordedCall, mode: BlockingMode) {
        let Some(op) = self.classify(call.descriptor, mode) else { return };
        match (mode, call.request) {
            (BlockingMode::Blocking, _) => self.track_blocking(call.descriptor, op),
            (_, None) => {}
            (_, Some(request)) => {
                self.pending.create(request, mode, RequestState { op, begin_call: self.call_count });
                if mode != BlockingMode::Persistent {
                    self.start(request);
                }
            }
        }
    }

    /// The operation of a call; numbers persistent collectives.
    fn classify(&mut self, descriptor: &CallDescriptor, mode: BlockingMode) -> Option<RequestOp> {
        match classify_call(descriptor, self.world)? {
            RequestOp::Collective { group: CollectiveGroup::Communicator(number), op, root } if mode == BlockingMode::Persistent => {
                let next = self.persistent_count.entry(number).or_default();
                let group = CollectiveGroup::Persistent(number, *next);
                *next += 1;
                Some(RequestOp::Collective { group, op, root })
            }
            op => Some(op),
        }
    }

    fn track_blocking(&mut self, descriptor: &CallDescriptor, op: RequestOp) {
        let begin_call = self.call_count;
        let mut receive = |communicator, peer, tag| {
            let message = PointToPointMessage { peer, communicator, tag, bytes: descriptor.received };
            if is_process(peer) && descriptor.parts & part::UNFINISHED == 0 {
                self.events.push(CommEvent::Receive { message, request: None, begin_call });
            }
        };
        match op {
            RequestOp::Receive { communicator } => receive(communicator, descriptor.peer, descriptor.tag),
            RequestOp::SendReceive { message } => {
                receive(message.communicator, descriptor.source, descriptor.recv_tag);
                self.send(message, None, false);
            }
            RequestOp::Send { message, synchronous } => self.send(message, None, synchronous),
            RequestOp::Collective { group, op, root } => self.join(group, op, root, None),
        }
    }

    /// Starts the operation of a request.
    fn start(&mut self, request: RequestId) {
        let Some(state) = self.pending.get_mut(&request) else { return };
        state.begin_call = self.call_count;
        match state.op {
            RequestOp::Send { message, synchronous } => self.send(message, Some(request), synchronous),
            RequestOp::Receive { .. } => self.events.push(CommEvent::ReceivePost { request }),
            RequestOp::SendReceive { message } => {
                self.events.push(CommEvent::ReceivePost { request });
                self.send(message, None, false);
            }
            RequestOp::Collective { group, op, root } => self.join(group, op, root, Some(request)),
        }
    }

    fn complete(&mut self, request: RequestId, listed: &ListedRequest) {
        let Some(RequestState { op, begin_call }) = self.pending.complete(&request) else { return };
        let event = match op {
            RequestOp::Send { .. } => CommEvent::SendComplete { request, begin_call },
            RequestOp::Collective { .. } => CommEvent::CollectiveEnd { request, begin_call },
            RequestOp::Receive { .. } | RequestOp::SendReceive { .. } if !listed.is_receive => CommEvent::ReceiveCancel { request },
            RequestOp::Receive { communicator } | RequestOp::SendReceive { message: PointToPointMessage { communicator, .. } } => {
                let message = PointToPointMessage { peer: listed.peer, communicator, tag: listed.tag, bytes: listed.received };
                if !is_process(message.peer) {
                    return;
                }
                CommEvent::Receive { message, request: Some(request), begin_call }
            }
        };
        self.events.push(event);
    }

    fn send(&mut self, message: PointToPointMessage, request: Option<RequestId>, synchronous: bool) {
        if is_process(message.peer) {
            self.events.push(CommEvent::Send { message, request, synchronous });
        }
    }

    fn join(&mut self, group: CollectiveGroup, op: GroupOp, root: i32, request: Option<RequestId>) {
        let next = self.next_collective.entry(group).or_default();
        let collective = CollectiveId { group, number: *next };
        *next += 1;
        self.events.push(CommEvent::CollectiveBegin { collective, op, root, request });
    }
}

/// The communicator of a collective group; `None` if the recording does not know it.
pub fn group_communicator(header: &RecordingHeader, group: CollectiveGroup) -> Option<u32> {
    match group {
        CollectiveGroup::Communicator(number) | CollectiveGroup::World(number) | CollectiveGroup::Persistent(number, _) => {
            ((number as usize) < header.communicators.len()).then_some(number)
        }
        CollectiveGroup::Object(number) => header.objects.get(number as usize)?.communicator,
    }
}

/// The collective that a call takes part in, for a process of this world: group, operation and root.
pub fn collective_call(descriptor: &CallDescriptor, world: u32) -> Option<(CollectiveGroup, GroupOp, i32)> {
    match classify_call(descriptor, world)? {
        RequestOp::Collective { group, op, root } => Some((group, op, root)),
        _ => None,
    }
}

/// The operation of a call in a process of this world. On an unknown object there is none, because it cannot be matched.
fn classify_call(descriptor: &CallDescriptor, world: u32) -> Option<RequestOp> {
    let communicator = descriptor.object;
    let is_known = |group| !matches!(group, CollectiveGroup::Communicator(raw::NO_OBJECT) | CollectiveGroup::Object(raw::NO_OBJECT));
    let join = |group, op| is_known(group).then_some(RequestOp::Collective { group, op, root: descriptor.peer });
    match descriptor.function.role() {
        FunctionRole::Send => Some(RequestOp::Send { message: sent_message(descriptor), synchronous: is_synchronous(descriptor) }),
        FunctionRole::Receive | FunctionRole::MatchedReceive => Some(RequestOp::Receive { communicator }),
        FunctionRole::SendReceive => Some(RequestOp::SendReceive { message: sent_message(descriptor) }),
        FunctionRole::Collective(collective_op) => join(CollectiveGroup::Communicator(communicator), GroupOp::Collective(collective_op)),
        FunctionRole::CommunicatorCreate if is_collective(descriptor) => {
            join(CollectiveGroup::Communicator(communicator), GroupOp::CommunicatorCreate)
        }
        FunctionRole::WindowCreate => join(CollectiveGroup::Communicator(communicator), GroupOp::WindowCreate),
        FunctionRole::WindowFree => join(CollectiveGroup::Object(descriptor.created), GroupOp::WindowFree),
        FunctionRole::WindowSync if descriptor.function.name() == "MPI_Win_fence" => {
            join(CollectiveGroup::Object(communicator), GroupOp::Fence)
        }
        FunctionRole::FileOpen => join(CollectiveGroup::Communicator(communicator), GroupOp::FileAccess),
        FunctionRole::FileClose => join(CollectiveGroup::Object(descriptor.created), GroupOp::FileAccess),
        FunctionRole::FileRead | FunctionRole::FileWrite | FunctionRole::FileOther if is_collective(descriptor) => {
            join(CollectiveGroup::Object(communicator), GroupOp::FileAccess)
        }
        FunctionRole::Init => join(CollectiveGroup::World(world), GroupOp::Init),
        FunctionRole::Finalize => join(CollectiveGroup::World(world), GroupOp::Finalize),
        _ => None,
    }
}

/// The message that a call sends.
fn sent_message(descriptor: &CallDescriptor) -> PointToPointMessage {
    PointToPointMessage { peer: descriptor.peer, communicator: descriptor.object, tag: descriptor.tag, bytes: descriptor.sent }
}

/// Whether the peer is a process (not `MPI_PROC_NULL` or a wildcard).
fn is_process(peer: i32) -> bool {
    peer >= 0 || peer == raw::EXTERNAL
}

/// Whether the call returned an error.
fn failed(descriptor: &CallDescriptor) -> bool {
    descriptor.parts & part::ERROR != 0
}

/// Whether it is a synchronous-mode send.
fn is_synchronous(descriptor: &CallDescriptor) -> bool {
    matches!(descriptor.function.name(), "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init")
}

/// Whether all members of the communicator or file must make the call: communicator creation except the variants for a subgroup, and the
/// file functions that MPI defines as collective.
fn is_collective(descriptor: &CallDescriptor) -> bool {
    let name = descriptor.function.name();
    match descriptor.function.role() {
        FunctionRole::CommunicatorCreate => {
            !matches!(name, "MPI_Comm_create_group" | "MPI_Comm_create_from_group" | "MPI_Comm_join" | "MPI_Intercomm_create_from_groups")
        }
        _ if name.ends_with("_end") => false,
        _ => {
            let on_all = ["_all", "_ordered", "_seek_shared", "_set_view", "_set_size", "_preallocate", "_sync", "_set_atomicity"];
            on_all.iter().any(|part| name.contains(part))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_table::CallTable;
    use crate::raw::RequestRef;
    use sintonia_mpi::FunctionId;

    fn descriptor(name: &str) -> CallDescriptor {
        let operation = FunctionId::from_name(name).unwrap();
        let request = if operation.definition().mode == BlockingMode::Blocking { 0 } else { part::REQUEST };
        CallDescriptor { object: 0, tag: 5, parts: request, ..CallDescriptor::new(operation) }
    }

    fn completing(name: &str, listed: &[(u64, bool, i32)]) -> CallDescriptor {
        let request = |&(ago, receive, peer): &(u64, bool, i32)| ListedRequest {
            request: RequestRef::Relative(ago),
            is_receive: receive,
            peer,
            tag: 7,
            received: 64,
        };
        CallDescriptor { requests: listed.iter().map(request).collect(), ..descriptor(name) }
    }

    /// The events of each call.
    fn follow(descriptors: Vec<CallDescriptor>) -> Vec<Vec<CommEvent>> {
        let rows = descriptors.len();
        let table = CallTable {
            enter: (0..rows as i64).collect(),
            leave: (0..rows as i64).collect(),
            descriptor_ids: (0..rows as u32).collect(),
            descriptors,
            ..CallTable::default()
        };
        let mut tracker = RequestTracker::default();
        table.calls().map(|call| tracker.track(&call).to_vec()).collect()
    }

    fn request(number: u64) -> RequestId {
        RequestId { thread: 0, number }
    }

    fn message(peer: i32, tag: i32, bytes: u64) -> PointToPointMessage {
        PointToPointMessage { peer, communicator: 0, tag, bytes }
    }

    #[test]
    fn a_receive_happens_where_it_completes_and_knows_where_it_began() {
        let events = follow(vec![
            CallDescriptor { peer: raw::ANY, tag: raw::ANY, ..descriptor("MPI_Irecv") },
            CallDescriptor { peer: 3, sent: 9, ..descriptor("MPI_Issend") },
            completing("MPI_Waitall", &[(0, false, raw::NONE), (1, true, 2)]),
        ]);
        assert_eq!(events[0], [CommEvent::ReceivePost { request: request(0) }]);
        assert_eq!(events[1], [CommEvent::Send { message: message(3, 5, 9), request: Some(request(1)), synchronous: true }]);
        let received = CommEvent::Receive { message: message(2, 7, 64), request: Some(request(0)), begin_call: 0 };
        assert_eq!(events[2], [CommEvent::SendComplete { request: request(1), begin_call: 1 }, received]);
    }

    #[test]
    fn a_persistent_request_has_its_effect_at_every_start() {
        let start = CallDescriptor { parts: part::STARTED, ..completing("MPI_Start", &[(0, false, raw::NONE)]) };
        let wait = completing("MPI_Wait", &[(0, false, raw::NONE)]);
        let events = follow(vec![CallDescriptor { peer: 1, ..descriptor("MPI_Send_init") }, start.clone(), wait.clone(), start, wait]);
        let send = CommEvent::Send { message: message(1, 5, 0), request: Some(request(0)), synchronous: false };
        assert_eq!([&events[0][..], &events[1], &events[3]], [&[][..], &[send], &[send]]);
        assert_eq!(events[4], [CommEvent::SendComplete { request: request(0), begin_call: 3 }]);
    }

    #[test]
    fn collectives_of_all_kinds_share_one_numbering() {
        let events = follow(vec![
            descriptor("MPI_Barrier"),
            descriptor("MPI_Ibcast"),
            descriptor("MPI_Comm_dup"),
            descriptor("MPI_Comm_create_group"),
        ]);
        let number = |events: &[CommEvent]| match events {
            [CommEvent::CollectiveBegin { collective, .. }] => Some(collective.number),
            _ => None,
        };
        assert_eq!(events.iter().map(|events| number(events)).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn starts_of_a_persistent_collective_match_in_any_order() {
        let init = || vec![descriptor("MPI_Barrier_init"), descriptor("MPI_Bcast_init")];
        let start = |ago| CallDescriptor { parts: part::STARTED, ..completing("MPI_Start", &[(ago, false, raw::NONE)]) };
        let collectives = |starts: [u64; 3]| {
            let events = follow(init().into_iter().chain(starts.map(start)).chain([descriptor("MPI_Barrier")]).collect());
            events
                .concat()
                .iter()
                .filter_map(|event| if let CommEvent::CollectiveBegin { collective, .. } = event { Some(*collective) } else { None })
                .collect::<Vec<_>>()
        };
        let collective_id = |operation, number| CollectiveId { group: CollectiveGroup::Persistent(0, operation), number };
        let blocking = CollectiveId { group: CollectiveGroup::Communicator(0), number: 0 };
        assert_eq!(collectives([1, 0, 1]), [collective_id(0, 0), collective_id(1, 0), collective_id(0, 1), blocking]);
        assert_eq!(collectives([0, 1, 1]), [collective_id(1, 0), collective_id(0, 0), collective_id(0, 1), blocking]);
    }

    #[test]
    fn a_failed_collective_counts_and_one_on_an_unknown_group_does_not() {
        let failed = |name| CallDescriptor { parts: part::ERROR | part::VALUE, ..descriptor(name) };
        let unknown = CallDescriptor { object: raw::NO_OBJECT, ..descriptor("MPI_Barrier") };
        let events = follow(vec![failed("MPI_Bcast"), unknown, failed("MPI_Ibarrier"), descriptor("MPI_Barrier"), failed("MPI_Send")]);
        let number = |events: &Vec<CommEvent>| match events[..] {
            [CommEvent::CollectiveBegin { collective, request: None, .. }] => Some(collective.number),
            _ => None,
        };
        assert_eq!(events.iter().map(number).collect::<Vec<_>>(), [Some(0), None, Some(1), Some(2), None]);
    }

    #[test]
    fn groups_and_operations_survive_encoding() {
        for group in
            [CollectiveGroup::Communicator(7), CollectiveGroup::Object(7), CollectiveGroup::World(7), CollectiveGroup::Persistent(7, 8)]
        {
            assert_eq!(CollectiveGroup::from_words(group.to_words()), Some(group));
        }
        assert_eq!(CollectiveGroup::from_words([9, 0, 0]), None);
        for op in [
            GroupOp::CommunicatorCreate,
            GroupOp::Finalize,
            GroupOp::Collective(CollectiveOp::Barrier),
            GroupOp::Collective(CollectiveOp::Scan),
        ] {
            assert_eq!(GroupOp::from_word(op.to_word()), Some(op));
        }
        assert_eq!(GroupOp::from_word(1000), None);
    }

    #[test]
    fn null_failed_unfinished_and_cancelled_messages_are_ignored() {
        let events = follow(vec![
            CallDescriptor { peer: raw::PROC_NULL, ..descriptor("MPI_Send") },
            CallDescriptor { peer: 1, parts: part::ERROR, ..descriptor("MPI_Send") },
            CallDescriptor { peer: 1, parts: part::UNFINISHED, ..descriptor("MPI_Recv") },
            descriptor("MPI_Irecv"),
            completing("MPI_Wait", &[(0, false, raw::NONE)]),
        ]);
        assert!(events[..3].iter().all(Vec::is_empty));
        assert_eq!(events[4], [CommEvent::ReceiveCancel { request: request(0) }]);
    }

    #[test]
    fn both_halves_of_a_sendrecv_are_seen() {
        let events = follow(vec![CallDescriptor { peer: 1, source: 2, recv_tag: 8, sent: 3, received: 4, ..descriptor("MPI_Sendrecv") }]);
        let receive = CommEvent::Receive { message: message(2, 8, 4), request: None, begin_call: 0 };
        assert_eq!(events[0], [receive, CommEvent::Send { message: message(1, 5, 3), request: None, synchronous: false }]);
        let events =
            follow(vec![CallDescriptor { peer: 1, sent: 3, ..descriptor("MPI_Isendrecv") }, completing("MPI_Wait", &[(0, true, 2)])]);
        let send = CommEvent::Send { message: message(1, 5, 3), request: None, synchronous: false };
        assert_eq!(events[0], [CommEvent::ReceivePost { request: request(0) }, send]);
        assert_eq!(events[1], [CommEvent::Receive { message: message(2, 7, 64), request: Some(request(0)), begin_call: 0 }]);
    }
}
