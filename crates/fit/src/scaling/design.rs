//! The measured settings laid out for fitting: each parameter is an axis with few distinct values.
//!
//! Powers are computed only at the distinct values of an axis (usually five), not at every point. Parameters are relative to their largest
//! value, so columns are of the order of one and a coefficient is the share of its term at the far corner.

use super::hypothesis::LogFactor;
use crate::measurements::Measurements;

/// One parameter.
#[derive(Debug, Clone)]
pub struct ParameterAxis {
    /// The largest value, which all others are relative to.
    pub reference: f64,
    /// The smallest value.
    pub smallest: f64,
    /// ln(x / reference) of the distinct values.
    pub log_ratios: Vec<f64>,
    /// Each kind of logarithm of the distinct values relative to that of the reference, where it is meaningful.
    logs: [Option<Vec<f64>>; 4],
    /// Index of each point's value among the distinct values.
    pub level_index: Vec<u32>,
}

impl ParameterAxis {
    /// The number of distinct values.
    pub fn len(&self) -> usize {
        self.log_ratios.len()
    }

    /// The number of distinct values that occur in a point.
    fn n_present_levels(&self) -> usize {
        let mut present = vec![false; self.len()];
        self.level_index.iter().for_each(|level| present[*level as usize] = true);
        present.iter().filter(|p| **p).count()
    }

    /// The kinds of logarithm that are meaningful.
    pub fn logs(&self) -> impl Iterator<Item = LogFactor> {
        LogFactor::ALL.into_iter().filter(|log| self.logs[*log as usize].is_some())
    }

    /// A factor at one of the distinct values.
    pub fn factor(&self, level: usize, exponent: f64, log: LogFactor) -> f64 {
        let power = (exponent * self.log_ratios[level]).exp();
        self.logs[log as usize].as_ref().map_or(power, |l| power * l[level])
    }
}

/// All settings.
#[derive(Debug, Clone)]
pub struct ExperimentDesign {
    pub axes: Vec<ParameterAxis>,
    /// The number of points.
    pub n_points: usize,
}

impl ExperimentDesign {
    pub fn from_measurements(measurements: &Measurements) -> Self {
        let axes = (0..measurements.parameters().len()).map(|p| build_axis(measurements, p)).collect();
        Self { axes, n_points: measurements.points().len() }
    }

    /// Some of the points, on the same axes.
    pub fn select_points(&self, kept: &[usize]) -> Self {
        let axes = self
            .axes
            .iter()
            .map(|axis| ParameterAxis { level_index: kept.iter().map(|i| axis.level_index[*i]).collect(), ..axis.clone() })
            .collect();
        Self { axes, n_points: kept.len() }
    }

    /// About `most` points spread over all axes, with a stride coprime to the lengths of the axes.
    pub fn subsample(&self, most: usize) -> Vec<usize> {
        let lengths: Vec<usize> = self.axes.iter().map(ParameterAxis::n_present_levels).collect();
        let mut stride = self.n_points.div_ceil(most).max(1);
        while lengths.iter().any(|length| greatest_common_divisor(*length, stride) > 1) {
            stride += 1;
        }
        (0..self.n_points).step_by(stride).collect()
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn build_axis(measurements: &Measurements, parameter: usize) -> ParameterAxis {
    let values = measurements.distinct_values(parameter);
    let level = measurements.points().iter().map(|p| values.partition_point(|v| *v < p.at[parameter]) as u32).collect();
    let reference = values.last().copied().unwrap_or(1.0);
    // Logarithms of values below one are negative, and that of one is zero: no cost has such a factor.
    let loggable = values.first().is_some_and(|v| *v >= 1.0) && reference > 1.0;
    let offered = |log: LogFactor| match log {
        LogFactor::None => true,
        LogFactor::Log2 | LogFactor::Log2Squared => loggable,
        // On powers of two only, the rounded logarithm equals the logarithm.
        LogFactor::CeilLog2 => loggable && values.iter().any(|v| v.log2().fract() != 0.0),
    };
    let relative = |log: LogFactor| offered(log).then(|| values.iter().map(|v| log.eval(*v) / log.eval(reference)).collect());
    let smallest = values.first().copied().unwrap_or(1.0);
    ParameterAxis {
        reference,
        smallest,
        log_ratios: values.iter().map(|v| (v / reference).ln()).collect(),
        logs: LogFactor::ALL.map(relative),
        level_index: level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::DataPoint;

    #[test]
    fn thinned_points_keep_all_values_of_all_axes_about_equally_often() {
        let setting = |k: usize| (0..4).map(|axis| 1.0 + (k / 5usize.pow(axis) % 5) as f64).collect();
        let points = (0..625).map(|k| DataPoint { at: setting(k), values: vec![1.0] }).collect();
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let design = ExperimentDesign::from_measurements(&Measurements::new(names, points).unwrap());
        let kept = design.subsample(120);
        assert!((80..=120).contains(&kept.len()), "{}", kept.len());
        let fewer = design.select_points(&kept);
        for axis in &fewer.axes {
            for value in 0..5 {
                let times = axis.level_index.iter().filter(|level| **level == value).count();
                assert!((kept.len() / 8..=kept.len() / 3).contains(&times), "{times} of {}", kept.len());
            }
        }
        assert_eq!(design.subsample(1000).len(), 625);
    }
}
