//! Writes the `.pcf` and `.row` files: the labels of a trace.

use std::collections::BTreeSet;

use sintonia_mpi::FunctionId;
use sintonia_paraver::{EventTypeBlock, EventTypeLabel, ResourceNames, StateLabel, TraceLabelFile};

use super::caller_labels::{CallerLabels, NumberedLabels};
use super::event_types::{self, MpiEventType};
use super::resource_model::ResourceModel;

/// The states, with the names and colours known to users of Paraver (from Extrae's src/merger/paraver/labels.h).
const STATES: [(u64, &str, [u8; 3]); 18] = [
    (0, "Idle", [117, 195, 255]),
    (1, "Running", [0, 0, 255]),
    (2, "Not created", [255, 255, 255]),
    (3, "Waiting a message", [255, 0, 0]),
    (4, "Blocking Send", [255, 0, 174]),
    (5, "Synchronization", [179, 0, 0]),
    (6, "Test/Probe", [0, 255, 0]),
    (7, "Scheduling and Fork/Join", [255, 255, 0]),
    (8, "Wait/WaitAll", [235, 0, 0]),
    (9, "Blocked", [0, 162, 0]),
    (10, "Immediate Send", [255, 0, 255]),
    (11, "Immediate Receive", [100, 100, 177]),
    (12, "I/O", [172, 174, 41]),
    (13, "Group Communication", [255, 144, 26]),
    (14, "Tracing Disabled", [2, 255, 177]),
    (15, "Others", [192, 224, 0]),
    (16, "Send Receive", [66, 66, 66]),
    (17, "Memory transfer", [255, 0, 96]),
];

/// The `.pcf`: labels of states, events and callers.
pub(super) fn trace_labels(operations: &BTreeSet<FunctionId>, callers: &CallerLabels) -> TraceLabelFile {
    let states = STATES.map(|(state, name, colour)| StateLabel { state, name: name.into(), colour }).to_vec();
    let mut blocks = vec![event_type_block(6, &[(event_types::APPLICATION, "Application".into())], [(0, "End"), (1, "Begin")])];
    blocks.extend(MpiEventType::ALL.into_iter().filter_map(|group| function_block(group, operations)));
    blocks.extend(detail_blocks(operations));
    if callers.levels > 0 {
        blocks.push(caller_block(event_types::CALLER, "Caller at level", callers.levels, &callers.functions));
        blocks.push(caller_block(event_types::CALLER_LINE, "Caller line at level", callers.levels, &callers.lines));
    }
    TraceLabelFile { states, event_types: blocks }
}

/// The functions of one event type.
fn function_block(group: MpiEventType, operations: &BTreeSet<FunctionId>) -> Option<EventTypeBlock> {
    let mut called: Vec<(u64, &str)> = operations
        .iter()
        .map(|operation| (event_types::event_code(*operation), operation.name()))
        .filter(|(event, _)| event.event_type == group)
        .map(|(event, name)| (event.value, if name == "MPI_Init_thread" { "MPI_Init" } else { name }))
        .collect();
    called.sort_unstable();
    called.dedup();
    let values = called.iter().copied().chain([(0, "Outside MPI")]);
    (!called.is_empty()).then(|| event_type_block(9, &[(group.type_id(), group.label().into())], values))
}

/// Event types with plain numeric values.
fn detail_blocks(operations: &BTreeSet<FunctionId>) -> Vec<EventTypeBlock> {
    let has = |group: MpiEventType| operations.iter().any(|operation| event_types::event_code(*operation).event_type == group);
    let mut blocks = Vec::new();
    let mut block = |wanted: bool, names: &[(u64, &str)]| {
        if wanted {
            let names: Vec<_> = names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
            blocks.push(event_type_block(1, &names, []));
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
    blocks
}

fn caller_block(first: u64, label: &str, levels: u64, names: &NumberedLabels) -> EventTypeBlock {
    let levels: Vec<_> = (1..=levels).map(|level| (first + level, format!("{label} {level}"))).collect();
    let nameless = [(0, "End"), (1, "Unresolved"), (2, "_NOT_Found")];
    event_type_block(0, &levels, nameless.into_iter().chain(names.iter()))
}

fn event_type_block<'a>(gradient: u32, types: &[(u64, String)], values: impl IntoIterator<Item = (u64, &'a str)>) -> EventTypeBlock {
    let label = |(event_type, label): &(u64, String)| EventTypeLabel { gradient, event_type: *event_type, label: label.clone() };
    EventTypeBlock {
        types: types.iter().map(label).collect(),
        values: values.into_iter().map(|(value, label)| (value, label.to_owned())).collect(),
    }
}

/// The `.row`: names of CPUs, nodes and threads.
pub(super) fn resource_names(layout: &ResourceModel, threads: &[usize]) -> ResourceNames {
    let digits = layout.tasks.len().to_string().len();
    let hosts = layout.nodes.iter().flat_map(|node| std::iter::repeat_n(&node.name, node.task_count));
    let cpus = (1..).zip(hosts).map(|(cpu, host)| format!("{cpu:0digits$}.{host}"));
    let threads = (1..).zip(threads).flat_map(|(task, threads)| (1..=*threads).map(move |thread| format!("THREAD 1.{task}.{thread}")));
    ResourceNames {
        levels: vec![
            ("CPU".into(), cpus.collect()),
            ("NODE".into(), layout.nodes.iter().map(|node| node.name.clone()).collect()),
            ("THREAD".into(), threads.collect()),
        ],
    }
}
