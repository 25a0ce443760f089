//! Hand-made recordings for any number of ranks.
#![allow(dead_code, reason = "each file of tests takes what it needs")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, ProcessExit, RecordedRank, RecordingHeader, SourceFrame,
};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;
use tempfile::TempDir;

/// Peer that stands for none.
pub(crate) const NOBODY: i32 = raw::PROC_NULL;
/// Lines of the source of each program.
const LINES: u32 = 99;

/// A recording, for the lifetime of this value.
pub(crate) struct Made {
    /// The recording.
    pub recording: Recording,
    _folder: TempDir,
}

/// The communicators of a run and their members.
#[derive(Default)]
struct Communicators {
    members: Vec<Vec<u32>>,
    /// By creating line and first member.
    numbers: BTreeMap<(u32, u32), u32>,
}

/// Request number, and what it receives: source, tag, bytes.
type Request = (u64, Option<(i32, i32, u64)>);

/// One rank that executes a program.
pub(crate) struct Player<'a> {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    communicators: &'a RefCell<Communicators>,
    calls: Vec<(u64, u64, CallDescriptor)>,
    now: u64,
    made: u64,
    pending: Vec<Request>,
    persistent: Vec<Request>,
}

impl Player<'_> {
    /// The rank as a signed number.
    pub(crate) fn here(&self) -> i32 {
        self.rank as i32
    }

    /// Computes for this many nanoseconds.
    pub(crate) fn compute(&mut self, nanoseconds: u64) {
        self.now += nanoseconds;
    }

    fn call(&mut self, line: u32, shape: CallDescriptor) {
        let enter = self.now;
        self.now += 100;
        self.calls.push((enter, self.now, CallDescriptor { site: line - 1, ..shape }));
    }

    fn named(operation: &str, parts: u16) -> CallDescriptor {
        CallDescriptor { parts, ..CallDescriptor::new(FunctionId::from_name(operation).unwrap()) }
    }

    /// Starts and ends MPI.
    pub(crate) fn start(&mut self) {
        self.call(1, Player::named("MPI_Init", 0));
    }

    /// See [`Player::start`].
    pub(crate) fn end(&mut self) {
        self.call(LINES, Player::named("MPI_Finalize", 0));
    }

    /// A blocking message.
    pub(crate) fn send(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT;
        self.call(line, CallDescriptor { object: 0, peer, tag, sent, ..Player::named("MPI_Send", parts) });
    }

    /// A buffered send.
    pub(crate) fn buffered_send(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT;
        self.call(line, CallDescriptor { object: 0, peer, tag, sent, ..Player::named("MPI_Bsend", parts) });
    }

    /// See [`Player::send`].
    pub(crate) fn receive(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED;
        self.call(line, CallDescriptor { object: 0, peer, tag, received, ..Player::named("MPI_Recv", parts) });
    }

    /// A wildcard receive with the matched source.
    pub(crate) fn receive_from_anyone(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED;
        self.call(line, CallDescriptor { object: 0, peer, tag, recv_tag: raw::ANY, received, ..Player::named("MPI_Recv", parts) });
    }

    /// A send-receive.
    pub(crate) fn send_receive(&mut self, line: u32, peer: i32, source: i32, tag: i32, bytes: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::RECEIVED | part::SOURCE;
        let shape = CallDescriptor {
            object: 0,
            peer,
            source,
            tag,
            recv_tag: tag,
            sent: bytes,
            received: bytes,
            ..Player::named("MPI_Sendrecv", parts)
        };
        self.call(line, shape);
    }

    /// A nonblocking message.
    pub(crate) fn isend(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
        self.call(line, CallDescriptor { object: 0, peer, tag, sent, ..Player::named("MPI_Isend", parts) });
        self.pending.push((self.made, None));
        self.made += 1;
    }

    /// See [`Player::isend`].
    pub(crate) fn ireceive(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
        self.call(line, CallDescriptor { object: 0, peer, tag, received, ..Player::named("MPI_Irecv", parts) });
        self.pending.push((self.made, Some((peer, tag, received))));
        self.made += 1;
    }

    /// A persistent message.
    pub(crate) fn send_init(&mut self, line: u32, peer: i32, tag: i32, sent: u64) {
        let parts = part::OBJECT | part::TAG | part::SENT | part::REQUEST;
        self.call(line, CallDescriptor { object: 0, peer, tag, sent, ..Player::named("MPI_Send_init", parts) });
        self.persistent.push((self.made, None));
        self.made += 1;
    }

    /// See [`Player::send_init`].
    pub(crate) fn receive_init(&mut self, line: u32, peer: i32, tag: i32, received: u64) {
        let parts = part::OBJECT | part::TAG | part::RECEIVED | part::REQUEST;
        self.call(line, CallDescriptor { object: 0, peer, tag, received, ..Player::named("MPI_Recv_init", parts) });
        self.persistent.push((self.made, Some((peer, tag, received))));
        self.made += 1;
    }

    fn listed(&self, requests: &[Request]) -> Vec<ListedRequest> {
        let listed = |(number, receives): &Request| {
            let (peer, tag, received) = receives.unwrap_or((raw::NONE, 0, 0));
            let request = RequestRef::Relative(self.made - 1 - number);
            ListedRequest { request, is_receive: receives.is_some() && peer != NOBODY, peer, tag, received }
        };
        requests.iter().map(listed).collect()
    }

    /// Starts all persistent requests.
    pub(crate) fn start_all(&mut self, line: u32) {
        self.pending = self.persistent.clone();
        let requests = self.listed(&self.persistent);
        self.call(line, CallDescriptor { requests, ..Player::named("MPI_Startall", part::STARTED) });
    }

    /// Waits for all requests.
    pub(crate) fn wait_all(&mut self, line: u32) {
        let pending = std::mem::take(&mut self.pending);
        let requests = self.listed(&pending);
        self.call(line, CallDescriptor { requests, ..Player::named("MPI_Waitall", 0) });
    }

    /// Waits for the oldest request.
    pub(crate) fn wait(&mut self, line: u32) {
        let oldest = self.pending.remove(0);
        let requests = self.listed(&[oldest]);
        self.call(line, CallDescriptor { requests, ..Player::named("MPI_Wait", 0) });
    }

    /// A collective on a communicator.
    pub(crate) fn together(&mut self, line: u32, operation: &str, communicator: u32, root: i32, [sent, received]: [u64; 2]) {
        let parts = part::OBJECT | part::SENT | part::RECEIVED;
        self.call(line, CallDescriptor { object: communicator, peer: root, sent, received, ..Player::named(operation, parts) });
    }

    /// Splits by colour and returns the communicator of this rank.
    pub(crate) fn split(&mut self, line: u32, colour: impl Fn(u32) -> u32) -> u32 {
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
        self.call(line, CallDescriptor { object: 0, created: made, ..Player::named("MPI_Comm_split", part::OBJECT | part::CREATED) });
        made
    }
}

/// Records a program with this number of ranks.
pub(crate) fn record(ranks: u32, program: impl Fn(&mut Player)) -> Made {
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
        let mut writer = RankFileWriter::create(folder.path(), rank).unwrap();
        for (enter, leave, shape) in &player.calls {
            writer.write_call(0, *enter, *leave, shape).unwrap();
        }
        let calls = writer.finish().unwrap().calls;
        let clock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
        known.push(RecordedRank {
            rank,
            calls,
            threads: 1,
            end_ns: player.now as i64,
            end: ProcessExit::Finalized,
            clock,
            ..RecordedRank::default()
        });
    }
    let ranks_of = |members: &Vec<u32>| members.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let made_by = |place: usize| if place == 0 { "MPI_COMM_WORLD" } else { "MPI_Comm_split" };
    let defined = communicators.borrow();
    let header = RecordingHeader {
        format: FORMAT_VERSION,
        command: vec!["./made".into()],
        hosts: vec!["host".into()],
        size: ranks as usize,
        ranks: known,
        communicators: defined
            .members
            .iter()
            .enumerate()
            .map(|(place, members)| CommunicatorDefinition {
                made_by: made_by(place).into(),
                members: ranks_of(members),
                ..CommunicatorDefinition::default()
            })
            .collect(),
        sites: (1..=LINES).map(site).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..RecordingHeader::default()
    };
    header.write(folder.path()).unwrap();
    Made { recording: Recording::open(folder.path()).unwrap(), _folder: folder }
}

/// Recordings of one program.
pub(crate) struct Family {
    /// The recordings.
    pub recordings: Vec<Recording>,
    _folders: Vec<TempDir>,
}

/// Records a program with several numbers of ranks.
pub(crate) fn family(ranks: &[u32], program: impl Fn(&mut Player)) -> Family {
    let made = ranks.iter().map(|ranks| record(*ranks, &program)).map(|made| (made.recording, made._folder));
    let (recordings, folders) = made.unzip();
    Family { recordings, _folders: folders }
}

fn site(line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("/src/made.c".into()), line: Some(line) };
    CallSiteDefinition { module: "/bin/made".into(), offset: line.into(), frames: vec![frame] }
}
