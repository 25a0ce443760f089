//! Formulas as text, and back: what is printed reads as the same formula.

mod parse;
mod print;
mod token;

pub use parse::{Expected, ParseError};
