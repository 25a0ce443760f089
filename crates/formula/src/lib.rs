//! Intervals and symbolic expressions.
//!
//! A model is a formula: what a program costs, over its parameters. [`Formula`] holds it in one canonical form, whatever it was built from,
//! and gives its value ([`Formula::evaluate`]), an [`Interval`] that is certain to hold it ([`Formula::enclose`]), its derivative, what
//! it becomes with something else in place of a symbol, and text, LaTeX and JSON that read back as the same formula. Sums over ranges with
//! symbolic bounds are closed or enclosed, never looped over. The laws are in `docs/formula.md`, and the tests hold the crate to them.

mod atom;
mod build;
mod compare;
mod compiled;
mod derivative;
mod domain;
mod evaluate;
mod fingerprint;
mod formula;
mod interval;
mod json;
mod latex;
mod monomial;
mod number;
mod peak;
mod prune;
mod rational;
mod scale;
mod shown;
mod sign;
mod substitute;
mod sum;
mod text;
mod values;

pub use atom::Piece;
pub use compiled::Compiled;
pub use derivative::NoDerivative;
pub use domain::Domain;
pub use evaluate::Undefined;
pub use formula::Formula;
pub use interval::{Interval, LIBM_ULPS};
pub use json::JsonError;
pub use rational::Rational;
pub use text::{Expected, ParseError};
pub use values::Values;
