//! Induction variables: variables whose value is a function of the iteration.

use sintonia_formula::Formula;

use super::assumptions::Assumptions;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, ShiftDirection, TypedExpr};

/// The update of a variable once per iteration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InductionStep {
    /// An increment.
    Add(Formula),
    /// A factor above one.
    Multiply(Formula),
    /// An integer division by a divisor above one.
    Divide(Formula),
}

/// A variable whose value is a function of the iteration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InductionVariable {
    /// The value before the first iteration.
    pub(crate) start: Formula,
    /// The update per iteration.
    pub(crate) step: InductionStep,
}

impl InductionVariable {
    /// The value at the beginning of an iteration.
    pub(crate) fn at(&self, round: &Formula, facts: &Assumptions) -> Formula {
        let before = round - &Formula::one();
        match &self.step {
            InductionStep::Add(by) => &self.start + &(by * &before),
            InductionStep::Multiply(by) => &self.start * &by.pow_formula(&before),
            InductionStep::Divide(by) => facts.floor(&(&self.start * &by.pow_formula(&-before))),
        }
    }
}

/// The operator and operand of an update: `i = i + 1` is `i += 1`.
pub(crate) fn update_of<'a>(variable: &str, with: Option<BinaryOp>, value: &'a TypedExpr) -> Option<(BinaryOp, &'a TypedExpr)> {
    if let Some(operation) = with {
        return Some((operation, value));
    }
    let is_it = |expression: &TypedExpr| matches!(&strip_casts(expression).kind, ExprKind::Variable(name) if name == variable);
    match &strip_casts(value).kind {
        ExprKind::Binary(operation, one, two) if is_it(one) => Some((*operation, two)),
        ExprKind::Binary(operation @ (BinaryOp::Add | BinaryOp::Multiply), one, two) if is_it(two) => Some((*operation, one)),
        _ => None,
    }
}

/// The induction step of an update, if there is one.
pub(crate) fn induction_step(operation: BinaryOp, amount: Formula, of: &DataType, facts: &Assumptions) -> Option<InductionStep> {
    let above_one = |formula: &Formula| facts.is_positive(&(formula - &Formula::one()));
    let whole = !matches!(of, DataType::Scalar(ScalarType::Float | ScalarType::Double));
    match operation {
        BinaryOp::Add => Some(InductionStep::Add(amount)),
        BinaryOp::Subtract => Some(InductionStep::Add(-amount)),
        BinaryOp::Multiply if above_one(&amount) => Some(InductionStep::Multiply(amount)),
        BinaryOp::Divide if whole && above_one(&amount) => Some(InductionStep::Divide(amount)),
        BinaryOp::Shift(way) => {
            let places = amount.as_exact()?.to_i64().filter(|places| (1..63).contains(places))?;
            let factor = Formula::integer(1 << places);
            Some(if way == ShiftDirection::Left { InductionStep::Multiply(factor) } else { InductionStep::Divide(factor) })
        }
        _ => None,
    }
}

/// An expression without enclosing casts.
pub(crate) fn strip_casts(expression: &TypedExpr) -> &TypedExpr {
    match &expression.kind {
        ExprKind::Cast(inside) => strip_casts(inside),
        _ => expression,
    }
}
