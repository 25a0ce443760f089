//! Compiled calls of a chunk. Locations with the same calls share them: nearly all of a million ranks in a loop do, which keeps them in
//! cache. A location only keeps its own operands.

use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::schedule::{ReplayAction, Request};

/// A compiled call; `operand` indexes the operands of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallOp {
    /// Takes its recorded duration.
    Local,
    /// Takes no time.
    Poll,
    /// `MPI_Init`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// A blocking or nonblocking send.
    Send { operand: u32, request: bool },
    /// A blocking or nonblocking receive. Without a channel, the matched message is looked up later.
    Receive { operand: u32, request: bool, any_source: bool },
    /// A blocking send-receive; both are operand indices.
    SendReceive { send: u32, receive: u32 },
    /// A blocking probe.
    Probe { operand: u32 },
    /// Completes requests; a range of request operands.
    Complete { first: u32, count: u32 },
    /// Starts persistent requests.
    Start { first: u32, count: u32 },
    /// Frees requests.
    FreeRequests { first: u32, count: u32 },
    /// Initialises a persistent request; index of the action.
    InitPersistent { action: u32 },
    /// Creates a request without communication (`MPI_PROC_NULL`).
    EmptyRequest,
    /// Takes part in a collective.
    Collective { operand: u32, action: u32 },
    /// Any other action, by index.
    Other { action: u32 },
}

impl CallOp {
    /// Whether it polls again, or is what unsuccessful polls before it waited for.
    #[inline]
    pub(super) fn continues_polling(self) -> bool {
        use CallOp::{Complete, Other, Poll, Probe, Receive};
        matches!(self, Poll | Complete { .. } | Probe { .. } | Receive { request: false, .. } | Other { .. })
    }
}

/// A request named by a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RequestOperand {
    /// The request.
    pub request: Request,
    /// For a receive: whether it received something; otherwise it was cancelled.
    pub received: bool,
}

/// Attribution of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallAttribution {
    /// Index of its tally.
    pub tally: u32,
    /// The call site.
    pub site: u32,
    /// Index of the first change of the computation before it, or [`NONE`](super::messages::NONE).
    pub segment: u32,
}

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
