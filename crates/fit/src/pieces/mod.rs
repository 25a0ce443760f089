//! Straight lines by pieces: what a network does to messages of growing size.
//!
//! Protocols change with the size of a message, so one line does not fit, and where the protocol changes is itself worth knowing. The split
//! is exact, by dynamic programming; the number of pieces is chosen by BIC (each piece costs a slope, an intercept and a break), and a piece that
//! changes the fit by less than a practical floor is not kept, because a smooth curve measured with little noise could otherwise be cut
//! without end.

mod line;
mod split;

use crate::measurements::SENSIBLE;
use crate::sample::{CONFIDENCE, Range, rounded};
use crate::stats::{normal_quantile, student_quantile};
use line::{Line, Moments};
use serde::{Deserialize, Serialize};
use sintonia_formula::Formula;
use split::{Splits, Weighed};

/// How much an error counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// Every error by its size: the largest times decide.
    Ordinary,
    /// Every error relative to its value: 1 % counts the same at one byte and at one megabyte.
    Relative,
}

/// How pieces are looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How much an error counts.
    pub weights: Weights,
    /// The fewest points of a piece.
    pub fewest_points: usize,
    /// The most pieces.
    pub most_pieces: usize,
    /// Sizes up to and including which a piece must end, such as the eager threshold found by behaviour.
    pub demanded_breaks: Vec<f64>,
    /// The relative change of the fit below which a further piece is not worth having.
    pub floor: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            weights: Weights::Relative,
            fewest_points: 4,
            most_pieces: 16,
            demanded_breaks: Vec::new(),
            floor: 0.01,
            confidence: CONFIDENCE,
        }
    }
}

/// Why pieces cannot be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PiecesError {
    /// There are too few different sizes.
    #[error("{have} different sizes are too few for a line by pieces: at least {need} are needed; measure more sizes")]
    TooFewPoints {
        /// How many different sizes there are.
        have: usize,
        /// How many are needed.
        need: usize,
    },
    /// Too few sizes lie between two breaks that the caller demands.
    #[error(
        "only {have} sizes lie {}: at least 2 are needed; measure there, or take the break away",
        between(*above, *up_to)
    )]
    TooFewInRegion {
        /// How many there are.
        have: usize,
        /// The break below, if there is one.
        above: Option<f64>,
        /// The break above, if there is one.
        up_to: Option<f64>,
    },
    /// A time is zero, negative, not a number, or beyond all measuring.
    #[error("at size {x} the time is {y}: times must be positive numbers, from 1e-60 to 1e60")]
    NotPositive {
        /// The size.
        x: f64,
        /// The time.
        y: f64,
    },
    /// A size or a break is not a number, infinite, or beyond all measuring.
    #[error("{0} is not a size: it must lie between -1e60 and 1e60")]
    NotASize(f64),
}

fn between(above: Option<f64>, up_to: Option<f64>) -> String {
    match (above, up_to) {
        (Some(low), Some(high)) => format!("above {low} and up to {high}"),
        (Some(low), None) => format!("above {low}"),
        (None, Some(high)) => format!("up to {high}"),
        (None, None) => "anywhere".to_owned(),
    }
}

/// A number with the interval it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// One straight line and where it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// It holds above this size (the first piece: from this size).
    pub from: f64,
    /// It holds up to and including this size.
    pub to: f64,
    /// The value at size 0.
    pub intercept: Estimate,
    /// The growth per unit of size.
    pub slope: Estimate,
    /// How many sizes it was fitted to.
    pub points: usize,
    /// The covariance of intercept and slope (their variances are `spread`).
    pub covariance: f64,
    /// The variances of intercept and slope.
    pub spread: [f64; 2],
    /// The degrees of freedom behind its intervals.
    pub freedom: f64,
}

/// Where one piece ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The last size of the piece before.
    pub at: f64,
    /// Where it may lie, given the measurements.
    pub interval: Range,
    /// Whether the caller demanded it.
    pub demanded: bool,
}

/// A function made of straight lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piecewise {
    /// The lines, by growing size.
    pub pieces: Vec<Piece>,
    /// The breaks between them.
    pub breaks: Vec<Break>,
    /// How much an error counted.
    pub weights: Weights,
    /// The typical error: relative with [`Weights::Relative`], otherwise in the unit of the values.
    pub scatter: f64,
    /// The mean of the relative errors at the measured sizes, in percent.
    pub error_percent: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
}

impl Piecewise {
    /// Fits pieces to pairs of size and value (a median, usually); several values of one size count as several points.
    pub fn fit(points: &[(f64, f64)], options: &Options) -> Result<Self, PiecesError> {
        let points = weigh(points, options)?;
        let most = options.most_pieces.clamp(regions(&points), points.len().max(1));
        let splits = Splits::of(&points, most, options.fewest_points.max(2));
        let count = count_pieces(&splits, &points, most, options);
        Ok(assemble(&points, &splits.bounds(count), options))
    }

    /// The value at a size: lowest, middle, highest, for one more measurement.
    ///
    /// Where it is open which of two pieces holds, the interval holds both.
    pub fn predict(&self, x: f64) -> [f64; 3] {
        let own = self.breaks.iter().take_while(|b| x > b.at).count();
        let [mut low, middle, mut high] = self.of_piece(own, x);
        for (i, b) in self.breaks.iter().enumerate() {
            if !b.demanded && b.interval.low < x && x < b.interval.high {
                for other in [self.of_piece(i, x), self.of_piece(i + 1, x)] {
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
        let line = |piece: &Piece| {
            let [intercept, slope] = [piece.intercept.value, piece.slope.value].map(|v| Formula::decimal(rounded(v)));
            slope * &variable + intercept
        };
        let piece = |(i, piece): (usize, &Piece)| match self.breaks.get(i) {
            Some(b) => sintonia_formula::Piece::up_to(Formula::decimal(rounded(b.at)), line(piece)),
            None => sintonia_formula::Piece::beyond(line(piece)),
        };
        Formula::pieces(&variable, self.pieces.iter().enumerate().map(piece))
    }

    fn of_piece(&self, index: usize, x: f64) -> [f64; 3] {
        let piece = &self.pieces[index];
        let middle = piece.intercept.value + piece.slope.value * x;
        let error = match self.weights {
            Weights::Ordinary => self.scatter,
            Weights::Relative => self.scatter * middle.abs(),
        };
        let variance = piece.spread[0] + x * (2.0 * piece.covariance + x * piece.spread[1]) + error * error;
        let reach = student_quantile(0.5 * (1.0 + self.confidence), piece.freedom) * variance.max(0.0).sqrt();
        [middle - reach, middle, middle + reach]
    }
}

/// Checks the points, sorts them and gives each its weight and region.
fn weigh(points: &[(f64, f64)], options: &Options) -> Result<Vec<Weighed>, PiecesError> {
    if let Some(bad) =
        points.iter().map(|p| p.0).chain(options.demanded_breaks.iter().copied()).find(|x| !(-SENSIBLE.end()..=*SENSIBLE.end()).contains(x))
    {
        return Err(PiecesError::NotASize(bad));
    }
    if let Some(&(x, y)) = points.iter().find(|p| !SENSIBLE.contains(&p.1)) {
        return Err(PiecesError::NotPositive { x, y });
    }
    let mut breaks = options.demanded_breaks.clone();
    breaks.sort_unstable_by(f64::total_cmp);
    breaks.dedup();
    let mut weighed: Vec<Weighed> = points
        .iter()
        .map(|&(x, y)| Weighed {
            x,
            y,
            weight: if options.weights == Weights::Relative { 1.0 / (y * y) } else { 1.0 },
            region: breaks.iter().filter(|b| **b < x).count(),
        })
        .collect();
    weighed.sort_by(|a, b| a.x.total_cmp(&b.x));
    let have = different(&weighed);
    if have < 3 {
        return Err(PiecesError::TooFewPoints { have, need: 3 });
    }
    for region in 0..=breaks.len() {
        let inside: Vec<Weighed> = weighed.iter().copied().filter(|p| p.region == region).collect();
        if different(&inside) < 2 {
            let above = region.checked_sub(1).map(|i| breaks[i]);
            return Err(PiecesError::TooFewInRegion { have: different(&inside), above, up_to: breaks.get(region).copied() });
        }
    }
    Ok(weighed)
}

fn different(sorted: &[Weighed]) -> usize {
    sorted.windows(2).filter(|pair| pair[0].x != pair[1].x).count() + usize::from(!sorted.is_empty())
}

fn regions(points: &[Weighed]) -> usize {
    points.last().map_or(1, |p| p.region + 1)
}

/// The number of pieces with the least BIC, less those that change the fit by less than the floor.
fn count_pieces(splits: &Splits, points: &[Weighed], most: usize, options: &Options) -> usize {
    let n = points.len() as f64;
    let demanded = regions(points) - 1;
    // No clock is better than a millionth; without this, points exactly on lines would make every BIC minus infinity.
    let exact = 1e-12 * points.iter().map(|p| p.weight * p.y * p.y).sum::<f64>();
    let bic = |k: usize| Some(n * ((splits.residual(k)? + exact) / n).ln() + (3 * k - 1 - demanded) as f64 * n.ln());
    let best = (demanded + 1..=most).filter_map(|k| Some((bic(k)?, k))).min_by(|a, b| a.0.total_cmp(&b.0));
    let mut count = best.map_or(demanded + 1, |(_, k)| k);
    while count > demanded + 1
        && splits.residual(count - 1).is_some()
        && change(points, &splits.bounds(count), &splits.bounds(count - 1)) < options.floor
    {
        count -= 1;
    }
    count
}

/// How much the finer split differs from the coarser one: the root mean square of the relative change, in the piece where it is largest.
fn change(points: &[Weighed], finer: &[usize], coarser: &[usize]) -> f64 {
    let (fine, coarse) = (fitted(points, finer), fitted(points, coarser));
    let relative: Vec<f64> = points.iter().enumerate().map(|(i, p)| (fine[i] - coarse[i]) / p.y).collect();
    finer.windows(2).map(|w| (relative[w[0]..w[1]].iter().map(|c| c * c).sum::<f64>() / (w[1] - w[0]) as f64).sqrt()).fold(0.0, f64::max)
}

fn fitted(points: &[Weighed], bounds: &[usize]) -> Vec<f64> {
    bounds
        .windows(2)
        .flat_map(|w| {
            let line = line_of(&points[w[0]..w[1]]);
            points[w[0]..w[1]].iter().map(move |p| line.intercept + line.slope * p.x)
        })
        .collect()
}

fn line_of(points: &[Weighed]) -> Line {
    let mut moments = Moments::default();
    points.iter().for_each(|p| moments.add(p.x, p.y, p.weight));
    moments.line()
}

fn assemble(points: &[Weighed], bounds: &[usize], options: &Options) -> Piecewise {
    let n = points.len();
    let lines: Vec<Line> = bounds.windows(2).map(|w| line_of(&points[w[0]..w[1]])).collect();
    let residual: f64 = lines.iter().map(|l| l.residual).sum();
    let freedom = (n as f64 - 2.0 * lines.len() as f64).max(1.0);
    let pooled = residual / freedom;
    let breaks: Vec<Break> =
        (1..bounds.len() - 1).map(|i| find_break(points, bounds, i, [&lines[i - 1], &lines[i]], residual, options)).collect();
    let pieces = bounds
        .windows(2)
        .zip(&lines)
        .enumerate()
        .map(|(i, (w, line))| {
            let own_freedom = (w[1] - w[0]) as f64 - 2.0;
            let (variance, freedom) = if own_freedom >= 1.0 { (line.residual / own_freedom, own_freedom) } else { (pooled, freedom) };
            let from = if i == 0 { points[0].x } else { breaks[i - 1].at };
            let to = breaks.get(i).map_or(points[n - 1].x, |b| b.at);
            piece(line, [from, to], w[1] - w[0], variance, freedom, options.confidence)
        })
        .collect();
    let fit = fitted(points, bounds);
    let error = points.iter().zip(&fit).map(|(p, f)| ((f - p.y) / p.y).abs()).sum::<f64>() / n as f64;
    Piecewise {
        pieces,
        breaks,
        weights: options.weights,
        scatter: pooled.sqrt(),
        error_percent: 100.0 * error,
        confidence: options.confidence,
    }
}

fn piece(line: &Line, [from, to]: [f64; 2], points: usize, variance: f64, freedom: f64, confidence: f64) -> Piece {
    let reach = student_quantile(0.5 * (1.0 + confidence), freedom);
    let spread = [variance * line.spread.intercept, variance * line.spread.slope];
    let estimate = |value: f64, variance: f64| {
        let half = reach * variance.sqrt();
        Estimate { value, low: value - half, high: value + half }
    };
    Piece {
        from,
        to,
        intercept: estimate(line.intercept, spread[0]),
        slope: estimate(line.slope, spread[1]),
        points,
        covariance: variance * line.spread.both,
        spread,
        freedom,
    }
}

/// Where the break before piece `index` lies, and by profile likelihood where it may lie.
fn find_break(points: &[Weighed], bounds: &[usize], index: usize, lines: [&Line; 2], total: f64, options: &Options) -> Break {
    let [begin, split, end] = [bounds[index - 1], bounds[index], bounds[index + 1]];
    let (last, next) = (points[split - 1].x, points[split].x);
    if points[split - 1].region != points[split].region {
        let at = options.demanded_breaks.iter().copied().filter(|b| last <= *b && *b < next).fold(last, f64::max);
        return Break { at, interval: Range { low: at, high: at, confidence: options.confidence }, demanded: true };
    }
    let at = crossing(lines, last, next).or_else(|| power_of_two(last, next)).unwrap_or(last);
    let best = lines[0].residual + lines[1].residual;
    // Chi-squared with one degree of freedom, as a ratio of residuals.
    let limit = normal_quantile(0.5 * (1.0 + options.confidence)).powi(2) / points.len() as f64;
    let likely = |i: &usize| {
        let moved = line_of(&points[begin..*i]).residual + line_of(&points[*i..end]).residual;
        (total - best + moved) <= total * limit.exp()
    };
    let candidates = begin + 2..=end - 2;
    let first = candidates.clone().find(likely).unwrap_or(split).min(split);
    let final_ = candidates.rev().find(likely).unwrap_or(split).max(split);
    Break { at, interval: Range { low: points[first - 1].x, high: points[final_].x, confidence: options.confidence }, demanded: false }
}

/// Where the two lines meet, if they do between the two sizes: then the function has no step there.
fn crossing(lines: [&Line; 2], last: f64, next: f64) -> Option<f64> {
    let x = (lines[1].intercept - lines[0].intercept) / (lines[0].slope - lines[1].slope);
    (last <= x && x < next).then_some(x)
}

/// The power of two from `last` to below `next`: thresholds of programs are usually such.
fn power_of_two(last: f64, next: f64) -> Option<f64> {
    let power = last.max(1.0).log2().ceil().exp2();
    (last <= power && power < next).then_some(power)
}

#[cfg(test)]
mod tests;
