//! What the condition of a loop says of the number of its rounds.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::condition::{is_comparison, mirrored};
use super::counting::{self, While};
use super::induction::{Course, Step, plain};
use super::{Analysis, Scope, Share, Value};
use crate::error::Error;
use crate::routine::{Binary, Computation, Expression, Unary};

/// What a condition says of the number of rounds.
pub(super) enum Count {
    Exactly(Formula),
    /// At most so many, and possibly fewer for reasons that cannot be followed.
    AtMost(Formula),
    /// Why nothing can be said.
    Unknown(String),
}

impl Count {
    /// The same with another number.
    pub(super) fn map(self, change: impl FnOnce(Formula) -> Formula) -> Count {
        match self {
            Count::Exactly(count) => Count::Exactly(change(count)),
            Count::AtMost(count) => Count::AtMost(change(count)),
            unknown => unknown,
        }
    }
}

impl<'a> Analysis<'a> {
    /// How many rounds a condition allows.
    pub(super) fn count(
        &mut self,
        condition: &'a Expression,
        head: &Scope,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Result<Count, Error> {
        match &condition.what {
            Computation::Binary(Binary::And, one, two) => {
                let (one, two) = (self.count(one, head, index, courses)?, self.count(two, head, index, courses)?);
                Ok(match (one, two) {
                    (Count::Exactly(one), Count::Exactly(two)) => Count::Exactly(Formula::min_of([one, two])),
                    (Count::Exactly(one) | Count::AtMost(one), Count::AtMost(two)) | (Count::AtMost(one), Count::Exactly(two)) => {
                        Count::AtMost(Formula::min_of([one, two]))
                    }
                    (Count::Exactly(most) | Count::AtMost(most), Count::Unknown(_))
                    | (Count::Unknown(_), Count::Exactly(most) | Count::AtMost(most)) => Count::AtMost(most),
                    (Count::Unknown(why), Count::Unknown(_)) => Count::Unknown(why),
                })
            }
            Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                self.count_comparison(*operation, [one, two], head, index, courses)
            }
            Computation::Unary(Unary::Not, of) => match &of.what {
                Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                    self.count_comparison(negated(*operation), [one, two], head, index, courses)
                }
                _ => Ok(Count::Unknown("its condition is no comparison of numbers".to_owned())),
            },
            _ if self.share(condition, head)? == Share::Never => Ok(Count::Exactly(Formula::zero())),
            Computation::Number(_) => Ok(Count::Unknown("it goes on until something inside leaves it".to_owned())),
            _ => Ok(Count::Unknown("its condition is no comparison of numbers".to_owned())),
        }
    }

    fn count_comparison(
        &mut self,
        operation: Binary,
        [one, two]: [&'a Expression; 2],
        head: &Scope,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Result<Count, Error> {
        let mut scope = head.clone();
        let (left, right) = (self.value(one, &mut scope)?, self.value(two, &mut scope)?);
        if let Some(count) = self.count_powers(operation, one, &right, index, courses) {
            return Ok(Count::Exactly(count));
        }
        if let Some(count) = self.count_powers(mirrored(operation), two, &left, index, courses) {
            return Ok(Count::Exactly(count));
        }
        let (difference, goes_on) = match operation {
            Binary::Less => (left.add(&right.negative()), While::Below),
            Binary::LessOrEqual => (left.add(&right.negative()), While::NotAbove),
            Binary::Greater => (right.add(&left.negative()), While::Below),
            Binary::GreaterOrEqual => (right.add(&left.negative()), While::NotAbove),
            Binary::NotEqual => (left.add(&right.negative()), While::NotZero),
            _ => return Ok(Count::Unknown("it goes on while two numbers are equal".to_owned())),
        };
        let facts = &self.facts;
        let rounds = |of: &Formula| counting::rounds(of, index, goes_on, facts).map(|count| facts.at_least_zero(count));
        let count = match difference.bounds() {
            _ if matches!(difference, Value::Drawn { .. }) => None,
            (Some(low), Some(high)) if low == high => rounds(&low),
            // The larger the difference, the sooner the loop ends.
            (Some(low), Some(high)) => {
                rounds(&high).zip(rounds(&low)).map(|(least, most)| &least + &(Formula::between(0.0, 1.0) * (most - least.clone())))
            }
            (Some(low), None) => return Ok(rounds(&low).map_or_else(|| self.why_unknown(one, two, head), Count::AtMost)),
            _ => None,
        };
        Ok(count.map_or_else(|| self.why_unknown(one, two, head), Count::Exactly))
    }

    /// The first variable of a comparison that is not known, for the note.
    fn why_unknown(&self, one: &Expression, two: &Expression, head: &Scope) -> Count {
        let unknown = [one, two].into_iter().find_map(|side| unknown_part(side, head));
        Count::Unknown(match unknown {
            Some(what) => format!("the value of {what} cannot be followed"),
            None => "the two sides of its condition do not come together in a way that can be followed".to_owned(),
        })
    }

    /// The rounds of a variable that is multiplied or divided in each, up to a bound that does not change.
    fn count_powers(
        &self,
        operation: Binary,
        side: &Expression,
        bound: &Value,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Option<Formula> {
        let Computation::Variable(name) = &plain(side).what else { return None };
        let course = courses.get(name.as_str())?;
        let bound = bound.formula().filter(|bound| !bound.symbols().contains(index))?;
        let facts = &self.facts;
        let one = Formula::one();
        match (&course.step, operation) {
            (Step::Multiply(by), Binary::Less) if facts.is_positive(&course.start) => {
                Some(counting::rounds_growing(&course.start, by, bound, While::Below))
            }
            (Step::Multiply(by), Binary::LessOrEqual) if facts.is_positive(&course.start) => {
                Some(counting::rounds_growing(&course.start, by, bound, While::NotAbove))
            }
            (Step::Divide(by), Binary::Greater) if facts.is_nonnegative(bound) && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, &(bound + &one)))
            }
            (Step::Divide(by), Binary::GreaterOrEqual) if facts.is_positive(bound) && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, bound))
            }
            (Step::Divide(by), Binary::NotEqual) if bound.is_zero() && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, &one))
            }
            _ => None,
        }
    }
}

fn negated(operation: Binary) -> Binary {
    match operation {
        Binary::Less => Binary::GreaterOrEqual,
        Binary::LessOrEqual => Binary::Greater,
        Binary::Greater => Binary::LessOrEqual,
        Binary::GreaterOrEqual => Binary::Less,
        Binary::Equal => Binary::NotEqual,
        Binary::NotEqual => Binary::Equal,
        other => other,
    }
}

/// A variable or a call in an expression of which nothing is known.
fn unknown_part(expression: &Expression, scope: &Scope) -> Option<String> {
    match &expression.what {
        Computation::Variable(name) => (scope.get(name).and_then(Value::formula).is_none()).then(|| format!("`{name}`")),
        Computation::Call(name, _) => Some(format!("`{name}(…)`")),
        Computation::Element(..) => Some("an element of an array".to_owned()),
        Computation::Field(_, name) => Some(format!("`.{name}`")),
        Computation::Binary(_, one, two) => unknown_part(one, scope).or_else(|| unknown_part(two, scope)),
        Computation::Unary(_, of) | Computation::Convert(of) => unknown_part(of, scope),
        _ => None,
    }
}
