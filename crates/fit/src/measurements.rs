//! Measurements of one quantity at several parameter settings, validated once so that later code can rely on them.

use crate::sample::median;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The maximum number of parameters of a model.
pub const MAX_PARAMETERS: usize = 8;

/// What a parameter is; costs grow differently with each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParameterKind {
    /// Unknown: any growth is as probable as it is simple.
    #[default]
    Unknown,
    /// The problem size. Work grows with integer powers; logarithms come from sorting and divide-and-conquer.
    Size,
    /// The number of processes. Work is divided among them; communication grows with them or with the depth of a tree, rarely with their square.
    Processes,
}

/// The repetitions measured at one parameter setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataPoint {
    /// The value of each parameter.
    pub at: Vec<f64>,
    /// The repetitions.
    pub values: Vec<f64>,
}

/// Measurements of one quantity: all numbers are positive and within [`VALID_RANGE`], and each setting occurs once.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    parameters: Vec<String>,
    points: Vec<DataPoint>,
    parameter_kinds: [ParameterKind; MAX_PARAMETERS],
}

/// Numbers that can be measurements: wider than anything in practice, and far from overflow when squared.
pub const VALID_RANGE: std::ops::RangeInclusive<f64> = 1e-60..=1e60;

/// Why measurements cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeasurementError {
    /// No parameter is named.
    #[error("no parameter is named: name the column or the `--param` that varies between runs")]
    NoParameter,
    /// Two parameters have the same name.
    #[error("duplicate parameter `{0}`")]
    DuplicateName(String),
    /// A point has the wrong number of parameter values.
    #[error("point {} has {have} parameter values, but {need} parameters are named", index + 1)]
    WrongDimension {
        /// Index of the point.
        index: usize,
        /// The number of its parameter values.
        have: usize,
        /// The number of parameters.
        need: usize,
    },
    /// A point has no values.
    #[error("no value was measured at {at}")]
    NoValues {
        /// The point.
        at: String,
    },
    /// A value is zero or negative.
    #[error("the value {value} at {at} is not positive; check the clock or the unit")]
    NotPositive {
        /// The point.
        at: String,
        /// The value.
        value: f64,
    },
    /// A value is NaN or infinite.
    #[error("a value at {at} is {value}: measurements must be finite")]
    NotFinite {
        /// The point.
        at: String,
        /// The value.
        value: f64,
    },
    /// A value or a parameter is outside [`VALID_RANGE`].
    #[error("{value} at {at} is out of range: numbers must be between 1e-60 and 1e60; check the unit")]
    OutOfRange {
        /// The point.
        at: String,
        /// The number.
        value: f64,
    },
    /// A parameter is zero, negative, infinite or NaN.
    #[error("parameter `{parameter}` is {value}: parameters must be positive numbers")]
    BadParameter {
        /// Its name.
        parameter: String,
        /// Its value.
        value: f64,
    },
}

impl Measurements {
    /// Validates measurements and merges repetitions of the same setting.
    pub fn new(parameters: Vec<String>, points: Vec<DataPoint>) -> Result<Self, MeasurementError> {
        if parameters.is_empty() {
            return Err(MeasurementError::NoParameter);
        }
        if let Some(i) = (1..parameters.len()).find(|i| parameters[..*i].contains(&parameters[*i])) {
            return Err(MeasurementError::DuplicateName(parameters[i].clone()));
        }
        for (index, point) in points.iter().enumerate() {
            check_point(&parameters, index, point)?;
        }
        Ok(Self { parameters, points: merge_repetitions(points), parameter_kinds: [ParameterKind::Unknown; MAX_PARAMETERS] })
    }

    /// Sets what the parameters are, where that is known.
    pub fn with_parameter_kinds(mut self, kinds: impl IntoIterator<Item = ParameterKind>) -> Self {
        self.parameter_kinds.iter_mut().zip(kinds).for_each(|(own, kind)| *own = kind);
        self
    }

    /// What the parameters are.
    pub fn parameter_kinds(&self) -> [ParameterKind; MAX_PARAMETERS] {
        self.parameter_kinds
    }

    /// The names of the parameters.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// The points, sorted by their parameters.
    pub fn points(&self) -> &[DataPoint] {
        &self.points
    }

    /// Pairs of parameter value and median, if there is exactly one parameter.
    pub fn medians(&self) -> Option<Vec<(f64, f64)>> {
        (self.parameters.len() == 1).then(|| {
            self.points.iter().map(|p| (p.at[0], median(&p.values).expect("values were checked to be finite and not empty"))).collect()
        })
    }

    /// The points that are to be kept.
    pub(crate) fn filtered(&self, keep: impl Fn(&DataPoint) -> bool) -> Self {
        let points = self.points.iter().filter(|point| keep(point)).cloned().collect();
        Self { parameters: self.parameters.clone(), points, parameter_kinds: self.parameter_kinds }
    }

    /// The measurements without these runs, given by the indices of their settings and of their values there; and what was measured in them.
    pub(crate) fn without_runs(&self, left_out: &BTreeSet<(usize, usize)>) -> (Self, Vec<DataPoint>) {
        let value = |(setting, run): &(usize, usize)| DataPoint {
            at: self.points[*setting].at.clone(),
            values: vec![self.points[*setting].values[*run]],
        };
        let mut points = self.points.clone();
        // From the last one on, so that the indices of the others stay the same.
        for (setting, run) in left_out.iter().rev() {
            points[*setting].values.remove(*run);
        }
        points.retain(|point| !point.values.is_empty());
        let others = Self { parameters: self.parameters.clone(), points, parameter_kinds: self.parameter_kinds };
        (others, left_out.iter().map(value).collect())
    }

    /// The distinct values of a parameter, sorted.
    pub fn distinct_values(&self, parameter: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.points.iter().map(|p| p.at[parameter]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        values
    }
}

fn check_point(parameters: &[String], index: usize, point: &DataPoint) -> Result<(), MeasurementError> {
    if point.at.len() != parameters.len() {
        return Err(MeasurementError::WrongDimension { index, have: point.at.len(), need: parameters.len() });
    }
    for (parameter, &value) in parameters.iter().zip(&point.at) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(MeasurementError::BadParameter { parameter: parameter.clone(), value });
        }
    }
    let at = || parameters.iter().zip(&point.at).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
    if point.values.is_empty() {
        return Err(MeasurementError::NoValues { at: at() });
    }
    for &value in &point.values {
        if !value.is_finite() {
            return Err(MeasurementError::NotFinite { at: at(), value });
        }
        if value <= 0.0 {
            return Err(MeasurementError::NotPositive { at: at(), value });
        }
    }
    match point.at.iter().chain(&point.values).find(|v| !VALID_RANGE.contains(*v)) {
        Some(&value) => Err(MeasurementError::OutOfRange { at: at(), value }),
        None => Ok(()),
    }
}

fn merge_repetitions(mut points: Vec<DataPoint>) -> Vec<DataPoint> {
    let order = |a: &DataPoint, b: &DataPoint| {
        a.at.iter().zip(&b.at).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    points.sort_by(order);
    let mut merged: Vec<DataPoint> = Vec::with_capacity(points.len());
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

    fn point(at: &[f64], values: &[f64]) -> DataPoint {
        DataPoint { at: at.to_vec(), values: values.to_vec() }
    }

    fn of_n(points: Vec<DataPoint>) -> Result<Measurements, MeasurementError> {
        Measurements::new(vec!["n".into()], points)
    }

    #[test]
    fn repetitions_are_merged_and_points_sorted() {
        let m = of_n(vec![point(&[4.0], &[2.0]), point(&[2.0], &[1.0]), point(&[4.0], &[2.5])]).unwrap();
        assert_eq!(m.points(), &[point(&[2.0], &[1.0]), point(&[4.0], &[2.0, 2.5])]);
        assert_eq!(m.medians(), Some(vec![(2.0, 1.0), (4.0, 2.25)]));
    }

    #[test]
    fn each_kind_of_invalid_number_has_its_own_error() {
        let of = |value| of_n(vec![point(&[4.0], &[value])]).unwrap_err();
        assert!(matches!(of(0.0), MeasurementError::NotPositive { .. }));
        assert!(matches!(of(-1.0), MeasurementError::NotPositive { .. }));
        assert!(matches!(of(1e-99), MeasurementError::OutOfRange { .. }));
        assert!(matches!(of(f64::NAN), MeasurementError::NotFinite { .. }));
        assert!(matches!(of_n(vec![point(&[4.0], &[])]).unwrap_err(), MeasurementError::NoValues { .. }));
        assert!(matches!(of_n(vec![point(&[0.0], &[1.0])]).unwrap_err(), MeasurementError::BadParameter { .. }));
        assert!(matches!(of_n(vec![point(&[1.0, 2.0], &[1.0])]).unwrap_err(), MeasurementError::WrongDimension { .. }));
        assert_eq!(Measurements::new(vec![], vec![]), Err(MeasurementError::NoParameter));
        assert_eq!(Measurements::new(vec!["n".into(), "n".into()], vec![]), Err(MeasurementError::DuplicateName("n".into())));
    }
}
