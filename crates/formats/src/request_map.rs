//! Requests in progress, by id, with bounded memory.
//!
//! Programs may never complete some requests, and traces may not show their completion. When there are more requests than any real program
//! has in progress, the oldest ones are dropped.

use std::collections::HashMap;
use std::hash::Hash;

/// More requests than a program has in progress.
const MAX_PENDING: usize = 1 << 20;

/// Requests in progress, by id.
pub(crate) struct BoundedRequestMap<K, V> {
    entries: HashMap<K, RequestEntry<V>>,
    /// Number of insertions.
    added_count: u64,
    capacity: usize,
}

struct RequestEntry<V> {
    request: V,
    /// Insertion number; `None` if the request is never dropped.
    sequence: Option<u64>,
}

impl<K, V> Default for BoundedRequestMap<K, V> {
    fn default() -> BoundedRequestMap<K, V> {
        BoundedRequestMap { entries: HashMap::new(), added_count: 0, capacity: MAX_PENDING }
    }
}

impl<K: Hash + Eq, V> BoundedRequestMap<K, V> {
    pub(crate) fn get(&self, name: &K) -> Option<&V> {
        self.entries.get(name).map(|known| &known.request)
    }

    pub(crate) fn remove(&mut self, name: &K) -> Option<V> {
        self.entries.remove(name).map(|known| known.request)
    }

    /// Inserts a request that may be dropped later; returns the one that had this id before.
    pub(crate) fn insert(&mut self, name: K, request: V) -> Option<V> {
        self.evict_oldest();
        self.added_count += 1;
        self.entries.insert(name, RequestEntry { request, sequence: Some(self.added_count) }).map(|known| known.request)
    }

    /// Inserts a persistent request, which is never dropped; returns the one that had this id before.
    pub(crate) fn insert_persistent(&mut self, name: K, request: V) -> Option<V> {
        self.entries.insert(name, RequestEntry { request, sequence: None }).map(|known| known.request)
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
    fn requests_that_are_never_completed_are_forgotten_one_day() {
        let mut requests = BoundedRequestMap::default();
        let last = 3 * MAX_PENDING as u64;
        requests.insert_persistent(last, ());
        for number in 0..last {
            requests.insert(number, ());
        }
        assert!(requests.entries.len() <= MAX_PENDING);
        assert_eq!([0, last - 1, last].map(|number| requests.get(&number).is_some()), [false, true, true]);
    }
}
