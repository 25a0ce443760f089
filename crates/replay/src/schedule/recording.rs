//! A recording as a schedule.
//!
//! What a receive from anyone got is known when it completes, but it must be matched where it was begun: whatever such receives a rank has
//! is looked up ahead, with a second reader that follows its requests.

use std::collections::{HashMap, HashSet, VecDeque};

use sintonia_mpi::{Mode, Role};
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::raw::{self, known_bytes, part};
use sintonia_recording::table::{RequestId, Shape};
use sintonia_recording::{Calls, Recording, Stroke, ThreadCalls};

use super::{
    Action, Described, Envelope, How, Join, LineId, Neighbours, Next, Outcome, Receive, Row, Schedule, Send, SendMode, Stretch, Stretches,
    Sync,
};
use crate::Error;

/// How many calls are read at a time: enough to read quickly, few enough for thousands of lines to stay near the processor.
const ROWS: usize = 64;

/// Looking again after no longer than this is waiting, not work.
const LOOKS_AGAIN_NS: i64 = 2000;

impl Schedule for Recording {
    fn ranks(&self) -> u32 {
        self.header.rank_count()
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        let mut lines = Vec::new();
        for rank in &self.header.ranks {
            lines.extend(self.threads(rank.rank)?.into_iter().map(|thread| LineId { rank: rank.rank, thread }));
        }
        Ok(lines)
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        let calls = self.thread(line.rank, line.thread).ok_or(Error::NoSuchLine { rank: line.rank })?;
        Ok(Box::new(Thread { recording: self, line, calls, polls: Vec::new(), polled: false, ahead: None }))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        let both = Recording::members(self, communicator).iter().chain(self.remote(communicator));
        both.filter_map(|rank| u32::try_from(*rank).ok()).collect()
    }

    fn is_between_groups(&self, communicator: u32) -> bool {
        !self.remote(communicator).is_empty()
    }

    fn object(&self, object: u32) -> Option<u32> {
        self.header.objects.get(object as usize)?.communicator
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> Neighbours {
        let known = Recording::neighbours(self, communicator, rank);
        let ranks = |ranks: &[i32]| ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
        known.map_or_else(Neighbours::default, |known| Neighbours {
            sources: ranks(&known.sources),
            destinations: ranks(&known.destinations),
        })
    }

    fn sites(&self) -> u32 {
        self.header.sites.len() as u32
    }

    fn site(&self, site: u32) -> String {
        let site = Recording::site(self, site);
        let frame = site.frames.first();
        let place = frame.and_then(|frame| Some((frame.file.as_deref()?, frame.line?)));
        match place {
            Some((file, line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
            None => frame.and_then(|frame| frame.function.clone()).unwrap_or_else(|| format!("{}+{:#x}", site.module, site.offset)),
        }
    }
}

/// A thread of a recorded process.
struct Thread<'a> {
    recording: &'a Recording,
    line: LineId,
    calls: ThreadCalls<'a>,
    /// Which of the present actions only look whether something has happened.
    polls: Vec<bool>,
    /// Whether the last call only looked whether something had happened.
    polled: bool,
    ahead: Option<Ahead<'a>>,
}

impl Stretches for Thread<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        let mut found = Next::Rows;
        stretch.first_request = None;
        // Of thousands of lines none keeps these, so that they stay near the processor.
        let mut strokes = Vec::with_capacity(ROWS);
        self.calls.some(ROWS, &mut strokes);
        while strokes.is_empty() {
            if !self.calls.next_block()? {
                return Ok(Next::End);
            }
            found = Next::Actions;
            stretch.first_request = Some(self.calls.first_request());
            stretch.actions.clear();
            let world = self.recording.world(self.line.rank);
            let group = |number| self.recording.named_group(number).iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
            let describe = |shape: &Shape| Described { action: action(&group, world, shape), shape: shape.clone() };
            stretch.actions.extend(self.calls.shapes().iter().map(describe));
            self.polls.clear();
            self.polls.extend(stretch.actions.iter().map(|described| described.action == Action::Poll));
            self.calls.some(ROWS, &mut strokes);
        }
        stretch.enter_ns = self.calls.first_enter_ns();
        self.fill(&strokes, stretch);
        Ok(found)
    }

    fn outcome(&mut self) -> Result<Outcome, Error> {
        if self.ahead.is_none() {
            self.ahead = Some(Ahead::new(self.recording, self.line)?);
        }
        Ok(self.ahead.as_mut().map_or(Outcome::Never, Ahead::next))
    }
}

impl Thread<'_> {
    fn fill(&mut self, strokes: &[Stroke], stretch: &mut Stretch) {
        stretch.rows.clear();
        let mut polled = self.polled;
        stretch.rows.extend(strokes.iter().map(|stroke| {
            let waits = polled && stroke.computed_ns <= LOOKS_AGAIN_NS.max(stroke.took_ns);
            polled = self.polls.get(usize::from(stroke.shape)).copied().unwrap_or(false);
            let computed_ns = stroke.computed_ns.max(0);
            let (computed_ns, idle_ns) = if waits { (0, u32::try_from(computed_ns).unwrap_or(u32::MAX)) } else { (computed_ns, 0) };
            Row { computed_ns, idle_ns, took_ns: stroke.took_ns.max(0), action: stroke.shape.into() }
        }));
        self.polled = polled;
    }
}

/// What a call of this shape does, in a process of this world; `group` knows the members of groups that calls name by number.
pub fn action(group: &dyn Fn(i32) -> Vec<u32>, world: u32, shape: &Shape) -> Action {
    let how = how(shape);
    if shape.parts & (part::ERROR | part::UNFINISHED) != 0 {
        return failed(world, shape);
    }
    if shape.parts & part::FOUND_NOTHING != 0 {
        return Action::Poll;
    }
    match shape.operation.role() {
        Role::Send => {
            sent(shape).map_or(Action::Local, |to| Action::Send(Send { to, bytes: known_bytes(shape.sent), mode: mode(shape), how }))
        }
        Role::Receive => receive(shape, how).map_or(Action::Local, Action::Receive),
        Role::MatchedReceive => match envelope(shape.peer, shape.object, shape.tag) {
            Some(from) => Action::Receive(Receive { from: Some(from), anyone: false, how }),
            None if how == How::Request => Action::Receive(Receive { from: None, anyone: false, how }),
            None => Action::Local,
        },
        Role::SendReceive => send_receive(shape, how),
        Role::Probe | Role::MatchedProbe => {
            envelope(shape.peer, shape.object, shape.tag).map_or(Action::Local, |message| Action::Probe { message })
        }
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => Action::Complete(listed(shape)),
        Role::Start | Role::StartAll => Action::Start(listed(shape)),
        Role::RequestFree => Action::Forget(listed(shape)),
        Role::Put | Role::Get | Role::Exchange => access(shape, how),
        Role::WindowSync if shape.operation.name() != "MPI_Win_fence" => sync(group, shape),
        Role::Init => Action::Init,
        Role::Finalize => Action::Finalize,
        _ => join(world, shape, how).map_or(Action::Local, Action::Join),
    }
}

/// A call that returned an error, or never returned: it did nothing that is known of, but an operation of a group counts all the same.
fn failed(world: u32, shape: &Shape) -> Action {
    match shape.operation.role() {
        Role::Init => Action::Init,
        Role::Finalize => Action::Finalize,
        _ if shape.parts & part::UNFINISHED != 0 => Action::Local,
        _ => join(world, shape, How::Blocking).map_or(Action::Local, Action::Join),
    }
}

fn how(shape: &Shape) -> How {
    match shape.operation.function().mode {
        _ if !shape.makes_request() => How::Blocking,
        Mode::Persistent => How::Persistent,
        _ => How::Request,
    }
}

fn mode(shape: &Shape) -> SendMode {
    match shape.operation.name() {
        "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init" => SendMode::Synchronous,
        "MPI_Bsend" | "MPI_Ibsend" | "MPI_Bsend_init" => SendMode::Buffered,
        "MPI_Rsend" | "MPI_Irsend" | "MPI_Rsend_init" => SendMode::Ready,
        _ => SendMode::Standard,
    }
}

/// The message; `None` where the other end is no process of the recording.
fn envelope(peer: i32, communicator: u32, tag: i32) -> Option<Envelope> {
    let peer = u32::try_from(peer).ok()?;
    (tag != raw::ANY).then_some(Envelope { peer, communicator, tag })
}

fn sent(shape: &Shape) -> Option<Envelope> {
    envelope(shape.peer, shape.object, shape.tag)
}

/// A receive; `None` where nothing is received from a process of the recording.
fn receive(shape: &Shape, how: How) -> Option<Receive> {
    let from = envelope(shape.peer, shape.object, shape.tag);
    let open = shape.peer == raw::ANY || shape.tag == raw::ANY;
    let anyone = shape.peer == raw::ANY || shape.recv_tag == raw::ANY;
    (from.is_some() || (open && how != How::Blocking)).then_some(Receive { from, anyone, how })
}

fn send_receive(shape: &Shape, how: How) -> Action {
    let to = sent(shape).map(|to| Send { to, bytes: known_bytes(shape.sent), mode: SendMode::Standard, how });
    let from = envelope(shape.source, shape.object, shape.recv_tag);
    let open = how != How::Blocking && (shape.source == raw::ANY || shape.recv_tag == raw::ANY);
    let receive = (from.is_some() || open).then_some(Receive { from, anyone: shape.source == raw::ANY, how });
    match (to, receive) {
        (Some(to), Some(receive)) => Action::SendReceive(to, receive),
        (Some(to), None) => Action::Send(to),
        (None, Some(receive)) => Action::Receive(receive),
        (None, None) => Action::Local,
    }
}

fn listed(shape: &Shape) -> Vec<raw::RequestRef> {
    shape.requests.iter().map(|listed| listed.request).collect()
}

fn access(shape: &Shape, how: How) -> Action {
    match (shape.window(), u32::try_from(shape.peer)) {
        (Some(window), Ok(target)) => {
            let (put, get) = (known_bytes(shape.sent), known_bytes(shape.received));
            let (put, get) = if shape.operation.role() == Role::Put { (put.max(get), 0) } else { (put, get) };
            Action::Access { window, target, put, get, how }
        }
        _ => Action::Local,
    }
}

fn sync(group: &dyn Fn(i32) -> Vec<u32>, shape: &Shape) -> Action {
    let Some(window) = shape.window() else { return Action::Local };
    let target = u32::try_from(shape.peer).ok();
    let sync = match shape.operation.name() {
        "MPI_Win_post" if shape.names_group() => Sync::Post(group(shape.value)),
        "MPI_Win_start" if shape.names_group() => Sync::Start(group(shape.value)),
        "MPI_Win_complete" => Sync::Complete,
        "MPI_Win_wait" | "MPI_Win_test" => Sync::Wait,
        "MPI_Win_lock" => Sync::Lock { target, exclusive: shape.value == raw::LOCK_EXCLUSIVE },
        "MPI_Win_lock_all" => Sync::Lock { target: None, exclusive: false },
        "MPI_Win_unlock" => Sync::Unlock { target },
        "MPI_Win_unlock_all" => Sync::Unlock { target: None },
        "MPI_Win_flush" | "MPI_Win_flush_local" => Sync::Flush { target },
        "MPI_Win_flush_all" | "MPI_Win_flush_local_all" => Sync::Flush { target: None },
        _ => return Action::Local,
    };
    Action::Sync { window, sync }
}

/// A part in an operation of a group: exactly where a [`Follower`] sees one.
fn join(world: u32, shape: &Shape, how: How) -> Option<Join> {
    let (group, purpose, root) = sintonia_recording::deed::joins(shape, world)?;
    let root = if root == raw::ROOT_HERE { Some(Join::HERE) } else { u32::try_from(root).ok() };
    Some(Join { group, purpose, root, sent: known_bytes(shape.sent), received: known_bytes(shape.received), how })
}

/// Whether what a call receives shows only when its request completes.
fn asks_anyone(shape: &Shape) -> bool {
    let action = match shape.operation.role() {
        Role::Receive => receive(shape, how(shape)).map(|receive| receive.from),
        Role::MatchedReceive => Some(envelope(shape.peer, shape.object, shape.tag)),
        Role::SendReceive => match send_receive(shape, how(shape)) {
            Action::SendReceive(_, receive) | Action::Receive(receive) => Some(receive.from),
            _ => None,
        },
        _ => None,
    };
    action.is_some_and(|from| from.is_none())
}

/// Looks ahead in the calls of a rank for what its receives from anyone got.
struct Ahead<'a> {
    calls: Calls<'a>,
    follower: Follower,
    line: LineId,
    /// Requests that may be given any message.
    open: HashSet<RequestId>,
    outcomes: Outcomes,
}

/// What became of receives, in the order in which they were begun.
#[derive(Default)]
struct Outcomes {
    /// Receives whose outcome is not known yet, by their place among all of them.
    pending: HashMap<RequestId, u64>,
    known: VecDeque<Option<Outcome>>,
    /// How many outcomes were handed out.
    base: u64,
}

impl Outcomes {
    fn begin(&mut self, request: RequestId) {
        self.pending.insert(request, self.base + self.known.len() as u64);
        self.known.push_back(None);
    }

    fn settle(&mut self, request: RequestId, outcome: Outcome) {
        if let Some(place) = self.pending.remove(&request)
            && let Some(slot) = place.checked_sub(self.base).and_then(|place| self.known.get_mut(place as usize))
        {
            *slot = Some(outcome);
        }
    }
}

impl<'a> Ahead<'a> {
    fn new(recording: &'a Recording, line: LineId) -> Result<Ahead<'a>, Error> {
        let follower = Follower::in_world(recording.world(line.rank));
        let calls = recording.calls(line.rank)?;
        Ok(Ahead { calls, follower, line, open: HashSet::new(), outcomes: Outcomes::default() })
    }

    fn next(&mut self) -> Outcome {
        while self.outcomes.known.front().is_none_or(Option::is_none) {
            if !self.read() {
                break;
            }
        }
        self.outcomes.base += u64::from(!self.outcomes.known.is_empty());
        self.outcomes.known.pop_front().flatten().unwrap_or(Outcome::Never)
    }

    /// Reads one call; `false` at the end.
    fn read(&mut self) -> bool {
        let Some(call) = self.calls.next_call() else { return false };
        let own = call.thread == self.line.thread;
        if let Some(request) = call.request {
            let open = asks_anyone(call.shape);
            if open {
                self.open.insert(request)
            } else {
                self.open.remove(&request)
            };
        }
        for deed in self.follower.follow(&call) {
            match *deed {
                Deed::Post { request } if own && self.open.contains(&request) => self.outcomes.begin(request),
                Deed::Receive { message, request: Some(request), .. } => {
                    let got = envelope(message.peer, message.communicator, message.tag);
                    self.outcomes.settle(request, got.map_or(Outcome::Never, Outcome::Received));
                }
                Deed::Cancel { request } => self.outcomes.settle(request, Outcome::Never),
                _ => {}
            }
        }
        true
    }
}
