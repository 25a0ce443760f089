//! Closed forms of sums of `i^k` and `i^k * r^i`.

use std::sync::LazyLock;

use super::last_index;
use crate::atom::{Atom, AtomKind, SymbolId};
use crate::build::{IndexRange, exp2, product};
use crate::formula::{Formula, atom_contains};
use crate::monomial::Monomial;
use crate::rational::Rational;
use crate::sign;

/// The highest power of the index with a closed form.
const MAX_DEGREE: usize = 40;

/// The sum of a monomial that is a power of the index times an exponential in the index.
pub(crate) fn closed_form(range: &IndexRange, inside: &Monomial) -> Option<Formula> {
    let shape = PolyExponential::from_monomial(inside, &range.index)?;
    let (first, after) = (&range.from, last_index(range) + Formula::one());
    if shape.rate.is_zero() {
        let coefficients: Vec<Formula> = faulhaber(shape.degree).into_iter().map(Formula::from_rational).collect();
        let total = |end: &Formula| polynomial(&coefficients, &(end - Formula::one()));
        return Some(total(&after) - total(first));
    }
    let coefficients = geometric_coefficients(shape.degree, &exp2(&shape.rate))?;
    let total = |end: &Formula| product(&polynomial(&coefficients, end), &exp2(&product(&shape.rate, end)));
    Some(total(&after) - total(first))
}

/// A monomial of the form `i^degree * 2^(rate*i)`.
pub(crate) struct PolyExponential {
    pub(crate) degree: usize,
    pub(crate) rate: Formula,
}

impl PolyExponential {
    /// Requires that all factors depend on the index.
    pub(crate) fn from_monomial(inside: &Monomial, index: &SymbolId) -> Option<PolyExponential> {
        let mut shape = PolyExponential { degree: 0, rate: Formula::zero() };
        for factor in inside.factors() {
            match factor.atom.kind() {
                AtomKind::Symbol(_) => {
                    let degree = usize::try_from(factor.exponent.to_i64()?).ok()?;
                    shape.degree = Some(degree).filter(|degree| *degree <= MAX_DEGREE)?;
                }
                AtomKind::Exp2(exponent) => {
                    let rate = linear_rate(exponent, index)?;
                    shape.rate += product(&Formula::from_rational(factor.exponent.clone()), &rate);
                }
                _ => return None,
            }
        }
        Some(shape)
    }
}

/// The factor of the index in a formula that is a multiple of it.
fn linear_rate(exponent: &Formula, index: &SymbolId) -> Option<Formula> {
    let (monomial, coefficient) = exponent.as_term()?;
    let atom = Atom::symbol(index.clone());
    let others = monomial.filter(|factor| factor.atom != atom);
    let linear = monomial.exponent_of(&atom).is_one() && !others.factors().iter().any(|factor| atom_contains(&factor.atom, index));
    linear.then(|| Formula::term(coefficient.clone(), &others))
}

/// The value of a polynomial given by its coefficients, the constant first.
fn polynomial(coefficients: &[Formula], at: &Formula) -> Formula {
    let mut power = Formula::one();
    let mut value = Formula::zero();
    for (degree, coefficient) in coefficients.iter().enumerate() {
        if degree > 0 {
            power = product(&power, at);
        }
        value += product(coefficient, &power);
    }
    value
}

/// The polynomial with the value `1^k + 2^k + ... + n^k` at every `n`.
pub(crate) fn faulhaber(degree: usize) -> Vec<Rational> {
    let mut coefficients = vec![Rational::ZERO; degree + 2];
    let scale = Rational::new(1, degree as i64 + 1).expect("not zero");
    for (j, bernoulli) in BERNOULLI.iter().enumerate().take(degree + 1) {
        coefficients[degree + 1 - j] = &(&scale * &binomial(degree + 1, j)) * bernoulli;
    }
    coefficients
}

/// The Bernoulli numbers, with B1 = +1/2.
static BERNOULLI: LazyLock<Vec<Rational>> = LazyLock::new(|| {
    let mut numbers: Vec<Rational> = Vec::new();
    for m in 0..=MAX_DEGREE {
        let known = numbers.iter().enumerate().map(|(j, number)| {
            let share = Rational::new(1, (m - j + 1) as i64).expect("not zero");
            &(&binomial(m, j) * number) * &share
        });
        let sum = known.fold(Rational::ZERO, |sum, part| sum + part);
        numbers.push(Rational::ONE - sum);
    }
    numbers
});

/// The value of a Bernoulli polynomial at one half.
pub(crate) fn half_bernoulli(degree: usize) -> Rational {
    let scale = Rational::power_of_two(1 - degree as i64) - Rational::ONE;
    &scale * &BERNOULLI[degree]
}

pub(crate) fn binomial(n: usize, k: usize) -> Rational {
    (0..k).fold(Rational::ONE, |ways, i| &ways * &Rational::new((n - i) as i64, i as i64 + 1).expect("not zero"))
}

/// The polynomial `q` with `q(i+1)*r^(i+1) - q(i)*r^i = i^k*r^i`; `None` if the ratio may be one, where it divides by zero.
fn geometric_coefficients(degree: usize, ratio: &Formula) -> Option<Vec<Formula>> {
    let above = ratio - Formula::one();
    if !sign::is_positive(&above) && !sign::is_positive(&-&above) {
        return None;
    }
    let mut coefficients = vec![Formula::zero(); degree + 1];
    for j in (0..=degree).rev() {
        let higher: Formula = (j + 1..=degree).map(|l| product(&coefficients[l], &Formula::from_rational(binomial(l, j)))).sum();
        let own = if j == degree { Formula::one() } else { Formula::zero() };
        coefficients[j] = (own - product(ratio, &higher)) / &above;
    }
    Some(coefficients)
}
