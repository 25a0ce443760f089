//! The way of one rank through the program: which operations it came by, what it computed in between, whom it met.
//!
//! The calls go by one at a time and only sums are kept, so what stays in memory depends on the program and not on how long it ran.

use std::collections::HashMap;

use sintonia_mpi::Role as Does;
use sintonia_recording::deed::{Deed, Follower, Group, Message};
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{Call, RequestId, Shape};
use sintonia_recording::{Error, Recording};

use super::Times;
use super::places::{Key, Keys, Places};

/// Programs that count their tags up would need memory for each of them; what matters is that small tags stay apart.
const TAG_CLASSES: i32 = 64;

/// What one rank did, in sums.
#[derive(Default)]
pub struct RankWalk {
    /// The rank.
    pub rank: u32,
    /// The ways of its threads.
    pub threads: Vec<ThreadWalk>,
    /// The messages it sent.
    pub sent: Vec<Stream>,
    /// The messages it received.
    pub received: Vec<Stream>,
    /// The operations of groups it took part in.
    pub attended: Vec<Attendance>,
    /// How often a call at the second node completed what a call at the first one began.
    pub completed: HashMap<(usize, usize), u64>,
}

/// The way of one thread.
#[derive(Default)]
pub struct ThreadWalk {
    /// The thread.
    pub thread: u16,
    /// The node of its first call.
    pub first: usize,
    /// What it did at each node, by number of the node.
    pub visits: Vec<Visit>,
    /// What it computed between two calls.
    pub segments: HashMap<(usize, usize), Times>,
    /// The node of its last call, and when it was left.
    pub at: Option<(usize, i64)>,
}

/// The calls of one thread or role at one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visit {
    /// How often and how long.
    pub calls: Times,
    /// Calls that found nothing: tests and probes in vain.
    pub in_vain: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Calls whose partner was nobody: `MPI_PROC_NULL`.
    pub nobody: u64,
    /// What came of the calls.
    pub outcome: Outcome,
    /// When the first of them was entered.
    pub first_ns: i64,
    /// When the last of them was left.
    pub last_ns: i64,
}

/// What came of the calls at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A message left, or its sending was completed.
    pub sends: bool,
    /// A message was received, or its receive began.
    pub receives: bool,
    /// An operation of a group was joined or completed.
    pub joins: bool,
    /// Something began that a later call completes.
    pub begins: bool,
    /// Something was completed that an earlier call began.
    pub completes: bool,
}

/// Messages of one kind between two ranks, seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The other rank.
    pub peer: u32,
    /// The communicator.
    pub communicator: u32,
    /// The class of the tag.
    pub tag: i32,
    /// Where they were sent, or their receives completed.
    pub node: usize,
    /// The first of them, in the order of sending or of posting.
    pub first: u64,
    /// How many.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// The meetings of a group that a rank took part in at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attendance {
    /// The group.
    pub group: Group,
    /// The node.
    pub node: usize,
    /// The number of the first meeting.
    pub first: u64,
    /// The number of the last meeting.
    pub last: u64,
}

impl Visit {
    /// What another thread or rank did at the same node as well.
    pub fn merge(&mut self, other: &Visit) {
        if other.calls.count == 0 {
            return;
        }
        self.first_ns = if self.calls.count == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
        self.last_ns = if self.calls.count == 0 { other.last_ns } else { self.last_ns.max(other.last_ns) };
        self.calls.merge(&other.calls);
        self.in_vain += other.in_vain;
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.nobody += other.nobody;
        self.outcome.merge(other.outcome);
    }
}

impl Outcome {
    /// What came of other calls as well.
    pub fn merge(&mut self, other: Outcome) {
        self.sends |= other.sends;
        self.receives |= other.receives;
        self.joins |= other.joins;
        self.begins |= other.begins;
        self.completes |= other.completes;
    }

    fn of(deed: &Deed) -> Outcome {
        let none = Outcome::default();
        match deed {
            Deed::Send { request, .. } => Outcome { sends: true, begins: request.is_some(), ..none },
            Deed::Sent { .. } => Outcome { sends: true, completes: true, ..none },
            Deed::Post { .. } => Outcome { receives: true, begins: true, ..none },
            Deed::Receive { request, .. } => Outcome { receives: true, completes: request.is_some(), ..none },
            Deed::Cancel { .. } => Outcome { completes: true, ..none },
            Deed::Join { request, .. } => Outcome { joins: true, begins: request.is_some(), ..none },
            Deed::Joined { .. } => Outcome { joins: true, completes: true, ..none },
        }
    }
}

/// Goes along with a rank.
pub struct Walker<'a> {
    places: &'a Places,
    keys: Keys,
    follower: Follower,
    threads: HashMap<u16, ThreadWalk>,
    /// Where the requests under way began.
    begun: HashMap<RequestId, usize>,
    sent: HashMap<(usize, Message), Stream>,
    received: HashMap<(usize, Message), Stream>,
    attended: HashMap<(Group, usize), Attendance>,
    completed: HashMap<(usize, usize), u64>,
    calls: u64,
}

impl<'a> Walker<'a> {
    /// Someone who has not gone a step yet.
    pub fn new(places: &'a Places) -> Walker<'a> {
        Walker {
            places,
            keys: Keys::default(),
            follower: Follower::default(),
            threads: HashMap::new(),
            begun: HashMap::new(),
            sent: HashMap::new(),
            received: HashMap::new(),
            attended: HashMap::new(),
            completed: HashMap::new(),
            calls: 0,
        }
    }

    /// The way of one rank of a recording, and the nodes it numbers.
    pub fn walk(recording: &Recording, rank: u32, places: &'a Places) -> Result<(RankWalk, Vec<Key>), Error> {
        let mut walker = Walker::new(places);
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            walker.step(&call);
        }
        Ok(walker.done(rank))
    }

    /// The next call of the rank.
    pub fn step(&mut self, call: &Call) {
        let thread = self.threads.entry(call.thread).or_insert_with(|| ThreadWalk { thread: call.thread, ..ThreadWalk::default() });
        // A record that carries on with the requests of the call before it is no call of its own.
        let node = match thread.at {
            Some((before, _)) if call.shape.parts & part::CONTINUED != 0 => before,
            _ => {
                let node = self.keys.number(Key { operation: call.shape.operation, site: self.places.of_site(call.shape.site) });
                thread.arrive(node, call);
                node
            }
        };
        let visit = &mut thread.visits[node];
        for deed in self.follower.follow(call) {
            visit.outcome.merge(Outcome::of(deed));
            match *deed {
                Deed::Send { message, request, .. } => {
                    request.map(|request| self.begun.insert(request, node));
                    count(&mut self.sent, node, message, self.calls);
                }
                Deed::Post { request } => _ = self.begun.insert(request, node),
                Deed::Receive { message, request, since } => {
                    count(&mut self.received, node, message, since);
                    request.map(|request| complete(&mut self.begun, &mut self.completed, request, node));
                }
                Deed::Sent { request, .. } | Deed::Joined { request, .. } | Deed::Cancel { request } => {
                    complete(&mut self.begun, &mut self.completed, request, node);
                }
                Deed::Join { meeting, request, .. } => {
                    request.map(|request| self.begun.insert(request, node));
                    let new = Attendance { group: meeting.group, node, first: meeting.number, last: meeting.number };
                    self.attended.entry((meeting.group, node)).or_insert(new).last = meeting.number;
                }
            }
        }
        self.calls += 1;
    }

    /// All of it, in an order that does not depend on chance; and the nodes it numbers.
    pub fn done(self, rank: u32) -> (RankWalk, Vec<Key>) {
        let mut threads: Vec<ThreadWalk> = self.threads.into_values().collect();
        threads.sort_by_key(|thread| thread.thread);
        let (sent, received) = (self.sent.into_values().collect(), self.received.into_values().collect());
        let attended = self.attended.into_values().collect();
        (RankWalk { rank, threads, sent, received, attended, completed: self.completed }, self.keys.list)
    }
}

impl ThreadWalk {
    /// The next call, at this node.
    fn arrive(&mut self, node: usize, call: &Call) {
        match self.at {
            Some((before, left)) => self.segments.entry((before, node)).or_default().add(span(left, call.enter)),
            None => self.first = node,
        }
        self.at = Some((node, call.leave));
        if self.visits.len() <= node {
            self.visits.resize_with(node + 1, Visit::default);
        }
        let visit = &mut self.visits[node];
        if visit.calls.count == 0 {
            visit.first_ns = call.enter;
        }
        visit.last_ns = call.leave;
        visit.calls.add(span(call.enter, call.leave));
        visit.in_vain += u64::from(call.shape.parts & part::FOUND_NOTHING != 0);
        visit.nobody += u64::from(partner_is_nobody(call.shape));
        visit.sent = visit.sent.saturating_add(call.shape.bytes_sent());
        visit.received = visit.received.saturating_add(call.shape.bytes_received());
    }

    /// The nodes it came by, and what it did there.
    pub fn visited(&self) -> impl Iterator<Item = (usize, &Visit)> {
        self.visits.iter().enumerate().filter(|(_, visit)| visit.calls.count > 0)
    }

    /// Gives the nodes other numbers.
    pub fn renumber(&mut self, number: &[usize]) {
        self.first = number[self.first];
        let size = self.visited().map(|(node, _)| number[node] + 1).max().unwrap_or(0);
        let mut visits = vec![Visit::default(); size];
        for (node, visit) in std::mem::take(&mut self.visits).into_iter().enumerate().filter(|(_, visit)| visit.calls.count > 0) {
            visits[number[node]] = visit;
        }
        self.visits = visits;
        self.segments =
            std::mem::take(&mut self.segments).into_iter().map(|((from, to), times)| ((number[from], number[to]), times)).collect();
    }
}

impl RankWalk {
    /// Gives the nodes other numbers.
    pub fn renumber(&mut self, number: &[usize]) {
        self.threads.iter_mut().for_each(|thread| thread.renumber(number));
        self.sent.iter_mut().chain(&mut self.received).for_each(|stream| stream.node = number[stream.node]);
        self.attended.iter_mut().for_each(|attendance| attendance.node = number[attendance.node]);
        self.completed =
            std::mem::take(&mut self.completed).into_iter().map(|((from, to), count)| ((number[from], number[to]), count)).collect();
    }
}

/// One more message at a node.
fn count(streams: &mut HashMap<(usize, Message), Stream>, node: usize, message: Message, first: u64) {
    let Ok(peer) = u32::try_from(message.peer) else { return };
    let tag = message.tag.rem_euclid(TAG_CLASSES);
    let kind = Message { tag, bytes: 0, ..message };
    let new = Stream { peer, communicator: message.communicator, tag, node, first, messages: 0, bytes: 0 };
    let stream = streams.entry((node, kind)).or_insert(new);
    stream.messages += 1;
    stream.bytes = stream.bytes.saturating_add(if message.bytes == raw::UNKNOWN_BYTES { 0 } else { message.bytes });
}

/// Whatever the request is for ends at this node.
fn complete(begun: &mut HashMap<RequestId, usize>, completed: &mut HashMap<(usize, usize), u64>, request: RequestId, node: usize) {
    if let Some(beginning) = begun.remove(&request) {
        *completed.entry((beginning, node)).or_default() += 1;
    }
}

fn partner_is_nobody(shape: &Shape) -> bool {
    match shape.operation.role() {
        Does::Send | Does::Receive => shape.peer == raw::PROC_NULL,
        Does::SendReceive => shape.peer == raw::PROC_NULL || shape.source == raw::PROC_NULL,
        _ => false,
    }
}

/// Nanoseconds between two moments; none where calls lie inside each other.
fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
