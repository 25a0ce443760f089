//! Joins the steps of all roles into one term: collectives synchronise all of them, and between collectives messages order the roles if
//! they can be matched.

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;
use sintonia_pamela::model::{LoopOrder, ModelTerm};

use super::master_worker::master_worker_term;
use super::model_terms::{for_role, parallel, sequence};
use super::process_step::ProcessStep;
use super::role::ProcessRole;
use super::role_trace::{RoleTrace, single_process_term};
use crate::compiled_model::CompileNote;

/// The term of all roles together.
pub(super) fn join_roles(parts: &[RoleTrace], notes: &mut Vec<CompileNote>) -> ModelTerm {
    let joints: Vec<Vec<usize>> = parts
        .iter()
        .map(|part| part.steps.iter().enumerate().filter(|(_, step)| step.has_collective()).map(|(at, _)| at).collect())
        .collect();
    let count = joints.first().map_or(0, Vec::len);
    let mut terms = Vec::new();
    if joints.iter().all(|joints| joints.len() == count) {
        for number in 0..count {
            let steps: Vec<&ProcessStep> = parts.iter().zip(&joints).map(|(part, joints)| &part.steps[joints[number]]).collect();
            let Some(joint) = joint_step(parts, &steps, notes) else { return unmatched_roles(parts, notes) };
            terms.push(segment(&steps_between(parts, &joints, number), notes));
            terms.push(joint);
        }
        terms.push(segment(&steps_between(parts, &joints, count), notes));
        return sequence(terms);
    }
    unmatched_roles(parts, notes)
}

/// The steps of each role between two joint steps.
fn steps_between<'a>(parts: &[RoleTrace<'a>], joints: &[Vec<usize>], number: usize) -> Vec<RoleTrace<'a>> {
    let slices = parts.iter().zip(joints).map(|(part, joints)| {
        let from = number.checked_sub(1).map_or(0, |before| joints[before] + 1);
        let to = joints.get(number).copied().unwrap_or(part.steps.len());
        RoleTrace { role: part.role, steps: &part.steps[from..to] }
    });
    slices.collect()
}

/// A step that all roles execute together, if they agree.
fn joint_step(parts: &[RoleTrace], steps: &[&ProcessStep], notes: &mut Vec<CompileNote>) -> Option<ModelTerm> {
    match steps.first()? {
        ProcessStep::Collective { .. } => collective_term(parts, steps),
        ProcessStep::Loop { index, from, to, .. } => {
            let mut bodies = Vec::new();
            for step in steps {
                let ProcessStep::Loop { index: other, from: other_from, to: other_to, body } = step else { return None };
                if other_from != from || other_to != to || depends_on_rank(to, parts) {
                    return None;
                }
                let by = Formula::symbol(index);
                bodies.push(body.iter().map(|step| step.substitute(other, &by)).collect::<Vec<ProcessStep>>());
            }
            let body = join_roles(&with_steps(parts, &bodies), notes);
            Some(ModelTerm::Loop {
                order: LoopOrder::Sequential,
                index: index.clone(),
                from: from.clone(),
                to: to.clone(),
                body: Box::new(body),
            })
        }
        ProcessStep::If { pos: place, share, .. } => {
            let (mut thens, mut others) = (Vec::new(), Vec::new());
            for step in steps {
                let ProcessStep::If { share: other, then, otherwise, .. } = step else { return None };
                if other != share || share.as_ref().is_some_and(|share| depends_on_rank(share, parts)) {
                    return None;
                }
                thens.push(then.clone());
                others.push(otherwise.clone());
            }
            let then = Box::new(join_roles(&with_steps(parts, &thens), notes));
            let otherwise = Box::new(join_roles(&with_steps(parts, &others), notes));
            Some(ModelTerm::If { position: Some(place.file_and_line()), share: share.clone(), then, otherwise })
        }
        _ => None,
    }
}

fn with_steps<'a>(parts: &[RoleTrace<'a>], lists: &'a [Vec<ProcessStep>]) -> Vec<RoleTrace<'a>> {
    parts.iter().zip(lists).map(|(part, steps)| RoleTrace { role: part.role, steps }).collect()
}

fn depends_on_rank(formula: &Formula, parts: &[RoleTrace]) -> bool {
    let symbols = formula.symbols();
    parts.iter().any(|part| symbols.contains(&part.role.index))
}

/// A collective; if sizes or communicators differ between roles, the largest counts.
fn collective_term(parts: &[RoleTrace], steps: &[&ProcessStep]) -> Option<ModelTerm> {
    let mut first: Option<CollectiveKind> = None;
    let (mut sizes, mut members): (Vec<Formula>, Vec<Formula>) = (Vec::new(), Vec::new());
    for (part, step) in parts.iter().zip(steps) {
        let ProcessStep::Collective { operation, bytes, processes, .. } = step else { return None };
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
    Some(ModelTerm::Collective { operation: first?, bytes: Formula::max_of(sizes), processes: Formula::max_of(members) })
}

fn largest_of(role: &ProcessRole, size: &Formula) -> Formula {
    if size.symbols().contains(&role.index) { Formula::max_over(&role.index, &role.low, &role.high, size) } else { size.clone() }
}

/// Roles whose collectives cannot be matched: each by itself, in parallel.
fn unmatched_roles(parts: &[RoleTrace], notes: &mut Vec<CompileNote>) -> ModelTerm {
    if parts.len() > 1 {
        let first = |part: &RoleTrace| part.steps.iter().find_map(collective_pos);
        if let Some(place) = parts.iter().find_map(first) {
            let text = "the collectives of the process roles cannot be matched from here on; each is counted by itself";
            notes.push(CompileNote { pos: place, text: text.to_owned() });
        }
    }
    parallel(parts.iter().map(|part| for_role(part.role, LoopOrder::Parallel, single_process_term(part.role, part.steps))).collect())
}

fn collective_pos(step: &ProcessStep) -> Option<crate::file_pos::FilePos> {
    match step {
        ProcessStep::Collective { pos: place, .. } => Some(place.clone()),
        ProcessStep::Loop { body, .. } => body.iter().find_map(collective_pos),
        ProcessStep::If { then, otherwise, .. } => then.iter().chain(otherwise).find_map(collective_pos),
        _ => None,
    }
}

/// The steps between two joint steps.
fn segment(parts: &[RoleTrace], notes: &mut Vec<CompileNote>) -> ModelTerm {
    if parts.len() > 1
        && let Some(term) = master_worker_term(parts)
    {
        return term;
    }
    if parts.len() > 1 {
        note_unmatched(parts, notes);
    }
    let is_chain = parts.iter().any(|part| is_pipeline_stage(part.role, part.steps));
    let terms = parts.iter().map(|part| {
        let order = if is_pipeline_stage(part.role, part.steps) { LoopOrder::Sequential } else { LoopOrder::Parallel };
        for_role(part.role, order, single_process_term(part.role, part.steps))
    });
    if is_chain { sequence(terms) } else { parallel(terms.collect()) }
}

/// Whether each process waits for its predecessor and then sends to the next, so that they form a pipeline.
fn is_pipeline_stage(role: &ProcessRole, steps: &[ProcessStep]) -> bool {
    let mut messages = Vec::new();
    steps.iter().for_each(|step| step.messages(&mut messages));
    let rank = role.rank();
    let [first, rest @ ..] = messages.as_slice() else { return false };
    let is_before = |peer: &Formula| *peer == &rank - &Formula::one();
    let waits = !role.is_single() && !first.is_sent && first.peer.as_ref().is_some_and(is_before);
    waits && rest.iter().any(|message| message.is_sent && !message.peer.as_ref().is_some_and(is_before))
}

fn note_unmatched(parts: &[RoleTrace], notes: &mut Vec<CompileNote>) {
    let mut messages = Vec::new();
    parts.iter().flat_map(|part| part.steps).for_each(|step| step.messages(&mut messages));
    if let Some(first) = messages.iter().find(|message| !message.is_sent && message.peer.is_none()) {
        let text = "the sender of this receive is unknown; messages are counted at their senders".to_owned();
        notes.push(CompileNote { pos: first.pos.clone(), text });
    }
}
