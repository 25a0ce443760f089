//! The simulation itself: events in the order of time, over the processors and network interfaces of the ranks.

use sintonia_formats::goal::Goal;
use sintonia_formats::goal::graph::{Kind, Operation};

use super::costs::{Costs, PICOSECONDS};
use super::event::{Event, What};
use super::line::{Line, State};
use super::meeting::Meetings;
use super::queue::Queue;
use super::ranks::{Ranks, Seat, Use};
use super::{Error, Loggps, stuck};

/// How a schedule went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// When each rank was done, in picoseconds.
    pub ends_ps: Vec<u64>,
    /// How many operations and messages that took.
    pub events: u64,
}

impl Played {
    /// When the last rank was done, in seconds.
    pub fn seconds(&self) -> f64 {
        self.ends_ps.iter().max().map_or(0.0, |end| *end as f64 / PICOSECONDS)
    }
}

const PS_PER_NS: u64 = 1000;

/// Plays a schedule from its beginning to its end.
pub fn play(goal: &Goal, machine: &Loggps) -> Result<Played, Error> {
    let mut player = Player::of(goal, Costs::of(machine));
    player.begin();
    while let Some((now, event)) = player.queue.pop() {
        player.event(now, event);
    }
    let waiting = player.meetings.waiting(&player.states);
    if player.left > 0 || !waiting.is_empty() {
        return Err(stuck::why(goal, &waiting));
    }
    let ends_ps: Vec<u64> = (0..goal.rank_count()).map(|rank| player.ranks.end(rank)).collect();
    if ends_ps.contains(&u64::MAX) {
        return Err(Error::TooLong);
    }
    Ok(Played { ends_ps, events: player.events })
}

struct Player<'a> {
    goal: &'a Goal,
    costs: Costs,
    queue: Queue,
    states: Vec<State>,
    meetings: Meetings,
    /// Of each line of a rank, the first one stands in the queue.
    ranks: Ranks,
    /// Operations that wait for nothing any more.
    freed: Vec<u32>,
    numbered: u32,
    events: u64,
    /// Operations that are not done.
    left: usize,
}

impl<'a> Player<'a> {
    fn of(goal: &'a Goal, costs: Costs) -> Player<'a> {
        let states = goal.operations().iter().map(|operation| State::waiting_for(operation.needs)).collect();
        let (queue, meetings, ranks) = (Queue::default(), Meetings::of(goal), Ranks::of(goal));
        Player { goal, costs, queue, states, meetings, ranks, freed: Vec::new(), numbered: 0, events: 0, left: goal.operations().len() }
    }

    /// Begins with what waits for nothing, rank by rank.
    fn begin(&mut self) {
        let goal = self.goal;
        for rank in 0..goal.rank_count() {
            self.freed
                .extend(goal.of_rank(rank).filter(|operation| goal.operations()[*operation].needs == 0).map(|operation| operation as u32));
            self.release(0, rank);
        }
    }

    fn event(&mut self, now: u64, event: Event) {
        let rank = event.rank as usize;
        match event.what() {
            What::Compute => self.compute(now, event),
            What::Send => self.send(now, event),
            What::Receive => self.receive(now, event.operation(), rank),
            What::Arrive => self.arrive(now, event),
            What::End => self.done(event.operation()),
        }
        self.release(now, rank);
    }

    fn compute(&mut self, now: u64, event: Event) {
        let Some(seat) = self.sit_down(now, event, Use::Compute) else { return };
        let operation = event.operation();
        let end = now.saturating_add(self.operation(operation).size.saturating_mul(PS_PER_NS));
        self.ranks.occupy(seat, end, end);
        self.call_next(seat, event);
        self.satisfy(operation, true);
        self.done_at(operation, event.rank, now, end);
    }

    fn send(&mut self, now: u64, event: Event) {
        let Some(seat) = self.sit_down(now, event, Use::Send) else { return };
        let operation = event.operation();
        let size = self.operation(operation).size;
        let times = self.costs.times(size);
        let end = now.saturating_add(times.send);
        self.ranks.occupy(seat, end, now.saturating_add(times.interface));
        self.call_next(seat, event);
        self.satisfy(operation, true);
        let arrival = now.saturating_add(self.costs.overhead).saturating_add(self.costs.latency);
        let number = self.number(operation);
        self.queue.push(arrival, Event::new(number, What::Arrive, operation, self.destination(operation)));
        if size <= self.costs.eager_bytes {
            self.done_at(operation, event.rank, now, end);
        }
    }

    fn receive(&mut self, now: u64, operation: u32, rank: usize) {
        self.satisfy(operation, true);
        if let Some(message) = self.meet(operation) {
            self.acknowledge(now, message);
            let taken_in = *self.ranks.cpu(rank, self.operation(message).cpu);
            self.done_at(operation, rank as u32, now, taken_in);
        }
    }

    fn arrive(&mut self, now: u64, event: Event) {
        let message = event.operation();
        let seat = self.seat(event, Use::TakeIn);
        let line = self.ranks.line(seat);
        if line.first() != Some(message) {
            self.ranks.set_line(seat, line.with(message, &mut self.states));
            if line.first().is_some() {
                return;
            }
        }
        let Some(seat) = self.sit_down(now, event, Use::TakeIn) else { return };
        let times = self.costs.times(self.operation(message).size);
        let end = now.saturating_add(times.receive);
        self.ranks.occupy(seat, end, now.saturating_add(times.interface));
        self.call_next(seat, event);
        if let Some(receive) = self.meet(message) {
            self.acknowledge(now, message);
            self.done_at(receive, event.rank, now, end);
        }
    }

    #[inline]
    fn operation(&self, operation: u32) -> &'a Operation {
        &self.goal.operations()[operation as usize]
    }

    #[inline]
    fn destination(&self, message: u32) -> u32 {
        self.operation(message).channel().map_or(0, |channel| self.goal.channels()[channel].destination)
    }

    fn meet(&mut self, operation: u32) -> Option<u32> {
        let channel = self.operation(operation).channel()?;
        self.meetings.meet(operation, channel, self.goal, &mut self.states)
    }

    /// Tells the sender of a large message that it has been received. LogGOPSim lets that cost nothing.
    fn acknowledge(&mut self, now: u64, message: u32) {
        let send = self.operation(message);
        if send.size > self.costs.eager_bytes {
            let clock = self.ranks.cpu(self.goal.rank(send), send.cpu);
            *clock = now.max(*clock);
            self.done(message);
        }
    }

    /// Where an event takes place; one of a simple rank needs no look at its operation.
    #[inline]
    fn seat(&self, event: Event, purpose: Use) -> Seat {
        let (cpu, nic) = if self.ranks.are_simple() { (0, 0) } else { place(self.operation(event.operation())) };
        self.ranks.seat(event.rank as usize, cpu, nic, purpose)
    }

    /// The place of the first one of a line, if it can go on now; else it is tried again when it may.
    #[inline]
    fn sit_down(&mut self, now: u64, event: Event, purpose: Use) -> Option<Seat> {
        let seat = self.seat(event, purpose);
        let free_at = self.ranks.free_at(seat);
        if free_at > now {
            self.queue.push(free_at, event);
            return None;
        }
        Some(seat)
    }

    /// The first one of a line has begun: the next one is called.
    #[inline]
    fn call_next(&mut self, seat: Seat, begun: Event) {
        let line = self.ranks.line(seat).without_first(&self.states);
        self.ranks.set_line(seat, line);
        if let Some(next) = line.first() {
            let free_at = self.ranks.free_at(seat);
            self.queue.push(free_at, Event::new(self.states[next as usize].count, begun.what(), next, begun.rank));
        }
    }

    /// The next number in the order of all events; the operation keeps it.
    fn number(&mut self, operation: u32) -> u32 {
        let number = self.numbered;
        self.numbered += 1;
        self.events += 1;
        self.states[operation as usize].count = number;
        number
    }

    fn done(&mut self, operation: u32) {
        self.left -= 1;
        self.satisfy(operation, false);
    }

    /// An operation that has begun now is done then. With one processor, what waits for it cannot go on before anyway.
    fn done_at(&mut self, operation: u32, rank: u32, now: u64, end: u64) {
        if self.goal.cpus() == 1 || end <= now {
            return self.done(operation);
        }
        let number = self.numbered;
        self.numbered += 1;
        self.queue.push(end, Event::new(number, What::End, operation, rank));
    }

    /// An operation has begun or is done: those who waited for that wait for one less.
    #[inline]
    fn satisfy(&mut self, operation: u32, begun: bool) {
        let goal = self.goal;
        for dependent in goal.dependents(operation as usize).iter().filter(|dependent| dependent.waits_for_begin() == begun) {
            let count = &mut self.states[dependent.operation()].count;
            *count -= 1;
            if *count == 0 {
                self.freed.push(dependent.operation() as u32);
            }
        }
    }

    /// Lets what waits for nothing any more line up: rank by rank, sends before receives before computation. All are of this rank, or of
    /// the sender of a large message that it has received.
    #[inline]
    fn release(&mut self, now: u64, rank: usize) {
        if self.freed.is_empty() {
            return;
        }
        let goal = self.goal;
        let rank_of = |operation: u32| {
            if goal.of_rank(rank).contains(&(operation as usize)) { rank } else { goal.rank(&goal.operations()[operation as usize]) }
        };
        let mut freed = std::mem::take(&mut self.freed);
        if freed.len() > 1 {
            freed.sort_by_key(|operation| (rank_of(*operation), goal.operations()[*operation as usize].kind));
        }
        for operation in freed.drain(..) {
            self.line_up(operation, rank_of(operation), now);
        }
        self.freed = freed;
    }

    fn line_up(&mut self, operation: u32, rank: usize, now: u64) {
        let number = self.number(operation);
        let described = self.operation(operation);
        let (cpu, nic) = place(described);
        let (what, purpose) = match described.kind {
            Kind::Compute => (What::Compute, Use::Compute),
            Kind::Send => (What::Send, Use::Send),
            Kind::Receive => {
                let moment = *self.ranks.cpu(rank, cpu);
                return self.queue.push(moment.max(now), Event::new(number, What::Receive, operation, rank as u32));
            }
        };
        let seat = self.ranks.seat(rank, cpu, nic, purpose);
        let line: Line = self.ranks.line(seat);
        self.ranks.set_line(seat, line.with(operation, &mut self.states));
        if line.first().is_none() {
            let moment = self.ranks.free_at(seat).max(now);
            self.queue.push(moment, Event::new(number, what, operation, rank as u32));
        }
    }
}

fn place(operation: &Operation) -> (u8, u8) {
    (operation.cpu, operation.nic)
}
