//! Goes through the program as one process of a role does, and gathers what others see of it.
//!
//! Routines that communicate are followed wherever they are called; everything else is left to the common analysis, with the values that its
//! variables have by then.

use std::collections::{BTreeMap, HashMap, HashSet};

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, Operation, Parameter, Term};

use super::role::Role;
use super::step::{Step, Work};
use super::value::{Address, Store, Value};
use crate::analysis::Facts;
use crate::compile::Note;
use crate::error::{Error, Wrong};
use crate::names;
use crate::place::Place;
use crate::routine::{Action, Expression, Program, Routine, Statement, Variable};

/// How many statements are followed before a program counts as too much.
const MOST_WORK: usize = 200_000;

/// How deep calls may stand in each other.
const DEEPEST: usize = 60;

/// How deep statements and expressions may stand in each other, those of called routines included.
const DEEPEST_PART: usize = 250;

/// Why a walk ends early.
pub enum Stop {
    /// The processes of the role do not all go on alike: they part at these ranks.
    Divided(Vec<Formula>),
    /// The program cannot be modelled.
    Wrong(Box<Error>),
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Stop {
        Stop::Wrong(Box::new(wrong.into()))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Wrong(Box::new(error))
    }
}

/// How a statement ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    /// The next one follows.
    On,
    /// The routine is left with a value.
    Left(Value),
    /// The program ends.
    Ended,
    /// The round of the loop ends.
    Round,
}

/// What is common to the walks of all roles.
pub struct Shared<'p> {
    /// The program.
    pub program: &'p Program,
    /// Its routines by name.
    pub routines: HashMap<&'p str, &'p Routine>,
    /// The routines that must be followed.
    pub followed: HashSet<&'p str>,
    /// Those of them that communicate.
    pub communicating: HashSet<&'p str>,
    /// The names of the fields of structures.
    pub structures: HashMap<String, Vec<String>>,
    /// What `main` calls the words of the command line.
    pub arguments: Option<String>,
    /// What `main` calls their number.
    pub argument_count: Option<String>,
    /// What the model must be told.
    pub parameters: Vec<Parameter>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// Names that indexes must not have.
    pub taken: HashSet<String>,
}

/// A process on its way.
pub struct Walk<'s, 'p> {
    pub(super) shared: &'s mut Shared<'p>,
    pub(super) role: Role,
    pub(super) facts: Facts,
    pub(super) store: Store,
    pub(super) steps: Vec<Step>,
    /// The names that are known: those of the file, then those of each block of the routine.
    pub(super) scopes: Vec<HashMap<String, Address>>,
    /// The routines that were entered, and where.
    pub(super) stack: Vec<String>,
    /// The loops around: the index and the last round.
    pub(super) loops: Vec<(String, Formula)>,
    /// Above zero while only values matter.
    pub(super) silent: usize,
    work: usize,
    depth: usize,
}

pub(super) type Walked<T> = Result<T, Stop>;

/// What a process of the role does, from the beginning of `main` to its end.
pub fn walk<'p>(shared: &mut Shared<'p>, role: &Role, main: &'p Routine) -> Walked<Vec<Step>> {
    let mut walk = Walk {
        shared,
        role: role.clone(),
        facts: role.facts(),
        store: Store::default(),
        steps: Vec::new(),
        scopes: vec![HashMap::new()],
        stack: vec![main.name.clone()],
        loops: Vec::new(),
        silent: 0,
        work: 0,
        depth: 0,
    };
    walk.silent += 1;
    for variable in &walk.shared.program.globals {
        walk.declare(variable)?;
    }
    walk.silent -= 1;
    walk.scopes.push(HashMap::new());
    for parameter in &main.parameters {
        walk.bind(&parameter.name, Value::Unknown);
    }
    walk.statements(&main.body)?;
    Ok(walk.steps)
}

impl<'p> Walk<'_, 'p> {
    pub(super) fn note(&mut self, place: &Place, text: impl Into<String>) {
        let note = Note { place: place.clone(), text: text.into() };
        if !self.shared.notes.contains(&note) {
            self.shared.notes.push(note);
        }
    }

    /// A number that the user must give, or may if there is one already.
    pub(super) fn parameter(&mut self, name: &str, value: Option<Formula>, note: String) -> Formula {
        let mut name = names::for_model(name);
        if name == "p" || name == self.role.index {
            name.push('_');
        }
        if !self.shared.parameters.iter().any(|known| known.name == name) {
            self.shared.parameters.push(Parameter { name: name.clone(), value, note: Some(note) });
        }
        Formula::symbol(&name)
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Address> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }

    pub(super) fn bind(&mut self, name: &str, value: Value) {
        let address = self.store.allocate(value);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), address);
        }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent > 0
    }

    pub(super) fn emit(&mut self, step: Step) {
        if self.silent == 0 {
            self.steps.push(step);
        }
    }

    /// Leaves statements to the analysis, with what is known before them.
    pub(super) fn charge(&mut self, statements: Vec<Statement>) {
        if self.silent > 0 || statements.is_empty() {
            return;
        }
        let mut known = self.known();
        let statements = statements.into_iter().map(|statement| self.with_fields_named(statement, &mut known)).collect();
        self.steps.push(Step::Work(Work { statements, known, loops: self.loops.clone() }));
    }

    /// Leaves the computation of expressions to the analysis.
    pub(super) fn charge_expressions(&mut self, expressions: impl IntoIterator<Item = &'p Expression>, place: &Place) {
        let statement = |expression: &Expression| Statement { what: Action::Compute(expression.clone()), place: place.clone() };
        self.charge(expressions.into_iter().filter(|expression| !self.is_followed_expression(expression)).map(statement).collect());
    }

    /// All numbers that are known by a name.
    pub(super) fn known(&self) -> BTreeMap<String, Formula> {
        let mut known = BTreeMap::new();
        for (name, address) in self.scopes.iter().flatten() {
            // A variable hides another of its name, also where nothing is known of it.
            match self.store.get(address) {
                Value::Number(formula) => known.insert(name.clone(), formula),
                _ => known.remove(name),
            };
        }
        known
    }

    pub(super) fn statements(&mut self, list: &'p [Statement]) -> Walked<Flow> {
        let mut at = 0;
        while at < list.len() {
            if !self.is_followed(&list[at]) {
                self.quiet(&list[at])?;
                at += 1;
                continue;
            }
            if let Action::If { condition, then, otherwise } = &list[at].what {
                if let Some(flow) = self.branch(condition, then, otherwise, &list[at + 1..], &list[at].place)? {
                    return Ok(flow);
                }
            } else {
                let flow = self.statement(&list[at])?;
                if flow != Flow::On {
                    return Ok(flow);
                }
            }
            at += 1;
        }
        Ok(Flow::On)
    }

    /// A statement that nobody else notices: what it costs is asked of the analysis, what it changes is followed here.
    fn quiet(&mut self, statement: &'p Statement) -> Walked<()> {
        self.charge(vec![statement.clone()]);
        self.silent += 1;
        let result = self.statement(statement);
        self.silent -= 1;
        result.map(drop)
    }

    pub(super) fn statement(&mut self, statement: &'p Statement) -> Walked<Flow> {
        self.work += 1;
        if self.work > MOST_WORK {
            return Err(Wrong::at(statement.place.clone(), "the program is too large to follow every way through it").into());
        }
        self.deeper(&statement.place, |walk| walk.act(statement))
    }

    /// Does something one level deeper, as long as that is not too deep.
    pub(super) fn deeper<T>(&mut self, place: &Place, then: impl FnOnce(&mut Self) -> Walked<T>) -> Walked<T> {
        if self.depth >= DEEPEST_PART {
            return Err(Wrong::at(place.clone(), format!("this stands more than {DEEPEST_PART} levels deep, calls included")).into());
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    fn act(&mut self, statement: &'p Statement) -> Walked<Flow> {
        match &statement.what {
            Action::Declare(variable) => self.declare(variable).map(|()| Flow::On),
            Action::Compute(expression) => self.evaluate(expression).map(|_| Flow::On),
            Action::Block(list) => self.block(list),
            Action::If { condition, then, otherwise } => {
                Ok(self.branch(condition, then, otherwise, &[], &statement.place)?.unwrap_or(Flow::On))
            }
            Action::Loop { before, condition, after, body, once_at_least } => {
                self.scopes.push(HashMap::new());
                let result = self.repeat(before, condition.as_ref(), after, body, *once_at_least, &statement.place);
                self.scopes.pop();
                result
            }
            Action::ForEach { .. } => Ok(Flow::On),
            Action::Switch { of, cases } => {
                self.evaluate(of)?;
                self.switch(cases, &statement.place)
            }
            Action::Return(value) => {
                let value = match value {
                    Some(value) => self.evaluate(value)?,
                    None => Value::Unknown,
                };
                Ok(Flow::Left(value))
            }
            Action::Leave(_) => Ok(Flow::Ended),
            Action::Break | Action::Continue => Ok(Flow::Round),
        }
    }

    pub(super) fn block(&mut self, list: &'p [Statement]) -> Walked<Flow> {
        self.scopes.push(HashMap::new());
        let result = self.statements(list);
        self.scopes.pop();
        result
    }

    pub(super) fn declare(&mut self, variable: &'p Variable) -> Walked<()> {
        let value = match &variable.value {
            Some(value) => match self.given(&variable.name, &Value::Unknown, value)? {
                Some(value) => value,
                None => self.evaluate(value)?,
            },
            None if matches!(variable.of, crate::routine::Type::Array(_)) => Value::Parts(BTreeMap::new()),
            None => Value::Unknown,
        };
        self.bind(&variable.name, value);
        Ok(())
    }

    /// Enters a routine with values for its parameters.
    pub(super) fn enter(&mut self, routine: &'p Routine, values: Vec<Value>, place: &Place) -> Walked<Value> {
        if self.stack.contains(&routine.name) || self.stack.len() >= DEEPEST {
            if self.silent == 0 && self.shared.followed.contains(routine.name.as_str()) {
                let way = self.stack.iter().map(String::as_str).chain([routine.name.as_str()]).collect::<Vec<_>>().join(" -> ");
                return Err(
                    Wrong::at(place.clone(), format!("`{}` calls itself, and no model can tell how often: {way}", routine.name)).into()
                );
            }
            return Ok(Value::Unknown);
        }
        let call = Operation { name: "call".to_owned(), of: None, on: Some(Computer(self.role.index.clone())) };
        self.emit(Step::Local(Term::Operation { operation: call, times: Formula::one() }));
        let globals = self.scopes.first().cloned().unwrap_or_default();
        let outer = std::mem::replace(&mut self.scopes, vec![globals, HashMap::new()]);
        self.stack.push(routine.name.clone());
        for (parameter, value) in routine.parameters.iter().zip(values) {
            self.bind(&parameter.name, value);
        }
        let flow = self.statements(&routine.body);
        self.stack.pop();
        self.scopes = outer;
        match flow? {
            Flow::Left(value) => Ok(value),
            _ => Ok(Value::Unknown),
        }
    }
}
