//! The tunlet `search`: finds the values of any variables with which an iteration takes least time, by trying, as Active Harmony does.
//!
//! Each point is measured a few times and the least time counts, because what others do on a machine only adds to it (or the median, if that is
//! wanted). A point that is hopeless at first sight is left at once, so that the program is never kept in a bad place. When nothing near is better
//! the search settles on the best point known, which may be the one the program began with, and goes on measuring there: when the time drifts
//! away by more than noise, the program has changed, and the search begins anew from there.

mod simplex;
mod space;

pub use space::{Axis, Point, Space, Spread};

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use crate::file::expression::short;
use simplex::{Known, Next, next};

/// What a search of the time between two calls of a function is told without a file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The function that is called once in an iteration.
    pub iteration: String,
    /// The process whose iterations count.
    #[serde(default = "master")]
    pub actor: String,
    /// Variables and their ranges.
    pub variables: BTreeMap<String, (f64, f64)>,
    /// Whether the variables are whole numbers.
    #[serde(default = "yes")]
    pub whole: bool,
    /// How often each point is measured.
    #[serde(default = "usual_samples")]
    pub samples: usize,
}

fn master() -> String {
    "master".into()
}

fn yes() -> bool {
    true
}

fn usual_samples() -> usize {
    Manner::default().samples
}

impl Settings {
    /// The file that says the same.
    pub fn file(&self) -> String {
        let Settings { iteration, actor, variables, whole, samples } = self;
        let mut file = format!(
            "period = \"iteration\"\n[[measure]]\nname = \"iteration\"\nactor = {actor:?}\nfunction = {iteration:?}\n\
             [search]\nobjective = \"iteration.interval\"\nsamples = {samples}\n"
        );
        for (variable, (low, high)) in variables {
            let _ = write!(file, "[[tune]]\nvariable = {variable:?}\nrange = [{low:?}, {high:?}]\nwhole = {whole}\n");
        }
        file
    }
}

/// How a search is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// How often each point is measured.
    pub samples: usize,
    /// Which of these counts.
    pub counts: Counts,
    /// How many iterations after a change do not count.
    pub settle: usize,
    /// The share by which the time at the best point must drift to begin anew.
    pub drift: f64,
    /// How many points are measured at most before it settles for the best known.
    pub most: usize,
}

/// Which of several times counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The one in the middle.
    Median,
    /// The least: where others use the machine too, noise only adds.
    Least,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner { samples: 3, counts: Counts::Least, settle: 1, drift: 0.15, most: 120 }
    }
}

/// A point with a first sample so many times the best, or with two so, is not measured again.
const HOPELESS: [f64; 2] = [3.0, 1.3];

/// So many deviations are more than noise.
const BEYOND_NOISE: f64 = 4.0;

/// After each search anew, twice as many iterations must have drifted for the next, so many times: a busy machine is no changed program.
const MOST_DOUBLINGS: u32 = 3;

/// Searches that find their best point changed at the end, in a row; then it is noise.
const MOST_RESTARTS: usize = 2;

/// What is wanted after a sample.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Move {
    /// The new values of the variables, if they are to change.
    pub to: Option<Vec<f64>>,
    /// Why.
    pub why: String,
    /// What there is to tell.
    pub tell: Option<String>,
}

/// What a search is at.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Measures the program as it is.
    AsItWas,
    /// Measures a point.
    Looking,
    /// Measures the best point again.
    Confirming(f64),
    /// Has found it; the time there.
    Settled(f64),
}

/// Where the program is.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    /// Where it began.
    Beginning,
    At(Point),
}

/// A search.
#[derive(Debug)]
pub struct Search {
    names: Vec<String>,
    space: Space,
    manner: Manner,
    start: Option<Point>,
    known: Known,
    stage: Stage,
    place: Place,
    /// The time as the program was, and the values of its variables then, as they become known.
    beginning: (Option<f64>, Vec<Option<f64>>),
    samples: Vec<f64>,
    /// Iterations that do not count yet.
    skip: usize,
    /// The spread of samples at one point, as a share of their median.
    noise: f64,
    restarts: usize,
    /// How often it has begun anew after it had settled.
    anew: u32,
    measured: usize,
}

impl Search {
    /// A search for the best values of variables with these names, from certain ones on if they are told.
    pub fn new(names: Vec<String>, space: Space, start: Option<Vec<f64>>, manner: Manner) -> Search {
        let start = start.map(|values| space.nearest(&values));
        Search {
            beginning: (None, vec![None; names.len()]),
            names,
            space,
            manner,
            start,
            known: Known::new(),
            stage: Stage::AsItWas,
            place: Place::Beginning,
            samples: Vec::new(),
            skip: manner.settle,
            noise: 0.0,
            restarts: 0,
            anew: 0,
            measured: 0,
        }
    }

    /// The value of a variable before it was changed for the first time.
    pub fn was(&mut self, variable: usize, before: f64) {
        if let Some(value) = self.beginning.1.get_mut(variable) {
            value.get_or_insert(before);
        }
    }

    /// Whether it has found the best point.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Settled(_))
    }

    /// How many points have been measured.
    pub fn measured(&self) -> usize {
        self.measured
    }

    /// The time at the best point known.
    pub fn best(&self) -> Option<f64> {
        self.known.values().copied().chain(self.beginning.0).min_by(f64::total_cmp)
    }

    /// An iteration took this long; what is wanted now.
    pub fn sample(&mut self, time: f64) -> Move {
        if !time.is_finite() {
            return Move::default();
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Move::default();
        }
        self.samples.push(time);
        match self.stage {
            Stage::Settled(reference) => self.watch(reference),
            Stage::Looking if self.is_hopeless(time) => self.conclude(),
            _ if self.samples.len() < self.manner.samples.max(1) => Move::default(),
            _ => self.conclude(),
        }
    }

    fn is_hopeless(&self, time: f64) -> bool {
        let Some(worse) = HOPELESS.get(self.samples.len() - 1) else { return false };
        let least = self.samples.iter().copied().fold(time, f64::min);
        self.best().is_some_and(|best| least > best * worse.max(1.0 + BEYOND_NOISE * self.noise))
    }

    /// The samples of a place are complete.
    fn conclude(&mut self) -> Move {
        let time = self.counted();
        let samples = std::mem::take(&mut self.samples);
        self.measured += 1;
        match (&self.stage, &self.place) {
            (Stage::Confirming(expected), _) => return self.confirm(*expected, time),
            (_, Place::Beginning) => self.beginning.0 = Some(time),
            (_, Place::At(point)) => drop(self.known.insert(point.clone(), time)),
        }
        if samples.len() > 1 && time > 0.0 {
            let deviation = samples.iter().map(|sample| (sample - time).abs()).sum::<f64>() / samples.len() as f64;
            self.noise = if self.noise == 0.0 { deviation / time } else { 0.8 * self.noise + 0.2 * deviation / time };
        }
        self.stage = Stage::Looking;
        self.proceed()
    }

    fn proceed(&mut self) -> Move {
        let beginning = self.beginning_point();
        if let (Some(point), Some(time)) = (&beginning, self.beginning.0) {
            self.known.entry(point.clone()).or_insert(time);
        }
        let start = match &self.start {
            Some(start) => start.clone(),
            // Once the middle has been measured the better of the two is where the search starts from.
            None => {
                let middle = self.space.middle();
                let better = beginning.filter(|point| self.known.get(point) < self.known.get(&middle));
                let start = if self.known.contains_key(&middle) { better.unwrap_or(middle) } else { middle };
                self.start = self.known.contains_key(&start).then(|| start.clone());
                start
            }
        };
        match next(&self.space, &start, &self.known) {
            Next::Measure(point) if self.known.len() < self.manner.most => {
                let why = format!("trying: {}", self.told(&self.space.values(&point)));
                self.go(Place::At(point), why)
            }
            Next::Measure(_) => self.settle(),
            Next::Converged(_) => self.settle(),
        }
    }

    /// Goes to the best place known, to measure it once more.
    fn settle(&mut self) -> Move {
        let best = self.known.iter().min_by(|a, b| a.1.total_cmp(b.1).then_with(|| a.0.cmp(b.0)));
        let Some((point, time)) = best.map(|(point, time)| (point.clone(), *time)) else { return Move::default() };
        let began_better = self.beginning.0.filter(|was| *was < time && self.beginning.1.iter().all(Option::is_some));
        let (place, time) = began_better.map_or((Place::At(point), time), |was| (Place::Beginning, was));
        self.stage = Stage::Confirming(time);
        let why = format!("the best of {} that were measured", self.measured);
        if place == self.place { Move::default() } else { self.go(place, why) }
    }

    fn confirm(&mut self, expected: f64, time: f64) -> Move {
        if self.has_drifted(expected, time) && self.restarts < MOST_RESTARTS {
            self.restarts += 1;
            return self.begin_anew(time);
        }
        self.restarts = 0;
        self.stage = Stage::Settled(time);
        let less = |was: f64| 100.0 * (1.0 - time / was);
        let began = self
            .beginning
            .0
            .map(less)
            .filter(|less| *less > 0.0)
            .map_or(String::new(), |less| format!(", {less:.1} % less than as it was"));
        let tell = format!("settled on {}: {} s{began}; {} points measured", self.told(&self.here()), short(time), self.measured);
        Move { tell: Some(tell), ..Move::default() }
    }

    /// Settled: looks whether the program still behaves as it did.
    fn watch(&mut self, reference: f64) -> Move {
        // More than for a point: what others do on the machine lasts some iterations, and a search for nothing costs more than a few.
        let samples = self.manner.samples.max(1);
        let enough = match self.manner.counts {
            Counts::Median => 4 * samples - 1,
            Counts::Least => 2 * samples + 1,
        };
        if self.samples.len() < enough << self.anew.min(MOST_DOUBLINGS) {
            return Move::default();
        }
        let time = self.counted();
        if self.has_drifted(reference, time) {
            self.samples.clear();
            self.anew += 1;
            return self.begin_anew(time);
        }
        self.samples.remove(0);
        Move::default()
    }

    fn begin_anew(&mut self, time: f64) -> Move {
        let here = self.here();
        let point = self.space.nearest(&here);
        self.known = Known::from([(point.clone(), time)]);
        // What was measured before says nothing of the program as it is now.
        self.beginning.0 = None;
        (self.start, self.stage) = (Some(point), Stage::Looking);
        let tell = format!("the program has changed: {} s with {} now; searching anew", short(time), self.told(&here));
        Move { tell: Some(tell), ..self.proceed() }
    }

    fn has_drifted(&self, expected: f64, time: f64) -> bool {
        (time - expected).abs() > expected.abs() * self.manner.drift.max(BEYOND_NOISE * self.noise)
    }

    fn go(&mut self, place: Place, why: String) -> Move {
        self.place = place;
        self.samples.clear();
        self.skip = self.manner.settle;
        Move { to: Some(self.here()), why, tell: None }
    }

    /// The point where the program began, if that is one of the lattice.
    fn beginning_point(&self) -> Option<Point> {
        let values = self.beginning.1.iter().copied().collect::<Option<Vec<f64>>>()?;
        let point = self.space.nearest(&values);
        (self.space.values(&point) == values).then_some(point)
    }

    fn here(&self) -> Vec<f64> {
        match &self.place {
            Place::At(point) => self.space.values(point),
            Place::Beginning => self.beginning.1.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        }
    }

    /// The one of the samples that counts.
    fn counted(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        if self.manner.counts == Counts::Least {
            return sorted.first().copied().unwrap_or(f64::NAN);
        }
        let half = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
    }

    fn told(&self, values: &[f64]) -> String {
        self.names.iter().zip(values).map(|(name, value)| format!("{name} = {}", short(*value))).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
