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
    Axis { reference, ln: values.iter().map(|v| (v / reference).ln()).collect(), logs: Log::ALL.map(relative), place }
}
