//! A call tree with known times, and the calls that samples are in.

use serde_json::{Value, json};
use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::{CallDescriptor, CallTable};
use sintonia_recording::samples::{Sample, StackFrame};

use super::{
    LabelledSample, LineTimes, ModuleKind, RecordedStacks, SelectedStacks, StackLeaf, StackSelection, StackTree, ThreadStacks, leaf,
};

fn frame(function: &str, line: u32, caller: Option<u32>) -> StackFrame {
    StackFrame { caller, function: Some(function.into()), file: Some("a.c".into()), line: Some(line), module: "/bin/a.out".into() }
}

fn mpi(name: &str) -> StackLeaf {
    StackLeaf::Mpi(FunctionId::from_name(name))
}

fn thread(rank: u32, thread: u16, samples: &[(i64, u32, StackLeaf)]) -> ThreadStacks {
    let sample =
        |(time, frame, leaf): &(i64, u32, StackLeaf)| LabelledSample { time: *time, frame: *frame, leaf: *leaf, is_truncated: false };
    ThreadStacks { rank, thread, sample_ns: 10, samples: samples.iter().map(sample).collect() }
}

/// `main` calls `work` at lines 1 and 2, which calls itself at line 6; both call MPI, and `work` the kernel.
fn stacks() -> RecordedStacks {
    let library = StackFrame { caller: Some(1), function: Some("exp".into()), module: "/lib/libm.so.6".into(), ..StackFrame::default() };
    let frames = vec![
        frame("main", 1, None),
        frame("work", 5, Some(0)),
        frame("work", 6, Some(1)),
        frame("main", 2, None),
        frame("work", 5, Some(3)),
        library,
    ];
    let first = [
        (0, 0, StackLeaf::Computation),
        (10, 1, StackLeaf::Computation),
        (20, 2, StackLeaf::Computation),
        (30, 4, StackLeaf::Kernel),
        (40, 3, mpi("MPI_Send")),
        (50, 5, StackLeaf::Computation),
    ];
    let second = [(15, 4, StackLeaf::Computation), (45, 4, mpi("MPI_Recv"))];
    RecordedStacks::new(frames, vec![thread(0, 0, &first), thread(1, 0, &second), thread(1, 3, &[(35, 3, StackLeaf::Computation)])])
}

fn all() -> StackSelection {
    StackSelection { range: (i64::MIN, i64::MAX), ranks: vec![0, 1], threads: None }
}

/// A tree as text: each node with its time alone and with what it called.
fn shown(stacks: &RecordedStacks, selected: &SelectedStacks, has_lines: bool) -> Vec<String> {
    let tree = serde_json::to_value(StackTree::new(stacks, selected, has_lines)).unwrap();
    let number = |column: &str, row: usize| tree[column][row].as_i64().unwrap_or(0);
    let name = |row: usize| {
        let function = &stacks.functions[number("function", row) as usize].name;
        if number("line", row) > 0 { format!("{function}:{}", number("line", row)) } else { function.clone() }
    };
    let path = |row: usize| {
        let caller = |row: &usize| usize::try_from(number("caller", *row)).ok();
        let names: Vec<String> = std::iter::successors(Some(row), caller).map(name).collect();
        names.into_iter().rev().collect::<Vec<String>>().join(" ")
    };
    let line = |row: usize| {
        let times = ["self", "computation", "kernel", "mpi"].map(|column| number(column, row));
        format!("{} {times:?}", path(row))
    };
    let mut lines: Vec<String> = (0..tree["caller"].as_array().unwrap().len()).map(line).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn functions_have_their_own_time_and_that_of_what_they_called() {
    let stacks = stacks();
    let expected = [
        "main MPI_Send [10, 0, 0, 10]",
        "main [20, 60, 10, 20]",
        "main work MPI_Recv [10, 0, 0, 10]",
        "main work [20, 40, 10, 10]",
        "main work [kernel] [10, 0, 10, 0]",
        "main work exp [10, 10, 0, 0]",
        "main work work [10, 10, 0, 0]",
    ];
    let selected = stacks.select(&all());
    assert_eq!(shown(&stacks, &selected, false), expected);
    assert_eq!((selected.samples, selected.ranks, selected.threads), (9, 2, 3));
}

#[test]
fn a_tree_of_lines_tells_callers_of_two_lines_apart() {
    let stacks = stacks();
    let shown = shown(&stacks, &stacks.select(&all()), true);
    for expected in ["main:1 work:5 [10, 30, 0, 0]", "main:2 work:5 [10, 10, 10, 10]", "main:1 work:5 exp [10, 10, 0, 0]"] {
        assert!(shown.iter().any(|line| line == expected), "{expected} in {shown:?}");
    }
}

#[test]
fn a_selection_has_its_ranks_threads_and_times() {
    let stacks = stacks();
    let count = |selection: StackSelection| stacks.select(&selection).samples;
    assert_eq!(count(StackSelection { ranks: vec![1], ..all() }), 3);
    assert_eq!(count(StackSelection { threads: Some(vec![3]), ..all() }), 1);
    assert_eq!(count(StackSelection { range: (10, 30), ..all() }), 3);
    assert_eq!(stacks.last_thread(), 3);
}

#[test]
fn functions_are_told_apart_by_where_they_are() {
    let kinds: Vec<(String, ModuleKind)> = stacks().functions.into_iter().map(|function| (function.name, function.kind)).collect();
    let expected = [
        ("main", ModuleKind::Program),
        ("work", ModuleKind::Program),
        ("exp", ModuleKind::Library),
        ("[kernel]", ModuleKind::Kernel),
        ("MPI_Recv", ModuleKind::Mpi),
        ("MPI_Send", ModuleKind::Mpi),
    ];
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn a_line_counts_once_in_each_stack() {
    let stacks = stacks();
    let times = LineTimes::new(&stacks, &stacks.select(&all()), 1);
    let expected: Value = json!({
        "line": [1, 2, 5, 6], "self": [10, 10, 20, 10], "total": [40, 50, 60, 10], "is_function": [false, false, true, true],
    });
    assert_eq!(serde_json::to_value(&times).unwrap(), expected);
    assert_eq!(times.hottest_line(), 5);
}

#[test]
fn a_sample_in_mpi_is_in_the_call_of_its_time_or_in_the_nearest() {
    let call = |name: &str| CallDescriptor::new(FunctionId::from_name(name).unwrap());
    let table = CallTable {
        enter: vec![10, 30],
        leave: vec![20, 40],
        descriptor_ids: vec![0, 1],
        descriptors: vec![call("MPI_Send"), call("MPI_Recv")],
        ..CallTable::default()
    };
    let at = |time, in_mpi, in_kernel| leaf(&Sample { time, frame: 0, in_kernel, in_mpi, is_truncated: false }, Some(&table));
    assert_eq!([15, 35].map(|time| at(time, false, true)), [mpi("MPI_Send"), mpi("MPI_Recv")]);
    assert_eq!([5, 21, 29, 99].map(|time| at(time, true, false)), [mpi("MPI_Send"), mpi("MPI_Send"), mpi("MPI_Recv"), mpi("MPI_Recv")]);
    assert_eq!((at(25, false, false), at(25, false, true)), (StackLeaf::Computation, StackLeaf::Kernel));
    let elsewhere = Sample { time: 15, frame: 0, in_kernel: false, in_mpi: true, is_truncated: false };
    assert_eq!(leaf(&elsewhere, None), StackLeaf::Mpi(None), "calls of a profile are not in order");
}
