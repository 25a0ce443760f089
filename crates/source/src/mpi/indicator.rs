//! Indicator functions of conditions: one where they hold, zero where they do not; exact for integers.

use sintonia_formula::Formula;

/// `a < b`
pub(super) fn less(a: &Formula, b: &Formula) -> Formula {
    Formula::min_of([Formula::one(), Formula::max_of([Formula::zero(), b - a])])
}

/// `a == b`
pub(super) fn equal(a: &Formula, b: &Formula) -> Formula {
    let apart = Formula::max_of([a - b, b - a]);
    Formula::max_of([Formula::zero(), Formula::one() - apart])
}

/// `a % by == rest`, for a nonnegative `a`.
pub(super) fn remainder_is(a: &Formula, by: &Formula, rest: &Formula) -> Formula {
    let rounds = |over: Formula| (over / by.clone()).floor();
    rounds(a - rest) - rounds(a - rest - Formula::one())
}

/// Negation.
pub(super) fn not(a: &Formula) -> Formula {
    Formula::one() - a.clone()
}

/// Conjunction.
pub(super) fn and(a: &Formula, b: &Formula) -> Formula {
    a * b
}

/// Disjunction.
pub(super) fn or(a: &Formula, b: &Formula) -> Formula {
    a + b - a * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_one_or_zero_for_whole_numbers() {
        let (a, b) = (Formula::symbol("a"), Formula::symbol("b"));
        let at = |formula: &Formula, x: i64, y: i64| formula.substitute("a", &Formula::integer(x)).substitute("b", &Formula::integer(y));
        let number = |holds: bool| Formula::integer(i64::from(holds));
        for (x, y) in (0..6).flat_map(|x| (0..6).map(move |y| (x, y))) {
            assert_eq!(at(&less(&a, &b), x, y), number(x < y));
            assert_eq!(at(&equal(&a, &b), x, y), number(x == y));
            assert_eq!(at(&not(&or(&less(&a, &b), &equal(&a, &b))), x, y), number(x > y));
            assert_eq!(at(&remainder_is(&a, &Formula::integer(3), &b), x, y % 3), number(x % 3 == y % 3));
        }
    }
}
