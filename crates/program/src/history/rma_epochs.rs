//! Matches epochs of one-sided communication: exposure and access epochs, and the order of locks.
//!
//! For a pair of processes and a window, the n-th `MPI_Win_start` that names the target matches the target's n-th `MPI_Win_post` that names
//! the origin. Locks are ordered by their release: of two that exclude each other, the one released first was acquired first.

use std::collections::{BTreeMap, VecDeque};

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionRole;
use sintonia_recording::Recording;
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::raw::{LOCK_SHARED, part};

use super::{CallId, History, Location, NO_ROW};
use crate::process_group::ProcessGroup;

/// An access epoch for one target, from `MPI_Win_start` to `MPI_Win_complete`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessEpoch {
    /// The call that started it.
    pub start: u32,
    /// The call of the same thread that ended it; [`NO_ROW`] if none did.
    pub complete: u32,
    /// The target process.
    pub target: u32,
    /// The matching `MPI_Win_post`; [`CallId::NONE`] if it was not recorded.
    pub post: CallId,
    /// When that call was entered.
    pub post_enter: i64,
}

/// An exposure epoch for one origin, from `MPI_Win_post` to `MPI_Win_wait`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExposureEpoch {
    /// The call that started it.
    pub post: u32,
    /// The call of the same thread that waited for its end, or successfully tested for it; [`NO_ROW`] if none did.
    pub wait: u32,
    /// The matching `MPI_Win_complete`; [`CallId::NONE`] if it was not recorded.
    pub complete: CallId,
    /// When that call was entered.
    pub complete_enter: i64,
    /// When the last access of that epoch returned, or the start of the epoch if there was none.
    pub accessed_until: i64,
}

/// A lock epoch on the window of one target, from `MPI_Win_lock` to `MPI_Win_unlock`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockEpoch {
    /// The call that requested the lock.
    pub lock: u32,
    /// The call of the same thread that released it; [`NO_ROW`] if none did.
    pub unlock: u32,
    /// The target process.
    pub target: u32,
    /// The release of the previous conflicting lock; [`CallId::NONE`] if there was none.
    pub previous: CallId,
    /// When that call was entered and left.
    pub previous_span: (i64, i64),
}

/// The epochs of one process, before they are matched.
#[derive(Default)]
pub(super) struct RankEpochs {
    access_requests: Vec<AccessRequest>,
    posted_exposures: Vec<PostedExposure>,
    released_locks: Vec<ReleasedLock>,
    accesses: FxHashMap<u32, OpenEpoch>,
    exposures: FxHashMap<u32, OpenEpoch>,
    locks: FxHashMap<(u32, u32), OpenLock>,
    all_locks: FxHashMap<u32, OpenLock>,
}

/// An access epoch, sent to the owner of its target.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct AccessRequest {
    complete_enter: i64,
    accessed_until: i64,
    complete: CallId,
    window: u32,
    target: u32,
    /// Index among the access epochs of its location.
    index: u32,
}

/// An exposure epoch for one origin.
struct PostedExposure {
    window: u32,
    origin: u32,
    location: u32,
    index: u32,
}

/// The reply to the origin of an access epoch.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PostReply {
    post_enter: i64,
    origin: CallId,
    index: u32,
    post: CallId,
    padding: u32,
}

/// A released lock, sent to the owner of its target.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct ReleasedLock {
    enter: i64,
    leave: i64,
    unlock: CallId,
    window: u32,
    target: u32,
    /// Index among the lock epochs of its location.
    index: u32,
    shared: u32,
    padding: u32,
}

/// The lock before another one, sent back to the holder.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PreviousLock {
    enter: i64,
    leave: i64,
    unlock: CallId,
    holder: CallId,
    index: u32,
    padding: u32,
}

/// An open epoch: its range in the access requests, or in the exposure epochs of its location.
struct OpenEpoch {
    location: u32,
    first: usize,
    count: usize,
    accessed_until: i64,
}

/// An open lock of one target, or of all targets (of which those count that are accessed).
struct OpenLock {
    location: u32,
    row: u32,
    shared: bool,
    /// Indices among the lock epochs of the location, by target.
    lock_indices: BTreeMap<u32, u32>,
}

/// A call of a location of this rank.
#[derive(Clone, Copy)]
pub(super) struct LocalCall {
    /// Index of the location.
    pub location: u32,
    /// Row of the call.
    pub row: u32,
}

impl RankEpochs {
    /// Records a call on a window.
    pub(super) fn record_call(&mut self, recording: &Recording, locations: &mut [Location], local_call: LocalCall, call: &RecordedCall) {
        let descriptor = call.descriptor;
        let nothing_done = descriptor.parts & (part::ERROR | part::FLAG_FALSE) != 0;
        let Some(window) = descriptor.window().filter(|_| !nothing_done) else { return };
        let target = u32::try_from(descriptor.peer).ok();
        if descriptor.function.role() != FunctionRole::WindowSync {
            return self.access(locations, window, target, call.leave);
        }
        let group = || {
            let named = if descriptor.has_group_operand() { recording.named_group(descriptor.value) } else { &[] };
            named.iter().filter_map(|rank| u32::try_from(*rank).ok())
        };
        let location = &mut locations[local_call.location as usize];
        match (descriptor.function.name(), target) {
            ("MPI_Win_start", _) => self.start(location, local_call, window, call.leave, group()),
            ("MPI_Win_complete", _) => self.complete(location, local_call, window, call.enter),
            ("MPI_Win_post", _) => self.post(location, local_call, window, group()),
            ("MPI_Win_wait" | "MPI_Win_test", _) => self.wait(location, local_call, window),
            ("MPI_Win_lock", Some(target)) => {
                let shared = descriptor.parts & part::VALUE != 0 && descriptor.value == LOCK_SHARED;
                let mut lock = OpenLock { location: local_call.location, row: local_call.row, shared, lock_indices: BTreeMap::new() };
                lock.add_target(location, target);
                self.locks.insert((window, target), lock);
            }
            ("MPI_Win_lock_all", _) => {
                let lock = OpenLock { location: local_call.location, row: local_call.row, shared: true, lock_indices: BTreeMap::new() };
                self.all_locks.insert(window, lock);
            }
            ("MPI_Win_unlock", Some(target)) => {
                let lock = self.locks.remove(&(window, target));
                self.unlock(location, local_call, window, call, lock);
            }
            ("MPI_Win_unlock_all", _) => {
                let lock = self.all_locks.remove(&window);
                self.unlock(location, local_call, window, call, lock);
            }
            _ => {}
        }
    }

    fn start(&mut self, location: &mut Location, local_call: LocalCall, window: u32, leave: i64, targets: impl Iterator<Item = u32>) {
        let first = self.access_requests.len();
        for target in targets {
            let index = location.accesses.len() as u32;
            location.accesses.push(AccessEpoch { start: local_call.row, complete: NO_ROW, target, post: CallId::NONE, post_enter: 0 });
            self.access_requests.push(AccessRequest {
                complete: location.call_id(NO_ROW),
                window,
                target,
                index,
                ..AccessRequest::zeroed()
            });
        }
        let count = self.access_requests.len() - first;
        self.accesses.insert(window, OpenEpoch { location: local_call.location, first, count, accessed_until: leave });
    }

    fn complete(&mut self, location: &mut Location, local_call: LocalCall, window: u32, enter: i64) {
        let Some(open) = self.accesses.remove(&window).filter(|open| open.location == local_call.location) else { return };
        for request in &mut self.access_requests[open.first..open.first + open.count] {
            location.accesses[request.index as usize].complete = local_call.row;
            (request.complete.row, request.complete_enter, request.accessed_until) = (local_call.row, enter, open.accessed_until);
        }
    }

    fn post(&mut self, location: &mut Location, local_call: LocalCall, window: u32, origins: impl Iterator<Item = u32>) {
        let first = location.exposures.len();
        for origin in origins {
            self.posted_exposures.push(PostedExposure {
                window,
                origin,
                location: local_call.location,
                index: location.exposures.len() as u32,
            });
            location.exposures.push(ExposureEpoch {
                post: local_call.row,
                wait: NO_ROW,
                complete: CallId::NONE,
                complete_enter: 0,
                accessed_until: 0,
            });
        }
        let count = location.exposures.len() - first;
        self.exposures.insert(window, OpenEpoch { location: local_call.location, first, count, accessed_until: 0 });
    }

    fn wait(&mut self, location: &mut Location, local_call: LocalCall, window: u32) {
        let Some(open) = self.exposures.remove(&window).filter(|open| open.location == local_call.location) else { return };
        location.exposures[open.first..open.first + open.count].iter_mut().for_each(|exposure| exposure.wait = local_call.row);
    }

    fn access(&mut self, locations: &mut [Location], window: u32, target: Option<u32>, leave: i64) {
        if let Some(open) = self.accesses.get_mut(&window) {
            open.accessed_until = leave;
        }
        if let (Some(lock), Some(target)) = (self.all_locks.get_mut(&window), target)
            && !self.locks.contains_key(&(window, target))
        {
            lock.add_target(&mut locations[lock.location as usize], target);
        }
    }

    fn unlock(&mut self, location: &mut Location, local_call: LocalCall, window: u32, call: &RecordedCall, lock: Option<OpenLock>) {
        let Some(lock) = lock.filter(|lock| lock.location == local_call.location) else { return };
        for (target, index) in lock.lock_indices {
            location.locks[index as usize].unlock = local_call.row;
            let (enter, leave, shared) = (call.enter, call.leave, u32::from(lock.shared));
            self.released_locks.push(ReleasedLock {
                enter,
                leave,
                unlock: location.call_id(local_call.row),
                window,
                target,
                index,
                shared,
                padding: 0,
            });
        }
    }
}

impl OpenLock {
    /// Adds a lock epoch for a target.
    fn add_target(&mut self, location: &mut Location, target: u32) {
        self.lock_indices.entry(target).or_insert_with(|| {
            location.locks.push(LockEpoch { lock: self.row, unlock: NO_ROW, target, previous: CallId::NONE, previous_span: (0, 0) });
            location.locks.len() as u32 - 1
        });
    }
}

/// Matches the epochs of all processes; they are given by rank of the history.
pub(super) fn match_epochs(history: &mut History, comm: &dyn ProcessGroup, epochs: Vec<RankEpochs>) {
    let (mut requests, mut locks, mut posted_exposures) = (Vec::new(), Vec::new(), Vec::new());
    for rank in epochs {
        requests.extend(rank.access_requests);
        locks.extend(rank.released_locks);
        posted_exposures.push(rank.posted_exposures);
    }
    match_exposures(history, comm, requests, posted_exposures);
    order_locks(history, comm, locks);
    history.locations.iter_mut().for_each(|location| location.epoch_ends = epoch_partners(location));
}

/// The calls that ended epochs of a location, sorted, with the calls of other ranks they depended on.
fn epoch_partners(location: &Location) -> Vec<(u32, CallId)> {
    let accesses = location.accesses.iter().map(|access| (access.complete, access.post));
    let exposures = location.exposures.iter().map(|exposure| (exposure.wait, exposure.complete));
    let epochs = location.locks.iter().map(|epoch| (epoch.unlock, epoch.previous));
    let known = |(end, at): &(u32, CallId)| *end != NO_ROW && *at != CallId::NONE;
    let mut partners: Vec<(u32, CallId)> = accesses.chain(exposures).chain(epochs).filter(known).collect();
    partners.sort_unstable();
    partners
}

/// Matches access and exposure epochs by exchanging requests and replies.
fn match_exposures(
    history: &mut History,
    comm: &dyn ProcessGroup,
    requests: Vec<AccessRequest>,
    posted_exposures: Vec<Vec<PostedExposure>>,
) {
    let mut queues: FxHashMap<(u32, u32, u32), VecDeque<(usize, u32)>> = FxHashMap::default();
    let own = history.distribution.own_ranks().start;
    for (rank, posted_exposures) in posted_exposures.into_iter().enumerate() {
        let first = history.location_ranges[rank].start as usize;
        for posted in posted_exposures {
            let queue = queues.entry((own + rank as u32, posted.window, posted.origin)).or_default();
            queue.push_back((first + posted.location as usize, posted.index));
        }
    }
    let mut replies = Vec::new();
    for request in comm.all_to_all(history.distribution.group_by_owner(requests, |request| request.target)).into_iter().flatten() {
        let queue = queues.get_mut(&(request.target, request.window, request.complete.rank));
        let Some((location, index)) = queue.and_then(VecDeque::pop_front) else { continue };
        let location = &mut history.locations[location];
        let exposure = &mut location.exposures[index as usize];
        if request.complete.row != NO_ROW {
            (exposure.complete, exposure.complete_enter, exposure.accessed_until) =
                (request.complete, request.complete_enter, request.accessed_until);
        }
        let post = exposure.post;
        let post_enter = location.calls.enter[post as usize];
        replies.push(PostReply { post_enter, origin: request.complete, index: request.index, post: location.call_id(post), padding: 0 });
    }
    for reply in comm.all_to_all(history.distribution.group_by_owner(replies, |reply| reply.origin.rank)).into_iter().flatten() {
        if let Some(location) = history.location_index(reply.origin) {
            let access = &mut history.locations[location].accesses[reply.index as usize];
            (access.post, access.post_enter) = (reply.post, reply.post_enter);
        }
    }
}

/// Orders the locks of each window and target, and sends each holder its predecessor.
fn order_locks(history: &mut History, comm: &dyn ProcessGroup, locks: Vec<ReleasedLock>) {
    let mut locks: Vec<ReleasedLock> =
        comm.all_to_all(history.distribution.group_by_owner(locks, |lock| lock.target)).into_iter().flatten().collect();
    locks.sort_unstable_by_key(|lock| (lock.window, lock.target, lock.leave, lock.unlock, lock.index));
    let mut found = Vec::new();
    for same in locks.chunk_by(|a, b| (a.window, a.target) == (b.window, b.target)) {
        let (mut of_any, mut exclusive) = (LatestLocks::default(), LatestLocks::default());
        for lock in same {
            let excluding = if lock.shared != 0 { &exclusive } else { &of_any };
            if let Some(earlier) = excluding.of_other_rank(lock.unlock.rank) {
                let ReleasedLock { enter, leave, unlock, .. } = *earlier;
                found.push(PreviousLock { enter, leave, unlock, holder: lock.unlock, index: lock.index, padding: 0 });
            }
            of_any.add(lock);
            if lock.shared == 0 {
                exclusive.add(lock);
            }
        }
    }
    for earlier in comm.all_to_all(history.distribution.group_by_owner(found, |earlier| earlier.holder.rank)).into_iter().flatten() {
        if let Some(location) = history.location_index(earlier.holder) {
            let epoch = &mut history.locations[location].locks[earlier.index as usize];
            (epoch.previous, epoch.previous_span) = (earlier.unlock, (earlier.enter, earlier.leave));
        }
    }
}

/// The latest lock, and the latest one of another process.
#[derive(Default)]
struct LatestLocks<'a> {
    last: Option<&'a ReleasedLock>,
    other: Option<&'a ReleasedLock>,
}

impl<'a> LatestLocks<'a> {
    fn add(&mut self, lock: &'a ReleasedLock) {
        if self.last.is_some_and(|last| last.unlock.rank != lock.unlock.rank) {
            self.other = self.last;
        }
        self.last = Some(lock);
    }

    fn of_other_rank(&self, rank: u32) -> Option<&'a ReleasedLock> {
        self.last.filter(|last| last.unlock.rank != rank).or(self.other)
    }
}
