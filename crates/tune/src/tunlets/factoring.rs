//! The tunlet `factoring`: how a master cuts its work into batches, after section 5.4.1 of the paper on MATE, and after the other rules of
//! self-scheduling.
//!
//! The first iteration is cut in halves. When an iteration ends, the times of the tasks in the latest ones say how the next is cut;
//! whenever a worker has ended a chunk, how the rest of this one is.

mod choice;
mod guard;
mod observed;
mod speeds;

use std::collections::HashMap;

use serde::Deserialize;
use sintonia_link::order::{Side, When};

use crate::point::{Actor, Join, MeasurePoint, Moment, Needs, Target, TuningPoint};
use crate::schedule::{Cutting, Known, Rule};
use crate::tunlet::{Figure, Happening, Tunlet, Wish};
use choice::{Fit, choose};
use guard::{Guard, Whose};
use observed::Observed;

/// The names that the program has for what the tunlet looks at; usually those of the paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
    /// The master's function that hands out the work of one iteration.
    pub iteration: String,
    /// The worker's function that does a chunk.
    pub compute: String,
    /// Its parameter that says how many tasks the chunk has.
    pub tasks: String,
    /// The master's function that sends a chunk.
    pub send: String,
    /// Its parameter with the rank of the worker.
    pub worker: String,
    /// Its parameter with the first task of the chunk.
    pub first: String,
    /// The variable with the number of workers, in the master.
    pub workers: String,
    /// The variable with the number of tasks of an iteration, in the master.
    pub total: String,
    /// The variables with the shares of the first, the second and later batches.
    pub factors: [String; 3],
    /// The variable with the number of chunks in a batch.
    pub chunks: String,
    /// The variable with what is held back of the tasks that are left.
    pub margin: String,
    /// The variable with the size of a chunk, whatever the shares.
    pub chunk: String,
    /// The variable with the tasks by which a chunk has fewer than the one before.
    pub less: String,
    /// The array with the weight of each worker, by rank.
    pub weights: String,
    /// The variable with the fewest tasks of a chunk.
    pub least: String,
}

impl Default for Names {
    fn default() -> Names {
        Names {
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

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Way {
    /// Always this rule.
    Rule(Rule),
    /// Whichever a simulation finds to be the best.
    Best,
}

impl TryFrom<String> for Way {
    type Error = String;

    fn try_from(name: String) -> Result<Way, String> {
        if name.eq_ignore_ascii_case("auto") {
            return Ok(Way::Best);
        }
        let known = || Rule::ALL.map(|rule| format!("`{}`", rule.name().to_lowercase())).join(", ");
        Rule::named(&name).map(Way::Rule).ok_or_else(|| format!("unknown rule `{name}`, expected one of {}, `auto`", known()))
    }
}

/// How the tunlet is to work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What is followed: `daf`, `static`, `ss`, `fsc`, `mfsc`, `gss`, `tss`, `fac2`, `fac`, `wf`, `awf`, `awf-b`, `awf-c`, `af` or `auto`.
    pub rule: Way,
    /// Iterations whose times count.
    pub history: usize,
    /// How fast each worker is, for `wf`; measured once if not given.
    pub weights: Vec<f64>,
    /// The program's names.
    pub names: Names,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { rule: Way::Rule(Rule::DynamicFactoring), history: 3, weights: Vec::new(), names: Names::default() }
    }
}

/// A smaller change of what a tuning point is set to is noise, and not worth making.
fn worth(point: usize, now: f64) -> f64 {
    match point {
        _ if point < CHUNKS => 0.01,
        MARGIN => 0.1 * now.max(1.0),
        _ => 0.02 * now.max(1.0),
    }
}

const BEGINS: usize = 0;
const CHUNK_BEGINS: usize = 1;
const CHUNK_ENDS: usize = 2;
const ENDS: usize = 3;
const SENT: usize = 4;

/// Tuning points: the three shares come first.
const CHUNKS: usize = 3;
const MARGIN: usize = 4;
const CHUNK: usize = 5;
const LESS: usize = 6;
/// Here those of the weights begin.
const WEIGHTS: usize = 7;

/// The tunlet.
#[derive(Debug)]
pub struct Factoring {
    settings: Settings,
    observed: Observed,
    workers: usize,
    least: u64,
    /// How many iterations have begun, and when the latest did.
    iterations: u64,
    begin: f64,
    /// What is to be told of the latest that ended.
    figures: Vec<Figure>,
    /// Chunks that have ended since the weights were measured.
    chunks: usize,
    followed: Rule,
    cutting: Cutting,
    /// What the program's variables have been set to, by tuning point.
    set: HashMap<usize, f64>,
    /// What they were before.
    before: HashMap<usize, f64>,
    guard: Guard,
    fit: Fit,
    /// The program has its own values now.
    is_restored: bool,
}

impl Factoring {
    /// A tunlet that works so.
    pub fn new(settings: Settings) -> Factoring {
        let followed = match settings.rule {
            Way::Rule(rule) => rule,
            Way::Best => Rule::Factoring2,
        };
        Factoring {
            observed: Observed::new(settings.history),
            workers: 1,
            least: 1,
            iterations: 0,
            begin: 0.0,
            figures: Vec::new(),
            chunks: 0,
            followed,
            cutting: Cutting::batches([0.5; 3]),
            set: HashMap::new(),
            before: HashMap::new(),
            guard: Guard::default(),
            fit: Fit::default(),
            is_restored: false,
            settings,
        }
    }

    /// Whether the program needs to have the three shares only.
    fn is_shares_only(&self) -> bool {
        matches!(self.settings.rule, Way::Rule(rule) if rule.is_shares_only())
    }

    fn has_weights(&self) -> bool {
        match self.settings.rule {
            Way::Rule(rule) => rule.has_weights(),
            Way::Best => true,
        }
    }

    fn iteration_begins(&mut self, happening: &Happening) -> Vec<Wish> {
        let value = |place: usize| happening.values.get(place).map(|value| value.max(1.0));
        self.workers = value(0).unwrap_or(1.0) as usize;
        self.least = value(2).unwrap_or(1.0) as u64;
        self.observed.begins(value(1).map(|total| total as u64));
        self.iterations += 1;
        (self.begin, self.chunks) = (happening.time, 0);
        if self.iterations > 1 {
            return Vec::new();
        }
        self.cutting = self.followed.cutting(&self.known());
        self.wishes("nothing is known of its tasks yet")
    }

    fn iteration_ends(&mut self, happening: &Happening) -> Vec<Wish> {
        if let Some(workers) = happening.values.first() {
            self.workers = workers.max(1.0) as usize;
        }
        let seconds = happening.time - self.begin;
        self.figures = self.figures_of_iteration(seconds);
        if self.is_harmful(seconds) {
            return self.restore();
        }
        self.is_restored = false;
        let known = self.known();
        if self.settings.weights.is_empty() && self.followed == Rule::Weighted {
            self.settings.weights = known.workers.iter().map(|worker| 1.0 / worker.mean).collect();
        }
        if self.settings.rule == Way::Best {
            return self.follow_the_best(&known, seconds);
        }
        self.cutting = self.followed.cutting(&known);
        self.wishes(&self.why(&known))
    }

    fn follow_the_best(&mut self, known: &Known, seconds: f64) -> Vec<Wish> {
        self.fit.measured(seconds);
        let situations = self.observed.situations(self.workers, self.least);
        let Some(choice) = choose(self.followed, known, &situations, self.fit.noise()) else { return Vec::new() };
        self.fit.expect(&choice, self.followed);
        (self.followed, self.cutting) = (choice.rule, choice.cutting);
        self.wishes(&choice.why)
    }

    /// Whether the program is better left as it was. Who asks for a rule that cuts by nothing that is measured gets that.
    fn is_harmful(&mut self, seconds: f64) -> bool {
        let latest = self.observed.latest();
        let is_guarded = matches!(self.settings.rule, Way::Best | Way::Rule(Rule::DynamicFactoring));
        if !is_guarded || latest.tasks == 0 || seconds <= 0.0 {
            return false;
        }
        self.guard.judge(seconds / latest.tasks as f64, latest.pauses / (self.workers as f64 * seconds)) == Whose::Program
    }

    fn restore(&mut self) -> Vec<Wish> {
        self.is_restored = true;
        let why = "pauses between chunks take a good part of the time: the program's own way is tried, and kept if it is quicker";
        let changed = self.before.iter().filter(|(point, value)| self.set.get(point) != Some(value));
        let values: Vec<(usize, f64)> = changed.map(|(point, value)| (*point, *value)).collect();
        self.set.extend(values.iter().copied());
        values.into_iter().map(|(point, value)| Wish::change(point, value, why)).collect()
    }

    /// What is changed while an iteration runs: as the paper has it, the share of later batches; weights and margin if the rule says so.
    fn chunk_ends(&mut self, happening: &Happening) -> Vec<Wish> {
        self.observed.chunk_ends(happening.rank, happening.time);
        self.chunks += 1;
        // Before an iteration is complete only its quickest chunks are known.
        if self.iterations <= 1 || self.is_restored {
            return Vec::new();
        }
        let is_time = match self.followed {
            Rule::AdaptiveWeightedByBatch => self.chunks.is_multiple_of(self.workers),
            Rule::AdaptiveWeightedByChunk | Rule::Adaptive | Rule::DynamicFactoring => true,
            _ => false,
        };
        if !is_time {
            return Vec::new();
        }
        if self.followed.has_weights() {
            self.observed.compare_workers();
        }
        let known = self.known();
        let new = self.followed.cutting(&known);
        self.cutting.factors[2] = new.factors[2];
        (self.cutting.weights, self.cutting.margin) = (new.weights, new.margin);
        self.wishes(&self.why(&known))
    }

    fn known(&self) -> Known {
        self.observed.known(self.workers, &self.settings.weights, self.least)
    }

    fn why(&self, known: &Known) -> String {
        let task = format!("a task takes {:.3} ms with a deviation of {:.0} %", 1e3 * known.mean, 100.0 * known.deviation / known.mean);
        let workers = format!("for {} workers", self.workers);
        match self.followed {
            Rule::DynamicFactoring => format!("{task}, {workers}"),
            rule if rule.has_weights() && known.workers.iter().all(|worker| worker.mean > 0.0) => {
                let speeds: Vec<String> = known.workers.iter().map(|worker| format!("{:.2}", known.mean / worker.mean)).collect();
                format!("{}: {task}, speeds of workers {}", rule.name(), speeds.join(" "))
            }
            rule => format!("{}: {task}, a chunk costs {:.0} µs, {workers}", rule.name(), 1e6 * known.overhead),
        }
    }

    /// Wishes whatever differs from what is there.
    fn wishes(&mut self, why: &str) -> Vec<Wish> {
        let Cutting { factors, chunks, margin, chunk, less, .. } = &self.cutting;
        let mut values: Vec<(usize, f64)> = factors.iter().copied().enumerate().collect();
        if !self.is_shares_only() {
            values.extend([(CHUNKS, *chunks as f64), (MARGIN, *margin), (CHUNK, *chunk), (LESS, *less)]);
        }
        if self.has_weights() {
            values.extend((0..self.workers).map(|worker| (WEIGHTS + worker, self.cutting.weight(worker))));
        }
        let usual = |point: usize| (point >= WEIGHTS).then_some(1.0);
        let is_new = |set: &HashMap<usize, f64>, (point, value): (usize, f64)| {
            set.get(&point).copied().or(usual(point)).is_none_or(|now| (now - value).abs() >= worth(point, now))
        };
        values.retain(|value| is_new(&self.set, *value));
        self.set.extend(values.iter().copied());
        values.into_iter().map(|(point, value)| Wish::change(point, value, why)).collect()
    }

    fn figures_of_iteration(&self, seconds: f64) -> Vec<Figure> {
        let latest = self.observed.latest();
        let mean = latest.computing.values().sum::<f64>() / self.workers as f64;
        let most = latest.computing.values().copied().fold(0.0, f64::max);
        let chunks = latest.chunks as f64;
        let mut figures = vec![Figure::new("iteration", seconds, "s"), Figure::new("ideal", mean, "s"), Figure::new("chunks", chunks, "")];
        if mean > 0.0 {
            figures.push(Figure::new("imbalance", 100.0 * (most / mean - 1.0), "%"));
        }
        figures
    }
}

impl Tunlet for Factoring {
    fn name(&self) -> &str {
        "factoring"
    }

    fn needs(&mut self, processes: u32) -> Needs {
        let names = &self.settings.names;
        let measure = |actor, function: &str, side, values: &[&String]| MeasurePoint {
            actor,
            function: function.to_owned(),
            side,
            values: values.iter().map(|value| (*value).clone()).collect(),
            join: Join::Each,
        };
        let tune = |variable: String, range| TuningPoint {
            actor: Actor::Master,
            target: Target::Variable(variable),
            range,
            moment: Moment::AtOnce,
            when: When::Once,
        };
        let at_begin: &[&String] = if self.is_shares_only() { &[&names.workers] } else { &[&names.workers, &names.total, &names.least] };
        let mut measures = vec![
            measure(Actor::Master, &names.iteration, Side::Entry, at_begin),
            measure(Actor::Workers, &names.compute, Side::Entry, &[&names.tasks]),
            measure(Actor::Workers, &names.compute, Side::Exit, &[]),
            measure(Actor::Master, &names.iteration, Side::Exit, &[&names.workers]),
        ];
        let mut tunes: Vec<TuningPoint> = names.factors.iter().map(|factor| tune(factor.clone(), (0.0, 1.0))).collect();
        if !self.is_shares_only() {
            measures.push(measure(Actor::Master, &names.send, Side::Entry, &[&names.worker, &names.first]));
            tunes.extend([&names.chunks, &names.margin, &names.chunk, &names.less].map(|name| tune(name.clone(), (0.0, 1e9))));
        }
        if self.has_weights() {
            tunes.extend((1..processes).map(|rank| tune(format!("{}[{rank}]", names.weights), (0.0, 1e6))));
        }
        Needs { measures, tunes }
    }

    fn begins(&mut self, processes: u32) -> Vec<Wish> {
        // Where the rule asks how many tasks there are, the first iteration tells.
        if matches!(self.followed, Rule::Trapezoid | Rule::ModifiedFixedSize) {
            return Vec::new();
        }
        self.workers = processes.saturating_sub(1).max(1) as usize;
        self.cutting = self.followed.cutting(&self.known());
        self.wishes("nothing is known of its tasks yet")
    }

    fn happened(&mut self, happening: &Happening) -> Vec<Wish> {
        let value = |place: usize| happening.values.get(place).copied().unwrap_or(0.0).max(0.0);
        match happening.point {
            BEGINS => return self.iteration_begins(happening),
            CHUNK_BEGINS => self.observed.chunk_begins(happening.rank, happening.time, value(0) as u64),
            CHUNK_ENDS => return self.chunk_ends(happening),
            ENDS => return self.iteration_ends(happening),
            SENT => self.observed.sent(value(0) as u32, value(1) as u64),
            _ => {}
        }
        Vec::new()
    }

    fn changed(&mut self, point: usize, _rank: u32, before: Option<f64>) {
        if let Some(before) = before {
            self.before.entry(point).or_insert(before);
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = self.figures.clone();
        if self.cutting.chunk > 0.0 {
            figures.push(Figure::new("chunk", self.cutting.chunk, "tasks"));
        } else {
            figures
                .extend(self.settings.names.factors.iter().zip(self.cutting.factors).map(|(name, factor)| Figure::new(name, factor, "")));
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunlet(settings: &str) -> Factoring {
        Factoring::new(toml::from_str(settings).expect("settings"))
    }

    fn happening(point: usize, rank: u32, time: f64, values: &[f64]) -> Happening {
        let side = if [CHUNK_ENDS, ENDS].contains(&point) { Side::Exit } else { Side::Entry };
        Happening { point, rank, side, time, values: values.to_vec() }
    }

    /// An iteration in which each of two workers does one chunk of ten tasks in its own time; which workers has the first is told.
    fn iteration(tunlet: &mut Factoring, begin: f64, times: [f64; 2], first: u32) -> Vec<Wish> {
        let mut wishes = tunlet.happened(&happening(BEGINS, 0, begin, &[2.0, 20.0, 1.0]));
        for rank in [first, 3 - first] {
            wishes.extend(tunlet.happened(&happening(SENT, 0, begin, &[f64::from(rank), if rank == first { 0.0 } else { 10.0 }])));
            wishes.extend(tunlet.happened(&happening(CHUNK_BEGINS, rank, begin, &[10.0])));
        }
        for (rank, time) in (1..).zip(times) {
            wishes.extend(tunlet.happened(&happening(CHUNK_ENDS, rank, begin + time, &[])));
        }
        wishes.extend(tunlet.happened(&happening(ENDS, 0, begin + times[0].max(times[1]), &[2.0])));
        wishes
    }

    /// The points and values of changes.
    fn changes(wishes: &[Wish]) -> Vec<(usize, f64)> {
        let change = |wish: &Wish| match wish {
            Wish::Change { point, value, .. } => Some((*point, *value)),
            _ => None,
        };
        wishes.iter().filter_map(change).collect()
    }

    #[test]
    fn the_first_iteration_is_cut_in_halves() {
        let mut tunlet = tunlet("");
        let wishes = tunlet.begins(3);
        assert_eq!(changes(&wishes), [(0, 0.5), (1, 0.5), (2, 0.5)]);
        assert_eq!(tunlet.happened(&happening(BEGINS, 0, 0.0, &[2.0])), []);
    }

    #[test]
    fn later_ones_by_mean_and_deviation_as_in_the_paper() {
        let mut tunlet = tunlet("");
        let wishes = iteration(&mut tunlet, 0.0, [1.0, 3.0], 1);
        // A mean of 0.2 s and a deviation of 0.1 s give x0 = 1.5 and x1 = 2.5.
        let values = &changes(&wishes)[3..];
        assert_eq!(values.len(), 3);
        assert!((values[0].1 - 1.0 / 1.5).abs() < 1e-9 && (values[1].1 - 1.0 / 2.5).abs() < 1e-9, "{values:?}");
        assert!(matches!(&wishes[3], Wish::Change { why, .. } if why.contains("50 %")));
    }

    #[test]
    fn what_does_not_change_is_not_changed_again() {
        let mut tunlet = tunlet("");
        assert!(!iteration(&mut tunlet, 0.0, [1.0, 1.0], 1).is_empty());
        assert_eq!(iteration(&mut tunlet, 4.0, [1.0, 1.0], 1), []);
    }

    #[test]
    fn a_load_that_moves_is_followed_within_three_iterations() {
        let mut tunlet = tunlet("history = 2");
        (0..5).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [1.0, 1.0], 1)));
        assert!((tunlet.cutting.factors[0] - 1.0).abs() < 1e-9);
        (5..8).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [0.5, 1.5], 1)));
        assert!((tunlet.cutting.factors[0] - 1.0 / 1.5).abs() < 0.02, "{:?}", tunlet.cutting);
    }

    #[test]
    fn a_rule_is_followed_from_the_first_iteration_where_it_needs_no_times() {
        let mut tunlet = tunlet("rule = \"tss\"");
        let wishes = tunlet.happened(&happening(BEGINS, 0, 0.0, &[2.0, 20.0, 1.0]));
        // 20 / (2 * 2) = 5 tasks, and 7 chunks down to 1: less by 4 / 6.
        assert!(changes(&wishes).contains(&(CHUNK, 5.0)) && changes(&wishes).contains(&(LESS, 4.0 / 6.0)), "{wishes:?}");
    }

    #[test]
    fn weights_are_those_of_the_workers_speeds() {
        let mut tunlet = tunlet("rule = \"awf\"\nhistory = 4");
        for round in 0..4 {
            iteration(&mut tunlet, 4.0 * f64::from(round), [1.0, 3.0], 1 + round % 2);
        }
        assert!((tunlet.cutting.weight(0) - 1.5).abs() < 0.05 && (tunlet.cutting.weight(1) - 0.5).abs() < 0.05, "{:?}", tunlet.cutting);
        assert_eq!(tunlet.needs(3).tunes[WEIGHTS + 1].target.to_string(), "WEIGHT[2]");
    }

    #[test]
    fn the_best_rule_is_chosen_by_what_was_seen() {
        let mut tunlet = tunlet("rule = \"auto\"");
        let mut wishes = tunlet.happened(&happening(BEGINS, 0, 0.0, &[2.0, 20.0, 1.0]));
        assert!(changes(&wishes).starts_with(&[(0, 0.5), (1, 0.5), (2, 0.5)]));
        // Tasks are alike, and there is a long pause between two chunks: the fewer the better.
        for (rank, begin, first) in [(1, 0.0, 0.0), (2, 0.0, 5.0), (1, 1.5, 10.0), (2, 1.5, 15.0)] {
            wishes.extend(tunlet.happened(&happening(SENT, 0, begin, &[f64::from(rank), first])));
            wishes.extend(tunlet.happened(&happening(CHUNK_BEGINS, rank, begin, &[5.0])));
            wishes.extend(tunlet.happened(&happening(CHUNK_ENDS, rank, begin + 0.5, &[])));
        }
        let wishes = tunlet.happened(&happening(ENDS, 0, 2.0, &[2.0]));
        assert_eq!(changes(&wishes), [(0, 1.0), (1, 1.0), (2, 1.0)]);
        let Wish::Change { why, .. } = &wishes[0] else { panic!("a change") };
        assert!(why.starts_with("static would take 2000.00 ms in 2 chunks (") && why.contains("to the end: 1000.00 ms"), "{why}");
    }

    #[test]
    fn a_program_whose_pauses_take_longer_than_its_tasks_gets_its_own_values_back() {
        let mut tunlet = tunlet("");
        let (mut time, mut shares) = (0.0, [1.0; 3]);
        let mut wishes = Vec::new();
        for _ in 0..10 {
            // With one chunk for each worker there is no pause.
            let chunks: u32 = if shares[0] == 1.0 { 1 } else { 5 };
            wishes.extend(tunlet.happened(&happening(BEGINS, 0, time, &[2.0])));
            for chunk in 0..chunks {
                let begin = time + f64::from(chunk) * (1.0 + 1.0 / f64::from(chunks));
                for rank in [1, 2] {
                    wishes.extend(tunlet.happened(&happening(CHUNK_BEGINS, rank, begin, &[f64::from(60 / chunks)])));
                    wishes.extend(tunlet.happened(&happening(CHUNK_ENDS, rank, begin + 1.0 / f64::from(chunks) * f64::from(rank), &[])));
                }
            }
            time += f64::from(chunks) * 1.5;
            wishes.extend(tunlet.happened(&happening(ENDS, 0, time, &[2.0])));
            for (point, value) in changes(&wishes) {
                tunlet.changed(point, 0, Some(shares[point]));
                shares[point] = value;
            }
            wishes.clear();
        }
        assert_eq!(shares, [1.0; 3]);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for wrong in ["rule = \"best\"", "rules = \"daf\"", "history = \"long\"", "[names]\nmaster = \"f\""] {
            assert!(toml::from_str::<Settings>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(toml::from_str::<Settings>("rule = \"auto\"").expect("right").rule, Way::Best);
        assert_eq!(toml::from_str::<Settings>("[names]\nworkers = \"crew\"").expect("right").names.workers, "crew");
    }

    #[test]
    fn figures_tell_how_far_from_ideal_an_iteration_was() {
        let mut tunlet = tunlet("");
        iteration(&mut tunlet, 0.0, [1.0, 3.0], 1);
        let figures = tunlet.figures();
        let of = |name: &str| figures.iter().find(|figure| figure.name == name).expect(name).value;
        assert_eq!((of("iteration"), of("ideal"), of("imbalance"), of("chunks")), (3.0, 2.0, 50.0, 2.0));
    }
}
