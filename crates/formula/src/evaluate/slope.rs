//! Enclosures narrowed by monotonicity.
//!
//! Interval arithmetic loses the dependency between the `n` in `n^2` and the `n` in `-n`. Where a formula is monotonic in a symbol, its
//! extrema are at the ends of the symbol's interval, and there the symbol is one number. Jumps and kinks have slopes here, too: only their
//! direction matters.

use super::{EvaluationError, Evaluator, MIN_CACHED_SIZE, power, raise};
use crate::atom::{Atom, AtomKind, Extremum, FoldOp, IndexedFold, SymbolId};
use crate::display::base_and_exponent;
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::monomial::PowerFactor;
use crate::rational::Rational;
use crate::values::SymbolValues;

/// With more symbols in wide intervals, narrowing is not tried.
const MAX_SYMBOLS: usize = 12;

/// A formula's enclosure, narrowed where it is monotonic; otherwise by subdividing the box.
pub(super) fn enclose(formula: &Formula, values: &SymbolValues<Interval>) -> Result<Interval, EvaluationError> {
    let names = wide_symbols(formula, values);
    let NarrowedEnclosure { enclosure, undecided } = narrow(formula, values, &names, eval_box(formula, values)?);
    let parts = match undecided.len() {
        1 => 8,
        2 => 4,
        _ => return Ok(enclosure),
    };
    let over_parts = subdivide(values, &undecided, parts).into_iter().try_fold(None, |hull: Option<Interval>, part| {
        let here = eval_box(formula, &part).map(|natural| narrow(formula, &part, &names, natural).enclosure);
        match (here, hull) {
            (Ok(here), Some(hull)) => Ok(Some(hull.hull(here))),
            (Ok(here), None) => Ok(Some(here)),
            (Err(EvaluationError::Symbol(name)), _) => Err(EvaluationError::Symbol(name)),
            // Undefined on this part: ignored.
            (Err(_), hull) => Ok(hull),
        }
    })?;
    Ok(over_parts.and_then(|parts| parts.intersection(enclosure)).unwrap_or(enclosure))
}

/// The same without subdivision.
pub(crate) fn enclose_without_subdivision(formula: &Formula, values: &SymbolValues<Interval>) -> Result<Interval, EvaluationError> {
    Ok(narrow(formula, values, &wide_symbols(formula, values), eval_box(formula, values)?).enclosure)
}

/// The symbols in wide intervals; none if there are too many of them.
fn wide_symbols(formula: &Formula, values: &SymbolValues<Interval>) -> Vec<String> {
    let wide: Vec<String> = formula.symbols().into_iter().filter(|name| values.get(name).is_some_and(|value| !value.is_point())).collect();
    if wide.len() > MAX_SYMBOLS { Vec::new() } else { wide }
}

fn eval_box(formula: &Formula, values: &SymbolValues<Interval>) -> Result<Interval, EvaluationError> {
    Evaluator::new(&|symbol: &str| values.get(symbol).copied(), false).formula(formula)
}

/// The box subdivided along some symbols; unbounded ones are not subdivided.
fn subdivide(values: &SymbolValues<Interval>, names: &[String], parts: usize) -> Vec<SymbolValues<Interval>> {
    names.iter().fold(vec![values.clone()], |list, name| {
        let divided = list.iter().flat_map(|one| {
            let whole = one.get(name).copied().unwrap_or(Interval::ALL);
            let cut = |share: usize| whole.low() + whole.width() * share as f64 / parts as f64;
            let mut cuts: Vec<f64> = (1..parts).map(cut).filter(|cut| *cut > whole.low() && *cut < whole.high()).collect();
            cuts.push(whole.high());
            let lows = std::iter::once(whole.low()).chain(cuts.clone());
            lows.zip(cuts.clone()).map(|(low, high)| one.clone().with_value(name, Interval::from_bounds(low, high))).collect::<Vec<_>>()
        });
        divided.collect()
    })
}

/// An enclosure, and the symbols in which the formula is not known to be monotonic.
struct NarrowedEnclosure {
    enclosure: Interval,
    undecided: Vec<String>,
}

/// The enclosure narrowed by evaluating the formula at the ends of the symbols in which it is monotonic.
fn narrow(formula: &Formula, values: &SymbolValues<Interval>, names: &[String], natural: Interval) -> NarrowedEnclosure {
    let (mut lowest, mut highest, mut undecided) = (values.clone(), values.clone(), Vec::new());
    for name in names {
        let Some(value) = values.get(name) else { continue };
        let lookup = |symbol: &str| values.get(symbol).copied();
        let slope = Evaluator::new(&lookup, false).dual(formula, &SymbolId::named(name)).map(|dual| dual.slope);
        let ends = match slope {
            Some(slope) if slope.low() >= 0.0 => [value.low(), value.high()],
            Some(slope) if slope.high() <= 0.0 => [value.high(), value.low()],
            _ => {
                undecided.push(name.clone());
                continue;
            }
        };
        // A formula cannot be evaluated at an infinite end.
        if ends.iter().all(|end| end.is_finite()) {
            lowest.set(name, Interval::point(ends[0]));
            highest.set(name, Interval::point(ends[1]));
        }
    }
    if undecided.len() == names.len() {
        return NarrowedEnclosure { enclosure: natural, undecided };
    }
    let enclosure = match (eval_box(formula, &lowest), eval_box(formula, &highest)) {
        (Ok(low), Ok(high)) => Interval::new(natural.low().max(low.low()), natural.high().min(high.high())).unwrap_or(natural),
        _ => natural,
    };
    NarrowedEnclosure { enclosure, undecided }
}

/// The enclosures of value and derivative (a dual number) over the interval of a symbol.
#[derive(Clone, Copy)]
pub(super) struct DualInterval {
    value: Interval,
    slope: Interval,
}

impl DualInterval {
    fn times(self, other: DualInterval) -> DualInterval {
        DualInterval { value: self.value * other.value, slope: self.value * other.slope + self.slope * other.value }
    }

    /// The sign of a slope without its magnitude.
    fn direction(slope: Interval) -> Option<Interval> {
        if slope.low() >= 0.0 {
            Some(if slope.high() == 0.0 { Interval::ZERO } else { Interval::NONNEGATIVE })
        } else {
            (slope.high() <= 0.0).then_some(-Interval::NONNEGATIVE)
        }
    }
}

impl Evaluator<'_> {
    fn dual(&mut self, formula: &Formula, symbol: &SymbolId) -> Option<DualInterval> {
        let mut sum = DualInterval { value: Interval::ZERO, slope: Interval::ZERO };
        for (monomial, coefficient) in formula.terms() {
            let mut term = DualInterval { value: self.number(coefficient), slope: Interval::ZERO };
            for factor in monomial.factors() {
                term = term.times(self.dual_of_power(factor, symbol)?);
            }
            sum = DualInterval { value: sum.value + term.value, slope: sum.slope + term.slope };
        }
        Some(sum)
    }

    fn dual_of_power(&mut self, factor: &PowerFactor, symbol: &SymbolId) -> Option<DualInterval> {
        let signed = |value: Interval| if factor.exponent.is_negative() { Interval::ONE / value } else { value };
        let value = signed(self.power(factor).ok()?);
        if !atom_contains(&factor.atom, symbol) {
            return Some(DualInterval { value, slope: Interval::ZERO });
        }
        let base = self.dual_of_atom(&factor.atom, symbol)?;
        if factor.exponent.is_one() {
            return Some(base);
        }
        // Across a pole the value jumps between the infinities, whatever the slope beside it.
        if factor.exponent.is_negative() && base.value.low() < 0.0 && base.value.high() > 0.0 {
            return None;
        }
        let lower = raise(base.value, &(&factor.exponent - &Rational::ONE), factor.atom.attributes().has_interval)?;
        Some(DualInterval { value, slope: factor.exponent.to_interval() * lower * base.slope })
    }

    fn dual_of_atom(&mut self, atom: &Atom, symbol: &SymbolId) -> Option<DualInterval> {
        if atom.attributes().size < MIN_CACHED_SIZE {
            return self.compute_dual_of_atom(atom, symbol);
        }
        if let Some((_, known)) = self.dual_cache.get(&atom.address()) {
            return *known;
        }
        let dual = self.compute_dual_of_atom(atom, symbol);
        self.dual_cache.insert(atom.address(), (atom.clone(), dual));
        dual
    }

    fn compute_dual_of_atom(&mut self, atom: &Atom, symbol: &SymbolId) -> Option<DualInterval> {
        let value = self.atom(atom).ok()?;
        let ln2 = Interval::point(2.0).ln()?;
        let slope = match atom.kind() {
            AtomKind::Symbol(_) => Interval::ONE,
            AtomKind::Ln2 | AtomKind::TooDeep => Interval::ZERO,
            AtomKind::Group(inner) => self.dual(inner, symbol)?.slope,
            AtomKind::Log2(inner) => {
                let inner = self.dual(inner, symbol)?;
                inner.slope / (inner.value.max(Interval::ZERO) * ln2)
            }
            AtomKind::Exp2(inner) => self.slope_of_exponential(inner, symbol)?,
            AtomKind::Extremum(side, entries) => self.slope_of_extremum(*side, entries, symbol)?,
            AtomKind::Rounded(_, inner) => DualInterval::direction(self.dual(inner, symbol)?.slope)?,
            AtomKind::Fold(fold) => self.slope_of_fold(fold, symbol)?,
            AtomKind::Piecewise(..) => return None,
        };
        Some(DualInterval { value, slope })
    }

    fn slope_of_exponential(&mut self, inner: &Formula, symbol: &SymbolId) -> Option<Interval> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let (base, exponent) = (self.dual(&base, symbol)?, self.dual(&exponent, symbol)?);
        let value = power(base.value, exponent.value);
        let by_exponent = value * base.value.ln()? * exponent.slope;
        Some(by_exponent + value * exponent.value * base.slope / base.value)
    }

    /// The slopes of all entries that can be the extremum.
    fn slope_of_extremum(&mut self, side: Extremum, entries: &[Formula], symbol: &SymbolId) -> Option<Interval> {
        let duals = entries.iter().map(|entry| self.dual(entry, symbol)).collect::<Option<Vec<_>>>()?;
        let beaten = |a: &DualInterval| match side {
            Extremum::Max => duals.iter().any(|b| b.value.low() > a.value.high()),
            Extremum::Min => duals.iter().any(|b| b.value.high() < a.value.low()),
        };
        duals.iter().filter(|dual| !beaten(dual)).map(|dual| dual.slope).reduce(Interval::hull)
    }

    /// The slope of a sum: that of its body for every index, plus the movement of its bounds times the body there.
    fn slope_of_fold(&mut self, fold: &IndexedFold, symbol: &SymbolId) -> Option<Interval> {
        let (from, to) = (self.dual(&fold.from, symbol)?, self.dual(&fold.to, symbol)?);
        let indexes = Interval::from_bounds(from.value.low(), to.value.high().max(from.value.low()));
        self.bound_symbols.push((fold.index(), indexes));
        let outside = (std::mem::take(&mut self.cache), std::mem::take(&mut self.dual_cache));
        let body = self.dual(&fold.body, symbol);
        (self.cache, self.dual_cache) = outside;
        self.bound_symbols.pop();
        let body = body?;
        if fold.op != FoldOp::Sum {
            return (!fold.from.contains(symbol) && !fold.to.contains(symbol)).then(|| DualInterval::direction(body.slope)).flatten();
        }
        let ends = DualInterval::direction(body.value * to.slope)? + DualInterval::direction(-(body.value * from.slope))?;
        Some(DualInterval::direction(body.slope)? + ends)
    }
}
