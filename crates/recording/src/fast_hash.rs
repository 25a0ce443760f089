//! A fast hash for trusted keys. Descriptors are looked up millions of times; SipHash would dominate the run time.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use crate::call_table::CallDescriptor;

/// A hash map with the fast hash.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// Multiply-rotate hash, one word at a time.
#[derive(Clone, Copy, Default)]
pub struct QuickHasher(u64);

impl QuickHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for QuickHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.add(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.add(n.into());
    }

    #[inline]
    fn write_i32(&mut self, n: i32) {
        self.add(n as u32 as u64);
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Hash maps use the low bits for the bucket and the high bits for the tag, so both must depend on every bit.
        self.0 ^ self.0 >> 32
    }
}

/// Finds descriptors in a list by hash, without storing them a second time.
#[derive(Default)]
pub(crate) struct DescriptorIndex(QuickMap<u64, u32>);

impl DescriptorIndex {
    /// The index of a descriptor in the list, or `None` if it is new: the caller must then append it.
    pub(crate) fn find_or_reserve(&mut self, descriptor: &CallDescriptor, descriptors: &[CallDescriptor]) -> Option<u32> {
        let hash = BuildHasherDefault::<QuickHasher>::default().hash_one(descriptor);
        let index = *self.0.entry(hash).or_insert(descriptors.len() as u32);
        // On a hash collision the second descriptor is appended each time it occurs: larger, but correct.
        descriptors.get(index as usize).filter(|known| *known == descriptor).map(|_| index)
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
