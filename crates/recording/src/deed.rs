//! What each call does to other ranks: the messages it sends and receives, the operations it joins.
//!
//! A row of the table says what one call was given. What became of it often shows in another row: a wait completes a receive that was
//! posted long before, a start sends what an `_init` described. A [`Follower`] goes through the calls of one process in order, remembers
//! its requests, and says of every call what it did, so that nobody else has to know how requests work.

use serde::{Deserialize, Serialize};
use sintonia_mpi::{Mode, Pattern, Role};

use crate::hash::QuickMap;
use crate::header::Header;
use crate::raw::{self, part};
use crate::table::{Call, ListedRequest, RequestId, Shape};

/// A message between two processes. The peer is a rank of the recording, or [`raw::OUTSIDE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The rank it goes to or comes from.
    pub peer: i32,
    /// The communicator.
    pub communicator: u32,
    /// The tag.
    pub tag: i32,
    /// Bytes; [`raw::UNKNOWN_BYTES`] if they are not known.
    pub bytes: u64,
}

/// Something that a call does to other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A message leaves. Without a request it is on its way when the call returns.
    Send {
        /// The message.
        message: Message,
        /// What completes it.
        request: Option<RequestId>,
        /// Whether it completes only when the receive has begun (`MPI_Ssend` and its kin).
        synchronous: bool,
    },
    /// A send with a request is complete.
    Sent {
        /// The request.
        request: RequestId,
        /// The call that began it, counted from 0 among all calls of the process.
        since: u64,
    },
    /// A receive begins that a later call completes.
    Post {
        /// The request.
        request: RequestId,
    },
    /// A message has been received.
    Receive {
        /// The message.
        message: Message,
        /// The request, if the receive was begun by an earlier call.
        request: Option<RequestId>,
        /// The call that began the receive; this one if it blocks.
        since: u64,
    },
    /// A receive was given up.
    Cancel {
        /// The request.
        request: RequestId,
    },
    /// The process takes part in an operation of a whole group.
    Join {
        /// Which operation; everyone who takes part says the same.
        meeting: Meeting,
        /// What the members do in it.
        purpose: Purpose,
        /// The rank whose data it is, where there is one ([`raw::ROOT_HERE`] and [`raw::PROC_NULL`] between two groups).
        root: i32,
        /// What completes it; without a request it is complete when the call returns.
        request: Option<RequestId>,
    },
    /// An operation of a group with a request is complete.
    Joined {
        /// The request.
        request: RequestId,
        /// The call that joined it.
        since: u64,
    },
}

/// An operation of a whole group: the group, and how many it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meeting {
    /// Who meets.
    pub group: Group,
    /// Its number among the meetings of that group.
    pub number: u64,
}

/// Who takes part in an operation of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Group {
    /// The members of a communicator, by number.
    Communicator(u32),
    /// The members of a window or file, by number: fences, and collective access.
    Object(u32),
    /// All processes that started together, by the number of their `MPI_COMM_WORLD`.
    World(u32),
    /// The members of a communicator, by number, for one of its persistent operations, counted in the order in which they were made. MPI
    /// has all members make them in the same order, but start them in any.
    Persistent(u32, u32),
}

impl Group {
    /// The group in plain words of memory.
    pub fn words(self) -> [u32; 3] {
        match self {
            Group::Communicator(number) => [0, number, 0],
            Group::Object(number) => [1, number, 0],
            Group::World(number) => [2, number, 0],
            Group::Persistent(number, operation) => [3, number, operation],
        }
    }

    /// The group that such words stand for.
    pub fn from_words([kind, number, operation]: [u32; 3]) -> Option<Group> {
        match kind {
            0 => Some(Group::Communicator(number)),
            1 => Some(Group::Object(number)),
            2 => Some(Group::World(number)),
            3 => Some(Group::Persistent(number, operation)),
            _ => None,
        }
    }
}

/// What the members of a group do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Move data or wait for each other.
    Collective(Pattern),
    /// Make a communicator.
    Communicator,
    /// Make a window.
    WindowCreate,
    /// Free a window.
    WindowFree,
    /// Fence a window.
    Fence,
    /// Open, close or access a file together.
    File,
    /// Start MPI.
    Init,
    /// End MPI.
    Finalize,
}

impl Purpose {
    /// Those that are no collective operation.
    const OTHERS: [Purpose; 7] = [
        Purpose::Communicator,
        Purpose::WindowCreate,
        Purpose::WindowFree,
        Purpose::Fence,
        Purpose::File,
        Purpose::Init,
        Purpose::Finalize,
    ];

    /// The purpose in a plain word of memory.
    pub fn word(self) -> u32 {
        match self {
            Purpose::Collective(pattern) => pattern as u32,
            other => (Pattern::ALL.len() + Purpose::OTHERS.iter().position(|known| *known == other).unwrap_or(0)) as u32,
        }
    }

    /// The purpose that such a word stands for.
    pub fn from_word(word: u32) -> Option<Purpose> {
        let word = word as usize;
        match Pattern::ALL.get(word) {
            Some(pattern) => Some(Purpose::Collective(*pattern)),
            None => Purpose::OTHERS.get(word - Pattern::ALL.len()).copied(),
        }
    }
}

/// A request under way, or a persistent one.
#[derive(Clone, Copy)]
struct Open {
    what: What,
    persistent: bool,
    since: u64,
}

#[derive(Clone, Copy)]
enum What {
    Send { message: Message, synchronous: bool },
    Receive { communicator: u32 },
    SendReceive { message: Message },
    Join { group: Group, purpose: Purpose, root: i32 },
}

/// Follows the requests of one process through its calls.
#[derive(Default)]
pub struct Follower {
    open: QuickMap<RequestId, Open>,
    meetings: QuickMap<Group, u64>,
    /// How many persistent operations were made on each communicator.
    persistent: QuickMap<u32, u32>,
    /// The world of the process, by the number of its communicator.
    world: u32,
    calls: u64,
    deeds: Vec<Deed>,
}

impl Follower {
    /// Follows a process of this world, by the number of its `MPI_COMM_WORLD`.
    pub fn in_world(world: u32) -> Follower {
        Follower { world, ..Follower::default() }
    }

    /// What the next call does; the calls of all threads come in the order in which they ended.
    pub fn follow(&mut self, call: &Call) -> &[Deed] {
        self.deeds.clear();
        self.look_at(call);
        self.calls += 1;
        &self.deeds
    }

    fn look_at(&mut self, call: &Call) {
        let function = call.shape.operation.function();
        match function.role {
            Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => {
                call.listed().for_each(|(request, listed)| self.complete(request, listed));
                // A wait completes in the order of its array, but messages were matched in the order of the receives.
                self.deeds.sort_by_key(|deed| if let Deed::Receive { since, .. } = deed { *since } else { 0 });
            }
            Role::Start | Role::StartAll => call.listed().for_each(|(request, _)| self.start(request)),
            Role::RequestFree => {
                call.listed().for_each(|(request, _)| _ = self.open.remove(&request));
            }
            _ if failed(call.shape) => self.fail(call.shape, function.mode),
            _ => self.begin(call, function.mode),
        }
    }

    /// A call that returned an error. It sent and received nothing that is known of; but an operation of a group that failed here may have
    /// succeeded elsewhere, and the next one of this process meets the next one of the others.
    fn fail(&mut self, shape: &Shape, mode: Mode) {
        if let Some(What::Join { group, purpose, root }) = self.what(shape, mode)
            && mode != Mode::Persistent
        {
            self.join(group, purpose, root, None);
        }
    }

    /// A call that says itself what it does.
    fn begin(&mut self, call: &Call, mode: Mode) {
        let Some(what) = self.what(call.shape, mode) else { return };
        match (mode, call.request) {
            (Mode::Blocking, _) => self.do_at_once(call.shape, what),
            (_, None) => {}
            (_, Some(request)) => {
                let persistent = mode == Mode::Persistent;
                self.open.insert(request, Open { what, persistent, since: self.calls });
                if !persistent {
                    self.start(request);
                }
            }
        }
    }

    /// What a call of this shape does or is for.
    fn what(&mut self, shape: &Shape, mode: Mode) -> Option<What> {
        match what(shape, self.world)? {
            What::Join { group: Group::Communicator(number), purpose, root } if mode == Mode::Persistent => {
                let next = self.persistent.entry(number).or_default();
                let group = Group::Persistent(number, *next);
                *next += 1;
                Some(What::Join { group, purpose, root })
            }
            what => Some(what),
        }
    }

    fn do_at_once(&mut self, shape: &Shape, what: What) {
        let since = self.calls;
        let mut receive = |communicator, peer, tag| {
            let message = Message { peer, communicator, tag, bytes: shape.received };
            if is_process(peer) && shape.parts & part::UNFINISHED == 0 {
                self.deeds.push(Deed::Receive { message, request: None, since });
            }
        };
        match what {
            What::Receive { communicator } => receive(communicator, shape.peer, shape.tag),
            What::SendReceive { message } => {
                receive(message.communicator, shape.source, shape.recv_tag);
                self.send(message, None, false);
            }
            What::Send { message, synchronous } => self.send(message, None, synchronous),
            What::Join { group, purpose, root } => self.join(group, purpose, root, None),
        }
    }

    /// A request begins what it is for.
    fn start(&mut self, request: RequestId) {
        let Some(open) = self.open.get_mut(&request) else { return };
        open.since = self.calls;
        match open.what {
            What::Send { message, synchronous } => self.send(message, Some(request), synchronous),
            What::Receive { .. } => self.deeds.push(Deed::Post { request }),
            What::SendReceive { message } => {
                self.deeds.push(Deed::Post { request });
                self.send(message, None, false);
            }
            What::Join { group, purpose, root } => self.join(group, purpose, root, Some(request)),
        }
    }

    fn complete(&mut self, request: RequestId, listed: &ListedRequest) {
        let Some(open) = self.open.get(&request).copied() else { return };
        if !open.persistent {
            self.open.remove(&request);
        }
        let since = open.since;
        let deed = match open.what {
            What::Send { .. } => Deed::Sent { request, since },
            What::Join { .. } => Deed::Joined { request, since },
            What::Receive { .. } | What::SendReceive { .. } if !listed.receive => Deed::Cancel { request },
            What::Receive { communicator } | What::SendReceive { message: Message { communicator, .. } } => {
                let message = Message { peer: listed.peer, communicator, tag: listed.tag, bytes: listed.received };
                if !is_process(message.peer) {
                    return;
                }
                Deed::Receive { message, request: Some(request), since }
            }
        };
        self.deeds.push(deed);
    }

    fn send(&mut self, message: Message, request: Option<RequestId>, synchronous: bool) {
        if is_process(message.peer) {
            self.deeds.push(Deed::Send { message, request, synchronous });
        }
    }

    fn join(&mut self, group: Group, purpose: Purpose, root: i32, request: Option<RequestId>) {
        let next = self.meetings.entry(group).or_default();
        let meeting = Meeting { group, number: *next };
        *next += 1;
        self.deeds.push(Deed::Join { meeting, purpose, root, request });
    }
}

/// The communicator on which a group meets; `None` if the recording does not say.
pub fn communicator(header: &Header, group: Group) -> Option<u32> {
    match group {
        Group::Communicator(number) | Group::World(number) | Group::Persistent(number, _) => {
            ((number as usize) < header.communicators.len()).then_some(number)
        }
        Group::Object(number) => header.objects.get(number as usize)?.communicator,
    }
}

/// The operation of a group that a call of this shape is part of, in a process of this world: who meets, for what, and the root.
pub fn joins(shape: &Shape, world: u32) -> Option<(Group, Purpose, i32)> {
    match what(shape, world)? {
        What::Join { group, purpose, root } => Some((group, purpose, root)),
        _ => None,
    }
}

/// What a call of this shape does or is for, in a process of this world. On an object that is not known it meets nobody.
fn what(shape: &Shape, world: u32) -> Option<What> {
    let communicator = shape.object;
    let is_known = |group| !matches!(group, Group::Communicator(raw::NO_OBJECT) | Group::Object(raw::NO_OBJECT));
    let join = |group, purpose| is_known(group).then_some(What::Join { group, purpose, root: shape.peer });
    match shape.operation.role() {
        Role::Send => Some(What::Send { message: sent(shape), synchronous: is_synchronous(shape) }),
        Role::Receive | Role::MatchedReceive => Some(What::Receive { communicator }),
        Role::SendReceive => Some(What::SendReceive { message: sent(shape) }),
        Role::Collective(pattern) => join(Group::Communicator(communicator), Purpose::Collective(pattern)),
        Role::CommunicatorCreate if is_collective(shape) => join(Group::Communicator(communicator), Purpose::Communicator),
        Role::WindowCreate => join(Group::Communicator(communicator), Purpose::WindowCreate),
        Role::WindowFree => join(Group::Object(shape.made), Purpose::WindowFree),
        Role::WindowSync if shape.operation.name() == "MPI_Win_fence" => join(Group::Object(communicator), Purpose::Fence),
        Role::FileOpen => join(Group::Communicator(communicator), Purpose::File),
        Role::FileClose => join(Group::Object(shape.made), Purpose::File),
        Role::FileRead | Role::FileWrite | Role::FileOther if is_collective(shape) => join(Group::Object(communicator), Purpose::File),
        Role::Init => join(Group::World(world), Purpose::Init),
        Role::Finalize => join(Group::World(world), Purpose::Finalize),
        _ => None,
    }
}

/// The message that a call of this shape sends.
fn sent(shape: &Shape) -> Message {
    Message { peer: shape.peer, communicator: shape.object, tag: shape.tag, bytes: shape.sent }
}

/// Whether there is someone at the other end.
fn is_process(peer: i32) -> bool {
    peer >= 0 || peer == raw::OUTSIDE
}

/// Whether a call did nothing: it returned an error.
fn failed(shape: &Shape) -> bool {
    shape.parts & part::ERROR != 0
}

/// Whether a send completes only when its receive has begun.
fn is_synchronous(shape: &Shape) -> bool {
    matches!(shape.operation.name(), "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init")
}

/// Whether all members of the communicator or file make the call: of the functions that make communicators all but those for a part of a
/// group, of those on files the ones that MPI calls collective.
fn is_collective(shape: &Shape) -> bool {
    let name = shape.operation.name();
    match shape.operation.role() {
        Role::CommunicatorCreate => {
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
    use crate::raw::RequestRef;
    use crate::table::CallTable;
    use sintonia_mpi::Operation;

    fn shape(name: &str) -> Shape {
        let operation = Operation::named(name).unwrap();
        let request = if operation.function().mode == Mode::Blocking { 0 } else { part::REQUEST };
        Shape { object: 0, tag: 5, parts: request, ..Shape::of(operation) }
    }

    fn completing(name: &str, listed: &[(u64, bool, i32)]) -> Shape {
        let request =
            |&(ago, receive, peer): &(u64, bool, i32)| ListedRequest { request: RequestRef::Ago(ago), receive, peer, tag: 7, received: 64 };
        Shape { requests: listed.iter().map(request).collect(), ..shape(name) }
    }

    /// The deeds of each call.
    fn follow(shapes: Vec<Shape>) -> Vec<Vec<Deed>> {
        let rows = shapes.len();
        let table = CallTable {
            enter: (0..rows as i64).collect(),
            leave: (0..rows as i64).collect(),
            shape: (0..rows as u32).collect(),
            shapes,
            ..CallTable::default()
        };
        let mut follower = Follower::default();
        table.calls().map(|call| follower.follow(&call).to_vec()).collect()
    }

    fn request(number: u64) -> RequestId {
        RequestId { thread: 0, number }
    }

    fn message(peer: i32, tag: i32, bytes: u64) -> Message {
        Message { peer, communicator: 0, tag, bytes }
    }

    #[test]
    fn a_receive_happens_where_it_completes_and_knows_where_it_began() {
        let deeds = follow(vec![
            Shape { peer: raw::ANY, tag: raw::ANY, ..shape("MPI_Irecv") },
            Shape { peer: 3, sent: 9, ..shape("MPI_Issend") },
            completing("MPI_Waitall", &[(0, false, raw::NONE), (1, true, 2)]),
        ]);
        assert_eq!(deeds[0], [Deed::Post { request: request(0) }]);
        assert_eq!(deeds[1], [Deed::Send { message: message(3, 5, 9), request: Some(request(1)), synchronous: true }]);
        let received = Deed::Receive { message: message(2, 7, 64), request: Some(request(0)), since: 0 };
        assert_eq!(deeds[2], [Deed::Sent { request: request(1), since: 1 }, received]);
    }

    #[test]
    fn a_persistent_request_does_its_deed_at_every_start() {
        let start = Shape { parts: part::STARTED, ..completing("MPI_Start", &[(0, false, raw::NONE)]) };
        let wait = completing("MPI_Wait", &[(0, false, raw::NONE)]);
        let deeds = follow(vec![Shape { peer: 1, ..shape("MPI_Send_init") }, start.clone(), wait.clone(), start, wait]);
        let send = Deed::Send { message: message(1, 5, 0), request: Some(request(0)), synchronous: false };
        assert_eq!([&deeds[0][..], &deeds[1], &deeds[3]], [&[][..], &[send], &[send]]);
        assert_eq!(deeds[4], [Deed::Sent { request: request(0), since: 3 }]);
    }

    #[test]
    fn operations_of_a_group_are_numbered_together_whatever_they_are() {
        let deeds = follow(vec![shape("MPI_Barrier"), shape("MPI_Ibcast"), shape("MPI_Comm_dup"), shape("MPI_Comm_create_group")]);
        let number = |deeds: &[Deed]| match deeds {
            [Deed::Join { meeting, .. }] => Some(meeting.number),
            _ => None,
        };
        assert_eq!(deeds.iter().map(|deeds| number(deeds)).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn starts_of_a_persistent_operation_meet_whatever_else_was_started_before() {
        let init = || vec![shape("MPI_Barrier_init"), shape("MPI_Bcast_init")];
        let start = |ago| Shape { parts: part::STARTED, ..completing("MPI_Start", &[(ago, false, raw::NONE)]) };
        let meetings = |starts: [u64; 3]| {
            let deeds = follow(init().into_iter().chain(starts.map(start)).chain([shape("MPI_Barrier")]).collect());
            deeds
                .concat()
                .iter()
                .filter_map(|deed| if let Deed::Join { meeting, .. } = deed { Some(*meeting) } else { None })
                .collect::<Vec<_>>()
        };
        let met = |operation, number| Meeting { group: Group::Persistent(0, operation), number };
        let blocking = Meeting { group: Group::Communicator(0), number: 0 };
        assert_eq!(meetings([1, 0, 1]), [met(0, 0), met(1, 0), met(0, 1), blocking]);
        assert_eq!(meetings([0, 1, 1]), [met(1, 0), met(0, 0), met(0, 1), blocking]);
    }

    #[test]
    fn an_operation_of_a_group_that_failed_counts_and_one_of_an_unknown_group_meets_nobody() {
        let failed = |name| Shape { parts: part::ERROR | part::VALUE, ..shape(name) };
        let unknown = Shape { object: raw::NO_OBJECT, ..shape("MPI_Barrier") };
        let deeds = follow(vec![failed("MPI_Bcast"), unknown, failed("MPI_Ibarrier"), shape("MPI_Barrier"), failed("MPI_Send")]);
        let number = |deeds: &Vec<Deed>| match deeds[..] {
            [Deed::Join { meeting, request: None, .. }] => Some(meeting.number),
            _ => None,
        };
        assert_eq!(deeds.iter().map(number).collect::<Vec<_>>(), [Some(0), None, Some(1), Some(2), None]);
    }

    #[test]
    fn groups_and_purposes_can_be_told_in_plain_words() {
        for group in [Group::Communicator(7), Group::Object(7), Group::World(7), Group::Persistent(7, 8)] {
            assert_eq!(Group::from_words(group.words()), Some(group));
        }
        assert_eq!(Group::from_words([9, 0, 0]), None);
        for purpose in [Purpose::Communicator, Purpose::Finalize, Purpose::Collective(Pattern::Barrier), Purpose::Collective(Pattern::Scan)]
        {
            assert_eq!(Purpose::from_word(purpose.word()), Some(purpose));
        }
        assert_eq!(Purpose::from_word(1000), None);
    }

    #[test]
    fn messages_to_nobody_given_up_and_under_way_are_none() {
        let deeds = follow(vec![
            Shape { peer: raw::PROC_NULL, ..shape("MPI_Send") },
            Shape { peer: 1, parts: part::ERROR, ..shape("MPI_Send") },
            Shape { peer: 1, parts: part::UNFINISHED, ..shape("MPI_Recv") },
            shape("MPI_Irecv"),
            completing("MPI_Wait", &[(0, false, raw::NONE)]),
        ]);
        assert!(deeds[..3].iter().all(Vec::is_empty));
        assert_eq!(deeds[4], [Deed::Cancel { request: request(0) }]);
    }

    #[test]
    fn both_halves_of_a_sendrecv_are_seen() {
        let deeds = follow(vec![Shape { peer: 1, source: 2, recv_tag: 8, sent: 3, received: 4, ..shape("MPI_Sendrecv") }]);
        let receive = Deed::Receive { message: message(2, 8, 4), request: None, since: 0 };
        assert_eq!(deeds[0], [receive, Deed::Send { message: message(1, 5, 3), request: None, synchronous: false }]);
        let deeds = follow(vec![Shape { peer: 1, sent: 3, ..shape("MPI_Isendrecv") }, completing("MPI_Wait", &[(0, true, 2)])]);
        let send = Deed::Send { message: message(1, 5, 3), request: None, synchronous: false };
        assert_eq!(deeds[0], [Deed::Post { request: request(0) }, send]);
        assert_eq!(deeds[1], [Deed::Receive { message: message(2, 7, 64), request: Some(request(0)), since: 0 }]);
    }
}
