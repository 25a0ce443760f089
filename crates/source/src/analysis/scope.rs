//! The values of variables at a point of the program.

use std::collections::BTreeMap;

use super::assumptions::Assumptions;
use super::value::AbstractValue;

/// The abstract values of variables; a missing variable is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VariableScope {
    values: BTreeMap<String, AbstractValue>,
}

impl VariableScope {
    /// An empty scope.
    pub fn new() -> VariableScope {
        VariableScope::default()
    }

    /// Sets the value of a variable.
    pub fn set(&mut self, name: &str, value: AbstractValue) {
        self.values.insert(name.to_owned(), value);
    }

    /// Whether the variable has been assigned.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&AbstractValue> {
        self.values.get(name)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<AbstractValue> {
        self.values.remove(name)
    }

    /// Makes the values of some variables unknown.
    pub(crate) fn invalidate<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            if let Some(value) = self.values.get_mut(name) {
                *value = AbstractValue::unknown();
            }
        }
    }

    /// The join of two control flow paths.
    pub(crate) fn join(&self, other: &VariableScope, facts: &Assumptions) -> VariableScope {
        let both = self.values.iter().filter_map(|(name, value)| Some((name.clone(), value.join(other.values.get(name)?, facts))));
        VariableScope { values: both.collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &AbstractValue)> {
        self.values.iter()
    }
}
