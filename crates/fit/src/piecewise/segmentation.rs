//! Optimal segmentation of sorted points for every number of pieces.
//!
//! With F(k, j) the minimum residual of the first j points in k pieces, F(k, j) = min over i of F(k-1, i) + residual(i..j). One pass to the
//! left gives the residuals of all pieces ending at j, so n points and k pieces cost O(k·n²) time and no n² table.

use super::regression::RegressionSums;

/// A point with its weight, and the region between required breakpoints that it lies in.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedPoint {
    pub x: f64,
    pub y: f64,
    pub weight: f64,
    pub region: usize,
}

/// The optimal segmentation for each number of pieces.
pub(super) struct OptimalSegmentation {
    points: usize,
    /// `min_residual[k][j]`: the minimum residual of the first j points in k pieces.
    min_residual: Vec<Vec<f64>>,
    /// `last_begin[k][j]`: where the last of those pieces begins.
    last_begin: Vec<Vec<usize>>,
}

/// Whether the points before and after a bound have the same x.
fn splits_equal_x(points: &[WeightedPoint], bound: usize) -> bool {
    bound > 0 && bound < points.len() && points[bound - 1].x == points[bound].x
}

impl OptimalSegmentation {
    /// Segments points sorted by x into up to `most` pieces of at least `fewest` points each (fewer where a region has fewer).
    ///
    /// Points with equal x stay together, and a piece needs two distinct x values to define a line.
    pub(super) fn new(points: &[WeightedPoint], most: usize, fewest: usize) -> Self {
        let n = points.len();
        let mut splits =
            Self { points: n, min_residual: vec![vec![f64::INFINITY; n + 1]; most + 1], last_begin: vec![vec![0; n + 1]; most + 1] };
        splits.min_residual[0][0] = 0.0;
        for end in (1..=n).filter(|end| !splits_equal_x(points, *end)) {
            splits.extend_to(end, points, fewest);
        }
        splits
    }

    fn extend_to(&mut self, end: usize, points: &[WeightedPoint], fewest: usize) {
        let region = points[end - 1].region;
        let population = points.iter().filter(|p| p.region == region).count();
        let mut moments = RegressionSums::default();
        for begin in (0..end).rev() {
            let point = points[begin];
            if point.region != region {
                break;
            }
            moments.add(point.x, point.y, point.weight);
            let is_line = point.x < points[end - 1].x && !splits_equal_x(points, begin);
            if !is_line || moments.count < fewest.min(population) {
                continue;
            }
            let residual = moments.residual();
            for k in 1..self.min_residual.len() {
                let total = self.min_residual[k - 1][begin] + residual;
                if total < self.min_residual[k][end] {
                    self.min_residual[k][end] = total;
                    self.last_begin[k][end] = begin;
                }
            }
        }
    }

    /// The minimum residual with this many pieces, if that many are possible.
    pub(super) fn residual(&self, pieces: usize) -> Option<f64> {
        let residual = self.min_residual.get(pieces)?[self.points];
        residual.is_finite().then_some(residual)
    }

    /// The start index of each piece in the optimal segmentation, followed by the number of points.
    pub(super) fn bounds(&self, pieces: usize) -> Vec<usize> {
        let mut bounds = vec![self.points];
        let mut end = self.points;
        for k in (1..=pieces).rev() {
            end = self.last_begin[k][end];
            bounds.push(end);
        }
        bounds.reverse();
        bounds
    }
}
