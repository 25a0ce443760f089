//! What stands inside of procedures: loops, conditions, operations.

use sintonia_formula::Formula;
use sintonia_machine::Collective;

use super::error::Problem;
use super::formula::Must;
use super::name::{Meaning, meaning};
use super::reader::{Failed, Local, Reader};
use super::token::{Kind, Token};
use crate::model::{Computer, Operation, Order, Term};

/// How deep terms may stand inside each other.
pub(super) const MOST_DEPTH: usize = 256;

const NOTHING: Term = Term::Sequence(Vec::new());

impl<'a> Reader<'a> {
    /// One term.
    pub(super) fn term(&mut self) -> Result<Term, Failed> {
        if self.depth == MOST_DEPTH {
            return self.fail(self.ahead.at..self.ahead.end(), Problem::TooDeep, None);
        }
        self.depth += 1;
        let term = self.term_here();
        self.depth -= 1;
        term
    }

    fn term_here(&mut self) -> Result<Term, Failed> {
        let hint = match (self.ahead.kind, self.ahead.text) {
            (Kind::Sign, "{") => return self.block(),
            (Kind::Name, "seq") => return self.repetition(Order::Sequential),
            (Kind::Name, "par") => return self.repetition(Order::Parallel),
            (Kind::Name, "tasks") => return self.tasks(),
            (Kind::Name, "if") => return self.condition(),
            (Kind::Name, "use") => return self.using(),
            (Kind::Name, "else") => Some("`else` follows the term of its `if` at once, without `;`"),
            (Kind::Name, "parameter" | "resource" | "language") => {
                Some("declarations stand outside of procedures; is a `}` missing above?")
            }
            (Kind::Name, _) => return self.named(),
            (Kind::Sign, "(") => Some("terms are grouped with braces"),
            (Kind::Sign, ";") => Some("nothing is written as {}"),
            _ => None,
        };
        self.expected("a term", hint)
    }

    /// `(i=1,n)`
    fn range(&mut self) -> Result<(Token<'a>, Formula, Formula), Failed> {
        self.expect("(")?;
        let index = self.name("an index")?;
        self.expect("=")?;
        let from = self.formula()?;
        self.expect(",")?;
        let to = self.formula()?;
        self.expect(")")?;
        self.indexes.entry(index.text).or_insert(index.at);
        Ok((index, from, to))
    }

    /// `seq(i=1,n) …`, `par(i=1,n) …`
    fn repetition(&mut self, order: Order) -> Result<Term, Failed> {
        self.take();
        let (index, from, to) = self.range()?;
        let body = self.knowing(index.text, Local::Index, Reader::term)?;
        Ok(Term::Loop { order, index: index.text.into(), from, to, body: body.into() })
    }

    /// `tasks(i=1,n) on w …`
    fn tasks(&mut self) -> Result<Term, Failed> {
        self.take();
        let (index, from, to) = self.range()?;
        if !self.ahead.is_word("on") {
            return self.expected("`on`", Some("a computer gets a name for each task, as in tasks(i=1,n) on w { … }"));
        }
        self.take();
        let computer = self.name("the name of a computer")?;
        self.indexes.entry(computer.text).or_insert(computer.at);
        let body = self.knowing(index.text, Local::Index, |reader| reader.knowing(computer.text, Local::Index, Reader::term))?;
        Ok(Term::Tasks { index: index.text.into(), from, to, computer: computer.text.into(), body: body.into() })
    }

    /// `if "File.java:14" (0.5) … else …`
    fn condition(&mut self) -> Result<Term, Failed> {
        self.take();
        let place = (self.ahead.kind == Kind::Text).then(|| unquoted(self.take().text));
        let share = if self.took("(") {
            let share = self.number("a share", Must::BeShare)?;
            self.expect(")")?;
            Some(share)
        } else {
            None
        };
        let then = self.term()?.into();
        let otherwise = if self.ahead.is_word("else") {
            self.take();
            self.term()?
        } else {
            NOTHING
        };
        Ok(Term::If { place, share, then, otherwise: otherwise.into() })
    }

    /// `use(network, …)`
    fn using(&mut self) -> Result<Term, Failed> {
        self.take();
        self.expect("(")?;
        let resource = self.ahead;
        match resource.kind {
            Kind::Number => _ = self.take(),
            _ => _ = self.name("a resource or a computer")?,
        }
        let is_declared = self.outline.resources.contains_key(resource.text) || self.local(resource.text).is_some();
        if !is_declared && resource.kind == Kind::Name {
            self.facts.used.push((resource.text, resource.at..resource.end()));
        }
        self.expect(",")?;
        let body = self.term()?.into();
        if self.ahead.is(";") || self.ahead.is("||") {
            return self.expected("`)`", Some("several terms stand in braces, as in use(disk, { a; b })"));
        }
        self.expect(")")?;
        Ok(Term::Use { resource: resource.text.into(), body })
    }

    /// A term that begins with a name of its own.
    fn named(&mut self) -> Result<Term, Failed> {
        let name = self.take();
        match meaning(name.text, &self.outline) {
            Err(_) if self.block_follows() => {
                self.fail(name.at..name.end(), Problem::Inside(name.text.into()), Some("is a `}` missing above?".into()))
            }
            Err((problem, hint)) => self.fail(name.at..name.end(), problem, hint),
            Ok(Meaning::Procedure(place)) => self.call(name, place),
            Ok(Meaning::Delay) => {
                let [time] = self.numbers(name, "a time", "its seconds")?;
                Ok(Term::Delay(time))
            }
            Ok(Meaning::Message { from, to }) => {
                let [bytes] = self.numbers(name, "a size", "its size in bytes")?;
                Ok(Term::Message { from: self.computer(from), to: self.computer(to), bytes })
            }
            Ok(Meaning::Group(operation)) => self.group(name, operation),
            Ok(Meaning::Operation { word, of, on }) => {
                let times = self.given(|reader, _| reader.number("how often something is done", Must::NotBeNegative))?;
                let times = self.at_most_one(name, times)?;
                let operation = Operation { name: word.into(), of: of.map(Into::into), on: on.map(|on| self.computer(on)) };
                Ok(Term::Operation { operation, times })
            }
        }
    }

    fn computer(&mut self, name: &'a str) -> Computer {
        if self.local(name).is_none() {
            self.facts.computers.insert(name);
        }
        Computer(name.into())
    }

    fn call(&mut self, name: Token<'a>, place: usize) -> Result<Term, Failed> {
        let arguments = self.given(|reader, argument| reader.argument((place, argument)))?;
        let takes = self.outline.procedures[place].takes;
        if arguments.len() != takes {
            let takes = match takes {
                0 => "no arguments".to_owned(),
                1 => "1 argument".to_owned(),
                _ => format!("{takes} arguments"),
            };
            return self.wrong_number(name, &takes, arguments.len());
        }
        self.facts.calls.push((self.procedure, place, name.at..name.end()));
        Ok(Term::Call { procedure: name.text.into(), arguments })
    }

    /// `bcast(8*n, p)`; a barrier has no size unless told.
    fn group(&mut self, name: Token<'a>, operation: Collective) -> Result<Term, Failed> {
        let mut given = self.given(|reader, _| reader.number("what a group is given", Must::NotBeNegative))?;
        if operation == Collective::Barrier && given.len() == 1 {
            given.insert(0, Formula::zero());
        }
        match <[Formula; 2]>::try_from(given) {
            Ok([bytes, processes]) => Ok(Term::Group { operation, bytes, processes }),
            Err(given) => self.wrong_number(name, "its size in bytes and the number of processes", given.len()),
        }
    }

    /// The arguments of a name that must have one.
    fn numbers(&mut self, name: Token<'a>, what: &'static str, takes: &str) -> Result<[Formula; 1], Failed> {
        let given = self.given(|reader, _| reader.number(what, Must::NotBeNegative))?;
        given.try_into().or_else(|given: Vec<Formula>| self.wrong_number(name, takes, given.len()))
    }

    fn at_most_one(&mut self, name: Token<'a>, mut given: Vec<Formula>) -> Result<Formula, Failed> {
        match given.len() {
            0 => Ok(Formula::one()),
            1 => Ok(given.remove(0)),
            more => self.wrong_number(name, "at most how often it is done", more),
        }
    }

    fn wrong_number<T>(&mut self, name: Token<'a>, takes: &str, given: usize) -> Result<T, Failed> {
        self.fail(name.at..name.end(), Problem::Arguments { name: name.text.into(), takes: takes.into(), given }, None)
    }

    /// What stands in parentheses behind a name, if anything does.
    fn given(&mut self, mut each: impl FnMut(&mut Self, usize) -> Result<Formula, Failed>) -> Result<Vec<Formula>, Failed> {
        let mut given = Vec::new();
        if !self.took("(") || self.took(")") {
            return Ok(given);
        }
        loop {
            given.push(each(self, given.len())?);
            if !self.took(",") {
                self.expect(")")?;
                return Ok(given);
            }
        }
    }
}

/// What a text in quotation marks says.
fn unquoted(text: &str) -> String {
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
