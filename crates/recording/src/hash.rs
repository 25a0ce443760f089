//! A hash for keys that nobody chooses to do harm: shapes are looked up millions of times, and the standard hash would take most of it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use crate::table::Shape;

/// A map with the quick hash.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// Multiplies and rotates, a word at a time.
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
        // Maps look at the low bits for the place and at the high ones for the tag: both must depend on every bit.
        self.0 ^ self.0 >> 32
    }
}

/// Finds shapes in a list by their hash, so that the list itself need not be a map.
#[derive(Default)]
pub struct Known(QuickMap<u64, u32>);

impl Known {
    /// The place of a shape in the list; if it is not there, `None`, and it is expected to be appended.
    pub fn place(&mut self, shape: &Shape, shapes: &[Shape]) -> Option<u32> {
        let hash = BuildHasherDefault::<QuickHasher>::default().hash_one(shape);
        let place = *self.0.entry(hash).or_insert(shapes.len() as u32);
        // Two shapes may have one hash: the second is then listed each time it comes, which is right if not short.
        shapes.get(place as usize).filter(|known| *known == shape).map(|_| place)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
