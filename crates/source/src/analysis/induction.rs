//! Variables that change in each round of a loop in a way that can be followed.

use sintonia_formula::Formula;

use super::facts::Facts;
use crate::routine::{Binary, Computation, Expression, Scalar, Shift, Type};

/// What happens to a variable once in each round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Something is added.
    Add(Formula),
    /// It is multiplied by something above one.
    Multiply(Formula),
    /// It is divided by something above one, without fraction.
    Divide(Formula),
}

/// How a variable changes from round to round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    /// What it is before the first round.
    pub(crate) start: Formula,
    /// What happens in each.
    pub(crate) step: Step,
}

impl Course {
    /// What it is at the beginning of a round.
    pub(crate) fn at(&self, round: &Formula, facts: &Facts) -> Formula {
        let before = round - &Formula::one();
        match &self.step {
            Step::Add(by) => &self.start + &(by * &before),
            Step::Multiply(by) => &self.start * &by.to_the(&before),
            Step::Divide(by) => facts.floor(&(&self.start * &by.to_the(&-before))),
        }
    }
}

/// The operation and the amount by which an assignment changes its variable: `i = i + 1` is `i += 1`.
pub(crate) fn by_what<'a>(variable: &str, with: Option<Binary>, value: &'a Expression) -> Option<(Binary, &'a Expression)> {
    if let Some(operation) = with {
        return Some((operation, value));
    }
    let is_it = |expression: &Expression| matches!(&plain(expression).what, Computation::Variable(name) if name == variable);
    match &plain(value).what {
        Computation::Binary(operation, one, two) if is_it(one) => Some((*operation, two)),
        Computation::Binary(operation @ (Binary::Add | Binary::Multiply), one, two) if is_it(two) => Some((*operation, one)),
        _ => None,
    }
}

/// What an operation with a known amount does to a variable of a type, if that can be followed.
pub(crate) fn step(operation: Binary, amount: Formula, of: &Type, facts: &Facts) -> Option<Step> {
    let above_one = |formula: &Formula| facts.is_positive(&(formula - &Formula::one()));
    let whole = !matches!(of, Type::Scalar(Scalar::Float | Scalar::Double));
    match operation {
        Binary::Add => Some(Step::Add(amount)),
        Binary::Subtract => Some(Step::Add(-amount)),
        Binary::Multiply if above_one(&amount) => Some(Step::Multiply(amount)),
        Binary::Divide if whole && above_one(&amount) => Some(Step::Divide(amount)),
        Binary::Shift(way) => {
            let places = amount.as_exact()?.to_i64().filter(|places| (1..63).contains(places))?;
            let factor = Formula::integer(1 << places);
            Some(if way == Shift::Left { Step::Multiply(factor) } else { Step::Divide(factor) })
        }
        _ => None,
    }
}

/// An expression without the conversions around it.
pub(crate) fn plain(expression: &Expression) -> &Expression {
    match &expression.what {
        Computation::Convert(inside) => plain(inside),
        _ => expression,
    }
}
