//! The measured settings, laid out for fitting: every parameter as an axis of few different values.
//!
//! Powers are needed at the different values of an axis only (five, usually), not at every point. Parameters are taken relative to their
//! largest value, so that all columns are of the order of one and a coefficient is the share of its term at the far corner.

use super::family::Log;
use crate::measurements::Measurements;

/// One parameter.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The largest value, which all others are relative to.
    pub reference: f64,
    /// The smallest value.
    pub smallest: f64,
    /// ln(x / reference) of the different values.
    pub ln: Vec<f64>,
    /// Each kind of logarithm of the different values, relative to that of the reference, as far as it makes sense.
    logs: [Option<Vec<f64>>; 4],
    /// Which of the different values each point has.
    pub place: Vec<u32>,
}

impl Axis {
    /// The number of different values.
    pub fn len(&self) -> usize {
        self.ln.len()
    }

    /// The number of different values that a point has.
    fn present(&self) -> usize {
        let mut present = vec![false; self.len()];
        self.place.iter().for_each(|place| present[*place as usize] = true);
        present.iter().filter(|p| **p).count()
    }

    /// The kinds of logarithm that make sense.
    pub fn logs(&self) -> impl Iterator<Item = Log> {
        Log::ALL.into_iter().filter(|log| self.logs[*log as usize].is_some())
    }

    /// A factor at one of the different values.
    pub fn factor(&self, place: usize, exponent: f64, log: Log) -> f64 {
        let power = (exponent * self.ln[place]).exp();
        self.logs[log as usize].as_ref().map_or(power, |l| power * l[place])
    }
}

/// All settings.
#[derive(Debug, Clone)]
pub struct Design {
    pub axes: Vec<Axis>,
    /// The number of points.
    pub points: usize,
}

impl Design {
    pub fn of(measurements: &Measurements) -> Self {
        let axes = (0..measurements.parameters().len()).map(|p| axis(measurements, p)).collect();
        Self { axes, points: measurements.points().len() }
    }

    /// Some of the points, on the same axes.
    pub fn of_points(&self, kept: &[usize]) -> Self {
        let axes = self.axes.iter().map(|axis| Axis { place: kept.iter().map(|i| axis.place[*i]).collect(), ..axis.clone() }).collect();
        Self { axes, points: kept.len() }
    }

    /// About `most` points spread over all axes: every so many, where that has no factor in common with the lengths of the axes.
    pub fn thinned(&self, most: usize) -> Vec<usize> {
        let lengths: Vec<usize> = self.axes.iter().map(Axis::present).collect();
        let mut stride = self.points.div_ceil(most).max(1);
        while lengths.iter().any(|length| common_factor(*length, stride) > 1) {
            stride += 1;
        }
        (0..self.points).step_by(stride).collect()
    }
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

fn axis(measurements: &Measurements, parameter: usize) -> Axis {
    let values = measurements.values_of(parameter);
    let place = measurements.points().iter().map(|p| values.partition_point(|v| *v < p.at[parameter]) as u32).collect();
    let reference = values.last().copied().unwrap_or(1.0);
    // Logarithms of values below one are negative, and of a single one zero: no cost has such a factor.
    let loggable = values.first().is_some_and(|v| *v >= 1.0) && reference > 1.0;
    let offered = |log: Log| match log {
        Log::None => true,
        Log::Once | Log::Twice => loggable,
        // Between powers of two only, the whole logarithm is the logarithm.
        Log::Whole => loggable && values.iter().any(|v| v.log2().fract() != 0.0),
    };
    let relative = |log: Log| offered(log).then(|| values.iter().map(|v| log.of(*v) / log.of(reference)).collect());
    let smallest = values.first().copied().unwrap_or(1.0);
    Axis { reference, smallest, ln: values.iter().map(|v| (v / reference).ln()).collect(), logs: Log::ALL.map(relative), place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::Point;

    #[test]
    fn thinned_points_keep_all_values_of_all_axes_about_equally_often() {
        let setting = |k: usize| (0..4).map(|axis| 1.0 + (k / 5usize.pow(axis) % 5) as f64).collect();
        let points = (0..625).map(|k| Point { at: setting(k), values: vec![1.0] }).collect();
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let design = Design::of(&Measurements::new(names, points).unwrap());
        let kept = design.thinned(120);
        assert!((80..=120).contains(&kept.len()), "{}", kept.len());
        let fewer = design.of_points(&kept);
        for axis in &fewer.axes {
            for value in 0..5 {
                let times = axis.place.iter().filter(|place| **place == value).count();
                assert!((kept.len() / 8..=kept.len() / 3).contains(&times), "{times} of {}", kept.len());
            }
        }
        assert_eq!(design.thinned(1000).len(), 625);
    }
}
