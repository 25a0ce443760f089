//! The command on recordings and models whose figures are known.

mod compile;
mod export;
mod import;
mod verbs;
