//! Trip counts derived from loop conditions.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::condition::{is_comparison, swap_operands};
use super::induction::{InductionStep, InductionVariable, strip_casts};
use super::trip_formulas::{self, LoopPredicate};
use super::{AbstractValue, BranchProbability, StaticAnalyzer, VariableScope};
use crate::error::Error;
use crate::ir::{BinaryOp, ExprKind, TypedExpr, UnaryOp};

/// What a condition shows about the trip count.
pub(super) enum TripCount {
    Exact(Formula),
    /// An upper bound, with fewer iterations for reasons that cannot be analysed.
    AtMost(Formula),
    /// The reason why it is unknown.
    Unknown(String),
}

impl TripCount {
    /// Applies a function to the count.
    pub(super) fn map(self, change: impl FnOnce(Formula) -> Formula) -> TripCount {
        match self {
            TripCount::Exact(count) => TripCount::Exact(change(count)),
            TripCount::AtMost(count) => TripCount::AtMost(change(count)),
            unknown => unknown,
        }
    }
}

impl<'a> StaticAnalyzer<'a> {
    /// The trip count that a condition implies.
    pub(super) fn trip_count(
        &mut self,
        condition: &'a TypedExpr,
        head: &VariableScope,
        index: &str,
        courses: &BTreeMap<&'a str, InductionVariable>,
    ) -> Result<TripCount, Error> {
        match &condition.kind {
            ExprKind::Binary(BinaryOp::And, one, two) => {
                let (one, two) = (self.trip_count(one, head, index, courses)?, self.trip_count(two, head, index, courses)?);
                Ok(match (one, two) {
                    (TripCount::Exact(one), TripCount::Exact(two)) => TripCount::Exact(Formula::min_of([one, two])),
                    (TripCount::Exact(one) | TripCount::AtMost(one), TripCount::AtMost(two))
                    | (TripCount::AtMost(one), TripCount::Exact(two)) => TripCount::AtMost(Formula::min_of([one, two])),
                    (TripCount::Exact(most) | TripCount::AtMost(most), TripCount::Unknown(_))
                    | (TripCount::Unknown(_), TripCount::Exact(most) | TripCount::AtMost(most)) => TripCount::AtMost(most),
                    (TripCount::Unknown(why), TripCount::Unknown(_)) => TripCount::Unknown(why),
                })
            }
            ExprKind::Binary(operation, one, two) if is_comparison(*operation) => {
                self.comparison_trip_count(*operation, [one, two], head, index, courses)
            }
            ExprKind::Unary(UnaryOp::Not, of) => match &of.kind {
                ExprKind::Binary(operation, one, two) if is_comparison(*operation) => {
                    self.comparison_trip_count(negated(*operation), [one, two], head, index, courses)
                }
                _ => Ok(TripCount::Unknown("its condition is not a comparison of numbers".to_owned())),
            },
            _ if self.branch_probability(condition, head)? == BranchProbability::Never => Ok(TripCount::Exact(Formula::zero())),
            ExprKind::Number(_) => Ok(TripCount::Unknown("it only ends by an exit inside".to_owned())),
            _ => Ok(TripCount::Unknown("its condition is not a comparison of numbers".to_owned())),
        }
    }

    fn comparison_trip_count(
        &mut self,
        operation: BinaryOp,
        [one, two]: [&'a TypedExpr; 2],
        head: &VariableScope,
        index: &str,
        courses: &BTreeMap<&'a str, InductionVariable>,
    ) -> Result<TripCount, Error> {
        let mut scope = head.clone();
        let (left, right) = (self.value(one, &mut scope)?, self.value(two, &mut scope)?);
        if let Some(count) = self.geometric_trip_count(operation, one, &right, index, courses) {
            return Ok(TripCount::Exact(count));
        }
        if let Some(count) = self.geometric_trip_count(swap_operands(operation), two, &left, index, courses) {
            return Ok(TripCount::Exact(count));
        }
        let (difference, goes_on) = match operation {
            BinaryOp::Less => (left.add(&right.negate()), LoopPredicate::Below),
            BinaryOp::LessOrEqual => (left.add(&right.negate()), LoopPredicate::NotAbove),
            BinaryOp::Greater => (right.add(&left.negate()), LoopPredicate::Below),
            BinaryOp::GreaterOrEqual => (right.add(&left.negate()), LoopPredicate::NotAbove),
            BinaryOp::NotEqual => (left.add(&right.negate()), LoopPredicate::NotZero),
            _ => return Ok(TripCount::Unknown("it continues while two numbers are equal".to_owned())),
        };
        let facts = &self.assumptions;
        let rounds = |of: &Formula| trip_formulas::trip_count(of, index, goes_on, facts).map(|count| facts.max_with_zero(count));
        let count = match difference.bounds() {
            _ if matches!(difference, AbstractValue::Uniform { .. }) => None,
            (Some(low), Some(high)) if low == high => rounds(&low),
            // The larger the difference, the sooner the loop ends.
            (Some(low), Some(high)) => {
                rounds(&high).zip(rounds(&low)).map(|(least, most)| &least + &(Formula::interval(0.0, 1.0) * (most - least.clone())))
            }
            (Some(low), None) => return Ok(rounds(&low).map_or_else(|| self.unknown_trip_count(one, two, head), TripCount::AtMost)),
            _ => None,
        };
        Ok(count.map_or_else(|| self.unknown_trip_count(one, two, head), TripCount::Exact))
    }

    /// The first unknown variable of a comparison, for the note.
    fn unknown_trip_count(&self, one: &TypedExpr, two: &TypedExpr, head: &VariableScope) -> TripCount {
        let unknown = [one, two].into_iter().find_map(|side| first_unknown(side, head));
        TripCount::Unknown(match unknown {
            Some(what) => format!("the value of {what} is unknown"),
            None => "its condition has no closed form".to_owned(),
        })
    }

    /// The trip count of a loop over a variable that is multiplied or divided, up to a constant bound.
    fn geometric_trip_count(
        &self,
        operation: BinaryOp,
        side: &TypedExpr,
        bound: &AbstractValue,
        index: &str,
        courses: &BTreeMap<&'a str, InductionVariable>,
    ) -> Option<Formula> {
        let ExprKind::Variable(name) = &strip_casts(side).kind else { return None };
        let course = courses.get(name.as_str())?;
        let bound = bound.formula().filter(|bound| !bound.symbols().contains(index))?;
        let facts = &self.assumptions;
        let one = Formula::one();
        match (&course.step, operation) {
            (InductionStep::Multiply(by), BinaryOp::Less) if facts.is_positive(&course.start) => {
                Some(trip_formulas::geometric_trip_count(&course.start, by, bound, LoopPredicate::Below))
            }
            (InductionStep::Multiply(by), BinaryOp::LessOrEqual) if facts.is_positive(&course.start) => {
                Some(trip_formulas::geometric_trip_count(&course.start, by, bound, LoopPredicate::NotAbove))
            }
            (InductionStep::Divide(by), BinaryOp::Greater) if facts.is_nonnegative(bound) && facts.is_nonnegative(&course.start) => {
                Some(trip_formulas::division_trip_count(&course.start, by, &(bound + &one)))
            }
            (InductionStep::Divide(by), BinaryOp::GreaterOrEqual) if facts.is_positive(bound) && facts.is_nonnegative(&course.start) => {
                Some(trip_formulas::division_trip_count(&course.start, by, bound))
            }
            (InductionStep::Divide(by), BinaryOp::NotEqual) if bound.is_zero() && facts.is_nonnegative(&course.start) => {
                Some(trip_formulas::division_trip_count(&course.start, by, &one))
            }
            _ => None,
        }
    }
}

fn negated(operation: BinaryOp) -> BinaryOp {
    match operation {
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        other => other,
    }
}

/// The first variable or call of unknown value in an expression.
fn first_unknown(expression: &TypedExpr, scope: &VariableScope) -> Option<String> {
    match &expression.kind {
        ExprKind::Variable(name) => (scope.get(name).and_then(AbstractValue::formula).is_none()).then(|| format!("`{name}`")),
        ExprKind::Call(name, _) => Some(format!("`{name}(…)`")),
        ExprKind::Index(..) => Some("an element of an array".to_owned()),
        ExprKind::Field(_, name) => Some(format!("`.{name}`")),
        ExprKind::Binary(_, one, two) => first_unknown(one, scope).or_else(|| first_unknown(two, scope)),
        ExprKind::Unary(_, of) | ExprKind::Cast(of) => first_unknown(of, scope),
        _ => None,
    }
}
