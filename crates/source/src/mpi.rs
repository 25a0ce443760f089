//! C programs that call MPI, as models of all their processes.
//!
//! The program is executed symbolically once for each role, that is for the ranks that take the same path: first for all processes
//! together, and if a condition on the rank divides processes that communicate, again for each part. The steps of all roles are then
//! joined: collectives synchronise all of them, and messages between a master and its workers order them.

mod branches;
pub(crate) mod call_graph;
mod calls;
mod communicator;
mod condition;
mod datatype;
mod evaluate;
mod executor;
mod field_names;
mod grid;
mod indicator;
mod local_cost;
mod loop_counter;
mod loops;
mod master_worker;
mod model_terms;
mod process_step;
mod request;
mod role;
mod role_join;
mod role_trace;
mod value;
mod window;

use std::collections::{HashMap, HashSet};

use sintonia_formula::Formula;
use sintonia_pamela::model::{ModelParameter, PamelaModel, ProcedureDecl, SourceLanguage};

use crate::analysis::{Assumptions, StaticAnalyzer};
use crate::compiled_model::CompiledModel;
use crate::error::{Error, SourceDiagnostic};
use crate::ir::{IrProgram, IrRoutine, Statement, StatementKind};
use executor::{ExecutionAbort, ExecutionShared, execute_role};
use process_step::ProcessStep;
use role::ProcessRole;
use role_join::join_roles;
use role_trace::RoleTrace;

/// The maximum number of roles.
const MAX_ROLES: usize = 16;

/// The model of a program, given the field names of its structs.
pub(crate) fn compile(program: &IrProgram, structures: HashMap<String, Vec<String>>) -> Result<CompiledModel, Error> {
    let Some(main) = program.routines.iter().find(|routine| routine.name == "main") else {
        return Err(Error::InvalidInput("there is no function `main` in these files".to_owned()));
    };
    let taken = variable_names(program);
    let index = unused_rank_name(&taken);
    let mut shared = ExecutionShared {
        program,
        routines: program.routines.iter().map(|routine| (routine.name.as_str(), routine)).collect(),
        followed: call_graph::followed_routines(program),
        communicating: call_graph::communicating_routines(program),
        struct_fields: structures,
        arguments: main.parameters.get(1).map(|parameter| parameter.name.clone()),
        argument_count: main.parameters.first().map(|parameter| parameter.name.clone()),
        parameters: Vec::new(),
        notes: Vec::new(),
        reserved_names: taken.into_iter().map(str::to_owned).chain(["p".to_owned(), index.clone()]).collect(),
    };
    let ways = role_traces(&mut shared, main, &index)?;
    let (mut parameters, mut notes) = (shared.parameters, shared.notes);
    let mut analysis = StaticAnalyzer::new(program, SourceLanguage::C).on_computer(&index);
    parameters.iter().map(|parameter| parameter.name.as_str()).chain(["p"]).for_each(|symbol| analysis.reserve_symbol(symbol));
    let mut counted = Vec::new();
    for (role, steps) in &ways {
        *analysis.assumptions_mut() = role.assumptions();
        counted.push(local_cost::count_local_work(steps, role, &mut analysis)?);
    }
    let parts: Vec<RoleTrace> = ways.iter().zip(&counted).map(|((role, _), steps)| RoleTrace { role, steps }).collect();
    let body = join_roles(&parts, &mut notes);
    let rest = analysis.finish();
    add_parameters(&mut parameters, rest.parameters);
    notes.extend(rest.notes);
    notes.sort();
    notes.dedup();
    let comment = Some(format!("from {}", main.pos.file_and_line()));
    let mut procedures = vec![ProcedureDecl { name: "main".to_owned(), parameters: Vec::new(), body, comment }];
    procedures.extend(rest.procedures);
    Ok(CompiledModel { model: PamelaModel { language: SourceLanguage::C, parameters, resources: Vec::new(), procedures }, notes })
}

/// The steps of each role; roles are split until all processes of each take the same path.
fn role_traces<'p>(
    shared: &mut ExecutionShared<'p>,
    main: &'p IrRoutine,
    index: &str,
) -> Result<Vec<(ProcessRole, Vec<ProcessStep>)>, Error> {
    let everyone = ProcessRole::all_ranks(index);
    let first = if call_graph::uses_mpi(shared.program) { everyone } else { ProcessRole { high: Formula::zero(), ..everyone } };
    let mut left = vec![first];
    let mut ways = Vec::new();
    while let Some(role) = left.pop() {
        match execute_role(shared, &role, main) {
            Ok(steps) => ways.push((role, steps)),
            Err(ExecutionAbort::Failed(error)) => return Err(*error),
            Err(ExecutionAbort::RolesDiverge(at)) => {
                let parts = role.split_at(&at, &Assumptions::default()).unwrap_or_default();
                if parts.is_empty() || left.len() + ways.len() + parts.len() > MAX_ROLES {
                    return Err(SourceDiagnostic::new(main.pos.clone(), format!("the processes have more than {MAX_ROLES} roles")).into());
                }
                left.extend(parts.into_iter().rev());
            }
        }
    }
    Ok(ways)
}

fn add_parameters(parameters: &mut Vec<ModelParameter>, more: Vec<ModelParameter>) {
    for parameter in more {
        if !parameters.iter().any(|known| known.name == parameter.name) {
            parameters.push(parameter);
        }
    }
}

/// A name for the rank that the program does not use.
fn unused_rank_name(taken: &HashSet<&str>) -> String {
    let numbered = (2..).map(|number| format!("r{number}"));
    ["r", "rank", "process"].into_iter().map(str::to_owned).chain(numbered).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

fn variable_names(program: &IrProgram) -> HashSet<&str> {
    let mut names: HashSet<&str> = program.globals.iter().map(|variable| variable.name.as_str()).collect();
    for routine in &program.routines {
        names.extend(routine.parameters.iter().map(|variable| variable.name.as_str()));
        collect_variable_names(&routine.body, &mut names);
    }
    names
}

fn collect_variable_names<'p>(list: &'p [Statement], names: &mut HashSet<&'p str>) {
    for statement in list {
        if let StatementKind::Declare(variable) | StatementKind::ForEach { variable, .. } = &statement.kind {
            names.insert(&variable.name);
        }
        match &statement.kind {
            StatementKind::Block(list) => collect_variable_names(list, names),
            StatementKind::If { then, otherwise, .. } => {
                collect_variable_names(then, names);
                collect_variable_names(otherwise, names);
            }
            StatementKind::Loop { init: before, body, .. } => {
                collect_variable_names(before, names);
                collect_variable_names(body, names);
            }
            StatementKind::ForEach { body, .. } => collect_variable_names(body, names),
            StatementKind::Switch { cases, .. } => cases.iter().for_each(|case| collect_variable_names(case, names)),
            _ => {}
        }
    }
}
