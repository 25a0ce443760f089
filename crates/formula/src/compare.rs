//! Comparison of formulas over a domain.
//!
//! First symbolically: with every parameter written as its lower bound plus a nonnegative symbol, a difference without negative terms is
//! nonnegative. Otherwise by subdividing the domain into boxes and enclosing the difference in each, up to a limit.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

use crate::atom::{AtomKind, SymbolId};
use crate::build::{power, product};
use crate::domain::Domain;
use crate::evaluate;
use crate::formula::Formula;
use crate::interval::Interval;
use crate::monomial::PowerFactor;
use crate::rational::Rational;
use crate::sign;
use crate::values::SymbolValues;

/// The maximum number of boxes.
const MAX_BOXES: usize = 400;

impl Formula {
    /// Compares two formulas over a domain: `Greater` if this one is nowhere less than the other, `Less` if it is nowhere greater, `Equal`
    /// if they are equal everywhere. `None` if neither holds or can be shown.
    pub fn compare(&self, other: &Formula, domain: &Domain) -> Option<Ordering> {
        let difference = self - other;
        if clear_denominators(&difference).is_zero() {
            return Some(Ordering::Equal);
        }
        compare_by_signs(&difference, domain).or_else(|| compare_by_bisection(&difference, domain))
    }
}

/// A formula multiplied by its denominators; zero if the formula is zero wherever they are not.
fn clear_denominators(formula: &Formula) -> Formula {
    let mut result = formula.clone();
    for _ in 0..4 {
        let is_denominator = |factor: &&PowerFactor| {
            factor.exponent.is_negative() && matches!(factor.atom.kind(), AtomKind::Group(_)) && !factor.atom.attributes().has_interval
        };
        let Some(factor) = result.terms().flat_map(|(monomial, _)| monomial.factors()).find(is_denominator).cloned() else { break };
        let AtomKind::Group(base) = factor.atom.kind() else { break };
        if base.as_coefficient().is_some() {
            break;
        }
        result = product(&result, &power(base, &-factor.exponent.floor()));
    }
    result
}

/// The order, if the signs of the terms show it.
fn compare_by_signs(difference: &Formula, domain: &Domain) -> Option<Ordering> {
    let seen = ShiftedParameters::new(domain).shift(difference)?;
    if sign::is_nonnegative(&seen) {
        return Some(Ordering::Greater);
    }
    sign::is_nonnegative(&-seen).then_some(Ordering::Less)
}

/// Rewrites every parameter as a bound of its range plus a symbol for the distance from there, the same one in all formulas.
pub(crate) struct ShiftedParameters<'a> {
    domain: &'a Domain,
    substitutions: HashMap<String, Formula>,
}

impl<'a> ShiftedParameters<'a> {
    pub(crate) fn new(domain: &'a Domain) -> ShiftedParameters<'a> {
        ShiftedParameters { domain, substitutions: HashMap::new() }
    }

    /// The rewritten formula; `None` if a parameter is unbounded on both sides.
    pub(crate) fn shift(&mut self, formula: &Formula) -> Option<Formula> {
        let mut result = formula.clone();
        for name in formula.symbols() {
            let range = self.domain.range(&name);
            let distance = || Formula::from(SymbolId::fresh());
            let substitute = match (Rational::from_f64_exact(range.low()), Rational::from_f64_exact(range.high())) {
                (Some(low), _) if low.is_zero() => continue,
                (Some(low), _) => self.substitutions.entry(name.clone()).or_insert_with(|| Formula::from_rational(low) + distance()),
                (None, Some(high)) => self.substitutions.entry(name.clone()).or_insert_with(|| Formula::from_rational(high) - distance()),
                (None, None) => return None,
            };
            result = result.substitute(&name, substitute);
        }
        Some(result)
    }
}

/// The order, if enclosures of the difference show it.
fn compare_by_bisection(difference: &Formula, domain: &Domain) -> Option<Ordering> {
    let names: Vec<String> = difference.symbols().into_iter().collect();
    let mut boxes = VecDeque::from([names.iter().map(|name| domain.range(name)).collect::<Vec<_>>()]);
    let mut order: Option<Ordering> = None;
    let mut examined = 0;
    while let Some(ranges) = boxes.pop_front() {
        examined += 1;
        if examined > MAX_BOXES {
            return None;
        }
        let value = enclose_box(difference, &names, &ranges)?;
        let here = if value.low() >= 0.0 {
            Some(Ordering::Greater)
        } else if value.high() <= 0.0 {
            Some(Ordering::Less)
        } else {
            None
        };
        match (here, order) {
            (Some(here), Some(order)) if here != order => return None,
            (Some(here), _) => order = Some(here),
            (None, _) => {
                let middle: Vec<Interval> = ranges.iter().map(|range| Interval::point(split_point(*range))).collect();
                // A point where the sign is certain shows early that boxes will disagree.
                match (interval_sign(enclose_box(difference, &names, &middle)?), order) {
                    (Some(here), Some(order)) if here != order => return None,
                    (Some(here), _) => order = Some(here),
                    (None, _) => {}
                }
                boxes.extend(bisect(&ranges)?);
            }
        }
    }
    order
}

fn interval_sign(value: Interval) -> Option<Ordering> {
    match (value.low() > 0.0, value.high() < 0.0) {
        (true, _) => Some(Ordering::Greater),
        (_, true) => Some(Ordering::Less),
        _ => None,
    }
}

fn enclose_box(formula: &Formula, names: &[String], ranges: &[Interval]) -> Option<Interval> {
    let values: SymbolValues<Interval> = names.iter().map(String::as_str).zip(ranges.iter().copied()).collect();
    // The caller subdivides the boxes, so one evaluation per box is enough.
    evaluate::enclose_without_subdivision(formula, &values).ok()
}

/// A number well inside a range: the geometric mean if the range spans magnitudes.
fn split_point(range: Interval) -> f64 {
    match (range.low(), range.high()) {
        (low, f64::INFINITY) if low.is_finite() => 2.0 * low.abs() + 1.0,
        (low, high) if low > 0.0 && high > 4.0 * low => (low.sqrt() * high.sqrt()).clamp(low, high),
        _ => range.midpoint(),
    }
}

/// The box split across its relatively widest range; `None` if it cannot be split.
fn bisect(ranges: &[Interval]) -> Option<[Vec<Interval>; 2]> {
    let relative = |range: &Interval| range.width() / (1.0 + range.low().abs());
    let widest = (0..ranges.len()).max_by(|a, b| relative(&ranges[*a]).total_cmp(&relative(&ranges[*b])))?;
    let (range, cut) = (ranges[widest], split_point(ranges[widest]));
    if cut <= range.low() || cut >= range.high() {
        return None;
    }
    let with = |part: Interval| {
        let mut half = ranges.to_vec();
        half[widest] = part;
        half
    };
    Some([with(Interval::from_bounds(range.low(), cut)), with(Interval::from_bounds(cut, range.high()))])
}
