//! Making formulas: every operation gives the canonical form at once.

mod extreme;
mod fold;
mod logarithm;
mod operators;
mod pieces;
mod power;
mod product;
mod rounding;

pub(crate) use extreme::{extreme, undominated};
pub(crate) use fold::{Range, fold, opened};
pub(crate) use logarithm::{log2, two_to};
pub(crate) use pieces::pieces;
pub(crate) use power::power;
pub(crate) use product::{common_product, finished, product, product_of, without};
pub(crate) use rounding::rounded;

/// Products of sums are multiplied out up to this many terms: enough for what people write, too few to fill the memory.
pub(crate) const MOST_TERMS: usize = 256;
