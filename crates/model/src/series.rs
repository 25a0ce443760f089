//! Models of measurement series from tables.

use std::collections::BTreeMap;

use sintonia_fit::table::MeasurementSeries;

use crate::curve::{FitError, FittedCurve};
use crate::fitted_term::{FittedTerm, round_to_four_digits};
use crate::host_effects::HostEffects;
use crate::model::{MeasuredParameter, MeasuredSetting, ModelledQuantity, PerformanceModel, PredictionBasis};

/// The form of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveForm {
    /// A scaling model.
    Scaling,
    /// A piecewise linear function.
    Pieces,
}

/// Why a series has no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SeriesModelError {
    /// There is no formula.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A piecewise fit needs one parameter.
    #[error("--pieces needs exactly one parameter, not {0}: leave --pieces out, or name one parameter")]
    TooManyParameters(usize),
}

impl PerformanceModel {
    /// The model of a series.
    pub fn from_series(series: &MeasurementSeries, form: CurveForm) -> Result<PerformanceModel, SeriesModelError> {
        let measurements = &series.measurements;
        let parameters = measurements.parameters();
        let values = || measurements.points().iter().flat_map(|point| point.values.iter().map(|value| (&point.at, *value)));
        let curve = match form {
            CurveForm::Pieces if parameters.len() != 1 => return Err(SeriesModelError::TooManyParameters(parameters.len())),
            CurveForm::Pieces => FittedCurve::fit_piecewise(&parameters[0], &measurements.medians().unwrap_or_default())?,
            CurveForm::Scaling => {
                let (settings, values): (Vec<Vec<f64>>, Vec<f64>) = values().map(|(at, value)| (at.clone(), value)).unzip();
                FittedCurve::fit(parameters, &settings, &values)?
            }
        };
        let range = |(index, name): (usize, &String)| {
            let values = measurements.distinct_values(index);
            MeasuredParameter { name: name.clone(), from: values[0], to: values[values.len() - 1] }
        };
        let name = match (series.region.as_str(), series.metric.as_str()) {
            ("", metric) => metric.to_owned(),
            (region, "") => region.to_owned(),
            (region, metric) => format!("{region}: {metric}"),
        };
        Ok(PerformanceModel {
            name,
            quantity: ModelledQuantity { name: series.metric.clone(), unit: series.unit.clone().unwrap_or_default() },
            parameters: parameters.iter().enumerate().map(range).collect(),
            fixed: BTreeMap::new(),
            parts: Vec::new(),
            limits: Vec::new(),
            noise_percent: round_to_four_digits(curve.noise_percent()),
            notes: curve.misfit_notes(&measurements.points().iter().map(|point| point.at[0]).collect::<Vec<f64>>()),
            whole: Some(FittedTerm::from_curve(curve)),
            uses: PredictionBasis::Whole,
            reference_machine: None,
            host_effects: HostEffects::default(),
            validation: None,
            points: values().map(|(at, value)| MeasuredSetting { at: at.clone(), value }).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_fit::table::{TableColumns, read_csv};
    use std::path::Path;

    fn table(text: &str) -> MeasurementSeries {
        read_csv("t.csv", text, &TableColumns { parameters: vec!["n".into()], value: "send".into(), unit: None }).unwrap()
    }

    #[test]
    fn a_table_is_explained_by_growth_or_by_lines_and_read_back_the_same() {
        let rows: String = (1..=24).map(|i| i * 100).map(|n| format!("{n},{}\n", if n <= 1200 { n + 50 } else { 2 * n + 900 })).collect();
        let series = table(&format!("n,send [us]\n{rows}"));
        for (form, start) in [(CurveForm::Scaling, ""), (CurveForm::Pieces, "pieces(n, up to 1200: ")] {
            let model = PerformanceModel::from_series(&series, form).unwrap();
            assert!(model.formula().to_string().starts_with(start), "{}", model.formula());
            assert!(PerformanceModel::parse(&model.to_text(), Path::new("m")).unwrap() == model);
            assert_eq!((model.quantity.unit.as_str(), model.points.len()), ("s", 24));
        }
        let lines = PerformanceModel::from_series(&series, CurveForm::Pieces).unwrap();
        assert!((lines.point_estimate(&[2000.0]).unwrap() / 4.9e-3 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_formula_that_does_not_fit_is_said_and_predictions_follow_the_law_after_a_change() {
        let law = |p: f64| if p <= 20.0 { p.log2() } else { p * p };
        let rows: String = (1..=10).map(|i| 4.0 * f64::from(i)).map(|p| format!("{p},{}\n", law(p))).collect();
        let model = PerformanceModel::from_series(&table(&format!("n,send [s]\n{rows}")), CurveForm::Scaling).unwrap();
        assert!(model.notes.iter().any(|note| note.starts_with("no formula fits")), "{:?}", model.notes);
        assert!(model.notes.iter().any(|note| note.contains("between n = 20 and 24")), "{:?}", model.notes);
        let [low, middle, high] = crate::predict::Predictor::new(&model, &model.parameter_names()).predict_seconds(&[80.0]).unwrap();
        assert!(low <= 6400.0 && 6400.0 <= high && (middle / 6400.0 - 1.0).abs() < 0.02, "{low} {middle} {high}");
        assert!(PerformanceModel::parse(&model.to_text(), Path::new("m")).unwrap() == model);
    }

    #[test]
    fn lines_go_over_one_parameter() {
        let columns = TableColumns { parameters: vec!["n".into(), "p".into()], value: "send".into(), unit: Some("s".into()) };
        let series = read_csv("t.csv", "n,p,send\n1,1,1\n2,1,2\n", &columns).unwrap();
        assert_eq!(PerformanceModel::from_series(&series, CurveForm::Pieces), Err(SeriesModelError::TooManyParameters(2)));
    }
}
