//! Goes through the calls of one process and notes what each did to others.

use std::collections::{HashMap, HashSet, VecDeque};

use sintonia_mpi::Role;
use sintonia_recording::Recording;
use sintonia_recording::deed::{Deed, Follower, Group, Message, Purpose};
use sintonia_recording::raw::{PROC_NULL, part};
use sintonia_recording::table::{Call, CallTable, RequestId, Shape};

use super::epochs::{Epochs, Here};
use super::{At, Joined, Line, NOWHERE, Received, Sent};

/// What a process did to others, before the others are asked.
pub struct Scan {
    /// Its threads; what they sent, received and joined has no other end yet.
    pub lines: Vec<Line>,
    /// What it sent, in order.
    pub letters: Vec<Letter>,
    /// What it received, in the order in which the receives began.
    pub receipts: Vec<Receipt>,
    /// The meetings it joined, by group and in order.
    pub joins: HashMap<Group, Vec<Join>>,
    /// Its epochs of one-sided communication.
    pub epochs: Epochs,
}

/// A message on its way to the receiver.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Letter {
    /// The call that sent it.
    pub sender: At,
    /// Its place among what that thread sent.
    pub place: u32,
    pub receiver: u32,
    pub communicator: u32,
    pub tag: i32,
    /// [`Letter::SYNCHRONOUS`] and [`Letter::PARTITIONED`].
    pub marks: u32,
    /// When the sending call was entered.
    pub enter: i64,
}

impl Letter {
    /// The send completes only when the receive has begun.
    pub const SYNCHRONOUS: u32 = 1;
    /// It was sent in partitions.
    pub const PARTITIONED: u32 = 2;
}

/// A message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    pub source: u32,
    pub communicator: u32,
    pub tag: i32,
    /// The call that had it matched, counted among all calls of the process: the one that began the receive, or a probe that took it.
    pub since: u64,
    /// The call that began it.
    pub posted: (u32, u32),
    /// The line that completed it, and the place among what that received.
    pub line: u32,
    pub place: u32,
    /// A probe that saw it before, in the same way.
    pub probe: Option<(u32, u32)>,
}

/// A part in a meeting.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    pub line: u32,
    /// The place among what that line joined; [`NOWHERE`] if the process has no part in it, beside the root between two groups.
    pub place: u32,
    pub purpose: Purpose,
    pub root: i32,
}

/// The calls of one process.
pub struct Process {
    /// Its rank.
    pub rank: u32,
    /// The calls of its threads.
    pub tables: Vec<CallTable>,
    /// See [`order`].
    pub order: Vec<(u32, u32)>,
}

impl Process {
    /// Puts the calls of a rank's threads in order.
    pub fn new(rank: u32, tables: Vec<CallTable>) -> Process {
        let order = order(&tables.iter().collect::<Vec<_>>());
        Process { rank, tables, order }
    }
}

/// Goes through the calls of one process.
pub fn scan(recording: &Recording, process: Process) -> Scan {
    let Process { rank, tables, order } = process;
    let mut scanner = Scanner { rank, order, ..Scanner::default() };
    scanner.lines = tables
        .iter()
        .map(|table| Line { rank, calls: CallTable { thread: table.thread, ..CallTable::default() }, ..Line::default() })
        .collect();
    let mut follower = Follower::in_world(recording.world(rank));
    let mut calls: Vec<_> = tables.iter().map(|table| table.calls().enumerate()).collect();
    let rows: usize = tables.iter().map(CallTable::len).sum();
    for call in 0..rows as u64 {
        let (line, _) = scanner.place(call);
        let Some((row, next)) = calls[line as usize].next() else { continue };
        match next.shape.operation.role() {
            Role::Probe | Role::MatchedProbe => scanner.probe(line, row as u32, call, next.shape),
            Role::PartitionReady => next.listed().for_each(|(request, _)| scanner.ready(line, row as u32, next.enter, request)),
            Role::WindowSync | Role::Put | Role::Get | Role::Exchange => {
                scanner.epochs.note(recording, &mut scanner.lines, Here { line, row: row as u32 }, &next);
            }
            _ => {}
        }
        for deed in follower.follow(&next) {
            scanner.note(line, row as u32, &next, deed);
        }
    }
    drop(calls);
    for (line, table) in scanner.lines.iter_mut().zip(tables) {
        line.calls = table;
    }
    scanner.receipts.sort_by_key(|receipt| receipt.since);
    if scanner.partitioned {
        scanner.order_by_row();
    }
    let Scanner { lines, letters, receipts, joins, epochs, .. } = scanner;
    Scan { lines, letters, receipts, joins, epochs }
}

/// Lines and rows in the order in which the calls ended; nothing where there is one thread, whose calls are in order.
pub fn order(tables: &[&CallTable]) -> Vec<(u32, u32)> {
    if tables.len() < 2 {
        return Vec::new();
    }
    let rows = |(line, table): (usize, &&CallTable)| (0..table.len() as u32).map(move |row| (line as u32, row)).collect::<Vec<_>>();
    let mut order: Vec<(u32, u32)> = tables.iter().enumerate().flat_map(rows).collect();
    order.sort_by_key(|(line, row)| (tables[*line as usize].leave[*row as usize], *line, *row));
    order
}

/// Where the send or the joining of a request stands.
#[derive(Clone, Copy)]
struct Open {
    line: u32,
    place: u32,
    /// The letter, of a send.
    letter: usize,
}

/// What messages have in common that are received in the order of sending: source, communicator and tag.
type Kind = (i32, u32, i32);

/// A message that a probe took: the call among all of the process, and the line and place of the probe.
type Taken = (u64, (u32, u32));

#[derive(Default)]
struct Scanner {
    rank: u32,
    order: Vec<(u32, u32)>,
    lines: Vec<Line>,
    letters: Vec<Letter>,
    receipts: Vec<Receipt>,
    joins: HashMap<Group, Vec<Join>>,
    epochs: Epochs,
    /// Requests under way.
    open: HashMap<RequestId, Open>,
    /// Whether anything was sent in partitions.
    partitioned: bool,
    /// Probes whose message has not been received yet: line and place.
    probes: HashMap<Kind, (u32, u32)>,
    /// Messages that probes took, so that nobody else can receive them.
    matched: HashMap<Kind, VecDeque<Taken>>,
    /// Receives under way of such messages.
    matched_requests: HashSet<RequestId>,
}

impl Scanner {
    /// The line and row of a call, counted among all calls of the process.
    fn place(&self, call: u64) -> (u32, u32) {
        if self.order.is_empty() { (0, call as u32) } else { self.order[call as usize] }
    }

    fn note(&mut self, line: u32, row: u32, call: &Call, deed: &Deed) {
        match *deed {
            Deed::Send { message, request, synchronous } => self.send(line, row, call.enter, message, request, synchronous),
            Deed::Sent { request, .. } => {
                if let Some(open) = self.open.remove(&request).filter(|open| open.line == line) {
                    self.lines[line as usize].sent[open.place as usize].done = row;
                }
            }
            Deed::Receive { message, request, since } => {
                let matched = request.map_or_else(|| receives_matched(call), |request| self.matched_requests.remove(&request));
                self.receive(line, row, message, since, matched);
            }
            Deed::Join { meeting, purpose, root: PROC_NULL, .. } => {
                let join = Join { line, place: NOWHERE, purpose, root: PROC_NULL };
                self.joins.entry(meeting.group).or_default().push(join);
            }
            Deed::Join { meeting, purpose, root, request } => {
                let joined = &mut self.lines[line as usize].joined;
                let place = joined.len() as u32;
                let done = if request.is_none() { row } else { NOWHERE };
                joined.push(Joined { row, done, meeting: NOWHERE, before: None });
                self.joins.entry(meeting.group).or_default().push(Join { line, place, purpose, root });
                if let Some(request) = request {
                    self.open.insert(request, Open { line, place, letter: usize::MAX });
                }
            }
            Deed::Joined { request, .. } => {
                if let Some(open) = self.open.remove(&request).filter(|open| open.line == line) {
                    self.lines[line as usize].joined[open.place as usize].done = row;
                }
            }
            Deed::Post { request } if receives_matched(call) => _ = self.matched_requests.insert(request),
            Deed::Post { .. } | Deed::Cancel { .. } => {}
        }
    }

    fn send(&mut self, line: u32, row: u32, enter: i64, message: Message, request: Option<RequestId>, synchronous: bool) {
        let Ok(receiver) = u32::try_from(message.peer) else { return };
        let sent = &mut self.lines[line as usize].sent;
        let place = sent.len() as u32;
        let done = if request.is_none() { row } else { NOWHERE };
        sent.push(Sent { row, done, synchronous, receiver: At::NOWHERE, posted: At::NOWHERE, posted_enter: 0 });
        if let Some(request) = request {
            self.open.insert(request, Open { line, place, letter: self.letters.len() });
        }
        let thread = self.lines[line as usize].calls.thread.into();
        let (communicator, tag) = (message.communicator, message.tag);
        let sender = At { rank: self.rank, thread, row };
        self.letters.push(Letter {
            sender,
            place,
            receiver,
            communicator,
            tag,
            marks: if synchronous { Letter::SYNCHRONOUS } else { 0 },
            enter,
        });
    }

    /// A message was received; one that a probe had taken is in order since then.
    fn receive(&mut self, line: u32, row: u32, message: Message, since: u64, matched: bool) {
        let Ok(source) = u32::try_from(message.peer) else { return };
        let posted = self.place(since);
        let posted_at = At { rank: self.rank, thread: self.lines[posted.0 as usize].calls.thread.into(), row: posted.1 };
        let place = self.lines[line as usize].received.len() as u32;
        self.lines[line as usize].received.push(unmatched(row, posted_at, true));
        let (communicator, tag) = (message.communicator, message.tag);
        let key = (message.peer, communicator, tag);
        let taken = if matched { self.matched.get_mut(&key).and_then(VecDeque::pop_front) } else { None };
        let (since, probe) = match taken {
            Some((since, probe)) => (since, Some(probe)),
            None => (since, self.probes.remove(&key)),
        };
        self.receipts.push(Receipt { source, communicator, tag, since, posted, line, place, probe });
    }

    /// A partition was made ready: the message leaves with the last of them.
    fn ready(&mut self, line: u32, row: u32, enter: i64, request: RequestId) {
        let Some(open) = self.open.get(&request).filter(|open| open.line == line) else { return };
        let Some(letter) = self.letters.get_mut(open.letter) else { return };
        (letter.sender.row, letter.enter) = (row, enter);
        letter.marks |= Letter::PARTITIONED;
        self.lines[line as usize].sent[open.place as usize].row = row;
        self.partitioned = true;
    }

    /// Orders what the lines sent by row again, after messages in partitions left later than they were begun.
    fn order_by_row(&mut self) {
        for line in &mut self.lines {
            let mut order: Vec<usize> = (0..line.sent.len()).collect();
            order.sort_by_key(|place| line.sent[*place].row);
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(new, old)| places[*old] = new as u32);
            line.sent = order.iter().map(|old| line.sent[*old]).collect();
            let thread = u32::from(line.calls.thread);
            let own = self.letters.iter_mut().filter(|letter| letter.sender.thread == thread);
            own.for_each(|letter| letter.place = places[letter.place as usize]);
        }
    }

    /// A probe that found a message; one more probe for the same message found nothing new, unless it took it.
    fn probe(&mut self, line: u32, row: u32, call: u64, shape: &Shape) {
        if shape.parts & (part::FOUND_NOTHING | part::ERROR | part::UNFINISHED) != 0 || shape.peer < 0 {
            return;
        }
        let place = self.lines[line as usize].received.len() as u32;
        let key = (shape.peer, shape.object, shape.tag);
        if shape.operation.role() == Role::MatchedProbe {
            self.matched.entry(key).or_default().push_back((call, (line, place)));
        } else if *self.probes.entry(key).or_insert((line, place)) != (line, place) {
            return;
        }
        let at = self.lines[line as usize].at(row);
        self.lines[line as usize].received.push(unmatched(row, at, false));
    }
}

/// Whether a call receives a message that a probe took.
fn receives_matched(call: &Call) -> bool {
    call.shape.operation.role() == Role::MatchedReceive
}

fn unmatched(row: u32, posted: At, taken: bool) -> Received {
    Received { row, posted, sender: At::NOWHERE, sender_place: NOWHERE, taken, synchronous: false, partitioned: false, send_enter: 0 }
}
