//! Errors in tables, with their position.

use super::archive::ArchiveError;
use std::ops::Range;

/// An error in a table, and where it is.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {problem}", format_location(name, *line))]
pub struct TableError {
    /// What is wrong.
    pub problem: TableProblem,
    /// The line, from 1, if the error is in one line.
    pub line: Option<usize>,
    /// Name of the table.
    name: String,
}

/// A kind of error in a table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableProblem {
    /// The table is empty.
    #[error("no data")]
    Empty,
    /// A requested column is not in the header.
    #[error("no column `{name}`; the columns are {}", quote_names(columns))]
    NoColumn {
        /// The requested column.
        name: String,
        /// The columns of the table.
        columns: Vec<String>,
    },
    /// Two columns have the same name.
    #[error("duplicate column `{0}`")]
    DuplicateColumn(String),
    /// The unit of the values is missing.
    #[error("the unit of `{column}` is missing: write `{column} [us]` in the header, or use `--unit`")]
    MissingUnit {
        /// The column.
        column: String,
    },
    /// The header and the option give different units.
    #[error("the header says `{header}`, so the unit of `{column}` cannot be `{given}`: leave `--unit` out, or correct the header")]
    OtherUnit {
        /// The column.
        column: String,
        /// The header, with its unit.
        header: String,
        /// The unit of the option.
        given: String,
    },
    /// A line has too few or too many cells.
    #[error("{have} cells, but the header has {need}")]
    CellCount {
        /// The number of cells.
        have: usize,
        /// The number expected.
        need: usize,
    },
    /// A cell is not a number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A number must be positive and is not.
    #[error("{what} is {value}: it must be greater than zero")]
    NotPositive {
        /// What the number is.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A quote is not closed.
    #[error("unclosed quote")]
    UnclosedQuote,
    /// Text between points in parentheses, or an unclosed parenthesis.
    #[error("points must be in parentheses with nothing between them, as in (32 5000) (64 5000)")]
    BadParentheses,
    /// A line starts with a keyword that the format does not have.
    #[error("`{0}` is none of PARAMETER, POINTS, METRIC, REGION and DATA")]
    UnknownKeyword(String),
    /// Points or data appear before what they depend on.
    #[error("{what} must come after {after}")]
    OutOfOrder {
        /// The keyword.
        what: &'static str,
        /// The keyword it must follow.
        after: &'static str,
    },
    /// A point has the wrong number of coordinates.
    #[error("the point has {have} coordinates, but there are {need} parameters")]
    Dimensions {
        /// The number of coordinates.
        have: usize,
        /// The number of parameters.
        need: usize,
    },
    /// A line has other parameters than the first one.
    #[error("the parameters are {}, but those of the first line are {}", quote_names(have), quote_names(need))]
    OtherParameters {
        /// The parameters of the line.
        have: Vec<String>,
        /// The parameters of the first line.
        need: Vec<String>,
    },
    /// The number of data lines differs from the number of points.
    #[error("{have} lines of data for {need} points{}", of_region(region))]
    DataLines {
        /// The number of data lines.
        have: usize,
        /// The number of points.
        need: usize,
        /// The region of the data.
        region: String,
    },
    /// Invalid JSON, or JSON that does not match the format.
    #[error("{0}")]
    Json(String),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// An archive, or a file in it, is damaged or of another kind.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Invalid XML, or XML that does not match the format.
    #[error("{0}")]
    Xml(String),
    /// A Cube file does not have a metric.
    #[error("no metric `{name}`; available: {known}")]
    NoMetric {
        /// The requested metric.
        name: String,
        /// The metrics of the file.
        known: String,
    },
    /// The name of the folder of a Cube file is not that of a setting.
    #[error("{0}")]
    FolderName(String),
    /// The measurements cannot be used.
    #[error(transparent)]
    Measurements(#[from] crate::measurements::MeasurementError),
}

impl TableError {
    /// An error of a file as a whole.
    pub(super) fn in_file(name: &str, problem: TableProblem) -> Self {
        Self { problem, line: None, name: name.to_owned() }
    }

    /// The error in a line, from 1.
    pub(super) fn at_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

fn format_location(name: &str, line: Option<usize>) -> String {
    line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
}

fn quote_names(columns: &[String]) -> String {
    columns.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
}

fn of_region(region: &str) -> String {
    if region.is_empty() { String::new() } else { format!(" of `{region}`") }
}

/// The text of a table with its name, which errors quote.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableSource<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> TableSource<'a> {
    /// An error at a byte range.
    pub(super) fn error_at(&self, at: Range<usize>, problem: TableProblem) -> TableError {
        let line = 1 + self.text.as_bytes()[..at.start.min(self.text.len())].iter().filter(|b| **b == b'\n').count();
        self.error_in_table(problem).at_line(line)
    }

    /// An error of the table as a whole.
    pub(super) fn error_in_table(&self, problem: TableProblem) -> TableError {
        TableError::in_file(self.name, problem)
    }

    /// The lines with their byte ranges, without line ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Range<usize>, &'a str)> + use<'a> {
        let mut begin = 0;
        self.text.split_inclusive('\n').map(move |line| {
            let from = begin;
            begin += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            (from..from + line.len(), line)
        })
    }

    /// Parses the number at a byte range.
    pub(super) fn parse_number(&self, at: Range<usize>, text: &str) -> Result<f64, TableError> {
        text.trim().parse().map_err(|_| self.error_at(at, TableProblem::NotANumber(text.trim().to_owned())))
    }

    /// Fails unless the number at a byte range is positive and finite.
    pub(super) fn check_positive(&self, at: Range<usize>, value: f64, what: &str) -> Result<(), TableError> {
        self.positive_problem(at.clone(), value, what).map_or(Ok(()), |problem| Err(self.error_at(at, problem)))
    }

    /// What is wrong with the number at a byte range, unless it is positive and finite.
    pub(super) fn positive_problem(&self, at: Range<usize>, value: f64, what: &str) -> Option<TableProblem> {
        match value {
            v if !v.is_finite() => Some(TableProblem::NotANumber(self.text[at].trim().to_owned())),
            v if v <= 0.0 => Some(TableProblem::NotPositive { what: what.to_owned(), value }),
            _ => None,
        }
    }

    /// An error in the line with this index, from 0. To find the line of a byte range, all bytes before it are read.
    pub(super) fn error_in_line(&self, index: usize, problem: TableProblem) -> TableError {
        self.error_in_table(problem).at_line(1 + index)
    }
}
