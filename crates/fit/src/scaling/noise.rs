//! What repetitions say of the value at each point and of the noise.
//!
//! The mean is the sharpest summary of well-behaved repetitions and the worst of those with a value far out. So a point's value is its
//! mean, unless one of its repetitions lies far outside of what the repetitions of all points make usual: then it is its median, and the
//! repetition is told.

use super::MOST_PARAMETERS;
use super::prior::Nature;
use crate::measurements::Measurements;
use crate::sample::{mean, quantile};
use crate::stats::fisher_above;

/// How many spreads from the middle a repetition is told as an outlier.
const FAR: f64 = 5.0;
/// How many points the noise known from repetitions is worth; runs differ by more than the repetitions in them, so not many.
const MOST_FREEDOM: f64 = 5.0;
/// What the noise is thought to be, relative to the value, when nothing was repeated.
const UNKNOWN: f64 = 0.005;
/// How the noise may grow with the value, and how much each is believed before measuring.
const GROWTHS: [(f64, f64); 5] = [(0.0, 0.2), (0.25, 0.05), (0.5, 0.1), (0.75, 0.05), (1.0, 0.6)];
/// No clock and no machine is steadier than this.
const LEAST: f64 = 1e-4;

/// The points' values and what their repetitions say of the noise.
#[derive(Debug, Clone)]
pub struct Summarised {
    /// The value of each point.
    pub values: Vec<f64>,
    /// What the value of each point is thought to be, which its weight follows.
    thought: Vec<f64>,
    /// The geometric mean of those.
    typical: f64,
    /// The relative spread of single repetitions, if there are any.
    pub repetitions: Option<f64>,
    /// How the noise grows with the value, by the repetitions: 1 if in proportion, 0 if not at all.
    pub growth: Option<f64>,
    /// How many repetitions lie far outside.
    pub outliers: usize,
    /// Sum of squares around the mean and their number less one, of each point without outliers.
    scatter: Vec<(f64, f64)>,
    /// The mean of one over the number of repetitions.
    share: f64,
    /// What the parameters are.
    pub natures: [Nature; MOST_PARAMETERS],
}

/// What is known of the noise before anything is fitted.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The variance of a point's value, times its weight.
    pub variance: f64,
    /// How many points that knowledge is worth.
    pub freedom: f64,
}

impl Summarised {
    pub fn of(measurements: &Measurements) -> Self {
        let points = measurements.points();
        let mut sorted = Vec::new();
        let middles: Vec<f64> = points.iter().map(|p| middle(&p.values, &mut sorted)).collect();
        let limit = FAR * usual_spread(measurements, &middles);
        let mut summary = Self {
            values: Vec::with_capacity(points.len()),
            thought: Vec::new(),
            typical: 1.0,
            repetitions: None,
            growth: None,
            outliers: 0,
            scatter: Vec::with_capacity(points.len()),
            share: 0.0,
            natures: measurements.natures(),
        };
        for (point, &middle) in points.iter().zip(&middles) {
            let far = point.values.iter().filter(|v| (**v - middle).abs() > limit * middle).count();
            let count = point.values.len() as f64;
            summary.share += 1.0 / count / points.len() as f64;
            summary.outliers += far;
            let value = if far > 0 { middle } else { mean(&point.values) };
            let squares = point.values.iter().map(|v| (v - value).powi(2)).sum::<f64>();
            summary.values.push(value);
            summary.scatter.push(if far > 0 { (0.0, 0.0) } else { (squares, count - 1.0) });
        }
        summary.thought.clone_from(&summary.values);
        summary.typical = geometric_mean(&summary.values);
        summary.repetitions = summary.variance_of_repetitions(&summary.root_weights(1.0)).map(f64::sqrt);
        summary.growth = summary.find_growth();
        summary
    }

    /// The square roots of the points' weights if the noise grows like this power of the value.
    ///
    /// They are scaled so that weighted errors are relative errors at a typical point, whatever the growth.
    pub fn root_weights(&self, growth: f64) -> Vec<f64> {
        self.thought.iter().map(|y| 1.0 / (raised(y / self.typical, growth) * self.typical)).collect()
    }

    /// The same with weights that follow what a first fit says of the points, since weights that follow noisy values favour low ones.
    pub fn thought_again(&self, relative_errors: &[f64]) -> Self {
        let thought: Vec<f64> = self.values.iter().zip(relative_errors).map(|(y, e)| y * (1.0 + e.clamp(-0.7, 2.0))).collect();
        Self { typical: geometric_mean(&thought), thought, ..self.clone() }
    }

    /// What the repetitions say of the variance of a point's value.
    pub fn known(&self, root_weights: &[f64]) -> Known {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        match self.variance_of_repetitions(root_weights) {
            Some(single) => Known { variance: single * self.share, freedom: freedom.min(MOST_FREEDOM) },
            None => Known { variance: UNKNOWN * UNKNOWN, freedom: 1.0 },
        }
    }

    /// How likely noise alone leaves so many times the variance that the repetitions say; 1 if nothing was repeated.
    pub fn chance(&self, times: f64, freedom: f64) -> f64 {
        let repeated: f64 = self.scatter.iter().map(|s| s.1).sum();
        if repeated > 0.0 { fisher_above(times, freedom, repeated) } else { 1.0 }
    }

    fn variance_of_repetitions(&self, root_weights: &[f64]) -> Option<f64> {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        let squares: f64 = self.scatter.iter().zip(root_weights).map(|(s, w)| s.0 * w * w).sum();
        (freedom > 0.0).then(|| (squares / freedom).max(LEAST * LEAST))
    }

    /// The growth of the noise that the repetitions suggest; in proportion to the value unless they say otherwise.
    fn find_growth(&self) -> Option<f64> {
        let freedom: f64 = self.scatter.iter().map(|s| s.1).sum();
        if freedom < 8.0 {
            return None;
        }
        let scale: f64 = self.scatter.iter().zip(&self.thought).map(|(s, y)| s.1 * (y / self.typical).ln()).sum();
        let likelihood =
            |growth: f64| Some(-growth * scale - 0.5 * freedom * self.variance_of_repetitions(&self.root_weights(growth))?.ln());
        let likely = GROWTHS.into_iter().filter_map(|(growth, belief)| Some((growth, likelihood(growth)? + belief.ln())));
        likely.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(growth, _)| growth)
    }
}

/// A power, which is a root or the number itself for the growths that are tried.
fn raised(number: f64, power: f64) -> f64 {
    match power {
        0.0 => 1.0,
        0.25 => number.sqrt().sqrt(),
        0.5 => number.sqrt(),
        0.75 => number.sqrt() * number.sqrt().sqrt(),
        1.0 => number,
        power => number.powf(power),
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|y| y.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// The median; `sorted` is room for the values.
fn middle(values: &[f64], sorted: &mut Vec<f64>) -> f64 {
    sorted.clear();
    sorted.extend_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(sorted, 0.5)
}

/// The usual relative distance of a repetition from its point's middle, as a standard deviation; infinite with too few to tell.
fn usual_spread(measurements: &Measurements, middles: &[f64]) -> f64 {
    let repeated = measurements.points().iter().zip(middles).filter(|(p, _)| p.values.len() >= 3);
    let mut distances: Vec<f64> = repeated.flat_map(|(p, m)| p.values.iter().map(move |v| (v / m - 1.0).abs())).collect();
    if distances.len() < 9 {
        return f64::INFINITY;
    }
    // The middle value itself is at distance zero, which makes the median of few distances too small: the upper quartile is steadier.
    let place = (distances.len() - 1) * 3 / 4;
    let (_, quartile, _) = distances.select_nth_unstable_by(place, f64::total_cmp);
    (*quartile / 1.15).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::Point;

    fn measured(values: &[&[f64]]) -> Measurements {
        let points = values.iter().enumerate().map(|(i, v)| Point { at: vec![i as f64 + 1.0], values: v.to_vec() }).collect();
        Measurements::new(vec!["n".into()], points).unwrap()
    }

    #[test]
    fn a_point_is_its_mean_unless_a_repetition_lies_far_out() {
        let steady = [9.9, 10.0, 10.4];
        let summary = Summarised::of(&measured(&[&steady, &steady, &steady, &[10.0, 10.1, 30.0]]));
        assert!((summary.values[0] - 10.1).abs() < 1e-12);
        assert_eq!(summary.values[3], 10.1);
        assert_eq!(summary.outliers, 1);
    }

    #[test]
    fn without_repetitions_the_noise_is_a_guess_worth_one_point() {
        let summary = Summarised::of(&measured(&[&[1.0], &[2.0], &[3.0]]));
        assert_eq!(summary.repetitions, None);
        assert_eq!(summary.known(&summary.root_weights(1.0)).freedom, 1.0);
    }
}
