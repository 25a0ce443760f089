//! Requests under way, by what names them.
//!
//! Programs may begin what they never complete, and traces may not tell that they did. So that memory does not grow with the length of a
//! run, the oldest ones are forgotten when there are more than any program has under way.

use std::collections::HashMap;
use std::hash::Hash;

/// More requests than a program has under way.
const MOST: usize = 1 << 20;

/// Requests by what names them.
pub struct Requests<K, V> {
    known: HashMap<K, V>,
    most: usize,
}

impl<K, V> Default for Requests<K, V> {
    fn default() -> Requests<K, V> {
        Requests { known: HashMap::new(), most: MOST }
    }
}

impl<K: Hash + Eq, V: Copy> Requests<K, V> {
    /// A request.
    pub fn get(&self, name: &K) -> Option<V> {
        self.known.get(name).copied()
    }

    /// A request is no more.
    pub fn remove(&mut self, name: &K) {
        self.known.remove(name);
    }

    /// Adds a request, and gives the one that had its name before. `is_old` says of the others whether so many were made since that they
    /// can be forgotten.
    pub fn insert(&mut self, name: K, request: V, is_old: impl Fn(&K, &V, u64) -> bool) -> Option<V> {
        if self.known.len() >= self.most {
            self.known.retain(|name, request| !is_old(name, request, MOST as u64 / 2));
            // Where none could be forgotten, it is not tried again for every single one.
            self.most = MOST.max(2 * self.known.len());
        }
        self.known.insert(name, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_never_completed_are_forgotten_one_day() {
        let mut requests = Requests::default();
        let last = 3 * MOST as u64;
        for number in 0..last {
            requests.insert(number, (), |name, (), since| name + since < number);
        }
        assert!(requests.known.len() <= MOST);
        assert_eq!((requests.get(&0), requests.get(&(last - 1))), (None, Some(())));
    }
}
