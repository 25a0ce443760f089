//! What Java and C have in common: routines of statements and typed expressions.
//!
//! Each language has a reader that gives these, and one analysis turns them into a model: what loops, conditions and operations cost
//! does not depend on how they are spelled.

use crate::place::Place;

/// The routines of a program, whatever file they stand in.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The routines.
    pub routines: Vec<Routine>,
    /// Variables outside of routines: fields of classes, globals.
    pub globals: Vec<Variable>,
}

/// A method or a function.
#[derive(Debug, Clone)]
pub struct Routine {
    /// Its name; in Java, with the class: `Primes.search`.
    pub name: String,
    /// What it is given.
    pub parameters: Vec<Variable>,
    /// What it gives; none for `void`.
    pub returns: Option<Type>,
    /// What it does.
    pub body: Vec<Statement>,
    /// Where it stands.
    pub place: Place,
}

/// A variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: Type,
    /// What it is at first.
    pub value: Option<Expression>,
    /// Whether it never changes (`final`, `const`, a `#define`).
    pub constant: bool,
    /// Where it stands.
    pub place: Place,
}

/// A type, as far as costs depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A number or a truth value.
    Scalar(Scalar),
    /// An array of something, or a pointer to it.
    Array(Box<Type>),
    /// Anything else, by its name.
    Other(String),
}

/// A number, by what computing with it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// True or false.
    Boolean,
    /// Whole, of one byte.
    Byte,
    /// Whole, of two bytes (in Java also `char`).
    Short,
    /// Whole, of four bytes.
    Int,
    /// Whole, of eight bytes.
    Long,
    /// With a fraction, of four bytes.
    Float,
    /// With a fraction, of eight bytes.
    Double,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it does.
    pub what: Action,
    /// Where it stands.
    pub place: Place,
}

/// What a statement does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Declares a variable.
    Declare(Variable),
    /// Computes something, assignments and calls included.
    Compute(Expression),
    /// `{ … }`
    Block(Vec<Statement>),
    /// `if`
    If {
        /// The condition.
        condition: Expression,
        /// Where it holds.
        then: Vec<Statement>,
        /// Where it does not.
        otherwise: Vec<Statement>,
    },
    /// `for` and `while`: both are a condition, what is done while it holds, and what is done after each round.
    Loop {
        /// What is done before.
        before: Vec<Statement>,
        /// The condition; none holds forever.
        condition: Option<Expression>,
        /// What is done after each round.
        after: Vec<Expression>,
        /// What is done in each.
        body: Vec<Statement>,
        /// Whether the condition is asked only after the first round (`do`).
        once_at_least: bool,
    },
    /// For each element of an array (Java).
    ForEach {
        /// The element.
        variable: Variable,
        /// The array.
        of: Expression,
        /// What is done with each.
        body: Vec<Statement>,
    },
    /// `switch`: one list per case, with what falls through repeated in it.
    Switch {
        /// What is asked.
        of: Expression,
        /// The cases.
        cases: Vec<Vec<Statement>>,
    },
    /// Leaves the routine.
    Return(Option<Expression>),
    /// Leaves the innermost loop (or switch).
    Break,
    /// Goes to the next round of the innermost loop.
    Continue,
    /// Raises an exception, or ends the program.
    Leave(Option<Expression>),
}

/// An expression with its type.
#[derive(Debug, Clone)]
pub struct Expression {
    /// What is computed.
    pub what: Computation,
    /// The type of the result.
    pub of: Type,
    /// Where it stands.
    pub place: Place,
}

/// What an expression computes.
#[derive(Debug, Clone)]
pub enum Computation {
    /// A number, as it is written but without suffixes and separators, or a truth value as 0 or 1.
    Number(String),
    /// A text.
    Text(String),
    /// A variable.
    Variable(String),
    /// `a[i]`, `*a`
    Element(Box<Expression>, Box<Expression>),
    /// `a.name`, `a->name`; `a.length` is one.
    Field(Box<Expression>, String),
    /// Something of one number.
    Unary(Unary, Box<Expression>),
    /// Something of two.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `target = value`, or `target op= value`; `i++` is `i += 1`.
    Assign {
        /// What changes.
        target: Box<Expression>,
        /// What it is computed with, for `+=` and the like.
        with: Option<Binary>,
        /// The value.
        value: Box<Expression>,
    },
    /// `condition ? a : b`
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A conversion to the expression's type, written or implied.
    Convert(Box<Expression>),
    /// A call: the name (`Math.sqrt`, `MPI_Send`, `Primes.search`), and what it is given.
    Call(String, Vec<Expression>),
    /// A new array with so many elements in each dimension, or a new object (no dimensions).
    New(Vec<Expression>),
    /// `&a`
    AddressOf(Box<Expression>),
    /// `{ a, b, … }`
    List(Vec<Expression>),
}

/// An operation of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// `-a`
    Negative,
    /// `!a`
    Not,
    /// `~a`
    Complement,
}

/// An operation of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `&&`: the second only where the first holds.
    And,
    /// `||`: the second only where the first does not hold.
    Or,
    /// `&`, `|`, `^`
    Bits(Bits),
    /// `<<`, `>>`, `>>>`
    Shift(Shift),
}

/// How two numbers are put together bit by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Exclusive,
}

/// Which way bits are shifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// `<<`
    Left,
    /// `>>`, `>>>`
    Right,
}

impl Statement {
    /// The expressions that stand in it directly, not in the blocks inside.
    pub fn expressions(&self) -> Vec<&Expression> {
        match &self.what {
            Action::Declare(variable) => variable.value.iter().collect(),
            Action::Compute(of) | Action::If { condition: of, .. } | Action::ForEach { of, .. } | Action::Switch { of, .. } => vec![of],
            Action::Loop { condition, after, .. } => condition.iter().chain(after).collect(),
            Action::Return(value) | Action::Leave(value) => value.iter().collect(),
            Action::Block(_) | Action::Break | Action::Continue => Vec::new(),
        }
    }

    /// The blocks inside of it.
    pub fn blocks(&self) -> Vec<&[Statement]> {
        match &self.what {
            Action::Block(body) | Action::ForEach { body, .. } => vec![body],
            Action::If { then, otherwise, .. } => vec![then, otherwise],
            Action::Loop { before, body, .. } => vec![before, body],
            Action::Switch { cases, .. } => cases.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }

    /// How many statements it is, with those inside.
    pub fn weight(&self) -> usize {
        1 + self.blocks().into_iter().flatten().map(Statement::weight).sum::<usize>()
    }
}

impl Expression {
    /// The expressions it is made of.
    pub fn parts(&self) -> Vec<&Expression> {
        match &self.what {
            Computation::Number(_) | Computation::Text(_) | Computation::Variable(_) => Vec::new(),
            Computation::Field(of, _) | Computation::Unary(_, of) | Computation::Convert(of) | Computation::AddressOf(of) => vec![of],
            Computation::Element(one, two) | Computation::Binary(_, one, two) => vec![one, two],
            Computation::Assign { target, value, .. } => vec![target, value],
            Computation::Choice(condition, one, two) => vec![condition, one, two],
            Computation::Call(_, list) | Computation::New(list) | Computation::List(list) => list.iter().collect(),
        }
    }
}

impl Binary {
    /// The operation that a sign stands for, in either language.
    pub fn of_sign(sign: &str) -> Option<Binary> {
        Some(match sign {
            "+" => Binary::Add,
            "-" => Binary::Subtract,
            "*" => Binary::Multiply,
            "/" => Binary::Divide,
            "%" => Binary::Remainder,
            "<" => Binary::Less,
            "<=" => Binary::LessOrEqual,
            ">" => Binary::Greater,
            ">=" => Binary::GreaterOrEqual,
            "==" => Binary::Equal,
            "!=" => Binary::NotEqual,
            "&&" => Binary::And,
            "||" => Binary::Or,
            "&" => Binary::Bits(Bits::And),
            "|" => Binary::Bits(Bits::Or),
            "^" => Binary::Bits(Bits::Exclusive),
            "<<" => Binary::Shift(Shift::Left),
            ">>" | ">>>" => Binary::Shift(Shift::Right),
            _ => return None,
        })
    }
}
