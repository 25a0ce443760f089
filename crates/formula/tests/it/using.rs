//! Derivatives, comparisons, pruning, compiled evaluation, and many formulas at once.

use std::cmp::Ordering;

use proptest::prelude::*;
use sintonia_formula::{Domain, Formula, Interval, Rational, SymbolValues};

use crate::support::*;

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_derivative_is_the_limit_of_the_difference_quotient(tree in polynomial(SYMBOLS.to_vec()), values in point()) {
        // For polynomials the central difference leaves only terms of third order: exact arithmetic shows the limit.
        let formula = tree.formula();
        let step = rational(1, 1_000_000);
        let n = values.get("n").expect("n has a value").clone();
        let at = |place: Rational| formula.evaluate_exact(&values.clone().with_value("n", place)).expect("polynomials are defined everywhere");
        let quotient = (at(&n + &step) - at(&n - &step)).checked_div(&(&step + &step)).expect("the step is not zero");
        let slope = formula.derivative("n").expect("smooth").evaluate_exact(&values).expect("a value");
        let error = (quotient - slope).abs().to_f64();
        let third = formula.derivative("n").and_then(|f| f.derivative("n")).and_then(|f| f.derivative("n")).expect("smooth");
        let bend = third.evaluate_exact(&values).expect("a value").abs().to_f64();
        prop_assert!(error <= 1e-12 * (bend + 1.0) * 1e3, "{formula}: {error}");
    }

    #[test]
    fn the_derivative_of_everything_smooth_is_near_the_difference_quotient(formula in smooth(), n in 1.0f64..4.0, p in 1.0f64..4.0) {
        let at = |n: f64| formula.evaluate(&[("n", n), ("p", p)].into());
        let step = 1e-5;
        if let (Ok(before), Ok(after), Ok(slope)) = (at(n - step), at(n + step), formula.derivative("n")) {
            let slope = slope.evaluate(&[("n", n), ("p", p)].into()).expect("smooth");
            let quotient = (after - before) / (2.0 * step);
            let size = slope.abs() + before.abs() + after.abs() + 1.0;
            prop_assert!((slope - quotient).abs() <= 1e-3 * size, "{formula}: {slope} and {quotient}");
        }
    }

    #[test]
    fn comparison_never_contradicts_evaluation(a in flat(SYMBOLS.to_vec()), b in flat(SYMBOLS.to_vec()), values in point()) {
        let order = a.formula().compare(&b.formula(), &Domain::new());
        if let (Some(order), Some(x), Some(y)) = (order, a.value(&values), b.value(&values)) {
            let holds = match order {
                Ordering::Less => x <= y,
                Ordering::Equal => x == y,
                Ordering::Greater => x >= y,
            };
            prop_assert!(holds, "{} {order:?} {}", a.formula(), b.formula());
        }
    }

    #[test]
    fn comparison_in_a_box_never_contradicts_evaluation(a in wild(), b in wild(), (ranges, inside) in boxes()) {
        let domain = ranges.iter().fold(Domain::new(), |domain, (name, range)| domain.with_range(name, *range));
        prop_assume!(a.len() + b.len() < 12);
        if let (Some(order), Ok(x), Ok(y)) = (a.compare(&b, &domain), a.evaluate(&inside), b.evaluate(&inside)) {
            let slack = 1e-9 * (x.abs() + y.abs());
            let holds = match order {
                Ordering::Less => x <= y + slack,
                Ordering::Equal => (x - y).abs() <= slack,
                Ordering::Greater => x + slack >= y,
            };
            prop_assert!(holds, "{a} {order:?} {b}: {x} and {y}");
        }
    }

    #[test]
    fn pruning_keeps_the_value_in_the_domain(tree in flat(SYMBOLS.to_vec()), values in point()) {
        let values: SymbolValues<Rational> = values.iter().map(|(name, value)| (name, value + &Rational::ONE)).collect();
        let formula = tree.formula();
        if let Some(value) = tree.value(&values) {
            prop_assert_eq!(formula.refine(&Domain::at_least_one()).evaluate_exact(&values), Some(value), "{}", formula);
        }
    }

    #[test]
    fn a_compiled_formula_gives_what_evaluation_gives(formula in wild(), (_, inside) in boxes()) {
        let compiled = formula.compile(&SYMBOLS).expect("all symbols are there");
        let list: Vec<f64> = SYMBOLS.iter().map(|name| *inside.get(name).expect("a value")).collect();
        let fast = compiled.eval(&list);
        if let Ok(value) = formula.evaluate(&inside) {
            // Near a jump or under cancellation the two may differ by more than rounding: then the enclosure of the neighbourhood is wide.
            let around = inside.iter().map(|(name, value)| (name, Interval::new(value * (1.0 - 1e-9), value * (1.0 + 1e-9)).expect("ordered"))).collect();
            let near = formula.enclose(&around).expect("defined");
            let slack = 1e-6 * (value.abs() + 1.0);
            prop_assert!(fast.is_nan() || near.contains(fast) || (fast - value).abs() <= slack || fast.is_infinite(), "{formula}: {fast} and {value}, {near:?}");
        }
    }

    #[test]
    fn a_compiled_formula_adds_up_what_it_gives_at_each_step(formula in wild(), (_, inside) in boxes(), rounds in 0u64..200, counted in 0..SYMBOLS.len()) {
        let compiled = formula.compile(&SYMBOLS).expect("all symbols are there");
        let begin: Vec<f64> = SYMBOLS.iter().map(|name| *inside.get(name).expect("a value")).collect();
        let at = |step: u64| {
            let mut values = begin.clone();
            values[counted] += step as f64;
            compiled.eval(&values)
        };
        let (sum, one_by_one) = (compiled.sum_over(&begin, counted, rounds), (0..rounds).map(at).sum::<f64>());
        prop_assert!(sum == one_by_one || sum.is_nan() && one_by_one.is_nan(), "{formula}: {sum} and {one_by_one}");
    }

    #[test]
    fn a_compiled_formula_is_exact_where_floats_are(tree in polynomial(SYMBOLS.to_vec()), values in whole_point()) {
        let compiled = tree.formula().compile(&SYMBOLS).expect("all symbols are there");
        let list: Vec<f64> = SYMBOLS.iter().map(|name| values.get(name).expect("a value").to_f64()).collect();
        let exact = tree.value(&values).expect("polynomials are defined everywhere").to_f64();
        prop_assert!((compiled.eval(&list) - exact).abs() <= 1e-9 * (1.0 + exact.abs()) * 1e3);
    }
}

/// Smooth formulas.
fn smooth() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        Just(Formula::symbol("n")),
        Just(Formula::symbol("p")),
        (1i64..=5, 1i64..=3).prop_map(|(over, under)| Formula::ratio(over, under)),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            2 => pair.clone().prop_map(|(a, b)| a + b),
            2 => pair.clone().prop_map(|(a, b)| a * b),
            1 => pair.clone().prop_map(|(a, b)| a / (b + Formula::one())),
            1 => inner.clone().prop_map(|a| a.sqrt()),
            1 => inner.clone().prop_map(|a| (a + Formula::one()).ln()),
            1 => inner.clone().prop_map(|a| (a + Formula::one()).log2()),
            1 => inner.clone().prop_map(|a| Formula::ratio(3, 2).pow_formula(&a)),
            1 => inner.prop_map(|a| Formula::sum("i", &Formula::one(), &Formula::integer(5), &(a + Formula::symbol("i")).sqrt())),
        ]
    })
}

#[test]
fn derivatives_of_what_has_pieces_are_taken_piece_by_piece() {
    for (text, slope) in [
        ("n^2*p", "2*n*p"),
        ("n*ln(n)", "ln(n) + 1"),
        ("log2(n)", "1/(n*ln(2))"),
        ("2^n", "2^n*ln(2)"),
        ("1/(n + 1)", "-1/(n + 1)^2"),
        ("max(n, p)", "pieces(-n + p, up to 0: 1, beyond: 0)"),
        ("ceil(n/p)", "0"),
        ("pieces(n, up to 8: n^2, beyond: 16*n)", "pieces(n, up to 8: 2*n, beyond: 16)"),
        ("sum(i=1..p, sqrt(i*n))", "0.5*sum(i=1..p, i^(1/2))/n^(1/2)"),
        ("sum(i=1..n, i)", "n + 1/2"),
    ] {
        let written = parsed(text).derivative("n").unwrap_or_else(|error| panic!("{text}: {error}"));
        let expected = parsed(slope);
        assert!(written == expected || parsed(&format!("({written}) - ({slope})")).is_zero(), "{text}: {written}, not {expected}");
    }
    assert!(parsed("sum(i=1..n, sqrt(i))").derivative("n").is_err());
    assert!(parsed("max(i=1..p, n*i - i^2)").derivative("n").is_err());
}

#[test]
fn comparisons_are_decided_by_form_by_boxes_or_not_at_all() {
    let (any, counts) = (Domain::new(), Domain::at_least_one());
    let narrow = Domain::new().with_range("n", Interval::new(2.0, 50.0).expect("ordered"));
    for (a, b, domain, order) in [
        ("n + p", "n", &any, Some(Ordering::Greater)),
        ("n", "n^2", &any, None),
        ("n", "n^2", &counts, Some(Ordering::Less)),
        ("n*log2(p)", "n", &counts, None),
        ("log2(p)*n", "0", &counts, Some(Ordering::Greater)),
        ("n^2 + 1", "2*n", &narrow, Some(Ordering::Greater)),
        ("n^2 - 100*n", "0", &narrow, Some(Ordering::Less)),
        ("sqrt(n)", "n/2 + 1/2", &narrow, Some(Ordering::Less)),
        ("n/(n + 1) + 1/(n + 1)", "1", &any, Some(Ordering::Equal)),
        ("(n + 1)^2", "n^2 + 2*n + 1", &any, Some(Ordering::Equal)),
        ("max(n, p)", "n", &any, Some(Ordering::Greater)),
        ("ceil(n)", "n", &any, Some(Ordering::Greater)),
        ("[1, 2]*n", "[3, 4]*n", &any, Some(Ordering::Less)),
        ("[1, 3]*n", "[2, 4]*n", &any, None),
        ("n", "p", &counts, None),
    ] {
        assert_eq!(parsed(a).compare(&parsed(b), domain), order, "{a} against {b}");
    }
}

#[test]
fn maxima_are_pruned_by_the_domain() {
    let counts = Domain::at_least_one();
    assert_eq!(parsed("max(n, n^2, 1)").refine(&counts), parsed("n^2"));
    assert_eq!(parsed("max(n, n^2, 1)").refine(&Domain::new()), parsed("max(n, n^2, 1)"));
    assert_eq!(parsed("sum(i=1..n, sqrt(max(i*n, i)))").refine(&counts), parsed("sum(i=1..n, sqrt(i*n))"));
}

#[test]
fn symbols_are_listed_without_indexes() {
    let formula = parsed("sum(i=1..n, sqrt(i + m)) + max(a, b)*pieces(k, up to c: 1, beyond: d)");
    assert_eq!(formula.symbols().into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "k", "m", "n"]);
}

#[test]
fn a_symbol_without_a_place_cannot_be_compiled() {
    assert!(parsed("n*p").compile(&["n"]).is_err());
    assert!(parsed("1/n").compile(&["n"]).expect("all symbols are there").eval(&[0.0]).is_nan());
    assert!(parsed("n").compile(&["n"]).expect("all symbols are there").eval(&[]).is_nan());
}

#[test]
fn unknown_numbers_never_cancel() {
    let ranges = |formula: &Formula| formula.enclose(&[("n", Interval::point(3.0)), ("m", Interval::point(2.0))].into()).expect("defined");
    for (text, low, high) in [
        ("[1, 2] - [1, 2]", -1.0, 1.0),
        ("[1, 2]/[1, 2]", 0.5, 2.0),
        ("[1, 2]*n - [1, 2]*n", -3.0, 3.0),
        ("max([1, 2]*n, 4) - max([1, 2]*n, 4)", -2.0, 2.0),
        ("sqrt([4, 9]*n)/sqrt([4, 9]*n)", 2.0 / 3.0, 1.5),
        ("[-1, 1]*[-1, 1]", -1.0, 1.0),
        ("[-1, 1]^2", 0.0, 1.0),
        ("[1, 2]*(n - m)", 1.0, 2.0),
        ("([1, 2]*n + 1)*(n - m)", 4.0, 7.0),
    ] {
        let formula = parsed(text);
        let enclosure = ranges(&formula);
        assert!(enclosure.low() <= low && enclosure.high() >= high, "{text}: {enclosure:?}");
        assert!(enclosure.width() <= (high - low) * (1.0 + 1e-9), "{text}: {enclosure:?}");
    }
}

#[test]
fn sums_add_unknown_numbers_step_by_step() {
    let enclosure = |text: &str| parsed(text).enclose(&[("n", Interval::point(10.0))].into()).expect("defined");
    // From 9 to -9: an interval factor is independent for each of them, also where it contains a symbol.
    let factors = enclosure("sum(i=1..n, (n + [0, 1])*(11 - 2*i))");
    assert!(factors.contains_interval(Interval::new(-25.0, 25.0).expect("ordered")), "{factors:?}");
    assert_eq!(enclosure("sum(i=1..n, [1, 2])"), Interval::new(10.0, 20.0).expect("ordered"));
    // From -4 to 5 with an interval factor at every step: the negative ones may be doubled and the positive ones not.
    let steps = enclosure("sum(i=1..n, [1, 2]*(i - 5))");
    assert!(steps.contains_interval(Interval::new(-20.0 + 15.0, -10.0 + 30.0).expect("ordered")), "{steps:?}");
}
