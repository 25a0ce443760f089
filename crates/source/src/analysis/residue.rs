//! Conditions on remainders: in how many rounds of a loop `i % k == c` or `(i & 3) != 0` holds.
//!
//! Such a condition repeats itself with the remainder of the round. Where `i` in round `r` is `a + s·r`, and `s` and `k` have no common divisor,
//! `i` has a certain remainder where `a/s + r` has another one, which is known; where `a` is a number, the remainders are tried one by one.
//! So what is counted is always how many of the numbers from `b + 1` to `b + n` have a remainder between two, and that is a formula:
//! of those up to `x` there are `w·⌊x/k⌋ + min(x mod k + 1, w)` whose remainder is below `w`.

use sintonia_formula::{Formula, Rational};

use super::condition::is_comparison;
use super::facts::{Facts, Line};
use super::induction::plain;
use super::{Analysis, Scope, Share, Value};
use crate::error::Error;
use crate::routine::{Binary, Bits, Computation, Expression};

/// Remainders are tried one by one up to this divisor.
const MOST_TRIED: i64 = 1 << 12;
/// How many stretches of remainders are counted.
const MOST_STRETCHES: usize = 4;

/// What is asked of a number: how its remainder compares with another.
struct Question {
    over: Formula,
    by: Formula,
    /// The bits that are looked at, where not all of the remainder is.
    mask: Option<i64>,
    operation: Binary,
    rest: Formula,
}

/// Remainders from `first` on, `width` of them.
struct Stretch {
    first: Formula,
    width: Formula,
}

impl<'a> Analysis<'a> {
    /// How often a comparison with a remainder holds in the rounds of a loop; nothing if it is no such comparison, or not one that can be counted.
    pub(super) fn share_of_remainder(
        &mut self,
        operation: Binary,
        one: &'a Expression,
        rest: Formula,
        scope: &Scope,
    ) -> Result<Option<Share>, Error> {
        let Some(question) = self.question(operation, one, rest, scope)? else { return Ok(None) };
        let facts = &self.facts;
        let Some((index, of)) = facts.innermost(&question.over) else { return Ok(None) };
        if question.by.symbols().contains(index) || question.rest.symbols().contains(index) {
            return Ok(None);
        }
        let Some(line) = Line::of(&question.over, index).filter(|line| facts.is_whole(&line.start)) else { return Ok(None) };
        let Some(slope) = line.slope.as_exact().and_then(Rational::to_i64).filter(|slope| *slope != 0) else { return Ok(None) };
        let share = match question.by.as_exact().and_then(Rational::to_i64) {
            Some(by @ 1..=MOST_TRIED) => by_trying(&question, by, &line, slope, of, facts),
            _ => by_formula(&question, &line, slope, of, facts),
        };
        Ok(share)
    }

    /// What is asked, if it is about a remainder that is never negative.
    fn question(&mut self, operation: Binary, one: &'a Expression, rest: Formula, scope: &Scope) -> Result<Option<Question>, Error> {
        let Computation::Binary(with @ (Binary::Remainder | Binary::Bits(Bits::And)), left, right) = &plain(one).what else {
            return Ok(None);
        };
        if !is_comparison(operation) {
            return Ok(None);
        }
        let mut scope = scope.clone();
        let (Value::Known(left), Value::Known(right)) = (self.value(left, &mut scope)?, self.value(right, &mut scope)?) else {
            return Ok(None);
        };
        if *with == Binary::Remainder {
            // The sign of a remainder is that of the number, which makes no difference to whether there is one.
            let asks_for_none = rest.is_zero() && matches!(operation, Binary::Equal | Binary::NotEqual);
            let fits = asks_for_none || self.facts.is_nonnegative(&left);
            return Ok(fits.then_some(Question { over: left, by: right, mask: None, operation, rest }));
        }
        let number = |formula: &Formula| formula.as_exact().and_then(Rational::to_i64);
        let (over, mask) = match (number(&left), number(&right)) {
            (None, Some(mask)) => (left, mask),
            (Some(mask), None) => (right, mask),
            _ => return Ok(None),
        };
        if !(0..MOST_TRIED).contains(&mask) {
            return Ok(None);
        }
        let by = (1..).map(|bits| 1 << bits).find(|power| *power > mask).unwrap_or(MOST_TRIED);
        Ok(Some(Question { over, by: Formula::integer(by), mask: Some(mask), operation, rest }))
    }
}

/// The share where the divisor is a number: of all remainders those for which the condition holds.
fn by_trying(question: &Question, by: i64, line: &Line, slope: i64, of: &Formula, facts: &Facts) -> Option<Share> {
    let rest = question.rest.as_exact()?;
    let holds = |remainder: i64| compares(question.operation, question.mask.map_or(remainder, |mask| remainder & mask), rest);
    let start = line.start.as_exact().and_then(Rational::to_i64);
    let (offset, held): (Formula, Vec<bool>) = match (start, inverse(slope, by)) {
        (Some(start), _) => {
            let at = |round: i64| (i128::from(start) + i128::from(slope) * i128::from(round)).rem_euclid(i128::from(by));
            (Formula::zero(), (0..by).map(|round| holds(i64::try_from(at(round)).unwrap_or(0))).collect())
        }
        (None, Some(inverse)) => (
            &line.start * &Formula::integer(inverse),
            (0..by).map(|remainder| holds((remainder * slope.rem_euclid(by)).rem_euclid(by))).collect(),
        ),
        (None, None) => return None,
    };
    if held.iter().all(|holds| *holds == held[0]) {
        return Some(if held[0] { Share::Always } else { Share::Never });
    }
    let (where_held, where_not) = (stretches(&held, true), stretches(&held, false));
    let (list, opposite) = if where_not.len() < where_held.len() { (where_not, true) } else { (where_held, false) };
    if list.len() > MOST_STRETCHES {
        return None;
    }
    let share = counted(&list, &Formula::integer(by), &offset, of, facts);
    Some(if opposite { share.opposite(facts) } else { share })
}

/// The share where the divisor is no number and the value goes up or down by one.
fn by_formula(question: &Question, line: &Line, slope: i64, of: &Formula, facts: &Facts) -> Option<Share> {
    let (one, rest) = (Formula::one(), &question.rest);
    if slope.abs() != 1 || question.mask.is_some() || !facts.is_nonnegative(rest) || !facts.is_positive(&(&question.by - rest)) {
        return None;
    }
    let (first, width, opposite) = match question.operation {
        Binary::Equal => (rest.clone(), one.clone(), false),
        Binary::NotEqual => (rest.clone(), one.clone(), true),
        Binary::Less => (Formula::zero(), rest.clone(), false),
        Binary::LessOrEqual => (Formula::zero(), rest + &one, false),
        Binary::GreaterOrEqual => (Formula::zero(), rest.clone(), true),
        _ => (Formula::zero(), rest + &one, true),
    };
    let offset = &line.start * &Formula::integer(slope);
    // Downwards, the remainders come in the other order.
    let first = if slope > 0 { first } else { one - first - width.clone() };
    let share = counted(&[Stretch { first, width }], &question.by, &offset, of, facts);
    Some(if opposite { share.opposite(facts) } else { share })
}

/// The share of the numbers from `offset + 1` to `offset + of` whose remainder lies in one of these stretches.
fn counted(stretches: &[Stretch], by: &Formula, offset: &Formula, of: &Formula, facts: &Facts) -> Share {
    let up_to = |end: &Formula| {
        let parts = stretches.iter().map(|Stretch { first, width }| {
            let whole = facts.floor(&((end - first) * by.power(-1)));
            let left = end - first - by * &whole + Formula::one();
            if width.is_one() { whole } else { width * &whole + Formula::min_of([left, width.clone()]) }
        });
        parts.fold(Formula::zero(), |sum, part| sum + part)
    };
    let rounds = up_to(&(offset + of)) - up_to(offset);
    Share::Part(rounds * facts.at_least_one(of).power(-1))
}

/// The stretches of remainders for which something is so.
fn stretches(held: &[bool], wanted: bool) -> Vec<Stretch> {
    let mut list = Vec::new();
    let mut begin = None;
    for (position, holds) in held.iter().map(|holds| *holds == wanted).chain([false]).enumerate() {
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        match (begin, holds) {
            (None, true) => begin = Some(position),
            (Some(first), false) => {
                list.push(Stretch { first: Formula::integer(first), width: Formula::integer(position - first) });
                begin = None;
            }
            _ => {}
        }
    }
    list
}

fn compares(operation: Binary, number: i64, with: &Rational) -> bool {
    let order = Rational::from(number).cmp(with);
    match operation {
        Binary::Less => order.is_lt(),
        Binary::LessOrEqual => order.is_le(),
        Binary::Greater => order.is_gt(),
        Binary::GreaterOrEqual => order.is_ge(),
        Binary::Equal => order.is_eq(),
        _ => order.is_ne(),
    }
}

/// What a number is multiplied by to leave the remainder 1, if there is such a number: one near zero, so that formulas stay short.
fn inverse(of: i64, by: i64) -> Option<i64> {
    let of = of.rem_euclid(by);
    let found = (0..by).find(|number| (number * of).rem_euclid(by) == 1 % by)?;
    Some(if found > by / 2 { found - by } else { found })
}
