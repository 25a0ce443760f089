//! Sums that have a closed form once the values of their symbols are known.
//!
//! `sum(i=1..n, ceil(i/p))` has none for a symbolic `p`, but has one for `p = 16`: if all values are known exactly, the sum is built again
//! with them.

use super::Evaluator;
use crate::atom::{AtomKind, IndexedFold, SymbolId};
use crate::build;
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::rational::Rational;

impl Evaluator<'_> {
    /// The exact sum, if the body rounds its index and everything else is at a point.
    pub(super) fn sum_with_known_values(&mut self, fold: &IndexedFold, from: Interval, span: Interval) -> Option<Interval> {
        let mut rounds = false;
        let mut symbols: Vec<SymbolId> = Vec::new();
        fold.body.visit_atoms(&mut Default::default(), &mut |atom| match atom.kind() {
            AtomKind::Rounded(..) => rounds |= atom_contains(atom, &fold.index()),
            AtomKind::Symbol(symbol) if *symbol != fold.index() => symbols.push(symbol.clone()),
            _ => {}
        });
        let point = |value: Interval| Rational::from_f64_exact(value.low()).filter(|_| value.is_point());
        let (first, steps) = (point(from)?, point(span)?);
        if !rounds {
            return None;
        }
        let (index, mut body) = build::instantiate_body(fold);
        for symbol in symbols {
            // Indexes of inner folds have no value here and need none.
            if let Some(value) = self.symbol(&symbol).ok().and_then(point) {
                body = body.substitute_symbol(&symbol, &Formula::from_rational(value));
            }
        }
        let last = &first + &steps;
        let sum = build::fold(fold.op, &index, &fold.index_name.0, &Formula::from_rational(first), &Formula::from_rational(last), &body);
        sum.as_exact().map(Rational::to_interval)
    }
}
