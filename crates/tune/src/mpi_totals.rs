//! Calls, bytes and time of each MPI function while a program is watched, for the summary at the end.

use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use sintonia_mpi::{FUNCTIONS, FunctionId, FunctionRole};

use crate::tuning_points::{Actor, MeasurePoint, TunletRequirements};
use crate::tunlet::{EventSummary, TuningAction, Tunlet};

/// Interval over which hosts sum up events, in seconds.
const INTERVAL_S: f64 = 0.5;

/// Totals of an MPI function over all processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionTotals {
    /// Its name.
    pub function: &'static str,
    /// Number of calls that returned.
    pub calls: u64,
    /// Bytes sent and received, as far as known.
    pub bytes: u64,
    /// Time in it.
    pub seconds: f64,
}

/// The totals of all MPI functions; shared with the tunlet that collects them.
#[derive(Debug, Clone)]
pub struct MpiTotals(Arc<Mutex<Vec<FunctionTotals>>>);

impl MpiTotals {
    /// No calls yet.
    #[expect(clippy::new_without_default, reason = "it lists all functions")]
    pub fn new() -> MpiTotals {
        let all = (0..FUNCTIONS.len() as u16).filter_map(FunctionId::from_index);
        let measured = all.filter(|function| !matches!(function.role(), FunctionRole::Local | FunctionRole::Switch));
        let empty = |function: FunctionId| FunctionTotals { function: function.name(), calls: 0, bytes: 0, seconds: 0.0 };
        MpiTotals(Arc::new(Mutex::new(measured.map(empty).collect())))
    }

    /// A tunlet that changes nothing and collects them.
    pub fn tunlet(&self) -> Box<dyn Tunlet> {
        Box::new(self.clone())
    }

    /// The functions that were called, those with most time first.
    pub fn called(&self) -> Vec<FunctionTotals> {
        let mut called: Vec<_> = self.lock().iter().filter(|totals| totals.calls > 0).cloned().collect();
        called.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        called
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FunctionTotals>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Tunlet for MpiTotals {
    fn name(&self) -> &str {
        "mpi"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        let measure = |totals: &FunctionTotals| MeasurePoint::mpi_exit(Actor::All, totals.function, &["seconds", "bytes"], INTERVAL_S);
        TunletRequirements { measures: self.lock().iter().map(measure).collect(), tunes: Vec::new() }
    }

    fn on_summary(&mut self, summary: &EventSummary) -> Vec<TuningAction> {
        if let (Some(totals), [seconds, bytes]) = (self.lock().get_mut(summary.point), &summary.values[..]) {
            totals.calls += summary.count;
            totals.seconds += seconds.sum();
            // A sum is kept as a mean, which is not exact.
            totals.bytes += bytes.sum().round() as u64;
        }
        Vec::new()
    }
}
