//! Measurements of one quantity at several values of some parameters, checked once so that everything after may rely on them.

use crate::sample::median;
use crate::scaling::{MOST_PARAMETERS, Nature};
use serde::{Deserialize, Serialize};

/// What was measured at one setting of the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value of each parameter.
    pub at: Vec<f64>,
    /// The repetitions.
    pub values: Vec<f64>,
}

/// Measurements of one quantity: all numbers positive and of a sensible size, each setting once.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    parameters: Vec<String>,
    points: Vec<Point>,
    natures: [Nature; MOST_PARAMETERS],
}

/// The numbers that may be measured: far more than anyone measures, and far from overflow when squared.
pub(crate) const SENSIBLE: std::ops::RangeInclusive<f64> = 1e-60..=1e60;

/// Why measurements cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadMeasurements {
    /// There is no parameter.
    #[error("no parameter is named: name the column or the `--param` that changes from run to run")]
    NoParameter,
    /// Two parameters have the same name.
    #[error("two parameters are called `{0}`")]
    SameName(String),
    /// A point has more or fewer parameter values than there are parameters.
    #[error("point {} has {have} parameter values, {need} are named", index + 1)]
    WrongLength {
        /// Its place, from 0.
        index: usize,
        /// How many it has.
        have: usize,
        /// How many there are parameters.
        need: usize,
    },
    /// A point was not measured at all.
    #[error("nothing was measured at {at}")]
    Nothing {
        /// The point.
        at: String,
    },
    /// A value is zero or negative.
    #[error("the value {value} at {at} is not positive: a time of zero or less cannot be scaled; check the clock or the unit")]
    NotPositive {
        /// The point.
        at: String,
        /// The value.
        value: f64,
    },
    /// A value is not a number or infinite.
    #[error("a value at {at} is {value}, which is no measurement")]
    NotFinite {
        /// The point.
        at: String,
        /// The value.
        value: f64,
    },
    /// A value or a parameter is so large or so small that it is no measurement of anything.
    #[error("{value} at {at} is beyond all measuring: numbers must lie between 1e-60 and 1e60; check the unit")]
    Extreme {
        /// The point.
        at: String,
        /// The number.
        value: f64,
    },
    /// A parameter is zero, negative, infinite or not a number.
    #[error("parameter `{parameter}` is {value}: powers and logarithms need positive numbers")]
    BadParameter {
        /// Its name.
        parameter: String,
        /// Its value.
        value: f64,
    },
}

impl Measurements {
    /// Checks measurements and puts repetitions of the same setting together.
    pub fn new(parameters: Vec<String>, points: Vec<Point>) -> Result<Self, BadMeasurements> {
        if parameters.is_empty() {
            return Err(BadMeasurements::NoParameter);
        }
        if let Some(i) = (1..parameters.len()).find(|i| parameters[..*i].contains(&parameters[*i])) {
            return Err(BadMeasurements::SameName(parameters[i].clone()));
        }
        for (index, point) in points.iter().enumerate() {
            check(&parameters, index, point)?;
        }
        Ok(Self { parameters, points: together(points), natures: [Nature::Unknown; MOST_PARAMETERS] })
    }

    /// The same, where it is known what the parameters are.
    pub fn of_natures(mut self, natures: impl IntoIterator<Item = Nature>) -> Self {
        self.natures.iter_mut().zip(natures).for_each(|(own, nature)| *own = nature);
        self
    }

    /// What the parameters are.
    pub fn natures(&self) -> [Nature; MOST_PARAMETERS] {
        self.natures
    }

    /// The names of the parameters.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// The points, sorted by their parameters.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Pairs of the parameter's value and the median, if there is one parameter only.
    pub fn medians(&self) -> Option<Vec<(f64, f64)>> {
        (self.parameters.len() == 1).then(|| {
            self.points.iter().map(|p| (p.at[0], median(&p.values).expect("values were checked to be finite and not empty"))).collect()
        })
    }

    /// The points at which a parameter is not smaller than this.
    pub(crate) fn from(&self, parameter: usize, least: f64) -> Self {
        let points = self.points.iter().filter(|p| p.at[parameter] >= least).cloned().collect();
        Self { parameters: self.parameters.clone(), points, natures: self.natures }
    }

    /// The different values of a parameter, sorted.
    pub fn values_of(&self, parameter: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.points.iter().map(|p| p.at[parameter]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        values
    }
}

fn check(parameters: &[String], index: usize, point: &Point) -> Result<(), BadMeasurements> {
    if point.at.len() != parameters.len() {
        return Err(BadMeasurements::WrongLength { index, have: point.at.len(), need: parameters.len() });
    }
    for (parameter, &value) in parameters.iter().zip(&point.at) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(BadMeasurements::BadParameter { parameter: parameter.clone(), value });
        }
    }
    let at = || parameters.iter().zip(&point.at).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
    if point.values.is_empty() {
        return Err(BadMeasurements::Nothing { at: at() });
    }
    for &value in &point.values {
        if !value.is_finite() {
            return Err(BadMeasurements::NotFinite { at: at(), value });
        }
        if value <= 0.0 {
            return Err(BadMeasurements::NotPositive { at: at(), value });
        }
    }
    match point.at.iter().chain(&point.values).find(|v| !SENSIBLE.contains(*v)) {
        Some(&value) => Err(BadMeasurements::Extreme { at: at(), value }),
        None => Ok(()),
    }
}

fn together(mut points: Vec<Point>) -> Vec<Point> {
    let order =
        |a: &Point, b: &Point| a.at.iter().zip(&b.at).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal);
    points.sort_by(order);
    let mut merged: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        match merged.last_mut() {
            Some(last) if last.at == point.at => last.values.extend(point.values),
            _ => merged.push(point),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: &[f64], values: &[f64]) -> Point {
        Point { at: at.to_vec(), values: values.to_vec() }
    }

    fn of_n(points: Vec<Point>) -> Result<Measurements, BadMeasurements> {
        Measurements::new(vec!["n".into()], points)
    }

    #[test]
    fn repetitions_of_a_setting_come_together_and_points_are_sorted() {
        let m = of_n(vec![point(&[4.0], &[2.0]), point(&[2.0], &[1.0]), point(&[4.0], &[2.5])]).unwrap();
        assert_eq!(m.points(), &[point(&[2.0], &[1.0]), point(&[4.0], &[2.0, 2.5])]);
        assert_eq!(m.medians(), Some(vec![(2.0, 1.0), (4.0, 2.25)]));
    }

    #[test]
    fn zero_negative_and_missing_numbers_have_errors_of_their_own() {
        let of = |value| of_n(vec![point(&[4.0], &[value])]).unwrap_err();
        assert!(matches!(of(0.0), BadMeasurements::NotPositive { .. }));
        assert!(matches!(of(-1.0), BadMeasurements::NotPositive { .. }));
        assert!(matches!(of(1e-99), BadMeasurements::Extreme { .. }));
        assert!(matches!(of(f64::NAN), BadMeasurements::NotFinite { .. }));
        assert!(matches!(of_n(vec![point(&[4.0], &[])]).unwrap_err(), BadMeasurements::Nothing { .. }));
        assert!(matches!(of_n(vec![point(&[0.0], &[1.0])]).unwrap_err(), BadMeasurements::BadParameter { .. }));
        assert!(matches!(of_n(vec![point(&[1.0, 2.0], &[1.0])]).unwrap_err(), BadMeasurements::WrongLength { .. }));
        assert_eq!(Measurements::new(vec![], vec![]), Err(BadMeasurements::NoParameter));
        assert_eq!(Measurements::new(vec!["n".into(), "n".into()], vec![]), Err(BadMeasurements::SameName("n".into())));
    }
}
