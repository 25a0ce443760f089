//! A TOML table whose keys are taken one by one, so that an unknown key is reported with its position.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Error, MachineFileProblem, Named, SourcePos, UncertainValue};

/// The file that is read.
#[derive(Clone, Copy)]
pub(super) struct TomlSource<'a> {
    pub text: &'a str,
    pub path: &'a Path,
}

impl TomlSource<'_> {
    pub(super) fn error(&self, span: Range<usize>, problem: impl Into<MachineFileProblem>) -> Error {
        Error::Invalid { place: SourcePos::from_span(self.path, self.text, span), problem: Box::new(problem.into()) }
    }
}

/// A table with the keys not taken yet.
pub(super) struct TomlTable<'a> {
    source: TomlSource<'a>,
    /// Its name in messages: `in [network.same_node]`.
    name: String,
    span: Range<usize>,
    remaining: BTreeMap<&'a str, (Range<usize>, TomlValue<'a>)>,
    known_keys: Vec<&'static str>,
}

/// A value with its key and position.
#[derive(Clone, Copy)]
pub(super) struct TomlValue<'a> {
    source: TomlSource<'a>,
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> TomlTable<'a> {
    pub(super) fn new(source: TomlSource<'a>, name: String, span: Range<usize>, table: &'a DeTable<'a>) -> TomlTable<'a> {
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a str = key.get_ref().as_ref();
            (name, (key.span(), TomlValue { source, key: name, value }))
        };
        TomlTable { source, name, span, remaining: table.iter().map(entry).collect(), known_keys: Vec::new() }
    }

    /// Takes an optional key.
    pub(super) fn take(&mut self, key: &'static str) -> Option<TomlValue<'a>> {
        self.known_keys.push(key);
        self.remaining.remove(key).map(|(_, value)| value)
    }

    /// Takes a required key.
    pub(super) fn require(&mut self, key: &'static str) -> Result<TomlValue<'a>, Error> {
        self.take(key).ok_or_else(|| match self.wrong_unit_error(key) {
            Some(error) => error,
            None => self.error(MachineFileProblem::Missing { key: key.into(), table: self.name.clone() }),
        })
    }

    /// Takes all keys that name a variant, in the order of the enumeration.
    pub(super) fn take_variants<N: Named>(&mut self) -> Vec<(N, TomlValue<'a>)> {
        N::ALL.iter().filter_map(|one| Some((*one, self.take(one.name())?))).collect()
    }

    /// Reports a key that was not taken.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some((key, (span, _))) = self.remaining.iter().min_by_key(|(_, (span, _))| span.start) else { return Ok(()) };
        if let Some(error) = self.known_keys.iter().find_map(|known| self.wrong_unit_error(known)) {
            return Err(error);
        }
        let problem = MachineFileProblem::UnknownKey { key: key.to_string(), table: self.name.clone(), known: self.known_keys.join(", ") };
        Err(self.source.error(span.clone(), problem))
    }

    /// The error for a key without its unit, or with another.
    fn wrong_unit_error(&self, known: &str) -> Option<Error> {
        let (stem, unit) = split_unit(known)?;
        let (key, (span, _)) =
            self.remaining.iter().find(|(key, _)| **key == stem || key.strip_prefix(stem).is_some_and(|rest| rest.starts_with('_')))?;
        Some(self.source.error(span.clone(), MachineFileProblem::Unit { key: key.to_string(), known: known.into(), unit }))
    }

    pub(super) fn error(&self, problem: impl Into<MachineFileProblem>) -> Error {
        self.source.error(self.span.clone(), problem)
    }
}

/// Splits a key into its stem and the name of its unit.
fn split_unit(key: &str) -> Option<(&str, &'static str)> {
    const UNITS: [(&str, &str); 5] = [
        ("_s_per_byte", "seconds per byte"),
        ("_bytes_per_s", "bytes per second"),
        ("_bytes", "bytes"),
        ("_percent", "percent"),
        ("_s", "seconds"),
    ];
    UNITS.iter().find_map(|(ending, name)| Some((key.strip_suffix(ending)?, *name)))
}

impl<'a> TomlValue<'a> {
    pub(super) fn error(&self, problem: impl Into<MachineFileProblem>) -> Error {
        self.source.error(self.value.span(), problem)
    }

    fn unexpected(&self, expected: &'static str) -> Error {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(MachineFileProblem::WrongType { key: self.key.into(), expected, found })
    }

    pub(super) fn text(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// A text or a TOML date.
    pub(super) fn date(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::Datetime(date) => Ok(date.to_string()),
            _ => self.text(),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("true or false")),
        }
    }

    pub(super) fn count(&self) -> Result<u64, Error> {
        let DeValue::Integer(digits) = self.value.get_ref() else { return Err(self.unexpected("an integer")) };
        u64::from_str_radix(digits.as_str(), digits.radix()).map_err(|_| self.unexpected("a non-negative integer"))
    }

    /// A positive integer.
    pub(super) fn nonzero_count(&self) -> Result<u64, Error> {
        match self.count()? {
            0 => Err(self.unexpected("a positive integer")),
            count => Ok(count),
        }
    }

    fn number(&self) -> Result<f64, Error> {
        let number = match self.value.get_ref() {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|whole| whole as f64),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected("a number"))
    }

    /// A finite number that is not negative.
    pub(super) fn non_negative_number(&self) -> Result<f64, Error> {
        let exact = UncertainValue::exact(self.number()?)
            .map_err(|problem| self.error(MachineFileProblem::Figure { key: self.key.into(), problem }))?;
        self.require_non_negative(exact).map(|figure| figure.middle())
    }

    pub(super) fn list(&self) -> Result<Vec<TomlValue<'a>>, Error> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|value| TomlValue { value, ..*self }).collect()),
            _ => Err(self.unexpected("a list in brackets")),
        }
    }

    /// A number, or low, middle and high.
    pub(super) fn uncertain(&self) -> Result<UncertainValue, Error> {
        let bad = |problem| self.error(MachineFileProblem::Figure { key: self.key.into(), problem });
        if !matches!(self.value.get_ref(), DeValue::Array(_)) {
            return UncertainValue::exact(self.number()?).map_err(bad);
        }
        let numbers = self.list()?.iter().map(TomlValue::number).collect::<Result<Vec<_>, _>>()?;
        let [low, middle, high] = numbers[..] else { return Err(self.unexpected("one number, or [low, middle, high]")) };
        UncertainValue::new(low, middle, high).map_err(bad)
    }

    /// A value that is nowhere negative.
    pub(super) fn non_negative(&self) -> Result<UncertainValue, Error> {
        self.require_non_negative(self.uncertain()?)
    }

    /// A value that is positive everywhere.
    pub(super) fn above_zero(&self) -> Result<UncertainValue, Error> {
        let figure = self.uncertain()?;
        if figure.low() <= 0.0 {
            return Err(self.error(MachineFileProblem::NotAboveZero { key: self.key.into(), value: figure.low() }));
        }
        Ok(figure)
    }

    /// A positive integer that fits 32 bits.
    pub(super) fn nonzero_u32(&self) -> Result<u32, Error> {
        self.nonzero_count()?.try_into().map_err(|_| self.unexpected("an integer from 1 to 4294967295"))
    }

    /// A variant, by its name.
    pub(super) fn variant<N: Named>(&self) -> Result<N, Error> {
        let word = self.text()?;
        N::from_name(&word).ok_or_else(|| self.error(MachineFileProblem::UnknownWord { key: self.key.into(), word, known: N::all_names() }))
    }

    /// A path relative to the file that is read.
    pub(super) fn file_beside(&self) -> Result<std::path::PathBuf, Error> {
        Ok(self.source.path.with_file_name(self.text()?))
    }

    /// A value from 0 to 1.
    pub(super) fn share(&self) -> Result<UncertainValue, Error> {
        let share = self.non_negative()?;
        if share.high() > 1.0 {
            return Err(self.error(MachineFileProblem::NotAFraction { key: self.key.into(), value: share.high() }));
        }
        Ok(share)
    }

    fn require_non_negative(&self, figure: UncertainValue) -> Result<UncertainValue, Error> {
        if figure.low() < 0.0 {
            return Err(self.error(MachineFileProblem::Negative { key: self.key.into(), value: figure.low() }));
        }
        Ok(figure)
    }

    /// A table; `name` is used in messages.
    pub(super) fn table(&self, name: String) -> Result<TomlTable<'a>, Error> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(TomlTable::new(self.source, name, self.value.span(), table)),
            _ => Err(self.unexpected("a table")),
        }
    }
}
