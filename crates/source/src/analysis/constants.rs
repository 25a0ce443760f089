//! A procedure that is always given the same number for something needs no parameter for it.

use std::collections::HashMap;

use sintonia_formula::Formula;
use sintonia_pamela::model::{Procedure, Term};

use super::ledger::substituted;

/// The same procedures without parameters that are always the same number. `keep` is a parameter that is never one.
pub(crate) fn folded(mut procedures: Vec<Procedure>, keep: Option<&str>) -> Vec<Procedure> {
    loop {
        let mut given: HashMap<String, Vec<Option<Formula>>> = HashMap::new();
        procedures.iter().for_each(|procedure| gather(&procedure.body, &mut given));
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
                procedure.body = substituted(&procedure.body, &symbol, constant);
            }
            let gone: Vec<usize> = fixed.into_iter().map(|(position, _)| position).collect();
            procedures.iter_mut().for_each(|procedure| drop_arguments(&mut procedure.body, &name, &gone));
        }
        if !changed {
            return procedures;
        }
    }
}

/// What each procedure is given everywhere, where that is the same number.
fn gather(term: &Term, given: &mut HashMap<String, Vec<Option<Formula>>>) {
    match term {
        Term::Call { procedure, arguments } => {
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
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter().for_each(|term| gather(term, given)),
        Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => gather(body, given),
        Term::If { then, otherwise, .. } => {
            gather(then, given);
            gather(otherwise, given);
        }
        Term::Note(_) | Term::Operation { .. } | Term::Message { .. } | Term::Group { .. } | Term::Delay(_) => {}
    }
}

fn drop_arguments(term: &mut Term, name: &str, gone: &[usize]) {
    match term {
        Term::Call { procedure, arguments } if procedure == name => {
            let mut position = 0;
            arguments.retain(|_| {
                position += 1;
                !gone.contains(&(position - 1))
            });
        }
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter_mut().for_each(|term| drop_arguments(term, name, gone)),
        Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => drop_arguments(body, name, gone),
        Term::If { then, otherwise, .. } => {
            drop_arguments(then, name, gone);
            drop_arguments(otherwise, name, gone);
        }
        _ => {}
    }
}
