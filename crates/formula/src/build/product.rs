//! Products: expanded while the result stays small and no interval coefficient is split.

use std::collections::BTreeMap;

use super::MAX_TERMS;
use super::power::{number_power, power};
use crate::atom::{Atom, AtomKind};
use crate::coefficient::Coefficient;
use crate::formula::{Formula, TermMap};
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::sign;

type TermRef<'a> = (&'a Monomial, &'a Coefficient);

pub(crate) fn product(a: &Formula, b: &Formula) -> Formula {
    if a.is_zero() || b.is_zero() {
        return Formula::zero();
    }
    match (a.as_term(), b.as_term()) {
        (Some(x), Some(y)) => term_product(x, y),
        (Some(x), None) => distribute(x, b),
        (None, Some(y)) => distribute(y, a),
        (None, None) => sum_product(a, b),
    }
}

/// The product of several formulas. Either all sums are expanded or none, so that the result does not depend on the order: a printed
/// product parses back as the same formula.
pub(crate) fn product_of(factors: Vec<Formula>) -> Formula {
    expand_product(&factors).unwrap_or_else(|| product_by_pairs(factors.into_iter().map(as_one_term).collect()))
}

/// The product expanded from left to right; `None` if it has too many terms.
fn expand_product(factors: &[Formula]) -> Option<Formula> {
    let has_sums = factors.iter().any(|factor| factor.len() > 1);
    if has_sums && factors.iter().filter_map(Formula::as_term).any(|(monomial, _)| is_unexpanded_product(monomial)) {
        return None;
    }
    let mut result = Formula::one();
    for run in factors.chunk_by(|a, b| a.len() < 2 && b.len() < 2) {
        let next = if let [one] = run { one.clone() } else { product_by_pairs(run.to_vec()) };
        if result.len() > 1 && next.len() > 1 && result.len() * next.len() > MAX_TERMS {
            return None;
        }
        result = product(&result, &next);
    }
    Some(result)
}

/// The product by pairs: each multiplication traverses the whole product, so multiplying one by one would be quadratic.
fn product_by_pairs(mut factors: Vec<Formula>) -> Formula {
    while factors.len() > 1 {
        factors = factors.chunks(2).map(|pair| if let [a, b] = pair { product(a, b) } else { pair[0].clone() }).collect();
    }
    factors.pop().unwrap_or_else(Formula::one)
}

/// A formula as one product, in which a sum is a single factor.
fn as_one_term(formula: Formula) -> Formula {
    if formula.len() < 2 {
        return formula;
    }
    let (monomial, coefficient) = to_group(&formula);
    Formula::term(Coefficient::Exact(coefficient), &monomial)
}

fn term_product((a, x): TermRef, (b, y): TermRef) -> Formula {
    let (monomial, met) = a.multiply(b);
    match x.times(y) {
        Some(coefficient) if met => normalize_groups(coefficient, &monomial),
        Some(coefficient) => Formula::term(coefficient, &monomial),
        // Too large to evaluate: the smaller number stays as a factor of its own.
        None => {
            let apart = Monomial::power(Atom::new(AtomKind::Group(Formula::from_coefficient(y.clone()))), Rational::ONE);
            let (monomial, again) = monomial.multiply(&apart);
            if met || again { normalize_groups(x.clone(), &monomial) } else { Formula::term(x.clone(), &monomial) }
        }
    }
}

/// A term times every term of a sum.
fn distribute(term: TermRef, sum: &Formula) -> Formula {
    let (monomial, coefficient) = term;
    if monomial.has_group() {
        let (content, common, rest) = content_and_primitive_part(sum);
        let atom = Atom::new(AtomKind::Group(rest));
        if monomial.factors().iter().any(|factor| factor.atom == atom && !factor.atom.attributes().has_interval) {
            let whole = Monomial::power(atom, Rational::ONE).multiply(&common).0;
            return term_product(term, (&whole, &Coefficient::Exact(content)));
        }
    }
    let tight = coefficient.is_exact() && !monomial.attributes().has_interval;
    if (tight && !is_unexpanded_product(monomial)) || (!tight && may_distribute_interval(sum)) {
        let mut terms = TermMap::default();
        for other in sum.terms() {
            terms.add_all(term_product(term, other).term_map());
        }
        return terms.into();
    }
    let (monomial, coefficient) = to_group(sum);
    term_product(term, (&monomial, &Coefficient::Exact(coefficient)))
}

/// Whether a product contains sums because expanding them would give too many terms; another sum is then kept beside them.
fn is_unexpanded_product(product: &Monomial) -> bool {
    let is_sum = |factor: &PowerFactor| matches!(factor.atom.kind(), AtomKind::Group(inner) if inner.len() > 1 && !factor.atom.attributes().has_interval);
    product.factors().iter().any(|factor| is_sum(factor) && factor.exponent.is_integer() && !factor.exponent.is_negative())
}

fn sum_product(a: &Formula, b: &Formula) -> Formula {
    let tight = !a.has_interval() && !b.has_interval();
    if (tight || (may_distribute_interval(a) && may_distribute_interval(b))) && a.len() * b.len() <= MAX_TERMS {
        return expand(a, b);
    }
    let ((a, x), (b, y)) = (to_group(a), to_group(b));
    term_product((&a, &Coefficient::Exact(x)), (&b, &Coefficient::Exact(y)))
}

/// The product of two sums, term by term, however many terms that gives.
pub(crate) fn expand(a: &Formula, b: &Formula) -> Formula {
    let mut terms = TermMap::default();
    for term in a.terms() {
        terms.add_all(distribute(term, b).term_map());
    }
    terms.into()
}

/// Whether an interval factor of a sum may be distributed over its terms, which makes it independent in each: only if all terms have the
/// same sign.
fn may_distribute_interval(sum: &Formula) -> bool {
    sign::has_uniform_sign(sum) || sign::has_uniform_sign(&content_and_primitive_part(sum).2)
}

/// A sum as one factor, without what its terms have in common.
fn to_group(sum: &Formula) -> (Monomial, Rational) {
    let (content, common, rest) = content_and_primitive_part(sum);
    (Monomial::power(Atom::new(AtomKind::Group(rest)), Rational::ONE).multiply(&common).0, content)
}

/// The content (common number and monomial) of a sum, and the remaining primitive part.
pub(crate) fn content_and_primitive_part(sum: &Formula) -> (Rational, Monomial, Formula) {
    let common = common_monomial(sum, |factor| !matches!(factor.atom.kind(), AtomKind::Group(_)));
    let rest = if common.is_one() { sum.clone() } else { divide_by_monomial(sum, &common) };
    let content = content(&rest, true);
    let rest = divide_by_number(&rest, &content);
    (content, common, rest)
}

/// The powers that all terms of a sum have in common and that may be taken out; a denominator of one term counts for all.
pub(crate) fn common_monomial(sum: &Formula, may: impl FnMut(&PowerFactor) -> bool) -> Monomial {
    // For each atom: in how many terms it occurs and its lowest exponent. Candidates are the atoms of the first term and all denominators.
    let mut found: BTreeMap<&Atom, (usize, &Rational)> = BTreeMap::new();
    for (index, (monomial, _)) in sum.terms().enumerate() {
        for factor in monomial.factors().iter().filter(|factor| !factor.atom.attributes().has_interval) {
            if let Some((terms, least)) = found.get_mut(&factor.atom) {
                (*terms, *least) = (*terms + 1, (*least).min(&factor.exponent));
            } else if index == 0 || factor.exponent.is_negative() {
                found.insert(&factor.atom, (1, &factor.exponent));
            }
        }
    }
    let common = found.into_iter().filter(|(_, (terms, least))| *terms == sum.len() || least.is_negative());
    let factors = common.map(|(atom, (_, least))| PowerFactor { atom: atom.clone(), exponent: least.clone() });
    Monomial::from_factors(factors.filter(may))
}

/// A sum with every term divided by a monomial. Powers of sums are combined before anything is expanded, so that they cancel.
pub(crate) fn divide_by_monomial(sum: &Formula, common: &Monomial) -> Formula {
    let inverse = common.pow(&Rational::from(-1));
    let mut terms = TermMap::default();
    for (monomial, coefficient) in sum.terms() {
        terms.add_all(normalize_groups(coefficient.clone(), &monomial.multiply(&inverse).0).term_map());
    }
    terms.into()
}

/// The greatest common divisor of all coefficients; if `signed`, with the sign of the first coefficient that has one.
pub(crate) fn content(sum: &Formula, signed: bool) -> Rational {
    let ends = sum.terms().flat_map(|(_, coefficient)| [coefficient.low(), coefficient.high()]).filter(|end| !end.is_zero());
    let content = ends.fold(Rational::ZERO, |content, end| content.gcd(end));
    // Monomials with interval coefficients may occur twice, with either sign, so they are asked last.
    let signs = |has_interval: bool| {
        let terms = sum.terms().filter(move |(monomial, _)| monomial.attributes().has_interval == has_interval);
        terms.map(|(_, coefficient)| coefficient).find(|coefficient| coefficient.low().is_negative() == coefficient.high().is_negative())
    };
    let negative = signs(false).or_else(|| signs(true)).is_some_and(|coefficient| coefficient.low().is_negative());
    if signed && negative { -content } else { content }
}

pub(crate) fn divide_by_number(sum: &Formula, divisor: &Rational) -> Formula {
    match divisor.recip() {
        Some(inverse) if !inverse.is_one() => product(&Formula::from_rational(inverse), sum),
        _ => sum.clone(),
    }
}

/// A product in which powers of the same group may have been merged: whatever can be expanded now is.
pub(crate) fn normalize_groups(coefficient: Coefficient, monomial: &Monomial) -> Formula {
    let settled = |factor: &PowerFactor| match factor.atom.kind() {
        AtomKind::Group(inner) => inner.as_coefficient().is_none() && !is_expandable(inner, &factor.exponent),
        _ => true,
    };
    let mut result = Formula::term(coefficient, &monomial.filter(settled));
    for factor in monomial.factors().iter().filter(|factor| !settled(factor)) {
        let AtomKind::Group(inner) = factor.atom.kind() else { continue };
        let value = match inner.as_coefficient() {
            Some(number) => number_power(number, &factor.exponent),
            None => power(inner, &factor.exponent),
        };
        result = product(&result, &value);
    }
    result
}

/// Whether a power of a sum is small enough to expand, and expanding does not split an interval coefficient.
pub(crate) fn is_expandable(sum: &Formula, exponent: &Rational) -> bool {
    let Some(exponent) = exponent.to_i64().filter(|exponent| (1..=MAX_TERMS as i64).contains(exponent)) else { return false };
    // Upper bound of the number of terms: combinations with repetition of `exponent` out of `len`.
    let mut ways: u64 = 1;
    for chosen in 1..=exponent as u64 {
        ways = ways * (sum.len() as u64 + chosen - 1) / chosen;
        if ways > MAX_TERMS as u64 {
            return false;
        }
    }
    exponent == 1 || !sum.has_interval() || may_distribute_interval(sum)
}
