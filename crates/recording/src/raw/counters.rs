//! Raw file of the counters of a thread: records of eight words, the first of which is [`MAGIC`] and zeros.
//!
//! ```text
//! begin ticks | end ticks | four increases | 0 | check
//! ```
//!
//! The check shows a record that was not written completely. Zeros follow the last record.

use crate::counter_event::MAX_EVENTS;

/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINCTR01");
/// Words of a record.
pub const RECORD_WORDS: usize = 8;

/// What was counted between two MPI calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCounts {
    /// Begin, in ticks.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Increases of the counters, in the order of their definition.
    pub counts: [u64; MAX_EVENTS],
}

impl RawCounts {
    /// Encodes a record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let [first, second, third, fourth] = self.counts;
        [self.begin, self.end, first, second, third, fourth, 0, self.check()]
    }

    /// Decodes a record; `None` if it was not written completely, or is damaged.
    pub fn from_words(words: [u64; RECORD_WORDS]) -> Option<RawCounts> {
        let [begin, end, first, second, third, fourth, zero, check] = words;
        let found = RawCounts { begin, end, counts: [first, second, third, fourth] };
        (end > begin && zero == 0 && check == found.check()).then_some(found)
    }

    fn check(&self) -> u64 {
        let [first, second, third, fourth] = self.counts;
        super::mix_words([self.begin, self.end, first, second]) ^ super::mix_words([third, fourth, self.end, self.begin]).rotate_left(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_words_and_a_changed_bit_is_found() {
        let counts = RawCounts { begin: 7, end: 1 << 60, counts: [0, 123_456_789, u64::MAX, 5] };
        let words = counts.to_words();
        assert_eq!(RawCounts::from_words(words), Some(counts));
        for bit in 0..64 * RECORD_WORDS {
            let mut damaged = words;
            damaged[bit / 64] ^= 1 << (bit % 64);
            assert_eq!(RawCounts::from_words(damaged), None, "bit {bit}");
        }
        assert_eq!(RawCounts::from_words([0; RECORD_WORDS]), None);
        assert_eq!(RawCounts::from_words([MAGIC, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
