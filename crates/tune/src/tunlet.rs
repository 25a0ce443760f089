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
