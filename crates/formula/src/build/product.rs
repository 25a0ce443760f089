//! Products: multiplied out while the result stays small and no unknown number is torn apart.

use std::collections::BTreeMap;

use super::MOST_TERMS;
use super::power::{number_power, power};
use crate::atom::{Atom, Kind};
use crate::formula::{Formula, Terms};
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;
use crate::sign;

type Term<'a> = (&'a Monomial, &'a Number);

/// The product of two formulas.
pub(crate) fn product(a: &Formula, b: &Formula) -> Formula {
    if a.is_zero() || b.is_zero() {
        return Formula::zero();
    }
    match (a.as_term(), b.as_term()) {
        (Some(x), Some(y)) => of_terms(x, y),
        (Some(x), None) => spread(x, b),
        (None, Some(y)) => spread(y, a),
        (None, None) => of_sums(a, b),
    }
}

/// The product of many formulas. Either all sums are multiplied out or none, so that it does not depend on their order: a product that was
/// written down reads back as what it was.
pub(crate) fn product_of(factors: Vec<Formula>) -> Formula {
    multiplied(&factors).unwrap_or_else(|| joined(factors.into_iter().map(as_one_term).collect()))
}

/// The product multiplied out from left to right, unless that has too many terms.
fn multiplied(factors: &[Formula]) -> Option<Formula> {
    let has_sums = factors.iter().any(|factor| factor.len() > 1);
    if has_sums && factors.iter().filter_map(Formula::as_term).any(|(monomial, _)| is_kept_together(monomial)) {
        return None;
    }
    let mut result = Formula::one();
    for run in factors.chunk_by(|a, b| a.len() < 2 && b.len() < 2) {
        let next = if let [one] = run { one.clone() } else { joined(run.to_vec()) };
        if result.len() > 1 && next.len() > 1 && result.len() * next.len() > MOST_TERMS {
            return None;
        }
        result = product(&result, &next);
    }
    Some(result)
}

/// The product by pairs: each step goes through all that is in a product, so that one after the other would take long.
fn joined(mut factors: Vec<Formula>) -> Formula {
    while factors.len() > 1 {
        factors = factors.chunks(2).map(|pair| if let [a, b] = pair { product(a, b) } else { pair[0].clone() }).collect();
    }
    factors.pop().unwrap_or_else(Formula::one)
}

/// A formula as one product, in which a sum is one factor.
fn as_one_term(formula: Formula) -> Formula {
    if formula.len() < 2 {
        return formula;
    }
    let (monomial, coefficient) = grouped(&formula);
    Formula::term(Number::Exact(coefficient), &monomial)
}

fn of_terms((a, x): Term, (b, y): Term) -> Formula {
    let (monomial, met) = a.times(b);
    match x.times(y) {
        Some(coefficient) if met => finished(coefficient, &monomial),
        Some(coefficient) => Formula::term(coefficient, &monomial),
        // Too large to write down: the smaller number stays beside the other as a factor of its own.
        None => {
            let apart = Monomial::power(Atom::new(Kind::Group(Formula::number(y.clone()))), Rational::ONE);
            let (monomial, again) = monomial.times(&apart);
            if met || again { finished(x.clone(), &monomial) } else { Formula::term(x.clone(), &monomial) }
        }
    }
}

/// A term times every term of a sum.
fn spread(term: Term, sum: &Formula) -> Formula {
    let (monomial, coefficient) = term;
    if monomial.has_group() {
        let (content, common, rest) = taken_apart(sum);
        let atom = Atom::new(Kind::Group(rest));
        if monomial.factors().iter().any(|factor| factor.atom == atom && !factor.atom.facts().loose) {
            let whole = Monomial::power(atom, Rational::ONE).times(&common).0;
            return of_terms(term, (&whole, &Number::Exact(content)));
        }
    }
    let tight = coefficient.is_exact() && !monomial.facts().loose;
    if (tight && !is_kept_together(monomial)) || (!tight && may_be_spread(sum)) {
        let mut terms = Terms::default();
        for other in sum.terms() {
            terms.add_all(of_terms(term, other).inner());
        }
        return terms.into();
    }
    let (monomial, coefficient) = grouped(sum);
    of_terms(term, (&monomial, &Number::Exact(coefficient)))
}

/// Whether sums stand in a product because there would be too many terms without them: another one stands beside them.
fn is_kept_together(product: &Monomial) -> bool {
    let is_sum = |factor: &Factor| matches!(factor.atom.kind(), Kind::Group(inner) if inner.len() > 1 && !factor.atom.facts().loose);
    product.factors().iter().any(|factor| is_sum(factor) && factor.exponent.is_whole() && !factor.exponent.is_negative())
}

fn of_sums(a: &Formula, b: &Formula) -> Formula {
    let tight = !a.is_loose() && !b.is_loose();
    if (tight || (may_be_spread(a) && may_be_spread(b))) && a.len() * b.len() <= MOST_TERMS {
        return multiplied_out(a, b);
    }
    let ((a, x), (b, y)) = (grouped(a), grouped(b));
    of_terms((&a, &Number::Exact(x)), (&b, &Number::Exact(y)))
}

/// The product of two sums term by term, however many terms that gives.
pub(crate) fn multiplied_out(a: &Formula, b: &Formula) -> Formula {
    let mut terms = Terms::default();
    for term in a.terms() {
        terms.add_all(spread(term, b).inner());
    }
    terms.into()
}

/// Whether an unknown factor of a sum may be another one for each of its terms: all of them have the same sign, whatever it is.
fn may_be_spread(sum: &Formula) -> bool {
    sign::is_of_one_sign(sum) || sign::is_of_one_sign(&taken_apart(sum).2)
}

/// A sum as one factor, without what its terms have in common.
fn grouped(sum: &Formula) -> (Monomial, Rational) {
    let (content, common, rest) = taken_apart(sum);
    (Monomial::power(Atom::new(Kind::Group(rest)), Rational::ONE).times(&common).0, content)
}

/// The number and the product that all terms of a sum have in common, and what is left of it.
pub(crate) fn taken_apart(sum: &Formula) -> (Rational, Monomial, Formula) {
    let common = common_product(sum, |factor| !matches!(factor.atom.kind(), Kind::Group(_)));
    let rest = if common.is_one() { sum.clone() } else { without(sum, &common) };
    let content = common_number(&rest, true);
    let rest = divided(&rest, &content);
    (content, common, rest)
}

/// The powers that all terms of a sum have in common and that may be taken out; a denominator of one term counts for all.
pub(crate) fn common_product(sum: &Formula, may: impl FnMut(&Factor) -> bool) -> Monomial {
    // How many terms have an atom, and its least exponent there: of those in the first term, and of those under the line in any.
    let mut found: BTreeMap<&Atom, (usize, &Rational)> = BTreeMap::new();
    for (place, (monomial, _)) in sum.terms().enumerate() {
        for factor in monomial.factors().iter().filter(|factor| !factor.atom.facts().loose) {
            if let Some((terms, least)) = found.get_mut(&factor.atom) {
                (*terms, *least) = (*terms + 1, (*least).min(&factor.exponent));
            } else if place == 0 || factor.exponent.is_negative() {
                found.insert(&factor.atom, (1, &factor.exponent));
            }
        }
    }
    let common = found.into_iter().filter(|(_, (terms, least))| *terms == sum.len() || least.is_negative());
    let factors = common.map(|(atom, (_, least))| Factor { atom: atom.clone(), exponent: least.clone() });
    Monomial::of(factors.filter(may))
}

/// A sum with every term divided by a product. Powers of sums meet before anything is multiplied out, so that they cancel.
pub(crate) fn without(sum: &Formula, common: &Monomial) -> Formula {
    let inverse = common.raised(&Rational::from(-1));
    let mut terms = Terms::default();
    for (monomial, coefficient) in sum.terms() {
        terms.add_all(finished(coefficient.clone(), &monomial.times(&inverse).0).inner());
    }
    terms.into()
}

/// The number that all coefficients have in common; if `signed`, with the sign of the first that has one.
pub(crate) fn common_number(sum: &Formula, signed: bool) -> Rational {
    let ends = sum.terms().flat_map(|(_, coefficient)| [coefficient.low(), coefficient.high()]).filter(|end| !end.is_zero());
    let content = ends.fold(Rational::ZERO, |content, end| content.common(end));
    // Products that hold unknown numbers may stand there twice, with either sign; the others say it better.
    let signs = |loose: bool| {
        let terms = sum.terms().filter(move |(monomial, _)| monomial.facts().loose == loose);
        terms.map(|(_, coefficient)| coefficient).find(|coefficient| coefficient.low().is_negative() == coefficient.high().is_negative())
    };
    let negative = signs(false).or_else(|| signs(true)).is_some_and(|coefficient| coefficient.low().is_negative());
    if signed && negative { -content } else { content }
}

/// A sum with every coefficient divided by a number.
pub(crate) fn divided(sum: &Formula, divisor: &Rational) -> Formula {
    match divisor.inverse() {
        Some(inverse) if !inverse.is_one() => product(&Formula::exact(inverse), sum),
        _ => sum.clone(),
    }
}

/// A product in which powers of the same group have met: what can be multiplied out now is.
pub(crate) fn finished(coefficient: Number, monomial: &Monomial) -> Formula {
    let settled = |factor: &Factor| match factor.atom.kind() {
        Kind::Group(inner) => inner.as_number().is_none() && !is_expandable(inner, &factor.exponent),
        _ => true,
    };
    let mut result = Formula::term(coefficient, &monomial.filtered(settled));
    for factor in monomial.factors().iter().filter(|factor| !settled(factor)) {
        let Kind::Group(inner) = factor.atom.kind() else { continue };
        let value = match inner.as_number() {
            Some(number) => number_power(number, &factor.exponent),
            None => power(inner, &factor.exponent),
        };
        result = product(&result, &value);
    }
    result
}

/// Whether a power of a sum is small enough to be multiplied out, and no unknown number is torn apart by that.
pub(crate) fn is_expandable(sum: &Formula, exponent: &Rational) -> bool {
    let Some(exponent) = exponent.to_i64().filter(|exponent| (1..=MOST_TERMS as i64).contains(exponent)) else { return false };
    // The number of terms is at most the number of ways to choose `exponent` of `len` with repetition.
    let mut ways: u64 = 1;
    for chosen in 1..=exponent as u64 {
        ways = ways * (sum.len() as u64 + chosen - 1) / chosen;
        if ways > MOST_TERMS as u64 {
            return false;
        }
    }
    exponent == 1 || !sum.is_loose() || may_be_spread(sum)
}
