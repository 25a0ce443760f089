//! Sums that have a closed form once the values of their symbols are known.
//!
//! `sum(i=1..n, ceil(i/p))` has none for every `p`, but has one for `p = 16`: with all values known exactly, the sum is built once more.

use super::Evaluation;
use crate::atom::{Fold, Kind, Symbol};
use crate::build;
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::rational::Rational;

impl Evaluation<'_> {
    /// The exact sum, if the body rounds its index and everything else in the sum stands at a point.
    pub(super) fn specialised(&mut self, fold: &Fold, from: Interval, span: Interval) -> Option<Interval> {
        let mut rounds = false;
        let mut symbols: Vec<Symbol> = Vec::new();
        fold.body.visit(&mut Default::default(), &mut |atom| match atom.kind() {
            Kind::Rounded(..) => rounds |= atom_contains(atom, &fold.index()),
            Kind::Symbol(symbol) if *symbol != fold.index() => symbols.push(symbol.clone()),
            _ => {}
        });
        let point = |value: Interval| Rational::exactly(value.low()).filter(|_| value.is_point());
        let (first, steps) = (point(from)?, point(span)?);
        if !rounds {
            return None;
        }
        let (index, mut body) = build::opened(fold);
        for symbol in symbols {
            // Indexes of ranges inside have no value from outside, and need none.
            if let Some(value) = self.symbol(&symbol).ok().and_then(point) {
                body = body.replaced(&symbol, &Formula::exact(value));
            }
        }
        let last = &first + &steps;
        let sum = build::fold(fold.how, &index, &fold.hint.0, &Formula::exact(first), &Formula::exact(last), &body);
        sum.as_exact().map(Rational::enclosing)
    }
}
