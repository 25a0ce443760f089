//! Conditions: how often they hold, where that can be told without running the program.
//!
//! A comparison that is a line over the rounds of a loop holds in a stretch of them, which can be counted. One of a remainder holds in every
//! k-th round ([`super::residue`]), one of a random number in its share of cases. Bounds decide what holds always or never.

use std::cmp::Ordering;

use sintonia_formula::{Formula, Piece, Rational};
use sintonia_pamela::model::Term;

use super::facts::{Facts, Line};
use super::ledger::{Ledger, depends_on, is_nothing};
use super::{Analysis, Scope, Value, common};
use crate::error::Error;
use crate::place::Place;
use crate::routine::{Binary, Computation, Expression, Scalar, Unary};

/// Shares that take more operations to write down would not be read by anybody.
const MOST_SIZE: u64 = 100;

/// How often a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Share {
    /// Whenever it is asked.
    Always,
    /// Not once.
    Never,
    /// In these rounds of the loop with this index, and in no others.
    Rounds {
        /// The index.
        index: String,
        /// The first round.
        first: Formula,
        /// The last.
        last: Formula,
        /// How many rounds there are.
        of: Formula,
    },
    /// In this share of cases.
    Part(Formula),
    /// Nobody knows.
    Unknown,
}

impl Share {
    /// How often it does not hold.
    pub fn opposite(self, facts: &Facts) -> Share {
        match self {
            Share::Always => Share::Never,
            Share::Never => Share::Always,
            Share::Rounds { index, first, last, of } if first.is_one() => {
                Share::Rounds { index, first: last + Formula::one(), last: of.clone(), of }
            }
            Share::Rounds { index, first, last, of } if last == of => {
                Share::Rounds { index, first: Formula::one(), last: first - Formula::one(), of }
            }
            Share::Rounds { .. } => self.part(facts, false).map_or(Share::Unknown, |part| Share::Part(Formula::one() - part)),
            Share::Part(part) => Share::Part(Formula::one() - part),
            Share::Unknown => Share::Unknown,
        }
    }

    fn and(self, other: Share, facts: &Facts) -> Share {
        match (self, other) {
            (Share::Never, _) | (_, Share::Never) => Share::Never,
            (Share::Always, share) | (share, Share::Always) => share,
            (Share::Rounds { index, first, last, of }, Share::Rounds { index: other, first: from, last: to, .. }) if index == other => {
                Share::Rounds { index, first: larger(first, from, facts), last: -larger(-last, -to, facts), of }
            }
            _ => Share::Unknown,
        }
    }

    /// The share as a formula: of all rounds, or for the round that the index names, where what is done depends on it.
    fn part(&self, facts: &Facts, by_round: bool) -> Option<Formula> {
        match self {
            Share::Always => Some(Formula::one()),
            Share::Never => Some(Formula::zero()),
            Share::Part(part) => Some(part.clone()),
            Share::Unknown => None,
            Share::Rounds { index, first, last, .. } if by_round => {
                let round = Formula::symbol(index);
                let after = if first.is_one() { Formula::one() } else { step(&(&round - first + Formula::one()), facts) };
                Some(after * step(&(last - &round + Formula::one()), facts))
            }
            Share::Rounds { first, last, of, .. } => {
                let from = larger(first.clone(), Formula::one(), facts);
                let to = -larger(-last, -of, facts);
                let rounds = facts.at_least_zero(to - from + Formula::one());
                Some(rounds * facts.at_least_one(of).power(-1))
            }
        }
    }
}

/// The larger of two, in short where it can be told.
fn larger(one: Formula, two: Formula, facts: &Facts) -> Formula {
    if facts.is_nonnegative(&(&one - &two)) {
        one
    } else if facts.is_nonnegative(&(&two - &one)) {
        two
    } else {
        Formula::max_of([one, two])
    }
}

/// One where something whole is above zero, zero elsewhere.
fn step(of: &Formula, facts: &Facts) -> Formula {
    if facts.is_positive(of) {
        return Formula::one();
    }
    Formula::max_of([Formula::min_of([of.clone(), Formula::one()]), Formula::zero()])
}

/// One where a comparison holds, zero where it does not.
pub(super) fn indicator(operation: Binary, one: &Formula, two: &Formula, facts: &Facts) -> Option<Formula> {
    let difference = two - one;
    let opposite = -&difference;
    let whole = facts.is_whole(&difference);
    let below = |difference: &Formula, from: &Formula, to: &Formula| match whole {
        true => step(difference, facts),
        false => Formula::pieces(to, [Piece::up_to(from.clone(), Formula::zero()), Piece::beyond(Formula::one())]),
    };
    let not = |formula: Formula| Formula::one() - formula;
    Some(match operation {
        Binary::Less => below(&difference, one, two),
        Binary::GreaterOrEqual => not(below(&difference, one, two)),
        Binary::Greater => below(&opposite, two, one),
        Binary::LessOrEqual => not(below(&opposite, two, one)),
        Binary::Equal if whole => not(below(&difference, one, two)) - below(&opposite, two, one),
        Binary::NotEqual if whole => below(&difference, one, two) + below(&opposite, two, one),
        _ => return None,
    })
}

impl<'a> Analysis<'a> {
    /// How often a condition holds where the program is now.
    pub fn share(&mut self, condition: &'a Expression, scope: &Scope) -> Result<Share, Error> {
        self.deeper(&condition.place, |analysis| analysis.share_inside(condition, scope))
    }

    fn share_inside(&mut self, condition: &'a Expression, scope: &Scope) -> Result<Share, Error> {
        match &condition.what {
            Computation::Unary(Unary::Not, of) => Ok(self.share(of, scope)?.opposite(&self.facts)),
            Computation::Binary(Binary::And, one, two) => {
                let first = self.share(one, scope)?;
                if first == Share::Never {
                    return Ok(first);
                }
                let second = self.share(two, scope)?;
                Ok(first.and(second, &self.facts))
            }
            Computation::Binary(Binary::Or, one, two) => {
                let first = self.share(one, scope)?.opposite(&self.facts);
                let second = self.share(two, scope)?.opposite(&self.facts);
                Ok(first.and(second, &self.facts).opposite(&self.facts))
            }
            Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                let mut after = scope.clone();
                let (left, right) = (self.value(one, &mut after)?, self.value(two, &mut after)?);
                if let Value::Known(rest) = &right
                    && let Some(share) = self.share_of_remainder(*operation, one, rest.clone(), scope)?
                {
                    return Ok(share);
                }
                if let Value::Known(rest) = &left
                    && let Some(share) = self.share_of_remainder(mirrored(*operation), two, rest.clone(), scope)?
                {
                    return Ok(share);
                }
                let whole = common(&one.of, &two.of) < Scalar::Float;
                Ok(compared(*operation, &left, &right, whole, &self.facts))
            }
            _ => {
                if let Some(share) = self.share_of_remainder(Binary::NotEqual, condition, Formula::zero(), scope)? {
                    return Ok(share);
                }
                let value = self.value(condition, &mut scope.clone())?;
                Ok(match value.formula().and_then(Formula::as_exact) {
                    Some(number) if number.is_zero() => Share::Never,
                    Some(_) => Share::Always,
                    None => Share::Unknown,
                })
            }
        }
    }

    /// Adds one of two terms, by how often a condition holds.
    pub(super) fn push_if(&mut self, place: &Place, share: &Share, then: Term, otherwise: Term, ledger: &mut Ledger) {
        match share {
            Share::Always => return ledger.push(then),
            Share::Never => return ledger.push(otherwise),
            _ if is_nothing(&then) && is_nothing(&otherwise) => return,
            _ => {}
        }
        let by_round = match share {
            Share::Rounds { index, .. } => depends_on(&then, index) || depends_on(&otherwise, index),
            _ => false,
        };
        let share = share.part(&self.facts, by_round);
        let place = Some(self.condition_name(place));
        ledger.push(Term::If { place, share, then: Box::new(then), otherwise: Box::new(otherwise) });
    }

    /// What is known of a value that is one or another by a condition: `a < b ? a : b` is the smaller of the two.
    pub(super) fn chosen(&mut self, condition: &'a Expression, scope: &Scope, then: &Value, otherwise: &Value) -> Result<Value, Error> {
        if let Computation::Binary(operation, one, two) = &condition.what
            && let (Value::Known(then), Value::Known(otherwise)) = (then, otherwise)
            && then != otherwise
        {
            let mut scope = scope.clone();
            let (left, right) = (self.value(one, &mut scope)?, self.value(two, &mut scope)?);
            let (left, right) = (left.formula(), right.formula());
            let straight = left == Some(then) && right == Some(otherwise);
            let crossed = left == Some(otherwise) && right == Some(then);
            let takes_smaller = match operation {
                Binary::Less | Binary::LessOrEqual => straight,
                Binary::Greater | Binary::GreaterOrEqual => crossed,
                _ => false,
            };
            if takes_smaller {
                return Ok(Value::Known(Formula::min_of([then.clone(), otherwise.clone()])));
            }
            let takes_larger = match operation {
                Binary::Less | Binary::LessOrEqual => crossed,
                Binary::Greater | Binary::GreaterOrEqual => straight,
                _ => false,
            };
            if takes_larger {
                return Ok(Value::Known(Formula::max_of([then.clone(), otherwise.clone()])));
            }
        }
        Ok(then.or(otherwise, &self.facts))
    }
}

pub(super) fn is_comparison(operation: Binary) -> bool {
    matches!(operation, Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual | Binary::Equal | Binary::NotEqual)
}

/// The comparison with its sides exchanged.
pub(super) fn mirrored(operation: Binary) -> Binary {
    match operation {
        Binary::Less => Binary::Greater,
        Binary::LessOrEqual => Binary::GreaterOrEqual,
        Binary::Greater => Binary::Less,
        Binary::GreaterOrEqual => Binary::LessOrEqual,
        other => other,
    }
}

/// How often a comparison of two values holds.
fn compared(operation: Binary, one: &Value, two: &Value, whole: bool, facts: &Facts) -> Share {
    match operation {
        Binary::Greater => compared(Binary::Less, two, one, whole, facts),
        Binary::GreaterOrEqual => compared(Binary::LessOrEqual, two, one, whole, facts),
        Binary::NotEqual => compared(Binary::Equal, one, two, whole, facts).opposite(facts),
        _ => by_bounds(operation, one, two, whole, facts)
            .or_else(|| drawn(operation, one, two))
            .or_else(|| along_rounds(operation, one.formula()?, two.formula()?, facts))
            .or_else(|| of_parameters(operation, one.formula()?, two.formula()?, facts))
            .unwrap_or(Share::Unknown),
    }
}

/// What the bounds of two values decide for `<`, `<=` and `==`.
fn by_bounds(operation: Binary, one: &Value, two: &Value, whole: bool, facts: &Facts) -> Option<Share> {
    let ((low, high), (other_low, other_high)) = (one.bounds(), two.bounds());
    let not_above =
        |a: &Option<Formula>, b: &Option<Formula>| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| facts.is_nonnegative(&(b - a)));
    let below = |a: &Option<Formula>, b: &Option<Formula>| {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| {
            let difference = b - a;
            facts.is_positive(&difference) || whole && facts.is_nonnegative(&(difference - Formula::one()))
        })
    };
    let (holds, fails) = match operation {
        Binary::Less => (below(&high, &other_low), not_above(&other_high, &low)),
        Binary::LessOrEqual => (not_above(&high, &other_low), below(&other_high, &low)),
        _ => {
            let same = one.formula().zip(two.formula()).is_some_and(|(one, two)| (one - two).is_zero());
            (same, below(&high, &other_low) || below(&other_high, &low))
        }
    };
    if holds { Some(Share::Always) } else { fails.then_some(Share::Never) }
}

/// How often a number drawn by lot is below another.
fn drawn(operation: Binary, one: &Value, two: &Value) -> Option<Share> {
    let limit = |share: Formula| Share::Part(Formula::max_of([Formula::min_of([share, Formula::one()]), Formula::zero()]));
    match (one, two) {
        (Value::Drawn { low, high, whole }, Value::Known(bound)) => {
            let width = high - low + Formula::integer(i64::from(*whole));
            match (operation, whole) {
                (Binary::Equal, true) => Some(Share::Part(width.power(-1))),
                (Binary::Equal, false) => Some(Share::Never),
                (Binary::LessOrEqual, true) => Some(limit((bound - low + Formula::one()) * width.power(-1))),
                _ => Some(limit((bound - low) * width.power(-1))),
            }
        }
        (Value::Known(_), Value::Drawn { .. }) => match operation {
            Binary::Equal => drawn(operation, two, one),
            Binary::Less => drawn(Binary::LessOrEqual, two, one).map(|share| share.opposite(&Facts::default())),
            _ => drawn(Binary::Less, two, one).map(|share| share.opposite(&Facts::default())),
        },
        _ => None,
    }
}

/// The rounds of the innermost loop in which a comparison that is a line over them holds.
fn along_rounds(operation: Binary, one: &Formula, two: &Formula, facts: &Facts) -> Option<Share> {
    let difference = one - two;
    let (index, of) = facts.innermost(&difference)?;
    let line = Line::of(&difference, index)?;
    let rises = match line.slope.as_exact().map(Rational::sign) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Less) => false,
        Some(Ordering::Equal) => return None,
        None if facts.is_positive(&line.slope) => true,
        None if facts.is_positive(&-&line.slope) => false,
        None => return None,
    };
    let crossing = -(&line.start * &line.slope.power(-1));
    let (start, end, one) = (Formula::one(), of.clone(), Formula::one());
    let (first, last) = match (operation, rises) {
        (Binary::Less, true) => (start, facts.ceil(&crossing) - one),
        (Binary::LessOrEqual, true) => (start, facts.floor(&crossing)),
        (Binary::Less, false) => (facts.floor(&crossing) + one, end),
        (Binary::LessOrEqual, false) => (facts.ceil(&crossing), end),
        _ if facts.is_whole(&crossing) => (crossing.clone(), crossing),
        _ => return Some(Share::Part(Formula::between(0.0, 1.0) * facts.at_least_one(of).power(-1))),
    };
    Some(Share::Rounds { index: index.to_owned(), first, last, of: of.clone() })
}

/// A comparison of formulas holds or does not hold; which, the parameters and the rounds decide.
fn of_parameters(operation: Binary, one: &Formula, two: &Formula, facts: &Facts) -> Option<Share> {
    indicator(operation, one, two, facts).filter(|share| share.size() <= MOST_SIZE).map(Share::Part)
}
