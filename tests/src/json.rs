//! Values of answers, where a test knows their type.

use serde_json::Value;

/// The elements of a list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// A number of any kind.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// A number that is a count, an index or a time.
pub fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no integer: {value}"))
}
