//! Writes the calls of one rank: the streams of its threads, translated and merged in order of return.
//!
//! The order matters because a thread may complete a request created by another: the creation must come first, even if the clocks of two
//! cores disagree.

use std::path::Path;

use crate::call_table::CallDescriptor;
use crate::error::Error;
use crate::raw::{BLOCK_WORDS, CallPayload, HeaderWord, RawBlock, RawRecord, RequestRef, part};
use crate::seal::profile::RawProfile;
use crate::seal::raw_process::RawProcess;
use crate::seal::stream::{RawBlockReader, RawStream};
use crate::seal::translate::{IdTranslator, PendingReceives};
use crate::sealed::{RankFileWriter, TickTotals, WriteStats};

/// Writes the calls or totals of one rank.
pub(super) fn write(folder: &Path, rank: u32, raw: &RawProcess, translator: &IdTranslator) -> Result<WriteStats, Error> {
    if raw.is_profile() {
        write_profiles(folder, rank, &raw.profiles, translator)
    } else {
        write_streams(folder, rank, &raw.streams, translator, raw.span().1)
    }
}

/// Writes the totals of one rank.
fn write_profiles(folder: &Path, rank: u32, profiles: &[RawProfile], translator: &IdTranslator) -> Result<WriteStats, Error> {
    let mut writer = RankFileWriter::create(folder, rank)?;
    for profile in profiles {
        let totals: Vec<(CallDescriptor, TickTotals)> = profile.entries.iter().filter_map(|entry| translator.totals(entry)).collect();
        writer.write_totals(profile.thread, &totals)?;
    }
    writer.finish()
}

/// Writes the calls of one rank. Calls in progress last until `end`, the last known time.
fn write_streams(folder: &Path, rank: u32, streams: &[RawStream], translator: &IdTranslator, end: u64) -> Result<WriteStats, Error> {
    let mut writer = RankFileWriter::create(folder, rank)?;
    let mut cursors = Vec::new();
    for stream in streams {
        let thread_index = writer.thread_index(stream.thread);
        cursors.push(StreamCursor::new(stream, thread_index, end)?);
    }
    let mut receives = PendingReceives::default();
    while let Some((first, limit)) = next_stream(&cursors) {
        while cursors[first].next_leave().is_some_and(|leave| leave <= limit) {
            if let Some(creator) = creator(&cursors, first, &writer) {
                cursors[creator].write_next(&mut writer, translator, &mut receives)?;
            }
            cursors[first].write_next(&mut writer, translator, &mut receives)?;
        }
    }
    writer.finish()
}

/// The stream whose next call returned first, and the return time of the next call of any other stream.
fn next_stream(cursors: &[StreamCursor]) -> Option<(usize, u64)> {
    let next = || cursors.iter().enumerate().filter_map(|(index, cursor)| Some((cursor.next_leave()?, index)));
    let (_, first) = next().min()?;
    let limit = next().filter(|(_, index)| *index != first).map(|(leave, _)| leave).min();
    Some((first, limit.unwrap_or(u64::MAX)))
}

/// The other stream whose next call creates a request that the next call of this stream lists.
fn creator(cursors: &[StreamCursor], first: usize, writer: &RankFileWriter) -> Option<usize> {
    if cursors.len() == 1 {
        return None;
    }
    let mut listed = cursors[first].next_payload()?.requests();
    listed.find_map(|[word, ..]| match RequestRef::from_word(word).0 {
        RequestRef::Absolute(thread, number) => {
            cursors.iter().position(|cursor| cursor.stream.thread == thread && cursor.next_creation(writer) == Some(number))
        }
        RequestRef::Relative(_) => None,
    })
}

/// A record of the current block.
#[derive(Clone, Copy)]
struct RecordHead {
    enter: u64,
    leave: u64,
    /// Word offset of its payload.
    payload_offset: usize,
    unfinished: bool,
    /// Whether it continues the request list of the previous record.
    continued: bool,
}

impl RecordHead {
    fn new(record: &RawRecord, end: u64) -> RecordHead {
        RecordHead {
            enter: record.enter,
            leave: if record.unfinished { end } else { record.enter.wrapping_add(record.duration) },
            payload_offset: record.payload_offset,
            unfinished: record.unfinished,
            continued: record.payload.parts() & part::CONTINUED != 0,
        }
    }
}

/// Cached descriptor index of a payload of the current block.
#[derive(Clone, Copy)]
struct CachedId {
    generation: u32,
    id: u16,
    has_receives: bool,
}

const NO_ID: CachedId = CachedId { generation: u32::MAX, id: 0, has_receives: false };

/// Read position in the stream of one thread.
struct StreamCursor<'a> {
    stream: &'a RawStream,
    thread_index: usize,
    end: u64,
    blocks: RawBlockReader<'a>,
    /// Number of blocks loaded so far.
    blocks_loaded: usize,
    words: Vec<u64>,
    records: Vec<RecordHead>,
    next: usize,
    cached_ids: Vec<CachedId>,
    /// First request number of the current block, until it has been passed on.
    first_request: Option<u64>,
}

impl<'a> StreamCursor<'a> {
    fn new(stream: &'a RawStream, thread_index: usize, end: u64) -> Result<StreamCursor<'a>, Error> {
        let mut cursor = StreamCursor {
            stream,
            thread_index,
            end,
            blocks: stream.open()?,
            blocks_loaded: 0,
            words: Vec::new(),
            records: Vec::new(),
            next: 0,
            cached_ids: vec![NO_ID; BLOCK_WORDS],
            first_request: None,
        };
        cursor.load()?;
        Ok(cursor)
    }

    /// Return time of the next call: that of the last of its records.
    fn next_leave(&self) -> Option<u64> {
        let (record, rest) = self.records.get(self.next..)?.split_first()?;
        Some(rest.iter().take_while(|more| more.continued).fold(record.leave, |leave, more| leave.max(more.leave)))
    }

    /// Payload of the next call.
    fn next_payload(&self) -> Option<CallPayload<'_>> {
        CallPayload::parse(&self.words[self.records.get(self.next)?.payload_offset..])
    }

    /// Number of the request that the next call creates.
    fn next_creation(&self, writer: &RankFileWriter) -> Option<u64> {
        let creates = self.next_payload()?.parts() & part::REQUEST != 0;
        creates.then(|| self.first_request.unwrap_or_else(|| writer.next_request(self.thread_index)))
    }

    /// Loads the next block when the current one is used up.
    fn load(&mut self) -> Result<(), Error> {
        while self.next == self.records.len() && self.blocks.read_next(&mut self.words)? {
            self.blocks_loaded += 1;
            self.next = 0;
            self.records.clear();
            self.cached_ids.clear();
            if let Ok(block) = RawBlock::decode(&mut self.words) {
                self.first_request = Some(block.header(HeaderWord::FirstRequest));
                let last = self.blocks.is_empty();
                self.records
                    .extend(block.records().filter(|record| last || !record.unfinished).map(|record| RecordHead::new(&record, self.end)));
            }
            self.cached_ids.resize(self.words.len(), NO_ID);
        }
        Ok(())
    }

    /// Writes the next call.
    fn write_next(&mut self, writer: &mut RankFileWriter, translator: &IdTranslator, receives: &mut PendingReceives) -> Result<(), Error> {
        let record = self.records[self.next];
        self.next += 1;
        if let Some(first) = self.first_request.take() {
            writer.set_next_request(self.stream.thread, first)?;
        }
        writer.flush_if_full(self.thread_index)?;
        let known = self.cached_ids[record.payload_offset];
        let is_single = self.records.get(self.next).is_some_and(|next| !next.continued);
        if is_single && known.generation == writer.generation(self.thread_index) && (!known.has_receives || receives.is_empty()) {
            writer.push(self.thread_index, record.enter, record.leave, known.id);
            return Ok(());
        }
        self.translate(record, writer, translator, receives)
    }

    fn translate(
        &mut self,
        mut record: RecordHead,
        writer: &mut RankFileWriter,
        translator: &IdTranslator,
        receives: &mut PendingReceives,
    ) -> Result<(), Error> {
        let index = record.payload_offset;
        let payload = CallPayload::parse(&self.words[index..]);
        let Some((payload, mut descriptor)) = payload.and_then(|payload| Some((payload, translator.descriptor(&payload)?))) else {
            // The process has written more since its call sites were collected, or the block is garbage: skip the rest of it.
            self.next = self.records.len();
            return self.load();
        };
        let (thread, request) = (self.stream.thread, writer.next_request(self.thread_index));
        let next = request.wrapping_add(descriptor.makes_request().into());
        receives.map_requests(&payload, thread, next, &mut descriptor.requests);
        let tracked = translator.remapped_receive(&payload);
        if let Some(local) = tracked {
            receives.add(thread, request, local, descriptor.function);
        }
        let has_receives = descriptor.requests.iter().any(|request| request.is_receive);
        let same_block =
            self.take_continuations(&mut record, |payload| receives.map_requests(&payload, thread, next, &mut descriptor.requests))?;
        if record.unfinished {
            // A process killed while its probe noted an error: the call had not returned yet.
            descriptor.parts = descriptor.parts & !part::ERROR | part::UNFINISHED;
        }
        let id = writer.descriptor_id(self.thread_index, &descriptor)?;
        if same_block && !record.unfinished && tracked.is_none() {
            self.cached_ids[index] = CachedId { generation: writer.generation(self.thread_index), id, has_receives };
        }
        writer.push(self.thread_index, record.enter, record.leave, id);
        Ok(())
    }

    /// Consumes the continuation records of a call. Returns whether there were none and its block is still loaded.
    fn take_continuations(&mut self, record: &mut RecordHead, mut add: impl FnMut(CallPayload)) -> Result<bool, Error> {
        let loaded = self.blocks_loaded;
        let mut is_single = true;
        loop {
            self.load()?;
            let Some(more) = self.records.get(self.next).filter(|more| more.continued && more.enter == record.enter) else { break };
            record.leave = record.leave.max(more.leave);
            record.unfinished |= more.unfinished;
            if let Some(payload) = CallPayload::parse(&self.words[more.payload_offset..]) {
                add(payload);
            }
            self.next += 1;
            is_single = false;
        }
        Ok(is_single && loaded == self.blocks_loaded)
    }
}
