//! A call path through native code and Python.
//!
//! From the call outwards: native frames up to the interpreter, as far as they are in files, without those of the bindings through which
//! Python calls MPI, then the frames of Python. What is between frames of Python, and what started the interpreter, is left out: from 3.11
//! on, one native frame of the interpreter runs many frames of Python.

use super::path_tree::PathFrame;
use super::unwound_path::UnwoundPath;
use crate::python::{PythonFrameList, PythonInterpreter};

/// The innermost frames of a path, innermost first.
pub(super) fn frames(
    unwound: &UnwoundPath,
    interpreter: Option<&PythonInterpreter>,
    python: &PythonFrameList,
    depth: usize,
) -> Vec<PathFrame> {
    let native = unwound.return_addresses().iter().copied();
    let lines = interpreter.into_iter().flat_map(|interpreter| python.as_slice().iter().filter_map(|frame| interpreter.line_of(*frame)));
    let lines: Vec<PathFrame> = lines.map(PathFrame::Python).take(depth).collect();
    match interpreter {
        Some(interpreter) if !lines.is_empty() => {
            interpreter.frames_below_python(native).map(PathFrame::Native).chain(lines).take(depth).collect()
        }
        _ => native.map(PathFrame::Native).take(depth).collect(),
    }
}
