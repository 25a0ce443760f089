//! Time by line of the source file of a function.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{RecordedStacks, SelectedStacks, StackLeaf};

/// The lines of a file that have time, in order, as columns of equal length. Times are in nanoseconds.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LineTimes {
    line: Vec<u32>,
    /// At the line itself, without what it called.
    #[serde(rename = "self")]
    self_ns: Vec<u64>,
    /// At the line and in what it called; a line counts once in each stack.
    #[serde(rename = "total")]
    total_ns: Vec<u64>,
    /// Whether the line is of the function.
    is_function: Vec<bool>,
}

#[derive(Default)]
struct LineTime {
    self_ns: u64,
    total_ns: u64,
    is_function: bool,
}

impl LineTimes {
    /// The lines of the file of a function; of no file, if it has none.
    pub(crate) fn new(stacks: &RecordedStacks, selected: &SelectedStacks, function: u32) -> LineTimes {
        let Some(file) = stacks.functions[function as usize].file.as_deref() else { return LineTimes::default() };
        let line = |frame: u32| {
            let known = &stacks.frames[frame as usize];
            known.line.filter(|_| known.file.as_deref() == Some(file))
        };
        let mut lines: BTreeMap<u32, LineTime> = BTreeMap::new();
        for ((frame, leaf), ns) in &selected.times {
            if let Some(line) = line(*frame).filter(|_| *leaf == StackLeaf::Computation) {
                lines.entry(line).or_default().self_ns += ns;
            }
            let mut seen = BTreeSet::new();
            for frame in stacks.path(*frame) {
                let Some(line) = line(frame) else { continue };
                let time = lines.entry(line).or_default();
                time.is_function |= stacks.tree.function_of_frame(frame) == function;
                time.total_ns += if seen.insert(line) { *ns } else { 0 };
            }
        }
        let mut columns = LineTimes::default();
        for (line, time) in lines {
            columns.line.push(line);
            columns.self_ns.push(time.self_ns);
            columns.total_ns.push(time.total_ns);
            columns.is_function.push(time.is_function);
        }
        columns
    }

    /// The line of the function with the most time; the file's first line without any.
    pub(crate) fn hottest_line(&self) -> u32 {
        let own = (0..self.line.len()).filter(|row| self.is_function[*row]);
        own.max_by_key(|row| self.total_ns[*row]).map_or(1, |row| self.line[row])
    }
}
