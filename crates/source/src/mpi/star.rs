//! One process in the middle and others that talk only with it: a master and its workers.
//!
//! Their messages are matched in the order in which each of them stands in the program. A loop of the master over the workers meets the next
//! message of each worker; loops of both with as many rounds meet inside.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, Order, Term};

use super::join::{Part, alone};
use super::role::Role;
use super::step::{Message, Step};
use super::term::{by_all_of, parallel, sequence};
use super::truth;
use crate::analysis::Line;
use crate::analysis::ledger::is_nothing;

/// What all do, if one of them is in the middle and every message finds its other end.
pub fn star(parts: &[Part]) -> Option<Term> {
    let talks = |part: &Part| part.steps.iter().any(Step::communicates);
    if parts.iter().filter(|part| talks(part)).count() < 2 {
        return None;
    }
    parts.iter().enumerate().filter(|(_, part)| part.role.is_single()).find_map(|(at, master)| {
        let others: Vec<Part> = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| *part).collect();
        let rank = master.role.rank();
        others.iter().all(|part| only_with(part.steps, &rank)).then(|| around(*master, &others)).flatten()
    })
}

fn only_with(steps: &[Step], rank: &Formula) -> bool {
    let mut messages = Vec::new();
    steps.iter().for_each(|step| step.messages(&mut messages));
    messages.iter().all(|message| message.exists.is_one() && message.peer.as_ref().map_or(!message.is_sent, |peer| peer == rank))
}

/// A process that is on its way.
struct Partner<'a> {
    role: &'a Role,
    left: &'a [Step],
    /// What it did since it last met another.
    done: Vec<Term>,
}

impl<'a> Partner<'a> {
    fn new(part: Part<'a>) -> Partner<'a> {
        Partner { role: part.role, left: part.steps, done: Vec::new() }
    }

    /// Goes on to the next step that others notice.
    fn advance(&mut self) -> Option<&'a Step> {
        let quiet = self.left.iter().take_while(|step| !step.communicates()).count();
        self.done.push(alone(self.role, &self.left[..quiet]));
        self.left = &self.left[quiet..];
        self.left.first()
    }

    /// The other end of a message, which must be next.
    fn meet(&mut self, message: &Message) -> Option<&'a Message> {
        match self.advance()? {
            Step::Message(other) if other.is_sent != message.is_sent => {
                self.left = &self.left[1..];
                Some(other)
            }
            _ => None,
        }
    }

    fn take_done(&mut self) -> Term {
        sequence(self.done.drain(..))
    }
}

fn around(master: Part, others: &[Part]) -> Option<Term> {
    let mut workers: Vec<Partner> = others.iter().map(|part| Partner::new(*part)).collect();
    let mut own = Vec::new();
    let mut terms = Vec::new();
    for step in master.steps {
        match step {
            step if !step.communicates() => own.push(alone(master.role, std::slice::from_ref(step))),
            Step::Message(message) => {
                let at = workers.iter().position(|worker| worker.role.is_single() && message.peer.as_ref() == Some(&worker.role.low))?;
                let other = workers[at].meet(message)?;
                together(&mut own, &mut workers, &mut terms);
                terms.push(by_all_of(workers[at].role, Order::Sequential, message_between(master.role, workers[at].role, message, other)));
            }
            Step::Loop { .. } => {
                if let Some((at, turns)) = over_workers(master.role, step, &workers) {
                    workers[at].advance()?;
                    together(&mut own, &mut workers, &mut terms);
                    terms.push(one_by_one(master.role, &turns, &mut workers[at])?);
                } else {
                    let term = same_rounds(master.role, step, &mut own, &mut workers, &mut terms)?;
                    terms.push(term);
                }
            }
            _ => return None,
        }
    }
    for worker in &mut workers {
        if worker.advance().is_some() {
            return None;
        }
    }
    together(&mut own, &mut workers, &mut terms);
    Some(sequence(terms))
}

/// What all did since they last met, at the same time.
fn together(own: &mut Vec<Term>, workers: &mut [Partner], terms: &mut Vec<Term>) {
    let mut all = vec![sequence(own.drain(..))];
    all.extend(workers.iter_mut().map(|worker| {
        let done = worker.take_done();
        by_all_of(worker.role, Order::Parallel, done)
    }));
    let term = parallel(all);
    if !is_nothing(&term) {
        terms.push(term);
    }
}

/// The workers that a loop of the master goes over, and its body with the worker's rank in place of the index.
fn over_workers(master: &Role, step: &Step, workers: &[Partner]) -> Option<(usize, Vec<Step>)> {
    let Step::Loop { index, from, to, body } = step else { return None };
    let (body, skips) = without_condition(body)?;
    let mut messages = Vec::new();
    body.iter().for_each(|step| step.messages(&mut messages));
    let known: Vec<&Formula> = messages.iter().filter_map(|message| message.peer.as_ref()).collect();
    let offsets: Option<Vec<Formula>> = known.iter().map(|peer| offset(peer, index)).collect();
    let offsets = offsets?;
    let (at, offset) = match offsets.first() {
        Some(offset) if offsets.iter().all(|other| other == offset) => {
            let (mut low, mut high) = (from + offset, to + offset);
            if let Some(share) = skips {
                let is_self = |peer: &&Formula| truth::not(&truth::equal(peer, &master.low)) == *share;
                known.iter().all(is_self).then_some(())?;
                if low == master.low {
                    low += Formula::one();
                } else if high == master.low {
                    high = &high - &Formula::one();
                }
            }
            (workers.iter().position(|worker| worker.role.low == low && worker.role.high == high)?, offset.clone())
        }
        Some(_) => return None,
        // Whoever comes: as many as there are workers.
        None => {
            let rounds = to - from + Formula::one();
            let at = workers.iter().position(|worker| worker.role.count() == rounds && skips.is_none())?;
            (at, &workers[at].role.low - from)
        }
    };
    if body.iter().any(|step| step.communicates() && !matches!(step, Step::Message(_))) {
        return None;
    }
    let turn = Formula::symbol(&workers[at].role.index) - offset;
    Some((at, body.iter().map(|step| step.substitute(index, &turn)).collect()))
}

/// The body of a loop in which a condition leaves out a round, as if it did not, and how often the condition holds.
fn without_condition(body: &[Step]) -> Option<(Vec<Step>, Option<&Formula>)> {
    let mut steps = Vec::new();
    let mut found = None;
    for step in body {
        match step {
            Step::If { share, then, otherwise, .. } if step.communicates() => {
                if found.is_some() || otherwise.iter().any(Step::communicates) {
                    return None;
                }
                found = Some(share.as_ref()?);
                steps.extend(then.iter().cloned());
            }
            step => steps.push(step.clone()),
        }
    }
    Some((steps, found))
}

/// What must be added to an index to give a rank.
fn offset(rank: &Formula, index: &str) -> Option<Formula> {
    let line = Line::of(rank, index)?;
    line.slope.is_one().then_some(line.start)
}

/// The master meets one worker after the other.
fn one_by_one(master: &Role, turns: &[Step], worker: &mut Partner) -> Option<Term> {
    let mut terms = Vec::new();
    let mut own = Vec::new();
    let mut left = turns.iter().filter(|step| step.communicates()).count();
    for step in turns {
        let Step::Message(message) = step else {
            own.push(alone(master, std::slice::from_ref(step)));
            continue;
        };
        let other = worker.meet(message)?;
        let term = parallel(vec![sequence(std::mem::take(&mut own)), worker.take_done()]);
        terms.push(term);
        terms.push(message_between(master, worker.role, message, other));
        left -= 1;
        if left > 0 {
            worker.advance();
        }
    }
    terms.extend(own);
    Some(by_all_of(worker.role, Order::Sequential, sequence(terms)))
}

/// Loops of the master and of workers with as many rounds.
fn same_rounds(master: &Role, step: &Step, own: &mut Vec<Term>, workers: &mut [Partner], terms: &mut Vec<Term>) -> Option<Term> {
    let Step::Loop { index, from, to, body } = step else { return None };
    let by = Formula::symbol(index);
    let mut bodies: Vec<(usize, Vec<Step>)> = Vec::new();
    for (at, worker) in workers.iter_mut().enumerate() {
        if let Some(Step::Loop { index: other, from: other_from, to: other_to, body }) = worker.advance()
            && other_from == from
            && other_to == to
        {
            worker.left = &worker.left[1..];
            bodies.push((at, body.iter().map(|step| step.substitute(other, &by)).collect()));
        }
    }
    together(own, workers, terms);
    let parts: Vec<Part> = bodies.iter().map(|(at, steps)| Part { role: workers[*at].role, steps }).collect();
    let inner = around(Part { role: master, steps: body }, &parts)?;
    Some(Term::Loop { order: Order::Sequential, index: index.clone(), from: from.clone(), to: to.clone(), body: Box::new(inner) })
}

/// A message between the master and a worker; its size is what is sent.
fn message_between(master: &Role, worker: &Role, message: &Message, other: &Message) -> Term {
    let (master, worker) = (Computer(master.computer()), Computer(worker.computer()));
    if message.is_sent {
        Term::Message { from: master, to: worker, bytes: message.bytes.clone() }
    } else {
        Term::Message { from: worker, to: master, bytes: other.bytes.clone() }
    }
}
