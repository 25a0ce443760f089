//! Ranges: something done with the values of a body for every index.

use crate::atom::{Atom, Fold, Hint, How, Kind, Symbol};
use crate::formula::Formula;
use crate::rational::Rational;
use crate::{peak, sign, sum};

/// The sum or extreme of a body over a range, in closed form where there is one.
pub(crate) fn fold(how: How, index: &Symbol, hint: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
    let range = Range { index: index.clone(), hint: hint.into(), from: from.clone(), to: to.clone() };
    match how {
        How::Sum => sum::sum(&range, body),
        How::Extreme(side) => peak::extreme_over(side, &range, body),
    }
}

/// An index and where it runs.
#[derive(Clone)]
pub(crate) struct Range {
    pub(crate) index: Symbol,
    pub(crate) hint: std::sync::Arc<str>,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
}

impl Range {
    /// The range kept as an atom, its index numbered by the ranges inside it so that its name does not matter.
    pub(crate) fn kept(&self, how: How, body: &Formula) -> Formula {
        let level = body.facts().level + 1;
        let body = body.replaced(&self.index, &Formula::from(Symbol::Index(level)));
        let fold = Fold { how, hint: Hint(self.hint.clone()), level, from: self.from.clone(), to: self.to.clone(), body };
        Formula::from(Atom::new(Kind::Fold(fold)))
    }

    /// Whether a formula is shown to be nowhere negative on the range, seen from either of its ends.
    pub(crate) fn keeps_nonnegative(&self, formula: &Formula) -> bool {
        let steps = Formula::from(Symbol::fresh());
        let seen_from = |end: Formula| sign::is_nonnegative(&formula.replaced(&self.index, &end));
        sign::is_nonnegative(formula) || seen_from(&self.from + &steps) || seen_from(&self.to - &steps)
    }

    /// Whether a formula is shown to stay on one side of zero.
    pub(crate) fn keeps_one_sign(&self, formula: &Formula) -> bool {
        self.keeps_nonnegative(formula) || self.keeps_nonnegative(&-formula)
    }

    /// How many steps there are from the first index to the last, where that is a number; negative if there is no index.
    pub(crate) fn steps(&self) -> Option<Rational> {
        (&self.to - &self.from).as_exact().map(Rational::floor)
    }

    /// The range up to its last index, where the number of steps is known.
    pub(crate) fn whole(&self) -> Range {
        match self.steps() {
            Some(steps) => self.part(self.from.clone(), &self.from + Formula::exact(steps)),
            None => self.clone(),
        }
    }

    /// The same index over a part of the range.
    pub(crate) fn part(&self, from: Formula, to: Formula) -> Range {
        Range { from, to, ..self.clone() }
    }
}

/// The body of a range with a new symbol for its index, so that it can be worked on like any formula.
pub(crate) fn opened(fold: &Fold) -> (Symbol, Formula) {
    let symbol = Symbol::fresh();
    let body = fold.body.replaced(&fold.index(), &Formula::from(symbol.clone()));
    (symbol, body)
}
