//! Conditions as formulas: where they hold, at which ranks they part processes, and how many rounds they give a loop.

use sintonia_formula::Formula;

use super::truth;
use super::value::Value;
use super::walk::{Walk, Walked};
use crate::analysis::Line;
use crate::routine::{Binary, Computation, Expression, Unary};

/// Conditions that take more operations to write down are no longer followed.
const MOST_SIZE: u64 = 400;

impl<'p> Walk<'_, 'p> {
    /// Where a condition holds: one, zero, or a formula that is one of them.
    pub(super) fn truth(&mut self, expression: &'p Expression) -> Walked<Option<Formula>> {
        let holds = self.deeper(&expression.place, |walk| walk.holds(expression))?;
        Ok(holds.filter(|holds| holds.size() <= MOST_SIZE))
    }

    fn holds(&mut self, expression: &'p Expression) -> Walked<Option<Formula>> {
        match &expression.what {
            Computation::Unary(Unary::Not, of) => Ok(self.truth(of)?.map(|holds| truth::not(&holds))),
            Computation::Binary(Binary::And, a, b) => {
                let first = self.truth(a)?;
                if first.as_ref().is_some_and(Formula::is_zero) {
                    return Ok(first);
                }
                let second = self.truth(b)?;
                if second.as_ref().is_some_and(Formula::is_zero) {
                    return Ok(second);
                }
                Ok(first.zip(second).map(|(a, b)| truth::both(&a, &b)))
            }
            Computation::Binary(Binary::Or, a, b) => {
                let first = self.truth(a)?;
                if first.as_ref().is_some_and(Formula::is_one) {
                    return Ok(first);
                }
                let second = self.truth(b)?;
                if second.as_ref().is_some_and(Formula::is_one) {
                    return Ok(second);
                }
                Ok(first.zip(second).map(|(a, b)| truth::any(&a, &b)))
            }
            Computation::Binary(Binary::Equal, a, b) => self.equal(a, b),
            Computation::Binary(Binary::NotEqual, a, b) => Ok(self.equal(a, b)?.map(|holds| truth::not(&holds))),
            Computation::Binary(Binary::Less, a, b) => self.less(a, b),
            Computation::Binary(Binary::Greater, a, b) => self.less(b, a),
            Computation::Binary(Binary::LessOrEqual, a, b) => Ok(self.less(b, a)?.map(|holds| truth::not(&holds))),
            Computation::Binary(Binary::GreaterOrEqual, a, b) => Ok(self.less(a, b)?.map(|holds| truth::not(&holds))),
            _ => Ok(match self.evaluate(expression)? {
                Value::Number(number) => Some(truth::not(&self.are_equal(&number, &Formula::zero()))),
                Value::Address(_) => Some(Formula::one()),
                _ => None,
            }),
        }
    }

    fn less(&mut self, a: &'p Expression, b: &'p Expression) -> Walked<Option<Formula>> {
        let (Value::Number(a), Value::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
        Ok(Some(match () {
            () if self.role.is_nonnegative(&(&a - &b), &self.facts) => Formula::zero(),
            () if self.role.is_nonnegative(&(&b - &a - Formula::one()), &self.facts) => Formula::one(),
            () => truth::less(&a, &b),
        }))
    }

    fn equal(&mut self, a: &'p Expression, b: &'p Expression) -> Walked<Option<Formula>> {
        if let Computation::Binary(Binary::Remainder, over, by) = &plain(a).what
            && let (Value::Number(over), Value::Number(by), Value::Number(rest)) =
                (self.evaluate(over)?, self.evaluate(by)?, self.evaluate(b)?)
            && rest.as_exact().is_some_and(|rest| !rest.is_negative())
            && self.role.is_nonnegative(&over, &self.facts)
            && over.as_exact().is_none()
        {
            return Ok(Some(truth::remainder_is(&over, &by, &rest)));
        }
        let (x, y) = (self.evaluate(a)?, self.evaluate(b)?);
        match (&x, &y) {
            (Value::Number(x), Value::Number(y)) => Ok(Some(self.are_equal(x, y))),
            (Value::Neighbour { .. } | Value::Number(_), Value::Neighbour { .. } | Value::Number(_)) => {
                let nobody = Value::nobody();
                let exists = x.as_neighbour().zip(y.as_neighbour()).map(|((_, a), (_, b))| if y == nobody { a } else { b });
                Ok(exists.filter(|_| x == nobody || y == nobody).map(|exists| truth::not(&exists)))
            }
            _ => Ok(None),
        }
    }

    fn are_equal(&self, a: &Formula, b: &Formula) -> Formula {
        let above = |a: &Formula, b: &Formula| self.role.is_nonnegative(&(a - b - Formula::one()), &self.facts);
        match () {
            () if a == b => Formula::one(),
            () if above(a, b) || above(b, a) => Formula::zero(),
            () => truth::equal(a, b),
        }
    }

    /// The ranks at which a condition changes, if it compares the rank with a number that all processes know.
    pub(super) fn division(&mut self, expression: &'p Expression) -> Walked<Option<Vec<Formula>>> {
        match &expression.what {
            Computation::Unary(Unary::Not, of) | Computation::Convert(of) => self.division(of),
            Computation::Binary(Binary::And | Binary::Or, a, b) => match self.division(a)? {
                None => self.division(b),
                found => Ok(found),
            },
            Computation::Binary(operation, a, b) if is_condition(*operation) => {
                let (Value::Number(a), Value::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
                Ok(self.division_at(&a, &b, *operation))
            }
            _ => {
                let Value::Number(number) = self.evaluate(expression)? else { return Ok(None) };
                Ok(self.division_at(&number, &Formula::zero(), Binary::NotEqual))
            }
        }
    }

    fn division_at(&self, a: &Formula, b: &Formula, operation: Binary) -> Option<Vec<Formula>> {
        let line = Line::of(&(a - b), &self.role.index)?;
        let (rises, at) = match line.slope.as_exact()?.to_i64()? {
            1 => (true, -&line.start),
            -1 => (false, line.start),
            _ => return None,
        };
        if at.symbols().iter().any(|symbol| symbol != "p") {
            return None;
        }
        let next = &at + &Formula::one();
        let bounds = match (operation, rises) {
            (Binary::Less | Binary::GreaterOrEqual, true) | (Binary::Greater | Binary::LessOrEqual, false) => vec![at],
            (Binary::Less | Binary::GreaterOrEqual, false) | (Binary::Greater | Binary::LessOrEqual, true) => vec![next],
            _ => vec![at, next],
        };
        self.role.divided(&bounds, &self.facts).is_some().then_some(bounds)
    }

    /// The rounds of a loop, from its condition in round `index`.
    pub(super) fn rounds_of(&mut self, condition: &'p Expression, index: &str) -> Walked<Option<Formula>> {
        let Computation::Binary(operation, a, b) = &condition.what else { return Ok(None) };
        if *operation == Binary::And {
            let (first, second) = (self.rounds_of(a, index)?, self.rounds_of(b, index)?);
            return Ok(match (first, second) {
                (Some(first), Some(second)) => Some(Formula::min_of([first, second])),
                (first, second) => first.or(second),
            });
        }
        let (Value::Number(a), Value::Number(b)) = (self.evaluate(a)?, self.evaluate(b)?) else { return Ok(None) };
        let (left, goes_on_at_zero) = match operation {
            Binary::Less => (b - a, false),
            Binary::LessOrEqual => (b - a, true),
            Binary::Greater => (a - b, false),
            Binary::GreaterOrEqual => (a - b, true),
            Binary::NotEqual => (b - a, false),
            _ => return Ok(None),
        };
        let Some(line) = Line::of(&left, index) else { return Ok(None) };
        let falls = match operation {
            Binary::NotEqual => line.slope.as_exact().is_some_and(|slope| !slope.is_zero()),
            _ => line.slope.as_exact().is_some_and(|slope| slope.is_negative()),
        };
        if !falls {
            return Ok(None);
        }
        // Round i goes on while start + slope*i is above zero, or not below it.
        let crossing = -(&line.start * &line.slope.power(-1));
        let last = if goes_on_at_zero { self.facts.floor(&crossing) } else { self.facts.ceil(&crossing) - Formula::one() };
        Ok(Some(last))
    }
}

/// Whether an operation gives true or false.
pub(super) fn is_condition(operation: Binary) -> bool {
    matches!(
        operation,
        Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::Equal
            | Binary::NotEqual
            | Binary::And
            | Binary::Or
    )
}

/// An expression without the conversions around it.
pub(super) fn plain(expression: &Expression) -> &Expression {
    match &expression.what {
        Computation::Convert(of) => plain(of),
        _ => expression,
    }
}
