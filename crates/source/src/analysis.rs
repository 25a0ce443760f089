//! Static analysis: routines become terms of a model, with operations counted and loops and conditions expressed by formulas.
//!
//! This is abstract interpretation with formulas over the parameters of routines and the indexes of loops ([`AbstractValue`],
//! [`VariableScope`], [`Assumptions`]). Loops are not unrolled: induction variables give the values in iteration `i` for every `i` at once,
//! and the condition gives the trip count. What cannot be derived becomes a parameter of the model, with a [`CompileNote`].

mod assumptions;
mod calls;
mod condition;
mod constant_propagation;
mod expression;
mod induction;
mod iteration_space;
mod library;
mod loops;
mod residue;
mod scope;
pub(crate) mod side_effects;
mod statement;
pub(crate) mod term_builder;
mod trip_count;
mod trip_formulas;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sintonia_formula::Formula;
use sintonia_pamela::model::{ComputeOp, Computer, ModelParameter, ModelTerm, ProcedureDecl, SourceLanguage};

pub use assumptions::{AffineForm, Assumptions};
pub use condition::BranchProbability;
pub(crate) use constant_propagation::propagate_constants;
pub use iteration_space::IterationSpace;
pub use scope::VariableScope;
pub use value::AbstractValue;

use crate::compiled_model::CompileNote;
use crate::error::{Error, SourceDiagnostic};
use crate::file_pos::FilePos;
use crate::ir::{DataType, IrProgram, IrRoutine, MAX_DEPTH, ScalarType, Statement, TypedExpr};
use crate::model_names::to_model_name;
use calls::RoutineSummary;
use term_builder::TermBuilder;

/// The analyzer of a program.
pub struct StaticAnalyzer<'a> {
    language: SourceLanguage,
    computer: Option<Computer>,
    routines: HashMap<&'a str, &'a IrRoutine>,
    /// Global variables, with their value if it is constant.
    globals: HashMap<&'a str, (&'a DataType, Option<AbstractValue>)>,
    assumptions: Assumptions,
    /// The local variables of the current routine.
    locals: BTreeSet<String>,
    /// The symbols of the current routine: its parameters and the indexes of its loops.
    symbols: BTreeSet<String>,
    summaries: HashMap<&'a str, RoutineSummary>,
    call_stack: Vec<&'a IrRoutine>,
    procedures: Vec<ProcedureDecl>,
    parameters: BTreeMap<String, ModelParameter>,
    notes: BTreeSet<CompileNote>,
    /// The column of the first condition of each line, to distinguish several.
    condition_columns: HashMap<String, usize>,
    depth: usize,
    /// The nesting depth of conditions inside of expressions.
    condition_depth: usize,
}

/// What a model needs besides the terms.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalysisOutput {
    /// The procedures that the terms call.
    pub procedures: Vec<ProcedureDecl>,
    /// The parameters for what could not be derived.
    pub parameters: Vec<ModelParameter>,
    /// Notes for the user.
    pub notes: Vec<CompileNote>,
}

impl<'a> StaticAnalyzer<'a> {
    /// Creates an analyzer of a program in a language.
    pub fn new(program: &'a IrProgram, language: SourceLanguage) -> StaticAnalyzer<'a> {
        let routines = program.routines.iter().map(|routine| (routine.name.as_str(), routine)).collect();
        let mut analysis = StaticAnalyzer {
            language,
            computer: None,
            routines,
            globals: HashMap::new(),
            assumptions: Assumptions::default(),
            locals: BTreeSet::new(),
            symbols: BTreeSet::new(),
            summaries: HashMap::new(),
            call_stack: Vec::new(),
            procedures: Vec::new(),
            parameters: BTreeMap::new(),
            notes: BTreeSet::new(),
            condition_columns: HashMap::new(),
            depth: 0,
            condition_depth: 0,
        };
        analysis.collect_globals(program);
        analysis
    }

    /// Global variables that are never assigned have their initial value.
    fn collect_globals(&mut self, program: &'a IrProgram) {
        let (mut changed, mut fields) = (BTreeSet::new(), BTreeSet::new());
        for routine in &program.routines {
            let changes = side_effects::SideEffects::from_statements(&routine.body);
            let mut own = Vec::new();
            side_effects::declared_names(&routine.body, &mut own);
            changed.extend(changes.writes.iter().map(|change| change.variable).filter(|name| !own.contains(name)));
            fields.extend(changes.fields);
        }
        for global in &program.globals {
            let name = global.name.as_str();
            let field = name.rsplit('.').next().unwrap_or(name);
            let fixed = global.is_constant || !changed.contains(name) && !fields.contains(field);
            let value = global.initializer.as_ref().filter(|_| fixed).and_then(|value| self.value(value, &mut VariableScope::new()).ok());
            self.globals.insert(&global.name, (&global.data_type, value));
        }
    }

    /// Runs all operations on a computer, whose name procedures get as their last parameter.
    pub fn on_computer(mut self, computer: &str) -> StaticAnalyzer<'a> {
        self.computer = Some(Computer(computer.to_owned()));
        self.symbols.insert(computer.to_owned());
        self
    }

    /// Reserves a symbol for the caller: no index gets that name.
    pub fn reserve_symbol(&mut self, symbol: &str) {
        self.symbols.insert(symbol.to_owned());
    }

    /// The assumptions about symbols.
    pub fn assumptions_mut(&mut self) -> &mut Assumptions {
        &mut self.assumptions
    }

    /// The term of some statements; updates the scope.
    pub fn term(&mut self, statements: &'a [Statement], scope: &mut VariableScope) -> Result<ModelTerm, Error> {
        let mut names = Vec::new();
        side_effects::declared_names(statements, &mut names);
        self.locals.extend(names.into_iter().map(str::to_owned));
        let mut ledger = TermBuilder::default();
        self.statements(statements, scope, &mut ledger)?;
        Ok(ledger.into_term())
    }

    /// The abstract value of an expression.
    pub fn value(&mut self, expression: &'a TypedExpr, scope: &mut VariableScope) -> Result<AbstractValue, Error> {
        self.expression(expression, scope, &mut TermBuilder::default())
    }

    /// What a model needs besides the terms.
    pub fn finish(self) -> AnalysisOutput {
        AnalysisOutput {
            procedures: self.procedures,
            parameters: self.parameters.into_values().collect(),
            notes: self.notes.into_iter().collect(),
        }
    }

    fn note(&mut self, place: &FilePos, text: impl Into<String>) {
        self.notes.insert(CompileNote { pos: place.clone(), text: text.into() });
    }

    /// A parameter of the model for an unknown quantity.
    fn parameter(&mut self, name: &str, value: Option<Formula>, note: String) -> Formula {
        let name = to_model_name(name);
        self.parameters.entry(name.clone()).or_insert_with(|| ModelParameter { name: name.clone(), value, comment: Some(note) });
        Formula::symbol(&name)
    }

    /// An unused symbol of the current routine.
    fn fresh_symbol(&mut self, name: &str) -> String {
        let name = to_model_name(name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.symbols.contains(name)).unwrap_or_default();
        self.symbols.insert(free.clone());
        free
    }

    /// The label of a condition for shares: its line, with the column if it is not the first of the line.
    fn condition_label(&mut self, place: &FilePos) -> String {
        let short = place.file_and_line();
        let first = *self.condition_columns.entry(short.clone()).or_insert(place.column);
        if first == place.column { short } else { format!("{short}:{}", place.column) }
    }

    fn operation(&self, name: &str, of: ScalarType) -> ComputeOp {
        ComputeOp { name: name.to_owned(), data_type: Some(type_name(of).to_owned()), computer: self.computer.clone() }
    }

    fn plain_operation(&self, name: &str) -> ComputeOp {
        ComputeOp { name: name.to_owned(), data_type: None, computer: self.computer.clone() }
    }

    fn is_global(&self, name: &str) -> bool {
        !self.locals.contains(name) && self.globals.contains_key(name)
    }

    fn nested<T>(&mut self, place: &FilePos, inside: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(SourceDiagnostic::new(place.clone(), format!("statements are nested more than {MAX_DEPTH} deep")).into());
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}

/// The name of a type in operations.
fn type_name(of: ScalarType) -> &'static str {
    match of {
        ScalarType::Boolean | ScalarType::Byte | ScalarType::Short | ScalarType::Int => "int",
        ScalarType::Long => "long",
        ScalarType::Float => "float",
        ScalarType::Double => "double",
    }
}

fn as_scalar(of: &DataType) -> Option<ScalarType> {
    match of {
        DataType::Scalar(scalar) => Some(*scalar),
        _ => None,
    }
}

/// The type after the usual arithmetic conversions.
fn common_type(one: &DataType, two: &DataType) -> ScalarType {
    let of = |of: &DataType| as_scalar(of).unwrap_or(ScalarType::Int);
    of(one).max(of(two)).max(ScalarType::Int)
}

/// The size of a type in bytes; everything that is not a scalar is a reference.
pub(crate) fn size_of_type(of: &DataType) -> i64 {
    match of {
        DataType::Scalar(ScalarType::Boolean | ScalarType::Byte) => 1,
        DataType::Scalar(ScalarType::Short) => 2,
        DataType::Scalar(ScalarType::Int | ScalarType::Float) => 4,
        _ => 8,
    }
}
