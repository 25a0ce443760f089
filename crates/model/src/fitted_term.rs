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
    /// Computation.
    Computation(ComputationScale),
    /// Calls whose cost is known on both machines.
    Calls(CallScale),
}

/// How many times as long computation takes on another machine.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputationScale {
    /// The ratio of the costs.
    pub cost_ratio: EstimateRange,
    /// The share of its time for which a rank has a processor, if a limit stops it otherwise.
    pub processor_share: Option<Formula>,
}

/// Calls on another machine. Their time differs by what the bare calls cost; the rest of it is waiting for other ranks, which lasts as long
/// as the computation that it waits for. If the calls took less than their bare cost, something was hidden behind computation: a cheaper call
/// takes its share, and a dearer one all that is added.
#[derive(Clone, Debug, PartialEq)]
pub struct CallScale {
    /// The cost of a call on the measured machine.
    pub here: Formula,
    /// The cost of a call on the other machine.
    pub there: Formula,
    /// Calls of a rank that makes any, on average.
    pub calls: Formula,
    /// How many times as long computation takes.
    pub computation: ComputationScale,
    /// Factor by which the interval is wider, since the measurement of the costs was disturbed.
    pub widening: f64,
}

impl MachineScale {
    /// Low, middle and high factor at a setting, of something that takes `seconds` on the measured machine; 1 where it is unknown.
    pub fn factor_at(&self, parameters: &[String], setting: &[f64], seconds: f64) -> EstimateRange {
        match self {
            MachineScale::Computation(scale) => scale.factor_at(parameters, setting),
            MachineScale::Calls(scale) => scale.factor_at(parameters, setting, seconds).unwrap_or([1.0; 3]),
        }
    }

    /// The time on the other machine as a formula of that on the measured machine.
    fn scaled(&self, seconds: &Formula) -> Formula {
        match self {
            MachineScale::Computation(scale) => seconds * scale.formula(),
            MachineScale::Calls(CallScale { here, there, calls, computation, .. }) => {
                let (here, there) = (here * calls, there * calls);
                let ratio = Formula::min_of([Formula::integer(1), &there / &here]);
                let waiting = Formula::max_of([Formula::zero(), seconds - &here]);
                let time = Formula::max_of([seconds + there - here, seconds * ratio]);
                time + waiting * (computation.formula() - Formula::integer(1))
            }
        }
    }
}

impl ComputationScale {
    fn factor_at(&self, parameters: &[String], setting: &[f64]) -> EstimateRange {
        let [low, middle, high] = self.cost_ratio;
        let share = self.processor_share.as_ref().and_then(|share| share.evaluate(&symbol_values(parameters, setting)).ok()).unwrap_or(1.0);
        // A rank that waits busily for another one that is stopped uses up its own share.
        [low / share, middle / share, high / (share * share)]
    }

    fn formula(&self) -> Formula {
        let ratio = Formula::decimal(self.cost_ratio[1]);
        self.processor_share.as_ref().map_or_else(|| ratio.clone(), |share| &ratio / share)
    }
}

impl CallScale {
    fn factor_at(&self, parameters: &[String], setting: &[f64], seconds: f64) -> Option<EstimateRange> {
        let at = symbol_intervals(parameters, setting);
        let [here, there, calls] = [&self.here, &self.there, &self.calls].map(|formula| formula.enclose(&at).ok());
        let (calls, there) = (calls?.midpoint(), there?);
        let here = here?.midpoint() * calls;
        if here <= 0.0 || seconds <= 0.0 {
            return None;
        }
        let factor = |there: f64, computation: f64| {
            let there = there.max(0.0) * calls;
            let time = (seconds + there - here).max(seconds * (there / here).min(1.0));
            ((time + (seconds - here).max(0.0) * (computation - 1.0)) / seconds).max(0.0)
        };
        let [least, usual, most] = self.computation.factor_at(parameters, setting);
        let middle = factor(there.midpoint(), usual);
        // What hid a part of the calls may hide the same part of dearer ones.
        let hidden = if seconds < here { (there.midpoint() * calls / here).max(1.0) } else { f64::INFINITY };
        let low = factor(there.low() / self.widening, least).min(middle).min(hidden);
        Some([low, middle, factor(there.high() * self.widening, most).max(middle)])
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
    pub fn fit(parameters: &[String], settings: &[Vec<f64>], values: &[f64], idle_ranks: usize) -> Result<FittedTerm, FitError> {
        Ok(FittedTerm::from_curve(FittedCurve::fit_runs(parameters, settings, values, idle_ranks)?))
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
        let factor = |scale: &MachineScale| Some(scale.factor_at(parameters, setting, self.unscaled_estimate(parameters, setting)?));
        self.scale.as_ref().and_then(factor).unwrap_or([1.0; 3])
    }

    /// The point estimate at a setting, from all formulas that explain the measurements; `None` where a formula has no value.
    pub fn point_estimate(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        Some(self.unscaled_estimate(parameters, setting)? * self.scale_factor(parameters, setting)[1])
    }

    /// The same on the measured machine.
    fn unscaled_estimate(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        match &self.curve {
            Some(curve) => Some(curve.predict_mean(setting)[1]),
            None => self.formula.evaluate(&symbol_values(parameters, setting)).ok(),
        }
    }

    /// The formula with the scale factor.
    pub fn scaled_formula(&self) -> Formula {
        self.scale.as_ref().map_or_else(|| self.formula.clone(), |scale| scale.scaled(&self.formula))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors of two calls that cost `here` and `there` seconds each, and take `seconds` together, where computation takes half as long.
    fn factors(here: &str, there: &str, seconds: f64) -> EstimateRange {
        let [here, there, calls] = [here, there, "2"].map(|formula| formula.parse().unwrap());
        let computation = ComputationScale { cost_ratio: [0.25, 0.5, 1.0], processor_share: None };
        let scale = CallScale { here, there, calls, computation, widening: 1.0 };
        MachineScale::Calls(scale).factor_at(&[], &[], seconds)
    }

    #[test]
    fn calls_change_by_their_cost_and_what_they_wait_like_computation() {
        assert_eq!(factors("1", "3", 10.0), [0.8, 1.0, 1.4], "2 s become 6, and 8 s of waiting 4");
        assert_eq!(factors("3", "1", 10.0)[1], 0.4, "6 s become 2, and 4 s of waiting 2");
    }

    #[test]
    fn what_is_hidden_of_calls_stays_hidden_or_does_not() {
        assert_eq!(factors("1", "3", 1.0), [3.0, 5.0, 5.0], "4 s more, or three times as much");
        assert_eq!(factors("2", "1", 1.0), [0.5, 0.5, 0.5], "of what is shown, half");
    }

    #[test]
    fn computation_takes_longer_where_a_limit_stops_it() {
        let scale = ComputationScale { cost_ratio: [1.0, 2.0, 3.0], processor_share: Some("min(1, 2/p)".parse().unwrap()) };
        assert_eq!(scale.factor_at(&["p".to_owned()], &[2.0]), [1.0, 2.0, 3.0]);
        assert_eq!(
            scale.factor_at(&["p".to_owned()], &[4.0]),
            [2.0, 4.0, 12.0],
            "half of its time, and at worst half of that of the other"
        );
    }

    #[test]
    fn an_uncertain_cost_of_the_measured_machine_counts_with_its_middle() {
        assert_eq!(factors("[0,2]", "3", 2.0)[1], 3.0);
        assert_eq!(factors("0", "3", 2.0), [1.0; 3], "unknown");
    }
}
