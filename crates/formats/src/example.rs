//! A small recording made by hand, for the tests of the exporters.
//!
//! Rank 0 sends to rank 1 twice, the second message from another thread; rank 2 sends once. Rank 1 posts two receives, sends to rank 2,
//! waits for all three and receives the last message with a blocking call. Then all meet in an allreduce.

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::Recording;
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Communicator, End, Frame, Header, Rank, Site};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::Writer;
use sintonia_recording::table::{ListedRequest, Shape};
use tempfile::TempDir;

use crate::import::CLOCK;

/// How many calls the recording has.
pub const CALLS: usize = 12;

/// A call: its thread, when it was entered and left, and its shape.
pub type Call = (u16, u64, u64, Shape);

/// A call at a line of `main.c`.
pub fn call(operation: &str, line: u32) -> Shape {
    Shape { site: line - 1, ..Shape::of(Operation::named(operation).unwrap()) }
}

/// A blocking send.
pub fn send(peer: i32, tag: i32, sent: u64) -> Shape {
    Shape { object: 0, peer, tag, sent, parts: part::OBJECT | part::TAG | part::SENT, ..call("MPI_Send", 2) }
}

/// A receive with this function.
pub fn receive(operation: &str, peer: i32, tag: i32, received: u64) -> Shape {
    let request = if operation == "MPI_Irecv" { part::REQUEST } else { 0 };
    Shape { object: 0, peer, tag, received, parts: part::OBJECT | part::TAG | part::RECEIVED | request, ..call(operation, 3) }
}

fn wait_all() -> Shape {
    let listed = |ago, receive, peer, tag, received| ListedRequest { request: RequestRef::Ago(ago), receive, peer, tag, received };
    let requests = vec![listed(2, true, 0, 7, 1000), listed(1, true, 2, 8, 64), listed(0, false, raw::NONE, 0, 0)];
    Shape { requests, ..call("MPI_Waitall", 4) }
}

fn allreduce(enter: u64) -> Call {
    let parts = part::OBJECT | part::SENT | part::RECEIVED;
    (0, enter, 600, Shape { object: 0, sent: 8, received: 8, parts, ..call("MPI_Allreduce", 5) })
}

fn calls(rank: u32) -> Vec<Call> {
    match rank {
        0 => vec![(0, 100, 300, send(1, 7, 1000)), (1, 310, 320, send(1, 7, 2000)), allreduce(350)],
        1 => {
            let sent = send(2, 9, 16);
            let isend = Shape { operation: Operation::named("MPI_Isend").unwrap(), parts: sent.parts | part::REQUEST, ..sent };
            vec![
                (0, 200, 210, receive("MPI_Irecv", raw::ANY, 7, 4000)),
                (0, 210, 220, receive("MPI_Irecv", 2, 8, 64)),
                (0, 220, 230, isend),
                (0, 240, 400, wait_all()),
                (0, 400, 410, receive("MPI_Recv", 0, 7, 2000)),
                allreduce(450),
            ]
        }
        _ => vec![(0, 100, 120, send(1, 8, 64)), (0, 130, 300, receive("MPI_Recv", 1, 9, 16)), allreduce(590)],
    }
}

fn site(line: u32) -> Site {
    let frame = Frame { function: Some("main".into()), file: Some("/src/main.c".into()), line: Some(line) };
    Site { module: "/bin/main".into(), offset: u64::from(line), frames: vec![frame] }
}

fn world(members: &str) -> Communicator {
    Communicator { made_by: "MPI_COMM_WORLD".into(), members: members.into(), ..Communicator::default() }
}

/// The recording, for as long as this lives.
pub struct Example {
    /// It.
    pub recording: Recording,
    _folder: TempDir,
}

/// Writes the recording.
pub fn example() -> Example {
    written(&[0, 1, 2].map(calls))
}

/// Writes a recording with these calls of ranks, all of one world.
pub fn written(ranks: &[Vec<Call>]) -> Example {
    in_worlds(ranks, &["0-2"])
}

/// Writes a recording with these calls of ranks, of worlds with these members.
pub fn in_worlds(ranks: &[Vec<Call>], worlds: &[&str]) -> Example {
    let folder = tempfile::tempdir().unwrap();
    let write_rank = |(rank, calls): (usize, &Vec<Call>)| {
        let mut writer = Writer::create(folder.path(), rank as u32).unwrap();
        for (thread, enter, leave, shape) in calls {
            writer.call(*thread, *enter, *leave, shape).unwrap();
        }
        let calls = writer.finish().unwrap().calls;
        Rank { rank: rank as u32, calls, threads: 1, end_ns: 600, end: End::Finalized, clock: CLOCK, ..Rank::default() }
    };
    let header = Header {
        format: FORMAT,
        command: vec!["./main".into()],
        started_s: 1.7e9,
        hosts: vec!["first".into()],
        size: ranks.len(),
        ranks: ranks.iter().enumerate().map(write_rank).collect(),
        communicators: worlds.iter().map(|members| world(members)).collect(),
        sites: (1..=5).map(site).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..Header::default()
    };
    header.write(folder.path()).unwrap();
    Example { recording: Recording::open(folder.path()).unwrap(), _folder: folder }
}
