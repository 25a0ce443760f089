//! Writes raw files like a probe, for tests that seal and read them.

use std::fs;
use std::path::Path;

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::definitions::{
    ClockReading, DefinitionRecord, EndDefinition, FORMAT_VERSION, LIVE_DIR, LibraryDefinition, LocalCommunicator, ModuleDefinition,
    ProcessDefinition, WorldDefinition, format_ranks,
};
use sintonia_recording::raw::{
    BLOCK_BYTES, BLOCK_WORDS, HEADER_WORDS, HeaderWord, MAGIC, REFERENCE_BITS, RequestRef, checksum, cursor, identity, pair, part,
    payload_header,
};

/// A payload under construction.
#[derive(Clone, Default)]
pub(crate) struct Payload {
    operation: u16,
    marks: u16,
    site: u64,
    parts: std::collections::BTreeMap<u16, u64>,
    requests: Vec<[u64; 3]>,
}

pub(crate) fn payload(operation: &str) -> Payload {
    Payload { operation: FunctionId::from_name(operation).unwrap().0, site: 0x1000, ..Payload::default() }
}

impl Payload {
    pub(crate) fn site(mut self, site: u64) -> Self {
        self.site = site;
        self
    }

    pub(crate) fn mark(mut self, mark: u16) -> Self {
        self.marks |= mark;
        self
    }

    pub(crate) fn part(mut self, part: u16, word: u64) -> Self {
        self.parts.insert(part, word);
        self
    }

    pub(crate) fn object(self, id: u32, peer: i32) -> Self {
        self.part(part::OBJECT, pair(id, peer))
    }

    pub(crate) fn tag(self, tag: i32) -> Self {
        self.part(part::TAG, pair(tag as u32, sintonia_recording::raw::NONE))
    }

    pub(crate) fn sent(self, bytes: u64) -> Self {
        self.part(part::SENT, bytes)
    }

    pub(crate) fn receive(mut self, request: RequestRef, source: i32, tag: i32, bytes: u64) -> Self {
        self.requests.push([request.to_word(true), pair(source as u32, tag), bytes]);
        self
    }

    pub(crate) fn words(&self) -> Vec<u64> {
        let parts = self.parts.keys().fold(self.marks, |parts, part| parts | part);
        let length = 2 + self.parts.len() + 3 * self.requests.len();
        let mut words = vec![payload_header(self.operation, parts, self.requests.len() as u16, length as u16), self.site];
        words.extend(self.parts.values());
        words.extend(self.requests.iter().flatten());
        words
    }
}

/// The stream of a thread.
pub(crate) struct Stream {
    thread: u16,
    /// Complete blocks, each with its used length.
    pub blocks: Vec<Vec<u64>>,
    /// Number of words at which the next block starts.
    pub limit: usize,
    payloads: Vec<(usize, Vec<u64>)>,
    next_request: u64,
}

impl Stream {
    pub(crate) fn new(thread: u16) -> Stream {
        Stream { thread, blocks: Vec::new(), limit: 300, payloads: Vec::new(), next_request: 0 }
    }

    fn begin(&mut self, enter: u64) {
        let mut block = vec![0; HEADER_WORDS];
        block[HeaderWord::Magic as usize] = MAGIC;
        block[HeaderWord::Identity as usize] = identity(self.blocks.len() as u32, self.thread, false);
        block[HeaderWord::FirstRequest as usize] = self.next_request;
        block[HeaderWord::AnchorTicks as usize] = enter;
        block[HeaderWord::AnchorNanoseconds as usize] = enter;
        self.blocks.push(block);
        self.payloads.clear();
    }

    pub(crate) fn call(&mut self, enter: u64, leave: u64, payload: &Payload) {
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
        block[HeaderWord::Cursor as usize] = cursor(block.len(), 0);
        self.next_request += u64::from(payload.marks & part::REQUEST != 0);
    }

    /// The block as stored in a file; `pending` is the call in progress.
    pub(crate) fn block(&self, number: usize, closed: bool, pending: Option<(u64, &Payload)>) -> Vec<u8> {
        let mut words = self.blocks[number].clone();
        let used = words.len();
        words[HeaderWord::Identity as usize] = identity(number as u32, self.thread, closed);
        words[HeaderWord::Checksum as usize] = checksum(&words[HEADER_WORDS..]);
        if let Some((enter, payload)) = pending {
            words.extend([enter, 0]);
            words.extend(payload.words());
            words[HeaderWord::Cursor as usize] = cursor(used, words.len() - used);
        }
        words.resize(BLOCK_WORDS, 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The bytes of all blocks from `first` on, closed.
    pub(crate) fn bytes(&self, from: usize) -> Vec<u8> {
        (from..self.blocks.len()).flat_map(|number| self.block(number, true, None)).collect()
    }
}

/// A process.
pub(crate) struct Process {
    pub name: String,
    pub definitions: Vec<DefinitionRecord>,
    pub streams: Vec<Stream>,
    pub tails: Vec<(u16, Vec<u8>)>,
    pub others: Vec<(String, Vec<u8>)>,
}

/// Nanoseconds since the Unix epoch at tick 0 of all hosts.
pub(crate) const EPOCH: u64 = 1_700_000_000_000_000_000;

pub(crate) fn process(host: &str, pid: u32) -> Process {
    let mut process = Process {
        name: format!("{host}-{pid}"),
        definitions: Vec::new(),
        streams: vec![Stream::new(0)],
        tails: Vec::new(),
        others: Vec::new(),
    };
    process.define(DefinitionRecord::Process(ProcessDefinition {
        format: FORMAT_VERSION,
        functions: FUNCTIONS.len(),
        host: host.into(),
        pid,
        arguments: vec!["./program".into()],
        time_stamp_counter: true,
        profile: false,
    }));
    process.define(DefinitionRecord::Library(LibraryDefinition {
        version: "Open MPI v4.1.4, package".into(),
        abi: "openmpi".into(),
        path: "/x".into(),
    }));
    process.define(DefinitionRecord::Module(ModuleDefinition { start: 0x1000, end: 0x9000, offset: 0, path: "/nowhere/program".into() }));
    process
}

impl Process {
    pub(crate) fn define(&mut self, definition: DefinitionRecord) -> &mut Self {
        self.definitions.push(definition);
        self
    }

    pub(crate) fn world(&mut self, id: u64, rank: i32, size: i32) -> &mut Self {
        self.define(DefinitionRecord::World(WorldDefinition { id, rank, size, spawned: false, spawn_root: None, hosts: 1 }))
    }

    /// A clock reading in which all clocks show the same nanoseconds as ticks.
    pub(crate) fn clock(&mut self, ticks: u64) -> &mut Self {
        self.define(DefinitionRecord::Clock(ClockReading { ticks, monotonic_ns: ticks, realtime_ns: EPOCH + ticks }))
    }

    pub(crate) fn communicator(&mut self, id: u32, parent: Option<u32>, made_by: &str, members: &[i32]) -> &mut Self {
        let members = format_ranks(members);
        let made_by = made_by.into();
        self.define(DefinitionRecord::Communicator(LocalCommunicator { id, parent, made_by, members, ..LocalCommunicator::default() }))
    }

    pub(crate) fn call(&mut self, enter: u64, leave: u64, payload: &Payload) -> &mut Self {
        self.streams[0].call(enter, leave, payload);
        self
    }

    pub(crate) fn end(&mut self, how: &str, ticks: u64) -> &mut Self {
        self.define(DefinitionRecord::End(EndDefinition { how: how.into(), ticks }))
    }

    /// Writes its files into a recording.
    pub(crate) fn write(&self, recording: &Path) {
        let live = recording.join(LIVE_DIR);
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

/// A process that initialises MPI, does something and finalises it.
pub(crate) fn usual(host: &str, pid: u32, world: u64, rank: i32, size: i32, from: u64) -> Process {
    let mut process = process(host, pid);
    process.clock(from).world(world, rank, size);
    process.call(from + 10, from + 20, &payload("MPI_Init").site(0x1010));
    process.call(from + 30, from + 40, &payload("MPI_Barrier").site(0x1020).object(0, sintonia_recording::raw::NONE));
    process.call(from + 50, from + 60, &payload("MPI_Finalize").site(0x1030));
    process.clock(from + 100).end("finalized", from + 100);
    process
}

/// Bytes of a raw block.
pub(crate) const RAW_BLOCK: usize = BLOCK_BYTES;
