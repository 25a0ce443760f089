//! Events that must be processed in time order: transfers through shared links and ports, lock requests, wildcard matching.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::location::{CallStage, LocationState};
use super::messages::{MessageId, UNKNOWN_TIME};
use super::state::ReplayState;
use crate::network::NetworkTransfer;

/// An event that must be processed in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeferredEvent {
    /// A message enters the network.
    StartTransfer(MessageId),
    /// A location requests a lock.
    RequestLock(u32),
    /// A location decides which message a wildcard receive matches.
    MatchWildcard {
        /// The location.
        location: u32,
        /// Index of its current call.
        call: u64,
    },
}

/// Sortable time: non-negative floats sort like their bits.
type TimeKey = u64;

/// Pending events, earliest first; first come, first served at equal times.
#[derive(Default)]
pub(super) struct DeferredEventQueue {
    heap: BinaryHeap<Reverse<(TimeKey, u64, DeferredEvent)>>,
    sequence: u64,
}

impl DeferredEventQueue {
    /// Schedules a message to enter the network.
    pub(super) fn schedule_transfer(&mut self, at: f64, message: MessageId) {
        self.schedule(at, DeferredEvent::StartTransfer(message));
    }

    /// Schedules an event.
    pub(super) fn schedule(&mut self, at: f64, decision: DeferredEvent) {
        self.sequence += 1;
        self.heap.push(Reverse((at.max(0.0).to_bits(), self.sequence, decision)));
    }

    fn next_time(&self) -> f64 {
        self.heap.peek().map_or(UNKNOWN_TIME, |Reverse((at, ..))| f64::from_bits(*at))
    }
}

impl ReplayState<'_> {
    /// Processes the earliest event, once no location can advance without it; `false` if there is none.
    pub(super) fn process_next_event(&mut self, locations: &mut [LocationState]) -> bool {
        let own = self.deferred_events.next_time();
        let network = self.network.as_ref().and_then(|network| network.next_time()).unwrap_or(UNKNOWN_TIME);
        if own == UNKNOWN_TIME && network == UNKNOWN_TIME {
            return self.release_possible_wait();
        }
        // Transfers that start now take part in the sharing.
        if network < own {
            self.advance_network(network);
        } else if let Some(Reverse((at, _, decision))) = self.deferred_events.heap.pop() {
            self.process_event(f64::from_bits(at), decision, locations);
        }
        true
    }

    fn process_event(&mut self, at: f64, decision: DeferredEvent, locations: &mut [LocationState]) {
        match decision {
            DeferredEvent::StartTransfer(id) => self.begin_transfer(at, id),
            DeferredEvent::RequestLock(location) => self.request_lock(at, location),
            DeferredEvent::MatchWildcard { location: index, call } => {
                let location = &mut locations[index as usize];
                // A message sent since may arrive before the expected one.
                if location.stage == CallStage::AwaitingDecision && location.n_calls == call {
                    self.decide_wildcard(location);
                    location.stage = CallStage::Decided;
                    self.wake(index);
                }
            }
        }
    }

    fn begin_transfer(&mut self, at: f64, id: MessageId) {
        let message = self.messages.get_mut(id);
        message.departure_time = at;
        let cost = self.message_costs[message.cost_id as usize];
        let (from, to) = (self.location_ranks[message.sender as usize], message.destination);
        if self.network.is_none() || !cost.leaves_node {
            return self.depart(id, self.first_locations[from as usize] as usize, at);
        }
        let node = |rank: u32| self.platform().and_then(|platform| platform.nodes.get(rank as usize).copied()).unwrap_or(rank);
        let transfer =
            NetworkTransfer { from: node(from), to: node(to), bytes: cost.bytes, latency_s: cost.latency, min_s_per_byte: cost.per_byte };
        if let Some(network) = &mut self.network {
            network.begin(at, id, transfer);
        }
    }

    fn advance_network(&mut self, at: f64) {
        let mut arrived = Vec::new();
        if let Some(network) = &mut self.network {
            network.advance(&mut arrived);
        }
        for id in arrived {
            let departure = self.messages.get(id).departure_time;
            self.arrive(id, departure, at);
        }
    }

    /// Notes a send that may have waited for its receive.
    pub(super) fn note_possible_wait(&mut self, location: u32, message: MessageId) {
        if self.possible_waits.len() > 2 * self.location_ranks.len() {
            self.prune_possible_waits();
        }
        self.possible_waits.push((location, message));
    }

    /// Keeps only sends that still wait.
    fn prune_possible_waits(&mut self) {
        let messages = &self.messages;
        self.possible_waits.retain(|(location, id)| {
            let message = messages.get(*id);
            message.send_waiter == *location && message.posted.simulated == UNKNOWN_TIME
        });
    }

    /// Releases the earliest of the sends that may have waited and now block the replay: it did not wait.
    fn release_possible_wait(&mut self) -> bool {
        self.prune_possible_waits();
        let messages = &self.messages;
        let earliest = self.possible_waits.iter().enumerate().min_by(|a, b| {
            let sent = |id: MessageId| messages.get(id).sent.simulated;
            sent(a.1.1).total_cmp(&sent(b.1.1))
        });
        let Some((index, (location, id))) = earliest.map(|(index, both)| (index, *both)) else { return false };
        self.possible_waits.swap_remove(index);
        self.messages.get_mut(id).send_waiter = super::messages::NONE;
        self.wake(location);
        true
    }
}
