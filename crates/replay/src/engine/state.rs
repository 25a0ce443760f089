//! State shared by all locations: messages, collectives, costs, and the run queue.

use rustc_hash::FxHashMap;
use sintonia_collective::CollectiveRound;

use super::collectives::{CollectivePartId, PendingCollectives};
use super::compiled::{CallAttribution, CallOp, ChunkCache, CompiledChunk};
use super::core_waits::CoreWaits;
use super::deferred_events::DeferredEventQueue;
use super::location::{CallRecord, CallStage, LocationState, RequestSlots};
use super::messages::{ChannelKey, MatchingQueues, MessageId, NONE, TimePair, UNKNOWN_TIME, Waiter};
use super::overrides::OverrideState;
use super::result::SiteTally;
use super::rma::WindowLocks;
use super::samples::TransferSamples;
use super::{RecordedNetwork, ReplayCosts};
use crate::Error;
use crate::changes::ReplayChanges;
use crate::core_waits::CoreWaitRemoval;
use crate::network::{self, NetworkModel};
use crate::platform::{MessageCost, Platform};
use crate::schedule::{LocationId, Schedule, SendMode};

/// Shared state of a replay.
pub(super) struct ReplayState<'a> {
    pub schedule: &'a dyn Schedule,
    pub costs: &'a ReplayCosts,
    pub changes: &'a ReplayChanges,
    pub messages: MatchingQueues,
    pub collectives: PendingCollectives,
    /// Compiled chunks.
    pub chunk_cache: ChunkCache,
    /// The chunk being compiled.
    pub draft_chunk: CompiledChunk,
    /// Member ids by location and group.
    pub member_ids: FxHashMap<(u32, sintonia_recording::comm_event::CollectiveGroup), u32>,
    /// Number of persistent collectives by location and communicator.
    pub persistent_counts: FxHashMap<(u32, u32), u32>,
    pub requests: Vec<RequestSlots>,
    pub message_costs: Vec<MessageCost>,
    /// Whether some messages only progress while both ends are in MPI.
    pub any_needs_progress: bool,
    pub cost_ids: FxHashMap<(bool, u64, u8), u32>,
    /// Run queue.
    pub runnable: Vec<Waiter>,
    /// Locations waiting for a request that another thread will create, by that thread.
    pub request_waiters: FxHashMap<u32, Vec<u32>>,
    pub deferred_events: DeferredEventQueue,
    pub network: Option<Box<dyn NetworkModel>>,
    /// Whether the locations of a rank share its injection port, so that messages enter it in time order.
    pub shares_ports: bool,
    /// When the injection port of each location is free; a shared one is that of the first location.
    pub send_free_time: Vec<f64>,
    /// When the ejection port of each location is free.
    pub receive_free_time: Vec<f64>,
    pub locks: WindowLocks,
    pub samples: TransferSamples,
    /// Waiting for a core that is removed.
    pub core_waits: CoreWaits,
    pub tallies: Vec<SiteTally>,
    pub tally_ids: FxHashMap<(u32, u16), u32>,
    /// Sends that may have waited for their receive.
    pub possible_waits: Vec<(u32, MessageId)>,
    /// Recorded time of `MPI_Init`.
    pub recorded_start: f64,
    pub n_calls: u64,
    /// World rank of each location.
    pub location_ranks: Vec<u32>,
    /// First location of each rank.
    pub first_locations: Vec<u32>,
    /// Locations by rank and thread.
    pub location_ids: FxHashMap<(u32, u16), u32>,
    pub scratch_round: CollectiveRound,
    pub completed_parts: Vec<CollectivePartId>,
    pub scratch_arrivals: Vec<(f64, MessageId)>,
    /// Call overrides, if any.
    pub overrides: Option<OverrideState<'a>>,
    /// Calls that completed without their dependency.
    pub n_forced: u64,
}

impl<'a> ReplayState<'a> {
    pub(super) fn new(
        schedule: &'a dyn Schedule,
        costs: &'a ReplayCosts,
        changes: &'a ReplayChanges,
        locations: &[LocationId],
    ) -> Result<ReplayState<'a>, Error> {
        let network = match costs {
            ReplayCosts::Machine(platform) if !changes.no_contention => build_network(platform)?,
            _ => None,
        };
        Ok(ReplayState {
            schedule,
            costs,
            changes,
            messages: MatchingQueues::default(),
            collectives: PendingCollectives::default(),
            chunk_cache: ChunkCache::default(),
            draft_chunk: CompiledChunk::default(),
            member_ids: FxHashMap::default(),
            persistent_counts: FxHashMap::default(),
            requests: locations.iter().map(|_| RequestSlots::default()).collect(),
            message_costs: Vec::new(),
            any_needs_progress: false,
            cost_ids: FxHashMap::default(),
            runnable: Vec::new(),
            request_waiters: FxHashMap::default(),
            deferred_events: DeferredEventQueue::default(),
            network,
            shares_ports: schedule.shares_ports(),
            send_free_time: vec![0.0; locations.len()],
            receive_free_time: vec![0.0; locations.len()],
            locks: WindowLocks::default(),
            samples: TransferSamples::default(),
            core_waits: CoreWaits::read(schedule, locations, changes.core_waits)?,
            tallies: Vec::new(),
            tally_ids: FxHashMap::default(),
            possible_waits: Vec::new(),
            recorded_start: 0.0,
            n_calls: 0,
            first_locations: first_locations(locations),
            location_ranks: locations.iter().map(|location| location.rank).collect(),
            location_ids: locations.iter().zip(0..).map(|(location, index)| ((location.rank, location.thread), index)).collect(),
            scratch_round: CollectiveRound::default(),
            completed_parts: Vec::new(),
            scratch_arrivals: Vec::new(),
            overrides: changes.call_overrides.as_ref().map(|overrides| OverrideState::new(overrides, schedule.ranks(), locations.len())),
            n_forced: 0,
        })
    }

    /// The machine, if there is one.
    pub(super) fn platform(&self) -> Option<&'a Platform> {
        match self.costs {
            ReplayCosts::Machine(platform) => Some(platform),
            ReplayCosts::Recorded(_) => None,
        }
    }

    /// The recorded network, if that is replayed.
    pub(super) fn recorded_network(&self) -> Option<&'a RecordedNetwork> {
        match self.costs {
            ReplayCosts::Machine(_) => None,
            ReplayCosts::Recorded(network) => Some(network),
        }
    }

    /// Whether communication is free.
    pub(super) fn is_ideal(&self) -> bool {
        self.recorded_network().is_some_and(RecordedNetwork::is_ideal)
    }

    /// Whether unsuccessful polls take their recorded time if the program then does something else.
    #[inline]
    pub(super) fn polls_take_time(&self) -> bool {
        self.recorded_network().is_some_and(|network| !network.is_ideal())
    }

    /// Index of the cost of a message.
    pub(super) fn message_cost_id(&mut self, from: u32, to: u32, bytes: u64, mode: SendMode) -> u32 {
        let Some(platform) = self.platform() else {
            let rendezvous = mode == SendMode::Synchronous;
            return self.intern_cost((false, bytes, mode as u8), || MessageCost {
                bytes: bytes as f64,
                rendezvous,
                ..MessageCost::default()
            });
        };
        let key = (platform.leaves_node(from, to), bytes, mode as u8);
        self.intern_cost(key, || platform.message_cost(from, to, bytes, mode))
    }

    fn intern_cost(&mut self, key: (bool, u64, u8), cost: impl FnOnce() -> MessageCost) -> u32 {
        let next = self.message_costs.len() as u32;
        let number = *self.cost_ids.entry(key).or_insert(next);
        if number == next {
            let cost = cost();
            self.any_needs_progress |= cost.needs_progress;
            self.message_costs.push(cost);
        }
        number
    }

    /// Computes, then enters the next call.
    #[inline]
    pub(super) fn compute_and_enter(&mut self, location: &mut LocationState, record: &CallRecord) {
        let attribution = location.compiled.attributions[record.action as usize];
        let op = location.compiled.ops[record.action as usize];
        let polls_on = record.is_idle_gap() && op.continues_polling();
        let mut before = record.busy_time();
        if self.changes.core_waits == CoreWaitRemoval::Nothing {
            before += record.core_wait_time();
        }
        let mut seconds = if polls_on { 0.0 } else { before };
        if attribution.segment != NONE || self.changes.affects_all_segments() {
            seconds = self.changes.compute_time(
                attribution.segment,
                location.id.rank,
                (location.last_site, attribution.site),
                location.n_calls,
                seconds,
            );
        }
        if !self.changes.moved_work.is_empty() {
            seconds = self.changes.with_moved_work(location.id, location.n_calls, seconds);
        }
        match (polls_on, op) {
            (true, CallOp::Poll) => location.poll_time += if self.polls_take_time() { before } else { 0.0 },
            (true, _) => location.poll_time = 0.0,
            (false, _) => seconds += std::mem::take(&mut location.poll_time),
        }
        location.computed_from = location.now;
        location.now += seconds * location.slowdown;
        if self.overrides.is_some() {
            location.now = self.ready_time(location);
        }
        location.recorded_now += record.gap_time();
        (location.enter_time, location.recorded_enter_time) = (location.now, location.recorded_now);
        if !polls_on {
            location.recorded_wait_start = location.recorded_now;
        }
        location.stage = CallStage::Entered;
        location.n_completed = 0;
    }

    /// Leaves the current call.
    #[inline]
    pub(super) fn exit_call(&mut self, location: &mut LocationState, record: &CallRecord, attribution: CallAttribution) {
        let duration = record.duration();
        location.recorded_now = location.recorded_enter_time + duration;
        if self.overrides.is_some() {
            self.note_exit(location, record);
        }
        let tally = &mut self.tallies[attribution.tally as usize];
        tally.calls += 1;
        tally.recorded_s += duration;
        tally.replayed_s += location.now - location.enter_time;
        self.n_calls += 1;
        location.last_site = attribution.site;
        location.next_record += 1;
        location.n_calls += 1;
        location.stage = CallStage::Computing;
    }

    /// Adds a waiter to the run queue.
    #[inline]
    pub(super) fn wake(&mut self, waiter: Waiter) {
        if waiter != NONE {
            self.runnable.push(waiter);
        }
    }

    /// Posts a send.
    #[inline]
    pub(super) fn send_message(&mut self, sender: u32, key: ChannelKey, cost: u32, to: u32, at: TimePair, attended: bool) -> MessageId {
        let id = self.messages.match_send(key);
        let message = self.messages.get_mut(id);
        message.sent = at;
        message.cost_id = cost;
        message.sender = sender;
        message.destination = to;
        if attended {
            message.sender_ready_time = at.simulated;
        }
        let watcher = self.messages.take_prober(key);
        self.wake(watcher);
        self.dispatch(id);
        id
    }

    /// Posts a receive.
    #[inline]
    pub(super) fn post_receive(&mut self, key: ChannelKey, at: TimePair, attended: bool) -> MessageId {
        let id = self.messages.match_receive(key);
        let message = self.messages.get_mut(id);
        message.posted = at;
        if attended {
            message.receiver_ready_time = at.simulated;
        }
        // The sender may only be waiting for the receive to be posted.
        let waiter = if message.arrival_time == UNKNOWN_TIME { NONE } else { std::mem::replace(&mut message.send_waiter, NONE) };
        self.wake(waiter);
        self.dispatch(id);
        id
    }

    /// One end of a message makes progress.
    pub(super) fn progress_message(&mut self, id: MessageId, sends: bool, at: f64) {
        let message = self.messages.get_mut(id);
        let ready = if sends { &mut message.sender_ready_time } else { &mut message.receiver_ready_time };
        if *ready == UNKNOWN_TIME {
            *ready = at;
            self.dispatch(id);
        }
    }

    /// Starts the transfer if nothing holds it back.
    #[inline]
    pub(super) fn dispatch(&mut self, id: MessageId) {
        let message = self.messages.get(id);
        if message.sent.simulated == UNKNOWN_TIME || message.departure_time != UNKNOWN_TIME || message.in_network {
            return;
        }
        let cost = self.message_costs[message.cost_id as usize];
        let start = if cost.rendezvous {
            let both = message.sender_ready_time.max(message.receiver_ready_time);
            if both == UNKNOWN_TIME || message.posted.simulated == UNKNOWN_TIME {
                return;
            }
            both
        } else {
            message.sent.simulated
        };
        if self.network.is_some() && cost.leaves_node || self.shares_ports && cost.occupancy > 0.0 {
            self.messages.get_mut(id).in_network = true;
            self.deferred_events.schedule_transfer(start, id);
            return;
        }
        self.depart(id, message.sender as usize, start);
    }

    /// A message leaves through a port as soon as that is free.
    #[inline]
    pub(super) fn depart(&mut self, id: MessageId, port: usize, start: f64) {
        let cost = self.message_costs[self.messages.get(id).cost_id as usize];
        let departure = start.max(if cost.occupancy > 0.0 { self.send_free_time[port] } else { start });
        if cost.occupancy > 0.0 {
            self.send_free_time[port] = departure + cost.occupancy;
        }
        self.arrive(id, departure, departure + cost.transfer_time());
    }

    /// A message has arrived: wakes its waiters.
    #[inline]
    pub(super) fn arrive(&mut self, id: MessageId, departure: f64, arrived: f64) {
        let message = self.messages.get_mut(id);
        (message.departure_time, message.arrival_time) = (departure, arrived);
        let (sender, receiver) = (message.send_waiter, message.receive_waiter);
        (message.send_waiter, message.receive_waiter) = (NONE, NONE);
        self.wake(sender);
        self.wake(receiver);
    }

    /// Completes a receive that waits since `from`; returns when.
    #[inline]
    pub(super) fn receive_message(&mut self, receiver: u32, id: MessageId, from: f64) -> f64 {
        let message = self.messages.get(id);
        let cost = self.message_costs[message.cost_id as usize];
        let mut arrival = message.arrival_time;
        if cost.occupancy > 0.0 && self.network.is_none() {
            let free = &mut self.receive_free_time[receiver as usize];
            arrival = arrival.max(*free + cost.occupancy);
            *free = arrival;
        }
        self.messages.release(id);
        arrival.max(from) + cost.receive
    }

    /// When a rendezvous sender is done.
    #[inline]
    pub(super) fn sender_done_time(&mut self, id: MessageId, from: f64, blocking: bool) -> f64 {
        let message = self.messages.get(id);
        let cost = self.message_costs[message.cost_id as usize];
        let away = if self.network.is_some() && cost.leaves_node { message.arrival_time } else { message.departure_time + cost.send };
        self.messages.release(id);
        if blocking { away.max(from) } else { away.max(from) + cost.wait }
    }
}

/// First location of each rank.
fn first_locations(locations: &[LocationId]) -> Vec<u32> {
    let ranks = locations.iter().map(|location| location.rank as usize + 1).max().unwrap_or(0);
    let mut firsts = vec![NONE; ranks];
    for (index, location) in locations.iter().enumerate().rev() {
        firsts[location.rank as usize] = index as u32;
    }
    firsts
}

/// The network model of a machine with shared links.
fn build_network(platform: &Platform) -> Result<Option<Box<dyn NetworkModel>>, Error> {
    let Some(topology) = &platform.machine().topology else { return Ok(None) };
    let network = network::build(platform.machine(), platform.figure_selection())?;
    let (used, nodes) = (platform.nodes.iter().max().map_or(0, |last| last.saturating_add(1)), topology.node_count());
    if used > nodes {
        return Err(Error::TopologyTooSmall { used, nodes });
    }
    Ok(Some(network))
}
