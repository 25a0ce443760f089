//! A model of a table: formulas of whatever was measured by whomever.

use std::collections::BTreeMap;

use sintonia_fit::table::Series;

use crate::curve::{Curve, NoCurve};
use crate::model::{Measured, Model, Parameter, Quantity, Uses};
use crate::term::{Term, digits};

/// How a table is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By a law of growth.
    Scaling,
    /// By straight lines.
    Pieces,
}

/// Why a table has no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoTable {
    /// There is no formula.
    #[error(transparent)]
    NoCurve(#[from] NoCurve),
    /// Lines go over one parameter.
    #[error("straight lines go over one parameter, and {0} are named: leave --pieces out, or name one")]
    TooManyParameters(usize),
}

impl Model {
    /// The model of measurements.
    pub fn of_series(series: &Series, form: Form) -> Result<Model, NoTable> {
        let measurements = &series.measurements;
        let parameters = measurements.parameters();
        let values = || measurements.points().iter().flat_map(|point| point.values.iter().map(|value| (&point.at, *value)));
        let curve = match form {
            Form::Pieces if parameters.len() != 1 => return Err(NoTable::TooManyParameters(parameters.len())),
            Form::Pieces => Curve::pieces(&parameters[0], &measurements.medians().unwrap_or_default())?,
            Form::Scaling => {
                let (settings, values): (Vec<Vec<f64>>, Vec<f64>) = values().map(|(at, value)| (at.clone(), value)).unzip();
                Curve::fit(parameters, &settings, &values)?
            }
        };
        let range = |(place, name): (usize, &String)| {
            let values = measurements.values_of(place);
            Parameter { name: name.clone(), from: values[0], to: values[values.len() - 1] }
        };
        let name = match (series.region.as_str(), series.metric.as_str()) {
            ("", metric) => metric.to_owned(),
            (region, "") => region.to_owned(),
            (region, metric) => format!("{region}: {metric}"),
        };
        Ok(Model {
            name,
            quantity: Quantity { name: series.metric.clone(), unit: series.unit.clone().unwrap_or_default() },
            parameters: parameters.iter().enumerate().map(range).collect(),
            fixed: BTreeMap::new(),
            parts: Vec::new(),
            limits: Vec::new(),
            noise_percent: digits(curve.noise_percent()),
            whole: Some(Term::of(curve)),
            uses: Uses::Whole,
            home: None,
            validation: None,
            points: values().map(|(at, value)| Measured { at: at.clone(), value }).collect(),
            notes: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_fit::table::{Columns, read_csv};
    use std::path::Path;

    fn table(text: &str) -> Series {
        read_csv("t.csv", text, &Columns { parameters: vec!["n".into()], value: "send".into(), unit: None }).unwrap()
    }

    #[test]
    fn a_table_is_explained_by_growth_or_by_lines_and_read_back_the_same() {
        let rows: String = (1..=24).map(|i| i * 100).map(|n| format!("{n},{}\n", if n <= 1200 { n + 50 } else { 2 * n + 900 })).collect();
        let series = table(&format!("n,send [us]\n{rows}"));
        for (form, start) in [(Form::Scaling, ""), (Form::Pieces, "pieces(n, up to 1200: ")] {
            let model = Model::of_series(&series, form).unwrap();
            assert!(model.formula().to_string().starts_with(start), "{}", model.formula());
            assert!(Model::parse(&model.to_text(), Path::new("m")).unwrap() == model);
            assert_eq!((model.quantity.unit.as_str(), model.points.len()), ("s", 24));
        }
        let lines = Model::of_series(&series, Form::Pieces).unwrap();
        assert!((lines.value(&[2000.0]).unwrap() / 4.9e-3 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn lines_go_over_one_parameter() {
        let columns = Columns { parameters: vec!["n".into(), "p".into()], value: "send".into(), unit: Some("s".into()) };
        let series = read_csv("t.csv", "n,p,send\n1,1,1\n2,1,2\n", &columns).unwrap();
        assert_eq!(Model::of_series(&series, Form::Pieces), Err(NoTable::TooManyParameters(2)));
    }
}
