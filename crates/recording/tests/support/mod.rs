//! Writes what a probe would leave, for tests that seal and read it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::Path;

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::definitions::{
    ClockReading, Definition, End, FORMAT, LIVE_FOLDER, Library, LocalCommunicator, Module, Process as ProcessDefinition, World,
    write_ranks,
};
use sintonia_recording::raw::{
    BLOCK_BYTES, BLOCK_WORDS, HEADER_WORDS, Header, MAGIC, REFERENCE_BITS, RequestRef, checksum, cursor, identity, pair, part,
    payload_header,
};

/// Numbers that look random and are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 20) % limit
    }
}

/// A payload under construction.
#[derive(Clone, Default)]
pub struct Payload {
    operation: u16,
    marks: u16,
    site: u64,
    parts: std::collections::BTreeMap<u16, u64>,
    requests: Vec<[u64; 3]>,
}

pub fn payload(operation: &str) -> Payload {
    Payload { operation: Operation::named(operation).unwrap().0, site: 0x1000, ..Payload::default() }
}

impl Payload {
    pub fn site(mut self, site: u64) -> Self {
        self.site = site;
        self
    }

    pub fn mark(mut self, mark: u16) -> Self {
        self.marks |= mark;
        self
    }

    pub fn part(mut self, part: u16, word: u64) -> Self {
        self.parts.insert(part, word);
        self
    }

    pub fn object(self, id: u32, peer: i32) -> Self {
        self.part(part::OBJECT, pair(id, peer))
    }

    pub fn tag(self, tag: i32) -> Self {
        self.part(part::TAG, pair(tag as u32, sintonia_recording::raw::NONE))
    }

    pub fn sent(self, bytes: u64) -> Self {
        self.part(part::SENT, bytes)
    }

    pub fn received(self, bytes: u64) -> Self {
        self.part(part::RECEIVED, bytes)
    }

    pub fn receive(mut self, request: RequestRef, source: i32, tag: i32, bytes: u64) -> Self {
        self.requests.push([request.word(true), pair(source as u32, tag), bytes]);
        self
    }

    pub fn words(&self) -> Vec<u64> {
        let parts = self.parts.keys().fold(self.marks, |parts, part| parts | part);
        let length = 2 + self.parts.len() + 3 * self.requests.len();
        let mut words = vec![payload_header(self.operation, parts, self.requests.len() as u16, length as u16), self.site];
        words.extend(self.parts.values());
        words.extend(self.requests.iter().flatten());
        words
    }
}

/// The stream of a thread.
pub struct Stream {
    thread: u16,
    /// Complete blocks, each as long as it is used.
    pub blocks: Vec<Vec<u64>>,
    /// Words of a block at which the next one begins.
    pub limit: usize,
    payloads: Vec<(usize, Vec<u64>)>,
    next_request: u64,
}

impl Stream {
    pub fn new(thread: u16) -> Stream {
        Stream { thread, blocks: Vec::new(), limit: 300, payloads: Vec::new(), next_request: 0 }
    }

    fn begin(&mut self, enter: u64) {
        let mut block = vec![0; HEADER_WORDS];
        block[Header::Magic as usize] = MAGIC;
        block[Header::Identity as usize] = identity(self.blocks.len() as u32, self.thread, false);
        block[Header::FirstRequest as usize] = self.next_request;
        block[Header::AnchorTicks as usize] = enter;
        block[Header::AnchorNanoseconds as usize] = enter;
        self.blocks.push(block);
        self.payloads.clear();
    }

    pub fn call(&mut self, enter: u64, leave: u64, payload: &Payload) {
        if self.blocks.last().is_none_or(|block| block.len() > self.limit) {
            self.begin(enter);
        }
        let words = payload.words();
        let known = self.payloads.iter().find(|(_, known)| *known == words).map_or(0, |(place, _)| *place);
        let block = self.blocks.last_mut().unwrap();
        block.extend([enter, (leave - enter) << REFERENCE_BITS | known as u64]);
        if known == 0 {
            self.payloads.push((block.len(), words.clone()));
            block.extend(&words);
        }
        block[Header::Cursor as usize] = cursor(block.len(), 0);
        self.next_request += u64::from(payload.marks & part::REQUEST != 0);
    }

    /// The block as it stands in a file; `pending` is the call under way.
    pub fn block(&self, number: usize, closed: bool, pending: Option<(u64, &Payload)>) -> Vec<u8> {
        let mut words = self.blocks[number].clone();
        let used = words.len();
        words[Header::Identity as usize] = identity(number as u32, self.thread, closed);
        words[Header::Checksum as usize] = checksum(&words[HEADER_WORDS..]);
        if let Some((enter, payload)) = pending {
            words.extend([enter, 0]);
            words.extend(payload.words());
            words[Header::Cursor as usize] = cursor(used, words.len() - used);
        }
        words.resize(BLOCK_WORDS, 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The bytes of all blocks from one on, closed.
    pub fn bytes(&self, from: usize) -> Vec<u8> {
        (from..self.blocks.len()).flat_map(|number| self.block(number, true, None)).collect()
    }
}

/// A process.
pub struct Process {
    pub name: String,
    pub definitions: Vec<Definition>,
    pub streams: Vec<Stream>,
    pub tails: Vec<(u16, Vec<u8>)>,
    pub others: Vec<(String, Vec<u8>)>,
}

/// Nanoseconds since 1970 at tick 0 of all hosts.
pub const EPOCH: u64 = 1_700_000_000_000_000_000;

pub fn process(host: &str, pid: u32) -> Process {
    let mut process = Process {
        name: format!("{host}-{pid}"),
        definitions: Vec::new(),
        streams: vec![Stream::new(0)],
        tails: Vec::new(),
        others: Vec::new(),
    };
    process.define(Definition::Process(ProcessDefinition {
        format: FORMAT,
        functions: FUNCTIONS.len(),
        host: host.into(),
        pid,
        arguments: vec!["./program".into()],
        time_stamp_counter: true,
        profile: false,
    }));
    process.define(Definition::Library(Library { version: "Open MPI v4.1.4, package".into(), abi: "openmpi".into(), path: "/x".into() }));
    process.define(Definition::Module(Module { start: 0x1000, end: 0x9000, offset: 0, path: "/nowhere/program".into() }));
    process
}

impl Process {
    pub fn define(&mut self, definition: Definition) -> &mut Self {
        self.definitions.push(definition);
        self
    }

    pub fn world(&mut self, id: u64, rank: i32, size: i32) -> &mut Self {
        self.define(Definition::World(World { id, rank, size, spawned: false, hosts: 1 }))
    }

    /// A reading of clocks that all show the same nanoseconds as ticks.
    pub fn clock(&mut self, ticks: u64) -> &mut Self {
        self.define(Definition::Clock(ClockReading { ticks, monotonic_ns: ticks, realtime_ns: EPOCH + ticks }))
    }

    pub fn communicator(&mut self, id: u32, parent: Option<u32>, made_by: &str, members: &[i32]) -> &mut Self {
        let members = write_ranks(members);
        let made_by = made_by.into();
        self.define(Definition::Communicator(LocalCommunicator { id, parent, made_by, members, ..LocalCommunicator::default() }))
    }

    pub fn call(&mut self, enter: u64, leave: u64, payload: &Payload) -> &mut Self {
        self.streams[0].call(enter, leave, payload);
        self
    }

    pub fn end(&mut self, how: &str, ticks: u64) -> &mut Self {
        self.define(Definition::End(End { how: how.into(), ticks }))
    }

    /// Writes its files into a recording.
    pub fn write(&self, recording: &Path) {
        let live = recording.join(LIVE_FOLDER);
        fs::create_dir_all(&live).unwrap();
        let lines: String = self.definitions.iter().map(|d| serde_json::to_string(d).unwrap() + "\n").collect();
        fs::write(live.join(format!("{}.defs", self.name)), lines).unwrap();
        for stream in self.streams.iter().filter(|stream| !stream.blocks.is_empty()) {
            fs::write(live.join(format!("{}.t{}.calls", self.name, stream.thread)), stream.bytes(0)).unwrap();
        }
        for (thread, tail) in &self.tails {
            fs::write(live.join(format!("{}.t{thread}.tail", self.name)), tail).unwrap();
        }
        for (file, bytes) in &self.others {
            fs::write(live.join(format!("{}.{file}", self.name)), bytes).unwrap();
        }
    }
}

/// A process that starts MPI, does something and ends it.
pub fn usual(host: &str, pid: u32, world: u64, rank: i32, size: i32, from: u64) -> Process {
    let mut process = process(host, pid);
    process.clock(from).world(world, rank, size);
    process.call(from + 10, from + 20, &payload("MPI_Init").site(0x1010));
    process.call(from + 30, from + 40, &payload("MPI_Barrier").site(0x1020).object(0, sintonia_recording::raw::NONE));
    process.call(from + 50, from + 60, &payload("MPI_Finalize").site(0x1030));
    process.clock(from + 100).end("finalized", from + 100);
    process
}

/// Bytes of a raw block.
pub const RAW_BLOCK: usize = BLOCK_BYTES;
