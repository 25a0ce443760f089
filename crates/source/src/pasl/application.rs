//! The syntax tree of a PASL file: batches of tasks, and the data flow between them.

use sintonia_formula::Formula;

use crate::file_pos::FilePos;

/// A parallel application: an acyclic graph of batches.
#[derive(Debug, Clone, PartialEq)]
pub struct PaslApplication {
    /// Its name.
    pub name: String,
    /// The free symbols of its formulas, besides `task`.
    pub parameters: Vec<ApplicationParameter>,
    /// Its batches in topological order.
    pub batches: Vec<TaskBatch>,
    /// The data flow between batches; every batch whose results are an argument has one.
    pub flows: Vec<BatchFlow>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplicationParameter {
    /// Its name.
    pub name: String,
    /// Its default value; a formula of parameters before it.
    pub value: Option<Formula>,
    /// Its position.
    pub pos: FilePos,
}

/// Tasks that differ only in their number.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskBatch {
    /// Its name.
    pub name: String,
    /// The number of tasks, a formula of the parameters.
    pub tasks: Formula,
    /// The static method of a task, with its class: `Primes.search`.
    pub routine: String,
    /// The arguments of the method.
    pub arguments: Vec<BatchArgument>,
    /// The length of the longest chain of batches before it: batches of the same level are independent.
    pub level: usize,
    /// Its position.
    pub pos: FilePos,
}

/// An argument of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchArgument {
    /// A number: a formula of the parameters and of `task`, the task number from 1. It is rounded down if the method takes an integer.
    Number {
        /// Its value.
        value: Formula,
        /// Its position.
        pos: FilePos,
    },
    /// The results of all tasks of another batch, as an array in the order of the tasks.
    Results {
        /// The index of that batch in [`PaslApplication::batches`].
        batch: usize,
        /// Its position.
        pos: FilePos,
    },
}

/// Results that flow from one batch to another.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchFlow {
    /// The index of the producing batch in [`PaslApplication::batches`].
    pub from: usize,
    /// The index of the consuming batch.
    pub to: usize,
    /// The size of one result; that of the method's return type by default.
    pub bytes: Option<Formula>,
    /// Its position.
    pub pos: FilePos,
}

/// The symbol of the task number in formulas.
pub const TASK: &str = "task";
