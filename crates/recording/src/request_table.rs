//! The requests of a process, from the call that creates them to the one that ends them, with bounded memory.
//!
//! The rule of MPI is here alone: completion ends a nonblocking request; a persistent one stays until it is freed. Programs may never
//! complete some requests, and traces may not show their completion. When there are more requests than any real program has in progress,
//! the oldest ones are dropped.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use sintonia_mpi::BlockingMode;

/// More requests than a program has in progress.
const MAX_PENDING: usize = 1 << 20;

/// What is known of each request, by id.
pub struct RequestTable<K, V> {
    entries: FxHashMap<K, RequestEntry<V>>,
    /// Number of insertions.
    added_count: u64,
    capacity: usize,
}

struct RequestEntry<V> {
    request: V,
    /// Insertion number; `None` if the request is persistent, which is never dropped.
    sequence: Option<u64>,
}

impl<K, V> Default for RequestTable<K, V> {
    fn default() -> RequestTable<K, V> {
        RequestTable { entries: FxHashMap::default(), added_count: 0, capacity: MAX_PENDING }
    }
}

impl<K: Hash + Eq, V> RequestTable<K, V> {
    /// Adds the request that a function of this mode creates; returns the one that had this id before.
    pub fn create(&mut self, id: K, mode: BlockingMode, request: V) -> Option<V> {
        let sequence = (mode != BlockingMode::Persistent).then(|| {
            self.evict_oldest();
            self.added_count += 1;
            self.added_count
        });
        self.entries.insert(id, RequestEntry { request, sequence }).map(|known| known.request)
    }

    /// What is known of a request.
    pub fn get(&self, id: &K) -> Option<&V> {
        self.entries.get(id).map(|known| &known.request)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: &K) -> Option<&mut V> {
        self.entries.get_mut(id).map(|known| &mut known.request)
    }

    /// A request completes; a persistent one stays.
    pub fn complete(&mut self, id: &K) -> Option<V>
    where
        V: Copy,
    {
        let known = self.entries.get(id)?;
        let request = known.request;
        if known.sequence.is_some() {
            self.entries.remove(id);
        }
        Some(request)
    }

    /// Removes a request of any kind.
    pub fn remove(&mut self, id: &K) -> Option<V> {
        self.entries.remove(id).map(|known| known.request)
    }

    fn evict_oldest(&mut self) {
        if self.entries.len() < self.capacity {
            return;
        }
        let oldest = self.added_count.saturating_sub(MAX_PENDING as u64 / 2);
        self.entries.retain(|_, known| known.sequence.is_none_or(|added| added > oldest));
        // If nothing could be dropped, do not try again on every insertion.
        self.capacity = MAX_PENDING.max(2 * self.entries.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_ends_a_request_unless_it_is_persistent() {
        let mut requests = RequestTable::default();
        requests.create(1, BlockingMode::Nonblocking, 'a');
        assert_eq!(requests.create(1, BlockingMode::Nonblocking, 'b'), Some('a'), "the handle was reused");
        requests.create(2, BlockingMode::Persistent, 'c');
        assert_eq!([1, 1, 2, 2].map(|id| requests.complete(&id)), [Some('b'), None, Some('c'), Some('c')]);
        assert_eq!((requests.remove(&2), requests.complete(&2)), (Some('c'), None));
    }

    #[test]
    fn requests_that_are_never_completed_are_dropped() {
        let mut requests = RequestTable::default();
        let last = 3 * MAX_PENDING as u64;
        requests.create(last, BlockingMode::Persistent, ());
        for number in 0..last {
            requests.create(number, BlockingMode::Nonblocking, ());
        }
        assert!(requests.entries.len() <= MAX_PENDING);
        assert_eq!([0, last - 1, last].map(|number| requests.get(&number).is_some()), [false, true, true]);
    }
}
