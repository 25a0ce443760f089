//! A formula in a model, with what is known of how sure it is.

use sintonia_fit::Random;
use sintonia_formula::{Formula, Interval, Values};

use crate::curve::{Curve, Drawn, NoCurve};
use crate::predict::Figure;

/// A formula of the model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The formula.
    pub formula: Formula,
    /// How far it is from what was measured, in percent.
    pub error_percent: Option<f64>,
    /// All the formulas that explain what was measured; none if the formula was written by hand.
    pub curve: Option<Curve>,
    /// What it is multiplied with on another machine.
    pub scale: Option<Scale>,
}

/// How many times as long something takes on another machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// The same everywhere.
    Constant(Figure),
    /// What it costs there over what it costs here.
    Formulas {
        /// What it costs here.
        here: Formula,
        /// What it costs there.
        there: Formula,
    },
}

impl Scale {
    /// The least, the likeliest and the largest factor at a setting; 1 where it is not known.
    pub fn at(&self, parameters: &[String], setting: &[f64]) -> Figure {
        match self {
            Scale::Constant(figure) => *figure,
            Scale::Formulas { here, there } => {
                let at = intervals(parameters, setting);
                let both = here.enclose(&at).ok().zip(there.enclose(&at).ok()).filter(|(here, _)| here.low() > 0.0);
                both.map_or([1.0; 3], |(here, there)| {
                    // Both have their middle where they are likeliest; extremes of both at once are not.
                    let middle = there.middle() / here.middle();
                    [(there.low() / here.middle()).min(middle), middle, (there.high() / here.middle()).max(middle)]
                })
            }
        }
    }

    /// The likeliest factor as a formula.
    pub fn formula(&self) -> Formula {
        match self {
            Scale::Constant([_, middle, _]) => Formula::decimal(*middle),
            Scale::Formulas { here, there } => there / here,
        }
    }
}

/// A possible way that a term may go.
pub struct Possible<'a> {
    way: Way<'a>,
    /// Where between least and most what it is multiplied with lies, from 0 to 1.
    place: f64,
}

enum Way<'a> {
    Curve(Drawn<'a>),
    Formula { formula: &'a Formula, parameters: &'a [String], factor: f64 },
}

impl Term {
    /// The term of what runs took at settings of these parameters, where some ranks have no part in it.
    pub fn fit(parameters: &[String], settings: &[Vec<f64>], values: &[f64], left_out: usize) -> Result<Term, NoCurve> {
        Ok(Term::of(Curve::of_runs(parameters, settings, values, left_out)?))
    }

    /// The term that a curve shows.
    pub fn of(curve: Curve) -> Term {
        Term { formula: curve.formula(), error_percent: Some(digits(curve.error_percent())), curve: Some(curve), scale: None }
    }

    /// A term as a person wrote it.
    pub fn by_hand(formula: Formula, error_percent: Option<f64>) -> Term {
        Term { formula, error_percent, curve: None, scale: None }
    }

    /// One of the ways that it may go, as likely as each is.
    pub fn draw<'a>(&'a self, parameters: &'a [String], random: &mut Random) -> Possible<'a> {
        let way = match &self.curve {
            Some(curve) => Way::Curve(curve.draw(random)),
            None => {
                let error = self.error_percent.unwrap_or(0.0) / 100.0;
                Way::Formula { formula: &self.formula, parameters, factor: (1.0 + error * random.normal()).max(0.0) }
            }
        };
        Possible { way, place: random.unit() }
    }

    /// What it is multiplied with at a setting of these parameters.
    pub fn factor(&self, parameters: &[String], setting: &[f64]) -> Figure {
        self.scale.as_ref().map_or([1.0; 3], |scale| scale.at(parameters, setting))
    }

    /// The value of the formula at a setting of these parameters; `None` where it has none.
    pub fn at(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        let value = self.formula.evaluate(&values(parameters, setting)).ok()?;
        Some(value * self.factor(parameters, setting)[1])
    }

    /// The likeliest value at a setting of these parameters, by all formulas that explain what was measured.
    pub fn likeliest(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        match &self.curve {
            Some(curve) => Some(curve.expect(setting)[1] * self.factor(parameters, setting)[1]),
            None => self.at(parameters, setting),
        }
    }

    /// The whole formula, with what it is multiplied with.
    pub fn whole_formula(&self) -> Formula {
        self.scale.as_ref().map_or_else(|| self.formula.clone(), |scale| &self.formula * scale.formula())
    }
}

impl Possible<'_> {
    /// Its value at a setting, where it is multiplied with a factor between these; never less than nothing.
    pub fn at(&self, setting: &[f64], [low, middle, high]: Figure) -> f64 {
        let value = match &self.way {
            Way::Curve(curve) => curve.at(setting),
            Way::Formula { formula, parameters, factor } => formula.evaluate(&values(parameters, setting)).unwrap_or(f64::NAN) * factor,
        };
        let from_middle = 2.0 * self.place - 1.0;
        let factor = middle + if from_middle < 0.0 { from_middle * (middle - low) } else { from_middle * (high - middle) };
        (value * factor).max(0.0)
    }
}

/// A setting as values of symbols.
pub fn values(parameters: &[String], setting: &[f64]) -> Values<f64> {
    parameters.iter().zip(setting).fold(Values::new(), |values, (name, value)| values.with(name, *value))
}

fn intervals(parameters: &[String], setting: &[f64]) -> Values<Interval> {
    parameters.iter().zip(setting).fold(Values::new(), |values, (name, value)| values.with(name, Interval::point(*value)))
}

/// A figure of percent or of a share with as many digits as anybody reads.
pub fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
