//! A table of a TOML file whose keys are taken one by one, so that one that is left over is told, with its place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Error, Figure, Named, Place, Problem};

/// The file that is read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub text: &'a str,
    pub path: &'a Path,
}

impl Source<'_> {
    pub fn error(&self, span: Range<usize>, problem: impl Into<Problem>) -> Error {
        Error::Wrong { place: Place::of(self.path, self.text, span), problem: Box::new(problem.into()) }
    }
}

/// A table, less what was taken.
pub struct Table<'a> {
    source: Source<'a>,
    /// What it is called in messages: `in [network.same_node]`.
    name: String,
    span: Range<usize>,
    left: BTreeMap<&'a str, (Range<usize>, Value<'a>)>,
    known: Vec<&'static str>,
}

/// A value with what is needed to speak of it.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    source: Source<'a>,
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(source: Source<'a>, name: String, span: Range<usize>, table: &'a DeTable<'a>) -> Table<'a> {
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a str = key.get_ref().as_ref();
            (name, (key.span(), Value { source, key: name, value }))
        };
        Table { source, name, span, left: table.iter().map(entry).collect(), known: Vec::new() }
    }

    /// Takes a key that may be there.
    pub fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.known.push(key);
        self.left.remove(key).map(|(_, value)| value)
    }

    /// Takes a key that must be there.
    pub fn require(&mut self, key: &'static str) -> Result<Value<'a>, Error> {
        self.take(key).ok_or_else(|| match self.mistaken(key) {
            Some(error) => error,
            None => self.error(Problem::Missing { key: key.into(), table: self.name.clone() }),
        })
    }

    /// Takes everything whose key is a name of that set, in the order of the set.
    pub fn take_named<N: Named>(&mut self) -> Vec<(N, Value<'a>)> {
        N::ALL.iter().filter_map(|one| Some((*one, self.take(one.name())?))).collect()
    }

    /// All keys must have been taken.
    pub fn finish(self) -> Result<(), Error> {
        let Some((key, (span, _))) = self.left.iter().min_by_key(|(_, (span, _))| span.start) else { return Ok(()) };
        if let Some(error) = self.known.iter().find_map(|known| self.mistaken(known)) {
            return Err(error);
        }
        let problem = Problem::UnknownKey { key: key.to_string(), table: self.name.clone(), known: self.known.join(", ") };
        Err(self.source.error(span.clone(), problem))
    }

    /// The error of a key that is there without its unit, or with another.
    fn mistaken(&self, known: &str) -> Option<Error> {
        let (stem, unit) = unit(known)?;
        let (key, (span, _)) =
            self.left.iter().find(|(key, _)| **key == stem || key.strip_prefix(stem).is_some_and(|rest| rest.starts_with('_')))?;
        Some(self.source.error(span.clone(), Problem::Unit { key: key.to_string(), known: known.into(), unit }))
    }

    pub fn error(&self, problem: impl Into<Problem>) -> Error {
        self.source.error(self.span.clone(), problem)
    }
}

/// A key that has a unit, without it, and the unit in words.
fn unit(key: &str) -> Option<(&str, &'static str)> {
    const UNITS: [(&str, &str); 5] = [
        ("_s_per_byte", "seconds per byte"),
        ("_bytes_per_s", "bytes per second"),
        ("_bytes", "bytes"),
        ("_percent", "percent"),
        ("_s", "seconds"),
    ];
    UNITS.iter().find_map(|(ending, words)| Some((key.strip_suffix(ending)?, *words)))
}

impl<'a> Value<'a> {
    pub fn error(&self, problem: impl Into<Problem>) -> Error {
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
        self.error(Problem::Kind { key: self.key.into(), expected, found })
    }

    pub fn text(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// A text, or a date as TOML writes them.
    pub fn date(&self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::Datetime(date) => Ok(date.to_string()),
            _ => self.text(),
        }
    }

    pub fn truth(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.unexpected("true or false")),
        }
    }

    pub fn count(&self) -> Result<u64, Error> {
        let DeValue::Integer(digits) = self.value.get_ref() else { return Err(self.unexpected("a whole number")) };
        u64::from_str_radix(digits.as_str(), digits.radix()).map_err(|_| self.unexpected("a whole number from 0 on"))
    }

    /// A whole number of things of which there is at least one.
    pub fn count_of_some(&self) -> Result<u64, Error> {
        match self.count()? {
            0 => Err(self.unexpected("a whole number from 1 on")),
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

    /// A finite number that is not below zero.
    pub fn amount(&self) -> Result<f64, Error> {
        let exact = Figure::exact(self.number()?).map_err(|problem| self.error(Problem::Figure { key: self.key.into(), problem }))?;
        self.not_negative(exact).map(|figure| figure.middle())
    }

    pub fn list(&self) -> Result<Vec<Value<'a>>, Error> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|value| Value { value, ..*self }).collect()),
            _ => Err(self.unexpected("a list in brackets")),
        }
    }

    /// A figure: one number, or low, middle and high.
    pub fn figure(&self) -> Result<Figure, Error> {
        let bad = |problem| self.error(Problem::Figure { key: self.key.into(), problem });
        if !matches!(self.value.get_ref(), DeValue::Array(_)) {
            return Figure::exact(self.number()?).map_err(bad);
        }
        let numbers = self.list()?.iter().map(Value::number).collect::<Result<Vec<_>, _>>()?;
        let [low, middle, high] = numbers[..] else { return Err(self.unexpected("one number, or [low, middle, high]")) };
        Figure::new(low, middle, high).map_err(bad)
    }

    /// A figure that is not below zero anywhere.
    pub fn positive(&self) -> Result<Figure, Error> {
        self.not_negative(self.figure()?)
    }

    /// A figure that is above zero everywhere.
    pub fn above_zero(&self) -> Result<Figure, Error> {
        let figure = self.figure()?;
        if figure.low() <= 0.0 {
            return Err(self.error(Problem::NotAboveZero { key: self.key.into(), value: figure.low() }));
        }
        Ok(figure)
    }

    /// A whole number of things of which there is at least one, and not more than anyone could number.
    pub fn number_of_some(&self) -> Result<u32, Error> {
        self.count_of_some()?.try_into().map_err(|_| self.unexpected("a whole number from 1 to 4294967295"))
    }

    /// One of a fixed set, by its name.
    pub fn named<N: Named>(&self) -> Result<N, Error> {
        let word = self.text()?;
        N::named(&word).ok_or_else(|| self.error(Problem::UnknownWord { key: self.key.into(), word, known: N::names() }))
    }

    /// A file beside the one that is read.
    pub fn file_beside(&self) -> Result<std::path::PathBuf, Error> {
        Ok(self.source.path.with_file_name(self.text()?))
    }

    /// A figure from 0 to 1.
    pub fn share(&self) -> Result<Figure, Error> {
        let share = self.positive()?;
        if share.high() > 1.0 {
            return Err(self.error(Problem::NoShare { key: self.key.into(), value: share.high() }));
        }
        Ok(share)
    }

    fn not_negative(&self, figure: Figure) -> Result<Figure, Error> {
        if figure.low() < 0.0 {
            return Err(self.error(Problem::Negative { key: self.key.into(), value: figure.low() }));
        }
        Ok(figure)
    }

    /// A table; it is called so in messages.
    pub fn table(&self, name: String) -> Result<Table<'a>, Error> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Table::new(self.source, name, self.value.span(), table)),
            _ => Err(self.unexpected("a table")),
        }
    }
}
