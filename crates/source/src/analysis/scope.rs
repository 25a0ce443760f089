//! The values of variables at a place in the program.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::value::Value;

/// What is known of variables; one that is not here is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    values: BTreeMap<String, Value>,
}

impl Scope {
    /// Nothing is known.
    pub fn new() -> Scope {
        Scope::default()
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// Whether the variable was given a value.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Forgets a variable.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name)
    }

    /// Forgets what some variables were.
    pub(crate) fn forget<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            if let Some(value) = self.values.get_mut(name) {
                *value = Value::unknown();
            }
        }
    }

    /// What is known where the program came from here or from elsewhere.
    pub(crate) fn or(&self, other: &Scope, facts: &Facts) -> Scope {
        let both = self.values.iter().filter_map(|(name, value)| Some((name.clone(), value.or(other.values.get(name)?, facts))));
        Scope { values: both.collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.values.iter()
    }
}
