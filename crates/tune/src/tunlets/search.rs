//! The tunlet `search`: finds values of variables that minimise the iteration time, as Active Harmony does.
//!
//! Each point is measured a few times and the minimum counts, because interference only adds time (or the median, if configured). A point that is
//! clearly bad is left at once, so that the program does not stay there. When no neighbour is better, the search settles on the best known point,
//! which may be the initial one, and keeps measuring it: when the time drifts by more than noise, the program has changed, and the search
//! restarts from there. It claims no gain: whether the point pays is decided in turns with the initial values ([`crate::guard`]).

mod simplex;
mod space;

pub use space::{LatticePoint, SearchAxis, SearchAxisSpec, SearchSpace};

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use crate::tunlet_file::expression::format_short;
use simplex::{MeasuredTimes, NextPoint, next_point};

/// Settings of a search over the time between two calls of a function, without a file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// The function that is called once per iteration; by default the iteration is found in the MPI calls.
    #[serde(default = "found_iteration")]
    pub iteration: String,
    /// The process whose iterations count.
    #[serde(default = "master")]
    pub actor: String,
    /// Variables and their ranges.
    pub variables: BTreeMap<String, (f64, f64)>,
    /// Whether the variables are integers.
    #[serde(default = "yes")]
    pub whole: bool,
    /// Measurements of each point.
    #[serde(default = "usual_samples")]
    pub samples: usize,
}

fn found_iteration() -> String {
    "iteration".into()
}

fn master() -> String {
    "master".into()
}

fn yes() -> bool {
    true
}

fn usual_samples() -> usize {
    SearchOptions::default().samples
}

impl SearchSettings {
    /// The equivalent tunlet file.
    pub fn to_toml(&self) -> String {
        let SearchSettings { iteration, actor, variables, whole, samples } = self;
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

/// Options of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// Measurements of each point.
    pub samples: usize,
    /// Which of them counts.
    pub statistic: SampleStatistic,
    /// Iterations after a change that do not count.
    pub settle_iterations: usize,
    /// Relative drift of the time at the best point that restarts the search.
    pub drift: f64,
    /// Most points before it settles on the best known.
    pub max_points: usize,
}

/// Which of several times counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleStatistic {
    /// The median.
    Median,
    /// The minimum: interference only adds time.
    Minimum,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions { samples: 3, statistic: SampleStatistic::Minimum, settle_iterations: 1, drift: 0.15, max_points: 120 }
    }
}

/// A point is left if its first sample, or both of its first two, exceed the best by this factor.
const HOPELESS: [f64; 2] = [3.0, 1.3];

/// Differences of this many deviations are not noise.
const NOISE_DEVIATIONS: f64 = 4.0;

/// After each restart twice as many iterations must have drifted, up to this many doublings: interference is not a changed program.
const MAX_DOUBLINGS: u32 = 3;

/// Points in a row that are refused; then it ends.
const MAX_REFUSALS: usize = 3;

/// Restarts in a row because the best point has changed; then it is noise.
const MAX_RESTARTS: usize = 2;

/// What to do after a sample.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchStep {
    /// New values of the variables, if they change.
    pub values: Option<Vec<f64>>,
    /// The reason.
    pub why: String,
    /// A finding to log.
    pub report: Option<String>,
}

/// Stage of a search.
#[derive(Debug, Clone, PartialEq)]
enum SearchStage {
    /// Measures the initial values.
    MeasuringOriginal,
    /// Measures a point.
    Exploring,
    /// Measures the best point again; its expected time.
    Confirming(f64),
    /// Has settled; the time there.
    Settled(f64),
    /// Was sent back to the initial values, whose time is measured again.
    Returned,
    /// Has ended: nothing is changed any more.
    Ended,
}

/// Where the program is.
#[derive(Debug, Clone, PartialEq)]
enum SearchPosition {
    /// At its initial values.
    Original,
    At(LatticePoint),
}

/// A search.
#[derive(Debug)]
pub struct ParameterSearch {
    names: Vec<String>,
    space: SearchSpace,
    options: SearchOptions,
    start: Option<LatticePoint>,
    known: MeasuredTimes,
    stage: SearchStage,
    position: SearchPosition,
    /// The initial time, and the initial values as they become known.
    original: (Option<f64>, Vec<Option<f64>>),
    samples: Vec<f64>,
    /// Iterations that do not count yet.
    skip: usize,
    /// Relative spread of samples at one point.
    noise: f64,
    restarts: usize,
    /// Points in a row that were refused.
    refusals: usize,
    /// Number of restarts after it had settled.
    late_restarts: u32,
    measured_points: usize,
}

impl ParameterSearch {
    /// A search over variables with these names, from given values if any.
    pub fn new(names: Vec<String>, space: SearchSpace, start: Option<Vec<f64>>, options: SearchOptions) -> ParameterSearch {
        let start = start.map(|values| space.nearest(&values));
        ParameterSearch {
            original: (None, vec![None; names.len()]),
            names,
            space,
            options,
            start,
            known: MeasuredTimes::new(),
            stage: SearchStage::MeasuringOriginal,
            position: SearchPosition::Original,
            samples: Vec::new(),
            skip: options.settle_iterations,
            noise: 0.0,
            restarts: 0,
            refusals: 0,
            late_restarts: 0,
            measured_points: 0,
        }
    }

    /// Records the initial value of a variable.
    pub fn note_original(&mut self, variable: usize, before: f64) {
        if let Some(value) = self.original.1.get_mut(variable) {
            value.get_or_insert(before);
        }
    }

    /// Whether it has settled.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, SearchStage::Settled(_) | SearchStage::Returned | SearchStage::Ended)
    }

    /// The point where it settled does not pay, and the program has its initial values again.
    pub fn return_to_original(&mut self) {
        (self.position, self.stage) = (SearchPosition::Original, SearchStage::Returned);
        self.samples.clear();
        self.skip = self.options.settle_iterations;
    }

    /// The change to the current point was refused: the point is not measured, and the next one follows.
    pub fn drop_point(&mut self, why: &str) -> SearchStep {
        if let SearchPosition::At(point) = &self.position {
            self.known.insert(point.clone(), f64::INFINITY);
        }
        self.refusals += 1;
        if self.refusals >= MAX_REFUSALS || self.position == SearchPosition::Original {
            return SearchStep { report: self.stop(why), ..SearchStep::default() };
        }
        self.stage = SearchStage::Exploring;
        self.advance()
    }

    /// Ends the search; returns what to report, the first time.
    pub fn stop(&mut self, why: &str) -> Option<String> {
        let was_running = std::mem::replace(&mut self.stage, SearchStage::Ended) != SearchStage::Ended;
        was_running.then(|| format!("the search of {} ends: {why}", self.names.join(", ")))
    }

    /// Number of measured points.
    pub fn measured_points(&self) -> usize {
        self.measured_points
    }

    /// The time at the best known point.
    pub fn best(&self) -> Option<f64> {
        self.known.values().copied().chain(self.original.0).filter(|time| time.is_finite()).min_by(f64::total_cmp)
    }

    /// Handles the time of an iteration.
    pub fn sample(&mut self, time: f64) -> SearchStep {
        if !time.is_finite() || self.stage == SearchStage::Ended {
            return SearchStep::default();
        }
        if self.skip > 0 {
            self.skip -= 1;
            return SearchStep::default();
        }
        self.samples.push(time);
        match self.stage {
            SearchStage::Settled(reference) => self.watch_drift(reference),
            SearchStage::Exploring if self.is_hopeless(time) => self.finish_point(),
            _ if self.samples.len() < self.options.samples.max(1) => SearchStep::default(),
            _ => self.finish_point(),
        }
    }

    fn is_hopeless(&self, time: f64) -> bool {
        let Some(worse) = HOPELESS.get(self.samples.len() - 1) else { return false };
        let least = self.samples.iter().copied().fold(time, f64::min);
        self.best().is_some_and(|best| least > best * worse.max(1.0 + NOISE_DEVIATIONS * self.noise))
    }

    /// The samples of a point are complete.
    fn finish_point(&mut self) -> SearchStep {
        let time = self.sample_value();
        let samples = std::mem::take(&mut self.samples);
        self.measured_points += 1;
        self.refusals = 0;
        match (&self.stage, &self.position) {
            (SearchStage::Returned, _) => {
                self.stage = SearchStage::Settled(time);
                return SearchStep::default();
            }
            (SearchStage::Confirming(expected), _) => return self.confirm(*expected, time),
            (_, SearchPosition::Original) => self.original.0 = Some(time),
            (_, SearchPosition::At(point)) => drop(self.known.insert(point.clone(), time)),
        }
        if samples.len() > 1 && time > 0.0 {
            let deviation = samples.iter().map(|sample| (sample - time).abs()).sum::<f64>() / samples.len() as f64;
            self.noise = if self.noise == 0.0 { deviation / time } else { 0.8 * self.noise + 0.2 * deviation / time };
        }
        self.stage = SearchStage::Exploring;
        self.advance()
    }

    fn advance(&mut self) -> SearchStep {
        let beginning = self.original_point();
        if let (Some(point), Some(time)) = (&beginning, self.original.0) {
            self.known.entry(point.clone()).or_insert(time);
        }
        let start = match &self.start {
            Some(start) => start.clone(),
            // After the midpoint is measured, starts from the better of the two.
            None => {
                let middle = self.space.middle();
                let better = beginning.filter(|point| self.known.get(point) < self.known.get(&middle));
                let start = if self.known.contains_key(&middle) { better.unwrap_or(middle) } else { middle };
                self.start = self.known.contains_key(&start).then(|| start.clone());
                start
            }
        };
        match next_point(&self.space, &start, &self.known) {
            NextPoint::Measure(point) if self.known.len() < self.options.max_points => {
                let why = format!("trying {}", self.describe(&self.space.values(&point)));
                self.move_to(SearchPosition::At(point), why)
            }
            NextPoint::Measure(_) => self.settle(),
            NextPoint::Converged(_) => self.settle(),
        }
    }

    /// Moves to the best known point, to measure it again.
    fn settle(&mut self) -> SearchStep {
        let best = self.known.iter().min_by(|a, b| a.1.total_cmp(b.1).then_with(|| a.0.cmp(b.0)));
        let Some((point, time)) = best.map(|(point, time)| (point.clone(), *time)) else { return SearchStep::default() };
        let began_better = self.original.0.filter(|was| *was < time && self.original.1.iter().all(Option::is_some));
        let (place, time) = began_better.map_or((SearchPosition::At(point), time), |was| (SearchPosition::Original, was));
        self.stage = SearchStage::Confirming(time);
        let why = format!("the best of {} measured points", self.measured_points);
        if place == self.position { SearchStep::default() } else { self.move_to(place, why) }
    }

    fn confirm(&mut self, expected: f64, time: f64) -> SearchStep {
        if self.has_drifted(expected, time) && self.restarts < MAX_RESTARTS {
            self.restarts += 1;
            return self.restart(time);
        }
        self.restarts = 0;
        self.stage = SearchStage::Settled(time);
        let nothing_better = if self.position == SearchPosition::Original { " (the initial values: nothing is better)" } else { "" };
        let tell = format!(
            "settled on {}{nothing_better}: {} s; {} points measured",
            self.describe(&self.current_values()),
            format_short(time),
            self.measured_points
        );
        SearchStep { report: Some(tell), ..SearchStep::default() }
    }

    /// Settled: checks the time for drift.
    fn watch_drift(&mut self, reference: f64) -> SearchStep {
        // Needs more samples than a point: interference lasts some iterations, and a needless search is expensive.
        let samples = self.options.samples.max(1);
        let enough = match self.options.statistic {
            SampleStatistic::Median => 4 * samples - 1,
            SampleStatistic::Minimum => 2 * samples + 1,
        };
        if self.samples.len() < enough << self.late_restarts.min(MAX_DOUBLINGS) {
            return SearchStep::default();
        }
        let time = self.sample_value();
        if self.has_drifted(reference, time) {
            self.samples.clear();
            self.late_restarts += 1;
            return self.restart(time);
        }
        self.samples.remove(0);
        SearchStep::default()
    }

    fn restart(&mut self, time: f64) -> SearchStep {
        let here = self.current_values();
        let point = self.space.nearest(&here);
        self.known = MeasuredTimes::from([(point.clone(), time)]);
        // Earlier measurements do not apply to the changed program.
        self.original.0 = None;
        (self.start, self.stage) = (Some(point), SearchStage::Exploring);
        let tell = format!("the program has changed: {} s with {} now; restarting the search", format_short(time), self.describe(&here));
        SearchStep { report: Some(tell), ..self.advance() }
    }

    fn has_drifted(&self, expected: f64, time: f64) -> bool {
        (time - expected).abs() > expected.abs() * self.options.drift.max(NOISE_DEVIATIONS * self.noise)
    }

    fn move_to(&mut self, place: SearchPosition, why: String) -> SearchStep {
        self.position = place;
        self.samples.clear();
        self.skip = self.options.settle_iterations;
        SearchStep { values: Some(self.current_values()), why, report: None }
    }

    /// The initial point, if it is on the lattice.
    fn original_point(&self) -> Option<LatticePoint> {
        let values = self.original.1.iter().copied().collect::<Option<Vec<f64>>>()?;
        let point = self.space.nearest(&values);
        (self.space.values(&point) == values).then_some(point)
    }

    /// The values of the current point.
    pub fn current_values(&self) -> Vec<f64> {
        match &self.position {
            SearchPosition::At(point) => self.space.values(point),
            SearchPosition::Original => self.original.1.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        }
    }

    /// The sample that counts.
    fn sample_value(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        if self.options.statistic == SampleStatistic::Minimum {
            return sorted.first().copied().unwrap_or(f64::NAN);
        }
        let half = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
    }

    fn describe(&self, values: &[f64]) -> String {
        self.names.iter().zip(values).map(|(name, value)| format!("{name} = {}", format_short(*value))).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
