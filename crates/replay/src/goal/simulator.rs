//! The discrete-event simulation over the CPUs and NICs of all ranks.

use sintonia_formats::goal::GoalSchedule;
use sintonia_formats::goal::graph::{GoalOp, GoalOpKind};

use super::event::{GoalEvent, GoalEventKind};
use super::matching::GoalMatcher;
use super::occupancy::{PS_PER_S, PicosecondCosts};
use super::op_queue::{OperationQueue, OperationState};
use super::radix_heap::RadixHeap;
use super::resources::{RankResources, ResourceSet, ResourceUse};
use super::{GoalError, LogGopsParameters, diagnosis};

/// Result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalResult {
    /// End time of each rank in picoseconds.
    pub ends_ps: Vec<u64>,
    /// Number of processed operations and messages.
    pub events: u64,
}

impl GoalResult {
    /// End time of the last rank in seconds.
    pub fn seconds(&self) -> f64 {
        self.ends_ps.iter().max().map_or(0.0, |end| *end as f64 / PS_PER_S)
    }
}

const PS_PER_NS: u64 = 1000;

/// Is told what happens, in time order.
pub(crate) trait GoalObserver {
    /// An operation starts.
    fn start(&mut self, operation: u32);

    /// An operation is complete.
    fn complete(&mut self, operation: u32);

    /// A receive is matched with a send.
    fn match_receive(&mut self, receive: u32, send: u32);
}

impl GoalObserver for () {
    #[inline]
    fn start(&mut self, _: u32) {}

    #[inline]
    fn complete(&mut self, _: u32) {}

    #[inline]
    fn match_receive(&mut self, _: u32, _: u32) {}
}

/// Simulates a schedule.
pub fn simulate(goal: &GoalSchedule, machine: &LogGopsParameters) -> Result<GoalResult, GoalError> {
    simulate_observed(goal, machine, &mut ())
}

/// Simulates a schedule before the eyes of an observer.
pub(crate) fn simulate_observed(
    goal: &GoalSchedule,
    machine: &LogGopsParameters,
    observer: &mut impl GoalObserver,
) -> Result<GoalResult, GoalError> {
    let mut player = GoalSimulator::new(goal, PicosecondCosts::from_parameters(machine), observer);
    player.start();
    while let Some((now, event)) = player.event_queue.pop() {
        player.process_event(now, event);
    }
    let unmatched = player.matcher.unmatched(&player.states);
    if player.remaining > 0 || !unmatched.is_empty() {
        return Err(diagnosis::diagnose(goal, &unmatched));
    }
    let ends_ps: Vec<u64> = (0..goal.rank_count()).map(|rank| player.resources.end_time(rank)).collect();
    if ends_ps.contains(&u64::MAX) {
        return Err(GoalError::TooLong);
    }
    Ok(GoalResult { ends_ps, events: player.n_events })
}

struct GoalSimulator<'a, O> {
    goal: &'a GoalSchedule,
    observer: &'a mut O,
    costs: PicosecondCosts,
    event_queue: RadixHeap,
    states: Vec<OperationState>,
    matcher: GoalMatcher,
    /// Of each resource queue, only the first operation is in the event queue.
    resources: RankResources,
    /// Operations that have become ready.
    released: Vec<u32>,
    next_sequence: u32,
    n_events: u64,
    /// Operations that are not complete.
    remaining: usize,
}

impl<'a, O: GoalObserver> GoalSimulator<'a, O> {
    fn new(goal: &'a GoalSchedule, costs: PicosecondCosts, observer: &'a mut O) -> GoalSimulator<'a, O> {
        let states = goal.operations().iter().map(|operation| OperationState::waiting_for(operation.dependency_count)).collect();
        let (event_queue, matcher, resources) = (RadixHeap::default(), GoalMatcher::new(goal), RankResources::new(goal));
        GoalSimulator {
            goal,
            observer,
            costs,
            event_queue,
            states,
            matcher,
            resources,
            released: Vec::new(),
            next_sequence: 0,
            n_events: 0,
            remaining: goal.operations().len(),
        }
    }

    /// Enqueues operations without dependencies, rank by rank.
    fn start(&mut self) {
        let goal = self.goal;
        for rank in 0..goal.rank_count() {
            self.released.extend(
                goal.rank_operations(rank)
                    .filter(|operation| goal.operations()[*operation].dependency_count == 0)
                    .map(|operation| operation as u32),
            );
            self.enqueue_released(0, rank);
        }
    }

    fn process_event(&mut self, now: u64, event: GoalEvent) {
        let rank = event.rank as usize;
        match event.kind() {
            GoalEventKind::Compute => self.compute(now, event),
            GoalEventKind::Send => self.send(now, event),
            GoalEventKind::Receive => self.receive(now, event.operation(), rank),
            GoalEventKind::Arrive => self.arrive(now, event),
            GoalEventKind::End => self.complete(event.operation()),
        }
        self.enqueue_released(now, rank);
    }

    fn compute(&mut self, now: u64, event: GoalEvent) {
        let Some(resources) = self.acquire(now, event, ResourceUse::Compute) else { return };
        let operation = event.operation();
        let end = now.saturating_add(self.operation(operation).size.saturating_mul(PS_PER_NS));
        self.resources.occupy(resources, end, end);
        self.start_next(resources, event);
        self.observer.start(operation);
        self.satisfy_dependents(operation, true);
        self.complete_at(operation, event.rank, now, end);
    }

    fn send(&mut self, now: u64, event: GoalEvent) {
        let Some(resources) = self.acquire(now, event, ResourceUse::Send) else { return };
        let operation = event.operation();
        let size = self.operation(operation).size;
        let occupancy = self.costs.occupancy(size);
        let end = now.saturating_add(occupancy.send);
        self.resources.occupy(resources, end, now.saturating_add(occupancy.interface));
        self.start_next(resources, event);
        self.observer.start(operation);
        self.satisfy_dependents(operation, true);
        let arrival = now.saturating_add(self.costs.overhead).saturating_add(self.costs.latency);
        let number = self.assign_sequence(operation);
        self.event_queue.push(arrival, GoalEvent::new(number, GoalEventKind::Arrive, operation, self.destination(operation)));
        if size <= self.costs.eager_bytes {
            self.complete_at(operation, event.rank, now, end);
        }
    }

    fn receive(&mut self, now: u64, operation: u32, rank: usize) {
        self.observer.start(operation);
        self.satisfy_dependents(operation, true);
        if let Some(message) = self.match_or_queue(operation) {
            self.observer.match_receive(operation, message);
            self.acknowledge(now, message);
            let taken_in = *self.resources.cpu_free_time(rank, self.operation(message).cpu);
            self.complete_at(operation, rank as u32, now, taken_in);
        }
    }

    fn arrive(&mut self, now: u64, event: GoalEvent) {
        let message = event.operation();
        let resources = self.resource_set(event, ResourceUse::Receive);
        let queue = self.resources.queue(resources);
        if queue.front() != Some(message) {
            self.resources.set_queue(resources, queue.with_back(message, &mut self.states));
            if queue.front().is_some() {
                return;
            }
        }
        let Some(resources) = self.acquire(now, event, ResourceUse::Receive) else { return };
        let occupancy = self.costs.occupancy(self.operation(message).size);
        let end = now.saturating_add(occupancy.receive);
        self.resources.occupy(resources, end, now.saturating_add(occupancy.interface));
        self.start_next(resources, event);
        if let Some(receive) = self.match_or_queue(message) {
            self.observer.match_receive(receive, message);
            self.acknowledge(now, message);
            self.complete_at(receive, event.rank, now, end);
        }
    }

    #[inline]
    fn operation(&self, operation: u32) -> &'a GoalOp {
        &self.goal.operations()[operation as usize]
    }

    #[inline]
    fn destination(&self, message: u32) -> u32 {
        self.operation(message).channel().map_or(0, |channel| self.goal.channels()[channel].destination)
    }

    fn match_or_queue(&mut self, operation: u32) -> Option<u32> {
        let channel = self.operation(operation).channel()?;
        self.matcher.match_or_queue(operation, channel, self.goal, &mut self.states)
    }

    /// Completes the send of a rendezvous message. The acknowledgement is free, as in LogGOPSim.
    fn acknowledge(&mut self, now: u64, message: u32) {
        let send = self.operation(message);
        if send.size > self.costs.eager_bytes {
            let clock = self.resources.cpu_free_time(self.goal.rank_of(send), send.cpu);
            *clock = now.max(*clock);
            self.complete(message);
        }
    }

    /// Resources of an event; single-CPU ranks need no look at the operation.
    #[inline]
    fn resource_set(&self, event: GoalEvent, usage: ResourceUse) -> ResourceSet {
        let (cpu, nic) = if self.resources.are_single() { (0, 0) } else { cpu_and_nic(self.operation(event.operation())) };
        self.resources.resource_set(event.rank as usize, cpu, nic, usage)
    }

    /// The resources of the first operation of a queue, if they are free; otherwise the event is rescheduled.
    #[inline]
    fn acquire(&mut self, now: u64, event: GoalEvent, usage: ResourceUse) -> Option<ResourceSet> {
        let resources = self.resource_set(event, usage);
        let free_at = self.resources.free_at(resources);
        if free_at > now {
            self.event_queue.push(free_at, event);
            return None;
        }
        Some(resources)
    }

    /// The first operation of a queue has started: schedules the next one.
    #[inline]
    fn start_next(&mut self, resources: ResourceSet, begun: GoalEvent) {
        let queue = self.resources.queue(resources).without_front(&self.states);
        self.resources.set_queue(resources, queue);
        if let Some(next) = queue.front() {
            let free_at = self.resources.free_at(resources);
            self.event_queue.push(free_at, GoalEvent::new(self.states[next as usize].count, begun.kind(), next, begun.rank));
        }
    }

    /// Assigns the next sequence number to an operation.
    fn assign_sequence(&mut self, operation: u32) -> u32 {
        let number = self.next_sequence;
        self.next_sequence += 1;
        self.n_events += 1;
        self.states[operation as usize].count = number;
        number
    }

    fn complete(&mut self, operation: u32) {
        self.remaining -= 1;
        self.observer.complete(operation);
        self.satisfy_dependents(operation, false);
    }

    /// Completes an operation at `end`. With one CPU, dependents cannot start before anyway.
    fn complete_at(&mut self, operation: u32, rank: u32, now: u64, end: u64) {
        if self.goal.cpus() == 1 || end <= now {
            return self.complete(operation);
        }
        let number = self.next_sequence;
        self.next_sequence += 1;
        self.event_queue.push(end, GoalEvent::new(number, GoalEventKind::End, operation, rank));
    }

    /// Decrements the dependency counts of the dependents of a started or completed operation.
    #[inline]
    fn satisfy_dependents(&mut self, operation: u32, begun: bool) {
        let goal = self.goal;
        for dependent in goal.dependents(operation as usize).iter().filter(|dependent| dependent.waits_for_start() == begun) {
            let count = &mut self.states[dependent.operation()].count;
            *count -= 1;
            if *count == 0 {
                self.released.push(dependent.operation() as u32);
            }
        }
    }

    /// Enqueues ready operations: by rank, sends before receives before computation. All belong to this rank, or to the sender of a
    /// rendezvous message it has received.
    #[inline]
    fn enqueue_released(&mut self, now: u64, rank: usize) {
        if self.released.is_empty() {
            return;
        }
        let goal = self.goal;
        let rank_of = |operation: u32| {
            if goal.rank_operations(rank).contains(&(operation as usize)) {
                rank
            } else {
                goal.rank_of(&goal.operations()[operation as usize])
            }
        };
        let mut released = std::mem::take(&mut self.released);
        if released.len() > 1 {
            released.sort_by_key(|operation| (rank_of(*operation), goal.operations()[*operation as usize].kind));
        }
        for operation in released.drain(..) {
            self.enqueue(operation, rank_of(operation), now);
        }
        self.released = released;
    }

    fn enqueue(&mut self, operation: u32, rank: usize, now: u64) {
        let number = self.assign_sequence(operation);
        let described = self.operation(operation);
        let (cpu, nic) = cpu_and_nic(described);
        let (kind, usage) = match described.kind {
            GoalOpKind::Compute => (GoalEventKind::Compute, ResourceUse::Compute),
            GoalOpKind::Send => (GoalEventKind::Send, ResourceUse::Send),
            GoalOpKind::Receive => {
                let time = *self.resources.cpu_free_time(rank, cpu);
                return self.event_queue.push(time.max(now), GoalEvent::new(number, GoalEventKind::Receive, operation, rank as u32));
            }
        };
        let resources = self.resources.resource_set(rank, cpu, nic, usage);
        let queue: OperationQueue = self.resources.queue(resources);
        self.resources.set_queue(resources, queue.with_back(operation, &mut self.states));
        if queue.front().is_none() {
            let time = self.resources.free_at(resources).max(now);
            self.event_queue.push(time, GoalEvent::new(number, kind, operation, rank as u32));
        }
    }
}

fn cpu_and_nic(operation: &GoalOp) -> (u8, u8) {
    (operation.cpu, operation.nic)
}
