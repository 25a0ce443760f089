//! The steps of one process, as far as others can observe them.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;
use sintonia_pamela::model::ModelTerm;

use crate::analysis::term_builder::substitute_symbol;
use crate::file_pos::FilePos;
use crate::ir::Statement;

/// A step of a process.
#[derive(Debug, Clone)]
pub(super) enum ProcessStep {
    /// Local work that is not counted yet.
    Work(LocalWork),
    /// Local work as a term.
    Local(ModelTerm),
    /// One end of a message.
    Message(MessageEnd),
    /// A collective.
    Collective {
        /// The collective.
        operation: CollectiveKind,
        /// Its size.
        bytes: Formula,
        /// The number of processes.
        processes: Formula,
        /// Its position.
        pos: FilePos,
    },
    /// A loop.
    Loop {
        /// The name of the index.
        index: String,
        /// The lower bound.
        from: Formula,
        /// The upper bound.
        to: Formula,
        /// The body.
        body: Vec<ProcessStep>,
    },
    /// A conditional.
    If {
        /// The position of the condition.
        pos: FilePos,
        /// How often it holds.
        share: Option<Formula>,
        /// The branch if it holds.
        then: Vec<ProcessStep>,
        /// The branch if it does not.
        otherwise: Vec<ProcessStep>,
    },
}

/// Local statements, and the values known before them.
#[derive(Debug, Clone)]
pub(super) struct LocalWork {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The values of variables.
    pub known: BTreeMap<String, Formula>,
    /// The enclosing loops: index and last iteration.
    pub loops: Vec<(String, Formula)>,
}

/// One end of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessageEnd {
    /// Whether this end is the sender.
    pub is_sent: bool,
    /// The rank of the other end; `None` if unknown.
    pub peer: Option<Formula>,
    /// One if the other end exists, else zero.
    pub exists: Formula,
    /// Its size.
    pub bytes: Formula,
    /// Its position.
    pub pos: FilePos,
}

impl ProcessStep {
    /// Whether it or a nested step satisfies a predicate.
    pub(super) fn any(&self, holds: &impl Fn(&ProcessStep) -> bool) -> bool {
        holds(self)
            || match self {
                ProcessStep::Loop { body, .. } => body.iter().any(|step| step.any(holds)),
                ProcessStep::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|step| step.any(holds)),
                _ => false,
            }
    }

    /// Whether it contains a message or a collective.
    pub(super) fn communicates(&self) -> bool {
        self.any(&|step| matches!(step, ProcessStep::Message(_) | ProcessStep::Collective { .. }))
    }

    /// Whether it contains a collective.
    pub(super) fn has_collective(&self) -> bool {
        self.any(&|step| matches!(step, ProcessStep::Collective { .. }))
    }

    /// Collects all messages in it.
    pub(super) fn messages<'a>(&'a self, into: &mut Vec<&'a MessageEnd>) {
        match self {
            ProcessStep::Message(message) => into.push(message),
            ProcessStep::Loop { body, .. } => body.iter().for_each(|step| step.messages(into)),
            ProcessStep::If { then, otherwise, .. } => then.iter().chain(otherwise).for_each(|step| step.messages(into)),
            ProcessStep::Work(_) | ProcessStep::Local(_) | ProcessStep::Collective { .. } => {}
        }
    }

    /// Substitutes a formula for a symbol.
    pub(super) fn substitute(&self, symbol: &str, by: &Formula) -> ProcessStep {
        let in_all = |steps: &[ProcessStep]| steps.iter().map(|step| step.substitute(symbol, by)).collect();
        match self {
            ProcessStep::Work(_) => self.clone(),
            ProcessStep::Local(term) => ProcessStep::Local(substitute_symbol(term, symbol, by)),
            ProcessStep::Message(message) => ProcessStep::Message(MessageEnd {
                peer: message.peer.as_ref().map(|peer| peer.substitute(symbol, by)),
                exists: message.exists.substitute(symbol, by),
                bytes: message.bytes.substitute(symbol, by),
                ..message.clone()
            }),
            ProcessStep::Collective { operation, bytes, processes, pos: place } => ProcessStep::Collective {
                operation: *operation,
                bytes: bytes.substitute(symbol, by),
                processes: processes.substitute(symbol, by),
                pos: place.clone(),
            },
            ProcessStep::Loop { index, from, to, body } => ProcessStep::Loop {
                index: index.clone(),
                from: from.substitute(symbol, by),
                to: to.substitute(symbol, by),
                body: if index == symbol { body.clone() } else { in_all(body) },
            },
            ProcessStep::If { pos: place, share, then, otherwise } => ProcessStep::If {
                pos: place.clone(),
                share: share.as_ref().map(|share| share.substitute(symbol, by)),
                then: in_all(then),
                otherwise: in_all(otherwise),
            },
        }
    }
}
