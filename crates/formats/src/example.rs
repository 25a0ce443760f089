//! A small synthetic recording for the exporters' tests.
//!
//! Rank 0 sends to rank 1 twice, the second time from another thread; rank 2 sends once. Rank 1 posts two receives, sends to rank 2, waits
//! for all three and receives the last message with a blocking call. Then all ranks take part in an allreduce.

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{CallSiteDefinition, CommunicatorDefinition, ProcessExit, RecordedRank, RecordingHeader, SourceFrame};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;
use tempfile::TempDir;

use crate::import::NANOSECOND_CLOCK;

/// Number of calls in the recording.
pub(crate) const CALLS: usize = 12;

/// Thread, enter and leave time, and descriptor of a call.
pub(crate) type TimedCall = (u16, u64, u64, CallDescriptor);

/// A call at a line of `main.c`.
pub(crate) fn call(operation: &str, line: u32) -> CallDescriptor {
    CallDescriptor { site: line - 1, ..CallDescriptor::new(FunctionId::from_name(operation).unwrap()) }
}

/// A blocking send.
pub(crate) fn send(peer: i32, tag: i32, sent: u64) -> CallDescriptor {
    CallDescriptor { object: 0, peer, tag, sent, parts: part::OBJECT | part::TAG | part::SENT, ..call("MPI_Send", 2) }
}

/// A receive with this function.
pub(crate) fn receive(operation: &str, peer: i32, tag: i32, received: u64) -> CallDescriptor {
    let request = if operation == "MPI_Irecv" { part::REQUEST } else { 0 };
    CallDescriptor { object: 0, peer, tag, received, parts: part::OBJECT | part::TAG | part::RECEIVED | request, ..call(operation, 3) }
}

fn wait_all() -> CallDescriptor {
    let listed =
        |ago, receive, peer, tag, received| ListedRequest { request: RequestRef::Relative(ago), is_receive: receive, peer, tag, received };
    let requests = vec![listed(2, true, 0, 7, 1000), listed(1, true, 2, 8, 64), listed(0, false, raw::NONE, 0, 0)];
    CallDescriptor { requests, ..call("MPI_Waitall", 4) }
}

fn allreduce(enter: u64) -> TimedCall {
    let parts = part::OBJECT | part::SENT | part::RECEIVED;
    (0, enter, 600, CallDescriptor { object: 0, sent: 8, received: 8, parts, ..call("MPI_Allreduce", 5) })
}

fn calls(rank: u32) -> Vec<TimedCall> {
    match rank {
        0 => vec![(0, 100, 300, send(1, 7, 1000)), (1, 310, 320, send(1, 7, 2000)), allreduce(350)],
        1 => {
            let sent = send(2, 9, 16);
            let isend = CallDescriptor { function: FunctionId::from_name("MPI_Isend").unwrap(), parts: sent.parts | part::REQUEST, ..sent };
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

fn site(line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("/src/main.c".into()), line: Some(line) };
    CallSiteDefinition { module: "/bin/main".into(), offset: u64::from(line), frames: vec![frame] }
}

fn world(members: &str) -> CommunicatorDefinition {
    CommunicatorDefinition { made_by: "MPI_COMM_WORLD".into(), members: members.into(), ..CommunicatorDefinition::default() }
}

/// Keeps the recording's folder alive.
pub(crate) struct ExampleRecording {
    pub recording: Recording,
    _folder: TempDir,
}

/// Writes the example recording.
pub(crate) fn example() -> ExampleRecording {
    write_recording(&[0, 1, 2].map(calls))
}

/// Writes a recording with these calls per rank, in one world.
pub(crate) fn write_recording(ranks: &[Vec<TimedCall>]) -> ExampleRecording {
    write_recording_with_worlds(ranks, &["0-2"])
}

/// Writes a recording with these calls per rank, in worlds with these members.
pub(crate) fn write_recording_with_worlds(ranks: &[Vec<TimedCall>], worlds: &[&str]) -> ExampleRecording {
    let folder = tempfile::tempdir().unwrap();
    let write_rank = |(rank, calls): (usize, &Vec<TimedCall>)| {
        let mut writer = RankFileWriter::create(folder.path(), rank as u32).unwrap();
        for (thread, enter, leave, descriptor) in calls {
            writer.write_call(*thread, *enter, *leave, descriptor).unwrap();
        }
        let calls = writer.finish().unwrap().calls;
        RecordedRank {
            rank: rank as u32,
            calls,
            threads: 1,
            end_ns: 600,
            end: ProcessExit::Finalized,
            clock: NANOSECOND_CLOCK,
            ..RecordedRank::default()
        }
    };
    let header = RecordingHeader {
        format: FORMAT_VERSION,
        command: vec!["./main".into()],
        started_s: 1.7e9,
        hosts: vec!["first".into()],
        size: ranks.len(),
        ranks: ranks.iter().enumerate().map(write_rank).collect(),
        communicators: worlds.iter().map(|members| world(members)).collect(),
        sites: (1..=5).map(site).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..RecordingHeader::default()
    };
    header.write(folder.path()).unwrap();
    ExampleRecording { recording: Recording::open(folder.path()).unwrap(), _folder: folder }
}
