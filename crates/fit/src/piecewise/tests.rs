//! Known breakpoints and lines are recovered from published tables and from noise.

use super::*;
use crate::split_mix::SplitMix64;

/// Table 1 of Laine and Midorikawa (2003): microseconds to send and to receive n bytes, Fast Ethernet, LAM-MPI 6.4.
const SIZES: [f64; 13] =
    [6824., 13652., 21844., 43688., 65536., 131072., 218452., 349524., 524288., 1048576., 1747624., 3495252., 5592404.];
const SEND: [f64; 13] = [
    540.280, 1130.440, 1830.230, 3686.130, 5726.130, 13198.730, 20629.029, 31766.000, 46636.770, 91211.102, 150591.703, 299122.563,
    477389.344,
];
const RECEIVE: [f64; 13] = [
    589.330, 1173.100, 1873.660, 3733.970, 5593.890, 13246.380, 20704.529, 31851.359, 46744.352, 91303.109, 150686.453, 299219.250,
    477482.906,
];

fn pairs(y: &[f64]) -> Vec<(f64, f64)> {
    SIZES.iter().copied().zip(y.iter().copied()).collect()
}

fn five_digits(value: f64, printed: f64) -> bool {
    (value - printed).abs() <= 0.5e-4 * printed.abs()
}

#[test]
fn the_published_pieces_of_table_1_are_found_with_their_break_at_65536() {
    let ordinary = PiecewiseOptions { weights: ErrorWeighting::Ordinary, ..PiecewiseOptions::default() };
    let send = PiecewiseLinear::fit(&pairs(&SEND), &ordinary).unwrap();
    assert_eq!(send.breaks.iter().map(|b| b.at).collect::<Vec<_>>(), vec![65536.0]);
    for (piece, (slope, intercept)) in send.pieces.iter().zip([(0.0879182, -82.0523), (0.0849931, 2065.49)]) {
        assert!(five_digits(piece.slope.value, slope), "{piece:?}");
        assert!(five_digits(piece.intercept.value, intercept), "{piece:?}");
        assert!(piece.slope.low < slope && slope < piece.slope.high);
    }
    let receive = PiecewiseLinear::fit(&pairs(&RECEIVE), &ordinary).unwrap();
    assert_eq!(receive.breaks.iter().map(|b| b.at).collect::<Vec<_>>(), vec![65536.0]);
    // The paper prints the first slope as 0.0852; least squares on its own rows gives these digits.
    for (piece, (slope, intercept)) in receive.pieces.iter().zip([(0.08522554, 9.70620), (0.0849968, 2146.19)]) {
        assert!(five_digits(piece.slope.value, slope), "{piece:?}");
        assert!(five_digits(piece.intercept.value, intercept), "{piece:?}");
    }
}

#[test]
fn pieces_are_written_as_the_paper_writes_them() {
    let send = PiecewiseLinear::fit(&pairs(&SEND), &PiecewiseOptions { weights: ErrorWeighting::Ordinary, ..PiecewiseOptions::default() })
        .unwrap();
    let formula = send.formula("n");
    assert!(formula.to_string().starts_with("pieces(n, up to 65536: 0.08791"), "{formula}");
    let at = |n: f64| formula.evaluate(&sintonia_formula::SymbolValues::new().with_value("n", n)).unwrap();
    assert!((at(65536.0) - send.predict(65536.0)[1]).abs() < 0.01);
    assert!((at(65537.0) - send.predict(65537.0)[1]).abs() < 0.01);
}

#[test]
fn relative_weights_find_the_same_break_in_table_1() {
    for column in [SEND, RECEIVE] {
        let fit = PiecewiseLinear::fit(&pairs(&column), &PiecewiseOptions::default()).unwrap();
        assert_eq!(fit.breaks.iter().map(|b| b.at).collect::<Vec<_>>(), vec![65536.0]);
        assert!(fit.error_percent < 1.0, "{}", fit.error_percent);
    }
}

/// A network with three protocols, measured with a relative error.
fn protocols(noise: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut random = SplitMix64::new(seed);
    (0..121).map(|i| (3.0 + f64::from(i) / 6.0).exp2().round()).map(|x| (x, truth(x) * (noise * random.standard_normal()).exp())).collect()
}

fn truth(x: f64) -> f64 {
    match x {
        x if x <= 1024.0 => 1.5 + 0.002 * x,
        x if x <= 65536.0 => 3.0 + 0.0012 * x,
        _ => 40.0 + 0.0007 * x,
    }
}

#[test]
fn breaks_are_found_and_their_intervals_hold_the_truth() {
    let (mut held, mut right) = (0, 0);
    for seed in 0..50 {
        let fit = PiecewiseLinear::fit(&protocols(0.01, seed), &PiecewiseOptions::default()).unwrap();
        right += usize::from(fit.pieces.len() == 3);
        for at in [1024.0, 65536.0] {
            held += usize::from(fit.breaks.iter().any(|found| found.interval.low <= at && at <= found.interval.high));
        }
    }
    assert!(right >= 47, "{right} of 50 have the right number of pieces");
    assert!(held >= 93, "{held} of 100 breaks lie in their interval");
}

#[test]
fn a_smooth_curve_without_noise_is_not_cut_without_end() {
    let curve: Vec<(f64, f64)> = (0..200).map(|i| (2.0 + f64::from(i) * 0.08).exp2()).map(|x| (x, 1.0 + 0.01 * x.powf(0.9))).collect();
    let kept = PiecewiseLinear::fit(&curve, &PiecewiseOptions::default()).unwrap();
    let greedy = PiecewiseLinear::fit(&curve, &PiecewiseOptions { min_relative_change: 0.0, ..PiecewiseOptions::default() }).unwrap();
    assert!(kept.pieces.len() <= 8 && greedy.pieces.len() > kept.pieces.len(), "{} and {}", kept.pieces.len(), greedy.pieces.len());
    assert!(kept.error_percent < 1.0, "{}", kept.error_percent);
}

#[test]
fn a_demanded_break_is_kept_even_where_nothing_happens() {
    let line: Vec<(f64, f64)> = (1..40).map(|i| (f64::from(i) * 100.0, 5.0 + f64::from(i))).collect();
    let fit = PiecewiseLinear::fit(&line, &PiecewiseOptions { required_breakpoints: vec![1050.0], ..PiecewiseOptions::default() }).unwrap();
    assert_eq!(fit.breaks.len(), 1);
    assert_eq!(fit.breaks[0].at, 1050.0);
    assert!(fit.breaks[0].demanded);
    assert_eq!(PiecewiseLinear::fit(&line, &PiecewiseOptions::default()).unwrap().breaks.len(), 0);
}

#[test]
fn predictions_hold_new_measurements_as_often_as_they_say() {
    let (mut held, mut asked) = (0, 0);
    for seed in 0..40 {
        let fit = PiecewiseLinear::fit(&protocols(0.03, seed), &PiecewiseOptions::default()).unwrap();
        for (x, y) in protocols(0.03, seed + 1000) {
            let [low, _, high] = fit.predict(x);
            held += i32::from(low <= y && y <= high);
            asked += 1;
        }
    }
    let share = f64::from(held) / f64::from(asked);
    assert!((0.92..0.98).contains(&share), "{share}");
}

#[test]
fn each_kind_of_bad_input_has_its_own_error() {
    let fit = |points: &[(f64, f64)], breaks: &[f64]| {
        PiecewiseLinear::fit(points, &PiecewiseOptions { required_breakpoints: breaks.to_vec(), ..PiecewiseOptions::default() })
            .unwrap_err()
    };
    assert_eq!(fit(&[(1.0, 1.0), (2.0, 1.0)], &[]), PiecewiseError::TooFewPoints { have: 2, need: 3 });
    assert_eq!(fit(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)], &[]), PiecewiseError::NotPositive { x: 2.0, y: 0.0 });
    assert!(matches!(fit(&[(f64::NAN, 1.0), (2.0, 1.0), (3.0, 1.0)], &[]), PiecewiseError::InvalidSize(_)));
    assert!(matches!(fit(&[(1e300, 1.0), (2.0, 1.0), (3.0, 1.0)], &[]), PiecewiseError::InvalidSize(_)));
    assert!(matches!(fit(&[(1.0, 1e-200), (2.0, 1.0), (3.0, 1.0)], &[]), PiecewiseError::NotPositive { .. }));
    let repeated = fit(&[(1.0, 1.0), (1.0, 1.1), (2.0, 1.0), (3.0, 1.0)], &[1.5]);
    assert_eq!(repeated, PiecewiseError::TooFewInRegion { have: 1, above: None, up_to: Some(1.5) });
    let beyond = fit(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], &[10.0]);
    assert_eq!(beyond, PiecewiseError::TooFewInRegion { have: 0, above: Some(10.0), up_to: None });
}

#[test]
fn values_of_one_size_stay_in_one_piece() {
    // Five values at each of five sizes, spread so that splitting within a size would pay.
    let points: Vec<(f64, f64)> =
        (1..=5).flat_map(|size| (0..5).map(move |k| (f64::from(size), if k < 3 { 1.0 } else { 9.0 } + f64::from(size)))).collect();
    let fit = PiecewiseLinear::fit(&points, &PiecewiseOptions { min_points: 2, min_relative_change: 0.0, ..PiecewiseOptions::default() })
        .unwrap();
    assert!(fit.pieces.iter().all(|piece| piece.points >= 10), "{:?}", fit.pieces);
}
