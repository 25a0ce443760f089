//! How many rounds a loop takes, from what its condition is at the beginning of each round.
//!
//! All of these count the rounds before the first one in which the condition fails. They are exact in exact arithmetic, fractions rounded the
//! way the comparison asks for; the tests count by going round.

use std::cmp::Ordering;

use sintonia_formula::{Formula, Rational};

use super::facts::{Facts, Line};

/// How something is compared with zero while a loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum While {
    /// As long as it is below zero.
    Below,
    /// As long as it is not above zero.
    NotAbove,
    /// As long as it is not zero; it is taken to meet it.
    NotZero,
}

/// The rounds in which something that is a formula of the round stays on its side of zero. May be below zero where the first round fails.
pub fn rounds(of: &Formula, index: &str, goes_on: While, facts: &Facts) -> Option<Formula> {
    match Line::of(of, index) {
        Some(line) => along_line(&line, goes_on, facts),
        None => along_parabola(of, index, goes_on, facts),
    }
}

fn along_line(line: &Line, goes_on: While, facts: &Facts) -> Option<Formula> {
    let slope = line.slope.as_exact().map(Rational::sign);
    // Counted from the first round on, so that what is rounded stays short.
    let first = line.at(&Formula::one());
    let steps = || -(&first * &line.slope.power(-1));
    match (goes_on, slope) {
        (_, Some(Ordering::Equal)) => never_entered(&line.start, goes_on, facts),
        (While::NotZero, _) => Some(steps()),
        (_, Some(Ordering::Less)) => never_entered(&first, goes_on, facts),
        (_, None) if !facts.is_nonnegative(&line.slope) => None,
        (While::Below, _) => Some(facts.ceil(&steps())),
        (While::NotAbove, _) => Some(facts.floor(&steps()) + Formula::one()),
    }
}

/// No rounds, where already the first certainly fails; otherwise the loop would not end, or not by this condition.
fn never_entered(first: &Formula, goes_on: While, facts: &Facts) -> Option<Formula> {
    let fails = match goes_on {
        While::Below => facts.is_nonnegative(first),
        While::NotAbove => facts.is_positive(first),
        While::NotZero => first.is_zero(),
    };
    fails.then(Formula::zero)
}

/// A parabola that only rises from the first round on crosses zero once, at its greater root.
fn along_parabola(of: &Formula, index: &str, goes_on: While, facts: &Facts) -> Option<Formula> {
    if goes_on == While::NotZero {
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
    let inside = facts.at_least_zero(linear.power(2) - Formula::integer(4) * &square * zero);
    let root = (inside.sqrt() - linear) * (&square + &square).power(-1);
    Some(if goes_on == While::Below { facts.ceil(&root) - Formula::one() } else { facts.floor(&root) })
}

/// The rounds in which something that begins above zero and is multiplied by `factor` in each round stays below a bound, or not above it.
pub fn rounds_growing(start: &Formula, factor: &Formula, bound: &Formula, goes_on: While) -> Formula {
    let ratio = bound * &start.power(-1);
    match goes_on {
        While::Below | While::NotZero => logarithm(&ratio, factor).ceil(),
        While::NotAbove => logarithm(&(&ratio * factor), factor).floor(),
    }
}

/// The rounds in which something whole that is divided by `factor` in each round, dropping fractions, is not below a bound above zero.
pub fn rounds_shrinking(start: &Formula, factor: &Formula, bound: &Formula) -> Formula {
    logarithm(&(start * factor * bound.power(-1)), factor).floor()
}

/// The logarithm of what is at least one.
fn logarithm(of: &Formula, base: &Formula) -> Formula {
    Formula::max_of([of.clone(), Formula::one()]).log2() * base.log2().power(-1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::Values;

    fn counted(mut goes_on: impl FnMut(i64) -> bool) -> f64 {
        (1..).take_while(|round| goes_on(*round)).count() as f64
    }

    #[test]
    fn lines_are_counted_as_by_going_round() {
        let facts = Facts::default();
        for (start, step) in [(0, 1), (5, 3), (-7, 2), (30, -4)] {
            let of: Formula = format!("{start} + {step}*(k - 1) - n").parse().expect("a formula");
            let of = if step > 0 { of } else { -of };
            for goes_on in [While::Below, While::NotAbove] {
                let rounds = facts.at_least_zero(rounds(&of, "k", goes_on, &facts).expect("derivable"));
                for n in 0..40 {
                    let by_hand = counted(|round| {
                        let at = (start + step * (round - 1) - n) * step.signum();
                        if goes_on == While::Below { at < 0 } else { at <= 0 }
                    });
                    assert_eq!(rounds.evaluate(&Values::from([("n", n as f64)])), Ok(by_hand), "{start} {step} {goes_on:?} {n}: {rounds}");
                }
            }
        }
    }

    #[test]
    fn squares_are_counted_as_by_going_round() {
        let facts = Facts::default();
        for (begin, less) in [(2, 0), (1, 7), (3, 1)] {
            let of: Formula = format!("(k + {begin} - 1)^2 - n + {less}").parse().expect("a formula");
            for goes_on in [While::Below, While::NotAbove] {
                let rounds = facts.at_least_zero(rounds(&of, "k", goes_on, &facts).expect("derivable"));
                for n in 0..300 {
                    let by_hand = counted(|round| {
                        let at = (round + begin - 1) * (round + begin - 1) - n + less;
                        if goes_on == While::Below { at < 0 } else { at <= 0 }
                    });
                    assert_eq!(rounds.evaluate(&Values::from([("n", n as f64)])), Ok(by_hand), "{begin} {less} {goes_on:?} {n}: {rounds}");
                }
            }
        }
    }

    #[test]
    fn doubling_and_halving_are_counted_as_by_going_round() {
        let n = Formula::symbol("n");
        let (one, two) = (Formula::one(), Formula::integer(2));
        let below = rounds_growing(&one, &two, &n, While::Below);
        let not_above = rounds_growing(&Formula::integer(3), &two, &n, While::NotAbove);
        let halved = rounds_shrinking(&n, &two, &one);
        for size in 0..200i64 {
            let at = Values::from([("n", size as f64)]);
            assert_eq!(below.evaluate(&at), Ok(counted(|round| 1 << (round - 1) < size)));
            assert_eq!(not_above.evaluate(&at), Ok(counted(|round| 3 << (round - 1) <= size)));
            assert_eq!(halved.evaluate(&at), Ok(counted(|round| size >> (round - 1) >= 1)));
        }
    }

    #[test]
    fn what_never_crosses_has_no_count() {
        let facts = Facts::default();
        let of = |text: &str| rounds(&text.parse().expect("a formula"), "k", While::Below, &facts);
        assert_eq!((of("0 - n - k"), of("n"), of("n - 5")), (None, Some(Formula::zero()), None));
    }
}
