//! The leading process: decides what is measured next and for how long, and writes the results.

use std::io::Write;
use std::time::{Duration, Instant};

use sintonia_fit::SplitMix64;
use sintonia_fit::sample::SampleSummary;
use sintonia_mpi::{BenchmarkCalls, TimedGroup};

use super::binding::is_oversubscribed;
use super::command::{BenchAnswer, BenchCommand, CollectiveTask, ExchangeTask, TimingValues, default_warmup_count};
use super::follower::run_collective;
use super::message_timer::MessageTimer;
use super::{BenchError, BenchQuantity, BenchRecord, BenchSample, BenchSettings, ProcessBinding, compute, memory, messages};
use crate::{CollectiveKind, Named};

/// Percentage of the time for nodes and for messages; the rest is for collectives.
const NODE_TIME_PERCENT: u32 = 20;
const MESSAGE_TIME_PERCENT: u32 = 50;

/// Samples of each point in the first pass.
pub(super) const FIRST_PASS_SAMPLES: usize = 8;

/// Whether all medians are known precisely enough.
fn is_precise(all: &[Vec<f64>]) -> bool {
    /// Relative width of a median's interval that is precise enough.
    const SHARP: f64 = 0.02;
    /// More samples than this do not help.
    const MOST: usize = 1000;
    let known =
        |values: &Vec<f64>| values.len() >= MOST || SampleSummary::from_values(values).is_ok_and(|summary| summary.is_precise(SHARP));
    !all.is_empty() && all.iter().all(known)
}

/// Leads the processes that a launcher started.
pub(super) fn lead_launch(timed: &BenchmarkCalls, settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    let began = Instant::now();
    let until = |share: u32| began + settings.budget * share / 100;
    let places = gather_bindings(timed)?;
    BenchRecord::Hello { library: Some(timed.world().library()), places: places.clone() }.write(out)?;
    let (side, random) = (MessageTimer::new(timed), SplitMix64::new(settings.seed));
    let oversubscribed = is_oversubscribed(&places);
    let mut leader = BenchLeader {
        timed,
        side,
        random,
        settings: *settings,
        bindings: places,
        oversubscribed,
        out_of_time: false,
        start_time: began,
        progress: ProgressReporter { last_percent: 0, last_time: began },
        out,
    };
    let kinds = node_type_ranks(&leader.bindings);
    for (node, rank) in kinds.iter().enumerate() {
        leader.measure_node(node, *rank, share_end(until(NODE_TIME_PERCENT), kinds.len() - node))?;
    }
    let pairs = messages::representative_pairs(&leader.bindings);
    for (index, (class, pair)) in pairs.iter().enumerate() {
        messages::measure_pair(
            &mut leader,
            *class,
            *pair,
            share_end(until(NODE_TIME_PERCENT + MESSAGE_TIME_PERCENT), pairs.len() - index),
        )?;
    }
    leader.measure_collectives(until(100))?;
    leader.send_to_all(&BenchCommand::Leave)?;
    Ok(BenchRecord::End.write(leader.out)?)
}

/// Measures this node, without other processes.
pub(super) fn measure_node_only(settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    let place = ProcessBinding::current();
    BenchRecord::Hello { library: None, places: vec![place.clone()] }.write(out)?;
    let mut samples = Vec::new();
    compute::measure(0, settings.seed, |sample| samples.push(sample));
    let amounts = memory_amounts(&place, settings);
    let until = Instant::now() + settings.budget * NODE_TIME_PERCENT / 100;
    for (index, amount) in amounts.iter().enumerate() {
        let left = amounts.len() - index;
        memory::measure(0, *amount, settings.seed, share_of_time(until, left), |sample| samples.push(sample));
        samples.drain(..).try_for_each(|sample| BenchRecord::Sample(sample).write(out))?;
        BenchRecord::Done((100 * (index + 1) / amounts.len()) as u32).write(out)?;
    }
    Ok(BenchRecord::End.write(out)?)
}

/// The binding of each process.
fn gather_bindings(timed: &BenchmarkCalls) -> Result<Vec<ProcessBinding>, BenchError> {
    let size = timed.world().size();
    let mut places = vec![ProcessBinding::current(); size];
    for _ in 1..size {
        let (from, message) = timed.world().receive()?;
        places[from] = serde_json::from_slice(&message)?;
    }
    Ok(places)
}

/// The first rank on each node type.
fn node_type_ranks(places: &[ProcessBinding]) -> Vec<usize> {
    let is_first = |rank: &usize| places[..*rank].iter().all(|before| before.node_type() != places[*rank].node_type());
    (0..places.len()).filter(is_first).collect()
}

fn memory_amounts(place: &ProcessBinding, settings: &BenchSettings) -> Vec<u64> {
    memory::working_set_sizes(place.caches.last().map(|cache| cache.bytes), settings.quick)
}

/// The end of the time for the first of `left` remaining parts.
pub(super) fn share_end(until: Instant, left: usize) -> Instant {
    Instant::now() + share_of_time(until, left)
}

fn share_of_time(until: Instant, left: usize) -> Duration {
    until.saturating_duration_since(Instant::now()) / left.max(1) as u32
}

/// State of the leading process.
pub(super) struct BenchLeader<'t, 'o> {
    timed: &'t BenchmarkCalls<'t>,
    side: MessageTimer<'t>,
    random: SplitMix64,
    pub settings: BenchSettings,
    pub bindings: Vec<ProcessBinding>,
    /// Whether processes share cores.
    pub oversubscribed: bool,
    /// Whether the time is up, so that only the first pass is completed.
    out_of_time: bool,
    start_time: Instant,
    progress: ProgressReporter,
    pub out: &'o mut dyn Write,
}

/// Last progress report.
struct ProgressReporter {
    last_percent: u32,
    last_time: Instant,
}

impl ProgressReporter {
    /// Whether progress must be reported: it has advanced, or the reader could take the silence for a hang.
    fn is_due(&mut self, done: u32, now: Instant) -> bool {
        const SILENCE: Duration = Duration::from_secs(5);
        let is_due = done > self.last_percent || now.duration_since(self.last_time) > SILENCE;
        if is_due {
            *self = ProgressReporter { last_percent: done, last_time: now };
        }
        is_due
    }
}

impl BenchLeader<'_, '_> {
    /// Writes a sample.
    pub(super) fn report_sample(&mut self, quantity: BenchQuantity, bytes: u64, values: &[f64]) -> Result<(), BenchError> {
        // Without values there is nothing to report.
        let Ok(sample) = BenchSample::from_values(quantity, bytes, values) else { return Ok(()) };
        Ok(BenchRecord::Sample(sample).write(self.out)?)
    }

    /// Reports the percentage of the time that is over, if due.
    fn report_progress(&mut self) -> Result<(), BenchError> {
        let share = self.start_time.elapsed().as_secs_f64() / self.settings.budget.as_secs_f64().max(1e-3);
        let done = ((100.0 * share) as u32).min(100);
        if self.progress.is_due(done, Instant::now()) {
            BenchRecord::Done(done).write(self.out)?;
        }
        Ok(())
    }

    /// Samples points in passes, each in a new random order, so that a short disturbance affects a few samples of many points; until all medians
    /// are precise or the time is up. The first pass always completes, with `first` samples for each point, or fewer once the time is up.
    pub(super) fn measure_in_passes<K>(
        &mut self,
        keys: Vec<K>,
        until: Instant,
        first: usize,
        mut ask: impl FnMut(&mut Self, &K, usize) -> Result<TimingValues, BenchError>,
    ) -> Result<Vec<(K, TimingValues)>, BenchError> {
        let mut points: Vec<(K, TimingValues)> = keys.into_iter().map(|key| (key, Vec::new())).collect();
        for pass in 0.. {
            let mut unfinished: Vec<usize> = (0..points.len()).filter(|at| !is_precise(&points[*at].1)).collect();
            if unfinished.is_empty() || (pass > 0 && Instant::now() >= until) {
                break;
            }
            self.shuffle(&mut unfinished);
            for at in unfinished {
                self.out_of_time = Instant::now() >= until;
                if pass > 0 && self.out_of_time {
                    break;
                }
                let (key, values) = &mut points[at];
                let times = if pass > 0 { 2 * first } else { self.limited_count(first) };
                let more = ask(self, key, times)?;
                values.resize(more.len(), Vec::new());
                values.iter_mut().zip(more).for_each(|(values, more)| values.extend(more));
                self.report_progress()?;
            }
        }
        self.out_of_time = false;
        Ok(points)
    }

    fn send_command(&self, rank: usize, order: &BenchCommand) -> Result<(), BenchError> {
        Ok(self.timed.world().send(rank, &serde_json::to_vec(order)?)?)
    }

    fn send_to_all(&self, order: &BenchCommand) -> Result<(), BenchError> {
        (1..self.bindings.len()).try_for_each(|rank| self.send_command(rank, order))
    }

    fn receive_answer(&self) -> Result<BenchAnswer, BenchError> {
        let (_, message) = self.timed.wait_for_message()?;
        Ok(serde_json::from_slice(&message)?)
    }

    fn receive_values(&self) -> Result<TimingValues, BenchError> {
        match self.receive_answer()? {
            BenchAnswer::Values(values) => Ok(values),
            BenchAnswer::Samples(_) => Ok(Vec::new()),
        }
    }

    /// Two processes exchange messages; the first of the pair reads the clock.
    pub(super) fn run_exchange(&mut self, [first, second]: [usize; 2], task: ExchangeTask) -> Result<TimingValues, BenchError> {
        self.send_command(second, &BenchCommand::Assist(task, first))?;
        if first == 0 {
            return Ok(self.side.measure(&task, second)?);
        }
        self.send_command(first, &BenchCommand::Measure(task, second))?;
        self.receive_values()
    }

    fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.random.index_below(last + 1));
        }
    }

    fn measure_node(&mut self, node: usize, rank: usize, until: Instant) -> Result<(), BenchError> {
        let seed = self.settings.seed;
        let samples = self.collect_samples(rank, BenchCommand::Compute(node, seed), |tell| compute::measure(node, seed, tell))?;
        samples.into_iter().try_for_each(|sample| BenchRecord::Sample(sample).write(self.out))?;
        let mut amounts = memory_amounts(&self.bindings[rank], &self.settings);
        self.shuffle(&mut amounts);
        for (index, amount) in amounts.iter().enumerate() {
            let time = share_of_time(until, amounts.len() - index);
            let order = BenchCommand::Memory(node, *amount, seed, time.as_secs_f64());
            let samples = self.collect_samples(rank, order, |tell| memory::measure(node, *amount, seed, time, tell))?;
            samples.into_iter().try_for_each(|sample| BenchRecord::Sample(sample).write(self.out))?;
            self.report_progress()?;
        }
        Ok(())
    }

    /// Samples that one process measures by itself: this one or another.
    fn collect_samples(
        &self,
        rank: usize,
        order: BenchCommand,
        here: impl FnOnce(&mut dyn FnMut(BenchSample)),
    ) -> Result<Vec<BenchSample>, BenchError> {
        let mut samples = Vec::new();
        if rank == 0 {
            here(&mut |sample| samples.push(sample));
            return Ok(samples);
        }
        self.send_command(rank, &order)?;
        match self.receive_answer()? {
            BenchAnswer::Samples(samples) => Ok(samples),
            BenchAnswer::Values(_) => Ok(Vec::new()),
        }
    }

    fn measure_collectives(&mut self, until: Instant) -> Result<(), BenchError> {
        let timed = self.timed;
        let sizes = communicator_sizes(self.bindings.len());
        for (index, &size) in sizes.iter().enumerate() {
            self.send_to_all(&BenchCommand::Gather(size))?;
            let Some(group) = timed.first_ranks(size)? else { continue };
            let todo = collective_points(size, &self.settings);
            let end = share_end(until, sizes.len() - index);
            let measured = self.measure_in_passes(todo, end, FIRST_PASS_SAMPLES, |leader, (what, bytes), times| {
                Ok(vec![leader.time_collective(&group, *what, *bytes, times)?])
            })?;
            for ((what, bytes), values) in measured {
                let quantity = BenchQuantity::Group { what, processes: size as u64 };
                values.iter().try_for_each(|values| self.report_sample(quantity, bytes, values))?;
            }
            self.send_to_all(&BenchCommand::Dissolve)?;
            group.free()?;
        }
        Ok(())
    }

    /// Times a collective: for each repetition the time of the slowest process.
    fn time_collective(&mut self, group: &TimedGroup, what: CollectiveKind, bytes: u64, times: usize) -> Result<Vec<f64>, BenchError> {
        let round = CollectiveTask { what, bytes: bytes as usize, first: self.warmup_count(bytes), times };
        (1..group.size()).try_for_each(|rank| self.send_command(rank, &BenchCommand::Join(round)))?;
        let mut longest = run_collective(group, &self.side, &round)?;
        for _ in 1..group.size() {
            let values = self.receive_values()?.pop().unwrap_or_default();
            longest.iter_mut().zip(values).for_each(|(longest, value)| *longest = longest.max(value));
        }
        Ok(longest)
    }

    /// Number of warm-up rounds: one where processes share a core and are descheduled all the time anyway.
    pub(super) fn warmup_count(&self, bytes: u64) -> usize {
        if self.oversubscribed || self.out_of_time { 1 } else { default_warmup_count(bytes) }
    }

    /// `times`, or less when out of time.
    fn limited_count(&self, times: usize) -> usize {
        const LATE: usize = 2;
        if self.out_of_time { times.min(LATE) } else { times }
    }
}

/// Sizes of the communicators: powers of two, and all processes.
fn communicator_sizes(processes: usize) -> Vec<usize> {
    (1..usize::BITS).map(|exponent| 1 << exponent).take_while(|power| *power < processes).chain([processes]).collect()
}

/// Collectives and sizes measured in a communicator of `size` processes.
fn collective_points(size: usize, settings: &BenchSettings) -> Vec<(CollectiveKind, u64)> {
    // Limit of the memory per process, for collectives in which every process has data for every other.
    const MEMORY: u64 = 64 << 20;
    let most = settings.max_bytes.min(MEMORY / size as u64);
    let powers = (3..u64::BITS).map(|exponent| 1u64 << exponent).take_while(|bytes| *bytes <= most);
    let between = |power: u64| if settings.quick { power } else { power + power / 2 };
    let mut bytes: Vec<u64> = powers.flat_map(|power| [power, between(power)]).filter(|bytes| *bytes <= most && bytes % 8 == 0).collect();
    bytes.dedup();
    let of = |what: &CollectiveKind| match what {
        CollectiveKind::Barrier => vec![(*what, 0)],
        _ => bytes.iter().map(|bytes| (*what, *bytes)).collect(),
    };
    CollectiveKind::ALL.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_every_few_seconds() {
        let began = Instant::now();
        let mut pulse = ProgressReporter { last_percent: 0, last_time: began };
        let said: Vec<u64> = (0..20).filter(|second| pulse.is_due(0, began + Duration::from_secs(*second))).collect();
        assert_eq!(said, [6, 12, 18]);
        assert!(pulse.is_due(1, began + Duration::from_secs(18)));
    }

    #[test]
    fn communicators_double_up_to_all() {
        assert_eq!(communicator_sizes(2), [2]);
        assert_eq!(communicator_sizes(6), [2, 4, 6]);
        assert_eq!(communicator_sizes(8), [2, 4, 8]);
    }
}
