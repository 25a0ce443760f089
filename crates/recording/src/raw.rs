//! Raw format: blocks of machine words, written by the probe and read when the recording is sealed.
//!
//! A *record* is one MPI call. Its first two words hold the time, the rest is its *payload*. Calls in loops often differ only in time, so a
//! record whose payload is already in the block just refers to it and takes two words (16 bytes).
//!
//! ```text
//! enter ticks | duration << 24, reference | payload (only where reference is 0) ...
//! ```
//!
//! If the calls of a site always differ in something (an increasing tag, a changing size), a record refers to an earlier payload of that
//! site and stores only the words that differ: see [`delta_reference`]. Decoding a block expands these payloads, so callers never see them.
//!
//! The block header holds a cursor that is advanced when a call returns. The words after the cursor describe the call in progress, so the
//! call in which a process was killed is preserved. A closed block has a checksum.

pub mod counters;
pub mod file_io;
pub mod off_cpu;
pub mod openmp;
pub mod samples;

/// Words of a block, including its header.
pub const BLOCK_WORDS: usize = 32 * 1024;
/// Bytes of one block.
pub const BLOCK_BYTES: usize = BLOCK_WORDS * 8;
/// Words of a block's header.
pub const HEADER_WORDS: usize = 8;
/// The first word of every block.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINBLK01");
/// The first word of a profile region.
pub const PROFILE_MAGIC: u64 = u64::from_le_bytes(*b"SINPRF01");
/// Bits of a record's second word that refer to an earlier payload.
pub const REFERENCE_BITS: u32 = 24;
/// Longest payload, in words, that may be referred to with changes; bounds the size of an expanded block.
pub const MAX_DELTA_PAYLOAD_WORDS: usize = 32;
/// Number of payload words (after header and call site) that a delta can change.
pub const DELTA_WORDS: usize = 8;
/// Durations from this value on are stored in a word of their own.
pub const LONG_DURATION: u64 = (1 << (64 - REFERENCE_BITS)) - 1;
/// Maximum number of requests in one record; further ones follow in continuation records.
pub const MAX_REQUESTS: usize = 4096;

/// Indices of the words of a block header.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum HeaderWord {
    /// [`MAGIC`].
    Magic = 0,
    /// Block sequence number, thread and closed flag: see [`identity`].
    Identity = 1,
    /// Words in use and words of the call in progress: see [`cursor`].
    Cursor = 2,
    /// CRC-32 of the used words after the header; valid once the block is closed.
    Checksum = 3,
    /// Number of the first request created in this block.
    FirstRequest = 4,
    /// A point in time in ticks ...
    AnchorTicks = 5,
    /// ... and the same point on the monotonic clock, in nanoseconds.
    AnchorNanoseconds = 6,
    /// Calls lost before this block.
    Dropped = 7,
}

/// Encodes the identity word of a block.
pub const fn identity(sequence: u32, thread: u16, closed: bool) -> u64 {
    sequence as u64 | (thread as u64) << 32 | (closed as u64) << 48
}

/// Encodes the cursor word: words in use (including the header) and words staged for the call in progress.
pub const fn cursor(used: usize, pending: usize) -> u64 {
    (used as u64) << 32 | pending as u64
}

const OFFSET_BITS: u32 = 15;
const _: () = assert!(BLOCK_WORDS <= 1 << OFFSET_BITS);

/// Reference to the payload at `offset` with some words replaced: bit 0 of `changed` is the word after the call site. The new words
/// follow the record.
pub const fn delta_reference(offset: usize, changed: u8) -> u64 {
    offset as u64 | 1 << OFFSET_BITS | (changed as u64) << (OFFSET_BITS + 1)
}

/// No peer, tag or root.
pub const NONE: i32 = i32::MIN;
/// `MPI_PROC_NULL`, independent of the library's value.
pub const PROC_NULL: i32 = i32::MIN + 1;
/// `MPI_ANY_SOURCE` or `MPI_ANY_TAG`, independent of the library's value.
pub const ANY: i32 = i32::MIN + 2;
/// `MPI_ROOT`: this process is the root of a collective on an intercommunicator.
pub const ROOT: i32 = i32::MIN + 3;
/// A process that is not part of the recording.
pub const EXTERNAL: i32 = i32::MIN + 4;
/// No communicator, window or file.
pub const NO_OBJECT: u32 = u32::MAX;
/// Lock type of `MPI_Win_lock`: `MPI_LOCK_EXCLUSIVE`, independent of the library's value.
pub const LOCK_EXCLUSIVE: i32 = 1;
/// Lock type of `MPI_Win_lock`: `MPI_LOCK_SHARED`, independent of the library's value.
pub const LOCK_SHARED: i32 = 2;
/// Unknown number of bytes.
pub const UNKNOWN_BYTES: u64 = u64::MAX;

/// The number of bytes, or 0 if it is [`UNKNOWN_BYTES`].
pub const fn bytes_or_zero(bytes: u64) -> u64 {
    if bytes == UNKNOWN_BYTES { 0 } else { bytes }
}

/// Optional parts of a payload after its first two words, and flags, as bits of its header word.
pub mod part {
    /// One word: communicator, window or file, and its peer, root or target.
    pub const OBJECT: u16 = 1;
    /// One word: tag, and the receive tag of a send-receive.
    pub const TAG: u16 = 1 << 1;
    /// One word: source of a send-receive.
    pub const SOURCE: u16 = 1 << 2;
    /// One word: bytes sent.
    pub const SENT: u16 = 1 << 3;
    /// One word: bytes received.
    pub const RECEIVED: u16 = 1 << 4;
    /// One word: communicator, window or file that the call created or freed.
    pub const CREATED: u16 = 1 << 5;
    /// One word: duration too long for the record's second word.
    pub const LONG_DURATION: u16 = 1 << 6;
    /// One word: the returned error code, the level of `MPI_Pcontrol`, the group of `MPI_Win_post` and `MPI_Win_start`, the lock type of
    /// `MPI_Win_lock`, or how a call was left without returning.
    pub const VALUE: u16 = 1 << 7;
    /// Flag: the call created a request, which takes the thread's next number.
    pub const REQUEST: u16 = 1 << 8;
    /// Flag: an unsuccessful test or probe (`flag = false`).
    pub const FLAG_FALSE: u16 = 1 << 9;
    /// Flag: the listed requests were started, not completed.
    pub const STARTED: u16 = 1 << 10;
    /// Flag: the record continues the request list of the previous one.
    pub const CONTINUED: u16 = 1 << 11;
    /// Flag: called from Fortran.
    pub const FORTRAN: u16 = 1 << 12;
    /// Flag: called through `mpi_f08`.
    pub const F08: u16 = 1 << 13;
    /// Flag: the call returned an error (its code is the value).
    pub const ERROR: u16 = 1 << 14;
    /// Flag: the call was in progress when the recording ended.
    pub const UNFINISHED: u16 = 1 << 15;
    /// Both flags: the program left the call without returning from it (its [`super::NonLocalExit`] is the value). Readers that do not know
    /// this combination see a call that failed and did not finish.
    pub const NON_LOCAL_EXIT: u16 = ERROR | UNFINISHED;

    /// The parts that take a word, in storage order.
    pub const WORDS: [u16; 8] = [OBJECT, TAG, SOURCE, SENT, RECEIVED, CREATED, LONG_DURATION, VALUE];
}

/// How a program left a call without returning from it: the value of a call with the flags [`part::NON_LOCAL_EXIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum NonLocalExit {
    /// By an exception.
    Exception = 1,
    /// By the end of its thread: `pthread_exit` or `pthread_cancel`.
    ThreadEnd = 2,
    /// By a jump: `longjmp` and its variants.
    Jump = 3,
    /// In a way that was not seen: the recorded end is the latest possible one.
    Unobserved = 4,
}

impl NonLocalExit {
    /// All of them.
    pub const ALL: [NonLocalExit; 4] = [NonLocalExit::Exception, NonLocalExit::ThreadEnd, NonLocalExit::Jump, NonLocalExit::Unobserved];

    /// The exit with this code.
    pub fn from_code(code: i32) -> Option<NonLocalExit> {
        NonLocalExit::ALL.into_iter().find(|exit| *exit as i32 == code)
    }

    /// Its name in lists and exports.
    pub const fn name(self) -> &'static str {
        match self {
            NonLocalExit::Exception => "exception",
            NonLocalExit::ThreadEnd => "thread end",
            NonLocalExit::Jump => "jump",
            NonLocalExit::Unobserved => "unknown",
        }
    }
}

/// Packs two 32-bit numbers into one word.
pub const fn pair(low: u32, high: i32) -> u64 {
    low as u64 | (high as u32 as u64) << 32
}

/// Inverse of [`pair`].
pub const fn unpair(word: u64) -> (u32, i32) {
    (word as u32, (word >> 32) as i32)
}

/// Encodes the header word of a payload.
pub const fn payload_header(operation: u16, parts: u16, requests: u16, words: u16) -> u64 {
    operation as u64 | (parts as u64) << 16 | (requests as u64) << 32 | (words as u64) << 48
}

/// Reference to a request in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestRef {
    /// Created by the same thread, this many requests ago (0 is the newest).
    Relative(u64),
    /// Created by the given thread, with this number.
    Absolute(u16, u64),
}

const THREAD_SHIFT: u32 = 48;
const RECEIVE_BIT: u64 = 1 << 63;
const SAME_THREAD: u64 = 0x7fff;
/// Stands for the thread of an unknown request; no thread has this number.
pub const UNKNOWN_THREAD: u16 = 0x7ffe;

impl RequestRef {
    /// A request that is complete, but of which it is not known which one it is: its handle is shared with other requests.
    pub const UNKNOWN: RequestRef = RequestRef::Absolute(UNKNOWN_THREAD, 0);

    /// Whether it is known which request it is.
    pub const fn is_known(self) -> bool {
        !matches!(self, RequestRef::Absolute(UNKNOWN_THREAD, _))
    }

    /// Encodes the reference and whether the request is a receive.
    pub const fn to_word(self, receive: bool) -> u64 {
        let word = match self {
            RequestRef::Relative(ago) => ago | SAME_THREAD << THREAD_SHIFT,
            RequestRef::Absolute(thread, number) => number | (thread as u64) << THREAD_SHIFT,
        };
        if receive { word | RECEIVE_BIT } else { word }
    }

    /// Inverse of [`RequestRef::to_word`].
    pub const fn from_word(word: u64) -> (RequestRef, bool) {
        let number = word & ((1 << THREAD_SHIFT) - 1);
        let thread = (word & !RECEIVE_BIT) >> THREAD_SHIFT;
        let request = if thread == SAME_THREAD { RequestRef::Relative(number) } else { RequestRef::Absolute(thread as u16, number) };
        (request, word & RECEIVE_BIT != 0)
    }
}

/// Bit count of each byte; faster than `count_ones` on the baseline x86-64 without POPCNT.
static BIT_COUNTS: [u8; 256] = {
    let mut bits = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bits[byte] = (byte as u32).count_ones() as u8;
        byte += 1;
    }
    bits
};

/// Offset of a part among the parts that are present.
#[inline(always)]
pub fn part_offset(parts: u16, wanted: u16) -> usize {
    usize::from(BIT_COUNTS[usize::from(parts & (wanted - 1) & 0xff)])
}

/// Number of words of all parts that are present.
#[inline(always)]
pub fn part_count(parts: u16) -> usize {
    usize::from(BIT_COUNTS[usize::from(parts & 0xff)])
}

/// Marks the number of a call path in place of the address of a call site: no address of a program has this bit.
const PATH_BIT: u64 = 1 << 63;

/// The word that stands for a call path in place of a call site.
pub const fn path_word(path: u32) -> u64 {
    PATH_BIT | path as u64
}

/// The number of the call path that a word stands for; `None` if it is an address.
pub const fn path_number(word: u64) -> Option<u32> {
    if word & PATH_BIT != 0 { Some(word as u32) } else { None }
}

/// The payload of a call.
#[derive(Clone, Copy)]
pub struct CallPayload<'a> {
    words: &'a [u64],
}

impl<'a> CallPayload<'a> {
    /// Parses the payload at the start of `words`; `None` if its lengths are inconsistent.
    pub fn parse(words: &'a [u64]) -> Option<CallPayload<'a>> {
        let header = *words.first()?;
        let length = (header >> 48) as usize;
        let payload = CallPayload { words: words.get(..length).filter(|words| !words.is_empty())? };
        let expected = 2 + (payload.parts() & 0xff).count_ones() as usize + 3 * payload.request_count();
        (length == expected).then_some(payload)
    }

    /// All its words.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Index of the MPI function.
    pub fn function_index(&self) -> u16 {
        self.words[0] as u16
    }

    /// Parts and flags: bits of [`part`].
    pub fn parts(&self) -> u16 {
        (self.words[0] >> 16) as u16
    }

    /// Number of listed requests.
    pub fn request_count(&self) -> usize {
        usize::from((self.words[0] >> 32) as u16)
    }

    /// The call site: an address or a call path ([`path_number`]) in raw blocks, an index in sealed ones.
    pub fn site(&self) -> u64 {
        self.words[1]
    }

    /// The word of a part, if present.
    pub fn part(&self, wanted: u16) -> Option<u64> {
        let parts = self.parts();
        (parts & wanted != 0).then(|| self.words[2 + (parts & (wanted - 1)).count_ones() as usize])
    }

    /// The listed requests: reference word, source and tag, bytes.
    pub fn requests(&self) -> impl Iterator<Item = [u64; 3]> + 'a {
        let first = self.words.len() - 3 * self.request_count();
        self.words[first..].chunks_exact(3).map(|c| [c[0], c[1], c[2]])
    }
}

/// A record of a block.
#[derive(Clone, Copy)]
pub struct RawRecord<'a> {
    /// Enter time in ticks.
    pub enter: u64,
    /// Duration in ticks; 0 for a call in progress.
    pub duration: u64,
    /// Word offset of its payload in the block: equal payloads have equal offsets.
    pub payload_offset: usize,
    /// Everything but the time.
    pub payload: CallPayload<'a>,
    /// Whether the call was in progress when the block ended.
    pub unfinished: bool,
}

/// A decoded block.
pub struct RawBlock<'a> {
    words: &'a [u64],
    used: usize,
    pending: usize,
}

/// Why a block cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// No magic number, or inconsistent lengths.
    #[error("not a block")]
    NotABlock,
    /// The checksum does not match.
    #[error("checksum does not match")]
    Checksum,
}

impl<'a> RawBlock<'a> {
    /// Checks magic number, lengths and (if closed) checksum, and expands all payload deltas in place.
    pub fn decode(words: &'a mut Vec<u64>) -> Result<RawBlock<'a>, BlockError> {
        let header: &[u64; HEADER_WORDS] = words.first_chunk().ok_or(BlockError::NotABlock)?;
        let cursor = header[HeaderWord::Cursor as usize];
        let (used, pending) = ((cursor >> 32) as usize, cursor as u32 as usize);
        if header[HeaderWord::Magic as usize] != MAGIC || used < HEADER_WORDS || used > words.len() {
            return Err(BlockError::NotABlock);
        }
        let closed = header[HeaderWord::Identity as usize] >> 48 & 1 == 1;
        if closed && checksum(&words[HEADER_WORDS..used]) != header[HeaderWord::Checksum as usize] {
            return Err(BlockError::Checksum);
        }
        let pending = if pending <= words.len() - used { pending } else { 0 };
        let under_way = words[used..used + pending].to_vec();
        let mut expanded = expand_deltas(&words[..used]);
        let used = expanded.len();
        expanded.extend(under_way);
        *words = expanded;
        Ok(RawBlock { words, used, pending })
    }

    /// A word of the header.
    pub fn header(&self, offset: HeaderWord) -> u64 {
        self.words[offset as usize]
    }

    /// Its sequence number in the stream.
    pub fn sequence(&self) -> u32 {
        self.header(HeaderWord::Identity) as u32
    }

    /// Its records in order, the call in progress last. Stops at the first malformed record.
    pub fn records(&self) -> impl Iterator<Item = RawRecord<'a>> {
        let (words, used, pending) = (self.words, self.used, self.pending);
        let mut at = HEADER_WORDS;
        let mut under_way = pending > 2;
        std::iter::from_fn(move || {
            if at < used {
                let record = record_at(&words[..used], at)?;
                at += if record.payload_offset == at + 2 { 2 + record.payload.words().len() } else { 2 };
                return Some(record);
            }
            if !std::mem::take(&mut under_way) {
                return None;
            }
            let payload = CallPayload::parse(&words[used + 2..used + pending])?;
            Some(RawRecord { enter: words[used], duration: 0, payload_offset: used + 2, payload, unfinished: true })
        })
    }
}

/// Expands a block so that every record has its payload inline or refers to an unchanged one. Stops at the first malformed record.
fn expand_deltas(words: &[u64]) -> Vec<u64> {
    let mut expanded = words[..HEADER_WORDS].to_vec();
    // New offsets of the payloads that can be referred to.
    let mut moved = vec![0; words.len()];
    let mut at = HEADER_WORDS;
    while let Some(length) = expand_record(words, at, &mut expanded, &mut moved) {
        at += length;
    }
    expanded
}

/// Expands one record and returns its original length in words.
fn expand_record(words: &[u64], at: usize, expanded: &mut Vec<u64>, moved: &mut [usize]) -> Option<usize> {
    let (enter, second) = (*words.get(at)?, *words.get(at + 1)?);
    let (time, reference) = (second >> REFERENCE_BITS << REFERENCE_BITS, second & ((1 << REFERENCE_BITS) - 1));
    if reference == 0 {
        let payload = CallPayload::parse(&words[at + 2..])?;
        moved[at + 2] = expanded.len() + 2;
        expanded.extend([enter, time]);
        expanded.extend(payload.words());
        return Some(2 + payload.words().len());
    }
    let offset = reference as usize & ((1 << OFFSET_BITS) - 1);
    let new_offset = moved.get(offset).copied().filter(|new_offset| *new_offset != 0)?;
    if reference >> OFFSET_BITS == 0 {
        expanded.extend([enter, time | new_offset as u64]);
        return Some(2);
    }
    let payload = CallPayload::parse(&words[offset..]).filter(|payload| payload.words().len() <= MAX_DELTA_PAYLOAD_WORDS)?;
    let changed = (reference >> (OFFSET_BITS + 1)) as u8;
    let mut replacements = words.get(at + 2..at + 2 + changed.count_ones() as usize)?.iter();
    expanded.extend([enter, time]);
    expanded.extend(payload.words().iter().enumerate().map(|(i, word)| {
        let bit = i.checked_sub(2).filter(|bit| *bit < DELTA_WORDS && changed >> bit & 1 == 1);
        bit.and_then(|_| replacements.next()).unwrap_or(word)
    }));
    Some(2 + changed.count_ones() as usize)
}

fn record_at(words: &[u64], at: usize) -> Option<RawRecord<'_>> {
    let (enter, second) = (*words.get(at)?, *words.get(at + 1)?);
    let reference = match (second & ((1 << REFERENCE_BITS) - 1)) as usize {
        0 => at + 2,
        offset => offset,
    };
    let payload = CallPayload::parse(words.get(reference..)?)?;
    let duration = payload.part(part::LONG_DURATION).unwrap_or(second >> REFERENCE_BITS);
    Some(RawRecord { enter, duration, payload_offset: reference, payload, unfinished: false })
}

/// A number of which every bit depends on all words of a short record.
fn mix_words(words: [u64; 4]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mixed = words.into_iter().fold(1, mix);
    // Without this the upper bits of the last word would not reach the upper bits of the result.
    (mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// CRC-32 of the words.
pub fn checksum(words: &[u64]) -> u64 {
    // SAFETY: any initialised words may be seen as bytes.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), words.len() * 8) };
    u64::from(crc32fast::hash(bytes))
}

/// Layout of a profile region: totals per call site instead of single calls.
pub mod profile {
    /// Words of the region's header: magic, entries in use, first enter, last return, dropped calls, anchor ticks, anchor nanoseconds.
    pub const HEADER_WORDS: usize = 8;
    /// Words of an entry: four for the key, eight for the totals.
    pub const ENTRY_WORDS: usize = 12;
    /// Maximum number of entries; further calls are added to the last one.
    pub const MAX_ENTRIES: usize = 16 * 1024;
    /// Key: payload header with function and flags.
    pub const KEY: usize = 0;
    /// Key: call site.
    pub const SITE: usize = 1;
    /// Key: object and peer.
    pub const OBJECT: usize = 2;
    /// Key: size class of the bytes sent (low) and received (high).
    pub const CLASS: usize = 3;
    /// Total: calls.
    pub const CALLS: usize = 4;
    /// Total: ticks.
    pub const TICKS: usize = 5;
    /// Shortest call, in ticks.
    pub const MIN_TICKS: usize = 6;
    /// Longest call, in ticks.
    pub const MAX_TICKS: usize = 7;
    /// Total: bytes sent.
    pub const SENT: usize = 8;
    /// Total: bytes received.
    pub const RECEIVED: usize = 9;

    /// Size class: 0 for no bytes, otherwise 1 + ceil(log2).
    pub const fn size_class(bytes: u64) -> u32 {
        if bytes == 0 { 0 } else { 1 + u64::BITS - (bytes - 1).leading_zeros() }
    }

    /// Largest size in a class.
    pub const fn size_bound(class: u32) -> u64 {
        match class {
            0 => 0,
            1..=64 => 1 << (class - 1),
            _ => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes records as the probe does, without its optimisations.
    fn block_of(calls: &[(u64, u64, &[u64])], closed: bool) -> Vec<u64> {
        let mut words = vec![0; BLOCK_WORDS];
        let mut used = HEADER_WORDS;
        let mut seen: Vec<(usize, Vec<u64>)> = Vec::new();
        for (enter, duration, payload) in calls {
            let reference = seen.iter().find(|(_, p)| p == payload).map_or(0, |(offset, _)| *offset);
            words[used] = *enter;
            words[used + 1] = duration << REFERENCE_BITS | reference as u64;
            used += 2;
            if reference == 0 {
                seen.push((used, payload.to_vec()));
                words[used..used + payload.len()].copy_from_slice(payload);
                used += payload.len();
            }
        }
        words[HeaderWord::Magic as usize] = MAGIC;
        words[HeaderWord::Identity as usize] = identity(7, 3, closed);
        words[HeaderWord::Cursor as usize] = cursor(used, 0);
        words[HeaderWord::Checksum as usize] = checksum(&words[HEADER_WORDS..used]);
        words
    }

    fn send(bytes: u64) -> Vec<u64> {
        vec![payload_header(5, part::OBJECT | part::SENT, 0, 4), 0x1234, pair(0, 1), bytes]
    }

    #[test]
    fn equal_calls_share_their_payload() {
        let (a, b) = (send(8), send(16));
        let mut words = block_of(&[(10, 1, &a), (20, 2, &b), (30, 3, &a)], true);
        let block = RawBlock::decode(&mut words).unwrap();
        let read: Vec<_> = block.records().map(|r| (r.enter, r.duration, r.payload.part(part::SENT))).collect();
        assert_eq!(read, [(10, 1, Some(8)), (20, 2, Some(16)), (30, 3, Some(8))]);
        assert_eq!(block.sequence(), 7);
    }

    #[test]
    fn a_changed_bit_is_found_by_the_checksum() {
        let mut words = block_of(&[(10, 1, &send(8))], true);
        words[HEADER_WORDS] ^= 1;
        assert_eq!(RawBlock::decode(&mut words).err(), Some(BlockError::Checksum));
    }

    #[test]
    fn calls_that_differ_in_little_carry_only_that() {
        let mut words = block_of(&[(10, 1, &send(8))], false);
        let mut used = (words[HeaderWord::Cursor as usize] >> 32) as usize;
        // The bytes sent are the second word after the call site.
        for (enter, bytes) in [(20, 99), (30, 100)] {
            words[used] = enter;
            words[used + 1] = 5 << REFERENCE_BITS | delta_reference(HEADER_WORDS + 2, 0b10);
            words[used + 2] = bytes;
            used += 3;
        }
        words[HeaderWord::Cursor as usize] = cursor(used, 0);
        let block = RawBlock::decode(&mut words).unwrap();
        let read: Vec<_> =
            block.records().map(|r| (r.enter, r.duration, r.payload.part(part::SENT), r.payload.part(part::OBJECT))).collect();
        let object = Some(pair(0, 1));
        assert_eq!(read, [(10, 1, Some(8), object), (20, 5, Some(99), object), (30, 5, Some(100), object)]);
    }

    #[test]
    fn the_call_under_way_is_the_last_record() {
        let mut words = block_of(&[(10, 1, &send(8))], false);
        let used = (words[HeaderWord::Cursor as usize] >> 32) as usize;
        let payload = send(99);
        words[used] = 50;
        words[used + 2..used + 2 + payload.len()].copy_from_slice(&payload);
        words[HeaderWord::Cursor as usize] = cursor(used, 2 + payload.len());
        let last = RawBlock::decode(&mut words).unwrap().records().last().unwrap();
        assert!(last.unfinished);
        assert_eq!((last.enter, last.payload.part(part::SENT)), (50, Some(99)));
    }

    #[test]
    fn request_references_keep_their_meaning() {
        for request in [RequestRef::Relative(0), RequestRef::Relative(1 << 40), RequestRef::Absolute(3, 12345), RequestRef::UNKNOWN] {
            for receive in [false, true] {
                assert_eq!(RequestRef::from_word(request.to_word(receive)), (request, receive));
            }
        }
    }

    #[test]
    fn a_size_class_holds_the_sizes_up_to_its_bound() {
        for bytes in [0, 1, 2, 3, 4, 5, 8, 9, 1 << 20, (1 << 20) + 1, 1 << 63, u64::MAX] {
            let class = profile::size_class(bytes);
            assert!(profile::size_bound(class) >= bytes, "{bytes}");
            assert!(class == 0 || profile::size_bound(class - 1) < bytes, "{bytes}");
        }
    }

    #[test]
    fn any_words_can_be_read_without_panic() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut words = block_of(&[(10, 1, &send(8)), (20, 1, &send(9))], false);
        for _ in 0..20_000 {
            let offset = random.usize(..40);
            let kept = words[offset];
            words[offset] = random.u64(..) >> random.u32(..64);
            if let Ok(block) = RawBlock::decode(&mut words.clone()) {
                block.records().take(1000).for_each(|r| {
                    let _ = r.payload.requests().count();
                });
            }
            words[offset] = kept;
        }
    }
}
