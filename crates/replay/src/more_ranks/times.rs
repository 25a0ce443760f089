//! How long ranks compute before each call, and how that grows with their number.
//!
//! What a program computes between two calls is measured in every recording. With three numbers of ranks or more its law of growth is
//! fitted; with two it goes on as it went, within bounds; with one it stays as it is, or shrinks if the user says so.

use std::collections::{BTreeMap, HashMap};

use sintonia_fit::measurements::{Measurements, Point};
use sintonia_fit::scaling::{self, Model, Nature};
use sintonia_mpi::Role;
use sintonia_recording::raw::part;
use sintonia_recording::table::Call;

use super::Scaling;
use crate::platform::End;

/// Looking again after no longer than this is waiting, not work.
const LOOKS_AGAIN_NS: i64 = 2000;
/// How many single times of a segment are kept, to know how they scatter.
const SAMPLES: usize = 128;
/// Segments with less than this share of all computation are not worth a fit.
const WORTH_FITTING: f64 = 1e-3;
/// Computation of a rank grows at most with the number of ranks, and shrinks at most with its square: steeper is noise.
const STEEPEST: [f64; 2] = [-2.0, 1.0];
/// The same for the ends of intervals.
const FURTHEST: [f64; 2] = [-3.0, 2.0];

/// A segment: the computation before a call at a node, in the first round of the loop around it or in a later one.
pub type Segment = (usize, bool);

/// The times of a segment on one rank.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: f64,
    computed: f64,
    took: f64,
}

/// Adds up what is computed before each call while the calls of ranks are read.
#[derive(Default)]
pub struct Clockwork {
    tallies: BTreeMap<Segment, BTreeMap<(usize, u32), Tally>>,
    samples: HashMap<Segment, Vec<f64>>,
    run: usize,
    rank: u32,
    left: Option<i64>,
    carried: i64,
    /// How long the last call looked in vain, if it did.
    looked: Option<i64>,
}

impl Clockwork {
    /// A rank begins.
    pub fn begin(&mut self, run: usize, rank: u32) {
        (self.run, self.rank, self.left, self.carried, self.looked) = (run, rank, None, 0, None);
    }

    /// A call that does nothing to others: it is computation, unless it only looked for something in vain.
    pub fn pass(&mut self, call: &Call) {
        if call.shape.parts & part::FOUND_NOTHING != 0 {
            self.carried += self.gap(call);
            (self.left, self.looked) = (Some(call.leave), Some(call.leave - call.enter));
        }
        self.left.get_or_insert(call.leave);
    }

    /// A call at a node.
    pub fn count(&mut self, node: usize, again: bool, call: &Call) {
        let computed = (self.gap(call) + std::mem::take(&mut self.carried)).max(0) as f64;
        let tally = self.tallies.entry((node, again)).or_default().entry((self.run, self.rank)).or_default();
        tally.count += 1.0;
        tally.computed += computed;
        tally.took += (call.leave - call.enter).max(0) as f64;
        let samples = self.samples.entry((node, again)).or_default();
        // Every so many calls one is kept, more rarely the more there were.
        let every = (tally.count as u64).next_power_of_two() / 16;
        if samples.len() < SAMPLES && (tally.count as u64).is_multiple_of(every.max(1)) && tally.computed > 0.0 {
            samples.push(computed * tally.count / tally.computed);
        }
        (self.left, self.looked) = (Some(call.leave), None);
    }

    fn gap(&self, call: &Call) -> i64 {
        let gap = call.enter - self.left.unwrap_or(call.enter);
        if self.looked.is_some_and(|looked| gap <= looked.max(LOOKS_AGAIN_NS)) { 0 } else { gap }
    }

    /// How the times of all segments grow, for classes of ranks.
    pub fn laws(&self, family: &Sizes, class: impl Fn(usize, u32) -> usize) -> Laws {
        let all: f64 = self.tallies.values().flat_map(BTreeMap::values).map(|tally| tally.computed).sum();
        let mut laws = Laws { scatter: self.samples.clone(), ..Laws::default() };
        for (segment, tallies) in &self.tallies {
            let mut classes: BTreeMap<usize, Vec<(usize, Tally)>> = BTreeMap::new();
            tallies.iter().for_each(|((run, rank), tally)| classes.entry(class(*run, *rank)).or_default().push((*run, *tally)));
            let everyone: Vec<(usize, Tally)> = tallies.iter().map(|((run, _), tally)| (*run, *tally)).collect();
            let share = everyone.iter().map(|(_, tally)| tally.computed).sum::<f64>() / all.max(1.0);
            let took = family.keeps_time(segment.0);
            let law = |of: fn(&Tally) -> f64, tallies: &[(usize, Tally)]| {
                let points = tallies.iter().map(|(run, tally)| (f64::from(family.ranks[*run]), of(tally) / tally.count));
                Law::of(points.collect(), family.scaling, share > WORTH_FITTING)
            };
            let both = |tallies: &[(usize, Tally)]| Both {
                computed: law(|tally| tally.computed, tallies),
                took: if took { law(|tally| tally.took, tallies) } else { Law::Constant(0.0) },
            };
            let mut known: Vec<(usize, Both)> = vec![(Laws::EVERYONE, both(&everyone))];
            if classes.len() > 1 {
                known.extend(classes.iter().map(|(class, tallies)| (*class, both(&as_long(tallies, &everyone)))));
            }
            laws.of.extend(known.into_iter().map(|(class, both)| ((class, *segment), both)));
        }
        laws
    }
}

/// The times of a class; where it was not there in all runs, those of everyone in the others, in the ratio that it has to them.
fn as_long(class: &[(usize, Tally)], everyone: &[(usize, Tally)]) -> Vec<(usize, Tally)> {
    let mean = |tallies: &mut dyn Iterator<Item = &(usize, Tally)>| {
        let (sum, count) = tallies.fold((0.0, 0.0), |(sum, count), (_, tally)| (sum + tally.computed, count + tally.count));
        if count > 0.0 { sum / count } else { 0.0 }
    };
    let here: std::collections::BTreeSet<usize> = class.iter().map(|(run, _)| *run).collect();
    let whole = mean(&mut everyone.iter().filter(|(run, _)| here.contains(run)));
    let ratio = if whole > 0.0 { mean(&mut class.iter()) / whole } else { 1.0 };
    let borrowed = everyone.iter().filter(|(run, _)| !here.contains(run));
    let scaled = borrowed.map(|(run, tally)| (*run, Tally { computed: tally.computed * ratio, ..*tally }));
    class.iter().copied().chain(scaled).collect()
}

/// What the runs of a family are like.
pub struct Sizes {
    /// How many ranks each run has.
    pub ranks: Vec<u32>,
    /// How a single run goes on.
    pub scaling: Scaling,
    /// The role of each node.
    pub roles: Vec<Role>,
}

impl Sizes {
    /// Whether a call at a node takes as long as it took, whatever others do.
    fn keeps_time(&self, node: usize) -> bool {
        matches!(self.roles[node], Role::Init | Role::Finalize)
    }
}

/// What a segment takes: computing, and the call after it by itself.
#[derive(Clone, Debug)]
struct Both {
    computed: Law,
    took: Law,
}

/// How a time grows with the number of ranks.
#[derive(Clone, Debug)]
enum Law {
    /// It does not.
    Constant(f64),
    /// As it went between two runs: the number of ranks of the larger one, its time, and the exponent.
    Goes(f64, f64, f64),
    /// As was fitted; with the number of ranks of the largest run, and its time.
    Fitted(Box<Model>, f64, f64),
}

impl Law {
    /// The law of times, each measured with a number of ranks.
    fn of(points: Vec<(f64, f64)>, scaling: Scaling, worth_fitting: bool) -> Law {
        let mut runs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        points.iter().for_each(|(ranks, time)| runs.entry(*ranks as u64).or_default().push(time.max(1e-3)));
        let mean = |times: &Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let means: Vec<(f64, f64)> = runs.iter().map(|(ranks, times)| (*ranks as f64, mean(times))).collect();
        match &means[..] {
            [] => Law::Constant(0.0),
            [(ranks, time)] => match scaling {
                Scaling::Weak => Law::Constant(*time),
                Scaling::Strong => Law::Goes(*ranks, *time, -1.0),
            },
            [.., (_, last)] if !worth_fitting => Law::Constant(*last),
            [(before, earlier), (ranks, time)] => {
                let exponent = (time / earlier).ln() / (ranks / before).ln();
                Law::Goes(*ranks, *time, exponent.clamp(STEEPEST[0], STEEPEST[1]))
            }
            [.., (ranks, last)] => Law::fitted(&means).map_or(Law::Constant(*last), |model| Law::Fitted(Box::new(model), *ranks, *last)),
        }
    }

    /// The law of the means of runs: they keep the sum of all times.
    fn fitted(means: &[(f64, f64)]) -> Option<Model> {
        let points = means.iter().map(|(ranks, time)| Point { at: vec![*ranks], values: vec![*time] }).collect();
        let measurements = Measurements::new(vec!["p".into()], points).ok()?;
        scaling::fit(&measurements.of_natures([Nature::Processes])).ok()
    }

    fn at(&self, ranks: u32, which: End) -> f64 {
        let ranks = f64::from(ranks);
        let [low, middle, high] = match self {
            Law::Constant(time) => [*time; 3],
            Law::Goes(from, time, exponent) => {
                let there = time * (ranks / from).powf(*exponent);
                [there.min(*time), there, there.max(*time)]
            }
            Law::Fitted(model, from, time) => {
                let [low, middle, high] = model.expect(&[ranks]);
                let believed = |value: f64, steepest: [f64; 2]| {
                    let [a, b] = steepest.map(|exponent| time * (ranks / from).powf(exponent));
                    // Between the runs that were made, what was fitted holds.
                    if ranks <= *from { value } else { value.clamp(a, b) }
                };
                [believed(low, FURTHEST), believed(middle, STEEPEST), believed(high, FURTHEST)]
            }
        };
        match which {
            End::Low => low,
            End::Middle => middle,
            End::High => high,
        }
    }
}

/// How the times of all segments grow.
#[derive(Clone, Debug, Default)]
pub struct Laws {
    of: HashMap<(usize, Segment), Both>,
    scatter: HashMap<Segment, Vec<f64>>,
}

/// What a segment takes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// The computation before the call.
    pub computed_ns: f64,
    /// The call by itself.
    pub took_ns: f64,
}

impl Laws {
    /// The class that stands for all ranks.
    pub const EVERYONE: usize = usize::MAX;

    /// What a segment takes on ranks of a class, or of all where the class never came by.
    pub fn at(&self, class: usize, segment: Segment, ranks: u32, which: End) -> Taken {
        let known = |segment| self.of.get(&(class, segment)).or_else(|| self.of.get(&(Laws::EVERYONE, segment)));
        let both = known(segment).or_else(|| known((segment.0, !segment.1)));
        both.map_or_else(Taken::default, |both| Taken { computed_ns: both.computed.at(ranks, which), took_ns: both.took.at(ranks, which) })
    }

    /// How single times of a segment scatter around their mean, as ratios.
    pub fn scatter(&self, segment: Segment) -> &[f64] {
        self.scatter.get(&segment).map_or(&[], Vec::as_slice)
    }
}
