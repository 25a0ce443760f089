//! A value that is read as what its key stands for.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeValue;

use crate::source::TomlSource;
use crate::{TomlProblem, TomlReadError, TomlTable};

/// A value with its key and position.
pub struct TomlValue<'a, E> {
    pub(crate) source: TomlSource<'a, E>,
    pub(crate) key: &'a str,
    pub(crate) value: &'a Spanned<DeValue<'a>>,
}

impl<E> Clone for TomlValue<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for TomlValue<'_, E> {}

impl<'a, E: TomlReadError> TomlValue<'a, E> {
    /// Its key; elements of a list have that of the list.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// An error about it.
    pub fn error(&self, problem: impl Into<E::Problem>) -> E {
        self.source.error(self.value.span(), problem)
    }

    /// An error about a range of bytes of a text.
    pub fn error_within(&self, bytes: Range<usize>, problem: impl Into<E::Problem>) -> E {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        // Without escapes, the bytes of the text are those of the file after the quotes.
        let DeValue::String(text) = self.value.get_ref() else { return self.error(problem) };
        match written.find(text.as_ref()) {
            Some(quotes) => self.source.error(span.start + quotes + bytes.start..span.start + quotes + bytes.end, problem),
            None => self.error(problem),
        }
    }

    /// The error for a value that is not what is expected.
    pub fn unexpected(&self, expected: impl Into<String>) -> E {
        let (found, value) = match self.value.get_ref() {
            DeValue::String(text) => ("a text", (text.len() <= 40).then(|| format!("\"{text}\""))),
            DeValue::Integer(digits) => ("a number", Some(digits.as_str().into())),
            DeValue::Float(digits) => ("a number", Some(digits.as_str().into())),
            DeValue::Boolean(truth) => ("true or false", Some(truth.to_string())),
            DeValue::Datetime(_) => ("a date", None),
            DeValue::Array(_) => ("a list", None),
            DeValue::Table(_) => ("a table", None),
        };
        let value = value.unwrap_or_else(|| found.into());
        self.error(TomlProblem::WrongType { key: self.key.into(), expected: expected.into(), found, value })
    }

    /// Line number of the first line of a text, from 1; quotes alone on a line do not count.
    pub fn first_line(&self) -> usize {
        let span = self.value.span();
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        let quotes = written.len() - written.trim_start_matches(['"', '\'']).len();
        let newline = usize::from(written[quotes..].starts_with(['\n', '\r']));
        let before = self.source.text.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1 + newline
    }

    /// Any text.
    pub fn text(&self) -> Result<String, E> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// A text with something in it.
    pub fn nonblank_text(&self) -> Result<String, E> {
        self.text().and_then(|text| if text.trim().is_empty() { Err(self.unexpected("a text in quotes")) } else { Ok(text) })
    }

    /// A text or a TOML date.
    pub fn date(&self) -> Result<String, E> {
        match self.value.get_ref() {
            DeValue::Datetime(date) => Ok(date.to_string()),
            _ => self.text(),
        }
    }

    /// One of these words; returns what it stands for.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, E> {
        let word = self.text()?;
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => Ok(*meaning),
            None => Err(self.unknown_word(word, words.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", "))),
        }
    }

    /// The error for a word that is not one of the allowed ones.
    pub fn unknown_word(&self, word: String, known: impl Into<String>) -> E {
        self.error(TomlProblem::UnknownWord { key: self.key.into(), word, known: known.into() })
    }

    /// A path relative to the file that is read.
    pub fn file_beside(&self) -> Result<PathBuf, E> {
        Ok(self.source.path.with_file_name(self.text()?))
    }

    /// True or false.
    pub fn boolean(&self) -> Result<bool, E> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("true or false")),
        }
    }

    /// An integer from 0 on.
    pub fn count(&self) -> Result<u64, E> {
        let DeValue::Integer(digits) = self.value.get_ref() else { return Err(self.unexpected("an integer")) };
        u64::from_str_radix(digits.as_str(), digits.radix()).map_err(|_| self.unexpected("a non-negative integer"))
    }

    /// A positive integer.
    pub fn nonzero_count(&self) -> Result<u64, E> {
        match self.count()? {
            0 => Err(self.unexpected("a positive integer")),
            count => Ok(count),
        }
    }

    /// A positive integer that fits 32 bits.
    pub fn nonzero_u32(&self) -> Result<u32, E> {
        self.nonzero_count()?.try_into().map_err(|_| self.unexpected("an integer from 1 to 4294967295"))
    }

    /// An integer within a range; it may be written as 3.0.
    pub fn count_within(&self, least: usize, most: usize) -> Result<usize, E> {
        match self.finite_number()? {
            number if number.fract() == 0.0 && number >= least as f64 && number <= most as f64 => Ok(number as usize),
            _ => Err(self.unexpected(format!("an integer from {least} to {most}"))),
        }
    }

    /// A number; TOML has `inf` and `nan` too.
    pub fn number(&self) -> Result<f64, E> {
        let number = match self.value.get_ref() {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|whole| whole as f64),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected("a number"))
    }

    /// A finite number.
    pub fn finite_number(&self) -> Result<f64, E> {
        self.number().and_then(|number| if number.is_finite() { Ok(number) } else { Err(self.unexpected("a number")) })
    }

    /// A positive finite number.
    pub fn positive_number(&self) -> Result<f64, E> {
        self.finite_number().and_then(|number| if number > 0.0 { Ok(number) } else { Err(self.unexpected("a positive number")) })
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Integer(_) | DeValue::Float(_))
    }

    /// The elements of a list.
    pub fn list(&self) -> Result<Vec<TomlValue<'a, E>>, E> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|value| TomlValue { value, ..*self }).collect()),
            _ => Err(self.unexpected("a list in brackets")),
        }
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    /// The elements of a list, or a single value.
    pub fn one_or_more(&self) -> Result<Vec<TomlValue<'a, E>>, E> {
        if self.is_list() { self.list() } else { Ok(vec![*self]) }
    }

    /// A table; `name` is used in messages.
    pub fn table(&self, name: impl Into<String>) -> Result<TomlTable<'a, E>, E> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(TomlTable::new(self.source, name.into(), self.value.span(), table)),
            _ => Err(self.unexpected("a table")),
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }
}
