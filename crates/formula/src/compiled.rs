//! Formulas prepared for thousands of evaluations.
//!
//! Predictions draw thousands of points. A compiled formula is a list of steps over plain floats: what occurs twice is computed once, and
//! nothing is looked up by name. It gives what `evaluate` gives up to rounding; only sums and extremes over ranges that have no closed
//! form are still enclosed each time.

use std::collections::HashMap;

use crate::atom::{Atom, Extreme, Kind, Piece, Rounding, Symbol};
use crate::evaluate::Undefined;
use crate::formula::Formula;
use crate::monomial::{Factor, Monomial};
use crate::rational::Rational;
use crate::shown::base_and_exponent;
use crate::values::Values;

/// A number this near to a whole number, relatively, is rounded as that whole number.
const NEAR: f64 = 4.0 * f64::EPSILON;

/// So many points are evaluated at once where one value is counted up: each step then is a short loop over plain floats.
const LANES: usize = 64;

/// The results of a step at so many points.
type Lanes = [f64; LANES];

/// A formula prepared for thousands of evaluations.
#[derive(Clone, Debug)]
pub struct Compiled {
    names: Vec<String>,
    steps: Vec<Step>,
}

/// The place of an earlier result.
type Place = usize;

#[derive(Clone, Debug)]
enum Step {
    Constant(f64),
    Input(usize),
    /// A constant and multiples of earlier results.
    Sum(f64, Vec<(f64, Place)>),
    /// What is multiplied and what is divided by.
    Product(Vec<Place>, Vec<Place>),
    Whole(Place, i32),
    Root(Place),
    Power(Place, Place),
    Log2(Place),
    Exp2(Place),
    Extreme(Extreme, Vec<Place>),
    Rounded(Rounding, Place),
    Pieces(Place, Vec<(Option<Place>, Place)>),
    /// What only a full evaluation can tell.
    Full(Formula),
}

impl Formula {
    /// Prepares the formula for evaluation at many points, each a list of values in the order of these symbols.
    pub fn compile(&self, symbols: &[&str]) -> Result<Compiled, Undefined> {
        let names: HashMap<&str, usize> = symbols.iter().copied().zip(0..).collect();
        if let Some(unknown) = self.symbols().into_iter().find(|name| !names.contains_key(name.as_str())) {
            return Err(Undefined::Symbol(unknown));
        }
        let mut compiler = Compiler { names: &names, steps: Vec::new(), formulas: HashMap::new(), atoms: HashMap::new() };
        let result = compiler.formula(self);
        let mut steps = compiler.steps;
        // The last step is the result.
        if result + 1 != steps.len() {
            steps.push(Step::Sum(0.0, vec![(1.0, result)]));
        }
        Ok(Compiled { names: symbols.iter().map(|&name| name.to_owned()).collect(), steps })
    }
}

impl Compiled {
    /// The value at a point; NaN where the formula is undefined or a value is missing.
    pub fn at(&self, values: &[f64]) -> f64 {
        let mut results: Vec<f64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = self.step(step, values, &results);
            results.push(value);
        }
        results.last().copied().unwrap_or(f64::NAN)
    }

    /// The sum of so many values: at a point, and with one of its values one larger each time.
    pub fn sum(&self, values: &[f64], counted: usize, rounds: u64) -> f64 {
        // What does not depend on the counted value stays what it is at the first point.
        let mut lanes: Vec<Lanes> = Vec::with_capacity(self.steps.len());
        let mut first: Vec<f64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            first.push(self.step(step, values, &first));
            lanes.push([first[first.len() - 1]; LANES]);
        }
        let varying = self.varying(counted);
        let (mut values, begin) = (values.to_vec(), values.get(counted).copied().unwrap_or(f64::NAN));
        let mut sum = 0.0;
        for round in (0..rounds).step_by(LANES) {
            for place in &varying {
                let (before, here) = lanes.split_at_mut(*place);
                let counted = (counted, begin + round as f64);
                self.step_in_lanes(&self.steps[*place], &mut values, counted, before, &mut here[0]);
            }
            let last = lanes.last().map_or(&[f64::NAN; LANES], |last| last);
            sum = last.iter().take((rounds - round) as usize).fold(sum, |sum, value| sum + value);
        }
        sum
    }

    /// The steps that depend on an input.
    fn varying(&self, input: usize) -> Vec<Place> {
        let mut varies: Vec<bool> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let any = |places: &[Place]| places.iter().any(|place| varies[*place]);
            varies.push(match step {
                Step::Constant(_) => false,
                Step::Input(own) => *own == input,
                Step::Sum(_, terms) => terms.iter().any(|(_, place)| varies[*place]),
                Step::Product(over, under) => any(over) || any(under),
                Step::Whole(place, _) | Step::Root(place) | Step::Log2(place) | Step::Exp2(place) | Step::Rounded(_, place) => {
                    varies[*place]
                }
                Step::Power(base, exponent) => any(&[*base, *exponent]),
                Step::Extreme(_, places) => any(places),
                Step::Pieces(variable, pieces) => {
                    varies[*variable] || pieces.iter().any(|(bound, piece)| varies[*piece] || bound.is_some_and(|bound| varies[bound]))
                }
                Step::Full(_) => true,
            });
        }
        (0..varies.len()).filter(|place| varies[*place]).collect()
    }

    /// A step at points whose counted value begins with a number, with the results of earlier steps there.
    fn step_in_lanes(&self, step: &Step, values: &mut [f64], (counted, begin): (usize, f64), before: &[Lanes], here: &mut Lanes) {
        match step {
            Step::Sum(constant, terms) => {
                here.fill(*constant);
                for (factor, place) in terms {
                    match factor {
                        1.0 => each(here, &before[*place], |sum, value| sum + value),
                        -1.0 => each(here, &before[*place], |sum, value| sum - value),
                        _ => each(here, &before[*place], |sum, value| factor.mul_add(value, sum)),
                    }
                }
            }
            Step::Product(over, under) => {
                let product = |places: &[Place]| {
                    let mut product = [1.0; LANES];
                    places.iter().for_each(|place| each(&mut product, &before[*place], |product, value| product * value));
                    product
                };
                *here = product(over);
                if !under.is_empty() {
                    each(here, &product(under), divided);
                }
            }
            Step::Extreme(side, places) => {
                if let [first, rest @ ..] = places.as_slice() {
                    *here = before[*first];
                    rest.iter().for_each(|place| each(here, &before[*place], |a, b| extreme_of_two(*side, a, b)));
                }
            }
            Step::Rounded(rounding, place) => each(here, &before[*place], |_, value| rounded(*rounding, value)),
            Step::Whole(place, 2) => each(here, &before[*place], |_, value| value * value),
            Step::Root(place) => each(here, &before[*place], |_, value| value.sqrt()),
            Step::Input(_) => here.iter_mut().enumerate().for_each(|(lane, value)| *value = begin + lane as f64),
            _ => {
                let mut results = vec![0.0; before.len()];
                for (lane, value) in here.iter_mut().enumerate() {
                    results.iter_mut().zip(before).for_each(|(result, lanes)| *result = lanes[lane]);
                    values[counted] = begin + lane as f64;
                    *value = self.step(step, values, &results);
                }
            }
        }
    }

    fn step(&self, step: &Step, values: &[f64], results: &[f64]) -> f64 {
        match step {
            Step::Constant(value) => *value,
            Step::Input(input) => values.get(*input).copied().unwrap_or(f64::NAN),
            Step::Sum(constant, terms) => terms.iter().fold(*constant, |sum, (factor, place)| factor.mul_add(results[*place], sum)),
            Step::Product(over, under) => {
                let product = |places: &[Place]| places.iter().map(|place| results[*place]).product::<f64>();
                if under.is_empty() { product(over) } else { divided(product(over), product(under)) }
            }
            Step::Whole(place, 2) => results[*place] * results[*place],
            Step::Whole(place, exponent) => results[*place].powi(*exponent),
            Step::Root(place) => results[*place].sqrt(),
            Step::Power(base, exponent) => results[*base].powf(results[*exponent]),
            Step::Log2(place) => {
                if results[*place] > 0.0 {
                    results[*place].log2()
                } else {
                    f64::NAN
                }
            }
            Step::Exp2(place) => results[*place].exp2(),
            Step::Extreme(side, places) => extreme(*side, places.iter().map(|place| results[*place])),
            Step::Rounded(rounding, place) => rounded(*rounding, results[*place]),
            Step::Pieces(variable, pieces) => {
                let value = results[*variable];
                let holds = |bound: &Option<Place>| bound.is_none_or(|bound| value <= results[bound]);
                pieces.iter().find(|(bound, _)| holds(bound)).filter(|_| !value.is_nan()).map_or(f64::NAN, |(_, piece)| results[*piece])
            }
            Step::Full(formula) => {
                let values: Values<f64> = self.names.iter().map(String::as_str).zip(values.iter().copied()).collect();
                formula.evaluate(&values).unwrap_or(f64::NAN)
            }
        }
    }
}

fn divided(over: f64, under: f64) -> f64 {
    if under == 0.0 { f64::NAN } else { over / under }
}

/// Unlike the extremes of floats, undefined when one entry is.
fn extreme(side: Extreme, values: impl Iterator<Item = f64>) -> f64 {
    values.reduce(|a, b| extreme_of_two(side, a, b)).unwrap_or(f64::NAN)
}

fn extreme_of_two(side: Extreme, a: f64, b: f64) -> f64 {
    match side {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        Extreme::Max => a.max(b),
        Extreme::Min => a.min(b),
    }
}

/// Changes each of many values by the one beside it.
fn each(values: &mut Lanes, others: &Lanes, change: impl Fn(f64, f64) -> f64) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value = change(*value, *other));
}

/// Beyond this, floats are so far apart that those beside a whole number count as it.
const COARSE: f64 = 2_251_799_813_685_248.0;

/// Added to a smaller number, this leaves no room for a fraction: what comes out is the nearest whole number, without a call.
const NO_FRACTION: f64 = 6_755_399_441_055_744.0;

fn rounded(rounding: Rounding, value: f64) -> f64 {
    if value.is_nan() || value.abs() >= COARSE {
        return value.round();
    }
    let near = (value + NO_FRACTION) - NO_FRACTION;
    if (value - near).abs() <= NEAR * near.abs() {
        return near;
    }
    match rounding {
        Rounding::Up => near + f64::from(u8::from(near < value)),
        Rounding::Down => near - f64::from(u8::from(near > value)),
    }
}

struct Compiler<'a> {
    names: &'a HashMap<&'a str, usize>,
    steps: Vec<Step>,
    formulas: HashMap<Formula, Place>,
    atoms: HashMap<Atom, Place>,
}

impl Compiler<'_> {
    fn push(&mut self, step: Step) -> Place {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn formula(&mut self, formula: &Formula) -> Place {
        if let Some(place) = self.formulas.get(formula) {
            return *place;
        }
        let mut constant = 0.0;
        let mut terms = Vec::new();
        for (monomial, coefficient) in formula.terms() {
            let factor = coefficient.middle();
            if monomial.is_one() {
                constant += factor.nearest();
                continue;
            }
            // A fraction divides: 30 times 0.1 is not 3, but 30 divided by 10 is.
            let (over, under) = (factor.numerator().nearest(), factor.denominator().nearest());
            let exact = under != 1.0 && over.abs() < 9e15 && under < 9e15;
            let divisor = if exact { Some(self.push(Step::Constant(under))) } else { None };
            let place = self.product(monomial, divisor);
            terms.push((if exact { over } else { factor.nearest() }, place));
        }
        let place = match terms.as_slice() {
            [] => self.push(Step::Constant(constant)),
            [(1.0, place)] if constant == 0.0 => *place,
            _ => self.push(Step::Sum(constant, terms)),
        };
        self.formulas.insert(formula.clone(), place);
        place
    }

    fn product(&mut self, monomial: &Monomial, divisor: Option<Place>) -> Place {
        let (mut over, mut under) = (Vec::new(), Vec::from_iter(divisor));
        for factor in monomial.factors() {
            let place = self.power(factor);
            if factor.exponent.is_negative() { under.push(place) } else { over.push(place) }
        }
        match (over.as_slice(), under.as_slice()) {
            ([only], []) => *only,
            _ => self.push(Step::Product(over, under)),
        }
    }

    /// A power, its exponent taken without its sign.
    fn power(&mut self, factor: &Factor) -> Place {
        let base = self.atom(&factor.atom);
        let exponent = factor.exponent.abs();
        if exponent.is_one() {
            return base;
        }
        if let Some(whole) = exponent.to_i64().and_then(|whole| i32::try_from(whole).ok()) {
            return self.push(Step::Whole(base, whole));
        }
        if exponent == Rational::HALF {
            return self.push(Step::Root(base));
        }
        let exponent = self.push(Step::Constant(exponent.nearest()));
        self.push(Step::Power(base, exponent))
    }

    fn atom(&mut self, atom: &Atom) -> Place {
        if let Some(place) = self.atoms.get(atom) {
            return *place;
        }
        let place = match atom.kind() {
            Kind::Symbol(Symbol::Named(name)) => match self.names.get(&**name) {
                Some(input) => self.push(Step::Input(*input)),
                None => self.push(Step::Constant(f64::NAN)),
            },
            Kind::Symbol(_) | Kind::TooDeep => self.push(Step::Constant(f64::NAN)),
            Kind::Ln2 => self.push(Step::Constant(std::f64::consts::LN_2)),
            Kind::Group(inner) => self.formula(inner),
            Kind::Log(inner) => {
                let inner = self.formula(inner);
                self.push(Step::Log2(inner))
            }
            Kind::Exp(inner) => self.exponential(inner),
            Kind::Extreme(side, entries) => {
                let entries = entries.iter().map(|entry| self.formula(entry)).collect();
                self.push(Step::Extreme(*side, entries))
            }
            Kind::Rounded(rounding, inner) => {
                let inner = self.formula(inner);
                self.push(Step::Rounded(*rounding, inner))
            }
            Kind::Fold(_) => self.push(Step::Full(Formula::from(atom.clone()))),
            Kind::Pieces(variable, pieces) => self.pieces(variable, pieces),
        };
        self.atoms.insert(atom.clone(), place);
        place
    }

    fn exponential(&mut self, inner: &Formula) -> Place {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let exponent = self.formula(&exponent);
        if base == Formula::integer(2) {
            return self.push(Step::Exp2(exponent));
        }
        let base = self.formula(&base);
        self.push(Step::Power(base, exponent))
    }

    fn pieces(&mut self, variable: &Formula, pieces: &[Piece]) -> Place {
        let variable = self.formula(variable);
        let pieces = pieces.iter().map(|piece| (piece.up_to.as_ref().map(|bound| self.formula(bound)), self.formula(&piece.formula)));
        let pieces = pieces.collect();
        self.push(Step::Pieces(variable, pieces))
    }
}
