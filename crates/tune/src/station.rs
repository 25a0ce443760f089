//! A host of the run: its processes, bound to what the tunlets need, and what happens in them, in names and numbers.
//!
//! Addresses and bits end here: symbols are looked up where the program's files are, hooks are ordered and events decoded where the memory
//! is shared, so that what goes on to the analyzer is small and means the same on every host.

mod bound;
mod calls;
mod gather;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sintonia_link::order::{Order, Outcome, Word};
use sintonia_symbols::Files;

use crate::collector::{Collector, News};
use crate::point::{MeasurePoint, Moment, Needs};
use crate::talk::{Ask, Change, Told};

use bound::{Bound, Sent};
pub use calls::Took;
pub use gather::Gather;

/// Processes that must agree on changes do so before every so many of their collective calls.
const AGREE_EVERY: u32 = 16;
/// Counters of dropped events are asked for so often.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// The processes of a host, as the analyzer deals with them.
pub struct Station {
    collector: Collector,
    /// When the tuning began, in nanoseconds of this host's clock.
    begin: f64,
    needs: Option<Vec<Needs>>,
    /// Changes to be made in every process before MPI begins there.
    before: Vec<Change>,
    /// Changes to be made in every process, the latest of each point: those that come later make them as well.
    standing: Vec<Change>,
    /// Whether all that is to be done before MPI begins is known.
    may_begin: bool,
    /// Places looked at besides: by which tunlet, under which number.
    looks: Vec<(usize, usize, MeasurePoint)>,
    /// Processes that are there.
    processes: HashMap<u32, Bound>,
    /// Whether one has ever come.
    was_visited: bool,
    gather: Gather,
    /// Files of code that were read.
    files: Arc<Mutex<Files>>,
    counted: Instant,
    /// Dropped events of the processes that are there that were told of.
    dropped: u64,
    /// Dropped events of processes that are gone, not told of yet.
    dropped_by_gone: u64,
}

impl Station {
    /// The host at whose door the processes come together; `begin` is when the tuning began, in nanoseconds of its clock.
    pub fn new(collector: Collector, begin: f64) -> Station {
        Station {
            collector,
            begin,
            needs: None,
            before: Vec::new(),
            standing: Vec::new(),
            may_begin: false,
            looks: Vec::new(),
            processes: HashMap::new(),
            was_visited: false,
            gather: Gather::default(),
            files: Arc::default(),
            counted: Instant::now(),
            dropped: 0,
            dropped_by_gone: 0,
        }
    }

    /// Sets when the tuning began, in nanoseconds of this host's clock: known better as time goes by.
    pub fn set_begin(&mut self, begin: f64) {
        self.begin = begin;
    }

    /// Whether a process has come and all have gone again.
    pub fn is_deserted(&self) -> bool {
        self.was_visited && self.is_empty()
    }

    /// Whether no process is there.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Does what the analyzer asks.
    pub fn ask(&mut self, ask: Ask) -> Vec<Told> {
        let mut told = Vec::new();
        match ask {
            Ask::Needs(needs) => {
                self.needs = Some(needs);
                self.bind_all(&mut told);
            }
            Ask::Begin => {
                self.may_begin = true;
                self.let_begin(&mut told);
            }
            Ask::Change(change) => self.change(change, &mut told),
            Ask::Look { tunlet, number, point } => {
                self.looks.push((tunlet, number, point.clone()));
                for bound in self.processes.values_mut() {
                    bound.look(tunlet, number, &point, &mut told);
                }
            }
            Ask::Callees { tunlet, function } => {
                // All processes run the same program: the first that can tell does. Who asks must not wait for ever if none can.
                if !self.is_empty() {
                    let callees = self.processes.values_mut().find_map(|bound| bound.callees(&function)).unwrap_or_default();
                    told.push(Told::Callees { tunlet, function, callees });
                }
            }
            Ask::LookAway { tunlet, number } => {
                self.looks.retain(|(other, place, _)| (*other, *place) != (tunlet, number));
                for bound in self.processes.values_mut() {
                    bound.look_away(tunlet, number, &mut told);
                }
            }
        }
        told
    }

    /// What has happened since the last time.
    pub fn hear(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        let news: Vec<News> = self.collector.news().collect();
        news.into_iter().for_each(|news| self.heard(news, &mut told));
        self.processes.values_mut().for_each(|bound| bound.ask_for_time(&mut told));
        self.read(&mut told);
        // Where nobody is left, nothing more comes of any while.
        let now = if self.is_deserted() { f64::INFINITY } else { self.now() };
        told.extend(self.gather.take(now).into_iter().map(|(tunlet, joined)| Told::Joined { tunlet, joined }));
        told
    }

    fn now(&self) -> f64 {
        (now_ns() - self.begin) / 1e9
    }

    fn heard(&mut self, news: News, told: &mut Vec<Told>) {
        match news {
            News::Came(process) => {
                let number = process.number;
                let bound = Bound::new(*process, self.files.clone());
                told.extend(bound.size().map(|size| Told::Came { size }));
                self.processes.insert(number, bound);
                self.was_visited = true;
                self.let_begin(told);
            }
            News::Said(process, Word::Rank { rank, size, clock }) => {
                let Some(bound) = self.processes.get_mut(&process) else { return };
                bound.ranked(rank, clock);
                told.push(Told::Came { size });
                self.bind_all(told);
            }
            News::Said(process, Word::Answer { number, outcome }) => self.answered(process, number, outcome, told),
            News::Said(process, Word::Throttled { hook, calls, seconds_per_call }) => {
                if let Some(bound) = self.processes.get_mut(&process) {
                    told.push(bound.throttled(hook, calls, seconds_per_call));
                }
            }
            News::Said(process, Word::Clock { clock }) => {
                self.processes.get_mut(&process).into_iter().for_each(|bound| bound.showed(clock));
            }
            News::Said(process, Word::Leaving) => {
                self.processes.get_mut(&process).into_iter().for_each(Bound::leaves);
            }
            News::Said(_, Word::Here { .. }) => {}
            News::Gone(process) => {
                // What it did last is still to be read.
                self.read(told);
                let Some(mut bound) = self.processes.remove(&process) else { return };
                self.dropped_by_gone += bound.dropped();
                told.extend(bound.goes());
            }
            News::Stranger(what) => told.push(Told::Problem(format!("somebody who does not belong to this run was refused: {what}"))),
        }
    }

    /// Lets processes go on into `MPI_Init` for which all is done that must be done before.
    fn let_begin(&mut self, told: &mut Vec<Told>) {
        for bound in self.processes.values_mut().filter(|bound| !bound.has_begun()) {
            // Who does not say how many it belongs to before MPI begins cannot be prepared for it.
            if self.may_begin || bound.size().is_none() {
                if let Some(needs) = &self.needs {
                    if needs.iter().flat_map(|needs| &needs.tunes).any(|point| point.moment == Moment::Together) {
                        bound.send(Order::Agree(AGREE_EVERY), Sent::Other, told);
                    }
                    self.before.iter().for_each(|change| bound.change(needs, change, true, told));
                }
                bound.send(Order::Begin, Sent::Begin, told);
            }
        }
    }

    /// Finds what the tunlets need in processes whose rank is known, and were not looked at yet.
    fn bind_all(&mut self, told: &mut Vec<Told>) {
        let Some(needs) = &self.needs else { return };
        for bound in self.processes.values_mut().filter(|bound| bound.is_to_be_bound()) {
            bound.bind(needs, &self.standing, told);
            self.looks.iter().for_each(|(tunlet, number, point)| bound.look(*tunlet, *number, point, told));
        }
    }

    fn change(&mut self, change: Change, told: &mut Vec<Told>) {
        let Some(needs) = &self.needs else { return };
        let before = needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point)).is_some_and(bound::is_before_mpi);
        let kept = if before { &mut self.before } else { &mut self.standing };
        kept.retain(|other| !other.is_of_same(&change));
        kept.push(change);
        for bound in self.processes.values_mut().filter(|bound| !before || bound.has_begun()) {
            bound.change(needs, &change, false, told);
        }
    }

    fn answered(&mut self, process: u32, number: u64, outcome: Outcome, told: &mut Vec<Told>) {
        if let Some(bound) = self.processes.get_mut(&process) {
            bound.answered(number, outcome, self.needs.as_deref().unwrap_or_default(), told);
        }
    }

    /// Reads the events of all processes, in the order of time.
    fn read(&mut self, told: &mut Vec<Told>) {
        let mut events = Vec::new();
        for (process, bound) in &mut self.processes {
            bound.drain(|ring, time, event| events.push((time, *process, ring, event)));
        }
        let count = events.len() as u64;
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        let now = self.now();
        for (time, process, ring, event) in events {
            let Some(bound) = self.processes.get_mut(&process) else { continue };
            // Nothing that is read has yet to happen, whatever the clock of a process says.
            let seconds = ((time - self.begin) / 1e9).min(now);
            let mut tell = |tunlet, join, happening| self.gather.add(tunlet, join, happening, told);
            if bound.happened(ring, seconds, &event, &mut tell)
                && let Some(needs) = &self.needs
            {
                bound.becomes_actor(needs, &self.standing, told);
            }
        }
        let dropped = self.newly_dropped();
        if count + dropped > 0 {
            told.push(Told::Count { events: count, dropped });
        }
    }

    fn newly_dropped(&mut self) -> u64 {
        if self.counted.elapsed() < COUNT_EVERY && !self.is_deserted() {
            return 0;
        }
        self.counted = Instant::now();
        let there: u64 = self.processes.values().map(Bound::dropped).sum();
        let all = there + std::mem::take(&mut self.dropped_by_gone);
        all.saturating_sub(std::mem::replace(&mut self.dropped, there))
    }
}

/// Now, in nanoseconds of this host's clock.
pub fn now_ns() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
