//! Branch probabilities, where they follow from the program.
//!
//! A comparison that is affine in the index of a loop holds in a range of iterations, which can be counted. A condition on a remainder
//! holds in every k-th iteration ([`super::residue`]), one on a random number with a known probability. Bounds show that a condition always
//! or never holds.

use std::cmp::Ordering;

use sintonia_formula::{Formula, PiecewiseCase, Rational};
use sintonia_pamela::model::ModelTerm;

use super::assumptions::{AffineForm, Assumptions};
use super::term_builder::{TermBuilder, depends_on, is_empty_term};
use super::{AbstractValue, StaticAnalyzer, VariableScope, common_type};
use crate::error::Error;
use crate::file_pos::FilePos;
use crate::ir::{BinaryOp, ExprKind, ScalarType, TypedExpr, UnaryOp};

/// Larger formulas are not used as shares, since nobody could read them.
const MAX_SIZE: u64 = 100;

/// How often a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub enum BranchProbability {
    /// In every case.
    Always,
    /// In no case.
    Never,
    /// In exactly these iterations of the loop with this index.
    Iterations {
        /// The index.
        index: String,
        /// The first iteration.
        first: Formula,
        /// The last iteration.
        last: Formula,
        /// The trip count of the loop.
        trip_count: Formula,
    },
    /// In this fraction of all cases.
    Fraction(Formula),
    /// Not derivable.
    Unknown,
}

impl BranchProbability {
    /// The probability of the negated condition.
    pub fn complement(self, facts: &Assumptions) -> BranchProbability {
        match self {
            BranchProbability::Always => BranchProbability::Never,
            BranchProbability::Never => BranchProbability::Always,
            BranchProbability::Iterations { index, first, last, trip_count: of } if first.is_one() => {
                BranchProbability::Iterations { index, first: last + Formula::one(), last: of.clone(), trip_count: of }
            }
            BranchProbability::Iterations { index, first, last, trip_count: of } if last == of => {
                BranchProbability::Iterations { index, first: Formula::one(), last: first - Formula::one(), trip_count: of }
            }
            BranchProbability::Iterations { .. } => {
                self.to_formula(facts, false).map_or(BranchProbability::Unknown, |part| BranchProbability::Fraction(Formula::one() - part))
            }
            BranchProbability::Fraction(part) => BranchProbability::Fraction(Formula::one() - part),
            BranchProbability::Unknown => BranchProbability::Unknown,
        }
    }

    fn and(self, other: BranchProbability, facts: &Assumptions) -> BranchProbability {
        match (self, other) {
            (BranchProbability::Never, _) | (_, BranchProbability::Never) => BranchProbability::Never,
            (BranchProbability::Always, share) | (share, BranchProbability::Always) => share,
            (
                BranchProbability::Iterations { index, first, last, trip_count: of },
                BranchProbability::Iterations { index: other, first: from, last: to, .. },
            ) if index == other => BranchProbability::Iterations {
                index,
                first: max_formula(first, from, facts),
                last: -max_formula(-last, -to, facts),
                trip_count: of,
            },
            _ => BranchProbability::Unknown,
        }
    }

    /// The probability as a formula: over all iterations, or, if the branches depend on the index, for the iteration of that index.
    fn to_formula(&self, facts: &Assumptions, by_round: bool) -> Option<Formula> {
        match self {
            BranchProbability::Always => Some(Formula::one()),
            BranchProbability::Never => Some(Formula::zero()),
            BranchProbability::Fraction(part) => Some(part.clone()),
            BranchProbability::Unknown => None,
            BranchProbability::Iterations { index, first, last, .. } if by_round => {
                let round = Formula::symbol(index);
                let after = if first.is_one() { Formula::one() } else { unit_step(&(&round - first + Formula::one()), facts) };
                Some(after * unit_step(&(last - &round + Formula::one()), facts))
            }
            BranchProbability::Iterations { first, last, trip_count: of, .. } => {
                let from = max_formula(first.clone(), Formula::one(), facts);
                let to = -max_formula(-last, -of, facts);
                let rounds = facts.max_with_zero(to - from + Formula::one());
                Some(rounds * facts.max_with_one(of).power(-1))
            }
        }
    }
}

/// The maximum, simplified if one formula is provably larger.
fn max_formula(one: Formula, two: Formula, facts: &Assumptions) -> Formula {
    if facts.is_nonnegative(&(&one - &two)) {
        one
    } else if facts.is_nonnegative(&(&two - &one)) {
        two
    } else {
        Formula::max_of([one, two])
    }
}

/// One where an integer formula is positive, zero elsewhere.
fn unit_step(of: &Formula, facts: &Assumptions) -> Formula {
    if facts.is_positive(of) {
        return Formula::one();
    }
    Formula::max_of([Formula::min_of([of.clone(), Formula::one()]), Formula::zero()])
}

/// One where a comparison holds, zero where it does not.
pub(super) fn indicator(operation: BinaryOp, one: &Formula, two: &Formula, facts: &Assumptions) -> Option<Formula> {
    let difference = two - one;
    let opposite = -&difference;
    let whole = facts.is_integer(&difference);
    let below = |difference: &Formula, from: &Formula, to: &Formula| match whole {
        true => unit_step(difference, facts),
        false => Formula::piecewise(to, [PiecewiseCase::up_to(from.clone(), Formula::zero()), PiecewiseCase::beyond(Formula::one())]),
    };
    let not = |formula: Formula| Formula::one() - formula;
    Some(match operation {
        BinaryOp::Less => below(&difference, one, two),
        BinaryOp::GreaterOrEqual => not(below(&difference, one, two)),
        BinaryOp::Greater => below(&opposite, two, one),
        BinaryOp::LessOrEqual => not(below(&opposite, two, one)),
        BinaryOp::Equal if whole => not(below(&difference, one, two)) - below(&opposite, two, one),
        BinaryOp::NotEqual if whole => below(&difference, one, two) + below(&opposite, two, one),
        _ => return None,
    })
}

impl<'a> StaticAnalyzer<'a> {
    /// The probability that a condition holds at this point of the program.
    pub fn branch_probability(&mut self, condition: &'a TypedExpr, scope: &VariableScope) -> Result<BranchProbability, Error> {
        self.nested(&condition.pos, |analysis| analysis.branch_probability_unchecked(condition, scope))
    }

    fn branch_probability_unchecked(&mut self, condition: &'a TypedExpr, scope: &VariableScope) -> Result<BranchProbability, Error> {
        match &condition.kind {
            ExprKind::Unary(UnaryOp::Not, of) => Ok(self.branch_probability(of, scope)?.complement(&self.assumptions)),
            ExprKind::Binary(BinaryOp::And, one, two) => {
                let first = self.branch_probability(one, scope)?;
                if first == BranchProbability::Never {
                    return Ok(first);
                }
                let second = self.branch_probability(two, scope)?;
                Ok(first.and(second, &self.assumptions))
            }
            ExprKind::Binary(BinaryOp::Or, one, two) => {
                let first = self.branch_probability(one, scope)?.complement(&self.assumptions);
                let second = self.branch_probability(two, scope)?.complement(&self.assumptions);
                Ok(first.and(second, &self.assumptions).complement(&self.assumptions))
            }
            ExprKind::Binary(operation, one, two) if is_comparison(*operation) => {
                let mut after = scope.clone();
                let (left, right) = (self.value(one, &mut after)?, self.value(two, &mut after)?);
                if let AbstractValue::Exact(rest) = &right
                    && let Some(share) = self.remainder_probability(*operation, one, rest.clone(), scope)?
                {
                    return Ok(share);
                }
                if let AbstractValue::Exact(rest) = &left
                    && let Some(share) = self.remainder_probability(swap_operands(*operation), two, rest.clone(), scope)?
                {
                    return Ok(share);
                }
                let whole = common_type(&one.data_type, &two.data_type) < ScalarType::Float;
                Ok(comparison_probability(*operation, &left, &right, whole, &self.assumptions))
            }
            _ => {
                if let Some(share) = self.remainder_probability(BinaryOp::NotEqual, condition, Formula::zero(), scope)? {
                    return Ok(share);
                }
                let value = self.value(condition, &mut scope.clone())?;
                Ok(match value.formula().and_then(Formula::as_exact) {
                    Some(number) if number.is_zero() => BranchProbability::Never,
                    Some(_) => BranchProbability::Always,
                    None => BranchProbability::Unknown,
                })
            }
        }
    }

    /// Adds a conditional term with the given probability.
    pub(super) fn push_if(
        &mut self,
        place: &FilePos,
        share: &BranchProbability,
        then: ModelTerm,
        otherwise: ModelTerm,
        ledger: &mut TermBuilder,
    ) {
        match share {
            BranchProbability::Always => return ledger.push(then),
            BranchProbability::Never => return ledger.push(otherwise),
            _ if is_empty_term(&then) && is_empty_term(&otherwise) => return,
            _ => {}
        }
        let by_round = match share {
            BranchProbability::Iterations { index, .. } => depends_on(&then, index) || depends_on(&otherwise, index),
            _ => false,
        };
        let share = share.to_formula(&self.assumptions, by_round);
        let place = Some(self.condition_label(place));
        ledger.push(ModelTerm::If { position: place, share, then: Box::new(then), otherwise: Box::new(otherwise) });
    }

    /// The value of a conditional expression: `a < b ? a : b` is the minimum of the two.
    pub(super) fn selected_value(
        &mut self,
        condition: &'a TypedExpr,
        scope: &VariableScope,
        then: &AbstractValue,
        otherwise: &AbstractValue,
    ) -> Result<AbstractValue, Error> {
        if let ExprKind::Binary(operation, one, two) = &condition.kind
            && let (AbstractValue::Exact(then), AbstractValue::Exact(otherwise)) = (then, otherwise)
            && then != otherwise
        {
            let mut scope = scope.clone();
            let (left, right) = (self.value(one, &mut scope)?, self.value(two, &mut scope)?);
            let (left, right) = (left.formula(), right.formula());
            let straight = left == Some(then) && right == Some(otherwise);
            let crossed = left == Some(otherwise) && right == Some(then);
            let takes_smaller = match operation {
                BinaryOp::Less | BinaryOp::LessOrEqual => straight,
                BinaryOp::Greater | BinaryOp::GreaterOrEqual => crossed,
                _ => false,
            };
            if takes_smaller {
                return Ok(AbstractValue::Exact(Formula::min_of([then.clone(), otherwise.clone()])));
            }
            let takes_larger = match operation {
                BinaryOp::Less | BinaryOp::LessOrEqual => crossed,
                BinaryOp::Greater | BinaryOp::GreaterOrEqual => straight,
                _ => false,
            };
            if takes_larger {
                return Ok(AbstractValue::Exact(Formula::max_of([then.clone(), otherwise.clone()])));
            }
        }
        Ok(then.join(otherwise, &self.assumptions))
    }
}

pub(super) fn is_comparison(operation: BinaryOp) -> bool {
    matches!(
        operation,
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual | BinaryOp::Equal | BinaryOp::NotEqual
    )
}

/// The comparison with its operands swapped.
pub(super) fn swap_operands(operation: BinaryOp) -> BinaryOp {
    match operation {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        other => other,
    }
}

fn comparison_probability(
    operation: BinaryOp,
    one: &AbstractValue,
    two: &AbstractValue,
    whole: bool,
    facts: &Assumptions,
) -> BranchProbability {
    match operation {
        BinaryOp::Greater => comparison_probability(BinaryOp::Less, two, one, whole, facts),
        BinaryOp::GreaterOrEqual => comparison_probability(BinaryOp::LessOrEqual, two, one, whole, facts),
        BinaryOp::NotEqual => comparison_probability(BinaryOp::Equal, one, two, whole, facts).complement(facts),
        _ => probability_by_bounds(operation, one, two, whole, facts)
            .or_else(|| probability_of_random(operation, one, two))
            .or_else(|| probability_over_iterations(operation, one.formula()?, two.formula()?, facts))
            .or_else(|| probability_of_parameters(operation, one.formula()?, two.formula()?, facts))
            .unwrap_or(BranchProbability::Unknown),
    }
}

/// What the bounds of two values decide for `<`, `<=` and `==`.
fn probability_by_bounds(
    operation: BinaryOp,
    one: &AbstractValue,
    two: &AbstractValue,
    whole: bool,
    facts: &Assumptions,
) -> Option<BranchProbability> {
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
        BinaryOp::Less => (below(&high, &other_low), not_above(&other_high, &low)),
        BinaryOp::LessOrEqual => (not_above(&high, &other_low), below(&other_high, &low)),
        _ => {
            let same = one.formula().zip(two.formula()).is_some_and(|(one, two)| (one - two).is_zero());
            (same, below(&high, &other_low) || below(&other_high, &low))
        }
    };
    if holds { Some(BranchProbability::Always) } else { fails.then_some(BranchProbability::Never) }
}

/// The probability that a uniformly distributed value is below a bound.
fn probability_of_random(operation: BinaryOp, one: &AbstractValue, two: &AbstractValue) -> Option<BranchProbability> {
    let limit = |share: Formula| BranchProbability::Fraction(Formula::max_of([Formula::min_of([share, Formula::one()]), Formula::zero()]));
    match (one, two) {
        (AbstractValue::Uniform { low, high, whole }, AbstractValue::Exact(bound)) => {
            let width = high - low + Formula::integer(i64::from(*whole));
            match (operation, whole) {
                (BinaryOp::Equal, true) => Some(BranchProbability::Fraction(width.power(-1))),
                (BinaryOp::Equal, false) => Some(BranchProbability::Never),
                (BinaryOp::LessOrEqual, true) => Some(limit((bound - low + Formula::one()) * width.power(-1))),
                _ => Some(limit((bound - low) * width.power(-1))),
            }
        }
        (AbstractValue::Exact(_), AbstractValue::Uniform { .. }) => match operation {
            BinaryOp::Equal => probability_of_random(operation, two, one),
            BinaryOp::Less => probability_of_random(BinaryOp::LessOrEqual, two, one).map(|share| share.complement(&Assumptions::default())),
            _ => probability_of_random(BinaryOp::Less, two, one).map(|share| share.complement(&Assumptions::default())),
        },
        _ => None,
    }
}

/// The iterations of the innermost loop in which a comparison that is affine in its index holds.
fn probability_over_iterations(operation: BinaryOp, one: &Formula, two: &Formula, facts: &Assumptions) -> Option<BranchProbability> {
    let difference = one - two;
    let (index, of) = facts.innermost_loop(&difference)?;
    let line = AffineForm::from_formula(&difference, index)?;
    let rises = match line.slope.as_exact().map(Rational::sign) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Less) => false,
        Some(Ordering::Equal) => return None,
        None if facts.is_positive(&line.slope) => true,
        None if facts.is_positive(&-&line.slope) => false,
        None => return None,
    };
    let crossing = -(&line.intercept * &line.slope.power(-1));
    let (start, end, one) = (Formula::one(), of.clone(), Formula::one());
    let (first, last) = match (operation, rises) {
        (BinaryOp::Less, true) => (start, facts.ceil(&crossing) - one),
        (BinaryOp::LessOrEqual, true) => (start, facts.floor(&crossing)),
        (BinaryOp::Less, false) => (facts.floor(&crossing) + one, end),
        (BinaryOp::LessOrEqual, false) => (facts.ceil(&crossing), end),
        _ if facts.is_integer(&crossing) => (crossing.clone(), crossing),
        _ => return Some(BranchProbability::Fraction(Formula::interval(0.0, 1.0) * facts.max_with_one(of).power(-1))),
    };
    Some(BranchProbability::Iterations { index: index.to_owned(), first, last, trip_count: of.clone() })
}

/// A comparison of formulas: its indicator, which depends on parameters and indexes.
fn probability_of_parameters(operation: BinaryOp, one: &Formula, two: &Formula, facts: &Assumptions) -> Option<BranchProbability> {
    indicator(operation, one, two, facts).filter(|share| share.size() <= MAX_SIZE).map(BranchProbability::Fraction)
}
