//! The syntax tree of a model.
//!
//! A [`PamelaModel`] describes what a program does, on which computers and with which resources, but no costs: those belong to the machine.
//! It is written by hand or compiled from source code, and compiled to formulas.

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;

/// A model of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PamelaModel {
    /// The language that determines the costs of its operations.
    pub language: SourceLanguage,
    /// The free symbols of its formulas, besides indexes and procedure parameters.
    pub parameters: Vec<ModelParameter>,
    /// Shared resources besides computers.
    pub resources: Vec<ResourceDecl>,
    /// Its procedures. The main one is `main`, or else the first.
    pub procedures: Vec<ProcedureDecl>,
}

/// The source language of a model: the same operation has different costs in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceLanguage {
    /// Compiled to native code.
    #[default]
    C,
    /// Run by a Java virtual machine.
    Java,
}

/// A symbol whose value the user gives.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelParameter {
    /// Its name.
    pub name: String,
    /// The default value; may be an interval, or a formula of parameters before it.
    pub value: Option<Formula>,
    /// Its description.
    pub comment: Option<String>,
}

/// A resource with a limited number of simultaneous users.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceDecl {
    /// Its name.
    pub name: String,
    /// The number of simultaneous users.
    pub multiplicity: Formula,
}

/// A procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureDecl {
    /// Its name.
    pub name: String,
    /// Its parameters: numbers, and names of computers.
    pub parameters: Vec<String>,
    /// Its body.
    pub body: ModelTerm,
    /// Its description, usually its origin.
    pub comment: Option<String>,
}

/// A term of the process algebra.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelTerm {
    /// A comment, which costs nothing.
    Comment(String),
    /// An operation, repeated.
    Operation {
        /// The operation.
        operation: ComputeOp,
        /// The count; 1 by default.
        times: Formula,
    },
    /// A message.
    Message {
        /// The sender.
        from: Computer,
        /// The receiver.
        to: Computer,
        /// Its size.
        bytes: Formula,
    },
    /// A collective operation.
    Collective {
        /// The collective.
        operation: CollectiveKind,
        /// Its size, as the machine file defines it for that operation.
        bytes: Formula,
        /// The number of processes.
        processes: Formula,
    },
    /// A constant time in seconds.
    Delay(Formula),
    /// A procedure call.
    Call {
        /// Its name.
        procedure: String,
        /// Its arguments: numbers, and computers as symbols or numbers.
        arguments: Vec<Formula>,
    },
    /// Terms that run one after the other.
    Sequence(Vec<ModelTerm>),
    /// Terms that run at the same time.
    Parallel(Vec<ModelTerm>),
    /// A loop with an index that is incremented by one.
    Loop {
        /// Sequential or parallel.
        order: LoopOrder,
        /// The name of the index.
        index: String,
        /// The lower bound.
        from: Formula,
        /// The upper bound; no iterations if it is below `from`.
        to: Formula,
        /// The body.
        body: Box<ModelTerm>,
    },
    /// Tasks, each executed by one of many computers. The allocation is chosen for each estimate.
    Tasks {
        /// The name of the task number.
        index: String,
        /// The first task number.
        from: Formula,
        /// The last task number.
        to: Formula,
        /// The name of the computer in the body.
        computer: String,
        /// The body of a task.
        body: Box<ModelTerm>,
    },
    /// A conditional whose outcome may not be known.
    If {
        /// The position of the condition, as `File.java:14`; shares refer to it.
        position: Option<String>,
        /// How often it holds, from 0 to 1, if known: may be an interval or a formula.
        share: Option<Formula>,
        /// The branch if it holds.
        then: Box<ModelTerm>,
        /// The branch if it does not.
        otherwise: Box<ModelTerm>,
    },
    /// A term that holds a resource, or a computer, while it runs.
    Use {
        /// Its name.
        resource: String,
        /// The body.
        body: Box<ModelTerm>,
    },
}

/// How the iterations of a loop are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopOrder {
    /// One after the other.
    Sequential,
    /// At the same time.
    Parallel,
}

/// An operation of a computer: its name, its data type, and the computer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeOp {
    /// `sum`, `mpy`, `compare`, …
    pub name: String,
    /// `int`, `double`, …, for operations that depend on it.
    pub data_type: Option<String>,
    /// The computer; `None` is the computer of the enclosing block.
    pub computer: Option<Computer>,
}

/// A computer: a number, an index, a procedure parameter, or a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Computer(pub String);
