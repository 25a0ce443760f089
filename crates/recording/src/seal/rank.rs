//! Writes the calls of one rank: the streams of its threads, translated and in the order in which the calls ended.
//!
//! The order matters because a thread may complete a request that another made: whoever made it must have been seen before.

use std::path::Path;

use crate::error::Error;
use crate::raw::{BLOCK_WORDS, Block, Header, Payload, Record, part};
use crate::seal::stream::{Blocks, Stream};
use crate::seal::translate::{Receives, Translator};
use crate::sealed::{Writer, Written};

/// Writes the calls of one rank. Calls that were under way last until `end`, the last moment that is known.
pub fn write(folder: &Path, rank: u32, streams: &[Stream], translator: &Translator, end: u64) -> Result<Written, Error> {
    let mut writer = Writer::create(folder, rank)?;
    let mut lanes = Vec::new();
    for stream in streams {
        let lane = writer.lane(stream.thread);
        lanes.push(Lane::new(stream, lane, end)?);
    }
    let mut receives = Receives::default();
    while let Some((first, limit)) = next_lane(&lanes) {
        while lanes[first].next_leave().is_some_and(|leave| leave <= limit) {
            lanes[first].step(&mut writer, translator, &mut receives)?;
        }
    }
    writer.finish()
}

/// The lane whose next call ended first, and when the next call of any other ended.
fn next_lane(lanes: &[Lane]) -> Option<(usize, u64)> {
    let next = || lanes.iter().enumerate().filter_map(|(place, lane)| Some((lane.next_leave()?, place)));
    let (_, first) = next().min()?;
    let limit = next().filter(|(_, place)| *place != first).map(|(leave, _)| leave).min();
    Some((first, limit.unwrap_or(u64::MAX)))
}

/// One record of the block in memory.
#[derive(Clone, Copy)]
struct Head {
    enter: u64,
    leave: u64,
    /// Where its payload stands.
    place: usize,
    unfinished: bool,
    /// Whether it carries on with the requests of the record before it.
    continued: bool,
}

impl Head {
    fn new(record: &Record, end: u64) -> Head {
        Head {
            enter: record.enter,
            leave: if record.unfinished { end } else { record.enter.wrapping_add(record.duration) },
            place: record.reference,
            unfinished: record.unfinished,
            continued: record.payload.parts() & part::CONTINUED != 0,
        }
    }
}

/// The number that a payload of the block in memory has in the file.
#[derive(Clone, Copy)]
struct Numbered {
    generation: u32,
    number: u16,
    lists: bool,
}

const NOT_NUMBERED: Numbered = Numbered { generation: u32::MAX, number: 0, lists: false };

/// The stream of one thread on its way into the file.
struct Lane<'a> {
    stream: &'a Stream,
    lane: usize,
    end: u64,
    blocks: Blocks<'a>,
    /// How many blocks have been in memory.
    loaded: usize,
    words: Vec<u64>,
    heads: Vec<Head>,
    at: usize,
    numbered: Vec<Numbered>,
    /// The number of the next request, as the block in memory says.
    first_request: Option<u64>,
}

impl<'a> Lane<'a> {
    fn new(stream: &'a Stream, lane: usize, end: u64) -> Result<Lane<'a>, Error> {
        let mut lane = Lane {
            stream,
            lane,
            end,
            blocks: stream.open()?,
            loaded: 0,
            words: Vec::new(),
            heads: Vec::new(),
            at: 0,
            numbered: vec![NOT_NUMBERED; BLOCK_WORDS],
            first_request: None,
        };
        lane.load()?;
        Ok(lane)
    }

    /// When the next call was left: where the last of its records ends.
    fn next_leave(&self) -> Option<u64> {
        let (head, rest) = self.heads.get(self.at..)?.split_first()?;
        Some(rest.iter().take_while(|more| more.continued).fold(head.leave, |leave, more| leave.max(more.leave)))
    }

    /// Brings the next block into memory if the one that is there is used up.
    fn load(&mut self) -> Result<(), Error> {
        while self.at == self.heads.len() && self.blocks.next(&mut self.words)? {
            self.loaded += 1;
            self.at = 0;
            self.heads.clear();
            self.numbered.clear();
            if let Ok(block) = Block::read(&mut self.words) {
                self.first_request = Some(block.header(Header::FirstRequest));
                let last = self.blocks.is_empty();
                self.heads.extend(block.records().filter(|record| last || !record.unfinished).map(|record| Head::new(&record, self.end)));
            }
            self.numbered.resize(self.words.len(), NOT_NUMBERED);
        }
        Ok(())
    }

    /// Writes the next call.
    fn step(&mut self, writer: &mut Writer, translator: &Translator, receives: &mut Receives) -> Result<(), Error> {
        let head = self.heads[self.at];
        self.at += 1;
        if let Some(first) = self.first_request.take() {
            writer.set_next_request(self.stream.thread, first)?;
        }
        writer.make_room(self.lane)?;
        let known = self.numbered[head.place];
        let alone = self.heads.get(self.at).is_some_and(|next| !next.continued);
        if alone && known.generation == writer.generation(self.lane) && (!known.lists || receives.is_empty()) {
            writer.push(self.lane, head.enter, head.leave, known.number);
            return Ok(());
        }
        self.translate(head, writer, translator, receives)
    }

    fn translate(&mut self, mut head: Head, writer: &mut Writer, translator: &Translator, receives: &mut Receives) -> Result<(), Error> {
        let place = head.place;
        let payload = Payload::at(&self.words[place..]);
        let Some((payload, mut shape)) = payload.and_then(|payload| Some((payload, translator.shape(&payload)?))) else {
            // The process has gone on since its call sites were looked up, or the block is garbage: the rest of it cannot be told.
            self.at = self.heads.len();
            return self.load();
        };
        let (thread, made) = (self.stream.thread, writer.next_request(self.lane));
        let next = made.wrapping_add(shape.makes_request().into());
        receives.list(&payload, thread, next, &mut shape.requests);
        let remembered = translator.remembers(&payload);
        if let Some(local) = remembered {
            receives.made(thread, made, local, shape.operation);
        }
        let lists = shape.requests.iter().any(|request| request.receive);
        let same_block = self.carry_on(&mut head, |payload| receives.list(&payload, thread, next, &mut shape.requests))?;
        shape.parts |= if head.unfinished { part::UNFINISHED } else { 0 };
        let number = writer.number(self.lane, &shape)?;
        if same_block && !head.unfinished && remembered.is_none() {
            self.numbered[place] = Numbered { generation: writer.generation(self.lane), number, lists };
        }
        writer.push(self.lane, head.enter, head.leave, number);
        Ok(())
    }

    /// Takes the records that carry on with a call, and says whether there were none and its block is still in memory.
    fn carry_on(&mut self, head: &mut Head, mut add: impl FnMut(Payload)) -> Result<bool, Error> {
        let loaded = self.loaded;
        let mut alone = true;
        loop {
            self.load()?;
            let Some(more) = self.heads.get(self.at).filter(|more| more.continued && more.enter == head.enter) else { break };
            head.leave = head.leave.max(more.leave);
            head.unfinished |= more.unfinished;
            if let Some(payload) = Payload::at(&self.words[more.place..]) {
                add(payload);
            }
            self.at += 1;
            alone = false;
        }
        Ok(alone && loaded == self.loaded)
    }
}
