//! Symbolic execution of the program as one process of a role; collects the steps that others can observe.
//!
//! Routines that communicate are executed at every call; everything else is left to the static analysis, with the values of variables at
//! that point.

use std::collections::{BTreeMap, HashMap, HashSet};

use sintonia_formula::Formula;
use sintonia_pamela::model::{ComputeOp, Computer, ModelParameter, ModelTerm};

use super::process_step::{LocalWork, ProcessStep};
use super::role::ProcessRole;
use super::value::{StoreAddress, SymbolicStore, SymbolicValue};
use crate::analysis::Assumptions;
use crate::compiled_model::CompileNote;
use crate::error::{Error, SourceDiagnostic};
use crate::file_pos::FilePos;
use crate::ir::{IrProgram, IrRoutine, IrVariable, Statement, StatementKind, TypedExpr};
use crate::model_names;

/// The maximum number of executed statements.
const MAX_STATEMENTS: usize = 200_000;

/// Maximum call depth.
const MAX_CALL_DEPTH: usize = 60;

/// Maximum nesting depth of statements and expressions, including called routines.
const MAX_NESTING: usize = 250;

/// Why an execution stops early.
pub(super) enum ExecutionAbort {
    /// The processes of the role diverge at these ranks.
    RolesDiverge(Vec<Formula>),
    /// The program cannot be modelled.
    Failed(Box<Error>),
}

impl From<SourceDiagnostic> for ExecutionAbort {
    fn from(wrong: SourceDiagnostic) -> ExecutionAbort {
        ExecutionAbort::Failed(Box::new(wrong.into()))
    }
}

impl From<Error> for ExecutionAbort {
    fn from(error: Error) -> ExecutionAbort {
        ExecutionAbort::Failed(Box::new(error))
    }
}

/// How a statement completes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StatementCompletion {
    /// The next statement follows.
    Normal,
    /// The routine returns a value.
    Return(SymbolicValue),
    /// The program terminates.
    Terminated,
    /// The iteration of the loop ends.
    EndOfIteration,
}

/// State shared by the executions of all roles.
pub(super) struct ExecutionShared<'p> {
    /// The program.
    pub program: &'p IrProgram,
    /// Its routines by name.
    pub routines: HashMap<&'p str, &'p IrRoutine>,
    /// The routines that are executed call by call.
    pub followed: HashSet<&'p str>,
    /// Those of them that communicate.
    pub communicating: HashSet<&'p str>,
    /// The field names of structs.
    pub struct_fields: HashMap<String, Vec<String>>,
    /// The name of `main`'s `argv` parameter.
    pub arguments: Option<String>,
    /// The name of `main`'s `argc` parameter.
    pub argument_count: Option<String>,
    /// The parameters of the model.
    pub parameters: Vec<ModelParameter>,
    /// Notes for the user.
    pub notes: Vec<CompileNote>,
    /// Names that must not be used for indexes.
    pub reserved_names: HashSet<String>,
}

/// The symbolic execution of one process.
pub(super) struct SymbolicExecutor<'s, 'p> {
    pub(super) shared: &'s mut ExecutionShared<'p>,
    pub(super) role: ProcessRole,
    pub(super) assumptions: Assumptions,
    pub(super) store: SymbolicStore,
    pub(super) steps: Vec<ProcessStep>,
    /// The names in scope: globals, then those of each block of the routine.
    pub(super) scopes: Vec<HashMap<String, StoreAddress>>,
    /// The call stack.
    pub(super) stack: Vec<String>,
    /// The enclosing loops: index and last iteration.
    pub(super) loops: Vec<(String, Formula)>,
    /// Above zero while only values matter and no steps are emitted.
    pub(super) silent_depth: usize,
    n_statements: usize,
    depth: usize,
}

pub(super) type ExecutionResult<T> = Result<T, ExecutionAbort>;

/// The steps of a process of the role, from the beginning of `main` to its end.
pub(super) fn execute_role<'p>(
    shared: &mut ExecutionShared<'p>,
    role: &ProcessRole,
    main: &'p IrRoutine,
) -> ExecutionResult<Vec<ProcessStep>> {
    let mut walk = SymbolicExecutor {
        shared,
        role: role.clone(),
        assumptions: role.assumptions(),
        store: SymbolicStore::default(),
        steps: Vec::new(),
        scopes: vec![HashMap::new()],
        stack: vec![main.name.clone()],
        loops: Vec::new(),
        silent_depth: 0,
        n_statements: 0,
        depth: 0,
    };
    walk.silent_depth += 1;
    for variable in &walk.shared.program.globals {
        walk.declare(variable)?;
    }
    walk.silent_depth -= 1;
    walk.scopes.push(HashMap::new());
    for parameter in &main.parameters {
        walk.bind(&parameter.name, SymbolicValue::Unknown);
    }
    walk.statements(&main.body)?;
    Ok(walk.steps)
}

impl<'p> SymbolicExecutor<'_, 'p> {
    pub(super) fn note(&mut self, place: &FilePos, text: impl Into<String>) {
        let note = CompileNote { pos: place.clone(), text: text.into() };
        if !self.shared.notes.contains(&note) {
            self.shared.notes.push(note);
        }
    }

    /// A parameter of the model that the user must give, or may give if it has a default.
    pub(super) fn parameter(&mut self, name: &str, value: Option<Formula>, note: String) -> Formula {
        let mut name = model_names::to_model_name(name);
        if name == "p" || name == self.role.index {
            name.push('_');
        }
        if !self.shared.parameters.iter().any(|known| known.name == name) {
            self.shared.parameters.push(ModelParameter { name: name.clone(), value, comment: Some(note) });
        }
        Formula::symbol(&name)
    }

    pub(super) fn lookup(&self, name: &str) -> Option<StoreAddress> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }

    pub(super) fn bind(&mut self, name: &str, value: SymbolicValue) {
        let address = self.store.allocate(value);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), address);
        }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent_depth > 0
    }

    pub(super) fn emit(&mut self, step: ProcessStep) {
        if self.silent_depth == 0 {
            self.steps.push(step);
        }
    }

    /// Defers statements to the static analysis, with the values known before them.
    pub(super) fn defer_statements(&mut self, statements: Vec<Statement>) {
        if self.silent_depth > 0 || statements.is_empty() {
            return;
        }
        let mut known = self.known_numbers();
        let statements = statements.into_iter().map(|statement| self.name_known_fields(statement, &mut known)).collect();
        self.steps.push(ProcessStep::Work(LocalWork { statements, known, loops: self.loops.clone() }));
    }

    /// Defers the evaluation of expressions to the static analysis.
    pub(super) fn defer_expressions(&mut self, expressions: impl IntoIterator<Item = &'p TypedExpr>, place: &FilePos) {
        let statement = |expression: &TypedExpr| Statement { kind: StatementKind::Evaluate(expression.clone()), pos: place.clone() };
        self.defer_statements(
            expressions.into_iter().filter(|expression| !self.is_followed_expression(expression)).map(statement).collect(),
        );
    }

    /// All variables with a known number.
    pub(super) fn known_numbers(&self) -> BTreeMap<String, Formula> {
        let mut known = BTreeMap::new();
        for (name, address) in self.scopes.iter().flatten() {
            // A variable shadows another of its name, even if its value is unknown.
            match self.store.get(address) {
                SymbolicValue::Number(formula) => known.insert(name.clone(), formula),
                _ => known.remove(name),
            };
        }
        known
    }

    pub(super) fn statements(&mut self, list: &'p [Statement]) -> ExecutionResult<StatementCompletion> {
        let mut at = 0;
        while at < list.len() {
            if !self.is_followed(&list[at]) {
                self.local_statement(&list[at])?;
                at += 1;
                continue;
            }
            if let StatementKind::If { condition, then, otherwise } = &list[at].kind {
                if let Some(flow) = self.branch(condition, then, otherwise, &list[at + 1..], &list[at].pos)? {
                    return Ok(flow);
                }
            } else {
                let flow = self.statement(&list[at])?;
                if flow != StatementCompletion::Normal {
                    return Ok(flow);
                }
            }
            at += 1;
        }
        Ok(StatementCompletion::Normal)
    }

    /// A local statement: its cost is deferred to the static analysis, its side effects are executed here.
    fn local_statement(&mut self, statement: &'p Statement) -> ExecutionResult<()> {
        self.defer_statements(vec![statement.clone()]);
        self.silent_depth += 1;
        let result = self.statement(statement);
        self.silent_depth -= 1;
        result.map(drop)
    }

    pub(super) fn statement(&mut self, statement: &'p Statement) -> ExecutionResult<StatementCompletion> {
        self.n_statements += 1;
        if self.n_statements > MAX_STATEMENTS {
            return Err(SourceDiagnostic::new(statement.pos.clone(), "the program has too many paths").into());
        }
        self.nested(&statement.pos, |walk| walk.execute_statement(statement))
    }

    /// Runs something one level deeper, up to the maximum depth.
    pub(super) fn nested<T>(&mut self, place: &FilePos, then: impl FnOnce(&mut Self) -> ExecutionResult<T>) -> ExecutionResult<T> {
        if self.depth >= MAX_NESTING {
            return Err(SourceDiagnostic::new(
                place.clone(),
                format!("this is nested more than {MAX_NESTING} levels deep, including calls"),
            )
            .into());
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    fn execute_statement(&mut self, statement: &'p Statement) -> ExecutionResult<StatementCompletion> {
        match &statement.kind {
            StatementKind::Declare(variable) => self.declare(variable).map(|()| StatementCompletion::Normal),
            StatementKind::Evaluate(expression) => self.evaluate(expression).map(|_| StatementCompletion::Normal),
            StatementKind::Block(list) => self.block(list),
            StatementKind::If { condition, then, otherwise } => {
                Ok(self.branch(condition, then, otherwise, &[], &statement.pos)?.unwrap_or(StatementCompletion::Normal))
            }
            StatementKind::Loop { init: before, condition, update: after, body, is_do_while: once_at_least } => {
                self.scopes.push(HashMap::new());
                let result = self.loop_statement(before, condition.as_ref(), after, body, *once_at_least, &statement.pos);
                self.scopes.pop();
                result
            }
            StatementKind::ForEach { .. } => Ok(StatementCompletion::Normal),
            StatementKind::Switch { selector: of, cases } => {
                self.evaluate(of)?;
                self.switch(cases, &statement.pos)
            }
            StatementKind::Return(value) => {
                let value = match value {
                    Some(value) => self.evaluate(value)?,
                    None => SymbolicValue::Unknown,
                };
                Ok(StatementCompletion::Return(value))
            }
            StatementKind::Terminate(_) => Ok(StatementCompletion::Terminated),
            StatementKind::Break | StatementKind::Continue => Ok(StatementCompletion::EndOfIteration),
        }
    }

    pub(super) fn block(&mut self, list: &'p [Statement]) -> ExecutionResult<StatementCompletion> {
        self.scopes.push(HashMap::new());
        let result = self.statements(list);
        self.scopes.pop();
        result
    }

    pub(super) fn declare(&mut self, variable: &'p IrVariable) -> ExecutionResult<()> {
        let value = match &variable.initializer {
            Some(value) => match self.command_line_value(&variable.name, &SymbolicValue::Unknown, value)? {
                Some(value) => value,
                None => self.evaluate(value)?,
            },
            None if matches!(variable.data_type, crate::ir::DataType::Array(_)) => SymbolicValue::Aggregate(BTreeMap::new()),
            None => SymbolicValue::Unknown,
        };
        self.bind(&variable.name, value);
        Ok(())
    }

    /// Executes a routine with these arguments.
    pub(super) fn call_routine(
        &mut self,
        routine: &'p IrRoutine,
        values: Vec<SymbolicValue>,
        place: &FilePos,
    ) -> ExecutionResult<SymbolicValue> {
        if self.stack.contains(&routine.name) || self.stack.len() >= MAX_CALL_DEPTH {
            if self.silent_depth == 0 && self.shared.followed.contains(routine.name.as_str()) {
                let way = self.stack.iter().map(String::as_str).chain([routine.name.as_str()]).collect::<Vec<_>>().join(" -> ");
                return Err(SourceDiagnostic::new(
                    place.clone(),
                    format!("`{}` is recursive, which cannot be modelled: {way}", routine.name),
                )
                .into());
            }
            return Ok(SymbolicValue::Unknown);
        }
        let call = ComputeOp { name: "call".to_owned(), data_type: None, computer: Some(Computer(self.role.index.clone())) };
        self.emit(ProcessStep::Local(ModelTerm::Operation { operation: call, times: Formula::one() }));
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
            StatementCompletion::Return(value) => Ok(value),
            _ => Ok(SymbolicValue::Unknown),
        }
    }
}
