//! Conditions as formulas: their indicator, the ranks at which they divide a role, and the trip count they imply.

use sintonia_formula::Formula;

use super::executor::{ExecutionResult, SymbolicExecutor};
use super::indicator;
use super::value::SymbolicValue;
use crate::analysis::AffineForm;
use crate::ir::{BinaryOp, ExprKind, TypedExpr, UnaryOp};

/// Larger conditions are not analysed.
const MAX_SIZE: u64 = 400;

impl<'p> SymbolicExecutor<'_, 'p> {
    /// The indicator of a condition: one, zero, or a formula with one of these values.
    pub(super) fn truth(&mut self, expression: &'p TypedExpr) -> ExecutionResult<Option<Formula>> {
        let holds = self.nested(&expression.pos, |walk| walk.holds(expression))?;
        Ok(holds.filter(|holds| holds.size() <= MAX_SIZE))
    }

    fn holds(&mut self, expression: &'p TypedExpr) -> ExecutionResult<Option<Formula>> {
        match &expression.kind {
            ExprKind::Unary(UnaryOp::Not, of) => Ok(self.truth(of)?.map(|holds| indicator::not(&holds))),
            ExprKind::Binary(BinaryOp::And, a, b) => {
                let first = self.truth(a)?;
                if first.as_ref().is_some_and(Formula::is_zero) {
                    return Ok(first);
                }
                let second = self.truth(b)?;
                if second.as_ref().is_some_and(Formula::is_zero) {
                    return Ok(second);
                }
                Ok(first.zip(second).map(|(a, b)| indicator::and(&a, &b)))
            }
            ExprKind::Binary(BinaryOp::Or, a, b) => {
                let first = self.truth(a)?;
                if first.as_ref().is_some_and(Formula::is_one) {
                    return Ok(first);
                }
                let second = self.truth(b)?;
                if second.as_ref().is_some_and(Formula::is_one) {
                    return Ok(second);
                }
                Ok(first.zip(second).map(|(a, b)| indicator::or(&a, &b)))
            }
            ExprKind::Binary(BinaryOp::Equal, a, b) => self.equal(a, b),
            ExprKind::Binary(BinaryOp::NotEqual, a, b) => Ok(self.equal(a, b)?.map(|holds| indicator::not(&holds))),
            ExprKind::Binary(BinaryOp::Less, a, b) => self.less(a, b),
            ExprKind::Binary(BinaryOp::Greater, a, b) => self.less(b, a),
            ExprKind::Binary(BinaryOp::LessOrEqual, a, b) => Ok(self.less(b, a)?.map(|holds| indicator::not(&holds))),
            ExprKind::Binary(BinaryOp::GreaterOrEqual, a, b) => Ok(self.less(a, b)?.map(|holds| indicator::not(&holds))),
            _ => Ok(match self.evaluate(expression)? {
                SymbolicValue::Number(number) => Some(indicator::not(&self.are_equal(&number, &Formula::zero()))),
                SymbolicValue::Address(_) => Some(Formula::one()),
                _ => None,
            }),
        }
    }

    fn less(&mut self, a: &'p TypedExpr, b: &'p TypedExpr) -> ExecutionResult<Option<Formula>> {
        let (SymbolicValue::Number(a), SymbolicValue::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
        Ok(Some(match () {
            () if self.role.is_nonnegative(&(&a - &b), &self.assumptions) => Formula::zero(),
            () if self.role.is_nonnegative(&(&b - &a - Formula::one()), &self.assumptions) => Formula::one(),
            () => indicator::less(&a, &b),
        }))
    }

    fn equal(&mut self, a: &'p TypedExpr, b: &'p TypedExpr) -> ExecutionResult<Option<Formula>> {
        if let ExprKind::Binary(BinaryOp::Remainder, over, by) = &strip_casts(a).kind
            && let (SymbolicValue::Number(over), SymbolicValue::Number(by), SymbolicValue::Number(rest)) =
                (self.evaluate(over)?, self.evaluate(by)?, self.evaluate(b)?)
            && rest.as_exact().is_some_and(|rest| !rest.is_negative())
            && self.role.is_nonnegative(&over, &self.assumptions)
            && over.as_exact().is_none()
        {
            return Ok(Some(indicator::remainder_is(&over, &by, &rest)));
        }
        let (x, y) = (self.evaluate(a)?, self.evaluate(b)?);
        match (&x, &y) {
            (SymbolicValue::Number(x), SymbolicValue::Number(y)) => Ok(Some(self.are_equal(x, y))),
            (SymbolicValue::Neighbour { .. } | SymbolicValue::Number(_), SymbolicValue::Neighbour { .. } | SymbolicValue::Number(_)) => {
                let nobody = SymbolicValue::proc_null();
                let exists = x.as_neighbour().zip(y.as_neighbour()).map(|((_, a), (_, b))| if y == nobody { a } else { b });
                Ok(exists.filter(|_| x == nobody || y == nobody).map(|exists| indicator::not(&exists)))
            }
            _ => Ok(None),
        }
    }

    fn are_equal(&self, a: &Formula, b: &Formula) -> Formula {
        let above = |a: &Formula, b: &Formula| self.role.is_nonnegative(&(a - b - Formula::one()), &self.assumptions);
        match () {
            () if a == b => Formula::one(),
            () if above(a, b) || above(b, a) => Formula::zero(),
            () => indicator::equal(a, b),
        }
    }

    /// The ranks at which a condition changes, if it compares the rank with a number that all processes know.
    pub(super) fn rank_division(&mut self, expression: &'p TypedExpr) -> ExecutionResult<Option<Vec<Formula>>> {
        match &expression.kind {
            ExprKind::Unary(UnaryOp::Not, of) | ExprKind::Cast(of) => self.rank_division(of),
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => match self.rank_division(a)? {
                None => self.rank_division(b),
                found => Ok(found),
            },
            ExprKind::Binary(operation, a, b) if is_boolean_op(*operation) => {
                let (SymbolicValue::Number(a), SymbolicValue::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
                Ok(self.rank_division_at(&a, &b, *operation))
            }
            _ => {
                let SymbolicValue::Number(number) = self.evaluate(expression)? else { return Ok(None) };
                Ok(self.rank_division_at(&number, &Formula::zero(), BinaryOp::NotEqual))
            }
        }
    }

    fn rank_division_at(&self, a: &Formula, b: &Formula, operation: BinaryOp) -> Option<Vec<Formula>> {
        let line = AffineForm::from_formula(&(a - b), &self.role.index)?;
        let (rises, at) = match line.slope.as_exact()?.to_i64()? {
            1 => (true, -&line.intercept),
            -1 => (false, line.intercept),
            _ => return None,
        };
        if at.symbols().iter().any(|symbol| symbol != "p") {
            return None;
        }
        let next = &at + &Formula::one();
        let bounds = match (operation, rises) {
            (BinaryOp::Less | BinaryOp::GreaterOrEqual, true) | (BinaryOp::Greater | BinaryOp::LessOrEqual, false) => vec![at],
            (BinaryOp::Less | BinaryOp::GreaterOrEqual, false) | (BinaryOp::Greater | BinaryOp::LessOrEqual, true) => vec![next],
            _ => vec![at, next],
        };
        self.role.split_at(&bounds, &self.assumptions).is_some().then_some(bounds)
    }

    /// The trip count of a loop, from its condition in iteration `index`.
    pub(super) fn trip_count_of(&mut self, condition: &'p TypedExpr, index: &str) -> ExecutionResult<Option<Formula>> {
        let ExprKind::Binary(operation, a, b) = &condition.kind else { return Ok(None) };
        if *operation == BinaryOp::And {
            let (first, second) = (self.trip_count_of(a, index)?, self.trip_count_of(b, index)?);
            return Ok(match (first, second) {
                (Some(first), Some(second)) => Some(Formula::min_of([first, second])),
                (first, second) => first.or(second),
            });
        }
        let (SymbolicValue::Number(a), SymbolicValue::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
        let (left, goes_on_at_zero) = match operation {
            BinaryOp::Less => (b - a, false),
            BinaryOp::LessOrEqual => (b - a, true),
            BinaryOp::Greater => (a - b, false),
            BinaryOp::GreaterOrEqual => (a - b, true),
            BinaryOp::NotEqual => (b - a, false),
            _ => return Ok(None),
        };
        let Some(line) = AffineForm::from_formula(&left, index) else { return Ok(None) };
        let falls = match operation {
            BinaryOp::NotEqual => line.slope.as_exact().is_some_and(|slope| !slope.is_zero()),
            _ => line.slope.as_exact().is_some_and(|slope| slope.is_negative()),
        };
        if !falls {
            return Ok(None);
        }
        // Iteration i continues while intercept + slope*i is positive, or nonnegative.
        let crossing = -(&line.intercept * &line.slope.power(-1));
        let last = if goes_on_at_zero { self.assumptions.floor(&crossing) } else { self.assumptions.ceil(&crossing) - Formula::one() };
        Ok(Some(last))
    }
}

/// Whether the result is boolean.
pub(super) fn is_boolean_op(operation: BinaryOp) -> bool {
    matches!(
        operation,
        BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::And
            | BinaryOp::Or
    )
}

/// An expression without enclosing casts.
pub(super) fn strip_casts(expression: &TypedExpr) -> &TypedExpr {
    match &expression.kind {
        ExprKind::Cast(of) => strip_casts(of),
        _ => expression,
    }
}
