//! A form given by the user: a sum of products of powers and logarithms of the parameters, each times a coefficient to be estimated.
//!
//! `a*n^3 + b*n^2 + c` is such a form for the parameter `n`. Names that are no parameters are coefficients, each of which may multiply one
//! product only. Coefficients are estimated by ordinary least squares over the settings: repetitions count as their mean. They may be
//! negative.

use std::ops::Range;

use sintonia_formula::{Formula, ParseErrorKind, SymbolFunction, SymbolPower};
use sintonia_text::line_col::LineTable;

use crate::measurements::{DataPoint, Measurements};
use crate::piecewise::IntervalEstimate;
use crate::sample::mean;
use crate::scaling::{self, ErrorPercent, InsufficientData, LogFactor, NoiseEstimate, ScalingModel, TermFactor};

/// A sum of products, each with an unknown coefficient.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearForm {
    summands: Vec<FormSummand>,
}

/// A coefficient times a number times powers and logarithms of parameters.
#[derive(Debug, Clone, PartialEq)]
struct FormSummand {
    coefficient: String,
    number: f64,
    factors: Vec<TermFactor>,
}

/// An estimated coefficient of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormCoefficient {
    /// Its name in the form.
    pub name: String,
    /// Its value and interval.
    pub estimate: IntervalEstimate,
    /// Index of its term among those of the model.
    pub term: usize,
}

/// A text is no form that can be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("invalid form: {problem}{excerpt}")]
pub struct FormError {
    /// What is wrong.
    pub problem: FormProblem,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// The text with a mark below.
    excerpt: String,
}

/// What is wrong with a form.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormProblem {
    /// It is no formula.
    #[error(transparent)]
    Syntax(#[from] ParseErrorKind),
    /// A summand is no product with known exponents.
    #[error(
        "this is not a coefficient times powers and logarithms of {parameters}, with numbers as exponents; \
         of a sum in parentheses, write each product with a coefficient of its own"
    )]
    NotAProduct {
        /// The parameters.
        parameters: String,
    },
    /// A summand has no coefficient.
    #[error("there is nothing to estimate here: multiply it by a name that is no parameter, such as `a`")]
    NoCoefficient,
    /// A summand has several coefficients.
    #[error("{coefficients} cannot be estimated separately: one name per product (the parameters are {parameters})")]
    SeveralCoefficients {
        /// Their names.
        coefficients: String,
        /// The parameters.
        parameters: String,
    },
    /// A coefficient is raised to a power, or inside a logarithm.
    #[error("`{name}` is not one of the parameters ({parameters}), so it is a coefficient, which can only be a plain factor")]
    NonlinearCoefficient {
        /// The coefficient.
        name: String,
        /// The parameters.
        parameters: String,
    },
    /// A coefficient occurs in another summand, too.
    #[error("the coefficient `{0}` occurs twice: give each product one of its own")]
    RepeatedCoefficient(String),
    /// The same product occurs in another summand, too.
    #[error("the same product as that of `{0}`: remove one")]
    RepeatedProduct(String),
    /// A power of a logarithm that is not supported.
    #[error("of logarithms, only log2(x), log2(x)^2, ceil(log2(x)) and ln(x) can be factors, one of them per parameter")]
    Logarithm,
    /// There are too many summands or factors.
    #[error("a form may have up to {MAX_TERMS} products and as many factors")]
    TooLong,
    /// A polynomial needs exactly one parameter.
    #[error("a polynomial of a given degree has one parameter, not {0}: write the form out with --form")]
    TooManyParameters(usize),
}

/// Why a form has no fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormFitError {
    /// A logarithm of a value below one.
    #[error("the form has a logarithm of {parameter}, which needs values of at least 1 and one above it; the smallest is {smallest}")]
    Logarithm {
        /// The parameter.
        parameter: String,
        /// Its smallest value.
        smallest: f64,
    },
    /// There are too few measurements.
    #[error(transparent)]
    NotEnough(#[from] InsufficientData),
}

/// The maximum number of terms and of factors, as in [`scaling::fit_form`].
const MAX_TERMS: usize = 12;

impl LinearForm {
    /// Parses a form of these parameters.
    pub fn parse(text: &str, parameters: &[String]) -> Result<Self, FormError> {
        let error = |span: Range<usize>, problem: FormProblem| {
            let excerpt = LineTable::new(text).line_col(&span).excerpt;
            FormError { problem, span, excerpt }
        };
        let parsed = Formula::parse_summands(text).map_err(|e| error(e.offset..e.offset + 1, e.kind.into()))?;
        let mut summands: Vec<FormSummand> = Vec::with_capacity(parsed.len());
        for (span, formula) in parsed {
            let summand = FormSummand::from_formula(&formula, parameters).map_err(|problem| error(span.clone(), problem))?;
            summand.check_against(&summands).map_err(|problem| error(span, problem))?;
            summands.push(summand);
        }
        if summands.len().max(summands.iter().map(|summand| summand.factors.len()).sum()) > MAX_TERMS {
            return Err(error(0..text.len(), FormProblem::TooLong));
        }
        Ok(Self { summands })
    }

    /// A polynomial of the only parameter, with the coefficients `c0`, `c1` and so on.
    pub fn polynomial(degree: usize, parameters: &[String]) -> Result<Self, FormError> {
        let error = |problem| FormError { problem, span: 0..0, excerpt: String::new() };
        if parameters.len() != 1 {
            return Err(error(FormProblem::TooManyParameters(parameters.len())));
        }
        if degree >= MAX_TERMS {
            return Err(error(FormProblem::TooLong));
        }
        let factors = |power: usize| (power > 0).then_some(TermFactor { parameter: 0, exponent: power as f64, log: LogFactor::None });
        let summand =
            |power: usize| FormSummand { coefficient: format!("c{power}"), number: 1.0, factors: factors(power).into_iter().collect() };
        Ok(Self { summands: (0..=degree).rev().map(summand).collect() })
    }

    /// Estimates the coefficients by ordinary least squares.
    pub fn fit(&self, measurements: &Measurements) -> Result<ScalingModel, FormFitError> {
        let settings = one_value_per_setting(measurements);
        let mut model = self.fit_settings(&settings)?;
        model.error_percent.validated = scaling::hold_out_error_percent(&settings, |kept| self.fit_settings(kept).ok());
        Ok(model)
    }

    /// The coefficients of a fit of this form, in the order of the form.
    pub fn coefficients(&self, model: &ScalingModel) -> Vec<FormCoefficient> {
        let terms = model.terms();
        let coefficient = |summand: &FormSummand| {
            let term = model.shown.terms.iter().position(|term| *term == summand.factors)?;
            let IntervalEstimate { value, low, high } = terms[term].coefficient;
            let [value, low, high] = [value, low, high].map(|bound| bound / summand.number);
            let estimate = IntervalEstimate { value, low: low.min(high), high: low.max(high) };
            Some(FormCoefficient { name: summand.coefficient.clone(), estimate, term })
        };
        self.summands.iter().filter_map(coefficient).collect()
    }

    fn fit_settings(&self, settings: &Measurements) -> Result<ScalingModel, FormFitError> {
        let values: Vec<Vec<f64>> = (0..settings.parameters().len()).map(|parameter| settings.distinct_values(parameter)).collect();
        let mut terms: Vec<Vec<TermFactor>> = self.summands.iter().map(|summand| summand.factors.clone()).collect();
        for factor in terms.iter_mut().flatten().filter(|factor| factor.log != LogFactor::None) {
            check_logarithm(&settings.parameters()[factor.parameter], &values[factor.parameter])?;
            // On powers of two, both logarithms are the same, and only one is fitted.
            if factor.log == LogFactor::CeilLog2 && values[factor.parameter].iter().all(|value| value.log2().fract() == 0.0) {
                factor.log = LogFactor::Log2;
            }
        }
        let fitted = scaling::fit_form(settings, &terms, 0.0)?;
        Ok(with_least_squares_intervals(self.with_own_terms(fitted, &terms), settings))
    }

    /// The model with the terms of the form instead of those that were fitted in their place.
    fn with_own_terms(&self, mut model: ScalingModel, fitted: &[Vec<TermFactor>]) -> ScalingModel {
        let own = |term: &Vec<TermFactor>| {
            let index = fitted.iter().position(|other| other == term);
            index.map_or_else(|| term.clone(), |index| self.summands[index].factors.clone())
        };
        for member in model.members.iter_mut().chain([&mut model.shown]) {
            member.terms = member.terms.iter().map(own).collect();
        }
        model
    }
}

impl FormSummand {
    fn from_formula(formula: &Formula, parameters: &[String]) -> Result<Self, FormProblem> {
        let listed = || parameters.join(", ");
        let (number, powers) = formula.as_symbol_product().ok_or_else(|| FormProblem::NotAProduct { parameters: listed() })?;
        let (known, unknown): (Vec<SymbolPower>, Vec<SymbolPower>) =
            powers.into_iter().partition(|power| parameters.contains(&power.symbol));
        let coefficient = match &unknown[..] {
            [] => return Err(FormProblem::NoCoefficient),
            [one] if one.function == SymbolFunction::Identity && one.exponent.is_one() => one.symbol.clone(),
            [one] => return Err(FormProblem::NonlinearCoefficient { name: one.symbol.clone(), parameters: listed() }),
            several => {
                let mut names: Vec<String> = several.iter().map(|power| format!("`{}`", power.symbol)).collect();
                names.sort();
                names.dedup();
                return Err(FormProblem::SeveralCoefficients { coefficients: names.join(" and "), parameters: listed() });
            }
        };
        let factors = parameters.iter().enumerate().map(|(parameter, name)| term_factor(parameter, name, &known));
        let factors = factors.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        Ok(Self { coefficient, number, factors })
    }

    fn check_against(&self, others: &[FormSummand]) -> Result<(), FormProblem> {
        if others.iter().any(|other| other.coefficient == self.coefficient) {
            return Err(FormProblem::RepeatedCoefficient(self.coefficient.clone()));
        }
        match others.iter().find(|other| other.factors == self.factors) {
            Some(other) => Err(FormProblem::RepeatedProduct(other.coefficient.clone())),
            None => Ok(()),
        }
    }
}

/// The factor of one parameter; none if the product does not contain it.
fn term_factor(parameter: usize, name: &str, powers: &[SymbolPower]) -> Result<Option<TermFactor>, FormProblem> {
    let (mut exponent, mut log) = (0.0, LogFactor::None);
    for power in powers.iter().filter(|power| power.symbol == name) {
        let degree = power.exponent.to_f64();
        let factor = match power.function {
            SymbolFunction::Identity => {
                exponent = degree;
                continue;
            }
            SymbolFunction::Log2 if degree == 1.0 => LogFactor::Log2,
            SymbolFunction::Log2 if degree == 2.0 => LogFactor::Log2Squared,
            SymbolFunction::CeilLog2 if degree == 1.0 => LogFactor::CeilLog2,
            _ => return Err(FormProblem::Logarithm),
        };
        if std::mem::replace(&mut log, factor) != LogFactor::None {
            return Err(FormProblem::Logarithm);
        }
    }
    Ok((exponent != 0.0 || log != LogFactor::None).then_some(TermFactor { parameter, exponent, log }))
}

/// Logarithms below one are negative, and a logarithm that is zero everywhere has no coefficient.
fn check_logarithm(parameter: &str, values: &[f64]) -> Result<(), FormFitError> {
    match values {
        [smallest, ..] if *smallest < 1.0 || values.iter().all(|value| *value == 1.0) => {
            Err(FormFitError::Logarithm { parameter: parameter.to_owned(), smallest: *smallest })
        }
        _ => Ok(()),
    }
}

/// The mean of the repetitions at each setting.
fn one_value_per_setting(measurements: &Measurements) -> Measurements {
    let point = |point: &DataPoint| DataPoint { at: point.at.clone(), values: vec![mean(&point.values)] };
    let points = measurements.points().iter().map(point).collect();
    let settings = Measurements::new(measurements.parameters().to_vec(), points);
    settings.expect("means of valid measurements are valid").with_parameter_kinds(measurements.parameter_kinds())
}

/// The model with the covariance of ordinary least squares: the residual variance has as many degrees of freedom as there are settings
/// beyond the coefficients, since no exponent was searched. If there are none, the noise that is assumed without repetitions stays.
fn with_least_squares_intervals(mut model: ScalingModel, settings: &Measurements) -> ScalingModel {
    let points = settings.points();
    let freedom = points.len().saturating_sub(model.shown.terms.len()) as f64;
    if freedom == 0.0 {
        return model;
    }
    let (mut squares, mut leverage) = (0.0, 0.0);
    for point in points {
        let (value, error) = model.shown.value_and_error_at(&point.at, &model.reference);
        squares += (point.values[0] - value).powi(2);
        leverage += error * error;
    }
    let variance = squares / freedom;
    // With a residual variance of one, the variances of the fitted values add up to the number of coefficients.
    let scale = variance * model.shown.terms.len() as f64 / leverage;
    for member in model.members.iter_mut().chain([&mut model.shown]) {
        member.covariance.iter_mut().for_each(|entry| *entry *= scale);
        member.freedom = freedom;
    }
    let typical = mean(&points.iter().map(|point| point.values[0]).collect::<Vec<_>>());
    ScalingModel {
        spread: variance.sqrt(),
        noise: NoiseEstimate { percent: 100.0 * variance.sqrt() / typical, ..model.noise },
        error_percent: ErrorPercent { validated: None, ..model.error_percent },
        ..model
    }
}

#[cfg(test)]
mod tests;
