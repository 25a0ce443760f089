//! One operation against its size: pieces through the medians, and what launches disagree about.

use std::collections::BTreeMap;

use sintonia_fit::pieces::{Estimate, Options, Piece, Piecewise};
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
    let medians = summed.iter().map(|point| (point.bytes as u64, rounded_to(point.seconds))).collect();
    Some(Timing { pieces, measured: Some(measured), medians })
}

/// Five figures: more are noise, and the file is read by people.
fn rounded_to(seconds: f64) -> f64 {
    format!("{seconds:.4e}").parse().unwrap_or(seconds)
}

fn point(bytes: u64, samples: &[&Sample]) -> Option<Point> {
    let medians: Vec<f64> = samples.iter().filter_map(|sample| median(&sample.kept).ok()).collect();
    let seconds = median(&medians).ok().filter(|seconds| *seconds > 0.0)?;
    let [least, most] = [medians.iter().copied().fold(seconds, f64::min), medians.iter().copied().fold(seconds, f64::max)];
    Some(Point { bytes: bytes as f64, seconds, spread: (most - least) / seconds })
}

/// Pieces where they can be told, else one line, else none.
fn fitted(points: &[Point], breaks: &[u64]) -> Option<Pieces> {
    let all: Vec<f64> = breaks.iter().map(|bytes| *bytes as f64).collect();
    let breaks = possible(&all, &merged(points, &all));
    let merged = merged(points, &breaks);
    let by_pieces = Options { fewest_points: FEWEST, floor: FLOOR, demanded_breaks: breaks, ..Options::default() };
    let one_line = Options { most_pieces: 1, ..Options::default() };
    [by_pieces, one_line].iter().find_map(|options| with(&merged, options))
}

/// The fewest sizes of a piece: with two to each doubling, a protocol shows itself over a factor of three.
const FEWEST: usize = 4;
/// By how much a piece must change the times to be worth having: less is lost between one bench and the next.
const FLOOR: f64 = 0.05;
/// Sizes so close, as a share, are one: they are there to find what alignment does, not to make a piece of their own.
const CLOSE: f64 = 0.02;

/// The points with those that are close put together, unless a break is between them.
fn merged(points: &[Point], breaks: &[f64]) -> Vec<Point> {
    let region = |bytes: f64| breaks.iter().filter(|at| **at < bytes).count();
    let together = |a: &Point, b: &Point| b.bytes - a.bytes <= CLOSE * b.bytes && region(a.bytes) == region(b.bytes);
    let middle = |of: fn(&Point) -> f64, group: &[Point]| median(&group.iter().map(of).collect::<Vec<_>>()).ok();
    let point = |group: &[Point]| {
        let [bytes, seconds, spread] = [|p: &Point| p.bytes, |p: &Point| p.seconds, |p: &Point| p.spread].map(|of| middle(of, group));
        Some(Point { bytes: bytes?, seconds: seconds?, spread: spread? })
    };
    points.chunk_by(together).filter_map(point).collect()
}

fn with(points: &[Point], options: &Options) -> Option<Pieces> {
    let pairs: Vec<(f64, f64)> = points.iter().map(|point| (point.bytes, point.seconds)).collect();
    let fit = plainest(&pairs, options)?;
    let lines: Vec<Line> = fit.pieces.iter().map(|piece| line(piece, &fit, points)).collect::<Option<_>>()?;
    let bound = |at: &sintonia_fit::pieces::Break| {
        let middle = at.at.floor();
        Figure::new(at.interval.low.min(middle), middle, at.interval.high.max(middle)).ok()
    };
    let bounds: Vec<Figure> = fit.breaks.iter().map(bound).collect::<Option<_>>()?;
    let (last, lines) = lines.split_last()?;
    Pieces::new(points.first()?.bytes, bounds.into_iter().zip(lines.iter().copied()).collect(), *last).ok()
}

/// The fewest pieces that are hardly worse than as many as the criterion takes. That many differ from one bench to the next, since the
/// last of them are there for the noise of one; and what launches disagree about is no use to be known better.
fn plainest(pairs: &[(f64, f64)], options: &Options) -> Option<Piecewise> {
    /// The scatter that is good enough, as a share of the time, and how much more of it than least is bearable.
    const GOOD: f64 = 0.05;
    const MORE: f64 = 1.25;
    let best = Piecewise::fit(pairs, options).ok()?;
    let bearable = GOOD.max(MORE * best.scatter);
    let of = |most_pieces: usize| Piecewise::fit(pairs, &Options { most_pieces, ..options.clone() }).ok();
    (1..best.pieces.len()).filter_map(of).find(|fit| fit.scatter <= bearable).or(Some(best))
}

/// The breaks that have at least two sizes on either side: a threshold at the edge of what was measured cannot be one.
fn possible(breaks: &[f64], points: &[Point]) -> Vec<f64> {
    let mut sorted = breaks.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let between = |above: f64, up_to: f64| points.iter().filter(|point| above < point.bytes && point.bytes <= up_to).count();
    let mut kept: Vec<f64> = Vec::new();
    for bytes in sorted {
        let before = kept.last().copied().unwrap_or(f64::NEG_INFINITY);
        if between(before, bytes) >= 2 && between(bytes, f64::INFINITY) >= 2 {
            kept.push(bytes);
        }
    }
    kept
}

/// The line of a piece, with intervals such that the time is between the line of the low ends and that of the high ones. One that would
/// fall below zero, as noise can make it, becomes the constant in its middle.
fn line(piece: &Piece, fit: &Piecewise, points: &[Point]) -> Option<Line> {
    let is_last = fit.pieces.last().is_some_and(|last| std::ptr::eq(last, piece));
    let first = points.first()?.bytes;
    let within: Vec<&Point> =
        points.iter().filter(|point| (piece.from < point.bytes || point.bytes == first) && point.bytes <= piece.to).collect();
    let spread = median(&within.iter().map(|point| point.spread).collect::<Vec<_>>()).unwrap_or(0.0);
    let at = |bytes: f64| piece.intercept.value + piece.slope.value * bytes;
    if at(piece.from) <= 0.0 || at(piece.to) <= 0.0 || (is_last && piece.slope.value < 0.0) {
        return level(&within.iter().map(|point| point.seconds).collect::<Vec<_>>(), spread);
    }
    // How sure the fit is, and by how much launches differ, know nothing of each other: they are added in squares.
    let share = within.iter().map(|point| reach(piece, fit, point.bytes)).fold(0.0, f64::max).hypot(spread);
    // Beyond what was measured, only the slope counts.
    let beyond = if is_last { relative(&piece.slope) } else { 0.0 };
    Some(Line { intercept: around(piece.intercept.value, share)?, slope: around(piece.slope.value, share.max(beyond))? })
}

/// By what share of it the time at a size may be off, as the fit sees it.
fn reach(piece: &Piece, fit: &Piecewise, bytes: f64) -> f64 {
    let middle = piece.intercept.value + piece.slope.value * bytes;
    let variance = piece.spread[0] + bytes * (2.0 * piece.covariance + bytes * piece.spread[1]);
    let quantile = if piece.spread[1] > 0.0 { (piece.slope.high - piece.slope.value) / piece.spread[1].sqrt() } else { 0.0 };
    // The scatter is that of all pieces, of so many points that twice it holds 95 of 100.
    (quantile * variance.max(0.0).sqrt() / middle).hypot(2.0 * fit.scatter)
}

fn relative(estimate: &Estimate) -> f64 {
    if estimate.value == 0.0 { 0.0 } else { ((estimate.high - estimate.value) / estimate.value).abs() }
}

fn around(value: f64, share: f64) -> Option<Figure> {
    let reach = share * value.abs();
    // A time that falls with the size is noise as well, but a slope that rises is not made to fall.
    let low = if value > 0.0 { (value - reach).max(0.0) } else { value - reach };
    Figure::measured(low, value, value + reach).ok()
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
    fn a_threshold_at_the_edge_takes_no_other_with_it() {
        let samples = samples(1, |bytes, _| two_lines(bytes));
        let timing = timing(&points(&samples), &[4000, 131_072]).unwrap();
        assert_eq!(timing.pieces.bounded().iter().map(|(bound, _)| bound.middle()).collect::<Vec<_>>(), [4000.0]);
    }

    #[test]
    fn a_curve_with_noise_is_not_cut_into_its_noise() {
        // A protocol that changes at 4000 bytes, with noise of 4 % that differs from bench to bench.
        let pieces = |bench: u64| {
            let mut random = sintonia_fit::Random::new(bench);
            let noise: Vec<f64> = (0..13).map(|_| 1.0 + 0.04 * random.normal()).collect();
            let samples = samples(1, |bytes, _| two_lines(bytes) * noise[(bytes as usize + 1).ilog2() as usize % 13]);
            timing(&points(&samples), &[4000]).unwrap().pieces.bounded().len() + 1
        };
        assert_eq!([1, 2, 3, 4, 5, 6].map(pieces), [2; 6]);
    }

    #[test]
    fn sizes_that_are_close_make_no_piece() {
        let point = |bytes: f64, seconds: f64| Point { bytes, seconds, spread: 0.0 };
        let points = [point(1021.0, 1.0), point(1024.0, 3.0), point(1027.0, 2.0), point(1536.0, 5.0)];
        let merged = |breaks: &[f64]| merged(&points, breaks).iter().map(|point| (point.bytes, point.seconds)).collect::<Vec<_>>();
        assert_eq!(merged(&[]), [(1024.0, 2.0), (1536.0, 5.0)]);
        assert_eq!(merged(&[1024.0]), [(1022.5, 2.0), (1027.0, 2.0), (1536.0, 5.0)]);
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
