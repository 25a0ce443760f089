//! Numbers of lines of Python in this process, as call paths and sampled stacks refer to them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sintonia_recording::definitions::{DefinitionRecord, PythonLineDefinition};

use super::code_object::PythonLine;
use crate::process;

static NUMBERS: Mutex<Option<HashMap<PythonLine, u32>>> = Mutex::new(None);

/// The number of a line, which is defined if it is new.
pub(crate) fn number_of(line: PythonLine) -> u32 {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    let numbers = numbers.get_or_insert_default();
    let new = numbers.len() as u32;
    *numbers.entry(line).or_insert_with_key(|PythonLine { file, function, line }| {
        let (file, function) = (file.clone(), function.clone());
        process::define(&DefinitionRecord::PythonLine(PythonLineDefinition { id: new, file, function, line: *line }));
        new
    })
}
