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

/// A region and metric whose measurements cannot be used, and why.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}{error}", of(region, metric))]
pub struct Refused {
    /// The region, or nothing.
    pub region: String,
    /// The metric.
    pub metric: String,
    /// What is wrong, and where.
    pub error: Box<TableError>,
}

fn of(region: &str, metric: &str) -> String {
    match (region, metric) {
        ("", "") => String::new(),
        ("", name) | (name, "") => format!("`{name}`: "),
        (region, metric) => format!("`{metric}` of `{region}`: "),
    }
}

/// Reads a table with a header; `name` is what errors call it.
pub fn read_csv(name: &str, text: &str, columns: &Columns) -> Result<Series, TableError> {
    csv::read(Source { name, text: without_mark(text) }, columns)
}

/// Reads Extra-P's text, JSON or JSON lines, whichever it is, and refuses the file for one region that cannot be used.
pub fn read_extrap(name: &str, text: &str) -> Result<Vec<Series>, TableError> {
    read_regions(name, text)?.into_iter().map(|read| read.map_err(|refused| *refused.error)).collect()
}

/// Reads Extra-P's text, JSON or JSON lines, whichever it is; a region with a value that cannot be used does not spoil the others.
pub fn read_regions(name: &str, text: &str) -> Result<Vec<Result<Series, Refused>>, TableError> {
    let source = Source { name, text: without_mark(text) };
    if source.text.trim_start().starts_with('{') { json::read(source) } else { extrap::read(source) }
}

/// The text without the mark that some editors put before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
