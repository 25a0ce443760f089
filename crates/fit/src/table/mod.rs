//! Measurements from files of others: tables with a header, and Extra-P's text, JSON and JSON lines.
//!
//! Every reader is total: any text gives series of measurements or an error that says where it is wrong.

mod csv;
mod error;
mod extrap;
mod json;
#[cfg(test)]
mod tests;
mod unit;

use crate::measurements::Measurements;
use error::Source;
pub use error::{Problem, TableError};
pub use unit::Unit;

/// Measurements of one metric in one region of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The region, or nothing.
    pub region: String,
    /// The metric, or the column.
    pub metric: String,
    /// The unit that the values are in, where the file says so.
    pub unit: Option<String>,
    /// The measurements.
    pub measurements: Measurements,
}

/// Which columns of a table are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The parameters.
    pub parameters: Vec<String>,
    /// The measured value.
    pub value: String,
    /// The unit of the value, if the header does not say it or says it wrong.
    pub unit: Option<String>,
}

/// Reads a table with a header; `name` is what errors call it.
pub fn read_csv(name: &str, text: &str, columns: &Columns) -> Result<Series, TableError> {
    csv::read(Source { name, text }, columns)
}

/// Reads Extra-P's text, JSON or JSON lines, whichever it is; `name` is what errors call it.
pub fn read_extrap(name: &str, text: &str) -> Result<Vec<Series>, TableError> {
    let source = Source { name, text };
    if !text.trim_start().starts_with('{') {
        extrap::read(source)
    } else if json::is_document(text) {
        json::read_document(source)
    } else {
        json::read_lines(source)
    }
}
