//! What the parts of a process that nobody else notices cost: asked of the common analysis.

use super::role::Role;
use super::step::{Step, Work};
use super::term::at_home;
use crate::analysis::{Analysis, Scope, Value};
use crate::error::Error;

/// The steps with everything counted.
pub fn counted<'a>(steps: &'a [Step], role: &Role, analysis: &mut Analysis<'a>) -> Result<Vec<Step>, Error> {
    let mut result = Vec::new();
    for step in steps {
        result.push(match step {
            Step::Work(work) => Step::Local(at_home(term(work, analysis)?, role)),
            Step::Local(term) => Step::Local(at_home(term.clone(), role)),
            Step::Message(_) | Step::Group { .. } => step.clone(),
            Step::Loop { index, from, to, body } => {
                Step::Loop { index: index.clone(), from: from.clone(), to: to.clone(), body: counted(body, role, analysis)? }
            }
            Step::If { place, share, then, otherwise } => Step::If {
                place: place.clone(),
                share: share.clone(),
                then: counted(then, role, analysis)?,
                otherwise: counted(otherwise, role, analysis)?,
            },
        });
    }
    Ok(result)
}

fn term<'a>(work: &'a Work, analysis: &mut Analysis<'a>) -> Result<sintonia_pamela::model::Term, Error> {
    let mut scope = Scope::new();
    for (name, formula) in &work.known {
        scope.set(name, Value::known(formula.clone()));
    }
    for (index, last) in &work.loops {
        analysis.reserve(index);
        analysis.facts_mut().open(index, last.clone());
    }
    let term = analysis.term(&work.statements, &mut scope);
    for _ in &work.loops {
        analysis.facts_mut().close();
    }
    term
}
