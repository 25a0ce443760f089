//! The tunlet `factoring`: how a master divides its work into batches, after section 5.4.1 of the paper on MATE and other rules of
//! self-scheduling.
//!
//! The first iteration uses halves. At the end of an iteration, the task times of the latest ones determine the chunking of the next;
//! at the end of a chunk, that of the rest of the iteration.
//!
//! A program is known by the names of the paper, or by the variable with the size of the next piece alone: then its MPI calls show the
//! rest, and the probe follows the rule ([`piece_settings`]).

mod best_rule;
mod guard;
mod observer;
mod piece_settings;
mod slowness;

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use sintonia_link::probe_protocol::{ActionRepeat, HookSide};

use crate::schedule::{ChunkingParameters, SchedulingRule, TaskStatistics};
use crate::tuning_points::{Actor, EventJoin, MeasurePoint, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{ChangeGuard, PointEvent, TuningAction, Tunlet, TunletMetric};
use crate::tunlets::farm::FarmObserver;
use best_rule::{SimulationFit, choose_rule};
use guard::{HarmGuard, ParameterOrigin};
use observer::IterationObserver;
pub use piece_settings::TotalSetting;

/// Names in the program; by default those of the paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactoringNames {
    /// The master's function that hands out the work of one iteration.
    pub iteration: String,
    /// The worker's function that computes a chunk.
    pub compute: String,
    /// Its parameter with the number of tasks of the chunk.
    pub tasks: String,
    /// The master's function that sends a chunk.
    pub send: String,
    /// Its parameter with the rank of the worker.
    pub worker: String,
    /// Its parameter with the first task of the chunk.
    pub first: String,
    /// The master's variable with the number of workers.
    pub workers: String,
    /// The master's variable with the number of tasks of an iteration.
    pub total: String,
    /// Variables with the shares of the first, the second and later batches.
    pub factors: [String; 3],
    /// Variable with the number of chunks in a batch.
    pub chunks: String,
    /// Variable with the margin.
    pub margin: String,
    /// Variable with a fixed chunk size.
    pub chunk: String,
    /// Variable with the decrement of the chunk size.
    pub less: String,
    /// Array with the weight of each worker, by rank.
    pub weights: String,
    /// Variable with the fewest tasks of a chunk.
    pub least: String,
}

impl Default for FactoringNames {
    fn default() -> FactoringNames {
        FactoringNames {
            iteration: "global_sendreceive".into(),
            compute: "arcStepKernel".into(),
            tasks: "NTareas".into(),
            send: "global_sendwork".into(),
            worker: "workerId".into(),
            first: "first".into(),
            workers: "NW".into(),
            total: "TheTotalWork".into(),
            factors: ["F0".into(), "F1".into(), "F2".into()],
            chunks: "CHUNKS".into(),
            margin: "MARGIN".into(),
            chunk: "CHUNK".into(),
            less: "CHUNK_LESS".into(),
            weights: "WEIGHT".into(),
            least: "LEAST".into(),
        }
    }
}

/// The rule to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum RuleChoice {
    /// Always this rule.
    Rule(SchedulingRule),
    /// Whichever is best in simulation.
    Best,
}

impl TryFrom<String> for RuleChoice {
    type Error = String;

    fn try_from(name: String) -> Result<RuleChoice, String> {
        if name.eq_ignore_ascii_case("auto") {
            return Ok(RuleChoice::Best);
        }
        let names = || SchedulingRule::ALL.map(|rule| format!("`{}`", rule.name().to_lowercase())).join(", ");
        SchedulingRule::from_name(&name)
            .map(RuleChoice::Rule)
            .ok_or_else(|| format!("unknown rule `{name}`, expected one of {}, `auto`", names()))
    }
}

/// Settings of the tunlet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactoringSettings {
    /// `daf`, `static`, `ss`, `fsc`, `mfsc`, `gss`, `tss`, `fac2`, `fac`, `wf`, `awf`, `awf-b`, `awf-c`, `af` or `auto`.
    pub rule: RuleChoice,
    /// Iterations in the history.
    pub history: usize,
    /// Relative speeds of the workers, for `wf`; measured once if empty.
    pub weights: Vec<f64>,
    /// Names in the program.
    pub names: FactoringNames,
    /// The master's variable with the number of tasks of the next piece, instead of names.
    pub chunk: Option<String>,
    /// With `chunk`: the number of tasks of a round, or the variable that holds it.
    pub total: Option<TotalSetting>,
    /// With `chunk`: the tag of messages with work.
    pub tag: Option<i32>,
    /// With `chunk`: the function that cuts a piece, or an MPI function that sends one, if the variable is not used after it.
    pub at: Option<String>,
    /// With `chunk`: the rank of the master; found if not given.
    pub master: Option<u32>,
    /// With `chunk`: fewest tasks of a piece.
    pub least: u64,
}

impl Default for FactoringSettings {
    fn default() -> FactoringSettings {
        FactoringSettings {
            rule: RuleChoice::Rule(SchedulingRule::DynamicFactoring),
            history: 3,
            weights: Vec::new(),
            names: FactoringNames::default(),
            chunk: None,
            total: None,
            tag: None,
            at: None,
            master: None,
            least: 1,
        }
    }
}

/// Smallest change of a tuning point that is not noise.
fn min_change(point: usize, now: f64) -> f64 {
    match point {
        _ if point < CHUNKS => 0.01,
        MARGIN => 0.1 * now.max(1.0),
        _ => 0.02 * now.max(1.0),
    }
}

const ITERATION_BEGINS: usize = 0;
const CHUNK_BEGINS: usize = 1;
const CHUNK_ENDS: usize = 2;
const ITERATION_ENDS: usize = 3;
const CHUNK_SENT: usize = 4;

/// Tuning points: the three shares come first.
const CHUNKS: usize = 3;
const MARGIN: usize = 4;
const CHUNK: usize = 5;
const DECREMENT: usize = 6;
/// First of the weights.
const WEIGHTS: usize = 7;

/// The tunlet.
#[derive(Debug)]
pub struct FactoringTunlet {
    settings: FactoringSettings,
    observer: IterationObserver,
    workers: usize,
    min_chunk: u64,
    /// Number of iterations begun, and start of the latest.
    iterations: u64,
    iteration_begin: f64,
    /// Metrics of the latest complete iteration.
    iteration_metrics: Vec<TunletMetric>,
    /// Chunks finished since the weights were measured.
    chunks: usize,
    current_rule: SchedulingRule,
    chunking: ChunkingParameters,
    /// Values that variables were set to, by tuning point.
    set_values: HashMap<usize, f64>,
    /// Their initial values.
    original_values: HashMap<usize, f64>,
    guard: HarmGuard,
    simulation_fit: SimulationFit,
    /// Whether the program has its initial values.
    is_restored: bool,
    /// The program as its MPI calls show it, if only its variable is known.
    farm: Option<FarmObserver>,
    /// Then: the tuning point that switches the sizing of pieces on, which comes after the weights.
    enabled: usize,
    /// Then: whether it was reported that there is no master.
    has_reported_no_master: bool,
    /// Tuning points that the program does not have.
    missing: BTreeSet<usize>,
}

impl FactoringTunlet {
    /// A tunlet with these settings.
    pub fn new(settings: FactoringSettings) -> FactoringTunlet {
        let current_rule = match settings.rule {
            RuleChoice::Rule(rule) => rule,
            RuleChoice::Best => SchedulingRule::Factoring2,
        };
        FactoringTunlet {
            observer: IterationObserver::new(settings.history),
            workers: 1,
            min_chunk: 1,
            iterations: 0,
            iteration_begin: 0.0,
            iteration_metrics: Vec::new(),
            chunks: 0,
            current_rule,
            chunking: ChunkingParameters::with_factors([0.5; 3]),
            set_values: HashMap::new(),
            original_values: HashMap::new(),
            guard: HarmGuard::default(),
            simulation_fit: SimulationFit::default(),
            is_restored: false,
            farm: settings.chunk.is_some().then(FarmObserver::default),
            enabled: usize::MAX,
            has_reported_no_master: false,
            missing: BTreeSet::new(),
            settings,
        }
    }

    /// Whether only the three shares are set.
    fn uses_only_factors(&self) -> bool {
        matches!(self.settings.rule, RuleChoice::Rule(rule) if rule.uses_only_factors())
    }

    fn has_weights(&self) -> bool {
        match self.settings.rule {
            RuleChoice::Rule(rule) => rule.has_weights(),
            RuleChoice::Best => true,
        }
    }

    fn iteration_begins(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        let value = |index: usize| event.values.get(index).map(|value| value.max(1.0));
        self.workers = value(0).unwrap_or(1.0) as usize;
        self.min_chunk = value(2).unwrap_or(1.0) as u64;
        self.observer.begin_iteration(value(1).map(|total| total as u64));
        self.iterations += 1;
        (self.iteration_begin, self.chunks) = (event.time, 0);
        if self.iterations > 1 {
            return Vec::new();
        }
        self.chunking = self.current_rule.chunking(&self.task_statistics());
        self.changes("task times are not known yet")
    }

    fn iteration_ends(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        if let Some(workers) = event.values.first() {
            self.workers = workers.max(1.0) as usize;
        }
        let seconds = event.time - self.iteration_begin;
        self.iteration_metrics = self.measure_iteration(seconds);
        if self.is_harmful(seconds) {
            return self.restore();
        }
        self.is_restored = false;
        let statistics = self.task_statistics();
        if self.settings.weights.is_empty() && self.current_rule == SchedulingRule::Weighted {
            self.settings.weights = statistics.workers.iter().map(|worker| 1.0 / worker.mean).collect();
        }
        if self.settings.rule == RuleChoice::Best {
            return self.follow_best_rule(&statistics, seconds);
        }
        self.chunking = self.current_rule.chunking(&statistics);
        self.changes(&self.reason(&statistics))
    }

    fn follow_best_rule(&mut self, statistics: &TaskStatistics, seconds: f64) -> Vec<TuningAction> {
        self.simulation_fit.add_measurement(seconds);
        let situations = self.observer.scenarios(self.workers, self.min_chunk);
        let is_possible = |rule| self.lacks(rule).is_none();
        let Some(choice) = choose_rule(self.current_rule, statistics, &situations, self.simulation_fit.noise(), is_possible) else {
            return Vec::new();
        };
        self.simulation_fit.set_expectation(&choice, self.current_rule);
        (self.current_rule, self.chunking) = (choice.rule, choice.chunking);
        self.changes(&choice.why)
    }

    /// Whether the program is better off with its initial values. A rule that was requested explicitly and uses no measurements is always followed.
    fn is_harmful(&mut self, seconds: f64) -> bool {
        let latest = self.observer.latest();
        let is_guarded = matches!(self.settings.rule, RuleChoice::Best | RuleChoice::Rule(SchedulingRule::DynamicFactoring));
        if !is_guarded || latest.tasks == 0 || seconds <= 0.0 {
            return false;
        }
        self.guard.judge(seconds / latest.tasks as f64, latest.pauses / (self.workers as f64 * seconds)) == ParameterOrigin::Program
    }

    fn restore(&mut self) -> Vec<TuningAction> {
        self.is_restored = true;
        let why = "pauses between chunks take a large part of the time: the program's initial values are tried, and kept if faster";
        if self.farm.is_some() {
            let was_enabled = self.set_values.insert(self.enabled, 0.0) == Some(1.0);
            return if was_enabled { vec![self.change(self.enabled, 0.0, why)] } else { Vec::new() };
        }
        let changed = self.original_values.iter().filter(|(point, value)| self.set_values.get(point) != Some(value));
        let values: Vec<(usize, f64)> = changed.map(|(point, value)| (*point, *value)).collect();
        self.set_values.extend(values.iter().copied());
        values.into_iter().map(|(point, value)| TuningAction::change(point, value, why)).collect()
    }

    /// Changes during an iteration: the share of later batches, as in the paper; weights and margin if the rule has them.
    fn chunk_ends(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        self.observer.chunk_ends(event.rank, event.time);
        self.chunks += 1;
        // Before the first iteration is complete only the fastest chunks are known.
        if self.iterations <= 1 || self.is_restored {
            return Vec::new();
        }
        let is_time = match self.current_rule {
            SchedulingRule::AdaptiveWeightedByBatch => self.chunks.is_multiple_of(self.workers),
            SchedulingRule::AdaptiveWeightedByChunk | SchedulingRule::Adaptive | SchedulingRule::DynamicFactoring => true,
            _ => false,
        };
        if !is_time {
            return Vec::new();
        }
        if self.current_rule.has_weights() {
            self.observer.update_slowness();
        }
        let statistics = self.task_statistics();
        let new = self.current_rule.chunking(&statistics);
        self.chunking.factors[2] = new.factors[2];
        (self.chunking.weights, self.chunking.margin) = (new.weights, new.margin);
        self.changes(&self.reason(&statistics))
    }

    /// The first tuning point that a rule needs and the program does not have.
    fn lacks(&self, rule: SchedulingRule) -> Option<usize> {
        let is_needed = |point: &&usize| match **point {
            CHUNKS => rule.sets_chunk_count(),
            MARGIN => rule.has_margin(),
            CHUNK => rule.sets_chunk_size(),
            DECREMENT => rule == SchedulingRule::Trapezoid,
            point if point < CHUNKS => !rule.sets_chunk_size(),
            _ => rule.has_weights(),
        };
        self.missing.iter().find(is_needed).copied()
    }

    /// The setting with the name of a tuning point, and the name.
    fn setting_of(&self, point: usize) -> (&'static str, &str) {
        let names = &self.settings.names;
        match point {
            CHUNKS => ("chunks", &names.chunks),
            MARGIN => ("margin", &names.margin),
            CHUNK => ("chunk", &names.chunk),
            DECREMENT => ("less", &names.less),
            point if point < CHUNKS => ("factors", &names.factors[point]),
            _ => ("weights", &names.weights),
        }
    }

    fn task_statistics(&self) -> TaskStatistics {
        let statistics = self.observer.task_statistics(self.workers, &self.settings.weights, self.min_chunk);
        let given = self.settings.total.as_ref().and_then(TotalSetting::number).unwrap_or(0);
        TaskStatistics { tasks: if statistics.tasks > 0 { statistics.tasks } else { given }, ..statistics }
    }

    /// A change of a tuning point; of pieces only in the master.
    fn change(&self, point: usize, value: f64, why: &str) -> TuningAction {
        let rank = self.farm.as_ref().and_then(|farm| farm.master().or(self.settings.master));
        TuningAction::Change { point, value, rank, why: why.to_owned() }
    }

    fn reason(&self, statistics: &TaskStatistics) -> String {
        let task = format!(
            "a task takes {:.3} ms with a deviation of {:.0} %",
            1e3 * statistics.mean,
            100.0 * statistics.deviation / statistics.mean
        );
        let workers = format!("for {} workers", self.workers);
        match self.current_rule {
            SchedulingRule::DynamicFactoring => format!("{task}, {workers}"),
            rule if rule.has_weights() && statistics.workers.iter().all(|worker| worker.mean > 0.0) => {
                let speeds: Vec<String> = statistics.workers.iter().map(|worker| format!("{:.2}", statistics.mean / worker.mean)).collect();
                format!("{}: {task}, speeds of workers {}", rule.name(), speeds.join(" "))
            }
            rule => format!("{}: {task}, a chunk costs {:.0} µs, {workers}", rule.name(), 1e6 * statistics.overhead),
        }
    }

    /// Changes of all values that differ enough from the current ones.
    fn changes(&mut self, why: &str) -> Vec<TuningAction> {
        let ChunkingParameters { factors, chunks, margin, chunk, decrement: less, .. } = &self.chunking;
        let mut values: Vec<(usize, f64)> = factors.iter().copied().enumerate().collect();
        if !self.uses_only_factors() {
            values.extend([(CHUNKS, *chunks as f64), (MARGIN, *margin), (CHUNK, *chunk), (DECREMENT, *less)]);
        }
        if self.has_weights() {
            values.extend((0..self.workers).map(|worker| (WEIGHTS + worker, self.chunking.weight(worker))));
        }
        let is_farm = self.farm.is_some();
        if is_farm && self.can_start() {
            values.push((self.enabled, 1.0));
        }
        let default = |point: usize| (point >= WEIGHTS && point != self.enabled).then_some(1.0);
        let is_new = |set: &HashMap<usize, f64>, (point, value): (usize, f64)| {
            set.get(&point).copied().or(default(point)).is_none_or(|now| (now - value).abs() >= min_change(point, now))
        };
        values.retain(|value| is_new(&self.set_values, *value));
        self.set_values.extend(values.iter().copied());
        values.into_iter().map(|(point, value)| self.change(point, value, why)).collect()
    }

    fn measure_iteration(&self, seconds: f64) -> Vec<TunletMetric> {
        let latest = self.observer.latest();
        let mean = latest.computing.values().sum::<f64>() / self.workers as f64;
        let most = latest.computing.values().copied().fold(0.0, f64::max);
        let chunks = latest.chunks as f64;
        let mut figures = vec![
            TunletMetric::new("iteration", seconds, "s"),
            TunletMetric::new("ideal", mean, "s"),
            TunletMetric::new("chunks", chunks, ""),
        ];
        if mean > 0.0 {
            figures.push(TunletMetric::new("imbalance", 100.0 * (most / mean - 1.0), "%"));
        }
        figures
    }
}

impl Tunlet for FactoringTunlet {
    fn name(&self) -> &str {
        "factoring"
    }

    fn requirements(&mut self, processes: u32) -> TunletRequirements {
        if self.farm.is_some() {
            return self.piece_requirements(processes);
        }
        let names = &self.settings.names;
        let measure = |actor, function: &str, side, values: &[&String]| MeasurePoint {
            actor,
            function: function.to_owned(),
            side,
            values: values.iter().map(|value| (*value).clone()).collect(),
            join: EventJoin::Each,
        };
        let tune = |variable: String, range| TuningPoint {
            actor: Actor::Master,
            target: TuningTarget::Variable(variable),
            range,
            moment: TuningMoment::AtOnce,
            when: ActionRepeat::Once,
        };
        let at_begin: &[&String] = if self.uses_only_factors() { &[&names.workers] } else { &[&names.workers, &names.total, &names.least] };
        let mut measures = vec![
            measure(Actor::Master, &names.iteration, HookSide::Entry, at_begin),
            measure(Actor::Workers, &names.compute, HookSide::Entry, &[&names.tasks]),
            measure(Actor::Workers, &names.compute, HookSide::Exit, &[]),
            measure(Actor::Master, &names.iteration, HookSide::Exit, &[&names.workers]),
        ];
        let mut tunes: Vec<TuningPoint> = names.factors.iter().map(|factor| tune(factor.clone(), (0.0, 1.0))).collect();
        if !self.uses_only_factors() {
            measures.push(measure(Actor::Master, &names.send, HookSide::Entry, &[&names.worker, &names.first]));
            tunes.extend([&names.chunks, &names.margin, &names.chunk, &names.less].map(|name| tune(name.clone(), (0.0, 1e9))));
        }
        if self.has_weights() {
            tunes.extend((1..processes).map(|rank| tune(format!("{}[{rank}]", names.weights), (0.0, 1e6))));
        }
        TunletRequirements { measures, tunes }
    }

    fn on_start(&mut self, processes: u32) -> Vec<TuningAction> {
        // Rules that need the number of tasks start with the first iteration.
        if self.farm.is_none() && matches!(self.current_rule, SchedulingRule::Trapezoid | SchedulingRule::ModifiedFixedSize) {
            return Vec::new();
        }
        self.workers = processes.saturating_sub(1).max(1) as usize;
        if self.farm.is_some() {
            return self.start_farm(processes);
        }
        self.chunking = self.current_rule.chunking(&self.task_statistics());
        self.changes("task times are not known yet")
    }

    fn on_event(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        if let Some(farm) = &mut self.farm {
            let events = farm.events(event);
            return events.into_iter().flat_map(|event| self.handle_farm_event(event)).collect();
        }
        let value = |index: usize| event.values.get(index).copied().unwrap_or(0.0).max(0.0);
        match event.point {
            ITERATION_BEGINS => return self.iteration_begins(event),
            CHUNK_BEGINS => self.observer.chunk_begins(event.rank, event.time, value(0) as u64),
            CHUNK_ENDS => return self.chunk_ends(event),
            ITERATION_ENDS => return self.iteration_ends(event),
            CHUNK_SENT => self.observer.chunk_sent(value(0) as u32, value(1) as u64),
            _ => {}
        }
        Vec::new()
    }

    fn on_tick(&mut self, time: f64) -> Vec<TuningAction> {
        self.report_missing_master(time)
    }

    fn on_changed(&mut self, point: usize, _rank: u32, before: Option<f64>) {
        if let Some(before) = before {
            self.original_values.entry(point).or_insert(before);
        }
    }

    fn on_refused(&mut self, point: usize, _rank: u32, why: &str) -> Vec<TuningAction> {
        let knew = self.lacks(self.current_rule).is_some();
        if self.farm.is_some() || !why.contains("not found") || !self.missing.insert(point) || knew {
            return Vec::new();
        }
        // `auto` uses the rules that need no such variable.
        let RuleChoice::Rule(rule) = self.settings.rule else { return Vec::new() };
        if self.lacks(rule).is_none() {
            return Vec::new();
        }
        let (setting, name) = self.setting_of(point);
        vec![TuningAction::Report(format!(
            "{} needs `{name}`, which the program does not have: give its name as `names.{setting}`; or name only the variable with the size of a piece, as `chunk`, which is enough for every rule",
            rule.name()
        ))]
    }

    fn guard(&self) -> ChangeGuard {
        ChangeGuard::Own
    }

    fn metrics(&self) -> Vec<TunletMetric> {
        let mut figures = self.iteration_metrics.clone();
        if self.chunking.chunk > 0.0 {
            figures.push(TunletMetric::new("chunk", self.chunking.chunk, "tasks"));
        } else {
            figures.extend(
                self.settings.names.factors.iter().zip(self.chunking.factors).map(|(name, factor)| TunletMetric::new(name, factor, "")),
            );
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunlet(settings: &str) -> FactoringTunlet {
        FactoringTunlet::new(toml::from_str(settings).expect("settings"))
    }

    fn event(point: usize, rank: u32, time: f64, values: &[f64]) -> PointEvent {
        let side = if [CHUNK_ENDS, ITERATION_ENDS].contains(&point) { HookSide::Exit } else { HookSide::Entry };
        PointEvent { point, rank, side, time, values: values.to_vec(), change: 0 }
    }

    /// An iteration in which each of two workers computes a chunk of ten tasks; `first` is the rank with the first chunk.
    fn iteration(tunlet: &mut FactoringTunlet, begin: f64, times: [f64; 2], first: u32) -> Vec<TuningAction> {
        let mut actions = tunlet.on_event(&event(ITERATION_BEGINS, 0, begin, &[2.0, 20.0, 1.0]));
        for rank in [first, 3 - first] {
            actions.extend(tunlet.on_event(&event(CHUNK_SENT, 0, begin, &[f64::from(rank), if rank == first { 0.0 } else { 10.0 }])));
            actions.extend(tunlet.on_event(&event(CHUNK_BEGINS, rank, begin, &[10.0])));
        }
        for (rank, time) in (1..).zip(times) {
            actions.extend(tunlet.on_event(&event(CHUNK_ENDS, rank, begin + time, &[])));
        }
        actions.extend(tunlet.on_event(&event(ITERATION_ENDS, 0, begin + times[0].max(times[1]), &[2.0])));
        actions
    }

    fn changes(actions: &[TuningAction]) -> Vec<(usize, f64)> {
        let change = |action: &TuningAction| match action {
            TuningAction::Change { point, value, .. } => Some((*point, *value)),
            _ => None,
        };
        actions.iter().filter_map(change).collect()
    }

    #[test]
    fn the_first_iteration_uses_halves() {
        let mut tunlet = tunlet("");
        let actions = tunlet.on_start(3);
        assert_eq!(changes(&actions), [(0, 0.5), (1, 0.5), (2, 0.5)]);
        assert_eq!(tunlet.on_event(&event(ITERATION_BEGINS, 0, 0.0, &[2.0])), []);
    }

    #[test]
    fn later_iterations_use_mean_and_deviation() {
        let mut tunlet = tunlet("");
        let actions = iteration(&mut tunlet, 0.0, [1.0, 3.0], 1);
        // A mean of 0.2 s and a deviation of 0.1 s give x0 = 1.5 and x1 = 2.5.
        let values = &changes(&actions)[3..];
        assert_eq!(values.len(), 3);
        assert!((values[0].1 - 1.0 / 1.5).abs() < 1e-9 && (values[1].1 - 1.0 / 2.5).abs() < 1e-9, "{values:?}");
        assert!(matches!(&actions[3], TuningAction::Change { why, .. } if why.contains("50 %")));
    }

    #[test]
    fn unchanged_values_are_not_set_again() {
        let mut tunlet = tunlet("");
        assert!(!iteration(&mut tunlet, 0.0, [1.0, 1.0], 1).is_empty());
        assert_eq!(iteration(&mut tunlet, 4.0, [1.0, 1.0], 1), []);
    }

    #[test]
    fn a_changing_load_is_followed_within_three_iterations() {
        let mut tunlet = tunlet("history = 2");
        (0..5).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [1.0, 1.0], 1)));
        assert!((tunlet.chunking.factors[0] - 1.0).abs() < 1e-9);
        (5..8).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [0.5, 1.5], 1)));
        assert!((tunlet.chunking.factors[0] - 1.0 / 1.5).abs() < 0.02, "{:?}", tunlet.chunking);
    }

    #[test]
    fn a_rule_without_times_applies_from_the_first_iteration() {
        let mut tunlet = tunlet("rule = \"tss\"");
        let actions = tunlet.on_event(&event(ITERATION_BEGINS, 0, 0.0, &[2.0, 20.0, 1.0]));
        // 20 / (2 * 2) = 5 tasks, and 7 chunks down to 1: less by 4 / 6.
        assert!(changes(&actions).contains(&(CHUNK, 5.0)) && changes(&actions).contains(&(DECREMENT, 4.0 / 6.0)), "{actions:?}");
    }

    #[test]
    fn weights_follow_worker_speeds() {
        let mut tunlet = tunlet("rule = \"awf\"\nhistory = 4");
        for round in 0..4 {
            iteration(&mut tunlet, 4.0 * f64::from(round), [1.0, 3.0], 1 + round % 2);
        }
        assert!((tunlet.chunking.weight(0) - 1.5).abs() < 0.05 && (tunlet.chunking.weight(1) - 0.5).abs() < 0.05, "{:?}", tunlet.chunking);
        assert_eq!(tunlet.requirements(3).tunes[WEIGHTS + 1].target.to_string(), "WEIGHT[2]");
    }

    #[test]
    fn the_best_rule_is_chosen_by_simulation() {
        let mut tunlet = tunlet("rule = \"auto\"");
        let mut actions = tunlet.on_event(&event(ITERATION_BEGINS, 0, 0.0, &[2.0, 20.0, 1.0]));
        assert!(changes(&actions).starts_with(&[(0, 0.5), (1, 0.5), (2, 0.5)]));
        // Equal tasks and a long pause between chunks: fewer chunks are better.
        for (rank, begin, first) in [(1, 0.0, 0.0), (2, 0.0, 5.0), (1, 1.5, 10.0), (2, 1.5, 15.0)] {
            actions.extend(tunlet.on_event(&event(CHUNK_SENT, 0, begin, &[f64::from(rank), first])));
            actions.extend(tunlet.on_event(&event(CHUNK_BEGINS, rank, begin, &[5.0])));
            actions.extend(tunlet.on_event(&event(CHUNK_ENDS, rank, begin + 0.5, &[])));
        }
        let actions = tunlet.on_event(&event(ITERATION_ENDS, 0, 2.0, &[2.0]));
        assert_eq!(changes(&actions), [(0, 1.0), (1, 1.0), (2, 1.0)]);
        let TuningAction::Change { why, .. } = &actions[0] else { panic!("a change") };
        assert!(why.starts_with("static would take 2000.00 ms in 2 chunks (") && why.contains("ideal 1000.00 ms"), "{why}");
    }

    #[test]
    fn a_program_with_long_pauses_gets_its_initial_values_back() {
        let mut tunlet = tunlet("");
        let (mut time, mut shares) = (0.0, [1.0; 3]);
        let mut actions = Vec::new();
        for _ in 0..10 {
            // With one chunk per worker there is no pause.
            let chunks: u32 = if shares[0] == 1.0 { 1 } else { 5 };
            actions.extend(tunlet.on_event(&event(ITERATION_BEGINS, 0, time, &[2.0])));
            for chunk in 0..chunks {
                let begin = time + f64::from(chunk) * (1.0 + 1.0 / f64::from(chunks));
                for rank in [1, 2] {
                    actions.extend(tunlet.on_event(&event(CHUNK_BEGINS, rank, begin, &[f64::from(60 / chunks)])));
                    actions.extend(tunlet.on_event(&event(CHUNK_ENDS, rank, begin + 1.0 / f64::from(chunks) * f64::from(rank), &[])));
                }
            }
            time += f64::from(chunks) * 1.5;
            actions.extend(tunlet.on_event(&event(ITERATION_ENDS, 0, time, &[2.0])));
            for (point, value) in changes(&actions) {
                tunlet.on_changed(point, 0, Some(shares[point]));
                shares[point] = value;
            }
            actions.clear();
        }
        assert_eq!(shares, [1.0; 3]);
    }

    #[test]
    fn invalid_settings_are_refused() {
        for wrong in ["rule = \"best\"", "rules = \"daf\"", "history = \"long\"", "[names]\nmaster = \"f\""] {
            assert!(toml::from_str::<FactoringSettings>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(toml::from_str::<FactoringSettings>("rule = \"auto\"").expect("right").rule, RuleChoice::Best);
        assert_eq!(toml::from_str::<FactoringSettings>("[names]\nworkers = \"crew\"").expect("right").names.workers, "crew");
    }

    #[test]
    fn a_missing_variable_is_reported_with_its_setting_if_the_rule_needs_it() {
        let mut guided = tunlet("rule = \"gss\"\n[names]\nchunks = \"pieces\"");
        assert_eq!(guided.on_refused(MARGIN, 0, "MARGIN was not found there"), []);
        let reports = guided.on_refused(CHUNKS, 0, "pieces was not found there");
        assert!(
            matches!(&reports[..], [TuningAction::Report(what)] if what.starts_with("GSS needs `pieces`") && what.contains("`names.chunks`")),
            "{reports:?}"
        );
        let mut best = tunlet("rule = \"auto\"");
        assert_eq!(best.on_refused(WEIGHTS, 0, "WEIGHT[1] was not found there"), []);
        assert!(best.lacks(SchedulingRule::AdaptiveWeighted).is_some() && best.lacks(SchedulingRule::Guided).is_none());
    }

    #[test]
    fn metrics_show_the_distance_to_the_ideal() {
        let mut tunlet = tunlet("");
        iteration(&mut tunlet, 0.0, [1.0, 3.0], 1);
        let figures = tunlet.metrics();
        let of = |name: &str| figures.iter().find(|figure| figure.name == name).expect(name).value;
        assert_eq!((of("iteration"), of("ideal"), of("imbalance"), of("chunks")), (3.0, 2.0, 50.0, 2.0));
    }
}
