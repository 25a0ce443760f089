//! A stretch of time in columns, and how much of each column was spent on what.

/// The earliest and the latest moment that can be asked for: far beyond any run, near enough to be subtracted.
pub const MOMENTS: std::ops::RangeInclusive<i64> = -(1 << 61)..=1 << 61;

/// A stretch of time, divided into columns of the same width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where each column begins, and where the last one ends: one more than there are columns.
    bounds: Vec<i64>,
}

impl Window {
    /// The window between two moments, which must be [`MOMENTS`] in order; there is at least one column, and none is narrower than 1 ns.
    pub fn new(from: i64, to: i64, columns: usize) -> Window {
        let from = from.clamp(*MOMENTS.start(), *MOMENTS.end() - 1);
        let to = to.clamp(from + 1, *MOMENTS.end());
        let columns = (columns.max(1) as u64).min((to - from) as u64) as i64;
        let bound = |column: i64| from + (i128::from(to - from) * i128::from(column) / i128::from(columns)) as i64;
        Window { bounds: (0..=columns).map(bound).collect() }
    }

    /// Its first moment.
    pub fn from(&self) -> i64 {
        self.bounds[0]
    }

    /// The moment at which it ends.
    pub fn to(&self) -> i64 {
        self.bounds[self.columns()]
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Nanoseconds of a column, rounded down: at least 1.
    pub fn column_ns(&self) -> i64 {
        (self.to() - self.from()) / self.columns() as i64
    }

    /// Nanoseconds of one column.
    pub fn width(&self, column: usize) -> i64 {
        self.bounds[column + 1] - self.bounds[column]
    }

    fn column(&self, moment: i64) -> usize {
        self.bounds.partition_point(|bound| *bound <= moment).clamp(1, self.columns()) - 1
    }
}

/// Nanoseconds of each kind in each column of a window.
pub struct Canvas<'a, const KINDS: usize> {
    window: &'a Window,
    /// By column and kind.
    pub cells: Vec<[f32; KINDS]>,
    /// Where something can be painted.
    clip: (i64, i64),
    /// The column that was painted last, and where it begins and ends: what comes next is mostly there, or not far behind it.
    column: usize,
    begin: i64,
    end: i64,
}

impl<'a, const KINDS: usize> Canvas<'a, KINDS> {
    /// An empty one.
    pub fn new(window: &'a Window) -> Canvas<'a, KINDS> {
        let cells = vec![[0.0; KINDS]; window.columns()];
        Canvas { window, cells, clip: (window.from(), window.to()), column: 0, begin: window.bounds[0], end: window.bounds[1] }
    }

    /// The window.
    pub fn window(&self) -> &'a Window {
        self.window
    }

    /// Lets nothing be painted outside of two moments.
    pub fn clip(&mut self, from: i64, to: i64) {
        self.clip = (from.max(self.window.from()), to.min(self.window.to()));
    }

    /// Where something can be painted.
    pub fn clipped(&self) -> (i64, i64) {
        self.clip
    }

    /// Takes everything away.
    pub fn clear(&mut self) {
        self.cells.fill([0.0; KINDS]);
    }

    /// Adds an activity from one moment to another.
    #[inline]
    pub fn paint(&mut self, from: i64, to: i64, kind: usize) {
        self.each(from, to, |cell, ns| cell[kind] += ns);
    }

    /// Adds activities that are spread evenly between two moments: for each kind its share of that time.
    #[inline]
    pub fn paint_shares(&mut self, from: i64, to: i64, shares: impl Iterator<Item = (usize, f32)> + Clone) {
        self.each(from, to, |cell, ns| shares.clone().for_each(|(kind, share)| cell[kind] += share * ns));
    }

    /// Goes through the columns between two moments, with the nanoseconds in each.
    #[inline]
    fn each(&mut self, from: i64, to: i64, mut add: impl FnMut(&mut [f32; KINDS], f32)) {
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
            self.go(self.column + 1);
        }
        add(&mut self.cells[self.column], (to - from) as f32);
    }

    /// Goes to the column of a moment in the window.
    fn seek(&mut self, moment: i64) {
        let bounds = &self.window.bounds;
        let near = (self.column..self.window.columns().min(self.column + 8)).find(|column| moment < bounds[column + 1]);
        self.go(near.filter(|_| moment >= self.begin).unwrap_or_else(|| self.window.column(moment)));
    }

    fn go(&mut self, column: usize) {
        (self.column, self.begin, self.end) = (column, self.window.bounds[column], self.window.bounds[column + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_over_several_columns_is_in_each_of_them() {
        let window = Window::new(0, 100, 10);
        let mut canvas = Canvas::<5>::new(&window);
        canvas.paint(5, 27, 3);
        canvas.paint(95, 200, 4);
        canvas.paint(-50, 1, 4);
        let column = |kind: usize| canvas.cells.iter().map(|cell| cell[kind]).collect::<Vec<f32>>();
        assert_eq!(column(3), [5.0, 10.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(column(4), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    }

    #[test]
    fn columns_cover_a_window_that_they_do_not_divide() {
        let window = Window::new(-3, 7, 4);
        assert_eq!((0..4).map(|column| window.width(column)).collect::<Vec<i64>>(), [2, 3, 2, 3]);
        assert_eq!(Window::new(5, 5, 100).columns(), 1);
        assert_eq!(Window::new(0, 7, 100).columns(), 7);
    }

    #[test]
    fn any_moments_make_a_window() {
        for (from, to) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, i64::MIN), (i64::MAX, i64::MAX)] {
            let window = Window::new(from, to, 3);
            let mut canvas = Canvas::<5>::new(&window);
            canvas.paint(i64::MIN, i64::MAX, 0);
            assert!(canvas.cells.iter().all(|cell| cell[0] > 0.0));
        }
    }

    #[test]
    fn shares_of_a_span_are_spread_over_it() {
        let window = Window::new(0, 4, 4);
        let mut canvas = Canvas::<5>::new(&window);
        canvas.paint_shares(1, 3, [(2, 0.25), (3, 0.5)].into_iter());
        assert_eq!(
            canvas.cells.iter().map(|cell| (cell[2], cell[3])).collect::<Vec<_>>(),
            [(0.0, 0.0), (0.25, 0.5), (0.25, 0.5), (0.0, 0.0)]
        );
    }
}
