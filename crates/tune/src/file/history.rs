//! Values of the latest periods, of all processes and of each.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::expression::How;
use crate::statistics::Sums;

/// What is kept of many values.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    sums: Sums,
    smallest: f64,
    latest: f64,
}

impl Kept {
    fn add(&mut self, value: f64, weight: u64) {
        if weight == 0 || !value.is_finite() {
            return;
        }
        self.smallest = if self.sums.count() == 0 { value } else { self.smallest.min(value) };
        self.sums.add(value, weight);
        self.latest = value;
    }

    fn join(&mut self, later: &Kept) {
        if later.sums.count() == 0 {
            return;
        }
        self.smallest = if self.sums.count() == 0 { later.smallest } else { self.smallest.min(later.smallest) };
        self.sums.join(&later.sums);
        self.latest = later.latest;
    }

    /// Nothing if there are no values, except how many there are and what they add up to.
    fn taken(&self, how: How) -> Option<f64> {
        let some = self.sums.count() > 0;
        match how {
            How::Count => Some(self.sums.count() as f64),
            How::Sum => Some(self.sums.sum()),
            How::Mean => some.then(|| self.sums.mean()),
            How::Deviation => some.then(|| self.sums.deviation()),
            How::Max => some.then(|| self.sums.largest()),
            How::Min => some.then_some(self.smallest),
            How::Latest => some.then_some(self.latest),
        }
    }
}

/// The values of one period.
#[derive(Debug, Clone, Default)]
struct Period {
    all: Kept,
    ranks: HashMap<u32, Kept>,
}

/// What is kept of a measured value.
#[derive(Debug, Clone)]
pub struct History {
    periods: VecDeque<Period>,
    most: usize,
    tells_ranks_apart: bool,
}

impl History {
    /// Of so many periods; of each process, if formulas ask for that.
    pub fn new(most: usize, tells_ranks_apart: bool) -> History {
        History { periods: VecDeque::from([Period::default()]), most: most.max(1), tells_ranks_apart }
    }

    /// Adds a value that stands for `weight` equal ones to the period that runs.
    pub fn add(&mut self, rank: u32, value: f64, weight: u64) {
        let Some(period) = self.periods.back_mut() else { return };
        period.all.add(value, weight);
        if self.tells_ranks_apart {
            period.ranks.entry(rank).or_default().add(value, weight);
        }
    }

    /// Adds values that were joined on the way.
    pub fn join(&mut self, sums: &Sums) {
        if let Some(period) = self.periods.back_mut() {
            period.all.join(&Kept { sums: *sums, smallest: f64::NAN, latest: sums.mean() });
        }
    }

    /// Begins a period; the oldest is forgotten if there are too many.
    pub fn begin(&mut self) {
        if self.periods.back().is_some_and(|last| last.all.sums.count() == 0) {
            return;
        }
        if self.periods.len() == self.most {
            self.periods.pop_front();
        }
        self.periods.push_back(Period::default());
    }

    /// What the values of the latest periods come to; of each process first, if asked.
    pub fn taken(&self, periods: usize, how: How, of_each: Option<How>) -> Option<f64> {
        let latest = || self.periods.iter().skip(self.periods.len().saturating_sub(periods));
        let mut all = Kept::default();
        let Some(of_each) = of_each else {
            latest().for_each(|period| all.join(&period.all));
            return all.taken(how);
        };
        let mut ranks: BTreeMap<u32, Kept> = BTreeMap::new();
        latest().flat_map(|period| &period.ranks).for_each(|(rank, kept)| ranks.entry(*rank).or_default().join(kept));
        ranks.values().filter_map(|kept| kept.taken(of_each)).for_each(|value| all.add(value, 1));
        all.taken(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_latest_periods_and_the_one_that_runs() {
        let mut history = History::new(3, false);
        for value in [1.0, 2.0, 3.0, 4.0] {
            history.begin();
            history.add(0, value, 1);
        }
        assert_eq!(history.taken(3, How::Mean, None), Some(3.0));
        assert_eq!(history.taken(1, How::Mean, None), Some(4.0));
        assert_eq!((history.taken(2, How::Min, None), history.taken(2, How::Latest, None)), (Some(3.0), Some(4.0)));
        assert_eq!(history.taken(3, How::Count, None), Some(3.0));
    }

    #[test]
    fn processes_are_told_apart_where_it_is_asked() {
        let mut history = History::new(2, true);
        for (rank, value) in [(1, 1.0), (1, 3.0), (2, 5.0)] {
            history.add(rank, value, 1);
        }
        history.begin();
        history.add(1, 8.0, 1);
        assert_eq!(history.taken(2, How::Max, Some(How::Sum)), Some(12.0));
        assert_eq!(history.taken(2, How::Min, Some(How::Sum)), Some(5.0));
        assert_eq!(history.taken(2, How::Mean, Some(How::Latest)), Some(6.5));
        assert_eq!(history.taken(1, How::Count, Some(How::Latest)), Some(1.0));
    }

    #[test]
    fn nothing_has_no_mean_but_a_count() {
        let history = History::new(2, true);
        assert_eq!((history.taken(2, How::Mean, None), history.taken(2, How::Count, None)), (None, Some(0.0)));
        assert_eq!(history.taken(2, How::Max, Some(How::Mean)), None);
    }
}
