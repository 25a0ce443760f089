//! Wait states: the times in which a call could do nothing because another rank was not there yet.
//!
//! Each kind has one file: what it is, in words for the people who have it, and the formula that finds it. The formulas follow Scalasca's
//! (the comments of each say where they differ); every one has a small MPI program with exactly that problem among the end-to-end tests.
//!
//! A wait has a cause: the call of another rank that came late. [`crate::delay`] asks what kept that one.

mod barrier_completion;
mod early_reduce;
mod early_scan;
mod early_wait;
mod init_completion;
mod late_broadcast;
mod late_complete;
mod late_post;
mod late_receiver;
mod late_sender;
mod lock_competition;
mod nxn_completion;
mod wait_at_barrier;
mod wait_at_collective_io;
mod wait_at_create;
mod wait_at_fence;
mod wait_at_finalize;
mod wait_at_free;
mod wait_at_neighbour_collective;
mod wait_at_nonblocking_collective;
mod wait_at_nxn;
mod wait_at_partitioned;
mod wrong_order;

use rayon::prelude::*;
use sintonia_mpi::{Function, Mode, Role};
use sintonia_program::history::{Access, At, Before, Exposure, History, Hold, Joined, Line, Meeting, NOWHERE, Received, Sent};
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
    /// An access to a window at the call that was under way when the window was opened.
    Access(fn(&Accesses) -> Option<Found>),
    /// The end of all accesses to a window at the call that waited for it.
    Waits(fn(&Waits) -> Option<Found>),
    /// A lock at the call that was under way when another one was given back.
    Hold(fn(&Holds) -> Option<Found>),
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
    wait_at_neighbour_collective::PATTERN,
    wait_at_create::PATTERN,
    wait_at_free::PATTERN,
    wait_at_fence::PATTERN,
    late_post::PATTERN,
    early_wait::PATTERN,
    late_complete::PATTERN,
    lock_competition::PATTERN,
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

    fn shape(&self) -> &sintonia_recording::table::Shape {
        &self.line.calls.shapes[self.line.calls.shape[self.row as usize] as usize]
    }

    /// How long the call had been waiting when another was entered, which it needed.
    fn until(&self, needed: i64) -> i64 {
        needed.min(self.leave()) - self.enter()
    }

    /// Whether the call has to do with the window of a process: synchronises with all or with that one, or accesses it.
    fn is_access(&self, window: u32, target: u32) -> bool {
        let shape = self.shape();
        let there = u32::try_from(shape.peer).is_ok_and(|peer| peer == target);
        shape.object == window
            && match shape.operation.role() {
                Role::WindowSync => there || shape.peer < 0,
                Role::Put | Role::Get | Role::Exchange => there,
                _ => false,
            }
    }

    /// Whether the call returns only when it is done: a test does not wait.
    fn waits(&self) -> bool {
        let function = self.shape().operation.function();
        function.mode == Mode::Blocking && !only_looks(function) && self.shape().parts & part::UNFINISHED == 0
    }
}

/// Whether a function only asks whether something is there, and does not wait for it.
pub(crate) fn only_looks(function: &Function) -> bool {
    let name = function.name;
    name.starts_with("MPI_Test")
        || name.starts_with("MPI_Request_get_status")
        || matches!(name, "MPI_Iprobe" | "MPI_Improbe" | "MPI_Parrived" | "MPI_Win_test")
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
        self.wait_for(self.meeting.last)
    }

    /// The wait for another member. Who left before another came did not wait for it: there was no data to wait for.
    fn wait_for(&self, (other, enter): (At, i64)) -> Option<Found> {
        let waited = other != At::NOWHERE && enter <= self.scene.leave();
        Found::some(if waited { self.scene.until(enter) } else { 0 }, other)
    }

    /// The time after everyone had come and the first had left.
    fn completion(&self) -> Option<Found> {
        let from = self.meeting.first_leave.max(self.meeting.last.1).max(self.scene.enter());
        Found::some(self.scene.leave() - from, At::NOWHERE)
    }
}

/// A call in an access to a window.
struct Accesses<'a> {
    scene: Scene<'a>,
    access: &'a Access,
}

/// A call that waited for the end of the accesses to a window.
struct Waits<'a> {
    scene: Scene<'a>,
    /// The access that ended last.
    last: &'a Exposure,
}

/// A call that may have needed a lock.
struct Holds<'a> {
    scene: Scene<'a>,
    hold: &'a Hold,
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
    find_in_epochs(line, &mut waits);
    waits.sort_by_key(|wait| wait.row);
    wrong_order::split(line, once(&waits))
}

/// Finds the waits of one-sided communication.
fn find_in_epochs(line: &Line, waits: &mut Vec<Wait>) {
    for access in line.accesses.iter().filter(|access| access.complete != NOWHERE && access.post != At::NOWHERE) {
        let epoch = Epoch { line, first: access.start, last: access.complete, target: access.target };
        for scene in epoch.under_way(access.post_enter, access.post_enter) {
            let accesses = Accesses { scene, access };
            add(waits, scene.row, |find| if let Find::Access(find) = find { find(&accesses) } else { None });
        }
    }
    for same in line.exposures.chunk_by(|a, b| a.wait == b.wait).filter(|same| same[0].wait != NOWHERE) {
        let ended = same.iter().filter(|exposure| exposure.complete != At::NOWHERE);
        let scene = Scene { line, row: same[0].wait };
        if let Some(last) = ended.max_by_key(|exposure| (exposure.complete_enter, exposure.complete)).filter(|_| scene.waits()) {
            let ends = Waits { scene, last };
            add(waits, scene.row, |find| if let Find::Waits(find) = find { find(&ends) } else { None });
        }
    }
    for hold in line.holds.iter().filter(|hold| hold.unlock != NOWHERE && hold.earlier != At::NOWHERE) {
        let epoch = Epoch { line, first: hold.lock, last: hold.unlock, target: hold.target };
        let (enter, leave) = hold.earlier_span;
        // Of the calls that were under way while the lock was given back, the one that waited longest is the one that waited for it.
        if let Some(scene) = epoch.under_way(enter, leave).max_by_key(|scene| (scene.until(leave), scene.row)) {
            let holds = Holds { scene, hold };
            add(waits, scene.row, |find| if let Find::Hold(find) = find { find(&holds) } else { None });
        }
    }
}

/// The calls of a line from the beginning to the end of an epoch of one-sided communication with one process.
struct Epoch<'a> {
    line: &'a Line,
    first: u32,
    last: u32,
    target: u32,
}

impl<'a> Epoch<'a> {
    /// The calls of the epoch that were entered before one moment and left after another.
    fn under_way(&self, left_after: i64, entered_before: i64) -> impl Iterator<Item = Scene<'a>> {
        let (first, last) = (self.first as usize, self.last as usize + 1);
        let (enter, leave) = (&self.line.calls.enter[first..last], &self.line.calls.leave[first..last]);
        let from = leave.partition_point(|leave| *leave < left_after);
        let to = enter.partition_point(|enter| *enter < entered_before).max(from);
        let scene = |row: usize| Scene { line: self.line, row: row as u32 };
        let window = scene(first).shape().object;
        (first + from..first + to).map(scene).filter(move |scene| scene.waits() && scene.is_access(window, self.target))
    }
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

/// A call waits once, however many messages or operations it completes: of the waits of one kind in one call only the longest counts, and
/// of those for somebody, which all begin when the call is entered, what those before have not counted.
fn once(waits: &[Wait]) -> Vec<Wait> {
    let mut kept: Vec<Wait> = Vec::with_capacity(waits.len());
    for same_call in waits.chunk_by(|a, b| a.row == b.row) {
        let first = kept.len();
        for wait in same_call {
            match kept[first..].iter_mut().find(|other| other.pattern == wait.pattern) {
                Some(other) if other.ns < wait.ns => *other = *wait,
                Some(_) => {}
                None => kept.push(*wait),
            }
        }
        let mut counted = 0;
        for wait in kept[first..].iter_mut().filter(|wait| wait.cause != At::NOWHERE) {
            (wait.ns, counted) = (wait.ns - counted, counted.max(wait.ns));
        }
    }
    kept.retain(|wait| wait.ns > 0);
    kept
}
