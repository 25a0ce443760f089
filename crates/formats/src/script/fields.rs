//! The fields of a line, one after the other.

use std::str::FromStr;

/// What is wrong with a line, as a sentence.
pub(crate) type Wrong = String;

/// What is left of a line.
pub(crate) struct Fields<'a> {
    rest: Option<&'a str>,
    separator: char,
}

impl<'a> Fields<'a> {
    /// Fields with this sign between them; with a blank, any number of them.
    pub fn of(line: &'a str, separator: char) -> Fields<'a> {
        Fields { rest: Some(line), separator }
    }

    /// The next field as it stands, if there is one.
    pub fn next(&mut self) -> Option<&'a str> {
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

    /// The next field as a number.
    pub fn number<N: FromStr>(&mut self, what: &str) -> Result<N, Wrong> {
        let field = self.next().ok_or_else(|| format!("the line ends where {what} is expected"))?;
        parse(field, what)
    }

    /// The next field as a number, if there is one.
    pub fn optional<N: FromStr>(&mut self, what: &str) -> Result<Option<N>, Wrong> {
        self.next().map(|field| parse(field, what)).transpose()
    }

    /// A number of bytes or of elements; some tools write it with a point, or below zero where it is not known.
    pub fn amount(&mut self, what: &str) -> Result<u64, Wrong> {
        self.number::<f64>(what).map(|amount| amount as u64)
    }

    /// All fields that are left.
    pub fn all(mut self) -> Vec<&'a str> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

fn parse<N: FromStr>(field: &str, what: &str) -> Result<N, Wrong> {
    field.parse().map_err(|_| format!("`{}` stands where {what} is expected", field.chars().take(40).collect::<String>().escape_debug()))
}
