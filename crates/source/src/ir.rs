//! The intermediate representation shared by Java and C: routines of statements and typed expressions.
//!
//! Each front end lowers its language to this IR, and one analysis turns it into a model.

use crate::file_pos::FilePos;

/// Maximum nesting depth of statements and expressions.
pub(crate) const MAX_DEPTH: usize = 400;

/// The routines of a program from all files.
#[derive(Debug, Clone, Default)]
pub struct IrProgram {
    /// The routines.
    pub routines: Vec<IrRoutine>,
    /// Fields of classes and global variables.
    pub globals: Vec<IrVariable>,
}

/// A method or a function.
#[derive(Debug, Clone)]
pub struct IrRoutine {
    /// Its name; in Java, with the class: `Primes.search`.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<IrVariable>,
    /// Its return type; `None` for `void`.
    pub return_type: Option<DataType>,
    /// Its body.
    pub body: Vec<Statement>,
    /// Its position.
    pub pos: FilePos,
}

/// A variable.
#[derive(Debug, Clone)]
pub struct IrVariable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Its initial value.
    pub initializer: Option<TypedExpr>,
    /// Whether it is constant (`final`, `const`, a `#define`).
    pub is_constant: bool,
    /// Its position.
    pub pos: FilePos,
}

/// A type, as far as costs depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A number or a boolean.
    Scalar(ScalarType),
    /// An array or a pointer.
    Array(Box<DataType>),
    /// Any other type, by its name.
    Named(String),
}

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarType {
    /// A boolean.
    Boolean,
    /// An integer of one byte.
    Byte,
    /// An integer of two bytes (in Java also `char`).
    Short,
    /// An integer of four bytes.
    Int,
    /// An integer of eight bytes.
    Long,
    /// A floating-point number of four bytes.
    Float,
    /// A floating-point number of eight bytes.
    Double,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What kind of statement it is.
    pub kind: StatementKind,
    /// Its position.
    pub pos: FilePos,
}

/// The kinds of statements.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// Declares a variable.
    Declare(IrVariable),
    /// An expression statement, including assignments and calls.
    Evaluate(TypedExpr),
    /// `{ … }`
    Block(Vec<Statement>),
    /// `if`
    If {
        /// The condition.
        condition: TypedExpr,
        /// The branch if it holds.
        then: Vec<Statement>,
        /// The branch if it does not.
        otherwise: Vec<Statement>,
    },
    /// `for`, `while` and `do`.
    Loop {
        /// The initialisation.
        init: Vec<Statement>,
        /// The condition; `None` for an infinite loop.
        condition: Option<TypedExpr>,
        /// The update after each iteration.
        update: Vec<TypedExpr>,
        /// The body.
        body: Vec<Statement>,
        /// Whether the condition is evaluated after each iteration (`do`).
        is_do_while: bool,
    },
    /// A for-each loop (Java).
    ForEach {
        /// The element.
        variable: IrVariable,
        /// The array.
        array: TypedExpr,
        /// The body.
        body: Vec<Statement>,
    },
    /// `switch`: one list per case, with fallthrough resolved.
    Switch {
        /// The selector.
        selector: TypedExpr,
        /// The cases.
        cases: Vec<Vec<Statement>>,
    },
    /// Leaves the routine.
    Return(Option<TypedExpr>),
    /// Leaves the innermost loop or switch.
    Break,
    /// Continues with the next iteration of the innermost loop.
    Continue,
    /// Throws an exception, or terminates the program.
    Terminate(Option<TypedExpr>),
}

/// An expression with its type.
#[derive(Debug, Clone)]
pub struct TypedExpr {
    /// What kind of expression it is.
    pub kind: ExprKind,
    /// The type of the result.
    pub data_type: DataType,
    /// Its position.
    pub pos: FilePos,
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A number literal without suffixes and separators, or a boolean as 0 or 1.
    Number(String),
    /// A string literal.
    StringLiteral(String),
    /// A variable.
    Variable(String),
    /// `a[i]`, `*a`
    Index(Box<TypedExpr>, Box<TypedExpr>),
    /// `a.name`, `a->name`; `a.length` is one.
    Field(Box<TypedExpr>, String),
    /// A unary operation.
    Unary(UnaryOp, Box<TypedExpr>),
    /// A binary operation.
    Binary(BinaryOp, Box<TypedExpr>, Box<TypedExpr>),
    /// `target = value`, or `target op= value`; `i++` is `i += 1`.
    Assign {
        /// The target.
        target: Box<TypedExpr>,
        /// The operator of a compound assignment.
        operator: Option<BinaryOp>,
        /// The value.
        value: Box<TypedExpr>,
    },
    /// `condition ? a : b`
    Conditional(Box<TypedExpr>, Box<TypedExpr>, Box<TypedExpr>),
    /// An explicit or implicit conversion to the expression's type.
    Cast(Box<TypedExpr>),
    /// A call: the name (`Math.sqrt`, `MPI_Send`, `Primes.search`) and its arguments.
    Call(String, Vec<TypedExpr>),
    /// A new array with these lengths, or a new object (no lengths).
    Allocate(Vec<TypedExpr>),
    /// `&a`
    AddressOf(Box<TypedExpr>),
    /// `{ a, b, … }`
    InitializerList(Vec<TypedExpr>),
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-a`
    Negate,
    /// `!a`
    Not,
    /// `~a`
    Complement,
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
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
    /// `&&`, with short-circuit evaluation.
    And,
    /// `||`, with short-circuit evaluation.
    Or,
    /// `&`, `|`, `^`
    Bitwise(BitwiseOp),
    /// `<<`, `>>`, `>>>`
    Shift(ShiftDirection),
}

/// Bitwise operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitwiseOp {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

/// Directions of shifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShiftDirection {
    /// `<<`
    Left,
    /// `>>`, `>>>`
    Right,
}

impl Statement {
    /// The expressions directly in it, not in nested blocks.
    pub fn expressions(&self) -> Vec<&TypedExpr> {
        match &self.kind {
            StatementKind::Declare(variable) => variable.initializer.iter().collect(),
            StatementKind::Evaluate(of)
            | StatementKind::If { condition: of, .. }
            | StatementKind::ForEach { array: of, .. }
            | StatementKind::Switch { selector: of, .. } => vec![of],
            StatementKind::Loop { condition, update: after, .. } => condition.iter().chain(after).collect(),
            StatementKind::Return(value) | StatementKind::Terminate(value) => value.iter().collect(),
            StatementKind::Block(_) | StatementKind::Break | StatementKind::Continue => Vec::new(),
        }
    }

    /// The nested blocks.
    pub fn blocks(&self) -> Vec<&[Statement]> {
        match &self.kind {
            StatementKind::Block(body) | StatementKind::ForEach { body, .. } => vec![body],
            StatementKind::If { then, otherwise, .. } => vec![then, otherwise],
            StatementKind::Loop { init: before, body, .. } => vec![before, body],
            StatementKind::Switch { cases, .. } => cases.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }

    /// The number of statements including nested ones.
    pub fn statement_count(&self) -> usize {
        1 + self.blocks().into_iter().flatten().map(Statement::statement_count).sum::<usize>()
    }
}

impl TypedExpr {
    /// The direct subexpressions.
    pub fn children(&self) -> Vec<&TypedExpr> {
        match &self.kind {
            ExprKind::Number(_) | ExprKind::StringLiteral(_) | ExprKind::Variable(_) => Vec::new(),
            ExprKind::Field(of, _) | ExprKind::Unary(_, of) | ExprKind::Cast(of) | ExprKind::AddressOf(of) => vec![of],
            ExprKind::Index(one, two) | ExprKind::Binary(_, one, two) => vec![one, two],
            ExprKind::Assign { target, value, .. } => vec![target, value],
            ExprKind::Conditional(condition, one, two) => vec![condition, one, two],
            ExprKind::Call(_, list) | ExprKind::Allocate(list) | ExprKind::InitializerList(list) => list.iter().collect(),
        }
    }
}

impl BinaryOp {
    /// The operator with this spelling, in either language.
    pub fn from_operator(sign: &str) -> Option<BinaryOp> {
        Some(match sign {
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Subtract,
            "*" => BinaryOp::Multiply,
            "/" => BinaryOp::Divide,
            "%" => BinaryOp::Remainder,
            "<" => BinaryOp::Less,
            "<=" => BinaryOp::LessOrEqual,
            ">" => BinaryOp::Greater,
            ">=" => BinaryOp::GreaterOrEqual,
            "==" => BinaryOp::Equal,
            "!=" => BinaryOp::NotEqual,
            "&&" => BinaryOp::And,
            "||" => BinaryOp::Or,
            "&" => BinaryOp::Bitwise(BitwiseOp::And),
            "|" => BinaryOp::Bitwise(BitwiseOp::Or),
            "^" => BinaryOp::Bitwise(BitwiseOp::Xor),
            "<<" => BinaryOp::Shift(ShiftDirection::Left),
            ">>" | ">>>" => BinaryOp::Shift(ShiftDirection::Right),
            _ => return None,
        })
    }
}
