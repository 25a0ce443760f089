//! Building formulas: every operation directly yields the canonical form.

mod extremum;
mod fold;
mod logarithm;
mod operators;
mod piecewise;
mod power;
mod product;
mod rounding;

pub(crate) use extremum::{extremum, undominated};
pub(crate) use fold::{IndexRange, fold, instantiate_body};
pub(crate) use logarithm::{exp2, log2};
pub(crate) use piecewise::piecewise;
pub(crate) use power::power;
pub(crate) use product::{common_monomial, divide_by_monomial, normalize_groups, product, product_of};
pub(crate) use rounding::round;

/// Products of sums are expanded up to this many terms: enough for formulas written by hand, too few to exhaust memory.
pub(crate) const MAX_TERMS: usize = 256;
