//! Slopes: enclosures narrowed by knowing in which direction a formula goes.
//!
//! Interval arithmetic forgets that the `n` in `n^2` and the `n` in `-n` are the same. Where a formula only rises or only falls with a
//! symbol, its extremes are at the ends of the symbol's interval, and there the symbol is one number. Jumps and kinks have slopes too here: all that
//! matters is their direction.

use super::{Evaluation, Undefined, WORTH_REMEMBERING, power, raised};
use crate::atom::{Atom, Extreme, Fold, How, Kind, Symbol};
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::monomial::Factor;
use crate::rational::Rational;
use crate::shown::base_and_exponent;
use crate::values::Values;

/// With more symbols in wide intervals than this, narrowing is not tried.
const MOST_SYMBOLS: usize = 12;

/// A formula's enclosure, narrowed where its direction is known; where it is not, over the parts of the box.
pub(super) fn enclosed(formula: &Formula, values: &Values<Interval>) -> Result<Interval, Undefined> {
    let names = wide(formula, values);
    let Narrowed { enclosure, undecided } = narrowed(formula, values, &names, at(formula, values)?);
    let parts = match undecided.len() {
        1 => 8,
        2 => 4,
        _ => return Ok(enclosure),
    };
    let over_parts = boxes(values, &undecided, parts).into_iter().try_fold(None, |hull: Option<Interval>, part| {
        let here = at(formula, &part).map(|natural| narrowed(formula, &part, &names, natural).enclosure);
        match (here, hull) {
            (Ok(here), Some(hull)) => Ok(Some(hull.hull(here))),
            (Ok(here), None) => Ok(Some(here)),
            (Err(Undefined::Symbol(name)), _) => Err(Undefined::Symbol(name)),
            // Undefined over this part: it does not count.
            (Err(_), hull) => Ok(hull),
        }
    })?;
    Ok(over_parts.and_then(|parts| parts.intersection(enclosure)).unwrap_or(enclosure))
}

/// The same without looking at parts of the box.
pub(crate) fn enclosed_at_once(formula: &Formula, values: &Values<Interval>) -> Result<Interval, Undefined> {
    Ok(narrowed(formula, values, &wide(formula, values), at(formula, values)?).enclosure)
}

/// The symbols that are not at one point, unless there are too many of them.
fn wide(formula: &Formula, values: &Values<Interval>) -> Vec<String> {
    let wide: Vec<String> = formula.symbols().into_iter().filter(|name| values.get(name).is_some_and(|value| !value.is_point())).collect();
    if wide.len() > MOST_SYMBOLS { Vec::new() } else { wide }
}

fn at(formula: &Formula, values: &Values<Interval>) -> Result<Interval, Undefined> {
    Evaluation::new(&|symbol: &str| values.get(symbol).copied(), false).formula(formula)
}

/// The box divided into parts along some symbols; those without an end are not divided.
fn boxes(values: &Values<Interval>, names: &[String], parts: usize) -> Vec<Values<Interval>> {
    names.iter().fold(vec![values.clone()], |list, name| {
        let divided = list.iter().flat_map(|one| {
            let whole = one.get(name).copied().unwrap_or(Interval::ALL);
            let cut = |share: usize| whole.low() + whole.width() * share as f64 / parts as f64;
            let mut cuts: Vec<f64> = (1..parts).map(cut).filter(|cut| *cut > whole.low() && *cut < whole.high()).collect();
            cuts.push(whole.high());
            let lows = std::iter::once(whole.low()).chain(cuts.clone());
            lows.zip(cuts.clone()).map(|(low, high)| one.clone().with(name, Interval::between(low, high))).collect::<Vec<_>>()
        });
        divided.collect()
    })
}

/// An enclosure, and the symbols with which the formula neither only rises nor only falls as far as can be told.
struct Narrowed {
    enclosure: Interval,
    undecided: Vec<String>,
}

/// The enclosure narrowed by evaluating the formula at the ends of the symbols with which it only rises or falls.
fn narrowed(formula: &Formula, values: &Values<Interval>, names: &[String], natural: Interval) -> Narrowed {
    let (mut lowest, mut highest, mut undecided) = (values.clone(), values.clone(), Vec::new());
    for name in names {
        let Some(value) = values.get(name) else { continue };
        let lookup = |symbol: &str| values.get(symbol).copied();
        let slope = Evaluation::new(&lookup, false).dual(formula, &Symbol::named(name)).map(|dual| dual.slope);
        let ends = match slope {
            Some(slope) if slope.low() >= 0.0 => [value.low(), value.high()],
            Some(slope) if slope.high() <= 0.0 => [value.high(), value.low()],
            _ => {
                undecided.push(name.clone());
                continue;
            }
        };
        // An end at infinity is no number to evaluate at.
        if ends.iter().all(|end| end.is_finite()) {
            lowest.set(name, Interval::point(ends[0]));
            highest.set(name, Interval::point(ends[1]));
        }
    }
    if undecided.len() == names.len() {
        return Narrowed { enclosure: natural, undecided };
    }
    let enclosure = match (at(formula, &lowest), at(formula, &highest)) {
        (Ok(low), Ok(high)) => Interval::new(natural.low().max(low.low()), natural.high().min(high.high())).unwrap_or(natural),
        _ => natural,
    };
    Narrowed { enclosure, undecided }
}

/// All values over an interval of a symbol, and all slopes.
#[derive(Clone, Copy)]
pub(super) struct Dual {
    value: Interval,
    slope: Interval,
}

impl Dual {
    fn times(self, other: Dual) -> Dual {
        Dual { value: self.value * other.value, slope: self.value * other.slope + self.slope * other.value }
    }

    /// A direction without a size.
    fn direction(slope: Interval) -> Option<Interval> {
        if slope.low() >= 0.0 {
            Some(if slope.high() == 0.0 { Interval::ZERO } else { Interval::NONNEGATIVE })
        } else {
            (slope.high() <= 0.0).then_some(-Interval::NONNEGATIVE)
        }
    }
}

impl Evaluation<'_> {
    fn dual(&mut self, formula: &Formula, symbol: &Symbol) -> Option<Dual> {
        let mut sum = Dual { value: Interval::ZERO, slope: Interval::ZERO };
        for (monomial, coefficient) in formula.terms() {
            let mut term = Dual { value: self.number(coefficient), slope: Interval::ZERO };
            for factor in monomial.factors() {
                term = term.times(self.dual_of_power(factor, symbol)?);
            }
            sum = Dual { value: sum.value + term.value, slope: sum.slope + term.slope };
        }
        Some(sum)
    }

    fn dual_of_power(&mut self, factor: &Factor, symbol: &Symbol) -> Option<Dual> {
        let signed = |value: Interval| if factor.exponent.is_negative() { Interval::ONE / value } else { value };
        let value = signed(self.power(factor).ok()?);
        if !atom_contains(&factor.atom, symbol) {
            return Some(Dual { value, slope: Interval::ZERO });
        }
        let base = self.dual_of_atom(&factor.atom, symbol)?;
        if factor.exponent.is_one() {
            return Some(base);
        }
        // Across a pole the values jump from one infinity to the other, whatever the slope is beside it.
        if factor.exponent.is_negative() && base.value.low() < 0.0 && base.value.high() > 0.0 {
            return None;
        }
        let lower = raised(base.value, &(&factor.exponent - &Rational::ONE), factor.atom.facts().loose)?;
        Some(Dual { value, slope: factor.exponent.enclosing() * lower * base.slope })
    }

    fn dual_of_atom(&mut self, atom: &Atom, symbol: &Symbol) -> Option<Dual> {
        if atom.facts().size < WORTH_REMEMBERING {
            return self.new_dual_of_atom(atom, symbol);
        }
        if let Some((_, known)) = self.slopes.get(&atom.address()) {
            return *known;
        }
        let dual = self.new_dual_of_atom(atom, symbol);
        self.slopes.insert(atom.address(), (atom.clone(), dual));
        dual
    }

    fn new_dual_of_atom(&mut self, atom: &Atom, symbol: &Symbol) -> Option<Dual> {
        let value = self.atom(atom).ok()?;
        let ln2 = Interval::point(2.0).ln()?;
        let slope = match atom.kind() {
            Kind::Symbol(_) => Interval::ONE,
            Kind::Ln2 | Kind::TooDeep => Interval::ZERO,
            Kind::Group(inner) => self.dual(inner, symbol)?.slope,
            Kind::Log(inner) => {
                let inner = self.dual(inner, symbol)?;
                inner.slope / (inner.value.max(Interval::ZERO) * ln2)
            }
            Kind::Exp(inner) => self.slope_of_exponential(inner, symbol)?,
            Kind::Extreme(side, entries) => self.slope_of_extreme(*side, entries, symbol)?,
            Kind::Rounded(_, inner) => Dual::direction(self.dual(inner, symbol)?.slope)?,
            Kind::Fold(fold) => self.slope_of_fold(fold, symbol)?,
            Kind::Pieces(..) => return None,
        };
        Some(Dual { value, slope })
    }

    fn slope_of_exponential(&mut self, inner: &Formula, symbol: &Symbol) -> Option<Interval> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let (base, exponent) = (self.dual(&base, symbol)?, self.dual(&exponent, symbol)?);
        let value = power(base.value, exponent.value);
        let by_exponent = value * base.value.ln()? * exponent.slope;
        Some(by_exponent + value * exponent.value * base.slope / base.value)
    }

    /// The slopes of all entries that can be the extreme one.
    fn slope_of_extreme(&mut self, side: Extreme, entries: &[Formula], symbol: &Symbol) -> Option<Interval> {
        let duals = entries.iter().map(|entry| self.dual(entry, symbol)).collect::<Option<Vec<_>>>()?;
        let beaten = |a: &Dual| match side {
            Extreme::Max => duals.iter().any(|b| b.value.low() > a.value.high()),
            Extreme::Min => duals.iter().any(|b| b.value.high() < a.value.low()),
        };
        duals.iter().filter(|dual| !beaten(dual)).map(|dual| dual.slope).reduce(Interval::hull)
    }

    /// The slope of a sum: that of its body for every index, and the direction in which its ends move over what it adds there.
    fn slope_of_fold(&mut self, fold: &Fold, symbol: &Symbol) -> Option<Interval> {
        let (from, to) = (self.dual(&fold.from, symbol)?, self.dual(&fold.to, symbol)?);
        let indexes = Interval::between(from.value.low(), to.value.high().max(from.value.low()));
        self.bound.push((fold.index(), indexes));
        let outside = (std::mem::take(&mut self.known), std::mem::take(&mut self.slopes));
        let body = self.dual(&fold.body, symbol);
        (self.known, self.slopes) = outside;
        self.bound.pop();
        let body = body?;
        if fold.how != How::Sum {
            return (!fold.from.contains(symbol) && !fold.to.contains(symbol)).then(|| Dual::direction(body.slope)).flatten();
        }
        let ends = Dual::direction(body.value * to.slope)? + Dual::direction(-(body.value * from.slope))?;
        Some(Dual::direction(body.slope)? + ends)
    }
}
