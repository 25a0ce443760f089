//! The tunlet `workers`: how many workers a master uses, after section 5.4.2 of the paper on MATE. All that there are were started; those
//! that are not worth having wait for nothing, and cost nothing.
//!
//! The index is a model, and may be wrong of a machine: what a change has come to is measured, and one that did no good is taken back.

mod index;
mod measured;

use serde::Deserialize;
use sintonia_link::order::{Side, When};

use crate::point::{Actor, Join, MeasurePoint, Moment, Needs, Target, TuningPoint};
use crate::statistics::median;
use crate::tunlet::{Figure, Happening, Tunlet, Wish};
use index::Load;
use measured::{Iteration, Measured};

/// The names that the program has for what the tunlet looks at; usually those of the paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
    /// The master's function that hands out the work of one iteration.
    pub iteration: String,
    /// The master's function that sends a chunk.
    pub send: String,
    /// Its parameter with the rank of the worker.
    pub worker: String,
    /// The parameter of `send` and of `compute` with the number of tasks.
    pub tasks: String,
    /// The master's function that receives what a worker has done, and returns how many tasks that are.
    pub receive: String,
    /// The worker's function that does a chunk.
    pub compute: String,
    /// The variable with the number of workers, in the master.
    pub workers: String,
    /// The variable with the bytes of a task, in the master.
    pub unit: String,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            iteration: "global_sendreceive".into(),
            send: "global_sendwork".into(),
            worker: "workerId".into(),
            tasks: "NTareas".into(),
            receive: "global_receivework".into(),
            compute: "arcStepKernel".into(),
            workers: "NW".into(),
            unit: "TheWorkSizeUnitBytes".into(),
        }
    }
}

/// How the tunlet is to work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Iterations whose times count.
    pub history: usize,
    /// How much better the index must become, as a share.
    pub worth: f64,
    /// The program's names.
    pub names: Names,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { history: 3, worth: 0.02, names: Names::default() }
    }
}

const BEGINS: usize = 0;
const ENDS: usize = 1;
const SENT: usize = 2;
const RECEIVED: usize = 3;
const CHUNK_BEGINS: usize = 4;
const CHUNK_ENDS: usize = 5;

/// A number of workers that did no good, and the computing that there was then: where that is another, it may be tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Failure {
    workers: u32,
    computing: f64,
}

/// Computing that differs by more than this share is another.
const ANOTHER: f64 = 0.25;

/// What was changed, until it is known what came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trial {
    from: u32,
    to: u32,
    /// The index that was measured before.
    before: f64,
    /// The computing that there was before.
    computing: f64,
}

/// The tunlet.
#[derive(Debug)]
pub struct Workers {
    settings: Settings,
    /// How many there are, used or not.
    most: u32,
    measured: Measured,
    used: u32,
    trial: Option<Trial>,
    failures: Vec<Failure>,
    /// The number that the latest iterations spoke for, and how many did.
    spoken_for: (u32, usize),
}

impl Workers {
    /// A tunlet that works so.
    pub fn new(settings: Settings) -> Workers {
        let measured = Measured::new(settings.history);
        Workers { settings, most: 1, measured, used: 0, trial: None, failures: Vec::new(), spoken_for: (0, 0) }
    }

    fn iteration_ends(&mut self, time: f64) -> Vec<Wish> {
        self.measured.ends(time);
        let Some(load) = self.measured.load().filter(|_| self.used > 0) else { return Vec::new() };
        if self.measured.latest().back().is_none_or(|latest| latest.workers != self.used) {
            return Vec::new();
        }
        if let Some(trial) = self.trial {
            return self.judge(trial);
        }
        self.failures.retain(|failure| (load.computing / failure.computing - 1.0).abs() <= ANOTHER);
        let may_be = |workers| self.failures.iter().all(|failure| failure.workers != workers);
        let Some(best) = load.best(self.most, may_be) else { return Vec::new() };
        let is_worth = load.index(best) < load.index(self.used) * (1.0 - self.settings.worth);
        // One iteration alone may be an accident.
        self.spoken_for = match self.spoken_for {
            _ if best == self.used || !is_worth => (0, 0),
            (same, times) if same == best => (same, times + 1),
            _ => (best, 1),
        };
        if self.spoken_for.1 < 2 {
            return Vec::new();
        }
        let computing = load.computing;
        self.trial = self.measured_index().map(|before| Trial { from: self.used, to: best, before, computing });
        self.change(best, why(&load, self.used, best))
    }

    /// Whether what was changed has done good; if not, it is taken back.
    fn judge(&mut self, trial: Trial) -> Vec<Wish> {
        let enough = self.settings.history.min(2);
        let Some(after) = self.measured_index().filter(|_| self.used == trial.to && self.measured.latest().len() >= enough) else {
            return Vec::new();
        };
        self.trial = None;
        if after <= trial.before * (1.0 + self.settings.worth) {
            return Vec::new();
        }
        self.failures.push(Failure { workers: trial.to, computing: trial.computing });
        let why = format!(
            "with {} workers the index became worse by {:.0} %, not better: back to what it was",
            trial.to,
            100.0 * (after / trial.before - 1.0)
        );
        self.change(trial.from, why)
    }

    fn measured_index(&self) -> Option<f64> {
        median(self.measured.latest().iter().map(Iteration::index))
    }

    fn change(&mut self, workers: u32, why: String) -> Vec<Wish> {
        self.spoken_for = (0, 0);
        vec![Wish::change(0, f64::from(workers), why)]
    }
}

fn why(load: &Load, now: u32, best: u32) -> String {
    format!(
        "Pi({best}) = {:.4} s is less than Pi({now}) = {:.4} s: computing takes {:.1} ms, {:.0} kB are sent ({:.0} % to workers) with a latency of {:.0} µs and {:.3} ns for a byte",
        load.index(best),
        load.index(now),
        1e3 * load.computing,
        1e-3 * load.bytes,
        100.0 * load.share_out,
        1e6 * load.latency,
        1e9 * load.per_byte
    )
}

impl Tunlet for Workers {
    fn name(&self) -> &str {
        "workers"
    }

    fn needs(&mut self, processes: u32) -> Needs {
        self.most = processes.saturating_sub(1).max(1);
        let Names { iteration, send, worker, tasks, receive, compute, workers, unit } = &self.settings.names;
        let measure = |actor, function: &String, side, values: &[&str]| MeasurePoint {
            actor,
            function: function.clone(),
            side,
            values: values.iter().map(ToString::to_string).collect(),
            join: Join::Each,
        };
        Needs {
            measures: vec![
                measure(Actor::Master, iteration, Side::Entry, &[workers, unit]),
                measure(Actor::Master, iteration, Side::Exit, &[]),
                measure(Actor::Master, send, Side::Entry, &[worker, tasks]),
                measure(Actor::Master, receive, Side::Exit, &["result"]),
                measure(Actor::Workers, compute, Side::Entry, &[tasks]),
                measure(Actor::Workers, compute, Side::Exit, &[]),
            ],
            tunes: vec![TuningPoint {
                actor: Actor::Master,
                target: Target::Variable(workers.clone()),
                range: (1.0, f64::from(self.most)),
                moment: Moment::At(iteration.clone(), Side::Entry),
                when: When::Once,
            }],
        }
    }

    fn happened(&mut self, happening: &Happening) -> Vec<Wish> {
        let Happening { rank, time, .. } = *happening;
        let value = |place: usize| happening.values.get(place).copied().unwrap_or(0.0).max(0.0);
        match happening.point {
            BEGINS => {
                self.used = value(0) as u32;
                self.measured.begins(time, self.used, value(1).max(1.0));
            }
            ENDS => return self.iteration_ends(time),
            SENT => self.measured.sent(value(0) as u32, time, value(1)),
            RECEIVED => self.measured.received(value(0)),
            CHUNK_BEGINS => self.measured.chunk_begins(rank, time, value(0)),
            CHUNK_ENDS => self.measured.chunk_ends(rank, time),
            _ => {}
        }
        Vec::new()
    }

    fn figures(&self) -> Vec<Figure> {
        if self.used == 0 {
            return Vec::new();
        }
        let mut figures = vec![Figure::new("workers", f64::from(self.used), "")];
        if let Some(load) = self.measured.load() {
            figures.extend([
                Figure::new("Pi", load.index(self.used), "s"),
                Figure::new("latency", 1e6 * load.latency, "µs"),
                Figure::new("per byte", 1e9 * load.per_byte, "ns"),
                Figure::new("computing", load.computing, "s"),
            ]);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose iterations take what the model says, times something.
    struct Program {
        tunlet: Workers,
        workers: u32,
        time: f64,
        changes: Vec<u32>,
    }

    impl Program {
        fn new(processes: u32) -> Program {
            let mut tunlet = Workers::new(Settings::default());
            tunlet.needs(processes);
            Program { tunlet, workers: processes - 1, time: 0.0, changes: Vec::new() }
        }

        fn tell(&mut self, point: usize, rank: u32, time: f64, values: &[f64]) {
            let side = if [ENDS, RECEIVED, CHUNK_ENDS].contains(&point) { Side::Exit } else { Side::Entry };
            for wish in self.tunlet.happened(&Happening { point, rank, side, time, values: values.to_vec() }) {
                let Wish::Change { value, .. } = wish else { continue };
                self.workers = value as u32;
                self.changes.push(self.workers);
            }
        }

        /// Iterations of 1000 tasks of 16 bytes with so much computing, and seconds for each byte; how long each takes.
        fn run(&mut self, count: usize, computing: f64, per_byte: f64, takes: impl Fn(u32) -> f64) {
            for _ in 0..count {
                let (begin, workers) = (self.time, self.workers);
                self.tell(BEGINS, 0, begin, &[f64::from(workers), 16.0]);
                // Half of the tasks in large chunks, half in small ones.
                for chunk in 0..4 * workers {
                    let rank = 1 + chunk % workers;
                    let tasks = (1000.0 / f64::from(workers) * if chunk < workers { 0.5 } else { 1.0 / 6.0 }).round();
                    let start = begin + 1e-5 + 16.0 * tasks * per_byte;
                    self.tell(SENT, 0, begin, &[f64::from(rank), tasks]);
                    self.tell(CHUNK_BEGINS, rank, start, &[tasks]);
                    self.tell(CHUNK_ENDS, rank, start + computing * tasks / 1000.0, &[]);
                    self.tell(RECEIVED, 0, start, &[tasks]);
                }
                self.time += takes(workers);
                self.tell(ENDS, 0, self.time, &[]);
            }
        }
    }

    fn model(computing: f64, per_byte: f64) -> impl Fn(u32) -> f64 {
        let load = Load { latency: 1e-5, per_byte, bytes: 32_000.0, share_out: 0.5, computing };
        move |workers| load.time(workers)
    }

    #[test]
    fn where_sending_takes_longer_than_computing_workers_are_parked_and_stay_so() {
        let mut program = Program::new(9);
        program.run(20, 0.01, 1e-6, model(0.01, 1e-6));
        assert_eq!(program.changes.len(), 1, "{:?}", program.changes);
        assert!(program.workers < 4, "{:?}", program.changes);
    }

    #[test]
    fn where_more_must_be_computed_they_come_back() {
        let mut program = Program::new(9);
        program.run(10, 0.01, 1e-6, model(0.01, 1e-6));
        program.run(10, 10.0, 1e-9, model(10.0, 1e-9));
        assert_eq!(program.workers, 8, "{:?}", program.changes);
    }

    #[test]
    fn what_did_no_good_is_taken_back_and_not_tried_again() {
        let mut program = Program::new(9);
        // The program takes longer with fewer, whatever the model says.
        program.run(30, 0.01, 1e-6, |workers| 1.0 / f64::from(workers));
        let tried: std::collections::HashSet<&u32> = program.changes.iter().filter(|workers| **workers != 8).collect();
        assert_eq!(program.changes.len(), 2 * tried.len(), "{:?}", program.changes);
        assert_eq!(program.workers, 8);
    }

    #[test]
    fn workers_that_share_processors_are_not_called_back_again_and_again() {
        let mut program = Program::new(9);
        program.workers = 1;
        // Seven more take as long as one, and seem to compute the more.
        for _ in 0..30 {
            let computing = 0.03 * f64::from(program.workers);
            program.run(1, computing, 1e-9, |_| 0.03);
        }
        assert!(program.changes.iter().filter(|workers| **workers == 8).count() <= 1, "{:?}", program.changes);
        assert_eq!(program.workers, 1, "{:?}", program.changes);
    }

    #[test]
    fn a_program_that_computes_keeps_all() {
        let mut program = Program::new(9);
        program.run(10, 1.0, 1e-10, model(1.0, 1e-10));
        assert!(program.changes.is_empty(), "{:?}", program.changes);
    }
}
