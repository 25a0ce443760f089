//! Terms: loops, conditions, operations.

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;

use super::error::{MAX_DEPTH, ModelProblem};
use super::formula::ValueConstraint;
use super::lexer::{ModelToken, TokenKind};
use super::name::{TermName, resolve_name};
use super::parser::{ErrorReported, LocalName, ModelParser};
use crate::model::{ComputeOp, Computer, LoopOrder, ModelTerm};

const NOTHING: ModelTerm = ModelTerm::Sequence(Vec::new());

impl<'a> ModelParser<'a> {
    pub(super) fn term(&mut self) -> Result<ModelTerm, ErrorReported> {
        if self.depth == MAX_DEPTH {
            return self.fail(self.lookahead.offset..self.lookahead.end(), ModelProblem::TooDeep, None);
        }
        self.depth += 1;
        let term = self.term_unchecked();
        self.depth -= 1;
        term
    }

    fn term_unchecked(&mut self) -> Result<ModelTerm, ErrorReported> {
        let hint = match (self.lookahead.kind, self.lookahead.text) {
            (TokenKind::Punct, "{") => return self.block(),
            (TokenKind::Name, "seq") => return self.loop_term(LoopOrder::Sequential),
            (TokenKind::Name, "par") => return self.loop_term(LoopOrder::Parallel),
            (TokenKind::Name, "tasks") => return self.tasks(),
            (TokenKind::Name, "if") => return self.condition(),
            (TokenKind::Name, "use") => return self.use_term(),
            (TokenKind::Name, "else") => Some("`else` directly follows the term of its `if`, without `;`"),
            (TokenKind::Name, "parameter" | "resource" | "language") => {
                Some("declarations must be outside of procedures; is a `}` missing above?")
            }
            (TokenKind::Name, _) => return self.named_term(),
            (TokenKind::Punct, "(") => Some("terms are grouped with braces"),
            (TokenKind::Punct, ";") => Some("an empty term is written as {}"),
            _ => None,
        };
        self.fail_expected("a term", hint)
    }

    /// `(i=1,n)`
    fn range(&mut self) -> Result<(ModelToken<'a>, Formula, Formula), ErrorReported> {
        self.expect("(")?;
        let index = self.name("an index")?;
        self.expect("=")?;
        let from = self.formula()?;
        self.expect(",")?;
        let to = self.formula()?;
        self.expect(")")?;
        self.indexes.entry(index.text).or_insert(index.offset);
        Ok((index, from, to))
    }

    /// `seq(i=1,n) …`, `par(i=1,n) …`
    fn loop_term(&mut self, order: LoopOrder) -> Result<ModelTerm, ErrorReported> {
        self.advance();
        let (index, from, to) = self.range()?;
        let body = self.with_local(index.text, LocalName::Index, ModelParser::term)?;
        Ok(ModelTerm::Loop { order, index: index.text.into(), from, to, body: body.into() })
    }

    /// `tasks(i=1,n) on w …`
    fn tasks(&mut self) -> Result<ModelTerm, ErrorReported> {
        self.advance();
        let (index, from, to) = self.range()?;
        if !self.lookahead.is_word("on") {
            return self.fail_expected("`on`", Some("name the computer of each task, as in tasks(i=1,n) on w { … }"));
        }
        self.advance();
        let computer = self.name("the name of a computer")?;
        self.indexes.entry(computer.text).or_insert(computer.offset);
        let body =
            self.with_local(index.text, LocalName::Index, |reader| reader.with_local(computer.text, LocalName::Index, ModelParser::term))?;
        Ok(ModelTerm::Tasks { index: index.text.into(), from, to, computer: computer.text.into(), body: body.into() })
    }

    /// `if "File.java:14" (0.5) … else …`
    fn condition(&mut self) -> Result<ModelTerm, ErrorReported> {
        self.advance();
        let place = (self.lookahead.kind == TokenKind::StringLiteral).then(|| unescape(self.advance().text));
        let share = if self.accept("(") {
            let share = self.constrained_formula("a share", ValueConstraint::UnitInterval)?;
            self.expect(")")?;
            Some(share)
        } else {
            None
        };
        let then = self.term()?.into();
        let otherwise = if self.lookahead.is_word("else") {
            self.advance();
            self.term()?
        } else {
            NOTHING
        };
        Ok(ModelTerm::If { position: place, share, then, otherwise: otherwise.into() })
    }

    /// `use(network, …)`
    fn use_term(&mut self) -> Result<ModelTerm, ErrorReported> {
        self.advance();
        self.expect("(")?;
        let resource = self.lookahead;
        match resource.kind {
            TokenKind::Number => _ = self.advance(),
            _ => _ = self.name("a resource or a computer")?,
        }
        let is_declared = self.outline.resources.contains_key(resource.text) || self.local(resource.text).is_some();
        if !is_declared && resource.kind == TokenKind::Name {
            self.deferred.used_resources.push((resource.text, resource.offset..resource.end()));
        }
        self.expect(",")?;
        let body = self.term()?.into();
        if self.lookahead.is(";") || self.lookahead.is("||") {
            return self.fail_expected("`)`", Some("group several terms with braces, as in use(disk, { a; b })"));
        }
        self.expect(")")?;
        Ok(ModelTerm::Use { resource: resource.text.into(), body })
    }

    /// A term that starts with a name.
    fn named_term(&mut self) -> Result<ModelTerm, ErrorReported> {
        let name = self.advance();
        match resolve_name(name.text, &self.outline) {
            Err(_) if self.block_follows() => {
                self.fail(name.offset..name.end(), ModelProblem::NestedProcedure(name.text.into()), Some("is a `}` missing above?".into()))
            }
            Err((problem, hint)) => self.fail(name.offset..name.end(), problem, hint),
            Ok(TermName::Procedure(place)) => self.call(name, place),
            Ok(TermName::Delay) => {
                let [time] = self.single_number(name, "a time", "1 argument (the time in seconds)")?;
                Ok(ModelTerm::Delay(time))
            }
            Ok(TermName::Message { from, to }) => {
                let [bytes] = self.single_number(name, "a size", "1 argument (the size in bytes)")?;
                Ok(ModelTerm::Message { from: self.computer(from), to: self.computer(to), bytes })
            }
            Ok(TermName::Collective(operation)) => self.collective(name, operation),
            Ok(TermName::Operation { word, of, on }) => {
                let times = self.arguments(|reader, _| reader.constrained_formula("a count", ValueConstraint::NonNegative))?;
                let times = self.at_most_one(name, times)?;
                let operation = ComputeOp { name: word.into(), data_type: of.map(Into::into), computer: on.map(|on| self.computer(on)) };
                Ok(ModelTerm::Operation { operation, times })
            }
        }
    }

    fn computer(&mut self, name: &'a str) -> Computer {
        if self.local(name).is_none() {
            self.deferred.computers.insert(name);
        }
        Computer(name.into())
    }

    fn call(&mut self, name: ModelToken<'a>, place: usize) -> Result<ModelTerm, ErrorReported> {
        let arguments = self.arguments(|reader, argument| reader.argument((place, argument)))?;
        let takes = self.outline.procedures[place].n_parameters;
        if arguments.len() != takes {
            let takes = match takes {
                0 => "no arguments".to_owned(),
                1 => "1 argument".to_owned(),
                _ => format!("{takes} arguments"),
            };
            return self.argument_count_error(name, &takes, arguments.len());
        }
        self.deferred.calls.push((self.procedure, place, name.offset..name.end()));
        Ok(ModelTerm::Call { procedure: name.text.into(), arguments })
    }

    /// `bcast(8*n, p)`; the size of a barrier is optional.
    fn collective(&mut self, name: ModelToken<'a>, operation: CollectiveKind) -> Result<ModelTerm, ErrorReported> {
        let mut given =
            self.arguments(|reader, _| reader.constrained_formula("an argument of a collective", ValueConstraint::NonNegative))?;
        if operation == CollectiveKind::Barrier && given.len() == 1 {
            given.insert(0, Formula::zero());
        }
        match <[Formula; 2]>::try_from(given) {
            Ok([bytes, processes]) => Ok(ModelTerm::Collective { operation, bytes, processes }),
            Err(given) => self.argument_count_error(name, "2 arguments (the size in bytes and the number of processes)", given.len()),
        }
    }

    /// The argument of a name that takes exactly one.
    fn single_number(&mut self, name: ModelToken<'a>, what: &'static str, takes: &str) -> Result<[Formula; 1], ErrorReported> {
        let given = self.arguments(|reader, _| reader.constrained_formula(what, ValueConstraint::NonNegative))?;
        given.try_into().or_else(|given: Vec<Formula>| self.argument_count_error(name, takes, given.len()))
    }

    fn at_most_one(&mut self, name: ModelToken<'a>, mut given: Vec<Formula>) -> Result<Formula, ErrorReported> {
        match given.len() {
            0 => Ok(Formula::one()),
            1 => Ok(given.remove(0)),
            more => self.argument_count_error(name, "at most 1 argument (the count)", more),
        }
    }

    fn argument_count_error<T>(&mut self, name: ModelToken<'a>, takes: &str, given: usize) -> Result<T, ErrorReported> {
        self.fail(name.offset..name.end(), ModelProblem::Arguments { name: name.text.into(), takes: takes.into(), given }, None)
    }

    /// The optional arguments in parentheses.
    fn arguments(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> Result<Formula, ErrorReported>,
    ) -> Result<Vec<Formula>, ErrorReported> {
        let mut given = Vec::new();
        if !self.accept("(") || self.accept(")") {
            return Ok(given);
        }
        loop {
            given.push(each(self, given.len())?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(given);
            }
        }
    }
}

/// Removes the quotes and escapes of a string literal.
fn unescape(text: &str) -> String {
    let mut letters = text[1..text.len() - 1].chars();
    let mut result = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => result.extend(letters.next().map(|escaped| if escaped == 'n' { '\n' } else { escaped })),
            other => result.push(other),
        }
    }
    result
}
