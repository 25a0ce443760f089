//! What a PASL file says: batches of tasks, and what goes from one to the other.

use sintonia_formula::Formula;

use crate::place::Place;

/// A parallel application: batches of tasks, which make a graph without cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// What its formulas are over, besides `task`.
    pub parameters: Vec<Parameter>,
    /// Its batches, each after all that it needs results of.
    pub batches: Vec<Batch>,
    /// What goes from one batch to another; every batch whose results are an argument has one.
    pub flows: Vec<Flow>,
}

/// A number that the user may choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is unless told; a formula of parameters before it.
    pub value: Option<Formula>,
    /// Where it is declared.
    pub place: Place,
}

/// Tasks that differ in nothing but their number.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Its name.
    pub name: String,
    /// How many tasks it has, a formula of the parameters.
    pub tasks: Formula,
    /// The static method that a task is, with its class: `Primes.search`.
    pub routine: String,
    /// What the method is given.
    pub arguments: Vec<Argument>,
    /// How many batches must have ended before it, one after the other: batches of the same level do not wait for each other.
    pub level: usize,
    /// Where it is declared.
    pub place: Place,
}

/// What a task is given.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A number: a formula of the parameters and of `task`, the number of the task from 1. Where the method takes a whole number, it is
    /// rounded down.
    Number {
        /// The number.
        value: Formula,
        /// Where it is.
        place: Place,
    },
    /// The results of all tasks of another batch, as an array in the order of the tasks.
    Results {
        /// The position of that batch in [`Application::batches`].
        batch: usize,
        /// Where it is.
        place: Place,
    },
}

/// Results that go from one batch to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The position of the batch that gives them in [`Application::batches`].
    pub from: usize,
    /// The position of the batch that waits for them.
    pub to: usize,
    /// How many bytes one result has; unless told, those of the type that the method returns.
    pub bytes: Option<Formula>,
    /// Where it is declared.
    pub place: Place,
}

/// The name that the number of a task has in formulas.
pub const TASK: &str = "task";
