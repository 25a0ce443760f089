//! The steps of one role, and the term of a process that executes them by itself.

use sintonia_pamela::model::{Computer, LoopOrder, ModelTerm};

use super::model_terms::sequence;
use super::process_step::{MessageEnd, ProcessStep};
use super::role::ProcessRole;
use crate::analysis::term_builder::is_empty_term;

/// The steps of a role.
#[derive(Clone, Copy)]
pub(super) struct RoleTrace<'a> {
    /// The role.
    pub role: &'a ProcessRole,
    /// The steps of each of its processes.
    pub steps: &'a [ProcessStep],
}

/// The term of one process; a message is counted at its sender.
pub(super) fn single_process_term(role: &ProcessRole, steps: &[ProcessStep]) -> ModelTerm {
    let mut terms = Vec::new();
    for step in steps {
        let term = match step {
            ProcessStep::Local(term) => term.clone(),
            ProcessStep::Work(_) => continue,
            ProcessStep::Message(message) if message.is_sent => message_term(role, message),
            ProcessStep::Message(_) => continue,
            ProcessStep::Collective { operation, bytes, processes, .. } => {
                ModelTerm::Collective { operation: *operation, bytes: bytes.clone(), processes: processes.clone() }
            }
            ProcessStep::Loop { index, from, to, body } => {
                let body = single_process_term(role, body);
                if is_empty_term(&body) {
                    continue;
                }
                ModelTerm::Loop {
                    order: LoopOrder::Sequential,
                    index: index.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    body: Box::new(body),
                }
            }
            ProcessStep::If { pos: place, share, then, otherwise } => {
                let (then, otherwise) = (single_process_term(role, then), single_process_term(role, otherwise));
                if is_empty_term(&then) && is_empty_term(&otherwise) {
                    continue;
                }
                ModelTerm::If {
                    position: Some(place.file_and_line()),
                    share: share.clone(),
                    then: Box::new(then),
                    otherwise: Box::new(otherwise),
                }
            }
        };
        terms.push(term);
    }
    sequence(terms)
}

/// A message counted by the process of this end.
pub(super) fn message_term(role: &ProcessRole, message: &MessageEnd) -> ModelTerm {
    let other = match &message.peer {
        Some(peer) => match peer.as_exact().and_then(|rank| rank.to_i64()) {
            Some(rank) => rank.to_string(),
            None => "neighbour".to_owned(),
        },
        None => "neighbour".to_owned(),
    };
    let (own, other) = (Computer(role.computer()), Computer(other));
    let (from, to) = if message.is_sent { (own, other) } else { (other, own) };
    let term = ModelTerm::Message { from, to, bytes: message.bytes.clone() };
    if message.exists.is_one() {
        return term;
    }
    let otherwise = Box::new(ModelTerm::Sequence(Vec::new()));
    ModelTerm::If { position: None, share: Some(message.exists.clone()), then: Box::new(term), otherwise }
}
