//! Wait states: the times in which a call could do nothing because another rank was not there yet.
//!
//! Each kind has one file: what it is, in words for the people who have it, and the formula that finds it. The formulas follow Scalasca's
//! (the comments of each say where they differ); every one has a small MPI program with exactly that problem among the end-to-end tests.
//!
//! A wait has a cause: the call of another rank that came late. [`crate::delay`] asks what kept that one.

mod barrier_completion;
mod early_reduce;
mod early_scan;
mod init_completion;
mod late_broadcast;
mod late_receiver;
mod late_sender;
mod nxn_completion;
mod wait_at_barrier;
mod wait_at_collective_io;
mod wait_at_create;
mod wait_at_fence;
mod wait_at_finalize;
mod wait_at_free;
mod wait_at_nonblocking_collective;
mod wait_at_nxn;
mod wait_at_partitioned;
mod wrong_order;

use rayon::prelude::*;
use sintonia_mpi::{Function, Mode, Role};
use sintonia_program::history::{At, Before, History, Joined, Line, Meeting, NOWHERE, Received, Sent};
use sintonia_recording::raw::part;

/// One kind of wait state.
pub struct Pattern {
    /// Its name for programs.
    pub kind: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it means and what to do about it, in a few sentences.
    pub help: &'static str,
    /// How it is found.
    find: Find,
}

/// What a pattern looks at.
enum Find {
    /// A call that completed receives: all of them at once.
    Receives(fn(&Receives) -> Option<Found>),
    /// A send at the call that completed it.
    Send(fn(&Sending) -> Option<Found>),
    /// The operation of a group at the call that completed it.
    Meeting(fn(&Meets) -> Option<Found>),
    /// What other patterns found on a line, once it is all known.
    Again,
}

/// All kinds of wait states.
pub static PATTERNS: &[Pattern] = &[
    late_sender::PATTERN,
    wrong_order::PATTERN,
    late_receiver::PATTERN,
    wait_at_partitioned::PATTERN,
    wait_at_barrier::PATTERN,
    barrier_completion::PATTERN,
    wait_at_nxn::PATTERN,
    nxn_completion::PATTERN,
    late_broadcast::PATTERN,
    early_reduce::PATTERN,
    early_scan::PATTERN,
    wait_at_nonblocking_collective::PATTERN,
    wait_at_create::PATTERN,
    wait_at_free::PATTERN,
    wait_at_fence::PATTERN,
    wait_at_collective_io::PATTERN,
    init_completion::PATTERN,
    wait_at_finalize::PATTERN,
];

/// A wait that was found: how long, and for which call.
struct Found {
    ns: i64,
    cause: At,
}

impl Found {
    /// A wait for a call, if there was one.
    fn some(ns: i64, cause: At) -> Option<Found> {
        (ns > 0).then_some(Found { ns, cause })
    }
}

/// A wait of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What kind it is.
    pub pattern: &'static Pattern,
    /// The call that waited, by row of its line.
    pub row: u32,
    /// Nanoseconds.
    pub ns: i64,
    /// The call that came late; [`At::NOWHERE`] if the wait is for nobody in particular.
    pub cause: At,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Pattern {}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.kind)
    }
}

/// A call under observation.
#[derive(Clone, Copy)]
struct Scene<'a> {
    line: &'a Line,
    row: u32,
}

impl Scene<'_> {
    fn enter(&self) -> i64 {
        self.line.calls.enter[self.row as usize]
    }

    fn leave(&self) -> i64 {
        self.line.calls.leave[self.row as usize]
    }

    fn function(&self) -> &'static Function {
        self.shape().operation.function()
    }

    fn shape(&self) -> &sintonia_recording::table::Shape {
        &self.line.calls.shapes[self.line.calls.shape[self.row as usize] as usize]
    }

    /// How long the call had been waiting when another was entered, which it needed.
    fn until(&self, needed: i64) -> i64 {
        needed.min(self.leave()) - self.enter()
    }

    /// Whether the call returns only when it is done: a test does not wait.
    fn waits(&self) -> bool {
        let function = self.function();
        let tests = matches!(function.role, Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome)
            && function.name.starts_with("MPI_Test");
        let looks = matches!(function.role, Role::Probe | Role::MatchedProbe) && function.name.starts_with("MPI_I");
        function.mode == Mode::Blocking && !tests && !looks && self.shape().parts & part::UNFINISHED == 0
    }
}

/// A call that completed receives.
struct Receives<'a> {
    scene: Scene<'a>,
    received: &'a [Received],
}

impl Receives<'_> {
    /// The message that was sent last.
    fn last(&self) -> Option<&Received> {
        self.received.iter().filter(|received| received.sender != At::NOWHERE).max_by_key(|received| (received.send_enter, received.sender))
    }
}

/// A call that completed a send.
struct Sending<'a> {
    scene: Scene<'a>,
    sent: &'a Sent,
    /// Whether the call waited for a message as well.
    receives_late: bool,
}

/// A call that completed an operation of a group.
struct Meets<'a> {
    scene: Scene<'a>,
    meeting: &'a Meeting,
    /// Whether it was begun by the same call.
    blocking: bool,
    is_root: bool,
    before: Option<Before>,
}

impl Meets<'_> {
    /// The wait for the last one to come.
    fn for_the_last(&self) -> Option<Found> {
        let (last, enter) = self.meeting.last;
        Found::some(self.scene.until(enter), last)
    }

    /// The time after everyone had come and the first had left.
    fn completion(&self) -> Option<Found> {
        let from = self.meeting.first_leave.max(self.meeting.last.1).max(self.scene.enter());
        Found::some(self.scene.leave() - from, At::NOWHERE)
    }
}

/// Finds the waits of every line, each in the order of its calls.
pub fn find(history: &History) -> Vec<Vec<Wait>> {
    history.lines.par_iter().map(|line| find_in(history, line)).collect()
}

fn find_in(history: &History, line: &Line) -> Vec<Wait> {
    let mut waits = Vec::new();
    for received in line.received.chunk_by(|a, b| a.row == b.row) {
        let scene = Scene { line, row: received[0].row };
        if scene.waits() {
            let receives = Receives { scene, received };
            add(&mut waits, scene.row, |find| if let Find::Receives(find) = find { find(&receives) } else { None });
        }
    }
    wrong_order::find_again(line, &mut waits);
    let late: Vec<u32> = waits.iter().map(|wait| wait.row).collect();
    for sent in line.sent.iter().filter(|sent| sent.done != NOWHERE && sent.receiver != At::NOWHERE) {
        let scene = Scene { line, row: sent.done };
        if scene.waits() {
            let sending = Sending { scene, sent, receives_late: late.binary_search(&sent.done).is_ok() };
            add(&mut waits, scene.row, |find| if let Find::Send(find) = find { find(&sending) } else { None });
        }
    }
    for joined in line.joined.iter().filter(|joined| joined.done != NOWHERE) {
        let meets = meets(history, line, joined);
        if meets.scene.waits() {
            add(&mut waits, joined.done, |find| if let Find::Meeting(find) = find { find(&meets) } else { None });
        }
    }
    waits.sort_by_key(|wait| wait.row);
    once_each(&mut waits);
    waits
}

fn meets<'a>(history: &'a History, line: &'a Line, joined: &Joined) -> Meets<'a> {
    let meeting = &history.meetings[joined.meeting as usize];
    let is_root = meeting.root.0 == line.at(joined.row);
    Meets { scene: Scene { line, row: joined.done }, meeting, blocking: joined.row == joined.done, is_root, before: joined.before }
}

fn add(waits: &mut Vec<Wait>, row: u32, look: impl Fn(&Find) -> Option<Found>) {
    for pattern in PATTERNS {
        if let Some(Found { ns, cause }) = look(&pattern.find) {
            waits.push(Wait { pattern, row, ns, cause });
        }
    }
}

/// A call waits once, however many sends or operations it completes: of the waits of one kind in one call only the longest counts.
fn once_each(waits: &mut Vec<Wait>) {
    let mut kept: Vec<Wait> = Vec::with_capacity(waits.len());
    for wait in waits.drain(..) {
        let same = kept.iter_mut().rev().take_while(|other| other.row == wait.row).find(|other| other.pattern == wait.pattern);
        match same {
            Some(other) if other.ns < wait.ns => *other = wait,
            Some(_) => {}
            None => kept.push(wait),
        }
    }
    *waits = kept;
}
