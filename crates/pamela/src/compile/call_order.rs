//! Topological order of the procedures of a model: callees first.

use std::collections::{BTreeMap, BTreeSet};

use super::{CompileError, subterms};
use crate::model::{ModelTerm, PamelaModel, ProcedureDecl};

/// The name of the main procedure.
const MAIN: &str = "main";

/// The procedures that the main procedure needs.
pub(super) struct CallOrder<'a> {
    pub(super) main: &'a ProcedureDecl,
    /// Callees before callers.
    pub(super) procedures: Vec<&'a ProcedureDecl>,
}

pub(super) fn topological_order(model: &PamelaModel) -> Result<CallOrder<'_>, CompileError> {
    let main = model.procedures.iter().find(|procedure| procedure.name == MAIN).or(model.procedures.first()).ok_or(CompileError::Empty)?;
    if let Some(name) = main.parameters.first() {
        return Err(CompileError::MainParameters { procedure: main.name.clone(), name: name.clone() });
    }
    let mut search = CallGraphSearch { by_name: BTreeMap::new(), visited: BTreeMap::new(), procedures: Vec::new() };
    for procedure in &model.procedures {
        search.by_name.entry(procedure.name.as_str()).or_insert(procedure);
    }
    search.visit(main)?;
    Ok(CallOrder { main, procedures: search.procedures })
}

struct CallGraphSearch<'a> {
    by_name: BTreeMap<&'a str, &'a ProcedureDecl>,
    /// Whether all callees of a procedure have been visited; if not, it is on the current path from the main procedure.
    visited: BTreeMap<&'a str, bool>,
    procedures: Vec<&'a ProcedureDecl>,
}

impl<'a> CallGraphSearch<'a> {
    /// Depth-first search with an explicit stack, since call chains may be long.
    fn visit(&mut self, main: &'a ProcedureDecl) -> Result<(), CompileError> {
        let mut open = vec![(main, self.callees(main)?)];
        self.visited.insert(&main.name, false);
        while let Some((procedure, calls)) = open.last_mut() {
            let Some(next) = calls.pop() else {
                self.visited.insert(&procedure.name, true);
                self.procedures.push(procedure);
                open.pop();
                continue;
            };
            match self.visited.get(next.name.as_str()) {
                Some(false) => return Err(CompileError::Recursion(next.name.clone())),
                Some(true) => {}
                None => {
                    self.visited.insert(&next.name, false);
                    open.push((next, self.callees(next)?));
                }
            }
        }
        Ok(())
    }

    /// The distinct callees of a procedure, in reverse order of their calls.
    fn callees(&self, caller: &'a ProcedureDecl) -> Result<Vec<&'a ProcedureDecl>, CompileError> {
        let mut called: Vec<&ProcedureDecl> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![&caller.body];
        while let Some(term) = open.pop() {
            open.extend(subterms(term).into_iter().rev());
            let ModelTerm::Call { procedure, arguments } = term else { continue };
            let unknown = || CompileError::UnknownProcedure {
                caller: caller.name.clone(),
                called: procedure.clone(),
                known: self.by_name.keys().copied().collect::<Vec<_>>().join(", "),
            };
            let found = *self.by_name.get(procedure.as_str()).ok_or_else(unknown)?;
            if arguments.len() != found.parameters.len() {
                let (given, expected) = (arguments.len(), found.parameters.len());
                return Err(CompileError::Arguments { caller: caller.name.clone(), called: procedure.clone(), given, expected });
            }
            if seen.insert(procedure.as_str()) {
                called.push(found);
            }
        }
        called.reverse();
        Ok(called)
    }
}
