//! Reads TOML files that people write by hand: keys are taken from a table one by one, so a misspelt key is reported instead of ignored, and
//! every error has the position of the key or value it is about.
//!
//! A reader of files has its own error type `E`, which says with [`TomlReadError`] how a problem at a position becomes that error; tables and
//! values carry it, so all their methods return it.

#![forbid(unsafe_code)]

mod document;
mod problem;
mod source;
mod table;
mod value;

pub use document::TomlDocument;
pub use problem::{TomlProblem, TomlReadError};
pub use table::TomlTable;
pub use value::TomlValue;

#[cfg(test)]
mod tests;
