//! The values of symbols.

use std::collections::BTreeMap;

/// What the symbols of a formula stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<T>(BTreeMap<String, T>);

impl<T> Values<T> {
    /// No values.
    pub fn new() -> Values<T> {
        Values(BTreeMap::new())
    }

    /// These values and one more.
    pub fn with(mut self, symbol: &str, value: T) -> Values<T> {
        self.set(symbol, value);
        self
    }

    /// Gives a symbol a value.
    pub fn set(&mut self, symbol: &str, value: T) {
        self.0.insert(symbol.to_owned(), value);
    }

    /// The value of a symbol.
    pub fn get(&self, symbol: &str) -> Option<&T> {
        self.0.get(symbol)
    }

    /// All symbols and their values, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(symbol, value)| (symbol.as_str(), value))
    }
}

impl<T> Default for Values<T> {
    fn default() -> Values<T> {
        Values::new()
    }
}

impl<T, const N: usize> From<[(&str, T); N]> for Values<T> {
    fn from(list: [(&str, T); N]) -> Values<T> {
        list.into_iter().collect()
    }
}

impl<'a, T> FromIterator<(&'a str, T)> for Values<T> {
    fn from_iter<I: IntoIterator<Item = (&'a str, T)>>(list: I) -> Values<T> {
        Values(list.into_iter().map(|(symbol, value)| (symbol.to_owned(), value)).collect())
    }
}
