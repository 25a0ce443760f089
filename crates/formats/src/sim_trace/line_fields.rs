//! Parses the fields of a line.

use std::str::FromStr;

/// Error message for a line.
pub(crate) type LineError = String;

/// The unparsed rest of a line.
pub(crate) struct LineFields<'a> {
    rest: Option<&'a str>,
    separator: char,
}

impl<'a> LineFields<'a> {
    /// Fields with this separator; a space stands for any number of spaces.
    pub(crate) fn new(line: &'a str, separator: char) -> LineFields<'a> {
        LineFields { rest: Some(line), separator }
    }

    /// The next field, if there is one.
    pub(crate) fn next_field(&mut self) -> Option<&'a str> {
        let mut rest = self.rest?;
        if self.separator == ' ' {
            rest = rest.trim_start();
            if rest.is_empty() {
                self.rest = None;
                return None;
            }
        }
        let (field, rest) = rest.split_once(self.separator).map_or((rest, None), |(field, rest)| (field, Some(rest)));
        self.rest = rest;
        Some(field.trim())
    }

    pub(crate) fn next_number<N: FromStr>(&mut self, what: &str) -> Result<N, LineError> {
        let field = self.next_field().ok_or_else(|| format!("the line ends where {what} is expected"))?;
        parse_field(field, what)
    }

    pub(crate) fn next_optional<N: FromStr>(&mut self, what: &str) -> Result<Option<N>, LineError> {
        self.next_field().map(|field| parse_field(field, what)).transpose()
    }

    /// A number of bytes or elements; some tools write it as a float, or negative if unknown.
    pub(crate) fn next_amount(&mut self, what: &str) -> Result<u64, LineError> {
        self.next_number::<f64>(what).map(|amount| amount as u64)
    }

    /// All remaining fields.
    pub(crate) fn remaining(mut self) -> Vec<&'a str> {
        std::iter::from_fn(|| self.next_field()).collect()
    }
}

fn parse_field<N: FromStr>(field: &str, what: &str) -> Result<N, LineError> {
    field.parse().map_err(|_| format!("found `{}` where {what} is expected", field.chars().take(40).collect::<String>().escape_debug()))
}
