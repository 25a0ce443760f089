//! Piecewise formulas.

use crate::atom::{Atom, AtomKind, PiecewiseCase};
use crate::formula::Formula;
use crate::sign;

/// The first case whose bound is not below the variable. Unreachable cases are dropped, and equal neighbours are merged.
pub(crate) fn piecewise(variable: &Formula, list: Vec<PiecewiseCase>) -> Formula {
    let mut kept: Vec<PiecewiseCase> = Vec::with_capacity(list.len());
    for piece in list {
        let before = kept.last().and_then(|last| last.up_to.as_ref());
        if is_unreachable(variable, before, piece.up_to.as_ref()) {
            continue;
        }
        let holds = piece.up_to.as_ref().is_none_or(|bound| sign::is_at_least(bound, variable));
        if kept.last().is_some_and(|last| last.formula == piece.formula && !piece.formula.has_interval()) {
            kept.pop();
        }
        kept.push(if holds { PiecewiseCase::beyond(piece.formula) } else { piece });
        if holds {
            break;
        }
    }
    match kept.as_slice() {
        [] => Formula::undefined(),
        [PiecewiseCase { up_to: None, formula }] => formula.clone(),
        _ => Formula::from(Atom::new(AtomKind::Piecewise(variable.clone(), kept))),
    }
}

/// Whether a case never applies: its bound is not above the one before, or the variable is always above it.
fn is_unreachable(variable: &Formula, before: Option<&Formula>, bound: Option<&Formula>) -> bool {
    let Some(bound) = bound else { return false };
    before.is_some_and(|before| sign::is_at_least(before, bound)) || sign::is_positive(&(variable - bound))
}
