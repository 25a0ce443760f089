//! Finds iterations in the events of a tunlet, and their times.

use std::collections::{BTreeMap, VecDeque};

use crate::statistics::median;
use crate::tunlet::{GuardMeasure, PointEvent};

/// Iterations kept of each measure point.
const MOST_ITERATIONS: usize = 64;
/// Fewest intervals by which a point is taken for the one of an iteration,
const FEWEST: usize = 3;
/// unless others have this many, which are preferred: a point that was reached a few times only may not be reached again.
const PLENTY: usize = 8;

/// An iteration of the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimedIteration {
    /// The rank that it was measured in.
    pub rank: u32,
    /// Its begin, on the clock of events.
    pub begin: f64,
    /// Its duration in seconds.
    pub seconds: f64,
    /// Number of the latest change at its begin, as far as known.
    pub change: u64,
}

/// The events of one measure point in one process.
#[derive(Debug, Default)]
struct PointSeries {
    /// The process: the lowest rank that has events.
    rank: u32,
    /// Time and change of the latest event.
    latest: Option<(f64, u64)>,
    iterations: VecDeque<TimedIteration>,
}

/// Measures iterations.
#[derive(Debug)]
pub(super) struct IterationMeter {
    /// The measure, once it is known.
    measure: Option<GuardMeasure>,
    series: BTreeMap<usize, PointSeries>,
}

impl IterationMeter {
    /// A meter for a measure; if none, the point with the longest regular interval is taken.
    pub(super) fn new(measure: Option<GuardMeasure>) -> IterationMeter {
        IterationMeter { measure, series: BTreeMap::new() }
    }

    /// Whether it is known what an iteration is.
    pub(super) fn is_ready(&self) -> bool {
        self.measure.is_some()
    }

    /// Chooses the measure, if that is possible by now.
    pub(super) fn choose(&mut self) -> bool {
        if self.measure.is_none() {
            let interval = |series: &PointSeries| median(series.iterations.iter().map(|one| one.seconds)).unwrap_or(0.0);
            let longest = |fewest: usize| {
                let usable = self.series.iter().filter(|(_, series)| series.iterations.len() >= fewest);
                usable.max_by(|one, other| interval(one.1).total_cmp(&interval(other.1))).map(|(point, _)| *point)
            };
            self.measure = longest(PLENTY).or_else(|| longest(FEWEST)).map(|point| GuardMeasure { point, duration: None });
        }
        self.is_ready()
    }

    /// Handles an event; returns the iteration that it ends, if the measure is known.
    pub(super) fn event(&mut self, event: &PointEvent) -> Option<TimedIteration> {
        if self.measure.is_some_and(|measure| measure.point != event.point) {
            return None;
        }
        let series = self.series.entry(event.point).or_insert_with(|| PointSeries { rank: event.rank, ..PointSeries::default() });
        if event.rank < series.rank {
            *series = PointSeries { rank: event.rank, ..PointSeries::default() };
        } else if event.rank > series.rank {
            return None;
        }
        let previous = series.latest.replace((event.time, event.change));
        let iteration = match self.measure.and_then(|measure| measure.duration) {
            Some(value) => {
                let seconds = event.values.get(value).copied()?;
                // The change at its begin is not known; a later one is found by its time.
                TimedIteration { rank: event.rank, begin: event.time - seconds, seconds, change: event.change }
            }
            None => {
                let (begin, change) = previous?;
                TimedIteration { rank: event.rank, begin, seconds: event.time - begin, change }
            }
        };
        if series.iterations.len() == MOST_ITERATIONS {
            series.iterations.pop_front();
        }
        series.iterations.push_back(iteration);
        self.measure.map(|_| iteration)
    }

    /// The latest iterations that began after a moment and ended before another, oldest first.
    pub(super) fn iterations_within(&self, from: f64, to: f64) -> Vec<f64> {
        let Some(series) = self.measure.and_then(|measure| self.series.get(&measure.point)) else { return Vec::new() };
        series.iterations.iter().filter(|one| one.begin >= from && one.begin + one.seconds <= to).map(|one| one.seconds).collect()
    }

    /// When the latest iteration ended.
    pub(super) fn latest_end(&self) -> Option<f64> {
        Some(self.series.get(&self.measure?.point)?.latest?.0)
    }

    /// The median of the latest iterations.
    pub(super) fn usual_seconds(&self) -> Option<f64> {
        let series = self.series.get(&self.measure?.point)?;
        median(series.iterations.iter().map(|one| one.seconds))
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::HookSide;

    use super::*;

    fn event(point: usize, rank: u32, time: f64, values: &[f64]) -> PointEvent {
        PointEvent { point, rank, side: HookSide::Exit, time, values: values.to_vec(), change: 0 }
    }

    #[test]
    fn the_point_with_the_longest_interval_is_the_iteration() {
        let mut meter = IterationMeter::new(None);
        for index in 0..100 {
            meter.event(&event(0, 0, f64::from(index), &[]));
            if index % 10 == 0 {
                meter.event(&event(1, 1, f64::from(index), &[]));
                meter.event(&event(1, 0, f64::from(index), &[]));
            }
            if index % 30 == 0 {
                meter.event(&event(2, 0, f64::from(index), &[]));
            }
        }
        assert!(meter.choose());
        assert_eq!(meter.event(&event(1, 0, 100.0, &[])).map(|one| one.seconds), Some(10.0));
        assert_eq!((meter.event(&event(0, 0, 101.0, &[])), meter.event(&event(1, 1, 101.0, &[]))), (None, None));
        assert_eq!(meter.iterations_within(50.0, 80.0), [10.0; 3]);
    }

    #[test]
    fn a_named_value_is_the_duration() {
        let mut meter = IterationMeter::new(Some(GuardMeasure { point: 3, duration: Some(1) }));
        let iteration = meter.event(&event(3, 0, 10.0, &[7.0, 2.0])).expect("an iteration");
        assert_eq!((iteration.begin, iteration.seconds), (8.0, 2.0));
    }
}
