//! Formulas as text; what is printed parses as the same formula.

mod lexer;
mod parse;
mod print;

pub use parse::{ParseError, ParseErrorKind};
