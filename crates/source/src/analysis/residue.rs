//! Conditions on remainders: in how many iterations of a loop `i % k == c` or `(i & 3) != 0` holds.
//!
//! Such a condition is periodic. If `i` in iteration `r` is `a + s·r`, and `s` and `k` are coprime, a residue of `i` corresponds to a
//! residue of `a/s + r`; if `a` is a number, the residues are enumerated. So it remains to count the numbers from `b + 1` to `b + n` whose
//! residue is in a range, which has a closed form: of those up to `x`, `w·⌊x/k⌋ + min(x mod k + 1, w)` have a residue below `w`.

use sintonia_formula::{Formula, Rational};

use super::assumptions::{AffineForm, Assumptions};
use super::condition::is_comparison;
use super::induction::strip_casts;
use super::{AbstractValue, BranchProbability, StaticAnalyzer, VariableScope};
use crate::error::Error;
use crate::ir::{BinaryOp, BitwiseOp, ExprKind, TypedExpr};

/// Residues are enumerated up to this divisor.
const MAX_ENUMERATED: i64 = 1 << 12;
/// The maximum number of residue ranges.
const MAX_RANGES: usize = 4;

/// A comparison of a remainder.
struct ResidueCondition {
    dividend: Formula,
    divisor: Formula,
    /// The bits that are compared, if not the whole remainder.
    mask: Option<i64>,
    operation: BinaryOp,
    residue: Formula,
}

/// The residues from `first` on, `width` of them.
struct ResidueRange {
    first: Formula,
    width: Formula,
}

impl<'a> StaticAnalyzer<'a> {
    /// The probability of a comparison with a remainder over the iterations of a loop; `None` if it is no such comparison or cannot be
    /// counted.
    pub(super) fn remainder_probability(
        &mut self,
        operation: BinaryOp,
        one: &'a TypedExpr,
        rest: Formula,
        scope: &VariableScope,
    ) -> Result<Option<BranchProbability>, Error> {
        let Some(question) = self.residue_condition(operation, one, rest, scope)? else { return Ok(None) };
        let facts = &self.assumptions;
        let Some((index, of)) = facts.innermost_loop(&question.dividend) else { return Ok(None) };
        if question.divisor.symbols().contains(index) || question.residue.symbols().contains(index) {
            return Ok(None);
        }
        let Some(line) = AffineForm::from_formula(&question.dividend, index).filter(|line| facts.is_integer(&line.intercept)) else {
            return Ok(None);
        };
        let Some(slope) = line.slope.as_exact().and_then(Rational::to_i64).filter(|slope| *slope != 0) else { return Ok(None) };
        let share = match question.divisor.as_exact().and_then(Rational::to_i64) {
            Some(by @ 1..=MAX_ENUMERATED) => by_enumeration(&question, by, &line, slope, of, facts),
            _ => by_formula(&question, &line, slope, of, facts),
        };
        Ok(share)
    }

    /// The comparison, if it concerns a remainder that is never negative.
    fn residue_condition(
        &mut self,
        operation: BinaryOp,
        one: &'a TypedExpr,
        rest: Formula,
        scope: &VariableScope,
    ) -> Result<Option<ResidueCondition>, Error> {
        let ExprKind::Binary(with @ (BinaryOp::Remainder | BinaryOp::Bitwise(BitwiseOp::And)), left, right) = &strip_casts(one).kind else {
            return Ok(None);
        };
        if !is_comparison(operation) {
            return Ok(None);
        }
        let mut scope = scope.clone();
        let (AbstractValue::Exact(left), AbstractValue::Exact(right)) = (self.value(left, &mut scope)?, self.value(right, &mut scope)?)
        else {
            return Ok(None);
        };
        if *with == BinaryOp::Remainder {
            // The sign of a remainder is that of the dividend, which does not matter for whether it is zero.
            let asks_for_none = rest.is_zero() && matches!(operation, BinaryOp::Equal | BinaryOp::NotEqual);
            let fits = asks_for_none || self.assumptions.is_nonnegative(&left);
            return Ok(fits.then_some(ResidueCondition { dividend: left, divisor: right, mask: None, operation, residue: rest }));
        }
        let number = |formula: &Formula| formula.as_exact().and_then(Rational::to_i64);
        let (over, mask) = match (number(&left), number(&right)) {
            (None, Some(mask)) => (left, mask),
            (Some(mask), None) => (right, mask),
            _ => return Ok(None),
        };
        if !(0..MAX_ENUMERATED).contains(&mask) {
            return Ok(None);
        }
        let by = (1..).map(|bits| 1 << bits).find(|power| *power > mask).unwrap_or(MAX_ENUMERATED);
        Ok(Some(ResidueCondition { dividend: over, divisor: Formula::integer(by), mask: Some(mask), operation, residue: rest }))
    }
}

/// The probability for a constant divisor: enumerates the residues for which the condition holds.
fn by_enumeration(
    question: &ResidueCondition,
    by: i64,
    line: &AffineForm,
    slope: i64,
    of: &Formula,
    facts: &Assumptions,
) -> Option<BranchProbability> {
    let rest = question.residue.as_exact()?;
    let holds = |remainder: i64| compares(question.operation, question.mask.map_or(remainder, |mask| remainder & mask), rest);
    let start = line.intercept.as_exact().and_then(Rational::to_i64);
    let (offset, held): (Formula, Vec<bool>) = match (start, modular_inverse(slope, by)) {
        (Some(start), _) => {
            let at = |round: i64| (i128::from(start) + i128::from(slope) * i128::from(round)).rem_euclid(i128::from(by));
            (Formula::zero(), (0..by).map(|round| holds(i64::try_from(at(round)).unwrap_or(0))).collect())
        }
        (None, Some(inverse)) => (
            &line.intercept * &Formula::integer(inverse),
            (0..by).map(|remainder| holds((remainder * slope.rem_euclid(by)).rem_euclid(by))).collect(),
        ),
        (None, None) => return None,
    };
    if held.iter().all(|holds| *holds == held[0]) {
        return Some(if held[0] { BranchProbability::Always } else { BranchProbability::Never });
    }
    let (where_held, where_not) = (residue_ranges(&held, true), residue_ranges(&held, false));
    let (list, opposite) = if where_not.len() < where_held.len() { (where_not, true) } else { (where_held, false) };
    if list.len() > MAX_RANGES {
        return None;
    }
    let share = count_residues(&list, &Formula::integer(by), &offset, of, facts);
    Some(if opposite { share.complement(facts) } else { share })
}

/// The probability for a symbolic divisor and a step of one.
fn by_formula(question: &ResidueCondition, line: &AffineForm, slope: i64, of: &Formula, facts: &Assumptions) -> Option<BranchProbability> {
    let (one, rest) = (Formula::one(), &question.residue);
    if slope.abs() != 1 || question.mask.is_some() || !facts.is_nonnegative(rest) || !facts.is_positive(&(&question.divisor - rest)) {
        return None;
    }
    let (first, width, opposite) = match question.operation {
        BinaryOp::Equal => (rest.clone(), one.clone(), false),
        BinaryOp::NotEqual => (rest.clone(), one.clone(), true),
        BinaryOp::Less => (Formula::zero(), rest.clone(), false),
        BinaryOp::LessOrEqual => (Formula::zero(), rest + &one, false),
        BinaryOp::GreaterOrEqual => (Formula::zero(), rest.clone(), true),
        _ => (Formula::zero(), rest + &one, true),
    };
    let offset = &line.intercept * &Formula::integer(slope);
    // For a decreasing value the residues are reversed.
    let first = if slope > 0 { first } else { one - first - width.clone() };
    let share = count_residues(&[ResidueRange { first, width }], &question.divisor, &offset, of, facts);
    Some(if opposite { share.complement(facts) } else { share })
}

/// The fraction of the numbers from `offset + 1` to `offset + of` whose residue is in one of these ranges.
fn count_residues(stretches: &[ResidueRange], by: &Formula, offset: &Formula, of: &Formula, facts: &Assumptions) -> BranchProbability {
    let up_to = |end: &Formula| {
        let parts = stretches.iter().map(|ResidueRange { first, width }| {
            let whole = facts.floor(&((end - first) * by.power(-1)));
            let left = end - first - by * &whole + Formula::one();
            if width.is_one() { whole } else { width * &whole + Formula::min_of([left, width.clone()]) }
        });
        parts.fold(Formula::zero(), |sum, part| sum + part)
    };
    let rounds = up_to(&(offset + of)) - up_to(offset);
    BranchProbability::Fraction(rounds * facts.max_with_one(of).power(-1))
}

/// The ranges of residues for which the condition has the wanted outcome.
fn residue_ranges(held: &[bool], wanted: bool) -> Vec<ResidueRange> {
    let mut list = Vec::new();
    let mut begin = None;
    for (position, holds) in held.iter().map(|holds| *holds == wanted).chain([false]).enumerate() {
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        match (begin, holds) {
            (None, true) => begin = Some(position),
            (Some(first), false) => {
                list.push(ResidueRange { first: Formula::integer(first), width: Formula::integer(position - first) });
                begin = None;
            }
            _ => {}
        }
    }
    list
}

fn compares(operation: BinaryOp, number: i64, with: &Rational) -> bool {
    let order = Rational::from(number).cmp(with);
    match operation {
        BinaryOp::Less => order.is_lt(),
        BinaryOp::LessOrEqual => order.is_le(),
        BinaryOp::Greater => order.is_gt(),
        BinaryOp::GreaterOrEqual => order.is_ge(),
        BinaryOp::Equal => order.is_eq(),
        _ => order.is_ne(),
    }
}

/// The modular inverse with the smallest absolute value, so that formulas stay short.
fn modular_inverse(of: i64, by: i64) -> Option<i64> {
    let of = of.rem_euclid(by);
    let found = (0..by).find(|number| (number * of).rem_euclid(by) == 1 % by)?;
    Some(if found > by / 2 { found - by } else { found })
}
