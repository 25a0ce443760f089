//! A small recording made by hand, so that tests know every number in it.
//!
//! Five ranks: 0 sends to 1 twice, 2 starts a persistent send to 1 three times that nobody receives, all take part in a broadcast, 3 is
//! killed in a receive, and 4 leaves nothing.

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Clock, Communicator, End, Frame, Header, Mpi, Rank, Site};
use sintonia_recording::raw::{NONE, RequestRef, part};
use sintonia_recording::sealed::{Sums, Writer};
use sintonia_recording::table::{ListedRequest, Shape};
use tempfile::TempDir;

/// A call: when it was entered and left in tenths of seconds, and its shape.
type Call = (u64, u64, Shape);

/// Nanoseconds of a tenth of a second; the clock of the sample ticks in nanoseconds.
const TENTH: u64 = 100_000_000;

/// A shape with a line of `main.c` as its call site.
fn call(operation: &str, line: u32, parts: u16) -> Shape {
    Shape { parts, site: line - 1, ..Shape::of(Operation::named(operation).unwrap()) }
}

fn init() -> Call {
    (0, 10, call("MPI_Init", 1, 0))
}

fn finalize() -> Call {
    (90, 100, call("MPI_Finalize", 9, 0))
}

fn send() -> Shape {
    Shape { object: 0, peer: 1, tag: 7, sent: 1000, ..call("MPI_Send", 2, part::OBJECT | part::TAG | part::SENT) }
}

fn receive(peer: i32, received: u64, mark: u16) -> Shape {
    Shape { object: 0, peer, tag: 7, received, ..call("MPI_Recv", 3, part::OBJECT | part::TAG | part::RECEIVED | mark) }
}

fn broadcast(sent: u64, received: u64) -> Call {
    (50, 60, Shape { object: 0, peer: 0, sent, received, ..call("MPI_Bcast", 4, part::OBJECT | part::SENT | part::RECEIVED) })
}

fn listed(operation: &str, line: u32, mark: u16, receive: bool, received: u64) -> Shape {
    let peer = if receive { 0 } else { NONE };
    let request = ListedRequest { request: RequestRef::Ago(0), receive, peer, tag: 7, received };
    Shape { requests: vec![request], ..call(operation, line, mark) }
}

fn calls(rank: u32) -> Vec<Call> {
    match rank {
        0 => vec![init(), (20, 30, send()), (30, 40, send()), broadcast(100, 0), finalize()],
        1 => {
            let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
            let irecv = Shape { object: 0, peer: 0, tag: 7, received: 2000, ..call("MPI_Irecv", 5, parts) };
            let waitall = listed("MPI_Waitall", 6, 0, true, 1000);
            vec![init(), (10, 10, irecv), (20, 40, receive(0, 1000, 0)), (40, 45, waitall), broadcast(0, 100), finalize()]
        }
        2 => {
            let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
            let prepared = Shape { object: 0, peer: 1, tag: 7, sent: 64, ..call("MPI_Send_init", 7, parts) };
            let start = || (20, 20, listed("MPI_Start", 8, part::STARTED, false, 0));
            vec![init(), (10, 10, prepared), start(), start(), start(), broadcast(0, 100), finalize()]
        }
        _ => vec![init(), broadcast(0, 100), (70, 80, receive(2, u64::MAX, part::UNFINISHED))],
    }
}

fn rank(rank: u32) -> Rank {
    Rank {
        rank,
        host: rank / 2,
        calls: calls(rank).len() as u64,
        threads: 1,
        end_ns: if rank == 3 { 8_000_000_000 } else { 10_000_000_000 },
        end: if rank == 3 { End::CutShort } else { End::Finalized },
        clock: Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 },
        ..Rank::default()
    }
}

fn site(line: u32) -> Site {
    let frame = Frame { function: Some("main".into()), file: Some("/home/me/app/src/main.c".into()), line: Some(line) };
    // The last call site is in a library without debug information.
    let library = Frame { function: Some("finish".into()), file: None, line: None };
    match line {
        9 => Site { module: "/usr/lib/libhelp.so.1".into(), offset: 0x42, frames: vec![library] },
        _ => Site { module: "/home/me/app/main".into(), offset: u64::from(line), frames: vec![frame] },
    }
}

fn header(profile: bool) -> Header {
    Header {
        format: FORMAT,
        command: ["mpirun", "-n", "5", "./main"].map(String::from).to_vec(),
        exit_status: Some(137),
        parameters: [("n".into(), 4096.0)].into(),
        profile,
        mpi: Mpi { library: "Open MPI 4.1.4".into(), version: "Open MPI v4.1.4, package: Debian".into(), abi: "openmpi".into() },
        hosts: vec!["first".into(), "second".into()],
        size: 5,
        ranks: (0..4).map(rank).collect(),
        communicators: vec![Communicator { made_by: "MPI_Init".into(), members: "0-4".into(), ..Communicator::default() }],
        sites: (1..=9).map(site).collect(),
        operations: FUNCTIONS.iter().map(|f| f.name.into()).collect(),
        clock_error_s: 2e-6,
        notes: vec!["calls before MPI_Init".into()],
        ..Header::default()
    }
}

/// The recording, every call in it.
pub fn recording() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..4 {
        let mut writer = Writer::create(folder.path(), rank).unwrap();
        for (enter, leave, shape) in calls(rank) {
            writer.call(0, enter * TENTH, leave * TENTH, &shape).unwrap();
        }
        writer.finish().unwrap();
    }
    header(false).write(folder.path()).unwrap();
    folder
}

/// The same run, of which only sums were kept: they do not list requests.
#[allow(dead_code, reason = "not every test that uses this file needs it")]
pub fn profile() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..4 {
        let sums: Vec<(Shape, Sums)> = calls(rank)
            .into_iter()
            .map(|(enter, leave, shape)| {
                let ticks = (leave - enter) * TENTH;
                let (sent, received) = (shape.bytes_sent(), shape.bytes_received());
                (Shape { requests: Vec::new(), ..shape }, Sums { calls: 1, ticks, least: ticks, most: ticks, sent, received })
            })
            .collect();
        let mut writer = Writer::create(folder.path(), rank).unwrap();
        writer.sums(0, &sums).unwrap();
        writer.finish().unwrap();
    }
    header(true).write(folder.path()).unwrap();
    folder
}

/// One rank with two threads, the second of which waits in MPI nearly all the time.
#[allow(dead_code, reason = "not every test that uses this file needs it")]
pub fn threads() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), 0).unwrap();
    for (thread, (enter, leave, shape)) in [(0, init()), (1, (10, 90, receive(0, 8, 0))), (0, finalize())] {
        writer.call(thread, enter * TENTH, leave * TENTH, &shape).unwrap();
    }
    writer.finish().unwrap();
    let ranks = vec![Rank { calls: 3, threads: 2, ..rank(0) }];
    Header { size: 1, ranks, ..header(false) }.write(folder.path()).unwrap();
    folder
}
