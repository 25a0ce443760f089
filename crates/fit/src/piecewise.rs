//! Piecewise linear fits, for example of network time over message size.
//!
//! Protocols change with message size, so one line does not fit, and where the protocol changes is itself of interest. The segmentation is
//! exact (dynamic programming). BIC selects the number of pieces; each costs a slope, an intercept and a breakpoint. A piece that changes
//! the fit by less than a practical threshold is dropped, because a smooth curve with little noise would otherwise be split without end.

mod regression;
mod segmentation;

use crate::measurements::VALID_RANGE;
use crate::sample::{ConfidenceInterval, DEFAULT_CONFIDENCE, round_for_display};
use crate::stats::{normal_quantile, student_quantile};
use regression::{RegressionLine, RegressionSums};
use segmentation::{OptimalSegmentation, WeightedPoint};
use serde::{Deserialize, Serialize};
use sintonia_formula::Formula;

/// How errors are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorWeighting {
    /// Absolute errors: the largest times dominate.
    Ordinary,
    /// Relative errors: 1 % counts the same at one byte and at one megabyte.
    Relative,
}

/// Options of a piecewise fit.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseOptions {
    /// How errors are weighted.
    pub weights: ErrorWeighting,
    /// The minimum number of points per piece.
    pub min_points: usize,
    /// The maximum number of pieces.
    pub max_pieces: usize,
    /// Sizes at which a piece must end (inclusive), such as the eager threshold found by behaviour.
    pub required_breakpoints: Vec<f64>,
    /// A further piece must change the fit by at least this share.
    pub min_relative_change: f64,
    /// The confidence level of the intervals.
    pub confidence: f64,
}

impl Default for PiecewiseOptions {
    fn default() -> Self {
        Self {
            weights: ErrorWeighting::Relative,
            min_points: 4,
            max_pieces: 16,
            required_breakpoints: Vec::new(),
            min_relative_change: 0.01,
            confidence: DEFAULT_CONFIDENCE,
        }
    }
}

/// Why a piecewise fit is impossible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PiecewiseError {
    /// There are too few distinct sizes.
    #[error("{have} distinct sizes are too few for a piecewise fit: at least {need} are needed; measure more sizes")]
    TooFewPoints {
        /// The number of distinct sizes.
        have: usize,
        /// The number needed.
        need: usize,
    },
    /// Too few sizes lie between two required breakpoints.
    #[error(
        "only {have} sizes lie {}: at least 2 are needed; measure more there, or remove the breakpoint",
        describe_region(*above, *up_to)
    )]
    TooFewInRegion {
        /// The number of sizes there.
        have: usize,
        /// The breakpoint below, if any.
        above: Option<f64>,
        /// The breakpoint above, if any.
        up_to: Option<f64>,
    },
    /// A time is zero, negative, NaN or out of range.
    #[error("at size {x} the time is {y}: times must be positive numbers, from 1e-60 to 1e60")]
    NotPositive {
        /// The size.
        x: f64,
        /// The time.
        y: f64,
    },
    /// A size or a breakpoint is NaN, infinite or out of range.
    #[error("{0} is not a valid size: it must be between -1e60 and 1e60")]
    InvalidSize(f64),
}

fn describe_region(above: Option<f64>, up_to: Option<f64>) -> String {
    match (above, up_to) {
        (Some(low), Some(high)) => format!("above {low} and up to {high}"),
        (Some(low), None) => format!("above {low}"),
        (None, Some(high)) => format!("up to {high}"),
        (None, None) => "anywhere".to_owned(),
    }
}

/// A number with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IntervalEstimate {
    /// The estimate.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// One line and the range where it applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearPiece {
    /// Exclusive lower end of the range (inclusive for the first piece).
    pub from: f64,
    /// Inclusive upper end of the range.
    pub to: f64,
    /// The value at size 0.
    pub intercept: IntervalEstimate,
    /// The increase per unit of size.
    pub slope: IntervalEstimate,
    /// The number of points it was fitted to.
    pub points: usize,
    /// The covariance of intercept and slope (their variances are in `spread`).
    pub covariance: f64,
    /// The variances of intercept and slope.
    pub spread: [f64; 2],
    /// The degrees of freedom of its intervals.
    pub freedom: f64,
}

/// Where one piece ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Breakpoint {
    /// The last size of the piece before.
    pub at: f64,
    /// Its confidence interval.
    pub interval: ConfidenceInterval,
    /// Whether the caller required it.
    pub demanded: bool,
}

/// A piecewise linear function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PiecewiseLinear {
    /// The pieces, by increasing size.
    pub pieces: Vec<LinearPiece>,
    /// The breakpoints between them.
    pub breaks: Vec<Breakpoint>,
    /// How errors were weighted.
    pub weights: ErrorWeighting,
    /// The residual standard deviation: relative with [`ErrorWeighting::Relative`], otherwise in the unit of the values.
    pub scatter: f64,
    /// The mean relative error at the measured sizes, in percent.
    pub error_percent: f64,
    /// The confidence level of the intervals.
    pub confidence: f64,
}

impl PiecewiseLinear {
    /// Fits pairs of size and value (usually a median); several values of one size count as several points.
    pub fn fit(points: &[(f64, f64)], options: &PiecewiseOptions) -> Result<Self, PiecewiseError> {
        let points = weighted_points(points, options)?;
        let most = options.max_pieces.clamp(count_regions(&points), points.len().max(1));
        let splits = OptimalSegmentation::new(&points, most, options.min_points.max(2));
        let count = select_piece_count(&splits, &points, most, options);
        Ok(build_model(&points, &splits.bounds(count), options))
    }

    /// The prediction interval at a size: low, middle, high.
    ///
    /// Where the breakpoint's own interval leaves open which piece applies, the prediction covers both.
    pub fn predict(&self, x: f64) -> [f64; 3] {
        let own = self.breaks.iter().take_while(|b| x > b.at).count();
        let [mut low, middle, mut high] = self.predict_piece(own, x);
        for (i, b) in self.breaks.iter().enumerate() {
            if !b.demanded && b.interval.low < x && x < b.interval.high {
                for other in [self.predict_piece(i, x), self.predict_piece(i + 1, x)] {
                    low = low.min(other[0]);
                    high = high.max(other[2]);
                }
            }
        }
        [low, middle, high]
    }

    /// The function as a formula of a symbol, with as many digits as measurements have.
    pub fn formula(&self, symbol: &str) -> Formula {
        let variable = Formula::symbol(symbol);
        let line = |piece: &LinearPiece| {
            let [intercept, slope] = [piece.intercept.value, piece.slope.value].map(|v| Formula::decimal(round_for_display(v)));
            slope * &variable + intercept
        };
        let piece = |(i, piece): (usize, &LinearPiece)| match self.breaks.get(i) {
            Some(b) => sintonia_formula::PiecewiseCase::up_to(Formula::decimal(round_for_display(b.at)), line(piece)),
            None => sintonia_formula::PiecewiseCase::beyond(line(piece)),
        };
        Formula::piecewise(&variable, self.pieces.iter().enumerate().map(piece))
    }

    fn predict_piece(&self, index: usize, x: f64) -> [f64; 3] {
        let piece = &self.pieces[index];
        let middle = piece.intercept.value + piece.slope.value * x;
        let error = match self.weights {
            ErrorWeighting::Ordinary => self.scatter,
            ErrorWeighting::Relative => self.scatter * middle.abs(),
        };
        let variance = piece.spread[0] + x * (2.0 * piece.covariance + x * piece.spread[1]) + error * error;
        let reach = student_quantile(0.5 * (1.0 + self.confidence), piece.freedom) * variance.max(0.0).sqrt();
        [middle - reach, middle, middle + reach]
    }
}

/// Validates and sorts the points, and assigns weights and regions.
fn weighted_points(points: &[(f64, f64)], options: &PiecewiseOptions) -> Result<Vec<WeightedPoint>, PiecewiseError> {
    if let Some(bad) = points
        .iter()
        .map(|p| p.0)
        .chain(options.required_breakpoints.iter().copied())
        .find(|x| !(-VALID_RANGE.end()..=*VALID_RANGE.end()).contains(x))
    {
        return Err(PiecewiseError::InvalidSize(bad));
    }
    if let Some(&(x, y)) = points.iter().find(|p| !VALID_RANGE.contains(&p.1)) {
        return Err(PiecewiseError::NotPositive { x, y });
    }
    let mut breaks = options.required_breakpoints.clone();
    breaks.sort_unstable_by(f64::total_cmp);
    breaks.dedup();
    let mut weighed: Vec<WeightedPoint> = points
        .iter()
        .map(|&(x, y)| WeightedPoint {
            x,
            y,
            weight: if options.weights == ErrorWeighting::Relative { 1.0 / (y * y) } else { 1.0 },
            region: breaks.iter().filter(|b| **b < x).count(),
        })
        .collect();
    weighed.sort_by(|a, b| a.x.total_cmp(&b.x));
    let have = count_distinct(&weighed);
    if have < 3 {
        return Err(PiecewiseError::TooFewPoints { have, need: 3 });
    }
    for region in 0..=breaks.len() {
        let inside: Vec<WeightedPoint> = weighed.iter().copied().filter(|p| p.region == region).collect();
        if count_distinct(&inside) < 2 {
            let above = region.checked_sub(1).map(|i| breaks[i]);
            return Err(PiecewiseError::TooFewInRegion { have: count_distinct(&inside), above, up_to: breaks.get(region).copied() });
        }
    }
    Ok(weighed)
}

fn count_distinct(sorted: &[WeightedPoint]) -> usize {
    sorted.windows(2).filter(|pair| pair[0].x != pair[1].x).count() + usize::from(!sorted.is_empty())
}

fn count_regions(points: &[WeightedPoint]) -> usize {
    points.last().map_or(1, |p| p.region + 1)
}

/// The number of pieces with the lowest BIC, minus those that change the fit by less than the threshold.
fn select_piece_count(splits: &OptimalSegmentation, points: &[WeightedPoint], most: usize, options: &PiecewiseOptions) -> usize {
    let n = points.len() as f64;
    let demanded = count_regions(points) - 1;
    // No clock resolves better than 1e-6. Without this floor, points exactly on lines would make every BIC minus infinity.
    let exact = 1e-12 * points.iter().map(|p| p.weight * p.y * p.y).sum::<f64>();
    let bic = |k: usize| Some(n * ((splits.residual(k)? + exact) / n).ln() + (3 * k - 1 - demanded) as f64 * n.ln());
    let best = (demanded + 1..=most).filter_map(|k| Some((bic(k)?, k))).min_by(|a, b| a.0.total_cmp(&b.0));
    let mut count = best.map_or(demanded + 1, |(_, k)| k);
    while count > demanded + 1
        && splits.residual(count - 1).is_some()
        && max_rms_change(points, &splits.bounds(count), &splits.bounds(count - 1)) < options.min_relative_change
    {
        count -= 1;
    }
    count
}

/// The largest root mean square of the relative change over the pieces of the finer segmentation.
fn max_rms_change(points: &[WeightedPoint], finer: &[usize], coarser: &[usize]) -> f64 {
    let (fine, coarse) = (fitted_values(points, finer), fitted_values(points, coarser));
    let relative: Vec<f64> = points.iter().enumerate().map(|(i, p)| (fine[i] - coarse[i]) / p.y).collect();
    finer.windows(2).map(|w| (relative[w[0]..w[1]].iter().map(|c| c * c).sum::<f64>() / (w[1] - w[0]) as f64).sqrt()).fold(0.0, f64::max)
}

fn fitted_values(points: &[WeightedPoint], bounds: &[usize]) -> Vec<f64> {
    bounds
        .windows(2)
        .flat_map(|w| {
            let line = fit_line(&points[w[0]..w[1]]);
            points[w[0]..w[1]].iter().map(move |p| line.intercept + line.slope * p.x)
        })
        .collect()
}

fn fit_line(points: &[WeightedPoint]) -> RegressionLine {
    let mut moments = RegressionSums::default();
    points.iter().for_each(|p| moments.add(p.x, p.y, p.weight));
    moments.line()
}

fn build_model(points: &[WeightedPoint], bounds: &[usize], options: &PiecewiseOptions) -> PiecewiseLinear {
    let n = points.len();
    let lines: Vec<RegressionLine> = bounds.windows(2).map(|w| fit_line(&points[w[0]..w[1]])).collect();
    let residual: f64 = lines.iter().map(|l| l.residual).sum();
    let freedom = (n as f64 - 2.0 * lines.len() as f64).max(1.0);
    let pooled = residual / freedom;
    let breaks: Vec<Breakpoint> =
        (1..bounds.len() - 1).map(|i| locate_breakpoint(points, bounds, i, [&lines[i - 1], &lines[i]], residual, options)).collect();
    let pieces = bounds
        .windows(2)
        .zip(&lines)
        .enumerate()
        .map(|(i, (w, line))| {
            let own_freedom = (w[1] - w[0]) as f64 - 2.0;
            let (variance, freedom) = if own_freedom >= 1.0 { (line.residual / own_freedom, own_freedom) } else { (pooled, freedom) };
            let from = if i == 0 { points[0].x } else { breaks[i - 1].at };
            let to = breaks.get(i).map_or(points[n - 1].x, |b| b.at);
            build_piece(line, [from, to], w[1] - w[0], variance, freedom, options.confidence)
        })
        .collect();
    let fit = fitted_values(points, bounds);
    let error = points.iter().zip(&fit).map(|(p, f)| ((f - p.y) / p.y).abs()).sum::<f64>() / n as f64;
    PiecewiseLinear {
        pieces,
        breaks,
        weights: options.weights,
        scatter: pooled.sqrt(),
        error_percent: 100.0 * error,
        confidence: options.confidence,
    }
}

fn build_piece(line: &RegressionLine, [from, to]: [f64; 2], points: usize, variance: f64, freedom: f64, confidence: f64) -> LinearPiece {
    let reach = student_quantile(0.5 * (1.0 + confidence), freedom);
    let spread = [variance * line.spread.intercept, variance * line.spread.slope];
    let estimate = |value: f64, variance: f64| {
        let half = reach * variance.sqrt();
        IntervalEstimate { value, low: value - half, high: value + half }
    };
    LinearPiece {
        from,
        to,
        intercept: estimate(line.intercept, spread[0]),
        slope: estimate(line.slope, spread[1]),
        points,
        covariance: variance * line.spread.intercept_slope,
        spread,
        freedom,
    }
}

/// Locates the breakpoint before piece `index`, with its profile-likelihood interval.
fn locate_breakpoint(
    points: &[WeightedPoint],
    bounds: &[usize],
    index: usize,
    lines: [&RegressionLine; 2],
    total: f64,
    options: &PiecewiseOptions,
) -> Breakpoint {
    let [begin, split, end] = [bounds[index - 1], bounds[index], bounds[index + 1]];
    let (last, next) = (points[split - 1].x, points[split].x);
    if points[split - 1].region != points[split].region {
        let at = options.required_breakpoints.iter().copied().filter(|b| last <= *b && *b < next).fold(last, f64::max);
        return Breakpoint { at, interval: ConfidenceInterval { low: at, high: at, confidence: options.confidence }, demanded: true };
    }
    let at = line_crossing(lines, last, next).or_else(|| power_of_two_between(last, next)).unwrap_or(last);
    let best = lines[0].residual + lines[1].residual;
    // Chi-squared quantile with one degree of freedom, as a ratio of residuals.
    let limit = normal_quantile(0.5 * (1.0 + options.confidence)).powi(2) / points.len() as f64;
    let likely = |i: &usize| {
        let moved = fit_line(&points[begin..*i]).residual + fit_line(&points[*i..end]).residual;
        (total - best + moved) <= total * limit.exp()
    };
    let candidates = begin + 2..=end - 2;
    let first = candidates.clone().find(likely).unwrap_or(split).min(split);
    let final_ = candidates.rev().find(likely).unwrap_or(split).max(split);
    Breakpoint {
        at,
        interval: ConfidenceInterval { low: points[first - 1].x, high: points[final_].x, confidence: options.confidence },
        demanded: false,
    }
}

/// Where two lines intersect between two sizes: the function is then continuous there.
fn line_crossing(lines: [&RegressionLine; 2], last: f64, next: f64) -> Option<f64> {
    let x = (lines[1].intercept - lines[0].intercept) / (lines[0].slope - lines[1].slope);
    (last <= x && x < next).then_some(x)
}

/// The power of two in `last..next`: thresholds in programs are usually powers of two.
fn power_of_two_between(last: f64, next: f64) -> Option<f64> {
    let power = last.max(1.0).log2().ceil().exp2();
    (last <= power && power < next).then_some(power)
}

#[cfg(test)]
mod tests;
