//! Measurements from files: tables with a header, and Extra-P's text, JSON and JSON lines formats.
//!
//! Any text gives series of measurements, or an error with its position.

mod csv;
mod error;
mod extrap;
mod json;
mod select;
#[cfg(test)]
mod tests;
mod unit;

use crate::measurements::Measurements;
use error::TableSource;
pub use error::{TableError, TableProblem};
pub use select::{UnknownColumn, column_names, filter_rows, is_csv};
pub use unit::MeasurementUnit;

/// Measurements of one metric in one region of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementSeries {
    /// The region, or an empty string.
    pub region: String,
    /// The metric, or the column.
    pub metric: String,
    /// The unit of the values, if the file gives one.
    pub unit: Option<String>,
    /// The measurements.
    pub measurements: Measurements,
}

/// The columns of a table to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    /// The parameter columns.
    pub parameters: Vec<String>,
    /// The column of the measured value.
    pub value: String,
    /// The unit of the value, overriding the header.
    pub unit: Option<String>,
}

/// A region and metric whose measurements cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}{error}", series_prefix(region, metric))]
pub struct SeriesError {
    /// The region, or an empty string.
    pub region: String,
    /// The metric.
    pub metric: String,
    /// What is wrong, and where.
    pub error: Box<TableError>,
}

fn series_prefix(region: &str, metric: &str) -> String {
    match (region, metric) {
        ("", "") => String::new(),
        ("", name) | (name, "") => format!("`{name}`: "),
        (region, metric) => format!("`{metric}` of `{region}`: "),
    }
}

/// Reads a table with a header; `name` is used in errors.
pub fn read_csv(name: &str, text: &str, columns: &TableColumns) -> Result<MeasurementSeries, TableError> {
    csv::read(TableSource { name, text: without_bom(text) }, columns)
}

/// Reads Extra-P's text, JSON or JSON lines format; fails if any region cannot be used.
pub fn read_extrap(name: &str, text: &str) -> Result<Vec<MeasurementSeries>, TableError> {
    read_extrap_series(name, text)?.into_iter().map(|read| read.map_err(|refused| *refused.error)).collect()
}

/// Reads Extra-P's text, JSON or JSON lines format; an unusable region does not affect the others.
pub fn read_extrap_series(name: &str, text: &str) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let source = TableSource { name, text: without_bom(text) };
    if source.text.trim_start().starts_with('{') { json::read(source) } else { extrap::read(source) }
}

/// The text without a byte order mark.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
