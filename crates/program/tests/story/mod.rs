//! Small handmade runs in which every time is known, and process groups that analyse them.
#![allow(dead_code, reason = "not every test that uses this file needs everything")]

use std::sync::{Barrier, Mutex};

use sintonia_mpi::{BlockingMode, FUNCTIONS, FunctionId};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, ObjectDefinition, ProcessExit, RecordedRank, RecordingHeader, SourceFrame,
};
use sintonia_recording::neighbours::{self, TopologyNeighbours};
use sintonia_recording::raw::{ANY, NONE, RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;
use tempfile::TempDir;

/// Nanoseconds of a millisecond: the time unit of a story.
pub(crate) const MS: i64 = 1_000_000;

/// A call: thread, when it was entered and left in milliseconds, and its descriptor.
pub(crate) type Told = (u16, u64, u64, CallDescriptor);

/// A run whose ranks made these calls; call sites are lines of `story.c`.
pub(crate) fn story(ranks: &[Vec<Told>]) -> (TempDir, Recording) {
    story_with(ranks, |_| ())
}

/// The same with a changed header.
pub(crate) fn story_with(ranks: &[Vec<Told>], change: impl FnOnce(&mut RecordingHeader)) -> (TempDir, Recording) {
    let folder = tempfile::tempdir().unwrap();
    let mut header = header(ranks.len());
    change(&mut header);
    for (rank, calls) in ranks.iter().enumerate() {
        let mut writer = RankFileWriter::create(folder.path(), rank as u32).unwrap();
        for (thread, enter, leave, descriptor) in calls {
            writer.write_call(*thread, enter * MS as u64, leave * MS as u64, descriptor).unwrap();
        }
        let written = writer.finish().unwrap();
        let moment = |pick: fn(&Told) -> u64| calls.iter().map(pick);
        header.ranks.push(RecordedRank {
            rank: rank as u32,
            calls: written.calls,
            threads: calls.iter().map(|call| u32::from(call.0) + 1).max().unwrap_or(1),
            begin_ns: moment(|call| call.1).min().unwrap_or(0) as i64 * MS,
            end_ns: moment(|call| call.2).max().unwrap_or(0) as i64 * MS,
            end: ProcessExit::Finalized,
            clock: LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 },
            ..RecordedRank::default()
        });
    }
    header.write(folder.path()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    (folder, recording)
}

fn header(size: usize) -> RecordingHeader {
    let site = |line: u32| CallSiteDefinition {
        module: "/home/me/story".into(),
        offset: line.into(),
        frames: vec![SourceFrame { function: Some("main".into()), file: Some("/home/me/story.c".into()), line: Some(line) }],
    };
    let world =
        CommunicatorDefinition { made_by: "MPI_Init".into(), members: format!("0-{}", size - 1), ..CommunicatorDefinition::default() };
    RecordingHeader {
        format: FORMAT_VERSION,
        command: vec!["story".into()],
        exit_status: Some(0),
        hosts: vec!["here".into()],
        size,
        communicators: vec![world],
        objects: vec![ObjectDefinition { kind: "window".into(), communicator: Some(0) }],
        sites: (0..100).map(site).collect(),
        operations: FUNCTIONS.iter().map(|f| f.name.into()).collect(),
        ..RecordingHeader::default()
    }
}

/// A call of the first thread at a source line.
pub(crate) fn call(enter: u64, leave: u64, line: u32, descriptor: CallDescriptor) -> Told {
    (0, enter, leave, CallDescriptor { site: line, ..descriptor })
}

/// A call with a communicator, a peer and tag 7.
pub(crate) fn with(name: &str, peer: i32) -> CallDescriptor {
    let operation = FunctionId::from_name(name).unwrap();
    let request = if operation.definition().mode == BlockingMode::Blocking { 0 } else { part::REQUEST };
    let parts = part::OBJECT | part::TAG | request;
    CallDescriptor { parts, object: 0, peer, tag: 7, ..CallDescriptor::new(operation) }
}

pub(crate) fn send(to: i32) -> CallDescriptor {
    CallDescriptor { sent: 8, ..with("MPI_Send", to) }
}

pub(crate) fn receive(from: i32) -> CallDescriptor {
    CallDescriptor { received: 8, ..with("MPI_Recv", from) }
}

/// A nonblocking wildcard receive.
pub(crate) fn irecv() -> CallDescriptor {
    with("MPI_Irecv", ANY)
}

pub(crate) fn collective(name: &str) -> CallDescriptor {
    with(name, NONE)
}

pub(crate) fn init() -> CallDescriptor {
    CallDescriptor::new(FunctionId::from_name("MPI_Init").unwrap())
}

pub(crate) fn finalize() -> CallDescriptor {
    CallDescriptor::new(FunctionId::from_name("MPI_Finalize").unwrap())
}

/// The world as a ring topology: every rank sends to the next.
pub(crate) fn as_ring(header: &mut RecordingHeader) {
    let size = header.size as i32;
    let ring = |rank: i32| TopologyNeighbours { sources: vec![(rank + size - 1) % size], destinations: vec![(rank + 1) % size] };
    header.communicators[0].neighbours = neighbours::encode(&(0..size).map(|rank| (rank as u32, ring(rank))).collect());
}

/// Groups that calls can name: group *n* is rank *n*, and the last one contains all ranks.
pub(crate) fn with_groups(header: &mut RecordingHeader) {
    header.groups = (0..header.size).map(|rank| rank.to_string()).chain([format!("0-{}", header.size - 1)]).collect();
}

/// A call on the window of the story.
pub(crate) fn on_window(name: &str) -> CallDescriptor {
    CallDescriptor { parts: part::OBJECT, object: 0, ..CallDescriptor::new(FunctionId::from_name(name).unwrap()) }
}

/// `MPI_Win_post` or `MPI_Win_start` with a group of [`with_groups`].
pub(crate) fn with_group(name: &str, group: i32) -> CallDescriptor {
    CallDescriptor { parts: part::OBJECT | part::VALUE, value: group, ..on_window(name) }
}

/// An access to the window of a rank.
pub(crate) fn put(target: i32) -> CallDescriptor {
    CallDescriptor { peer: target, sent: 8, ..on_window("MPI_Put") }
}

/// `MPI_Win_lock` of the window of a rank.
pub(crate) fn lock(kind: i32, target: i32) -> CallDescriptor {
    CallDescriptor { parts: part::OBJECT | part::VALUE, value: kind, peer: target, ..on_window("MPI_Win_lock") }
}

/// `MPI_Win_unlock` of the window of a rank.
pub(crate) fn unlock(target: i32) -> CallDescriptor {
    CallDescriptor { peer: target, ..on_window("MPI_Win_unlock") }
}

/// A wait for requests: how many requests ago each was created, and from which rank it received.
pub(crate) fn wait(name: &str, requests: &[(u64, Option<i32>)]) -> CallDescriptor {
    let listed = |(ago, from): &(u64, Option<i32>)| ListedRequest {
        request: RequestRef::Relative(*ago),
        is_receive: from.is_some(),
        peer: from.unwrap_or(NONE),
        tag: 7,
        received: 8,
    };
    CallDescriptor { requests: requests.iter().map(listed).collect(), ..CallDescriptor::new(FunctionId::from_name(name).unwrap()) }
}

/// Threads that act as the processes of a group.
pub(crate) struct Table {
    mail: Vec<Mutex<Vec<Vec<u8>>>>,
    barrier: Barrier,
}

/// One of them.
pub(crate) struct Seat<'a> {
    table: &'a Table,
    here: usize,
}

impl ProcessGroup for Seat<'_> {
    fn size(&self) -> usize {
        self.table.mail.len()
    }

    fn own_index(&self) -> usize {
        self.here
    }

    fn all_to_all_bytes(&self, buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        *self.table.mail[self.here].lock().unwrap() = buffers;
        self.table.barrier.wait();
        let mine = self.table.mail.iter().map(|mail| mail.lock().unwrap()[self.here].clone()).collect();
        self.table.barrier.wait();
        mine
    }
}

/// The results of each process of a group of this size.
pub(crate) fn together<T: Send>(size: usize, analyse: impl Fn(&dyn ProcessGroup) -> T + Sync) -> Vec<T> {
    let table = Table { mail: (0..size).map(|_| Mutex::default()).collect(), barrier: Barrier::new(size) };
    let (table, analyse) = (&table, &analyse);
    std::thread::scope(|scope| {
        let start = |here| scope.spawn(move || analyse(&Seat { table, here }));
        let threads: Vec<_> = (0..size).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
