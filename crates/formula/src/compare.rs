//! Which of two formulas is larger, where that can be told.
//!
//! First by form: with every parameter written as its lower end plus something that is not negative, a difference without negative terms is
//! nowhere negative. Otherwise by dividing the domain into boxes and enclosing the difference in each, as long as that is affordable.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

use crate::atom::{Kind, Symbol};
use crate::build::{power, product};
use crate::domain::Domain;
use crate::evaluate;
use crate::formula::Formula;
use crate::interval::Interval;
use crate::monomial::Factor;
use crate::rational::Rational;
use crate::sign;
use crate::values::Values;

/// How many boxes are looked at.
const MOST_BOXES: usize = 400;

impl Formula {
    /// Compares two formulas over a domain: `Greater` if this one is nowhere less than the other, `Less` if it is nowhere greater, `Equal` if
    /// they are the same everywhere. Nothing if neither holds or none can be shown.
    pub fn compare(&self, other: &Formula, domain: &Domain) -> Option<Ordering> {
        let difference = self - other;
        if cleared(&difference).is_zero() {
            return Some(Ordering::Equal);
        }
        by_form(&difference, domain).or_else(|| by_boxes(&difference, domain))
    }

    /// This formula with maxima and minima pruned by what is known of its parameters.
    pub fn within(&self, domain: &Domain) -> Formula {
        crate::prune::pruned(self, domain)
    }
}

/// A formula multiplied by its denominators: zero if it is zero wherever they are not.
fn cleared(formula: &Formula) -> Formula {
    let mut result = formula.clone();
    for _ in 0..4 {
        let is_denominator =
            |factor: &&Factor| factor.exponent.is_negative() && matches!(factor.atom.kind(), Kind::Group(_)) && !factor.atom.facts().loose;
        let Some(factor) = result.terms().flat_map(|(monomial, _)| monomial.factors()).find(is_denominator).cloned() else { break };
        let Kind::Group(base) = factor.atom.kind() else { break };
        if base.as_number().is_some() {
            break;
        }
        result = product(&result, &power(base, &-factor.exponent.floor()));
    }
    result
}

/// The order as the signs of the terms show it.
fn by_form(difference: &Formula, domain: &Domain) -> Option<Ordering> {
    let seen = FromEnds::of(domain).seen(difference)?;
    if sign::is_nonnegative(&seen) {
        return Some(Ordering::Greater);
    }
    sign::is_nonnegative(&-seen).then_some(Ordering::Less)
}

/// Formulas with every parameter as an end of its range and a symbol for the distance from there, the same one in all of them.
pub(crate) struct FromEnds<'a> {
    domain: &'a Domain,
    places: HashMap<String, Formula>,
}

impl<'a> FromEnds<'a> {
    pub(crate) fn of(domain: &'a Domain) -> FromEnds<'a> {
        FromEnds { domain, places: HashMap::new() }
    }

    /// The formula seen so, or nothing when a parameter may be anything.
    pub(crate) fn seen(&mut self, formula: &Formula) -> Option<Formula> {
        let mut result = formula.clone();
        for name in formula.symbols() {
            let range = self.domain.range(&name);
            let distance = || Formula::from(Symbol::fresh());
            let place = match (Rational::exactly(range.low()), Rational::exactly(range.high())) {
                (Some(low), _) if low.is_zero() => continue,
                (Some(low), _) => self.places.entry(name.clone()).or_insert_with(|| Formula::exact(low) + distance()),
                (None, Some(high)) => self.places.entry(name.clone()).or_insert_with(|| Formula::exact(high) - distance()),
                (None, None) => return None,
            };
            result = result.substitute(&name, place);
        }
        Some(result)
    }
}

/// The order as enclosures of the difference show it.
fn by_boxes(difference: &Formula, domain: &Domain) -> Option<Ordering> {
    let names: Vec<String> = difference.symbols().into_iter().collect();
    let mut boxes = VecDeque::from([names.iter().map(|name| domain.range(name)).collect::<Vec<_>>()]);
    let mut order: Option<Ordering> = None;
    let mut looked_at = 0;
    while let Some(ranges) = boxes.pop_front() {
        looked_at += 1;
        if looked_at > MOST_BOXES {
            return None;
        }
        let value = enclosed(difference, &names, &ranges)?;
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
                let middle: Vec<Interval> = ranges.iter().map(|range| Interval::point(inner_point(*range))).collect();
                // A point at which the sign is certain tells early that boxes will disagree.
                match (sign_of(enclosed(difference, &names, &middle)?), order) {
                    (Some(here), Some(order)) if here != order => return None,
                    (Some(here), _) => order = Some(here),
                    (None, _) => {}
                }
                boxes.extend(halves(&ranges)?);
            }
        }
    }
    order
}

fn sign_of(value: Interval) -> Option<Ordering> {
    match (value.low() > 0.0, value.high() < 0.0) {
        (true, _) => Some(Ordering::Greater),
        (_, true) => Some(Ordering::Less),
        _ => None,
    }
}

fn enclosed(formula: &Formula, names: &[String], ranges: &[Interval]) -> Option<Interval> {
    let values: Values<Interval> = names.iter().map(String::as_str).zip(ranges.iter().copied()).collect();
    // The boxes are divided here, so that one look at each is enough.
    evaluate::enclosed_at_once(formula, &values).ok()
}

/// A number well inside a range: in the middle of its magnitudes when it reaches far.
fn inner_point(range: Interval) -> f64 {
    match (range.low(), range.high()) {
        (low, f64::INFINITY) if low.is_finite() => 2.0 * low.abs() + 1.0,
        (low, high) if low > 0.0 && high > 4.0 * low => (low.sqrt() * high.sqrt()).clamp(low, high),
        _ => range.middle(),
    }
}

/// The box cut in two across its relatively widest range, or nothing when it cannot be cut.
fn halves(ranges: &[Interval]) -> Option<[Vec<Interval>; 2]> {
    let relative = |range: &Interval| range.width() / (1.0 + range.low().abs());
    let widest = (0..ranges.len()).max_by(|a, b| relative(&ranges[*a]).total_cmp(&relative(&ranges[*b])))?;
    let (range, cut) = (ranges[widest], inner_point(ranges[widest]));
    if cut <= range.low() || cut >= range.high() {
        return None;
    }
    let with = |part: Interval| {
        let mut half = ranges.to_vec();
        half[widest] = part;
        half
    };
    Some([with(Interval::between(range.low(), cut)), with(Interval::between(cut, range.high()))])
}
