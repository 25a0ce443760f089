//! What a process does, as events: messages, collectives, and what becomes of its requests.
//!
//! A call that completes a request does not say what the request was for, but its event has to; so a process remembers what it has begun.

use std::collections::HashMap;

use sintonia_mpi::{Mode, Operation, Pattern, Role};
use sintonia_recording::raw::{self, RequestRef, known_bytes, part};
use sintonia_recording::table::{Call, ListedRequest, RequestId, Shape};

use crate::otf2::attributes::{Attributes, listed};
use crate::otf2::event::{self, Collective, Event, Message, NO_ROOT, group};
use crate::otf2::meaning::{Teller, Told};
use crate::otf2::write::definitions;
use crate::otf2::write::places::Places;
use crate::requests::Requests;

/// What there was that OTF2 has no event for.
#[derive(Default)]
pub struct Missing {
    /// Synchronisations of windows with a group that is not recorded.
    pub(super) partial_syncs: bool,
    /// Neighbourhood collectives.
    neighbourhoods: bool,
}

impl Missing {
    /// One sentence for each.
    pub fn notes<'a>(all: impl Iterator<Item = &'a Missing>) -> Vec<String> {
        let (syncs, neighbours) =
            all.fold((false, false), |(syncs, neighbours), one| (syncs | one.partial_syncs, neighbours | one.neighbourhoods));
        let syncs = syncs.then_some(
            "other tools see calls that synchronise a window with a part of its processes (MPI_Win_post, _start, _complete, _wait, _test) \
             as regions only, because this recording does not say with whom",
        );
        let neighbours = neighbours.then_some("other tools see neighbourhood collectives as regions only: OTF2 has no event for them");
        syncs.into_iter().chain(neighbours).map(str::to_owned).collect()
    }
}

/// An operation that another call completes.
#[derive(Clone, Copy)]
struct Open {
    what: What,
    persistent: bool,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Send(Message),
    Receive(u32),
    Collective(Collective),
    Transfer(u32, u64),
    File(u32, u64, u64),
    /// Nothing that OTF2 has an event for.
    Other,
}

/// The events within a call, with their attributes: first those at its beginning, then those at its end.
#[derive(Default)]
pub struct Moment {
    /// At its beginning.
    pub at_enter: Vec<(Event, Attributes)>,
    /// At its end.
    pub at_leave: Vec<(Event, Attributes)>,
}

impl Moment {
    /// Begins with the next call.
    pub fn clear(&mut self) {
        self.at_enter.clear();
        self.at_leave.clear();
    }

    /// Adds an event at the beginning, if there is one.
    pub fn enter(&mut self, event: impl Into<Option<Event>>) {
        self.at_enter.extend(event.into().map(|event| (event, Attributes::default())));
    }

    /// Adds an event at the end, if there is one.
    pub fn leave(&mut self, event: impl Into<Option<Event>>) {
        self.at_leave.extend(event.into().map(|event| (event, Attributes::default())));
    }
}

/// A process, and what it has under way.
pub struct Process<'a> {
    /// Where everything is.
    pub places: &'a Places,
    /// Its rank.
    pub me: i32,
    open: Requests<RequestId, Open>,
    /// One-sided operations that no synchronisation has ended yet: window, target, number.
    pub(super) transfers: Vec<(u32, i32, u64)>,
    /// With which group a window is being accessed or lets itself be accessed, by the function that began it.
    pub(super) epochs: HashMap<(u32, Operation), u32>,
    next_id: u64,
    /// What OTF2 could not hold.
    pub missing: Missing,
}

impl<'a> Process<'a> {
    /// A process that has not begun.
    pub fn new(places: &'a Places, rank: u32) -> Process<'a> {
        Process {
            places,
            me: rank as i32,
            open: Requests::default(),
            transfers: Vec::new(),
            epochs: HashMap::new(),
            next_id: 0,
            missing: Missing::default(),
        }
    }

    /// A number for the next one-sided transfer or access to a file.
    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Who tells what its events say.
    pub fn teller(&self) -> Teller<'a> {
        Teller { terms: &self.places.terms, me: self.me }
    }

    /// Finds the events of a call, and remembers what later calls complete.
    pub fn understand(&mut self, call: &Call, moment: &mut Moment) {
        let (shape, function) = (call.shape, call.shape.operation.function());
        match function.role {
            Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => {
                for (request, listed) in call.listed() {
                    let event = self.complete(request, listed);
                    moment.at_leave.push(self.tell(event, call, request, listed));
                }
            }
            Role::Start | Role::StartAll => {
                for (request, listed) in call.listed() {
                    let event = self.start(request);
                    moment.at_enter.push(self.tell(event, call, request, listed));
                }
            }
            _ if shape.parts & part::ERROR != 0 => self.list_others(call, moment),
            _ => {
                let what = self.begin_operation(call, moment);
                if function.mode == Mode::Blocking && shape.parts & part::UNFINISHED != 0 {
                    // What a call would have done had it returned has not happened.
                    moment.at_leave.clear();
                }
                self.remember(call, what);
                self.list_others(call, moment);
            }
        }
    }

    /// Remembers what the request of a call is for.
    fn remember(&mut self, call: &Call, what: What) {
        let Some(request) = call.request else { return };
        match call.shape.operation.function().mode {
            Mode::Blocking => self.open.insert(request, Open { what: What::Other, persistent: false }),
            Mode::Nonblocking => self.open.insert(request, Open { what, persistent: false }),
            Mode::Persistent => self.open.insert_persistent(request, Open { what, persistent: true }),
        };
    }

    /// Requests that a call lists which neither completes nor starts any.
    fn list_others(&mut self, call: &Call, moment: &mut Moment) {
        if call.shape.operation.role() == Role::RequestFree {
            call.listed().for_each(|(request, _)| _ = self.open.remove(&request));
        }
        moment.at_leave.extend(call.listed().map(|(request, listed)| self.tell(None, call, request, listed)));
    }

    /// The events of a call that says itself what it does, and what it leaves to be completed.
    fn begin_operation(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        match shape.operation.role() {
            Role::Send => self.send(call, moment),
            Role::Receive | Role::MatchedReceive => self.receive(call, moment),
            Role::SendReceive => self.exchange(call, moment),
            Role::Collective(pattern) => self.collective(call, pattern, moment),
            Role::CommunicatorCreate => self.make_communicator(call, moment),
            Role::CommunicatorFree => {
                moment.leave(self.communicator(shape.made).map(Event::CommunicatorDestroy));
                What::Other
            }
            Role::Put | Role::Get | Role::Exchange => self.transfer(call, moment),
            Role::WindowCreate | Role::WindowFree => {
                self.make_window(shape, moment);
                What::Other
            }
            Role::WindowSync => {
                self.synchronise(shape, moment);
                What::Other
            }
            Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite => self.file(call, moment),
            _ => What::Other,
        }
    }

    fn communicator(&self, number: u32) -> Option<u32> {
        self.places.communicator(number)
    }

    /// A message in OTF2's terms; `None` if it has no other end there.
    fn message(&self, communicator: u32, peer: i32, tag: i32, bytes: u64) -> Option<Message> {
        let peer = self.places.peer(communicator, peer, self.me)?;
        Some(Message { peer, communicator, tag: u32::try_from(tag).ok()?, bytes: known_bytes(bytes) })
    }

    fn send(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some(message) = self.message(shape.object, shape.peer, shape.tag, shape.sent) else { return What::Other };
        match shape.operation.function().mode {
            Mode::Blocking => moment.enter(Event::Send(message, None)),
            Mode::Nonblocking => moment.enter(call.request.map(|request| Event::Send(message, Some(number(request))))),
            Mode::Persistent => {}
        }
        What::Send(message)
    }

    fn receive(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        if shape.operation.function().mode == Mode::Blocking {
            let message = self.message(shape.object, shape.peer, shape.tag, shape.received);
            moment.leave(message.map(|message| Event::Receive(message, None)));
            return What::Other;
        }
        let Some(communicator) = self.communicator(shape.object).filter(|_| shape.peer != raw::PROC_NULL) else { return What::Other };
        if shape.operation.function().mode == Mode::Nonblocking {
            moment.enter(call.request.map(|request| Event::Post(number(request))));
        }
        What::Receive(communicator)
    }

    fn exchange(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let send = self.message(shape.object, shape.peer, shape.tag, shape.sent);
        moment.enter(send.map(|message| Event::Send(message, None)));
        if shape.operation.function().mode == Mode::Blocking {
            let receive = self.message(shape.object, shape.source, shape.recv_tag, shape.received);
            moment.leave(receive.map(|message| Event::Receive(message, None)));
            return What::Other;
        }
        let communicator = self.communicator(shape.object).filter(|_| shape.source != raw::PROC_NULL);
        moment.enter(call.request.filter(|_| communicator.is_some()).map(|request| Event::Post(number(request))));
        communicator.map_or(What::Other, What::Receive)
    }

    fn collective(&mut self, call: &Call, pattern: Pattern, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some(operation) = operation(pattern) else {
            self.missing.neighbourhoods = true;
            return What::Other;
        };
        let Some((communicator, root)) = self.communicator(shape.object).zip(self.root(shape)) else { return What::Other };
        let collective = Collective { operation, communicator, root, sent: shape.bytes_sent(), received: known_bytes(shape.received) };
        self.together(call, collective, moment);
        What::Collective(collective)
    }

    /// The events of an operation of a group.
    fn together(&self, call: &Call, collective: Collective, moment: &mut Moment) {
        match (call.shape.operation.function().mode, call.request) {
            (Mode::Blocking, _) => {
                moment.enter(Event::CollectiveBegin);
                moment.leave(Event::CollectiveEnd(collective));
            }
            (Mode::Nonblocking, Some(request)) => moment.enter(Event::CollectivePost(number(request))),
            _ => {}
        }
    }

    fn root(&self, shape: &Shape) -> Option<u32> {
        match shape.peer {
            raw::NONE => Some(NO_ROOT),
            raw::ROOT_HERE => Some(event::ROOT_HERE),
            raw::PROC_NULL => Some(event::ROOT_IN_THIS_GROUP),
            peer => self.places.peer(shape.object, peer, self.me),
        }
    }

    fn make_communicator(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        moment.leave(self.communicator(shape.made).map(Event::CommunicatorCreate));
        let parent = self.communicator(shape.object).filter(|_| all_make_it(shape.operation));
        let Some(communicator) = parent else { return What::Other };
        let collective = Collective { operation: group::CREATE, communicator, root: NO_ROOT, sent: 0, received: 0 };
        self.together(call, collective, moment);
        What::Collective(collective)
    }

    /// The event of a request that is complete.
    fn complete(&mut self, request: RequestId, listed: &ListedRequest) -> Option<Event> {
        let open = *self.open.get(&request)?;
        if !open.persistent {
            self.open.remove(&request);
        }
        let id = number(request);
        match open.what {
            What::Send(_) => Some(Event::SendComplete(id)),
            What::Receive(_) if !listed.receive => Some(Event::Cancelled(id)),
            What::Receive(communicator) => {
                let message = self.message(communicator, listed.peer, listed.tag, listed.received);
                message.map(|message| Event::Receive(message, Some(id)))
            }
            What::Collective(collective) => Some(Event::CollectiveComplete(collective, id)),
            What::Transfer(window, id) => Some(Event::TransferComplete(window, id)),
            What::File(file, bytes, id) => Some(Event::FileComplete(file, bytes, id)),
            What::Other => None,
        }
    }

    /// The event of a persistent request that is started.
    fn start(&mut self, request: RequestId) -> Option<Event> {
        let id = number(request);
        match self.open.get(&request)?.what {
            What::Send(message) => Some(Event::Send(message, Some(id))),
            What::Receive(_) => Some(Event::Post(id)),
            What::Collective(_) => Some(Event::CollectivePost(id)),
            _ => None,
        }
    }

    /// The event of a listed request (a parameter of the call, where OTF2 has none for it), with attributes for what it does not tell.
    fn tell(&self, event: Option<Event>, call: &Call, request: RequestId, actual: &ListedRequest) -> (Event, Attributes) {
        let event = event.unwrap_or(Event::Parameter(definitions::REQUEST, number(request)));
        let teller = self.teller();
        let mut attributes = Attributes::default();
        let mut told = Told::of(call.shape.operation);
        told.add(&event, &attributes, teller, &mut |_| Some(actual.request));
        // Of a request that is no receive, nothing else holds.
        let actual = if actual.receive { *actual } else { listed(actual.request, false) };
        if let Some(told) = told.shape.requests.first() {
            attributes.add_listed_differences(told, &actual);
        }
        (event, attributes)
    }
}

/// The number of a request in the archive.
pub fn number(request: RequestId) -> u64 {
    RequestRef::Of(request.thread, request.number).word(false)
}

/// OTF2's number of a collective operation; it has none for those among neighbours.
fn operation(pattern: Pattern) -> Option<u8> {
    const IN_ORDER: [Pattern; 17] = [
        Pattern::Barrier,
        Pattern::Broadcast,
        Pattern::Gather,
        Pattern::Gatherv,
        Pattern::Scatter,
        Pattern::Scatterv,
        Pattern::Allgather,
        Pattern::Allgatherv,
        Pattern::Alltoall,
        Pattern::Alltoallv,
        Pattern::Alltoallw,
        Pattern::Allreduce,
        Pattern::Reduce,
        Pattern::ReduceScatter,
        Pattern::Scan,
        Pattern::Exscan,
        Pattern::ReduceScatterBlock,
    ];
    IN_ORDER.iter().position(|known| *known == pattern).map(|place| place as u8)
}

/// Whether all members of the parent make a communicator together.
fn all_make_it(operation: Operation) -> bool {
    !matches!(
        operation.name(),
        "MPI_Comm_create_group" | "MPI_Comm_create_from_group" | "MPI_Comm_join" | "MPI_Intercomm_create_from_groups"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{call, written};

    #[test]
    fn what_a_call_was_doing_when_the_process_was_cut_has_not_happened() {
        let cut = |operation: &str| Shape { object: 0, peer: 1, tag: 1, parts: part::UNFINISHED, ..call(operation, 1) };
        for operation in ["MPI_Barrier", "MPI_Recv", "MPI_Comm_dup"] {
            let example = written(&[vec![(0, 1, 2, Shape { made: 0, ..cut(operation) })]]);
            let places = Places::new(&example.recording);
            let (mut process, mut moment) = (Process::new(&places, 0), Moment::default());
            process.understand(&example.recording.calls(0).unwrap().next_call().unwrap(), &mut moment);
            assert_eq!(moment.at_leave.len(), 0, "{operation}");
            assert_eq!(moment.at_enter.len(), usize::from(operation != "MPI_Recv"), "{operation}");
        }
    }
}
