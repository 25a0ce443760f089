//! Writes the calls of a converted trace into chunks.
//!
//! Loops repeat, so each action is first compared with the successor of the previous one, and otherwise looked up.

use std::hash::BuildHasher;

use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::part;

use super::{CallChunk, CallCompletion, ChunkStatus, DescribedAction, PeerEnvelope, ReplayAction, ScheduledCall};

/// Chunk size.
pub(super) const CHUNK_CALLS: usize = 256;

/// Actions kept before the table is reset.
const MAX_ACTIONS: usize = 1024;

/// Calls and known actions of a location.
#[derive(Default)]
pub(super) struct CallWriter {
    /// Computation since the last call in nanoseconds.
    compute_ns: f64,
    /// Total computation before the last call in nanoseconds.
    clock_ns: i64,
    /// The clock at the begin of the chunk.
    begin_ns: i64,
    /// Known actions.
    known: Vec<DescribedAction>,
    /// Number of actions at the begin of the chunk.
    n_known: usize,
    /// Newest action of each hash.
    by_hash: FxHashMap<u64, u32>,
    /// Last successor of each action.
    followers: Vec<u32>,
    last: u32,
}

impl CallWriter {
    /// Begins a chunk.
    pub(super) fn begin_chunk(&mut self, chunk: &mut CallChunk) {
        chunk.calls.clear();
        chunk.first_request = None;
        self.begin_ns = self.clock_ns;
        if self.known.len() > MAX_ACTIONS {
            self.known.clear();
            self.by_hash.clear();
            self.followers.clear();
        }
        self.n_known = self.known.len();
    }

    /// Whether a chunk has enough calls.
    pub(super) fn is_full(chunk: &CallChunk) -> bool {
        chunk.calls.len() >= CHUNK_CALLS
    }

    /// Adds computation before the next call.
    pub(super) fn compute(&mut self, nanoseconds: f64) {
        self.compute_ns += nanoseconds;
    }

    /// Adds a call.
    pub(super) fn push(&mut self, chunk: &mut CallChunk, described: DescribedAction) {
        let computed_ns = self.compute_ns.floor();
        self.compute_ns -= computed_ns;
        self.clock_ns = self.clock_ns.saturating_add(computed_ns as i64);
        let action = self.intern_action(described);
        chunk.calls.push(ScheduledCall { compute_ns: computed_ns as i64, action, ..ScheduledCall::default() });
    }

    /// A call that does nothing ends the computation after the last one.
    pub(super) fn end_location(&mut self, chunk: &mut CallChunk) {
        if self.compute_ns >= 1.0 {
            self.push(chunk, DescribedAction { action: ReplayAction::Local, call: call_named("MPI_Wtime") });
        }
    }

    /// Completes a chunk.
    pub(super) fn finish_chunk(&self, chunk: &mut CallChunk) -> ChunkStatus {
        let Some(first) = chunk.calls.first() else { return ChunkStatus::End };
        chunk.enter_ns = self.begin_ns.saturating_add(first.compute_ns);
        if self.n_known > 0 && self.known.len() == self.n_known {
            return ChunkStatus::SameActions;
        }
        chunk.actions.clone_from(&self.known);
        ChunkStatus::NewActions
    }

    /// Index of an action, added if new.
    fn intern_action(&mut self, described: DescribedAction) -> u32 {
        let index = match self.find_action(&described) {
            Some(index) => index,
            None => self.add_action(described),
        };
        if let Some(successor) = self.followers.get_mut(self.last as usize) {
            *successor = index;
        }
        self.last = index;
        index
    }

    fn find_action(&self, described: &DescribedAction) -> Option<u32> {
        let is_same = |index: &u32| self.known.get(*index as usize) == Some(described);
        let expected = self.followers.get(self.last as usize).copied().filter(is_same);
        expected.or_else(|| self.by_hash.get(&self.hash(described)).copied().filter(is_same))
    }

    fn add_action(&mut self, described: DescribedAction) -> u32 {
        let index = self.known.len() as u32;
        self.by_hash.insert(self.hash(&described), index);
        self.known.push(described);
        self.followers.push(0);
        index
    }

    fn hash(&self, described: &DescribedAction) -> u64 {
        self.by_hash.hasher().hash_one(&described.call)
    }
}

/// A call descriptor with only a function.
pub(super) fn call_named(name: &str) -> CallDescriptor {
    CallDescriptor::new(operation(name))
}

/// The call that sends or receives a message.
pub(super) fn message_call(name: &str, message: PeerEnvelope, completion: CallCompletion, bytes: u16) -> CallDescriptor {
    let request = if completion == CallCompletion::Blocking { 0 } else { part::REQUEST };
    let parts = part::OBJECT | part::TAG | bytes | request;
    CallDescriptor { parts, object: message.communicator, peer: message.peer as i32, tag: message.tag, ..call_named(name) }
}

/// The function of this name; tests check that all names exist.
pub(super) fn operation(name: &str) -> FunctionId {
    FunctionId::from_name(name).unwrap_or(FunctionId(0))
}
