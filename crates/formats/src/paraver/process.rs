//! What one process of a trace did, as calls.
//!
//! A trace says when calls began and ended, and, apart from that, when messages were sent and received. Whose message it was shows in
//! time: it was sent by the call in which its sending lies, and received by the call in which its receiving lies.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use sintonia_mpi::{Mode, Operation, Role};
use sintonia_recording::header::{End, Rank};
use sintonia_recording::raw::part;
use sintonia_recording::sealed::Writer;

use super::call::{Call, Caller};
use super::entry::{Events, Key, Kind, Message};
use super::events::{self, Group};
use super::names::Names;
use super::requests::Requests;
use super::sites::Sites;
use super::survey::{Sent, Survey};
use crate::Error;
use crate::import::CLOCK;

/// Calls that ended at the same moment and are kept because a message of that moment may be theirs.
const MOST_ENDED: usize = 1 << 12;

/// What processes have in common.
pub struct Context<'a> {
    /// What the whole trace says.
    pub survey: &'a Survey,
    /// Names of its numbers.
    pub names: &'a Names,
    /// The call sites found so far.
    pub sites: Sites,
    /// Messages that lie in no call that could have sent or received them.
    pub stray: u64,
    /// Calls of functions that answer at once, which no recording holds.
    pub local: u64,
}

/// A process whose calls are being understood.
pub struct Process<'a, 'b> {
    context: &'a mut Context<'b>,
    rank: u32,
    application: usize,
    writer: Writer,
    threads: BTreeMap<u16, Thread>,
    requests: Requests,
    now: u64,
    /// How many persistent sends were made.
    persistent_sends: usize,
    begin: Option<u64>,
    end: u64,
    how: End,
}

/// One thread: the call under way, and those that ended at the present moment.
#[derive(Default)]
struct Thread {
    open: Option<Call>,
    ended: VecDeque<Call>,
}

impl Thread {
    fn calls(&mut self) -> impl Iterator<Item = &mut Call> {
        self.open.iter_mut().chain(self.ended.iter_mut().rev())
    }
}

impl<'a, 'b> Process<'a, 'b> {
    /// Begins with a process whose file will be in this folder.
    pub fn new(context: &'a mut Context<'b>, rank: u32, folder: &Path) -> Result<Process<'a, 'b>, Error> {
        Ok(Process {
            application: context.survey.task(rank).0,
            context,
            rank,
            writer: Writer::create(folder, rank)?,
            threads: BTreeMap::new(),
            requests: Requests::default(),
            now: 0,
            persistent_sends: 0,
            begin: None,
            end: 0,
            how: End::Exited,
        })
    }

    /// What the trace says next of this process.
    pub fn entry(&mut self, key: Key, content: &[u8]) -> Result<(), Error> {
        if key.time > self.now {
            self.write_ended()?;
            self.now = key.time;
        }
        match key.kind {
            Kind::Events => self.events(key.line, content)?,
            Kind::Root => self.root(key.line, content),
            Kind::Send => self.send(Message::of(content)),
            Kind::Post => self.post(key.line, Message::of(content)),
            Kind::Received => self.received(key.line, Message::of(content)),
        }
        Ok(())
    }

    /// Writes what is left; `None` if the process made no call.
    pub fn finish(mut self) -> Result<Option<Rank>, Error> {
        self.write_ended()?;
        let end = self.context.survey.end;
        let threads: Vec<u16> = self.threads.keys().copied().collect();
        for thread in &threads {
            if let Some(call) = self.threads.get_mut(thread).and_then(|thread| thread.open.take()) {
                self.write(*thread, Call { leave: end.max(call.enter), ..call }, part::UNFINISHED)?;
            }
        }
        self.context.stray += self.requests.stray;
        let calls = self.writer.finish()?.calls;
        Ok(self.begin.map(|begin| Rank {
            rank: self.rank,
            calls,
            threads: threads.len() as u32,
            begin_ns: begin as i64,
            end_ns: self.end as i64,
            end: self.how,
            clock: CLOCK,
            ..Rank::default()
        }))
    }

    /// Calls begin and end, and something is said of the one under way.
    fn events(&mut self, line: u64, content: &[u8]) -> Result<(), Error> {
        let (thread, pairs) = Events::of(content);
        for (event_type, value) in pairs.clone() {
            match Group::of_type(event_type) {
                Some(group) if value == 0 => self.leave(thread, Some(group))?,
                Some(group) => {
                    self.leave(thread, None)?;
                    let call = Call::begin(self.context.names.operation(group, value), group, line, self.now);
                    self.threads.entry(thread).or_default().open = Some(call);
                }
                None => {}
            }
        }
        if let Some(call) = self.threads.get_mut(&thread).and_then(|thread| thread.open.as_mut()) {
            // A caller of 0 says that there is none any more.
            let said = |event_type: u64, value: u64| Group::of_type(event_type).is_none() && (event_type < events::CALLER || value != 0);
            call.details.extend(pairs.filter(|(event_type, value)| said(*event_type, *value)));
        }
        Ok(())
    }

    /// The call under way ends: one of this group, or any where the trace forgot to say so.
    fn leave(&mut self, number: u16, group: Option<Group>) -> Result<(), Error> {
        let thread = self.threads.entry(number).or_default();
        let Some(call) = thread.open.take_if(|call| group.is_none_or(|group| group == call.group)) else { return Ok(()) };
        thread.ended.push_back(Call { leave: self.now, ..call });
        if thread.ended.len() > MOST_ENDED
            && let Some(oldest) = thread.ended.pop_front()
        {
            self.write(number, oldest, 0)?;
        }
        Ok(())
    }

    fn root(&mut self, line: u64, content: &[u8]) {
        let call = self.threads.values_mut().flat_map(Thread::calls).find(|call| call.line == line);
        if let Some((call, root)) = call.zip(content.first_chunk()) {
            call.root = Some(u32::from_le_bytes(*root));
        }
    }

    /// The call of the present moment that a message most likely belongs to: rather one of this thread, and rather not an unlikely one.
    fn find(&mut self, thread: u16, unlikely: impl Fn(&Call) -> Option<bool>) -> Option<&mut Call> {
        let calls = self.threads.iter_mut().flat_map(|(own, calls)| calls.calls().map(move |call| (*own != thread, call)));
        let possible = calls.filter_map(|(other, call)| Some(((other, unlikely(call)?), call)));
        possible.min_by_key(|(how, _)| *how).map(|(_, call)| call)
    }

    /// A message is sent by the call that just began, or by one that is under way.
    fn send(&mut self, message: Message) {
        let now = self.now;
        match self.find(message.thread, |call| call.takes_send().then_some(call.enter != now)) {
            Some(call) => call.sends.push(message),
            None => self.context.stray += 1,
        }
    }

    /// A nonblocking receive has begun when its call returns, a blocking one begins with its call.
    fn post(&mut self, line: u64, message: Message) {
        let now = self.now;
        let returns = |call: &Call| !call.waits() && call.leave == now && call.enter != now;
        if let Some(call) = self.find(message.thread, |call| call.takes_receive().then(|| !returns(call))) {
            call.receives.push((line, message));
            let waits = call.waits();
            self.requests.post(line, waits);
        }
    }

    /// A receive is complete when the call returns that waited for it.
    fn received(&mut self, line: u64, message: Message) {
        if !self.requests.is_completed_elsewhere(line) {
            return;
        }
        let now = self.now;
        match self.find(message.thread, |call| call.completes().then_some(call.enter == now)) {
            Some(call) => call.completions.push((line, message)),
            None => {
                self.requests.give_up(line);
                self.context.stray += 1;
            }
        }
    }

    fn write_ended(&mut self) -> Result<(), Error> {
        let with_ended = self.threads.iter().filter(|(_, thread)| !thread.ended.is_empty());
        let threads: Vec<u16> = with_ended.map(|(number, _)| *number).collect();
        for number in threads {
            while let Some(call) = self.threads.get_mut(&number).and_then(|thread| thread.ended.pop_front()) {
                self.write(number, call, 0)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, thread: u16, call: Call, marks: u16) -> Result<(), Error> {
        let Some(operation) = call.operation else { return Ok(()) };
        if operation.role() == Role::Local {
            self.context.local += 1;
            return Ok(());
        }
        let persistent = self.persistent_send(&call);
        let communicators = &self.context.survey.communicators;
        let caller = Caller { rank: self.rank, application: self.application, communicators };
        let mut shape = call.shape(operation, &caller, persistent);
        shape.site = self.context.sites.number(call.callers(), self.context.names);
        shape.parts |= marks;
        self.requests.follow(thread, &call, &mut shape);
        self.note(operation, &call);
        Ok(self.writer.call(thread, call.enter, call.leave, &shape)?)
    }

    /// What a call that makes a persistent send says of it: what requests of this process were later seen to send, one after the other.
    fn persistent_send(&mut self, call: &Call) -> Option<Sent> {
        if call.role() != Role::Send || call.mode() != Mode::Persistent {
            return None;
        }
        self.persistent_sends += 1;
        self.context.survey.persistent.get(&self.rank)?.get(self.persistent_sends - 1).copied()
    }

    /// Notes what a call says of the process.
    fn note(&mut self, operation: Operation, call: &Call) {
        self.begin = Some(self.begin.unwrap_or(call.enter).min(call.enter));
        self.end = self.end.max(call.leave);
        match operation.role() {
            Role::Finalize => self.how = End::Finalized,
            Role::Abort => self.how = End::Aborted,
            _ => {}
        }
    }
}
