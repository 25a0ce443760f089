//! Whether there are enough measurements for a scaling law, and if not, which run to make next.

use super::member::Factor;
use super::solve::{normalise, take_away};
use super::{MOST_PARAMETERS, short};
use crate::measurements::Measurements;

/// The fewest different values of a parameter: a constant, a coefficient and an exponent are to be found.
const FEWEST_VALUES: usize = 3;

/// A setting of parameters, by name.
pub type Setting = Vec<(String, f64)>;

/// Why there cannot be a scaling law yet; each says which run to make next.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotEnough {
    /// There are no measurements at all.
    #[error("there are no measurements")]
    Nothing,
    /// A parameter never changes.
    #[error(
        "parameter `{parameter}` is {value} in all measurements, so nothing is known of its influence: measure {parameter} = {next} next, \
         or leave it out"
    )]
    NeverChanges {
        /// Its name.
        parameter: String,
        /// Its only value.
        value: f64,
        /// The value to measure next.
        next: f64,
    },
    /// A parameter has too few different values.
    #[error("parameter `{parameter}` has {have} different values, at least {need} are needed: measure {parameter} = {next} next")]
    TooFewValues {
        /// Its name.
        parameter: String,
        /// How many values it has.
        have: usize,
        /// How many it needs.
        need: usize,
        /// The value to measure next.
        next: f64,
    },
    /// Several parameters have values enough, but too few of them were measured together.
    #[error("{have} settings are too few for {parameters} parameters, at least {need} are needed: measure {} next", shown(next))]
    TooFewPoints {
        /// How many settings there are.
        have: usize,
        /// How many are needed.
        need: usize,
        /// How many parameters there are.
        parameters: usize,
        /// The setting to measure next.
        next: Setting,
    },
    /// A parameter follows from the others in all measurements.
    #[error(
        "parameter `{parameter}` changes only together with the others, so their influence cannot be told apart: measure {} next",
        shown(next)
    )]
    OnlyTogether {
        /// Its name.
        parameter: String,
        /// The setting to measure next.
        next: Setting,
    },
    /// A form that was given has no terms, too many of them, or names a parameter that is not there.
    #[error("the form must have between 1 and {most} terms and factors, of parameters that were measured")]
    BadForm {
        /// The most terms, and the most factors.
        most: usize,
    },
    /// The terms of a form that was given cannot be told apart at the points measured.
    #[error("the terms of the form cannot be told apart at the points measured: leave one out, or measure at further values")]
    DependentTerms,
    /// There are more parameters than can be told apart.
    #[error("{have} parameters are too many: at most {most} can be told apart; leave some out")]
    TooManyParameters {
        /// How many there are.
        have: usize,
        /// How many there may be.
        most: usize,
    },
}

fn shown(setting: &Setting) -> String {
    setting.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// An error unless there are enough measurements for terms that are given.
pub fn check_form(measurements: &Measurements, terms: &[Vec<Factor>]) -> Result<(), NotEnough> {
    let names = measurements.parameters();
    let unknown = terms.iter().flatten().any(|f| f.parameter >= names.len());
    let factors: usize = terms.iter().map(Vec::len).sum();
    if unknown || terms.is_empty() || terms.len() > short::MOST || factors > short::MOST {
        return Err(NotEnough::BadForm { most: short::MOST });
    }
    let values: Vec<Vec<f64>> = (0..names.len()).map(|p| measurements.values_of(p)).collect();
    let (have, need) = (measurements.points().len(), terms.len());
    if measurements.points().is_empty() {
        return Err(NotEnough::Nothing);
    }
    if have < need {
        return Err(NotEnough::TooFewPoints { have, need, parameters: names.len(), next: corner(measurements, &values) });
    }
    Ok(())
}

/// An error unless there are enough measurements.
pub fn check(measurements: &Measurements) -> Result<(), NotEnough> {
    let names = measurements.parameters();
    if names.len() > MOST_PARAMETERS {
        return Err(NotEnough::TooManyParameters { have: names.len(), most: MOST_PARAMETERS });
    }
    if measurements.points().is_empty() {
        return Err(NotEnough::Nothing);
    }
    let values: Vec<Vec<f64>> = (0..names.len()).map(|p| measurements.values_of(p)).collect();
    for (name, values) in names.iter().zip(&values) {
        check_parameter(name, values)?;
    }
    let (have, need) = (measurements.points().len(), 2 * names.len() + 1);
    if have < need {
        return Err(NotEnough::TooFewPoints { have, need, parameters: names.len(), next: corner(measurements, &values) });
    }
    if let Some(dependent) = dependent(measurements) {
        let mut next = largest(names, &values);
        next[dependent].1 = values[dependent][0];
        return Err(NotEnough::OnlyTogether { parameter: names[dependent].clone(), next });
    }
    Ok(())
}

fn check_parameter(name: &str, values: &[f64]) -> Result<(), NotEnough> {
    let (parameter, next) = (name.to_owned(), next_value(values));
    match values {
        [value] => Err(NotEnough::NeverChanges { parameter, value: *value, next }),
        few if few.len() < FEWEST_VALUES => Err(NotEnough::TooFewValues { parameter, have: few.len(), need: FEWEST_VALUES, next }),
        _ => Ok(()),
    }
}

/// The value that continues sorted values as they went: by the same difference if they had one, otherwise by the same ratio.
pub fn next_value(values: &[f64]) -> f64 {
    let next = match values {
        [.., first, second, third] if ((third - second) - (second - first)).abs() <= 1e-9 * third => third + (third - second),
        [.., before, last] if *before > 0.0 => last * last / before,
        [.., last] => last * 2.0,
        [] => 1.0,
    };
    if values.iter().all(|v| v.fract() == 0.0) { next.round() } else { next }
}

fn largest(names: &[String], values: &[Vec<f64>]) -> Setting {
    names.iter().zip(values).map(|(name, values)| (name.clone(), values[values.len() - 1])).collect()
}

/// A setting that was not measured: all parameters at their largest, or the last of them one step further.
fn corner(measurements: &Measurements, values: &[Vec<f64>]) -> Setting {
    let mut corner = largest(measurements.parameters(), values);
    let measured = measurements.points().iter().any(|p| p.at.iter().zip(&corner).all(|(x, (_, largest))| x == largest));
    if measured && let (Some((_, last)), Some(values)) = (corner.last_mut(), values.last()) {
        *last = next_value(values);
    }
    corner
}

/// A parameter whose logarithm is a combination of the others' in all points.
fn dependent(measurements: &Measurements) -> Option<usize> {
    let points = measurements.points();
    let mut basis: Vec<Vec<f64>> = vec![vec![1.0 / (points.len() as f64).sqrt(); points.len()]];
    for parameter in 0..measurements.parameters().len() {
        let mut column: Vec<f64> = points.iter().map(|p| p.at[parameter].ln()).collect();
        take_away(&mut column, &basis[0]);
        let varies = normalise(&mut column);
        basis[1..].iter().for_each(|unit| {
            take_away(&mut column, unit);
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
    use crate::measurements::Point;

    fn measured(names: &[&str], settings: &[&[f64]]) -> Measurements {
        let points = settings.iter().map(|at| Point { at: at.to_vec(), values: vec![1.0] }).collect();
        Measurements::new(names.iter().map(|n| n.to_string()).collect(), points).unwrap()
    }

    #[test]
    fn too_few_values_say_how_many_and_which_is_next() {
        let error = check(&measured(&["n"], &[&[200.0], &[400.0]])).unwrap_err();
        assert_eq!(error, NotEnough::TooFewValues { parameter: "n".into(), have: 2, need: 3, next: 800.0 });
        assert_eq!(error.to_string(), "parameter `n` has 2 different values, at least 3 are needed: measure n = 800 next");
    }

    #[test]
    fn a_parameter_that_never_changes_is_named() {
        let error = check(&measured(&["n", "p"], &[&[1.0, 4.0], &[2.0, 4.0], &[4.0, 4.0], &[8.0, 4.0], &[16.0, 4.0]])).unwrap_err();
        assert_eq!(error, NotEnough::NeverChanges { parameter: "p".into(), value: 4.0, next: 8.0 });
    }

    #[test]
    fn parameters_that_change_only_together_are_told_apart_by_one_run() {
        let weak: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 8.0, 16.0].iter().map(|p| vec![100.0 * p, *p]).collect();
        let error = check(&measured(&["n", "p"], &weak.iter().map(Vec::as_slice).collect::<Vec<_>>())).unwrap_err();
        assert_eq!(error, NotEnough::OnlyTogether { parameter: "p".into(), next: vec![("n".into(), 1600.0), ("p".into(), 1.0)] });
    }

    #[test]
    fn too_few_settings_name_one_that_is_missing() {
        let error = check(&measured(&["n", "p"], &[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 4.0]])).unwrap_err();
        assert!(matches!(&error, NotEnough::TooFewPoints { have: 3, need: 5, next, .. } if next[1] == ("p".into(), 8.0)), "{error}");
    }

    #[test]
    fn nothing_and_too_much_are_errors_too() {
        assert_eq!(check(&measured(&["n"], &[])), Err(NotEnough::Nothing));
        let many: Vec<String> = (0..9).map(|i| format!("x{i}")).collect();
        let error = check(&measured(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[]));
        assert_eq!(error, Err(NotEnough::TooManyParameters { have: 9, most: MOST_PARAMETERS }));
    }

    #[test]
    fn values_go_on_as_they_went() {
        assert_eq!(next_value(&[100.0, 200.0, 300.0]), 400.0);
        assert_eq!(next_value(&[100.0, 200.0, 400.0]), 800.0);
        assert_eq!(next_value(&[400.0, 600.0]), 900.0);
        assert_eq!(next_value(&[0.5]), 1.0);
    }
}
