//! Models of measurement series from tables.

use std::collections::BTreeMap;

use rayon::prelude::*;
use sintonia_fit::linear_form::{FormError, LinearForm};
use sintonia_fit::measurements::{DataPoint, Measurements};
use sintonia_fit::sample::median;
use sintonia_fit::scaling::next_value;
use sintonia_fit::table::MeasurementSeries;

use crate::curve::{FitError, FittedCurve};
use crate::exact_counts;
use crate::fitted_term::{FittedTerm, round_to_four_digits};
use crate::host_effects::HostEffects;
use crate::model::{MeasuredParameter, MeasuredSetting, ModelledQuantity, PerformanceModel, PredictionBasis};

/// The form of the curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurveForm {
    /// A scaling model.
    Scaling,
    /// A piecewise linear function.
    Pieces,
    /// A formula whose coefficients are estimated.
    Formula(String),
    /// A polynomial of this degree.
    Polynomial(usize),
}

/// Why a series has no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SeriesModelError {
    /// There is no formula.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The given form is invalid.
    #[error(transparent)]
    Form(#[from] FormError),
    /// A piecewise fit needs one parameter.
    #[error("--pieces needs exactly one parameter, not {0}: leave --pieces out, or name one parameter")]
    TooManyParameters(usize),
    /// All values were measured at the same setting.
    #[error(
        "all {count} measurements are at {setting} (median {median}), so growth is unknown: \
         measure at least 3 values of each parameter, next {next}"
    )]
    SingleSetting {
        /// The setting.
        setting: String,
        /// The number of measurements.
        count: usize,
        /// Their median, with its unit.
        median: String,
        /// The setting to measure next.
        next: String,
    },
}

impl CurveForm {
    /// The form of these parameters whose coefficients are estimated; `None` if the form is not given.
    pub fn linear_form(&self, parameters: &[String]) -> Result<Option<LinearForm>, FormError> {
        match self {
            CurveForm::Scaling | CurveForm::Pieces => Ok(None),
            CurveForm::Formula(text) => LinearForm::parse(text, parameters).map(Some),
            CurveForm::Polynomial(degree) => LinearForm::polynomial(*degree, parameters).map(Some),
        }
    }

    fn fit(&self, measurements: &Measurements) -> Result<FittedCurve, SeriesModelError> {
        let parameters = measurements.parameters();
        match (self, self.linear_form(parameters)?) {
            (_, Some(form)) => Ok(FittedCurve::fit_form(measurements, &form)?),
            (CurveForm::Pieces, None) if parameters.len() != 1 => Err(SeriesModelError::TooManyParameters(parameters.len())),
            (CurveForm::Pieces, None) => Ok(FittedCurve::fit_piecewise(&parameters[0], &measurements.medians().unwrap_or_default())?),
            (_, None) => Ok(FittedCurve::fit_measurements(measurements)?),
        }
    }
}

impl PerformanceModel {
    /// The models of several series, fitted on all cores, in the order of the series.
    pub fn from_all_series(series: &[MeasurementSeries], form: &CurveForm) -> Vec<Result<PerformanceModel, SeriesModelError>> {
        series.par_iter().map(|series| PerformanceModel::from_series(series, form)).collect()
    }

    /// The model of a series.
    pub fn from_series(series: &MeasurementSeries, form: &CurveForm) -> Result<PerformanceModel, SeriesModelError> {
        let measurements = &series.measurements;
        let (term, notes, noise_percent) = match exact_term(series, form) {
            Some(term) => (term, Vec::new(), 0.0),
            None => {
                let curve = form.fit(measurements).map_err(|error| explain_error(series, error))?;
                let settings: Vec<Vec<f64>> = measurements.points().iter().map(|point| point.at.clone()).collect();
                let notes = match form {
                    CurveForm::Scaling | CurveForm::Pieces => curve.notes(&settings, series.unit.as_deref().unwrap_or_default()),
                    _ => curve.given_form_notes(),
                };
                let notes = notes.into_iter().chain(interpolation_note(form, &curve, measurements)).collect();
                let noise_percent = round_to_four_digits(curve.noise_percent());
                (FittedTerm::from_curve(curve), notes, noise_percent)
            }
        };
        let name = match (series.region.as_str(), series.metric.as_str()) {
            ("", metric) => metric.to_owned(),
            (region, "") => region.to_owned(),
            (region, metric) => format!("{region}: {metric}"),
        };
        let values = measurements.points().iter().flat_map(|point| point.values.iter().map(|value| (&point.at, *value)));
        Ok(PerformanceModel {
            name,
            region: Some(series.region.clone()).filter(|region| !region.is_empty()),
            quantity: ModelledQuantity { name: series.metric.clone(), unit: series.unit.clone().unwrap_or_default() },
            parameters: parameter_ranges(series),
            fixed: BTreeMap::new(),
            parts: Vec::new(),
            limits: Vec::new(),
            noise_percent,
            notes,
            whole: Some(term),
            uses: PredictionBasis::Whole,
            reference_machine: None,
            host_effects: HostEffects::default(),
            validation: None,
            points: values.map(|(at, value)| MeasuredSetting { at: at.clone(), value }).collect(),
        })
    }
}

fn parameter_ranges(series: &MeasurementSeries) -> Vec<MeasuredParameter> {
    let named = series.measurements.parameters().iter().zip(&series.parameter_kinds).enumerate();
    let range = |(index, (name, kind)): (usize, (&String, &_))| {
        let values = series.measurements.distinct_values(index);
        MeasuredParameter { name: name.clone(), from: values[0], to: values[values.len() - 1], kind: *kind }
    };
    named.map(range).collect()
}

/// That a given form has no error to be known by, if that is so.
fn interpolation_note(form: &CurveForm, curve: &FittedCurve, measurements: &Measurements) -> Option<String> {
    let is_given = !matches!(form, CurveForm::Scaling | CurveForm::Pieces);
    (is_given && curve.terms().len() == measurements.points().len()).then(|| {
        "there are as many coefficients as settings, so the formula passes through all of them, and its intervals are a guess".into()
    })
}

/// The exact formula of counts, if there is a simple one and no form is given.
fn exact_term(series: &MeasurementSeries, form: &CurveForm) -> Option<FittedTerm> {
    let points = series.measurements.points();
    let is_exact = |point: &DataPoint| point.values.iter().all(|value| *value == point.values[0] && value.fract() == 0.0);
    if !series.value_kind.is_exact() || *form != CurveForm::Scaling || !points.iter().all(is_exact) {
        return None;
    }
    let (settings, counts): (Vec<Vec<f64>>, Vec<f64>) = points.iter().map(|point| (point.at.clone(), point.values[0])).unzip();
    let formula = exact_counts::find_formula(series.measurements.parameters(), &settings, &counts)?;
    Some(FittedTerm::from_formula(formula, Some(0.0)))
}

/// Of a single setting, that there is only one says more than the error of the first parameter.
fn explain_error(series: &MeasurementSeries, error: SeriesModelError) -> SeriesModelError {
    match error {
        SeriesModelError::Fit(_) => single_setting(series).unwrap_or(error),
        _ => error,
    }
}

fn single_setting(series: &MeasurementSeries) -> Option<SeriesModelError> {
    let [DataPoint { at, values }] = series.measurements.points() else { return None };
    let names = series.measurements.parameters();
    let list = |values: &mut dyn Iterator<Item = f64>| {
        names.iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>()
    };
    Some(SeriesModelError::SingleSetting {
        setting: list(&mut at.iter().copied()).join(", "),
        count: values.len(),
        median: format!("{} {}", median(values).ok()?, series.unit.as_deref().unwrap_or_default()).trim_end().to_owned(),
        next: list(&mut at.iter().map(|value| next_value(&[*value]))).join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_fit::table::{TableColumns, read_csv};
    use std::path::Path;

    fn table(text: &str) -> MeasurementSeries {
        read_csv("t.csv", text, &TableColumns { parameters: vec!["n".into()], value: "send".into(), unit: None, kinds: Vec::new() })
            .unwrap()
    }

    #[test]
    fn a_table_is_explained_by_growth_or_by_lines_and_read_back_the_same() {
        let rows: String = (1..=24).map(|i| i * 100).map(|n| format!("{n},{}\n", if n <= 1200 { n + 50 } else { 2 * n + 900 })).collect();
        let series = table(&format!("n,send [us]\n{rows}"));
        for (form, start) in [(CurveForm::Scaling, ""), (CurveForm::Pieces, "pieces(n, up to 1200: ")] {
            let model = PerformanceModel::from_series(&series, &form).unwrap();
            assert!(model.formula().to_string().starts_with(start), "{}", model.formula());
            assert!(PerformanceModel::parse(&model.to_text(), Path::new("m")).unwrap() == model);
            assert_eq!((model.quantity.unit.as_str(), model.points.len()), ("s", 24));
        }
        let lines = PerformanceModel::from_series(&series, &CurveForm::Pieces).unwrap();
        assert!((lines.point_estimate(&[2000.0]).unwrap() / 4.9e-3 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_change_of_the_growth_is_reported_and_predictions_follow_the_law_after_it() {
        let law = |p: f64| if p <= 20.0 { p.log2() } else { p * p };
        let rows: String = (1..=10).map(|i| 4.0 * f64::from(i)).map(|p| format!("{p},{}\n", law(p))).collect();
        let model = PerformanceModel::from_series(&table(&format!("n,send [s]\n{rows}")), &CurveForm::Scaling).unwrap();
        assert_eq!(model.formula().to_string(), "pieces(n, up to 20: log2(n), beyond: n^2)");
        assert!(model.notes.iter().any(|note| note.contains("between n = 20 and 24")), "{:?}", model.notes);
        let [low, middle, high] = crate::predict::Predictor::new(&model, &model.parameter_names()).predict_seconds(&[80.0]).unwrap();
        assert!(low <= 6400.0 && 6400.0 <= high && (middle / 6400.0 - 1.0).abs() < 0.02, "{low} {middle} {high}");
        assert!(PerformanceModel::parse(&model.to_text(), Path::new("m")).unwrap() == model);
    }

    #[test]
    fn a_formula_that_does_not_fit_is_reported() {
        // Rises and falls, as no sum of terms with positive coefficients does.
        let rows: String = (1..=8).map(|i| format!("{i},{}\n", if i % 2 == 0 { 1.0 } else { 3.0 })).collect();
        let model = PerformanceModel::from_series(&table(&format!("n,send [s]\n{rows}")), &CurveForm::Scaling).unwrap();
        assert!(model.notes.iter().any(|note| note.starts_with("no formula fits")), "{:?}", model.notes);
    }

    #[test]
    fn lines_go_over_one_parameter() {
        let columns =
            TableColumns { parameters: vec!["n".into(), "p".into()], value: "send".into(), unit: Some("s".into()), kinds: Vec::new() };
        let series = read_csv("t.csv", "n,p,send\n1,1,1\n2,1,2\n", &columns).unwrap();
        assert_eq!(PerformanceModel::from_series(&series, &CurveForm::Pieces), Err(SeriesModelError::TooManyParameters(2)));
    }

    #[test]
    fn a_given_form_keeps_its_terms_and_predicts_below_zero_nothing() {
        let series = table("n,send [s]\n1,10\n2,8.1\n3,5.9\n4,4\n");
        for form in [CurveForm::Polynomial(1), CurveForm::Formula("a*n + b".into())] {
            let model = PerformanceModel::from_series(&series, &form).unwrap();
            assert_eq!(model.formula().to_string(), "12.05 - 2.02*n");
            assert!((model.point_estimate(&[2.5]).unwrap() - 7.0).abs() < 1e-9);
            assert_eq!(model.point_estimate(&[10.0]), Some(0.0));
            assert!(PerformanceModel::parse(&model.to_text(), Path::new("m")).unwrap() == model);
        }
        let error = PerformanceModel::from_series(&series, &CurveForm::Formula("a*n + m".into())).map(|_| ());
        assert_eq!(error, Ok(()), "a name that is no parameter is a coefficient");
        let error = PerformanceModel::from_series(&series, &CurveForm::Formula("a*n^b".into())).unwrap_err();
        assert!(matches!(error, SeriesModelError::Form(_)), "{error}");
    }

    #[test]
    fn counts_have_an_exact_formula_where_there_is_a_simple_one() {
        let rows = [(2, 3), (4, 10), (8, 36), (16, 136)].map(|(n, sent)| format!("{n},{sent}\n")).concat();
        let model =
            |header: &str| PerformanceModel::from_series(&table(&format!("n,send [{header}]\n{rows}")), &CurveForm::Scaling).unwrap();
        assert_eq!(model("count").formula().to_string(), "0.5*n^2 + 0.5*n");
        assert_eq!(model("count").whole.unwrap().error_percent, Some(0.0));
        assert!(model("flop").whole.unwrap().curve.is_some(), "what is no count may have noise");
    }

    #[test]
    fn one_setting_says_nothing_about_growth() {
        let error = PerformanceModel::from_series(&table("n,send [s]\n8,2\n8,3\n"), &CurveForm::Scaling).unwrap_err();
        let said = "all 2 measurements are at n = 8 (median 2.5 s), so growth is unknown: \
                    measure at least 3 values of each parameter, next n = 16";
        assert_eq!(error.to_string(), said);
        let mean = PerformanceModel::from_series(&table("n,send [s]\n8,2\n8,3\n"), &CurveForm::Polynomial(0)).unwrap();
        assert_eq!(mean.formula().to_string(), "2.5");
        assert!(mean.notes[0].starts_with("there are as many coefficients as settings"), "{:?}", mean.notes);
    }

    #[test]
    fn many_series_are_fitted_at_once_in_their_order() {
        let rows = |factor: i32| (1..=5).map(|n| format!("{n},{}\n", factor * n * n)).collect::<String>();
        let series: Vec<MeasurementSeries> = (1..=20).map(|factor| table(&format!("n,send [s]\n{}", rows(factor)))).collect();
        let models = PerformanceModel::from_all_series(&series, &CurveForm::Scaling);
        for (factor, model) in (1..).zip(models) {
            assert!((model.unwrap().point_estimate(&[10.0]).unwrap() / (100.0 * f64::from(factor)) - 1.0).abs() < 0.01, "{factor}");
        }
    }
}
