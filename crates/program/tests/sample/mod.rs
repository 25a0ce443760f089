//! A small handmade recording in which every number is known.
//!
//! Five ranks: 0 sends to 1 twice, 2 starts a persistent send to 1 three times that is never received, all take part in a broadcast, 3 is
//! killed in a receive, and 4 leaves nothing.

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, MpiVersion, ProcessExit, RecordedRank, RecordingHeader, SourceFrame,
};
use sintonia_recording::raw::{NONE, RequestRef, part};
use sintonia_recording::sealed::{RankFileWriter, TickTotals};
use tempfile::TempDir;

/// A call: when it was entered and left in tenths of seconds, and its descriptor.
type Call = (u64, u64, CallDescriptor);

/// Nanoseconds of a tenth of a second; the clock of the sample ticks in nanoseconds.
const TENTH: u64 = 100_000_000;

/// A descriptor with a line of `main.c` as its call site.
fn call(operation: &str, line: u32, parts: u16) -> CallDescriptor {
    CallDescriptor { parts, site: line - 1, ..CallDescriptor::new(FunctionId::from_name(operation).unwrap()) }
}

fn init() -> Call {
    (0, 10, call("MPI_Init", 1, 0))
}

fn finalize() -> Call {
    (90, 100, call("MPI_Finalize", 9, 0))
}

fn send() -> CallDescriptor {
    CallDescriptor { object: 0, peer: 1, tag: 7, sent: 1000, ..call("MPI_Send", 2, part::OBJECT | part::TAG | part::SENT) }
}

fn receive(peer: i32, received: u64, mark: u16) -> CallDescriptor {
    CallDescriptor { object: 0, peer, tag: 7, received, ..call("MPI_Recv", 3, part::OBJECT | part::TAG | part::RECEIVED | mark) }
}

fn broadcast(sent: u64, received: u64) -> Call {
    (50, 60, CallDescriptor { object: 0, peer: 0, sent, received, ..call("MPI_Bcast", 4, part::OBJECT | part::SENT | part::RECEIVED) })
}

fn listed(operation: &str, line: u32, mark: u16, receive: bool, received: u64) -> CallDescriptor {
    let peer = if receive { 0 } else { NONE };
    let request = ListedRequest { request: RequestRef::Relative(0), is_receive: receive, peer, tag: 7, received };
    CallDescriptor { requests: vec![request], ..call(operation, line, mark) }
}

fn calls(rank: u32) -> Vec<Call> {
    match rank {
        0 => vec![init(), (20, 30, send()), (30, 40, send()), broadcast(100, 0), finalize()],
        1 => {
            let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
            let irecv = CallDescriptor { object: 0, peer: 0, tag: 7, received: 2000, ..call("MPI_Irecv", 5, parts) };
            let waitall = listed("MPI_Waitall", 6, 0, true, 1000);
            vec![init(), (10, 10, irecv), (20, 40, receive(0, 1000, 0)), (40, 45, waitall), broadcast(0, 100), finalize()]
        }
        2 => {
            let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
            let prepared = CallDescriptor { object: 0, peer: 1, tag: 7, sent: 64, ..call("MPI_Send_init", 7, parts) };
            let start = || (20, 20, listed("MPI_Start", 8, part::STARTED, false, 0));
            vec![init(), (10, 10, prepared), start(), start(), start(), broadcast(0, 100), finalize()]
        }
        _ => vec![init(), broadcast(0, 100), (70, 80, receive(2, u64::MAX, part::UNFINISHED))],
    }
}

fn rank(rank: u32) -> RecordedRank {
    RecordedRank {
        rank,
        host: rank / 2,
        calls: calls(rank).len() as u64,
        threads: 1,
        end_ns: if rank == 3 { 8_000_000_000 } else { 10_000_000_000 },
        end: if rank == 3 { ProcessExit::CutShort } else { ProcessExit::Finalized },
        clock: LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 },
        ..RecordedRank::default()
    }
}

fn site(line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("/home/me/app/src/main.c".into()), line: Some(line) };
    // The last call site is in a library without debug information.
    let library = SourceFrame { function: Some("finish".into()), file: None, line: None };
    match line {
        9 => CallSiteDefinition { module: "/usr/lib/libhelp.so.1".into(), offset: 0x42, frames: vec![library] },
        _ => CallSiteDefinition { module: "/home/me/app/main".into(), offset: u64::from(line), frames: vec![frame] },
    }
}

fn header(profile: bool) -> RecordingHeader {
    RecordingHeader {
        format: FORMAT_VERSION,
        command: ["mpirun", "-n", "5", "./main"].map(String::from).to_vec(),
        exit_status: Some(137),
        parameters: [("n".into(), 4096.0)].into(),
        profile,
        mpi: MpiVersion { library: "Open MPI 4.1.4".into(), version: "Open MPI v4.1.4, package: Debian".into(), abi: "openmpi".into() },
        hosts: vec!["first".into(), "second".into()],
        size: 5,
        ranks: (0..4).map(rank).collect(),
        communicators: vec![CommunicatorDefinition {
            made_by: "MPI_Init".into(),
            members: "0-4".into(),
            ..CommunicatorDefinition::default()
        }],
        sites: (1..=9).map(site).collect(),
        operations: FUNCTIONS.iter().map(|f| f.name.into()).collect(),
        clock_error_s: 2e-6,
        notes: vec!["calls before MPI_Init".into()],
        ..RecordingHeader::default()
    }
}

/// The recording with every call.
pub(crate) fn recording() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..4 {
        let mut writer = RankFileWriter::create(folder.path(), rank).unwrap();
        for (enter, leave, descriptor) in calls(rank) {
            writer.write_call(0, enter * TENTH, leave * TENTH, &descriptor).unwrap();
        }
        writer.finish().unwrap();
    }
    header(false).write(folder.path()).unwrap();
    folder
}

/// The same run as a profile, which lists no requests.
#[allow(dead_code, reason = "not every test that uses this file needs it")]
pub(crate) fn profile() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..4 {
        let sums: Vec<(CallDescriptor, TickTotals)> = calls(rank)
            .into_iter()
            .map(|(enter, leave, descriptor)| {
                let ticks = (leave - enter) * TENTH;
                let (sent, received) = (descriptor.bytes_sent(), descriptor.bytes_received());
                (
                    CallDescriptor { requests: Vec::new(), ..descriptor },
                    TickTotals { calls: 1, ticks, min: ticks, max: ticks, sent, received },
                )
            })
            .collect();
        let mut writer = RankFileWriter::create(folder.path(), rank).unwrap();
        writer.write_totals(0, &sums).unwrap();
        writer.finish().unwrap();
    }
    header(true).write(folder.path()).unwrap();
    folder
}

/// One rank with two threads, the second of which waits in MPI nearly all the time.
#[allow(dead_code, reason = "not every test that uses this file needs it")]
pub(crate) fn threads() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RankFileWriter::create(folder.path(), 0).unwrap();
    for (thread, (enter, leave, descriptor)) in [(0, init()), (1, (10, 90, receive(0, 8, 0))), (0, finalize())] {
        writer.write_call(thread, enter * TENTH, leave * TENTH, &descriptor).unwrap();
    }
    writer.finish().unwrap();
    let ranks = vec![RecordedRank { calls: 3, threads: 2, ..rank(0) }];
    RecordingHeader { size: 1, ranks, ..header(false) }.write(folder.path()).unwrap();
    folder
}
