//! C programs that call MPI, as models of all their processes.
//!
//! The program is gone through once for each role, that is for the ranks that take the same way through it: first as all processes together, and
//! where a condition on the rank parts those that communicate, again for each part. What a process of each role does is then put together: the
//! operations of groups are joints of all, and messages between a master and its workers order them.

mod branching;
mod calls;
mod communicator;
mod condition;
mod count;
mod counter;
mod datatype;
mod evaluate;
pub(crate) mod follow;
mod grid;
mod join;
mod looping;
mod naming;
mod request;
mod role;
mod star;
mod step;
mod term;
mod truth;
mod value;
mod walk;
mod window;

use std::collections::{HashMap, HashSet};

use sintonia_formula::Formula;
use sintonia_pamela::model::{Language, Model, Parameter, Procedure};

use crate::analysis::{Analysis, Facts};
use crate::compile::Compiled;
use crate::error::{Error, Wrong};
use crate::routine::{Action, Program, Routine, Statement};
use join::{Part, joined};
use role::Role;
use step::Step;
use walk::{Shared, Stop, walk};

/// How many roles the processes of a program may have.
const MOST_ROLES: usize = 16;

/// The model of a program, given the names of the fields of its structures.
pub(crate) fn compile(program: &Program, structures: HashMap<String, Vec<String>>) -> Result<Compiled, Error> {
    let Some(main) = program.routines.iter().find(|routine| routine.name == "main") else {
        return Err(Error::Files("there is no function `main` in these files".to_owned()));
    };
    let taken = names(program);
    let index = free_name(&taken);
    let mut shared = Shared {
        program,
        routines: program.routines.iter().map(|routine| (routine.name.as_str(), routine)).collect(),
        followed: follow::followed(program),
        communicating: follow::communicating(program),
        structures,
        arguments: main.parameters.get(1).map(|parameter| parameter.name.clone()),
        argument_count: main.parameters.first().map(|parameter| parameter.name.clone()),
        parameters: Vec::new(),
        notes: Vec::new(),
        taken: taken.into_iter().map(str::to_owned).chain(["p".to_owned(), index.clone()]).collect(),
    };
    let ways = ways(&mut shared, main, &index)?;
    let (mut parameters, mut notes) = (shared.parameters, shared.notes);
    let mut analysis = Analysis::new(program, Language::C).on(&index);
    parameters.iter().map(|parameter| parameter.name.as_str()).chain(["p"]).for_each(|symbol| analysis.reserve(symbol));
    let mut counted = Vec::new();
    for (role, steps) in &ways {
        *analysis.facts_mut() = role.facts();
        counted.push(count::counted(steps, role, &mut analysis)?);
    }
    let parts: Vec<Part> = ways.iter().zip(&counted).map(|((role, _), steps)| Part { role, steps }).collect();
    let body = joined(&parts, &mut notes);
    let rest = analysis.finish();
    add_parameters(&mut parameters, rest.parameters);
    notes.extend(rest.notes);
    notes.sort();
    notes.dedup();
    let note = Some(format!("from {}", main.place.short()));
    let mut procedures = vec![Procedure { name: "main".to_owned(), parameters: Vec::new(), body, note }];
    procedures.extend(rest.procedures);
    Ok(Compiled { model: Model { language: Language::C, parameters, resources: Vec::new(), procedures }, notes })
}

/// What each role does, roles being divided until all processes of each take the same way.
fn ways<'p>(shared: &mut Shared<'p>, main: &'p Routine, index: &str) -> Result<Vec<(Role, Vec<Step>)>, Error> {
    let everyone = Role::everyone(index);
    let first = if follow::uses_mpi(shared.program) { everyone } else { Role { high: Formula::zero(), ..everyone } };
    let mut left = vec![first];
    let mut ways = Vec::new();
    while let Some(role) = left.pop() {
        match walk(shared, &role, main) {
            Ok(steps) => ways.push((role, steps)),
            Err(Stop::Wrong(error)) => return Err(*error),
            Err(Stop::Divided(at)) => {
                let parts = role.divided(&at, &Facts::default()).unwrap_or_default();
                if parts.is_empty() || left.len() + ways.len() + parts.len() > MOST_ROLES {
                    return Err(Wrong::at(main.place.clone(), format!("the processes have more than {MOST_ROLES} roles")).into());
                }
                left.extend(parts.into_iter().rev());
            }
        }
    }
    Ok(ways)
}

fn add_parameters(parameters: &mut Vec<Parameter>, more: Vec<Parameter>) {
    for parameter in more {
        if !parameters.iter().any(|known| known.name == parameter.name) {
            parameters.push(parameter);
        }
    }
}

/// A name for ranks that the program does not use.
fn free_name(taken: &HashSet<&str>) -> String {
    let numbered = (2..).map(|number| format!("r{number}"));
    ["r", "rank", "process"].into_iter().map(str::to_owned).chain(numbered).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// The names of all variables of a program.
fn names(program: &Program) -> HashSet<&str> {
    let mut names: HashSet<&str> = program.globals.iter().map(|variable| variable.name.as_str()).collect();
    for routine in &program.routines {
        names.extend(routine.parameters.iter().map(|variable| variable.name.as_str()));
        names_in(&routine.body, &mut names);
    }
    names
}

fn names_in<'p>(list: &'p [Statement], names: &mut HashSet<&'p str>) {
    for statement in list {
        if let Action::Declare(variable) | Action::ForEach { variable, .. } = &statement.what {
            names.insert(&variable.name);
        }
        match &statement.what {
            Action::Block(list) => names_in(list, names),
            Action::If { then, otherwise, .. } => {
                names_in(then, names);
                names_in(otherwise, names);
            }
            Action::Loop { before, body, .. } => {
                names_in(before, names);
                names_in(body, names);
            }
            Action::ForEach { body, .. } => names_in(body, names),
            Action::Switch { cases, .. } => cases.iter().for_each(|case| names_in(case, names)),
            _ => {}
        }
    }
}
