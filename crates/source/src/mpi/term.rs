//! Small things that are done with terms of a model.

use sintonia_pamela::model::{Order, Term};

use super::role::Role;
use crate::analysis::ledger::{Ledger, is_nothing, substituted};

/// One term of many, without those that do nothing.
pub fn sequence(terms: impl IntoIterator<Item = Term>) -> Term {
    let mut ledger = Ledger::default();
    terms.into_iter().filter(|term| !is_nothing(term)).for_each(|term| ledger.push(term));
    ledger.into_term()
}

/// Terms at the same time, without those that do nothing.
pub fn parallel(mut terms: Vec<Term>) -> Term {
    terms.retain(|term| !is_nothing(term));
    match terms.len() {
        0 => Term::Sequence(Vec::new()),
        1 => terms.remove(0),
        _ => Term::Parallel(terms),
    }
}

/// What all processes of a role do.
pub fn by_all_of(role: &Role, order: Order, body: Term) -> Term {
    if is_nothing(&body) || role.computer() != role.index {
        return body;
    }
    Term::Loop { order, index: role.index.clone(), from: role.low.clone(), to: role.high.clone(), body: Box::new(body) }
}

/// The same on the one computer of a role whose rank is a number.
pub fn at_home(term: Term, role: &Role) -> Term {
    let computer = role.computer();
    if computer == role.index {
        return term;
    }
    let mut term = substituted(&term, &role.index, &role.low);
    move_operations(&mut term, &role.index, &computer);
    term
}

fn move_operations(term: &mut Term, from: &str, to: &str) {
    match term {
        Term::Operation { operation, .. } => {
            if let Some(on) = operation.on.as_mut().filter(|on| on.0 == from) {
                on.0 = to.to_owned();
            }
        }
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter_mut().for_each(|term| move_operations(term, from, to)),
        Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => move_operations(body, from, to),
        Term::If { then, otherwise, .. } => {
            move_operations(then, from, to);
            move_operations(otherwise, from, to);
        }
        Term::Note(_) | Term::Message { .. } | Term::Group { .. } | Term::Delay(_) | Term::Call { .. } => {}
    }
}
