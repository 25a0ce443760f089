//! Ranges split where a maximum or a piece changes hands.

use super::sum_split;
use crate::atom::{Atom, Extreme, Kind, Piece, Symbol};
use crate::build::{self, Range, product};
use crate::formula::{Formula, atom_contains};
use crate::monomial::Factor;
use crate::rational::Rational;
use crate::sign;
use crate::substitute::{Change, rebuilt, with_parts};

/// Larger bodies are not searched for something to resolve.
const MOST_SIZE: u64 = 10_000;

/// The sum with one maximum, minimum or list of pieces in the body resolved, or nothing when there is none that can be.
pub(crate) fn split(range: &Range, body: &Formula, splits: u32) -> Option<Formula> {
    if body.size() > MOST_SIZE {
        return None;
    }
    let (atom, resolution) = found(range, body, &|atom, resolution| match resolution {
        Resolution::Everywhere(_) => true,
        // An empty part multiplies its body by zero, which must not be undefined then.
        Resolution::Cut { below, above, .. } => splits > 0 && stands_free(body, &range.index, atom) && is_total(below) && is_total(above),
    })?;
    let with = |by: &Formula| replaced_atom(body, &range.index, &atom, by);
    Some(match resolution {
        Resolution::Everywhere(formula) => sum_split(range, &with(&formula), splits),
        Resolution::Cut { at, below, above } => {
            let to = Formula::min_of([range.to.clone(), at.clone()]);
            let from = Formula::max_of([range.from.clone(), at + Formula::one()]);
            let lower = sum_split(&range.part(range.from.clone(), to), &with(&below), splits - 1);
            let upper = sum_split(&range.part(from, range.to.clone()), &with(&above), splits - 1);
            lower + upper
        }
    })
}

/// The first atom that can be resolved in a way that will do. What is inside another range may depend on that range's index and is left to
/// it.
fn found(range: &Range, formula: &Formula, will_do: &impl Fn(&Atom, &Resolution) -> bool) -> Option<(Atom, Resolution)> {
    let atoms = formula.terms().flat_map(|(monomial, _)| monomial.factors()).map(|factor| &factor.atom);
    for atom in atoms.filter(|atom| atom_contains(atom, &range.index)) {
        if let Some(resolution) = resolved(range, atom).filter(|resolution| will_do(atom, resolution)) {
            return Some((atom.clone(), resolution));
        }
        let inside = match atom.kind() {
            Kind::Fold(fold) => vec![&fold.from, &fold.to],
            kind => kind.parts(),
        };
        if let Some(found) = inside.into_iter().find_map(|part| found(range, part, will_do)) {
            return Some(found);
        }
    }
    None
}

/// Whether an atom is only multiplied in a formula, not divided by nor inside anything else.
fn stands_free(body: &Formula, index: &Symbol, atom: &Atom) -> bool {
    let factors = body.terms().flat_map(|(monomial, _)| monomial.factors());
    factors.filter(|factor| atom_contains(&factor.atom, index)).all(|factor| {
        let whole = factor.exponent.is_whole() && !factor.exponent.is_negative();
        if factor.atom == *atom { whole } else { !holds(&factor.atom, atom) }
    })
}

/// Whether one atom is inside another.
fn holds(outer: &Atom, inner: &Atom) -> bool {
    let parts = outer.kind().parts();
    parts
        .into_iter()
        .flat_map(Formula::terms)
        .flat_map(|(monomial, _)| monomial.factors())
        .any(|factor| factor.atom == *inner || holds(&factor.atom, inner))
}

/// Whether a formula has a value wherever its symbols have one.
fn is_total(formula: &Formula) -> bool {
    formula.terms().flat_map(|(monomial, _)| monomial.factors()).all(|factor| {
        let whole = factor.exponent.is_whole() && !factor.exponent.is_negative();
        let total = match factor.atom.kind() {
            Kind::Symbol(_) | Kind::Ln2 => true,
            Kind::Log(_) | Kind::Fold(_) | Kind::TooDeep => false,
            Kind::Pieces(_, pieces) if pieces.last().is_none_or(|last| last.up_to.is_some()) => false,
            Kind::Group(_) | Kind::Exp(_) | Kind::Extreme(..) | Kind::Rounded(..) | Kind::Pieces(..) => {
                factor.atom.kind().parts().into_iter().all(is_total)
            }
        };
        whole && total
    })
}

/// What an atom is on a range.
enum Resolution {
    /// The same formula on the whole range.
    Everywhere(Formula),
    /// One formula up to an index, another beyond.
    Cut { at: Formula, below: Formula, above: Formula },
}

fn resolved(range: &Range, atom: &Atom) -> Option<Resolution> {
    match atom.kind() {
        Kind::Extreme(side, entries) => resolved_extreme(range, *side, entries),
        Kind::Pieces(variable, pieces) => resolved_pieces(range, variable, pieces),
        _ => None,
    }
}

fn resolved_extreme(range: &Range, side: Extreme, entries: &[Formula]) -> Option<Resolution> {
    let mut kept: Vec<&Formula> = Vec::new();
    for entry in entries {
        let beats = |a: &Formula, b: &Formula| match side {
            Extreme::Max => Line::of(&(a - b), &range.index).is_some_and(|line| line.is_nonnegative_on(range)),
            Extreme::Min => Line::of(&(b - a), &range.index).is_some_and(|line| line.is_nonnegative_on(range)),
        };
        if !kept.iter().any(|other| beats(other, entry)) {
            kept.retain(|other| !beats(entry, other));
            kept.push(entry);
        }
    }
    if kept.len() < entries.len() {
        return Some(Resolution::Everywhere(build::extreme(side, kept.into_iter().cloned().collect())));
    }
    let [a, b] = entries else { return None };
    let line = Line::of(&(a - b), &range.index)?;
    let rising = line.rises()?;
    let at = whole(&line.zero(), range)?;
    // Where the difference rises, the second entry is the larger one up to its zero.
    let (below, above) = if rising == (side == Extreme::Max) { (b, a) } else { (a, b) };
    Some(Resolution::Cut { at, below: below.clone(), above: above.clone() })
}

fn resolved_pieces(range: &Range, variable: &Formula, pieces: &[Piece]) -> Option<Resolution> {
    let (first, rest) = pieces.split_first()?;
    let Some(bound) = &first.up_to else { return Some(Resolution::Everywhere(first.formula.clone())) };
    let line = Line::of(&(bound - variable), &range.index)?;
    if line.is_nonnegative_on(range) {
        return Some(Resolution::Everywhere(first.formula.clone()));
    }
    let beyond = build::pieces(variable, rest.to_vec());
    if rest.is_empty() || line.rises()? {
        return None;
    }
    Some(Resolution::Cut { at: whole(&line.zero(), range)?, below: first.formula.clone(), above: beyond })
}

/// A formula `slope*i + level`.
struct Line {
    slope: Formula,
    level: Formula,
}

impl Line {
    fn of(formula: &Formula, index: &Symbol) -> Option<Line> {
        if formula.is_loose() {
            return None;
        }
        let atom = Atom::symbol(index.clone());
        let level = formula.replaced(index, &Formula::zero());
        let slope = product(&(formula - &level), &Formula::from(atom).power(-1));
        (!slope.contains(index) && !level.contains(index)).then_some(Line { slope, level })
    }

    fn at(&self, index: &Formula) -> Formula {
        product(&self.slope, index) + &self.level
    }

    /// Lines take their extremes at the ends, and a range that is not empty ends where it begins or later.
    fn is_nonnegative_on(&self, range: &Range) -> bool {
        let (first, last) = (sign::is_nonnegative(&self.at(&range.from)), sign::is_nonnegative(&self.at(&range.to)));
        (first && (last || sign::is_nonnegative(&self.slope))) || (last && sign::is_nonnegative(&-&self.slope))
    }

    /// Whether it rises or falls, where that is known.
    fn rises(&self) -> Option<bool> {
        let slope = self.slope.as_exact()?;
        (!slope.is_zero()).then(|| !slope.is_negative())
    }

    fn zero(&self) -> Formula {
        -&self.level / &self.slope
    }
}

/// The last index that is not beyond a value. Indexes are whole numbers here, and so are the symbols in the bounds.
fn whole(value: &Formula, range: &Range) -> Option<Formula> {
    let is_whole_symbol = |factor: &Factor| match factor.atom.kind() {
        Kind::Symbol(symbol) => range.from.contains(symbol) || range.to.contains(symbol),
        Kind::Rounded(..) => true,
        _ => false,
    };
    let is_whole = |formula: &Formula| {
        formula.terms().all(|(monomial, coefficient)| {
            let powers = |factor: &Factor| factor.exponent.is_whole() && !factor.exponent.is_negative() && is_whole_symbol(factor);
            coefficient.exact().is_some_and(Rational::is_whole) && monomial.factors().iter().all(powers)
        })
    };
    if !is_whole(&range.from) {
        return None;
    }
    Some(if is_whole(value) { value.clone() } else { value.floor() })
}

fn replaced_atom(body: &Formula, index: &Symbol, target: &Atom, by: &Formula) -> Formula {
    rebuilt(body, &mut Exchange { index, target, by })
}

struct Exchange<'a> {
    index: &'a Symbol,
    target: &'a Atom,
    by: &'a Formula,
}

impl Change for Exchange<'_> {
    fn concerns(&self, atom: &Atom) -> bool {
        atom_contains(atom, self.index)
    }

    fn atom(&mut self, atom: &Atom) -> Formula {
        if atom == self.target {
            return self.by.clone();
        }
        with_parts(atom.kind(), |part| rebuilt(part, self))
    }
}
