//! What one rank does, as records of a trace: states, events, and its ends of messages.

use std::collections::BTreeSet;

use sintonia_mpi::{Operation, Pattern, Role};
use sintonia_recording::Recording;
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::header::Rank;
use sintonia_recording::raw;
use sintonia_recording::table::{Call, RequestId, Shape};

use super::callers::Callers;
use super::events::{self, Group};
use super::layout::Layout;
use super::messages::{End, Own};
use super::sort::Collector;
use super::text;
use crate::Error;
use crate::requests::Requests;
use crate::timeline::Timeline;

/// Bytes of a [`Key`].
pub const KEY_BYTES: usize = 13;
/// Time, kind of record and rank: the order of a trace. Records of one rank that are equal in it stay in their order.
pub type Key = [u8; KEY_BYTES];

/// The kinds of records, as they are numbered in a trace.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A time in which a thread does one thing.
    State = 1,
    /// Something that happens at one moment.
    Event = 2,
    /// A message.
    Communication = 3,
}

/// The key of a record.
pub fn key(time: u64, kind: Kind, rank: u32) -> Key {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&time.to_be_bytes());
    key[8] = kind as u8;
    key[9..].copy_from_slice(&rank.to_be_bytes());
    key
}

/// What is needed to write down any rank.
pub struct Stage<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Where ranks stand.
    pub layout: &'a Layout,
    /// Where calls come from.
    pub callers: &'a Callers,
    /// The moments of the trace.
    pub timeline: Timeline,
}

/// What was found out about a rank while it was written down.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The rank.
    pub rank: u32,
    /// How many threads it has in the trace.
    pub threads: usize,
    /// When its last record ends.
    pub end: u64,
    /// The functions it called.
    pub operations: BTreeSet<Operation>,
    /// Messages to and from processes outside the recording.
    pub outside: u64,
}

/// Writes down one rank.
pub struct Writer<'a, 'b> {
    stage: &'a Stage<'a>,
    rank: &'a Rank,
    lines: Collector<'b, KEY_BYTES>,
    messages: Own<'b>,
    /// When the last call of each thread ended; `None` before its first.
    until: Vec<Option<u64>>,
    /// When the call ended that began each receive that is under way.
    posted: Requests<RequestId, u64>,
    line: Vec<u8>,
    seen: Seen,
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Begins with a rank.
    pub fn new(stage: &'a Stage<'a>, rank: &'a Rank, lines: Collector<'b, KEY_BYTES>, messages: Own<'b>) -> Writer<'a, 'b> {
        let seen = Seen { rank: rank.rank, threads: 1, ..Seen::default() };
        Writer { stage, rank, lines, messages, until: vec![None], posted: Requests::default(), line: Vec::new(), seen }
    }

    /// Writes down all its calls.
    pub fn write(mut self) -> Result<Seen, Error> {
        let (begin, end) = (self.stage.timeline.at(self.rank.begin_ns), self.stage.timeline.at(self.rank.end_ns));
        self.event(0, begin, &[events::APPLICATION, 1], &[])?;
        let mut calls = self.stage.recording.calls(self.rank.rank)?;
        let mut follower = Follower::in_world(self.stage.recording.world(self.rank.rank));
        let mut number = 0;
        while let Some(call) = calls.next_call() {
            let (enter, leave) = self.call(&call)?;
            self.deeds(&call, number, enter, leave, follower.follow(&call))?;
            number += 1;
        }
        let until = self.begun(0, begin)?;
        let end = end.max(until);
        self.state(0, until, end, events::RUNNING)?;
        self.event(0, end, &[events::APPLICATION, 0], &[])?;
        self.seen.threads = self.until.len();
        self.seen.end = self.until.iter().flatten().copied().fold(end, u64::max);
        self.lines.finish()?;
        self.messages.finish()?;
        Ok(self.seen)
    }

    /// A call: the computation before it, its state, its begin and its end.
    fn call(&mut self, call: &Call) -> Result<(u64, u64), Error> {
        let event = events::of(call.shape.operation);
        let thread = call.thread;
        if self.until.len() <= thread.into() {
            self.until.resize(usize::from(thread) + 1, None);
        }
        let until = self.begun(thread, self.stage.timeline.at(call.enter))?;
        // A thread does one thing after the other, whatever its clock says.
        let enter = self.stage.timeline.at(call.enter).max(until);
        let leave = self.stage.timeline.at(call.leave).max(enter);
        self.state(thread, until, enter, events::RUNNING)?;
        self.state(thread, enter, leave, event.state)?;
        let details = self.details(event, call.shape);
        self.event(thread, enter, &details, self.stage.callers.events(call.shape.site))?;
        self.event(thread, leave, &[event.group.event_type(), 0], &[])?;
        self.until[usize::from(thread)] = Some(leave);
        self.seen.operations.insert(call.shape.operation);
        Ok((enter, leave))
    }

    /// Until when a thread is written down; before its first call it does not exist, except that the first one is there from the begin.
    fn begun(&mut self, thread: u16, first: u64) -> Result<u64, Error> {
        if let Some(until) = self.until[usize::from(thread)] {
            return Ok(until);
        }
        let begin = if thread == 0 { first.min(self.stage.timeline.at(self.rank.begin_ns)) } else { first };
        self.state(thread, 0, begin, events::NOT_CREATED)?;
        self.until[usize::from(thread)] = Some(begin);
        Ok(begin)
    }

    /// The types and values of the event at the begin of a call.
    fn details(&self, event: events::Event, shape: &Shape) -> Vec<u64> {
        let bytes = || shape.bytes_sent().max(raw::known_bytes(shape.received));
        let mut details = vec![event.group.event_type(), event.value];
        match shape.operation.role() {
            _ if event.group == Group::Collective => self.collective(&mut details, shape),
            Role::Put | Role::Get | Role::Exchange => {
                details.extend([events::ONE_SIDED_BYTES, bytes()]);
                if let Ok(target) = u64::try_from(shape.peer) {
                    details.extend([events::ONE_SIDED_TARGET, target]);
                }
            }
            Role::FileRead | Role::FileWrite => details.extend([events::FILE_BYTES, bytes()]),
            Role::CommunicatorCreate | Role::CommunicatorFree => {
                let objects = [(events::COMMUNICATOR, shape.object), (events::COMMUNICATOR_MADE, shape.made)];
                let objects = objects.into_iter().filter(|(_, object)| *object != raw::NO_OBJECT);
                details.extend(objects.flat_map(|(event_type, object)| [event_type, u64::from(object) + 1]));
            }
            _ if event.group == Group::Messages && ![0, raw::NO_OBJECT].contains(&shape.object) => {
                details.extend([events::COMMUNICATOR, u64::from(shape.object) + 1]);
            }
            _ => {}
        }
        if shape.parts & raw::part::FOUND_NOTHING != 0 {
            details.extend([events::FOUND_NOTHING, 1]);
        }
        details
    }

    fn collective(&self, details: &mut Vec<u64>, shape: &Shape) {
        let is_root = shape.peer == raw::ROOT_HERE || u32::try_from(shape.peer) == Ok(self.rank.rank);
        let sent = self.sent(shape, is_root);
        details.extend([events::COLLECTIVE_SENT, sent, events::COLLECTIVE_RECEIVED, raw::known_bytes(shape.received)]);
        if shape.object != raw::NO_OBJECT {
            details.extend([events::COLLECTIVE_COMMUNICATOR, u64::from(shape.object) + 1]);
        }
        if is_root {
            details.extend([events::COLLECTIVE_ROOT, 1]);
        }
    }

    /// What Extrae would say that a process gives to a collective call: of an all-to-all one part, and nothing at the root of a reduction.
    fn sent(&self, shape: &Shape, is_root: bool) -> u64 {
        let between = !self.stage.recording.remote(shape.object).is_empty();
        match shape.operation.role() {
            Role::Collective(Pattern::Alltoall) => {
                let recording = self.stage.recording;
                let peers = if between { recording.remote(shape.object) } else { recording.members(shape.object) };
                shape.bytes_sent() / peers.len().max(1) as u64
            }
            Role::Collective(Pattern::Reduce) if is_root && !between => 0,
            _ => shape.bytes_sent(),
        }
    }

    /// The ends of messages that a call is.
    fn deeds(&mut self, call: &Call, number: u64, enter: u64, leave: u64, deeds: &[Deed]) -> Result<(), Error> {
        let thread = call.thread;
        for deed in deeds {
            match deed {
                Deed::Send { message, .. } | Deed::Receive { message, .. } if message.peer < 0 => self.seen.outside += 1,
                Deed::Send { message, .. } => {
                    // What a send-receive sends is on its way before it waits for what it receives.
                    let exchange = call.shape.operation.role() == Role::SendReceive;
                    let physical = if exchange { enter } else { leave };
                    self.messages.sent(message, number, End { thread, logical: enter, physical, bytes: message.bytes })?;
                }
                Deed::Receive { message, request, since } => {
                    let posted = request.and_then(|request| self.posted.remove(&request));
                    let end = End { thread, logical: posted.unwrap_or(enter), physical: leave, bytes: message.bytes };
                    self.messages.received(message, *since, end)?;
                }
                Deed::Post { request } => _ = self.posted.insert(*request, leave),
                Deed::Cancel { request } => _ = self.posted.remove(request),
                Deed::Sent { .. } | Deed::Join { .. } | Deed::Joined { .. } => {}
            }
        }
        if call.shape.operation.role() == Role::RequestFree {
            call.listed().for_each(|(request, _)| _ = self.posted.remove(&request));
        }
        Ok(())
    }

    fn state(&mut self, thread: u16, begin: u64, end: u64, state: u32) -> Result<(), Error> {
        if begin >= end {
            return Ok(());
        }
        state_line(&mut self.line, self.stage.layout.object(self.rank.rank, thread), begin, end, state);
        self.lines.add(key(begin, Kind::State, self.rank.rank), &self.line)
    }

    fn event(&mut self, thread: u16, time: u64, details: &[u64], callers: &[u8]) -> Result<(), Error> {
        self.line.clear();
        self.line.extend_from_slice(b"2:");
        text::numbers(&mut self.line, &self.stage.layout.object(self.rank.rank, thread));
        self.line.push(b':');
        text::number(&mut self.line, time);
        self.line.push(b':');
        text::numbers(&mut self.line, details);
        self.line.extend_from_slice(callers);
        self.lines.add(key(time, Kind::Event, self.rank.rank), &self.line)
    }
}

/// The record of a state.
pub fn state_line(line: &mut Vec<u8>, object: [u64; 4], begin: u64, end: u64, state: u32) {
    line.clear();
    line.extend_from_slice(b"1:");
    text::numbers(line, &object);
    line.push(b':');
    text::numbers(line, &[begin, end, state.into()]);
}
