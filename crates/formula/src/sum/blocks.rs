//! Sums of roundings: `floor((i + c)/d)` is constant over blocks of `d` steps.
//!
//! Summing whole blocks first and the begun block last turns the sum into sums of polynomials, for which there are closed forms.

use crate::atom::{Atom, Kind, Rounding, Symbol};
use crate::build::{Range, product};
use crate::formula::Formula;
use crate::monomial::Monomial;
use crate::rational::Rational;
use crate::{sign, sum};

/// The sum of powers of the index and of one rounding of it, or nothing when the product is something else.
pub(crate) fn of(range: &Range, inside: &Monomial) -> Option<Formula> {
    let mut stairs: Option<Stairs> = None;
    for factor in inside.factors() {
        factor.exponent.to_i64().filter(|exponent| *exponent > 0)?;
        match factor.atom.kind() {
            Kind::Symbol(_) => {}
            Kind::Rounded(rounding, inner) if stairs.is_none() => stairs = Some(Stairs::of(*rounding, inner, &range.index)?),
            _ => return None,
        }
    }
    let stairs = stairs?;
    let height = |step: &Formula| Formula::integer(stairs.sign) * (step - Formula::integer(stairs.below));
    let before = &range.from + Formula::integer(stairs.offset - 1);
    if !sign::is_at_least(&before, &Formula::integer(-1)) || !is_whole_number(&range.from) {
        return None;
    }
    let after = sum::last(range) + Formula::integer(stairs.offset);
    let body = |index: &Formula, step: &Formula| {
        let place = index - Formula::integer(stairs.offset);
        inside.factors().iter().fold(Formula::one(), |value, factor| {
            let base = if matches!(factor.atom.kind(), Kind::Symbol(_)) { place.clone() } else { height(step) };
            product(&value, &base.power(factor.exponent.clone()))
        })
    };
    Some(stairs.total(&after, &body) - stairs.total(&before, &body))
}

/// Bounds of ranges are whole numbers where they are formulas; where they are numbers it shows.
fn is_whole_number(formula: &Formula) -> bool {
    formula.terms().all(|(_, coefficient)| coefficient.exact().is_some_and(Rational::is_whole))
}

/// The stairs `sign*(floor((i + offset)/width) - below)`, with an offset that is not negative.
struct Stairs {
    sign: i64,
    offset: i64,
    width: i64,
    below: i64,
}

impl Stairs {
    fn of(rounding: Rounding, inner: &Formula, index: &Symbol) -> Option<Stairs> {
        let rate = inner.terms().find(|(monomial, _)| !monomial.is_one())?;
        let only = Monomial::power(Atom::symbol(index.clone()), Rational::ONE);
        let rise = rate.1.exact()?.inverse()?.to_i64().filter(|rise| rise.unsigned_abs() > 1)?;
        let (width, sign) = (rise.checked_abs()?, rise.signum());
        let rest = inner - Formula::term(rate.1.clone(), &only);
        let offset = (&Rational::from(rise) * rest.as_exact()?).to_i64()?;
        let offset = match (rounding, sign) {
            (Rounding::Down, 1) | (Rounding::Up, -1) => offset,
            // Of whole numbers, the quotient rounded up is the one of the last number of the block rounded down.
            _ => offset.checked_add(width - 1)?,
        };
        let below = -offset.div_euclid(width).min(0);
        Some(Stairs { sign, offset: offset.checked_add(below.checked_mul(width)?)?, width, below })
    }

    /// The sum of `body(j, floor(j/width))` for all j from zero to `end`.
    fn total(&self, end: &Formula, body: &impl Fn(&Formula, &Formula) -> Formula) -> Formula {
        let width = Formula::integer(self.width);
        let blocks = ((end + Formula::one()) / &width).floor();
        let (step, place) = (Symbol::fresh(), Symbol::fresh());
        let of = |symbol: &Symbol| Formula::from(symbol.clone());
        let within = |step: &Formula, last: Formula| {
            let range = Range { index: place.clone(), hint: "r".into(), from: Formula::zero(), to: last };
            sum::sum(&range, &body(&(&width * step + of(&place)), step))
        };
        let all = Range { index: step.clone(), hint: "q".into(), from: Formula::zero(), to: &blocks - Formula::one() };
        let whole = sum::sum(&all, &within(&of(&step), &width - Formula::one()));
        whole + within(&blocks, end - &width * &blocks)
    }
}
