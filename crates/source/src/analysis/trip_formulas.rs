//! Closed forms of trip counts, from the loop condition as a function of the iteration.
//!
//! All of them count the iterations before the first one in which the condition fails. They are exact in exact arithmetic, with the
//! rounding that the comparison requires; the tests compare them with actual loops.

use std::cmp::Ordering;

use sintonia_formula::{Formula, Rational};

use super::assumptions::{AffineForm, Assumptions};

/// The comparison with zero under which a loop continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopPredicate {
    /// While it is negative.
    Below,
    /// While it is not positive.
    NotAbove,
    /// While it is nonzero; it is assumed to reach zero exactly.
    NotZero,
}

/// The number of iterations for which a formula of the index satisfies the predicate. May be negative if already the first one fails.
pub(super) fn trip_count(of: &Formula, index: &str, goes_on: LoopPredicate, facts: &Assumptions) -> Option<Formula> {
    match AffineForm::from_formula(of, index) {
        Some(line) => linear_trip_count(&line, goes_on, facts),
        None => quadratic_trip_count(of, index, goes_on, facts),
    }
}

fn linear_trip_count(line: &AffineForm, goes_on: LoopPredicate, facts: &Assumptions) -> Option<Formula> {
    let slope = line.slope.as_exact().map(Rational::sign);
    // Relative to the first iteration, so that the rounded expression stays short.
    let first = line.at(&Formula::one());
    let steps = || -(&first * &line.slope.power(-1));
    match (goes_on, slope) {
        (_, Some(Ordering::Equal)) => zero_trip_count(&line.intercept, goes_on, facts),
        (LoopPredicate::NotZero, _) => Some(steps()),
        (_, Some(Ordering::Less)) => zero_trip_count(&first, goes_on, facts),
        (_, None) if !facts.is_nonnegative(&line.slope) => None,
        (LoopPredicate::Below, _) => Some(facts.ceil(&steps())),
        (LoopPredicate::NotAbove, _) => Some(facts.floor(&steps()) + Formula::one()),
    }
}

/// Zero iterations if the first one certainly fails; otherwise the loop would not terminate by this condition.
fn zero_trip_count(first: &Formula, goes_on: LoopPredicate, facts: &Assumptions) -> Option<Formula> {
    let fails = match goes_on {
        LoopPredicate::Below => facts.is_nonnegative(first),
        LoopPredicate::NotAbove => facts.is_positive(first),
        LoopPredicate::NotZero => first.is_zero(),
    };
    fails.then(Formula::zero)
}

/// A quadratic that increases from the first iteration on crosses zero once, at its larger root.
fn quadratic_trip_count(of: &Formula, index: &str, goes_on: LoopPredicate, facts: &Assumptions) -> Option<Formula> {
    if goes_on == LoopPredicate::NotZero {
        return None;
    }
    let at = |round: i64| of.substitute(index, &Formula::integer(round));
    let (zero, one, two) = (at(0), at(1), at(2));
    let square = (&two - &(&one + &one) + zero.clone()) * Formula::ratio(1, 2);
    let linear = &one - &zero - square.clone();
    let symbol = Formula::symbol(index);
    let rebuilt = &square * &symbol.power(2) + &linear * &symbol + zero.clone();
    let rises = facts.is_positive(&square) && facts.is_positive(&(&linear + &(&square + &square)));
    if !(of - &rebuilt).is_zero() || !rises {
        return None;
    }
    let inside = facts.max_with_zero(linear.power(2) - Formula::integer(4) * &square * zero);
    let root = (inside.sqrt() - linear) * (&square + &square).power(-1);
    Some(if goes_on == LoopPredicate::Below { facts.ceil(&root) - Formula::one() } else { facts.floor(&root) })
}

/// The number of iterations in which a positive value that is multiplied by `factor` stays below a bound, or not above it.
pub(super) fn geometric_trip_count(start: &Formula, factor: &Formula, bound: &Formula, goes_on: LoopPredicate) -> Formula {
    let ratio = bound * &start.power(-1);
    match goes_on {
        LoopPredicate::Below | LoopPredicate::NotZero => clamped_log(&ratio, factor).ceil(),
        LoopPredicate::NotAbove => clamped_log(&(&ratio * factor), factor).floor(),
    }
}

/// The number of iterations in which an integer that is divided by `factor`, rounding down, is not below a positive bound.
pub(super) fn division_trip_count(start: &Formula, factor: &Formula, bound: &Formula) -> Formula {
    clamped_log(&(start * factor * bound.power(-1)), factor).floor()
}

/// The logarithm of the maximum of a formula and one.
fn clamped_log(of: &Formula, base: &Formula) -> Formula {
    Formula::max_of([of.clone(), Formula::one()]).log2() * base.log2().power(-1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::SymbolValues;

    fn counted(mut goes_on: impl FnMut(i64) -> bool) -> f64 {
        (1..).take_while(|round| goes_on(*round)).count() as f64
    }

    #[test]
    fn lines_are_counted_as_by_going_round() {
        let facts = Assumptions::default();
        for (start, step) in [(0, 1), (5, 3), (-7, 2), (30, -4)] {
            let of: Formula = format!("{start} + {step}*(k - 1) - n").parse().expect("a formula");
            let of = if step > 0 { of } else { -of };
            for goes_on in [LoopPredicate::Below, LoopPredicate::NotAbove] {
                let rounds = facts.max_with_zero(trip_count(&of, "k", goes_on, &facts).expect("derivable"));
                for n in 0..40 {
                    let by_hand = counted(|round| {
                        let at = (start + step * (round - 1) - n) * step.signum();
                        if goes_on == LoopPredicate::Below { at < 0 } else { at <= 0 }
                    });
                    assert_eq!(
                        rounds.evaluate(&SymbolValues::from([("n", n as f64)])),
                        Ok(by_hand),
                        "{start} {step} {goes_on:?} {n}: {rounds}"
                    );
                }
            }
        }
    }

    #[test]
    fn squares_are_counted_as_by_going_round() {
        let facts = Assumptions::default();
        for (begin, less) in [(2, 0), (1, 7), (3, 1)] {
            let of: Formula = format!("(k + {begin} - 1)^2 - n + {less}").parse().expect("a formula");
            for goes_on in [LoopPredicate::Below, LoopPredicate::NotAbove] {
                let rounds = facts.max_with_zero(trip_count(&of, "k", goes_on, &facts).expect("derivable"));
                for n in 0..300 {
                    let by_hand = counted(|round| {
                        let at = (round + begin - 1) * (round + begin - 1) - n + less;
                        if goes_on == LoopPredicate::Below { at < 0 } else { at <= 0 }
                    });
                    assert_eq!(
                        rounds.evaluate(&SymbolValues::from([("n", n as f64)])),
                        Ok(by_hand),
                        "{begin} {less} {goes_on:?} {n}: {rounds}"
                    );
                }
            }
        }
    }

    #[test]
    fn doubling_and_halving_are_counted_as_by_going_round() {
        let n = Formula::symbol("n");
        let (one, two) = (Formula::one(), Formula::integer(2));
        let below = geometric_trip_count(&one, &two, &n, LoopPredicate::Below);
        let not_above = geometric_trip_count(&Formula::integer(3), &two, &n, LoopPredicate::NotAbove);
        let halved = division_trip_count(&n, &two, &one);
        for size in 0..200i64 {
            let at = SymbolValues::from([("n", size as f64)]);
            assert_eq!(below.evaluate(&at), Ok(counted(|round| 1 << (round - 1) < size)));
            assert_eq!(not_above.evaluate(&at), Ok(counted(|round| 3 << (round - 1) <= size)));
            assert_eq!(halved.evaluate(&at), Ok(counted(|round| size >> (round - 1) >= 1)));
        }
    }

    #[test]
    fn what_never_crosses_has_no_count() {
        let facts = Assumptions::default();
        let of = |text: &str| trip_count(&text.parse().expect("a formula"), "k", LoopPredicate::Below, &facts);
        assert_eq!((of("0 - n - k"), of("n"), of("n - 5")), (None, Some(Formula::zero()), None));
    }
}
