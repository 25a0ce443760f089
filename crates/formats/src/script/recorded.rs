//! A recorded rank as steps.
//!
//! A trace names the sender of a message where its receive begins; a recording shows it where the receive completes. So what follows a
//! receive is held back until that is known. Everything else is written as it comes, a call at a time.

use std::collections::{BTreeSet, HashMap};
use std::io;

use sintonia_mpi::Role;
use sintonia_recording::Recording;
use sintonia_recording::deed::{Deed, Message, Purpose};
use sintonia_recording::raw::{known_bytes, part};
use sintonia_recording::table::RequestId;

use super::held::Held;
use super::woven::Woven;
use super::{End, Envelope, LeftOut, Pattern, Step};
use crate::goal::group::{Groups, Joined, Untold, Way};
use crate::goal::tag;
use crate::rows::Row;

/// Looking again after no longer than this is waiting, not work.
const LOOKS_AGAIN_NS: i64 = 2000;

/// Messages of operations of groups have tags from here on, where programs have none.
const GROUP_TAG: i32 = 1 << 30;

const NS_PER_S: f64 = 1e9;

/// What a format has words for.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary {
    /// More than one thread of a rank.
    pub threads: bool,
    /// Other communicators than that of all ranks.
    pub communicators: bool,
    /// Sends that wait for their receive to begin, whatever their size.
    pub synchronous: bool,
    /// Waiting for a nonblocking send.
    pub waits_for_sends: bool,
    /// Waiting for all messages that nobody has waited for yet.
    pub waits_for_all: bool,
}

/// How far a thread is.
struct Thread {
    /// When its last call ended.
    leave: i64,
    /// Nanoseconds of computation that no step stands for yet.
    computed: i64,
    /// Whether its last call only looked whether something had happened.
    polled: bool,
}

/// Turns the calls of one rank into steps, and hands them to `out` with the number of the thread.
pub(crate) struct Recorded<'a, F> {
    out: F,
    vocabulary: Vocabulary,
    left_out: &'a mut BTreeSet<LeftOut>,
    recording: &'a Recording,
    groups: Groups<'a>,
    threads: HashMap<u16, Thread>,
    /// When the rank began to do anything.
    start: Option<i64>,
    ended: bool,
    /// The calls of several threads that are to be one.
    woven: Option<Woven<'a>>,
    held: Held,
    /// Sends that nobody has waited for yet.
    sends: HashMap<RequestId, Envelope>,
    /// What the present call waits for.
    waits: Vec<Step>,
    /// Nonblocking operations of groups: they are written where they are completed.
    begun: Vec<(RequestId, Joined)>,
    /// Bytes that persistent collectives send and receive each time they are started.
    prepared: HashMap<RequestId, (u64, u64)>,
}

impl<'a, F: FnMut(u16, &Step) -> io::Result<()>> Recorded<'a, F> {
    /// The steps of this rank.
    pub fn of(recording: &'a Recording, rank: u32, vocabulary: Vocabulary, left_out: &'a mut BTreeSet<LeftOut>, out: F) -> Recorded<'a, F> {
        Recorded {
            out,
            vocabulary,
            left_out,
            recording,
            groups: Groups::of(recording, rank),
            threads: HashMap::new(),
            start: None,
            ended: false,
            // A rank that cannot be read has none, and its calls say why.
            woven: (!vocabulary.threads && recording.threads(rank).is_ok_and(|threads| threads.len() > 1)).then(Woven::default),
            held: Held::default(),
            sends: HashMap::new(),
            waits: Vec::new(),
            begun: Vec::new(),
            prepared: HashMap::new(),
        }
    }

    /// The next call.
    pub fn call(&mut self, row: &Row<'a>) -> io::Result<()> {
        let Some(woven) = &mut self.woven else { return self.follow(row) };
        woven.add(row);
        while let Some(row) = self.woven.as_mut().and_then(Woven::due) {
            self.follow(&row)?;
        }
        Ok(())
    }

    /// What a call did.
    fn follow(&mut self, row: &Row) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        let thread = if self.vocabulary.threads { row.thread } else { 0 };
        if thread != row.thread {
            self.left_out.insert(LeftOut::Threads);
        }
        self.compute(thread, row);
        match row.operation.role() {
            Role::Finalize => self.ended = true,
            Role::Put | Role::Get | Role::Exchange => _ = self.left_out.insert(LeftOut::OneSided),
            Role::RequestFree => row.listed.iter().for_each(|(request, _)| self.forget(*request)),
            Role::Collective(_) if row.deeds.is_empty() => self.prepare(row),
            _ => {}
        }
        // Whoever sends in the same call must not wait for its own receive first.
        let sends_too = row.deeds.iter().any(|deed| matches!(deed, Deed::Send { .. }));
        for deed in &row.deeds {
            self.deed(thread, row, deed, sends_too);
        }
        self.wait(thread);
        self.write()
    }

    /// Writes what is left when there are no more calls.
    pub fn finish(&mut self) -> io::Result<()> {
        while let Some(row) = self.woven.as_mut().and_then(Woven::next) {
            self.follow(&row)?;
        }
        self.join_begun(0, |_| true);
        let mut threads: Vec<u16> = self.threads.keys().copied().collect();
        threads.sort_unstable();
        threads.into_iter().for_each(|thread| self.flush(thread));
        self.held.give_up_all();
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        while let Some((thread, step)) = self.held.pop() {
            (self.out)(thread, &step)?;
        }
        Ok(())
    }

    /// Counts what was computed before a call, and in it if it does nothing to others.
    fn compute(&mut self, number: u16, row: &Row) {
        let role = row.operation.role();
        let start = *self.start.get_or_insert(if role == Role::Init { row.leave } else { row.enter });
        let thread = self.threads.entry(number).or_insert(Thread { leave: start, computed: 0, polled: false });
        let (gap, took) = (row.enter.saturating_sub(thread.leave), row.leave.saturating_sub(row.enter.max(thread.leave)));
        if !thread.polled || gap > LOOKS_AGAIN_NS.max(took) {
            thread.computed = thread.computed.saturating_add(gap.max(0));
        }
        thread.polled = row.has(part::FOUND_NOTHING);
        if row.deeds.is_empty() && !thread.polled && is_work(role) {
            thread.computed = thread.computed.saturating_add(took.max(0));
        }
        thread.leave = thread.leave.max(row.leave);
        if role == Role::Init {
            thread.computed = 0;
        }
    }

    /// Remembers the bytes of a persistent collective, which the calls that start it do not say.
    fn prepare(&mut self, row: &Row) {
        let request = row.request.map(|number| RequestId { thread: row.thread, number });
        self.prepared.extend(request.map(|request| (request, bytes(row))));
    }

    /// A request that nobody completes.
    fn forget(&mut self, request: RequestId) {
        self.held.give_up(request);
        self.sends.remove(&request);
        self.prepared.remove(&request);
    }

    fn deed(&mut self, thread: u16, row: &Row, deed: &Deed, sends_too: bool) {
        match *deed {
            Deed::Send { message, request, synchronous } => {
                let Some(to) = self.envelope(message) else { return };
                if synchronous && !self.vocabulary.synchronous {
                    self.left_out.insert(LeftOut::Synchronous);
                }
                let synchronous = synchronous && self.vocabulary.synchronous;
                let later = if self.vocabulary.waits_for_sends { End::Later } else { End::Nowhere };
                let end = request.map_or(End::Here, |_| later);
                self.sends.extend(request.map(|request| (request, to)));
                self.step(thread, Step::Send { to, bytes: known_bytes(message.bytes), synchronous, end });
            }
            Deed::Sent { request, .. } => {
                if let Some(message) = self.sends.remove(&request) {
                    match self.vocabulary.waits_for_sends {
                        true => self.waits.push(Step::Wait { sent: true, message }),
                        false => _ = self.left_out.insert(LeftOut::WaitsForSends),
                    }
                }
            }
            Deed::Post { request } => {
                self.flush(thread);
                self.held.begin(thread, request);
            }
            Deed::Receive { message, request, .. } => self.receive(thread, message, request, sends_too),
            Deed::Cancel { request } => self.held.give_up(request),
            Deed::Join { purpose: Purpose::Init | Purpose::Finalize, .. } => {}
            Deed::Join { meeting, purpose, root, request } => {
                let prepared = request.and_then(|request| self.prepared.get(&request).copied());
                let (sent, received) = prepared.unwrap_or(bytes(row));
                let joined = Joined { meeting, purpose, root, sent, received };
                match request {
                    Some(request) => self.begun.push((request, joined)),
                    None => {
                        self.join_begun(thread, |begun| begun.meeting.group == meeting.group);
                        self.join(thread, &joined);
                    }
                }
            }
            Deed::Joined { request, .. } => {
                let meeting = self.begun.iter().find(|(begun, _)| *begun == request).map(|(_, joined)| joined.meeting);
                if let Some(meeting) = meeting {
                    self.left_out.insert(LeftOut::Later);
                    self.join_begun(thread, |begun| begun.meeting.group == meeting.group && begun.meeting.number <= meeting.number);
                }
            }
        }
    }

    fn receive(&mut self, thread: u16, message: Message, request: Option<RequestId>, sends_too: bool) {
        let Some(from) = self.envelope(message) else {
            request.into_iter().for_each(|request| self.held.give_up(request));
            return;
        };
        let receive = |end| Step::Receive { from, bytes: known_bytes(message.bytes), end };
        let begun = request.is_some_and(|request| self.held.settle(request, receive(End::Later)));
        if !begun {
            self.step(thread, receive(if sends_too { End::Later } else { End::Here }));
        }
        if begun || sends_too {
            self.waits.push(Step::Wait { sent: false, message: from });
        }
    }

    /// Waits for what the present call completes.
    fn wait(&mut self, thread: u16) {
        let waits = std::mem::take(&mut self.waits);
        let all = self.vocabulary.waits_for_all && waits.len() > 1 && self.sends.is_empty() && !self.held.has_open();
        match all {
            true => self.step(thread, Step::WaitAll { sent: true }),
            false => waits.into_iter().for_each(|wait| self.step(thread, wait)),
        }
    }

    /// Writes the operations of groups that have begun and are meant.
    fn join_begun(&mut self, thread: u16, is_meant: impl Fn(&Joined) -> bool) {
        let (meant, others) = std::mem::take(&mut self.begun).into_iter().partition(|(_, joined)| is_meant(joined));
        self.begun = others;
        let meant: Vec<(RequestId, Joined)> = meant;
        meant.iter().for_each(|(_, joined)| self.join(thread, joined));
    }

    fn join(&mut self, thread: u16, joined: &Joined) {
        let Some(communicator) = self.groups.communicator(joined) else { return };
        let members = self.recording.members(communicator);
        let of_all = members.len() as u32 == self.recording.header.rank_count();
        let pattern = match joined.purpose {
            Purpose::Collective(pattern) => pattern,
            _ => Pattern::Barrier,
        };
        if pattern == Pattern::Barrier && joined.purpose != Purpose::Collective(pattern) {
            self.left_out.insert(LeftOut::Gatherings);
        }
        if pattern.is_among_neighbours() || !(of_all || self.vocabulary.communicators) || !self.recording.remote(communicator).is_empty() {
            return self.join_by_messages(thread, communicator, joined);
        }
        if members.len() > 1 {
            let root = u32::try_from(joined.root).ok();
            let (sent, received) = (joined.sent, joined.received);
            self.step(thread, Step::Collective { pattern, communicator, root, sent, received });
        }
    }

    fn join_by_messages(&mut self, thread: u16, communicator: u32, joined: &Joined) {
        let rounds = self.groups.rounds(communicator, joined).unwrap_or_else(|untold| {
            self.left_out.insert(match untold {
                Untold::Neighbourhood => LeftOut::Neighbourhood,
                Untold::BetweenGroups => LeftOut::BetweenGroups,
            });
            Vec::new()
        });
        if !rounds.is_empty() {
            let neighbours = matches!(joined.purpose, Purpose::Collective(pattern) if pattern.is_among_neighbours());
            self.left_out.insert(if neighbours { LeftOut::Neighbours } else { LeftOut::Groups });
        }
        let tag = GROUP_TAG | (communicator as i32 & (GROUP_TAG - 1));
        for round in rounds {
            self.round(thread, communicator, tag, &round);
        }
    }

    fn round(&mut self, thread: u16, communicator: u32, tag: i32, round: &[(Way, u64)]) {
        let communicator = if self.vocabulary.communicators { communicator } else { 0 };
        let later = if self.vocabulary.waits_for_sends { End::Later } else { End::Nowhere };
        for (way, bytes) in round.iter().copied() {
            self.step(
                thread,
                match way {
                    Way::To(peer) => Step::Send { to: Envelope { peer, tag, communicator }, bytes, synchronous: false, end: later },
                    Way::From(peer) => Step::Receive { from: Envelope { peer, tag, communicator }, bytes, end: End::Later },
                },
            );
        }
        for (way, _) in round {
            match *way {
                Way::To(_) if later == End::Nowhere => {}
                Way::To(peer) => self.step(thread, Step::Wait { sent: true, message: Envelope { peer, tag, communicator } }),
                Way::From(peer) => self.step(thread, Step::Wait { sent: false, message: Envelope { peer, tag, communicator } }),
            }
        }
    }

    /// Adds a step after what was computed before it.
    fn step(&mut self, thread: u16, step: Step) {
        self.flush(thread);
        self.held.push(thread, step);
    }

    fn flush(&mut self, number: u16) {
        let computed = self.threads.get_mut(&number).map_or(0, |thread| std::mem::take(&mut thread.computed));
        if computed > 0 {
            self.held.push(number, Step::Compute { seconds: computed as f64 / NS_PER_S });
        }
    }

    /// What a message is matched by, if its other end is in the recording.
    fn envelope(&mut self, message: Message) -> Option<Envelope> {
        let Ok(peer) = u32::try_from(message.peer) else {
            self.left_out.insert(LeftOut::Outside);
            return None;
        };
        let Message { communicator, tag, .. } = message;
        if self.vocabulary.communicators {
            return Some(Envelope { peer, tag, communicator });
        }
        if !tag::fits(communicator, tag) {
            self.left_out.insert(LeftOut::Folded);
        }
        Some(Envelope { peer, tag: (tag::of_message(communicator, tag) & i32::MAX as u32) as i32, communicator: 0 })
    }
}

/// Bytes that a call sends and receives.
fn bytes(row: &Row) -> (u64, u64) {
    (row.bytes_sent.unwrap_or(0), row.bytes_received.unwrap_or(0))
}

/// Whether the time inside a call that does nothing to other ranks is the rank's own, and not spent waiting for others.
fn is_work(role: Role) -> bool {
    use Role::*;
    let waits = matches!(role, CompleteOne | CompleteAll | CompleteAny | CompleteSome | Probe | MatchedProbe | WindowSync);
    !waits && !matches!(role, Init | Finalize | Put | Get | Exchange)
}
