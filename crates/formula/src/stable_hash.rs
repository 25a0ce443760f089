//! Hashes that are the same in every run and with every compiler.
//!
//! Terms are ordered and summed by them: the last digit of a result must be reproducible.

use std::hash::{Hash, Hasher};

pub(crate) fn stable_hash(value: &impl Hash) -> u64 {
    let mut state = StableHasher(0x9e37_79b9_7f4a_7c15);
    value.hash(&mut state);
    state.finish()
}

struct StableHasher(u64);

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 60));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix_bits(self.0.rotate_left(23) ^ word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Mixes every bit into all bits (SplitMix64).
pub(crate) fn mix_bits(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
