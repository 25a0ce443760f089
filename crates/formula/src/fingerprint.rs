//! Hashes that are the same in every run and with every compiler.
//!
//! Terms are ordered by them, and sums are computed in that order: the last digit of a result must not depend on the day.

use std::hash::{Hash, Hasher};

/// The hash of a value.
pub(crate) fn fingerprint(value: &impl Hash) -> u64 {
    let mut state = Fingerprint(0x9e37_79b9_7f4a_7c15);
    value.hash(&mut state);
    state.finish()
}

struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 60));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mixed(self.0.rotate_left(23) ^ word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Spreads every bit over all bits.
pub(crate) fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
