//! Sums over the records of a thread up to any time, by key: prefix sums at some positions.
//!
//! The sums of a time range are the difference of two prefixes. Both are found from the last stored prefix before the time, so they cost the
//! same for a range of any length.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cache_file::{CacheFile, Error, is_in_bounds};

/// The minimum number of records between two stored prefixes.
const MIN_SPACING: u64 = 1 << 12;
/// The same for each key, so that prefixes with many keys do not take more room than the records.
const SPACING_PER_KEY: u64 = 64;
/// Bytes of the sums of a key.
const SUM_BYTES: usize = 24;

/// Number, duration and bytes of calls or other records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordSums {
    pub count: u64,
    pub ns: u64,
    pub bytes: u64,
}

impl RecordSums {
    pub(crate) fn add(&mut self, other: RecordSums) {
        self.count += other.count;
        self.ns = self.ns.saturating_add(other.ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// What was added since an earlier prefix.
    pub(crate) fn since(self, earlier: RecordSums) -> RecordSums {
        RecordSums {
            count: self.count.saturating_sub(earlier.count),
            ns: self.ns.saturating_sub(earlier.ns),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

/// A stored prefix: the sums over all records before a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SumPoint {
    /// Offset in the file.
    at: u64,
    /// Number of keys that have occurred.
    keys: u32,
    /// The block of the first record that is not included, and where in the block it is.
    pub position: (u32, u32),
    /// All records before the position have ended at this time, and all later ones begin at or after it.
    time: i64,
}

/// The prefix sums of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PrefixSums<K> {
    /// In the order in which they occur first.
    pub keys: Vec<K>,
    /// Sorted by time.
    points: Vec<SumPoint>,
}

impl<K> Default for PrefixSums<K> {
    fn default() -> PrefixSums<K> {
        PrefixSums { keys: Vec::new(), points: Vec::new() }
    }
}

impl<K> PrefixSums<K> {
    /// Whether the sums lie within a file of this length.
    pub(crate) fn is_valid(&self, length: u64) -> bool {
        let is_inside = |point: &SumPoint| {
            point.keys as usize <= self.keys.len() && is_in_bounds(point.at, u64::from(point.keys) * SUM_BYTES as u64, length)
        };
        self.points.iter().all(is_inside) && self.points.is_sorted_by_key(|point| point.time)
    }

    /// Makes offsets relative to the start of the file.
    pub(crate) fn shift(&mut self, by: u64) {
        self.points.iter_mut().for_each(|point| point.at += by);
    }

    /// The last stored prefix that is before a time, and where to read on: the position of the first record that it does not include.
    pub(crate) fn before<C>(&self, time: i64, store: &CacheFile<C>) -> Result<(Vec<RecordSums>, (u32, u32)), Error> {
        let mut sums = vec![RecordSums::default(); self.keys.len()];
        let Some(point) = self.points[..self.points.partition_point(|point| point.time <= time)].last() else { return Ok((sums, (0, 0))) };
        let mut bytes = Vec::new();
        store.read_at(point.at, point.keys as usize * SUM_BYTES, &mut bytes)?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        for (sum, bytes) in sums.iter_mut().zip(bytes.chunks_exact(SUM_BYTES)) {
            *sum = RecordSums { count: number(&bytes[..8]), ns: number(&bytes[8..16]), bytes: number(&bytes[16..]) };
        }
        Ok((sums, point.position))
    }
}

impl<K: Copy + Eq + Hash> PrefixSums<K> {
    /// The index of each key.
    pub(crate) fn key_indices(&self) -> FxHashMap<K, usize> {
        self.keys.iter().enumerate().map(|(index, key)| (*key, index)).collect()
    }
}

/// Collects the prefix sums of a thread, in the order of its records.
pub(crate) struct PrefixSumsBuilder<K> {
    sums: PrefixSums<K>,
    indices: FxHashMap<K, usize>,
    current: Vec<RecordSums>,
    stored: Vec<u8>,
    since_point: u64,
}

impl<K: Copy + Eq + Hash> PrefixSumsBuilder<K> {
    pub(crate) fn new() -> PrefixSumsBuilder<K> {
        PrefixSumsBuilder {
            sums: PrefixSums::default(),
            indices: FxHashMap::default(),
            current: Vec::new(),
            stored: Vec::new(),
            since_point: 0,
        }
    }

    /// The index of a key.
    pub(crate) fn key(&mut self, key: K) -> usize {
        *self.indices.entry(key).or_insert_with(|| {
            self.sums.keys.push(key);
            self.current.push(RecordSums::default());
            self.current.len() - 1
        })
    }

    pub(crate) fn add(&mut self, key: usize, sums: RecordSums) {
        self.current[key].add(sums);
        self.since_point += sums.count;
    }

    /// A record that is in no sum: prefixes are stored so often that few records are read between them.
    pub(crate) fn pass(&mut self) {
        self.since_point += 1;
    }

    /// Whether it is time for another stored prefix.
    pub(crate) fn is_due(&self) -> bool {
        self.since_point >= MIN_SPACING.max(SPACING_PER_KEY * self.current.len() as u64)
    }

    /// Stores the sums over all records so far.
    pub(crate) fn store(&mut self, position: (u32, u32), time: i64) {
        let (at, keys) = (self.stored.len() as u64, self.current.len() as u32);
        for RecordSums { count, ns, bytes } in &self.current {
            self.stored.extend([count, ns, bytes].into_iter().flat_map(|number| number.to_le_bytes()));
        }
        // Times of a damaged recording may go back.
        let time = self.sums.points.last().map_or(time, |last| last.time.max(time));
        self.sums.points.push(SumPoint { at, keys, position, time });
        self.since_point = 0;
    }

    /// Appends the stored sums, with offsets relative to the start of `bytes`.
    pub(crate) fn finish(mut self, bytes: &mut Vec<u8>) -> PrefixSums<K> {
        self.sums.shift(bytes.len() as u64);
        bytes.extend(self.stored);
        self.sums
    }
}
