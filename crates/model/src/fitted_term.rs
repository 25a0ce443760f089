//! A formula of a model with its uncertainty.

use sintonia_fit::SplitMix64;
use sintonia_formula::{Formula, Interval, SymbolValues};

use crate::curve::{CurveSample, FitError, FittedCurve};

/// Low, middle (point estimate) and high.
pub type EstimateRange = [f64; 3];

/// A formula of the model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedTerm {
    /// The formula.
    pub formula: Formula,
    /// Its error in percent.
    pub error_percent: Option<f64>,
    /// The fitted curve behind it; none if the formula was written by hand.
    pub curve: Option<FittedCurve>,
    /// The scale factor on another machine.
    pub scale: Option<MachineScale>,
}

/// How many times as long something takes on another machine.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineScale {
    /// A constant factor.
    Constant(EstimateRange),
    /// The ratio of two costs.
    Formulas {
        /// The cost on the measured machine.
        here: Formula,
        /// The cost on the other machine.
        there: Formula,
        /// Factor by which the interval is wider, since the measurement of the costs was disturbed.
        widening: f64,
    },
}

impl MachineScale {
    /// Low, middle and high factor at a setting; 1 where it is unknown.
    pub fn factor_at(&self, parameters: &[String], setting: &[f64]) -> EstimateRange {
        match self {
            MachineScale::Constant(figure) => *figure,
            MachineScale::Formulas { here, there, widening } => {
                let at = symbol_intervals(parameters, setting);
                let both = here.enclose(&at).ok().zip(there.enclose(&at).ok()).filter(|(here, _)| here.low() > 0.0);
                both.map_or([1.0; 3], |(here, there)| {
                    // Each interval is relative to the other's middle; both extremes at once are unlikely.
                    let middle = there.midpoint() / here.midpoint();
                    let [low, high] = [there.low() / here.midpoint() / widening, there.high() / here.midpoint() * widening];
                    [low.min(middle), middle, high.max(middle)]
                })
            }
        }
    }

    /// The factor as a formula.
    pub fn formula(&self) -> Formula {
        match self {
            MachineScale::Constant([_, middle, _]) => Formula::decimal(*middle),
            MachineScale::Formulas { here, there, .. } => there / here,
        }
    }
}

/// A sample of a term from its posterior.
pub struct TermSample<'a> {
    source: SampleSource<'a>,
    /// Position of the scale factor between low and high, from 0 to 1.
    scale_quantile: f64,
}

enum SampleSource<'a> {
    Curve(CurveSample<'a>),
    Formula { formula: &'a Formula, parameters: &'a [String], factor: f64 },
}

impl FittedTerm {
    /// The term of times of runs at these settings, where some ranks are idle.
    pub fn fit(parameters: &[String], settings: &[Vec<f64>], values: &[f64], left_out: usize) -> Result<FittedTerm, FitError> {
        Ok(FittedTerm::from_curve(FittedCurve::fit_runs(parameters, settings, values, left_out)?))
    }

    /// The term of a fitted curve.
    pub fn from_curve(curve: FittedCurve) -> FittedTerm {
        FittedTerm {
            formula: curve.formula(),
            error_percent: Some(round_to_four_digits(curve.error_percent())),
            curve: Some(curve),
            scale: None,
        }
    }

    /// A term written by hand.
    pub fn from_formula(formula: Formula, error_percent: Option<f64>) -> FittedTerm {
        FittedTerm { formula, error_percent, curve: None, scale: None }
    }

    /// Samples from the posterior.
    pub fn sample<'a>(&'a self, parameters: &'a [String], random: &mut SplitMix64) -> TermSample<'a> {
        let way = match &self.curve {
            Some(curve) => SampleSource::Curve(curve.sample(random)),
            None => {
                let error = self.error_percent.unwrap_or(0.0) / 100.0;
                SampleSource::Formula { formula: &self.formula, parameters, factor: (1.0 + error * random.standard_normal()).max(0.0) }
            }
        };
        TermSample { source: way, scale_quantile: random.uniform() }
    }

    /// The scale factor at a setting.
    pub fn scale_factor(&self, parameters: &[String], setting: &[f64]) -> EstimateRange {
        self.scale.as_ref().map_or([1.0; 3], |scale| scale.factor_at(parameters, setting))
    }

    /// The value of the formula at a setting; `None` where it has none.
    pub fn value_at(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        let value = self.formula.evaluate(&symbol_values(parameters, setting)).ok()?;
        Some(value * self.scale_factor(parameters, setting)[1])
    }

    /// The point estimate at a setting, from all formulas that explain the measurements.
    pub fn point_estimate(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        match &self.curve {
            Some(curve) => Some(curve.predict_mean(setting)[1] * self.scale_factor(parameters, setting)[1]),
            None => self.value_at(parameters, setting),
        }
    }

    /// The formula with the scale factor.
    pub fn scaled_formula(&self) -> Formula {
        self.scale.as_ref().map_or_else(|| self.formula.clone(), |scale| &self.formula * scale.formula())
    }
}

impl TermSample<'_> {
    /// Its value at a setting, with a scale factor in this range; never negative.
    pub fn value_at(&self, setting: &[f64], [low, middle, high]: EstimateRange) -> f64 {
        let value = match &self.source {
            SampleSource::Curve(curve) => curve.value_at(setting),
            SampleSource::Formula { formula, parameters, factor } => {
                formula.evaluate(&symbol_values(parameters, setting)).unwrap_or(f64::NAN) * factor
            }
        };
        let from_middle = 2.0 * self.scale_quantile - 1.0;
        let factor = middle + if from_middle < 0.0 { from_middle * (middle - low) } else { from_middle * (high - middle) };
        (value * factor).max(0.0)
    }
}

/// A setting as values of symbols.
pub fn symbol_values(parameters: &[String], setting: &[f64]) -> SymbolValues<f64> {
    parameters.iter().zip(setting).fold(SymbolValues::new(), |values, (name, value)| values.with_value(name, *value))
}

fn symbol_intervals(parameters: &[String], setting: &[f64]) -> SymbolValues<Interval> {
    parameters.iter().zip(setting).fold(SymbolValues::new(), |values, (name, value)| values.with_value(name, Interval::point(*value)))
}

/// Rounds to four significant digits.
pub fn round_to_four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
