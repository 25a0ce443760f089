//! Folds: the values of a body, combined over an index range.

use crate::atom::{Atom, AtomKind, FoldOp, IndexName, IndexedFold, SymbolId};
use crate::formula::Formula;
use crate::rational::Rational;
use crate::{fold_extremum, sign, sum};

/// The sum or extremum of a body over a range, in closed form where there is one.
pub(crate) fn fold(op: FoldOp, index: &SymbolId, index_name: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
    let range = IndexRange { index: index.clone(), index_name: index_name.into(), from: from.clone(), to: to.clone() };
    match op {
        FoldOp::Sum => sum::sum(&range, body),
        FoldOp::Extremum(side) => fold_extremum::extremum_over(side, &range, body),
    }
}

/// An index and its bounds.
#[derive(Clone)]
pub(crate) struct IndexRange {
    pub(crate) index: SymbolId,
    pub(crate) index_name: std::sync::Arc<str>,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
}

impl IndexRange {
    /// The fold as an atom. Its index is numbered by the folds inside it, so that its name does not matter.
    pub(crate) fn unevaluated(&self, op: FoldOp, body: &Formula) -> Formula {
        let level = body.attributes().level + 1;
        let body = body.substitute_symbol(&self.index, &Formula::from(SymbolId::BoundIndex(level)));
        let fold =
            IndexedFold { op, index_name: IndexName(self.index_name.clone()), level, from: self.from.clone(), to: self.to.clone(), body };
        Formula::from(Atom::new(AtomKind::Fold(fold)))
    }

    /// Whether a formula is provably nonnegative on the range, substituting from either end.
    pub(crate) fn is_nonnegative_on(&self, formula: &Formula) -> bool {
        let steps = Formula::from(SymbolId::fresh());
        let seen_from = |end: Formula| sign::is_nonnegative(&formula.substitute_symbol(&self.index, &end));
        sign::is_nonnegative(formula) || seen_from(&self.from + &steps) || seen_from(&self.to - &steps)
    }

    /// Whether a formula provably does not change sign on the range.
    pub(crate) fn has_constant_sign_on(&self, formula: &Formula) -> bool {
        self.is_nonnegative_on(formula) || self.is_nonnegative_on(&-formula)
    }

    /// The number of steps from the first index to the last, if it is a number; negative for an empty range.
    pub(crate) fn step_count(&self) -> Option<Rational> {
        (&self.to - &self.from).as_exact().map(Rational::floor)
    }

    /// The range ending exactly at its last index, if the number of steps is known.
    pub(crate) fn up_to_last_index(&self) -> IndexRange {
        match self.step_count() {
            Some(steps) => self.subrange(self.from.clone(), &self.from + Formula::from_rational(steps)),
            None => self.clone(),
        }
    }

    /// The same index over part of the range.
    pub(crate) fn subrange(&self, from: Formula, to: Formula) -> IndexRange {
        IndexRange { from, to, ..self.clone() }
    }
}

/// The body of a fold with a fresh symbol for its index, so that it can be handled like any formula.
pub(crate) fn instantiate_body(fold: &IndexedFold) -> (SymbolId, Formula) {
    let symbol = SymbolId::fresh();
    let body = fold.body.substitute_symbol(&fold.index(), &Formula::from(symbol.clone()));
    (symbol, body)
}
