//! Where the pieces begin and end: the best split of sorted points for every number of pieces, exactly.
//!
//! With F(k, j) the least residual of the first j points in k pieces, F(k, j) = min over i of F(k-1, i) + residual(i..j). The residuals of
//! all pieces that end at j come from one walk to the left, so n points and k pieces cost k·n² steps and no table of n² numbers.

use super::line::Moments;

/// A point to be split, with the region between demanded breaks that it lies in.
#[derive(Debug, Clone, Copy)]
pub struct Weighed {
    pub x: f64,
    pub y: f64,
    pub weight: f64,
    pub region: usize,
}

/// The best splits, by number of pieces.
pub struct Splits {
    points: usize,
    /// `least[k][j]`: the least residual of the first j points in k pieces.
    least: Vec<Vec<f64>>,
    /// `begin[k][j]`: where the last of those pieces begins.
    begin: Vec<Vec<usize>>,
}

/// Whether the points before and after a bound have the same x.
fn is_within_one_x(points: &[Weighed], bound: usize) -> bool {
    bound > 0 && bound < points.len() && points[bound - 1].x == points[bound].x
}

impl Splits {
    /// Splits points sorted by x into up to `most` pieces of at least `fewest` points each (fewer where a region has fewer).
    ///
    /// Points at the same x stay together, and a piece has two different x at least: one alone has no line.
    pub fn of(points: &[Weighed], most: usize, fewest: usize) -> Self {
        let n = points.len();
        let mut splits = Self { points: n, least: vec![vec![f64::INFINITY; n + 1]; most + 1], begin: vec![vec![0; n + 1]; most + 1] };
        splits.least[0][0] = 0.0;
        for end in (1..=n).filter(|end| !is_within_one_x(points, *end)) {
            splits.end_pieces_at(end, points, fewest);
        }
        splits
    }

    fn end_pieces_at(&mut self, end: usize, points: &[Weighed], fewest: usize) {
        let region = points[end - 1].region;
        let population = points.iter().filter(|p| p.region == region).count();
        let mut moments = Moments::default();
        for begin in (0..end).rev() {
            let point = points[begin];
            if point.region != region {
                break;
            }
            moments.add(point.x, point.y, point.weight);
            let is_line = point.x < points[end - 1].x && !is_within_one_x(points, begin);
            if !is_line || moments.count < fewest.min(population) {
                continue;
            }
            let residual = moments.residual();
            for k in 1..self.least.len() {
                let total = self.least[k - 1][begin] + residual;
                if total < self.least[k][end] {
                    self.least[k][end] = total;
                    self.begin[k][end] = begin;
                }
            }
        }
    }

    /// The least residual with this many pieces, if so many are possible.
    pub fn residual(&self, pieces: usize) -> Option<f64> {
        let residual = self.least.get(pieces)?[self.points];
        residual.is_finite().then_some(residual)
    }

    /// Where the pieces of the best split begin, and at last where the points end.
    pub fn bounds(&self, pieces: usize) -> Vec<usize> {
        let mut bounds = vec![self.points];
        let mut end = self.points;
        for k in (1..=pieces).rev() {
            end = self.begin[k][end];
            bounds.push(end);
        }
        bounds.reverse();
        bounds
    }
}
