//! Validation of models that were not parsed from text.
//!
//! The rules are those of the text format: a model is valid if its text is. Before that, its names must be such that the text means the
//! same as the model.

use std::collections::HashSet;

use crate::model::{ComputeOp, Computer, ModelTerm, PamelaModel, ProcedureDecl};
use crate::text::Error;
use crate::text::name::{TYPES, begins_with_type, is_computer, is_name, is_operation_word, term_spelling};

impl PamelaModel {
    /// Returns an error if the model is invalid; line numbers refer to its text.
    pub fn check(&self) -> Result<(), Error> {
        let declared = self.parameters.iter().map(|parameter| &parameter.name).chain(self.resources.iter().map(|resource| &resource.name));
        for name in declared.chain(self.procedures.iter().map(|procedure| &procedure.name)) {
            require_valid(is_name(name), name, "declared", None)?;
        }
        let procedures = self.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
        self.procedures.iter().try_for_each(|procedure| NameChecker { procedure, procedures: &procedures }.check())?;
        PamelaModel::parse(&self.to_text(), "model").map(|_| ())
    }
}

fn require_valid(is_right: bool, name: &str, what: &'static str, procedure: Option<&str>) -> Result<(), Error> {
    if is_right { Ok(()) } else { Err(Error::Unwritable { name: name.to_owned(), what, procedure: procedure.map(str::to_owned) }) }
}

/// Checks the names in a procedure.
struct NameChecker<'a> {
    procedure: &'a ProcedureDecl,
    procedures: &'a HashSet<&'a str>,
}

impl NameChecker<'_> {
    fn check(&self) -> Result<(), Error> {
        self.procedure.parameters.iter().try_for_each(|name| self.require(is_name(name), name, "a parameter"))?;
        let mut open = vec![&self.procedure.body];
        while let Some(term) = open.pop() {
            self.term(term)?;
            match term {
                ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => open.extend(terms),
                ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => open.push(body),
                ModelTerm::If { then, otherwise, .. } => open.extend([&**then, &**otherwise]),
                _ => {}
            }
        }
        Ok(())
    }

    fn require(&self, is_right: bool, name: &str, what: &'static str) -> Result<(), Error> {
        require_valid(is_right, name, what, Some(&self.procedure.name))
    }

    fn term(&self, term: &ModelTerm) -> Result<(), Error> {
        match term {
            ModelTerm::Operation { operation, .. } => self.operation(operation)?,
            ModelTerm::Message { from: Computer(from), to: Computer(to), .. } => {
                self.require(is_computer(from) && !from.contains('_'), from, "the sender of a message (`_` would end it)")?;
                self.require(is_computer(to), to, "a computer")?;
            }
            ModelTerm::Loop { index, .. } => self.require(is_name(index), index, "an index")?,
            ModelTerm::Tasks { index, computer, .. } => {
                self.require(is_name(index), index, "an index")?;
                self.require(is_name(computer), computer, "a computer")?;
            }
            ModelTerm::Use { resource, .. } => self.require(is_computer(resource), resource, "a resource or a computer")?,
            ModelTerm::Call { procedure, .. } => return self.require(self.procedures.contains(procedure.as_str()), procedure, "called"),
            _ => {}
        }
        match term_spelling(term) {
            Some(name) => self.require(!self.procedures.contains(name.as_str()), &name, "both a procedure and an operation"),
            None => Ok(()),
        }
    }

    fn operation(&self, ComputeOp { name, data_type: of, computer: on }: &ComputeOp) -> Result<(), Error> {
        self.require(is_operation_word(name), name, "an operation")?;
        if let Some(of) = of {
            self.require(TYPES.contains(&of.as_str()), of, "a type")?;
        }
        match on {
            Some(Computer(on)) => self.require(is_computer(on) && (of.is_some() || !begins_with_type(on)), on, "a computer"),
            None => Ok(()),
        }
    }
}
