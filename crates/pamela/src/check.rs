//! Whether a model that was built is one that could have been written.
//!
//! The rules are those of the text, so they are asked there: a model is right if its text is. Before, its names must be such that the text
//! says what the model means.

use std::collections::HashSet;

use crate::model::{Computer, Model, Operation, Procedure, Term};
use crate::text::Error;
use crate::text::name::{TYPES, begins_with_type, is_computer, is_name, is_operation_word, spelled};

impl Model {
    /// An error if the model is not right; what is told of lines is about its text.
    pub fn check(&self) -> Result<(), Error> {
        let declared = self.parameters.iter().map(|parameter| &parameter.name).chain(self.resources.iter().map(|resource| &resource.name));
        for name in declared.chain(self.procedures.iter().map(|procedure| &procedure.name)) {
            named(is_name(name), name, "declared", None)?;
        }
        let procedures = self.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
        self.procedures.iter().try_for_each(|procedure| Names { procedure, procedures: &procedures }.check())?;
        Model::parse(&self.to_text(), "model").map(|_| ())
    }
}

fn named(is_right: bool, name: &str, what: &'static str, procedure: Option<&str>) -> Result<(), Error> {
    if is_right { Ok(()) } else { Err(Error::Unwritable { name: name.to_owned(), what, procedure: procedure.map(str::to_owned) }) }
}

/// The names in a procedure.
struct Names<'a> {
    procedure: &'a Procedure,
    procedures: &'a HashSet<&'a str>,
}

impl Names<'_> {
    fn check(&self) -> Result<(), Error> {
        self.procedure.parameters.iter().try_for_each(|name| self.right(is_name(name), name, "a parameter"))?;
        let mut open = vec![&self.procedure.body];
        while let Some(term) = open.pop() {
            self.term(term)?;
            match term {
                Term::Sequence(terms) | Term::Parallel(terms) => open.extend(terms),
                Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => open.push(body),
                Term::If { then, otherwise, .. } => open.extend([&**then, &**otherwise]),
                _ => {}
            }
        }
        Ok(())
    }

    fn right(&self, is_right: bool, name: &str, what: &'static str) -> Result<(), Error> {
        named(is_right, name, what, Some(&self.procedure.name))
    }

    fn term(&self, term: &Term) -> Result<(), Error> {
        match term {
            Term::Operation { operation, .. } => self.operation(operation)?,
            Term::Message { from: Computer(from), to: Computer(to), .. } => {
                self.right(is_computer(from) && !from.contains('_'), from, "the sender of a message (`_` would end it)")?;
                self.right(is_computer(to), to, "a computer")?;
            }
            Term::Loop { index, .. } => self.right(is_name(index), index, "an index")?,
            Term::Tasks { index, computer, .. } => {
                self.right(is_name(index), index, "an index")?;
                self.right(is_name(computer), computer, "a computer")?;
            }
            Term::Use { resource, .. } => self.right(is_computer(resource), resource, "a resource or a computer")?,
            Term::Call { procedure, .. } => return self.right(self.procedures.contains(procedure.as_str()), procedure, "called"),
            _ => {}
        }
        match spelled(term) {
            Some(name) => self.right(!self.procedures.contains(name.as_str()), &name, "both a procedure and an operation"),
            None => Ok(()),
        }
    }

    fn operation(&self, Operation { name, of, on }: &Operation) -> Result<(), Error> {
        self.right(is_operation_word(name), name, "an operation")?;
        if let Some(of) = of {
            self.right(TYPES.contains(&of.as_str()), of, "a type")?;
        }
        match on {
            Some(Computer(on)) => self.right(is_computer(on) && (of.is_some() || !begins_with_type(on)), on, "a computer"),
            None => Ok(()),
        }
    }
}
