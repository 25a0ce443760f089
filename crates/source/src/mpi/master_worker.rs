//! Master-worker communication: one process in the centre, and others that communicate only with it.
//!
//! Messages are matched in program order. A loop of the master over the workers matches the next message of each worker; loops of both with
//! the same trip count are matched inside.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, LoopOrder, ModelTerm};

use super::indicator;
use super::model_terms::{for_role, parallel, sequence};
use super::process_step::{MessageEnd, ProcessStep};
use super::role::ProcessRole;
use super::role_trace::{RoleTrace, single_process_term};
use crate::analysis::AffineForm;
use crate::analysis::term_builder::is_empty_term;

/// The term of all processes, if one of them is the master and every message is matched.
pub(super) fn master_worker_term(parts: &[RoleTrace]) -> Option<ModelTerm> {
    let talks = |part: &RoleTrace| part.steps.iter().any(ProcessStep::communicates);
    if parts.iter().filter(|part| talks(part)).count() < 2 {
        return None;
    }
    parts.iter().enumerate().filter(|(_, part)| part.role.is_single()).find_map(|(at, master)| {
        let others: Vec<RoleTrace> = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| *part).collect();
        let rank = master.role.rank();
        others.iter().all(|part| talks_only_to(part.steps, &rank)).then(|| match_with_master(*master, &others)).flatten()
    })
}

fn talks_only_to(steps: &[ProcessStep], rank: &Formula) -> bool {
    let mut messages = Vec::new();
    steps.iter().for_each(|step| step.messages(&mut messages));
    messages.iter().all(|message| message.exists.is_one() && message.peer.as_ref().map_or(!message.is_sent, |peer| peer == rank))
}

/// The progress of a process while messages are matched.
struct StarProcess<'a> {
    role: &'a ProcessRole,
    remaining: &'a [ProcessStep],
    /// Its terms since the last matched message.
    local_terms: Vec<ModelTerm>,
}

impl<'a> StarProcess<'a> {
    fn new(part: RoleTrace<'a>) -> StarProcess<'a> {
        StarProcess { role: part.role, remaining: part.steps, local_terms: Vec::new() }
    }

    /// Advances to the next step that communicates.
    fn advance(&mut self) -> Option<&'a ProcessStep> {
        let quiet = self.remaining.iter().take_while(|step| !step.communicates()).count();
        self.local_terms.push(single_process_term(self.role, &self.remaining[..quiet]));
        self.remaining = &self.remaining[quiet..];
        self.remaining.first()
    }

    /// Matches the other end of a message, which must be the next step.
    fn match_message(&mut self, message: &MessageEnd) -> Option<&'a MessageEnd> {
        match self.advance()? {
            ProcessStep::Message(other) if other.is_sent != message.is_sent => {
                self.remaining = &self.remaining[1..];
                Some(other)
            }
            _ => None,
        }
    }

    fn take_local_terms(&mut self) -> ModelTerm {
        sequence(self.local_terms.drain(..))
    }
}

fn match_with_master(master: RoleTrace, others: &[RoleTrace]) -> Option<ModelTerm> {
    let mut workers: Vec<StarProcess> = others.iter().map(|part| StarProcess::new(*part)).collect();
    let mut own = Vec::new();
    let mut terms = Vec::new();
    for step in master.steps {
        match step {
            step if !step.communicates() => own.push(single_process_term(master.role, std::slice::from_ref(step))),
            ProcessStep::Message(message) => {
                let at = workers.iter().position(|worker| worker.role.is_single() && message.peer.as_ref() == Some(&worker.role.low))?;
                let other = workers[at].match_message(message)?;
                flush_local_terms(&mut own, &mut workers, &mut terms);
                terms.push(for_role(workers[at].role, LoopOrder::Sequential, exchange_term(master.role, workers[at].role, message, other)));
            }
            ProcessStep::Loop { .. } => {
                if let Some((at, turns)) = loop_over_workers(master.role, step, &workers) {
                    workers[at].advance()?;
                    flush_local_terms(&mut own, &mut workers, &mut terms);
                    terms.push(sequential_exchanges(master.role, &turns, &mut workers[at])?);
                } else {
                    let term = joint_loop(master.role, step, &mut own, &mut workers, &mut terms)?;
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
    flush_local_terms(&mut own, &mut workers, &mut terms);
    Some(sequence(terms))
}

/// Adds what all processes did since the last match, in parallel.
fn flush_local_terms(own: &mut Vec<ModelTerm>, workers: &mut [StarProcess], terms: &mut Vec<ModelTerm>) {
    let mut all = vec![sequence(own.drain(..))];
    all.extend(workers.iter_mut().map(|worker| {
        let done = worker.take_local_terms();
        for_role(worker.role, LoopOrder::Parallel, done)
    }));
    let term = parallel(all);
    if !is_empty_term(&term) {
        terms.push(term);
    }
}

/// The workers that a loop of the master iterates over, and its body with the worker's rank substituted for the index.
fn loop_over_workers(master: &ProcessRole, step: &ProcessStep, workers: &[StarProcess]) -> Option<(usize, Vec<ProcessStep>)> {
    let ProcessStep::Loop { index, from, to, body } = step else { return None };
    let (body, skips) = strip_skip_condition(body)?;
    let mut messages = Vec::new();
    body.iter().for_each(|step| step.messages(&mut messages));
    let known: Vec<&Formula> = messages.iter().filter_map(|message| message.peer.as_ref()).collect();
    let offsets: Option<Vec<Formula>> = known.iter().map(|peer| rank_offset(peer, index)).collect();
    let offsets = offsets?;
    let (at, offset) = match offsets.first() {
        Some(offset) if offsets.iter().all(|other| other == offset) => {
            let (mut low, mut high) = (from + offset, to + offset);
            if let Some(share) = skips {
                let is_self = |peer: &&Formula| indicator::not(&indicator::equal(peer, &master.low)) == *share;
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
        // Wildcard receives: as many as there are workers.
        None => {
            let rounds = to - from + Formula::one();
            let at = workers.iter().position(|worker| worker.role.n_processes() == rounds && skips.is_none())?;
            (at, &workers[at].role.low - from)
        }
    };
    if body.iter().any(|step| step.communicates() && !matches!(step, ProcessStep::Message(_))) {
        return None;
    }
    let turn = Formula::symbol(&workers[at].role.index) - offset;
    Some((at, body.iter().map(|step| step.substitute(index, &turn)).collect()))
}

/// The body of a loop without a condition that skips an iteration, and the share of that condition.
fn strip_skip_condition(body: &[ProcessStep]) -> Option<(Vec<ProcessStep>, Option<&Formula>)> {
    let mut steps = Vec::new();
    let mut found = None;
    for step in body {
        match step {
            ProcessStep::If { share, then, otherwise, .. } if step.communicates() => {
                if found.is_some() || otherwise.iter().any(ProcessStep::communicates) {
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

/// The difference between a rank and an index.
fn rank_offset(rank: &Formula, index: &str) -> Option<Formula> {
    let line = AffineForm::from_formula(rank, index)?;
    line.slope.is_one().then_some(line.intercept)
}

/// The master communicates with one worker after the other.
fn sequential_exchanges(master: &ProcessRole, turns: &[ProcessStep], worker: &mut StarProcess) -> Option<ModelTerm> {
    let mut terms = Vec::new();
    let mut own = Vec::new();
    let mut left = turns.iter().filter(|step| step.communicates()).count();
    for step in turns {
        let ProcessStep::Message(message) = step else {
            own.push(single_process_term(master, std::slice::from_ref(step)));
            continue;
        };
        let other = worker.match_message(message)?;
        let term = parallel(vec![sequence(std::mem::take(&mut own)), worker.take_local_terms()]);
        terms.push(term);
        terms.push(exchange_term(master, worker.role, message, other));
        left -= 1;
        if left > 0 {
            worker.advance();
        }
    }
    terms.extend(own);
    Some(for_role(worker.role, LoopOrder::Sequential, sequence(terms)))
}

/// Loops of the master and of workers with the same trip count.
fn joint_loop(
    master: &ProcessRole,
    step: &ProcessStep,
    own: &mut Vec<ModelTerm>,
    workers: &mut [StarProcess],
    terms: &mut Vec<ModelTerm>,
) -> Option<ModelTerm> {
    let ProcessStep::Loop { index, from, to, body } = step else { return None };
    let by = Formula::symbol(index);
    let mut bodies: Vec<(usize, Vec<ProcessStep>)> = Vec::new();
    for (at, worker) in workers.iter_mut().enumerate() {
        if let Some(ProcessStep::Loop { index: other, from: other_from, to: other_to, body }) = worker.advance()
            && other_from == from
            && other_to == to
        {
            worker.remaining = &worker.remaining[1..];
            bodies.push((at, body.iter().map(|step| step.substitute(other, &by)).collect()));
        }
    }
    flush_local_terms(own, workers, terms);
    let parts: Vec<RoleTrace> = bodies.iter().map(|(at, steps)| RoleTrace { role: workers[*at].role, steps }).collect();
    let inner = match_with_master(RoleTrace { role: master, steps: body }, &parts)?;
    Some(ModelTerm::Loop { order: LoopOrder::Sequential, index: index.clone(), from: from.clone(), to: to.clone(), body: Box::new(inner) })
}

/// A message between the master and a worker; its size is that of the sender.
fn exchange_term(master: &ProcessRole, worker: &ProcessRole, message: &MessageEnd, other: &MessageEnd) -> ModelTerm {
    let (master, worker) = (Computer(master.computer()), Computer(worker.computer()));
    if message.is_sent {
        ModelTerm::Message { from: master, to: worker, bytes: message.bytes.clone() }
    } else {
        ModelTerm::Message { from: worker, to: master, bytes: other.bytes.clone() }
    }
}
