//! Enclosures contain the exact values and are narrow.

use proptest::prelude::*;
use sintonia_formula::{EvaluationError, Formula, Interval, Rational, SymbolValues};

use crate::support::*;

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn exactly(value: f64) -> Rational {
    Rational::from_f64_exact(value).expect("a finite number")
}

/// Whether an interval contains an exact number.
fn holds(interval: Interval, value: &Rational) -> bool {
    let above = !interval.low().is_finite() || exactly(interval.low()) <= *value;
    above && (!interval.high().is_finite() || *value <= exactly(interval.high()))
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e3f64..1e3,
        (-20i32..20).prop_map(f64::from),
        any::<f64>().prop_filter("finite and of moderate size", |value| value.abs() < 1e150 && (*value == 0.0 || value.abs() > 1e-150)),
        prop::sample::select(vec![0.0, 1.0, -1.0, f64::MIN_POSITIVE, 5e-324, 1e-310, 1e300, -1e300, f64::MAX]),
    ]
}

fn interval() -> impl Strategy<Value = (Interval, f64)> {
    (number(), number(), 0.0f64..=1.0).prop_map(|(a, b, share)| {
        let (low, high) = (a.min(b), a.max(b));
        let inner = (low + share * (high / 2.0 - low / 2.0) * 2.0).clamp(low, high);
        (Interval::new(low, high).expect("low is not above high"), if inner.is_finite() { inner } else { low })
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn operations_on_intervals_hold_the_exact_results((a, x) in interval(), (b, y) in interval()) {
        let (u, v) = (exactly(x), exactly(y));
        prop_assert!(holds(a + b, &(&u + &v)), "{a:?} + {b:?}");
        prop_assert!(holds(a - b, &(&u - &v)), "{a:?} - {b:?}");
        prop_assert!(holds(a * b, &(&u * &v)), "{a:?} * {b:?}");
        if let Some(quotient) = u.checked_div(&v) {
            prop_assert!(holds(a / b, &quotient), "{a:?} / {b:?}");
        }
        prop_assert!(holds(a.min(b), &u.clone().min(v.clone())));
        prop_assert!(holds(a.max(b), &u.clone().max(v)));
        prop_assert!(holds(a.ceil(), &u.ceil()));
        prop_assert!(holds(a.floor(), &u.floor()));
        prop_assert!(holds(-a, &-&u));
        prop_assert!(a.contains(a.midpoint()));
        prop_assert!(a.width().is_infinite() || exactly(a.width()) >= exactly(a.high()) - exactly(a.low()));
    }

    #[test]
    fn sums_and_products_of_points_are_off_by_less_than_one_unit_in_the_last_place(x in number(), y in number()) {
        for result in [Interval::point(x) + Interval::point(y), Interval::point(x) * Interval::point(y)] {
            prop_assert!(result.high() <= result.low().next_up() || result.magnitude() < 1e-270 || result.magnitude() > 1e300, "{result:?}");
        }
    }

    #[test]
    fn whole_powers_hold_the_exact_results((a, x) in interval(), exponent in -4i64..=6) {
        if let Some(power) = exactly(x).power(exponent) {
            prop_assert!(holds(a.powi(exponent), &power), "{a:?}^{exponent}");
        }
    }

    #[test]
    fn roots_raised_again_hold_the_number(x in prop_oneof![1e-30f64..1e30, 0.5f64..2.0, 0.0f64..1e-20], over in 1i64..9, under in 1i64..7) {
        // x is in (x^(p/q))^q exactly when x^p is.
        let root = Interval::point(x).powr(&rational(over, under)).expect("a root");
        let (low, high) = (exactly(root.low()), exactly(root.high()));
        let power = exactly(x).power(over).expect("a small exponent");
        prop_assert!(low.power(under).expect("a small exponent") <= power);
        prop_assert!(power <= high.power(under).expect("a small exponent"));
    }

    #[test]
    fn logarithms_and_powers_of_two_undo_each_other(x in 1e-300f64..1e300) {
        let logarithm = Interval::point(x).log2().expect("positive");
        prop_assert!(logarithm.exp2().contains(x));
        prop_assert!(logarithm.width() <= 1e-13 * (1.0 + logarithm.magnitude()));
        let natural = Interval::point(x).ln().expect("positive") / Interval::point(2.0).ln().expect("positive");
        prop_assert!(natural.intersection(logarithm).is_some());
    }

    #[test]
    fn floats_around_a_fraction_are_next_to_each_other(over in any::<i64>(), under in 1i64..i64::MAX, scale in -40i64..40) {
        let value = rational(over, under) * Rational::from(10).power(scale).expect("small");
        let around = value.to_interval();
        prop_assert!(holds(around, &value));
        prop_assert!(around.high() <= around.low().next_up());
        prop_assert!(around.contains(value.to_f64()));
        let distance = |float: f64| (exactly(float) - value.clone()).abs();
        prop_assert!(distance(value.to_f64()) <= distance(around.low()) && distance(value.to_f64()) <= distance(around.high()));
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_value_lies_in_the_enclosure(formula in wild(), (ranges, point) in boxes()) {
        let points: SymbolValues<Interval> = point.iter().map(|(name, value)| (name, Interval::point(*value))).collect();
        if let Ok(value) = formula.evaluate(&point) {
            let narrow = formula.enclose(&points).expect("defined at the point");
            prop_assert!(narrow.contains(value), "{formula}: {value} not in {narrow:?}");
            let wide = formula.enclose(&ranges).expect("defined somewhere");
            prop_assert!(wide.contains(value), "{formula}: {value} not in {wide:?}");
        }
    }

    #[test]
    fn the_exact_value_lies_in_the_enclosure(tree in flat(SYMBOLS.to_vec()), values in point()) {
        if let Some(value) = tree.value(&values) {
            let formula = tree.formula();
            let ranges: SymbolValues<Interval> = values.iter().map(|(name, value)| (name, value.to_interval())).collect();
            let enclosure = formula.enclose(&ranges).expect("defined");
            prop_assert!(holds(enclosure, &value), "{formula}: {value} not in {enclosure:?}");
        }
    }

    #[test]
    fn whatever_unknown_numbers_are_the_exact_value_lies_in_the_enclosure(
        tree in loose(SYMBOLS.to_vec()), values in point(), seeds in prop::array::uniform4(any::<u64>())
    ) {
        holds_all(&tree, &values, &seeds)?;
    }

    #[test]
    fn in_ranges_too_whatever_unknown_numbers_are_the_exact_value_lies_in_the_enclosure(
        tree in ranging(SYMBOLS.to_vec(), prop_oneof![leaf(SYMBOLS.to_vec()), (-2i64..=6, 1i64..=4).prop_map(|(low, width)| Tree::Unknown(low, low + width))]),
        values in whole_point(), seeds in prop::array::uniform4(any::<u64>())
    ) {
        holds_all(&tree, &values, &seeds)?;
    }

    #[test]
    fn wherever_symbols_lie_in_their_intervals_the_exact_value_lies_in_the_enclosure(
        tree in flat(SYMBOLS.to_vec()), values in point(), reach in prop::array::uniform3((0i64..=8, 0i64..=8))
    ) {
        if let Some(value) = tree.value(&values) {
            let around = |value: &Rational, below: i64, above: i64| {
                let low = (value - &rational(below, 4)).max(Rational::ZERO);
                low.to_interval().hull((value + &rational(above, 4)).to_interval())
            };
            let ranges = values.iter().zip(reach).map(|((name, value), (below, above))| (name, around(value, below, above))).collect();
            let formula = tree.formula();
            let enclosure = formula.enclose(&ranges).expect("defined somewhere");
            prop_assert!(holds(enclosure, &value), "{formula}: {value} not in {enclosure:?}");
        }
    }

    #[test]
    fn a_wider_box_has_a_wider_enclosure_of_sums(n in 1i64..200, more in 0i64..6, shift in 0.0f64..3.0) {
        let formula = parsed("sum(i=1..n, sqrt(i + s)/i - 0.2)");
        let at = |n: i64| formula.evaluate(&[("n", n as f64), ("s", shift)].into()).expect("a value");
        let ranges = [("n", Interval::new(n as f64, (n + more) as f64).expect("ordered")), ("s", Interval::point(shift))].into();
        let wide = formula.enclose(&ranges).expect("defined");
        for m in n..=n + more {
            prop_assert!(wide.contains(at(m)), "{m}: {} not in {wide:?}", at(m));
        }
    }

    #[test]
    fn an_enclosed_sum_holds_what_a_loop_adds_up(n in 65i64..3000, from in 0i64..5, a in 1i64..5, b in 1i64..4) {
        // Every term exactly; only the last digits of the quotients are rounded, outward.
        let formula = Formula::sum("i", &Formula::integer(from), &Formula::symbol("n"), &parsed("1/(a*i + b)"))
            .substitute("a", &Formula::integer(a)).substitute("b", &Formula::integer(b));
        let mut loop_sum = Interval::ZERO;
        for i in from..=n {
            loop_sum = loop_sum + rational(1, a * i + b).to_interval();
        }
        let enclosure = formula.enclose(&[("n", Interval::point(n as f64))].into()).expect("defined");
        prop_assert!(enclosure.intersection(loop_sum).is_some(), "{enclosure:?} and {loop_sum:?}");
        prop_assert!(enclosure.width() <= 1e-11 * enclosure.magnitude());
    }

    #[test]
    fn a_geometric_sum_with_any_ratio_holds_what_a_loop_adds_up(n in 1i64..70, from in 0i64..4, degree in 0i64..4, over in 1i64..9, under in 1i64..9) {
        let formula = Formula::sum("i", &Formula::integer(from), &Formula::symbol("n"), &parsed("i^k*r^i").substitute("k", &Formula::integer(degree)));
        let ratio = rational(over, under);
        let mut expected = Rational::ZERO;
        for i in from..=n {
            let power = if degree == 0 { Rational::ONE } else { Rational::from(i).power(degree).expect("small") };
            expected = expected + power * ratio.power(i).expect("small");
        }
        let enclosure = formula.enclose(&[("n", Interval::point(n as f64)), ("r", ratio.to_interval())].into()).expect("defined");
        prop_assert!(holds(enclosure, &expected), "{formula}: {expected} not in {enclosure:?}");
    }
}

/// Whether the enclosure at a point contains the value for several choices of the interval coefficients.
fn holds_all(tree: &Tree, values: &SymbolValues<Rational>, seeds: &[u64]) -> Result<(), TestCaseError> {
    let formula = tree.formula();
    let ranges: SymbolValues<Interval> = values.iter().map(|(name, value)| (name, value.to_interval())).collect();
    for seed in seeds {
        pick_from(*seed);
        if let Some(value) = tree.value(values) {
            let enclosure = formula.enclose(&ranges).map_err(|error| TestCaseError::fail(format!("{formula}: {error}")))?;
            prop_assert!(holds(enclosure, &value), "{formula}: {value} not in {enclosure:?}");
        }
    }
    Ok(())
}

/// The relative width of the enclosure of a sum, and its midpoint.
fn enclosed(text: &str, values: &[(&str, f64)]) -> (f64, f64) {
    let formula = parsed(text);
    let ranges = values.iter().map(|(name, value)| (*name, Interval::point(*value))).collect();
    let enclosure = formula.enclose(&ranges).unwrap_or_else(|error| panic!("{text}: {error}"));
    let points = values.iter().copied().collect();
    assert!(enclosure.contains(formula.evaluate(&points).unwrap_or_else(|error| panic!("{text}: {error}"))), "{text}");
    (enclosure.width() / enclosure.magnitude(), enclosure.midpoint())
}

#[test]
fn sums_without_closed_form_are_narrow_whatever_their_length() {
    for n in [1e3, 1e6, 1e9, 1e15, 1e18] {
        for text in [
            "sum(i=1..n, sqrt(i))",
            "sum(i=1..n, i^(-1/3))",
            "sum(i=1..n, 1/i)",
            "sum(i=1..n, log2(i))",
            "sum(i=1..n, i*log2(i)^2)",
            "sum(i=1..n, sqrt(i + 7)/(i + 1))",
            "sum(i=1..n, max(sqrt(i)*100, i))",
            "sum(i=1..n, ceil(log2(i)))",
            "sum(i=0..n, sqrt(i)/2^i)",
            "sum(i=1..n, i^1.37)",
            "sum(i=1..n, sum(j=1..i, sqrt(j)))",
        ] {
            let (width, _) = enclosed(text, &[("n", n)]);
            assert!(width < 1e-9, "{text} for n = {n}: {width}");
        }
    }
    // Beyond 2^53 floats cannot distinguish n + 1 - i from zero.
    for n in [1e3, 1e6, 1e9, 1e15] {
        let (width, _) = enclosed("sum(i=1..n, log2(n + 1 - i))", &[("n", n)]);
        assert!(width < 1e-9, "for n = {n}: {width}");
    }
}

#[test]
fn sums_without_closed_form_have_the_values_that_are_known() {
    let harmonic = |n: f64| n.ln() + 0.577_215_664_901_532_9 + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n);
    let (_, value) = enclosed("sum(i=1..n, 1/i)", &[("n", 1e9)]);
    assert!((value / harmonic(1e9) - 1.0).abs() < 1e-13);
    // Stirling: the sum of the logarithms is the logarithm of the factorial.
    let factorial = |n: f64| (n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)) / std::f64::consts::LN_2;
    let (_, value) = enclosed("sum(i=1..n, log2(i))", &[("n", 1e6)]);
    assert!((value / factorial(1e6) - 1.0).abs() < 1e-13);
    let (_, value) = enclosed("sum(i=1..n, 1/i^2)", &[("n", 1e12)]);
    assert!((value - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-11);
    let (_, value) = enclosed("sum(i=1..n, ceil(log2(i)))", &[("n", 1024.0)]);
    assert_eq!(value, (1..=1024).map(|i| f64::from(i).log2().ceil()).sum::<f64>());
    let (_, value) = enclosed("sum(i=1..n, ceil(i/p))", &[("n", 1e6), ("p", 48.0)]);
    assert_eq!(value, (1..=1_000_000i64).map(|i| (i + 47) / 48).sum::<i64>() as f64);
}

#[test]
fn a_maximum_over_a_range_is_found_without_going_through_it() {
    for (text, values, expected) in [
        ("max(i=1..n, i*(n - i))", &[("n", 1e12)][..], 2.5e23),
        ("max(i=1..n, sqrt(i)*(n - i))", &[("n", 3e6)][..], 1e3 * 2e6),
        ("min(i=1..n, i + n/i)", &[("n", 1e12)][..], 2e6),
        ("max(i=1..n, a*i - b*i^2)", &[("n", 1e9), ("a", 2.0), ("b", 1e-6)][..], 1e6),
    ] {
        let (width, middle) = enclosed(text, values);
        assert!(width < 1e-9, "{text}: {width}");
        assert!((middle / expected - 1.0).abs() < 1e-9, "{text}: {middle}");
    }
}

#[test]
fn poles_are_not_taken_for_slopes() {
    // 1/(5.5 - i) increases wherever it is defined, and still its maximum is not the last value.
    for (text, expected) in [("max(i=1..10, 1/(5.5 - i))", 2.0), ("max(i=1..n, 1/(5.5 - i))", 2.0), ("min(i=1..n, 1/(5.5 - i))", -2.0)] {
        assert_eq!(parsed(text).evaluate(&[("n", 10.0)].into()), Ok(expected), "{text}");
    }
    let around = parsed("1/(1 - 2*t)").enclose(&[("t", Interval::new(0.0, 2.0).expect("ordered"))].into()).expect("defined somewhere");
    assert!(around.contains(1e6) && around.contains(-1e6));
    let beside = parsed("1/(1 - 2*t)").enclose(&[("t", Interval::new(1.0, 2.0).expect("ordered"))].into()).expect("defined");
    assert!(beside.contains(-1.0) && beside.contains(-1.0 / 3.0) && beside.width() < 0.667, "{beside:?}");
}

#[test]
fn enclosures_over_boxes_are_as_narrow_as_the_direction_of_the_formula_allows() {
    let range = |low: f64, high: f64| Interval::new(low, high).expect("ordered");
    for (text, n, expected) in [
        ("n^2 - n", range(10.0, 20.0), range(90.0, 380.0)),
        ("(n + 1)/(n + 2)", range(0.0, 2.0), range(0.5, 0.75)),
        ("max(n, 15) - n/2", range(10.0, 20.0), range(7.5, 10.0)),
        ("ceil(n/4)*3 + n", range(10.0, 20.0), range(19.0, 35.0)),
        ("sum(i=1..n, i^2)", range(2.0, 3.0), range(5.0, 14.0)),
    ] {
        let enclosure = parsed(text).enclose(&[("n", n)].into()).expect("defined");
        assert!(enclosure.contains_interval(expected), "{text}: {enclosure:?}");
        let slack = enclosure.width() - expected.width();
        assert!(slack < 1e-12 * expected.magnitude() || text.starts_with("max"), "{text}: {enclosure:?}");
    }
}

#[test]
fn what_is_taken_out_of_roots_and_logarithms_cannot_be_negative() {
    // The logarithm of a quarter is -2, and 4 - 2 has a root.
    for (text, expected) in
        [("sqrt(log2(n)^2 + log2(n))", 2f64.sqrt()), ("log2(log2(n)^2 + log2(n))", 1.0), ("sqrt(log2(n)^4 + log2(n)^3*2)", 0.0)]
    {
        let value = parsed(text).evaluate(&[("n", 0.25)].into()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!((value - expected).abs() < 1e-15, "{text}: {value}");
    }
}

#[test]
fn products_of_unknown_numbers_have_no_direction_where_their_factors_have_two_signs() {
    // Three different numbers: at one half the least is -0.5*1.5*1.5.
    let formula = parsed("([-1, 1] + n)*([-1, 1] + n)*([-1, 1] + n)");
    let around = formula.enclose(&[("n", Interval::new(0.0, 0.5).expect("ordered"))].into()).expect("defined");
    assert!(around.contains_interval(Interval::new(-1.125, 3.375).expect("ordered")), "{formula}: {around:?}");
}

#[test]
fn undefined_values_say_why() {
    for (text, reason) in [
        ("1/x", EvaluationError::Division),
        ("1/0 + y", EvaluationError::Division),
        ("sqrt(x - 1)", EvaluationError::Root),
        ("log2(x)", EvaluationError::Logarithm),
        ("log2(x - 1)", EvaluationError::Logarithm),
        ("z", EvaluationError::Symbol("z".to_owned())),
        ("pieces(y, up to 1: 3)", EvaluationError::BeyondLastPiece),
        ("max(i=y..x, i*sqrt(i) - i^2)", EvaluationError::EmptyRange),
        ("2^(1000*y)", EvaluationError::TooLarge),
        ("sum(i=1..y, log2(i - 2))", EvaluationError::Logarithm),
    ] {
        let values = [("x", 0.0), ("y", 5.0)].into();
        assert_eq!(parsed(text).evaluate(&values), Err(reason), "{text}");
    }
    let nowhere = [("x", f64::NAN)].into();
    assert_eq!(parsed("x").evaluate(&nowhere), Err(EvaluationError::NotANumber("x".to_owned())));
}

#[test]
fn what_is_exact_comes_out_exact() {
    for (text, n, p, expected) in [
        ("ceil(n/p)", 12.0, 4.0, 3.0),
        ("ceil(n/p)", 13.0, 4.0, 4.0),
        ("ceil(0.1*n)", 30.0, 1.0, 3.0),
        ("ceil(n/10/p*10)", 3.0, 3.0, 1.0),
        ("ceil(log2(p))", 0.0, 8.0, 3.0),
        ("ceil(log2(p))", 0.0, 9.0, 4.0),
        ("ceil(n*0.1 + p*0.2)", 1.0, 2.0, 1.0),
        ("pieces(n/10, up to 0.3: 1, beyond: 2)", 3.0, 0.0, 1.0),
        ("sum(i=1..n/10, sqrt(i)^2)", 30.0, 0.0, 6.0),
        ("0.1*n + 0.2*n - 0.3*n", 7.0, 0.0, 0.0),
    ] {
        let value = parsed(text).evaluate(&[("n", n), ("p", p)].into());
        assert_eq!(value, Ok(expected), "{text}");
    }
}
