//! Encoding and decoding of one block of a sealed file.

use crate::call_table::CallDescriptor;
use crate::header::{FixedPointClock, LinearClock};
use crate::sealed::dictionary::{self, DictionaryEncoder, FunctionTable, MAX_LISTED};

/// Maximum number of calls in a block.
pub(super) const MAX_CALLS: usize = 1 << 16;
/// Bytes of a block's header.
pub(crate) const HEADER_BYTES: usize = 48;
/// Padding required after a body in memory: times are read eight bytes at a time, two of them from a window of this size.
pub(crate) const SLACK: usize = 24;

const MAGIC: &[u8; 4] = b"SBLK";
const SUMS_BYTES: usize = 6 * 8;

/// Contents of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// One row per call.
    Calls = 0,
    /// Totals per descriptor.
    Totals = 1,
}

/// Totals of the calls with one descriptor, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickTotals {
    /// Number of calls.
    pub calls: u64,
    /// Total ticks.
    pub ticks: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// Total bytes sent.
    pub sent: u64,
    /// Total bytes received.
    pub received: u64,
}

impl TickTotals {
    fn to_words(self) -> [u64; 6] {
        [self.calls, self.ticks, self.min, self.max, self.sent, self.received]
    }
}

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Its contents.
    pub kind: BlockKind,
    /// The thread.
    pub thread: u16,
    /// Number of calls.
    pub calls: usize,
    /// Number of descriptors.
    pub descriptors: usize,
    /// Bytes of the dictionary.
    pub dictionary: usize,
    /// Bytes per descriptor index.
    pub width: usize,
    /// Bytes after the header.
    pub body: usize,
    /// CRC-32 of the body.
    pub checksum: u32,
    /// Number of the first request that a call creates.
    pub first_request: u64,
    /// Enter time of the first call.
    pub base: u64,
}

impl BlockHeader {
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |offset: usize, value: &[u8]| bytes[offset..offset + value.len()].copy_from_slice(value);
        put(0, MAGIC);
        put(8, &self.checksum.to_le_bytes());
        for (offset, value) in [(12, self.body), (16, self.calls), (20, self.descriptors), (24, self.dictionary)] {
            put(offset, &(value as u32).to_le_bytes());
        }
        put(28, &self.thread.to_le_bytes());
        put(30, &[self.kind as u8, self.width as u8]);
        put(32, &self.first_request.to_le_bytes());
        put(40, &self.base.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Parses a header; `None` if it is damaged.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<BlockHeader> {
        let small = |offset: usize| u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"));
        let large = |offset: usize| u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"));
        if &bytes[..4] != MAGIC || small(4) != crc32fast::hash(&bytes[8..]) {
            return None;
        }
        Some(BlockHeader {
            kind: [BlockKind::Calls, BlockKind::Totals].into_iter().find(|kind| *kind as u8 == bytes[30])?,
            thread: u16::from_le_bytes([bytes[28], bytes[29]]),
            calls: small(16) as usize,
            descriptors: small(20) as usize,
            dictionary: small(24) as usize,
            width: bytes[31].into(),
            body: small(12) as usize,
            checksum: small(8),
            first_request: large(32),
            base: large(40),
        })
    }
}

/// Collects the calls of one thread into a block.
pub(super) struct BlockBuilder {
    thread: u16,
    dictionary: DictionaryEncoder,
    /// Descriptor index of each call. Sixteen bits suffice: there are no more descriptors than calls.
    ids: Vec<u16>,
    control: Vec<u8>,
    times: Vec<u8>,
    base: u64,
    last_leave: u64,
    first_request: u64,
    next_request: u64,
    generation: u32,
}

impl BlockBuilder {
    /// An empty block.
    pub(super) fn new(thread: u16) -> BlockBuilder {
        BlockBuilder {
            thread,
            dictionary: DictionaryEncoder::default(),
            ids: Vec::with_capacity(MAX_CALLS),
            control: Vec::with_capacity(MAX_CALLS),
            times: Vec::new(),
            base: 0,
            last_leave: 0,
            first_request: 0,
            next_request: 0,
            generation: 0,
        }
    }

    /// The thread.
    pub(super) fn thread(&self) -> u16 {
        self.thread
    }

    /// Incremented with each block: a descriptor index is valid while this is unchanged.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// Number of the next request.
    pub(super) fn next_request(&self) -> u64 {
        self.next_request
    }

    /// Restarts request numbering; only while the block is empty.
    pub(super) fn set_next_request(&mut self, number: u64) {
        (self.first_request, self.next_request) = (number, number);
    }

    /// Whether it has no calls.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether it must be flushed before the next call.
    pub(super) fn is_full(&self) -> bool {
        self.ids.len() >= MAX_CALLS || self.dictionary.request_count() >= MAX_LISTED / 4
    }

    /// Index of a descriptor in this block.
    pub(super) fn descriptor_id(&mut self, descriptor: &CallDescriptor) -> u16 {
        self.dictionary.descriptor_id(descriptor) as u16
    }

    /// Adds a call. Its descriptor must just have been numbered, so that every descriptor has a call.
    pub(super) fn push(&mut self, enter: u64, leave: u64, id: u16) {
        if self.ids.is_empty() {
            (self.base, self.last_leave) = (enter, enter);
        }
        let gap = push_time(&mut self.times, enter.wrapping_sub(self.last_leave));
        let duration = push_time(&mut self.times, leave.wrapping_sub(enter));
        self.control.push(gap | duration << 4);
        self.ids.push(id);
        self.last_leave = leave;
        self.next_request = self.next_request.wrapping_add(self.dictionary.descriptors()[usize::from(id)].makes_request().into());
    }

    /// Encodes the block and starts the next one.
    pub(super) fn finish(&mut self, bytes: &mut Vec<u8>) {
        let width = self.width();
        bytes.clear();
        bytes.resize(HEADER_BYTES, 0);
        bytes.extend_from_slice(self.dictionary.bytes());
        match width {
            0 => {}
            1 => bytes.extend(self.ids.iter().map(|n| *n as u8)),
            _ => bytes.extend(self.ids.iter().flat_map(|n| n.to_le_bytes())),
        }
        bytes.extend_from_slice(&self.control);
        bytes.extend_from_slice(&self.times);
        let (calls, descriptors, dictionary) = (self.ids.len(), self.dictionary.descriptors().len(), self.dictionary.bytes().len());
        fill_header(bytes, |body, checksum| BlockHeader {
            kind: BlockKind::Calls,
            thread: self.thread,
            calls,
            descriptors,
            dictionary,
            width,
            body,
            checksum,
            first_request: self.first_request,
            base: self.base,
        });
        self.clear();
    }

    fn width(&self) -> usize {
        let own_descriptors =
            self.dictionary.descriptors().len() == self.ids.len() && self.ids.iter().enumerate().all(|(i, n)| i == usize::from(*n));
        match self.dictionary.descriptors().len() {
            _ if own_descriptors => 0,
            0..=0x100 => 1,
            _ => 2,
        }
    }

    fn clear(&mut self) {
        self.dictionary.clear();
        self.ids.clear();
        self.control.clear();
        self.times.clear();
        self.first_request = self.next_request;
        self.generation += 1;
    }
}

/// Appends a number in as few bytes as possible, and returns how many.
#[inline]
fn push_time(bytes: &mut Vec<u8>, ticks: u64) -> u8 {
    let length = (u64::BITS - ticks.leading_zeros()).div_ceil(8) as usize;
    let end = bytes.len() + length;
    bytes.extend_from_slice(&ticks.to_le_bytes());
    bytes.truncate(end);
    length as u8
}

/// Fills in the header in front of a body.
fn fill_header(bytes: &mut [u8], header: impl FnOnce(usize, u32) -> BlockHeader) {
    let (front, body) = bytes.split_at_mut(HEADER_BYTES);
    front.copy_from_slice(&header(body.len(), crc32fast::hash(body)).to_bytes());
}

/// Encodes a block of totals.
pub(super) fn encode_totals(thread: u16, totals: &[(CallDescriptor, TickTotals)], bytes: &mut Vec<u8>) {
    let mut dictionary = DictionaryEncoder::default();
    totals.iter().for_each(|(descriptor, _)| dictionary.write(descriptor));
    bytes.clear();
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend_from_slice(dictionary.bytes());
    bytes.extend(totals.iter().flat_map(|(_, totals)| totals.to_words()).flat_map(u64::to_le_bytes));
    fill_header(bytes, |body, checksum| BlockHeader {
        kind: BlockKind::Totals,
        thread,
        calls: totals.len(),
        descriptors: totals.len(),
        dictionary: dictionary.bytes().len(),
        width: 0,
        body,
        checksum,
        first_request: 0,
        base: 0,
    });
}

/// A block with matching checksums.
pub(crate) struct SealedBlock<'a> {
    header: BlockHeader,
    /// The body, followed by [`SLACK`] bytes.
    bytes: &'a [u8],
}

impl<'a> SealedBlock<'a> {
    /// Takes a body followed by [`SLACK`] bytes; `None` if its checksum does not match.
    pub(crate) fn new(header: BlockHeader, bytes: &'a [u8]) -> Option<SealedBlock<'a>> {
        (bytes.len() == header.body + SLACK && crc32fast::hash(&bytes[..header.body]) == header.checksum)
            .then_some(SealedBlock { header, bytes })
    }

    /// Its header.
    pub(crate) fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// Appends its descriptors; `None`, and nothing appended, if they are malformed.
    pub(crate) fn read_descriptors(&self, operations: &FunctionTable, descriptors: &mut Vec<CallDescriptor>) -> Option<()> {
        let (before, bytes) = (descriptors.len(), self.bytes[..self.header.body].get(..self.header.dictionary)?);
        let read = dictionary::decode(bytes, self.header.descriptors, operations, descriptors);
        if read.is_none() {
            descriptors.truncate(before);
        }
        read
    }

    /// Its totals, in descriptor order; `None` if it holds calls.
    pub(crate) fn totals(&self) -> Option<Vec<TickTotals>> {
        let bytes = self.bytes[..self.header.body].get(self.header.dictionary..)?;
        if self.header.kind != BlockKind::Totals || bytes.len() != self.header.descriptors.checked_mul(SUMS_BYTES)? {
            return None;
        }
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let totals = bytes.chunks_exact(SUMS_BYTES).map(|entry| {
            let [calls, ticks, min, max, sent, received] = std::array::from_fn(|n| word(&entry[8 * n..8 * n + 8]));
            TickTotals { calls, ticks, min, max, sent, received }
        });
        Some(totals.collect())
    }

    /// Its rows; `None` if they are malformed.
    pub(crate) fn rows(&self) -> Option<BlockRows<'a>> {
        let rows = BlockRows::from_block(&self.header, self.bytes)?;
        (self.header.kind == BlockKind::Calls && rows.lengths_fit() && rows.ids_fit(self.header.descriptors)).then_some(rows)
    }
}

/// The rows of a block, validated so that reading them cannot fail.
pub(crate) struct BlockRows<'a> {
    width: usize,
    ids: &'a [u8],
    control: &'a [u8],
    times: &'a [u8],
    base: u64,
}

impl<'a> BlockRows<'a> {
    /// The rows of a block that [`SealedBlock::rows`] has validated before.
    pub(crate) fn from_block(header: &BlockHeader, bytes: &'a [u8]) -> Option<BlockRows<'a>> {
        let BlockHeader { calls, dictionary, width, .. } = *header;
        let numbers_end = dictionary.checked_add(calls.checked_mul(width)?)?;
        let ids = bytes.get(dictionary..numbers_end)?;
        let times_begin = numbers_end.checked_add(calls).filter(|end| *end <= header.body)?;
        let (control, times) = (&bytes[numbers_end..times_begin], &bytes[times_begin..]);
        Some(BlockRows { width, ids, control, times, base: header.base })
    }

    /// A slice of `count` rows: their descriptor indices, control bytes and times, followed by [`SLACK`] bytes. `base` is the return time
    /// of the previous call. `None` if the times do not match the control bytes.
    pub(crate) fn from_parts(width: usize, bytes: &'a [u8], count: usize, base: u64) -> Option<BlockRows<'a>> {
        let (ids, rest) = bytes.split_at_checked(count.checked_mul(width)?)?;
        let (control, times) = rest.split_at_checked(count)?;
        let rows = BlockRows { width, ids, control, times, base };
        rows.lengths_fit().then_some(rows)
    }
}

/// Read position in the rows of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowPosition {
    row: usize,
    /// Bytes of times consumed.
    time_bytes: usize,
}

impl RowPosition {
    /// The next row.
    pub(crate) fn row(&self) -> u32 {
        self.row as u32
    }

    /// Bytes of times before it.
    pub(crate) fn time_bytes(&self) -> u32 {
        self.time_bytes as u32
    }
}

/// Masks for numbers of 0 to 8 bytes.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut length = 0;
    while length < 8 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

#[inline]
fn word(bytes: &[u8; SLACK], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl BlockRows<'_> {
    fn lengths_fit(&self) -> bool {
        // No early exit, so that the loop is vectorised.
        let longest = self.control.iter().fold(0, |longest, c| (c & 15).max(c >> 4).max(longest));
        let sum = |control: &[u8]| control.iter().map(|c| u16::from((c & 15) + (c >> 4))).sum::<u16>();
        let bytes: usize = self.control.chunks(1024).map(|control| usize::from(sum(control))).sum();
        longest <= 8 && bytes + SLACK == self.times.len()
    }

    fn ids_fit(&self, descriptors: usize) -> bool {
        let largest = match self.width {
            0 => self.control.len().checked_sub(1),
            1 => Some(usize::from(self.ids.iter().fold(0, |largest, n| largest.max(*n)))),
            2 => Some(usize::from(self.ids.chunks_exact(2).fold(0, |largest, n| largest.max(u16::from_le_bytes([n[0], n[1]]))))),
            _ => return false,
        };
        largest.is_none_or(|largest| largest < descriptors)
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.control.len()
    }

    /// Enter and return time of each call, in nanoseconds.
    pub(crate) fn call_times(&self, clock: &LinearClock) -> impl Iterator<Item = (i64, i64)> {
        self.times(clock.to_fixed_point())
    }

    /// Passes enter time, return time and descriptor index of each call to `use_row`.
    pub(crate) fn for_each(&self, clock: FixedPointClock, mut use_row: impl FnMut(i64, i64, u16)) {
        let times = self.times(clock);
        // Matching on the width here keeps the branch out of the loop.
        match self.width {
            0 => times.zip(0..).for_each(|((enter, leave), id)| use_row(enter, leave, id as u16)),
            1 => times.zip(self.ids).for_each(|((enter, leave), id)| use_row(enter, leave, u16::from(*id))),
            _ => {
                let ids = self.ids.chunks_exact(2).map(|n| u16::from_le_bytes([n[0], n[1]]));
                times.zip(ids).for_each(|((enter, leave), id)| use_row(enter, leave, id));
            }
        }
    }

    fn times(&self, clock: FixedPointClock) -> impl Iterator<Item = (i64, i64)> {
        let (mut rest, mut now) = (self.times, self.base);
        self.control.iter().map(move |control| {
            let (gap, duration) = (usize::from(control & 15), usize::from(control >> 4));
            let bytes: &[u8; SLACK] = rest.first_chunk().expect("the lengths were checked, and the slack follows");
            now = now.wrapping_add(word(bytes, 0) & MASKS[gap]);
            let enter = clock.ticks_to_ns(now);
            now = now.wrapping_add(word(bytes, gap) & MASKS[duration]);
            rest = &rest[gap + duration..];
            (enter, clock.ticks_to_ns(now))
        })
    }

    /// Up to `max_rows` rows from a position, which is advanced: for each the ticks since the previous call returned, its duration in ticks,
    /// and its descriptor index in the block.
    pub(crate) fn next_rows(&self, position: &mut RowPosition, max_rows: usize) -> impl Iterator<Item = (u64, u64, u16)> {
        let first = position.row.min(self.len());
        let last = (first + max_rows).min(self.len());
        position.row = last;
        self.control[first..last].iter().zip(first..).map(move |(control, row)| {
            let (gap, duration) = (usize::from(control & 15), usize::from(control >> 4));
            let bytes: &[u8; SLACK] =
                self.times[position.time_bytes..].first_chunk().expect("the lengths were checked, and the slack follows");
            position.time_bytes += gap + duration;
            (word(bytes, 0) & MASKS[gap], word(bytes, gap) & MASKS[duration], self.descriptor_id(row))
        })
    }

    /// Descriptor index of a row.
    fn descriptor_id(&self, row: usize) -> u16 {
        match self.width {
            0 => row as u16,
            1 => self.ids[row].into(),
            _ => u16::from_le_bytes([self.ids[2 * row], self.ids[2 * row + 1]]),
        }
    }

    /// Appends the descriptor of each call, translated with the given table.
    pub(crate) fn map_descriptors(&self, table: &[u32], out: &mut Vec<u32>) {
        match self.width {
            0 => out.extend_from_slice(&table[..self.len()]),
            1 => out.extend(self.ids.iter().map(|n| table[usize::from(*n)])),
            _ => out.extend(self.ids.chunks_exact(2).map(|n| table[usize::from(u16::from_le_bytes([n[0], n[1]]))])),
        }
    }
}
