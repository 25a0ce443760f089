//! Whole programs as formulas: loops add, parallel loops take the maximum, shared resources add again, costs are intervals.
//!
//! Each model is also evaluated loop by loop, once with every cost at its lower and once at its upper bound. Its formula must give those
//! bounds, and evaluation must not take longer for long loops.

use sintonia_formula::{Formula, Interval, SymbolValues};

/// Picks a cost between two bounds.
type Pick<'a> = &'a dyn Fn(f64, f64) -> f64;
/// Gives the value of a parameter.
type Value<'a> = &'a dyn Fn(&str) -> i64;

/// A model, values small enough for its loops, and its cost with the intervals `[low, high]` resolved by a function.
struct Model {
    what: &'static str,
    text: &'static str,
    values: &'static [(&'static str, f64)],
    cost: fn(Pick, Value) -> f64,
    /// Whether its formula is in closed form.
    closed: bool,
}

fn ceil(over: i64, under: i64) -> i64 {
    over.div_euclid(under) + i64::from(over.rem_euclid(under) > 0)
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

const MODELS: [Model; 14] = [
    Model {
        what: "blocks of a loop, one for each process",
        text: "max(i=0..p - 1, sum(j=1..ceil(n/p), [2, 3]))",
        values: &[("n", 1000.0), ("p", 48.0)],
        cost: |c, v| ceil(v("n"), v("p")) as f64 * c(2.0, 3.0),
        closed: true,
    },
    Model {
        what: "rows of a triangle, dealt in turn",
        text: "max(i=0..p - 1, sum(k=0..n/p - 1, (k*p + i + 1)*[2, 3]))",
        values: &[("n", 960.0), ("p", 48.0)],
        cost: |c, v| largest((0..v("p")).map(|i| (0..v("n") / v("p")).map(|k| (k * v("p") + i + 1) as f64 * c(2.0, 3.0)).sum())),
        closed: true,
    },
    Model {
        what: "work beside a shared resource",
        text: "max(max(i=1..p, [50, 60]*i), sum(i=1..p, [1, 2]*i))",
        values: &[("p", 80.0)],
        cost: |c, v| largest((1..=v("p")).map(|i| c(50.0, 60.0) * i as f64)).max((1..=v("p")).map(|i| c(1.0, 2.0) * i as f64).sum()),
        closed: true,
    },
    Model {
        what: "a tree in which messages halve",
        text: "sum(l=0..ceil(log2(p)) - 1, [10, 12] + [0.5, 0.6]*m/2^l)",
        values: &[("p", 48.0), ("m", 4096.0)],
        cost: |c, v| (0..6).map(|l| c(10.0, 12.0) + c(0.5, 0.6) * v("m") as f64 / f64::from(1 << l)).sum(),
        closed: true,
    },
    Model {
        what: "elimination: less and less rows, dealt among the processes",
        text: "sum(k=1..n - 1, max(i=1..p, ceil((n - k)/p)*[1, 2]) + [3, 4]*(n - k))",
        values: &[("n", 300.0), ("p", 7.0)],
        cost: |c, v| (1..v("n")).map(|k| ceil(v("n") - k, v("p")) as f64 * c(1.0, 2.0) + c(3.0, 4.0) * (v("n") - k) as f64).sum(),
        closed: false,
    },
    Model {
        what: "a pipeline that fills and empties",
        text: "max(i=1..p, sum(j=1..i, [1, 2]) + sum(k=1..n, [3, 4]) + (p - i)*[1, 2])",
        values: &[("n", 500.0), ("p", 16.0)],
        cost: |c, v| v("p") as f64 * c(1.0, 2.0) + v("n") as f64 * c(3.0, 4.0),
        closed: true,
    },
    Model {
        what: "a branch that is taken three times in four",
        text: "sum(i=1..n, 0.75*max([1, 2]*i, [300, 400]) + 0.25*[3, 4])",
        values: &[("n", 1000.0)],
        cost: |c, v| (1..=v("n")).map(|i| 0.75 * (c(1.0, 2.0) * i as f64).max(c(300.0, 400.0)) + 0.25 * c(3.0, 4.0)).sum(),
        closed: false,
    },
    Model {
        what: "a wave over the diagonals of a square",
        text: "sum(d=1..2*n - 1, ceil(min(d, 2*n - d)/p)*[2, 3])",
        values: &[("n", 300.0), ("p", 8.0)],
        cost: |c, v| (1..2 * v("n")).map(|d| ceil(d.min(2 * v("n") - d), v("p")) as f64 * c(2.0, 3.0)).sum(),
        closed: false,
    },
    Model {
        what: "tasks dealt by a master",
        text: "max(i=1..p, i*[1, 2] + sum(j=1..ceil((n - i + 1)/p), [7, 9]))",
        values: &[("n", 1000.0), ("p", 31.0)],
        cost: |c, v| largest((1..=v("p")).map(|i| i as f64 * c(1.0, 2.0) + ceil(v("n") - i + 1, v("p")) as f64 * c(7.0, 9.0))),
        closed: false,
    },
    Model {
        what: "four loops inside each other, with contention in every step",
        text: "sum(t=1..s, max(max(i=1..p, sum(j=1..n, sum(k=j..n, [1, 2]))), sum(i=1..p, [4, 5]*n)) + [6, 7])",
        values: &[("s", 10.0), ("p", 6.0), ("n", 40.0)],
        cost: |c, v| {
            let (n, p) = (v("n") as f64, v("p") as f64);
            v("s") as f64 * ((n * (n + 1.0) / 2.0 * c(1.0, 2.0)).max(p * n * c(4.0, 5.0)) + c(6.0, 7.0))
        },
        closed: true,
    },
    Model {
        what: "two kinds of computers, the faster with three times the work",
        text: "max(max(i=1..a, ceil(n/(a + 3*b))*[3, 4]), max(i=1..b, ceil(3*n/(a + 3*b))*[1, 2]))",
        values: &[("n", 1000.0), ("a", 8.0), ("b", 5.0)],
        cost: |c, v| {
            let all = v("a") + 3 * v("b");
            (ceil(v("n"), all) as f64 * c(3.0, 4.0)).max(ceil(3 * v("n"), all) as f64 * c(1.0, 2.0))
        },
        closed: true,
    },
    Model {
        what: "numbers tried as divisors up to the root",
        text: "sum(i=2..n, [1, 2]*(floor(sqrt(i)) - 1) + [3, 4])",
        values: &[("n", 5000.0)],
        cost: |c, v| (2..=v("n")).map(|i| c(1.0, 2.0) * ((i as f64).sqrt().floor() - 1.0) + c(3.0, 4.0)).sum(),
        closed: false,
    },
    Model {
        what: "blocks with what is left over, the largest of them",
        text: "max(i=0..p - 1, floor((i + 1)*n/p) - floor(i*n/p))*[2, 3]",
        values: &[("n", 1000.0), ("p", 48.0)],
        cost: |c, v| {
            let (n, p) = (v("n"), v("p"));
            largest((0..p).map(|i| ((i + 1) * n / p - i * n / p) as f64)) * c(2.0, 3.0)
        },
        closed: false,
    },
    Model {
        what: "a triangle of blocks, each as long as its larger side",
        text: "sum(i=1..n, sum(j=1..i, [1, 2]*max(i, 2*j)))",
        values: &[("n", 60.0)],
        cost: |c, v| (1..=v("n")).flat_map(|i| (1..=i).map(move |j| (i, j))).map(|(i, j)| c(1.0, 2.0) * i.max(2 * j) as f64).sum(),
        closed: false,
    },
];

fn parsed(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn enclosed(formula: &Formula, values: impl IntoIterator<Item = (&'static str, f64)>) -> Interval {
    let ranges: SymbolValues<Interval> = values.into_iter().map(|(name, value)| (name, Interval::point(value))).collect();
    formula.enclose(&ranges).unwrap_or_else(|error| panic!("{formula}: {error}"))
}

#[test]
fn models_have_the_ends_that_going_through_them_gives() {
    for model in &MODELS {
        let formula = parsed(model.text);
        let value = |name: &str| model.values.iter().find(|(known, _)| *known == name).expect("a value").1 as i64;
        let expected = [(model.cost)(&|low, _| low, &value), (model.cost)(&|_, high| high, &value)];
        let found = enclosed(&formula, model.values.iter().copied());
        for (found, expected) in [found.low(), found.high()].into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{}: {found} instead of {expected}: {formula}", model.what);
        }
    }
}

#[test]
fn models_without_ranges_that_need_a_search_are_closed() {
    for model in &MODELS {
        let text = parsed(model.text).to_string();
        let open = ["sum(", "max(i=", "max(k="].iter().any(|range| text.contains(range));
        assert_eq!(!open, model.closed, "{}: {text}", model.what);
    }
}

#[test]
fn long_loops_have_values_too() {
    for model in &MODELS {
        let formula = parsed(model.text);
        let large = model.values.iter().map(|(name, value)| (*name, if matches!(*name, "n" | "m" | "s") { value * 1e6 } else { *value }));
        let found = enclosed(&formula, large);
        assert!(found.low() > 0.0 && found.high() < 2.5 * found.low(), "{}: {found:?}: {formula}", model.what);
    }
}
