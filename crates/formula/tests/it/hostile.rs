//! Adversarial sizes are refused or left unevaluated.

use sintonia_formula::{EvaluationError, Formula, Interval, ParseErrorKind};

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{}: {error}", &text[..text.len().min(80)]))
}

#[test]
fn numbers_without_end_are_refused() {
    for text in ["1e999999999", "1e-999999999", &"9".repeat(1_000_000), &format!("0.{}1", "0".repeat(1_000_000))] {
        assert_eq!(Formula::parse(text).expect_err("too long").kind, ParseErrorKind::TooLong);
    }
    assert!(Formula::parse("1e300").is_ok());
}

#[test]
fn huge_powers_stay_powers() {
    for text in
        ["2^1000000000", "(n + 1)^1000000000", "n^1000000000000", "(a + b + c + d + e + f)^200", "1.5^(10^15)", "10^(10^9)*10^(10^9)"]
    {
        let formula = parsed(text);
        assert!(formula.to_string().len() < 200, "{text}");
        assert_eq!(parsed(&formula.to_string()), formula, "{text}");
    }
    assert_eq!(parsed("2^1000000000").evaluate(&Default::default()), Err(EvaluationError::TooLarge));
    assert_eq!(parsed("(n + 1)^1000000000").evaluate(&[("n", 0.0)].into()), Ok(1.0));
}

#[test]
fn squares_of_sums_of_any_length_are_multiplied_out_or_kept() {
    // Around the size at which the square has as many terms as are expanded, while intermediate products have more.
    for length in 14..28i64 {
        let sum: Formula = (0..length).map(|i| Formula::symbol(&format!("x{i}"))).sum();
        let square = sum.power(2);
        assert_eq!(square, &sum * &sum, "{length} terms");
        let values = (0..length).map(|i| (format!("x{i}"), (i + 1) as f64)).collect::<Vec<_>>();
        let whole = (length * (length + 1) / 2) as f64;
        let values = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(square.evaluate(&values), Ok(whole * whole), "{length} terms");
    }
}

#[test]
fn repeated_squaring_does_not_grow_without_end() {
    let mut number = Formula::decimal(1.000_000_000_000_001);
    let mut sum = Formula::symbol("a") + Formula::symbol("b") + Formula::ratio(1, 3);
    for _ in 0..40 {
        number = &number * &number;
        sum = &sum * &sum;
    }
    assert!(number.to_string().len() < 10_000);
    assert!(sum.to_string().len() < 20_000);
}

#[test]
fn a_product_of_many_sums_is_read_and_written_in_time_that_grows_with_its_text() {
    let texts = [
        (0..4_000).map(|i| format!("(x{i} + 1)")).collect::<Vec<_>>().join("*"),
        (0..4_000).map(|i| format!("x{i}")).collect::<Vec<_>>().join("*"),
        (0..4_000).map(|i| format!("n*(x{i} + y)")).collect::<Vec<_>>().join("/"),
    ];
    let read = texts.map(|text| (text.len(), parsed(&text)));
    for (length, formula) in &read {
        assert_eq!(formula.len(), 1, "one product");
        assert!(formula.size() < 40_000, "it holds each sum once, not each beside each other: {}", formula.size());
        let written = formula.to_string();
        assert!(written.len() < 2 * length);
        assert!(parsed(&written) == *formula);
        assert!(Formula::from_json(&formula.to_json()).unwrap() == *formula);
    }
    let values: Vec<(String, f64)> = (0..4_000).map(|i| (format!("x{i}"), 1e-4)).collect();
    let values = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let value = read[0].1.evaluate(&values).unwrap();
    assert!((value / 1.0001_f64.powi(4_000) - 1.0).abs() < 1e-9, "{value}");
}

#[test]
fn a_product_of_sums_is_the_same_in_any_order() {
    let sums: Vec<String> = (0..12).map(|i| format!("(x{i} + {})", i + 1)).collect();
    let reversed: Vec<String> = sums.iter().rev().cloned().collect();
    let formula = parsed(&sums.join("*"));
    assert_eq!(formula, parsed(&reversed.join("*")));
    assert_eq!(formula.substitute("x0", &Formula::integer(4)), parsed(&sums.join("*").replace("(x0 + 1)", "5")));
    let few = parsed("(n + 1)*(n + 2)*(n + 3)*(n + 4)*(n + 5)*(n + 6)*(n + 7)*(n + 8)*(n + 9)*(n + 10)");
    assert_eq!(few.len(), 11, "a polynomial of one symbol is multiplied out");
}

#[test]
fn adding_fractions_without_end_keeps_them_short() {
    let mut sum = Formula::zero();
    let under = |n: i64| 1_000_000_000_000_000_003 + 2 * n;
    for n in 1..100i64 {
        sum += Formula::ratio(1, under(n));
    }
    let enclosure = sum.enclose(&Default::default()).expect("defined");
    let expected: f64 = (1..100).map(|n| 1.0 / under(n) as f64).sum();
    assert!((enclosure.midpoint() / expected - 1.0).abs() < 1e-14, "{enclosure:?}");
    assert!(enclosure.width() < 1e-15 * expected);
    assert!(sum.to_string().len() < 5_000);
}

#[test]
fn ranges_without_end_are_not_gone_through() {
    let values = [("n", 1e300)].into();
    assert_eq!(parsed("sum(i=1..n, sqrt(i))").evaluate(&values), Err(EvaluationError::TooLarge));
    assert_eq!(parsed("sum(i=1..n, i)").evaluate(&[("n", 1e100)].into()).map(|value| value > 4.9e199), Ok(true));
    let everything = [("n", Interval::NONNEGATIVE)].into();
    assert_eq!(parsed("sum(i=1..n, sqrt(i))").enclose(&everything).map(Interval::low), Ok(0.0));
    assert!(parsed("sum(i=1..10^1000, i^40)").to_string().len() < 1_000_000);
}

/// A formula every level of which contains the one before twice, as a compiled program would.
fn deep(levels: i64) -> Formula {
    let b = Formula::symbol("b");
    (1..=levels).fold(Formula::symbol("a"), |formula, level| {
        Formula::max_of([&formula + Formula::integer(level), &formula * &b / Formula::integer(level), b.clone()])
    })
}

#[test]
fn deep_formulas_are_built_used_and_dropped() {
    let formula = deep(250);
    let value = formula.evaluate(&[("a", 1.0), ("b", 2.0)].into()).expect("a value");
    assert!(value >= 250.0 * 251.0 / 2.0);
    let compiled = formula.compile(&["a", "b"]).expect("all symbols are there");
    assert!((compiled.eval(&[1.0, 2.0]) / value - 1.0).abs() < 1e-9);
    let ranges = [("a", Interval::point(1.0)), ("b", Interval::new(2.0, 3.0).expect("ordered"))].into();
    assert!(formula.enclose(&ranges).expect("defined").contains(value));
    assert!(formula.substitute("a", &Formula::symbol("b")).evaluate(&[("b", 2.0)].into()).is_ok());
    assert_eq!(formula.symbols().len(), 2);
    assert!(formula.derivative("a").is_ok());
    assert_eq!(formula.size(), u64::MAX, "written down it would have more operations than there are numbers");
    assert_eq!(format!("{formula:?}"), format!("a formula of {} operations", u64::MAX));
}

#[test]
fn maxima_of_many_entries_are_pruned_and_derived() {
    let symbol = |i: i64| Formula::symbol(&format!("x{i}"));
    let (count, y) = (1_000, Formula::symbol("y"));
    let largest = Formula::max_of((0..count).flat_map(|i| [symbol(i), symbol(i) + &y * &y, &y - Formula::integer(i)]));
    let expected = Formula::max_of((0..count).map(|i| symbol(i) + &y * &y).chain([y.clone()]));
    assert_eq!(largest, expected);
    // Nesting the entries one by one would exceed the maximum depth.
    let slope = Formula::max_of((0..400).map(|i| Formula::integer(i + 1) * symbol(i))).derivative("x7").expect("smooth");
    let names: Vec<String> = (0..400).map(|i| format!("x{i}")).collect();
    let values = names.iter().map(|name| (name.as_str(), if name == "x7" { 1e6 } else { 1.0 })).collect();
    assert_eq!(slope.evaluate(&values), Ok(8.0));
}

#[test]
fn formulas_that_are_too_deep_have_no_value_and_do_no_harm() {
    let formula = deep(600);
    assert_eq!(formula.evaluate(&[("a", 1.0), ("b", 2.0)].into()), Err(EvaluationError::TooDeep));
    let difference = &formula - &formula;
    assert_eq!(difference.evaluate(&[("a", 1.0), ("b", 2.0)].into()), Err(EvaluationError::TooDeep));
    let nested = (0..2_000).fold(Formula::symbol("x"), |formula, level| (formula + Formula::integer(level + 1)).log2());
    assert!(nested.evaluate(&[("x", 1.0)].into()).is_err());
}

#[test]
fn long_sums_are_built_in_time_that_grows_with_their_length() {
    // Counts, not times: every term is there, and adding the same again doubles the coefficients.
    let terms = 5_000;
    let build = || (0..terms).map(|i| Formula::symbol(&format!("x{i}")) * Formula::integer(i + 1)).sum::<Formula>();
    let (one, other) = (build(), build());
    assert_eq!(one.len(), terms as usize);
    assert_eq!(one, other);
    assert_eq!(&one + &other, Formula::integer(2) * &one);
}
