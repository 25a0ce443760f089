//! A small recording in which every number is known.
//!
//! Five ranks: 0 sends to 1 twice, 2 starts a persistent send to 1 three times that is never received, all take part in a broadcast, 3 is
//! killed in a receive, and 4 leaves nothing.

use super::builder::{RecordingBuilder, TestRecording};
use super::calls::{TestCall, call, collective, finalize, init, irecv, message, receive, send};
use crate::call_table::{CallDescriptor, ListedRequest};
use crate::header::{CallSiteDefinition, MpiVersion, ProcessExit, RecordingHeader, SourceFrame};
use crate::raw::{self, RequestRef, part};

/// The recording with every call.
pub fn recording() -> TestRecording {
    RecordingBuilder::new().ranks((0..4).map(calls)).missing_rank().header(describe).write()
}

/// The same run as a profile, which lists no requests.
pub fn profile() -> TestRecording {
    let builder = (0..4).fold(RecordingBuilder::new(), |builder, rank| builder.profile_rank(calls(rank)));
    builder.missing_rank().header(describe).write()
}

/// One rank with two threads, the second of which waits in MPI nearly all the time.
pub fn threads() -> TestRecording {
    let waits = tenths(10, 90, receive(0).line(3)).thread(1);
    RecordingBuilder::new().rank([first_call(), waits, last_call()]).header(describe).write()
}

/// A call at these tenths of seconds.
fn tenths(enter: u64, leave: u64, descriptor: CallDescriptor) -> TestCall {
    descriptor.at_ms(100 * enter, 100 * leave)
}

fn first_call() -> TestCall {
    tenths(0, 10, init().line(1))
}

fn last_call() -> TestCall {
    tenths(90, 100, finalize().line(9))
}

fn broadcast(sent: u64, received: u64) -> TestCall {
    tenths(50, 60, collective("MPI_Bcast").peer(0).sent(sent).received(received).line(4))
}

fn calls(rank: u32) -> Vec<TestCall> {
    let newest = |is_receive, peer, received| [ListedRequest { request: RequestRef::Relative(0), is_receive, peer, tag: 7, received }];
    match rank {
        0 => {
            let send = send(1).sent(1000).line(2);
            vec![first_call(), tenths(20, 30, send.clone()), tenths(30, 40, send), broadcast(100, 0), last_call()]
        }
        1 => {
            let posted = tenths(10, 10, irecv(0).received(2000).line(5));
            let received = tenths(20, 40, receive(0).received(1000).line(3));
            let completed = tenths(40, 45, call("MPI_Waitall").requests(newest(true, 0, 1000)).line(6));
            vec![first_call(), posted, received, completed, broadcast(0, 100), last_call()]
        }
        2 => {
            let prepared = tenths(10, 10, message("MPI_Send_init", 1).sent(64).line(7));
            let start = tenths(20, 20, call("MPI_Start").mark(part::STARTED).requests(newest(false, raw::NONE, 0)).line(8));
            vec![first_call(), prepared, start.clone(), start.clone(), start, broadcast(0, 100), last_call()]
        }
        _ => {
            let killed = receive(2).received(raw::UNKNOWN_BYTES).mark(part::UNFINISHED).line(3);
            vec![first_call(), broadcast(0, 100), tenths(70, 80, killed)]
        }
    }
}

fn describe(header: &mut RecordingHeader) {
    header.command = ["mpirun", "-n", "5", "./main"].map(String::from).to_vec();
    header.exit_status = Some(137);
    header.parameters = [("n".into(), 4096.0)].into();
    header.mpi = MpiVersion { library: "Open MPI 4.1.4".into(), version: "Open MPI v4.1.4, package: Debian".into(), abi: "openmpi".into() };
    header.hosts = vec!["first".into(), "second".into()];
    header.communicators[0].made_by = "MPI_Init".into();
    header.objects.clear();
    header.sites = (0..10).map(site).collect();
    header.clock_error_s = 2e-6;
    header.notes = vec!["calls before MPI_Init".into()];
    for rank in &mut header.ranks {
        rank.host = rank.rank / 2;
        rank.end = if rank.rank == 3 { ProcessExit::CutShort } else { ProcessExit::Finalized };
    }
}

fn site(line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("/home/me/app/src/main.c".into()), line: Some(line) };
    // The last call site is in a library without debug information.
    let library = SourceFrame { function: Some("finish".into()), file: None, line: None };
    match line {
        9 => CallSiteDefinition { module: "/usr/lib/libhelp.so.1".into(), offset: 0x42, caller: None, frames: vec![library] },
        _ => CallSiteDefinition { module: "/home/me/app/main".into(), offset: u64::from(line), caller: None, frames: vec![frame] },
    }
}
