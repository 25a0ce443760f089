//! Measurements from files: tables with a header, all formats of Extra-P, and Cube files.
//!
//! Any bytes give series of measurements, or an error with its position.

mod archive;
mod cells;
mod csv;
pub mod cube;
mod decimal;
mod error;
mod experiment;
mod extrap;
mod json;
mod npy;
mod select;
#[cfg(test)]
mod tests;
mod unit;

use crate::measurements::{DataPoint, MeasurementError, Measurements};
use crate::quantity_kind::QuantityKind;
pub use archive::ArchiveError;
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
    /// What each parameter is.
    pub parameter_kinds: Vec<QuantityKind>,
    /// What the measured value is.
    pub value_kind: QuantityKind,
}

impl MeasurementSeries {
    /// A series whose parameters and values are what their names and units say.
    pub fn new(region: String, metric: String, unit: Option<String>, measurements: Measurements) -> Self {
        let value_kind = unit.as_deref().map_or(QuantityKind::Unknown, QuantityKind::from_unit);
        let kinds = measurements.parameters().iter().map(|name| QuantityKind::from_parameter_name(name)).collect();
        Self { region, metric, unit, measurements, parameter_kinds: Vec::new(), value_kind }.with_parameter_kinds(kinds)
    }

    /// The series with other kinds of its parameters, in their order.
    pub fn with_parameter_kinds(self, kinds: Vec<QuantityKind>) -> Self {
        let measurements = self.measurements.with_parameter_kinds(kinds.iter().map(|kind| kind.parameter_kind()));
        Self { measurements, parameter_kinds: kinds, ..self }
    }

    /// The series with values in this unit; times become seconds.
    pub fn in_unit(self, unit: &str) -> Result<Self, MeasurementError> {
        let MeasurementUnit { name, factor } = MeasurementUnit::from_name(unit);
        let scaled = |point: &DataPoint| DataPoint { at: point.at.clone(), values: point.values.iter().map(|v| factor * v).collect() };
        let points = self.measurements.points().iter().map(scaled).collect();
        let measurements = Measurements::new(self.measurements.parameters().to_vec(), points)?;
        let kinds = self.parameter_kinds;
        Ok(Self::new(self.region, self.metric, Some(name), measurements).with_parameter_kinds(kinds))
    }

    /// The series with the kinds that are given by name; names of neither a parameter nor the value are ignored.
    pub fn with_named_kinds(self, given: &[(String, QuantityKind)]) -> Self {
        let kind_of = |name: &String| given.iter().rev().find(|(other, _)| other == name).map(|(_, kind)| *kind);
        let value_kind = kind_of(&self.metric).unwrap_or(self.value_kind);
        let names = self.measurements.parameters().iter().zip(&self.parameter_kinds);
        let kinds = names.map(|(name, own)| kind_of(name).unwrap_or(*own)).collect();
        Self { value_kind, ..self }.with_parameter_kinds(kinds)
    }
}

/// The columns of a table to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    /// The parameter columns.
    pub parameters: Vec<String>,
    /// The column of the measured value.
    pub value: String,
    /// The unit of the value, if the header does not give it.
    pub unit: Option<String>,
    /// What columns are, where the header and their names do not say it.
    pub kinds: Vec<(String, QuantityKind)>,
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

/// Whether these bytes are an archive, as a saved experiment of Extra-P is.
pub fn is_experiment(bytes: &[u8]) -> bool {
    archive::is_zip(bytes)
}

/// Reads a saved experiment of Extra-P (`.extra-p`); an unusable region does not affect the others.
pub fn read_experiment(name: &str, bytes: &[u8]) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    experiment::read(name, bytes)
}

/// Reads Extra-P's text, Talpas, JSON or JSON lines format; an unusable region does not affect the others.
pub fn read_extrap_series(name: &str, text: &str) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let source = TableSource { name, text: without_bom(text) };
    if source.text.trim_start().starts_with('{') { json::read(source) } else { extrap::read(source) }
}

/// The text without a byte order mark.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
