//! A time window divided into columns, and the time spent per kind of activity in each column.

/// Valid times: far beyond any run, and safe to subtract.
pub(super) const TIME_RANGE: std::ops::RangeInclusive<i64> = -(1 << 61)..=1 << 61;

/// A time window, divided into columns of equal width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeWindow {
    /// Start of each column, and the end of the last one.
    bounds: Vec<i64>,
}

impl TimeWindow {
    /// The window between two times, clamped to [`TIME_RANGE`]. It has at least one column, and none is narrower than 1 ns.
    pub(crate) fn new(from: i64, to: i64, columns: usize) -> TimeWindow {
        let from = from.clamp(*TIME_RANGE.start(), *TIME_RANGE.end() - 1);
        let to = to.clamp(from + 1, *TIME_RANGE.end());
        let columns = (columns.max(1) as u64).min((to - from) as u64) as i64;
        let bound = |column: i64| from + (i128::from(to - from) * i128::from(column) / i128::from(columns)) as i64;
        TimeWindow { bounds: (0..=columns).map(bound).collect() }
    }

    /// Start time.
    pub(crate) fn from(&self) -> i64 {
        self.bounds[0]
    }

    /// End time.
    pub(crate) fn to(&self) -> i64 {
        self.bounds[self.columns()]
    }

    /// Number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Width of a column in nanoseconds, rounded down but at least 1.
    pub(crate) fn column_ns(&self) -> i64 {
        (self.to() - self.from()) / self.columns() as i64
    }

    /// Width of one column in nanoseconds.
    pub(crate) fn width(&self, column: usize) -> i64 {
        self.bounds[column + 1] - self.bounds[column]
    }

    /// Begin and end of a column.
    pub(crate) fn column(&self, column: usize) -> (i64, i64) {
        (self.bounds[column], self.bounds[column + 1])
    }

    fn column_at(&self, time: i64) -> usize {
        self.bounds.partition_point(|bound| *bound <= time).clamp(1, self.columns()) - 1
    }
}

/// Nanoseconds per kind in each column of a window.
pub(crate) struct ActivityCanvas<'a, const KINDS: usize> {
    window: &'a TimeWindow,
    /// By column and kind.
    pub cells: Vec<[f32; KINDS]>,
    /// Range that may be painted.
    clip: (i64, i64),
    /// The column painted last, with its start and end. The next activity is usually in it or shortly after.
    column: usize,
    begin: i64,
    end: i64,
}

impl<'a, const KINDS: usize> ActivityCanvas<'a, KINDS> {
    /// An empty canvas.
    pub(crate) fn new(window: &'a TimeWindow) -> ActivityCanvas<'a, KINDS> {
        let cells = vec![[0.0; KINDS]; window.columns()];
        ActivityCanvas { window, cells, clip: (window.from(), window.to()), column: 0, begin: window.bounds[0], end: window.bounds[1] }
    }

    pub(crate) fn window(&self) -> &'a TimeWindow {
        self.window
    }

    /// Restricts painting to a time range.
    pub(crate) fn clip(&mut self, from: i64, to: i64) {
        self.clip = (from.max(self.window.from()), to.min(self.window.to()));
    }

    /// The range that may be painted.
    pub(crate) fn clip_range(&self) -> (i64, i64) {
        self.clip
    }

    pub(crate) fn clear(&mut self) {
        self.cells.fill([0.0; KINDS]);
    }

    /// Adds an activity.
    #[inline]
    pub(crate) fn paint(&mut self, from: i64, to: i64, kind: usize) {
        self.for_each_column(from, to, |cell, ns| cell[kind] += ns);
    }

    /// Adds activities that are spread evenly over a time range, as a share per kind.
    #[inline]
    pub(crate) fn paint_shares(&mut self, from: i64, to: i64, shares: impl Iterator<Item = (usize, f32)> + Clone) {
        self.for_each_column(from, to, |cell, ns| shares.clone().for_each(|(kind, share)| cell[kind] += share * ns));
    }

    /// Visits the columns of a time range, with the nanoseconds in each.
    #[inline]
    fn for_each_column(&mut self, from: i64, to: i64, mut add: impl FnMut(&mut [f32; KINDS], f32)) {
        let (mut from, to) = (from.max(self.clip.0), to.min(self.clip.1));
        if from >= to {
            return;
        }
        if from < self.begin || from >= self.end {
            self.seek(from);
        }
        while to > self.end {
            add(&mut self.cells[self.column], (self.end - from) as f32);
            from = self.end;
            self.set_column(self.column + 1);
        }
        add(&mut self.cells[self.column], (to - from) as f32);
    }

    /// Moves to the column at a time inside the window.
    fn seek(&mut self, time: i64) {
        let bounds = &self.window.bounds;
        let near = (self.column..self.window.columns().min(self.column + 8)).find(|column| time < bounds[column + 1]);
        self.set_column(near.filter(|_| time >= self.begin).unwrap_or_else(|| self.window.column_at(time)));
    }

    fn set_column(&mut self, column: usize) {
        (self.column, self.begin, self.end) = (column, self.window.bounds[column], self.window.bounds[column + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activity_spanning_columns_is_in_each_of_them() {
        let window = TimeWindow::new(0, 100, 10);
        let mut canvas = ActivityCanvas::<5>::new(&window);
        canvas.paint(5, 27, 3);
        canvas.paint(95, 200, 4);
        canvas.paint(-50, 1, 4);
        let column = |kind: usize| canvas.cells.iter().map(|cell| cell[kind]).collect::<Vec<f32>>();
        assert_eq!(column(3), [5.0, 10.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(column(4), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    }

    #[test]
    fn columns_cover_a_window_that_they_do_not_divide() {
        let window = TimeWindow::new(-3, 7, 4);
        assert_eq!((0..4).map(|column| window.width(column)).collect::<Vec<i64>>(), [2, 3, 2, 3]);
        assert_eq!(TimeWindow::new(5, 5, 100).columns(), 1);
        assert_eq!(TimeWindow::new(0, 7, 100).columns(), 7);
    }

    #[test]
    fn any_times_make_a_window() {
        for (from, to) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, i64::MIN), (i64::MAX, i64::MAX)] {
            let window = TimeWindow::new(from, to, 3);
            let mut canvas = ActivityCanvas::<5>::new(&window);
            canvas.paint(i64::MIN, i64::MAX, 0);
            assert!(canvas.cells.iter().all(|cell| cell[0] > 0.0));
        }
    }

    #[test]
    fn shares_of_a_span_are_spread_over_it() {
        let window = TimeWindow::new(0, 4, 4);
        let mut canvas = ActivityCanvas::<5>::new(&window);
        canvas.paint_shares(1, 3, [(2, 0.25), (3, 0.5)].into_iter());
        assert_eq!(
            canvas.cells.iter().map(|cell| (cell[2], cell[3])).collect::<Vec<_>>(),
            [(0.0, 0.0), (0.25, 0.5), (0.25, 0.5), (0.0, 0.0)]
        );
    }
}
