//! Intervals and symbolic expressions.
//!
//! A model is a formula: the cost of a program over its parameters. [`Formula`] keeps it in canonical form and provides its value
//! ([`Formula::evaluate`]), a guaranteed enclosure ([`Formula::enclose`]), derivatives, substitution, and text, LaTeX and JSON that parse
//! back as the same formula. Sums with symbolic bounds are evaluated in closed form or enclosed, never term by term. `docs/formula.md`
//! specifies the behaviour, and the tests check it.

#![forbid(unsafe_code)]

mod atom;
mod build;
mod coefficient;
mod compare;
mod compiled;
mod derivative;
mod display;
mod display_scale;
mod domain;
mod evaluate;
mod fold_extremum;
mod formula;
mod interval;
mod json;
mod latex;
mod monomial;
mod prune;
mod rational;
mod sign;
mod stable_hash;
mod substitute;
mod sum;
mod symbol_product;
mod text;
mod values;

pub use atom::PiecewiseCase;
pub use compiled::CompiledFormula;
pub use derivative::NoDerivative;
pub use domain::Domain;
pub use evaluate::EvaluationError;
pub use formula::Formula;
pub use interval::{Interval, LIBM_ULPS};
pub use json::JsonError;
pub use rational::Rational;
pub use symbol_product::{SymbolFunction, SymbolPower};
pub use text::{ParseError, ParseErrorKind};
pub use values::SymbolValues;
