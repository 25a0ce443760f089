//! The tunlet `workers`: how many workers a master uses, after section 5.4.2 of the paper on MATE. All workers are started; unused ones
//! wait at no cost.
//!
//! The performance index is a model and may be wrong for a machine: the effect of a change is measured, and a change without benefit is undone.
//!
//! A program is known by the names of the paper, or by its variable with the number of workers alone: then its MPI calls show the rest.

mod load_meter;
mod performance_index;

use serde::Deserialize;
use sintonia_link::probe_protocol::{ActionRepeat, HookSide};

use crate::statistics::median;
use crate::tuning_points::{Actor, EventJoin, MeasurePoint, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{ChangeGuard, PointEvent, TuningAction, Tunlet, TunletMetric};
use crate::tunlets::farm::{FarmEvent, FarmObserver};
use load_meter::{IterationTotals, LoadMeter};
use performance_index::MasterWorkerLoad;

/// Names in the program; by default those of the paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkersNames {
    /// The master's function that hands out the work of one iteration.
    pub iteration: String,
    /// The master's function that sends a chunk.
    pub send: String,
    /// Its parameter with the rank of the worker.
    pub worker: String,
    /// The parameter of `send` and `compute` with the number of tasks.
    pub tasks: String,
    /// The master's function that receives results, and returns their number of tasks.
    pub receive: String,
    /// The worker's function that computes a chunk.
    pub compute: String,
    /// The master's variable with the number of workers.
    pub workers: String,
    /// The master's variable with the bytes of a task.
    pub unit: String,
}

impl Default for WorkersNames {
    fn default() -> WorkersNames {
        WorkersNames {
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

/// Settings of the tunlet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkersSettings {
    /// Iterations in the history.
    pub history: usize,
    /// Relative improvement of the index that is worth a change.
    pub worth: f64,
    /// Names in the program.
    pub names: WorkersNames,
    /// The master's variable with the number of workers, instead of names.
    pub variable: Option<String>,
    /// With `variable`: the rank of the master; found if not given.
    pub master: Option<u32>,
}

impl Default for WorkersSettings {
    fn default() -> WorkersSettings {
        WorkersSettings { history: 3, worth: 0.02, names: WorkersNames::default(), variable: None, master: None }
    }
}

const ITERATION_BEGINS: usize = 0;
const ITERATION_ENDS: usize = 1;
const CHUNK_SENT: usize = 2;
const CHUNK_RECEIVED: usize = 3;
const CHUNK_BEGINS: usize = 4;
const CHUNK_ENDS: usize = 5;

/// A number of workers without benefit, and the computation then: after a change of load it may be tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FailedTrial {
    workers: u32,
    computing: f64,
}

/// Relative change of the computation that counts as a change of load.
const LOAD_CHANGE: f64 = 0.25;

/// A change whose effect is not known yet.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WorkerCountTrial {
    from: u32,
    to: u32,
    /// Measured index before.
    before: f64,
    /// Computation before.
    computing: f64,
}

/// The tunlet.
#[derive(Debug)]
pub struct WorkersTunlet {
    settings: WorkersSettings,
    /// Number of workers, used or not.
    max_workers: u32,
    load_meter: LoadMeter,
    current_workers: u32,
    trial: Option<WorkerCountTrial>,
    failures: Vec<FailedTrial>,
    /// The number that the latest iterations favour, and how many did.
    candidate: (u32, usize),
    /// The program as its MPI calls show it, if only its variable is known.
    farm: Option<FarmObserver>,
}

impl WorkersTunlet {
    /// A tunlet with these settings.
    pub fn new(settings: WorkersSettings) -> WorkersTunlet {
        WorkersTunlet {
            max_workers: 1,
            load_meter: LoadMeter::new(settings.history),
            current_workers: 0,
            trial: None,
            failures: Vec::new(),
            candidate: (0, 0),
            farm: settings.variable.is_some().then(FarmObserver::default),
            settings,
        }
    }

    /// The requirements if only the variable is known.
    fn farm_requirements(&self, variable: &str) -> TunletRequirements {
        let master = self.settings.master;
        TunletRequirements {
            measures: FarmObserver::measures(master),
            tunes: vec![TuningPoint {
                actor: master.map_or(Actor::All, |rank| Actor::Ranks(vec![rank])),
                target: TuningTarget::Variable(variable.to_owned()),
                range: (1.0, f64::from(self.max_workers)),
                moment: TuningMoment::BetweenRounds,
                when: ActionRepeat::Once,
            }],
        }
    }

    fn handle_farm_event(&mut self, event: FarmEvent) -> Vec<TuningAction> {
        match event {
            FarmEvent::SecondMaster(rank) => {
                let what = format!("rank {rank} sends to others and is answered, too: give the rank of the master as `master`");
                return vec![TuningAction::Report(what)];
            }
            _ if self.farm.as_ref().is_some_and(FarmObserver::has_several_masters) => {}
            FarmEvent::MasterFound | FarmEvent::PieceSent { .. } => {}
            FarmEvent::RoundBegins { time, .. } => self.load_meter.begin_iteration(time, self.current_workers, 1.0),
            FarmEvent::PieceAnswered { worker, sent, time, tasks, bytes, computation } => {
                self.load_meter.piece_answered(tasks as f64);
                if let Some(computation) = computation {
                    // The size of a message, in bytes, takes the place of its tasks.
                    self.load_meter.chunk_sent(worker, sent, computation.bytes);
                    self.load_meter.chunk_begins(worker, computation.begin, computation.bytes);
                    self.load_meter.chunk_ends(worker, computation.end);
                    self.load_meter.chunk_received(bytes);
                    self.load_meter.answer_arrived(bytes, time - computation.end);
                }
            }
            FarmEvent::RoundEnds { time, workers } => {
                self.current_workers = workers as u32;
                self.load_meter.set_workers(self.current_workers);
                return self.iteration_ends(time);
            }
        }
        Vec::new()
    }

    fn iteration_ends(&mut self, time: f64) -> Vec<TuningAction> {
        self.load_meter.end_iteration(time);
        let Some(load) = self.load_meter.load().filter(|_| self.current_workers > 0) else { return Vec::new() };
        if self.load_meter.latest().back().is_none_or(|latest| latest.workers != self.current_workers) {
            return Vec::new();
        }
        if let Some(trial) = self.trial {
            return self.judge_trial(trial);
        }
        self.failures.retain(|failure| (load.computing / failure.computing - 1.0).abs() <= LOAD_CHANGE);
        let may_be = |workers| self.failures.iter().all(|failure| failure.workers != workers);
        let Some(best) = load.best_worker_count(self.max_workers, may_be) else { return Vec::new() };
        let is_worth = load.index(best) < load.index(self.current_workers) * (1.0 - self.settings.worth);
        // A single iteration may be an outlier.
        self.candidate = match self.candidate {
            _ if best == self.current_workers || !is_worth => (0, 0),
            (same, times) if same == best => (same, times + 1),
            _ => (best, 1),
        };
        if self.candidate.1 < 2 {
            return Vec::new();
        }
        let computing = load.computing;
        self.trial = self.measured_index().map(|before| WorkerCountTrial { from: self.current_workers, to: best, before, computing });
        self.request_change(best, reason(&load, self.current_workers, best))
    }

    /// Judges a change; undoes it if it has no benefit.
    fn judge_trial(&mut self, trial: WorkerCountTrial) -> Vec<TuningAction> {
        let enough = self.settings.history.min(2);
        let Some(after) = self.measured_index().filter(|_| self.current_workers == trial.to && self.load_meter.latest().len() >= enough)
        else {
            return Vec::new();
        };
        self.trial = None;
        if after <= trial.before * (1.0 + self.settings.worth) {
            return Vec::new();
        }
        self.failures.push(FailedTrial { workers: trial.to, computing: trial.computing });
        let why = format!("with {} workers the index became worse by {:.0} %: undone", trial.to, 100.0 * (after / trial.before - 1.0));
        self.request_change(trial.from, why)
    }

    fn measured_index(&self) -> Option<f64> {
        median(self.load_meter.latest().iter().map(IterationTotals::index))
    }

    fn request_change(&mut self, workers: u32, why: String) -> Vec<TuningAction> {
        self.candidate = (0, 0);
        let rank = self.farm.as_ref().and_then(FarmObserver::master);
        vec![TuningAction::Change { point: 0, value: f64::from(workers), rank, why }]
    }
}

fn reason(load: &MasterWorkerLoad, now: u32, best: u32) -> String {
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

impl Tunlet for WorkersTunlet {
    fn name(&self) -> &str {
        "workers"
    }

    fn requirements(&mut self, processes: u32) -> TunletRequirements {
        self.max_workers = processes.saturating_sub(1).max(1);
        if let Some(variable) = &self.settings.variable {
            return self.farm_requirements(variable);
        }
        let WorkersNames { iteration, send, worker, tasks, receive, compute, workers, unit } = &self.settings.names;
        let measure = |actor, function: &String, side, values: &[&str]| MeasurePoint {
            actor,
            function: function.clone(),
            side,
            values: values.iter().map(ToString::to_string).collect(),
            join: EventJoin::Each,
        };
        TunletRequirements {
            measures: vec![
                measure(Actor::Master, iteration, HookSide::Entry, &[workers, unit]),
                measure(Actor::Master, iteration, HookSide::Exit, &[]),
                measure(Actor::Master, send, HookSide::Entry, &[worker, tasks]),
                measure(Actor::Master, receive, HookSide::Exit, &["result"]),
                measure(Actor::Workers, compute, HookSide::Entry, &[tasks]),
                measure(Actor::Workers, compute, HookSide::Exit, &[]),
            ],
            tunes: vec![TuningPoint {
                actor: Actor::Master,
                target: TuningTarget::Variable(workers.clone()),
                range: (1.0, f64::from(self.max_workers)),
                moment: TuningMoment::At(iteration.clone(), HookSide::Entry),
                when: ActionRepeat::Once,
            }],
        }
    }

    fn on_event(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        if let Some(farm) = &mut self.farm {
            let events = farm.events(event);
            return events.into_iter().flat_map(|event| self.handle_farm_event(event)).collect();
        }
        let PointEvent { rank, time, .. } = *event;
        let value = |index: usize| event.values.get(index).copied().unwrap_or(0.0).max(0.0);
        match event.point {
            ITERATION_BEGINS => {
                self.current_workers = value(0) as u32;
                self.load_meter.begin_iteration(time, self.current_workers, value(1).max(1.0));
            }
            ITERATION_ENDS => return self.iteration_ends(time),
            CHUNK_SENT => self.load_meter.chunk_sent(value(0) as u32, time, value(1)),
            CHUNK_RECEIVED => self.load_meter.chunk_received(value(0)),
            CHUNK_BEGINS => self.load_meter.chunk_begins(rank, time, value(0)),
            CHUNK_ENDS => self.load_meter.chunk_ends(rank, time),
            _ => {}
        }
        Vec::new()
    }

    fn guard(&self) -> ChangeGuard {
        ChangeGuard::Own
    }

    fn metrics(&self) -> Vec<TunletMetric> {
        if self.current_workers == 0 {
            return Vec::new();
        }
        let mut figures = vec![TunletMetric::new("workers", f64::from(self.current_workers), "")];
        if let Some(load) = self.load_meter.load() {
            figures.extend([
                TunletMetric::new("Pi", load.index(self.current_workers), "s"),
                TunletMetric::new("latency", 1e6 * load.latency, "µs"),
                TunletMetric::new("per byte", 1e9 * load.per_byte, "ns"),
                TunletMetric::new("computing", load.computing, "s"),
            ]);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose iterations take a multiple of the model's time.
    struct Program {
        tunlet: WorkersTunlet,
        workers: u32,
        time: f64,
        changes: Vec<u32>,
    }

    impl Program {
        fn new(processes: u32) -> Program {
            let mut tunlet = WorkersTunlet::new(WorkersSettings::default());
            tunlet.requirements(processes);
            Program { tunlet, workers: processes - 1, time: 0.0, changes: Vec::new() }
        }

        fn tell(&mut self, point: usize, rank: u32, time: f64, values: &[f64]) {
            let side = if [ITERATION_ENDS, CHUNK_RECEIVED, CHUNK_ENDS].contains(&point) { HookSide::Exit } else { HookSide::Entry };
            for action in self.tunlet.on_event(&PointEvent { point, rank, side, time, values: values.to_vec(), change: 0 }) {
                let TuningAction::Change { value, .. } = action else { continue };
                self.workers = value as u32;
                self.changes.push(self.workers);
            }
        }

        /// Iterations of 1000 tasks of 16 bytes with this computation, seconds per byte, and time per iteration.
        fn run(&mut self, count: usize, computing: f64, per_byte: f64, takes: impl Fn(u32) -> f64) {
            for _ in 0..count {
                let (begin, workers) = (self.time, self.workers);
                self.tell(ITERATION_BEGINS, 0, begin, &[f64::from(workers), 16.0]);
                // Half of the tasks in large chunks, half in small ones.
                for chunk in 0..4 * workers {
                    let rank = 1 + chunk % workers;
                    let tasks = (1000.0 / f64::from(workers) * if chunk < workers { 0.5 } else { 1.0 / 6.0 }).round();
                    let start = begin + 1e-5 + 16.0 * tasks * per_byte;
                    self.tell(CHUNK_SENT, 0, begin, &[f64::from(rank), tasks]);
                    self.tell(CHUNK_BEGINS, rank, start, &[tasks]);
                    self.tell(CHUNK_ENDS, rank, start + computing * tasks / 1000.0, &[]);
                    self.tell(CHUNK_RECEIVED, 0, start, &[tasks]);
                }
                self.time += takes(workers);
                self.tell(ITERATION_ENDS, 0, self.time, &[]);
            }
        }
    }

    fn model(computing: f64, per_byte: f64) -> impl Fn(u32) -> f64 {
        let load = MasterWorkerLoad { latency: 1e-5, per_byte, bytes: 32_000.0, share_out: 0.5, computing };
        move |workers| load.time(workers)
    }

    #[test]
    fn workers_are_parked_where_communication_dominates() {
        let mut program = Program::new(9);
        program.run(20, 0.01, 1e-6, model(0.01, 1e-6));
        assert_eq!(program.changes.len(), 1, "{:?}", program.changes);
        assert!(program.workers < 4, "{:?}", program.changes);
    }

    #[test]
    fn workers_return_with_more_computation() {
        let mut program = Program::new(9);
        program.run(10, 0.01, 1e-6, model(0.01, 1e-6));
        program.run(10, 10.0, 1e-9, model(10.0, 1e-9));
        assert_eq!(program.workers, 8, "{:?}", program.changes);
    }

    #[test]
    fn a_change_without_benefit_is_undone_and_not_repeated() {
        let mut program = Program::new(9);
        // The program takes longer with fewer workers, against the model.
        program.run(30, 0.01, 1e-6, |workers| 1.0 / f64::from(workers));
        let tried: std::collections::HashSet<&u32> = program.changes.iter().filter(|workers| **workers != 8).collect();
        assert_eq!(program.changes.len(), 2 * tried.len(), "{:?}", program.changes);
        assert_eq!(program.workers, 8);
    }

    #[test]
    fn workers_on_shared_processors_are_not_retried_forever() {
        let mut program = Program::new(9);
        program.workers = 1;
        // Seven more workers take as long as one, and seem to compute more.
        for _ in 0..30 {
            let computing = 0.03 * f64::from(program.workers);
            program.run(1, computing, 1e-9, |_| 0.03);
        }
        assert!(program.changes.iter().filter(|workers| **workers == 8).count() <= 1, "{:?}", program.changes);
        assert_eq!(program.workers, 1, "{:?}", program.changes);
    }

    #[test]
    fn a_compute_bound_program_keeps_all_workers() {
        let mut program = Program::new(9);
        program.run(10, 1.0, 1e-10, model(1.0, 1e-10));
        assert!(program.changes.is_empty(), "{:?}", program.changes);
    }
}
