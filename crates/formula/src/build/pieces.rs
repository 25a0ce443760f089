//! Formulas that hold in pieces.

use crate::atom::{Atom, Kind, Piece};
use crate::formula::Formula;
use crate::sign;

/// The first piece whose bound is not below the variable. Pieces that are never reached go, and equal neighbours become one.
pub(crate) fn pieces(variable: &Formula, list: Vec<Piece>) -> Formula {
    let mut kept: Vec<Piece> = Vec::with_capacity(list.len());
    for piece in list {
        let before = kept.last().and_then(|last| last.up_to.as_ref());
        if is_skipped(variable, before, piece.up_to.as_ref()) {
            continue;
        }
        let holds = piece.up_to.as_ref().is_none_or(|bound| sign::is_at_least(bound, variable));
        if kept.last().is_some_and(|last| last.formula == piece.formula && !piece.formula.is_loose()) {
            kept.pop();
        }
        kept.push(if holds { Piece::beyond(piece.formula) } else { piece });
        if holds {
            break;
        }
    }
    match kept.as_slice() {
        [] => Formula::undefined(),
        [Piece { up_to: None, formula }] => formula.clone(),
        _ => Formula::from(Atom::new(Kind::Pieces(variable.clone(), kept))),
    }
}

/// Whether a piece never holds: its bound is not beyond the one before, or the variable is always beyond it.
fn is_skipped(variable: &Formula, before: Option<&Formula>, bound: Option<&Formula>) -> bool {
    let Some(bound) = bound else { return false };
    before.is_some_and(|before| sign::is_at_least(before, bound)) || sign::is_positive(&(variable - bound))
}
