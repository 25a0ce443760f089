//! Finds descriptors in a list by hash, without storing them a second time.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::call_table::CallDescriptor;

/// Index of each descriptor in a list, by hash.
#[derive(Default)]
pub(crate) struct DescriptorIndex(FxHashMap<u64, u32>);

impl DescriptorIndex {
    /// The index of a descriptor in the list, or `None` if it is new: the caller must then append it.
    pub(crate) fn find_or_reserve(&mut self, descriptor: &CallDescriptor, descriptors: &[CallDescriptor]) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(descriptor);
        let index = *self.0.entry(hash).or_insert(descriptors.len() as u32);
        // On a hash collision the second descriptor is appended each time it occurs: larger, but correct.
        descriptors.get(index as usize).filter(|known| *known == descriptor).map(|_| index)
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
