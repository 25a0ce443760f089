//! What one process does, as far as others see it.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_machine::Collective;
use sintonia_pamela::model::Term;

use crate::analysis::ledger::substituted;
use crate::place::Place;
use crate::routine::Statement;

/// Something that a process does.
#[derive(Debug, Clone)]
pub enum Step {
    /// Something without others, not yet counted.
    Work(Work),
    /// Something without others.
    Local(Term),
    /// Sends or receives a message.
    Message(Message),
    /// Takes part in an operation of a group.
    Group {
        /// Which one.
        operation: Collective,
        /// How large it is.
        bytes: Formula,
        /// How many take part.
        processes: Formula,
        /// Where it stands.
        place: Place,
    },
    /// Something over and over.
    Loop {
        /// The name of the index.
        index: String,
        /// Where it begins.
        from: Formula,
        /// Where it ends.
        to: Formula,
        /// What is done.
        body: Vec<Step>,
    },
    /// One of two.
    If {
        /// Where the condition stands.
        place: Place,
        /// How often it holds.
        share: Option<Formula>,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
    },
}

/// Statements that nobody else notices, and what is known before them.
#[derive(Debug, Clone)]
pub struct Work {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The numbers that variables are.
    pub known: BTreeMap<String, Formula>,
    /// The loops around: the index and the last round.
    pub loops: Vec<(String, Formula)>,
}

/// One end of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whether this end sends it.
    pub is_sent: bool,
    /// The rank of the other end; none if it is not known.
    pub peer: Option<Formula>,
    /// One where the other end exists, else zero.
    pub exists: Formula,
    /// How large it is.
    pub bytes: Formula,
    /// Where it stands.
    pub place: Place,
}

impl Step {
    /// Whether something in it satisfies a condition.
    pub fn any(&self, holds: &impl Fn(&Step) -> bool) -> bool {
        holds(self)
            || match self {
                Step::Loop { body, .. } => body.iter().any(|step| step.any(holds)),
                Step::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|step| step.any(holds)),
                _ => false,
            }
    }

    /// Whether it has a message or an operation of a group.
    pub fn communicates(&self) -> bool {
        self.any(&|step| matches!(step, Step::Message(_) | Step::Group { .. }))
    }

    /// Whether it has an operation of a group.
    pub fn has_group(&self) -> bool {
        self.any(&|step| matches!(step, Step::Group { .. }))
    }

    /// All messages in it.
    pub fn messages<'a>(&'a self, into: &mut Vec<&'a Message>) {
        match self {
            Step::Message(message) => into.push(message),
            Step::Loop { body, .. } => body.iter().for_each(|step| step.messages(into)),
            Step::If { then, otherwise, .. } => then.iter().chain(otherwise).for_each(|step| step.messages(into)),
            Step::Work(_) | Step::Local(_) | Step::Group { .. } => {}
        }
    }

    /// The same with a formula in the place of a symbol.
    pub fn substitute(&self, symbol: &str, by: &Formula) -> Step {
        let in_all = |steps: &[Step]| steps.iter().map(|step| step.substitute(symbol, by)).collect();
        match self {
            Step::Work(_) => self.clone(),
            Step::Local(term) => Step::Local(substituted(term, symbol, by)),
            Step::Message(message) => Step::Message(Message {
                peer: message.peer.as_ref().map(|peer| peer.substitute(symbol, by)),
                exists: message.exists.substitute(symbol, by),
                bytes: message.bytes.substitute(symbol, by),
                ..message.clone()
            }),
            Step::Group { operation, bytes, processes, place } => Step::Group {
                operation: *operation,
                bytes: bytes.substitute(symbol, by),
                processes: processes.substitute(symbol, by),
                place: place.clone(),
            },
            Step::Loop { index, from, to, body } => Step::Loop {
                index: index.clone(),
                from: from.substitute(symbol, by),
                to: to.substitute(symbol, by),
                body: if index == symbol { body.clone() } else { in_all(body) },
            },
            Step::If { place, share, then, otherwise } => Step::If {
                place: place.clone(),
                share: share.as_ref().map(|share| share.substitute(symbol, by)),
                then: in_all(then),
                otherwise: in_all(otherwise),
            },
        }
    }
}
