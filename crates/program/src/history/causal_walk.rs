//! Visits all calls of a history in causal order.
//!
//! A receive comes after its send, the end of a collective after the arrival of all members it depends on, the end of an access epoch after
//! the matching post, and the end of an exposure epoch after the last access. (Locks are not ordered.) A [`CausalVisitor`] assigns a time
//! to each call on entry and gets, before the call leaves, the latest time of its dependencies. Clock correction and the own time of calls
//! are computed this way.
//!
//! A location advances until a dependency is missing; whatever satisfies it wakes the location up. In a process group, all processes
//! advance until every location is blocked, then exchange updates.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_recording::comm_event::CollectiveGroup;

use super::call_dependency::{MemberDependency, call_dependency, member_dependency};
use super::neighbour_topology::{NeighbourTopology, is_neighbourhood_op};
use super::progress_updates::{ProgressUpdate, UpdateExchange};
use super::{AccessEpoch, CallId, CollectiveCall, CollectiveInstance, History, Location, NO_ROW};
use crate::process_group::ProcessGroup;

/// Visitor of a causal walk.
pub trait CausalVisitor {
    /// Enters a call; returns the time that its dependants see.
    fn enter(&mut self, location: usize, row: usize) -> i64;

    /// Leaves a call, given the latest time of its dependencies, if it has any.
    fn leave(&mut self, location: usize, row: usize, needed: Option<i64>);
}

/// Visits every call and returns how many had to be left before their dependencies: if messages were matched wrongly because calls are
/// missing, two locations can block each other.
pub fn causal_walk(history: &History, comm: &dyn ProcessGroup, visitor: &mut impl CausalVisitor) -> u64 {
    let mut walker = CausalWalker::new(history, comm);
    let mut forced = 0;
    loop {
        while let Some(location) = walker.ready.pop() {
            walker.advance(location, visitor);
        }
        let moved = walker.exchange_updates(comm);
        if moved {
            continue;
        }
        match walker.resolve_stall(comm) {
            StallOutcome::Done => return forced,
            StallOutcome::Elsewhere => {}
            StallOutcome::Here(location) => {
                forced += 1;
                walker.force_leave(location, visitor);
            }
        }
    }
}

/// Not yet known.
const NOT_YET: i64 = i64::MIN;

/// The arrivals at a collective.
#[derive(Clone, Copy)]
struct InstanceArrivals {
    count: u32,
    latest: i64,
    root: i64,
}

/// Progress of a location.
#[derive(Clone, Default)]
struct LocationProgress {
    row: usize,
    entered: bool,
    received: usize,
    sent: usize,
    joined: usize,
    /// Completions by later calls (collectives, synchronous sends, epochs), by completing call.
    completions: Vec<(u32, PendingCompletion)>,
    next_completion: usize,
    /// Calls whose entry other ranks depend on, with the dependants: posts of receives of synchronous messages, posts of windows, ends of
    /// access epochs.
    awaited: Vec<(u32, CallId)>,
    next_awaited: usize,
    /// When each message was sent.
    send_times: Vec<i64>,
    /// Locations that need a message sent by this row.
    waiters: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PendingCompletion {
    Collective(u32),
    Send(u32),
    Access(u32),
    Exposure(u32),
}

enum StallOutcome {
    Done,
    Elsewhere,
    Here(usize),
}

/// Why a location is blocked.
enum MissingInput {
    /// A message from a local location, sent by that row.
    LocalMessage(usize, u32),
    /// A collective, and the rank in the communicator that is missing; [`NO_ROW`] if it is all of them or the root.
    Collective(u32, u32),
    /// A call that has not been entered.
    Call(CallId),
    /// A message from another process.
    RemoteMessage,
}

/// Locations that may be able to advance, each once. A location forced past a dependency is still woken by it later.
struct ReadyQueue {
    queue: VecDeque<u32>,
    is_queued: Vec<bool>,
}

impl ReadyQueue {
    fn all(locations: usize) -> ReadyQueue {
        ReadyQueue { queue: (0..locations as u32).collect(), is_queued: vec![true; locations] }
    }

    fn pop(&mut self) -> Option<usize> {
        let location = self.queue.pop_front()? as usize;
        self.is_queued[location] = false;
        Some(location)
    }

    fn wake(&mut self, location: u32) {
        if !std::mem::replace(&mut self.is_queued[location as usize], true) {
            self.queue.push_back(location);
        }
    }
}

struct CausalWalker<'a> {
    history: &'a History,
    progress: Vec<LocationProgress>,
    arrivals: Vec<InstanceArrivals>,
    /// When each member arrived, where not all members are needed.
    arrival_times: FxHashMap<u32, Vec<i64>>,
    /// Locations blocked at collectives, and for which communicator rank.
    collective_waiters: FxHashMap<u32, Vec<(u32, u32)>>,
    /// Locations that are checked again after every exchange of updates.
    remote_waiters: Vec<u32>,
    /// When calls that other ranks depend on were entered.
    enter_times: FxHashMap<CallId, i64>,
    /// Locations blocked on such a call.
    call_waiters: FxHashMap<CallId, Vec<u32>>,
    ready: ReadyQueue,
    updates: UpdateExchange,
}

impl<'a> CausalWalker<'a> {
    fn new(history: &'a History, comm: &dyn ProcessGroup) -> CausalWalker<'a> {
        let mut progress: Vec<LocationProgress> = history.locations.iter().map(LocationProgress::new).collect();
        let posts = history.locations.iter().flat_map(|location| awaited_posts(location).chain(awaited_members(history, location)));
        for post in comm.all_to_all(history.distribution.group_by_owner(posts, |post| post.posted.rank)).into_iter().flatten() {
            if let Some(location) = history.location_index(post.posted) {
                progress[location].awaited.push((post.posted.row, post.sender));
            }
        }
        progress.iter_mut().for_each(|location| location.awaited.sort_unstable());
        CausalWalker {
            history,
            progress,
            arrivals: vec![InstanceArrivals { count: 0, latest: NOT_YET, root: NOT_YET }; history.collectives.len()],
            arrival_times: FxHashMap::default(),
            collective_waiters: FxHashMap::default(),
            remote_waiters: Vec::new(),
            enter_times: FxHashMap::default(),
            call_waiters: FxHashMap::default(),
            ready: ReadyQueue::all(history.locations.len()),
            updates: UpdateExchange::new(history, comm),
        }
    }

    /// Advances a location until a dependency is missing.
    fn advance(&mut self, location: usize, visitor: &mut impl CausalVisitor) {
        while self.progress[location].row < self.history.locations[location].len() {
            self.enter(location, visitor);
            match self.latest_dependency(location) {
                Ok(needed) => self.leave(location, visitor, needed),
                Err(missing) => return self.suspend(location, missing),
            }
        }
    }

    /// Leaves a call without its dependencies.
    fn force_leave(&mut self, location: usize, visitor: &mut impl CausalVisitor) {
        self.remote_waiters.retain(|waiting| *waiting as usize != location);
        self.leave(location, visitor, None);
        self.ready.wake(location as u32);
    }

    fn enter(&mut self, location: usize, visitor: &mut impl CausalVisitor) {
        let progress = &mut self.progress[location];
        if progress.entered {
            return;
        }
        progress.entered = true;
        let (history, row) = (self.history, progress.row as u32);
        let value = visitor.enter(location, progress.row);
        let own = &history.locations[location];
        while let Some(sent) = own.sent.get(progress.sent).filter(|sent| sent.row == row) {
            progress.send_times[progress.sent] = value;
            if !self.updates.is_single && sent.receiver != CallId::NONE {
                self.updates.send_to_owner(
                    history,
                    sent.receiver.rank,
                    ProgressUpdate::sent(own.call_id(row), progress.sent as u32, value),
                );
            }
            progress.sent += 1;
        }
        let mut awaited = false;
        while let Some((_, other)) = progress.awaited.get(progress.next_awaited).filter(|(awaited, _)| *awaited <= row) {
            awaited = true;
            if !self.updates.is_single {
                self.updates.send_to_owner(history, other.rank, ProgressUpdate::entered(own.call_id(row), value));
            }
            progress.next_awaited += 1;
        }
        if !progress.waiters.is_empty() {
            let ready = &mut self.ready;
            progress.waiters.retain(|(needed, waiting)| {
                let still = *needed > row;
                if !still {
                    ready.wake(*waiting);
                }
                still
            });
        }
        if awaited {
            self.notify_entered(own.call_id(row), value);
        }
        while let Some(collective) = own.collectives.get(self.progress[location].joined).filter(|collective| collective.row == row) {
            self.progress[location].joined += 1;
            let is_root = history.collectives[collective.instance as usize].root.0 == own.call_id(row);
            let index = comm_rank(history, own, collective);
            self.arrive(collective.instance, index, is_root, value);
            if !self.updates.is_single {
                self.updates.broadcast(ProgressUpdate::arrived(&history.collectives[collective.instance as usize], index, is_root, value));
            }
        }
    }

    /// Records the entry of a call and wakes its dependants.
    fn notify_entered(&mut self, call: CallId, value: i64) {
        self.enter_times.insert(call, value);
        self.call_waiters.remove(&call).into_iter().flatten().for_each(|location| self.ready.wake(location));
    }

    /// Records an arrival at a collective.
    fn arrive(&mut self, instance_id: u32, index: u32, is_root: bool, value: i64) {
        let instance = &self.history.collectives[instance_id as usize];
        let arrivals = &mut self.arrivals[instance_id as usize];
        arrivals.count += 1;
        arrivals.latest = arrivals.latest.max(value);
        if is_root {
            arrivals.root = value;
        }
        let one_by_one = member_dependency(instance.op, false) == MemberDependency::Subset;
        if one_by_one {
            let values = self.arrival_times.entry(instance_id).or_default();
            values.resize(values.len().max(index as usize + 1), NOT_YET);
            values[index as usize] = value;
        }
        let enough = arrivals.count >= instance.members || is_root;
        if let Entry::Occupied(mut waiting) = self.collective_waiters.entry(instance_id) {
            let wakes = |awaited: u32| if one_by_one { awaited == index } else { enough };
            waiting.get_mut().extract_if(.., |(_, awaited)| wakes(*awaited)).for_each(|(location, _)| self.ready.wake(location));
            if waiting.get().is_empty() {
                waiting.remove();
            }
        }
    }

    /// The latest time of the dependencies of a location's current call.
    fn latest_dependency(&self, location: usize) -> Result<Option<i64>, MissingInput> {
        let (own, progress) = (&self.history.locations[location], &self.progress[location]);
        let row = progress.row as u32;
        let mut needed = None;
        for received in own.received[progress.received..].iter().take_while(|received| received.row == row) {
            if received.sender != CallId::NONE {
                needed = needed.max(Some(self.send_time(received.sender, received.sender_index)?));
            }
        }
        for (_, completion) in progress.completions[progress.next_completion..].iter().take_while(|(done, _)| *done == row) {
            let value = match completion {
                PendingCompletion::Collective(index) => self.collective_time(own, *index)?,
                PendingCompletion::Send(index) => Some(self.enter_time(own.sent[*index as usize].posted())?),
                PendingCompletion::Access(index) => Some(self.enter_time(own.accesses[*index as usize].post)?),
                PendingCompletion::Exposure(index) => Some(self.enter_time(own.exposures[*index as usize].complete)?),
            };
            needed = needed.max(value);
        }
        Ok(needed)
    }

    fn enter_time(&self, call: CallId) -> Result<i64, MissingInput> {
        self.enter_times.get(&call).copied().ok_or(MissingInput::Call(call))
    }

    fn send_time(&self, sender: CallId, index: u32) -> Result<i64, MissingInput> {
        match self.history.location_index(sender) {
            None => self.updates.received_sends.get(&(sender.rank, sender.thread, index)).copied().ok_or(MissingInput::RemoteMessage),
            Some(location) => match self.progress[location].send_times.get(index as usize) {
                Some(&value) if value != NOT_YET => Ok(value),
                _ => Err(MissingInput::LocalMessage(location, sender.row)),
            },
        }
    }

    fn collective_time(&self, own: &Location, index: u32) -> Result<Option<i64>, MissingInput> {
        let collective = &own.collectives[index as usize];
        let (instance, arrivals) = (&self.history.collectives[collective.instance as usize], &self.arrivals[collective.instance as usize]);
        match call_dependency(own, collective, instance) {
            MemberDependency::None => Ok(None),
            MemberDependency::Member => own.dependency(collective).map(|needed| self.enter_time(needed.last.0)).transpose(),
            MemberDependency::All if arrivals.count >= instance.members => Ok(Some(arrivals.latest)),
            MemberDependency::Root if instance.root.0 == CallId::NONE => Ok(None),
            MemberDependency::Root if arrivals.root != NOT_YET => Ok(Some(arrivals.root)),
            MemberDependency::Subset => {
                let came = self.arrival_times.get(&collective.instance).map_or(&[][..], Vec::as_slice);
                let moment = |index: u32| match came.get(index as usize) {
                    Some(&value) if value != NOT_YET => Ok(Some(value)),
                    _ => Err(MissingInput::Collective(collective.instance, index)),
                };
                needed_comm_ranks(self.history, own, collective).try_fold(None, |latest, index| Ok(moment(index)?.max(latest)))
            }
            MemberDependency::All | MemberDependency::Root => Err(MissingInput::Collective(collective.instance, NO_ROW)),
        }
    }

    fn leave(&mut self, location: usize, visitor: &mut impl CausalVisitor, needed: Option<i64>) {
        let (own, progress) = (&self.history.locations[location], &mut self.progress[location]);
        let row = progress.row as u32;
        visitor.leave(location, progress.row, needed);
        while own.received.get(progress.received).is_some_and(|received| received.row == row) {
            let received = &own.received[progress.received];
            if received.consumed && !self.updates.is_single {
                self.updates.received_sends.remove(&(received.sender.rank, received.sender.thread, received.sender_index));
            }
            progress.received += 1;
        }
        while progress.completions.get(progress.next_completion).is_some_and(|(done, _)| *done == row) {
            progress.next_completion += 1;
        }
        progress.row += 1;
        progress.entered = false;
    }

    fn suspend(&mut self, location: usize, missing: MissingInput) {
        match missing {
            MissingInput::LocalMessage(on, row) => self.progress[on].waiters.push((row, location as u32)),
            MissingInput::Collective(instance_id, index) => {
                self.collective_waiters.entry(instance_id).or_default().push((location as u32, index))
            }
            MissingInput::Call(call) => self.call_waiters.entry(call).or_default().push(location as u32),
            MissingInput::RemoteMessage => self.remote_waiters.push(location as u32),
        }
    }

    /// Exchanges updates with the other processes; returns whether there were any.
    fn exchange_updates(&mut self, comm: &dyn ProcessGroup) -> bool {
        if self.updates.is_single {
            return false;
        }
        let buffers = std::mem::replace(&mut self.updates.outgoing, vec![Vec::new(); comm.size()]);
        let has_updates = buffers.iter().any(|buffer| !buffer.is_empty());
        for update in comm.all_to_all(buffers).into_iter().flatten() {
            self.apply_update(update);
        }
        self.remote_waiters.drain(..).for_each(|location| self.ready.wake(location));
        let flags = vec![vec![u8::from(has_updates)]; comm.size()];
        comm.all_to_all(flags).into_iter().flatten().any(|flag| flag != 0)
    }

    fn apply_update(&mut self, update: ProgressUpdate) {
        match update.kind {
            ProgressUpdate::SENT => {
                _ = self.updates.received_sends.insert((update.call.rank, update.call.thread, update.index), update.value)
            }
            ProgressUpdate::ENTERED => self.notify_entered(update.call, update.value),
            _ => {
                if let Some(instance_id) = self.updates.instance_index(self.history, &update) {
                    self.arrive(instance_id, update.index, update.is_root != 0, update.value);
                }
            }
        }
    }

    /// If all locations are blocked, picks the one whose call was entered first.
    fn resolve_stall(&mut self, comm: &dyn ProcessGroup) -> StallOutcome {
        let waiting = self.progress.iter().enumerate().filter_map(|(index, progress)| {
            let location = &self.history.locations[index];
            let enter = *location.calls.enter.get(progress.row)?;
            Some((enter, location.call_id(progress.row as u32), index))
        });
        let first = waiting.min();
        let mine = first.map_or(StalledCall { enter: i64::MAX, call: CallId::NONE, padding: 0 }, |(enter, call, _)| StalledCall {
            enter,
            call,
            padding: 0,
        });
        let all = comm.all_to_all(vec![vec![mine]; comm.size()]);
        let least = all.into_iter().flatten().map(|stuck| (stuck.enter, stuck.call)).min();
        match (least, first) {
            (Some((i64::MAX, _)) | None, _) => StallOutcome::Done,
            (Some(least), Some((enter, call, index))) if least == (enter, call) => StallOutcome::Here(index),
            _ => StallOutcome::Elsewhere,
        }
    }
}

/// The first blocked call of a process.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct StalledCall {
    enter: i64,
    call: CallId,
    padding: u32,
}

impl LocationProgress {
    fn new(location: &Location) -> LocationProgress {
        let collective = location
            .collectives
            .iter()
            .enumerate()
            .map(|(index, collective)| (collective.completion, PendingCompletion::Collective(index as u32)));
        let sent = location.sent.iter().enumerate().filter(|(_, sent)| sent.synchronous && sent.receiver != CallId::NONE);
        let sent = sent.map(|(index, sent)| (sent.completion, PendingCompletion::Send(index as u32)));
        let accesses = location.accesses.iter().enumerate().filter(|(_, access)| needs_post(location, access));
        let accesses = accesses.map(|(index, access)| (access.complete, PendingCompletion::Access(index as u32)));
        let exposures = location.exposures.iter().enumerate().filter(|(_, exposure)| exposure.complete != CallId::NONE);
        let exposures = exposures.map(|(index, exposure)| (exposure.wait, PendingCompletion::Exposure(index as u32)));
        let all = collective.chain(sent).chain(accesses).chain(exposures);
        let mut completions: Vec<(u32, PendingCompletion)> = all.filter(|(done, _)| *done != NO_ROW).collect();
        completions.sort_unstable();
        LocationProgress {
            completions,
            awaited: awaited(location),
            send_times: vec![NOT_YET; location.sent.len()],
            ..LocationProgress::default()
        }
    }
}

/// A call that posts the receive of a synchronous send or enters a collective, and the call that depends on its entry.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct AwaitedPost {
    posted: CallId,
    sender: CallId,
}

/// The entries of other members on which the collectives of a location depend, one by one.
fn awaited_members<'a>(history: &'a History, location: &'a Location) -> impl Iterator<Item = AwaitedPost> + 'a {
    let awaits = |collective: &&CollectiveCall| {
        let instance = &history.collectives[collective.instance as usize];
        collective.completion != NO_ROW && call_dependency(location, collective, instance) == MemberDependency::Member
    };
    location.collectives.iter().filter(awaits).filter_map(|collective| {
        let posted = location.dependency(collective)?.last.0;
        Some(AwaitedPost { posted, sender: location.call_id(collective.row) })
    })
}

/// The posts on which the synchronous sends of a location depend.
fn awaited_posts(location: &Location) -> impl Iterator<Item = AwaitedPost> {
    let synchronous = location.sent.iter().filter(|sent| sent.synchronous && sent.receiver != CallId::NONE);
    synchronous.map(|sent| AwaitedPost { posted: sent.posted(), sender: location.call_id(sent.row) })
}

/// Whether an access epoch ended after the matching post: a library may buffer the data and let the origin continue earlier.
fn needs_post(location: &Location, access: &AccessEpoch) -> bool {
    access.post != CallId::NONE && access.complete != NO_ROW && location.calls.leave[access.complete as usize] >= access.post_enter
}

/// The calls of epochs whose entry other ranks depend on, with the dependants.
fn awaited(location: &Location) -> Vec<(u32, CallId)> {
    let accesses = location.accesses.iter().filter(|access| access.complete != NO_ROW).map(|access| (access.complete, access.post));
    let exposures = location.exposures.iter().map(|exposure| (exposure.post, exposure.complete));
    accesses.chain(exposures).filter(|(_, other)| *other != CallId::NONE).collect()
}

/// The communicator rank of a member, where it matters.
fn comm_rank(history: &History, location: &Location, collective: &CollectiveCall) -> u32 {
    let before = || location.dependency(collective).map_or(0, |before| before.members);
    topology(history, collective).map_or_else(before, |neighbourhood| neighbourhood.comm_rank(location.rank))
}

/// The communicator ranks a member depends on.
fn needed_comm_ranks<'a>(history: &'a History, location: &Location, collective: &CollectiveCall) -> Box<dyn Iterator<Item = u32> + 'a> {
    let Some(before) = location.dependency(collective) else { return Box::new(std::iter::empty()) };
    let Some(neighbourhood) = topology(history, collective) else { return Box::new(0..before.members) };
    let sources = neighbourhood.sources(location.rank);
    if sources.len() == before.members as usize {
        return Box::new(sources.iter().copied());
    }
    // Some neighbours had nothing to send or were not recorded; the last of the others is known.
    Box::new(std::iter::once(neighbourhood.comm_rank(before.last.0.rank)))
}

fn topology<'a>(history: &'a History, collective: &CollectiveCall) -> Option<&'a NeighbourTopology> {
    match &history.collectives[collective.instance as usize] {
        CollectiveInstance { op, group: CollectiveGroup::Communicator(number) | CollectiveGroup::Persistent(number, _), .. }
            if is_neighbourhood_op(*op) =>
        {
            history.topologies.get(number)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_woken_twice_goes_on_once() {
        let mut ready = ReadyQueue::all(2);
        ready.wake(1);
        assert_eq!([ready.pop(), ready.pop(), ready.pop()], [Some(0), Some(1), None]);
        ready.wake(1);
        ready.wake(1);
        assert_eq!([ready.pop(), ready.pop()], [Some(1), None]);
    }
}
