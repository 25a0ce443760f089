//! OTF2 is written and read as a stream: a recording six times as long needs no more memory.
//!
//! The system counts the memory of the whole process, so this test is alone in its program.

use std::fs;
use std::path::Path;

use sintonia_formats::otf2;
use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{CallSiteDefinition, CommunicatorDefinition, LinearClock, ProcessExit, RecordedRank, RecordingHeader};
use sintonia_recording::raw::{RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;

/// A rank that sends to itself, with calls that all differ.
fn record(folder: &Path, rounds: u64) {
    fs::create_dir(folder).unwrap();
    let descriptor =
        |name: &str, parts| CallDescriptor { object: 0, peer: 0, parts, ..CallDescriptor::new(FunctionId::from_name(name).unwrap()) };
    let send = descriptor("MPI_Isend", part::OBJECT | part::TAG | part::SENT | part::REQUEST);
    let receive = descriptor("MPI_Irecv", part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST);
    let wait = descriptor("MPI_Waitall", 0);
    let mut writer = RankFileWriter::create(folder, 0).unwrap();
    for round in 0..rounds {
        let (tag, bytes, now) = ((round % 30_000) as i32, round * 8, round * 100);
        let request =
            |ago, receive| ListedRequest { request: RequestRef::Relative(ago), is_receive: receive, peer: 0, tag, received: bytes };
        writer.write_call(0, now, now + 10, &CallDescriptor { tag, sent: bytes, ..send.clone() }).unwrap();
        writer.write_call(0, now + 20, now + 30, &CallDescriptor { tag, received: bytes, ..receive.clone() }).unwrap();
        writer
            .write_call(0, now + 40, now + 50, &CallDescriptor { requests: vec![request(1, false), request(0, true)], ..wait.clone() })
            .unwrap();
    }
    let clock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
    let calls = writer.finish().unwrap().calls;
    let header = RecordingHeader {
        format: FORMAT_VERSION,
        size: 1,
        ranks: vec![RecordedRank { calls, threads: 1, end: ProcessExit::Finalized, clock, ..RecordedRank::default() }],
        communicators: vec![CommunicatorDefinition {
            made_by: "MPI_COMM_WORLD".into(),
            members: "0".into(),
            ..CommunicatorDefinition::default()
        }],
        sites: vec![CallSiteDefinition::default()],
        operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
        ..RecordingHeader::default()
    };
    header.write(folder).unwrap();
}

/// The most memory the process had while it did this, in KiB.
fn peak(work: impl FnOnce()) -> u64 {
    fs::write("/proc/self/clear_refs", "5").expect("the system forgets the peak so far");
    work();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the system knows the peak");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Peaks of writing and reading a recording of this many rounds.
fn peaks(rounds: u64) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    record(&at("run.sin"), rounds);
    let written = peak(|| _ = otf2::write(&Recording::open(&at("run.sin")).unwrap(), &at("run.otf2"), &|| ()).unwrap());
    let read = peak(|| assert_eq!(otf2::read(&at("run.otf2"), &at("back.sin")).unwrap().calls, 3 * rounds));
    [written, read]
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    // More than one block of calls, which is what is in memory at a time.
    let rounds = 30_000;
    // What is allocated once and kept is there after the first time.
    peaks(rounds);
    let (short, long) = (peaks(rounds), peaks(6 * rounds));
    for (what, short, long) in [("writing", short[0], long[0]), ("reading", short[1], long[1])] {
        // The system does not give all memory back at once; holding every event would take twice as much.
        assert!(long < short + short / 2, "{what} needed {short} KiB, and {long} KiB for six times as much");
    }
}
