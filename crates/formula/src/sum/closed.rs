//! Closed forms of sums of `i^k` and `i^k * r^i`.

use std::sync::LazyLock;

use super::last;
use crate::atom::{Atom, Kind, Symbol};
use crate::build::{Range, product, two_to};
use crate::formula::{Formula, atom_contains};
use crate::monomial::Monomial;
use crate::rational::Rational;
use crate::sign;

/// The highest power of the index that is summed in closed form.
const MOST_DEGREE: usize = 40;

/// The sum of a product over a range if it is a power of the index times a power with the index in its exponent.
pub(crate) fn of(range: &Range, inside: &Monomial) -> Option<Formula> {
    let shape = Shape::of(inside, &range.index)?;
    let (first, after) = (&range.from, last(range) + Formula::one());
    if shape.rate.is_zero() {
        let coefficients: Vec<Formula> = faulhaber(shape.degree).into_iter().map(Formula::exact).collect();
        let total = |end: &Formula| polynomial(&coefficients, &(end - Formula::one()));
        return Some(total(&after) - total(first));
    }
    let coefficients = geometric(shape.degree, &two_to(&shape.rate))?;
    let total = |end: &Formula| product(&polynomial(&coefficients, end), &two_to(&product(&shape.rate, end)));
    Some(total(&after) - total(first))
}

/// A product of the form `i^degree * 2^(rate*i)`.
pub(crate) struct Shape {
    pub(crate) degree: usize,
    pub(crate) rate: Formula,
}

impl Shape {
    /// The shape of a product all of whose factors depend on the index.
    pub(crate) fn of(inside: &Monomial, index: &Symbol) -> Option<Shape> {
        let mut shape = Shape { degree: 0, rate: Formula::zero() };
        for factor in inside.factors() {
            match factor.atom.kind() {
                Kind::Symbol(_) => {
                    let degree = usize::try_from(factor.exponent.to_i64()?).ok()?;
                    shape.degree = Some(degree).filter(|degree| *degree <= MOST_DEGREE)?;
                }
                Kind::Exp(exponent) => {
                    let rate = linear_rate(exponent, index)?;
                    shape.rate += product(&Formula::exact(factor.exponent.clone()), &rate);
                }
                _ => return None,
            }
        }
        Some(shape)
    }
}

/// What multiplies the index in a formula that is nothing but a multiple of it.
fn linear_rate(exponent: &Formula, index: &Symbol) -> Option<Formula> {
    let (monomial, coefficient) = exponent.as_term()?;
    let atom = Atom::symbol(index.clone());
    let others = monomial.filtered(|factor| factor.atom != atom);
    let linear = monomial.exponent_of(&atom).is_one() && !others.factors().iter().any(|factor| atom_contains(&factor.atom, index));
    linear.then(|| Formula::term(coefficient.clone(), &others))
}

/// The value of a polynomial, given by its coefficients from the constant on.
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

/// The polynomial whose value at every n is `1^k + 2^k + ... + n^k`.
pub(crate) fn faulhaber(degree: usize) -> Vec<Rational> {
    let mut coefficients = vec![Rational::ZERO; degree + 2];
    let scale = Rational::new(1, degree as i64 + 1).expect("not zero");
    for (j, bernoulli) in BERNOULLI.iter().enumerate().take(degree + 1) {
        coefficients[degree + 1 - j] = &(&scale * &binomial(degree + 1, j)) * bernoulli;
    }
    coefficients
}

/// The numbers of Bernoulli, that of one with a positive sign.
static BERNOULLI: LazyLock<Vec<Rational>> = LazyLock::new(|| {
    let mut numbers: Vec<Rational> = Vec::new();
    for m in 0..=MOST_DEGREE {
        let known = numbers.iter().enumerate().map(|(j, number)| {
            let share = Rational::new(1, (m - j + 1) as i64).expect("not zero");
            &(&binomial(m, j) * number) * &share
        });
        let sum = known.fold(Rational::ZERO, |sum, part| sum + part);
        numbers.push(Rational::ONE - sum);
    }
    numbers
});

/// The value of a polynomial of Bernoulli at one half.
pub(crate) fn half_bernoulli(degree: usize) -> Rational {
    let scale = Rational::two_to(1 - degree as i64) - Rational::ONE;
    &scale * &BERNOULLI[degree]
}

/// In how many ways `k` of `n` can be chosen.
pub(crate) fn binomial(n: usize, k: usize) -> Rational {
    (0..k).fold(Rational::ONE, |ways, i| &ways * &Rational::new((n - i) as i64, i as i64 + 1).expect("not zero"))
}

/// The polynomial `q` with `q(i+1)*r^(i+1) - q(i)*r^i = i^k*r^i`, or nothing when the ratio is or may be one, where it divides by zero.
fn geometric(degree: usize, ratio: &Formula) -> Option<Vec<Formula>> {
    let above = ratio - Formula::one();
    if !sign::is_positive(&above) && !sign::is_positive(&-&above) {
        return None;
    }
    let mut coefficients = vec![Formula::zero(); degree + 1];
    for j in (0..=degree).rev() {
        let higher: Formula = (j + 1..=degree).map(|l| product(&coefficients[l], &Formula::exact(binomial(l, j)))).sum();
        let own = if j == degree { Formula::one() } else { Formula::zero() };
        coefficients[j] = (own - product(ratio, &higher)) / &above;
    }
    Some(coefficients)
}
