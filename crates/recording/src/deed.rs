//! What each call does to other ranks: the messages it sends and receives, the operations it joins.
//!
//! A row of the table says what one call was given. What became of it often shows in another row: a wait completes a receive that was
//! posted long before, a start sends what an `_init` described. A [`Follower`] goes through the calls of one process in order, remembers
//! its requests, and says of every call what it did, so that nobody else has to know how requests work.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// The members of a communicator, by number.
    Communicator(u32),
    /// The members of a window or file, by number: fences, and collective access.
    Object(u32),
    /// All processes that started together.
    World,
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
    calls: u64,
    deeds: Vec<Deed>,
}

impl Follower {
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
            _ if failed(call.shape) => {}
            _ => self.begin(call, function.mode),
        }
    }

    /// A call that says itself what it does.
    fn begin(&mut self, call: &Call, mode: Mode) {
        let Some(what) = what(call.shape) else { return };
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
        Group::Communicator(number) => ((number as usize) < header.communicators.len()).then_some(number),
        Group::Object(number) => header.objects.get(number as usize)?.communicator,
        Group::World => (!header.communicators.is_empty()).then_some(0),
    }
}

/// What a call of this shape does or is for.
fn what(shape: &Shape) -> Option<What> {
    let communicator = shape.object;
    let join = |group, purpose| Some(What::Join { group, purpose, root: shape.peer });
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
        Role::Init => join(Group::World, Purpose::Init),
        Role::Finalize => join(Group::World, Purpose::Finalize),
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
            let on_all = ["_all", "_ordered", "_set_view", "_set_size", "_preallocate", "_sync", "_set_atomicity"];
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
