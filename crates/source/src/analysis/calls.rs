//! Interprocedural analysis: a routine is analysed once, with symbols for its parameters, and becomes a procedure of the model; calls
//! substitute the symbols.

use sintonia_formula::Formula;
use sintonia_pamela::model::{ModelTerm, ProcedureDecl};

use super::statement::StatementExit;
use super::term_builder::{self, TermBuilder};
use super::{AbstractValue, StaticAnalyzer, VariableScope, as_scalar, library, side_effects};
use crate::error::{Error, SourceDiagnostic};
use crate::file_pos::FilePos;
use crate::ir::{DataType, IrRoutine, ScalarType, TypedExpr};
use crate::model_names::pos_name;
use crate::model_names::to_model_name;

/// How many dimensions of an array parameter have symbols for their lengths.
const MAX_DIMENSIONS: usize = 3;

/// The summary of a routine for its callers.
#[derive(Debug, Clone)]
pub(super) struct RoutineSummary {
    /// The procedure of the model.
    pub(super) procedure: String,
    /// The symbols of its arguments.
    pub(super) symbols: Vec<ArgumentSymbol>,
    /// The return value over these symbols.
    pub(super) returns: AbstractValue,
}

/// A symbol for an argument of a routine.
#[derive(Debug, Clone)]
pub(super) struct ArgumentSymbol {
    pub(super) symbol: String,
    /// The index of the argument.
    argument: usize,
    /// The length of the array in this dimension; `None` for the number itself.
    dimension: Option<usize>,
    /// Whether the procedure depends on it.
    used: bool,
}

impl<'a> StaticAnalyzer<'a> {
    /// The term for a call of a routine with these argument values.
    pub(crate) fn call_with(&mut self, name: &str, values: &[AbstractValue], place: &FilePos) -> Result<Option<ModelTerm>, Error> {
        let Some(routine) = self.routines.get(name).copied() else { return Ok(None) };
        let summary = self.summary(routine, place)?;
        Ok(Some(self.call_term(routine, &summary, values, place)))
    }

    fn summary(&mut self, routine: &'a IrRoutine, called_at: &FilePos) -> Result<RoutineSummary, Error> {
        if let Some(summary) = self.summaries.get(routine.name.as_str()) {
            return Ok(summary.clone());
        }
        if let Some(first) = self.call_stack.iter().position(|other| other.name == routine.name) {
            return Err(self.recursion_error(first, routine, called_at).into());
        }
        self.call_stack.push(routine);
        let facts = std::mem::take(&mut self.assumptions);
        let (locals, symbols) = (std::mem::take(&mut self.locals), std::mem::take(&mut self.symbols));
        let depth = std::mem::take(&mut self.depth);
        self.symbols.extend(self.computer.iter().map(|computer| computer.0.clone()));
        let result = self.analyze_routine(routine);
        (self.assumptions, self.locals, self.symbols, self.depth) = (facts, locals, symbols, depth);
        self.call_stack.pop();
        let summary = result?;
        self.summaries.insert(&routine.name, summary.clone());
        Ok(summary)
    }

    fn recursion_error(&self, first: usize, routine: &IrRoutine, called_at: &FilePos) -> SourceDiagnostic {
        let way = self.call_stack[first..].iter().map(|routine| format!("`{}` ({})", routine.name, routine.pos.file_and_line()));
        let way: Vec<String> = way.chain([format!("`{}`", routine.name)]).collect();
        SourceDiagnostic::new(called_at.clone(), format!("this call is recursive: {}", way.join(" -> ")))
            .with_hint("the recursion depth cannot be derived; write it as a loop, or leave it out of the model")
    }

    fn analyze_routine(&mut self, routine: &'a IrRoutine) -> Result<RoutineSummary, Error> {
        let mut names = Vec::new();
        side_effects::declared_names(&routine.body, &mut names);
        self.locals.extend(names.into_iter().chain(routine.parameters.iter().map(|parameter| parameter.name.as_str())).map(str::to_owned));
        let (mut scope, mut ledger) = (VariableScope::new(), TermBuilder::default());
        let mut given = self.argument_symbols(routine, &mut scope);
        for parameter in &routine.parameters {
            if let Some(of) = as_scalar(&parameter.data_type) {
                ledger.push(ModelTerm::Comment(format!("parameter {}", parameter.name)));
                ledger.add(self.operation("assign", of), Formula::one());
            }
        }
        ledger.start_group();
        let mut returns = None;
        let next = self.body(&routine.body, &mut scope, &mut ledger, &mut returns)?;
        let returns = returns.filter(|_| next == StatementExit::Return).unwrap_or_else(AbstractValue::unknown);
        let body = ledger.into_term();
        given.iter_mut().for_each(|given| given.used = term_builder::depends_on(&body, &given.symbol));
        let procedure = self.procedure_name(routine);
        let computer = self.computer.iter().map(|computer| computer.0.clone());
        let parameters = given.iter().filter(|given| given.used).map(|given| given.symbol.clone()).chain(computer).collect();
        let note = Some(routine.pos.file_and_line());
        self.procedures.push(ProcedureDecl { name: procedure.clone(), parameters, body, comment: note });
        Ok(RoutineSummary { procedure, symbols: given, returns })
    }

    /// The symbols for the parameters of a routine: numbers, and the lengths of arrays.
    fn argument_symbols(&mut self, routine: &IrRoutine, scope: &mut VariableScope) -> Vec<ArgumentSymbol> {
        let mut list = Vec::new();
        for (argument, parameter) in routine.parameters.iter().enumerate() {
            let mut add = |analysis: &mut Self, name: &str, dimension: Option<usize>| {
                let symbol = analysis.fresh_symbol(name);
                list.push(ArgumentSymbol { symbol: symbol.clone(), argument, dimension, used: false });
                Formula::symbol(&symbol)
            };
            match &parameter.data_type {
                DataType::Scalar(ScalarType::Boolean) | DataType::Named(_) => scope.set(&parameter.name, AbstractValue::unknown()),
                DataType::Scalar(of) => {
                    let symbol = add(self, &parameter.name, None);
                    if matches!(of, ScalarType::Float | ScalarType::Double) {
                        self.assumptions.fractional.extend(symbol.symbols());
                    }
                    scope.set(&parameter.name, AbstractValue::exact(symbol));
                }
                DataType::Array(_) => {
                    let mut lengths = Vec::new();
                    let mut of = &parameter.data_type;
                    while let DataType::Array(inside) = of
                        && lengths.len() < MAX_DIMENSIONS
                    {
                        let number = if lengths.is_empty() { String::new() } else { format!("_{}", lengths.len() + 1) };
                        lengths.push(Some(add(self, &format!("{}_length{number}", parameter.name), Some(lengths.len()))));
                        of = inside;
                    }
                    scope.set(&parameter.name, AbstractValue::Array(lengths));
                }
            }
        }
        list
    }

    fn procedure_name(&self, routine: &IrRoutine) -> String {
        let name = to_model_name(&routine.name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let taken = |name: &String| self.procedures.iter().any(|procedure| procedure.name == *name);
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }

    fn call_term(&mut self, routine: &IrRoutine, summary: &RoutineSummary, values: &[AbstractValue], place: &FilePos) -> ModelTerm {
        let mut arguments = Vec::new();
        for given in summary.symbols.iter().filter(|given| given.used) {
            let value = values.get(given.argument);
            let formula = match given.dimension {
                None => value.and_then(AbstractValue::formula_or_interval),
                Some(dimension) => match value {
                    Some(AbstractValue::Array(lengths)) => lengths.get(dimension).cloned().flatten(),
                    _ => None,
                },
            };
            arguments.push(formula.unwrap_or_else(|| self.unknown_argument(routine, given, place)));
        }
        arguments.extend(self.computer.iter().map(|computer| Formula::symbol(&computer.0)));
        ModelTerm::Call { procedure: summary.procedure.clone(), arguments }
    }

    fn unknown_argument(&mut self, routine: &IrRoutine, given: &ArgumentSymbol, place: &FilePos) -> Formula {
        let name = format!("{}_{}", given.symbol, pos_name(place));
        let what = routine.parameters.get(given.argument).map_or("", |parameter| &parameter.name);
        let what = if given.dimension.is_some() { format!("the length of `{what}`") } else { format!("`{what}`") };
        self.note(place, format!("{what} of this call of {} cannot be derived: set it with -p {name}=…", routine.name));
        self.parameter(&name, None, format!("{what} where {} calls {}", place.file_and_line(), routine.name))
    }

    /// A call in the program: its cost and its value.
    pub(super) fn call(
        &mut self,
        name: &'a str,
        arguments: &'a [TypedExpr],
        call: &'a TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.expression(argument, scope, ledger)?);
        }
        if let Some(routine) = self.routines.get(name).copied() {
            let summary = self.summary(routine, &call.pos)?;
            ledger.add(self.plain_operation("call"), Formula::one());
            ledger.push(self.call_term(routine, &summary, &values, &call.pos));
            self.invalidate_globals(scope);
            return Ok(self.returned_value(&summary, &values));
        }
        if let Some(function) = library::find_function(name) {
            self.function_cost(function, call, arguments, ledger);
            return Ok(library::function_value(name, function, &values, &self.assumptions));
        }
        let cost = format!("cost_{name}");
        let seconds = self.parameter(&cost, Some(Formula::zero()), format!("seconds of one call of {name}"));
        self.note(&call.pos, format!("the cost of {name} is unknown and taken as 0 seconds: set it with -p {}=…", to_model_name(&cost)));
        ledger.push(ModelTerm::Delay(seconds));
        Ok(AbstractValue::unknown())
    }

    fn function_cost(&self, function: library::LibraryFunction, call: &TypedExpr, arguments: &[TypedExpr], ledger: &mut TermBuilder) {
        let of = as_scalar(&call.data_type)
            .or_else(|| arguments.first().and_then(|argument| as_scalar(&argument.data_type)))
            .unwrap_or(ScalarType::Double);
        let mut add = |name: &str, of: ScalarType| ledger.add(self.operation(name, of), Formula::one());
        match function {
            // A function that rounds to an integer works on its argument's type.
            library::LibraryFunction::Named(name @ "floor") => {
                add(name, arguments.first().and_then(|argument| as_scalar(&argument.data_type)).unwrap_or(ScalarType::Double));
            }
            library::LibraryFunction::Named(name) => add(name, of),
            library::LibraryFunction::Random => add("random", ScalarType::Double),
            library::LibraryFunction::Extremum { .. } => {
                add("compare", of);
                add("assign", of);
            }
        }
    }

    /// The return value of a call, with the argument values substituted.
    fn returned_value(&self, summary: &RoutineSummary, values: &[AbstractValue]) -> AbstractValue {
        // The caller may use the same names, so the routine's symbols are renamed first.
        let other = |symbol: &str| format!("{symbol}'");
        let mut result = summary.symbols.iter().fold(summary.returns.clone(), |result, given| {
            result.map(|part| part.substitute(&given.symbol, &Formula::symbol(&other(&given.symbol))))
        });
        for given in &summary.symbols {
            let known = match (given.dimension, values.get(given.argument)) {
                (None, Some(AbstractValue::Exact(formula))) => Some(formula.clone()),
                (Some(dimension), Some(AbstractValue::Array(lengths))) => lengths.get(dimension).cloned().flatten(),
                _ => None,
            };
            let symbol = other(&given.symbol);
            match known {
                Some(formula) => result = result.map(|part| part.substitute(&symbol, &formula)),
                None if result.depends_on(&symbol) => return AbstractValue::unknown(),
                None => {}
            }
        }
        result
    }

    /// After a call, global variables are unknown.
    pub(super) fn invalidate_globals(&self, scope: &mut VariableScope) {
        scope.invalidate(self.globals.keys().copied().filter(|name| !self.locals.contains(*name)));
    }
}
