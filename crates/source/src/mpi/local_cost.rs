//! The cost of local work, from the common static analysis.

use super::model_terms::on_role_computer;
use super::process_step::{LocalWork, ProcessStep};
use super::role::ProcessRole;
use crate::analysis::{AbstractValue, StaticAnalyzer, VariableScope};
use crate::error::Error;

/// The steps with all local work counted.
pub(super) fn count_local_work<'a>(
    steps: &'a [ProcessStep],
    role: &ProcessRole,
    analysis: &mut StaticAnalyzer<'a>,
) -> Result<Vec<ProcessStep>, Error> {
    let mut result = Vec::new();
    for step in steps {
        result.push(match step {
            ProcessStep::Work(work) => ProcessStep::Local(on_role_computer(work_term(work, analysis)?, role)),
            ProcessStep::Local(term) => ProcessStep::Local(on_role_computer(term.clone(), role)),
            ProcessStep::Message(_) | ProcessStep::Collective { .. } => step.clone(),
            ProcessStep::Loop { index, from, to, body } => ProcessStep::Loop {
                index: index.clone(),
                from: from.clone(),
                to: to.clone(),
                body: count_local_work(body, role, analysis)?,
            },
            ProcessStep::If { pos: place, share, then, otherwise } => ProcessStep::If {
                pos: place.clone(),
                share: share.clone(),
                then: count_local_work(then, role, analysis)?,
                otherwise: count_local_work(otherwise, role, analysis)?,
            },
        });
    }
    Ok(result)
}

fn work_term<'a>(work: &'a LocalWork, analysis: &mut StaticAnalyzer<'a>) -> Result<sintonia_pamela::model::ModelTerm, Error> {
    let mut scope = VariableScope::new();
    for (name, formula) in &work.known {
        scope.set(name, AbstractValue::exact(formula.clone()));
    }
    for (index, last) in &work.loops {
        analysis.reserve_symbol(index);
        analysis.assumptions_mut().enter_loop(index, last.clone());
    }
    let term = analysis.term(&work.statements, &mut scope);
    for _ in &work.loops {
        analysis.assumptions_mut().exit_loop();
    }
    term
}
