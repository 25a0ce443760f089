//! The formulas of the papers, written as text.

use sintonia_formula::{Formula, Rational, SymbolValues};

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The exact value of a formula at whole numbers.
fn exact(formula: &Formula, values: &[(&str, i64)]) -> Rational {
    let values: SymbolValues<Rational> = values.iter().map(|(name, value)| (*name, Rational::from(*value))).collect();
    formula.evaluate_exact(&values).unwrap_or_else(|| panic!("{formula} has no exact value"))
}

#[test]
fn laine_predicts_the_send_times_of_table_1() {
    let send = parsed("pieces(n, up to 65536: 0.0879182*n - 82.0523, beyond: 0.0849931*n + 2065.49)");
    // The rows of the table: bytes and measured microseconds.
    for (bytes, measured) in [(6824.0, 540.280), (43688.0, 3686.130), (65536.0, 5726.130), (131072.0, 13198.730), (5592404.0, 477389.344)] {
        let predicted = send.evaluate(&[("n", bytes)].into()).expect("a value");
        assert!((predicted / measured - 1.0).abs() < 0.06, "{bytes} bytes: {predicted} and {measured}");
    }
    // The bound belongs to the first case.
    assert_eq!(send.evaluate(&[("n", 65536.0)].into()), parsed("0.0879182*65536 - 82.0523").evaluate(&Default::default()));
}

#[test]
fn laine_composes_the_whole_program_of_the_parts() {
    let initialise = parsed("2.12e-7*n^2 - 1.27e-6*n - 0.00043");
    let multiply = parsed("3.41e-7*n^3 + 2.63e-5*n^2 - 9.38e-3*n + 0.64");
    let whole = initialise + multiply;
    assert_eq!(whole.to_string(), "3.41e-7*n^3 + 2.6512e-5*n^2 - 0.00938127*n + 0.63957");
    // Table 4: orders of the matrices and the seconds that the composed model gives.
    for (order, published) in [(100.0, 0.307599), (200.0, 2.551355), (300.0, 9.418468), (400.0, 22.95536), (500.0, 45.20871)] {
        let predicted = whole.evaluate(&[("n", order)].into()).expect("a value");
        assert!((predicted / published - 1.0).abs() < 0.02, "{order}: {predicted} and {published}");
    }
}

#[test]
fn zuffo_divides_tasks_among_simple_nodes() {
    let time = parsed("RM*M/N + CM*M"); // 3.14
    let granularity = parsed("RM/CM"); // 3.7
    let speedup = parsed("(G + 1)*N/(G + N)"); // 3.15
    let efficiency = parsed("(G + 1)/(G + N)"); // 3.16
    // The speed-up is the time on one node over the time on N, whatever the sizes.
    let measured = time.substitute("N", &Formula::one()) / &time;
    let given = speedup.substitute("G", &granularity);
    for (r, c, m, n) in [(8, 2, 64, 4), (5, 1, 10, 7), (3, 7, 100, 32), (1, 1, 1, 1)] {
        let values = [("RM", r), ("CM", c), ("M", m), ("N", n)];
        assert_eq!(exact(&measured, &values), exact(&given, &values));
        assert_eq!(exact(&given, &values), exact(&efficiency.substitute("G", &granularity), &values) * Rational::from(n));
    }
    // 3.17: however many nodes, no more than G + 1.
    let limit = parsed("G + 1");
    assert_eq!(exact(&speedup, &[("G", 4), ("N", 4)]), exact(&parsed("5/2"), &[]));
    let many = speedup.evaluate(&[("G", 4.0), ("N", 1e12)].into()).expect("a value");
    assert!((many / limit.evaluate(&[("G", 4.0)].into()).expect("a value") - 1.0).abs() < 1e-10);
}

#[test]
fn zuffo_overlaps_communication_on_composite_nodes() {
    let time = parsed("max(RM*M/N, CM*M)"); // 3.19
    assert_eq!(time.to_string(), "M*max(CM, RM/N)");
    let speedup = parsed("pieces(N, up to G: N, beyond: G)"); // 3.20, 3.21
    let efficiency = parsed("pieces(N, up to G: 1, beyond: G/N)");
    for n in 1..20 {
        let values = [("N", n), ("G", 8)];
        assert_eq!(exact(&speedup, &values), exact(&parsed("min(N, G)"), &values)); // 3.22: the limit is G
        assert_eq!(exact(&efficiency, &values) * Rational::from(n), exact(&speedup, &values));
        // The same from the times: with tasks of 8 against 1 of communication.
        let times = [("RM", 8), ("CM", 1), ("M", 100), ("N", n)];
        let one = exact(&parsed("RM*M"), &times);
        assert_eq!(one.checked_div(&exact(&time, &times)), Some(exact(&speedup, &values)));
    }
}

#[test]
fn amdahl_and_the_ray_tracer_are_formulas_of_the_same_kind() {
    let amdahl = parsed("N*(TS + TP)/(N*TS + TP)");
    let time = parsed("TS + TP/N");
    let values = [("TS", 1), ("TP", 9), ("N", 3)];
    assert_eq!(exact(&(time.substitute("N", &Formula::one()) / time), &values), exact(&amdahl, &values));
    // 4.2 is 3.14 with 4.1 tasks and 2.1 for the cost of a message.
    let general = parsed("RM*M/N + CM*M");
    let ray = parsed("R*X*Y/(a*b)/N + X*Y*(Lc/(a*b) + 1/F)");
    let tasks = parsed("X*Y/(a*b)");
    let message = parsed("Lc + MT/F").substitute("MT", &parsed("a*b"));
    let composed = general.substitute("RM", &Formula::symbol("R")).substitute("M", &tasks).substitute("CM", &message);
    assert_eq!(composed, ray);
}

#[test]
fn pamela_loops_become_sums_and_maxima() {
    // Sequence adds, parallel takes the largest, and shared resources add again: par(i=1,p) of a triangular loop.
    let sequential = parsed("sum(j=1..i, t)");
    let free = Formula::max_over("i", &Formula::one(), &Formula::symbol("p"), &sequential);
    let contended = Formula::sum("i", &Formula::one(), &Formula::symbol("p"), &sequential);
    let total = Formula::max_of([free, contended]);
    assert_eq!(total.to_string(), "p*t*max(1, 0.5*p + 0.5)");
    assert_eq!(total.refine(&sintonia_formula::Domain::at_least_one()).to_string(), "0.5*p^2*t + 0.5*p*t");
}

#[test]
fn mate_finds_the_best_number_of_workers() {
    let time = parsed("2*m0 + (((x - 1)*alpha + 1)*lambda*V + Tc)/x");
    let index = parsed("x*T^2/Tc").substitute("T", &time);
    let slope = index.derivative("x").expect("smooth");
    let at = |x: f64| {
        let values = [("m0", 1.0), ("alpha", 0.5), ("lambda", 0.001), ("V", 1e5), ("Tc", 1e4), ("x", x)].into();
        slope.evaluate(&values).expect("a value")
    };
    assert!(at(2.0) < 0.0 && at(2000.0) > 0.0);
}
