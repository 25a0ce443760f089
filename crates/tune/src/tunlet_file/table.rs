//! A TOML table whose keys are taken one by one, so that an unknown key is reported with its position.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use sintonia_text::source_pos::SourcePos;

use super::error::{Error, TunletFileProblem};

/// The file that is read.
#[derive(Clone, Copy)]
pub(super) struct TunletSource<'a> {
    pub text: &'a str,
    pub path: &'a Path,
}

impl TunletSource<'_> {
    pub(super) fn error(&self, span: Range<usize>, problem: TunletFileProblem) -> Error {
        Error::Invalid { place: SourcePos::from_span(self.path, self.text, span), problem: Box::new(problem) }
    }

    /// A syntax error of the TOML parser.
    pub(super) fn syntax(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().unwrap_or(0..0), TunletFileProblem::Syntax(error.message().trim().into()))
    }
}

/// A table with the keys not taken yet.
pub(super) struct CheckedTable<'a> {
    source: TunletSource<'a>,
    /// Its name in messages: `in [[measure]]`.
    pub name: String,
    span: Range<usize>,
    remaining: BTreeMap<&'a str, (Range<usize>, CheckedValue<'a>)>,
    known_keys: Vec<&'static str>,
}

/// A value with its key and position.
#[derive(Clone, Copy)]
pub(super) struct CheckedValue<'a> {
    source: TunletSource<'a>,
    pub key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> CheckedTable<'a> {
    pub(super) fn new(source: TunletSource<'a>, name: &str, span: Range<usize>, table: &'a DeTable<'a>) -> CheckedTable<'a> {
        let entry = |(key, value): (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a str = key.get_ref().as_ref();
            (name, (key.span(), CheckedValue { source, key: name, value }))
        };
        CheckedTable { source, name: name.into(), span, remaining: table.iter().map(entry).collect(), known_keys: Vec::new() }
    }

    /// Takes an optional key.
    pub(super) fn take(&mut self, key: &'static str) -> Option<CheckedValue<'a>> {
        self.known_keys.push(key);
        self.remaining.remove(key).map(|(_, value)| value)
    }

    /// Takes a required key.
    pub(super) fn require(&mut self, key: &'static str) -> Result<CheckedValue<'a>, Error> {
        match self.take(key) {
            Some(value) => Ok(value),
            None => Err(self
                .misspelt(key)
                .unwrap_or_else(|| self.error(TunletFileProblem::Missing { key: key.into(), table: self.name.clone() }))),
        }
    }

    /// The error for a key that is probably misspelt.
    fn misspelt(&self, wanted: &'static str) -> Option<Error> {
        let key = sintonia_text::suggestion::nearest_name(wanted, self.remaining.keys().copied())?;
        let (span, _) = &self.remaining[key];
        Some(self.source.error(span.clone(), TunletFileProblem::unknown("the key", key, &self.name, [wanted])))
    }

    /// Takes all keys, in the order of the file.
    pub(super) fn take_all(&mut self) -> Vec<CheckedValue<'a>> {
        let mut all: Vec<(Range<usize>, CheckedValue<'a>)> = std::mem::take(&mut self.remaining).into_values().collect();
        all.sort_by_key(|(span, _)| span.start);
        all.into_iter().map(|(_, value)| value).collect()
    }

    /// Reports a key that was not taken.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some((key, (span, _))) = self.remaining.iter().min_by_key(|(_, (span, _))| span.start) else { return Ok(()) };
        Err(self.source.error(span.clone(), TunletFileProblem::unknown("the key", key, &self.name, self.known_keys)))
    }

    /// An error about the whole table.
    pub(super) fn error(&self, problem: TunletFileProblem) -> Error {
        self.source.error(self.span.clone(), problem)
    }
}

impl<'a> CheckedValue<'a> {
    pub(super) fn error(&self, problem: TunletFileProblem) -> Error {
        self.source.error(self.value.span(), problem)
    }

    /// An error about a range of bytes of a text value.
    pub(super) fn error_within(&self, bytes: Range<usize>, problem: TunletFileProblem) -> Error {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        // Without escapes, the bytes of the text are those of the file after the quotes.
        let DeValue::String(text) = self.value.get_ref() else { return self.error(problem) };
        match written.find(text.as_ref()) {
            Some(quotes) => self.source.error(span.start + quotes + bytes.start..span.start + quotes + bytes.end, problem),
            None => self.error(problem),
        }
    }

    /// Line number of the first line of the text, from 1; quotes alone on a line do not count.
    pub(super) fn first_line(&self) -> usize {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let quotes = written.len() - written.trim_start_matches(['"', '\'']).len();
        let newline = usize::from(written[quotes..].starts_with(['\n', '\r']));
        let before = self.source.text.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1 + newline
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        let found = match self.value.get_ref() {
            DeValue::String(text) if text.len() <= 40 => format!("\"{text}\""),
            DeValue::String(_) => "a text".into(),
            DeValue::Integer(digits) => digits.as_str().into(),
            DeValue::Float(digits) => digits.as_str().into(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "a list".into(),
            DeValue::Table(_) => "a table".into(),
        };
        self.error(TunletFileProblem::WrongType { key: self.key.into(), expected: expected.into(), found })
    }

    pub(super) fn text(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("true or false")),
        }
    }

    /// An integer within a range.
    pub(super) fn count(&self, least: usize, most: usize) -> Result<usize, Error> {
        match self.number()? {
            number if number.fract() == 0.0 && number >= least as f64 && number <= most as f64 => Ok(number as usize),
            _ => Err(self.unexpected(&format!("an integer from {least} to {most}"))),
        }
    }

    pub(super) fn number(&self) -> Result<f64, Error> {
        let number = match self.value.get_ref() {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|whole| whole as f64),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.unexpected("a number"))
    }

    /// A positive number.
    pub(super) fn positive(&self) -> Result<f64, Error> {
        self.number().and_then(|number| if number > 0.0 { Ok(number) } else { Err(self.unexpected("a positive number")) })
    }

    /// The text of a formula, which may be a plain number.
    pub(super) fn formula(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => self.number().map(|number| number.to_string()),
            _ => self.text(),
        }
    }

    pub(super) fn list(&self) -> Result<Vec<CheckedValue<'a>>, Error> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|value| CheckedValue { value, ..*self }).collect()),
            _ => Err(self.unexpected("a list in brackets")),
        }
    }

    /// The elements of a list, or a single value.
    pub(super) fn one_or_more(&self) -> Result<Vec<CheckedValue<'a>>, Error> {
        if matches!(self.value.get_ref(), DeValue::Array(_)) { self.list() } else { Ok(vec![*self]) }
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// A lower and an upper bound.
    pub(super) fn range(&self) -> Result<(f64, f64), Error> {
        let wrong = || self.unexpected("the least and the greatest value: [least, greatest]");
        let numbers = self.list().map_err(|_| wrong())?.iter().map(CheckedValue::number).collect::<Result<Vec<_>, _>>()?;
        match numbers[..] {
            [low, high] if low <= high => Ok((low, high)),
            _ => Err(wrong()),
        }
    }

    /// A table; `name` is used in messages.
    pub(super) fn table(&self, name: &str) -> Result<CheckedTable<'a>, Error> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(CheckedTable::new(self.source, name, self.value.span(), table)),
            _ => Err(self.unexpected("a table")),
        }
    }
}
