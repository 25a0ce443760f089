//! The `.pcf` and the `.row` of a trace: what its numbers are called.

use std::collections::BTreeSet;
use std::fmt::Write;

use sintonia_mpi::Operation;

use super::callers::{Callers, Names};
use super::events::{self, Group};
use super::layout::Layout;
use super::text;

/// The states that occur, with the names and colours that users of Paraver know (facts of Extrae's src/merger/paraver/labels.h).
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

const OPTIONS: &str = "DEFAULT_OPTIONS

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

/// The `.pcf`: names of states, events and callers.
pub fn pcf(operations: &BTreeSet<Operation>, callers: &Callers) -> String {
    let mut text = String::from(OPTIONS);
    text.push_str("STATES\n");
    STATES.iter().for_each(|(state, name, _)| add(&mut text, format_args!("{state}    {name}")));
    text.push_str("\n\nSTATES_COLOR\n");
    STATES.iter().for_each(|(state, _, colour)| add(&mut text, format_args!("{state}    {{{colour}}}")));
    text.push_str("\n\n");
    types(&mut text, 6, &[(events::APPLICATION, "Application".into())]);
    values(&mut text, [(0, "End"), (1, "Begin")]);
    Group::ALL.into_iter().for_each(|group| functions(&mut text, group, operations));
    details(&mut text, operations);
    if callers.levels > 0 {
        caller_types(&mut text, events::CALLER, "Caller at level", callers.levels, &callers.functions);
        caller_types(&mut text, events::CALLER_LINE, "Caller line at level", callers.levels, &callers.lines);
    }
    text
}

/// The functions of one group.
fn functions(text: &mut String, group: Group, operations: &BTreeSet<Operation>) {
    let mut called: Vec<(usize, &str)> = operations
        .iter()
        .map(|operation| (events::of(*operation), operation.name()))
        .filter(|(event, _)| event.group == group)
        .map(|(event, name)| (event.value as usize, if name == "MPI_Init_thread" { "MPI_Init" } else { name }))
        .collect();
    called.sort_unstable();
    called.dedup();
    if !called.is_empty() {
        types(text, 9, &[(group.event_type(), group.label().into())]);
        values(text, called.into_iter().chain([(0, "Outside MPI")]));
    }
}

/// Numbers that stand beside the begin of a call and mean themselves.
fn details(text: &mut String, operations: &BTreeSet<Operation>) {
    let has = |group: Group| operations.iter().any(|operation| events::of(*operation).group == group);
    let mut block = |wanted: bool, names: &[(u64, &str)]| {
        if wanted {
            let names: Vec<_> = names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
            types(text, 1, &names);
            text.push_str("\n\n");
        }
    };
    block(
        has(Group::OneSided),
        &[(events::ONE_SIDED_BYTES, "MPI One-sided size"), (events::ONE_SIDED_TARGET, "MPI One-sided target rank")],
    );
    block(
        has(Group::Collective),
        &[
            (events::COLLECTIVE_SENT, "Send Size in MPI Global OP"),
            (events::COLLECTIVE_RECEIVED, "Recv Size in MPI Global OP"),
            (events::COLLECTIVE_ROOT, "Root in MPI Global OP"),
            (events::COLLECTIVE_COMMUNICATOR, "Communicator in MPI Global OP"),
        ],
    );
    block(has(Group::Files), &[(events::FILE_BYTES, "MPI-IO size in bytes")]);
    block(
        has(Group::Messages) || has(Group::Other),
        &[
            (events::FOUND_NOTHING, "MPI test or probe that found nothing"),
            (events::COMMUNICATOR, "Communicator of MPI call"),
            (events::COMMUNICATOR_MADE, "Communicator that MPI call made or freed"),
        ],
    );
}

fn caller_types(text: &mut String, first: u64, label: &str, levels: u64, names: &Names) {
    let levels: Vec<_> = (1..=levels).map(|level| (first + level, format!("{label} {level}"))).collect();
    types(text, 0, &levels);
    let nameless = [(0, "End"), (1, "Unresolved"), (2, "_NOT_Found")];
    values(text, nameless.into_iter().chain(names.iter()));
}

fn types(text: &mut String, gradient: u32, types: &[(u64, String)]) {
    text.push_str("EVENT_TYPE\n");
    types.iter().for_each(|(number, label)| add(text, format_args!("{gradient}    {number}    {label}")));
}

fn values<'a>(text: &mut String, values: impl IntoIterator<Item = (usize, &'a str)>) {
    text.push_str("VALUES\n");
    values.into_iter().for_each(|(value, label)| add(text, format_args!("{value}      {label}")));
    text.push_str("\n\n");
}

/// The `.row`: names of processors, nodes and threads.
pub fn row(layout: &Layout, threads: &[usize]) -> String {
    let mut text = String::new();
    let digits = layout.tasks.len().to_string().len();
    add(&mut text, format_args!("LEVEL CPU SIZE {}", layout.tasks.len()));
    let mut cpu = 0;
    for node in &layout.nodes {
        for _ in 0..node.tasks {
            cpu += 1;
            add(&mut text, format_args!("{cpu:0digits$}.{}", text::label(&node.name)));
        }
    }
    add(&mut text, format_args!("\nLEVEL NODE SIZE {}", layout.nodes.len()));
    layout.nodes.iter().for_each(|node| add(&mut text, format_args!("{}", text::label(&node.name))));
    add(&mut text, format_args!("\nLEVEL THREAD SIZE {}", threads.iter().sum::<usize>()));
    for (task, threads) in threads.iter().enumerate() {
        (1..=*threads).for_each(|thread| add(&mut text, format_args!("THREAD 1.{}.{thread}", task + 1)));
    }
    text
}

fn add(text: &mut String, line: std::fmt::Arguments) {
    text.write_fmt(line).expect("a string takes any text");
    text.push('\n');
}
