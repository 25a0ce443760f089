//! Checks whether there are enough measurements for a scaling model; if not, suggests the next run.

use super::ensemble_member::TermFactor;
use super::least_squares::{normalise, project_out};
use super::{MAX_PARAMETERS, bounded_vec};
use crate::measurements::Measurements;

/// The minimum number of distinct values of a parameter: a constant, a coefficient and an exponent are to be found.
const MIN_VALUES: usize = 3;

/// A parameter setting, by name.
pub type NamedSetting = Vec<(String, f64)>;

/// Why there cannot be a scaling model yet; each error suggests the next run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InsufficientData {
    /// There are no measurements.
    #[error("there are no measurements")]
    NoMeasurements,
    /// A parameter has only one value.
    #[error(
        "parameter `{parameter}` is {value} in all measurements, so its influence is unknown: measure {parameter} = {next} next, \
         or leave it out"
    )]
    ConstantParameter {
        /// Its name.
        parameter: String,
        /// Its only value.
        value: f64,
        /// The value to measure next.
        next: f64,
    },
    /// A parameter has too few distinct values.
    #[error("parameter `{parameter}` has {have} distinct values, at least {need} are needed: measure {parameter} = {next} next")]
    TooFewValues {
        /// Its name.
        parameter: String,
        /// The number of values.
        have: usize,
        /// The number needed.
        need: usize,
        /// The value to measure next.
        next: f64,
    },
    /// Each parameter has enough values, but there are too few combinations.
    #[error("{have} settings are too few for {parameters} parameters, at least {need} are needed: measure {} next", format_setting(next))]
    TooFewPoints {
        /// The number of settings.
        have: usize,
        /// The number needed.
        need: usize,
        /// The number of parameters.
        parameters: usize,
        /// The setting to measure next.
        next: NamedSetting,
    },
    /// A parameter is a function of the others in all measurements.
    #[error(
        "parameter `{parameter}` varies only together with the others, so their effects cannot be separated: measure {} next",
        format_setting(next)
    )]
    CollinearParameter {
        /// Its name.
        parameter: String,
        /// The setting to measure next.
        next: NamedSetting,
    },
    /// A given form has no terms, too many terms, or an unknown parameter.
    #[error("the form must have 1 to {most} terms and factors, and only measured parameters")]
    InvalidHypothesis {
        /// The maximum number of terms and of factors.
        most: usize,
    },
    /// The terms of a given form are collinear at the measured points.
    #[error("the terms of the form are collinear at the measured points: drop one, or measure at further values")]
    DependentTerms,
    /// There are too many parameters.
    #[error("{have} parameters are too many: at most {most} are supported; leave some out")]
    TooManyParameters {
        /// The number of parameters.
        have: usize,
        /// The maximum.
        most: usize,
    },
}

fn format_setting(setting: &NamedSetting) -> String {
    setting.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Fails unless there are enough measurements for the given terms.
pub(super) fn check_hypothesis(measurements: &Measurements, terms: &[Vec<TermFactor>]) -> Result<(), InsufficientData> {
    let names = measurements.parameters();
    let unknown = terms.iter().flatten().any(|f| f.parameter >= names.len());
    let factors: usize = terms.iter().map(Vec::len).sum();
    if unknown || terms.is_empty() || terms.len() > bounded_vec::CAPACITY || factors > bounded_vec::CAPACITY {
        return Err(InsufficientData::InvalidHypothesis { most: bounded_vec::CAPACITY });
    }
    let values: Vec<Vec<f64>> = (0..names.len()).map(|p| measurements.distinct_values(p)).collect();
    let (have, need) = (measurements.points().len(), terms.len());
    if measurements.points().is_empty() {
        return Err(InsufficientData::NoMeasurements);
    }
    if have < need {
        return Err(InsufficientData::TooFewPoints { have, need, parameters: names.len(), next: unmeasured_corner(measurements, &values) });
    }
    Ok(())
}

/// Fails unless there are enough measurements.
pub(super) fn check(measurements: &Measurements) -> Result<(), InsufficientData> {
    let names = measurements.parameters();
    if names.len() > MAX_PARAMETERS {
        return Err(InsufficientData::TooManyParameters { have: names.len(), most: MAX_PARAMETERS });
    }
    if measurements.points().is_empty() {
        return Err(InsufficientData::NoMeasurements);
    }
    let values: Vec<Vec<f64>> = (0..names.len()).map(|p| measurements.distinct_values(p)).collect();
    for (name, values) in names.iter().zip(&values) {
        check_parameter(name, values)?;
    }
    let (have, need) = (measurements.points().len(), 2 * names.len() + 1);
    if have < need {
        return Err(InsufficientData::TooFewPoints { have, need, parameters: names.len(), next: unmeasured_corner(measurements, &values) });
    }
    if let Some(dependent) = collinear_parameter(measurements) {
        let mut next = largest_setting(names, &values);
        next[dependent].1 = values[dependent][0];
        return Err(InsufficientData::CollinearParameter { parameter: names[dependent].clone(), next });
    }
    Ok(())
}

fn check_parameter(name: &str, values: &[f64]) -> Result<(), InsufficientData> {
    let (parameter, next) = (name.to_owned(), next_value(values));
    match values {
        [value] => Err(InsufficientData::ConstantParameter { parameter, value: *value, next }),
        few if few.len() < MIN_VALUES => Err(InsufficientData::TooFewValues { parameter, have: few.len(), need: MIN_VALUES, next }),
        _ => Ok(()),
    }
}

/// The value that continues sorted values: by the same difference if they are equidistant, otherwise by the same ratio.
pub fn next_value(values: &[f64]) -> f64 {
    let next = match values {
        [.., first, second, third] if ((third - second) - (second - first)).abs() <= 1e-9 * third => third + (third - second),
        [.., before, last] if *before > 0.0 => last * last / before,
        [.., last] => last * 2.0,
        [] => 1.0,
    };
    if values.iter().all(|v| v.fract() == 0.0) { next.round() } else { next }
}

fn largest_setting(names: &[String], values: &[Vec<f64>]) -> NamedSetting {
    names.iter().zip(values).map(|(name, values)| (name.clone(), values[values.len() - 1])).collect()
}

/// An unmeasured setting: all parameters at their largest value, or the last of them one step further.
fn unmeasured_corner(measurements: &Measurements, values: &[Vec<f64>]) -> NamedSetting {
    let mut corner = largest_setting(measurements.parameters(), values);
    let measured = measurements.points().iter().any(|p| p.at.iter().zip(&corner).all(|(x, (_, largest))| x == largest));
    if measured && let (Some((_, last)), Some(values)) = (corner.last_mut(), values.last()) {
        *last = next_value(values);
    }
    corner
}

/// A parameter whose logarithm is a linear combination of the others at all points.
fn collinear_parameter(measurements: &Measurements) -> Option<usize> {
    let points = measurements.points();
    let mut basis: Vec<Vec<f64>> = vec![vec![1.0 / (points.len() as f64).sqrt(); points.len()]];
    for parameter in 0..measurements.parameters().len() {
        let mut column: Vec<f64> = points.iter().map(|p| p.at[parameter].ln()).collect();
        project_out(&mut column, &basis[0]);
        let varies = normalise(&mut column);
        basis[1..].iter().for_each(|unit| {
            project_out(&mut column, unit);
        });
        if varies == 0.0 || normalise(&mut column) < 1e-6 {
            return Some(parameter);
        }
        basis.push(column);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::DataPoint;

    fn measured(names: &[&str], settings: &[&[f64]]) -> Measurements {
        let points = settings.iter().map(|at| DataPoint { at: at.to_vec(), values: vec![1.0] }).collect();
        Measurements::new(names.iter().map(|n| n.to_string()).collect(), points).unwrap()
    }

    #[test]
    fn too_few_values_say_how_many_and_which_is_next() {
        let error = check(&measured(&["n"], &[&[200.0], &[400.0]])).unwrap_err();
        assert_eq!(error, InsufficientData::TooFewValues { parameter: "n".into(), have: 2, need: 3, next: 800.0 });
        assert_eq!(error.to_string(), "parameter `n` has 2 distinct values, at least 3 are needed: measure n = 800 next");
    }

    #[test]
    fn a_parameter_that_never_changes_is_named() {
        let error = check(&measured(&["n", "p"], &[&[1.0, 4.0], &[2.0, 4.0], &[4.0, 4.0], &[8.0, 4.0], &[16.0, 4.0]])).unwrap_err();
        assert_eq!(error, InsufficientData::ConstantParameter { parameter: "p".into(), value: 4.0, next: 8.0 });
    }

    #[test]
    fn parameters_that_change_only_together_are_told_apart_by_one_run() {
        let weak: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 8.0, 16.0].iter().map(|p| vec![100.0 * p, *p]).collect();
        let error = check(&measured(&["n", "p"], &weak.iter().map(Vec::as_slice).collect::<Vec<_>>())).unwrap_err();
        assert_eq!(
            error,
            InsufficientData::CollinearParameter { parameter: "p".into(), next: vec![("n".into(), 1600.0), ("p".into(), 1.0)] }
        );
    }

    #[test]
    fn too_few_settings_name_one_that_is_missing() {
        let error = check(&measured(&["n", "p"], &[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 4.0]])).unwrap_err();
        assert!(matches!(&error, InsufficientData::TooFewPoints { have: 3, need: 5, next, .. } if next[1] == ("p".into(), 8.0)), "{error}");
    }

    #[test]
    fn nothing_and_too_much_are_errors_too() {
        assert_eq!(check(&measured(&["n"], &[])), Err(InsufficientData::NoMeasurements));
        let many: Vec<String> = (0..9).map(|i| format!("x{i}")).collect();
        let error = check(&measured(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[]));
        assert_eq!(error, Err(InsufficientData::TooManyParameters { have: 9, most: MAX_PARAMETERS }));
    }

    #[test]
    fn values_go_on_as_they_went() {
        assert_eq!(next_value(&[100.0, 200.0, 300.0]), 400.0);
        assert_eq!(next_value(&[100.0, 200.0, 400.0]), 800.0);
        assert_eq!(next_value(&[400.0, 600.0]), 900.0);
        assert_eq!(next_value(&[0.5]), 1.0);
    }
}
