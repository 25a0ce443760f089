//! One-sided communication (RMA): accesses and synchronisation.
//!
//! Exposure and completion are empty messages between the ranks concerned. Locks are granted in time order.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::call_step::CallProgress;
use super::core_waits::{Dependency, Partner};
use super::deferred_events::DeferredEvent;
use super::location::{CallRecord, CallStage, LocationState, RequestSlot};
use super::messages::{ChannelKey, NONE, TimePair, UNKNOWN_TIME};
use super::state::ReplayState;
use crate::Error;
use crate::schedule::{CallCompletion, CollectiveAction, ReplayAction, SendMode, WindowSync};

/// Tag bit: a window in place of a communicator.
const WINDOW_TAG: u32 = 1 << 31;
/// Message tag: the window is exposed.
const EXPOSED: i32 = i32::MIN + 1000;
/// Message tag: the access epoch is complete.
const COMPLETED: i32 = i32::MIN + 1001;

/// Lock state of a rank's window.
#[derive(Default)]
struct WindowLock {
    exclusive: bool,
    holders: u32,
    free_time: f64,
    queue: VecDeque<(u32, bool)>,
}

/// All locks, by window and rank.
#[derive(Default)]
pub(super) struct WindowLocks {
    locks: FxHashMap<(u32, u32), WindowLock>,
    /// Pending and granted requests by location.
    requests: FxHashMap<u32, LockRequest>,
}

#[derive(Clone, Copy)]
struct LockRequest {
    window: u32,
    target: u32,
    exclusive: bool,
    granted_time: f64,
}

impl ReplayState<'_> {
    /// A call on a window, or a nonblocking send-receive.
    pub(super) fn window_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        action: u32,
    ) -> Result<CallProgress, Error> {
        let action = location.compiled.actions[action as usize].clone();
        match action {
            ReplayAction::RmaAccess { window, target, put, get, completion } => {
                self.rma_access(index, location, record, (window, target), (put, get), completion);
                Ok(CallProgress::Done)
            }
            ReplayAction::WindowSync { window, sync } => Ok(self.sync_call(index, location, record, window, &sync)),
            ReplayAction::SendReceive(send, receive) => self.start_send_receive(index, location, record, &send, &receive),
            _ => Ok(CallProgress::Done),
        }
    }

    /// A send and a receive with one request.
    fn start_send_receive(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        send: &crate::schedule::SendAction,
        receive: &crate::schedule::ReceiveAction,
    ) -> Result<CallProgress, Error> {
        let at = ReplayState::enter_time_pair(location);
        let known = receive.from.map_or(NONE, |from| self.messages.channel_id((from.peer, location.id.rank, from.communicator, from.tag)));
        let channel = self.resolve_channel(location, known)?;
        let inward = channel.map(|channel| self.post_receive(ChannelKey::Indexed(channel), at, true));
        let cost_id = self.message_cost_id(location.id.rank, send.to.peer, send.bytes, send.mode);
        let out = self.messages.channel_id((location.id.rank, send.to.peer, send.to.communicator, send.to.tag));
        let message = self.send_message(index, ChannelKey::Indexed(out), cost_id, send.to.peer, at, true);
        let cost = self.message_costs[cost_id as usize];
        location.now = if self.recorded_network().is_some() {
            self.recorded_exit_time(location, record, None, cost.bytes)
        } else {
            location.now + cost.start
        };
        let slot = match (inward, cost.rendezvous) {
            (Some(inward), true) => RequestSlot::PendingSendReceive(message, inward),
            (None, true) => RequestSlot::PendingSend(message),
            (inward, false) => {
                self.messages.release(message);
                inward.map_or(RequestSlot::Sent { end_time: location.now }, RequestSlot::PendingReceive)
            }
        };
        self.requests[index as usize].push(slot);
        Ok(CallProgress::Done)
    }

    fn rma_access(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        to: (u32, u32),
        (put, get): (u64, u64),
        completion: CallCompletion,
    ) {
        let (window, target) = to;
        let rank = location.id.rank;
        let cost_id = self.message_cost_id(rank, target, put.max(get), SendMode::Buffered);
        let cost = self.message_costs[cost_id as usize];
        let departure = if cost.occupancy > 0.0 { location.now.max(self.send_free_time[index as usize]) } else { location.now };
        if cost.occupancy > 0.0 {
            self.send_free_time[index as usize] = departure + cost.occupancy;
        }
        // A get is a round trip.
        let arrival = departure + cost.transfer_time() + if get > 0 { cost.latency } else { 0.0 };
        location.now = if self.recorded_network().is_some() {
            self.recorded_exit_time(location, record, None, cost.bytes)
        } else {
            location.now + cost.start
        };
        let end_time = arrival.max(location.now);
        let known = location.rma.get_or_default().accesses.entry((window, target)).or_insert(0.0);
        *known = known.max(end_time);
        if completion == CallCompletion::Nonblocking {
            self.requests[index as usize].push(RequestSlot::RmaAccess { end_time });
        }
    }

    /// A fence completes all accesses.
    pub(super) fn complete_accesses(&mut self, location: &mut LocationState, call: &CollectiveAction) {
        if let sintonia_recording::comm_event::CollectiveGroup::Object(window) = call.group {
            self.complete_target_accesses(location, window, None);
        }
    }

    /// Waits for the location's accesses to a window.
    fn complete_target_accesses(&mut self, location: &mut LocationState, window: u32, target: Option<u32>) {
        let mut end_time = location.now;
        location.rma.get_or_default().accesses.retain(|(of, at), over| {
            let meant = *of == window && target.is_none_or(|target| target == *at);
            if meant {
                end_time = end_time.max(*over);
            }
            !meant
        });
        if self.recorded_network().is_none() {
            location.now = end_time;
        }
    }

    fn sync_call(&mut self, index: u32, location: &mut LocationState, record: &CallRecord, window: u32, sync: &WindowSync) -> CallProgress {
        match sync {
            WindowSync::Post(ranks) => {
                location.rma.get_or_default().exposure_groups.insert(window, ranks.clone());
                self.notify_ranks(index, location, ranks, window, EXPOSED);
                self.finish_as_recorded(location, record)
            }
            WindowSync::Start(ranks) => {
                location.rma.get_or_default().access_groups.insert(window, ranks.clone());
                self.await_ranks(index, location, record, ranks, window, EXPOSED)
            }
            WindowSync::Complete => {
                self.complete_target_accesses(location, window, None);
                let ranks = location.rma.get_or_default().access_groups.remove(&window).unwrap_or_default();
                self.notify_ranks(index, location, &ranks, window, COMPLETED);
                self.finish_as_recorded(location, record)
            }
            WindowSync::Wait => {
                let ranks = location.rma.get_or_default().exposure_groups.get(&window).cloned().unwrap_or_default();
                let step = self.await_ranks(index, location, record, &ranks, window, COMPLETED);
                if step == CallProgress::Done {
                    location.rma.get_or_default().exposure_groups.remove(&window);
                }
                step
            }
            WindowSync::Lock { target: Some(target), exclusive } => self.lock_call(index, location, record, window, *target, *exclusive),
            WindowSync::Lock { target: None, .. } => self.finish_as_recorded(location, record),
            WindowSync::Unlock { target } => {
                self.complete_target_accesses(location, window, *target);
                let step = self.finish_as_recorded(location, record);
                if let Some(target) = target {
                    self.release_lock(window, *target, location.now);
                }
                step
            }
            WindowSync::Flush { target } => {
                self.complete_target_accesses(location, window, *target);
                self.finish_as_recorded(location, record)
            }
        }
    }

    /// For calls that do not wait.
    fn finish_as_recorded(&mut self, location: &mut LocationState, record: &CallRecord) -> CallProgress {
        location.now = self.recorded_exit_time(location, record, None, 0.0);
        CallProgress::Done
    }

    /// Sends a notification about a window.
    fn notify_ranks(&mut self, index: u32, location: &LocationState, ranks: &[u32], window: u32, tag: i32) {
        for rank in ranks {
            let cost = self.message_cost_id(location.id.rank, *rank, 0, SendMode::Buffered);
            let key = ChannelKey::Transient((location.id.rank, *rank, WINDOW_TAG | window, tag));
            let message = self.send_message(index, key, cost, *rank, ReplayState::enter_time_pair(location), true);
            self.messages.release(message);
        }
    }

    /// Waits for notifications about a window.
    fn await_ranks(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        ranks: &[u32],
        window: u32,
        tag: i32,
    ) -> CallProgress {
        if location.stage == CallStage::Entered {
            let at = ReplayState::enter_time_pair(location);
            let post = |rank: &u32| self.post_receive(ChannelKey::Transient((*rank, location.id.rank, WINDOW_TAG | window, tag)), at, true);
            location.rma.get_or_default().sync_messages = ranks.iter().map(post).collect();
        }
        if let Some(missing) = location
            .rma
            .get_or_default()
            .sync_messages
            .iter()
            .copied()
            .find(|message| self.messages.get(*message).arrival_time == UNKNOWN_TIME)
        {
            self.messages.get_mut(missing).receive_waiter = index;
            location.stage = CallStage::Waiting;
            return CallProgress::Waiting;
        }
        let mut dependency: Option<TimePair> = None;
        let mut now = location.now;
        for message in std::mem::take(&mut location.rma.get_or_default().sync_messages) {
            let sent = self.messages.get(message).sent;
            dependency = Some(dependency.map_or(sent, |known| known.max(sent)));
            now = self.receive_message(index, message, now);
        }
        let dependency = dependency.map(|time| Dependency { time, partner: Partner::Everyone });
        location.now = if self.recorded_network().is_some() { self.recorded_exit_time(location, record, dependency, 0.0) } else { now };
        CallProgress::Done
    }

    fn lock_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        window: u32,
        target: u32,
        exclusive: bool,
    ) -> CallProgress {
        // On the recorded network a lock takes its recorded time; on an ideal one it only waits for the holders.
        if self.recorded_network().is_some_and(|network| !network.is_ideal()) {
            return self.finish_as_recorded(location, record);
        }
        if location.stage == CallStage::Entered {
            self.locks.requests.insert(index, LockRequest { window, target, exclusive, granted_time: UNKNOWN_TIME });
            let cost_id = self.message_cost_id(location.id.rank, target, 0, SendMode::Buffered);
            self.deferred_events.schedule(location.now + self.message_costs[cost_id as usize].latency, DeferredEvent::RequestLock(index));
            location.stage = CallStage::Waiting;
            return CallProgress::Waiting;
        }
        match self.locks.requests.get(&index).map(|request| request.granted_time) {
            Some(granted) if granted == UNKNOWN_TIME => CallProgress::Waiting,
            granted => {
                location.now = location.now.max(granted.unwrap_or(location.now));
                self.locks.requests.remove(&index);
                CallProgress::Done
            }
        }
    }

    /// A lock request arrives: it is granted or queued.
    pub(super) fn request_lock(&mut self, at: f64, location: u32) {
        let Some(request) = self.locks.requests.get(&location).copied() else { return };
        let lock = self.locks.locks.entry((request.window, request.target)).or_default();
        let is_free = lock.holders == 0 || !lock.exclusive && !request.exclusive && lock.queue.is_empty();
        if is_free {
            lock.holders += 1;
            lock.exclusive = request.exclusive;
            let granted = if lock.holders == 1 { at.max(lock.free_time) } else { at };
            self.grant_lock(location, granted);
        } else {
            lock.queue.push_back((location, request.exclusive));
        }
    }

    fn grant_lock(&mut self, location: u32, at: f64) {
        if let Some(request) = self.locks.requests.get_mut(&location) {
            request.granted_time = at;
        }
        self.wake(location);
    }

    fn release_lock(&mut self, window: u32, target: u32, at: f64) {
        let Some(lock) = self.locks.locks.get_mut(&(window, target)) else { return };
        lock.holders = lock.holders.saturating_sub(1);
        lock.free_time = lock.free_time.max(at);
        let mut given = Vec::new();
        while let Some((location, exclusive)) = lock.queue.front().copied() {
            if lock.holders > 0 && (exclusive || lock.exclusive) {
                break;
            }
            lock.queue.pop_front();
            lock.holders += 1;
            lock.exclusive = exclusive;
            given.push((location, lock.free_time));
        }
        for (location, at) in given {
            self.grant_lock(location, at);
        }
    }
}
