//! Totals of the added measure points.

use std::collections::HashMap;

use crate::tunlet::EventSummary;

/// Totals of calls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct CallTimeTotals {
    /// Number of calls.
    pub count: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Sum of the second value: bytes of MPI functions, seconds in MPI of others.
    pub second_value: f64,
}

impl CallTimeTotals {
    /// From aggregated events.
    pub(super) fn from_summary(joined: &EventSummary) -> CallTimeTotals {
        let sum = |index: usize| joined.values.get(index).map_or(0.0, |sums| sums.sum());
        CallTimeTotals { count: joined.count, seconds: sum(0), second_value: sum(1) }
    }

    /// The sum of both.
    pub(super) fn merged(self, other: CallTimeTotals) -> CallTimeTotals {
        CallTimeTotals {
            count: self.count + other.count,
            seconds: self.seconds + other.seconds,
            second_value: self.second_value + other.second_value,
        }
    }
}

/// Added measure points, by number.
#[derive(Debug, Default)]
pub(super) struct PointRegistry {
    next: usize,
    totals: HashMap<usize, CallTimeTotals>,
}

impl PointRegistry {
    /// Numbers start at `first`.
    pub(super) fn new(first: usize) -> PointRegistry {
        PointRegistry { next: first, totals: HashMap::new() }
    }

    /// Adds a point.
    pub(super) fn add(&mut self) -> usize {
        self.next += 1;
        self.totals.insert(self.next - 1, CallTimeTotals::default());
        self.next - 1
    }

    /// Adds totals to a point.
    pub(super) fn record(&mut self, number: usize, tally: CallTimeTotals) {
        if let Some(sum) = self.totals.get_mut(&number) {
            *sum = sum.merged(tally);
        }
    }

    /// The totals of a point.
    pub(super) fn totals(&self, number: usize) -> CallTimeTotals {
        self.totals.get(&number).copied().unwrap_or_default()
    }

    /// Removes a point.
    pub(super) fn remove(&mut self, number: usize) {
        self.totals.remove(&number);
    }
}
