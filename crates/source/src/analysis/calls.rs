//! A routine becomes a procedure of the model, once, over symbols for what it is given; calls give these symbols their values.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Procedure, Term};

use super::ledger::{self, Ledger};
use super::statement::Next;
use super::{Analysis, Scope, Value, library, scalar, walk};
use crate::error::{Error, Wrong};
use crate::names::for_model;
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Expression, Routine, Scalar, Type};

/// How many dimensions of an array that a routine is given have symbols for their lengths.
const MOST_DIMENSIONS: usize = 3;

/// What callers need to know of a routine.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// The procedure.
    pub(super) procedure: String,
    /// The symbols that stand for what it is given.
    pub(super) symbols: Vec<Given>,
    /// What it returns, over these symbols.
    pub(super) returns: Value,
}

/// A symbol that stands for something a routine is given.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) symbol: String,
    /// The position of the argument.
    argument: usize,
    /// Its length in this dimension, or else the number itself.
    dimension: Option<usize>,
    /// Whether the procedure needs it.
    used: bool,
}

impl<'a> Analysis<'a> {
    /// The term that is a call of a routine with values for its parameters.
    pub(crate) fn call_with(&mut self, name: &str, values: &[Value], place: &Place) -> Result<Option<Term>, Error> {
        let Some(routine) = self.routines.get(name).copied() else { return Ok(None) };
        let summary = self.summary(routine, place)?;
        Ok(Some(self.call_term(routine, &summary, values, place)))
    }

    fn summary(&mut self, routine: &'a Routine, called_at: &Place) -> Result<Summary, Error> {
        if let Some(summary) = self.done.get(routine.name.as_str()) {
            return Ok(summary.clone());
        }
        if let Some(first) = self.under_way.iter().position(|other| other.name == routine.name) {
            return Err(self.recursion(first, routine, called_at).into());
        }
        self.under_way.push(routine);
        let facts = std::mem::take(&mut self.facts);
        let (locals, symbols) = (std::mem::take(&mut self.locals), std::mem::take(&mut self.symbols));
        let depth = std::mem::take(&mut self.depth);
        self.symbols.extend(self.on.iter().map(|computer| computer.0.clone()));
        let result = self.go_through(routine);
        (self.facts, self.locals, self.symbols, self.depth) = (facts, locals, symbols, depth);
        self.under_way.pop();
        let summary = result?;
        self.done.insert(&routine.name, summary.clone());
        Ok(summary)
    }

    fn recursion(&self, first: usize, routine: &Routine, called_at: &Place) -> Wrong {
        let way = self.under_way[first..].iter().map(|routine| format!("`{}` ({})", routine.name, routine.place.short()));
        let way: Vec<String> = way.chain([format!("`{}`", routine.name)]).collect();
        Wrong::at(called_at.clone(), format!("this call is recursive: {}", way.join(" -> ")))
            .hint("how often a routine calls itself is not derived; write it as a loop, or leave it out of the model")
    }

    fn go_through(&mut self, routine: &'a Routine) -> Result<Summary, Error> {
        let mut names = Vec::new();
        walk::declared(&routine.body, &mut names);
        self.locals.extend(names.into_iter().chain(routine.parameters.iter().map(|parameter| parameter.name.as_str())).map(str::to_owned));
        let (mut scope, mut ledger) = (Scope::new(), Ledger::default());
        let mut given = self.given(routine, &mut scope);
        for parameter in &routine.parameters {
            if let Some(of) = scalar(&parameter.of) {
                ledger.push(Term::Note(format!("parameter {}", parameter.name)));
                ledger.add(self.operation("assign", of), Formula::one());
            }
        }
        ledger.part();
        let mut returns = None;
        let next = self.body(&routine.body, &mut scope, &mut ledger, &mut returns)?;
        let returns = returns.filter(|_| next == Next::Routine).unwrap_or_else(Value::unknown);
        let body = ledger.into_term();
        given.iter_mut().for_each(|given| given.used = ledger::depends_on(&body, &given.symbol));
        let procedure = self.procedure_name(routine);
        let computer = self.on.iter().map(|computer| computer.0.clone());
        let parameters = given.iter().filter(|given| given.used).map(|given| given.symbol.clone()).chain(computer).collect();
        let note = Some(routine.place.short());
        self.procedures.push(Procedure { name: procedure.clone(), parameters, body, note });
        Ok(Summary { procedure, symbols: given, returns })
    }

    /// Symbols for what a routine is given: numbers, and the lengths of arrays.
    fn given(&mut self, routine: &Routine, scope: &mut Scope) -> Vec<Given> {
        let mut list = Vec::new();
        for (argument, parameter) in routine.parameters.iter().enumerate() {
            let mut add = |analysis: &mut Self, name: &str, dimension: Option<usize>| {
                let symbol = analysis.fresh(name);
                list.push(Given { symbol: symbol.clone(), argument, dimension, used: false });
                Formula::symbol(&symbol)
            };
            match &parameter.of {
                Type::Scalar(Scalar::Boolean) | Type::Other(_) => scope.set(&parameter.name, Value::unknown()),
                Type::Scalar(of) => {
                    let symbol = add(self, &parameter.name, None);
                    if matches!(of, Scalar::Float | Scalar::Double) {
                        self.facts.fractional.extend(symbol.symbols());
                    }
                    scope.set(&parameter.name, Value::known(symbol));
                }
                Type::Array(_) => {
                    let mut lengths = Vec::new();
                    let mut of = &parameter.of;
                    while let Type::Array(inside) = of
                        && lengths.len() < MOST_DIMENSIONS
                    {
                        let number = if lengths.is_empty() { String::new() } else { format!("_{}", lengths.len() + 1) };
                        lengths.push(Some(add(self, &format!("{}_length{number}", parameter.name), Some(lengths.len()))));
                        of = inside;
                    }
                    scope.set(&parameter.name, Value::Array(lengths));
                }
            }
        }
        list
    }

    fn procedure_name(&self, routine: &Routine) -> String {
        let name = for_model(&routine.name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let taken = |name: &String| self.procedures.iter().any(|procedure| procedure.name == *name);
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }

    fn call_term(&mut self, routine: &Routine, summary: &Summary, values: &[Value], place: &Place) -> Term {
        let mut arguments = Vec::new();
        for given in summary.symbols.iter().filter(|given| given.used) {
            let value = values.get(given.argument);
            let formula = match given.dimension {
                None => value.and_then(Value::formula_or_interval),
                Some(dimension) => match value {
                    Some(Value::Array(lengths)) => lengths.get(dimension).cloned().flatten(),
                    _ => None,
                },
            };
            arguments.push(formula.unwrap_or_else(|| self.unknown_argument(routine, given, place)));
        }
        arguments.extend(self.on.iter().map(|computer| Formula::symbol(&computer.0)));
        Term::Call { procedure: summary.procedure.clone(), arguments }
    }

    fn unknown_argument(&mut self, routine: &Routine, given: &Given, place: &Place) -> Formula {
        let name = format!("{}_{}", given.symbol, spot(place));
        let what = routine.parameters.get(given.argument).map_or("", |parameter| &parameter.name);
        let what = if given.dimension.is_some() { format!("the length of `{what}`") } else { format!("`{what}`") };
        self.note(place, format!("{what} of this call of {} cannot be derived: give it with -p {name}=…", routine.name));
        self.parameter(&name, None, format!("{what} where {} calls {}", place.short(), routine.name))
    }

    /// A call in the program: what it costs, and what it gives.
    pub(super) fn call(
        &mut self,
        name: &'a str,
        arguments: &'a [Expression],
        call: &'a Expression,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.expression(argument, scope, ledger)?);
        }
        if let Some(routine) = self.routines.get(name).copied() {
            let summary = self.summary(routine, &call.place)?;
            ledger.add(self.plain_operation("call"), Formula::one());
            ledger.push(self.call_term(routine, &summary, &values, &call.place));
            self.forget_globals(scope);
            return Ok(self.returned(&summary, &values));
        }
        if let Some(function) = library::function(name) {
            self.function_cost(function, call, arguments, ledger);
            return Ok(library::result(name, function, &values, &self.facts));
        }
        let cost = format!("cost_{name}");
        let seconds = self.parameter(&cost, Some(Formula::zero()), format!("seconds of one call of {name}"));
        self.note(&call.place, format!("what {name} costs is not known and taken as 0 seconds: give it with -p {}=…", for_model(&cost)));
        ledger.push(Term::Delay(seconds));
        Ok(Value::unknown())
    }

    fn function_cost(&self, function: library::Function, call: &Expression, arguments: &[Expression], ledger: &mut Ledger) {
        let of = scalar(&call.of).or_else(|| arguments.first().and_then(|argument| scalar(&argument.of))).unwrap_or(Scalar::Double);
        let mut add = |name: &str, of: Scalar| ledger.add(self.operation(name, of), Formula::one());
        match function {
            // A function that rounds to a whole number works on what it is given.
            library::Function::Named(name @ "floor") => {
                add(name, arguments.first().and_then(|argument| scalar(&argument.of)).unwrap_or(Scalar::Double));
            }
            library::Function::Named(name) => add(name, of),
            library::Function::Random => add("random", Scalar::Double),
            library::Function::Extreme { .. } => {
                add("compare", of);
                add("assign", of);
            }
        }
    }

    /// What a routine returns, with what it is given in place of its symbols.
    fn returned(&self, summary: &Summary, values: &[Value]) -> Value {
        // The caller may have the same names for something else, so the routine's get others first.
        let other = |symbol: &str| format!("{symbol}'");
        let mut result = summary.symbols.iter().fold(summary.returns.clone(), |result, given| {
            result.map(|part| part.substitute(&given.symbol, &Formula::symbol(&other(&given.symbol))))
        });
        for given in &summary.symbols {
            let known = match (given.dimension, values.get(given.argument)) {
                (None, Some(Value::Known(formula))) => Some(formula.clone()),
                (Some(dimension), Some(Value::Array(lengths))) => lengths.get(dimension).cloned().flatten(),
                _ => None,
            };
            let symbol = other(&given.symbol);
            match known {
                Some(formula) => result = result.map(|part| part.substitute(&symbol, &formula)),
                None if result.depends_on(&symbol) => return Value::unknown(),
                None => {}
            }
        }
        result
    }

    /// After a call, variables outside of routines may be anything.
    pub(super) fn forget_globals(&self, scope: &mut Scope) {
        scope.forget(self.globals.keys().copied().filter(|name| !self.locals.contains(*name)));
    }
}
