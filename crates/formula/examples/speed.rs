//! Times building, printing and evaluating formulas at sizes that show how the cost grows; for sums without a closed form also the width of
//! the enclosure.

use std::hint::black_box;
use std::time::Instant;

use sintonia_formula::{Domain, Formula, Interval, SymbolValues};

fn main() {
    println!("{:<44} {:>12} {:>12} {:>7}", "", "40 terms", "10000 terms", "each");
    let (few, many) = (terms(40), terms(10_000));
    row("build by adding", &mut || drop(black_box(terms(40))), &mut || drop(black_box(terms(10_000))));
    let (short, long) = (few.to_string(), many.to_string());
    row("parse", &mut || drop(black_box(Formula::parse(&short))), &mut || drop(black_box(Formula::parse(&long))));
    row("print", &mut || drop(black_box(few.to_string())), &mut || drop(black_box(many.to_string())));
    row("add another as long", &mut || drop(black_box(&few + &few)), &mut || drop(black_box(&many + &many)));
    let twice = Formula::symbol("q") * Formula::integer(2);
    row("multiply by a symbol", &mut || drop(black_box(&few * Formula::symbol("q"))), &mut || {
        drop(black_box(&many * Formula::symbol("q")))
    });
    row("substitute", &mut || drop(black_box(few.substitute("p", &twice))), &mut || drop(black_box(many.substitute("p", &twice))));
    row("derivative", &mut || drop(black_box(few.derivative("n"))), &mut || drop(black_box(many.derivative("n"))));
    let sum = |body: &Formula| Formula::sum("n", &Formula::one(), &Formula::symbol("m"), body);
    row("sum over n", &mut || drop(black_box(sum(&few))), &mut || drop(black_box(sum(&many))));
    row("root", &mut || drop(black_box(few.sqrt())), &mut || drop(black_box(many.sqrt())));
    let larger = |formula: &Formula| Formula::max_of([formula.clone(), formula + Formula::symbol("n") - Formula::symbol("p")]);
    row("max of two", &mut || drop(black_box(larger(&few))), &mut || drop(black_box(larger(&many))));
    row("max of as many", &mut || drop(black_box(largest(40))), &mut || drop(black_box(largest(10_000))));
    let (some, all) = (largest(40), largest(10_000));
    row("prune that by a domain", &mut || drop(black_box(some.refine(&Domain::at_least_one()))), &mut || {
        drop(black_box(all.refine(&Domain::at_least_one())))
    });
    let point: SymbolValues<f64> = [("n", 1000.0), ("p", 48.0)].into();
    row("evaluate", &mut || drop(black_box(few.evaluate(&point))), &mut || drop(black_box(many.evaluate(&point))));
    let ranges: SymbolValues<Interval> = [("n", Interval::new(1000.0, 1100.0).expect("ordered")), ("p", Interval::point(48.0))].into();
    row("enclose in a box", &mut || drop(black_box(few.enclose(&ranges))), &mut || drop(black_box(many.enclose(&ranges))));
    row("compile", &mut || drop(black_box(few.compile(&["n", "p"]))), &mut || drop(black_box(many.compile(&["n", "p"]))));
    let (fast, large) = (few.compile(&["n", "p"]).expect("both are there"), many.compile(&["n", "p"]).expect("both are there"));
    row(
        "evaluate compiled",
        &mut || {
            black_box(fast.eval(&[1000.0, 48.0]));
        },
        &mut || {
            black_box(large.eval(&[1000.0, 48.0]));
        },
    );
    println!("\n{:<52} {:>9} {:>12}", "n = 1e9, m = 1000, p = 48, r = 0.999", "width", "time");
    for text in [
        "sum(i=1..n, sqrt(i))",
        "sum(i=1..n, log2(i)*sqrt(i + 3))",
        "sum(i=1..n, ceil(log2(i)))",
        "sum(i=1..n, ceil((n - i)/p))",
        "sum(i=1..n, floor(sqrt(i)))",
        "sum(i=1..n, i^2*r^i)",
        "max(i=1..n, i*sqrt(n - i))",
        "sum(i=1..n, max(t*i, 1e9))",
        "sum(i=1..n, max(i=1..p, i*sqrt(n) - i^2))",
        "sum(i=1..m, sum(j=i..m, sqrt(i + j)))",
        "sum(i=1..n, sum(j=i..n, sqrt(i + j)))",
    ] {
        enclosed(text);
    }
}

fn enclosed(text: &str) {
    let formula = Formula::parse(text).expect("a formula");
    let values = [("n", 1e9), ("m", 1e3), ("p", 48.0), ("r", 0.999), ("t", 3.0)];
    let values = values.into_iter().map(|(name, value)| (name, Interval::point(value))).collect();
    let mut width = f64::NAN;
    let time = seconds(&mut || {
        let value = formula.enclose(&values).expect("defined");
        width = value.width() / value.magnitude();
    });
    println!("{text:<52} {width:>9.0e} {:>9.2} ms", time * 1e3);
}

/// A sum of `count` different terms in `n` and `p`, of the kinds that fits produce.
fn terms(count: i64) -> Formula {
    let (n, p) = (Formula::symbol("n"), Formula::symbol("p"));
    let mut sum = Formula::zero();
    for k in 0..count {
        let power = |symbol: &Formula, over: i64| symbol.power(sintonia_formula::Rational::new(over, 2).expect("two is not zero"));
        let logarithm = if k % 3 == 0 { p.log2() } else { Formula::one() };
        sum += Formula::decimal(1.2345e-6 * (k + 1) as f64) * power(&n, k % 100) * power(&p, k / 100 - 20) * logarithm;
    }
    sum
}

/// The maximum of `count` formulas, none of which dominates another.
fn largest(count: i64) -> Formula {
    let entry = |k: i64| Formula::integer(k + 1) * Formula::symbol("n") + Formula::integer(count - k) * Formula::symbol(&format!("x{k}"));
    Formula::max_of((0..count).map(entry))
}

fn row(what: &str, few: &mut dyn FnMut(), many: &mut dyn FnMut()) {
    let (few, many) = (seconds(few), seconds(many));
    println!("{what:<44} {:>9.1} us {:>9.1} us {:>6.1}x", few * 1e6, many * 1e6, many / few / 250.0);
}

/// The minimum over several runs.
fn seconds(work: &mut dyn FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let all = Instant::now();
    while all.elapsed().as_secs_f64() < 0.2 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
