//! Ranges split where a maximum or a piecewise formula switches.

use super::sum_with_splits;
use crate::atom::{Atom, AtomKind, Extremum, PiecewiseCase, SymbolId};
use crate::build::{self, IndexRange, product};
use crate::formula::{Formula, atom_contains};
use crate::monomial::PowerFactor;
use crate::rational::Rational;
use crate::sign;
use crate::substitute::{AtomRewriter, map_operands, rewrite};

/// Larger bodies are not searched.
const MAX_SIZE: u64 = 10_000;

/// The sum with one extremum or piecewise formula in the body resolved; `None` if there is none that can be.
pub(crate) fn split(range: &IndexRange, body: &Formula, splits: u32) -> Option<Formula> {
    if body.size() > MAX_SIZE {
        return None;
    }
    let (atom, resolution) = find_resolvable(range, body, &|atom, resolution| match resolution {
        SplitResolution::Everywhere(_) => true,
        // An empty part multiplies its body by zero, which must be defined then.
        SplitResolution::Cut { below, above, .. } => {
            splits > 0 && is_free_factor(body, &range.index, atom) && is_total(below) && is_total(above)
        }
    })?;
    let with = |by: &Formula| replace_atom(body, &range.index, &atom, by);
    Some(match resolution {
        SplitResolution::Everywhere(formula) => sum_with_splits(range, &with(&formula), splits),
        SplitResolution::Cut { at, below, above } => {
            let to = Formula::min_of([range.to.clone(), at.clone()]);
            let from = Formula::max_of([range.from.clone(), at + Formula::one()]);
            let lower = sum_with_splits(&range.subrange(range.from.clone(), to), &with(&below), splits - 1);
            let upper = sum_with_splits(&range.subrange(from, range.to.clone()), &with(&above), splits - 1);
            lower + upper
        }
    })
}

/// The first atom with an acceptable resolution. Atoms inside another fold may depend on its index and are left to it.
fn find_resolvable(
    range: &IndexRange,
    formula: &Formula,
    will_do: &impl Fn(&Atom, &SplitResolution) -> bool,
) -> Option<(Atom, SplitResolution)> {
    let atoms = formula.terms().flat_map(|(monomial, _)| monomial.factors()).map(|factor| &factor.atom);
    for atom in atoms.filter(|atom| atom_contains(atom, &range.index)) {
        if let Some(resolution) = resolve(range, atom).filter(|resolution| will_do(atom, resolution)) {
            return Some((atom.clone(), resolution));
        }
        let inside = match atom.kind() {
            AtomKind::Fold(fold) => vec![&fold.from, &fold.to],
            kind => kind.operands(),
        };
        if let Some(found) = inside.into_iter().find_map(|part| find_resolvable(range, part, will_do)) {
            return Some(found);
        }
    }
    None
}

/// Whether an atom occurs only as a factor, not as a divisor or inside another atom.
fn is_free_factor(body: &Formula, index: &SymbolId, atom: &Atom) -> bool {
    let factors = body.terms().flat_map(|(monomial, _)| monomial.factors());
    factors.filter(|factor| atom_contains(&factor.atom, index)).all(|factor| {
        let whole = factor.exponent.is_integer() && !factor.exponent.is_negative();
        if factor.atom == *atom { whole } else { !contains_atom(&factor.atom, atom) }
    })
}

fn contains_atom(outer: &Atom, inner: &Atom) -> bool {
    let parts = outer.kind().operands();
    parts
        .into_iter()
        .flat_map(Formula::terms)
        .flat_map(|(monomial, _)| monomial.factors())
        .any(|factor| factor.atom == *inner || contains_atom(&factor.atom, inner))
}

/// Whether a formula is defined for all values of its symbols.
fn is_total(formula: &Formula) -> bool {
    formula.terms().flat_map(|(monomial, _)| monomial.factors()).all(|factor| {
        let whole = factor.exponent.is_integer() && !factor.exponent.is_negative();
        let total = match factor.atom.kind() {
            AtomKind::Symbol(_) | AtomKind::Ln2 => true,
            AtomKind::Log2(_) | AtomKind::Fold(_) | AtomKind::TooDeep => false,
            AtomKind::Piecewise(_, pieces) if pieces.last().is_none_or(|last| last.up_to.is_some()) => false,
            AtomKind::Group(_) | AtomKind::Exp2(_) | AtomKind::Extremum(..) | AtomKind::Rounded(..) | AtomKind::Piecewise(..) => {
                factor.atom.kind().operands().into_iter().all(is_total)
            }
        };
        whole && total
    })
}

/// What an atom is on a range.
enum SplitResolution {
    /// The same formula on the whole range.
    Everywhere(Formula),
    /// One formula up to an index, another one beyond.
    Cut { at: Formula, below: Formula, above: Formula },
}

fn resolve(range: &IndexRange, atom: &Atom) -> Option<SplitResolution> {
    match atom.kind() {
        AtomKind::Extremum(side, entries) => resolve_extremum(range, *side, entries),
        AtomKind::Piecewise(variable, pieces) => resolve_piecewise(range, variable, pieces),
        _ => None,
    }
}

fn resolve_extremum(range: &IndexRange, side: Extremum, entries: &[Formula]) -> Option<SplitResolution> {
    let mut kept: Vec<&Formula> = Vec::new();
    for entry in entries {
        let beats = |a: &Formula, b: &Formula| match side {
            Extremum::Max => LinearInIndex::from_formula(&(a - b), &range.index).is_some_and(|line| line.is_nonnegative_on(range)),
            Extremum::Min => LinearInIndex::from_formula(&(b - a), &range.index).is_some_and(|line| line.is_nonnegative_on(range)),
        };
        if !kept.iter().any(|other| beats(other, entry)) {
            kept.retain(|other| !beats(entry, other));
            kept.push(entry);
        }
    }
    if kept.len() < entries.len() {
        return Some(SplitResolution::Everywhere(build::extremum(side, kept.into_iter().cloned().collect())));
    }
    let [a, b] = entries else { return None };
    let line = LinearInIndex::from_formula(&(a - b), &range.index)?;
    let rising = line.is_increasing()?;
    let at = floor_to_index(&line.root(), range)?;
    // Where the difference increases, the second entry is the larger one up to its root.
    let (below, above) = if rising == (side == Extremum::Max) { (b, a) } else { (a, b) };
    Some(SplitResolution::Cut { at, below: below.clone(), above: above.clone() })
}

fn resolve_piecewise(range: &IndexRange, variable: &Formula, pieces: &[PiecewiseCase]) -> Option<SplitResolution> {
    let (first, rest) = pieces.split_first()?;
    let Some(bound) = &first.up_to else { return Some(SplitResolution::Everywhere(first.formula.clone())) };
    let line = LinearInIndex::from_formula(&(bound - variable), &range.index)?;
    if line.is_nonnegative_on(range) {
        return Some(SplitResolution::Everywhere(first.formula.clone()));
    }
    let beyond = build::piecewise(variable, rest.to_vec());
    if rest.is_empty() || line.is_increasing()? {
        return None;
    }
    Some(SplitResolution::Cut { at: floor_to_index(&line.root(), range)?, below: first.formula.clone(), above: beyond })
}

/// A formula `slope*i + intercept`.
struct LinearInIndex {
    slope: Formula,
    intercept: Formula,
}

impl LinearInIndex {
    fn from_formula(formula: &Formula, index: &SymbolId) -> Option<LinearInIndex> {
        if formula.has_interval() {
            return None;
        }
        let atom = Atom::symbol(index.clone());
        let level = formula.substitute_symbol(index, &Formula::zero());
        let slope = product(&(formula - &level), &Formula::from(atom).power(-1));
        (!slope.contains(index) && !level.contains(index)).then_some(LinearInIndex { slope, intercept: level })
    }

    fn at(&self, index: &Formula) -> Formula {
        product(&self.slope, index) + &self.intercept
    }

    /// Linear forms have their extrema at the ends, and a nonempty range ends where it begins or later.
    fn is_nonnegative_on(&self, range: &IndexRange) -> bool {
        let (first, last) = (sign::is_nonnegative(&self.at(&range.from)), sign::is_nonnegative(&self.at(&range.to)));
        (first && (last || sign::is_nonnegative(&self.slope))) || (last && sign::is_nonnegative(&-&self.slope))
    }

    fn is_increasing(&self) -> Option<bool> {
        let slope = self.slope.as_exact()?;
        (!slope.is_zero()).then(|| !slope.is_negative())
    }

    fn root(&self) -> Formula {
        -&self.intercept / &self.slope
    }
}

/// The last index that is not beyond a value. Indexes are integers here, and so are the symbols in the bounds.
fn floor_to_index(value: &Formula, range: &IndexRange) -> Option<Formula> {
    let is_whole_symbol = |factor: &PowerFactor| match factor.atom.kind() {
        AtomKind::Symbol(symbol) => range.from.contains(symbol) || range.to.contains(symbol),
        AtomKind::Rounded(..) => true,
        _ => false,
    };
    let is_whole = |formula: &Formula| {
        formula.terms().all(|(monomial, coefficient)| {
            let powers = |factor: &PowerFactor| factor.exponent.is_integer() && !factor.exponent.is_negative() && is_whole_symbol(factor);
            coefficient.as_exact().is_some_and(Rational::is_integer) && monomial.factors().iter().all(powers)
        })
    };
    if !is_whole(&range.from) {
        return None;
    }
    Some(if is_whole(value) { value.clone() } else { value.floor() })
}

fn replace_atom(body: &Formula, index: &SymbolId, target: &Atom, by: &Formula) -> Formula {
    rewrite(body, &mut AtomSubstitution { index, target, by })
}

struct AtomSubstitution<'a> {
    index: &'a SymbolId,
    target: &'a Atom,
    by: &'a Formula,
}

impl AtomRewriter for AtomSubstitution<'_> {
    fn may_rewrite(&self, atom: &Atom) -> bool {
        atom_contains(atom, self.index)
    }

    fn rewrite_atom(&mut self, atom: &Atom) -> Formula {
        if atom == self.target {
            return self.by.clone();
        }
        map_operands(atom.kind(), |part| rewrite(part, self))
    }
}
