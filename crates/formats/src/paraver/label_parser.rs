//! Parses the labels in the `.pcf` and `.row` of a trace: callers, MPI functions with non-standard values, and nodes.

use std::collections::HashMap;
use std::path::Path;

use sintonia_mpi::FunctionId;
use sintonia_paraver::{ResourceNames, TraceLabelFile};
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

use super::event_types::{self, CALLER, CALLER_LINE, MAX_CALLERS, MpiEventType};
use crate::Error;

/// The labels of a trace.
#[derive(Debug, Default)]
pub(super) struct TraceLabels {
    functions: HashMap<u64, String>,
    lines: HashMap<u64, CallerLine>,
    operations: HashMap<(MpiEventType, u64), FunctionId>,
}

/// A source line, or an offset in a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallerLine {
    module: String,
    offset: u64,
    file: Option<String>,
    line: Option<u32>,
}

/// What the following values are.
#[derive(Clone, Copy)]
enum ValueBlock {
    Functions,
    Lines,
    Operations(MpiEventType),
}

impl TraceLabels {
    /// Reads a `.pcf`.
    pub(super) fn read(path: &Path) -> Result<TraceLabels, Error> {
        let mut names = TraceLabels::default();
        for labelled in TraceLabelFile::read(path)?.event_types {
            if let Some(block) = labelled.types.iter().find_map(|known| value_block(known.event_type)) {
                labelled.values.iter().for_each(|(value, label)| names.add_value(block, *value, label));
            }
        }
        Ok(names)
    }

    /// The MPI function of a value. Extrae's values are known without labels, and some of its labels are wrong.
    pub(super) fn operation(&self, group: MpiEventType, value: u64) -> Option<FunctionId> {
        event_types::operation_from_value(value).or_else(|| self.operations.get(&(group, value)).copied())
    }

    /// The site of one caller, given the values of its function and line.
    pub(super) fn site(&self, (function, line): (u64, u64)) -> CallSiteDefinition {
        let CallerLine { module, offset, file, line } =
            self.lines.get(&line).cloned().unwrap_or_else(|| CallerLine { offset: line, ..CallerLine::default() });
        let frame = SourceFrame { function: self.functions.get(&function).cloned(), file, line };
        let frames = if frame == SourceFrame::default() { Vec::new() } else { vec![frame] };
        CallSiteDefinition { module, offset, caller: None, frames }
    }

    fn add_value(&mut self, block: ValueBlock, value: u64, label: &str) {
        if value == 0 || ["Unresolved", "_NOT_Found"].iter().any(|nameless| label.starts_with(nameless)) {
            return;
        }
        match block {
            ValueBlock::Functions => _ = self.functions.insert(value, full_label(label).to_owned()),
            ValueBlock::Lines => _ = self.lines.insert(value, parse_caller_line(label)),
            ValueBlock::Operations(group) => {
                if let Some(operation) = FunctionId::from_name(label) {
                    self.operations.insert((group, value), operation);
                }
            }
        }
    }
}

/// What the values of an event type are.
fn value_block(event_type: u64) -> Option<ValueBlock> {
    match event_type {
        _ if (CALLER..CALLER + MAX_CALLERS).contains(&event_type) => Some(ValueBlock::Functions),
        _ if (CALLER_LINE..CALLER_LINE + MAX_CALLERS).contains(&event_type) => Some(ValueBlock::Lines),
        _ => MpiEventType::from_type_id(event_type).map(ValueBlock::Operations),
    }
}

/// The bracketed part of `short [full]`, else everything.
fn full_label(label: &str) -> &str {
    label.strip_suffix(']').and_then(|label| label.split_once(" [")).map_or(label, |(_, full)| full)
}

/// Parses a line label: `a.c:7 [/src/a.c:7, /bin/a]`, the older `7 (a.c, a)`, or `a+0x10 [/bin/a+0x10]`.
fn parse_caller_line(label: &str) -> CallerLine {
    let older = label.strip_suffix(')').and_then(|label| label.split_once(" ("));
    if let Some((number, source)) = older.filter(|(number, _)| number.parse::<u32>().is_ok()) {
        let (file, module) = source.rsplit_once(", ").unwrap_or((source, ""));
        return CallerLine { module: module.into(), offset: 0, file: Some(file.into()), line: number.parse().ok().filter(|n| *n > 0) };
    }
    let full = full_label(label);
    if let Some((module, offset)) = full.rsplit_once("+0x")
        && let Ok(offset) = u64::from_str_radix(offset, 16)
    {
        return CallerLine { module: module.into(), offset, file: None, line: None };
    }
    let (source, module) = full.rsplit_once(", ").unwrap_or((full, ""));
    match source.rsplit_once(':').map(|(file, line)| (file, line.parse::<u32>())) {
        Some((file, Ok(line))) => {
            CallerLine { module: module.into(), offset: 0, file: Some(file.into()), line: Some(line).filter(|line| *line > 0) }
        }
        _ => CallerLine { module: module.into(), offset: 0, file: Some(source.into()), line: None },
    }
}

/// Reads the node names of a `.row`.
pub(super) fn read_node_names(path: &Path) -> Result<Vec<String>, Error> {
    Ok(ResourceNames::read(path)?.level("NODE").to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> TraceLabels {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        TraceLabels::read(file.path()).unwrap()
    }

    #[test]
    fn callers_get_the_names_of_the_pcf() {
        let names = names(
            "EVENT_TYPE\n0    70000001    Caller at level 1\n0    70000002    Caller at level 2\nVALUES\n0 End\n1 Unresolved \n\
             3 work [work(int, char)]\n4 main\n\n\nEVENT_TYPE\n0    80000001    Caller line at level 1\nVALUES\n0 End\n\
             3 a.c:7 [/src/a.c:7, /bin/a]\n4 9 (b.c, a)\n5 a+0x10 [/bin/a+0x10]\n",
        );
        let [work, main] = [(3, 3), (4, 4)].map(|values| names.site(values));
        let frame =
            |function: &str, file: &str, line| SourceFrame { function: Some(function.into()), file: Some(file.into()), line: Some(line) };
        assert_eq!((work.module.as_str(), work.offset), ("/bin/a", 0));
        assert_eq!((work.frames, main.frames), (vec![frame("work(int, char)", "/src/a.c", 7)], vec![frame("main", "b.c", 9)]));
        assert_eq!(names.site((1, 5)), CallSiteDefinition { module: "/bin/a".into(), offset: 16, caller: None, frames: vec![] });
        assert_eq!(names.site((1, 77)), CallSiteDefinition { module: String::new(), offset: 77, caller: None, frames: vec![] });
    }

    #[test]
    fn functions_with_unusual_numbers_are_known_by_their_names() {
        let names = names("EVENT_TYPE\n9    50000003    MPI Other\nVALUES\n69 MPI_Win_complete\n777 MPI_Comm_idup\n778 Nothing\n");
        let name = |value| names.operation(MpiEventType::Other, value).map(FunctionId::name);
        assert_eq!([name(69), name(777), name(778)], [Some("MPI_Win_start"), Some("MPI_Comm_idup"), None]);
    }

    #[test]
    fn nodes_have_the_names_of_the_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "LEVEL CPU SIZE 2\n1.a\n2.b\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL THREAD SIZE 2\nTHREAD 1.1.1\n")
            .unwrap();
        assert_eq!(read_node_names(file.path()).unwrap(), ["a", "b"]);
    }
}
