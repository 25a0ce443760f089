//! Interprocedural constant propagation: a procedure whose argument is the same constant in all calls needs no parameter for it.

use std::collections::HashMap;

use sintonia_formula::Formula;
use sintonia_pamela::model::{ModelTerm, ProcedureDecl};

use super::term_builder::substitute_symbol;

/// Removes parameters that are always the same constant, except `keep`.
pub(crate) fn propagate_constants(mut procedures: Vec<ProcedureDecl>, keep: Option<&str>) -> Vec<ProcedureDecl> {
    loop {
        let mut given: HashMap<String, Vec<Option<Formula>>> = HashMap::new();
        procedures.iter().for_each(|procedure| collect_constant_arguments(&procedure.body, &mut given));
        let mut changed = false;
        for (name, constants) in given {
            let positions = constants.into_iter().enumerate().filter_map(|(position, constant)| Some((position, constant?)));
            let Some(procedure) = procedures.iter_mut().find(|procedure| procedure.name == name) else { continue };
            let fixed: Vec<(usize, Formula)> = positions
                .filter(|(position, _)| procedure.parameters.get(*position).is_some_and(|name| Some(name.as_str()) != keep))
                .collect();
            if fixed.is_empty() {
                continue;
            }
            changed = true;
            for (position, constant) in fixed.iter().rev() {
                let symbol = procedure.parameters.remove(*position);
                procedure.body = substitute_symbol(&procedure.body, &symbol, constant);
            }
            let gone: Vec<usize> = fixed.into_iter().map(|(position, _)| position).collect();
            procedures.iter_mut().for_each(|procedure| drop_arguments(&mut procedure.body, &name, &gone));
        }
        if !changed {
            return procedures;
        }
    }
}

/// The arguments of each procedure that are the same constant in all calls.
fn collect_constant_arguments(term: &ModelTerm, given: &mut HashMap<String, Vec<Option<Formula>>>) {
    match term {
        ModelTerm::Call { procedure, arguments } => {
            let exact = |formula: &Formula| formula.as_exact().is_some().then(|| formula.clone());
            match given.get_mut(procedure) {
                None => {
                    given.insert(procedure.clone(), arguments.iter().map(exact).collect());
                }
                Some(known) => known.iter_mut().zip(arguments).for_each(|(known, argument)| {
                    if known.as_ref() != Some(argument) {
                        *known = None;
                    }
                }),
            }
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().for_each(|term| collect_constant_arguments(term, given)),
        ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => {
            collect_constant_arguments(body, given)
        }
        ModelTerm::If { then, otherwise, .. } => {
            collect_constant_arguments(then, given);
            collect_constant_arguments(otherwise, given);
        }
        ModelTerm::Comment(_)
        | ModelTerm::Operation { .. }
        | ModelTerm::Message { .. }
        | ModelTerm::Collective { .. }
        | ModelTerm::Delay(_) => {}
    }
}

fn drop_arguments(term: &mut ModelTerm, name: &str, gone: &[usize]) {
    match term {
        ModelTerm::Call { procedure, arguments } if procedure == name => {
            let mut position = 0;
            arguments.retain(|_| {
                position += 1;
                !gone.contains(&(position - 1))
            });
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter_mut().for_each(|term| drop_arguments(term, name, gone)),
        ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => drop_arguments(body, name, gone),
        ModelTerm::If { then, otherwise, .. } => {
            drop_arguments(then, name, gone);
            drop_arguments(otherwise, name, gone);
        }
        _ => {}
    }
}
