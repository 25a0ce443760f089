//! First pass over the calls of one process: its messages, collectives and epochs, before they are matched.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use sintonia_mpi::FunctionRole;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, CallTable, ListedRequest, RecordedCall, RequestId};
use sintonia_recording::comm_event::{CollectiveGroup, CommEvent, GroupOp, PointToPointMessage, RequestTracker};
use sintonia_recording::raw::{self, PROC_NULL, RequestRef, part};

use super::rma_epochs::{LocalCall, RankEpochs};
use super::{CallId, CollectiveCall, Location, NO_ROW, ReceivedMessage, SentMessage};

/// The communication of one process, before it is matched.
pub(super) struct RankScan {
    /// Its threads; their messages and collectives are not matched yet.
    pub locations: Vec<Location>,
    /// Sent messages, in order.
    pub envelopes: Vec<SendEnvelope>,
    /// Received messages, in the order in which the receives were posted.
    pub receives: Vec<ReceiveEnvelope>,
    /// Earlier probes of received messages.
    pub probed: ProbedMessages,
    /// Collectives it participated in, by group and in order.
    pub joins: FxHashMap<CollectiveGroup, Vec<CollectiveJoin>>,
    /// Its epochs of one-sided communication.
    pub epochs: RankEpochs,
}

/// The envelope of a sent message.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct SendEnvelope {
    /// The sending call.
    pub sender: CallId,
    /// Index among the messages sent by that thread.
    pub index: u32,
    pub receiver: u32,
    pub communicator: u32,
    pub tag: i32,
    /// [`SendEnvelope::PARTITIONED`] and [`SendEnvelope::UNORDERED`].
    pub flags: u32,
    /// When the sending call was entered.
    pub enter: i64,
}

impl SendEnvelope {
    /// A partitioned send.
    pub(super) const PARTITIONED: u32 = 1;
    /// Another thread of the process sent with the same envelope at the same time.
    pub(super) const UNORDERED: u32 = 2;
}

/// Received messages that were probed before, and their probes: location, and index among its received messages.
pub(super) type ProbedMessages = FxHashMap<(u32, u32), (u32, u32)>;

/// The envelope of a received message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveEnvelope {
    pub source: u32,
    pub communicator: u32,
    pub tag: i32,
    /// Position of the matching call among all calls of the process: the one that posted the receive, or a matched probe.
    pub match_order: u64,
    /// The call that posted it.
    pub posted: (u32, u32),
    /// The location that completed it, and the index among its received messages.
    pub location: u32,
    pub index: u32,
    /// Whether another thread of the process posted a receive for the same envelope at the same time.
    pub unordered: bool,
}

/// A participation in a collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectiveJoin {
    pub location: u32,
    /// Index among the collectives of that location; [`NO_ROW`] if the process does not participate (it is in the root's group of an
    /// intercommunicator).
    pub index: u32,
    pub op: GroupOp,
    pub root: i32,
}

/// The calls of one process, in order of completion.
pub(super) struct OrderedCalls {
    /// Its rank.
    pub rank: u32,
    /// The call tables of its threads.
    pub tables: Vec<CallTable>,
    /// See [`completion_order`].
    pub order: Vec<(u32, u32)>,
}

impl OrderedCalls {
    /// Sorts the calls of a rank's threads.
    pub(super) fn new(rank: u32, tables: Vec<CallTable>) -> OrderedCalls {
        let order = completion_order(&tables.iter().collect::<Vec<_>>());
        OrderedCalls { rank, tables, order }
    }
}

/// Scans the calls of one process.
pub(super) fn scan_rank(recording: &Recording, process: OrderedCalls) -> RankScan {
    let OrderedCalls { rank, tables, order } = process;
    let mut scanner = RankScanner { rank, order, ..RankScanner::default() };
    scanner.locations = tables
        .iter()
        .map(|table| Location { rank, calls: CallTable { thread: table.thread, ..CallTable::default() }, ..Location::default() })
        .collect();
    let mut tracker = RequestTracker::for_world(recording.world(rank));
    let mut calls: Vec<_> = tables.iter().map(|table| table.calls().enumerate()).collect();
    let rows: usize = tables.iter().map(CallTable::len).sum();
    for call in 0..rows as u64 {
        let (location, _) = scanner.locate(call);
        let Some((row, next)) = calls[location as usize].next() else { continue };
        match next.descriptor.function.role() {
            FunctionRole::Probe | FunctionRole::MatchedProbe => scanner.probe(location, row as u32, call, next.descriptor),
            FunctionRole::PartitionReady => {
                next.requests().for_each(|(request, _)| scanner.partition_ready(location, row as u32, next.enter, request))
            }
            FunctionRole::WindowSync | FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => {
                scanner.epochs.record_call(recording, &mut scanner.locations, LocalCall { location, row: row as u32 }, &next);
            }
            _ => {}
        }
        for event in tracker.track(&next) {
            scanner.record(location, row as u32, &next, event);
        }
    }
    drop(calls);
    for (location, table) in scanner.locations.iter_mut().zip(tables) {
        location.calls = table;
    }
    scanner.receives.sort_by_key(|receive| receive.match_order);
    if scanner.partitioned {
        scanner.sort_sends();
    }
    if scanner.locations.len() > 1 {
        scanner.mark_unordered();
    }
    scanner.locations.iter_mut().for_each(Location::shrink_to_fit);
    let RankScanner { locations, mut envelopes, mut receives, probed, joins, epochs, .. } = scanner;
    envelopes.shrink_to_fit();
    receives.shrink_to_fit();
    RankScan { locations, envelopes, receives, probed, joins, epochs }
}

/// Locations and rows in order of completion; empty for a single thread, whose calls are sorted. A call that completes a request of another
/// thread comes after the call that created it, even if clocks say otherwise.
pub(super) fn completion_order(tables: &[&CallTable]) -> Vec<(u32, u32)> {
    if tables.len() < 2 {
        return Vec::new();
    }
    let rows = |(location, table): (usize, &&CallTable)| (0..table.len() as u32).map(move |row| (location as u32, row)).collect::<Vec<_>>();
    let mut order: Vec<(u32, u32)> = tables.iter().enumerate().flat_map(rows).collect();
    order.sort_by_key(|(location, row)| (tables[*location as usize].leave[*row as usize], *location, *row));
    let refers_to_others = |listed: &ListedRequest| listed.request.is_known() && matches!(listed.request, RequestRef::Absolute(..));
    if tables.iter().flat_map(|table| &table.descriptors).any(|descriptor| descriptor.requests.iter().any(refers_to_others)) {
        put_creations_first(tables, &mut order);
    }
    order
}

/// Puts a call in progress that creates a request before the call of another thread that completes it.
fn put_creations_first(tables: &[&CallTable], order: &mut [(u32, u32)]) {
    let mut calls: Vec<_> = tables.iter().map(|table| table.calls().peekable()).collect();
    let creates = |call: &RecordedCall, request: RequestId| call.request == Some(request);
    // Rows are assigned in the order of each location, so it suffices to find the location of each position.
    let mut locations: VecDeque<u32> = order.iter().map(|(location, _)| *location).collect();
    for position in order.iter_mut() {
        let Some(mut next) = locations.pop_front() else { return };
        for _ in 1..tables.len() {
            let Some(call) = calls[next as usize].peek().copied() else { break };
            let others = call.requests().filter(|(request, _)| request.thread != call.thread);
            let creator = others.filter_map(|(request, _)| {
                let table = tables.iter().position(|table| table.thread == request.thread)?;
                calls[table].peek().is_some_and(|call| creates(call, request)).then_some(table as u32)
            });
            let Some(creator) = { creator }.next() else { break };
            // Its own position comes later; this location takes that one.
            if let Some(later) = locations.iter().position(|location| *location == creator) {
                locations[later] = next;
            }
            next = creator;
        }
        calls[next as usize].next();
        position.0 = next;
    }
    let mut rows = vec![0; tables.len()];
    for (location, row) in order {
        *row = rows[*location as usize];
        rows[*location as usize] += 1;
    }
}

/// A message sent or received by one of several threads: its peer, communicator and tag, the thread, and the times of its call.
type ThreadMessage = ((u32, u32, i32), u32, i64, i64);

/// Which of the messages have the same envelope as that of another thread whose call was in progress at the same time. They are in the order
/// in which their calls returned.
fn concurrent_messages(messages: &[ThreadMessage]) -> Vec<bool> {
    let mut concurrent = vec![false; messages.len()];
    let mut earlier: FxHashMap<(u32, u32, i32), Vec<usize>> = FxHashMap::default();
    for (index, (envelope, thread, enter, _)) in messages.iter().enumerate() {
        let earlier = earlier.entry(*envelope).or_default();
        for other in earlier.iter().rev().copied().take_while(|other| messages[*other].3 > *enter) {
            if messages[other].1 != *thread {
                (concurrent[other], concurrent[index]) = (true, true);
            }
        }
        earlier.push(index);
    }
    concurrent
}

/// The send or collective of an open request.
#[derive(Clone, Copy)]
struct OpenRequest {
    location: u32,
    index: u32,
    /// Index of the envelope, for a send.
    envelope: usize,
}

/// Messages with the same source, communicator and tag are received in send order.
type MatchKey = (i32, u32, i32);

/// A message taken by a matched probe: position of the call in the process, location and index of the probe.
type MatchedProbe = (u64, (u32, u32));

#[derive(Default)]
struct RankScanner {
    rank: u32,
    order: Vec<(u32, u32)>,
    locations: Vec<Location>,
    envelopes: Vec<SendEnvelope>,
    receives: Vec<ReceiveEnvelope>,
    probed: ProbedMessages,
    joins: FxHashMap<CollectiveGroup, Vec<CollectiveJoin>>,
    epochs: RankEpochs,
    /// Open requests.
    open: FxHashMap<RequestId, OpenRequest>,
    /// Whether there were partitioned sends.
    partitioned: bool,
    /// Probes whose message has not been received yet: location and index.
    probes: FxHashMap<MatchKey, (u32, u32)>,
    /// Messages taken by matched probes, which no other call can receive.
    matched: FxHashMap<MatchKey, VecDeque<MatchedProbe>>,
    /// Open receives of such messages.
    matched_requests: FxHashSet<RequestId>,
}

impl RankScanner {
    /// Location and row of a call, by its position among all calls of the process.
    fn locate(&self, call: u64) -> (u32, u32) {
        if self.order.is_empty() { (0, call as u32) } else { self.order[call as usize] }
    }

    fn record(&mut self, location: u32, row: u32, call: &RecordedCall, event: &CommEvent) {
        match *event {
            CommEvent::Send { message, request, synchronous } => self.send(location, row, call.enter, message, request, synchronous),
            CommEvent::SendComplete { request, .. } => {
                if let Some(open) = self.open.remove(&request).filter(|open| open.location == location) {
                    self.locations[location as usize].sent[open.index as usize].completion = row;
                }
            }
            CommEvent::Receive { message, request, begin_call: since } => {
                let matched = request.map_or_else(|| is_matched_receive(call), |request| self.matched_requests.remove(&request));
                self.receive(location, row, message, since, matched);
            }
            CommEvent::CollectiveBegin { collective: instance, op, root: PROC_NULL, .. } => {
                let join = CollectiveJoin { location, index: NO_ROW, op, root: PROC_NULL };
                self.joins.entry(instance.group).or_default().push(join);
            }
            CommEvent::CollectiveBegin { collective: instance, op, root, request } => {
                let collective = &mut self.locations[location as usize].collectives;
                let index = collective.len() as u32;
                let done = if request.is_none() { row } else { NO_ROW };
                collective.push(CollectiveCall { row, completion: done, instance: NO_ROW, dependency: NO_ROW });
                self.joins.entry(instance.group).or_default().push(CollectiveJoin { location, index, op, root });
                if let Some(request) = request {
                    self.open.insert(request, OpenRequest { location, index, envelope: usize::MAX });
                }
            }
            CommEvent::CollectiveEnd { request, .. } => {
                if let Some(open) = self.open.remove(&request).filter(|open| open.location == location) {
                    self.locations[location as usize].collectives[open.index as usize].completion = row;
                }
            }
            CommEvent::ReceivePost { request } if is_matched_receive(call) => _ = self.matched_requests.insert(request),
            CommEvent::ReceivePost { .. } | CommEvent::ReceiveCancel { .. } => {}
        }
    }

    fn send(&mut self, location: u32, row: u32, enter: i64, message: PointToPointMessage, request: Option<RequestId>, synchronous: bool) {
        let Ok(receiver) = u32::try_from(message.peer) else { return };
        let sent = &mut self.locations[location as usize].sent;
        let index = sent.len() as u32;
        let done = if request.is_none() { row } else { NO_ROW };
        sent.push(SentMessage {
            row,
            completion: done,
            bytes: raw::bytes_or_zero(message.bytes),
            synchronous,
            receiver: CallId::NONE,
            posted_row: NO_ROW,
            posted_thread: 0,
            posted_enter: 0,
            progress_row: NO_ROW,
            progress_enter: 0,
        });
        if let Some(request) = request {
            self.open.insert(request, OpenRequest { location, index, envelope: self.envelopes.len() });
        }
        let thread = self.locations[location as usize].calls.thread.into();
        let (communicator, tag) = (message.communicator, message.tag);
        let sender = CallId { rank: self.rank, thread, row };
        self.envelopes.push(SendEnvelope { sender, index, receiver, communicator, tag, flags: 0, enter });
    }

    /// Records a received message; one taken by a matched probe was matched at that time.
    fn receive(&mut self, location: u32, row: u32, message: PointToPointMessage, since: u64, matched: bool) {
        let Ok(source) = u32::try_from(message.peer) else { return };
        let posted = self.locate(since);
        let index = self.locations[location as usize].received.len() as u32;
        self.locations[location as usize].received.push(unmatched_receive(row, true));
        let (communicator, tag) = (message.communicator, message.tag);
        let key = (message.peer, communicator, tag);
        let taken = if matched { self.matched.get_mut(&key).and_then(VecDeque::pop_front) } else { None };
        let (since, probe) = match taken {
            Some((since, probe)) => (since, Some(probe)),
            None => (since, self.probes.remove(&key)),
        };
        if let Some(probe) = probe {
            self.probed.insert((location, index), probe);
        }
        let unordered = false;
        self.receives.push(ReceiveEnvelope { source, communicator, tag, match_order: since, posted, location, index, unordered });
    }

    /// A partition is ready: the message leaves with the last one.
    fn partition_ready(&mut self, location: u32, row: u32, enter: i64, request: RequestId) {
        let Some(open) = self.open.get(&request).filter(|open| open.location == location) else { return };
        let Some(envelope) = self.envelopes.get_mut(open.envelope) else { return };
        (envelope.sender.row, envelope.enter) = (row, enter);
        envelope.flags |= SendEnvelope::PARTITIONED;
        self.locations[location as usize].sent[open.index as usize].row = row;
        self.partitioned = true;
    }

    /// Sorts the messages of the locations by row again: partitioned messages leave later than they are started.
    fn sort_sends(&mut self) {
        for location in &mut self.locations {
            let mut order: Vec<usize> = (0..location.sent.len()).collect();
            order.sort_by_key(|index| location.sent[*index].row);
            let mut new_indices = vec![0; order.len()];
            order.iter().enumerate().for_each(|(new, old)| new_indices[*old] = new as u32);
            location.sent = order.iter().map(|old| location.sent[*old]).collect();
            let thread = u32::from(location.calls.thread);
            let own = self.envelopes.iter_mut().filter(|envelope| envelope.sender.thread == thread);
            own.for_each(|envelope| envelope.index = new_indices[envelope.index as usize]);
        }
    }

    /// Marks messages that threads of this process sent or received at the same time with the same envelope: MPI does not order them.
    fn mark_unordered(&mut self) {
        let times = |location: u32, row: u32| {
            let calls = &self.locations[location as usize].calls;
            (calls.enter[row as usize], calls.leave[row as usize])
        };
        let location_of = |thread: u32| self.locations.iter().position(|l| u32::from(l.calls.thread) == thread).unwrap_or(0) as u32;
        let sent = self.envelopes.iter().map(|envelope| {
            let (enter, leave) = times(location_of(envelope.sender.thread), envelope.sender.row);
            ((envelope.receiver, envelope.communicator, envelope.tag), envelope.sender.thread, enter, leave)
        });
        let sent = concurrent_messages(&sent.collect::<Vec<_>>());
        let received = self.receives.iter().map(|receive| {
            let (enter, leave) = times(receive.posted.0, receive.posted.1);
            ((receive.source, receive.communicator, receive.tag), receive.posted.0, enter, leave)
        });
        let received = concurrent_messages(&received.collect::<Vec<_>>());
        for (envelope, _) in self.envelopes.iter_mut().zip(sent).filter(|(_, unordered)| *unordered) {
            envelope.flags |= SendEnvelope::UNORDERED;
        }
        self.receives.iter_mut().zip(received).for_each(|(receive, unordered)| receive.unordered = unordered);
    }

    /// Records a successful probe. A repeated probe of the same message adds nothing, unless it is a matched probe.
    fn probe(&mut self, location: u32, row: u32, call: u64, descriptor: &CallDescriptor) {
        if descriptor.parts & (part::FLAG_FALSE | part::ERROR | part::UNFINISHED) != 0 || descriptor.peer < 0 {
            return;
        }
        let index = self.locations[location as usize].received.len() as u32;
        let key = (descriptor.peer, descriptor.object, descriptor.tag);
        if descriptor.function.role() == FunctionRole::MatchedProbe {
            self.matched.entry(key).or_default().push_back((call, (location, index)));
        } else if *self.probes.entry(key).or_insert((location, index)) != (location, index) {
            return;
        }
        self.locations[location as usize].received.push(unmatched_receive(row, false));
    }
}

/// Whether a call receives a message taken by a matched probe.
fn is_matched_receive(call: &RecordedCall) -> bool {
    call.descriptor.function.role() == FunctionRole::MatchedReceive
}

fn unmatched_receive(row: u32, taken: bool) -> ReceivedMessage {
    ReceivedMessage { row, sender: CallId::NONE, sender_index: NO_ROW, consumed: taken, partitioned: false, send_enter: 0 }
}
