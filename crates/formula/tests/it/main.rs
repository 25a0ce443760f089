//! Formulas: their value, their text, and what encloses them.

mod enclosing;
mod hostile;
mod meaning;
mod models;
mod papers;
mod support;
mod using;
mod writing;
