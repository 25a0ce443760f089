//! Routines become terms of a model: operations are counted, loops and conditions weighed by formulas.
//!
//! The program is gone through once, with what is known of its variables as formulas over the parameters of routines and the rounds of loops
//! ([`Value`], [`Scope`], [`Facts`]). A loop is not gone round: the course of its variables gives their values in round `i` for every `i` at once,
//! and the condition gives the number of rounds. What cannot be derived becomes a parameter of the model, with a [`Note`] that says where.

mod calls;
mod condition;
mod constants;
mod counting;
mod expression;
mod facts;
mod induction;
pub(crate) mod ledger;
mod library;
mod looping;
mod residue;
mod rounds;
mod scope;
mod statement;
mod trips;
mod value;
pub(crate) mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, Language, Operation, Parameter, Procedure, Term};

pub use condition::Share;
pub(crate) use constants::folded;
pub use facts::{Facts, Line};
pub use rounds::Rounds;
pub use scope::Scope;
pub use value::Value;

use crate::compile::Note;
use crate::error::{Error, Wrong};
use crate::names::for_model;
use crate::place::Place;
use crate::routine::{Expression, Program, Routine, Scalar, Statement, Type};
use calls::Summary;
use ledger::Ledger;

/// How deep statements and expressions may stand inside each other.
pub(crate) const MOST_DEPTH: usize = 400;

/// What goes through a program.
pub struct Analysis<'a> {
    language: Language,
    on: Option<Computer>,
    routines: HashMap<&'a str, &'a Routine>,
    /// Variables outside of routines, with their value where it never changes.
    globals: HashMap<&'a str, (&'a Type, Option<Value>)>,
    facts: Facts,
    /// Names of variables that the routine under way has itself.
    locals: BTreeSet<String>,
    /// Symbols that the routine under way has: its parameters and the indexes of its loops.
    symbols: BTreeSet<String>,
    done: HashMap<&'a str, Summary>,
    under_way: Vec<&'a Routine>,
    procedures: Vec<Procedure>,
    parameters: BTreeMap<String, Parameter>,
    notes: BTreeSet<Note>,
    /// The columns at which conditions of a line were found, to tell them apart.
    conditions: HashMap<String, usize>,
    depth: usize,
    /// How many conditions inside of expressions are being weighed, one inside of the other.
    weighed: usize,
}

/// What a model needs besides the terms that an analysis gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The procedures that the terms call.
    pub procedures: Vec<Procedure>,
    /// The parameters that stand for what could not be derived.
    pub parameters: Vec<Parameter>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl<'a> Analysis<'a> {
    /// An analysis of a program in a language.
    pub fn new(program: &'a Program, language: Language) -> Analysis<'a> {
        let routines = program.routines.iter().map(|routine| (routine.name.as_str(), routine)).collect();
        let mut analysis = Analysis {
            language,
            on: None,
            routines,
            globals: HashMap::new(),
            facts: Facts::default(),
            locals: BTreeSet::new(),
            symbols: BTreeSet::new(),
            done: HashMap::new(),
            under_way: Vec::new(),
            procedures: Vec::new(),
            parameters: BTreeMap::new(),
            notes: BTreeSet::new(),
            conditions: HashMap::new(),
            depth: 0,
            weighed: 0,
        };
        analysis.learn_globals(program);
        analysis
    }

    /// A variable outside of routines that nobody assigns to is what it is at first.
    fn learn_globals(&mut self, program: &'a Program) {
        let (mut changed, mut fields) = (BTreeSet::new(), BTreeSet::new());
        for routine in &program.routines {
            let changes = walk::Changes::of(&routine.body);
            let mut own = Vec::new();
            walk::declared(&routine.body, &mut own);
            changed.extend(changes.list.iter().map(|change| change.variable).filter(|name| !own.contains(name)));
            fields.extend(changes.fields);
        }
        for global in &program.globals {
            let name = global.name.as_str();
            let field = name.rsplit('.').next().unwrap_or(name);
            let fixed = global.constant || !changed.contains(name) && !fields.contains(field);
            let value = global.value.as_ref().filter(|_| fixed).and_then(|value| self.value(value, &mut Scope::new()).ok());
            self.globals.insert(&global.name, (&global.of, value));
        }
    }

    /// The same with all operations done by a computer, whose name procedures get as their last parameter.
    pub fn on(mut self, computer: &str) -> Analysis<'a> {
        self.on = Some(Computer(computer.to_owned()));
        self.symbols.insert(computer.to_owned());
        self
    }

    /// Keeps a symbol for the caller: no loop has an index of that name.
    pub fn reserve(&mut self, symbol: &str) {
        self.symbols.insert(symbol.to_owned());
    }

    /// What is known of symbols.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// The term of some statements; the scope is then what it is after them.
    pub fn term(&mut self, statements: &'a [Statement], scope: &mut Scope) -> Result<Term, Error> {
        let mut names = Vec::new();
        walk::declared(statements, &mut names);
        self.locals.extend(names.into_iter().map(str::to_owned));
        let mut ledger = Ledger::default();
        self.statements(statements, scope, &mut ledger)?;
        Ok(ledger.into_term())
    }

    /// What is known of an expression.
    pub fn value(&mut self, expression: &'a Expression, scope: &mut Scope) -> Result<Value, Error> {
        self.expression(expression, scope, &mut Ledger::default())
    }

    /// What a model needs besides the terms.
    pub fn finish(self) -> Parts {
        Parts { procedures: self.procedures, parameters: self.parameters.into_values().collect(), notes: self.notes.into_iter().collect() }
    }

    fn note(&mut self, place: &Place, text: impl Into<String>) {
        self.notes.insert(Note { place: place.clone(), text: text.into() });
    }

    /// A parameter of the model that stands for what nobody knows.
    fn parameter(&mut self, name: &str, value: Option<Formula>, note: String) -> Formula {
        let name = for_model(name);
        self.parameters.entry(name.clone()).or_insert_with(|| Parameter { name: name.clone(), value, note: Some(note) });
        Formula::symbol(&name)
    }

    /// A symbol of the routine under way that is no other's.
    fn fresh(&mut self, name: &str) -> String {
        let name = for_model(name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.symbols.contains(name)).unwrap_or_default();
        self.symbols.insert(free.clone());
        free
    }

    /// How shares name a condition: by its line, and by its column as well if it is not the first of the line.
    fn condition_name(&mut self, place: &Place) -> String {
        let short = place.short();
        let first = *self.conditions.entry(short.clone()).or_insert(place.column);
        if first == place.column { short } else { format!("{short}:{}", place.column) }
    }

    fn operation(&self, name: &str, of: Scalar) -> Operation {
        Operation { name: name.to_owned(), of: Some(word(of).to_owned()), on: self.on.clone() }
    }

    fn plain_operation(&self, name: &str) -> Operation {
        Operation { name: name.to_owned(), of: None, on: self.on.clone() }
    }

    fn is_global(&self, name: &str) -> bool {
        !self.locals.contains(name) && self.globals.contains_key(name)
    }

    fn deeper<T>(&mut self, place: &Place, inside: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MOST_DEPTH {
            return Err(Wrong::at(place.clone(), format!("statements stand more than {MOST_DEPTH} deep inside each other")).into());
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}

/// What a type is called in operations.
fn word(of: Scalar) -> &'static str {
    match of {
        Scalar::Boolean | Scalar::Byte | Scalar::Short | Scalar::Int => "int",
        Scalar::Long => "long",
        Scalar::Float => "float",
        Scalar::Double => "double",
    }
}

/// The number that a type is, if it is one.
fn scalar(of: &Type) -> Option<Scalar> {
    match of {
        Type::Scalar(scalar) => Some(*scalar),
        _ => None,
    }
}

/// The type in which two numbers are computed with.
fn common(one: &Type, two: &Type) -> Scalar {
    let of = |of: &Type| scalar(of).unwrap_or(Scalar::Int);
    of(one).max(of(two)).max(Scalar::Int)
}

/// How many bytes a value of a type has; what is not a number is a reference.
pub(crate) fn bytes_of(of: &Type) -> i64 {
    match of {
        Type::Scalar(Scalar::Boolean | Scalar::Byte) => 1,
        Type::Scalar(Scalar::Short) => 2,
        Type::Scalar(Scalar::Int | Scalar::Float) => 4,
        _ => 8,
    }
}
