//! Numbers of lines of Python in this process, as call paths and sampled stacks refer to them.

use std::collections::HashMap;

use sintonia_recording::definitions::{DefinitionRecord, PythonLineDefinition};

use super::code_object::PythonLine;
use crate::breakable_lock::BreakableLock;
use crate::process;

static NUMBERS: BreakableLock<Option<HashMap<PythonLine, u32>>> = BreakableLock::new(None);

/// The number of a line, which is defined if it is new. `None` if the numbers are locked for ever.
pub(crate) fn number_of(line: PythonLine) -> Option<u32> {
    let mut numbers = NUMBERS.lock()?;
    let numbers = numbers.get_or_insert_default();
    let new = numbers.len() as u32;
    Some(*numbers.entry(line).or_insert_with_key(|PythonLine { file, function, line }| {
        let (file, function) = (file.clone(), function.clone());
        process::define(&DefinitionRecord::PythonLine(PythonLineDefinition { id: new, file, function, line: *line }));
        new
    }))
}
