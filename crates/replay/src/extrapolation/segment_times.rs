//! Compute times before each call, and how they scale.
//!
//! Segment times are measured in every recording. With three or more numbers of ranks a scaling model is fitted; with two a bounded power
//! law is used; with one they stay constant, or shrink under strong scaling.

use std::collections::{BTreeMap, HashMap};

use sintonia_fit::measurements::{DataPoint, Measurements};
use sintonia_fit::scaling::{self, ParameterKind, ScalingModel};
use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::raw::part;

use super::ProblemScaling;
use crate::core_waits::LocationCoreWaits;
use crate::interval_bound::IntervalBound;

/// A longer gap between polls is computation, not waiting.
const MAX_POLL_GAP_NS: i64 = 2000;
/// Samples kept per segment, for the noise distribution.
const MAX_SAMPLES: usize = 128;
/// Segments with a smaller share of the total compute time are not fitted.
const MIN_FITTED_SHARE: f64 = 1e-3;
/// Exponents of compute time in the number of ranks; anything steeper is noise.
const EXPONENT_RANGE: [f64; 2] = [-2.0, 1.0];
/// The same for the bounds of intervals.
const BOUND_EXPONENT_RANGE: [f64; 2] = [-3.0, 2.0];

/// A segment: the computation before a call at a node, in the first iteration of its loop or a later one.
pub(super) type SegmentId = (usize, bool);

/// Times of a segment on one rank.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentTally {
    count: f64,
    compute_ns: f64,
    call_ns: f64,
}

/// Accumulates segment times while traces are read.
#[derive(Default)]
pub(super) struct SegmentTimer {
    tallies: BTreeMap<SegmentId, BTreeMap<(usize, u32), SegmentTally>>,
    samples: HashMap<SegmentId, Vec<f64>>,
    run: usize,
    rank: u32,
    last_exit_ns: Option<i64>,
    carried_ns: i64,
    /// Duration of the last call, if it was an unsuccessful poll.
    last_poll_ns: Option<i64>,
    /// When the rank waited for a core, which is no computation.
    core_waits: Option<LocationCoreWaits>,
}

impl SegmentTimer {
    /// Starts a rank.
    pub(super) fn start_rank(&mut self, run: usize, rank: u32, core_waits: Option<LocationCoreWaits>) {
        (self.run, self.rank, self.last_exit_ns, self.carried_ns, self.last_poll_ns) = (run, rank, None, 0, None);
        self.core_waits = core_waits;
    }

    /// A call without communication counts as computation, unless it was an unsuccessful poll.
    pub(super) fn skip_call(&mut self, call: &RecordedCall) {
        if call.descriptor.parts & part::FLAG_FALSE != 0 {
            self.carried_ns += self.gap(call);
            (self.last_exit_ns, self.last_poll_ns) = (Some(call.leave), Some(call.leave - call.enter));
        }
        self.last_exit_ns.get_or_insert(call.leave);
    }

    /// Records the segment before a call.
    pub(super) fn record_call(&mut self, node: usize, again: bool, call: &RecordedCall) {
        let computed = (self.gap(call) + std::mem::take(&mut self.carried_ns)).max(0) as f64;
        let core_wait_ns = self.core_waits.as_mut().map_or(0, |waits| waits.next_ns(call.enter, call.leave));
        let call_ns = call.leave - call.enter - core_wait_ns;
        let tally = self.tallies.entry((node, again)).or_default().entry((self.run, self.rank)).or_default();
        tally.count += 1.0;
        tally.compute_ns += computed;
        tally.call_ns += call_ns.max(0) as f64;
        let samples = self.samples.entry((node, again)).or_default();
        // Keeps one of every 2^k calls, rarer as they become more.
        let every = (tally.count as u64).next_power_of_two() / 16;
        if samples.len() < MAX_SAMPLES && (tally.count as u64).is_multiple_of(every.max(1)) && tally.compute_ns > 0.0 {
            samples.push(computed * tally.count / tally.compute_ns);
        }
        (self.last_exit_ns, self.last_poll_ns) = (Some(call.leave), None);
    }

    fn gap(&mut self, call: &RecordedCall) -> i64 {
        let begin = self.last_exit_ns.unwrap_or(call.enter);
        let gap = call.enter - begin - self.core_waits.as_mut().map_or(0, |waits| waits.next_ns(begin, call.enter));
        if self.last_poll_ns.is_some_and(|poll| gap <= poll.max(MAX_POLL_GAP_NS)) { 0 } else { gap }
    }

    /// Scaling laws of all segments, for classes of ranks.
    pub(super) fn fit_laws(&self, family: &RunSizes, class: impl Fn(usize, u32) -> usize) -> TimeLaws {
        let all: f64 = self.tallies.values().flat_map(BTreeMap::values).map(|tally| tally.compute_ns).sum();
        let mut laws = TimeLaws { noise: self.samples.clone(), ..TimeLaws::default() };
        for (segment, tallies) in &self.tallies {
            let mut classes: BTreeMap<usize, Vec<(usize, SegmentTally)>> = BTreeMap::new();
            tallies.iter().for_each(|((run, rank), tally)| classes.entry(class(*run, *rank)).or_default().push((*run, *tally)));
            let everyone: Vec<(usize, SegmentTally)> = tallies.iter().map(|((run, _), tally)| (*run, *tally)).collect();
            let share = everyone.iter().map(|(_, tally)| tally.compute_ns).sum::<f64>() / all.max(1.0);
            let took = family.has_fixed_duration(segment.0);
            let law = |of: fn(&SegmentTally) -> f64, tallies: &[(usize, SegmentTally)]| {
                let points = tallies.iter().map(|(run, tally)| (f64::from(family.ranks[*run]), of(tally) / tally.count));
                TimeLaw::from_points(points.collect(), family.scaling, share > MIN_FITTED_SHARE)
            };
            let both = |tallies: &[(usize, SegmentTally)]| SegmentLaws {
                compute: law(|tally| tally.compute_ns, tallies),
                call: if took { law(|tally| tally.call_ns, tallies) } else { TimeLaw::Constant(0.0) },
            };
            let mut known: Vec<(usize, SegmentLaws)> = vec![(TimeLaws::ALL_RANKS, both(&everyone))];
            if classes.len() > 1 {
                known.extend(classes.iter().map(|(class, tallies)| (*class, both(&fill_missing_runs(tallies, &everyone)))));
            }
            laws.by_segment.extend(known.into_iter().map(|(class, both)| ((class, *segment), both)));
        }
        laws
    }
}

/// Times of a class; runs without the class use the average of all ranks, scaled by the ratio of the class to it.
fn fill_missing_runs(class: &[(usize, SegmentTally)], everyone: &[(usize, SegmentTally)]) -> Vec<(usize, SegmentTally)> {
    let mean = |tallies: &mut dyn Iterator<Item = &(usize, SegmentTally)>| {
        let (sum, count) = tallies.fold((0.0, 0.0), |(sum, count), (_, tally)| (sum + tally.compute_ns, count + tally.count));
        if count > 0.0 { sum / count } else { 0.0 }
    };
    let here: std::collections::BTreeSet<usize> = class.iter().map(|(run, _)| *run).collect();
    let whole = mean(&mut everyone.iter().filter(|(run, _)| here.contains(run)));
    let ratio = if whole > 0.0 { mean(&mut class.iter()) / whole } else { 1.0 };
    let borrowed = everyone.iter().filter(|(run, _)| !here.contains(run));
    let scaled = borrowed.map(|(run, tally)| (*run, SegmentTally { compute_ns: tally.compute_ns * ratio, ..*tally }));
    class.iter().copied().chain(scaled).collect()
}

/// Properties of the runs.
pub(super) struct RunSizes {
    /// Number of ranks of each run.
    pub ranks: Vec<u32>,
    /// Scaling from a single run.
    pub scaling: ProblemScaling,
    /// The role of each node.
    pub roles: Vec<FunctionRole>,
}

impl RunSizes {
    /// Whether the call keeps its recorded duration.
    fn has_fixed_duration(&self, node: usize) -> bool {
        matches!(self.roles[node], FunctionRole::Init | FunctionRole::Finalize)
    }
}

/// Scaling laws of a segment: computation, and the call itself.
#[derive(Clone, Debug)]
struct SegmentLaws {
    compute: TimeLaw,
    call: TimeLaw,
}

/// Scaling law of a time.
#[derive(Clone, Debug)]
enum TimeLaw {
    /// Constant.
    Constant(f64),
    /// Power law from two runs: number of ranks and time of the larger one, and the exponent.
    PowerLaw(f64, f64, f64),
    /// Fitted model, with number of ranks and time of the largest run.
    Fitted(Box<ScalingModel>, f64, f64),
}

impl TimeLaw {
    /// The law for (number of ranks, time) points.
    fn from_points(points: Vec<(f64, f64)>, scaling: ProblemScaling, worth_fitting: bool) -> TimeLaw {
        let mut runs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        points.iter().for_each(|(ranks, time)| runs.entry(*ranks as u64).or_default().push(time.max(1e-3)));
        let mean = |times: &Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let means: Vec<(f64, f64)> = runs.iter().map(|(ranks, times)| (*ranks as f64, mean(times))).collect();
        match &means[..] {
            [] => TimeLaw::Constant(0.0),
            [(ranks, time)] => match scaling {
                ProblemScaling::Weak => TimeLaw::Constant(*time),
                ProblemScaling::Strong => TimeLaw::PowerLaw(*ranks, *time, -1.0),
            },
            [.., (_, last)] if !worth_fitting => TimeLaw::Constant(*last),
            [(before, earlier), (ranks, time)] => {
                let exponent = (time / earlier).ln() / (ranks / before).ln();
                TimeLaw::PowerLaw(*ranks, *time, exponent.clamp(EXPONENT_RANGE[0], EXPONENT_RANGE[1]))
            }
            [.., (ranks, last)] => {
                TimeLaw::fit(&means).map_or(TimeLaw::Constant(*last), |model| TimeLaw::Fitted(Box::new(model), *ranks, *last))
            }
        }
    }

    /// Fits the means of the runs, which preserve the total time.
    fn fit(means: &[(f64, f64)]) -> Option<ScalingModel> {
        let points = means.iter().map(|(ranks, time)| DataPoint { at: vec![*ranks], values: vec![*time] }).collect();
        let measurements = Measurements::new(vec!["p".into()], points).ok()?;
        scaling::fit(&measurements.with_parameter_kinds([ParameterKind::Processes])).ok()
    }

    fn evaluate(&self, ranks: u32, which: IntervalBound) -> f64 {
        let ranks = f64::from(ranks);
        let [low, middle, high] = match self {
            TimeLaw::Constant(time) => [*time; 3],
            TimeLaw::PowerLaw(from, time, exponent) => {
                let there = time * (ranks / from).powf(*exponent);
                [there.min(*time), there, there.max(*time)]
            }
            TimeLaw::Fitted(model, from, time) => {
                let [low, middle, high] = model.predict_mean(&[ranks]);
                let believed = |value: f64, steepest: [f64; 2]| {
                    let [a, b] = steepest.map(|exponent| time * (ranks / from).powf(exponent));
                    // Within the recorded range the fit is used as is.
                    if ranks <= *from { value } else { value.clamp(a, b) }
                };
                [believed(low, BOUND_EXPONENT_RANGE), believed(middle, EXPONENT_RANGE), believed(high, BOUND_EXPONENT_RANGE)]
            }
        };
        match which {
            IntervalBound::Low => low,
            IntervalBound::Middle => middle,
            IntervalBound::High => high,
        }
    }
}

/// Scaling laws of all segments.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeLaws {
    by_segment: HashMap<(usize, SegmentId), SegmentLaws>,
    noise: HashMap<SegmentId, Vec<f64>>,
}

/// Predicted time of a segment in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PredictedSegmentTime {
    /// The computation before the call.
    pub compute_ns: f64,
    /// The call itself.
    pub call_ns: f64,
}

impl TimeLaws {
    /// The class of all ranks.
    pub(super) const ALL_RANKS: usize = usize::MAX;

    /// Time of a segment for a class, or the average if the class never executed it.
    pub(super) fn segment_time(&self, class: usize, segment: SegmentId, ranks: u32, which: IntervalBound) -> PredictedSegmentTime {
        let known = |segment| self.by_segment.get(&(class, segment)).or_else(|| self.by_segment.get(&(TimeLaws::ALL_RANKS, segment)));
        let both = known(segment).or_else(|| known((segment.0, !segment.1)));
        both.map_or_else(PredictedSegmentTime::default, |both| PredictedSegmentTime {
            compute_ns: both.compute.evaluate(ranks, which),
            call_ns: both.call.evaluate(ranks, which),
        })
    }

    /// Recorded ratios of single times to their mean.
    pub(super) fn noise(&self, segment: SegmentId) -> &[f64] {
        self.noise.get(&segment).map_or(&[], Vec::as_slice)
    }
}
