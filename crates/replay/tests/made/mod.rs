//! Programs whose recordings are made by hand, for any number of ranks.
#![allow(dead_code, reason = "each file of tests takes what it needs")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::Recording;
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Clock, Communicator, End, Frame, Header, Rank, Site};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::Writer;
use sintonia_recording::table::{ListedRequest, Shape};
use tempfile::TempDir;

/// What stands for a peer where there is nobody.
pub const NOBODY: i32 = raw::PROC_NULL;
/// How many lines the source of each program has.
const LINES: u32 = 99;

/// A recording, for as long as this lives.
pub struct Made {
    /// It.
    pub recording: Recording,
    _folder: TempDir,
}

/// The communicators of a run: who is in them.
#[derive(Default)]
struct Communicators {
    members: Vec<Vec<u32>>,
    /// By the line that made them and the first member.
    numbers: BTreeMap<(u32, u32), u32>,
}

/// The number of a request, and what it receives: from whom, the tag, how many bytes.
type Request = (u64, Option<(i32, i32, u64)>);

/// One rank that goes through a program.
pub struct Player<'a> {
    /// The rank.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    communicators: &'a RefCell<Communicators>,
    calls: Vec<(u64, u64, Shape)>,
    now: u64,
    made: u64,
    pending: Vec<Request>,
    persistent: Vec<Request>,
}

impl Player<'_> {
    /// The rank as a number that can be calculated with.
    pub fn here(&self) -> i32 {
        self.rank as i32
    }

    /// Computes for so many nanoseconds.
    pub fn compute(&mut self, nanoseconds: u64) {
        self.now += nanoseconds;
    }

    fn call(&mut self, line: u32, shape: Shape) {
        let enter = self.now;
        self.now += 100;
        self.calls.push((enter, self.now, Shape { site: line - 1, ..shape }));
    }

    fn named(operation: &str, parts: u16) -> Shape {
        Shape { parts, ..Shape::of(Operation::named(operation).unwrap()) }
    }

    /// Starts and ends MPI.
    pub fn start(&mut self) {
        self.call(1, Player::named("MPI_Init", 0));
    }

    /// See [`Player::start`].
    pub fn end(&mut self) {
        self.call(LINES, Player::named("MPI_Finalize", 0));
    }

    /// A message with a blocking call.
    pub fn send(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT;
        self.call(line, Shape { object: 0, peer, tag, sent, ..Player::named("MPI_Send", parts) });
    }

    /// The same from a buffer.
    pub fn buffered_send(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT;
        self.call(line, Shape { object: 0, peer, tag, sent, ..Player::named("MPI_Bsend", parts) });
    }

    /// See [`Player::send`].
    pub fn receive(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED;
        self.call(line, Shape { object: 0, peer, tag, received, ..Player::named("MPI_Recv", parts) });
    }

    /// A message that would have been taken from anyone, with the one whose it was.
    pub fn receive_from_anyone(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED;
        self.call(line, Shape { object: 0, peer, tag, recv_tag: raw::ANY, received, ..Player::named("MPI_Recv", parts) });
    }

    /// Both at once.
    pub fn send_receive(&mut self, line: u32, peer: i32, source: i32, tag: i32, bytes: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::RECEIVED | part::SOURCE;
        let shape =
            Shape { object: 0, peer, source, tag, recv_tag: tag, sent: bytes, received: bytes, ..Player::named("MPI_Sendrecv", parts) };
        self.call(line, shape);
    }

    /// A message that a later call completes.
    pub fn isend(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
        self.call(line, Shape { object: 0, peer, tag, sent, ..Player::named("MPI_Isend", parts) });
        self.pending.push((self.made, None));
        self.made += 1;
    }

    /// See [`Player::isend`].
    pub fn ireceive(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
        self.call(line, Shape { object: 0, peer, tag, received, ..Player::named("MPI_Irecv", parts) });
        self.pending.push((self.made, Some((peer, tag, received))));
        self.made += 1;
    }

    /// A message that others start.
    pub fn send_init(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
        self.call(line, Shape { object: 0, peer, tag, sent, ..Player::named("MPI_Send_init", parts) });
        self.persistent.push((self.made, None));
        self.made += 1;
    }

    /// See [`Player::send_init`].
    pub fn receive_init(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
        self.call(line, Shape { object: 0, peer, tag, received, ..Player::named("MPI_Recv_init", parts) });
        self.persistent.push((self.made, Some((peer, tag, received))));
        self.made += 1;
    }

    fn listed(&self, requests: &[Request]) -> Vec<ListedRequest> {
        let listed = |(number, receives): &Request| {
            let (peer, tag, received) = receives.unwrap_or((raw::NONE, 0, 0));
            let request = RequestRef::Ago(self.made - 1 - number);
            ListedRequest { request, receive: receives.is_some() && peer != NOBODY, peer, tag, received }
        };
        requests.iter().map(listed).collect()
    }

    /// Starts all persistent requests.
    pub fn start_all(&mut self, line: u32) {
        self.pending = self.persistent.clone();
        let requests = self.listed(&self.persistent);
        self.call(line, Shape { requests, ..Player::named("MPI_Startall", part::STARTED) });
    }

    /// Waits for everything.
    pub fn wait_all(&mut self, line: u32) {
        let pending = std::mem::take(&mut self.pending);
        let requests = self.listed(&pending);
        self.call(line, Shape { requests, ..Player::named("MPI_Waitall", 0) });
    }

    /// Waits for the oldest.
    pub fn wait(&mut self, line: u32) {
        let oldest = self.pending.remove(0);
        let requests = self.listed(&[oldest]);
        self.call(line, Shape { requests, ..Player::named("MPI_Wait", 0) });
    }

    /// An operation of everybody in a communicator.
    pub fn together(&mut self, line: u32, operation: &str, communicator: u32, root: i32, [sent, received]: [u64; 2]) {
        let parts = part::OBJECT | part::SENT | part::RECEIVED;
        self.call(line, Shape { object: communicator, peer: root, sent, received, ..Player::named(operation, parts) });
    }

    /// Makes communicators of ranks with the same colour, and gives the one of this rank.
    pub fn split(&mut self, line: u32, colour: impl Fn(u32) -> u32) -> u32 {
        let members: Vec<u32> = (0..self.ranks).filter(|rank| colour(*rank) == colour(self.rank)).collect();
        let made = {
            let mut known = self.communicators.borrow_mut();
            let next = known.members.len() as u32;
            let number = *known.numbers.entry((line, members[0])).or_insert(next);
            if number == next {
                known.members.push(members);
            }
            number
        };
        self.call(line, Shape { object: 0, made, ..Player::named("MPI_Comm_split", part::OBJECT | part::MADE) });
        made
    }
}

/// Records a program with so many ranks.
pub fn record(ranks: u32, program: impl Fn(&mut Player)) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let communicators = RefCell::new(Communicators { members: vec![(0..ranks).collect()], ..Communicators::default() });
    let mut known = Vec::new();
    for rank in 0..ranks {
        let (now, made) = (1000, 0);
        let mut player = Player {
            rank,
            ranks,
            communicators: &communicators,
            calls: Vec::new(),
            now,
            made,
            pending: Vec::new(),
            persistent: Vec::new(),
        };
        player.start();
        program(&mut player);
        player.end();
        let mut writer = Writer::create(folder.path(), rank).unwrap();
        for (enter, leave, shape) in &player.calls {
            writer.call(0, *enter, *leave, shape).unwrap();
        }
        let calls = writer.finish().unwrap().calls;
        let clock = Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
        known.push(Rank { rank, calls, threads: 1, end_ns: player.now as i64, end: End::Finalized, clock, ..Rank::default() });
    }
    let ranks_of = |members: &Vec<u32>| members.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let made_by = |place: usize| if place == 0 { "MPI_COMM_WORLD" } else { "MPI_Comm_split" };
    let defined = communicators.borrow();
    let header = Header {
        format: FORMAT,
        command: vec!["./made".into()],
        hosts: vec!["host".into()],
        size: ranks as usize,
        ranks: known,
        communicators: defined
            .members
            .iter()
            .enumerate()
            .map(|(place, members)| Communicator { made_by: made_by(place).into(), members: ranks_of(members), ..Communicator::default() })
            .collect(),
        sites: (1..=LINES).map(site).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..Header::default()
    };
    header.write(folder.path()).unwrap();
    Made { recording: Recording::open(folder.path()).unwrap(), _folder: folder }
}

/// Recordings of one program.
pub struct Family {
    /// They.
    pub recordings: Vec<Recording>,
    _folders: Vec<TempDir>,
}

/// Records a program with several numbers of ranks.
pub fn family(ranks: &[u32], program: impl Fn(&mut Player)) -> Family {
    let made = ranks.iter().map(|ranks| record(*ranks, &program)).map(|made| (made.recording, made._folder));
    let (recordings, folders) = made.unzip();
    Family { recordings, _folders: folders }
}

fn site(line: u32) -> Site {
    let frame = Frame { function: Some("main".into()), file: Some("/src/made.c".into()), line: Some(line) };
    Site { module: "/bin/made".into(), offset: line.into(), frames: vec![frame] }
}
