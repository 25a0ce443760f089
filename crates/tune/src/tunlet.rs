//! The tunlet interface (as in MATE): it declares requirements, receives events, and returns tuning actions.

use serde::{Deserialize, Serialize};
use sintonia_link::probe_protocol::HookSide;

use crate::statistics::RunningStats;
use crate::tuning_points::{MeasurePoint, TunletRequirements};

/// An event at a measure point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointEvent {
    /// Index of the measure point.
    pub point: usize,
    /// Rank of the process.
    pub rank: u32,
    /// Entry or exit.
    pub side: HookSide,
    /// Seconds since the start of the tuning, on a clock common to all processes.
    pub time: f64,
    /// Values read, in the order of the point's values.
    pub values: Vec<f64>,
    /// Number of the latest change that the process had made before; 0 if none.
    pub change: u64,
}

/// Aggregated events of a measure point in an interval, over all processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Index of the measure point.
    pub point: usize,
    /// Start of the interval, on the clock of [`PointEvent::time`].
    pub from: f64,
    /// Number of events.
    pub count: u64,
    /// Statistics of each of the point's values.
    pub values: Vec<RunningStats>,
    /// Number of the latest change that the processes had made before; events before and after a change are in different aggregates.
    pub change: u64,
}

/// An action that a tunlet requests.
#[derive(Debug, Clone, PartialEq)]
pub enum TuningAction {
    /// Change a tuning point.
    Change {
        /// Index of the tuning point.
        point: usize,
        /// The new value; for a called function, its argument; 1 replaces a function or loads a library, 0 undoes that.
        value: f64,
        /// In this rank only; otherwise in all processes of the point.
        rank: Option<u32>,
        /// The reason, for the log.
        why: String,
    },
    /// Add a measure point.
    AddPoint {
        /// Number that its events carry, beyond those of [`TunletRequirements::measures`].
        number: usize,
        /// The point.
        point: MeasurePoint,
    },
    /// Remove the measure point with this number.
    RemovePoint(usize),
    /// Query which functions a function of the program calls.
    QueryCallees(String),
    /// Log a finding.
    Report(String),
}

impl TuningAction {
    /// A change in all processes of the point.
    pub fn change(point: usize, value: f64, why: impl Into<String>) -> TuningAction {
        TuningAction::Change { point, value, rank: None, why: why.into() }
    }
}

/// A metric to display: the time of the latest iteration, for example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunletMetric {
    /// Short name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit; empty for a plain number.
    pub unit: String,
}

impl TunletMetric {
    /// Creates a metric.
    pub fn new(name: &str, value: f64, unit: &str) -> TunletMetric {
        TunletMetric { name: name.into(), value, unit: unit.into() }
    }
}

/// How it is decided whether the changes of a tunlet stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeGuard {
    /// They stay: they are not made to save time, or the user says so.
    None,
    /// The tunlet compares by itself.
    Own,
    /// The tunlet as a whole is compared in turns with the initial values, from its first change on.
    InTurns,
    /// The same, but only when the tunlet has settled; until then it tries values.
    WhenSettled,
}

/// What a guard compares: the time of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardMeasure {
    /// Index of the measure point that has one event per iteration.
    pub point: usize,
    /// Index of the value that is the duration; if none, the time between two events counts.
    pub duration: Option<usize>,
}

/// Knowledge that tunes a kind of program.
pub trait Tunlet: Send {
    /// Its name.
    fn name(&self) -> &str;

    /// Requirements for a program with this many processes.
    fn requirements(&mut self, processes: u32) -> TunletRequirements;

    /// All processes are started, and MPI is not.
    fn on_start(&mut self, _processes: u32) -> Vec<TuningAction> {
        Vec::new()
    }

    /// An event has occurred.
    fn on_event(&mut self, _event: &PointEvent) -> Vec<TuningAction> {
        Vec::new()
    }

    /// An interval of aggregated events is finished.
    fn on_summary(&mut self, _summary: &EventSummary) -> Vec<TuningAction> {
        Vec::new()
    }

    /// About ten times per second, with the clock of [`PointEvent::time`].
    fn on_tick(&mut self, _time: f64) -> Vec<TuningAction> {
        Vec::new()
    }

    /// Answer to [`TuningAction::QueryCallees`].
    fn on_callees(&mut self, _function: &str, _callees: &[String]) -> Vec<TuningAction> {
        Vec::new()
    }

    /// How its changes are guarded.
    fn guard(&self) -> ChangeGuard {
        ChangeGuard::InTurns
    }

    /// What its changes are judged by; if none, the measure point with the longest regular interval.
    fn guard_measure(&self) -> Option<GuardMeasure> {
        None
    }

    /// Whether it is done with trying values ([`ChangeGuard::WhenSettled`]).
    fn is_settled(&self) -> bool {
        true
    }

    /// Events were withheld while the program had its initial values: the next one does not follow the latest one.
    fn on_resumed(&mut self) {}

    /// Its changes were compared with the initial values; those stay if the changes do not pay.
    fn on_verdict(&mut self, _pays: bool) {}

    /// All processes have made the change; events that carry this number or a larger one count for it.
    fn on_confirmed(&mut self, _point: usize, _number: u64) {}

    /// A process has refused the change, and all have answered: what follows is not to be counted for it.
    fn on_rejected(&mut self, _point: usize, _why: &str) -> Vec<TuningAction> {
        Vec::new()
    }

    /// A change was requested and will not be made in any process, because the program is only watched or the value is not allowed.
    fn on_not_made(&mut self, _point: usize, _why: &str) -> Vec<TuningAction> {
        Vec::new()
    }

    /// A process has made a change; `before` is the previous value.
    fn on_changed(&mut self, _point: usize, _rank: u32, _before: Option<f64>) {}

    /// A process has refused a change.
    fn on_refused(&mut self, _point: usize, _rank: u32, _why: &str) -> Vec<TuningAction> {
        Vec::new()
    }

    /// Current metrics, for display.
    fn metrics(&self) -> Vec<TunletMetric> {
        Vec::new()
    }
}
