//! Puts what the processes of all roles do into one term: operations of groups are joints of all, and between them messages order the roles
//! where it can be told who meets whom.

use sintonia_formula::Formula;
use sintonia_machine::Collective;
use sintonia_pamela::model::{Computer, Order, Term};

use super::role::Role;
use super::star::star;
use super::step::{Message, Step};
use super::term::{by_all_of, parallel, sequence};
use crate::analysis::ledger::is_nothing;
use crate::compile::Note;

/// What the processes of a role do.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The role.
    pub role: &'a Role,
    /// What each of its processes does.
    pub steps: &'a [Step],
}

/// What all do together.
pub fn joined(parts: &[Part], notes: &mut Vec<Note>) -> Term {
    let joints: Vec<Vec<usize>> =
        parts.iter().map(|part| part.steps.iter().enumerate().filter(|(_, step)| step.has_group()).map(|(at, _)| at).collect()).collect();
    let count = joints.first().map_or(0, Vec::len);
    let mut terms = Vec::new();
    if joints.iter().all(|joints| joints.len() == count) {
        for number in 0..count {
            let steps: Vec<&Step> = parts.iter().zip(&joints).map(|(part, joints)| &part.steps[joints[number]]).collect();
            let Some(joint) = joint(parts, &steps, notes) else { return apart(parts, notes) };
            terms.push(segment(&between(parts, &joints, number), notes));
            terms.push(joint);
        }
        terms.push(segment(&between(parts, &joints, count), notes));
        return sequence(terms);
    }
    apart(parts, notes)
}

/// What each role does after one joint and before the next.
fn between<'a>(parts: &[Part<'a>], joints: &[Vec<usize>], number: usize) -> Vec<Part<'a>> {
    let slices = parts.iter().zip(joints).map(|(part, joints)| {
        let from = number.checked_sub(1).map_or(0, |before| joints[before] + 1);
        let to = joints.get(number).copied().unwrap_or(part.steps.len());
        Part { role: part.role, steps: &part.steps[from..to] }
    });
    slices.collect()
}

/// A step that all roles do together, if they do the same.
fn joint(parts: &[Part], steps: &[&Step], notes: &mut Vec<Note>) -> Option<Term> {
    match steps.first()? {
        Step::Group { .. } => group(parts, steps),
        Step::Loop { index, from, to, .. } => {
            let mut bodies = Vec::new();
            for step in steps {
                let Step::Loop { index: other, from: other_from, to: other_to, body } = step else { return None };
                if other_from != from || other_to != to || depends_on_rank(to, parts) {
                    return None;
                }
                let by = Formula::symbol(index);
                bodies.push(body.iter().map(|step| step.substitute(other, &by)).collect::<Vec<Step>>());
            }
            let body = joined(&with_steps(parts, &bodies), notes);
            Some(Term::Loop { order: Order::Sequential, index: index.clone(), from: from.clone(), to: to.clone(), body: Box::new(body) })
        }
        Step::If { place, share, .. } => {
            let (mut thens, mut others) = (Vec::new(), Vec::new());
            for step in steps {
                let Step::If { share: other, then, otherwise, .. } = step else { return None };
                if other != share || share.as_ref().is_some_and(|share| depends_on_rank(share, parts)) {
                    return None;
                }
                thens.push(then.clone());
                others.push(otherwise.clone());
            }
            let then = Box::new(joined(&with_steps(parts, &thens), notes));
            let otherwise = Box::new(joined(&with_steps(parts, &others), notes));
            Some(Term::If { place: Some(place.short()), share: share.clone(), then, otherwise })
        }
        _ => None,
    }
}

fn with_steps<'a>(parts: &[Part<'a>], lists: &'a [Vec<Step>]) -> Vec<Part<'a>> {
    parts.iter().zip(lists).map(|(part, steps)| Part { role: part.role, steps }).collect()
}

fn depends_on_rank(formula: &Formula, parts: &[Part]) -> bool {
    let symbols = formula.symbols();
    parts.iter().any(|part| symbols.contains(&part.role.index))
}

/// An operation of a group; where roles give different sizes, or are in groups of different sizes, the largest counts.
fn group(parts: &[Part], steps: &[&Step]) -> Option<Term> {
    let mut first: Option<Collective> = None;
    let (mut sizes, mut members): (Vec<Formula>, Vec<Formula>) = (Vec::new(), Vec::new());
    for (part, step) in parts.iter().zip(steps) {
        let Step::Group { operation, bytes, processes, .. } = step else { return None };
        if *first.get_or_insert(*operation) != *operation {
            return None;
        }
        for (all, own) in [(&mut sizes, bytes), (&mut members, processes)] {
            let largest = largest_of(part.role, own);
            if !all.contains(&largest) {
                all.push(largest);
            }
        }
    }
    Some(Term::Group { operation: first?, bytes: Formula::max_of(sizes), processes: Formula::max_of(members) })
}

fn largest_of(role: &Role, size: &Formula) -> Formula {
    if size.symbols().contains(&role.index) { Formula::max_over(&role.index, &role.low, &role.high, size) } else { size.clone() }
}

/// Roles whose operations of groups cannot be matched: each for itself, at the same time.
fn apart(parts: &[Part], notes: &mut Vec<Note>) -> Term {
    if parts.len() > 1 {
        let first = |part: &Part| part.steps.iter().find_map(group_place);
        if let Some(place) = parts.iter().find_map(first) {
            let text = "the operations of groups that the roles of processes take part in cannot be matched from here on; each is counted for itself";
            notes.push(Note { place, text: text.to_owned() });
        }
    }
    parallel(parts.iter().map(|part| by_all_of(part.role, Order::Parallel, alone(part.role, part.steps))).collect())
}

fn group_place(step: &Step) -> Option<crate::place::Place> {
    match step {
        Step::Group { place, .. } => Some(place.clone()),
        Step::Loop { body, .. } => body.iter().find_map(group_place),
        Step::If { then, otherwise, .. } => then.iter().chain(otherwise).find_map(group_place),
        _ => None,
    }
}

/// What happens between two joints.
fn segment(parts: &[Part], notes: &mut Vec<Note>) -> Term {
    if parts.len() > 1
        && let Some(term) = star(parts)
    {
        return term;
    }
    if parts.len() > 1 {
        note_unmatched(parts, notes);
    }
    let is_chain = parts.iter().any(|part| passes_on(part.role, part.steps));
    let terms = parts.iter().map(|part| {
        let order = if passes_on(part.role, part.steps) { Order::Sequential } else { Order::Parallel };
        by_all_of(part.role, order, alone(part.role, part.steps))
    });
    if is_chain { sequence(terms) } else { parallel(terms.collect()) }
}

/// Whether each process waits for the one before and then sends to the next, so that they follow each other.
fn passes_on(role: &Role, steps: &[Step]) -> bool {
    let mut messages = Vec::new();
    steps.iter().for_each(|step| step.messages(&mut messages));
    let rank = role.rank();
    let [first, rest @ ..] = messages.as_slice() else { return false };
    let is_before = |peer: &Formula| *peer == &rank - &Formula::one();
    let waits = !role.is_single() && !first.is_sent && first.peer.as_ref().is_some_and(is_before);
    waits && rest.iter().any(|message| message.is_sent && !message.peer.as_ref().is_some_and(is_before))
}

fn note_unmatched(parts: &[Part], notes: &mut Vec<Note>) {
    let mut messages = Vec::new();
    parts.iter().flat_map(|part| part.steps).for_each(|step| step.messages(&mut messages));
    if let Some(first) = messages.iter().find(|message| !message.is_sent && message.peer.is_none()) {
        let text = "who sends what is received here cannot be told; messages are counted where they are sent".to_owned();
        notes.push(Note { place: first.place.clone(), text });
    }
}

/// What one process does; a message is counted where it is sent.
pub fn alone(role: &Role, steps: &[Step]) -> Term {
    let mut terms = Vec::new();
    for step in steps {
        let term = match step {
            Step::Local(term) => term.clone(),
            Step::Work(_) => continue,
            Step::Message(message) if message.is_sent => message_from(role, message),
            Step::Message(_) => continue,
            Step::Group { operation, bytes, processes, .. } => {
                Term::Group { operation: *operation, bytes: bytes.clone(), processes: processes.clone() }
            }
            Step::Loop { index, from, to, body } => {
                let body = alone(role, body);
                if is_nothing(&body) {
                    continue;
                }
                Term::Loop { order: Order::Sequential, index: index.clone(), from: from.clone(), to: to.clone(), body: Box::new(body) }
            }
            Step::If { place, share, then, otherwise } => {
                let (then, otherwise) = (alone(role, then), alone(role, otherwise));
                if is_nothing(&then) && is_nothing(&otherwise) {
                    continue;
                }
                Term::If { place: Some(place.short()), share: share.clone(), then: Box::new(then), otherwise: Box::new(otherwise) }
            }
        };
        terms.push(term);
    }
    sequence(terms)
}

/// A message that is counted by the process that this end belongs to.
pub fn message_from(role: &Role, message: &Message) -> Term {
    let other = match &message.peer {
        Some(peer) => match peer.as_exact().and_then(|rank| rank.to_i64()) {
            Some(rank) => rank.to_string(),
            None => "neighbour".to_owned(),
        },
        None => "neighbour".to_owned(),
    };
    let (own, other) = (Computer(role.computer()), Computer(other));
    let (from, to) = if message.is_sent { (own, other) } else { (other, own) };
    let term = Term::Message { from, to, bytes: message.bytes.clone() };
    if message.exists.is_one() {
        return term;
    }
    let otherwise = Box::new(Term::Sequence(Vec::new()));
    Term::If { place: None, share: Some(message.exists.clone()), then: Box::new(term), otherwise }
}
