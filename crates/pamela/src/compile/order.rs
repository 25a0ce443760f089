//! The procedures of a model in an order in which each comes after all that it calls.

use std::collections::{BTreeMap, BTreeSet};

use super::{CompileError, inside};
use crate::model::{Model, Procedure, Term};

/// The name of the procedure that is the program.
const MAIN: &str = "main";

/// The procedures that the program needs.
pub(super) struct Order<'a> {
    pub(super) main: &'a Procedure,
    /// Each after all that it calls.
    pub(super) procedures: Vec<&'a Procedure>,
}

pub(super) fn of(model: &Model) -> Result<Order<'_>, CompileError> {
    let main = model.procedures.iter().find(|procedure| procedure.name == MAIN).or(model.procedures.first()).ok_or(CompileError::Empty)?;
    if let Some(name) = main.parameters.first() {
        return Err(CompileError::MainParameters { procedure: main.name.clone(), name: name.clone() });
    }
    let mut search = Search { by_name: BTreeMap::new(), done: BTreeMap::new(), procedures: Vec::new() };
    for procedure in &model.procedures {
        search.by_name.entry(procedure.name.as_str()).or_insert(procedure);
    }
    search.visit(main)?;
    Ok(Order { main, procedures: search.procedures })
}

struct Search<'a> {
    by_name: BTreeMap<&'a str, &'a Procedure>,
    /// Whether all that a procedure calls has been looked at; if not, it is on the way from the program to here.
    done: BTreeMap<&'a str, bool>,
    procedures: Vec<&'a Procedure>,
}

impl<'a> Search<'a> {
    /// Goes through calls with a list of its own instead of the stack, which a long chain of them would not fit.
    fn visit(&mut self, main: &'a Procedure) -> Result<(), CompileError> {
        let mut open = vec![(main, self.called(main)?)];
        self.done.insert(&main.name, false);
        while let Some((procedure, calls)) = open.last_mut() {
            let Some(next) = calls.pop() else {
                self.done.insert(&procedure.name, true);
                self.procedures.push(procedure);
                open.pop();
                continue;
            };
            match self.done.get(next.name.as_str()) {
                Some(false) => return Err(CompileError::Recursion(next.name.clone())),
                Some(true) => {}
                None => {
                    self.done.insert(&next.name, false);
                    open.push((next, self.called(next)?));
                }
            }
        }
        Ok(())
    }

    /// What a procedure calls, each once, the first of them last.
    fn called(&self, caller: &'a Procedure) -> Result<Vec<&'a Procedure>, CompileError> {
        let mut called: Vec<&Procedure> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![&caller.body];
        while let Some(term) = open.pop() {
            open.extend(inside(term).into_iter().rev());
            let Term::Call { procedure, arguments } = term else { continue };
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
