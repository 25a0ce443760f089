//! Raw file of the times in which a thread was off the processor: records of four words, the first of which is [`MAGIC`] and zeros.
//!
//! ```text
//! begin ticks | end ticks | waiting ns, check << 48 | blocked ns, (processor + 1) << 48
//! ```
//!
//! The check shows a record that was not written completely. Zeros follow the last record.

/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINOFF01");
/// Words of a record.
pub const RECORD_WORDS: usize = 4;

/// In place of a processor: in this interval no thread had the number, which was given to another thread after its thread had ended.
pub const NO_THREAD: u32 = 0xfffe;

const NANOSECONDS: u64 = (1 << 48) - 1;

/// An interval in which a thread was off the processor for a part of it, or for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawInterval {
    /// Begin, in ticks.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Time for which the thread was ready to run and had no processor.
    pub waiting_ns: u64,
    /// Time for which it was blocked in the kernel.
    pub blocked_ns: u64,
    /// Processor on which it ran at the end, if known.
    pub processor: Option<u32>,
}

impl RawInterval {
    /// Encodes a record. Times are limited to 78 hours.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let processor = self.processor.and_then(|processor| u16::try_from(processor + 1).ok()).unwrap_or(0);
        let last = self.blocked_ns.min(NANOSECONDS) | u64::from(processor) << 48;
        let waiting = self.waiting_ns.min(NANOSECONDS);
        [self.begin, self.end, waiting | check(self.begin, self.end, waiting, last) << 48, last]
    }

    /// Decodes a record; `None` if it was not written completely, or is damaged.
    pub fn from_words([begin, end, third, last]: [u64; RECORD_WORDS]) -> Option<RawInterval> {
        let waiting_ns = third & NANOSECONDS;
        let processor = u32::try_from(last >> 48).ok()?.checked_sub(1);
        let valid = end > begin && third >> 48 == check(begin, end, waiting_ns, last);
        valid.then_some(RawInterval { begin, end, waiting_ns, blocked_ns: last & NANOSECONDS, processor })
    }
}

/// 16 bits that depend on all others of a record.
fn check(begin: u64, end: u64, waiting: u64, last: u64) -> u64 {
    super::mix_words([begin, end, waiting, last]) >> 48
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_words_and_a_changed_bit_is_found() {
        let whole = RawInterval { begin: 7, end: 1 << 60, waiting_ns: 123_456_789, blocked_ns: 5, processor: Some(65_000) };
        for interval in [whole, RawInterval { processor: None, blocked_ns: 0, ..whole }] {
            let words = interval.to_words();
            assert_eq!(RawInterval::from_words(words), Some(interval));
            for bit in 0..256 {
                let mut damaged = words;
                damaged[bit / 64] ^= 1 << (bit % 64);
                assert_eq!(RawInterval::from_words(damaged), None, "bit {bit}");
            }
        }
        assert_eq!(RawInterval::from_words([0; RECORD_WORDS]), None);
        assert_eq!(RawInterval::from_words([MAGIC, 0, 0, 0]), None);
    }
}
