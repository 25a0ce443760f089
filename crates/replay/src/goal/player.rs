//! The simulation itself: events in the order of time, over the processors and network interfaces of the ranks.

use sintonia_formats::goal::Goal;
use sintonia_formats::goal::graph::{Kind, Operation};

use super::costs::{Costs, PICOSECONDS};
use super::event::{Event, What};
use super::meeting::{Line, Meetings};
use super::pairs::Pairs;
use super::queue::Queue;
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
    while let Some((now, order)) = player.queue.pop() {
        player.event(now, Event(order));
    }
    let waiting = player.meetings.waiting(&player.states);
    if player.left > 0 || !waiting.is_empty() {
        return Err(stuck::why(goal, &waiting));
    }
    let ends_ps: Vec<u64> = player.cpus.chunks(goal.cpus().max(1)).map(|cpus| cpus.iter().copied().max().unwrap_or(0)).collect();
    if ends_ps.contains(&u64::MAX) {
        return Err(Error::TooLong);
    }
    Ok(Played { ends_ps, events: player.events })
}

/// What is known of an operation while the schedule is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// How many it still waits for; when it waits for none, its number in the order of all events.
    count: u32,
    /// The one behind it in its line.
    pub next: u32,
}

struct Player<'a> {
    goal: &'a Goal,
    costs: Costs,
    queue: Queue,
    states: Vec<State>,
    meetings: Meetings,
    /// When processors, and network interfaces for what goes out and what comes in, are free; by rank and number.
    cpus: Vec<u64>,
    out: Vec<u64>,
    into: Vec<u64>,
    /// Operations and messages that wait until these are free, by rank, pair and [`Use`]. The first one of each line stands in the queue.
    lines: Vec<Line>,
    pairs: Pairs,
    /// Operations that wait for nothing any more.
    freed: Vec<u32>,
    numbered: u32,
    events: u64,
    /// Operations that are not done.
    left: usize,
}

/// What a processor is used for, alone or with one side of a network interface.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Compute,
    Send,
    TakeIn,
}

/// Where an operation, or the message of a send, takes place.
#[derive(Clone, Copy)]
struct Seat {
    cpu: usize,
    nic: usize,
    line: usize,
}

impl<'a> Player<'a> {
    fn of(goal: &'a Goal, costs: Costs) -> Player<'a> {
        let (ranks, pairs) = (goal.rank_count(), Pairs::of(goal));
        Player {
            goal,
            costs,
            queue: Queue::default(),
            states: goal.operations().iter().map(|operation| State { count: operation.needs, next: 0 }).collect(),
            meetings: Meetings::of(goal),
            cpus: vec![0; ranks * goal.cpus().max(1)],
            out: vec![0; ranks * goal.nics().max(1)],
            into: vec![0; ranks * goal.nics().max(1)],
            lines: vec![Line::EMPTY; ranks * pairs.count() * 3],
            pairs,
            freed: Vec::new(),
            numbered: 0,
            events: 0,
            left: goal.operations().len(),
        }
    }

    /// Begins with what waits for nothing, rank by rank.
    fn begin(&mut self) {
        let goal = self.goal;
        for rank in 0..goal.rank_count() {
            self.freed.extend(goal.of_rank(rank).filter(|operation| goal.operations()[*operation].needs == 0).map(|operation| operation as u32));
            self.release(0);
        }
    }

    fn event(&mut self, now: u64, event: Event) {
        let operation = event.operation();
        match (event.what(), self.goal.operations()[operation as usize].kind) {
            (What::Begin, Kind::Compute) => self.compute(now, event),
            (What::Begin, Kind::Send) => self.send(now, event),
            (What::Begin, Kind::Receive) => self.receive(now, operation),
            (What::Arrive, _) => self.arrive(now, event),
            (What::End, _) => self.done(operation),
        }
        self.release(now);
    }

    fn compute(&mut self, now: u64, event: Event) {
        let operation = event.operation();
        let Operation { size, cpu, .. } = self.goal.operations()[operation as usize];
        let seat = self.seat(self.goal.rank(&self.goal.operations()[operation as usize]), cpu, 0, Use::Compute);
        if !self.is_free(seat, Use::Compute, now, event) {
            return;
        }
        let end = now.saturating_add(size.saturating_mul(PS_PER_NS));
        self.cpus[seat.cpu] = end;
        self.call_next(seat, Use::Compute);
        self.begun(operation);
        self.done_at(operation, now, end);
    }

    fn send(&mut self, now: u64, event: Event) {
        let operation = event.operation();
        let Operation { size, cpu, nic, .. } = self.goal.operations()[operation as usize];
        let seat = self.seat(self.goal.rank(&self.goal.operations()[operation as usize]), cpu, nic, Use::Send);
        if !self.is_free(seat, Use::Send, now, event) {
            return;
        }
        let times = self.costs.times(size);
        let end = now.saturating_add(times.send);
        self.cpus[seat.cpu] = end;
        self.out[seat.nic] = now.saturating_add(times.interface);
        self.call_next(seat, Use::Send);
        self.begun(operation);
        let number = self.number(operation);
        let arrival = now.saturating_add(self.costs.overhead).saturating_add(self.costs.latency);
        self.queue.push(arrival, Event::new(number, What::Arrive, operation).0);
        if size <= self.costs.eager_bytes {
            self.done_at(operation, now, end);
        }
    }

    fn receive(&mut self, now: u64, operation: u32) {
        self.begun(operation);
        if let Some(message) = self.meet(operation) {
            self.acknowledge(now, message);
            let Operation { cpu, .. } = self.goal.operations()[message as usize];
            let taken_in = self.cpus[self.rank_of(operation) * self.goal.cpus() + usize::from(cpu)];
            self.done_at(operation, now, taken_in);
        }
    }

    fn arrive(&mut self, now: u64, event: Event) {
        let message = event.operation();
        let Operation { size, cpu, nic, .. } = self.goal.operations()[message as usize];
        let seat = self.seat(self.destination(message), cpu, nic, Use::TakeIn);
        match self.lines[seat.line].first() {
            Some(first) if first != message => return self.lines[seat.line].push(message, &mut self.states),
            Some(_) => {}
            None => self.lines[seat.line].push(message, &mut self.states),
        }
        if !self.is_free(seat, Use::TakeIn, now, event) {
            return;
        }
        let times = self.costs.times(size);
        let end = now.saturating_add(times.receive);
        self.cpus[seat.cpu] = end;
        self.into[seat.nic] = now.saturating_add(times.interface);
        self.call_next(seat, Use::TakeIn);
        if let Some(receive) = self.meet(message) {
            self.acknowledge(now, message);
            self.done_at(receive, now, end);
        }
    }

    fn meet(&mut self, operation: u32) -> Option<u32> {
        let channel = self.goal.operations()[operation as usize].channel()?;
        self.meetings.meet(operation, channel, self.goal, &mut self.states)
    }

    /// Tells the sender of a large message that it has been received. LogGOPSim lets that cost nothing.
    fn acknowledge(&mut self, now: u64, message: u32) {
        let Operation { size, cpu, .. } = self.goal.operations()[message as usize];
        if size > self.costs.eager_bytes {
            let clock = &mut self.cpus[self.goal.rank(&self.goal.operations()[message as usize]) * self.goal.cpus() + usize::from(cpu)];
            *clock = now.max(*clock);
            self.done(message);
        }
    }

    fn rank_of(&self, operation: u32) -> usize {
        self.goal.rank(&self.goal.operations()[operation as usize])
    }

    fn destination(&self, message: u32) -> usize {
        let channel = self.goal.operations()[message as usize].channel();
        channel.map_or(0, |channel| self.goal.channels()[channel].destination as usize)
    }

    fn seat(&self, rank: usize, cpu: u8, nic: u8, purpose: Use) -> Seat {
        let line = (rank * self.pairs.count() + self.pairs.number(cpu, nic)) * 3 + purpose as usize;
        Seat { cpu: rank * self.goal.cpus() + usize::from(cpu), nic: rank * self.goal.nics() + usize::from(nic), line }
    }

    fn free_at(&self, seat: Seat, purpose: Use) -> u64 {
        match purpose {
            Use::Compute => self.cpus[seat.cpu],
            Use::Send => self.cpus[seat.cpu].max(self.out[seat.nic]),
            Use::TakeIn => self.cpus[seat.cpu].max(self.into[seat.nic]),
        }
    }

    /// Whether the first one of a line can go on now; else it is tried again when it may.
    fn is_free(&mut self, seat: Seat, purpose: Use, now: u64, event: Event) -> bool {
        let free_at = self.free_at(seat, purpose);
        if free_at > now {
            self.queue.push(free_at, event.0);
        }
        free_at <= now
    }

    /// The first one of a line has begun: the next one is called.
    fn call_next(&mut self, seat: Seat, purpose: Use) {
        let line = &mut self.lines[seat.line];
        line.pop(&self.states);
        if let Some(next) = line.first() {
            let what = if purpose == Use::TakeIn { What::Arrive } else { What::Begin };
            self.queue.push(self.free_at(seat, purpose), Event::new(self.states[next as usize].count, what, next).0);
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

    fn begun(&mut self, operation: u32) {
        self.satisfy(operation, true);
    }

    fn done(&mut self, operation: u32) {
        self.left -= 1;
        self.satisfy(operation, false);
    }

    /// An operation that has begun now is done then. With one processor, what waits for it cannot go on before anyway.
    fn done_at(&mut self, operation: u32, now: u64, end: u64) {
        if self.goal.cpus() == 1 || end <= now {
            return self.done(operation);
        }
        let number = self.numbered;
        self.numbered += 1;
        self.queue.push(end, Event::new(number, What::End, operation).0);
    }

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

    /// Lets what waits for nothing any more line up: rank by rank, sends before receives before computation.
    #[inline]
    fn release(&mut self, now: u64) {
        let mut freed = std::mem::take(&mut self.freed);
        if freed.len() > 1 {
            freed.sort_by_key(|operation| (self.rank_of(*operation), self.goal.operations()[*operation as usize].kind));
        }
        for operation in freed.drain(..) {
            self.line_up(operation, now);
        }
        self.freed = freed;
    }

    fn line_up(&mut self, operation: u32, now: u64) {
        let number = self.number(operation);
        let Operation { kind, cpu, nic, .. } = self.goal.operations()[operation as usize];
        let rank = self.rank_of(operation);
        let purpose = match kind {
            Kind::Compute => Use::Compute,
            Kind::Send => Use::Send,
            Kind::Receive => {
                let moment = self.cpus[rank * self.goal.cpus() + usize::from(cpu)].max(now);
                return self.queue.push(moment, Event::new(number, What::Begin, operation).0);
            }
        };
        let seat = self.seat(rank, cpu, if purpose == Use::Compute { 0 } else { nic }, purpose);
        let is_first = self.lines[seat.line].first().is_none();
        self.lines[seat.line].push(operation, &mut self.states);
        if is_first {
            self.queue.push(self.free_at(seat, purpose).max(now), Event::new(number, What::Begin, operation).0);
        }
    }
}
