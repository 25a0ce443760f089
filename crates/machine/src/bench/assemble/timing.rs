//! The cost of an operation by size: a piecewise linear fit through the medians, with the variation between launches.

use std::collections::BTreeMap;

use sintonia_fit::piecewise::{IntervalEstimate, LinearPiece, PiecewiseLinear, PiecewiseOptions};
use sintonia_fit::sample::median;

use crate::bench::BenchSample;
use crate::{LinearCost, MeasurementSummary, OperationTiming, PiecewiseCost, UncertainValue};

/// The samples of one quantity by size, one for each launch.
pub(super) type SamplesBySize<'a> = BTreeMap<u64, Vec<&'a BenchSample>>;

/// A size, its median time, and the relative spread between launches.
struct TimingPoint {
    bytes: f64,
    seconds: f64,
    spread: f64,
}

/// Fits pieces with breaks at `breaks`; none if nothing was measured.
pub(super) fn fit_timing(points: &SamplesBySize, breaks: &[u64]) -> Option<OperationTiming> {
    let summed: Vec<TimingPoint> = points.iter().filter_map(|(bytes, samples)| timing_point(*bytes, samples)).collect();
    let pieces = fit_pieces(&summed, breaks).or_else(|| constant_pieces(&summed))?;
    let error = |point: &TimingPoint| (100.0 * (pieces.at(point.bytes)[1] / point.seconds - 1.0).abs()).min(MOST_ERROR_PERCENT);
    let errors: Vec<f64> = summed.iter().map(error).collect();
    let two_decimals = |percent: f64| (percent * 100.0).round() / 100.0;
    let all = || points.values().flatten();
    let measured = MeasurementSummary {
        bytes: [*points.keys().next()?, *points.keys().next_back()?],
        sizes: points.len() as u64,
        samples: all().map(|sample| sample.count).sum(),
        outliers: all().map(|sample| sample.outliers).sum(),
        mean_error_percent: two_decimals(errors.iter().sum::<f64>() / errors.len() as f64),
        worst_error_percent: two_decimals(errors.iter().copied().fold(0.0, f64::max)),
    };
    let medians = summed.iter().map(|point| (point.bytes as u64, five_figures(point.seconds))).collect();
    Some(OperationTiming { pieces, measured: Some(measured), medians })
}

/// Five digits: more are noise, and people read the file.
fn five_figures(seconds: f64) -> f64 {
    format!("{seconds:.4e}").parse().unwrap_or(seconds)
}

fn timing_point(bytes: u64, samples: &[&BenchSample]) -> Option<TimingPoint> {
    let medians: Vec<f64> = samples.iter().filter_map(|sample| median(&sample.kept).ok()).collect();
    let seconds = median(&medians).ok().filter(|seconds| *seconds > 0.0)?.max(LEAST_TIME);
    let [least, most] = [medians.iter().copied().fold(seconds, f64::min), medians.iter().copied().fold(seconds, f64::max)];
    Some(TimingPoint { bytes: bytes as f64, seconds, spread: (most - least) / seconds })
}

/// Lines that are farther off are wrong, however far.
const MOST_ERROR_PERCENT: f64 = 1e9;
/// Shorter times are no measurement, and relative errors of them say nothing.
const LEAST_TIME: f64 = 1e-12;

/// Several pieces where they can be distinguished, else one line.
fn fit_pieces(points: &[TimingPoint], breaks: &[u64]) -> Option<PiecewiseCost> {
    let all: Vec<f64> = breaks.iter().map(|bytes| *bytes as f64).collect();
    let breaks = usable_breaks(&all, &merge_close(points, &all));
    let merged = merge_close(points, &breaks);
    let by_pieces = PiecewiseOptions {
        min_points: MIN_PIECE_SIZES,
        min_relative_change: MIN_IMPROVEMENT,
        required_breakpoints: breaks,
        ..PiecewiseOptions::default()
    };
    let one_line = PiecewiseOptions { max_pieces: 1, ..PiecewiseOptions::default() };
    [by_pieces, one_line].iter().find_map(|options| fit_with(&merged, options))
}

/// Fewest sizes of a piece: with two per doubling, a protocol spans a factor of three.
const MIN_PIECE_SIZES: usize = 4;
/// Relative improvement a piece must bring: less differs between benchmark runs.
const MIN_IMPROVEMENT: f64 = 0.05;
/// Sizes this close, as a share, are merged: they test alignment and do not form a piece.
const MERGE_DISTANCE: f64 = 0.02;

/// Merges close points, except across a break.
fn merge_close(points: &[TimingPoint], breaks: &[f64]) -> Vec<TimingPoint> {
    let region = |bytes: f64| breaks.iter().filter(|at| **at < bytes).count();
    let together = |a: &TimingPoint, b: &TimingPoint| b.bytes - a.bytes <= MERGE_DISTANCE * b.bytes && region(a.bytes) == region(b.bytes);
    let middle = |of: fn(&TimingPoint) -> f64, group: &[TimingPoint]| median(&group.iter().map(of).collect::<Vec<_>>()).ok();
    let point = |group: &[TimingPoint]| {
        let [bytes, seconds, spread] =
            [|p: &TimingPoint| p.bytes, |p: &TimingPoint| p.seconds, |p: &TimingPoint| p.spread].map(|of| middle(of, group));
        Some(TimingPoint { bytes: bytes?, seconds: seconds?, spread: spread? })
    };
    points.chunk_by(together).filter_map(point).collect()
}

fn fit_with(points: &[TimingPoint], options: &PiecewiseOptions) -> Option<PiecewiseCost> {
    let pairs: Vec<(f64, f64)> = points.iter().map(|point| (point.bytes, point.seconds)).collect();
    let fit = simplest_fit(&pairs, options)?;
    let lines: Vec<LinearCost> = fit.pieces.iter().map(|piece| piece_line(piece, &fit, points)).collect::<Option<_>>()?;
    let bound = |at: &sintonia_fit::piecewise::Breakpoint| {
        let middle = at.at.floor().max(0.0);
        Some(UncertainValue::new(at.interval.low.min(middle), middle, at.interval.high.max(middle)).ok()?.clamped(0.0, f64::MAX))
    };
    let bounds: Vec<UncertainValue> = fit.breaks.iter().map(bound).collect::<Option<_>>()?;
    let (last, lines) = lines.split_last()?;
    PiecewiseCost::new(points.first()?.bytes, bounds.into_iter().zip(lines.iter().copied()).collect(), *last).ok()
}

/// The fewest pieces with nearly the error of the best fit. The best fit has extra pieces that follow noise and differ from one
/// benchmark run to the next.
fn simplest_fit(pairs: &[(f64, f64)], options: &PiecewiseOptions) -> Option<PiecewiseLinear> {
    /// Scatter that is good enough, as a share of the time, and the acceptable factor over the best fit.
    const GOOD: f64 = 0.05;
    const MORE: f64 = 1.25;
    let best = PiecewiseLinear::fit(pairs, options).ok()?;
    let acceptable = GOOD.max(MORE * best.scatter);
    let of = |most_pieces: usize| PiecewiseLinear::fit(pairs, &PiecewiseOptions { max_pieces: most_pieces, ..options.clone() }).ok();
    (1..best.pieces.len()).filter_map(of).find(|fit| fit.scatter <= acceptable).or(Some(best))
}

/// Breaks with at least two sizes on either side; a threshold at the edge of the measured range cannot be fitted.
fn usable_breaks(breaks: &[f64], points: &[TimingPoint]) -> Vec<f64> {
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

/// The line of a piece, with intervals that enclose the times. A line that noise makes negative is replaced by its median as a constant.
fn piece_line(piece: &LinearPiece, fit: &PiecewiseLinear, points: &[TimingPoint]) -> Option<LinearCost> {
    let is_last = fit.pieces.last().is_some_and(|last| std::ptr::eq(last, piece));
    let first = points.first()?.bytes;
    let within: Vec<&TimingPoint> =
        points.iter().filter(|point| (piece.from < point.bytes || point.bytes == first) && point.bytes <= piece.to).collect();
    let spread = median(&within.iter().map(|point| point.spread).collect::<Vec<_>>()).unwrap_or(0.0);
    let at = |bytes: f64| piece.intercept.value + piece.slope.value * bytes;
    if at(piece.from) <= 0.0 || at(piece.to) <= 0.0 || (is_last && piece.slope.value < 0.0) {
        return constant_line(&within.iter().map(|point| point.seconds).collect::<Vec<_>>(), spread);
    }
    // The uncertainty of the fit and the variation between launches are independent, so they add in quadrature.
    let share = within.iter().map(|point| relative_error(piece, fit, point.bytes)).fold(0.0, f64::max).hypot(spread);
    // Beyond the measured sizes only the slope counts.
    let beyond = if is_last { relative_width(&piece.slope) } else { 0.0 };
    Some(LinearCost::new(value_around(piece.intercept.value, share)?, value_around(piece.slope.value, share.max(beyond))?))
}

/// The relative error of the time at a size, according to the fit.
fn relative_error(piece: &LinearPiece, fit: &PiecewiseLinear, bytes: f64) -> f64 {
    let middle = piece.intercept.value + piece.slope.value * bytes;
    let variance = piece.spread[0] + bytes * (2.0 * piece.covariance + bytes * piece.spread[1]);
    let quantile = if piece.spread[1] > 0.0 { (piece.slope.high - piece.slope.value) / piece.spread[1].sqrt() } else { 0.0 };
    // The scatter is estimated over all pieces, from enough points that two deviations cover 95 %.
    (quantile * variance.max(0.0).sqrt() / middle).hypot(2.0 * fit.scatter)
}

fn relative_width(estimate: &IntervalEstimate) -> f64 {
    if estimate.value == 0.0 { 0.0 } else { ((estimate.high - estimate.value) / estimate.value).abs() }
}

fn value_around(value: f64, share: f64) -> Option<UncertainValue> {
    let reach = share * value.abs();
    // A time that falls with size is noise as well, but a rising slope is not made to fall.
    let low = if value > 0.0 { (value - reach).max(0.0) } else { value - reach };
    UncertainValue::from_measurement(low, value, value + reach).ok()
}

/// A constant, for too few sizes.
fn constant_pieces(points: &[TimingPoint]) -> Option<PiecewiseCost> {
    let seconds: Vec<f64> = points.iter().map(|point| point.seconds).collect();
    let spread = points.iter().map(|point| point.spread).fold(0.0, f64::max);
    PiecewiseCost::from_line(constant_line(&seconds, spread)?).ok()
}

fn constant_line(seconds: &[f64], spread: f64) -> Option<LinearCost> {
    let middle = median(seconds).ok()?;
    let [least, most] = [seconds.iter().copied().fold(middle, f64::min), seconds.iter().copied().fold(middle, f64::max)];
    let intercept = UncertainValue::from_measurement((least * (1.0 - spread)).max(0.0), middle, most * (1.0 + spread)).ok()?;
    Some(LinearCost::new(intercept, UncertainValue::exact(0.0).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BenchQuantity;
    use crate::{MessageMetric, PairClass};

    fn samples(launches: usize, time: impl Fn(u64, usize) -> f64) -> Vec<BenchSample> {
        let quantity = BenchQuantity::Message { class: PairClass::OtherNode, what: MessageMetric::Send };
        let sizes = [0, 16, 64, 256, 1024, 2048, 4000, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
        let all = sizes.iter().flat_map(|bytes| (0..launches).map(move |launch| (*bytes, launch)));
        all.map(|(bytes, launch)| BenchSample::from_values(quantity, bytes, &[time(bytes, launch); 7]).unwrap()).collect()
    }

    fn points(samples: &[BenchSample]) -> SamplesBySize<'_> {
        let mut points = SamplesBySize::new();
        samples.iter().for_each(|sample| points.entry(sample.bytes).or_default().push(sample));
        points
    }

    fn two_lines(bytes: u64) -> f64 {
        if bytes <= 4000 { 1e-6 + 1e-10 * bytes as f64 } else { 5e-6 + 2e-10 * bytes as f64 }
    }

    #[test]
    fn the_threshold_is_a_break_and_the_lines_are_found() {
        let samples = samples(1, |bytes, _| two_lines(bytes));
        let timing = fit_timing(&points(&samples), &[4000]).unwrap();
        let [(bound, line)] = timing.pieces.bounded() else { panic!("{timing:?}") };
        assert_eq!((bound.middle(), bound.is_exact()), (4000.0, true));
        assert!((line.intercept.middle() - 1e-6).abs() < 1e-9 && (timing.pieces.last().slope.middle() - 2e-10).abs() < 1e-13);
        let measured = timing.measured.unwrap();
        assert_eq!((measured.bytes, measured.sizes, measured.samples), ([0, 131_072], 13, 91));
        assert!(measured.worst_error_percent < 0.1, "{measured:?}");
    }

    #[test]
    fn a_threshold_at_the_edge_does_not_affect_others() {
        let samples = samples(1, |bytes, _| two_lines(bytes));
        let timing = fit_timing(&points(&samples), &[4000, 131_072]).unwrap();
        assert_eq!(timing.pieces.bounded().iter().map(|(bound, _)| bound.middle()).collect::<Vec<_>>(), [4000.0]);
    }

    #[test]
    fn noise_does_not_add_pieces() {
        // The protocol changes at 4000 bytes; 4 % noise that differs between benchmark runs.
        let pieces = |bench: u64| {
            let mut random = sintonia_fit::SplitMix64::new(bench);
            let noise: Vec<f64> = (0..13).map(|_| 1.0 + 0.04 * random.standard_normal()).collect();
            let samples = samples(1, |bytes, _| two_lines(bytes) * noise[(bytes as usize + 1).ilog2() as usize % 13]);
            fit_timing(&points(&samples), &[4000]).unwrap().pieces.bounded().len() + 1
        };
        assert_eq!([1, 2, 3, 4, 5, 6].map(pieces), [2; 6]);
    }

    #[test]
    fn close_sizes_are_merged() {
        let point = |bytes: f64, seconds: f64| TimingPoint { bytes, seconds, spread: 0.0 };
        let points = [point(1021.0, 1.0), point(1024.0, 3.0), point(1027.0, 2.0), point(1536.0, 5.0)];
        let merged = |breaks: &[f64]| merge_close(&points, breaks).iter().map(|point| (point.bytes, point.seconds)).collect::<Vec<_>>();
        assert_eq!(merged(&[]), [(1024.0, 2.0), (1536.0, 5.0)]);
        assert_eq!(merged(&[1024.0]), [(1022.5, 2.0), (1027.0, 2.0), (1536.0, 5.0)]);
    }

    #[test]
    fn launches_that_differ_widen_the_interval() {
        let samples = samples(3, |bytes, launch| two_lines(bytes) * [0.9, 1.0, 1.1][launch]);
        let timing = fit_timing(&points(&samples), &[4000]).unwrap();
        let slope = timing.pieces.last().slope;
        assert!(slope.low() < 0.85 * slope.middle() && slope.high() > 1.15 * slope.middle(), "{slope:?}");
    }

    #[test]
    fn one_size_gives_a_constant() {
        let samples = samples(2, |_, launch| 1e-6 * (1 + launch) as f64);
        let one: Vec<BenchSample> = samples.into_iter().filter(|sample| sample.bytes == 0).collect();
        let timing = fit_timing(&points(&one), &[]).unwrap();
        assert!(timing.pieces.bounded().is_empty() && timing.pieces.last().slope.is_exact());
        assert!(timing.pieces.at(0.0)[0] <= 1e-6 && timing.pieces.at(0.0)[2] >= 2e-6);
    }

    #[test]
    fn noise_makes_no_time_negative() {
        let samples = samples(1, |bytes, _| if bytes == 131_072 { 1e-7 } else { 1e-6 });
        let timing = fit_timing(&points(&samples), &[]).unwrap();
        assert!(timing.pieces.at(1e9)[1] >= 0.0, "{timing:?}");
    }
}
