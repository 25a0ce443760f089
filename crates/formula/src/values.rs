//! Values of symbols.

use std::collections::BTreeMap;

/// The values of the symbols of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolValues<T>(BTreeMap<String, T>);

impl<T> SymbolValues<T> {
    /// No values.
    pub fn new() -> SymbolValues<T> {
        SymbolValues(BTreeMap::new())
    }

    /// Adds a value.
    pub fn with_value(mut self, symbol: &str, value: T) -> SymbolValues<T> {
        self.set(symbol, value);
        self
    }

    /// Sets the value of a symbol.
    pub fn set(&mut self, symbol: &str, value: T) {
        self.0.insert(symbol.to_owned(), value);
    }

    /// The value of a symbol.
    pub fn get(&self, symbol: &str) -> Option<&T> {
        self.0.get(symbol)
    }

    /// All symbols and their values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(symbol, value)| (symbol.as_str(), value))
    }
}

impl<T> Default for SymbolValues<T> {
    fn default() -> SymbolValues<T> {
        SymbolValues::new()
    }
}

impl<T, const N: usize> From<[(&str, T); N]> for SymbolValues<T> {
    fn from(list: [(&str, T); N]) -> SymbolValues<T> {
        list.into_iter().collect()
    }
}

impl<'a, T> FromIterator<(&'a str, T)> for SymbolValues<T> {
    fn from_iter<I: IntoIterator<Item = (&'a str, T)>>(list: I) -> SymbolValues<T> {
        SymbolValues(list.into_iter().map(|(symbol, value)| (symbol.to_owned(), value)).collect())
    }
}
