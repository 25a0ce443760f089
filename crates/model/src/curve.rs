//! A fitted formula and how sure it is: the one place that talks to the numerics below.

use serde::{Deserialize, Serialize};
use sintonia_fit::Random;
use sintonia_fit::measurements::{BadMeasurements, Measurements, Point};
use sintonia_fit::pieces::{Estimate, Options, PiecesError, Piecewise, Weights};
use sintonia_fit::scaling::{self, Log, Member, Nature, NotEnough, ShownFactor, ShownTerm};
use sintonia_formula::{Formula, Rational};

use crate::run::RANKS;

/// An interval that holds 95 of 100 values reaches so many standard deviations to both sides.
const HALF_INTERVAL: f64 = 1.96;

/// What was measured at one or several settings, explained by formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Curve {
    /// By laws of growth.
    Scaling(Box<scaling::Model>),
    /// By laws of growth in which the number of processes is less by those that have no part in it.
    Among(Others),
    /// By straight lines, each of which holds for some values of one parameter.
    Pieces(Lines),
}

/// What some processes have no part in, as the workers' tasks of which the master does none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Others {
    /// How many have none.
    pub left_out: usize,
    /// The laws, of the number of the others.
    pub law: Box<scaling::Model>,
}

impl Others {
    /// A setting as the laws see it; `None` if no process is left to have a part in it.
    fn at(&self, setting: &[f64]) -> Option<Vec<f64>> {
        Some(among_others(&self.law.parameters, setting, self.left_out)).filter(|others| others.iter().all(|value| *value > 0.0))
    }

    /// What one of the laws adds up, as formulas of the number of all.
    fn terms(&self, law: &scaling::Model) -> Vec<Summand> {
        terms(law).into_iter().map(|one| Summand { term: self.of_all(&one.term), ..one }).collect()
    }

    /// A formula of the number of the others as one of the number of all.
    fn of_all(&self, formula: &Formula) -> Formula {
        formula.substitute(RANKS, &(Formula::symbol(RANKS) - Formula::integer(self.left_out as i64)))
    }
}

/// A setting with so many processes fewer.
fn among_others(parameters: &[String], setting: &[f64], left_out: usize) -> Vec<f64> {
    let others = |(name, value): (&String, &f64)| if name == RANKS { value - left_out as f64 } else { *value };
    parameters.iter().zip(setting).map(others).collect()
}

/// Straight lines over one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The parameter.
    pub parameter: String,
    /// The lines.
    pub lines: Piecewise,
}

/// One of the curves that explain the values.
pub enum Drawn<'a> {
    /// A law of growth.
    Scaling(scaling::Drawn<'a>),
    /// A law of growth among the others.
    Among(&'a Others, scaling::Drawn<'a>),
    /// Lines, so many half intervals above or below the likeliest.
    Pieces(&'a Piecewise, f64),
}

impl Drawn<'_> {
    /// Its value at a setting.
    pub fn at(&self, setting: &[f64]) -> f64 {
        match self {
            Drawn::Scaling(drawn) => drawn.at(setting),
            Drawn::Among(others, drawn) => others.at(setting).map_or(f64::INFINITY, |at| drawn.at(&at)),
            Drawn::Pieces(lines, place) => {
                let [low, middle, high] = lines.predict(setting[0]);
                middle + if *place < 0.0 { place * (middle - low) } else { place * (high - middle) }
            }
        }
    }
}

/// One of the things that a formula adds up.
#[derive(Clone, Debug, PartialEq)]
pub struct Summand {
    /// A product of powers and logarithms of parameters.
    pub term: Formula,
    /// What it is multiplied with: the least it may be, what it is, and the most it may be.
    pub coefficient: [f64; 3],
}

/// Why there is no formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoCurve {
    /// The measurements cannot be used.
    #[error(transparent)]
    Bad(#[from] BadMeasurements),
    /// There are too few of them.
    #[error(transparent)]
    NotEnough(#[from] NotEnough),
    /// Straight lines cannot be fitted.
    #[error(transparent)]
    NoPieces(#[from] PiecesError),
}

impl Curve {
    /// Finds the formula of values at settings of these parameters; several values at one setting are repetitions.
    pub fn fit(parameters: &[String], settings: &[Vec<f64>], values: &[f64]) -> Result<Curve, NoCurve> {
        let points = settings.iter().zip(values).map(|(at, value)| Point { at: at.clone(), values: vec![*value] }).collect();
        let measurements = Measurements::new(parameters.to_vec(), points)?;
        Ok(Curve::Scaling(Box::new(scaling::fit(&measurements)?)))
    }

    /// The same for what runs took, where it is known what the parameters are: the number of ranks, of which some have no part in it, and sizes.
    pub fn of_runs(parameters: &[String], settings: &[Vec<f64>], values: &[f64], left_out: usize) -> Result<Curve, NoCurve> {
        let left_out = if parameters.iter().any(|name| name == RANKS) { left_out } else { 0 };
        let point = |(at, value): (&Vec<f64>, &f64)| Point { at: among_others(parameters, at, left_out), values: vec![*value] };
        let points = settings.iter().zip(values).map(point).collect();
        let nature = |name: &String| if name == RANKS { Nature::Processes } else { Nature::Size };
        let measurements = Measurements::new(parameters.to_vec(), points)?.of_natures(parameters.iter().map(nature));
        let law = Box::new(scaling::fit(&measurements)?);
        Ok(if left_out == 0 { Curve::Scaling(law) } else { Curve::Among(Others { left_out, law }) })
    }

    /// Finds straight lines through pairs of a parameter's value and what was measured there.
    ///
    /// Where errors that count by their size and errors that count by their share give lines with the same ends, the former are taken: that
    /// is what everybody calls least squares. Otherwise the latter are, since small values matter as much as large ones.
    pub fn pieces(parameter: &str, points: &[(f64, f64)]) -> Result<Curve, NoCurve> {
        let relative = Piecewise::fit(points, &Options::default())?;
        let ordinary = Piecewise::fit(points, &Options { weights: Weights::Ordinary, ..Options::default() })?;
        let ends = |lines: &Piecewise| lines.breaks.iter().map(|end| end.at).collect::<Vec<f64>>();
        let lines = if ends(&relative) == ends(&ordinary) { ordinary } else { relative };
        Ok(Curve::Pieces(Lines { parameter: parameter.to_owned(), lines }))
    }

    /// The formula that explains the values best.
    pub fn formula(&self) -> Formula {
        match self {
            Curve::Scaling(model) => model.formula(),
            Curve::Among(others) => others.of_all(&others.law.formula()),
            Curve::Pieces(pieces) => pieces.lines.formula(&pieces.parameter),
        }
    }

    /// What that formula adds up among the measurements; lines are not a sum.
    pub fn terms(&self) -> Vec<Summand> {
        match self {
            Curve::Scaling(model) => terms(model),
            Curve::Among(others) => others.terms(&others.law),
            Curve::Pieces(_) => Vec::new(),
        }
    }

    /// What it adds up at a setting, where beyond the measurements another law may hold.
    pub fn terms_at(&self, setting: &[f64]) -> Vec<Summand> {
        match self {
            Curve::Scaling(model) => terms(model.law_at(setting)),
            Curve::Among(others) => others.at(setting).map_or_else(Vec::new, |at| others.terms(others.law.law_at(&at))),
            Curve::Pieces(_) => Vec::new(),
        }
    }

    /// One of the curves that explain the values, as likely as each is.
    pub fn draw(&self, random: &mut Random) -> Drawn<'_> {
        match self {
            Curve::Scaling(model) => Drawn::Scaling(model.draw(random)),
            Curve::Among(others) => Drawn::Among(others, others.law.draw(random)),
            Curve::Pieces(pieces) => Drawn::Pieces(&pieces.lines, random.normal() / HALF_INTERVAL),
        }
    }

    /// The value of one more measurement at a setting: lowest, middle, highest.
    pub fn predict(&self, at: &[f64]) -> [f64; 3] {
        match self {
            Curve::Scaling(model) => model.predict(at),
            Curve::Among(others) => others.at(at).map_or([f64::INFINITY; 3], |at| others.law.predict(&at)),
            Curve::Pieces(pieces) => pieces.lines.predict(at[0]),
        }
    }

    /// The true value at a setting: lowest, middle, highest.
    pub fn expect(&self, at: &[f64]) -> [f64; 3] {
        match self {
            Curve::Scaling(model) => model.expect(at),
            Curve::Among(others) => others.at(at).map_or([f64::INFINITY; 3], |at| others.law.expect(&at)),
            Curve::Pieces(pieces) => pieces.lines.predict(at[0]),
        }
    }

    /// How far repetitions of one measurement scatter, in percent.
    pub fn noise_percent(&self) -> f64 {
        match self {
            Curve::Scaling(model) | Curve::Among(Others { law: model, .. }) => {
                model.noise.repetitions_percent.unwrap_or(0.0).max(model.noise.percent)
            }
            Curve::Pieces(pieces) => pieces.lines.error_percent,
        }
    }

    /// How far the formula is from the values on average, in percent: at the largest ones when they are held out, or else at all.
    pub fn error_percent(&self) -> f64 {
        match self {
            Curve::Scaling(model) | Curve::Among(Others { law: model, .. }) => {
                model.error_percent.validated.unwrap_or(model.error_percent.in_sample)
            }
            Curve::Pieces(pieces) => pieces.lines.error_percent,
        }
    }

    /// Whether it can be used for these parameters: what was stored in a file may have been changed there.
    pub fn is_sound(&self, parameters: &[String]) -> bool {
        match self {
            Curve::Scaling(model) | Curve::Among(Others { law: model, .. }) => is_sound(model, parameters),
            Curve::Pieces(pieces) => {
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

fn terms(law: &scaling::Model) -> Vec<Summand> {
    let summand = |term: ShownTerm| {
        let Estimate { value, low, high } = term.coefficient;
        let product = term.factors.iter().map(factor).fold(Formula::one(), |product, factor| product * factor);
        Summand { term: product, coefficient: [low, value, high] }
    };
    law.terms().into_iter().map(summand).collect()
}

fn is_sound(model: &scaling::Model, parameters: &[String]) -> bool {
    let each = |values: &[f64]| values.len() == parameters.len() && values.iter().all(|value| value.is_finite());
    let positive = |values: &[f64]| values.len() == parameters.len() && values.iter().all(|value| *value > 0.0 && value.is_finite());
    let member = |member: &Member| {
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
        && model.beyond.as_ref().is_none_or(|beyond| {
            beyond.parameter < parameters.len() && beyond.model.beyond.is_none() && is_sound(&beyond.model, parameters)
        })
}

fn factor(factor: &ShownFactor) -> Formula {
    let symbol = Formula::symbol(&factor.parameter);
    let logarithm = match factor.log {
        Log::None => Formula::one(),
        Log::Once => symbol.log2(),
        Log::Twice => symbol.log2().power(2),
        Log::Whole => symbol.log2().ceil(),
    };
    symbol.power(exponent(factor.exponent.value)) * logarithm
}

/// An exponent as a simple fraction, or as a decimal of three digits behind the point.
fn exponent(value: f64) -> Rational {
    let simple = (1..=12).find_map(|under| {
        let over = value * under as f64;
        if (over - over.round()).abs() < 1e-9 { Rational::new(over.round() as i64, under) } else { None }
    });
    simple.or_else(|| Rational::decimal((value * 1e3).round() / 1e3)).unwrap_or(Rational::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::Values;

    fn n() -> Vec<String> {
        vec!["n".into()]
    }

    #[test]
    fn the_formula_shown_gives_the_values_it_was_found_in() {
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 300.0, 400.0, 600.0, 800.0].map(|n| vec![n]).into();
        let values: Vec<f64> = settings.iter().map(|x| 2e-9 * x[0].powi(3) + 3e-4).collect();
        let curve = Curve::fit(&n(), &settings, &values).unwrap();
        let formula = curve.formula();
        for (setting, value) in settings.iter().zip(&values) {
            let found = formula.evaluate(&Values::new().with("n", setting[0])).unwrap();
            assert!((found / value - 1.0).abs() < 0.01, "{formula} at {setting:?}: {found}, not {value}");
            let [low, middle, high] = curve.expect(setting);
            assert!(low <= middle && middle <= high && (middle / value - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn too_few_values_say_which_one_to_measure_next() {
        let settings = vec![vec![200.0], vec![400.0]];
        let error = Curve::fit(&n(), &settings, &[2.0, 4.0]).unwrap_err();
        assert!(matches!(error, NoCurve::NotEnough(NotEnough::TooFewValues { have: 2, next: 800.0, .. })), "{error}");
        assert!(matches!(Curve::fit(&n(), &settings, &[1.0, 0.0]), Err(NoCurve::Bad(BadMeasurements::NotPositive { .. }))));
    }

    #[test]
    fn what_the_workers_of_a_master_share_is_divided_among_them() {
        let settings: Vec<Vec<f64>> = [2.0, 3.0, 4.0, 6.0].map(|p| vec![p]).into();
        let values: Vec<f64> = settings.iter().map(|x| 3.0 / (x[0] - 1.0)).collect();
        let curve = Curve::of_runs(&["p".into()], &settings, &values, 1).unwrap();
        assert_eq!(curve.formula().to_string(), "3/(p - 1)");
        assert!((curve.expect(&[31.0])[1] / 0.1 - 1.0).abs() < 1e-3);
        assert!(!curve.expect(&[1.0])[1].is_finite(), "a master alone never ends");
    }

    #[test]
    fn what_runs_take_grows_with_whole_powers_of_sizes_unless_they_say_otherwise() {
        let settings: Vec<Vec<f64>> = [400.0, 500.0, 600.0, 700.0, 800.0].map(|n| vec![n]).into();
        let noise = [1.04, 0.97, 1.02, 0.95, 1.03];
        let values: Vec<f64> = settings.iter().zip(noise).map(|(x, noise)| 4e-7 * x[0].powi(2) * noise).collect();
        let curve = Curve::of_runs(&n(), &settings, &values, 0).unwrap();
        assert!((curve.expect(&[3200.0])[1] / (4e-7 * 3200.0 * 3200.0) - 1.0).abs() < 0.1, "{}", curve.formula());
    }

    #[test]
    fn exponents_are_simple_fractions_where_they_can_be() {
        assert_eq!(exponent(1.5), Rational::new(3, 2).unwrap());
        assert_eq!(exponent(-1.0 / 3.0), Rational::new(-1, 3).unwrap());
        assert_eq!(exponent(2.84371).nearest(), 2.844);
    }
}
