//! Forms are fitted as numpy does, and what is no form is refused where it is written.

use super::*;

/// Table 2 of Laine and Midorikawa (2003): seconds to initialise two matrices of order n.
const TABLE_2: [(f64, f64); 5] = [(100., 0.001558), (200., 0.007773), (300., 0.018397), (400., 0.032864), (500., 0.052005)];
/// Table 3: seconds to multiply them.
const TABLE_3: [(f64, f64); 5] = [(100., 0.275609), (200., 2.662435), (300., 9.220848), (400., 23.04117), (500., 45.12641)];

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn measured(parameters: &[&str], rows: &[(&[f64], &[f64])]) -> Measurements {
    let points = rows.iter().map(|(at, values)| DataPoint { at: at.to_vec(), values: values.to_vec() }).collect();
    Measurements::new(names(parameters), points).unwrap()
}

fn of_n(rows: &[(f64, f64)]) -> Measurements {
    let points = rows.iter().map(|(n, value)| DataPoint { at: vec![*n], values: vec![*value] }).collect();
    Measurements::new(names(&["n"]), points).unwrap()
}

/// Compares each coefficient with its value, low and high end, to a relative tolerance.
fn expect(form: &LinearForm, measurements: &Measurements, tolerance: f64, expected: &[(&str, [f64; 3])]) {
    let found = form.coefficients(&form.fit(measurements).unwrap());
    assert_eq!(found.len(), expected.len());
    for (found, (name, numbers)) in found.iter().zip(expected) {
        assert_eq!(found.name, *name);
        let IntervalEstimate { value, low, high } = found.estimate;
        for (number, truth) in [value, low, high].into_iter().zip(numbers) {
            assert!((number / truth - 1.0).abs() < tolerance, "{name}: {value} [{low}, {high}], not {numbers:?}");
        }
    }
}

/// The truth is numpy's: `polyfit` for the values, the QR decomposition and the quantiles of Student's t for the intervals.
#[test]
fn coefficients_and_intervals_are_those_of_ordinary_least_squares() {
    let quadratic = LinearForm::parse("a*n^2 + b*n + c", &names(&["n"])).unwrap();
    let truth_2 = [
        ("a", [2.1210714285714352e-07, 1.969161434279259e-07, 2.2729814228636113e-07]),
        ("b", [-1.2792857142860786e-06, -1.0569423356338269e-05, 8.010851927766113e-06]),
        ("c", [-0.00042859999999994114, -0.0016476717886821817, 0.0007904717886821995]),
    ];
    expect(&quadratic, &of_n(&TABLE_2), 1e-6, &truth_2);
    let cubic = LinearForm::polynomial(3, &names(&["n"])).unwrap();
    let truth_3 = [
        ("c3", [3.4111091666666734e-07, -4.942480925493339e-07, 1.1764699258826686e-06]),
        ("c2", [2.627686785714244e-05, -0.0007303046620433721, 0.0007828583977576569]),
        ("c1", [-0.009383502380952315, -0.21322283835739222, 0.1944558335954876]),
        ("c0", [0.6398984000000028, -14.954265331746406, 16.234062131746413]),
    ];
    expect(&cubic, &of_n(&TABLE_3), 1e-5, &truth_3);
}

#[test]
fn several_parameters_and_logarithms_can_be_in_a_form() {
    let seconds = [1.4204, 4.3744, 16.4042, 1.3943, 2.8955, 8.8978, 1.6298, 2.3977, 5.3913];
    let settings: Vec<[f64; 2]> = [2., 4., 8.].iter().flat_map(|p| [100., 200., 400.].map(|n| [n, *p])).collect();
    let rows: Vec<(&[f64], &[f64])> =
        settings.iter().zip(&seconds).map(|(at, value)| (at.as_slice(), std::slice::from_ref(value))).collect();
    let measurements = measured(&["n", "p"], &rows);
    let truth = [
        ("work", [0.00020001970167883668, 0.00019947052270941998, 0.00020056888064825333]),
        ("tree", [0.49522525120139765, 0.47904814703653154, 0.5114023553662638]),
        ("rest", [-0.09580830056793337, -0.13625106098009865, -0.05536554015576809]),
    ];
    for text in ["work*n^2/p + tree*log2(p) + rest", "rest + n^2*work/p + tree*ceil(log2(p))", "tree*ln(p)/ln(2) + rest + work*n*n/p"] {
        let form = LinearForm::parse(text, &names(&["n", "p"])).unwrap();
        let mut expected = truth;
        expected.sort_by_key(|(name, _)| text.find(name));
        expect(&form, &measurements, 1e-6, &expected);
    }
    let tree = LinearForm::parse("tree*ceil(log2(p)) + work*n^2/p + rest", &names(&["n", "p"])).unwrap().fit(&measurements).unwrap();
    assert!(tree.formula().to_string().contains("ceil(log2(p))"), "{}", tree.formula());
    let step = tree.predict_mean(&[100.0, 5.0])[1] - (0.00020001970167883668 * 1e4 / 5.0 - 0.09580830056793337);
    assert!((step / (3.0 * 0.49522525120139765) - 1.0).abs() < 1e-6, "between powers of two, the tree has three levels");
}

#[test]
fn a_number_in_the_text_is_no_part_of_its_coefficient() {
    let line = |text: &str| LinearForm::parse(text, &names(&["n"])).unwrap();
    let data = of_n(&[(1.0, 8.1), (2.0, 5.9), (3.0, 4.1)]);
    let plain = line("c - b*n").coefficients(&line("c - b*n").fit(&data).unwrap());
    let scaled = line("10*c - 0.5*n*b").coefficients(&line("10*c - 0.5*n*b").fit(&data).unwrap());
    for (plain, (scaled, factor)) in plain.iter().zip(scaled.iter().zip([0.1, 2.0])) {
        let (plain, scaled) = (plain.estimate, scaled.estimate);
        for (a, b) in [(plain.value, scaled.value), (plain.low, scaled.low), (plain.high, scaled.high)] {
            assert!((factor * a / b - 1.0).abs() < 1e-9, "{plain:?} {scaled:?}");
        }
        assert!(plain.low < plain.value && plain.value < plain.high);
    }
    assert!((plain[1].estimate.value - 2.0).abs() < 1e-9, "the sign belongs to the form");
}

#[test]
fn repetitions_count_as_their_mean() {
    let line = LinearForm::polynomial(1, &names(&["n"])).unwrap();
    let repeated = measured(&["n"], &[(&[1.0], &[1.0, 3.0]), (&[2.0], &[4.0]), (&[3.0], &[5.0, 6.0, 7.0]), (&[4.0], &[9.0])]);
    let means = of_n(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 9.0)]);
    assert_eq!(line.fit(&repeated).unwrap(), line.fit(&means).unwrap());
}

#[test]
fn the_error_is_that_of_the_largest_value_when_held_out() {
    let line = LinearForm::polynomial(1, &names(&["n"])).unwrap();
    let model = line.fit(&of_n(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 5.0)])).unwrap();
    assert!((model.error_percent.validated.unwrap() - 20.0).abs() < 1e-9, "{:?}", model.error_percent);
    let exact = LinearForm::polynomial(2, &names(&["n"])).unwrap().fit(&of_n(&[(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)])).unwrap();
    assert_eq!(exact.error_percent.validated, None, "without one of them, there are too few");
    assert!((exact.predict_mean(&[5.0])[1] / 25.0 - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_no_linear_combination_is_refused_with_its_place() {
    let cases: [(&str, &str, &str); 16] = [
        ("a*n^3 + n^b", "n^b", "not a coefficient times powers"),
        ("a*(n + 1)", "a*(n + 1)", "a coefficient of its own"),
        ("c + a*max(n, p)", "a*max(n, p)", "not a coefficient times powers"),
        ("a*n + 0*n", "0*n", "not a coefficient times powers"),
        ("a*n + n^2", "n^2", "nothing to estimate"),
        ("a*n - 3", "3", "nothing to estimate"),
        ("a*N^3 + b", "a*N^3", "`N` and `a` cannot be estimated separately"),
        ("a*n + b/c", "b/c", "`b` and `c` cannot be estimated separately"),
        ("a^2*n", "a^2*n", "`a` is not one of the parameters (n, p)"),
        ("n*log2(a)", "n*log2(a)", "`a` is not one of the parameters (n, p)"),
        ("a*n + a", "a", "`a` occurs twice"),
        ("a*n*p + b + c*p*n", "c*p*n", "the same product as that of `a`"),
        ("a*log2(n)^3", "a*log2(n)^3", "only log2(x)"),
        ("a*log2(n)*ceil(log2(n))", "a*log2(n)*ceil(log2(n))", "only log2(x)"),
        ("a*n + b*sin(n)", "s", "there is no function `sin`"),
        ("a*n +", "", "expected a formula, found the end"),
    ];
    for (text, place, problem) in cases {
        let error = LinearForm::parse(text, &names(&["n", "p"])).unwrap_err();
        let found = error.span.start.min(text.len())..error.span.end.min(text.len());
        assert_eq!(&text[found], place, "{text}: {error}");
        assert!(error.to_string().contains(problem), "{text}: {error}");
    }
    let marked = LinearForm::parse("a*n^3 + n^b", &names(&["n"])).unwrap_err().to_string();
    assert!(marked.ends_with("\n    a*n^3 + n^b\n            ^^^"), "{marked}");
    let long: Vec<String> = (0..13).map(|k| format!("a{k}*n^{k}")).collect();
    assert_eq!(LinearForm::parse(&long.join(" + "), &names(&["n"])).unwrap_err().problem, FormProblem::TooLong);
    assert_eq!(LinearForm::polynomial(12, &names(&["n"])).unwrap_err().problem, FormProblem::TooLong);
    assert_eq!(LinearForm::polynomial(2, &names(&["n", "p"])).unwrap_err().problem, FormProblem::TooManyParameters(2));
}

#[test]
fn measurements_that_do_not_suffice_for_a_form_say_why() {
    let fit = |text: &str, rows: &[(f64, f64)]| LinearForm::parse(text, &names(&["n"])).unwrap().fit(&of_n(rows)).unwrap_err();
    let few = fit("a*n^2 + b*n + c", &[(1.0, 1.0), (2.0, 2.0)]);
    assert!(matches!(few, FormFitError::NotEnough(InsufficientData::TooFewPoints { have: 2, need: 3, .. })), "{few}");
    let low = fit("a*log2(n) + b", &[(0.5, 1.0), (2.0, 2.0), (4.0, 3.0)]);
    assert_eq!(low, FormFitError::Logarithm { parameter: "n".into(), smallest: 0.5 });
}

#[test]
fn any_text_is_a_form_or_refused() {
    use proptest::prelude::*;
    let pieces = prop::sample::select(vec![
        "a", "b", "n", "p", "+", "-", "*", "/", "^", "(", ")", "2", "1e-5", "log2", "ceil", "sqrt", " ", ",", "max", "0", "`", "é",
    ]);
    let data = measured(&["n", "p"], &[(&[1., 2.], &[1.]), (&[2., 2.], &[2.]), (&[4., 3.], &[5.]), (&[8., 4.], &[7.])]);
    proptest!(|(text in prop_oneof![prop::collection::vec(pieces, 0..12).prop_map(|p| p.concat()), ".{0,20}"])| {
        match LinearForm::parse(&text, data.parameters()) {
            Ok(form) => { let _ = form.fit(&data).map(|model| form.coefficients(&model)); }
            Err(error) => prop_assert!(error.span.start <= text.len()),
        }
    });
}
