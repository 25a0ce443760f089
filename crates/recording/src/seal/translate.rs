//! From what a process says to what the recording says: addresses become call sites, its own numbers become those of all.

use sintonia_mpi::{Mode, Operation, Role};

use crate::hash::QuickMap;
use crate::raw::{self, Payload, RequestRef, part, profile};
use crate::seal::communicators::{Local, Locals, Peers};
use crate::seal::groups::Numbers;
use crate::sealed::Sums;
use crate::table::{ListedRequest, Shape};

/// The numbers of one process's call sites, communicators, windows and files.
pub struct Translator<'a> {
    /// Call sites by address.
    pub sites: QuickMap<u64, u32>,
    /// Communicators, windows and files.
    pub locals: &'a Locals,
    /// Groups that calls name.
    pub groups: &'a Numbers,
}

/// Marks that mean something to the file they stand in only.
const LEFT_OUT: u16 = part::LONG | part::CONTINUED;

impl Translator<'_> {
    /// The shape of a call, except for the requests it lists; `None` if it cannot be one of this process.
    pub fn shape(&self, payload: &Payload) -> Option<Shape> {
        let mut shape = Shape {
            parts: payload.parts() & !LEFT_OUT,
            site: *self.sites.get(&payload.site())?,
            ..Shape::of(Operation::from_number(payload.operation())?)
        };
        let number = |wanted: u16| payload.part(wanted);
        if let Some(word) = number(part::OBJECT) {
            let (id, peer) = raw::unpair(word);
            (shape.object, shape.peer) = self.object(id, peer);
            if let Some(source) = number(part::SOURCE) {
                shape.source = self.object(id, source as i32).1;
            }
        }
        if let Some(word) = number(part::TAG) {
            let (tag, recv_tag) = raw::unpair(word);
            (shape.tag, shape.recv_tag) = (tag as i32, recv_tag);
        }
        shape.sent = number(part::SENT).unwrap_or(0);
        shape.received = number(part::RECEIVED).unwrap_or(0);
        shape.made = number(part::MADE).map_or(raw::NO_OBJECT, |id| self.object(id as u32, raw::NONE).0);
        shape.value = number(part::VALUE).unwrap_or(0) as i32;
        if shape.names_group() {
            match self.groups.get(&(shape.value as u32)) {
                Some(group) => shape.value = *group,
                None => (shape.parts, shape.value) = (shape.parts & !part::VALUE, 0),
            }
        }
        Some(shape)
    }

    /// The number of a communicator, window or file, and the rank of a peer in it.
    fn object(&self, id: u32, peer: i32) -> (u32, i32) {
        match self.locals.get(&id) {
            Some(local) => (local.number, local.peers.rank(peer)),
            None => (raw::NO_OBJECT, Peers::default().rank(peer)),
        }
    }

    /// The communicator that must be remembered because this call makes a receive on it, and its ranks are not those of the recording.
    pub fn remembers(&self, payload: &Payload) -> Option<&Local> {
        let role = Operation::from_number(payload.operation())?.role();
        let receives = matches!(role, Role::Receive | Role::MatchedReceive | Role::SendReceive);
        let makes = receives && payload.parts() & part::REQUEST != 0;
        let (id, _) = raw::unpair(payload.part(part::OBJECT).filter(|_| makes)?);
        self.locals.get(&id).filter(|local| !local.peers.plain)
    }

    /// One entry of a profile, whose key has marks only: what else there is shows in the sums.
    pub fn sums(&self, entry: &[u64]) -> Option<(Shape, Sums)> {
        let header = entry[profile::KEY];
        let mut shape = Shape {
            parts: (header >> 16) as u16 & !LEFT_OUT,
            site: *self.sites.get(&entry[profile::SITE])?,
            ..Shape::of(Operation::from_number(header as u16)?)
        };
        let (id, peer) = raw::unpair(entry[profile::OBJECT]);
        (shape.object, shape.peer) = self.object(id, peer);
        let class = entry[profile::CLASS];
        shape.sent = profile::size_bound(class as u32);
        shape.received = profile::size_bound((class >> 32) as u32);
        for (there, part) in [
            ((id, peer) != (raw::NO_OBJECT, raw::NONE), part::OBJECT),
            (entry[profile::SENT] > 0, part::SENT),
            (entry[profile::RECEIVED] > 0, part::RECEIVED),
        ] {
            shape.parts |= if there { part } else { 0 };
        }
        let sums = Sums {
            calls: entry[profile::CALLS],
            ticks: entry[profile::TICKS],
            least: entry[profile::LEAST],
            most: entry[profile::MOST],
            sent: entry[profile::SENT],
            received: entry[profile::RECEIVED],
        };
        Some((shape, sums))
    }
}

/// Receives under way on communicators whose ranks are not those of the recording: their source is named when they complete, by calls
/// that do not know the communicator.
#[derive(Default)]
pub struct Receives(QuickMap<(u16, u64), Receive>);

struct Receive {
    peers: Peers,
    persistent: bool,
}

impl Receives {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A call made a receive.
    pub fn made(&mut self, thread: u16, number: u64, local: &Local, operation: Operation) {
        let persistent = operation.function().mode == Mode::Persistent;
        self.0.insert((thread, number), Receive { peers: local.peers.clone(), persistent });
    }

    /// The requests that a call lists; `next` is the number of its thread's next request.
    pub fn list(&mut self, payload: &Payload, thread: u16, next: u64, requests: &mut Vec<ListedRequest>) {
        let ends = payload.parts() & part::STARTED == 0;
        let frees = Operation::from_number(payload.operation()).is_some_and(|o| o.role() == Role::RequestFree);
        for [word, source_and_tag, received] in payload.requests() {
            let (request, receive) = RequestRef::from_word(word);
            let (source, tag) = raw::unpair(source_and_tag);
            let id = match request {
                RequestRef::Ago(ago) => (thread, next.wrapping_sub(1).wrapping_sub(ago)),
                RequestRef::Of(thread, number) => (thread, number),
            };
            let made = self.0.get(&id);
            let peer = made.map_or(source as i32, |made| made.peers.rank(source as i32));
            if ends && made.is_some_and(|made| frees || !made.persistent) {
                self.0.remove(&id);
            }
            requests.push(ListedRequest { request, receive, peer, tag, received });
        }
    }
}
