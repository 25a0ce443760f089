//! Traces as other tools write them, with less in them than Sintonia writes, and in other ways.

use std::fs;
use std::path::Path;

use sintonia_otf2::buffer::{BufferWrite, UNDEFINED_UINT32};
use sintonia_otf2::chunks::{ChunkContent, ChunkWriter};
use sintonia_otf2::code::CollectiveOp;
use sintonia_otf2::reference::SourceCodeLocationRef;
use sintonia_otf2::{AnchorFile, AttributeList, NO_ROOT, Value};
use sintonia_recording::header::ProcessExit;
use sintonia_recording::raw::{self, part};
use sintonia_recording::{Recording, call_table::RequestId};

use super::raw_definitions::DefinitionField::{StringRef, U8, U32, U64};
use super::raw_definitions::{DefinitionWriter, PARADIGM_MPI, STRING_VALUE, group_type, kind};
use super::{Seen, calls};
use crate::otf2::attributes::CallAttribute;
use crate::otf2::event::{MpiCollective, MpiEvent, MpiMessage};
use crate::otf2::properties;

const CHUNK: u64 = 1 << 18;
/// A region of the program, and where the regions of MPI begin.
const MAIN: u32 = 0;
const FUNCTIONS: [&str; 14] = [
    "MPI_Init",
    "MPI_Send",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "mpi_ibcast_",
    "MPI_Send_init",
    "MPI_Start",
    "MPI_Comm_rank",
    "MPI_Win_post",
    "MPI_Comm_split",
    "MPI_Barrier",
    "MPI_Test",
    "MPI_Finalize",
];

fn region(name: &str) -> u32 {
    1 + FUNCTIONS.iter().position(|known| *known == name).unwrap() as u32
}

/// A trace of two processes, the first of which has two threads.
pub(super) struct Foreign {
    pub definitions: DefinitionWriter,
    pub threads: [Vec<(u64, MpiEvent)>; 3],
    /// The definitions of the first thread's own.
    pub local: Vec<Vec<u8>>,
}

const WORLD: u32 = 0;
const OWN: u32 = 1;
const WINDOW: u32 = 0;
const LOCATIONS: [u64; 3] = [10, 30, 20];

impl Foreign {
    pub(super) fn new() -> Foreign {
        let mut definitions = DefinitionWriter::default();
        // A tick is ten milliseconds.
        definitions.add(kind::CLOCK_PROPERTIES, &[U64(100), U64(5), U64(100), U64(u64::MAX)]);
        define_locations(&mut definitions);
        for (number, name) in (0..).zip(std::iter::once("main").chain(FUNCTIONS)) {
            let parts = [U32(number), StringRef(name), StringRef(""), U8(0), StringRef("main.c"), U32(1), U32(9)];
            definitions.add(kind::REGION, &parts);
        }
        define_communicators(&mut definitions);
        Foreign { definitions, threads: Default::default(), local: Vec::new() }
    }

    /// A call of the first thread, from one moment to another, with events in between.
    pub(super) fn call(&mut self, name: &str, [enter, leave]: [u64; 2], events: &[MpiEvent]) -> &mut Foreign {
        self.call_of(0, name, [enter, leave], events)
    }

    fn call_of(&mut self, thread: usize, name: &str, [enter, leave]: [u64; 2], events: &[MpiEvent]) -> &mut Foreign {
        let events = events.iter().map(|event| (leave, event.clone()));
        self.threads[thread].push((enter, MpiEvent::Enter(region(name))));
        self.threads[thread].extend(events);
        self.threads[thread].push((leave, MpiEvent::Leave(region(name))));
        self
    }

    pub(super) fn write(&self, folder: &Path) {
        let mut definitions = ChunkWriter::create(folder.join("t.def"), ChunkContent::Definitions, CHUNK).unwrap();
        self.definitions.records().for_each(|record| definitions.write_definition(record).unwrap());
        definitions.finish().unwrap();
        fs::create_dir_all(folder.join("t")).unwrap();
        for (events, location) in self.threads.iter().zip(LOCATIONS) {
            let mut writer = ChunkWriter::create(folder.join(format!("t/{location}.evt")), ChunkContent::Events, CHUNK).unwrap();
            for (time, event) in events {
                let mut record = Vec::new();
                event.to_otf2().encode(&mut record);
                writer.write_event(*time, &record).unwrap();
            }
            writer.finish().unwrap();
        }
        let mut local = ChunkWriter::create(folder.join(format!("t/{}.def", LOCATIONS[0])), ChunkContent::Definitions, CHUNK).unwrap();
        self.local.iter().for_each(|record| local.write_definition(record).unwrap());
        local.finish().unwrap();
        let anchor = AnchorFile {
            event_chunk_size: CHUNK,
            definition_chunk_size: CHUNK,
            location_count: 3,
            definition_count: self.definitions.len() as u64,
            machine_name: String::new(),
            creator: "Another tool".into(),
            description: String::new(),
            properties: Vec::new(),
        };
        fs::write(folder.join("t.otf2"), anchor.encode()).unwrap();
    }

    fn import(&self) -> (tempfile::TempDir, Recording, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path());
        super::import(&folder.path().join("t.otf2"))
    }

    /// The calls of the first process.
    fn calls(&self) -> Vec<Seen> {
        calls(&self.import().1, 0)
    }
}

fn define_locations(definitions: &mut DefinitionWriter) {
    for (node, parent) in [(0, UNDEFINED_UINT32), (1, 0)] {
        definitions.add(kind::SYSTEM_TREE_NODE, &[U32(node), StringRef("here"), StringRef("node"), U32(parent)]);
    }
    for process in 0..2 {
        definitions.add(kind::LOCATION_GROUP, &[U32(process), StringRef("p"), U8(1), U32(1), U32(UNDEFINED_UINT32)]);
    }
    for (location, process) in LOCATIONS.into_iter().zip([0, 0, 1]) {
        definitions.add(kind::LOCATION, &[U64(location), StringRef("t"), U8(1), U64(0), U32(process)]);
    }
}

fn define_communicators(definitions: &mut DefinitionWriter) {
    definitions.add_group(0, "", group_type::COMM_LOCATIONS, [LOCATIONS[0], LOCATIONS[2]].into_iter());
    definitions.add_group(1, "", group_type::COMM_GROUP, [0, 1].into_iter());
    definitions.add_group(2, "", group_type::COMM_SELF, std::iter::empty());
    definitions.add_group(3, "", group_type::COMM_GROUP, [1].into_iter());
    for (number, name, group) in [(WORLD, "MPI_COMM_WORLD", 1), (OWN, "MPI_COMM_SELF", 2)] {
        definitions.add(kind::COMM, &[U32(number), StringRef(name), U32(group), U32(UNDEFINED_UINT32)]);
    }
    definitions.add(kind::RMA_WIN, &[U32(WINDOW), StringRef("w"), U32(WORLD)]);
}

fn message(communicator: u32) -> MpiMessage {
    MpiMessage { peer: 1, communicator, tag: 7, bytes: 64 }
}

fn number(number: u64) -> RequestId {
    RequestId { thread: 0, number }
}

#[test]
fn a_receive_learns_where_it_completes_what_it_was() {
    let mut trace = Foreign::new();
    trace.call("MPI_Irecv", [10, 11], &[MpiEvent::MpiIrecvRequest(500)]);
    trace.call("MPI_Send", [12, 13], &[MpiEvent::MpiSend(message(WORLD), None)]);
    trace.call("MPI_Wait", [14, 15], &[MpiEvent::MpiRecv(message(WORLD), Some(500))]);
    let calls = trace.calls();
    assert_eq!(calls.iter().map(Seen::name).collect::<Vec<_>>(), ["MPI_Irecv", "MPI_Send", "MPI_Wait"]);
    let receive = &calls[0].descriptor;
    assert_eq!((receive.object, receive.peer, receive.tag, receive.received), (0, 1, 7, 64));
    assert_eq!((calls[0].request, &calls[2].listed[..]), (Some(number(0)), &[(number(0), Some((1, 7, 64)))][..]));
    assert_eq!(calls[0].times, [50_000_000, 60_000_000], "ticks of ten milliseconds since the fifth");
}

#[test]
fn a_nonblocking_collective_too() {
    let done = MpiCollective { operation: CollectiveOp::BCAST, communicator: WORLD, root: 1, sent: 0, received: 32 };
    let mut trace = Foreign::new();
    trace.call("mpi_ibcast_", [10, 11], &[MpiEvent::NonBlockingCollectiveRequest(3)]);
    trace.call("MPI_Wait", [14, 15], &[MpiEvent::NonBlockingCollectiveComplete(done, 3)]);
    let calls = trace.calls();
    assert_eq!(
        (calls[0].name(), calls[0].descriptor.object, calls[0].descriptor.peer, calls[0].descriptor.received),
        ("MPI_Ibcast", 0, 1, 32)
    );
    assert_eq!(calls[1].listed, [(number(0), None)]);
}

#[test]
fn a_receive_that_is_never_completed_waits_for_nothing() {
    let mut trace = Foreign::new();
    trace.call("MPI_Irecv", [10, 11], &[MpiEvent::MpiIrecvRequest(500)]);
    for time in 0..(1 << 15) + 10 {
        trace.call("MPI_Barrier", [20 + time, 20 + time], &[]);
    }
    let (_folder, recording, notes) = trace.import();
    assert_eq!(calls(&recording, 0)[0].descriptor.object, raw::NO_OBJECT);
    assert!(notes[1].starts_with("nonblocking operations complete very late") && notes[1].ends_with("(1)"), "{notes:?}");
}

#[test]
fn what_a_start_begins_is_a_call_that_begins_it() {
    let mut trace = Foreign::new();
    trace.call("MPI_Send_init", [10, 11], &[]);
    for time in [20, 30] {
        trace.call("MPI_Start", [time, time + 1], &[MpiEvent::MpiSend(message(WORLD), Some(9))]);
        trace.call("MPI_Wait", [time + 2, time + 3], &[MpiEvent::MpiIsendComplete(9)]);
    }
    let calls = trace.calls();
    let names: Vec<&str> = calls.iter().map(Seen::name).collect();
    assert_eq!(names, ["MPI_Send_init", "MPI_Isend", "MPI_Wait", "MPI_Isend", "MPI_Wait"]);
    assert_eq!((calls[3].descriptor.peer, calls[3].descriptor.sent, calls[3].request), (1, 64, Some(number(1))));
    assert_eq!(calls[4].listed, [(number(1), None)]);
}

#[test]
fn a_test_that_finds_nothing_says_so() {
    let mut trace = Foreign::new();
    trace.call("MPI_Isend", [10, 11], &[MpiEvent::MpiSend(message(WORLD), Some(1))]);
    trace.call("MPI_Test", [12, 13], &[MpiEvent::MpiRequestTest(1)]);
    trace.call("MPI_Test", [14, 15], &[MpiEvent::MpiIsendComplete(1)]);
    let found_nothing: Vec<bool> = trace.calls().iter().map(|call| call.descriptor.parts & part::FLAG_FALSE != 0).collect();
    assert_eq!(found_nothing, [false, true, false]);
}

#[test]
fn a_thread_completes_what_another_began() {
    let mut trace = Foreign::new();
    trace.call("MPI_Isend", [10, 11], &[MpiEvent::MpiSend(message(WORLD), Some(1))]);
    trace.call_of(1, "MPI_Wait", [14, 15], &[MpiEvent::MpiIsendComplete(1)]);
    trace.call("MPI_Barrier", [20, 21], &[]);
    let calls = trace.calls();
    let seen: Vec<(&str, u16)> = calls.iter().map(|call| (call.name(), call.thread)).collect();
    assert_eq!(seen, [("MPI_Isend", 0), ("MPI_Wait", 1), ("MPI_Barrier", 0)]);
    assert_eq!(calls[1].listed, [(number(0), None)]);
}

#[test]
fn each_process_has_a_communicator_of_its_own() {
    let mut trace = Foreign::new();
    let own = MpiEvent::MpiSend(MpiMessage { peer: 0, ..message(OWN) }, None);
    trace.call("MPI_Send", [10, 11], std::slice::from_ref(&own));
    trace.call_of(2, "MPI_Send", [10, 11], &[own]);
    let (_folder, recording, _) = trace.import();
    for (rank, communicator) in [(0, 1), (1, 2)] {
        let sent = &calls(&recording, rank)[0].descriptor;
        assert_eq!((sent.object, sent.peer), (communicator, rank as i32));
        assert_eq!(recording.members(communicator), [rank as i32]);
    }
}

#[test]
fn the_communicator_that_was_made_is_known() {
    let mut trace = Foreign::new();
    let parts = [U32(2), StringRef("halves"), U32(3), U32(WORLD)];
    trace.definitions.add(kind::COMM, &parts);
    let created = MpiCollective { operation: CollectiveOp::CREATE_HANDLE, communicator: WORLD, root: NO_ROOT, sent: 0, received: 0 };
    trace.call("MPI_Comm_split", [10, 11], &[MpiEvent::MpiCollectiveBegin, MpiEvent::CommCreate(2), MpiEvent::MpiCollectiveEnd(created)]);
    let (_folder, recording, _) = trace.import();
    let descriptor = &calls(&recording, 0)[0].descriptor;
    assert_eq!((descriptor.object, descriptor.created), (0, 3));
    assert_eq!((recording.header.communicators[3].parent, recording.members(3)), (Some(0), &[1][..]));
}

#[test]
fn a_window_is_synchronised_with_a_group() {
    let mut trace = Foreign::new();
    trace.call("MPI_Win_post", [10, 11], &[MpiEvent::RmaGroupSync(WINDOW, 3)]);
    let (_folder, recording, _) = trace.import();
    let descriptor = &calls(&recording, 0)[0].descriptor;
    assert_eq!((descriptor.object, descriptor.has_group_operand()), (0, true));
    assert_eq!(recording.header.groups[descriptor.value as usize], "1");
}

#[test]
fn calls_come_from_a_line_or_from_the_function_around_them() {
    let mut trace = Foreign::new();
    let d = &mut trace.definitions;
    d.add(kind::SOURCE_CODE_LOCATION, &[U32(0), StringRef("solve.c"), U32(42)]);
    for (number, region, line, around) in [(0, MAIN, 0, UNDEFINED_UINT32), (1, region("MPI_Barrier"), UNDEFINED_UINT32, 0)] {
        d.add(kind::CALLING_CONTEXT, &[U32(number), U32(region), U32(line), U32(around)]);
    }
    trace.threads[0].extend([
        (10, MpiEvent::Enter(MAIN)),
        (10, MpiEvent::CallingContextEnter(1, 0)),
        (11, MpiEvent::CallingContextLeave(1)),
    ]);
    trace.call("MPI_Barrier", [12, 13], &[]);
    trace.threads[0].push((14, MpiEvent::Leave(MAIN)));
    trace.call("MPI_Barrier", [15, 16], &[]);
    let (_folder, recording, _) = trace.import();
    let sites: Vec<_> = calls(&recording, 0).iter().map(|call| recording.site(call.descriptor.site).clone()).collect();
    let frame = &sites[0].frames[0];
    assert_eq!((frame.function.as_deref(), frame.file.as_deref(), frame.line), (Some("main"), Some("solve.c"), Some(42)));
    assert_eq!((sites[1].frames[0].function.as_deref(), sites[1].module.as_str()), (Some("main"), "main.c"));
    assert!(sites[2].frames.is_empty(), "nothing is around it");
}

#[test]
fn an_attribute_tells_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = Foreign::new();
    trace.definitions.add(kind::SOURCE_CODE_LOCATION, &[U32(6), StringRef("solve.c"), U32(42)]);
    let name = StringRef(CallAttribute::SourceLine.definition().0);
    trace.definitions.add(kind::ATTRIBUTE, &[U32(0), name, U8(20), StringRef("")]);
    trace.write(folder.path());
    let mut writer = ChunkWriter::create(folder.path().join("t/10.evt"), ChunkContent::Events, CHUNK).unwrap();
    let mut attributes = AttributeList::new();
    attributes.add(CallAttribute::SourceLine.reference(), Value::SourceCodeLocation(SourceCodeLocationRef(6)));
    let mut record = Vec::new();
    attributes.encode(&mut record);
    MpiEvent::Enter(region("MPI_Barrier")).to_otf2().encode(&mut record);
    writer.write_event(10, &record).unwrap();
    record.clear();
    MpiEvent::Leave(region("MPI_Barrier")).to_otf2().encode(&mut record);
    writer.write_event(11, &record).unwrap();
    writer.finish().unwrap();
    let (_folder, recording, _) = super::import(folder.path());
    assert_eq!(recording.site(calls(&recording, 0)[0].descriptor.site).frames[0].line, Some(42));
}

#[test]
fn other_records_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Foreign::new();
    trace.write(folder.path());
    let mut writer = ChunkWriter::create(folder.path().join("t/10.evt"), ChunkContent::Events, CHUNK).unwrap();
    let mut record = Vec::new();
    MpiEvent::Enter(region("MPI_Barrier")).to_otf2().encode(&mut record);
    // OpenMP's records, some without a length; one of a kind that nobody has heard of; a long one.
    record.extend([24, 1, 4, 25, 0, 28, 2, 1, 2, 200, 3, 9, 9, 9]);
    record.put_record(201, &[0; 400]);
    MpiEvent::Leave(region("MPI_Barrier")).to_otf2().encode(&mut record);
    writer.write_event(10, &record).unwrap();
    writer.finish().unwrap();
    let (_folder, recording, _) = super::import(folder.path());
    assert_eq!(calls(&recording, 0).len(), 1);
}

#[test]
fn numbers_and_times_of_a_thread_become_those_of_all() {
    let mut trace = Foreign::new();
    let mut map = vec![3, 1, 2, 0, 1, region("MPI_Barrier") as u8, 1, region("MPI_Send") as u8];
    let mut record = Vec::new();
    record.put_record(5, &map);
    trace.local.push(record);
    for (time, offset) in [(0u64, 100u64), (1000, 200)] {
        map.clear();
        map.put_full_u64(time);
        map.put_u64(offset);
        map.put_full_u64(0.5f64.to_bits());
        let mut record = Vec::new();
        record.put_record(6, &map);
        trace.local.push(record);
    }
    trace.threads[0] = vec![(105, MpiEvent::Enter(0)), (205, MpiEvent::Leave(0))];
    let (_folder, recording, _) = trace.import();
    let call = &calls(&recording, 0)[0];
    assert_eq!((call.name(), call.times), ("MPI_Barrier", [2_100_000_000, 3_200_000_000]));
    assert_eq!(recording.header.clock_error_s, 0.005);
}

#[test]
fn calls_under_way_at_the_end_are_unfinished() {
    let mut trace = Foreign::new();
    trace.threads[0] = vec![(10, MpiEvent::Enter(region("MPI_Barrier"))), (20, MpiEvent::MeasurementInterrupted)];
    trace.call_of(2, "MPI_Finalize", [10, 30], &[]);
    let (_folder, recording, notes) = trace.import();
    let call = &calls(&recording, 0)[0];
    assert_ne!(call.descriptor.parts & part::UNFINISHED, 0);
    assert_eq!(call.times, [50_000_000, 150_000_000]);
    assert_eq!(recording.header.ranks.iter().map(|rank| rank.end).collect::<Vec<_>>(), [ProcessExit::CutShort, ProcessExit::Finalized]);
    assert!(notes[1].starts_with("the tool that made the trace paused") && notes[1].ends_with("(1)"), "{notes:?}");
}

#[test]
fn what_is_no_call_is_counted() {
    let mut trace = Foreign::new();
    trace.call("MPI_Comm_rank", [10, 11], &[]);
    trace.threads[0].push((12, MpiEvent::MpiSend(message(WORLD), None)));
    trace.call("MPI_Wait", [13, 14], &[MpiEvent::MpiIsendComplete(77)]);
    let (_folder, recording, notes) = trace.import();
    assert_eq!(calls(&recording, 0).len(), 1);
    let counted = ["calls of local functions", "requests complete whose start", "MPI events outside any MPI call"];
    assert_eq!(notes.len(), 1 + counted.len(), "{notes:?}");
    assert!(notes[1..].iter().zip(counted).all(|(note, begin)| note.starts_with(begin)), "{notes:?}");
}

#[test]
fn parameters_and_files_of_others_say_nothing_of_mpi() {
    let mut trace = Foreign::new();
    trace.call("MPI_Isend", [10, 11], &[MpiEvent::MpiSend(message(WORLD), Some(1))]);
    trace.call("MPI_Barrier", [12, 13], &[MpiEvent::ParameterUnsignedInt(0, 1), MpiEvent::IoDestroyHandle(5)]);
    trace.threads[0].extend([(14, MpiEvent::ParameterUnsignedInt(0, 1)), (14, MpiEvent::IoDestroyHandle(5))]);
    let (_folder, recording, notes) = trace.import();
    assert!(calls(&recording, 0)[1].listed.is_empty());
    assert_eq!(notes.len(), 1, "nothing was left out: {notes:?}");
}

/// The other order of bytes: numbers of one byte are the same in both, so only the full ones are turned around.
#[test]
fn a_trace_of_the_other_order_of_bytes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = Foreign::new();
    trace.call("MPI_Send", [10, 11], &[MpiEvent::MpiSend(message(WORLD), None)]);
    trace.write(folder.path());
    let turn = |bytes: &mut [u8], fields: &[(usize, usize)]| {
        bytes[1] = 0x23;
        fields.iter().for_each(|(at, length)| bytes[*at..at + length].reverse());
    };
    let change = |name: &str, fields: &[(usize, usize)]| {
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        turn(&mut bytes, fields);
        fs::write(path, bytes).unwrap();
    };
    let header = [(2, 8), (10, 8)];
    change("t.otf2", &[(12, 8), (20, 8), (30, 8), (38, 8)]);
    change("t.def", &header);
    change("t/10.def", &header);
    // The first event of the thread, and the two that follow at another time.
    change("t/10.evt", &[header[0], header[1], (19, 8), (31, 8)]);
    for location in &LOCATIONS[1..] {
        change(&format!("t/{location}.evt"), &header);
    }
    let (_folder, recording, _) = super::import(folder.path());
    let call = &calls(&recording, 0)[0];
    assert_eq!((call.name(), call.times, call.descriptor.sent), ("MPI_Send", [50_000_000, 60_000_000], 64));
}

#[test]
fn definitions_that_refer_to_each_other_in_circles_end() {
    let mut trace = Foreign::new();
    let d = &mut trace.definitions;
    for (node, parent) in [(7, 8), (8, 7)] {
        d.add(kind::SYSTEM_TREE_NODE, &[U32(node), StringRef("circle"), StringRef("part"), U32(parent)]);
    }
    d.add(kind::LOCATION_GROUP, &[U32(0), StringRef(""), U8(1), U32(7), U32(0)]);
    for (number, around) in [(0, 1), (1, 0)] {
        d.add(kind::CALLING_CONTEXT, &[U32(number), U32(MAIN), U32(UNDEFINED_UINT32), U32(around)]);
        d.add(kind::CALLING_CONTEXT_PROPERTY, &[U32(number), StringRef(properties::MODULE), U8(STRING_VALUE), StringRef("a")]);
    }
    for (number, parent) in [(5, 6), (6, 5)] {
        d.add(kind::COMM, &[U32(number), StringRef("circle"), U32(1), U32(parent)]);
    }
    let (_folder, recording, _) = trace.import();
    assert_eq!(recording.header.communicators[3].parent, Some(4));
}

#[test]
fn absurd_counts_are_refused_where_they_stand() {
    let refuse = |kind: u8, content: &[u8], file: &str, local: bool| {
        let folder = tempfile::tempdir().unwrap();
        let mut trace = Foreign::new();
        let mut record = Vec::new();
        record.put_record(kind, content);
        if local {
            trace.local.push(record);
        }
        trace.write(folder.path());
        if !local {
            let path = folder.path().join("t.def");
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len() - 2;
            let mut record = Vec::new();
            record.put_record(kind, content);
            bytes.splice(end..end, record);
            fs::write(path, bytes).unwrap();
        }
        let error = crate::otf2::read(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(": byte ") && error.contains("invalid "), "{error}");
        assert!(!folder.path().join("a.sin").exists());
    };
    // A group of four billion members, and a map of as many numbers as there are.
    refuse(kind::GROUP, &[1, 9, 0, 5, 4, 255, 255, 255, 254, 1, 1], "t.def", false);
    refuse(5, &[3, 8, 255, 255, 255, 255, 255, 255, 255, 127, 0, 1, 1], "10.def", true);
}

#[test]
fn regions_without_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = Foreign::new();
    trace.threads[0] = vec![(10, MpiEvent::Enter(MAIN)); (1 << 16) + 1];
    trace.write(folder.path());
    let error = crate::otf2::read(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string();
    assert!(error.contains("10.evt: byte ") && error.contains("nested too deeply"), "{error}");
}

#[test]
fn a_trace_without_mpi_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Foreign { definitions: DefinitionWriter::default(), ..Foreign::new() };
    trace.write(folder.path());
    let error = crate::otf2::read(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string();
    assert!(error.ends_with("t.def: the archive has no MPI process"), "{error}");
}

#[test]
fn the_paradigm_of_a_group_says_whose_communicator_it_is() {
    let mut trace = Foreign::new();
    let mut content = Vec::new();
    content.put_u32(9);
    content.put_u32(UNDEFINED_UINT32);
    content.extend([group_type::COMM_GROUP, 0, group_type::COMM_GROUP, PARADIGM_MPI + 1, 0]);
    let mut record = Vec::new();
    record.put_record(kind::GROUP, &content);
    let folder = tempfile::tempdir().unwrap();
    trace.definitions.add(kind::COMM, &[U32(9), StringRef("threads"), U32(9), U32(UNDEFINED_UINT32)]);
    trace.write(folder.path());
    let path = folder.path().join("t.def");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len() - 2;
    bytes.splice(end..end, record);
    fs::write(path, bytes).unwrap();
    let (_folder, recording, _) = super::import(folder.path());
    assert_eq!(recording.header.communicators.len(), 3, "the world and two of one");
}

#[test]
fn regions_of_the_program_are_sampled_stacks() {
    const WORK: u32 = 50;
    let mut trace = Foreign::new();
    let parts = [U32(WORK), StringRef("work"), StringRef(""), U8(0), StringRef("work.c"), U32(1), U32(9)];
    trace.definitions.add(kind::REGION, &parts);
    // Of the second process first, so that frames are numbered otherwise.
    trace.threads[2].extend([(10, MpiEvent::Enter(WORK)), (20, MpiEvent::Leave(WORK))]);
    trace.threads[0].extend([(10, MpiEvent::Enter(MAIN)), (20, MpiEvent::Enter(WORK)), (50, MpiEvent::Leave(WORK))]);
    trace.call("MPI_Barrier", [50, 70], &[]);
    trace.threads[0].push((90, MpiEvent::Leave(MAIN)));
    let (_folder, recording, _) = trace.import();
    let frames = recording.stack_frames().unwrap();
    // A hundred ticks of the trace are ten thousand samples.
    let counts = |rank: u32| {
        let mut counts: std::collections::BTreeMap<(Vec<&str>, bool), usize> = std::collections::BTreeMap::new();
        for sample in recording.samples(rank).unwrap().iter().flat_map(|thread| &thread.samples) {
            let stack = std::iter::successors(Some(sample.frame), |frame| frames[*frame as usize].caller);
            let names = stack.map(|frame| frames[frame as usize].function.as_deref().unwrap()).collect();
            *counts.entry((names, sample.in_mpi)).or_default() += 1;
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(counts(0), [((vec!["main"], false), 3000), ((vec!["main"], true), 2000), ((vec!["work", "main"], false), 3000)]);
    assert_eq!(counts(1), [((vec!["work"], false), 1000)]);
    assert_eq!(frames[2].file.as_deref(), Some("work.c"));
    assert_eq!(recording.header.ranks[0].sampling.unwrap().period_ns, 100_000);
}
