//! The replay itself: every line goes on until it needs something that has not come yet, and whoever brings it wakes the line up.
//!
//! No queue of events is needed for that: where messages are not in each other's way, what one line does at a moment depends on nothing
//! but what others have told it, in whichever order they are taken. Where the order of time does matter (links that messages share, locks),
//! it is a *decision*: it is put off until every line stands still, and then the earliest one is made. Whatever follows from it is later.

mod anyone;
mod code;
mod compile;
mod decisions;
mod forced;
mod letters;
mod line;
mod manners;
mod meetings;
mod outcome;
mod rare;
mod read_ahead;
mod requests;
mod rounds;
mod samples;
mod standstill;
mod step;
#[cfg(test)]
pub(crate) mod tests;
mod windows;
mod world;

pub(crate) use meetings::Members;
pub use outcome::{Outcome, RankTime, Sink, SiteTime, Unmatched};
pub use standstill::{Blocked, Standstill};

use crate::Error;
use crate::changes::Changes;
use crate::platform::Platform;
use crate::schedule::{LineId, Next, Schedule, Stretch};
use line::{Beat, Line, Stage};
use read_ahead::ReadAhead;
use step::Step;
use world::World;

/// Somebody to wake who is an errand, not a line.
const ERRAND: u32 = 1 << 31;

/// What messages and operations of groups take.
#[derive(Clone, Debug)]
pub enum Costs {
    /// What they took in the recording, after what they needed was there; times as long by these factors.
    Recorded(RecordedNetwork),
    /// What they cost on a machine.
    Machine(Box<Platform>),
}

/// The network of a recording, as it can be told from its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedNetwork {
    /// What a message took that did not depend on its size, in seconds.
    pub latency_s: f64,
    /// What each byte took.
    pub s_per_byte: f64,
    /// Times as long for the first.
    pub latency_times: f64,
    /// Times as long for the second.
    pub per_byte_times: f64,
}

impl Default for RecordedNetwork {
    fn default() -> RecordedNetwork {
        RecordedNetwork { latency_s: 0.0, s_per_byte: 0.0, latency_times: 1.0, per_byte_times: 1.0 }
    }
}

impl RecordedNetwork {
    /// Whether nothing takes any time: then no message waits for its receive either, unless MPI says so.
    fn is_ideal(&self) -> bool {
        self.latency_times == 0.0 && self.per_byte_times == 0.0
    }

    /// How many times as long a call takes that moved so many bytes.
    fn times(&self, bytes: f64) -> f64 {
        if self.latency_times == self.per_byte_times {
            return self.latency_times;
        }
        let whole = self.latency_s + self.s_per_byte * bytes;
        if whole <= 0.0 {
            return 1.0;
        }
        (self.latency_s * self.latency_times + self.s_per_byte * bytes * self.per_byte_times) / whole
    }
}

/// Replays a schedule. Whoever wants to know of every call gives a sink.
pub fn replay(schedule: &dyn Schedule, costs: &Costs, changes: &Changes, sink: Option<&mut dyn Sink>) -> Result<Outcome, Error> {
    let mut engine = Engine::new(schedule, costs, changes, sink)?;
    engine.begin()?;
    engine.run()?;
    engine.finish()
}

struct Engine<'a, 's> {
    schedule: &'a dyn Schedule,
    lines: Vec<Line<'a>>,
    world: World<'a>,
    sink: Option<&'s mut dyn Sink>,
    stretch: Stretch,
    read_ahead: ReadAhead,
}

impl<'a, 's> Engine<'a, 's> {
    fn new(
        schedule: &'a dyn Schedule,
        costs: &'a Costs,
        changes: &'a Changes,
        sink: Option<&'s mut dyn Sink>,
    ) -> Result<Engine<'a, 's>, Error> {
        let ids = schedule.lines()?;
        let slowness = |rank| match costs {
            Costs::Recorded(_) => 1.0,
            Costs::Machine(platform) => 1.0 / platform.speed(rank),
        };
        let open = |id: &LineId| Ok(Line::new(*id, schedule.open(*id)?, slowness(id.rank)));
        let lines = ids.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let world = World::new(schedule, costs, changes, &ids)?;
        Ok(Engine { schedule, lines, world, sink, stretch: Stretch::default(), read_ahead: ReadAhead::default() })
    }

    /// Reads the beginning of every line, and lets them begin as they did: together when MPI was started.
    fn begin(&mut self) -> Result<(), Error> {
        for line in 0..self.lines.len() {
            self.refill(line)?;
        }
        let firsts: Vec<(u32, Option<f64>, f64)> = self.lines.iter().map(|line| (line.id.rank, line.started(), line.recorded)).collect();
        let earliest = firsts.iter().map(|(_, _, first)| *first).fold(f64::INFINITY, f64::min);
        self.world.began = firsts.iter().filter_map(|(_, started, _)| *started).fold(f64::INFINITY, f64::min);
        if !self.world.began.is_finite() {
            self.world.began = if earliest.is_finite() { earliest } else { 0.0 };
        }
        let mut started_at = std::collections::HashMap::new();
        firsts.iter().filter_map(|(rank, started, _)| Some((*rank, (*started)?))).for_each(|(rank, at)| _ = started_at.insert(rank, at));
        let as_recorded = self.world.recorded().is_some_and(|network| !network.is_ideal());
        for line in &mut self.lines {
            if let Some(started) = line.started() {
                // On another network there is no telling who would be started first.
                line.lead = if as_recorded { started - self.world.began } else { 0.0 };
            } else {
                let from = started_at.get(&line.id.rank).copied().unwrap_or(self.world.began);
                line.now = (line.recorded - from).max(0.0);
            }
        }
        self.world.ready = (0..self.lines.len() as u32).rev().collect();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        loop {
            while let Some(waiter) = self.world.ready.pop() {
                if waiter & ERRAND != 0 {
                    self.world.run_rounds(waiter & !ERRAND);
                } else {
                    self.go(waiter as usize)?;
                }
            }
            let goes_on = self.world.decide(&mut self.lines) || self.world.changes.goes_on && self.world.force(&mut self.lines);
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Goes along a line until it ends or has to wait.
    fn go(&mut self, place: usize) -> Result<(), Error> {
        let looks_ahead = self.world.changes.wildcards_by_arrival;
        loop {
            if looks_ahead && self.lines[place].stage == Stage::Before && self.runs_short(place) {
                self.read_ahead(place)?;
            }
            let line = &mut self.lines[place];
            let Some(row) = line.rows.get(line.row).copied() else {
                if line.ended || !self.refill(place)? {
                    return Ok(());
                }
                continue;
            };
            if line.stage == Stage::Before {
                self.world.compute(line, &row);
            }
            match self.world.step(place as u32, line, &row)? {
                Step::Waits => return Ok(()),
                Step::Done => {
                    let about = line.code.about[row.action as usize];
                    self.world.leave(line, &row, about);
                    if let Some(sink) = &mut self.sink {
                        sink.call(place, row.action, line.entered, line.now)?;
                    }
                }
            }
        }
    }

    /// Reads on in a line; `false` if it has ended.
    fn refill(&mut self, place: usize) -> Result<bool, Error> {
        let line = &mut self.lines[place];
        let next = match self.read_ahead.take(place, &mut self.stretch) {
            Some(read) => read,
            None => line.source.next(&mut self.stretch)?,
        };
        if next == Next::End {
            line.end_here();
            return Ok(false);
        }
        if next == Next::Actions {
            self.world.compile(self.schedule, line, place as u32, &self.stretch.actions);
            if let Some(sink) = &mut self.sink {
                sink.actions(place, &self.stretch.actions)?;
            }
        }
        if let Some(first) = self.stretch.first_request {
            self.world.requests[place].set_next(first);
            if let Some(sink) = &mut self.sink {
                sink.requests(place, first)?;
            }
        }
        line.rows.clear();
        line.rows.extend(self.stretch.rows.iter().map(Beat::from));
        line.row = 0;
        // Where the rows begin is known exactly; what was added up on the way there is not.
        line.recorded = self.stretch.enter_ns as f64 * 1e-9 - line.rows.first().map_or(0.0, Beat::before);
        Ok(true)
    }

    fn finish(self) -> Result<Outcome, Error> {
        let blocked: Vec<u32> = (0..self.lines.len() as u32).filter(|line| !self.lines[*line as usize].ended).collect();
        if !blocked.is_empty() {
            return Err(Error::Standstill(Box::new(standstill::explain(self.schedule, &self.lines, &self.world, &blocked))));
        }
        Ok(outcome::of(self.schedule, self.lines, self.world))
    }
}

impl Line<'_> {
    /// When MPI was started in the recording, if this line did it among its first calls.
    fn started(&self) -> Option<f64> {
        let mut at = self.recorded;
        for row in self.rows.iter().take(16) {
            at += row.before() + row.took();
            if self.code.ops[row.action as usize] == line::Op::Init {
                return Some(at);
            }
        }
        None
    }

    /// The line is over.
    fn end_here(&mut self) {
        if !self.ended && self.end_recorded == 0.0 {
            (self.end, self.end_recorded) = (self.now, self.recorded);
        }
        self.ended = true;
    }
}
