//! Plots for tests.

use super::*;

/// Laine, Table 1: send and receive against message size, both in two pieces.
pub fn laine() -> Plot {
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
    let measured = |times: [f64; 13]| -> Vec<Measured> {
        let point = |(x, y): (f64, f64)| Measured { x, y: y * 1e-6, between: Some((y * 0.97e-6, y * 1.04e-6)) };
        sizes.into_iter().zip(times).map(point).collect()
    };
    let curve = |formula: &dyn Fn(f64) -> f64| {
        let mut curve = sampled(6824.0, 65536.0, formula);
        curve.push(GAP);
        curve.extend(sampled(65537.0, 5592404.0, formula));
        Shape::Curve(curve)
    };
    let (sends, receives) = (measured(send), measured(receive));
    let [first, second] = [Ink::Number(0), Ink::Number(1)];
    let residuals = vec![
        Series::new("send", first, Shape::Points(residuals(&sends, sent))),
        Series::new("receive", second, Shape::Points(residuals(&receives, received))),
    ];
    let series = vec![
        Series::new("send", first, Shape::Points(sends)),
        Series::new("send", first, curve(&sent)),
        Series::new("receive", second, Shape::Points(receives)),
        Series::new("receive", second, curve(&received)),
        Series::new(
            "breakpoint",
            Ink::Reference,
            Shape::Marks(vec![Mark { at: 65536.0, between: Some((65536.0, 131072.0)), name: "64 KiB".into() }]),
        ),
    ];
    Plot {
        title: "Standard send and receive".into(),
        notes: vec!["13 sizes, 2 pieces each".into()],
        x: Axis::new("message size", Unit::Bytes),
        y: Axis::new("time per call", Unit::Seconds),
        series,
        residuals,
    }
}

/// Speed-up of a master and workers beside the ideal, measured up to 8 processes.
pub fn speed_up() -> Plot {
    let speed = |p: f64| 41.0 * p / (40.0 + p);
    let band = sampled(1.0, 256.0, |p| p).into_iter().map(|(x, _)| {
        let width = 0.02 + 0.05 * (x / 8.0).ln().max(0.0);
        Spread { x, low: speed(x) * (1.0 - width), high: speed(x) * (1.0 + width) }
    });
    let points = [(1.0, 1.0), (2.0, 1.96), (4.0, 3.7), (8.0, 6.85)];
    let points = points.map(|(x, y)| Measured { x, y, between: Some((y * 0.98, y * 1.02)) }).to_vec();
    let ink = Ink::Number(0);
    let series = vec![
        Series::new("95 % of runs", ink, Shape::Band(band.collect())),
        Series::new("ideal", Ink::Reference, Shape::Curve(sampled(1.0, 256.0, |p| p))),
        Series::new("predicted", ink, Shape::Curve(sampled(1.0, 256.0, speed))),
        Series::new("measured", ink, Shape::Points(points)),
    ];
    let [x, y] =
        [("processes", Unit::Whole), ("speed-up", Unit::Number)].map(|(label, unit)| Axis { scale: Scale::Log, ..Axis::new(label, unit) });
    Plot { title: "Speed-up".into(), notes: Vec::new(), x, y, series, residuals: Vec::new() }
}
