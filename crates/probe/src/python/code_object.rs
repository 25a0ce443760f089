//! Code objects: file, function and line, and what tells one from another that takes its place in memory.

use super::frames::PythonFrame;
use super::layout::PythonLayout;
use super::memory::ReadMemory;

/// The number of bytes and the bytes of a `bytes` object.
const BYTES_LENGTH: u64 = 16;
const BYTES: u64 = 32;
/// Files of the import system: its frames are left out, as in tracebacks of Python.
const IMPORT_SYSTEM: &str = "<frozen importlib";
/// Most bytes of a file name or a table of lines that are compared: the last ones.
const MAX_COMPARED: u64 = 64;

/// A place in a Python program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PythonLine {
    pub file: String,
    pub function: String,
    pub line: u32,
}

impl PythonLayout {
    /// A place in a code object, given its line; the first line if that is not known. `None` for code of the interpreter itself.
    pub(super) fn python_line(&self, memory: &impl ReadMemory, code: u64, line: i32) -> Option<PythonLine> {
        let (file, name) = (memory.word(code + self.file)?, memory.word(code + self.name)?);
        // Code that the interpreter has made to call `__init__`: its name is its file, too.
        if file == name {
            return None;
        }
        let first_line = memory.half_word(code + self.first_line)?;
        let line = u32::try_from(line).ok().filter(|line| *line > 0).unwrap_or(first_line);
        let file = self.text(memory, file).filter(|file| !file.starts_with(IMPORT_SYSTEM))?;
        Some(PythonLine { file, function: self.text(memory, name)?, line })
    }

    /// Words that tell the code objects of frames from others at the same addresses: address and value. Each can be read if those before it
    /// have their value. Code objects are freed with the last function, module or frame that uses them, and their memory is used again.
    pub(super) fn identity_words(&self, memory: &impl ReadMemory, frames: &[PythonFrame]) -> Vec<(u64, u64)> {
        let mut words = Vec::with_capacity(8 * frames.len());
        // Files and code objects that occur several times are compared once.
        let mut known: Vec<u64> = Vec::with_capacity(2 * frames.len());
        for frame in frames.iter().filter(|frame| frame.code != 0) {
            if !known.contains(&frame.code) {
                known.push(frame.code);
                self.code_identity(memory, frame.code, &mut known, &mut words);
            }
        }
        words
    }

    fn code_identity(&self, memory: &impl ReadMemory, code: u64, known: &mut Vec<u64>, words: &mut Vec<(u64, u64)>) -> Option<()> {
        if let Some(offset) = self.version_word {
            let word = memory.word(code + offset)?;
            // 0: all numbers have been given.
            if word >> 32 != 0 {
                words.push((code + offset, word));
                return Some(());
            }
        }
        let mut add = |address: u64| {
            let value = memory.word(address)?;
            words.push((address, value));
            Some(value)
        };
        add(code + self.first_line)?;
        let (file, name, lines) = (add(code + self.file)?, add(code + self.name)?, add(code + self.line_table)?);
        let bytes = add(lines + BYTES_LENGTH)?;
        last_words(memory, lines + BYTES, bytes, words)?;
        for text in [name, file] {
            if !known.contains(&text) {
                known.push(text);
                self.text_identity(memory, text, words)?;
            }
        }
        Some(())
    }
}

/// Adds the words at the end of some bytes. The first one may begin in front of them: an object's head is there.
pub(super) fn last_words(memory: &impl ReadMemory, address: u64, bytes: u64, words: &mut Vec<(u64, u64)>) -> Option<()> {
    let end = address.checked_add(bytes)?;
    for back in 1..=bytes.min(MAX_COMPARED).div_ceil(8) {
        words.push((end - 8 * back, memory.word(end - 8 * back)?));
    }
    Some(())
}
