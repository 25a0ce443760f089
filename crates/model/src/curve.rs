//! A fitted formula with its uncertainty: the interface to `sintonia_fit`.

use serde::{Deserialize, Serialize};
use sintonia_fit::SplitMix64;
use sintonia_fit::linear_form::{FormFitError, LinearForm};
use sintonia_fit::measurements::{DataPoint, MeasurementError, Measurements};
use sintonia_fit::piecewise::{ErrorWeighting, IntervalEstimate, PiecewiseError, PiecewiseLinear, PiecewiseOptions};
use sintonia_fit::scaling::{self, EnsembleMember, InsufficientData, ParameterKind, TermEstimate};
use sintonia_formula::Formula;

use crate::run::RANKS_PARAMETER;

/// The 97.5 % quantile of the standard normal distribution.
pub(crate) const NORMAL_95_QUANTILE: f64 = 1.96;

/// Measurements explained by formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FittedCurve {
    /// A scaling model.
    Scaling(Box<scaling::ScalingModel>),
    /// A scaling model over the number of active ranks.
    ActiveRanks(ActiveRanksModel),
    /// A piecewise linear function of one parameter.
    Piecewise(PiecewiseCurve),
}

/// A scaling model of work that some ranks never do, such as tasks of workers that the master does not compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActiveRanksModel {
    /// The number of idle ranks.
    pub idle_ranks: usize,
    /// The model, over the number of active ranks.
    pub model: Box<scaling::ScalingModel>,
}

impl ActiveRanksModel {
    /// A setting with the number of active ranks; `None` if no rank is active.
    fn active_setting(&self, setting: &[f64]) -> Option<Vec<f64>> {
        Some(without_idle_ranks(&self.model.parameters, setting, self.idle_ranks)).filter(|others| others.iter().all(|value| *value > 0.0))
    }

    /// The terms of a model, as formulas of the number of all ranks.
    fn terms_in_all_ranks(&self, model: &scaling::ScalingModel) -> Vec<FormulaTerm> {
        display_terms(model).into_iter().map(|one| FormulaTerm { term: self.in_all_ranks(&one.term), ..one }).collect()
    }

    /// Converts a formula of the number of active ranks to one of all ranks.
    fn in_all_ranks(&self, formula: &Formula) -> Formula {
        formula.substitute(RANKS_PARAMETER, &(Formula::symbol(RANKS_PARAMETER) - Formula::integer(self.idle_ranks as i64)))
    }
}

/// A setting without the idle ranks.
fn without_idle_ranks(parameters: &[String], setting: &[f64], idle_ranks: usize) -> Vec<f64> {
    let others = |(name, value): (&String, &f64)| if name == RANKS_PARAMETER { value - idle_ranks as f64 } else { *value };
    parameters.iter().zip(setting).map(others).collect()
}

/// A piecewise linear function of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiecewiseCurve {
    /// The parameter.
    pub parameter: String,
    /// The function.
    pub lines: PiecewiseLinear,
}

/// A curve sampled from the posterior.
pub enum CurveSample<'a> {
    /// From a scaling model.
    Scaling(scaling::PosteriorCurve<'a>),
    /// From a scaling model over active ranks.
    ActiveRanks(&'a ActiveRanksModel, scaling::PosteriorCurve<'a>),
    /// Piecewise linear, shifted by this many half intervals.
    Piecewise(&'a PiecewiseLinear, f64),
}

impl CurveSample<'_> {
    /// Its value at a setting.
    pub fn value_at(&self, setting: &[f64]) -> f64 {
        match self {
            CurveSample::Scaling(drawn) => drawn.value_at(setting),
            CurveSample::ActiveRanks(others, drawn) => others.active_setting(setting).map_or(f64::INFINITY, |at| drawn.value_at(&at)),
            CurveSample::Piecewise(lines, half_intervals) => {
                let [low, middle, high] = lines.predict(setting[0]);
                middle + if *half_intervals < 0.0 { half_intervals * (middle - low) } else { half_intervals * (high - middle) }
            }
        }
    }
}

/// A term of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaTerm {
    /// A product of powers and logarithms of parameters.
    pub term: Formula,
    /// Its coefficient: low, estimate, high.
    pub coefficient: [f64; 3],
}

/// Why there is no formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The measurements cannot be used.
    #[error(transparent)]
    Measurements(#[from] MeasurementError),
    /// There are too few measurements.
    #[error(transparent)]
    NotEnough(#[from] InsufficientData),
    /// A piecewise fit is impossible.
    #[error(transparent)]
    Piecewise(#[from] PiecewiseError),
    /// A given form cannot be fitted.
    #[error(transparent)]
    Form(#[from] FormFitError),
}

impl FittedCurve {
    /// Fits values at settings of these parameters; several values at one setting are repetitions.
    pub fn fit(parameters: &[String], settings: &[Vec<f64>], values: &[f64]) -> Result<FittedCurve, FitError> {
        let points = settings.iter().zip(values).map(|(at, value)| DataPoint { at: at.clone(), values: vec![*value] }).collect();
        FittedCurve::fit_measurements(&Measurements::new(parameters.to_vec(), points)?)
    }

    /// Fits measurements.
    pub fn fit_measurements(measurements: &Measurements) -> Result<FittedCurve, FitError> {
        Ok(FittedCurve::Scaling(Box::new(scaling::fit(measurements)?)))
    }

    /// Fits the coefficients of a given form.
    pub fn fit_form(measurements: &Measurements, form: &LinearForm) -> Result<FittedCurve, FitError> {
        Ok(FittedCurve::Scaling(Box::new(form.fit(measurements)?)))
    }

    /// Fits times of runs, where the parameters are known to be the number of ranks (some of them idle) and problem sizes.
    pub fn fit_runs(parameters: &[String], settings: &[Vec<f64>], values: &[f64], idle_ranks: usize) -> Result<FittedCurve, FitError> {
        let idle_ranks = if parameters.iter().any(|name| name == RANKS_PARAMETER) { idle_ranks } else { 0 };
        let point = |(at, value): (&Vec<f64>, &f64)| DataPoint { at: without_idle_ranks(parameters, at, idle_ranks), values: vec![*value] };
        let points = settings.iter().zip(values).map(point).collect();
        let nature = |name: &String| if name == RANKS_PARAMETER { ParameterKind::Processes } else { ParameterKind::Size };
        let measurements = Measurements::new(parameters.to_vec(), points)?.with_parameter_kinds(parameters.iter().map(nature));
        let model = Box::new(scaling::fit(&measurements)?);
        Ok(if idle_ranks == 0 { FittedCurve::Scaling(model) } else { FittedCurve::ActiveRanks(ActiveRanksModel { idle_ranks, model }) })
    }

    /// Fits a piecewise linear function to pairs of parameter value and measurement.
    ///
    /// If absolute and relative errors give the same breakpoints, the fit with absolute errors (ordinary least squares) is taken. Otherwise the
    /// relative one is, since small values matter as much as large ones.
    pub fn fit_piecewise(parameter: &str, points: &[(f64, f64)]) -> Result<FittedCurve, FitError> {
        let relative = PiecewiseLinear::fit(points, &PiecewiseOptions::default())?;
        let ordinary =
            PiecewiseLinear::fit(points, &PiecewiseOptions { weights: ErrorWeighting::Ordinary, ..PiecewiseOptions::default() })?;
        let ends = |lines: &PiecewiseLinear| lines.breaks.iter().map(|end| end.at).collect::<Vec<f64>>();
        let lines = if ends(&relative) == ends(&ordinary) { ordinary } else { relative };
        Ok(FittedCurve::Piecewise(PiecewiseCurve { parameter: parameter.to_owned(), lines }))
    }

    /// The best formula.
    pub fn formula(&self) -> Formula {
        match self {
            FittedCurve::Scaling(model) => model.formula(),
            FittedCurve::ActiveRanks(others) => others.in_all_ranks(&others.model.formula()),
            FittedCurve::Piecewise(pieces) => pieces.lines.formula(&pieces.parameter),
        }
    }

    /// The terms of the best formula within the measured range; none for piecewise functions.
    pub fn terms(&self) -> Vec<FormulaTerm> {
        match self {
            FittedCurve::Scaling(model) => display_terms(model),
            FittedCurve::ActiveRanks(others) => others.terms_in_all_ranks(&others.model),
            FittedCurve::Piecewise(_) => Vec::new(),
        }
    }

    /// The terms at a setting, where an extrapolation model may apply.
    pub fn terms_at(&self, setting: &[f64]) -> Vec<FormulaTerm> {
        match self {
            FittedCurve::Scaling(model) => display_terms(model.model_at(setting)),
            FittedCurve::ActiveRanks(others) => {
                others.active_setting(setting).map_or_else(Vec::new, |at| others.terms_in_all_ranks(others.model.model_at(&at)))
            }
            FittedCurve::Piecewise(_) => Vec::new(),
        }
    }

    /// Samples a curve from the posterior.
    pub fn sample(&self, random: &mut SplitMix64) -> CurveSample<'_> {
        match self {
            FittedCurve::Scaling(model) => CurveSample::Scaling(model.sample_curve(random)),
            FittedCurve::ActiveRanks(others) => CurveSample::ActiveRanks(others, others.model.sample_curve(random)),
            FittedCurve::Piecewise(pieces) => CurveSample::Piecewise(&pieces.lines, random.standard_normal() / NORMAL_95_QUANTILE),
        }
    }

    /// The prediction interval of one further measurement: low, middle, high.
    pub fn predict(&self, at: &[f64]) -> [f64; 3] {
        match self {
            FittedCurve::Scaling(model) => model.predict(at),
            FittedCurve::ActiveRanks(others) => others.active_setting(at).map_or([f64::INFINITY; 3], |at| others.model.predict(&at)),
            FittedCurve::Piecewise(pieces) => pieces.lines.predict(at[0]),
        }
    }

    /// The confidence interval of the true value: low, middle, high.
    pub fn predict_mean(&self, at: &[f64]) -> [f64; 3] {
        match self {
            FittedCurve::Scaling(model) => model.predict_mean(at),
            FittedCurve::ActiveRanks(others) => others.active_setting(at).map_or([f64::INFINITY; 3], |at| others.model.predict_mean(&at)),
            FittedCurve::Piecewise(pieces) => pieces.lines.predict(at[0]),
        }
    }

    /// The spread of repetitions, in percent.
    pub fn noise_percent(&self) -> f64 {
        match self {
            FittedCurve::Scaling(model) | FittedCurve::ActiveRanks(ActiveRanksModel { model, .. }) => {
                model.noise.repetitions_percent.unwrap_or(0.0).max(model.noise.percent)
            }
            FittedCurve::Piecewise(pieces) => pieces.lines.error_percent,
        }
    }

    /// The mean error in percent: at the largest values when held out, or else at all.
    pub fn error_percent(&self) -> f64 {
        match self {
            FittedCurve::Scaling(model) | FittedCurve::ActiveRanks(ActiveRanksModel { model, .. }) => {
                model.error_percent.validated.unwrap_or(model.error_percent.in_sample)
            }
            FittedCurve::Piecewise(pieces) => pieces.lines.error_percent,
        }
    }

    /// The scaling model, and the number of idle ranks; `None` for a piecewise linear function.
    pub(crate) fn scaling_model(&self) -> Option<(&scaling::ScalingModel, usize)> {
        match self {
            FittedCurve::Scaling(model) => Some((model, 0)),
            FittedCurve::ActiveRanks(ActiveRanksModel { model, idle_ranks }) => Some((model, *idle_ranks)),
            FittedCurve::Piecewise(_) => None,
        }
    }

    /// Whether a curve read from a file is consistent with these parameters.
    pub fn is_valid(&self, parameters: &[String]) -> bool {
        match self {
            FittedCurve::Scaling(model) | FittedCurve::ActiveRanks(ActiveRanksModel { model, .. }) => is_valid_model(model, parameters),
            FittedCurve::Piecewise(pieces) => {
                let lines = &pieces.lines;
                let numbers = lines.pieces.iter().flat_map(|line| [line.intercept.value, line.slope.value, line.freedom, line.covariance]);
                parameters == [pieces.parameter.clone()]
                    && lines.pieces.len() == lines.breaks.len() + 1
                    && (0.5..1.0).contains(&lines.confidence)
                    && lines.pieces.iter().all(|line| line.freedom > 0.0)
                    && numbers.into_iter().all(f64::is_finite)
            }
        }
    }
}

fn display_terms(model: &scaling::ScalingModel) -> Vec<FormulaTerm> {
    let summand = |term: TermEstimate| {
        let IntervalEstimate { value, low, high } = term.coefficient;
        FormulaTerm { term: term.product(), coefficient: [low, value, high] }
    };
    model.terms().into_iter().map(summand).collect()
}

fn is_valid_model(model: &scaling::ScalingModel, parameters: &[String]) -> bool {
    let each = |values: &[f64]| values.len() == parameters.len() && values.iter().all(|value| value.is_finite());
    let positive = |values: &[f64]| values.len() == parameters.len() && values.iter().all(|value| *value > 0.0 && value.is_finite());
    let member = |member: &EnsembleMember| {
        let size = member.terms.len();
        let numbers = member.coefficients.iter().chain(&member.covariance).chain([&member.weight, &member.freedom]);
        let factors = || member.terms.iter().flatten();
        member.coefficients.len() == size
            && member.covariance.len() == size * size
            && member.freedom > 0.0
            && factors().all(|factor| factor.parameter < parameters.len() && factor.exponent.is_finite())
            && numbers.copied().all(f64::is_finite)
    };
    model.parameters == parameters
        && (0.5..1.0).contains(&model.confidence)
        && positive(&model.reference)
        && positive(&model.smallest)
        && !model.members.is_empty()
        && model.members.iter().chain([&model.shown]).all(member)
        && model.unexplained.as_ref().is_none_or(|unexplained| each(&unexplained.ahead) && each(&unexplained.steps))
        && model.correction.as_ref().is_none_or(|correction| {
            each(&correction.steps)
                && each(&correction.likeness.along)
                && correction.likeness.goes_on.len() == parameters.len()
                && correction.points.iter().all(|point| positive(point))
        })
        && model.average.as_ref().is_none_or(|average| average.is_valid(parameters.len()))
        && model.beyond.as_ref().is_none_or(|beyond| {
            beyond.parameter < parameters.len()
                && beyond.above > 0.0
                && beyond.above.is_finite()
                && beyond.model.beyond.is_none()
                && is_valid_model(&beyond.model, parameters)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::SymbolValues;

    fn n() -> Vec<String> {
        vec!["n".into()]
    }

    #[test]
    fn the_formula_shown_gives_the_values_it_was_found_in() {
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 300.0, 400.0, 600.0, 800.0].map(|n| vec![n]).into();
        let values: Vec<f64> = settings.iter().map(|x| 2e-9 * x[0].powi(3) + 3e-4).collect();
        let curve = FittedCurve::fit(&n(), &settings, &values).unwrap();
        let formula = curve.formula();
        for (setting, value) in settings.iter().zip(&values) {
            let found = formula.evaluate(&SymbolValues::new().with_value("n", setting[0])).unwrap();
            assert!((found / value - 1.0).abs() < 0.01, "{formula} at {setting:?}: {found}, not {value}");
            let [low, middle, high] = curve.predict_mean(setting);
            assert!(low <= middle && middle <= high && (middle / value - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn too_few_values_say_which_one_to_measure_next() {
        let settings = vec![vec![200.0], vec![400.0]];
        let error = FittedCurve::fit(&n(), &settings, &[2.0, 4.0]).unwrap_err();
        assert!(matches!(error, FitError::NotEnough(InsufficientData::TooFewValues { have: 2, next: 800.0, .. })), "{error}");
        assert!(matches!(
            FittedCurve::fit(&n(), &settings, &[1.0, 0.0]),
            Err(FitError::Measurements(MeasurementError::NotPositive { .. }))
        ));
    }

    #[test]
    fn what_the_workers_of_a_master_share_is_divided_among_them() {
        let settings: Vec<Vec<f64>> = [2.0, 3.0, 4.0, 6.0].map(|p| vec![p]).into();
        let values: Vec<f64> = settings.iter().map(|x| 3.0 / (x[0] - 1.0)).collect();
        let curve = FittedCurve::fit_runs(&["p".into()], &settings, &values, 1).unwrap();
        assert_eq!(curve.formula().to_string(), "3/(p - 1)");
        assert!((curve.predict_mean(&[31.0])[1] / 0.1 - 1.0).abs() < 1e-3);
        assert!(!curve.predict_mean(&[1.0])[1].is_finite(), "a master alone never ends");
    }

    #[test]
    fn what_runs_take_grows_with_whole_powers_of_sizes_unless_they_say_otherwise() {
        let settings: Vec<Vec<f64>> = [400.0, 500.0, 600.0, 700.0, 800.0].map(|n| vec![n]).into();
        let noise = [1.04, 0.97, 1.02, 0.95, 1.03];
        let values: Vec<f64> = settings.iter().zip(noise).map(|(x, noise)| 4e-7 * x[0].powi(2) * noise).collect();
        let curve = FittedCurve::fit_runs(&n(), &settings, &values, 0).unwrap();
        assert!((curve.predict_mean(&[3200.0])[1] / (4e-7 * 3200.0 * 3200.0) - 1.0).abs() < 0.1, "{}", curve.formula());
    }
}
