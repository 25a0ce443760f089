//! One block of a sealed file: how calls become bytes, and bytes calls.

use crate::header::{Clock, Line};
use crate::sealed::dictionary::{self, Encoder, MOST_LISTED, Operations};
use crate::table::Shape;

/// The most calls of a block.
pub const MOST_CALLS: usize = 1 << 16;
/// Bytes of a block's header.
pub const HEADER_BYTES: usize = 48;
/// Bytes that must follow a body in memory: times are read eight bytes at a time, two of them from a window of this size.
pub const SLACK: usize = 24;

const MAGIC: &[u8; 4] = b"SBLK";
const SUMS_BYTES: usize = 6 * 8;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One row per call.
    Calls = 0,
    /// Sums per shape.
    Sums = 1,
}

/// What the calls of one shape sum up to, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many calls.
    pub calls: u64,
    /// Ticks in them together.
    pub ticks: u64,
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
    /// Bytes sent by all of them together.
    pub sent: u64,
    /// Bytes received by all of them together.
    pub received: u64,
}

impl Sums {
    fn words(&self) -> [u64; 6] {
        [self.calls, self.ticks, self.least, self.most, self.sent, self.received]
    }
}

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it holds.
    pub kind: Kind,
    /// The thread.
    pub thread: u16,
    /// How many calls.
    pub calls: usize,
    /// How many shapes.
    pub shapes: usize,
    /// Bytes of the dictionary.
    pub dictionary: usize,
    /// Bytes per shape number.
    pub width: usize,
    /// Bytes after the header.
    pub body: usize,
    /// Checksum of the body.
    pub checksum: u32,
    /// The number of the first request that a call makes.
    pub first_request: u64,
    /// When the first call was entered.
    pub base: u64,
}

impl Header {
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |place: usize, number: &[u8]| bytes[place..place + number.len()].copy_from_slice(number);
        put(0, MAGIC);
        put(8, &self.checksum.to_le_bytes());
        for (place, number) in [(12, self.body), (16, self.calls), (20, self.shapes), (24, self.dictionary)] {
            put(place, &(number as u32).to_le_bytes());
        }
        put(28, &self.thread.to_le_bytes());
        put(30, &[self.kind as u8, self.width as u8]);
        put(32, &self.first_request.to_le_bytes());
        put(40, &self.base.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if it is damaged or is none.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let small = |place: usize| u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"));
        let large = |place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"));
        if &bytes[..4] != MAGIC || small(4) != crc32fast::hash(&bytes[8..]) {
            return None;
        }
        Some(Header {
            kind: [Kind::Calls, Kind::Sums].into_iter().find(|kind| *kind as u8 == bytes[30])?,
            thread: u16::from_le_bytes([bytes[28], bytes[29]]),
            calls: small(16) as usize,
            shapes: small(20) as usize,
            dictionary: small(24) as usize,
            width: bytes[31].into(),
            body: small(12) as usize,
            checksum: small(8),
            first_request: large(32),
            base: large(40),
        })
    }
}

/// Collects the calls of one thread until they are a block.
pub struct Builder {
    thread: u16,
    dictionary: Encoder,
    /// The number of each call's shape. Sixteen bits are enough: there are no more shapes than calls.
    numbers: Vec<u16>,
    control: Vec<u8>,
    times: Vec<u8>,
    base: u64,
    last_leave: u64,
    first_request: u64,
    next_request: u64,
    generation: u32,
}

impl Builder {
    /// Begins with nothing.
    pub fn new(thread: u16) -> Builder {
        Builder {
            thread,
            dictionary: Encoder::default(),
            numbers: Vec::with_capacity(MOST_CALLS),
            control: Vec::with_capacity(MOST_CALLS),
            times: Vec::new(),
            base: 0,
            last_leave: 0,
            first_request: 0,
            next_request: 0,
            generation: 0,
        }
    }

    /// The thread.
    pub fn thread(&self) -> u16 {
        self.thread
    }

    /// Counts the blocks: the number of a shape holds as long as this stays the same.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The number that the next request will have.
    pub fn next_request(&self) -> u64 {
        self.next_request
    }

    /// Lets requests be numbered from here on; only where the block is empty.
    pub fn set_next_request(&mut self, number: u64) {
        (self.first_request, self.next_request) = (number, number);
    }

    /// Whether there is no call in it.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether it should be written before anything is added.
    pub fn is_full(&self) -> bool {
        self.numbers.len() >= MOST_CALLS || self.dictionary.listed() >= MOST_LISTED / 4
    }

    /// The number of a shape in this block.
    pub fn number(&mut self, shape: &Shape) -> u16 {
        self.dictionary.number(shape) as u16
    }

    /// Adds a call, whose shape must have been numbered just before: every shape has a call.
    pub fn push(&mut self, enter: u64, leave: u64, number: u16) {
        if self.numbers.is_empty() {
            (self.base, self.last_leave) = (enter, enter);
        }
        let gap = put_time(&mut self.times, enter.wrapping_sub(self.last_leave));
        let duration = put_time(&mut self.times, leave.wrapping_sub(enter));
        self.control.push(gap | duration << 4);
        self.numbers.push(number);
        self.last_leave = leave;
        self.next_request = self.next_request.wrapping_add(self.dictionary.shapes()[usize::from(number)].makes_request().into());
    }

    /// The block as bytes; afterwards the next one can begin.
    pub fn finish(&mut self, bytes: &mut Vec<u8>) {
        let width = self.width();
        bytes.clear();
        bytes.resize(HEADER_BYTES, 0);
        bytes.extend_from_slice(self.dictionary.bytes());
        match width {
            0 => {}
            1 => bytes.extend(self.numbers.iter().map(|n| *n as u8)),
            _ => bytes.extend(self.numbers.iter().flat_map(|n| n.to_le_bytes())),
        }
        bytes.extend_from_slice(&self.control);
        bytes.extend_from_slice(&self.times);
        let (calls, shapes, dictionary) = (self.numbers.len(), self.dictionary.shapes().len(), self.dictionary.bytes().len());
        seal(bytes, |body, checksum| Header {
            kind: Kind::Calls,
            thread: self.thread,
            calls,
            shapes,
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
        let own_shapes =
            self.dictionary.shapes().len() == self.numbers.len() && self.numbers.iter().enumerate().all(|(i, n)| i == usize::from(*n));
        match self.dictionary.shapes().len() {
            _ if own_shapes => 0,
            0..=0x100 => 1,
            _ => 2,
        }
    }

    fn clear(&mut self) {
        self.dictionary.clear();
        self.numbers.clear();
        self.control.clear();
        self.times.clear();
        self.first_request = self.next_request;
        self.generation += 1;
    }
}

/// Appends a number in as many bytes as it needs, and says how many.
#[inline]
fn put_time(bytes: &mut Vec<u8>, ticks: u64) -> u8 {
    let length = (u64::BITS - ticks.leading_zeros()).div_ceil(8) as usize;
    let end = bytes.len() + length;
    bytes.extend_from_slice(&ticks.to_le_bytes());
    bytes.truncate(end);
    length as u8
}

/// Fills in the header in front of a body.
fn seal(bytes: &mut [u8], header: impl FnOnce(usize, u32) -> Header) {
    let (front, body) = bytes.split_at_mut(HEADER_BYTES);
    front.copy_from_slice(&header(body.len(), crc32fast::hash(body)).bytes());
}

/// A block of sums as bytes.
pub fn write_sums(thread: u16, sums: &[(Shape, Sums)], bytes: &mut Vec<u8>) {
    let mut dictionary = Encoder::default();
    sums.iter().for_each(|(shape, _)| dictionary.write(shape));
    bytes.clear();
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend_from_slice(dictionary.bytes());
    bytes.extend(sums.iter().flat_map(|(_, sums)| sums.words()).flat_map(u64::to_le_bytes));
    seal(bytes, |body, checksum| Header {
        kind: Kind::Sums,
        thread,
        calls: sums.len(),
        shapes: sums.len(),
        dictionary: dictionary.bytes().len(),
        width: 0,
        body,
        checksum,
        first_request: 0,
        base: 0,
    });
}

/// A block whose checksums match.
pub struct Block<'a> {
    header: Header,
    /// The body, and [`SLACK`] bytes after it.
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// Takes a body with [`SLACK`] bytes after it; `None` if its checksum does not match.
    pub fn new(header: Header, bytes: &'a [u8]) -> Option<Block<'a>> {
        (bytes.len() == header.body + SLACK && crc32fast::hash(&bytes[..header.body]) == header.checksum).then_some(Block { header, bytes })
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Appends its shapes; `None` if they make no sense, and then nothing is appended.
    pub fn shapes(&self, operations: &Operations, shapes: &mut Vec<Shape>) -> Option<()> {
        let (before, bytes) = (shapes.len(), self.bytes[..self.header.body].get(..self.header.dictionary)?);
        let read = dictionary::decode(bytes, self.header.shapes, operations, shapes);
        if read.is_none() {
            shapes.truncate(before);
        }
        read
    }

    /// Its sums, in the order of its shapes; `None` if it has none.
    pub fn sums(&self) -> Option<Vec<Sums>> {
        let bytes = self.bytes[..self.header.body].get(self.header.dictionary..)?;
        if self.header.kind != Kind::Sums || bytes.len() != self.header.shapes.checked_mul(SUMS_BYTES)? {
            return None;
        }
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let sums = bytes.chunks_exact(SUMS_BYTES).map(|entry| {
            let [calls, ticks, least, most, sent, received] = std::array::from_fn(|n| word(&entry[8 * n..8 * n + 8]));
            Sums { calls, ticks, least, most, sent, received }
        });
        Some(sums.collect())
    }

    /// Its rows; `None` if they make no sense.
    pub fn rows(&self) -> Option<Rows<'a>> {
        let rows = Rows::at(&self.header, self.bytes)?;
        (self.header.kind == Kind::Calls && rows.lengths_fit() && rows.numbers_fit(self.header.shapes)).then_some(rows)
    }
}

/// The rows of a block: checked, so that reading them cannot fail.
pub struct Rows<'a> {
    width: usize,
    numbers: &'a [u8],
    control: &'a [u8],
    times: &'a [u8],
    base: u64,
}

impl<'a> Rows<'a> {
    /// The rows of a block whose [`Block::rows`] were there before: they need not be checked again.
    pub fn at(header: &Header, bytes: &'a [u8]) -> Option<Rows<'a>> {
        let Header { calls, dictionary, width, .. } = *header;
        let numbers_end = dictionary.checked_add(calls.checked_mul(width)?)?;
        let numbers = bytes.get(dictionary..numbers_end)?;
        let times_begin = numbers_end.checked_add(calls).filter(|end| *end <= header.body)?;
        let (control, times) = (&bytes[numbers_end..times_begin], &bytes[times_begin..]);
        Some(Rows { width, numbers, control, times, base: header.base })
    }

    /// So many rows of a block by themselves: their numbers, control bytes and times one after the other, and [`SLACK`] bytes; `base` is when
    /// the call before was left. `None` if the times do not fit the control bytes.
    pub fn part(width: usize, bytes: &'a [u8], count: usize, base: u64) -> Option<Rows<'a>> {
        let (numbers, rest) = bytes.split_at_checked(count.checked_mul(width)?)?;
        let (control, times) = rest.split_at_checked(count)?;
        let rows = Rows { width, numbers, control, times, base };
        rows.lengths_fit().then_some(rows)
    }
}

/// Where reading the rows of a block has come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    row: usize,
    /// Bytes of times that were read.
    times: usize,
}

impl Place {
    /// The next row.
    pub fn row(&self) -> u32 {
        self.row as u32
    }

    /// Bytes of times in front of it.
    pub fn times(&self) -> u32 {
        self.times as u32
    }
}

/// The bits that a number of so many bytes has.
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

impl Rows<'_> {
    fn lengths_fit(&self) -> bool {
        // Without an early end, so that the compiler can look at many at a time.
        let longest = self.control.iter().fold(0, |longest, c| (c & 15).max(c >> 4).max(longest));
        let sum = |control: &[u8]| control.iter().map(|c| u16::from((c & 15) + (c >> 4))).sum::<u16>();
        let bytes: usize = self.control.chunks(1024).map(|control| usize::from(sum(control))).sum();
        longest <= 8 && bytes + SLACK == self.times.len()
    }

    fn numbers_fit(&self, shapes: usize) -> bool {
        let largest = match self.width {
            0 => self.control.len().checked_sub(1),
            1 => Some(usize::from(self.numbers.iter().fold(0, |largest, n| largest.max(*n)))),
            2 => Some(usize::from(self.numbers.chunks_exact(2).fold(0, |largest, n| largest.max(u16::from_le_bytes([n[0], n[1]]))))),
            _ => return false,
        };
        largest.is_none_or(|largest| largest < shapes)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.control.len()
    }

    /// When each call was entered and left, in nanoseconds.
    pub fn times(&self, clock: &Clock) -> impl Iterator<Item = (i64, i64)> {
        self.moments(clock.line())
    }

    /// Hands out when each call was entered and left, and the number of its shape.
    pub fn each(&self, line: Line, mut use_row: impl FnMut(i64, i64, u16)) {
        let moments = self.moments(line);
        // The width is looked at once, not for each row.
        match self.width {
            0 => moments.zip(0..).for_each(|((enter, leave), number)| use_row(enter, leave, number as u16)),
            1 => moments.zip(self.numbers).for_each(|((enter, leave), number)| use_row(enter, leave, u16::from(*number))),
            _ => {
                let numbers = self.numbers.chunks_exact(2).map(|n| u16::from_le_bytes([n[0], n[1]]));
                moments.zip(numbers).for_each(|((enter, leave), number)| use_row(enter, leave, number));
            }
        }
    }

    fn moments(&self, line: Line) -> impl Iterator<Item = (i64, i64)> {
        let (mut rest, mut now) = (self.times, self.base);
        self.control.iter().map(move |control| {
            let (gap, duration) = (usize::from(control & 15), usize::from(control >> 4));
            let bytes: &[u8; SLACK] = rest.first_chunk().expect("the lengths were checked, and the slack follows");
            now = now.wrapping_add(word(bytes, 0) & MASKS[gap]);
            let enter = line.nanoseconds(now);
            now = now.wrapping_add(word(bytes, gap) & MASKS[duration]);
            rest = &rest[gap + duration..];
            (enter, line.nanoseconds(now))
        })
    }

    /// At most so many rows from a place on, which moves along: for each the ticks since the call before was left, those in the call, and
    /// the number of its shape in the block.
    pub fn some(&self, place: &mut Place, most: usize) -> impl Iterator<Item = (u64, u64, u16)> {
        let first = place.row.min(self.len());
        let last = (first + most).min(self.len());
        place.row = last;
        self.control[first..last].iter().zip(first..).map(move |(control, row)| {
            let (gap, duration) = (usize::from(control & 15), usize::from(control >> 4));
            let bytes: &[u8; SLACK] = self.times[place.times..].first_chunk().expect("the lengths were checked, and the slack follows");
            place.times += gap + duration;
            (word(bytes, 0) & MASKS[gap], word(bytes, gap) & MASKS[duration], self.number(row))
        })
    }

    /// The number of a row's shape in the block.
    fn number(&self, row: usize) -> u16 {
        match self.width {
            0 => row as u16,
            1 => self.numbers[row].into(),
            _ => u16::from_le_bytes([self.numbers[2 * row], self.numbers[2 * row + 1]]),
        }
    }

    /// Appends the number of each call's shape in the table, given those of the block's shapes.
    pub fn shapes(&self, places: &[u32], out: &mut Vec<u32>) {
        match self.width {
            0 => out.extend_from_slice(&places[..self.len()]),
            1 => out.extend(self.numbers.iter().map(|n| places[usize::from(*n)])),
            _ => out.extend(self.numbers.chunks_exact(2).map(|n| places[usize::from(u16::from_le_bytes([n[0], n[1]]))])),
        }
    }
}
