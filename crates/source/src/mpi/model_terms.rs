//! Construction of model terms.

use sintonia_pamela::model::{LoopOrder, ModelTerm};

use super::role::ProcessRole;
use crate::analysis::term_builder::{TermBuilder, is_empty_term, substitute_symbol};

/// A sequence of terms, without empty ones.
pub(super) fn sequence(terms: impl IntoIterator<Item = ModelTerm>) -> ModelTerm {
    let mut ledger = TermBuilder::default();
    terms.into_iter().filter(|term| !is_empty_term(term)).for_each(|term| ledger.push(term));
    ledger.into_term()
}

/// Parallel terms, without empty ones.
pub(super) fn parallel(mut terms: Vec<ModelTerm>) -> ModelTerm {
    terms.retain(|term| !is_empty_term(term));
    match terms.len() {
        0 => ModelTerm::Sequence(Vec::new()),
        1 => terms.remove(0),
        _ => ModelTerm::Parallel(terms),
    }
}

/// The term of all processes of a role.
pub(super) fn for_role(role: &ProcessRole, order: LoopOrder, body: ModelTerm) -> ModelTerm {
    if is_empty_term(&body) || role.computer() != role.index {
        return body;
    }
    ModelTerm::Loop { order, index: role.index.clone(), from: role.low.clone(), to: role.high.clone(), body: Box::new(body) }
}

/// The term on the computer of a role with a single, constant rank.
pub(super) fn on_role_computer(term: ModelTerm, role: &ProcessRole) -> ModelTerm {
    let computer = role.computer();
    if computer == role.index {
        return term;
    }
    let mut term = substitute_symbol(&term, &role.index, &role.low);
    retarget_operations(&mut term, &role.index, &computer);
    term
}

fn retarget_operations(term: &mut ModelTerm, from: &str, to: &str) {
    match term {
        ModelTerm::Operation { operation, .. } => {
            if let Some(on) = operation.computer.as_mut().filter(|on| on.0 == from) {
                on.0 = to.to_owned();
            }
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter_mut().for_each(|term| retarget_operations(term, from, to)),
        ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => retarget_operations(body, from, to),
        ModelTerm::If { then, otherwise, .. } => {
            retarget_operations(then, from, to);
            retarget_operations(otherwise, from, to);
        }
        ModelTerm::Comment(_) | ModelTerm::Message { .. } | ModelTerm::Collective { .. } | ModelTerm::Delay(_) | ModelTerm::Call { .. } => {
        }
    }
}
