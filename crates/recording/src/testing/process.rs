//! Programs for any number of ranks, written as a function that each rank executes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::builder::{RecordingBuilder, TestRecording};
use super::calls::{TestCall, call, finalize, init, message};
use crate::call_table::{CallDescriptor, ListedRequest};
use crate::definitions::format_ranks;
use crate::header::CommunicatorDefinition;
use crate::raw::{self, RequestRef, part};

/// Nanoseconds that every call takes.
const CALL_NS: u64 = 100;
/// When `MPI_Init` is called.
const BEGIN_NS: u64 = 1000;
/// The line of `MPI_Finalize`.
const LAST_LINE: u32 = 99;

/// The communicators of a run and their members.
#[derive(Default)]
struct Communicators {
    members: Vec<Vec<i32>>,
    /// By creating line and first member.
    indices: BTreeMap<(u32, i32), u32>,
}

/// A request, and what it receives: source, tag, bytes.
#[derive(Clone, Copy)]
struct PendingRequest {
    number: u64,
    receives: Option<(i32, i32, u64)>,
}

/// A process that executes a program. Every call is given its source line first.
pub struct TestProcess<'a> {
    /// Its rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    communicators: &'a RefCell<Communicators>,
    calls: Vec<TestCall>,
    now: u64,
    requests: u64,
    pending: Vec<PendingRequest>,
    persistent: Vec<PendingRequest>,
}

impl TestProcess<'_> {
    /// Its rank, for arithmetic with those of its peers.
    pub fn signed_rank(&self) -> i32 {
        self.rank as i32
    }

    /// Computes for this many nanoseconds.
    pub fn compute(&mut self, nanoseconds: u64) {
        self.now += nanoseconds;
    }

    fn call(&mut self, line: u32, descriptor: CallDescriptor) {
        let enter = self.now;
        self.now += CALL_NS;
        self.calls.push(descriptor.line(line).at(enter, self.now));
    }

    /// `MPI_Init`, with which every program begins.
    pub fn init(&mut self) {
        self.call(1, init());
    }

    /// `MPI_Finalize`, with which every program ends.
    pub fn finalize(&mut self) {
        self.call(LAST_LINE, finalize());
    }

    /// `MPI_Send`.
    pub fn send(&mut self, line: u32, to: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Send", to).tag(tag).sent(bytes));
    }

    /// `MPI_Bsend`.
    pub fn bsend(&mut self, line: u32, to: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Bsend", to).tag(tag).sent(bytes));
    }

    /// `MPI_Recv`.
    pub fn receive(&mut self, line: u32, from: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Recv", from).tag(tag).received(bytes));
    }

    /// `MPI_Recv` from any source, and the source that it got.
    pub fn receive_any(&mut self, line: u32, from: i32, tag: i32, bytes: u64) {
        let descriptor = message("MPI_Recv", from).tag(tag).received(bytes);
        self.call(line, CallDescriptor { recv_tag: raw::ANY, ..descriptor });
    }

    /// `MPI_Sendrecv`.
    pub fn send_receive(&mut self, line: u32, to: i32, from: i32, tag: i32, bytes: u64) {
        let descriptor = message("MPI_Sendrecv", to).tag(tag).source(from).sent(bytes).received(bytes);
        self.call(line, CallDescriptor { recv_tag: tag, ..descriptor });
    }

    /// `MPI_Isend`.
    pub fn isend(&mut self, line: u32, to: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Isend", to).tag(tag).sent(bytes));
        let request = self.new_request(None);
        self.pending.push(request);
    }

    /// `MPI_Irecv`.
    pub fn irecv(&mut self, line: u32, from: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Irecv", from).tag(tag).received(bytes));
        let request = self.new_request(Some((from, tag, bytes)));
        self.pending.push(request);
    }

    /// `MPI_Send_init`.
    pub fn send_init(&mut self, line: u32, to: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Send_init", to).tag(tag).sent(bytes));
        let request = self.new_request(None);
        self.persistent.push(request);
    }

    /// `MPI_Recv_init`.
    pub fn recv_init(&mut self, line: u32, from: i32, tag: i32, bytes: u64) {
        self.call(line, message("MPI_Recv_init", from).tag(tag).received(bytes));
        let request = self.new_request(Some((from, tag, bytes)));
        self.persistent.push(request);
    }

    fn new_request(&mut self, receives: Option<(i32, i32, u64)>) -> PendingRequest {
        self.requests += 1;
        PendingRequest { number: self.requests - 1, receives }
    }

    fn listed(&self, requests: &[PendingRequest]) -> Vec<ListedRequest> {
        let listed = |pending: &PendingRequest| {
            let (peer, tag, received) = pending.receives.unwrap_or((raw::NONE, 0, 0));
            let request = RequestRef::Relative(self.requests - 1 - pending.number);
            let is_receive = pending.receives.is_some() && peer != raw::PROC_NULL;
            ListedRequest { request, is_receive, peer, tag, received }
        };
        requests.iter().map(listed).collect()
    }

    /// `MPI_Startall` of all persistent requests.
    pub fn start_all(&mut self, line: u32) {
        self.pending = self.persistent.clone();
        let requests = self.listed(&self.persistent);
        self.call(line, call("MPI_Startall").mark(part::STARTED).requests(requests));
    }

    /// `MPI_Waitall` for all requests.
    pub fn wait_all(&mut self, line: u32) {
        let pending = std::mem::take(&mut self.pending);
        let requests = self.listed(&pending);
        self.call(line, call("MPI_Waitall").requests(requests));
    }

    /// `MPI_Wait` for the oldest request.
    pub fn wait(&mut self, line: u32) {
        let oldest = self.pending.remove(0);
        let requests = self.listed(&[oldest]);
        self.call(line, call("MPI_Wait").requests(requests));
    }

    /// A collective on a communicator.
    pub fn collective(&mut self, line: u32, function: &str, communicator: u32, root: i32, [sent, received]: [u64; 2]) {
        self.call(line, call(function).on(communicator).peer(root).sent(sent).received(received));
    }

    /// `MPI_Comm_split`; returns the communicator that this rank gets.
    pub fn split(&mut self, line: u32, colour: impl Fn(u32) -> u32) -> u32 {
        let members = (0..self.ranks).filter(|rank| colour(*rank) == colour(self.rank)).map(|rank| rank as i32).collect();
        let created = self.communicators.borrow_mut().index_of(line, members);
        self.call(line, call("MPI_Comm_split").on(0).created(created));
        created
    }
}

impl Communicators {
    /// The communicator of these members that a line creates.
    fn index_of(&mut self, line: u32, members: Vec<i32>) -> u32 {
        let next = self.members.len() as u32;
        let index = *self.indices.entry((line, members[0])).or_insert(next);
        if index == next {
            self.members.push(members);
        }
        index
    }

    /// The communicators besides the world.
    fn definitions(&self) -> impl Iterator<Item = CommunicatorDefinition> {
        self.members.iter().skip(1).map(|members| CommunicatorDefinition {
            made_by: "MPI_Comm_split".into(),
            members: format_ranks(members),
            ..CommunicatorDefinition::default()
        })
    }
}

/// A recording of a program with this number of ranks. Every call takes 100 ns, whatever it waits for.
pub fn record_program(ranks: u32, program: impl Fn(&mut TestProcess)) -> TestRecording {
    let communicators = RefCell::new(Communicators { members: vec![(0..ranks as i32).collect()], ..Communicators::default() });
    let run = |rank| {
        let mut process = TestProcess {
            rank,
            ranks,
            communicators: &communicators,
            calls: Vec::new(),
            now: BEGIN_NS,
            requests: 0,
            pending: Vec::new(),
            persistent: Vec::new(),
        };
        process.init();
        program(&mut process);
        process.finalize();
        process.calls
    };
    let builder = RecordingBuilder::new().ranks((0..ranks).map(run));
    builder.header(|header| header.communicators.extend(communicators.borrow().definitions())).write()
}
