//! Events on their way to the analyzer: delivered one by one, or aggregated over an interval.

use std::collections::BTreeMap;

use crate::protocol::AgentReport;
use crate::statistics::RunningStats;
use crate::tuning_points::EventJoin;
use crate::tunlet::{EventSummary, PointEvent};

/// Late events still count for their interval this long after its end.
const GRACE_S: f64 = 2e-3;

/// Shortest interval: shorter ones would hold single events.
const MIN_INTERVAL_S: f64 = 1e-3;
/// Longest interval.
const MAX_INTERVAL_S: f64 = 3600.0;

/// The length of an interval within these limits.
fn clamp_interval(length: f64) -> f64 {
    if length.is_nan() { MIN_INTERVAL_S } else { length.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S) }
}

/// Whether an interval of this length ends between two times.
pub(super) fn ends_between(length: f64, from: f64, to: f64) -> bool {
    let length = clamp_interval(length);
    (from.max(0.0) / length).floor() != (to.max(0.0) / length).floor()
}

/// Tunlet, point, the bits of the start of an interval, which sort by time because none is negative, and the latest change: an interval with
/// a change has two aggregates.
type IntervalKey = (usize, usize, u64, u64);

/// Aggregates events over intervals that are not finished yet.
#[derive(Debug, Default)]
pub struct EventAggregator {
    intervals: BTreeMap<IntervalKey, (f64, EventSummary)>,
}

impl EventAggregator {
    /// Delivers an event at once, or aggregates it.
    pub fn add(&mut self, tunlet: usize, join: EventJoin, event: PointEvent, reports: &mut Vec<AgentReport>) {
        match join {
            EventJoin::Each => reports.push(AgentReport::Event { tunlet, event }),
            EventJoin::Over(length) => {
                let length = clamp_interval(length);
                let from = (event.time.max(0.0) / length).floor() * length;
                let values = event.values.len();
                let summary = self.interval_mut((tunlet, event.point, from.to_bits(), event.change), length, values);
                summary.count += 1;
                summary.values.iter_mut().zip(&event.values).for_each(|(sums, value)| sums.add(*value, 1));
            }
        }
    }

    /// Adds calls that were counted together, at a time in the interval.
    pub fn add_sums(&mut self, tunlet: usize, length: f64, time: f64, mut sums: EventSummary) {
        let length = clamp_interval(length);
        sums.from = (time.max(0.0) / length).floor() * length;
        self.merge(tunlet, length, &sums);
    }

    /// Merges the aggregate of another host.
    pub fn merge(&mut self, tunlet: usize, length: f64, other: &EventSummary) {
        if !other.from.is_finite() {
            return;
        }
        let key = (tunlet, other.point, other.from.to_bits(), other.change);
        let summary = self.interval_mut(key, clamp_interval(length), other.values.len());
        summary.count += other.count;
        summary.values.iter_mut().zip(&other.values).for_each(|(sums, more)| sums.merge(more));
    }

    fn interval_mut(&mut self, key: IntervalKey, length: f64, values: usize) -> &mut EventSummary {
        let (_, point, from, change) = key;
        let from = f64::from_bits(from);
        let new = || (from + length, EventSummary { point, from, count: 0, values: vec![RunningStats::default(); values], change });
        &mut self.intervals.entry(key).or_insert_with(new).1
    }

    /// Whether no interval is open.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The finished intervals.
    pub fn take_finished(&mut self, now: f64) -> Vec<(usize, EventSummary)> {
        self.take_finished_after(now, GRACE_S)
    }

    /// The intervals that finished at least `grace` ago.
    pub fn take_finished_after(&mut self, now: f64, grace: f64) -> Vec<(usize, EventSummary)> {
        if self.intervals.is_empty() {
            return Vec::new();
        }
        let over: Vec<IntervalKey> = self.intervals.iter().filter(|(_, (end, _))| end + grace <= now).map(|(key, _)| *key).collect();
        over.into_iter().filter_map(|key| self.intervals.remove(&key).map(|(_, summary)| (key.0, summary))).collect()
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::HookSide;

    use super::*;

    fn event(rank: u32, time: f64, value: f64) -> PointEvent {
        PointEvent { point: 3, rank, side: HookSide::Exit, time, values: vec![value], change: 0 }
    }

    #[test]
    fn single_events_are_delivered_at_once() {
        let (mut aggregator, mut reports) = (EventAggregator::default(), Vec::new());
        aggregator.add(1, EventJoin::Each, event(0, 0.5, 7.0), &mut reports);
        assert_eq!(reports, [AgentReport::Event { tunlet: 1, event: event(0, 0.5, 7.0) }]);
        assert!(aggregator.take_finished(100.0).is_empty());
    }

    #[test]
    fn an_interval_is_reported_when_finished() {
        let (mut aggregator, mut reports) = (EventAggregator::default(), Vec::new());
        for (rank, time, value) in [(0, 0.1, 1.0), (1, 0.15, 3.0), (0, 0.25, 10.0)] {
            aggregator.add(0, EventJoin::Over(0.2), event(rank, time, value), &mut reports);
        }
        assert!(reports.is_empty() && aggregator.take_finished(0.2).is_empty(), "something may still come");
        let over = aggregator.take_finished(0.21);
        assert_eq!(over.len(), 1);
        let (tunlet, summary) = &over[0];
        assert_eq!((*tunlet, summary.point, summary.from, summary.count), (0, 3, 0.0, 2));
        assert_eq!((summary.values[0].mean(), summary.values[0].deviation(), summary.values[0].maximum()), (2.0, 1.0, 3.0));
        assert_eq!(aggregator.take_finished(0.5).len(), 1);
    }

    #[test]
    fn events_before_and_after_a_change_are_not_mixed() {
        let (mut aggregator, mut reports) = (EventAggregator::default(), Vec::new());
        for (change, value) in [(1, 1.0), (1, 3.0), (2, 10.0)] {
            aggregator.add(0, EventJoin::Over(0.2), PointEvent { change, ..event(0, 0.1, value) }, &mut reports);
        }
        let over: Vec<_> =
            aggregator.take_finished(1.0).into_iter().map(|(_, one)| (one.change, one.count, one.values[0].mean())).collect();
        assert_eq!(over, [(1, 2, 2.0), (2, 1, 10.0)]);
    }

    #[test]
    fn an_invalid_interval_length_is_clamped() {
        for length in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 1e-300] {
            let (mut aggregator, mut reports) = (EventAggregator::default(), Vec::new());
            (0..100)
                .for_each(|index| aggregator.add(0, EventJoin::Over(length), event(0, f64::from(index) * 1e-6 - 5e-5, 1.0), &mut reports));
            let over = aggregator.take_finished(1.0);
            assert_eq!((over.len(), over[0].1.count, over[0].1.from), (1, 100, 0.0), "{length}");
        }
        let (mut aggregator, mut reports) = (EventAggregator::default(), Vec::new());
        aggregator.add(0, EventJoin::Over(f64::INFINITY), event(0, 0.5, 1.0), &mut reports);
        assert_eq!(aggregator.take_finished(MAX_INTERVAL_S + 1.0).len(), 1);
    }

    #[test]
    fn aggregates_of_two_hosts_are_merged() {
        let mut all = EventAggregator::default();
        for value in [1.0, 3.0] {
            let (mut host, mut reports) = (EventAggregator::default(), Vec::new());
            host.add(0, EventJoin::Over(1.0), event(0, 0.5, value), &mut reports);
            host.take_finished(2.0).iter().for_each(|(tunlet, summary)| all.merge(*tunlet, 1.0, summary));
        }
        let over = all.take_finished(2.0);
        assert_eq!((over[0].1.count, over[0].1.values[0].sum()), (2, 4.0));
    }
}
