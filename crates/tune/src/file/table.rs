//! A table of a TOML file whose keys are taken one by one, so that one that is left over is told, with its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use sintonia_text::place::Place;

use super::error::{Error, Problem};

/// The file that is read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub text: &'a str,
    pub path: &'a Path,
}

impl Source<'_> {
    pub fn error(&self, span: Range<usize>, problem: Problem) -> Error {
        Error::Wrong { place: Place::of(self.path, self.text, span), problem: Box::new(problem) }
    }

    /// What the parser of TOML complains about.
    pub fn syntax(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().unwrap_or(0..0), Problem::Syntax(error.message().trim().into()))
    }
}

/// A table, less what was taken.
pub struct Table<'a> {
    source: Source<'a>,
    /// What it is called in messages: `in [[measure]]`.
    pub name: String,
    span: Range<usize>,
    left: BTreeMap<&'a str, (Range<usize>, Value<'a>)>,
    known: Vec<&'static str>,
}

/// A value with what is needed to speak of it.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    source: Source<'a>,
    pub key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(source: Source<'a>, name: &str, span: Range<usize>, table: &'a DeTable<'a>) -> Table<'a> {
        let entry = |(key, value): (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a str = key.get_ref().as_ref();
            (name, (key.span(), Value { source, key: name, value }))
        };
        Table { source, name: name.into(), span, left: table.iter().map(entry).collect(), known: Vec::new() }
    }

    /// Takes a key that may be there.
    pub fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.known.push(key);
        self.left.remove(key).map(|(_, value)| value)
    }

    /// Takes a key that must be there.
    pub fn require(&mut self, key: &'static str) -> Result<Value<'a>, Error> {
        match self.take(key) {
            Some(value) => Ok(value),
            None => Err(self.misspelt(key).unwrap_or_else(|| self.error(Problem::Missing { key: key.into(), table: self.name.clone() }))),
        }
    }

    /// The error of a key that is there, but written in another way.
    fn misspelt(&self, wanted: &'static str) -> Option<Error> {
        let key = sintonia_text::near::nearest(wanted, self.left.keys().copied())?;
        let (span, _) = &self.left[key];
        Some(self.source.error(span.clone(), Problem::unknown("the key", key, &self.name, [wanted])))
    }

    /// Takes everything, whatever its key is called, in the order of the file.
    pub fn take_all(&mut self) -> Vec<Value<'a>> {
        let mut all: Vec<(Range<usize>, Value<'a>)> = std::mem::take(&mut self.left).into_values().collect();
        all.sort_by_key(|(span, _)| span.start);
        all.into_iter().map(|(_, value)| value).collect()
    }

    /// All keys must have been taken.
    pub fn finish(self) -> Result<(), Error> {
        let Some((key, (span, _))) = self.left.iter().min_by_key(|(_, (span, _))| span.start) else { return Ok(()) };
        Err(self.source.error(span.clone(), Problem::unknown("the key", key, &self.name, self.known)))
    }

    /// An error about the table as a whole.
    pub fn error(&self, problem: Problem) -> Error {
        self.source.error(self.span.clone(), problem)
    }
}

impl<'a> Value<'a> {
    pub fn error(&self, problem: Problem) -> Error {
        self.source.error(self.value.span(), problem)
    }

    /// An error about some bytes of a text, counted from its beginning.
    pub fn error_within(&self, bytes: Range<usize>, problem: Problem) -> Error {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        // Where TOML has no escapes the bytes of the text are those of the file, behind the quotes.
        let DeValue::String(text) = self.value.get_ref() else { return self.error(problem) };
        match written.find(text.as_ref()) {
            Some(quotes) => self.source.error(span.start + quotes + bytes.start..span.start + quotes + bytes.end, problem),
            None => self.error(problem),
        }
    }

    /// The line of the file in which the text itself begins, counted from 1: behind quotes that stand alone on theirs.
    pub fn first_line(&self) -> usize {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let quotes = written.len() - written.trim_start_matches(['"', '\'']).len();
        let newline = usize::from(written[quotes..].starts_with(['\n', '\r']));
        let before = self.source.text.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1 + newline
    }

    pub fn unexpected(&self, expected: &str) -> Error {
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
        self.error(Problem::Kind { key: self.key.into(), expected: expected.into(), found })
    }

    pub fn text(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    pub fn truth(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("true or false")),
        }
    }

    /// A whole number between two.
    pub fn count(&self, least: usize, most: usize) -> Result<usize, Error> {
        match self.number()? {
            number if number.fract() == 0.0 && number >= least as f64 && number <= most as f64 => Ok(number as usize),
            _ => Err(self.unexpected(&format!("a whole number from {least} to {most}"))),
        }
    }

    pub fn number(&self) -> Result<f64, Error> {
        let number = match self.value.get_ref() {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|whole| whole as f64),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.unexpected("a number"))
    }

    /// A number above zero.
    pub fn positive(&self) -> Result<f64, Error> {
        self.number().and_then(|number| if number > 0.0 { Ok(number) } else { Err(self.unexpected("a number above zero")) })
    }

    /// A text, or a number as the text it is written with: what stands for a formula.
    pub fn formula(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => self.number().map(|number| number.to_string()),
            _ => self.text(),
        }
    }

    pub fn list(&self) -> Result<Vec<Value<'a>>, Error> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|value| Value { value, ..*self }).collect()),
            _ => Err(self.unexpected("a list in brackets")),
        }
    }

    /// What a list holds, or the one thing that is there instead of a list.
    pub fn one_or_more(&self) -> Result<Vec<Value<'a>>, Error> {
        if matches!(self.value.get_ref(), DeValue::Array(_)) { self.list() } else { Ok(vec![*self]) }
    }

    pub fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// Two numbers, the lower first.
    pub fn range(&self) -> Result<(f64, f64), Error> {
        let wrong = || self.unexpected("the least and the greatest value: [least, greatest]");
        let numbers = self.list().map_err(|_| wrong())?.iter().map(Value::number).collect::<Result<Vec<_>, _>>()?;
        match numbers[..] {
            [low, high] if low <= high => Ok((low, high)),
            _ => Err(wrong()),
        }
    }

    /// A table; it is called so in messages.
    pub fn table(&self, name: &str) -> Result<Table<'a>, Error> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Table::new(self.source, name, self.value.span(), table)),
            _ => Err(self.unexpected("a table")),
        }
    }
}
