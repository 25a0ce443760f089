//! Translates process-local data to that of the recording: addresses to call sites, local ids to indices.

use rustc_hash::FxHashMap;
use sintonia_mpi::{BlockingMode, FunctionId, FunctionRole};

use crate::call_table::{CallDescriptor, ListedRequest};
use crate::raw::{self, CallPayload, RequestRef, part, profile};
use crate::seal::communicators::{MappedObject, ObjectMap, PeerRanks};
use crate::seal::group_ids::GroupIds;
use crate::sealed::TickTotals;

/// Translation tables of one process.
pub(super) struct IdTranslator<'a> {
    /// Call sites by address.
    pub sites: FxHashMap<u64, u32>,
    /// Communicators, windows and files.
    pub objects: &'a ObjectMap,
    /// Groups named by calls.
    pub groups: &'a GroupIds,
}

/// Parts that have a meaning in raw blocks only.
const RAW_ONLY_PARTS: u16 = part::LONG_DURATION | part::CONTINUED;

impl IdTranslator<'_> {
    /// The descriptor of a call, without its requests; `None` if it cannot belong to this process.
    pub(super) fn descriptor(&self, payload: &CallPayload) -> Option<CallDescriptor> {
        let mut descriptor = CallDescriptor {
            parts: payload.parts() & !RAW_ONLY_PARTS,
            site: *self.sites.get(&payload.site())?,
            ..CallDescriptor::new(FunctionId::from_index(payload.function_index())?)
        };
        let number = |wanted: u16| payload.part(wanted);
        if let Some(word) = number(part::OBJECT) {
            let (id, peer) = raw::unpair(word);
            (descriptor.object, descriptor.peer) = self.object(id, peer);
            if let Some(source) = number(part::SOURCE) {
                descriptor.source = self.object(id, source as i32).1;
            }
        }
        if let Some(word) = number(part::TAG) {
            let (tag, recv_tag) = raw::unpair(word);
            (descriptor.tag, descriptor.recv_tag) = (tag as i32, recv_tag);
        }
        descriptor.sent = number(part::SENT).unwrap_or(0);
        descriptor.received = number(part::RECEIVED).unwrap_or(0);
        descriptor.created = number(part::CREATED).map_or(raw::NO_OBJECT, |id| self.object(id as u32, raw::NONE).0);
        descriptor.value = number(part::VALUE).unwrap_or(0) as i32;
        if descriptor.has_group_operand() {
            match self.groups.get(&(descriptor.value as u32)) {
                Some(group) => descriptor.value = *group,
                None => (descriptor.parts, descriptor.value) = (descriptor.parts & !part::VALUE, 0),
            }
        }
        Some(descriptor)
    }

    /// Index of a communicator, window or file, and the translated rank of a peer in it.
    fn object(&self, id: u32, peer: i32) -> (u32, i32) {
        match self.objects.get(&id) {
            Some(object) => (object.id, object.peers.rank(peer)),
            None => (raw::NO_OBJECT, PeerRanks::default().rank(peer)),
        }
    }

    /// The communicator of a receive that must be tracked, because its ranks differ from those of the recording.
    pub(super) fn remapped_receive(&self, payload: &CallPayload) -> Option<&MappedObject> {
        let role = FunctionId::from_index(payload.function_index())?.role();
        let receives = matches!(role, FunctionRole::Receive | FunctionRole::MatchedReceive | FunctionRole::SendReceive);
        let makes = receives && payload.parts() & part::REQUEST != 0;
        let (id, _) = raw::unpair(payload.part(part::OBJECT).filter(|_| makes)?);
        self.objects.get(&id).filter(|object| !object.peers.is_identity)
    }

    /// One entry of a profile. Its key has only flags; which parts exist is derived from the totals.
    pub(super) fn totals(&self, entry: &[u64]) -> Option<(CallDescriptor, TickTotals)> {
        let header = entry[profile::KEY];
        let mut descriptor = CallDescriptor {
            parts: (header >> 16) as u16 & !RAW_ONLY_PARTS,
            site: *self.sites.get(&entry[profile::SITE])?,
            ..CallDescriptor::new(FunctionId::from_index(header as u16)?)
        };
        let (id, peer) = raw::unpair(entry[profile::OBJECT]);
        (descriptor.object, descriptor.peer) = self.object(id, peer);
        let class = entry[profile::CLASS];
        descriptor.sent = profile::size_bound(class as u32);
        descriptor.received = profile::size_bound((class >> 32) as u32);
        for (is_present, part) in [
            ((id, peer) != (raw::NO_OBJECT, raw::NONE), part::OBJECT),
            (entry[profile::SENT] > 0, part::SENT),
            (entry[profile::RECEIVED] > 0, part::RECEIVED),
        ] {
            descriptor.parts |= if is_present { part } else { 0 };
        }
        let totals = TickTotals {
            calls: entry[profile::CALLS],
            ticks: entry[profile::TICKS],
            min: entry[profile::MIN_TICKS],
            max: entry[profile::MAX_TICKS],
            sent: entry[profile::SENT],
            received: entry[profile::RECEIVED],
        };
        Some((descriptor, totals))
    }
}

/// Pending receives on communicators whose ranks differ from those of the recording. Their actual source is reported at completion, by a
/// call that does not name the communicator.
#[derive(Default)]
pub(super) struct PendingReceives(FxHashMap<(u16, u64), PendingReceive>);

struct PendingReceive {
    peers: PeerRanks,
    persistent: bool,
}

impl PendingReceives {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a receive.
    pub(super) fn add(&mut self, thread: u16, number: u64, object: &MappedObject, operation: FunctionId) {
        let persistent = operation.definition().mode == BlockingMode::Persistent;
        self.0.insert((thread, number), PendingReceive { peers: object.peers.clone(), persistent });
    }

    /// Appends the requests that a call lists; `next` is the number of its thread's next request.
    pub(super) fn map_requests(&mut self, payload: &CallPayload, thread: u16, next: u64, requests: &mut Vec<ListedRequest>) {
        let completes = payload.parts() & part::STARTED == 0;
        let frees = FunctionId::from_index(payload.function_index()).is_some_and(|o| o.role() == FunctionRole::RequestFree);
        for [word, source_and_tag, received] in payload.requests() {
            let (request, receive) = RequestRef::from_word(word);
            let (source, tag) = raw::unpair(source_and_tag);
            let id = match request {
                RequestRef::Relative(ago) => (thread, next.wrapping_sub(1).wrapping_sub(ago)),
                RequestRef::Absolute(thread, number) => (thread, number),
            };
            let pending = self.0.get(&id);
            let peer = pending.map_or(source as i32, |pending| pending.peers.rank(source as i32));
            if completes && pending.is_some_and(|pending| frees || !pending.persistent) {
                self.0.remove(&id);
            }
            requests.push(ListedRequest { request, is_receive: receive, peer, tag, received });
        }
    }
}
