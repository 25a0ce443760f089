//! Expressions as plain trees with independent semantics.
//!
//! The crate simplifies while it builds. To check that it preserves the value, each test expression exists twice: as a formula, and as a
//! tree that is evaluated step by step in exact fractions, loops included.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sintonia_formula::{Formula, PiecewiseCase, Rational, SymbolValues};

/// An unsimplified expression.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Number(i64, i64),
    /// An unknown number between two others, in quarters: another one each time it is evaluated.
    Unknown(i64, i64),
    Symbol(&'static str),
    Add(Box<Tree>, Box<Tree>),
    Subtract(Box<Tree>, Box<Tree>),
    Multiply(Box<Tree>, Box<Tree>),
    Divide(Box<Tree>, Box<Tree>),
    Power(Box<Tree>, i64),
    Two(Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
    Min(Box<Tree>, Box<Tree>),
    Ceil(Box<Tree>),
    Floor(Box<Tree>),
    Sum(&'static str, Box<Tree>, Box<Tree>, Box<Tree>),
    MaxOver(&'static str, Box<Tree>, Box<Tree>, Box<Tree>),
    Pieces(Box<Tree>, Box<Tree>, Box<Tree>, Box<Tree>),
}
use Tree::*;

/// The number of cases of a property, on the same expressions every time unless more are requested. Failures are not persisted: they belong
/// into a named test.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let count = std::env::var("SINTONIA_CASES").ok().and_then(|times| times.parse::<u32>().ok()).map_or(count, |times| times * count);
    ProptestConfig { cases: count, failure_persistence: None, rng_seed: RngSeed::Fixed(count.into()), ..ProptestConfig::default() }
}

pub(crate) const SYMBOLS: [&str; 3] = ["n", "p", "t"];

pub(crate) fn rational(over: i64, under: i64) -> Rational {
    Rational::new(over, under).expect("a denominator that is not zero")
}

impl Tree {
    /// The formula that it is.
    pub(crate) fn formula(&self) -> Formula {
        let f = |tree: &Tree| tree.formula();
        match self {
            Number(over, under) => Formula::ratio(*over, *under),
            Unknown(low, high) => Formula::interval(*low as f64 / 4.0, *high as f64 / 4.0),
            Symbol(name) => Formula::symbol(name),
            Add(a, b) => f(a) + f(b),
            Subtract(a, b) => f(a) - f(b),
            Multiply(a, b) => f(a) * f(b),
            Divide(a, b) => f(a) / f(b),
            Power(a, k) => f(a).power(*k),
            Two(a) => Formula::integer(2).pow_formula(&f(a)),
            Max(a, b) => Formula::max_of([f(a), f(b)]),
            Min(a, b) => Formula::min_of([f(a), f(b)]),
            Ceil(a) => f(a).ceil(),
            Floor(a) => f(a).floor(),
            Sum(index, from, to, body) => Formula::sum(index, &f(from), &f(to), &f(body)),
            MaxOver(index, from, to, body) => Formula::max_over(index, &f(from), &f(to), &f(body)),
            Pieces(variable, bound, below, beyond) => {
                Formula::piecewise(&f(variable), [PiecewiseCase::up_to(f(bound), f(below)), PiecewiseCase::beyond(f(beyond))])
            }
        }
    }

    /// The value; `None` where it is undefined.
    pub(crate) fn value(&self, values: &SymbolValues<Rational>) -> Option<Rational> {
        let v = |tree: &Tree| tree.value(values);
        Some(match self {
            Number(over, under) => rational(*over, *under),
            Unknown(low, high) => rational(4 * low + picked(5) * (high - low), 16),
            Symbol(name) => values.get(name)?.clone(),
            Add(a, b) => v(a)? + v(b)?,
            Subtract(a, b) => v(a)? - v(b)?,
            Multiply(a, b) => v(a)? * v(b)?,
            Divide(a, b) => v(a)?.checked_div(&v(b)?)?,
            Power(a, k) => {
                let base = v(a)?;
                if base.is_zero() && *k < 0 {
                    return None;
                }
                base.power(*k)?
            }
            Two(a) => Rational::from(2).power(v(a)?.to_i64()?)?,
            Max(a, b) => v(a)?.max(v(b)?),
            Min(a, b) => v(a)?.min(v(b)?),
            Ceil(a) => v(a)?.ceil(),
            Floor(a) => v(a)?.floor(),
            Sum(index, from, to, body) => {
                steps(index, &v(from)?, &v(to)?, body, values)?.into_iter().fold(Rational::ZERO, |sum, value| sum + value)
            }
            MaxOver(index, from, to, body) => steps(index, &v(from)?, &v(to)?, body, values)?.into_iter().max()?,
            Pieces(variable, bound, below, beyond) => {
                // Both must be defined: a formula need not know which case applies to be undefined.
                let (below, beyond) = (v(below)?, v(beyond)?);
                if v(variable)? <= v(bound)? { below } else { beyond }
            }
        })
    }
}

thread_local! {
    static PICKS: Cell<u64> = const { Cell::new(1) };
}

/// Seeds the choice of unknown numbers.
pub(crate) fn pick_from(seed: u64) {
    PICKS.set(seed | 1);
}

/// The next pseudo-random number below a limit.
fn picked(limit: u64) -> i64 {
    let next = PICKS.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    PICKS.set(next);
    ((next >> 33) % limit) as i64
}

/// The values of a body for every index, one by one.
fn steps(index: &str, from: &Rational, to: &Rational, body: &Tree, values: &SymbolValues<Rational>) -> Option<Vec<Rational>> {
    let mut place = from.clone();
    let mut list = Vec::new();
    while place <= *to {
        list.push(body.value(&values.clone().with_value(index, place.clone()))?);
        place = place + Rational::ONE;
    }
    (list.len() < 200).then_some(list)
}

pub(crate) fn leaf(symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    prop_oneof![
        2 => (-6i64..=6, 1i64..=4).prop_map(|(over, under)| Number(over, under)),
        3 => prop::sample::select(symbols).prop_map(Symbol),
    ]
}

fn boxed(tree: Tree) -> Box<Tree> {
    Box::new(tree)
}

/// Sums, products and integer powers of numbers and the given symbols.
pub(crate) fn polynomial(symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    leaf(symbols).prop_recursive(4, 16, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| Add(boxed(a), boxed(b))),
            pair.clone().prop_map(|(a, b)| Subtract(boxed(a), boxed(b))),
            pair.prop_map(|(a, b)| Multiply(boxed(a), boxed(b))),
            (inner, 0i64..=3).prop_map(|(a, k)| Power(boxed(a), k)),
        ]
    })
}

/// Everything that has an exact value, without folds.
pub(crate) fn flat(symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    operations(leaf(symbols))
}

/// The same with interval coefficients.
pub(crate) fn loose(symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    let unknown = (-6i64..=8, 1i64..=6).prop_map(|(low, width)| Unknown(low, low + width));
    operations(prop_oneof![3 => leaf(symbols), 2 => unknown])
}

/// The same with sums and maxima over nonempty ranges, anywhere.
pub(crate) fn ranging(
    symbols: Vec<&'static str>,
    leaf: impl Strategy<Value = Tree> + Clone + 'static,
) -> impl Strategy<Value = Tree> + Clone {
    let mut inside = symbols;
    inside.extend(["i", "i"]);
    let body = operations(prop_oneof![2 => prop::sample::select(inside).prop_map(Symbol), 1 => leaf.clone()]);
    let to = prop_oneof![(1i64..=6).prop_map(|to| Number(to, 1)), Just(Add(boxed(Symbol("p")), boxed(Number(1, 1))))];
    let range = (0i64..=1, to, body, any::<bool>()).prop_map(|(from, to, body, adds)| {
        let (from, to, body) = (boxed(Number(from, 1)), boxed(to), boxed(body));
        if adds { Sum("i", from, to, body) } else { MaxOver("i", from, to, body) }
    });
    operations(prop_oneof![1 => leaf, 1 => range])
}

fn operations(leaf: impl Strategy<Value = Tree> + Clone + 'static) -> impl Strategy<Value = Tree> + Clone {
    leaf.prop_recursive(4, 14, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            2 => pair.clone().prop_map(|(a, b)| Add(boxed(a), boxed(b))),
            2 => pair.clone().prop_map(|(a, b)| Subtract(boxed(a), boxed(b))),
            2 => pair.clone().prop_map(|(a, b)| Multiply(boxed(a), boxed(b))),
            1 => pair.clone().prop_map(|(a, b)| Divide(boxed(a), boxed(b))),
            1 => (inner.clone(), -2i64..=3).prop_map(|(a, k)| Power(boxed(a), k)),
            1 => pair.clone().prop_map(|(a, b)| Max(boxed(a), boxed(b))),
            1 => pair.prop_map(|(a, b)| Min(boxed(a), boxed(b))),
            1 => inner.clone().prop_map(|a| Ceil(boxed(a))),
            1 => inner.clone().prop_map(|a| Floor(boxed(a))),
            1 => (inner.clone(), inner.clone(), inner.clone(), inner).prop_map(|(v, b, x, y)| Pieces(boxed(v), boxed(b), boxed(x), boxed(y))),
        ]
    })
}

/// Summands over an index: powers, geometric terms, step functions, kinks and piecewise formulas.
pub(crate) fn body(index: &'static str, symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    let mut all = symbols;
    all.extend([index, index, index]);
    let place = move || Symbol(index);
    leaf(all).prop_recursive(3, 10, 2, move |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| Add(boxed(a), boxed(b))),
            3 => pair.clone().prop_map(|(a, b)| Multiply(boxed(a), boxed(b))),
            1 => pair.clone().prop_map(|(a, b)| Subtract(boxed(a), boxed(b))),
            1 => inner.clone().prop_map(|a| Power(boxed(a), 2)),
            1 => (1i64..=2, 0i64..=2).prop_map(move |(a, b)| Two(boxed(Add(
                boxed(Multiply(boxed(Number(a, 1)), boxed(place()))),
                boxed(Number(b, 1))
            )))),
            1 => (-3i64..=3, 2i64..=4).prop_map(move |(a, b)| Floor(boxed(Divide(
                boxed(Add(boxed(place()), boxed(Number(a, 1)))),
                boxed(Number(b, 1))
            )))),
            1 => (2i64..=4).prop_map(move |b| Ceil(boxed(Divide(boxed(place()), boxed(Number(b, 1)))))),
            1 => pair.prop_map(|(a, b)| Max(boxed(a), boxed(b))),
            1 => (inner.clone(), inner, 0i64..=6).prop_map(move |(a, b, at)| Pieces(
                boxed(place()),
                boxed(Number(at, 1)),
                boxed(a),
                boxed(b)
            )),
        ]
    })
}

/// Summands that have a closed form for any bounds: the kinds that the specification names.
pub(crate) fn closed_body(index: &'static str) -> impl Strategy<Value = Tree> + Clone {
    let i = move || boxed(Symbol(index));
    let power = move |degree: i64| Power(i(), degree);
    let stairs = move |up: bool, falls: bool, offset: i64, width: i64| {
        let (place, offset) = (i(), boxed(Number(offset, 1)));
        let over = if falls { Subtract(offset, place) } else { Add(place, offset) };
        let inner = boxed(Divide(boxed(over), boxed(Number(width, 1))));
        if up { Ceil(inner) } else { Floor(inner) }
    };
    let line = move |slope: i64, level: i64| Add(boxed(Multiply(boxed(Number(slope, 1)), i())), boxed(Number(level, 1)));
    prop_oneof![
        (0i64..=8).prop_map(power),
        (0i64..=3, 1i64..=2, -2i64..=2).prop_map(move |(degree, rate, shift)| {
            let exponent = Add(boxed(Multiply(boxed(Number(rate, 1)), i())), boxed(Number(shift, 1)));
            Multiply(boxed(power(degree)), boxed(Two(boxed(exponent))))
        }),
        (0i64..=2).prop_map(move |degree| Multiply(boxed(power(degree)), boxed(Two(boxed(Multiply(boxed(Number(-1, 1)), i())))))),
        (any::<bool>(), any::<bool>(), -7i64..=7, 2i64..=5, 0i64..=2).prop_map(move |(up, falls, offset, width, degree)| {
            Multiply(boxed(power(degree)), boxed(stairs(up, falls, offset, width)))
        }),
        (1i64..=3, -3i64..=3, -8i64..=8, any::<bool>()).prop_map(move |(slope, other, level, max)| {
            let (a, b) = (boxed(line(slope, 0)), boxed(line(other, level)));
            if max { Max(a, b) } else { Min(a, b) }
        }),
        (0i64..=7, 0i64..=3, -4i64..=4)
            .prop_map(move |(at, degree, level)| { Pieces(i(), boxed(Number(at, 1)), boxed(power(degree)), boxed(line(2, level))) }),
    ]
}

/// A bound of a range: an integer symbol, a number, or their sum.
pub(crate) fn bound(symbols: Vec<&'static str>) -> impl Strategy<Value = Tree> + Clone {
    prop_oneof![
        (0i64..=5).prop_map(|value| Number(value, 1)),
        prop::sample::select(symbols.clone()).prop_map(Symbol),
        (prop::sample::select(symbols), -3i64..=3).prop_map(|(name, value)| Add(boxed(Symbol(name)), boxed(Number(value, 1)))),
    ]
}

/// A sum over one index, with a sum over another inside it.
pub(crate) fn nested_sum() -> impl Strategy<Value = Tree> {
    let inner = (0i64..=2, bound(vec!["n", "i", "i"]), body("j", vec!["i", "t"]))
        .prop_map(|(from, to, body)| Sum("j", boxed(Number(from, 1)), boxed(to), boxed(body)));
    (0i64..=2, bound(vec!["n", "p"]), inner, body("i", vec!["t"]))
        .prop_map(|(from, to, inner, body)| Sum("i", boxed(Number(from, 1)), boxed(to), boxed(Add(boxed(inner), boxed(body)))))
}

/// A sum over one index.
pub(crate) fn single_sum() -> impl Strategy<Value = Tree> {
    (bound(vec!["n", "p"]), bound(vec!["n", "p"]), body("i", vec!["t", "p"]))
        .prop_filter("indexes are not negative", |(from, ..)| !matches!(from, Add(_, b) if matches!(**b, Number(value, _) if value < 0)))
        .prop_map(|(from, to, body)| Sum("i", boxed(from), boxed(to), boxed(body)))
}

/// Nonnegative values of the symbols.
pub(crate) fn point() -> impl Strategy<Value = SymbolValues<Rational>> {
    prop::collection::vec((0i64..=20, 1i64..=5), SYMBOLS.len())
        .prop_map(|list| SYMBOLS.into_iter().zip(list.into_iter().map(|(over, under)| rational(over, under))).collect())
}

/// Integer values of the symbols.
pub(crate) fn whole_point() -> impl Strategy<Value = SymbolValues<Rational>> {
    prop::collection::vec(0i64..=9, SYMBOLS.len()).prop_map(|list| SYMBOLS.into_iter().zip(list.into_iter().map(Rational::from)).collect())
}

/// Formulas with everything in them: roots, logarithms, interval coefficients, folds without closed form.
pub(crate) fn wild() -> impl Strategy<Value = Formula> + Clone {
    let leaf = prop_oneof![
        3 => prop::sample::select(SYMBOLS.to_vec()).prop_map(Formula::symbol),
        2 => (1i64..=9, 1i64..=6).prop_map(|(over, under)| Formula::ratio(over, under)),
        1 => (-1e3f64..1e3).prop_map(Formula::decimal),
        1 => (0.1f64..2.0, 0.0f64..1.0).prop_map(|(low, width)| Formula::interval(low, low + width)),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| a + b),
            2 => pair.clone().prop_map(|(a, b)| a - b),
            3 => pair.clone().prop_map(|(a, b)| a * b),
            1 => pair.clone().prop_map(|(a, b)| a / b),
            1 => (inner.clone(), -3i64..=4, 1i64..=3).prop_map(|(a, over, under)| a.power(rational(over, under))),
            1 => pair.clone().prop_map(|(a, b)| a.pow_formula(&b)),
            1 => inner.clone().prop_map(|a| a.log2()),
            1 => inner.clone().prop_map(|a| a.ln()),
            1 => inner.clone().prop_map(|a| a.ceil()),
            1 => inner.clone().prop_map(|a| a.floor()),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(Formula::max_of),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(Formula::min_of),
            1 => pair.clone().prop_map(|(to, body)| {
                let index = Formula::symbol("i");
                Formula::sum("i", &Formula::one(), &to.ceil(), &(&index * body + (index + Formula::symbol("n")).sqrt()))
            }),
            1 => pair.clone().prop_map(|(to, body)| {
                let index = Formula::symbol("i");
                Formula::max_over("i", &Formula::one(), &to, &(&index * body - &index * &index))
            }),
            1 => (pair, 1i64..20, inner).prop_map(|((a, b), bound, variable)| {
                Formula::piecewise(&variable, [PiecewiseCase::up_to(Formula::integer(bound), a), PiecewiseCase::beyond(b)])
            }),
        ]
    })
}

/// Intervals around the values of a point, and a point inside them.
pub(crate) fn boxes() -> impl Strategy<Value = (SymbolValues<sintonia_formula::Interval>, SymbolValues<f64>)> {
    let one = (0.1f64..20.0, prop_oneof![Just(0.0), 0.0f64..5.0], 0.0f64..=1.0);
    prop::collection::vec(one, SYMBOLS.len()).prop_map(|list| {
        let mut ranges = SymbolValues::new();
        let mut point = SymbolValues::new();
        for (name, (low, width, share)) in SYMBOLS.into_iter().zip(list) {
            let high = low + width;
            ranges.set(name, sintonia_formula::Interval::new(low, high).expect("low is not above high"));
            point.set(name, (low + share * width).clamp(low, high));
        }
        (ranges, point)
    })
}
