//! The language of tunlet scripts: a small subset of Rhai, described in `docs/tunlets.md`.
//!
//! A script consists of functions. It reaches nothing outside but the functions of its [`ScriptHost`], and a call has limited steps, time,
//! depth and memory, so that a script that does not end, or grows, cannot harm the command.

mod functions;
mod interpreter;
mod lexer;
mod operators;
mod parser;
mod syntax;
mod value;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use value::ScriptValue;

/// Most steps of a call: evaluations of a statement or an expression.
const MAX_STEPS: u64 = 1_000_000;
/// Deepest nesting of calls of the script's own functions.
const MAX_CALLS: usize = 32;
/// Deepest nesting of expressions and blocks, in the text of a function and during a call.
const MAX_PARSE_DEPTH: usize = 100;
const MAX_EVAL_DEPTH: usize = 400;
/// Bytes of text, and entries of lists and maps, that a value may hold, and how deep it may be nested.
const MAX_TEXT_LENGTH: usize = 1 << 16;
const MAX_ENTRIES: usize = 1 << 14;
const MAX_VALUE_DEPTH: usize = 64;
/// Steps between two questions to the host whether time is over.
const STEPS_PER_CLOCK_CHECK: u64 = 128;

/// What is wrong in a script, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptError {
    /// Byte in the text.
    pub at: usize,
    pub reason: String,
}

/// What a script can reach.
pub(crate) trait ScriptHost {
    /// Calls a function of the host; `None` if it has none of this name and number of arguments.
    fn call(&mut self, name: &str, arguments: &[ScriptValue]) -> Option<Result<ScriptValue, String>>;

    /// Why the script must stop now, if it must.
    fn interruption(&mut self) -> Option<String>;
}

/// A parsed script.
#[derive(Debug)]
pub(crate) struct Script {
    functions: Vec<syntax::ScriptFunction>,
}

impl Script {
    pub(crate) fn parse(text: &str) -> Result<Script, ScriptError> {
        Ok(Script { functions: parser::parse(text)? })
    }

    /// Whether it has a function with one parameter.
    pub(crate) fn handles(&self, name: &str) -> bool {
        self.function(name, 1).is_some()
    }

    fn function(&self, name: &str, parameters: usize) -> Option<&syntax::ScriptFunction> {
        self.functions.iter().find(|function| &*function.name == name && function.parameters == parameters)
    }

    /// Calls a function with one argument; `this` persists between calls.
    pub(crate) fn call(
        &self,
        name: &str,
        argument: ScriptValue,
        this: &mut ScriptValue,
        host: &mut dyn ScriptHost,
    ) -> Result<ScriptValue, ScriptError> {
        interpreter::Interpreter::new(self, this, host).call_function(name, 0, vec![argument])
    }
}

/// Texts of scripts are shared, as values are copied often.
type SharedText = Arc<str>;
