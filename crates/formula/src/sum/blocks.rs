//! Sums of roundings: `floor((i + c)/d)` is constant over blocks of `d` steps.
//!
//! Summing complete blocks first and the partial block last turns the sum into sums of polynomials, which have closed forms.

use crate::atom::{Atom, AtomKind, RoundingMode, SymbolId};
use crate::build::{IndexRange, product};
use crate::formula::Formula;
use crate::monomial::Monomial;
use crate::rational::Rational;
use crate::{sign, sum};

/// The sum of powers of the index and of one rounding of it; `None` for other products.
pub(crate) fn sum_of_roundings(range: &IndexRange, inside: &Monomial) -> Option<Formula> {
    let mut stairs: Option<StepFunction> = None;
    for factor in inside.factors() {
        factor.exponent.to_i64().filter(|exponent| *exponent > 0)?;
        match factor.atom.kind() {
            AtomKind::Symbol(_) => {}
            AtomKind::Rounded(rounding, inner) if stairs.is_none() => {
                stairs = Some(StepFunction::from_rounding(*rounding, inner, &range.index)?)
            }
            _ => return None,
        }
    }
    let stairs = stairs?;
    let height = |step: &Formula| Formula::integer(stairs.sign) * (step - Formula::integer(stairs.below));
    let before = &range.from + Formula::integer(stairs.offset - 1);
    if !sign::is_at_least(&before, &Formula::integer(-1)) || !has_integer_coefficients(&range.from) {
        return None;
    }
    let after = sum::last_index(range) + Formula::integer(stairs.offset);
    let body = |index: &Formula, step: &Formula| {
        let place = index - Formula::integer(stairs.offset);
        inside.factors().iter().fold(Formula::one(), |value, factor| {
            let base = if matches!(factor.atom.kind(), AtomKind::Symbol(_)) { place.clone() } else { height(step) };
            product(&value, &base.power(factor.exponent.clone()))
        })
    };
    Some(stairs.sum_up_to(&after, &body) - stairs.sum_up_to(&before, &body))
}

/// Symbolic bounds of ranges are integers by definition; for numbers it is checked.
fn has_integer_coefficients(formula: &Formula) -> bool {
    formula.terms().all(|(_, coefficient)| coefficient.as_exact().is_some_and(Rational::is_integer))
}

/// The step function `sign*(floor((i + offset)/width) - below)` with a nonnegative offset.
struct StepFunction {
    sign: i64,
    offset: i64,
    width: i64,
    below: i64,
}

impl StepFunction {
    fn from_rounding(rounding: RoundingMode, inner: &Formula, index: &SymbolId) -> Option<StepFunction> {
        let rate = inner.terms().find(|(monomial, _)| !monomial.is_one())?;
        let only = Monomial::power(Atom::symbol(index.clone()), Rational::ONE);
        let rise = rate.1.as_exact()?.recip()?.to_i64().filter(|rise| rise.unsigned_abs() > 1)?;
        let (width, sign) = (rise.checked_abs()?, rise.signum());
        let rest = inner - Formula::term(rate.1.clone(), &only);
        let offset = (&Rational::from(rise) * rest.as_exact()?).to_i64()?;
        let offset = match (rounding, sign) {
            (RoundingMode::Down, 1) | (RoundingMode::Up, -1) => offset,
            // For integers, rounding the quotient up equals rounding down after adding `width - 1`.
            _ => offset.checked_add(width - 1)?,
        };
        let below = -offset.div_euclid(width).min(0);
        Some(StepFunction { sign, offset: offset.checked_add(below.checked_mul(width)?)?, width, below })
    }

    /// The sum of `body(j, floor(j/width))` for `j` from zero to `end`.
    fn sum_up_to(&self, end: &Formula, body: &impl Fn(&Formula, &Formula) -> Formula) -> Formula {
        let width = Formula::integer(self.width);
        let blocks = ((end + Formula::one()) / &width).floor();
        let (step, place) = (SymbolId::fresh(), SymbolId::fresh());
        let of = |symbol: &SymbolId| Formula::from(symbol.clone());
        let within = |step: &Formula, last: Formula| {
            let range = IndexRange { index: place.clone(), index_name: "r".into(), from: Formula::zero(), to: last };
            sum::sum(&range, &body(&(&width * step + of(&place)), step))
        };
        let all = IndexRange { index: step.clone(), index_name: "q".into(), from: Formula::zero(), to: &blocks - Formula::one() };
        let whole = sum::sum(&all, &within(&of(&step), &width - Formula::one()));
        whole + within(&blocks, end - &width * &blocks)
    }
}
