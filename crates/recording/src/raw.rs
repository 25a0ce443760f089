//! What a thread leaves while the program runs: blocks of machine words, written by the probe and read when the recording is sealed.
//!
//! A *record* is one MPI call. Its first two words say when; everything else about the call is its *payload*. Loops make calls that differ
//! in nothing but time, so a record whose payload already stands in the same block only points at it: two words, 16 bytes.
//!
//! ```text
//! enter ticks | duration << 24, reference | payload (only where reference is 0) ...
//! ```
//!
//! Where a call site makes calls that always differ in something (a tag that counts on, a size that changes), a record points at an
//! earlier payload of that site and carries only the words that differ: see [`changed_reference`]. Reading a block writes such payloads out
//! in full, so that nobody else has to know of them.
//!
//! The header of a block holds a cursor that is moved when a call ends. The words after the cursor hold the call under way, so a process
//! that is killed leaves the call it died in. A closed block carries a checksum.

/// Words of one block, its header included.
pub const BLOCK_WORDS: usize = 32 * 1024;
/// Bytes of one block.
pub const BLOCK_BYTES: usize = BLOCK_WORDS * 8;
/// Words of a block's header.
pub const HEADER_WORDS: usize = 8;
/// The first word of every block.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINBLK01");
/// The first word of a profile region.
pub const PROFILE_MAGIC: u64 = u64::from_le_bytes(*b"SINPRF01");
/// Bits of a record's second word that point at an earlier payload.
pub const REFERENCE_BITS: u32 = 24;
/// The most words of a payload that a record may refer to with changes: what bounds the size of a block that is written out in full.
pub const MOST_CHANGING_WORDS: usize = 32;
/// The words of a payload after its header and call site that a record can change.
pub const CHANGEABLE: usize = 8;
/// Durations from here on stand in a word of their own.
pub const LONG_DURATION: u64 = (1 << (64 - REFERENCE_BITS)) - 1;
/// The most requests one record lists; the rest follow in records of their own.
pub const MOST_REQUESTS: usize = 4096;

/// The words of a block's header, by place.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Header {
    /// [`MAGIC`].
    Magic = 0,
    /// Number of the block in its stream, thread, and whether it is closed: see [`identity`].
    Identity = 1,
    /// Words in use and words of the call under way: see [`cursor`].
    Cursor = 2,
    /// CRC-32 of the words in use after the header; valid when closed.
    Checksum = 3,
    /// Number of the first request that a call of this block makes.
    FirstRequest = 4,
    /// A moment in ticks ...
    AnchorTicks = 5,
    /// ... and the same moment in nanoseconds of the monotonic clock.
    AnchorNanoseconds = 6,
    /// Calls that could not be kept before this block.
    Dropped = 7,
}

/// The identity word of a block.
pub const fn identity(sequence: u32, thread: u16, closed: bool) -> u64 {
    sequence as u64 | (thread as u64) << 32 | (closed as u64) << 48
}

/// The cursor word: words in use (header included), and words staged for the call under way.
pub const fn cursor(used: usize, pending: usize) -> u64 {
    (used as u64) << 32 | pending as u64
}

const PLACE_BITS: u32 = 15;
const _: () = assert!(BLOCK_WORDS <= 1 << PLACE_BITS);

/// The reference of a record that has the payload at `place`, with other words where `changed` has bits: bit 0 stands for the word after
/// the call site. The other words follow the record.
pub const fn changed_reference(place: usize, changed: u8) -> u64 {
    place as u64 | 1 << PLACE_BITS | (changed as u64) << (PLACE_BITS + 1)
}

/// No such peer, tag or root.
pub const NONE: i32 = i32::MIN;
/// `MPI_PROC_NULL`, whatever its number.
pub const PROC_NULL: i32 = i32::MIN + 1;
/// `MPI_ANY_SOURCE` or `MPI_ANY_TAG`, whatever its number.
pub const ANY: i32 = i32::MIN + 2;
/// `MPI_ROOT`: this process is the root of an operation between two groups.
pub const ROOT_HERE: i32 = i32::MIN + 3;
/// A process outside the recording.
pub const OUTSIDE: i32 = i32::MIN + 4;
/// No communicator, window or file.
pub const NO_OBJECT: u32 = u32::MAX;
/// The value of `MPI_Win_lock` if nobody else may have the lock, whatever the number of `MPI_LOCK_EXCLUSIVE`.
pub const LOCK_EXCLUSIVE: i32 = 1;
/// The value of `MPI_Win_lock` if others may share the lock, whatever the number of `MPI_LOCK_SHARED`.
pub const LOCK_SHARED: i32 = 2;
/// Bytes that are not known.
pub const UNKNOWN_BYTES: u64 = u64::MAX;

/// Bytes as far as they are known: none where they are [`UNKNOWN_BYTES`].
pub const fn known_bytes(bytes: u64) -> u64 {
    if bytes == UNKNOWN_BYTES { 0 } else { bytes }
}

/// The parts of a payload after its first two words, and marks that need no word, as bits of the header word.
pub mod part {
    /// One word: communicator, window or file, and the peer, root or target in it.
    pub const OBJECT: u16 = 1;
    /// One word: tag, and the tag of the receiving half.
    pub const TAG: u16 = 1 << 1;
    /// One word: the source of the receiving half.
    pub const SOURCE: u16 = 1 << 2;
    /// One word: bytes sent.
    pub const SENT: u16 = 1 << 3;
    /// One word: bytes received.
    pub const RECEIVED: u16 = 1 << 4;
    /// One word: the communicator, window or file that the call made or freed.
    pub const MADE: u16 = 1 << 5;
    /// One word: a duration too long for the record's second word.
    pub const LONG: u16 = 1 << 6;
    /// One word: the error code that the call returned, the level of `MPI_Pcontrol`, the number of the group of `MPI_Win_post` and
    /// `MPI_Win_start`, or the kind of the lock of `MPI_Win_lock`.
    pub const VALUE: u16 = 1 << 7;
    /// A mark: the call made a request, which takes the thread's next number.
    pub const REQUEST: u16 = 1 << 8;
    /// A mark: a test or probe that found nothing.
    pub const FOUND_NOTHING: u16 = 1 << 9;
    /// A mark: the listed requests were started, not completed.
    pub const STARTED: u16 = 1 << 10;
    /// A mark: the record carries more requests of the call before it.
    pub const CONTINUED: u16 = 1 << 11;
    /// A mark: called from Fortran.
    pub const FORTRAN: u16 = 1 << 12;
    /// A mark: called through `mpi_f08`.
    pub const F08: u16 = 1 << 13;
    /// A mark: the call returned an error (its code is the value).
    pub const ERROR: u16 = 1 << 14;
    /// A mark: the call was under way when the recording ended.
    pub const UNFINISHED: u16 = 1 << 15;

    /// The parts that take a word, in the order in which they stand.
    pub const WORDS: [u16; 8] = [OBJECT, TAG, SOURCE, SENT, RECEIVED, MADE, LONG, VALUE];
}

/// Two 32-bit numbers in one word.
pub const fn pair(low: u32, high: i32) -> u64 {
    low as u64 | (high as u32 as u64) << 32
}

/// The two numbers of a [`pair`].
pub const fn unpair(word: u64) -> (u32, i32) {
    (word as u32, (word >> 32) as i32)
}

/// The header word of a payload.
pub const fn payload_header(operation: u16, parts: u16, requests: u16, words: u16) -> u64 {
    operation as u64 | (parts as u64) << 16 | (requests as u64) << 32 | (words as u64) << 48
}

/// A request in a payload: which one it is, and whether it is a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestRef {
    /// Made by the same thread, this many requests ago (0 is the newest).
    Ago(u64),
    /// Made by another thread, with this number there.
    Of(u16, u64),
}

const THREAD_SHIFT: u32 = 48;
const RECEIVE_BIT: u64 = 1 << 63;
const SAME_THREAD: u64 = 0x7fff;

impl RequestRef {
    /// The word that stands for it.
    pub const fn word(self, receive: bool) -> u64 {
        let word = match self {
            RequestRef::Ago(ago) => ago | SAME_THREAD << THREAD_SHIFT,
            RequestRef::Of(thread, number) => number | (thread as u64) << THREAD_SHIFT,
        };
        if receive { word | RECEIVE_BIT } else { word }
    }

    /// Reads the word again: the request, and whether it is a receive.
    pub const fn from_word(word: u64) -> (RequestRef, bool) {
        let number = word & ((1 << THREAD_SHIFT) - 1);
        let thread = (word & !RECEIVE_BIT) >> THREAD_SHIFT;
        let request = if thread == SAME_THREAD { RequestRef::Ago(number) } else { RequestRef::Of(thread as u16, number) };
        (request, word & RECEIVE_BIT != 0)
    }
}

/// How many bits each byte has: quicker than counting them on processors of the oldest kind that code must run on.
static BITS: [u8; 256] = {
    let mut bits = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bits[byte] = (byte as u32).count_ones() as u8;
        byte += 1;
    }
    bits
};

/// How many words the parts that stand before this one take.
#[inline(always)]
pub fn parts_before(parts: u16, wanted: u16) -> usize {
    usize::from(BITS[usize::from(parts & (wanted - 1) & 0xff)])
}

/// How many words all parts take.
#[inline(always)]
pub fn parts_words(parts: u16) -> usize {
    usize::from(BITS[usize::from(parts & 0xff)])
}

/// A payload as it stands in a block or in a sealed file.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    words: &'a [u64],
}

impl<'a> Payload<'a> {
    /// The payload at the start of `words`, if its lengths make sense.
    pub fn at(words: &'a [u64]) -> Option<Payload<'a>> {
        let header = *words.first()?;
        let length = (header >> 48) as usize;
        let payload = Payload { words: words.get(..length).filter(|words| !words.is_empty())? };
        let expected = 2 + (payload.parts() & 0xff).count_ones() as usize + 3 * payload.request_count();
        (length == expected).then_some(payload)
    }

    /// All its words.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// The number of the MPI function.
    pub fn operation(&self) -> u16 {
        self.words[0] as u16
    }

    /// Which parts it has: bits of [`part`].
    pub fn parts(&self) -> u16 {
        (self.words[0] >> 16) as u16
    }

    /// How many requests it lists.
    pub fn request_count(&self) -> usize {
        usize::from((self.words[0] >> 32) as u16)
    }

    /// The call site: an address while running, a number once sealed.
    pub fn site(&self) -> u64 {
        self.words[1]
    }

    /// The word of one part, if it is there.
    pub fn part(&self, wanted: u16) -> Option<u64> {
        let parts = self.parts();
        (parts & wanted != 0).then(|| self.words[2 + (parts & (wanted - 1)).count_ones() as usize])
    }

    /// The requests it lists: reference word, source and tag, bytes.
    pub fn requests(&self) -> impl Iterator<Item = [u64; 3]> + 'a {
        let first = self.words.len() - 3 * self.request_count();
        self.words[first..].chunks_exact(3).map(|c| [c[0], c[1], c[2]])
    }
}

/// One record of a block.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Ticks at which the call was entered.
    pub enter: u64,
    /// Ticks it took; 0 for the call under way.
    pub duration: u64,
    /// Where its payload stands in the block: equal for equal calls.
    pub reference: usize,
    /// Everything else.
    pub payload: Payload<'a>,
    /// Whether the block ended while the call was under way.
    pub unfinished: bool,
}

/// A block read back.
pub struct Block<'a> {
    words: &'a [u64],
    used: usize,
    pending: usize,
}

/// Why a block cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// It does not start as a block does, or its lengths make no sense.
    #[error("not a block")]
    NotABlock,
    /// Its words are not those that were written.
    #[error("checksum does not match")]
    Checksum,
}

impl<'a> Block<'a> {
    /// Checks a block (its magic, its lengths and, when it is closed, its checksum), and writes all its payloads out in full, in place.
    pub fn read(words: &'a mut Vec<u64>) -> Result<Block<'a>, BlockError> {
        let header: &[u64; HEADER_WORDS] = words.first_chunk().ok_or(BlockError::NotABlock)?;
        let cursor = header[Header::Cursor as usize];
        let (used, pending) = ((cursor >> 32) as usize, cursor as u32 as usize);
        if header[Header::Magic as usize] != MAGIC || used < HEADER_WORDS || used > words.len() {
            return Err(BlockError::NotABlock);
        }
        let closed = header[Header::Identity as usize] >> 48 & 1 == 1;
        if closed && checksum(&words[HEADER_WORDS..used]) != header[Header::Checksum as usize] {
            return Err(BlockError::Checksum);
        }
        let pending = if pending <= words.len() - used { pending } else { 0 };
        let under_way = words[used..used + pending].to_vec();
        let mut full = in_full(&words[..used]);
        let used = full.len();
        full.extend(under_way);
        *words = full;
        Ok(Block { words, used, pending })
    }

    /// One word of the header.
    pub fn header(&self, place: Header) -> u64 {
        self.words[place as usize]
    }

    /// Its number in the stream.
    pub fn sequence(&self) -> u32 {
        self.header(Header::Identity) as u32
    }

    /// Its records in order, the call under way last. Stops at the first word that makes no sense.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> {
        let (words, used, pending) = (self.words, self.used, self.pending);
        let mut at = HEADER_WORDS;
        let mut under_way = pending > 2;
        std::iter::from_fn(move || {
            if at < used {
                let record = record_at(&words[..used], at)?;
                at += if record.reference == at + 2 { 2 + record.payload.words().len() } else { 2 };
                return Some(record);
            }
            if !std::mem::take(&mut under_way) {
                return None;
            }
            let payload = Payload::at(&words[used + 2..used + pending])?;
            Some(Record { enter: words[used], duration: 0, reference: used + 2, payload, unfinished: true })
        })
    }
}

/// The words of a block in which every record either has its payload behind it or refers to one that is there unchanged. Ends where the
/// first record makes no sense.
fn in_full(words: &[u64]) -> Vec<u64> {
    let mut full = words[..HEADER_WORDS].to_vec();
    // Where payloads that can be referred to have gone.
    let mut moved = vec![0; words.len()];
    let mut at = HEADER_WORDS;
    while let Some(length) = write_in_full(words, at, &mut full, &mut moved) {
        at += length;
    }
    full
}

/// Writes one record out in full and says how many words it had.
fn write_in_full(words: &[u64], at: usize, full: &mut Vec<u64>, moved: &mut [usize]) -> Option<usize> {
    let (enter, second) = (*words.get(at)?, *words.get(at + 1)?);
    let (time, reference) = (second >> REFERENCE_BITS << REFERENCE_BITS, second & ((1 << REFERENCE_BITS) - 1));
    if reference == 0 {
        let payload = Payload::at(&words[at + 2..])?;
        moved[at + 2] = full.len() + 2;
        full.extend([enter, time]);
        full.extend(payload.words());
        return Some(2 + payload.words().len());
    }
    let place = reference as usize & ((1 << PLACE_BITS) - 1);
    let now = moved.get(place).copied().filter(|now| *now != 0)?;
    if reference >> PLACE_BITS == 0 {
        full.extend([enter, time | now as u64]);
        return Some(2);
    }
    let payload = Payload::at(&words[place..]).filter(|payload| payload.words().len() <= MOST_CHANGING_WORDS)?;
    let changed = (reference >> (PLACE_BITS + 1)) as u8;
    let mut others = words.get(at + 2..at + 2 + changed.count_ones() as usize)?.iter();
    full.extend([enter, time]);
    full.extend(payload.words().iter().enumerate().map(|(i, word)| {
        let bit = i.checked_sub(2).filter(|bit| *bit < CHANGEABLE && changed >> bit & 1 == 1);
        bit.and_then(|_| others.next()).unwrap_or(word)
    }));
    Some(2 + changed.count_ones() as usize)
}

fn record_at(words: &[u64], at: usize) -> Option<Record<'_>> {
    let (enter, second) = (*words.get(at)?, *words.get(at + 1)?);
    let reference = match (second & ((1 << REFERENCE_BITS) - 1)) as usize {
        0 => at + 2,
        place => place,
    };
    let payload = Payload::at(words.get(reference..)?)?;
    let duration = payload.part(part::LONG).unwrap_or(second >> REFERENCE_BITS);
    Some(Record { enter, duration, reference, payload, unfinished: false })
}

/// CRC-32 of words.
pub fn checksum(words: &[u64]) -> u64 {
    // SAFETY: any initialised words may be seen as bytes.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), words.len() * 8) };
    u64::from(crc32fast::hash(bytes))
}

/// The words of one entry of a profile region.
pub mod profile {
    /// Words of the region's header: magic, entries in use, first enter, last leave, dropped calls, anchor ticks, anchor nanoseconds.
    pub const HEADER_WORDS: usize = 8;
    /// Words of an entry: four of key, eight of sums.
    pub const ENTRY_WORDS: usize = 12;
    /// How many entries a region holds; calls that would need more are summed in the last one.
    pub const MOST_ENTRIES: usize = 16 * 1024;
    /// Key: payload header with operation and marks.
    pub const KEY: usize = 0;
    /// Key: call site.
    pub const SITE: usize = 1;
    /// Key: object and peer.
    pub const OBJECT: usize = 2;
    /// Key: size class of the bytes sent (low) and received (high).
    pub const CLASS: usize = 3;
    /// Sum: calls.
    pub const CALLS: usize = 4;
    /// Sum: ticks.
    pub const TICKS: usize = 5;
    /// Least ticks of a call.
    pub const LEAST: usize = 6;
    /// Most ticks of a call.
    pub const MOST: usize = 7;
    /// Sum: bytes sent.
    pub const SENT: usize = 8;
    /// Sum: bytes received.
    pub const RECEIVED: usize = 9;

    /// The size class of some bytes: 0 for none, else one more than the power of two they need.
    pub const fn size_class(bytes: u64) -> u32 {
        if bytes == 0 { 0 } else { 1 + u64::BITS - (bytes - 1).leading_zeros() }
    }

    /// The most bytes of a size class.
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

    /// Writes records as the probe does, without its speed.
    fn block_of(calls: &[(u64, u64, &[u64])], closed: bool) -> Vec<u64> {
        let mut words = vec![0; BLOCK_WORDS];
        let mut used = HEADER_WORDS;
        let mut seen: Vec<(usize, Vec<u64>)> = Vec::new();
        for (enter, duration, payload) in calls {
            let reference = seen.iter().find(|(_, p)| p == payload).map_or(0, |(place, _)| *place);
            words[used] = *enter;
            words[used + 1] = duration << REFERENCE_BITS | reference as u64;
            used += 2;
            if reference == 0 {
                seen.push((used, payload.to_vec()));
                words[used..used + payload.len()].copy_from_slice(payload);
                used += payload.len();
            }
        }
        words[Header::Magic as usize] = MAGIC;
        words[Header::Identity as usize] = identity(7, 3, closed);
        words[Header::Cursor as usize] = cursor(used, 0);
        words[Header::Checksum as usize] = checksum(&words[HEADER_WORDS..used]);
        words
    }

    fn send(bytes: u64) -> Vec<u64> {
        vec![payload_header(5, part::OBJECT | part::SENT, 0, 4), 0x1234, pair(0, 1), bytes]
    }

    #[test]
    fn equal_calls_share_their_payload() {
        let (a, b) = (send(8), send(16));
        let mut words = block_of(&[(10, 1, &a), (20, 2, &b), (30, 3, &a)], true);
        let block = Block::read(&mut words).unwrap();
        let read: Vec<_> = block.records().map(|r| (r.enter, r.duration, r.payload.part(part::SENT))).collect();
        assert_eq!(read, [(10, 1, Some(8)), (20, 2, Some(16)), (30, 3, Some(8))]);
        assert_eq!(block.sequence(), 7);
    }

    #[test]
    fn a_changed_bit_is_found_by_the_checksum() {
        let mut words = block_of(&[(10, 1, &send(8))], true);
        words[HEADER_WORDS] ^= 1;
        assert_eq!(Block::read(&mut words).err(), Some(BlockError::Checksum));
    }

    #[test]
    fn calls_that_differ_in_little_carry_only_that() {
        let mut words = block_of(&[(10, 1, &send(8))], false);
        let mut used = (words[Header::Cursor as usize] >> 32) as usize;
        // The bytes sent are the second word after the call site.
        for (enter, bytes) in [(20, 99), (30, 100)] {
            words[used] = enter;
            words[used + 1] = 5 << REFERENCE_BITS | changed_reference(HEADER_WORDS + 2, 0b10);
            words[used + 2] = bytes;
            used += 3;
        }
        words[Header::Cursor as usize] = cursor(used, 0);
        let block = Block::read(&mut words).unwrap();
        let read: Vec<_> =
            block.records().map(|r| (r.enter, r.duration, r.payload.part(part::SENT), r.payload.part(part::OBJECT))).collect();
        let object = Some(pair(0, 1));
        assert_eq!(read, [(10, 1, Some(8), object), (20, 5, Some(99), object), (30, 5, Some(100), object)]);
    }

    #[test]
    fn the_call_under_way_is_the_last_record() {
        let mut words = block_of(&[(10, 1, &send(8))], false);
        let used = (words[Header::Cursor as usize] >> 32) as usize;
        let payload = send(99);
        words[used] = 50;
        words[used + 2..used + 2 + payload.len()].copy_from_slice(&payload);
        words[Header::Cursor as usize] = cursor(used, 2 + payload.len());
        let last = Block::read(&mut words).unwrap().records().last().unwrap();
        assert!(last.unfinished);
        assert_eq!((last.enter, last.payload.part(part::SENT)), (50, Some(99)));
    }

    #[test]
    fn request_references_keep_their_meaning() {
        for request in [RequestRef::Ago(0), RequestRef::Ago(1 << 40), RequestRef::Of(3, 12345)] {
            for receive in [false, true] {
                assert_eq!(RequestRef::from_word(request.word(receive)), (request, receive));
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
        let mut state = 1u64;
        let mut words = block_of(&[(10, 1, &send(8)), (20, 1, &send(9))], false);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let place = (state >> 33) as usize % 40;
            let kept = words[place];
            let shift = state >> 58;
            words[place] = (state ^ state << 13) >> shift;
            if let Ok(block) = Block::read(&mut words.clone()) {
                block.records().take(1000).for_each(|r| {
                    let _ = r.payload.requests().count();
                });
            }
            words[place] = kept;
        }
    }
}
