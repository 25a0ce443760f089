//! Small runs told call by call, so that tests know every moment in them; and companies that analyse them.
#![allow(dead_code, reason = "not every test that uses this file needs everything")]

use std::sync::{Barrier, Mutex};

use sintonia_mpi::{FUNCTIONS, Mode, Operation};
use sintonia_program::company::Company;
use sintonia_recording::Recording;
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Clock, Communicator, End, Frame, Header, Object, Rank, Site};
use sintonia_recording::neighbours::{self, Neighbours};
use sintonia_recording::raw::{ANY, NONE, RequestRef, part};
use sintonia_recording::sealed::Writer;
use sintonia_recording::table::{ListedRequest, Shape};
use tempfile::TempDir;

/// Nanoseconds of a millisecond: the unit of the moments in a story.
pub const MS: i64 = 1_000_000;

/// A call: thread, when it was entered and left in milliseconds, and its shape.
pub type Told = (u16, u64, u64, Shape);

/// A run whose ranks made these calls; call sites are lines of `story.c`.
pub fn story(ranks: &[Vec<Told>]) -> (TempDir, Recording) {
    story_with(ranks, |_| ())
}

/// The same with something else in its header.
pub fn story_with(ranks: &[Vec<Told>], change: impl FnOnce(&mut Header)) -> (TempDir, Recording) {
    let folder = tempfile::tempdir().unwrap();
    let mut header = header(ranks.len());
    change(&mut header);
    for (rank, calls) in ranks.iter().enumerate() {
        let mut writer = Writer::create(folder.path(), rank as u32).unwrap();
        for (thread, enter, leave, shape) in calls {
            writer.call(*thread, enter * MS as u64, leave * MS as u64, shape).unwrap();
        }
        let written = writer.finish().unwrap();
        let moment = |pick: fn(&Told) -> u64| calls.iter().map(pick);
        header.ranks.push(Rank {
            rank: rank as u32,
            calls: written.calls,
            threads: calls.iter().map(|call| u32::from(call.0) + 1).max().unwrap_or(1),
            begin_ns: moment(|call| call.1).min().unwrap_or(0) as i64 * MS,
            end_ns: moment(|call| call.2).max().unwrap_or(0) as i64 * MS,
            end: End::Finalized,
            clock: Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 },
            ..Rank::default()
        });
    }
    header.write(folder.path()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    (folder, recording)
}

fn header(size: usize) -> Header {
    let site = |line: u32| Site {
        module: "/home/me/story".into(),
        offset: line.into(),
        frames: vec![Frame { function: Some("main".into()), file: Some("/home/me/story.c".into()), line: Some(line) }],
    };
    let world = Communicator { made_by: "MPI_Init".into(), members: format!("0-{}", size - 1), ..Communicator::default() };
    Header {
        format: FORMAT,
        command: vec!["story".into()],
        exit_status: Some(0),
        hosts: vec!["here".into()],
        size,
        communicators: vec![world],
        objects: vec![Object { kind: "window".into(), communicator: Some(0) }],
        sites: (0..100).map(site).collect(),
        operations: FUNCTIONS.iter().map(|f| f.name.into()).collect(),
        ..Header::default()
    }
}

/// A call of the first thread at a line.
pub fn call(enter: u64, leave: u64, line: u32, shape: Shape) -> Told {
    (0, enter, leave, Shape { site: line, ..shape })
}

/// A call with a communicator, a peer and tag 7.
pub fn with(name: &str, peer: i32) -> Shape {
    let operation = Operation::named(name).unwrap();
    let request = if operation.function().mode == Mode::Blocking { 0 } else { part::REQUEST };
    let parts = part::OBJECT | part::TAG | request;
    Shape { parts, object: 0, peer, tag: 7, ..Shape::of(operation) }
}

pub fn send(to: i32) -> Shape {
    Shape { sent: 8, ..with("MPI_Send", to) }
}

pub fn receive(from: i32) -> Shape {
    Shape { received: 8, ..with("MPI_Recv", from) }
}

/// A nonblocking receive from anyone.
pub fn irecv() -> Shape {
    with("MPI_Irecv", ANY)
}

pub fn collective(name: &str) -> Shape {
    with(name, NONE)
}

pub fn init() -> Shape {
    Shape::of(Operation::named("MPI_Init").unwrap())
}

pub fn finalize() -> Shape {
    Shape::of(Operation::named("MPI_Finalize").unwrap())
}

/// The world as a ring, in which every rank sends to the next.
pub fn as_ring(header: &mut Header) {
    let size = header.size as i32;
    let ring = |rank: i32| Neighbours { sources: vec![(rank + size - 1) % size], destinations: vec![(rank + 1) % size] };
    header.communicators[0].neighbours = neighbours::write(&(0..size).map(|rank| (rank as u32, ring(rank))).collect());
}

/// Every rank alone and all of them as groups that calls can name: group *n* is rank *n*, and the one after them is everyone.
pub fn with_groups(header: &mut Header) {
    header.groups = (0..header.size).map(|rank| rank.to_string()).chain([format!("0-{}", header.size - 1)]).collect();
}

/// A call on the window of the story.
pub fn on_window(name: &str) -> Shape {
    Shape { parts: part::OBJECT, object: 0, ..Shape::of(Operation::named(name).unwrap()) }
}

/// `MPI_Win_post` or `MPI_Win_start` with a group of [`with_groups`].
pub fn with_group(name: &str, group: i32) -> Shape {
    Shape { parts: part::OBJECT | part::VALUE, value: group, ..on_window(name) }
}

/// An access to the window of a rank.
pub fn put(target: i32) -> Shape {
    Shape { peer: target, sent: 8, ..on_window("MPI_Put") }
}

/// `MPI_Win_lock` of the window of a rank.
pub fn lock(kind: i32, target: i32) -> Shape {
    Shape { parts: part::OBJECT | part::VALUE, value: kind, peer: target, ..on_window("MPI_Win_lock") }
}

/// `MPI_Win_unlock` of the window of a rank.
pub fn unlock(target: i32) -> Shape {
    Shape { peer: target, ..on_window("MPI_Win_unlock") }
}

/// A wait for requests: how many requests ago each was made, and from whom it received.
pub fn wait(name: &str, requests: &[(u64, Option<i32>)]) -> Shape {
    let listed = |(ago, from): &(u64, Option<i32>)| ListedRequest {
        request: RequestRef::Ago(*ago),
        receive: from.is_some(),
        peer: from.unwrap_or(NONE),
        tag: 7,
        received: 8,
    };
    Shape { requests: requests.iter().map(listed).collect(), ..Shape::of(Operation::named(name).unwrap()) }
}

/// Threads that play the processes of a company.
pub struct Table {
    mail: Vec<Mutex<Vec<Vec<u8>>>>,
    barrier: Barrier,
}

/// One of them.
pub struct Seat<'a> {
    table: &'a Table,
    here: usize,
}

impl Company for Seat<'_> {
    fn size(&self) -> usize {
        self.table.mail.len()
    }

    fn here(&self) -> usize {
        self.here
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        *self.table.mail[self.here].lock().unwrap() = parcels;
        self.table.barrier.wait();
        let mine = self.table.mail.iter().map(|mail| mail.lock().unwrap()[self.here].clone()).collect();
        self.table.barrier.wait();
        mine
    }
}

/// What each process of a company of this size finds.
pub fn together<T: Send>(size: usize, analyse: impl Fn(&dyn Company) -> T + Sync) -> Vec<T> {
    let table = Table { mail: (0..size).map(|_| Mutex::default()).collect(), barrier: Barrier::new(size) };
    let (table, analyse) = (&table, &analyse);
    std::thread::scope(|scope| {
        let start = |here| scope.spawn(move || analyse(&Seat { table, here }));
        let threads: Vec<_> = (0..size).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
