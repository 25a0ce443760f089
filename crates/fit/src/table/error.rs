//! What can be wrong with a table, with the place where it is wrong.

use miette::{Diagnostic, NamedSource, SourceSpan};
use std::ops::Range;
use std::sync::Arc;

/// What is wrong with a table, and where.
#[derive(Debug, Clone, thiserror::Error, Diagnostic)]
#[error("{}: {problem}", place(source_code.name(), *line))]
pub struct TableError {
    /// What is wrong.
    pub problem: Problem,
    /// The line, from 1, if it is in one line.
    pub line: Option<usize>,
    #[source_code]
    source_code: Arc<NamedSource<String>>,
    #[label("here")]
    span: Option<SourceSpan>,
}

/// A kind of mistake in a table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// There is nothing in it.
    #[error("no data")]
    Empty,
    /// A column that was asked for is not in the header.
    #[error("no column is called `{name}`; there are {}", names(columns))]
    NoColumn {
        /// What was asked for.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// Two columns have the same name.
    #[error("two columns are called `{0}`")]
    SameColumn(String),
    /// The unit of the values is not told.
    #[error("the unit of `{column}` is missing: write `{column} [us]` in the header, or give it as an option")]
    NoUnit {
        /// The column.
        column: String,
    },
    /// A line has too few or too many cells.
    #[error("{have} cells, but the header has {need}")]
    Cells {
        /// How many there are.
        have: usize,
        /// How many there should be.
        need: usize,
    },
    /// Something that should be a number is not one.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A number that must be positive is not.
    #[error("{what} is {value}: it must be greater than zero")]
    NotPositive {
        /// What it is.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A quotation mark is not closed.
    #[error("a quotation mark is not closed")]
    OpenQuote,
    /// Points in parentheses have something else between them, or a parenthesis is not closed.
    #[error("points must stand in parentheses with nothing between them, as in (32 5000) (64 5000)")]
    Parentheses,
    /// A line begins with a word that the format does not have.
    #[error("`{0}` is none of PARAMETER, POINTS, METRIC, REGION and DATA")]
    UnknownWord(String),
    /// Points or data come before what they need.
    #[error("{what} must come after {after}")]
    TooEarly {
        /// What came.
        what: &'static str,
        /// What it needs.
        after: &'static str,
    },
    /// A point has more or fewer numbers than there are parameters.
    #[error("a point with {have} numbers, but there are {need} parameters")]
    Dimensions {
        /// How many numbers it has.
        have: usize,
        /// How many parameters there are.
        need: usize,
    },
    /// There are more or fewer lines of data than points.
    #[error("{have} lines of data for {need} points{}", of(region))]
    DataLines {
        /// How many there are.
        have: usize,
        /// How many there should be.
        need: usize,
        /// The region they belong to.
        region: String,
    },
    /// It is not what JSON or the format allows.
    #[error("{0}")]
    Json(String),
    /// The measurements in it cannot be used.
    #[error(transparent)]
    Measurements(#[from] crate::measurements::BadMeasurements),
}

fn place(name: &str, line: Option<usize>) -> String {
    line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
}

fn names(columns: &[String]) -> String {
    columns.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
}

fn of(region: &str) -> String {
    if region.is_empty() { String::new() } else { format!(" of `{region}`") }
}

/// The text of a table with its name, which errors quote.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// An error at a range of bytes.
    pub fn error(&self, at: Range<usize>, problem: Problem) -> TableError {
        let line = 1 + self.text.as_bytes()[..at.start.min(self.text.len())].iter().filter(|b| **b == b'\n').count();
        TableError { line: Some(line), span: Some(at.into()), ..self.whole(problem) }
    }

    /// An error of the whole table.
    pub fn whole(&self, problem: Problem) -> TableError {
        TableError { problem, line: None, source_code: Arc::new(NamedSource::new(self.name, self.text.to_owned())), span: None }
    }

    /// The lines with their ranges of bytes, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = (Range<usize>, &'a str)> + use<'a> {
        let mut begin = 0;
        self.text.split_inclusive('\n').map(move |line| {
            let from = begin;
            begin += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            (from..from + line.len(), line)
        })
    }

    /// A number at a range of bytes, written as `text` there.
    pub fn number(&self, at: Range<usize>, text: &str) -> Result<f64, TableError> {
        text.trim().parse().map_err(|_| self.error(at, Problem::NotANumber(text.trim().to_owned())))
    }

    /// An error unless the number at a range of bytes is positive and finite.
    pub fn check_positive(&self, at: Range<usize>, value: f64, what: &str) -> Result<(), TableError> {
        match value {
            v if !v.is_finite() => Err(self.error(at.clone(), Problem::NotANumber(self.text[at].trim().to_owned()))),
            v if v <= 0.0 => Err(self.error(at, Problem::NotPositive { what: what.to_owned(), value })),
            _ => Ok(()),
        }
    }
}
