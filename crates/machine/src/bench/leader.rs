//! The means of the leading process: it commands the others, measures points in passes as long as there is time, and writes the results.

use std::io::Write;
use std::time::{Duration, Instant};

use sintonia_fit::SplitMix64;
use sintonia_mpi::BenchmarkCalls;

use super::binding::is_oversubscribed;
use super::command::{BenchAnswer, BenchCommand, ExchangeTask, default_warmup_count};
use super::message_timer::MessageTimer;
use super::pass_plan::{MeasuringPace, PointPlan, plan_point, point_seconds, size_priority};
use super::repetitions::{Repetitions, TimedRound};
use super::{BenchError, BenchQuantity, BenchRecord, BenchSample, BenchSettings, ProcessBinding};

/// Repetitions of each point in the first pass, and of those that are reduced.
pub(super) const FIRST_PASS_REPETITIONS: usize = 8;
const REDUCED_REPETITIONS: usize = 2;

/// The end of the time for the first of `left` remaining parts.
pub(super) fn share_end(until: Instant, left: usize) -> Instant {
    Instant::now() + share_of_time(until, left)
}

fn share_of_time(until: Instant, left: usize) -> Duration {
    until.saturating_duration_since(Instant::now()) / left.max(1) as u32
}

/// Approximate time of a message between the farthest processes, by size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransferEstimate {
    pub empty_s: f64,
    pub byte_s: f64,
}

impl TransferEstimate {
    pub(super) fn at(&self, bytes: u64) -> f64 {
        self.empty_s + self.byte_s * bytes as f64
    }
}

/// A point to measure.
pub(super) struct PlannedPoint<K> {
    pub key: K,
    /// What it measures: one for each list of values.
    pub quantities: Vec<BenchQuantity>,
    pub bytes: u64,
    /// Predicted seconds of one repetition.
    pub repetition_s: f64,
    /// Warm-up rounds.
    pub warmups: usize,
}

impl<K> PlannedPoint<K> {
    fn seconds(&self, rounds: RoundCounts) -> f64 {
        point_seconds(rounds.all(), self.repetition_s)
    }

    /// All repetitions of the first pass.
    fn full_rounds(&self) -> RoundCounts {
        RoundCounts { first: self.warmups, times: FIRST_PASS_REPETITIONS }
    }

    /// Few repetitions.
    fn reduced_rounds(&self) -> RoundCounts {
        RoundCounts { first: self.reduced_warmups(), times: REDUCED_REPETITIONS }
    }

    /// Repetitions with few warm-up rounds, where time is short: one, unless it takes long.
    fn reduced_warmups(&self) -> usize {
        const LONG: f64 = 1e-3;
        if self.repetition_s > LONG { 0 } else { self.warmups.min(1) }
    }
}

/// Repetitions of a point: those that warm up, and those that count.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundCounts {
    pub first: usize,
    pub times: usize,
}

impl RoundCounts {
    fn all(self) -> usize {
        self.first + self.times
    }
}

/// State of the leading process.
pub(super) struct BenchLeader<'t, 'o> {
    pub timed: &'t BenchmarkCalls<'t>,
    pub side: MessageTimer<'t>,
    random: SplitMix64,
    pub settings: BenchSettings,
    pub bindings: Vec<ProcessBinding>,
    /// Whether processes share cores.
    pub oversubscribed: bool,
    pace: MeasuringPace,
    pub transfer_estimate: TransferEstimate,
    start_time: Instant,
    /// All time for measuring.
    time: Duration,
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

impl<'t, 'o> BenchLeader<'t, 'o> {
    /// The leader of processes with these bindings, with this time for measuring.
    pub(super) fn new(
        timed: &'t BenchmarkCalls<'t>,
        settings: &BenchSettings,
        bindings: Vec<ProcessBinding>,
        time: Duration,
        out: &'o mut dyn Write,
    ) -> BenchLeader<'t, 'o> {
        let start_time = Instant::now();
        BenchLeader {
            timed,
            side: MessageTimer::new(timed),
            random: SplitMix64::new(settings.seed),
            settings: *settings,
            oversubscribed: is_oversubscribed(&bindings),
            bindings,
            pace: MeasuringPace::default(),
            transfer_estimate: TransferEstimate::default(),
            start_time,
            time,
            progress: ProgressReporter { last_percent: 0, last_time: start_time },
            out,
        }
    }

    /// Writes what is known of a point, or that it was left out.
    fn report_point<K>(&mut self, point: &PlannedPoint<K>, repetitions: &Repetitions) -> Result<(), BenchError> {
        let mut counted = repetitions.counted().into_iter();
        for &quantity in &point.quantities {
            let sample = counted.next().and_then(|counted| {
                let sample = BenchSample::from_values(quantity, point.bytes, &counted.values).ok()?;
                // A share is no time, and is not longer when it is disturbed.
                let disturbance = if matches!(quantity, BenchQuantity::Overlap { .. }) { 0.0 } else { counted.disturbance };
                Some(BenchSample { disturbance, ..sample })
            });
            sample.map_or(BenchRecord::LeftOut(quantity, point.bytes), BenchRecord::Sample).write(self.out)?;
        }
        Ok(())
    }

    /// Reports the percentage of the time that is over, if due.
    pub(super) fn report_progress(&mut self) -> Result<(), BenchError> {
        let share = self.start_time.elapsed().as_secs_f64() / self.time.as_secs_f64().max(1e-3);
        let done = ((100.0 * share) as u32).min(100);
        if self.progress.is_due(done, Instant::now()) {
            BenchRecord::Done(done).write(self.out)?;
        }
        Ok(())
    }

    /// Measures points in passes, each in a new random order, so that a short disturbance affects a few repetitions of many points; until all
    /// medians are precise or the time is up. If the time does not suffice for the first pass, points have fewer repetitions, and a coarse grid
    /// of sizes comes before the others; what does not fit is left out. Everything is reported after the first pass and at the end.
    pub(super) fn measure_in_passes<K>(
        &mut self,
        points: Vec<PlannedPoint<K>>,
        until: Instant,
        mut ask: impl FnMut(&mut Self, &K, RoundCounts) -> Result<TimedRound, BenchError>,
    ) -> Result<Vec<(PlannedPoint<K>, Repetitions)>, BenchError> {
        let mut points: Vec<(PlannedPoint<K>, Repetitions)> = points.into_iter().map(|point| (point, Repetitions::default())).collect();
        for pass in 0.. {
            let mut unfinished: Vec<usize> = (0..points.len()).filter(|at| !points[*at].1.is_precise()).collect();
            self.shuffle(&mut unfinished);
            let counts = if pass == 0 { self.plan_first_pass(&points, &mut unfinished) } else { Vec::new() };
            let mut asked = 0;
            for (index, at) in unfinished.into_iter().enumerate() {
                let (point, repetitions) = &mut points[at];
                let left = until.saturating_duration_since(Instant::now());
                let rounds = if pass == 0 { counts[index].rounds(left, &self.pace, point) } else { self.next_rounds(point, left) };
                let Some(rounds) = rounds else { continue };
                let began = Instant::now();
                repetitions.add(ask(self, &point.key, rounds)?);
                self.pace.learn(point.seconds(rounds), rounds.all(), began.elapsed());
                self.report_progress()?;
                asked += 1;
            }
            if pass == 0 || asked == 0 {
                points.iter().try_for_each(|(point, repetitions)| self.report_point(point, repetitions))?;
            }
            if asked == 0 {
                break;
            }
        }
        Ok(points)
    }

    /// Sorts the points of the first pass: coarse sizes first. Returns what each may take.
    fn plan_first_pass<K>(&self, points: &[(PlannedPoint<K>, Repetitions)], order: &mut [usize]) -> Vec<FirstPassPoint> {
        order.sort_by_key(|at| size_priority(points[*at].0.bytes, self.settings.max_bytes));
        let mut plan: Vec<FirstPassPoint> = Vec::with_capacity(order.len());
        let mut rest = FirstPassPoint { predicted_s: 0.0, repetitions: 0, points_left: 0 };
        for at in order.iter().rev() {
            let point = &points[*at].0;
            rest.predicted_s += point.seconds(point.full_rounds());
            rest.repetitions += point.full_rounds().all();
            rest.points_left += 1;
            plan.push(rest);
        }
        plan.reverse();
        plan
    }

    /// More repetitions in a later pass, if there is time.
    fn next_rounds<K>(&self, point: &PlannedPoint<K>, left: Duration) -> Option<RoundCounts> {
        let rounds = RoundCounts { first: point.warmups, times: 2 * FIRST_PASS_REPETITIONS };
        let fits = |rounds: &RoundCounts| self.pace.seconds(point.seconds(*rounds), rounds.all()) <= left.as_secs_f64();
        [rounds, point.reduced_rounds()].into_iter().find(fits)
    }

    pub(super) fn send_command(&self, rank: usize, order: &BenchCommand) -> Result<(), BenchError> {
        Ok(self.timed.world().send(rank, &serde_json::to_vec(order)?)?)
    }

    pub(super) fn send_to_all(&self, order: &BenchCommand) -> Result<(), BenchError> {
        (1..self.bindings.len()).try_for_each(|rank| self.send_command(rank, order))
    }

    pub(super) fn receive_answer(&self) -> Result<BenchAnswer, BenchError> {
        let (_, message) = self.timed.wait_for_message()?;
        Ok(serde_json::from_slice(&message)?)
    }

    /// Two processes exchange messages; the first of the pair reads the clock.
    pub(super) fn run_exchange(&mut self, pair: [usize; 2], task: ExchangeTask) -> Result<TimedRound, BenchError> {
        Ok(self.run_exchanges(&[pair], task)?.pop().unwrap_or_default())
    }

    /// Several pairs of processes exchange messages at the same time.
    pub(super) fn run_exchanges(&mut self, pairs: &[[usize; 2]], task: ExchangeTask) -> Result<Vec<TimedRound>, BenchError> {
        let mut own = None;
        for &[first, second] in pairs {
            self.send_command(second, &BenchCommand::Assist(task, first))?;
            match first {
                0 => own = Some(second),
                _ => self.send_command(first, &BenchCommand::Measure(task, second))?,
            }
        }
        let mut rounds = own.map(|second| self.side.measure(&task, second)).transpose()?.map_or_else(Vec::new, |round| vec![round]);
        let mut core_wait: f64 = 0.0;
        for _ in rounds.len()..2 * pairs.len() {
            match self.receive_answer()? {
                BenchAnswer::Round(round) => rounds.push(round),
                BenchAnswer::Assisted(share) => core_wait = core_wait.max(share),
                BenchAnswer::Samples(_) | BenchAnswer::ProcessorShare(_) | BenchAnswer::HostTicks(_) => {}
            }
        }
        rounds.iter_mut().for_each(|round| round.core_wait = round.core_wait.max(core_wait));
        Ok(rounds)
    }

    fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.random.index_below(last + 1));
        }
    }

    /// Samples that one process measures by itself: this one or another.
    pub(super) fn collect_samples(
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
            _ => Ok(Vec::new()),
        }
    }

    /// Number of warm-up rounds: one where processes share a core and are descheduled all the time anyway.
    pub(super) fn warmup_count(&self, bytes: u64) -> usize {
        if self.oversubscribed { 1 } else { default_warmup_count(bytes) }
    }
}

/// What a point of the first pass and all later ones take with all repetitions.
#[derive(Clone, Copy)]
struct FirstPassPoint {
    predicted_s: f64,
    repetitions: usize,
    points_left: usize,
}

impl FirstPassPoint {
    fn rounds<K>(&self, left: Duration, pace: &MeasuringPace, point: &PlannedPoint<K>) -> Option<RoundCounts> {
        let reduced = point.reduced_rounds();
        let reduced_s = pace.seconds(point.seconds(reduced), reduced.all());
        match plan_point(left, pace.seconds(self.predicted_s, self.repetitions), reduced_s, self.points_left) {
            PointPlan::Full => Some(point.full_rounds()),
            PointPlan::Reduced => Some(reduced),
            PointPlan::LeftOut => None,
        }
    }
}

/// Joins the answer of another process that took part: the longer times, and the longer wait for a core.
pub(super) fn with_answer(mut round: TimedRound, answer: BenchAnswer) -> TimedRound {
    if let BenchAnswer::Round(other) = answer {
        round.core_wait = round.core_wait.max(other.core_wait);
        let pairs = round.values.iter_mut().flatten().zip(other.values.into_iter().flatten());
        pairs.for_each(|(longest, value)| *longest = longest.max(value));
    }
    round
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
}
