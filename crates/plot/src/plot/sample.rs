//! Plots for tests.

use super::*;

/// Laine, Table 1: send and receive times by message size, both in two pieces.
pub(super) fn laine() -> Plot {
    let sizes =
        [6824, 13652, 21844, 43688, 65536, 131072, 218452, 349524, 524288, 1048576, 1747624, 3495252, 5592404].map(|n: u32| f64::from(n));
    let send = [
        540.280, 1130.440, 1830.230, 3686.130, 5726.130, 13198.730, 20629.029, 31766.000, 46636.770, 91211.102, 150591.703, 299122.563,
        477389.344,
    ];
    let receive = [
        589.330, 1173.100, 1873.660, 3733.970, 5593.890, 13246.380, 20704.529, 31851.359, 46744.352, 91303.109, 150686.453, 299219.250,
        477482.906,
    ];
    let pieces = |below: (f64, f64), above: (f64, f64)| {
        move |n: f64| {
            let (slope, intercept) = if n <= 65536.0 { below } else { above };
            (slope * n + intercept) * 1e-6
        }
    };
    let sent = pieces((0.0879182, -82.0523), (0.0849931, 2065.49));
    let received = pieces((0.0852, 9.706), (0.0849968, 2146.19));
    let measured = |times: [f64; 13]| -> Vec<MeasuredPoint> {
        let point = |(x, y): (f64, f64)| MeasuredPoint { x, y: y * 1e-6, error_bar: Some((y * 0.97e-6, y * 1.04e-6)) };
        sizes.into_iter().zip(times).map(point).collect()
    };
    let curve = |formula: &dyn Fn(f64) -> f64| {
        let mut curve = sample_curve(6824.0, 65536.0, formula);
        curve.push(GAP);
        curve.extend(sample_curve(65537.0, 5592404.0, formula));
        SeriesMark::Curve(curve)
    };
    let (sends, receives) = (measured(send), measured(receive));
    let [first, second] = [SeriesStyle::Indexed(0), SeriesStyle::Indexed(1)];
    let residuals = vec![
        PlotSeries::new("send", first, SeriesMark::Points(residuals(&sends, sent))),
        PlotSeries::new("receive", second, SeriesMark::Points(residuals(&receives, received))),
    ];
    let series = vec![
        PlotSeries::new("send", first, SeriesMark::Points(sends)),
        PlotSeries::new("send", first, curve(&sent)),
        PlotSeries::new("receive", second, SeriesMark::Points(receives)),
        PlotSeries::new("receive", second, curve(&received)),
        PlotSeries::new(
            "breakpoint",
            SeriesStyle::Reference,
            SeriesMark::VerticalLines(vec![VerticalLine { x: 65536.0, interval: Some((65536.0, 131072.0)), label: "64 KiB".into() }]),
        ),
    ];
    Plot {
        title: "Standard send and receive".into(),
        notes: vec!["13 sizes, 2 pieces each".into()],
        x: AxisSpec::new("message size", AxisUnit::Bytes),
        y: AxisSpec::new("time per call", AxisUnit::Seconds),
        series,
        residuals,
    }
}

/// Speed-up of a master-worker program with the ideal, measured up to 8 processes.
pub(super) fn speed_up() -> Plot {
    let speed = |p: f64| 41.0 * p / (40.0 + p);
    let band = sample_curve(1.0, 256.0, |p| p).into_iter().map(|(x, _)| {
        let width = 0.02 + 0.05 * (x / 8.0).ln().max(0.0);
        BandPoint { x, low: speed(x) * (1.0 - width), high: speed(x) * (1.0 + width) }
    });
    let points = [(1.0, 1.0), (2.0, 1.96), (4.0, 3.7), (8.0, 6.85)];
    let points = points.map(|(x, y)| MeasuredPoint { x, y, error_bar: Some((y * 0.98, y * 1.02)) }).to_vec();
    let style = SeriesStyle::Indexed(0);
    let series = vec![
        PlotSeries::new("95 % of runs", style, SeriesMark::Band(band.collect())),
        PlotSeries::new("ideal", SeriesStyle::Reference, SeriesMark::Curve(sample_curve(1.0, 256.0, |p| p))),
        PlotSeries::new("predicted", style, SeriesMark::Curve(sample_curve(1.0, 256.0, speed))),
        PlotSeries::new("measured", style, SeriesMark::Points(points)),
    ];
    let [x, y] = [("processes", AxisUnit::Count), ("speed-up", AxisUnit::Number)]
        .map(|(label, unit)| AxisSpec { scale: ScaleType::Log, ..AxisSpec::new(label, unit) });
    Plot { title: "Speed-up".into(), notes: Vec::new(), x, y, series, residuals: Vec::new() }
}
