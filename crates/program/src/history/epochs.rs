//! Epochs of one-sided communication find each other: who opened a window for whom, who accessed it until when, who held its lock.
//!
//! Between two processes and on one window, the first `MPI_Win_start` that names the other belongs to the other's first `MPI_Win_post` that
//! names the one, the second to the second. Locks have no order but the one in which they were had: of two that exclude each other, the
//! one that was given back first was had first.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Role;
use sintonia_recording::Recording;
use sintonia_recording::raw::{LOCK_SHARED, part};
use sintonia_recording::table::Call;

use super::{At, History, Line, NOWHERE};
use crate::company::Company;

/// An access to the window of one process, from `MPI_Win_start` to `MPI_Win_complete`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// The call that began it.
    pub start: u32,
    /// The call of the same thread that ended it; [`NOWHERE`] if none did.
    pub complete: u32,
    /// The process whose window it is.
    pub target: u32,
    /// The call that opened the window; [`At::NOWHERE`] if that was not recorded.
    pub post: At,
    /// When that one was entered.
    pub post_enter: i64,
}

/// The opening of a window for one process, from `MPI_Win_post` to `MPI_Win_wait`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    /// The call that opened it.
    pub post: u32,
    /// The call of the same thread that waited for the end of the accesses, or found that they had ended; [`NOWHERE`] if none did.
    pub wait: u32,
    /// The call that ended the access; [`At::NOWHERE`] if that was not recorded.
    pub complete: At,
    /// When that one was entered.
    pub complete_enter: i64,
    /// When the last access of that epoch was left, or its beginning if there was none.
    pub accessed_until: i64,
}

/// A lock of the window of one process, from `MPI_Win_lock` to `MPI_Win_unlock`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// The call that asked for it.
    pub lock: u32,
    /// The call of the same thread that gave it back; [`NOWHERE`] if none did.
    pub unlock: u32,
    /// The process whose window it is.
    pub target: u32,
    /// The call that gave back the last lock which excluded this one and was had before; [`At::NOWHERE`] if there was none.
    pub earlier: At,
    /// When that one was entered and left.
    pub earlier_span: (i64, i64),
}

/// The epochs of one process, before the others are asked.
#[derive(Default)]
pub struct Epochs {
    bids: Vec<Bid>,
    offers: Vec<Offer>,
    claims: Vec<Claim>,
    accesses: HashMap<u32, Open>,
    exposures: HashMap<u32, Open>,
    locks: HashMap<(u32, u32), Lock>,
    locks_of_all: HashMap<u32, Lock>,
}

/// An access, on its way to the process whose window it is.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Bid {
    complete_enter: i64,
    accessed_until: i64,
    complete: At,
    window: u32,
    target: u32,
    /// Its place among the accesses of its line.
    place: u32,
}

/// An opening of a window for one process.
struct Offer {
    window: u32,
    origin: u32,
    line: u32,
    place: u32,
}

/// What the origin of an access is told.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Answer {
    post_enter: i64,
    origin: At,
    place: u32,
    post: At,
    padding: u32,
}

/// A lock, on its way to the process whose window it is, and back with the one before it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Claim {
    enter: i64,
    leave: i64,
    unlock: At,
    window: u32,
    target: u32,
    /// Its place among the holds of its line.
    place: u32,
    shared: u32,
    padding: u32,
}

/// The lock before another one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Earlier {
    enter: i64,
    leave: i64,
    unlock: At,
    holder: At,
    place: u32,
    padding: u32,
}

/// An epoch under way: its places among the bids, or among the exposures of its line.
struct Open {
    line: u32,
    first: usize,
    count: usize,
    accessed_until: i64,
}

/// Locks under way: of one process, or of all of which those count that are accessed.
struct Lock {
    line: u32,
    row: u32,
    shared: bool,
    /// Places among the holds of the line, by target.
    places: BTreeMap<u32, u32>,
}

/// A call of a line.
#[derive(Clone, Copy)]
pub struct Here {
    /// The line.
    pub line: u32,
    /// The row.
    pub row: u32,
}

impl Epochs {
    /// Notes what a call that has to do with a window means for the epochs of its process.
    pub fn note(&mut self, recording: &Recording, lines: &mut [Line], here: Here, call: &Call) {
        let shape = call.shape;
        let nothing_done = shape.parts & (part::ERROR | part::FOUND_NOTHING) != 0;
        let Some(window) = shape.window().filter(|_| !nothing_done) else { return };
        let target = u32::try_from(shape.peer).ok();
        if shape.operation.role() != Role::WindowSync {
            return self.access(lines, window, target, call.leave);
        }
        let group = || {
            let named = if shape.names_group() { recording.named_group(shape.value) } else { &[] };
            named.iter().filter_map(|rank| u32::try_from(*rank).ok())
        };
        let line = &mut lines[here.line as usize];
        match (shape.operation.name(), target) {
            ("MPI_Win_start", _) => self.start(line, here, window, call.leave, group()),
            ("MPI_Win_complete", _) => self.complete(line, here, window, call.enter),
            ("MPI_Win_post", _) => self.post(line, here, window, group()),
            ("MPI_Win_wait" | "MPI_Win_test", _) => self.wait(line, here, window),
            ("MPI_Win_lock", Some(target)) => {
                let shared = shape.parts & part::VALUE != 0 && shape.value == LOCK_SHARED;
                let mut lock = Lock { line: here.line, row: here.row, shared, places: BTreeMap::new() };
                lock.of(line, target);
                self.locks.insert((window, target), lock);
            }
            ("MPI_Win_lock_all", _) => {
                let lock = Lock { line: here.line, row: here.row, shared: true, places: BTreeMap::new() };
                self.locks_of_all.insert(window, lock);
            }
            ("MPI_Win_unlock", Some(target)) => {
                let lock = self.locks.remove(&(window, target));
                self.unlock(line, here, window, call, lock);
            }
            ("MPI_Win_unlock_all", _) => {
                let lock = self.locks_of_all.remove(&window);
                self.unlock(line, here, window, call, lock);
            }
            _ => {}
        }
    }

    fn start(&mut self, line: &mut Line, here: Here, window: u32, leave: i64, targets: impl Iterator<Item = u32>) {
        let first = self.bids.len();
        for target in targets {
            let place = line.accesses.len() as u32;
            line.accesses.push(Access { start: here.row, complete: NOWHERE, target, post: At::NOWHERE, post_enter: 0 });
            self.bids.push(Bid { complete: line.at(NOWHERE), window, target, place, ..Bid::zeroed() });
        }
        let count = self.bids.len() - first;
        self.accesses.insert(window, Open { line: here.line, first, count, accessed_until: leave });
    }

    fn complete(&mut self, line: &mut Line, here: Here, window: u32, enter: i64) {
        let Some(open) = self.accesses.remove(&window).filter(|open| open.line == here.line) else { return };
        for bid in &mut self.bids[open.first..open.first + open.count] {
            line.accesses[bid.place as usize].complete = here.row;
            (bid.complete.row, bid.complete_enter, bid.accessed_until) = (here.row, enter, open.accessed_until);
        }
    }

    fn post(&mut self, line: &mut Line, here: Here, window: u32, origins: impl Iterator<Item = u32>) {
        let first = line.exposures.len();
        for origin in origins {
            self.offers.push(Offer { window, origin, line: here.line, place: line.exposures.len() as u32 });
            line.exposures.push(Exposure { post: here.row, wait: NOWHERE, complete: At::NOWHERE, complete_enter: 0, accessed_until: 0 });
        }
        let count = line.exposures.len() - first;
        self.exposures.insert(window, Open { line: here.line, first, count, accessed_until: 0 });
    }

    fn wait(&mut self, line: &mut Line, here: Here, window: u32) {
        let Some(open) = self.exposures.remove(&window).filter(|open| open.line == here.line) else { return };
        line.exposures[open.first..open.first + open.count].iter_mut().for_each(|exposure| exposure.wait = here.row);
    }

    fn access(&mut self, lines: &mut [Line], window: u32, target: Option<u32>, leave: i64) {
        if let Some(open) = self.accesses.get_mut(&window) {
            open.accessed_until = leave;
        }
        if let (Some(lock), Some(target)) = (self.locks_of_all.get_mut(&window), target)
            && !self.locks.contains_key(&(window, target))
        {
            lock.of(&mut lines[lock.line as usize], target);
        }
    }

    fn unlock(&mut self, line: &mut Line, here: Here, window: u32, call: &Call, lock: Option<Lock>) {
        let Some(lock) = lock.filter(|lock| lock.line == here.line) else { return };
        for (target, place) in lock.places {
            line.holds[place as usize].unlock = here.row;
            let (enter, leave, shared) = (call.enter, call.leave, u32::from(lock.shared));
            self.claims.push(Claim { enter, leave, unlock: line.at(here.row), window, target, place, shared, padding: 0 });
        }
    }
}

impl Lock {
    /// Counts the lock of one process.
    fn of(&mut self, line: &mut Line, target: u32) {
        self.places.entry(target).or_insert_with(|| {
            line.holds.push(Hold { lock: self.row, unlock: NOWHERE, target, earlier: At::NOWHERE, earlier_span: (0, 0) });
            line.holds.len() as u32 - 1
        });
    }
}

/// Brings the epochs of all processes together; they are by rank of the history.
pub fn join(history: &mut History, company: &dyn Company, epochs: Vec<Epochs>) {
    let (mut bids, mut claims, mut offers) = (Vec::new(), Vec::new(), Vec::new());
    for rank in epochs {
        bids.extend(rank.bids);
        claims.extend(rank.claims);
        offers.push(rank.offers);
    }
    answer(history, company, bids, offers);
    order(history, company, claims);
    history.lines.iter_mut().for_each(|line| line.partners = partners(line));
}

/// The calls that ended epochs of a line, in order, and the calls of others that those depended on.
fn partners(line: &Line) -> Vec<(u32, At)> {
    let accesses = line.accesses.iter().map(|access| (access.complete, access.post));
    let exposures = line.exposures.iter().map(|exposure| (exposure.wait, exposure.complete));
    let holds = line.holds.iter().map(|hold| (hold.unlock, hold.earlier));
    let known = |(end, at): &(u32, At)| *end != NOWHERE && *at != At::NOWHERE;
    let mut partners: Vec<(u32, At)> = accesses.chain(exposures).chain(holds).filter(known).collect();
    partners.sort_unstable();
    partners
}

/// Tells the targets of accesses who accesses them, and the origins when they were let in.
fn answer(history: &mut History, company: &dyn Company, bids: Vec<Bid>, offers: Vec<Vec<Offer>>) {
    let mut queues: HashMap<(u32, u32, u32), VecDeque<(usize, u32)>> = HashMap::new();
    let own = history.share.own().start;
    for (rank, offers) in offers.into_iter().enumerate() {
        let first = history.places[rank].start as usize;
        for offer in offers {
            let queue = queues.entry((own + rank as u32, offer.window, offer.origin)).or_default();
            queue.push_back((first + offer.line as usize, offer.place));
        }
    }
    let mut answers = Vec::new();
    for bid in company.swap(history.share.sorted(bids, |bid| bid.target)).into_iter().flatten() {
        let queue = queues.get_mut(&(bid.target, bid.window, bid.complete.rank));
        let Some((line, place)) = queue.and_then(VecDeque::pop_front) else { continue };
        let line = &mut history.lines[line];
        let exposure = &mut line.exposures[place as usize];
        if bid.complete.row != NOWHERE {
            (exposure.complete, exposure.complete_enter, exposure.accessed_until) = (bid.complete, bid.complete_enter, bid.accessed_until);
        }
        let post = exposure.post;
        let post_enter = line.calls.enter[post as usize];
        answers.push(Answer { post_enter, origin: bid.complete, place: bid.place, post: line.at(post), padding: 0 });
    }
    for answer in company.swap(history.share.sorted(answers, |answer| answer.origin.rank)).into_iter().flatten() {
        if let Some(line) = history.line(answer.origin) {
            let access = &mut history.lines[line].accesses[answer.place as usize];
            (access.post, access.post_enter) = (answer.post, answer.post_enter);
        }
    }
}

/// Orders the locks of each window and target, and tells each holder of the one before.
fn order(history: &mut History, company: &dyn Company, claims: Vec<Claim>) {
    let mut claims: Vec<Claim> = company.swap(history.share.sorted(claims, |claim| claim.target)).into_iter().flatten().collect();
    claims.sort_unstable_by_key(|claim| (claim.window, claim.target, claim.leave, claim.unlock, claim.place));
    let mut found = Vec::new();
    for same in claims.chunk_by(|a, b| (a.window, a.target) == (b.window, b.target)) {
        let (mut of_any, mut exclusive) = (Latest::default(), Latest::default());
        for claim in same {
            let excluding = if claim.shared != 0 { &exclusive } else { &of_any };
            if let Some(earlier) = excluding.of_another(claim.unlock.rank) {
                let Claim { enter, leave, unlock, .. } = *earlier;
                found.push(Earlier { enter, leave, unlock, holder: claim.unlock, place: claim.place, padding: 0 });
            }
            of_any.add(claim);
            if claim.shared == 0 {
                exclusive.add(claim);
            }
        }
    }
    for earlier in company.swap(history.share.sorted(found, |earlier| earlier.holder.rank)).into_iter().flatten() {
        if let Some(line) = history.line(earlier.holder) {
            let hold = &mut history.lines[line].holds[earlier.place as usize];
            (hold.earlier, hold.earlier_span) = (earlier.unlock, (earlier.enter, earlier.leave));
        }
    }
}

/// The latest of some locks, and the latest of those that another process had.
#[derive(Default)]
struct Latest<'a> {
    last: Option<&'a Claim>,
    other: Option<&'a Claim>,
}

impl<'a> Latest<'a> {
    fn add(&mut self, claim: &'a Claim) {
        if self.last.is_some_and(|last| last.unlock.rank != claim.unlock.rank) {
            self.other = self.last;
        }
        self.last = Some(claim);
    }

    fn of_another(&self, rank: u32) -> Option<&'a Claim> {
        self.last.filter(|last| last.unlock.rank != rank).or(self.other)
    }
}
