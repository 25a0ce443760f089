//! What is printed parses back as the same formula, and errors have positions.

use proptest::prelude::*;
use sintonia_formula::{Formula, ParseError, ParseErrorKind, PiecewiseCase};

use crate::support::*;

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn text_reads_back_as_the_same_formula(formula in wild()) {
        prop_assume!(formula.size() < 1_000);
        let text = formula.to_string();
        prop_assume!(!has_huge_numbers(&text));
        prop_assert_eq!(Formula::parse(&text), Ok(formula), "{}", text);
    }

    #[test]
    fn json_reads_back_as_the_same_formula(formula in wild()) {
        prop_assume!(formula.size() < 1_000 && !has_huge_numbers(&formula.to_string()));
        let json = formula.to_json();
        prop_assert_eq!(Formula::from_json(&json), Ok(formula), "{}", json);
    }

    #[test]
    fn exact_trees_read_back_as_the_same_formula(tree in flat(SYMBOLS.to_vec())) {
        let formula = tree.formula();
        prop_assert_eq!(Formula::parse(&formula.to_string()), Ok(formula.clone()), "{}", formula);
        prop_assert_eq!(Formula::from_json(&formula.to_json()), Ok(formula));
    }

    #[test]
    fn sums_read_back_as_the_same_formula(tree in nested_sum()) {
        let formula = tree.formula();
        prop_assert_eq!(Formula::parse(&formula.to_string()), Ok(formula.clone()), "{}", formula);
    }

    #[test]
    fn any_name_reads_back_as_itself(name in any::<String>()) {
        let formula = Formula::symbol(&name) * Formula::integer(2);
        prop_assert_eq!(Formula::parse(&formula.to_string()), Ok(formula.clone()));
        prop_assert_eq!(Formula::from_json(&formula.to_json()), Ok(formula));
    }

    #[test]
    fn any_float_reads_back_as_itself(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
        let formula = Formula::decimal(value);
        prop_assert_eq!(Formula::parse(&formula.to_string()), Ok(formula.clone()));
        prop_assert_eq!(formula.evaluate(&Default::default()), Ok(value));
    }

    #[test]
    fn any_text_is_a_formula_or_an_error_inside_it(text in any::<String>()) {
        if let Err(error) = Formula::parse(&text) {
            prop_assert!(error.offset <= text.len());
        }
    }

    #[test]
    fn any_text_of_the_right_letters_is_a_formula_or_an_error_inside_it(text in "[-+*/^()\\[\\],:=.0-9eni` ]{0,40}") {
        if let Err(error) = Formula::parse(&text) {
            prop_assert!(error.offset <= text.len());
        }
    }

    #[test]
    fn any_words_are_a_formula_or_an_error_inside_them(
        words in prop::collection::vec(prop::sample::select(vec![
            "max(", "min(", "sum(", "pieces(", "log2(", "ceil(", "i=", "1..n", "n", "i", ",", ")", "up to", "beyond", ":", "^", "*", "-", "2", "[1, 2]", "0", "/",
        ]), 0..24)
    ) {
        let text = words.join(" ");
        if let Err(error) = Formula::parse(&text) {
            prop_assert!(error.offset <= text.len());
        }
    }
}

/// Numbers of a thousand digits are not multiplied out, and then the order of multiplication shows.
fn has_huge_numbers(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > 60)
}

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> ParseError {
    Formula::parse(text).expect_err(text)
}

#[test]
fn formulas_are_shown_as_people_write_them() {
    for (written, shown) in [
        ("n*2.12e-7*n - 0.00043 - 1.27e-6*n", "2.12e-7*n^2 - 1.27e-6*n - 0.00043"),
        ("log2(p)*n^(3/2)", "n^(3/2)*log2(p)"),
        ("n^1.2345", "n^1.2345"),
        ("(a + b)*(a - b)", "a^2 - b^2"),
        ("N*(TS + TP)/(N*TS + TP)", "N*TP/(N*TS + TP) + N*TS/(N*TS + TP)"),
        ("1/3 + n/3 - 2*n^2/7", "-2*n^2/7 + n/3 + 1/3"),
        ("(b + a)^3", "a^3 + 3*a^2*b + 3*a*b^2 + b^3"),
        ("1.2e-6*n + 8.25e-5 + 0.0001*n^2", "0.0001*n^2 + 1.2e-6*n + 8.25e-5"),
        ("n/n + sqrt(p)*sqrt(p)", "p + 1"),
        ("2^i*2^j - 2^(i + j) + r^i*r^i - r^(2*i)", "0"),
        ("n*log2(3) + log2(n)^2", "n*log2(3) + log2(n)^2"),
        ("ln(n) + ln(2)", "ln(n) + ln(2)"),
        ("3^i*2^(-i)", "3^i/2^i"),
        ("x^y", "x^y"),
        ("2^(1/2)*2^(1/2)", "2"),
        ("max(b, a, a)", "max(a, b)"),
        ("max(x + a, x + b)", "x + max(a, b)"),
        ("max(n*a, n*b)", "n*max(a, b)"),
        ("max(a, a + b)", "a + b"),
        ("min(a, a + b)", "a"),
        ("max(3, [1, 4], 2)", "[3, 4]"),
        ("ceil(n/p + 2)", "ceil(n/p) + 2"),
        ("ceil(ceil(n/p)*2)", "2*ceil(n/p)"),
        ("floor(7/2)", "3"),
        ("[0.1, 0.2]*n + [0.1, 0.2]*n", "[0.2, 0.4]*n"),
        ("[1, 2] - [1, 2]", "[-1, 1]"),
        ("[-2, -1]*n + a - [3, 4]", "a - [1, 2]*n - [3, 4]"),
        ("[1, 2]*(a - b)", "[1, 2]*(a - b)"),
        ("[1, 2]*(a + b)", "[1, 2]*a + [1, 2]*b"),
        ("n/[-0.1234567, 0.7654321]", "n/[-0.1234567, 0.7654321]"),
        ("--n", "n"),
        ("-n^2", "-n^2"),
        ("2^3^2", "512"),
        ("log2(8)", "3"),
        ("log2(2*n^3*p)", "3*log2(n) + log2(p) + 1"),
        ("log2(4^i)", "2*i"),
        ("pieces(n, up to 4: a, up to 3: b, beyond: c)", "pieces(n, up to 4: a, beyond: c)"),
        ("pieces(n, up to 4: a, beyond: a)", "a"),
        ("pieces(3, up to 4: a, beyond: b)", "a"),
        ("pieces(n, up to 4: a)", "pieces(n, up to 4: a)"),
        ("`a b`*`max`", "`a b`*`max`"),
        ("max", "`max`"),
        ("1e-300*n", "1e-300*n"),
        (".5*n", "0.5*n"),
    ] {
        assert_eq!(parsed(written).to_string(), shown, "{written}");
    }
}

#[test]
fn sums_begin_with_what_is_positive_where_they_can() {
    for (written, shown) in [
        ("[-0.4, -0.33]*(-p + 1)", "[0.33, 0.4]*(p - 1)"),
        ("[0.33, 0.4]*(1 - p)", "[0.33, 0.4]*(1 - p)"),
        ("[0.33, 0.4]*(p - 1)", "[0.33, 0.4]*(p - 1)"),
        ("n - [0.33, 0.4]*(p - 1)*n", "[0.33, 0.4]*n*(1 - p) + n"),
        ("n^3 - [0.33, 0.4]*(p^2 - p - 1)*n", "n^3 - [0.33, 0.4]*n*(p^2 - p - 1)"),
        ("1/(1 - f)", "1/(1 - f)"),
        ("-1/(1 - f)", "1/(f - 1)"),
        ("-3/(n^2 - n - 1)", "-3/(n^2 - n - 1)"),
        ("3/(1 + n - n^2)", "-3/(n^2 - n - 1)"),
        ("1/(1 - f)^2", "1/(f - 1)^2"),
        ("1/(1 - f)^3", "1/(1 - f)^3"),
        ("sqrt(1 - f)", "sqrt(1 - f)"),
        ("log2(p - n)", "log2(p - n)"),
        ("-n", "-n"),
        ("-n - p", "-n - p"),
        ("p - n^2", "p - n^2"),
    ] {
        assert_eq!(parsed(written).to_string(), shown, "{written}");
        assert_eq!(parsed(shown), parsed(written));
        assert_eq!(Formula::from_json(&parsed(written).to_json()), Ok(parsed(written)));
    }
    assert_eq!(parsed("[-0.4, -0.33]*(1 - p)").latex(), r"\left[0.33, 0.4\right]\,\left(p - 1\right)");
}

#[test]
fn numbers_stand_in_sums_or_before_them_where_they_are_short() {
    for (written, shown) in [
        ("1/(0.5*n + 1)", "2/(n + 2)"),
        ("1/(0.1234567*n + 4.567891)", "1/(0.1234567*n + 4.567891)"),
        ("3.5*p/(0.1234567*n + 4.567891)", "3.5*p/(0.1234567*n + 4.567891)"),
        ("(1.3*n + 2.5)/(0.9712*n + 3.12345679)", "1.3*n/(0.9712*n + 3.12345679) + 2.5/(0.9712*n + 3.12345679)"),
        ("1/(n + 1073741824)", "1/(n + 1073741824)"),
        ("sqrt(0.1234567*n + 1)", "sqrt(0.1234567*n + 1)"),
        ("3/sqrt(0.1234567*n + 1)", "3/sqrt(0.1234567*n + 1)"),
        ("sqrt(2*n + 2)*p", "p*sqrt(2*n + 2)"),
        ("sqrt(2)*n", "2^(1/2)*n"),
        ("(0.5*n + 1)^(1/3)", "(0.5*n + 1)^(1/3)"),
    ] {
        assert_eq!(parsed(written).to_string(), shown, "{written}");
        assert_eq!(parsed(shown), parsed(written));
    }
}

#[test]
fn a_precision_says_how_many_digits_people_want_to_see() {
    let formula = parsed(
        "1.23456789e-6*n^1.23456789/p + n/3 + 65536.4321*p - [0.12345, 0.45678]*n*p + 123456 + pieces(n, up to 65536: 0.087918*n, beyond: 7)",
    );
    let shown = "[-0.457, -0.123]*n*p + n/3 + 65500*p + pieces(n, up to 65536: 0.0879*n, beyond: 7) + 1.23e-6*n^1.23/p + 123456";
    assert_eq!(format!("{formula:.3}"), shown);
    assert_eq!(parsed("0.123456*n - 0.99999").latex_with_digits(2), r"0.12\,n - 1");
    assert_eq!(format!("{:.20}", parsed("0.1*n")), "0.1*n");
    assert_eq!(format!("{:.0}", parsed("0.17*n")), "0.2*n");
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn few_digits_change_the_value_by_as_little_as_they_say(powers in prop::collection::vec(-12.0f64..12.0, 1..5), n in 0.1f64..1e3, digits in 1usize..9) {
        let terms = powers.iter().zip(0i64..).map(|(power, degree)| Formula::decimal(10f64.powf(*power)) * Formula::symbol("n").power(degree));
        let formula: Formula = terms.sum();
        let short = parsed(&format!("{formula:.digits$}"));
        let at = |formula: &Formula| formula.evaluate(&[("n", n)].into()).expect("a value");
        let most = 5.01 * 10f64.powi(-(digits as i32)) * at(&formula);
        prop_assert!((at(&short) - at(&formula)).abs() <= most, "{} and {}", short, formula);
    }
}

#[test]
fn sums_over_ranges_are_closed_where_they_can_be() {
    for (written, shown) in [
        ("sum(i=1..n, 1)", "n"),
        ("sum(i=1..n, i)", "0.5*n^2 + 0.5*n"),
        ("sum(i=1..n, i^2*t)", "n^3*t/3 + 0.5*n^2*t + n*t/6"),
        ("sum(i=0..k, 2^i)", "2*2^k - 1"),
        ("sum(i=1..n, i*3^i)", "1.5*3^n*n - 0.75*3^n + 0.75"),
        ("sum(i=1..n, sum(j=1..i, 1))", "0.5*n^2 + 0.5*n"),
        ("sum(i=1..n, sum(j=i..n, 1))", "0.5*n^2 + 0.5*n"),
        ("sum(i=1..n - 5, 1)", "max(0, n - 5)"),
        ("sum(i=5..3, i)", "0"),
        ("sum(i=1..3.9, i)", "6"),
        ("sum(i=n..n, f*i)", "f*n"),
        ("sum(i=1..n, max(i, n))", "n^2"),
        ("sum(i=1..n, ceil(i/2))", "n*floor(0.5*n) - floor(0.5*n)^2 + n - floor(0.5*n)"),
        ("sum(i=1..n, sqrt(i))", "sum(i=1..n, i^(1/2))"),
        ("sum(i=1..n, a*sqrt(i) + b)", "a*sum(i=1..n, i^(1/2)) + b*n"),
        ("sum(i=1..n, i*r^i)", "sum(i=1..n, i*r^i)"),
        ("sum(i=0..n, (r + 2)^i)", "r*(r + 2)^n/(r + 1) + 2*(r + 2)^n/(r + 1) - 1/(r + 1)"),
        ("sum(i=1..n, sum(j=1..i, log2(j)))", "n*sum(j=1..n, log2(j)) - sum(j=1..n, j*log2(j)) + sum(j=1..n, log2(j))"),
        ("max(i=1..p, a*i)", "a*p"),
        ("max(i=1..p, a/i)", "a"),
        ("max(i=1..1.5, a*i)", "a"),
        ("max(i=0.5..2.7, a*i)", "2.5*a"),
        ("max(i=1..p, ceil(n/i))", "ceil(n)"),
        ("max(i=1..p, a*i + b/i)", "max(a + b, a*p + b/p)"),
        ("min(i=1..p, a*i + c)", "a + c"),
        ("max(i=0..p, i^2 - 3*i)", "p*max(0, p - 3)"),
        ("max(i=1..p, max(a*i, b))", "max(b, a*p)"),
    ] {
        assert_eq!(parsed(written).to_string(), shown, "{written}");
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, message) in [
        ("", 0, "expected a formula, found the end"),
        ("2 +", 3, "expected a formula, found the end"),
        ("2 n", 2, "expected `end of the formula`, found `n`"),
        ("(a + b", 6, "expected `)`, found the end"),
        ("3*foo(n)", 2, "there is no function `foo`; there are log2, ln, sqrt, ceil, floor, max, min, sum, pieces"),
        ("log2(a, b)", 0, "`log2` takes one formula"),
        ("sum(i, n)", 5, "expected `=`, found `,`"),
        ("sum(i=1, n)", 7, "expected `..`, found `,`"),
        ("pieces(n, to 5: a)", 10, "expected `up`, found `to`"),
        ("pieces(n)", 8, "expected `,`, found `)`"),
        ("[2, 1]", 0, "an interval is two numbers, the lower first"),
        ("[n, 1]", 0, "an interval is two numbers, the lower first"),
        ("a $ b", 2, "expected `end of the formula`, found an invalid character"),
        ("`a", 0, "expected a formula, found an invalid character"),
        ("1e99999999999", 0, "this number has too many digits"),
    ] {
        let error = refused(text);
        assert_eq!((error.offset, error.kind.to_string().as_str()), (at, message), "{text}");
    }
}

#[test]
fn json_errors_say_where_and_what() {
    for (text, message) in [
        ("1", "at /: expected an object"),
        ("{}", "at /: expected one key, the name of the operation"),
        (r#"{"add": [{"symbol": "n"}, {"mean": []}]}"#, "at /add/1: there is no operation `mean`"),
        (r#"{"number": "1/0"}"#, "at /number: not a number, or one with too many digits"),
        (r#"{"divide": [{"number": "1"}]}"#, "at /divide: expected a list of 2"),
        (r#"{"between": ["2", "1"]}"#, "at /between: the lower bound must come first"),
        (r#"{"sum": {"index": "i", "from": {"number": "1"}, "to": {"symbol": "n"}}}"#, "at /sum: `body` is missing"),
    ] {
        let value = serde_json::from_str(text).expect("JSON");
        assert_eq!(Formula::from_json(&value).expect_err(text).to_string(), message);
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for open in ["(", "-(", "max(", "sum(i=", "[", "2^", "2^-", "ceil(", "pieces("] {
        let text = open.repeat(1_000_000);
        let error = refused(&text);
        assert!(matches!(error.kind, ParseErrorKind::TooDeep | ParseErrorKind::Formula { .. }), "{open}: {error}");
    }
    assert_eq!(refused(&"(".repeat(1000)).kind, ParseErrorKind::TooDeep);
    assert_eq!(parsed(&format!("{}n", "-".repeat(1_000_000))), parsed("n"));
}

#[test]
fn files_hold_formulas_as_text() {
    let formula = parsed("max(a, 2*b)");
    let json = serde_json::to_string(&formula).expect("JSON");
    assert_eq!(json, "\"max(a, 2*b)\"");
    assert_eq!(serde_json::from_str::<Formula>(&json).expect("a formula"), formula);
    assert!(serde_json::from_str::<Formula>("\"max(a\"").is_err());
}

#[test]
fn latex_is_what_a_paper_prints() {
    for (written, latex) in [
        ("2.12e-7*n^2 - n/3", r"2.12 \cdot 10^{-7}\,n^{2} - \frac{n}{3}"),
        ("sqrt(n + 1)*t_send", r"t_{\mathrm{send}}\,\sqrt{n + 1}"),
        ("n*log2(p)/(p + 1)", r"\frac{n\,\log_2\left(p\right)}{p + 1}"),
        ("sum(i=1..n, sqrt(i))", r"\sum_{i=1}^{n} \sqrt{i}"),
        ("max(a, ceil(n/p))", r"\max\left(a, \left\lceil \frac{n}{p} \right\rceil\right)"),
        ("3*2^i", r"3 \cdot 2^{i}"),
        ("[1, 2]*n", r"\left[1, 2\right]\,n"),
    ] {
        assert_eq!(parsed(written).latex(), latex, "{written}");
    }
    let pieces = Formula::piecewise(
        &Formula::symbol("n"),
        [PiecewiseCase::up_to(Formula::integer(4), Formula::symbol("a")), PiecewiseCase::beyond(Formula::one())],
    );
    assert_eq!(pieces.latex(), r"\begin{cases} a & n \le 4 \\ 1 & \text{beyond} \end{cases}");
}
