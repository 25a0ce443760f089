//! Raw file of the samples of a process: records of four words, the first of which is [`MAGIC`] and zeros.
//!
//! ```text
//! frame    address     | id, (caller + 1) << 32 | modules                | kind, check << 48
//! sample   ticks       | thread id, frame << 32 | flags                  | kind, check << 48
//! lost     ticks       | thread id, samples << 32 | 0                    | kind, check << 48
//! counts   four increases of 48 bits each                              | kind, check << 48
//! ```
//!
//! The check shows a record that was not written completely. Zeros follow the last record.

use crate::counter_event::MAX_EVENTS;

/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINSMP01");
/// Words of a record.
pub const RECORD_WORDS: usize = 4;

/// Marks the address of a frame that is a line of Python.
const PYTHON: u64 = 1 << 63;

const FRAME: u64 = 1;
const SAMPLE: u64 = 2;
const LOST: u64 = 3;
const COUNTS: u64 = 4;

const COUNT_BITS: u32 = 48;

/// The thread was in the kernel.
const IN_KERNEL: u64 = 1 << 0;
/// The thread was in an MPI call: the innermost frame is the call site.
const IN_MPI: u64 = 1 << 1;
/// The stack goes on above its outermost frame.
const TRUNCATED: u64 = 1 << 2;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawSampleRecord {
    /// A frame of stacks.
    Frame(RawFrame),
    /// A sample.
    Sample(RawSample),
    /// What was counted of the thread between its previous sample and the one that is the record before. Increases are limited to 48 bits.
    Counts([u64; MAX_EVENTS]),
    /// Samples that were taken, but not kept.
    Lost {
        /// When it was found, in ticks.
        ticks: u64,
        /// The thread, by the system's id.
        thread: u32,
        /// How many.
        samples: u32,
    },
}

/// A frame under its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame {
    /// Its number in this process.
    pub id: u32,
    /// The frame of its caller, which is defined before it.
    pub caller: Option<u32>,
    /// The return address; of the innermost frame of a sample, the address of the instruction plus one. A line of Python has an
    /// [address of its own](python_address).
    pub address: u64,
    /// How many modules were defined before it.
    pub modules: u32,
}

/// The stack of a thread at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSample {
    /// When it was taken, in ticks.
    pub ticks: u64,
    /// The thread, by the system's id.
    pub thread: u32,
    /// Its innermost frame.
    pub frame: u32,
    /// Whether the thread was in the kernel.
    pub in_kernel: bool,
    /// Whether the thread was in an MPI call: the innermost frame is then the call site.
    pub in_mpi: bool,
    /// Whether the stack goes on above its outermost frame.
    pub is_truncated: bool,
}

/// What stands for the address of a line of Python, given by its number.
pub fn python_address(line: u32) -> u64 {
    PYTHON | u64::from(line)
}

/// The number of a line of Python, if the address of a frame stands for one.
pub fn python_line(address: u64) -> Option<u32> {
    (address & PYTHON != 0).then_some(address as u32)
}

impl RawSampleRecord {
    /// Encodes a record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let [first, second, third, kind] = match self {
            RawSampleRecord::Frame(frame) => {
                let caller = frame.caller.map_or(0, |caller| caller.saturating_add(1));
                [frame.address, pair(frame.id, caller), frame.modules.into(), FRAME]
            }
            RawSampleRecord::Sample(sample) => {
                let flags = flag(sample.in_kernel, IN_KERNEL) | flag(sample.in_mpi, IN_MPI) | flag(sample.is_truncated, TRUNCATED);
                [sample.ticks, pair(sample.thread, sample.frame), flags, SAMPLE]
            }
            RawSampleRecord::Lost { ticks, thread, samples } => [ticks, pair(thread, samples), 0, LOST],
            RawSampleRecord::Counts(counts) => {
                let [a, b, c, d] = counts.map(|count| count.min((1 << COUNT_BITS) - 1));
                [a | b << COUNT_BITS, b >> 16 | c << 32, c >> 32 | d << 16, COUNTS]
            }
        };
        [first, second, third, kind | check(first, second, third, kind) << 48]
    }

    /// Decodes a record; `None` if it was not written completely, or is damaged.
    pub fn from_words([first, second, third, last]: [u64; RECORD_WORDS]) -> Option<RawSampleRecord> {
        let kind = last & 0xffff_ffff_ffff;
        if last >> 48 != check(first, second, third, kind) {
            return None;
        }
        let (low, high) = (second as u32, (second >> 32) as u32);
        match kind {
            FRAME => {
                let modules = u32::try_from(third).ok()?;
                Some(RawSampleRecord::Frame(RawFrame { id: low, caller: high.checked_sub(1), address: first, modules }))
            }
            SAMPLE => {
                let is_set = |flag: u64| third & flag != 0;
                let (in_kernel, in_mpi, is_truncated) = (is_set(IN_KERNEL), is_set(IN_MPI), is_set(TRUNCATED));
                Some(RawSampleRecord::Sample(RawSample { ticks: first, thread: low, frame: high, in_kernel, in_mpi, is_truncated }))
            }
            COUNTS => {
                let limited = |count: u64| count & ((1 << COUNT_BITS) - 1);
                let counts = [first, first >> COUNT_BITS | second << 16, second >> 32 | third << 32, third >> 16];
                Some(RawSampleRecord::Counts(counts.map(limited)))
            }
            LOST => Some(RawSampleRecord::Lost { ticks: first, thread: low, samples: high }),
            _ => None,
        }
    }
}

/// 16 bits that depend on all others of a record.
fn check(first: u64, second: u64, third: u64, kind: u64) -> u64 {
    super::mix_words([first, second, third, kind]) >> 48
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_python_are_no_addresses() {
        assert_eq!([python_address(7), 0x7fff_1234_5678].map(python_line), [Some(7), None]);
    }

    #[test]
    fn a_record_survives_its_words_and_a_changed_bit_is_found() {
        let sample = RawSample { ticks: 1 << 60, thread: 77, frame: 12, in_kernel: true, in_mpi: false, is_truncated: true };
        let frame = RawFrame { id: 12, caller: Some(0), address: 0x7fff_1234_5678, modules: 9 };
        for record in [
            RawSampleRecord::Sample(sample),
            RawSampleRecord::Frame(frame),
            RawSampleRecord::Frame(RawFrame { caller: None, ..frame }),
            RawSampleRecord::Lost { ticks: 5, thread: 6, samples: 7 },
            RawSampleRecord::Counts([(1 << 48) - 1, 0x1234_5678_9abc, 7, 0xfedc_ba98_7654]),
        ] {
            let words = record.to_words();
            assert_eq!(RawSampleRecord::from_words(words), Some(record));
            for bit in 0..256 {
                let mut damaged = words;
                damaged[bit / 64] ^= 1 << (bit % 64);
                assert_eq!(RawSampleRecord::from_words(damaged), None, "bit {bit}");
            }
        }
        assert_eq!(RawSampleRecord::from_words([0; RECORD_WORDS]), None);
        assert_eq!(RawSampleRecord::from_words([MAGIC, 0, 0, 0]), None);
    }
}
