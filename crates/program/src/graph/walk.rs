//! The way of one rank through the program: which operations it came by, what it computed in between, whom it met.
//!
//! The calls go by one at a time and only sums are kept, so what stays in memory depends on the program and not on how long it ran.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sintonia_mpi::Role as Does;
use sintonia_recording::deed::{Deed, Follower, Group, Message};
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{Call, RequestId, Shape};
use sintonia_recording::{Error, Recording};

use super::Times;
use super::context::Piece;
use super::ground::{Ground, Position};
use super::places::Numbers;

/// Programs that count their tags up would need memory for each of them; what matters is that small tags stay apart.
const TAG_CLASSES: i32 = 64;

/// What one rank did, in sums.
#[derive(Default, Serialize, Deserialize)]
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
#[derive(Default, Serialize, Deserialize)]
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
    /// How far it is.
    pub here: Position,
}

/// The calls of one thread or role at one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A node as its rank knows it: before it is known which parts of the program its pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LocalNode {
    /// The thread.
    pub thread: u16,
    /// The piece of its way.
    pub piece: usize,
    /// The spot, by number.
    pub spot: usize,
}

/// Goes along with a rank.
pub struct Walker<'a> {
    ground: &'a Ground,
    nodes: Numbers<LocalNode>,
    follower: Follower,
    threads: HashMap<u16, ThreadWalk>,
    exchanges: Exchanges,
}

impl<'a> Walker<'a> {
    /// Someone who has not gone a step yet, in this world.
    pub fn new(ground: &'a Ground, world: u32) -> Walker<'a> {
        Walker {
            ground,
            nodes: Numbers::default(),
            follower: Follower::in_world(world),
            threads: HashMap::new(),
            exchanges: Exchanges::default(),
        }
    }

    /// The way of one rank of a recording, and the nodes it numbers.
    pub fn walk(recording: &Recording, rank: u32, ground: &'a Ground) -> Result<(RankWalk, Vec<LocalNode>), Error> {
        let mut walker = Walker::new(ground, recording.world(rank));
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            walker.step(&call);
        }
        Ok(walker.done(rank))
    }

    /// The next call of the rank.
    pub fn step(&mut self, call: &Call) {
        let Some(spot) = self.ground.spot(call) else { return };
        let thread = self.threads.entry(call.thread).or_insert_with(|| ThreadWalk { thread: call.thread, ..ThreadWalk::default() });
        let node = self.nodes.number(thread.local_node(spot, self.ground));
        thread.arrive(node, call);
        let visit = &mut thread.visits[node];
        for deed in self.follower.follow(call) {
            visit.outcome.merge(Outcome::of(deed));
            self.exchanges.note(deed, node);
        }
        if call.shape.operation.role() == Does::RequestFree {
            call.listed().for_each(|(request, _)| _ = self.exchanges.begun.remove(&request));
        }
        self.exchanges.calls += 1;
    }

    /// All of it, in an order that does not depend on chance; and the nodes it numbers.
    pub fn done(self, rank: u32) -> (RankWalk, Vec<LocalNode>) {
        let Exchanges { sent, received, attended, completed, .. } = self.exchanges;
        let mut threads: Vec<ThreadWalk> = self.threads.into_values().collect();
        threads.sort_by_key(|thread| thread.thread);
        let (sent, received) = (sent.into_values().collect(), received.into_values().collect());
        (RankWalk { rank, threads, sent, received, attended: attended.into_values().collect(), completed }, self.nodes.list)
    }
}

/// What a rank exchanged with others, by node.
#[derive(Default)]
struct Exchanges {
    /// How many calls lie behind.
    calls: u64,
    /// Where the requests under way began.
    begun: HashMap<RequestId, usize>,
    sent: HashMap<(usize, Message), Stream>,
    received: HashMap<(usize, Message), Stream>,
    attended: HashMap<(Group, usize), Attendance>,
    completed: HashMap<(usize, usize), u64>,
}

impl Exchanges {
    fn note(&mut self, deed: &Deed, node: usize) {
        match *deed {
            Deed::Send { message, request, .. } => {
                count(&mut self.sent, node, message, self.calls);
                self.begin(request, node);
            }
            Deed::Post { request } => self.begin(Some(request), node),
            Deed::Receive { message, request, since } => {
                count(&mut self.received, node, message, since);
                self.complete(request, node);
            }
            Deed::Sent { request, .. } | Deed::Joined { request, .. } | Deed::Cancel { request } => self.complete(Some(request), node),
            Deed::Join { meeting, request, .. } => {
                let new = Attendance { group: meeting.group, node, first: meeting.number, last: meeting.number };
                self.attended.entry((meeting.group, node)).or_insert(new).last = meeting.number;
                self.begin(request, node);
            }
        }
    }

    fn begin(&mut self, request: Option<RequestId>, node: usize) {
        if let Some(request) = request {
            self.begun.insert(request, node);
        }
    }

    fn complete(&mut self, request: Option<RequestId>, node: usize) {
        if let Some(beginning) = request.and_then(|request| self.begun.remove(&request)) {
            *self.completed.entry((beginning, node)).or_default() += 1;
        }
    }
}

impl ThreadWalk {
    /// The node of a call at this spot.
    fn local_node(&mut self, spot: usize, ground: &Ground) -> LocalNode {
        self.here.advance(spot, ground);
        LocalNode { thread: self.thread, piece: self.here.piece, spot }
    }

    /// The pieces of its way, given the nodes as its rank knows them.
    pub fn pieces(&self, nodes: &[LocalNode]) -> Vec<Piece> {
        let mut pieces = vec![Piece::default(); self.here.piece + 1];
        for (node, visit) in self.visited() {
            pieces[nodes[node].piece].spots.insert(nodes[node].spot, visit.calls.count);
        }
        for (from, to) in self.segments.keys().map(|(from, to)| (nodes[*from], nodes[*to])).filter(|(from, to)| from.piece == to.piece) {
            pieces[from.piece].steps.insert((from.spot, to.spot));
        }
        pieces
    }

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

    /// Nanoseconds from its first call to its last.
    pub fn span_ns(&self) -> u64 {
        let first = self.visited().map(|(_, visit)| visit.first_ns).min();
        let last = self.visited().map(|(_, visit)| visit.last_ns).max();
        first.zip(last).map_or(0, |(first, last)| span(first, last))
    }

    /// The nodes it came by, and what it did there.
    pub fn visited(&self) -> impl Iterator<Item = (usize, &Visit)> {
        self.visits.iter().enumerate().filter(|(_, visit)| visit.calls.count > 0)
    }

    /// Gives the nodes other numbers; several may become one.
    pub fn renumber(&mut self, number: &[usize]) {
        self.first = number[self.first];
        let size = self.visited().map(|(node, _)| number[node] + 1).max().unwrap_or(0);
        let mut visits = vec![Visit::default(); size];
        self.visited().for_each(|(node, visit)| visits[number[node]].merge(visit));
        self.visits = visits;
        let mut segments: HashMap<(usize, usize), Times> = HashMap::new();
        for ((from, to), times) in &self.segments {
            segments.entry((number[*from], number[*to])).or_default().merge(times);
        }
        self.segments = segments;
    }
}

impl RankWalk {
    /// Gives the nodes other numbers; several may become one.
    pub fn renumber(&mut self, number: &[usize]) {
        self.threads.iter_mut().for_each(|thread| thread.renumber(number));
        self.sent.iter_mut().chain(&mut self.received).for_each(|stream| stream.node = number[stream.node]);
        let mut attended: HashMap<(Group, usize), Attendance> = HashMap::new();
        for one in std::mem::take(&mut self.attended) {
            let node = number[one.node];
            let sum = attended.entry((one.group, node)).or_insert(Attendance { node, ..one });
            (sum.first, sum.last) = (sum.first.min(one.first), sum.last.max(one.last));
        }
        self.attended = attended.into_values().collect();
        let mut completed: HashMap<(usize, usize), u64> = HashMap::new();
        for ((from, to), count) in &self.completed {
            *completed.entry((number[*from], number[*to])).or_default() += count;
        }
        self.completed = completed;
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
    stream.bytes = stream.bytes.saturating_add(raw::known_bytes(message.bytes));
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

#[cfg(test)]
mod tests {
    use super::super::ground::Steps;
    use super::super::places::Places;
    use super::*;
    use crate::sample::{Sample, completed, shape, table};
    use sintonia_recording::header::Header;
    use sintonia_recording::raw::RequestRef;
    use sintonia_recording::table::CallTable;

    /// The way through the calls of a table, each at the call site of its operation.
    fn walk(calls: Vec<Sample>) -> (RankWalk, Vec<LocalNode>) {
        let mut table: CallTable = table(0, calls);
        table.shapes.iter_mut().for_each(|shape| shape.site = u32::from(shape.operation.0));
        let ground = Ground::of(&Header::default(), vec![Steps::of_calls(table.calls(), &Places::default())]);
        let mut walker = Walker::new(&ground, 0);
        table.calls().for_each(|call| walker.step(&call));
        walker.done(3)
    }

    #[test]
    fn what_lies_between_two_calls_is_a_segment() {
        let (walk, nodes) =
            walk(vec![shape("MPI_Init"), shape("MPI_Barrier"), shape("MPI_Barrier"), shape("MPI_Barrier"), shape("MPI_Finalize")]);
        let thread = &walk.threads[0];
        assert_eq!(thread.visited().map(|(_, visit)| visit.calls.count).collect::<Vec<_>>(), [1, 3, 1]);
        let mut counts: Vec<_> = thread.segments.iter().map(|(ends, times)| (*ends, times.count)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [((0, 1), 1), ((1, 1), 2), ((1, 2), 1)]);
        assert_eq!(nodes.len(), 3);
    }

    #[test]
    fn a_receive_is_counted_where_it_completes_and_remembers_where_it_began() {
        let (walk, _) = walk(vec![
            shape("MPI_Irecv").on(0).peer(1).mark(part::REQUEST),
            shape("MPI_Waitall").requests(vec![completed(RequestRef::Ago(0), 1, 64)]),
            shape("MPI_Send").on(0).peer(2).sent(5),
        ]);
        let streams = |streams: &[Stream]| streams.iter().map(|s| (s.peer, s.node, s.messages, s.bytes)).collect::<Vec<_>>();
        assert_eq!((streams(&walk.received), streams(&walk.sent)), (vec![(1, 1, 1, 64)], vec![(2, 2, 1, 5)]));
        assert_eq!(walk.completed, HashMap::from([((0, 1), 1)]));
        assert_eq!(walk.threads[0].visits[1].outcome, Outcome { receives: true, completes: true, ..Outcome::default() });
    }

    #[test]
    fn tags_that_count_on_need_no_more_memory() {
        let mut streams = HashMap::new();
        for tag in 0..1000 {
            count(&mut streams, 7, Message { peer: 1, communicator: 0, tag, bytes: 3 }, tag as u64);
        }
        let (messages, bytes) = streams.values().fold((0, 0), |sum, stream| (sum.0 + stream.messages, sum.1 + stream.bytes));
        assert_eq!((streams.len(), messages, bytes), (TAG_CLASSES as usize, 1000, 3000));
    }

    #[test]
    fn partners_that_are_nobody_are_counted() {
        let (walk, _) =
            walk(vec![shape("MPI_Sendrecv").on(0).peer(1).source(raw::PROC_NULL), shape("MPI_Sendrecv").on(0).peer(1).source(2)]);
        assert_eq!(walk.threads[0].visits[0].nobody, 1);
    }
}
