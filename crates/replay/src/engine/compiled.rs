//! Compiled calls of a chunk. Locations with the same calls share them: nearly all of a million ranks in a loop do, which keeps them in
//! cache. A location only keeps its own operands.

use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::location::{CallAttribution, CallOp, RequestOperand};
use crate::schedule::ReplayAction;

/// The compiled actions of a chunk; records refer to them by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CompiledChunk {
    /// Operations with everything resolved that never changes.
    pub ops: Vec<CallOp>,
    /// Tally, call site and segment change of each operation.
    pub attributions: Vec<CallAttribution>,
    /// Requests named by calls.
    pub request_operands: Vec<RequestOperand>,
    /// Actions of rare operations.
    pub actions: Vec<ReplayAction>,
}

impl CompiledChunk {
    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.attributions.clear();
        self.request_operands.clear();
        self.actions.clear();
    }
}

/// Operand of an operation that differs between locations.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalOperand {
    /// Channel, or member id in a group.
    pub id: u32,
    /// Index into the message costs.
    pub cost_id: u32,
    /// Destination rank.
    pub destination: u32,
}

/// Longest hash bucket that is searched; hashes ignore requests and rare actions.
const MAX_BUCKET: usize = 8;
/// Entries before the first sweep for unused chunks.
const MIN_SWEEP: usize = 1024;

/// All shareable chunks.
#[derive(Default)]
pub(super) struct ChunkCache {
    by_hash: FxHashMap<u64, Vec<Rc<CompiledChunk>>>,
    count: usize,
    /// Number of entries that triggers the next sweep.
    sweep_threshold: usize,
}

impl ChunkCache {
    /// The shared copy of an equal chunk.
    pub(super) fn intern(&mut self, chunk: &CompiledChunk) -> Rc<CompiledChunk> {
        let key = self.by_hash.hasher().hash_one((&chunk.ops, &chunk.attributions));
        let alike = self.by_hash.entry(key).or_default();
        if let Some(known) = alike.iter().find(|known| ***known == *chunk) {
            return Rc::clone(known);
        }
        let new = Rc::new(chunk.clone());
        if alike.len() < MAX_BUCKET {
            alike.push(Rc::clone(&new));
            self.count += 1;
        }
        if self.count > self.sweep_threshold {
            self.evict_unused();
        }
        new
    }

    /// Drops chunks that no location uses any more.
    fn evict_unused(&mut self) {
        self.by_hash.retain(|_, alike| {
            alike.retain(|chunk| Rc::strong_count(chunk) > 1);
            !alike.is_empty()
        });
        self.count = self.by_hash.values().map(Vec::len).sum();
        self.sweep_threshold = MIN_SWEEP + 2 * self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(tally: u32) -> CompiledChunk {
        CompiledChunk {
            ops: vec![CallOp::Poll],
            attributions: vec![CallAttribution { tally, site: 0, segment: 0 }],
            ..CompiledChunk::default()
        }
    }

    #[test]
    fn equal_chunks_are_shared() {
        let mut codes = ChunkCache::default();
        let [first, same, other] = [1, 1, 2].map(|tally| codes.intern(&chunk(tally)));
        assert!(Rc::ptr_eq(&first, &same) && !Rc::ptr_eq(&first, &other));
        let named = CompiledChunk {
            request_operands: vec![RequestOperand { request: crate::schedule::Request::Relative(0), received: true }],
            ..chunk(1)
        };
        assert_eq!(*codes.intern(&named), named, "what only differs in requests is not the same");
    }

    #[test]
    fn unused_chunks_are_evicted() {
        let mut codes = ChunkCache::default();
        let kept = codes.intern(&chunk(0));
        (1..20 * MIN_SWEEP as u32).for_each(|tally| _ = codes.intern(&chunk(tally)));
        assert!(codes.count <= 2 * MIN_SWEEP, "{} of {}", codes.count, 20 * MIN_SWEEP);
        assert!(Rc::ptr_eq(&kept, &codes.intern(&chunk(0))));
    }
}
