//! The process that leads: it decides what is measured next and for how long, and hands on what comes of it.

use std::io::Write;
use std::time::{Duration, Instant};

use sintonia_fit::Random;
use sintonia_fit::sample::Summary;
use sintonia_mpi::{Group, Timed};

use super::follow::join;
use super::order::{Answer, Order, Round, Task, Values, first_times};
use super::pair::Side;
use super::place::is_oversubscribed;
use super::{Failure, Line, Place, Quantity, Sample, Settings, compute, memory, messages};
use crate::{Collective, Named};

/// The shares of the time for nodes and for messages, in percent; the rest is for groups.
const SHARE_OF_NODES: u32 = 20;
const SHARE_OF_MESSAGES: u32 = 50;

/// How often everything is measured at first.
pub const FIRST: usize = 8;

/// Whether medians are known well enough.
fn is_known(all: &[Vec<f64>]) -> bool {
    /// The width of its interval at which a median is known well enough, as a share of it.
    const SHARP: f64 = 0.02;
    /// What so many measurements do not tell, more of them will not.
    const MOST: usize = 1000;
    let known = |values: &Vec<f64>| values.len() >= MOST || Summary::of(values).is_ok_and(|summary| summary.is_sharp(SHARP));
    !all.is_empty() && all.iter().all(known)
}

/// Leads the processes that a launcher started.
pub fn lead(timed: &Timed, settings: &Settings, out: &mut dyn Write) -> Result<(), Failure> {
    let began = Instant::now();
    let until = |share: u32| began + settings.budget * share / 100;
    let places = gather(timed)?;
    Line::Hello { library: Some(timed.world().library()), places: places.clone() }.write(out)?;
    let (side, random) = (Side::new(timed), Random::new(settings.seed));
    let oversubscribed = is_oversubscribed(&places);
    let mut leader = Leader {
        timed,
        side,
        random,
        settings: *settings,
        places,
        oversubscribed,
        late: false,
        began,
        pulse: Pulse { done: 0, said: began },
        out,
    };
    let kinds = kinds(&leader.places);
    for (node, rank) in kinds.iter().enumerate() {
        leader.node(node, *rank, part(until(SHARE_OF_NODES), kinds.len() - node))?;
    }
    let pairs = messages::pairs(&leader.places);
    for (index, (class, pair)) in pairs.iter().enumerate() {
        messages::measure(&mut leader, *class, *pair, part(until(SHARE_OF_NODES + SHARE_OF_MESSAGES), pairs.len() - index))?;
    }
    leader.groups(until(100))?;
    leader.tell_others(&Order::Leave)?;
    Ok(Line::End.write(leader.out)?)
}

/// Measures this node, without other processes.
pub fn alone(settings: &Settings, out: &mut dyn Write) -> Result<(), Failure> {
    let place = Place::here();
    Line::Hello { library: None, places: vec![place.clone()] }.write(out)?;
    let mut samples = Vec::new();
    compute::measure(0, settings.seed, |sample| samples.push(sample));
    let amounts = amounts(&place, settings);
    let until = Instant::now() + settings.budget * SHARE_OF_NODES / 100;
    for (index, amount) in amounts.iter().enumerate() {
        let left = amounts.len() - index;
        memory::measure(0, *amount, settings.seed, time_for_one(until, left), |sample| samples.push(sample));
        samples.drain(..).try_for_each(|sample| Line::Sample(sample).write(out))?;
        Line::Done((100 * (index + 1) / amounts.len()) as u32).write(out)?;
    }
    Ok(Line::End.write(out)?)
}

/// Where each process runs.
fn gather(timed: &Timed) -> Result<Vec<Place>, Failure> {
    let size = timed.world().size();
    let mut places = vec![Place::here(); size];
    for _ in 1..size {
        let (from, letter) = timed.world().receive()?;
        places[from] = serde_json::from_slice(&letter)?;
    }
    Ok(places)
}

/// The first process on each kind of node.
fn kinds(places: &[Place]) -> Vec<usize> {
    let is_first = |rank: &usize| places[..*rank].iter().all(|before| before.kind() != places[*rank].kind());
    (0..places.len()).filter(is_first).collect()
}

fn amounts(place: &Place, settings: &Settings) -> Vec<u64> {
    memory::amounts(place.caches.last().map(|cache| cache.bytes), settings.quick)
}

/// The end of the time for the first of so many parts that are left.
pub fn part(until: Instant, left: usize) -> Instant {
    Instant::now() + time_for_one(until, left)
}

fn time_for_one(until: Instant, left: usize) -> Duration {
    until.saturating_duration_since(Instant::now()) / left.max(1) as u32
}

/// The process that leads.
pub struct Leader<'t, 'o> {
    timed: &'t Timed<'t>,
    side: Side<'t>,
    random: Random,
    pub settings: Settings,
    pub places: Vec<Place>,
    /// Whether processes share cores.
    pub oversubscribed: bool,
    /// Whether the time for what is being measured is up, and only its first pass is left to be ended.
    late: bool,
    began: Instant,
    pulse: Pulse,
    pub out: &'o mut dyn Write,
}

/// What was said last of how far it is, and when.
struct Pulse {
    done: u32,
    said: Instant,
}

impl Pulse {
    /// Whether something is to be said: there is more done, or who listens could think that nobody lives any more.
    fn is_due(&mut self, done: u32, now: Instant) -> bool {
        const SILENCE: Duration = Duration::from_secs(5);
        let is_due = done > self.done || now.duration_since(self.said) > SILENCE;
        if is_due {
            *self = Pulse { done, said: now };
        }
        is_due
    }
}

impl Leader<'_, '_> {
    /// Hands on what was measured.
    pub fn say(&mut self, quantity: Quantity, bytes: u64, values: &[f64]) -> Result<(), Failure> {
        // Nothing was measured if there is no value, and then there is nothing to say.
        let Ok(sample) = Sample::of(quantity, bytes, values) else { return Ok(()) };
        Ok(Line::Sample(sample).write(self.out)?)
    }

    /// Says how much of the time is over, if that is due.
    fn say_how_far(&mut self) -> Result<(), Failure> {
        let share = self.began.elapsed().as_secs_f64() / self.settings.budget.as_secs_f64().max(1e-3);
        let done = ((100.0 * share) as u32).min(100);
        if self.pulse.is_due(done, Instant::now()) {
            Line::Done(done).write(self.out)?;
        }
        Ok(())
    }

    /// Measures things in passes, each in a new random order, so that what disturbs the machine for a while disturbs a little of
    /// everything; until all medians are known well enough, or the time is up. There is always a first pass, of `first` times for each, and of
    /// fewer when the time is up before it ends.
    pub fn passes<K>(
        &mut self,
        keys: Vec<K>,
        until: Instant,
        first: usize,
        mut ask: impl FnMut(&mut Self, &K, usize) -> Result<Values, Failure>,
    ) -> Result<Vec<(K, Values)>, Failure> {
        let mut points: Vec<(K, Values)> = keys.into_iter().map(|key| (key, Vec::new())).collect();
        for pass in 0.. {
            let mut open: Vec<usize> = (0..points.len()).filter(|at| !is_known(&points[*at].1)).collect();
            if open.is_empty() || (pass > 0 && Instant::now() >= until) {
                break;
            }
            self.shuffle(&mut open);
            for at in open {
                self.late = Instant::now() >= until;
                if pass > 0 && self.late {
                    break;
                }
                let (key, values) = &mut points[at];
                let times = if pass > 0 { 2 * first } else { self.at_most(first) };
                let more = ask(self, key, times)?;
                values.resize(more.len(), Vec::new());
                values.iter_mut().zip(more).for_each(|(values, more)| values.extend(more));
                self.say_how_far()?;
            }
        }
        self.late = false;
        Ok(points)
    }

    fn tell(&self, rank: usize, order: &Order) -> Result<(), Failure> {
        Ok(self.timed.world().send(rank, &serde_json::to_vec(order)?)?)
    }

    fn tell_others(&self, order: &Order) -> Result<(), Failure> {
        (1..self.places.len()).try_for_each(|rank| self.tell(rank, order))
    }

    fn answer(&self) -> Result<Answer, Failure> {
        let (_, letter) = self.timed.await_letter()?;
        Ok(serde_json::from_slice(&letter)?)
    }

    fn values(&self) -> Result<Values, Failure> {
        match self.answer()? {
            Answer::Values(values) => Ok(values),
            Answer::Samples(_) => Ok(Vec::new()),
        }
    }

    /// Two processes measure a message; the first of the pair reads the clock.
    pub fn exchange(&mut self, [first, second]: [usize; 2], task: Task) -> Result<Values, Failure> {
        self.tell(second, &Order::Assist(task, first))?;
        if first == 0 {
            return Ok(self.side.measure(&task, second)?);
        }
        self.tell(first, &Order::Measure(task, second))?;
        self.values()
    }

    /// Puts things into a random order.
    fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.random.below(last + 1));
        }
    }

    fn node(&mut self, node: usize, rank: usize, until: Instant) -> Result<(), Failure> {
        let seed = self.settings.seed;
        let samples = self.samples(rank, Order::Compute(node, seed), |tell| compute::measure(node, seed, tell))?;
        samples.into_iter().try_for_each(|sample| Line::Sample(sample).write(self.out))?;
        let mut amounts = amounts(&self.places[rank], &self.settings);
        self.shuffle(&mut amounts);
        for (index, amount) in amounts.iter().enumerate() {
            let time = time_for_one(until, amounts.len() - index);
            let order = Order::Memory(node, *amount, seed, time.as_secs_f64());
            let samples = self.samples(rank, order, |tell| memory::measure(node, *amount, seed, time, tell))?;
            samples.into_iter().try_for_each(|sample| Line::Sample(sample).write(self.out))?;
            self.say_how_far()?;
        }
        Ok(())
    }

    /// What a process measures by itself: this one or another.
    fn samples(&self, rank: usize, order: Order, here: impl FnOnce(&mut dyn FnMut(Sample))) -> Result<Vec<Sample>, Failure> {
        let mut samples = Vec::new();
        if rank == 0 {
            here(&mut |sample| samples.push(sample));
            return Ok(samples);
        }
        self.tell(rank, &order)?;
        match self.answer()? {
            Answer::Samples(samples) => Ok(samples),
            Answer::Values(_) => Ok(Vec::new()),
        }
    }

    fn groups(&mut self, until: Instant) -> Result<(), Failure> {
        let timed = self.timed;
        let sizes = group_sizes(self.places.len());
        for (index, &size) in sizes.iter().enumerate() {
            self.tell_others(&Order::Gather(size))?;
            let Some(group) = timed.group(size)? else { continue };
            let todo = in_groups(size, &self.settings);
            let end = part(until, sizes.len() - index);
            let measured =
                self.passes(todo, end, FIRST, |leader, (what, bytes), times| Ok(vec![leader.together(&group, *what, *bytes, times)?]))?;
            for ((what, bytes), values) in measured {
                let quantity = Quantity::Group { what, processes: size as u64 };
                values.iter().try_for_each(|values| self.say(quantity, bytes, values))?;
            }
            self.tell_others(&Order::Dissolve)?;
            group.dissolve()?;
        }
        Ok(())
    }

    /// The group does something together: of each time, the seconds of the process that was in it longest.
    fn together(&mut self, group: &Group, what: Collective, bytes: u64, times: usize) -> Result<Vec<f64>, Failure> {
        let round = Round { what, bytes: bytes as usize, first: self.first_times(bytes), times };
        (1..group.size()).try_for_each(|rank| self.tell(rank, &Order::Join(round)))?;
        let mut longest = join(group, &self.side, &round)?;
        for _ in 1..group.size() {
            let values = self.values()?.pop().unwrap_or_default();
            longest.iter_mut().zip(values).for_each(|(longest, value)| *longest = longest.max(value));
        }
        Ok(longest)
    }

    /// How often something is done before it counts: once where processes take turns on a core, which they do again and again anyway.
    pub fn first_times(&self, bytes: u64) -> usize {
        if self.oversubscribed || self.late { 1 } else { first_times(bytes) }
    }

    /// So often, or less if it is late.
    fn at_most(&self, times: usize) -> usize {
        const LATE: usize = 2;
        if self.late { times.min(LATE) } else { times }
    }
}

/// How many processes the groups have: powers of two, and all.
fn group_sizes(processes: usize) -> Vec<usize> {
    (1..usize::BITS).map(|exponent| 1 << exponent).take_while(|power| *power < processes).chain([processes]).collect()
}

/// What a group of so many processes does.
fn in_groups(size: usize, settings: &Settings) -> Vec<(Collective, u64)> {
    // Of an operation in which everyone has something for everyone, no process holds more than this.
    const MEMORY: u64 = 64 << 20;
    let most = settings.max_bytes.min(MEMORY / size as u64);
    let powers = (3..u64::BITS).map(|exponent| 1u64 << exponent).take_while(|bytes| *bytes <= most);
    let between = |power: u64| if settings.quick { power } else { power + power / 2 };
    let mut bytes: Vec<u64> = powers.flat_map(|power| [power, between(power)]).filter(|bytes| *bytes <= most && bytes % 8 == 0).collect();
    bytes.dedup();
    let of = |what: &Collective| match what {
        Collective::Barrier => vec![(*what, 0)],
        _ => bytes.iter().map(|bytes| (*what, *bytes)).collect(),
    };
    Collective::ALL.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_measures_for_hours_is_heard_every_few_seconds() {
        let began = Instant::now();
        let mut pulse = Pulse { done: 0, said: began };
        let said: Vec<u64> = (0..20).filter(|second| pulse.is_due(0, began + Duration::from_secs(*second))).collect();
        assert_eq!(said, [6, 12, 18]);
        assert!(pulse.is_due(1, began + Duration::from_secs(18)));
    }

    #[test]
    fn groups_double_up_to_all() {
        assert_eq!(group_sizes(2), [2]);
        assert_eq!(group_sizes(6), [2, 4, 6]);
        assert_eq!(group_sizes(8), [2, 4, 8]);
    }
}
