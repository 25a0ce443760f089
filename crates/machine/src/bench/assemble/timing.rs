//! One operation against its size: pieces through the medians, and what launches disagree about.

use std::collections::BTreeMap;

use sintonia_fit::pieces::{Estimate, Options, Piece, PiecesError, Piecewise};
use sintonia_fit::sample::median;

use crate::bench::Sample;
use crate::{Figure, Line, Measured, Pieces, Timing};

/// The samples of one quantity, by size: one for each launch that has it.
pub type Points<'a> = BTreeMap<u64, Vec<&'a Sample>>;

/// A size, what it takes, and by what share launches differ.
struct Point {
    bytes: f64,
    seconds: f64,
    spread: f64,
}

/// Fits pieces; `breaks` are sizes where one must end. None if nothing was measured.
pub fn timing(points: &Points, breaks: &[u64]) -> Option<Timing> {
    let summed: Vec<Point> = points.iter().filter_map(|(bytes, samples)| point(*bytes, samples)).collect();
    let pieces = fitted(&summed, breaks).or_else(|| constant(&summed))?;
    let errors: Vec<f64> = summed.iter().map(|point| 100.0 * (pieces.at(point.bytes)[1] / point.seconds - 1.0).abs()).collect();
    let rounded = |percent: f64| (percent * 100.0).round() / 100.0;
    let all = || points.values().flatten();
    let measured = Measured {
        bytes: [*points.keys().next()?, *points.keys().next_back()?],
        sizes: points.len() as u64,
        samples: all().map(|sample| sample.count).sum(),
        outliers: all().map(|sample| sample.outliers).sum(),
        mean_error_percent: rounded(errors.iter().sum::<f64>() / errors.len() as f64),
        worst_error_percent: rounded(errors.iter().copied().fold(0.0, f64::max)),
    };
    Some(Timing { pieces, measured: Some(measured) })
}

fn point(bytes: u64, samples: &[&Sample]) -> Option<Point> {
    let medians: Vec<f64> = samples.iter().filter_map(|sample| median(&sample.kept).ok()).collect();
    let seconds = median(&medians).ok().filter(|seconds| *seconds > 0.0)?;
    let [least, most] = [medians.iter().copied().fold(seconds, f64::min), medians.iter().copied().fold(seconds, f64::max)];
    Some(Point { bytes: bytes as f64, seconds, spread: (most - least) / seconds })
}

fn fitted(points: &[Point], breaks: &[u64]) -> Option<Pieces> {
    let pairs: Vec<(f64, f64)> = points.iter().map(|point| (point.bytes, point.seconds)).collect();
    // Sizes grow by half and more, so that a protocol for the largest messages shows itself at a few sizes only.
    let options = Options { fewest_points: 3, ..Options::default() };
    let demanded_breaks = breaks.iter().map(|bytes| *bytes as f64).collect();
    let fit = match Piecewise::fit(&pairs, &Options { demanded_breaks, ..options.clone() }) {
        // A threshold at the edge of what was measured cannot be a break.
        Err(PiecesError::TooFewInRegion { .. }) => Piecewise::fit(&pairs, &options),
        fit => fit,
    };
    let fit = fit.ok()?;
    let lines: Vec<Line> =
        fit.pieces.iter().enumerate().map(|(i, piece)| line(piece, points, i + 1 == fit.pieces.len())).collect::<Option<_>>()?;
    let bound = |at: &sintonia_fit::pieces::Break| {
        let middle = at.at.floor();
        Figure::new(at.interval.low.min(middle), middle, at.interval.high.max(middle)).ok()
    };
    let bounds: Vec<Figure> = fit.breaks.iter().map(bound).collect::<Option<_>>()?;
    let (last, lines) = lines.split_last()?;
    Pieces::new(0.0, bounds.into_iter().zip(lines.iter().copied()).collect(), *last).ok()
}

/// The line of a piece. One that would fall below zero, as noise can make it, becomes the constant in its middle.
fn line(piece: &Piece, points: &[Point], is_last: bool) -> Option<Line> {
    let at = |bytes: f64| piece.intercept.value + piece.slope.value * bytes;
    let within = |point: &&Point| piece.from <= point.bytes && point.bytes <= piece.to;
    let spreads: Vec<f64> = points.iter().filter(within).map(|point| point.spread).collect();
    let spread = median(&spreads).unwrap_or(0.0);
    if at(piece.from) <= 0.0 || at(piece.to) <= 0.0 || (is_last && piece.slope.value < 0.0) {
        let seconds: Vec<f64> = points.iter().filter(within).map(|point| point.seconds).collect();
        return level(&seconds, spread);
    }
    Some(Line { intercept: widened(&piece.intercept, spread)?, slope: widened(&piece.slope, spread)? })
}

/// An estimate with the interval of the fit and that of the launches, which know nothing of each other, added in squares.
fn widened(estimate: &Estimate, spread: f64) -> Option<Figure> {
    let launches = spread * estimate.value.abs();
    let reach = |fit: f64| fit.hypot(launches);
    let [low, high] = [estimate.value - reach(estimate.value - estimate.low), estimate.value + reach(estimate.high - estimate.value)];
    Figure::measured(low, estimate.value, high).ok()
}

/// One value for all sizes, for what was measured at too few of them.
fn constant(points: &[Point]) -> Option<Pieces> {
    let seconds: Vec<f64> = points.iter().map(|point| point.seconds).collect();
    let spread = points.iter().map(|point| point.spread).fold(0.0, f64::max);
    Pieces::one(level(&seconds, spread)?).ok()
}

fn level(seconds: &[f64], spread: f64) -> Option<Line> {
    let middle = median(seconds).ok()?;
    let [least, most] = [seconds.iter().copied().fold(middle, f64::min), seconds.iter().copied().fold(middle, f64::max)];
    let intercept = Figure::measured((least * (1.0 - spread)).max(0.0), middle, most * (1.0 + spread)).ok()?;
    Some(Line { intercept, slope: Figure::exact(0.0).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Quantity;
    use crate::{Message, PairClass};

    fn samples(launches: usize, time: impl Fn(u64, usize) -> f64) -> Vec<Sample> {
        let quantity = Quantity::Message { class: PairClass::OtherNode, what: Message::Send };
        let sizes = [0, 16, 64, 256, 1024, 2048, 4000, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
        let all = sizes.iter().flat_map(|bytes| (0..launches).map(move |launch| (*bytes, launch)));
        all.map(|(bytes, launch)| Sample::of(quantity, bytes, &[time(bytes, launch); 7]).unwrap()).collect()
    }

    fn points(samples: &[Sample]) -> Points<'_> {
        let mut points = Points::new();
        samples.iter().for_each(|sample| points.entry(sample.bytes).or_default().push(sample));
        points
    }

    fn two_lines(bytes: u64) -> f64 {
        if bytes <= 4000 { 1e-6 + 1e-10 * bytes as f64 } else { 5e-6 + 2e-10 * bytes as f64 }
    }

    #[test]
    fn the_threshold_is_a_break_and_the_lines_are_found() {
        let samples = samples(1, |bytes, _| two_lines(bytes));
        let timing = timing(&points(&samples), &[4000]).unwrap();
        let [(bound, line)] = timing.pieces.bounded() else { panic!("{timing:?}") };
        assert_eq!((bound.middle(), bound.is_exact()), (4000.0, true));
        assert!((line.intercept.middle() - 1e-6).abs() < 1e-9 && (timing.pieces.last().slope.middle() - 2e-10).abs() < 1e-13);
        let measured = timing.measured.unwrap();
        assert_eq!((measured.bytes, measured.sizes, measured.samples), ([0, 131_072], 13, 91));
        assert!(measured.worst_error_percent < 0.1, "{measured:?}");
    }

    #[test]
    fn launches_that_differ_widen_the_interval() {
        let samples = samples(3, |bytes, launch| two_lines(bytes) * [0.9, 1.0, 1.1][launch]);
        let timing = timing(&points(&samples), &[4000]).unwrap();
        let slope = timing.pieces.last().slope;
        assert!(slope.low() < 0.85 * slope.middle() && slope.high() > 1.15 * slope.middle(), "{slope:?}");
    }

    #[test]
    fn one_size_gives_a_constant() {
        let samples = samples(2, |_, launch| 1e-6 * (1 + launch) as f64);
        let one: Vec<Sample> = samples.into_iter().filter(|sample| sample.bytes == 0).collect();
        let timing = timing(&points(&one), &[]).unwrap();
        assert!(timing.pieces.bounded().is_empty() && timing.pieces.last().slope.is_exact());
        assert!(timing.pieces.at(0.0)[0] <= 1e-6 && timing.pieces.at(0.0)[2] >= 2e-6);
    }

    #[test]
    fn noise_makes_no_time_negative() {
        let samples = samples(1, |bytes, _| if bytes == 131_072 { 1e-7 } else { 1e-6 });
        let timing = timing(&points(&samples), &[]).unwrap();
        assert!(timing.pieces.at(1e9)[1] >= 0.0, "{timing:?}");
    }
}
