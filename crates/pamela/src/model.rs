//! What a model is made of.
//!
//! A [`Model`] says what a program does, on which computers and with which resources, but not what anything costs: that is the machine's. It is
//! written by hand, or by a compiler from a program's source, and read by whatever turns it into formulas.

use sintonia_formula::Formula;
use sintonia_machine::Collective;

/// A model of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    /// Whose costs its operations have.
    pub language: Language,
    /// What its formulas are over, besides indexes and the parameters of procedures.
    pub parameters: Vec<Parameter>,
    /// What parts of it may compete for, besides computers.
    pub resources: Vec<Resource>,
    /// Its procedures. The program is the one called `main`, or else the first.
    pub procedures: Vec<Procedure>,
}

/// What the operations of a model are compiled from: the same operation costs something else in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// Compiled to the machine's own instructions.
    #[default]
    C,
    /// Run by a Java virtual machine.
    Java,
}

/// A symbol that the user gives a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is when nobody says anything else; may be an interval, or a formula of parameters before it.
    pub value: Option<Formula>,
    /// What it means, for people.
    pub note: Option<String>,
}

/// Something that only so many can use at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// How many can use it at a time.
    pub multiplicity: Formula,
}

/// A part of the program with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// What it is given: numbers, and the names of computers.
    pub parameters: Vec<String>,
    /// What it does.
    pub body: Term,
    /// Where it comes from, for people.
    pub note: Option<String>,
}

/// What a program does.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A remark, which costs nothing.
    Note(String),
    /// An operation, so many times.
    Operation {
        /// Which one.
        operation: Operation,
        /// How often; one unless told.
        times: Formula,
    },
    /// A message.
    Message {
        /// Who sends it.
        from: Computer,
        /// Who gets it.
        to: Computer,
        /// How large it is.
        bytes: Formula,
    },
    /// An operation of a group of processes.
    Group {
        /// Which one.
        operation: Collective,
        /// How large it is, as the machine file counts it for that operation.
        bytes: Formula,
        /// How many processes take part.
        processes: Formula,
    },
    /// A time that is known, in seconds.
    Delay(Formula),
    /// A procedure.
    Call {
        /// Its name.
        procedure: String,
        /// What it is given: numbers, and computers as symbols or numbers.
        arguments: Vec<Formula>,
    },
    /// One after the other; nothing, if there are none.
    Sequence(Vec<Term>),
    /// At the same time.
    Parallel(Vec<Term>),
    /// Something over and over, with an index that counts up by one.
    Loop {
        /// One after the other, or at the same time.
        order: Order,
        /// The name of the index.
        index: String,
        /// Where it begins.
        from: Formula,
        /// Where it ends; nothing is done where that is below `from`.
        to: Formula,
        /// What is done.
        body: Box<Term>,
    },
    /// Tasks, each done by one computer of many. Who gets which is decided when a time is asked for.
    Tasks {
        /// The name of the task's number.
        index: String,
        /// The first number.
        from: Formula,
        /// The last.
        to: Formula,
        /// The name that the computer has in the body.
        computer: String,
        /// What a task is.
        body: Box<Term>,
    },
    /// One of two, depending on something that may not be known.
    If {
        /// Where the condition stands, as `File.java:14`; shares are given by it.
        place: Option<String>,
        /// How often it holds, from 0 to 1, if that is known: may be an interval or a formula.
        share: Option<Formula>,
        /// What is done where it holds.
        then: Box<Term>,
        /// What is done where it does not.
        otherwise: Box<Term>,
    },
    /// Something that holds a resource, or a computer, while it lasts.
    Use {
        /// Its name.
        resource: String,
        /// What is done with it.
        body: Box<Term>,
    },
}

/// How the rounds of a loop follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// At the same time.
    Parallel,
}

/// An operation of a computer: its name, the type it works on, and who does it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation {
    /// `sum`, `mpy`, `compare`, …
    pub name: String,
    /// `int`, `double`, …, for those that differ by it.
    pub of: Option<String>,
    /// Who does it; unless told, the computer that the surrounding part runs on.
    pub on: Option<Computer>,
}

/// A computer: a number, an index, a parameter of a procedure, or a name that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Computer(pub String);
