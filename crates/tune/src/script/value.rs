//! Values of scripts.

use std::collections::BTreeMap;
use std::fmt;

use super::{MAX_ENTRIES, MAX_TEXT_LENGTH, MAX_VALUE_DEPTH, SharedText};

/// Floats beyond these bounds are printed with an exponent.
const PLAIN_FLOATS: std::ops::RangeInclusive<f64> = 1e-13..=1e13;

/// A value; lists and maps are copied when assigned.
#[derive(Clone, Default, PartialEq)]
pub(crate) enum ScriptValue {
    /// `()`: no value.
    #[default]
    Unit,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(SharedText),
    List(Vec<ScriptValue>),
    Map(BTreeMap<SharedText, ScriptValue>),
}

impl ScriptValue {
    pub(crate) fn text(text: &str) -> ScriptValue {
        ScriptValue::Text(text.into())
    }

    /// A number of either type.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            ScriptValue::Int(whole) => Some(*whole as f64),
            ScriptValue::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Its type, in messages.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            ScriptValue::Unit => "()",
            ScriptValue::Bool(_) => "a bool",
            ScriptValue::Int(_) => "an integer",
            ScriptValue::Float(_) => "a float",
            ScriptValue::Text(_) => "a text",
            ScriptValue::List(_) => "a list",
            ScriptValue::Map(_) => "a map",
        }
    }

    /// Fails if it holds too much, or is nested so deep that recursion over it were a danger.
    pub(super) fn check_size(&self) -> Result<(), String> {
        self.add_size(0, &mut 0, &mut 0)
    }

    fn add_size(&self, depth: usize, entries: &mut usize, bytes: &mut usize) -> Result<(), String> {
        match self {
            ScriptValue::Text(text) => *bytes += text.len(),
            ScriptValue::List(list) => *entries += list.len(),
            ScriptValue::Map(map) => {
                *entries += map.len();
                *bytes += map.keys().map(|key| key.len()).sum::<usize>();
            }
            _ => return Ok(()),
        }
        if *bytes > MAX_TEXT_LENGTH {
            return Err(format!("the text is too large: more than {MAX_TEXT_LENGTH} bytes"));
        }
        if *entries > MAX_ENTRIES || depth > MAX_VALUE_DEPTH {
            return Err(format!("the list or map is too large: more than {MAX_ENTRIES} entries, or {MAX_VALUE_DEPTH} in each other"));
        }
        match self {
            ScriptValue::List(list) => list.iter().try_for_each(|value| value.add_size(depth + 1, entries, bytes)),
            ScriptValue::Map(map) => map.values().try_for_each(|value| value.add_size(depth + 1, entries, bytes)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ScriptValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptValue::Unit => Ok(()),
            ScriptValue::Bool(truth) => write!(out, "{truth}"),
            ScriptValue::Int(whole) => write!(out, "{whole}"),
            ScriptValue::Float(0.0) => out.write_str("0.0"),
            ScriptValue::Float(number) if number.is_finite() && !PLAIN_FLOATS.contains(&number.abs()) => write!(out, "{number:e}"),
            ScriptValue::Float(number) if number.fract() == 0.0 => write!(out, "{number}.0"),
            ScriptValue::Float(number) => write!(out, "{number}"),
            ScriptValue::Text(text) => out.write_str(text),
            ScriptValue::List(_) | ScriptValue::Map(_) => write!(out, "{self:?}"),
        }
    }
}

/// As in a list or a map: texts in quotes, and `()` is visible.
impl fmt::Debug for ScriptValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptValue::Unit => out.write_str("()"),
            ScriptValue::Text(text) => write!(out, "{text:?}"),
            ScriptValue::List(list) => out.debug_list().entries(list).finish(),
            ScriptValue::Map(map) => {
                out.write_str("#")?;
                out.debug_map().entries(map).finish()
            }
            other => write!(out, "{other}"),
        }
    }
}
