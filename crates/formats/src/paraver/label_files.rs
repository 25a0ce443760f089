//! Writes the `.pcf` and `.row` files: the labels of a trace.

use std::collections::BTreeSet;
use std::fmt::Write;

use sintonia_mpi::FunctionId;

use super::caller_labels::{CallerLabels, NumberedLabels};
use super::event_types::{self, MpiEventType};
use super::record_text;
use super::resource_model::ResourceModel;

/// The states, with the names and colours known to users of Paraver (from Extrae's src/merger/paraver/labels.h).
const STATES: [(u32, &str, &str); 18] = [
    (0, "Idle", "117,195,255"),
    (1, "Running", "0,0,255"),
    (2, "Not created", "255,255,255"),
    (3, "Waiting a message", "255,0,0"),
    (4, "Blocking Send", "255,0,174"),
    (5, "Synchronization", "179,0,0"),
    (6, "Test/Probe", "0,255,0"),
    (7, "Scheduling and Fork/Join", "255,255,0"),
    (8, "Wait/WaitAll", "235,0,0"),
    (9, "Blocked", "0,162,0"),
    (10, "Immediate Send", "255,0,255"),
    (11, "Immediate Receive", "100,100,177"),
    (12, "I/O", "172,174,41"),
    (13, "Group Communication", "255,144,26"),
    (14, "Tracing Disabled", "2,255,177"),
    (15, "Others", "192,224,0"),
    (16, "Send Receive", "66,66,66"),
    (17, "Memory transfer", "255,0,96"),
];

const DEFAULT_OPTIONS: &str = "DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC          State As Is


";

/// The `.pcf`: labels of states, events and callers.
pub(super) fn pcf_text(operations: &BTreeSet<FunctionId>, callers: &CallerLabels) -> String {
    let mut text = String::from(DEFAULT_OPTIONS);
    text.push_str("STATES\n");
    STATES.iter().for_each(|(state, name, _)| push_line(&mut text, format_args!("{state}    {name}")));
    text.push_str("\n\nSTATES_COLOR\n");
    STATES.iter().for_each(|(state, _, colour)| push_line(&mut text, format_args!("{state}    {{{colour}}}")));
    text.push_str("\n\n");
    push_event_types(&mut text, 6, &[(event_types::APPLICATION, "Application".into())]);
    push_values(&mut text, [(0, "End"), (1, "Begin")]);
    MpiEventType::ALL.into_iter().for_each(|group| push_functions(&mut text, group, operations));
    push_detail_types(&mut text, operations);
    if callers.levels > 0 {
        push_caller_types(&mut text, event_types::CALLER, "Caller at level", callers.levels, &callers.functions);
        push_caller_types(&mut text, event_types::CALLER_LINE, "Caller line at level", callers.levels, &callers.lines);
    }
    text
}

/// The functions of one event type.
fn push_functions(text: &mut String, group: MpiEventType, operations: &BTreeSet<FunctionId>) {
    let mut called: Vec<(usize, &str)> = operations
        .iter()
        .map(|operation| (event_types::event_code(*operation), operation.name()))
        .filter(|(event, _)| event.event_type == group)
        .map(|(event, name)| (event.value as usize, if name == "MPI_Init_thread" { "MPI_Init" } else { name }))
        .collect();
    called.sort_unstable();
    called.dedup();
    if !called.is_empty() {
        push_event_types(text, 9, &[(group.type_id(), group.label().into())]);
        push_values(text, called.into_iter().chain([(0, "Outside MPI")]));
    }
}

/// Event types with plain numeric values.
fn push_detail_types(text: &mut String, operations: &BTreeSet<FunctionId>) {
    let has = |group: MpiEventType| operations.iter().any(|operation| event_types::event_code(*operation).event_type == group);
    let mut block = |wanted: bool, names: &[(u64, &str)]| {
        if wanted {
            let names: Vec<_> = names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
            push_event_types(text, 1, &names);
            text.push_str("\n\n");
        }
    };
    block(
        has(MpiEventType::OneSided),
        &[(event_types::ONE_SIDED_BYTES, "MPI One-sided size"), (event_types::ONE_SIDED_TARGET, "MPI One-sided target rank")],
    );
    block(
        has(MpiEventType::Collective),
        &[
            (event_types::COLLECTIVE_SENT, "Send Size in MPI Global OP"),
            (event_types::COLLECTIVE_RECEIVED, "Recv Size in MPI Global OP"),
            (event_types::COLLECTIVE_ROOT, "Root in MPI Global OP"),
            (event_types::COLLECTIVE_COMMUNICATOR, "Communicator in MPI Global OP"),
        ],
    );
    block(has(MpiEventType::Io), &[(event_types::FILE_BYTES, "MPI-IO size in bytes")]);
    block(
        has(MpiEventType::PointToPoint) || has(MpiEventType::Other),
        &[
            (event_types::FOUND_NOTHING, "Unsuccessful MPI test or probe"),
            (event_types::COMMUNICATOR, "Communicator of MPI call"),
            (event_types::COMMUNICATOR_CREATED, "Communicator created or freed by MPI call"),
        ],
    );
}

fn push_caller_types(text: &mut String, first: u64, label: &str, levels: u64, names: &NumberedLabels) {
    let levels: Vec<_> = (1..=levels).map(|level| (first + level, format!("{label} {level}"))).collect();
    push_event_types(text, 0, &levels);
    let nameless = [(0, "End"), (1, "Unresolved"), (2, "_NOT_Found")];
    push_values(text, nameless.into_iter().chain(names.iter()));
}

fn push_event_types(text: &mut String, gradient: u32, types: &[(u64, String)]) {
    text.push_str("EVENT_TYPE\n");
    types.iter().for_each(|(number, label)| push_line(text, format_args!("{gradient}    {number}    {label}")));
}

fn push_values<'a>(text: &mut String, values: impl IntoIterator<Item = (usize, &'a str)>) {
    text.push_str("VALUES\n");
    values.into_iter().for_each(|(value, label)| push_line(text, format_args!("{value}      {label}")));
    text.push_str("\n\n");
}

/// The `.row`: names of CPUs, nodes and threads.
pub(super) fn row_text(layout: &ResourceModel, threads: &[usize]) -> String {
    let mut text = String::new();
    let digits = layout.tasks.len().to_string().len();
    push_line(&mut text, format_args!("LEVEL CPU SIZE {}", layout.tasks.len()));
    let mut cpu = 0;
    for node in &layout.nodes {
        for _ in 0..node.task_count {
            cpu += 1;
            push_line(&mut text, format_args!("{cpu:0digits$}.{}", record_text::single_line(&node.name)));
        }
    }
    push_line(&mut text, format_args!("\nLEVEL NODE SIZE {}", layout.nodes.len()));
    layout.nodes.iter().for_each(|node| push_line(&mut text, format_args!("{}", record_text::single_line(&node.name))));
    push_line(&mut text, format_args!("\nLEVEL THREAD SIZE {}", threads.iter().sum::<usize>()));
    for (task, threads) in threads.iter().enumerate() {
        (1..=*threads).for_each(|thread| push_line(&mut text, format_args!("THREAD 1.{}.{thread}", task + 1)));
    }
    text
}

fn push_line(text: &mut String, line: std::fmt::Arguments) {
    text.write_fmt(line).expect("a string takes any text");
    text.push('\n');
}
