//! Sintonia's properties of OTF2 definitions, for what OTF2 itself cannot express of a run and its processes.
//!
//! Each property is written and read here, side by side, so that none is lost in a round trip.

use std::collections::BTreeMap;

use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind};
use sintonia_recording::header::{NeighbourClass, ProcessExit, RecordedRank, RecordingHeader};
use sintonia_recording::host::HostDescription;

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PropertyValue {
    String(String),
    Uint64(u64),
    Int64(i64),
    Double(f64),
}

/// Name and value.
pub(super) type Property = (&'static str, PropertyValue);

/// Prefix of Sintonia's names.
pub(super) const PREFIX: &str = "SINTONIA_";
/// The module of a call site.
pub(super) const MODULE: &str = "SINTONIA_MODULE";
/// The offset of a call site in its module.
pub(super) const OFFSET: &str = "SINTONIA_OFFSET";
/// The index of a frame of sampled stacks.
pub(super) const FRAME: &str = "SINTONIA_FRAME";
/// The module of such a frame.
pub(super) const FRAME_MODULE: &str = "SINTONIA_FRAME_MODULE";
/// The number of samples of a thread that were lost.
pub(super) const LOST_SAMPLES: &str = "SINTONIA_LOST_SAMPLES";
/// The number of a thread in its process.
pub(super) const THREAD: &str = "SINTONIA_THREAD";
/// The processors on which a thread may run at its first call.
pub(super) const AFFINITY: &str = "SINTONIA_AFFINITY";
/// What a host is, as in `recording.json`.
pub(super) const HOST: &str = "SINTONIA_HOST";
/// Why a process has no events: [`ABSENT`] or [`OUTSIDE`].
pub(super) const MISSING: &str = "SINTONIA_MISSING";
/// A process that left no data.
pub(super) const ABSENT: &str = "absent";
/// A placeholder for all processes outside the recording.
pub(super) const OUTSIDE: &str = "outside";

/// The name of groups used in window synchronisation.
pub(super) const GROUP: &str = "SINTONIA_GROUP";

const COMMAND: &str = "SINTONIA_COMMAND";
const STARTED: &str = "SINTONIA_STARTED";
const ZERO: &str = "SINTONIA_ZERO";
const EXIT_STATUS: &str = "SINTONIA_EXIT_STATUS";
const PARAMETERS: &str = "SINTONIA_PARAMETERS";
const MPI_LIBRARY: &str = "SINTONIA_MPI_LIBRARY";
const MPI_VERSION: &str = "SINTONIA_MPI_VERSION";
const MPI_ABI: &str = "SINTONIA_MPI_ABI";
const CLOCK_ERROR: &str = "SINTONIA_CLOCK_ERROR";
const NOTES: &str = "SINTONIA_NOTES";
const NEIGHBOURS: &str = "SINTONIA_NEIGHBOURS";

const THREADS: &str = "SINTONIA_THREADS";
const BEGIN: &str = "SINTONIA_BEGIN";
const END: &str = "SINTONIA_END";
const END_STATUS: &str = "SINTONIA_HOW_IT_ENDED";
const DROPPED: &str = "SINTONIA_DROPPED";
const DAMAGED: &str = "SINTONIA_DAMAGED_BLOCKS";
const LIMITS: &str = "SINTONIA_LIMITS";
const USAGE: &str = "SINTONIA_USAGE";
const MEMORY: &str = "SINTONIA_MEMORY";
const SAMPLING: &str = "SINTONIA_SAMPLING";
const COUNTED: &str = "SINTONIA_COUNTED";
const SEGMENT_COUNTERS: &str = "SINTONIA_COUNTERS";
const SAMPLE_COUNTERS: &str = "SINTONIA_SAMPLE_COUNTERS";

pub(super) fn run_properties(header: &RecordingHeader) -> Vec<Property> {
    let json = |value: serde_json::Value| PropertyValue::String(value.to_string());
    let text = |text: &str| PropertyValue::String(text.to_owned());
    let mut facts = vec![
        (COMMAND, json(header.command.clone().into())),
        (STARTED, PropertyValue::Double(header.started_s)),
        (PARAMETERS, json(serde_json::json!(header.parameters))),
        (MPI_LIBRARY, text(&header.mpi.library)),
        (MPI_VERSION, text(&header.mpi.version)),
        (MPI_ABI, text(&header.mpi.abi)),
        (CLOCK_ERROR, PropertyValue::Double(header.clock_error_s)),
        (NOTES, json(header.notes.clone().into())),
    ];
    let neighbours: BTreeMap<usize, &Vec<NeighbourClass>> =
        header.communicators.iter().map(|communicator| &communicator.neighbours).enumerate().filter(|(_, all)| !all.is_empty()).collect();
    facts.push((NEIGHBOURS, json(serde_json::json!(neighbours))));
    facts.extend(header.zero_s.map(|seconds| (ZERO, PropertyValue::Double(seconds))));
    facts.extend(header.exit_status.map(|status| (EXIT_STATUS, PropertyValue::Int64(status.into()))));
    facts
}

/// Sets a property of a run, if it is known. A header cannot hold non-finite numbers.
pub(super) fn apply_run_property(header: &mut RecordingHeader, name: &str, value: &PropertyValue) {
    match (name, value) {
        (COMMAND, PropertyValue::String(json)) => header.command = serde_json::from_str(json).unwrap_or_default(),
        (STARTED, PropertyValue::Double(seconds)) if seconds.is_finite() => header.started_s = *seconds,
        (ZERO, PropertyValue::Double(seconds)) if seconds.is_finite() => header.zero_s = Some(*seconds),
        (PARAMETERS, PropertyValue::String(json)) => header.parameters = serde_json::from_str(json).unwrap_or_default(),
        (MPI_LIBRARY, PropertyValue::String(text)) => header.mpi.library = text.clone(),
        (MPI_VERSION, PropertyValue::String(text)) => header.mpi.version = text.clone(),
        (MPI_ABI, PropertyValue::String(text)) => header.mpi.abi = text.clone(),
        (CLOCK_ERROR, PropertyValue::Double(seconds)) if seconds.is_finite() => header.clock_error_s = *seconds,
        (NOTES, PropertyValue::String(json)) => header.notes = serde_json::from_str(json).unwrap_or_default(),
        (NEIGHBOURS, PropertyValue::String(json)) => {
            let neighbours: BTreeMap<usize, Vec<NeighbourClass>> = serde_json::from_str(json).unwrap_or_default();
            for (number, neighbours) in neighbours {
                if let Some(communicator) = header.communicators.get_mut(number) {
                    communicator.neighbours = neighbours;
                }
            }
        }
        (EXIT_STATUS, PropertyValue::Int64(status)) => header.exit_status = i32::try_from(*status).ok(),
        _ => {}
    }
}

pub(super) fn rank_properties(rank: &RecordedRank) -> Vec<Property> {
    let json = |value: serde_json::Value| PropertyValue::String(value.to_string());
    let mut facts = vec![
        (THREADS, PropertyValue::Uint64(rank.threads.into())),
        (BEGIN, PropertyValue::Int64(rank.begin_ns)),
        (END, PropertyValue::Int64(rank.end_ns)),
        (END_STATUS, PropertyValue::String(end_name(rank.end).into())),
        (DROPPED, PropertyValue::Uint64(rank.dropped)),
        (DAMAGED, PropertyValue::Uint64(rank.damaged_blocks)),
    ];
    facts.extend(rank.limits.as_ref().map(|limits| (LIMITS, json(serde_json::json!(limits)))));
    facts.extend(rank.memory.as_ref().map(|memory| (MEMORY, json(serde_json::json!(memory)))));
    facts.extend(rank.sampling.map(|sampling| (SAMPLING, json(serde_json::json!(sampling)))));
    facts.extend(rank.counters.as_ref().map(|counters| (COUNTED, json(serde_json::json!(counters)))));
    facts.extend((!rank.usage.is_empty()).then(|| (USAGE, json(serde_json::json!(rank.usage)))));
    facts
}

/// The property with the counters of a rank.
pub(super) fn counters_property(intervals: CounterIntervalKind, counters: &[CounterDefinition]) -> Property {
    (counters_name(intervals), PropertyValue::String(serde_json::json!(counters).to_string()))
}

/// The counters of a rank, from its properties.
pub(super) fn parse_counters(properties: &[(String, PropertyValue)], intervals: CounterIntervalKind) -> Vec<CounterDefinition> {
    let found = properties.iter().find(|(name, _)| name == counters_name(intervals));
    match found {
        Some((_, PropertyValue::String(json))) => serde_json::from_str(json).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn counters_name(intervals: CounterIntervalKind) -> &'static str {
    match intervals {
        CounterIntervalKind::Segments => SEGMENT_COUNTERS,
        CounterIntervalKind::Samples => SAMPLE_COUNTERS,
    }
}

/// The property of a host.
pub(super) fn host_property(host: &HostDescription) -> Property {
    (HOST, PropertyValue::String(serde_json::json!(host).to_string()))
}

/// The processors on which a thread of a rank may run.
pub(super) fn affinity_property(rank: &RecordedRank, thread: u16) -> Option<Property> {
    let usage = rank.usage.iter().find(|usage| usage.thread == thread)?;
    Some((AFFINITY, PropertyValue::String(usage.affinity.clone())))
}

/// Sets what the hosts are, in the order of their names.
pub(super) fn apply_host_properties(header: &mut RecordingHeader, properties: &[String]) {
    let described: Vec<HostDescription> = properties.iter().filter_map(|json| serde_json::from_str(json).ok()).collect();
    if described.is_empty() {
        return;
    }
    let named = |name: &String| HostDescription { name: name.clone(), ..HostDescription::default() };
    let description = |name: &String| described.iter().find(|host| host.name == *name).cloned().unwrap_or_else(|| named(name));
    header.host_descriptions = header.hosts.iter().map(description).collect();
}

/// Sets a property of a process, if it is known.
pub(super) fn apply_rank_property(rank: &mut RecordedRank, name: &str, value: &PropertyValue) {
    match (name, value) {
        (THREADS, PropertyValue::Uint64(number)) => rank.threads = *number as u32,
        (BEGIN, PropertyValue::Int64(time)) => rank.begin_ns = *time,
        (END, PropertyValue::Int64(time)) => rank.end_ns = *time,
        (END_STATUS, PropertyValue::String(text)) => {
            let ends = [ProcessExit::Finalized, ProcessExit::Exited, ProcessExit::Aborted, ProcessExit::CutShort];
            rank.end = ends.into_iter().find(|end| end_name(*end) == text).unwrap_or_default();
        }
        (DROPPED, PropertyValue::Uint64(number)) => rank.dropped = *number,
        (DAMAGED, PropertyValue::Uint64(number)) => rank.damaged_blocks = *number,
        (LIMITS, PropertyValue::String(json)) => rank.limits = serde_json::from_str(json).ok(),
        (MEMORY, PropertyValue::String(json)) => rank.memory = serde_json::from_str(json).ok(),
        (COUNTED, PropertyValue::String(json)) => rank.counters = serde_json::from_str(json).ok(),
        (SAMPLING, PropertyValue::String(json)) => rank.sampling = serde_json::from_str(json).ok(),
        (USAGE, PropertyValue::String(json)) => rank.usage = serde_json::from_str(json).unwrap_or_default(),
        _ => {}
    }
}

/// The name of a communicator: its constructor, and its parent where the definition cannot have it.
pub(super) fn communicator_name(number: u32, made_by: &str, parent: Option<u32>) -> String {
    let name = match (number, made_by) {
        (0, "MPI_COMM_WORLD") => made_by.to_owned(),
        _ => format!("{made_by} {number}"),
    };
    match parent {
        None => name,
        Some(parent) => format!("{name} of {parent}"),
    }
}

/// Constructor and parent of a communicator, from its name.
pub(super) fn parse_communicator_name(name: &str) -> (String, Option<u32>) {
    let mut words = name.split(' ');
    let made_by = words.next().filter(|word| word.starts_with("MPI_")).unwrap_or_default();
    let parent = words.skip(1).skip_while(|word| *word != "of").nth(1).and_then(|word| word.parse().ok());
    (made_by.to_owned(), parent)
}

fn end_name(end: ProcessExit) -> &'static str {
    match end {
        ProcessExit::Finalized => "finalized",
        ProcessExit::Exited => "exited",
        ProcessExit::Aborted => "aborted",
        ProcessExit::CutShort => "cut short",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::definitions::{CountersDefinition, SamplingDefinition};
    use sintonia_recording::header::{CommunicatorDefinition, MpiVersion};
    use sintonia_recording::host::{ProcessLimits, ProcessMemory, ThreadUsage};

    #[test]
    fn a_communicator_is_named_by_what_made_it() {
        let cases =
            [(0, "MPI_COMM_WORLD", None), (5, "MPI_Comm_dup", None), (6, "MPI_Intercomm_merge", Some(3)), (7, "", Some(1)), (8, "", None)];
        for (number, made_by, parent) in cases {
            let name = communicator_name(number, made_by, parent);
            assert_eq!(parse_communicator_name(&name), (made_by.to_owned(), parent), "{name}");
        }
        assert_eq!(parse_communicator_name("my communicator"), (String::new(), None));
    }

    #[test]
    fn every_fact_comes_back() {
        let header = RecordingHeader {
            command: vec!["mpirun".into(), "a \"b\"".into()],
            started_s: 1.7e9 + 0.125,
            zero_s: Some(1.7e9 + 0.25),
            exit_status: Some(-3),
            parameters: [("size".to_owned(), 0.1)].into(),
            mpi: MpiVersion { library: "An MPI".into(), version: "two\nlines".into(), abi: "openmpi".into() },
            clock_error_s: 1e-7,
            notes: vec!["Something was lost.".into()],
            ..RecordingHeader::default()
        };
        let neighbours = vec![NeighbourClass { ranks: "0-3".into(), sources: "-1".into(), destinations: "1".into() }];
        let communicators =
            vec![CommunicatorDefinition::default(), CommunicatorDefinition { neighbours, ..CommunicatorDefinition::default() }];
        let header = RecordingHeader { communicators, ..header };
        let mut told = RecordingHeader { communicators: vec![CommunicatorDefinition::default(); 2], ..RecordingHeader::default() };
        run_properties(&header).iter().for_each(|(name, value)| apply_run_property(&mut told, name, value));
        assert_eq!(told, header);
        apply_run_property(&mut told, STARTED, &PropertyValue::Double(f64::NAN));
        assert_eq!(told, header, "what is no number is no fact");
        for end in [ProcessExit::Finalized, ProcessExit::Exited, ProcessExit::Aborted, ProcessExit::CutShort] {
            let usage = vec![ThreadUsage { thread: 1, cpu_ns: 7, affinity: "0-3".into(), ..ThreadUsage::default() }];
            let limits = Some(ProcessLimits { cpu_quota: Some(1.5), memory_bytes: Some(9), ..ProcessLimits::default() });
            let known = RecordedRank { usage, limits, ..RecordedRank::default() };
            let sampling = Some(SamplingDefinition { period_ns: 10_101_010, kernel: true, stacks: false });
            let counters = Some(CountersDefinition { events: vec!["cycles".into()], shortest_ns: 700 });
            let memory = Some(ProcessMemory { initial_bytes: 5, peak_bytes: 8, ..ProcessMemory::default() });
            let known = RecordedRank { counters, memory, ..known };
            let rank = RecordedRank { threads: 2, begin_ns: -5, end_ns: 10, end, dropped: 3, damaged_blocks: 4, sampling, ..known };
            let mut told = RecordedRank::default();
            rank_properties(&rank).iter().for_each(|(name, value)| apply_rank_property(&mut told, name, value));
            assert_eq!(told, rank);
        }
    }

    #[test]
    fn hosts_are_described_in_the_order_of_their_names() {
        let host = |name: &str, cores| HostDescription { name: name.into(), cores, ..HostDescription::default() };
        let properties: Vec<String> = [host("b", Some(4)), host("a", Some(2))]
            .iter()
            .filter_map(|host| match host_property(host).1 {
                PropertyValue::String(json) => Some(json),
                _ => None,
            })
            .collect();
        let mut header = RecordingHeader { hosts: ["a", "b", "c"].map(String::from).to_vec(), ..RecordingHeader::default() };
        apply_host_properties(&mut header, &[]);
        assert!(header.host_descriptions.is_empty());
        apply_host_properties(&mut header, &properties);
        assert_eq!(header.host_descriptions, [host("a", Some(2)), host("b", Some(4)), host("c", None)]);
    }
}
