//! Requests under way, by what names them.
//!
//! Programs may begin what they never complete, and traces may not tell that they did. So that memory does not grow with the length of a
//! run, the oldest ones are forgotten when there are more than any program has under way.

use std::collections::HashMap;
use std::hash::Hash;

/// More requests than a program has under way.
const MOST: usize = 1 << 20;

/// Requests by what names them.
pub(crate) struct Requests<K, V> {
    known: HashMap<K, Known<V>>,
    /// How many have been added.
    added: u64,
    most: usize,
}

struct Known<V> {
    request: V,
    /// How many were added before it; `None` if it is never forgotten.
    added: Option<u64>,
}

impl<K, V> Default for Requests<K, V> {
    fn default() -> Requests<K, V> {
        Requests { known: HashMap::new(), added: 0, most: MOST }
    }
}

impl<K: Hash + Eq, V> Requests<K, V> {
    /// A request.
    pub fn get(&self, name: &K) -> Option<&V> {
        self.known.get(name).map(|known| &known.request)
    }

    /// A request is no more.
    pub fn remove(&mut self, name: &K) -> Option<V> {
        self.known.remove(name).map(|known| known.request)
    }

    /// Adds a request that can be forgotten when many were added after it, and gives the one that had its name before.
    pub fn insert(&mut self, name: K, request: V) -> Option<V> {
        self.make_room();
        self.added += 1;
        self.known.insert(name, Known { request, added: Some(self.added) }).map(|known| known.request)
    }

    /// Adds a persistent request, which is not forgotten, and gives the one that had its name before.
    pub fn insert_persistent(&mut self, name: K, request: V) -> Option<V> {
        self.known.insert(name, Known { request, added: None }).map(|known| known.request)
    }

    fn make_room(&mut self) {
        if self.known.len() < self.most {
            return;
        }
        let oldest = self.added.saturating_sub(MOST as u64 / 2);
        self.known.retain(|_, known| known.added.is_none_or(|added| added > oldest));
        // Where none could be forgotten, it is not tried again for every single one.
        self.most = MOST.max(2 * self.known.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_never_completed_are_forgotten_one_day() {
        let mut requests = Requests::default();
        let last = 3 * MOST as u64;
        requests.insert_persistent(last, ());
        for number in 0..last {
            requests.insert(number, ());
        }
        assert!(requests.known.len() <= MOST);
        assert_eq!([0, last - 1, last].map(|number| requests.get(&number).is_some()), [false, true, true]);
    }
}
