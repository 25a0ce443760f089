//! Raw files of what a process did with files: counters, and the accesses that took long: single ones, or many in a row.
//!
//! `HOST-PID.pN.files` holds pieces of [`PIECE_RECORDS`] records of [`COUNTER_WORDS`] words; the first of each begins with [`COUNTER_MAGIC`].
//! A record has the counters of one operation on one file at one call site in one thread. They are changed while the program runs.
//! `HOST-PID.tN.io` holds records of eight words, the first of which is [`ACCESS_MAGIC`] and zeros:
//!
//! ```text
//! begin ticks | end ticks | ticks in calls | bytes | calls | number of the record with its counters | 0 | check
//! ```

/// The first word of a piece of counters.
pub const COUNTER_MAGIC: u64 = u64::from_le_bytes(*b"SINFIL01");
/// Words of a record of counters.
pub const COUNTER_WORDS: usize = 32;
/// Records of a piece, the first of which is its header.
pub const PIECE_RECORDS: usize = 256;
/// The first word of a file of accesses.
pub const ACCESS_MAGIC: u64 = u64::from_le_bytes(*b"SINACC01");
/// Words of a record of an access.
pub const ACCESS_WORDS: usize = 8;
/// In place of a thread: all threads that have not called MPI.
pub const OTHER_THREADS: u16 = u16::MAX;

/// Upper bounds of the first nine size classes of reads and writes, in bytes: those of Darshan.
pub const SIZE_LIMITS: [u64; SIZE_CLASSES - 1] = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30];
/// Number of size classes.
pub const SIZE_CLASSES: usize = 10;

/// Size class of a read or write.
pub fn size_class(bytes: u64) -> usize {
    SIZE_LIMITS.iter().take_while(|limit| bytes > **limit).count()
}

/// What was done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FileOperation {
    /// It was opened.
    Open,
    /// It was closed.
    Close,
    /// Data was read.
    Read,
    /// Data was written.
    Write,
    /// Written data was passed on: `fsync`, `fdatasync`, `fflush`.
    Sync,
    /// The position was changed.
    Seek,
    /// The size was changed, or space allocated.
    Resize,
}

impl FileOperation {
    /// All of them, in the order of their numbers.
    pub const ALL: [FileOperation; 7] = [
        FileOperation::Open,
        FileOperation::Close,
        FileOperation::Read,
        FileOperation::Write,
        FileOperation::Sync,
        FileOperation::Seek,
        FileOperation::Resize,
    ];
}

/// Through which functions it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FileInterface {
    /// Those with file descriptors.
    Posix,
    /// Those with `FILE`, which keep data in a buffer.
    Stdio,
}

/// What a record of counters is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// The number of the file in the process.
    pub file: u32,
    /// The operation.
    pub operation: FileOperation,
    /// The functions.
    pub interface: FileInterface,
    /// The thread, or [`OTHER_THREADS`].
    pub thread: u16,
    /// The call site: a return address, or a call path ([`super::path_number`]).
    pub site: u64,
}

/// Set in the first word of a record in use.
const IN_USE: u64 = 1 << 63;

impl CounterKey {
    /// The first two words of a record.
    pub fn to_words(self) -> [u64; 2] {
        let kind = (self.operation as u64) << 32 | (self.interface as u64) << 40 | u64::from(self.thread) << 44;
        [IN_USE | kind | u64::from(self.file), self.site]
    }

    /// The key of a record; `None` if it is not in use, or is damaged.
    pub fn from_words([first, site]: [u64; 2]) -> Option<CounterKey> {
        let operation = *FileOperation::ALL.get((first >> 32 & 0xff) as usize)?;
        let interface = match first >> 40 & 0xf {
            0 => FileInterface::Posix,
            1 => FileInterface::Stdio,
            _ => return None,
        };
        let key = CounterKey { file: first as u32, operation, interface, thread: (first >> 44) as u16, site };
        (key.to_words() == [first, site]).then_some(key)
    }
}

/// Counters of one operation on one file at one call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FileCounters {
    /// Successful calls.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Time in these calls, in ticks (in a sealed recording as read: nanoseconds). Calls of stdio that only used the buffer take no time.
    pub time: u64,
    /// Begin of the first call, likewise; 0 if no call was timed.
    pub first: u64,
    /// End of the last call, likewise.
    pub last: u64,
    /// The longest time of a call ...
    pub longest: u64,
    /// ... and its bytes.
    pub longest_bytes: u64,
    /// Reads or writes that begin where the previous one of the same descriptor ended.
    pub consecutive: u64,
    /// Reads or writes that begin there or behind it.
    pub sequential: u64,
    /// The end of the furthest read or write, as an offset in the file.
    pub furthest: u64,
    /// Reads or writes in each size class.
    pub sizes: [u64; SIZE_CLASSES],
}

/// A record of counters as it is in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CounterRecord {
    /// What it is about: [`CounterKey::to_words`].
    pub key: [u64; 2],
    /// The counters.
    pub counters: FileCounters,
    unused: [u64; COUNTER_WORDS - 2 - size_of::<FileCounters>() / 8],
}

const _: () = assert!(size_of::<CounterRecord>() == 8 * COUNTER_WORDS);

impl FileCounters {
    /// Decodes the words of a record behind its key.
    pub fn from_words(words: &[u64; COUNTER_WORDS - 2]) -> FileCounters {
        let [calls, failed, bytes, time, first, last, longest, longest_bytes, consecutive, sequential, furthest] = words[..11] else {
            return FileCounters::default();
        };
        let sizes = std::array::from_fn(|class| words[11 + class]);
        FileCounters { calls, failed, bytes, time, first, last, longest, longest_bytes, consecutive, sequential, furthest, sizes }
    }
}

/// An access that took long, or several short ones in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawAccess {
    /// Begin, in ticks.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Ticks inside the calls.
    pub time: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Number of calls.
    pub calls: u64,
    /// The number of the record with their counters, over all pieces.
    pub record: u32,
}

impl RawAccess {
    /// Encodes a record.
    pub fn to_words(self) -> [u64; ACCESS_WORDS] {
        let words = [self.begin, self.end, self.time, self.bytes, self.calls, self.record.into(), 0];
        let [begin, end, time, bytes, calls, record, unused] = words;
        [begin, end, time, bytes, calls, record, unused, check(words)]
    }

    /// Decodes a record; `None` if it was not written completely, or is damaged.
    pub fn from_words([begin, end, time, bytes, calls, record, unused, found]: [u64; ACCESS_WORDS]) -> Option<RawAccess> {
        let is_valid = end > begin && found == check([begin, end, time, bytes, calls, record, unused]);
        is_valid.then_some(RawAccess { begin, end, time, bytes, calls, record: u32::try_from(record).ok()? })
    }
}

/// A word that depends on all others of a record.
fn check(words: [u64; ACCESS_WORDS - 1]) -> u64 {
    let mixed = words.into_iter().fold(2, |sum: u64, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_are_those_of_darshan() {
        let sizes = [0, 100, 101, 1024, 1025, 10240, 102_400, 1 << 20, (1 << 20) + 1, 4 << 20, 10 << 20, 100 << 20, 1 << 30, (1 << 30) + 1];
        assert_eq!(sizes.map(size_class), [0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_key_survives_its_words_and_others_are_not_keys() {
        for operation in FileOperation::ALL {
            let key = CounterKey { file: 7, operation, interface: FileInterface::Stdio, thread: 0xfffe, site: u64::MAX };
            assert_eq!(CounterKey::from_words(key.to_words()), Some(key));
        }
        for first in [0, 7, IN_USE | 99 << 32, IN_USE | 2 << 40, IN_USE | 1 << 61] {
            assert_eq!(CounterKey::from_words([first, 0]), None);
        }
    }

    #[test]
    fn counters_are_read_as_they_are_written() {
        let words: [u64; COUNTER_WORDS - 2] = std::array::from_fn(|index| index as u64 + 1);
        let counters = FileCounters::from_words(&words);
        assert_eq!((counters.calls, counters.furthest, counters.sizes[0], counters.sizes[9]), (1, 11, 12, 21));
        // SAFETY: a struct of words.
        let memory: [u64; size_of::<FileCounters>() / 8] = unsafe { std::mem::transmute(counters) };
        assert_eq!(memory[..], words[..memory.len()]);
    }

    #[test]
    fn an_access_survives_its_words_and_a_changed_bit_is_found() {
        let access = RawAccess { begin: 7, end: 1 << 60, time: 9, bytes: 123_456, calls: 2, record: 9 };
        let words = access.to_words();
        assert_eq!(RawAccess::from_words(words), Some(access));
        for bit in 0..64 * ACCESS_WORDS {
            let mut damaged = words;
            damaged[bit / 64] ^= 1 << (bit % 64);
            assert_eq!(RawAccess::from_words(damaged), None, "bit {bit}");
        }
        assert_eq!(RawAccess::from_words([0; ACCESS_WORDS]), None);
        assert_eq!(RawAccess::from_words([ACCESS_MAGIC, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
