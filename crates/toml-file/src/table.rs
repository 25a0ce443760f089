//! A table whose keys are taken one by one, so that an unknown key is reported with its position.

use std::collections::BTreeMap;
use std::ops::Range;

use sintonia_text::suggestion::{edit_distance, nearest_name};
use toml::de::DeTable;

use crate::source::TomlSource;
use crate::{TomlProblem, TomlReadError, TomlValue};

/// A table with the keys not taken yet.
pub struct TomlTable<'a, E> {
    source: TomlSource<'a, E>,
    name: String,
    span: Range<usize>,
    remaining: BTreeMap<&'a str, (Range<usize>, TomlValue<'a, E>)>,
    known_keys: Vec<&'static str>,
}

impl<'a, E: TomlReadError> TomlTable<'a, E> {
    pub(crate) fn new(source: TomlSource<'a, E>, name: String, span: Range<usize>, table: &'a DeTable<'a>) -> TomlTable<'a, E> {
        let mut remaining = BTreeMap::new();
        for (key, value) in table {
            let name: &'a str = key.get_ref().as_ref();
            remaining.insert(name, (key.span(), TomlValue { source, key: name, value }));
        }
        TomlTable { source, name, span, remaining, known_keys: Vec::new() }
    }

    /// Its name in messages: `in [network.same_node]`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes an optional key.
    pub fn take(&mut self, key: &'static str) -> Option<TomlValue<'a, E>> {
        self.known_keys.push(key);
        self.remaining.remove(key).map(|(_, value)| value)
    }

    /// Takes a required key.
    pub fn require(&mut self, key: &'static str) -> Result<TomlValue<'a, E>, E> {
        match self.take(key) {
            Some(value) => Ok(value),
            None => Err(self.wrong_unit_error(key).or_else(|| self.misspelt_error(key)).unwrap_or_else(|| self.missing(key))),
        }
    }

    /// Takes all keys, in the order of the file.
    pub fn take_all(&mut self) -> Vec<TomlValue<'a, E>> {
        let mut all: Vec<_> = std::mem::take(&mut self.remaining).into_values().collect();
        all.sort_by_key(|(span, _)| span.start);
        all.into_iter().map(|(_, value)| value).collect()
    }

    /// Reports a key that was not taken.
    pub fn finish(self) -> Result<(), E> {
        let Some((key, (span, _))) = self.remaining.iter().min_by_key(|(_, (span, _))| span.start) else { return Ok(()) };
        let wrong_unit = self.known_keys.iter().find_map(|known| self.wrong_unit_error(known));
        Err(wrong_unit.unwrap_or_else(|| self.unknown(key, span, self.known_keys.clone())))
    }

    /// An error about the whole table.
    pub fn error(&self, problem: impl Into<E::Problem>) -> E {
        self.source.error(self.span.clone(), problem)
    }

    /// The error for a required key that is not there.
    pub fn missing(&self, key: impl Into<String>) -> E {
        self.error(TomlProblem::Missing { key: key.into(), table: self.name.clone() })
    }

    fn unknown(&self, key: &str, span: &Range<usize>, known: Vec<&'static str>) -> E {
        self.source.error(span.clone(), TomlProblem::UnknownKey { key: key.into(), table: self.name.clone(), known })
    }

    /// The error for a key without its unit, or with another.
    fn wrong_unit_error(&self, known: &str) -> Option<E> {
        let (stem, unit) = split_unit(known)?;
        let is_stem = |key: &str| key.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        let (key, (span, _)) = self.remaining.iter().find(|(key, _)| is_stem(key))?;
        Some(self.source.error(span.clone(), TomlProblem::Unit { key: key.to_string(), known: known.into(), unit }))
    }

    /// The error for a key that is there instead of a required one. Which other keys are allowed is not known yet, so it must be more similar
    /// than a suggestion: in [machine], `date` is not a misspelt `name`.
    fn misspelt_error(&self, wanted: &'static str) -> Option<E> {
        let key = nearest_name(wanted, self.remaining.keys().copied())?;
        let is_typo = 3 * edit_distance(key, wanted) <= wanted.len();
        is_typo.then(|| self.unknown(key, &self.remaining[key].0, vec![wanted]))
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
