//! Values of the latest periods, in total and per rank.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::expression::AggregateFunction;
use crate::statistics::RunningStats;

/// Statistics of the values of a period.
#[derive(Debug, Clone, Copy, Default)]
struct PeriodStats {
    sums: RunningStats,
    smallest: f64,
    latest: f64,
}

impl PeriodStats {
    fn add(&mut self, value: f64, weight: u64) {
        if weight == 0 || !value.is_finite() {
            return;
        }
        self.smallest = if self.sums.count() == 0 { value } else { self.smallest.min(value) };
        self.sums.add(value, weight);
        self.latest = value;
    }

    fn merge(&mut self, later: &PeriodStats) {
        if later.sums.count() == 0 {
            return;
        }
        self.smallest = if self.sums.count() == 0 { later.smallest } else { self.smallest.min(later.smallest) };
        self.sums.merge(&later.sums);
        self.latest = later.latest;
    }

    /// None without values, except for count and sum.
    fn aggregate(&self, how: AggregateFunction) -> Option<f64> {
        let some = self.sums.count() > 0;
        match how {
            AggregateFunction::Count => Some(self.sums.count() as f64),
            AggregateFunction::Sum => Some(self.sums.sum()),
            AggregateFunction::Mean => some.then(|| self.sums.mean()),
            AggregateFunction::Deviation => some.then(|| self.sums.deviation()),
            AggregateFunction::Max => some.then(|| self.sums.maximum()),
            AggregateFunction::Min => some.then_some(self.smallest),
            AggregateFunction::Latest => some.then_some(self.latest),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct PeriodValues {
    all: PeriodStats,
    ranks: HashMap<u32, PeriodStats>,
}

/// History of a measured series.
#[derive(Debug, Clone)]
pub(super) struct SeriesHistory {
    periods: VecDeque<PeriodValues>,
    max_periods: usize,
    per_rank: bool,
}

impl SeriesHistory {
    /// Keeps `max_periods`; per rank, if a formula needs that.
    pub(super) fn new(most: usize, per_rank: bool) -> SeriesHistory {
        SeriesHistory { periods: VecDeque::from([PeriodValues::default()]), max_periods: most.max(1), per_rank }
    }

    /// Adds a value with a weight to the current period.
    pub(super) fn add(&mut self, rank: u32, value: f64, weight: u64) {
        let Some(period) = self.periods.back_mut() else { return };
        period.all.add(value, weight);
        if self.per_rank {
            period.ranks.entry(rank).or_default().add(value, weight);
        }
    }

    /// Adds values that were aggregated on the hosts.
    pub(super) fn merge(&mut self, sums: &RunningStats) {
        if let Some(period) = self.periods.back_mut() {
            period.all.merge(&PeriodStats { sums: *sums, smallest: f64::NAN, latest: sums.mean() });
        }
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.periods = VecDeque::from([PeriodValues::default()]);
    }

    /// Begins a period; drops the oldest if there are too many.
    pub(super) fn begin_period(&mut self) {
        if self.periods.back().is_some_and(|last| last.all.sums.count() == 0) {
            return;
        }
        if self.periods.len() == self.max_periods {
            self.periods.pop_front();
        }
        self.periods.push_back(PeriodValues::default());
    }

    /// Aggregates the latest periods; per rank first, if requested.
    pub(super) fn aggregate(&self, periods: usize, how: AggregateFunction, of_each: Option<AggregateFunction>) -> Option<f64> {
        let latest = || self.periods.iter().skip(self.periods.len().saturating_sub(periods));
        let mut all = PeriodStats::default();
        let Some(of_each) = of_each else {
            latest().for_each(|period| all.merge(&period.all));
            return all.aggregate(how);
        };
        let mut ranks: BTreeMap<u32, PeriodStats> = BTreeMap::new();
        latest().flat_map(|period| &period.ranks).for_each(|(rank, stats)| ranks.entry(*rank).or_default().merge(stats));
        ranks.values().filter_map(|stats| stats.aggregate(of_each)).for_each(|value| all.add(value, 1));
        all.aggregate(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_includes_the_current_period() {
        let mut history = SeriesHistory::new(3, false);
        for value in [1.0, 2.0, 3.0, 4.0] {
            history.begin_period();
            history.add(0, value, 1);
        }
        assert_eq!(history.aggregate(3, AggregateFunction::Mean, None), Some(3.0));
        assert_eq!(history.aggregate(1, AggregateFunction::Mean, None), Some(4.0));
        assert_eq!(
            (history.aggregate(2, AggregateFunction::Min, None), history.aggregate(2, AggregateFunction::Latest, None)),
            (Some(3.0), Some(4.0))
        );
        assert_eq!(history.aggregate(3, AggregateFunction::Count, None), Some(3.0));
    }

    #[test]
    fn ranks_are_aggregated_separately_on_request() {
        let mut history = SeriesHistory::new(2, true);
        for (rank, value) in [(1, 1.0), (1, 3.0), (2, 5.0)] {
            history.add(rank, value, 1);
        }
        history.begin_period();
        history.add(1, 8.0, 1);
        assert_eq!(history.aggregate(2, AggregateFunction::Max, Some(AggregateFunction::Sum)), Some(12.0));
        assert_eq!(history.aggregate(2, AggregateFunction::Min, Some(AggregateFunction::Sum)), Some(5.0));
        assert_eq!(history.aggregate(2, AggregateFunction::Mean, Some(AggregateFunction::Latest)), Some(6.5));
        assert_eq!(history.aggregate(1, AggregateFunction::Count, Some(AggregateFunction::Latest)), Some(1.0));
    }

    #[test]
    fn an_empty_history_has_a_count_but_no_mean() {
        let history = SeriesHistory::new(2, true);
        assert_eq!(
            (history.aggregate(2, AggregateFunction::Mean, None), history.aggregate(2, AggregateFunction::Count, None)),
            (None, Some(0.0))
        );
        assert_eq!(history.aggregate(2, AggregateFunction::Max, Some(AggregateFunction::Mean)), None);
    }
}
