//! A map from ids to values.
//!
//! Tools number densely from 0, so most values are in a vector; but any id is allowed.

use std::collections::HashMap;

/// Ids from here on are not stored densely.
const MAX_DENSE_IDS: u32 = 1 << 16;

/// Values by id.
pub(super) struct IdTable<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<u32, T>,
}

impl<T> Default for IdTable<T> {
    fn default() -> IdTable<T> {
        IdTable { dense: Vec::new(), sparse: HashMap::new() }
    }
}

impl<T> IdTable<T> {
    pub(super) fn insert(&mut self, id: u32, value: T) {
        if id >= MAX_DENSE_IDS {
            self.sparse.insert(id, value);
            return;
        }
        let index = id as usize;
        if index >= self.dense.len() {
            self.dense.resize_with(index + 1, || None);
        }
        self.dense[index] = Some(value);
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        if id < MAX_DENSE_IDS { self.dense.get(id as usize)?.as_ref() } else { self.sparse.get(&id) }
    }

    /// All entries; the dense ones in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let dense = (0..).zip(&self.dense).filter_map(|(id, value)| Some((id, value.as_ref()?)));
        dense.chain(self.sparse.iter().map(|(id, value)| (*id, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_will_do() {
        let mut table = IdTable::default();
        for id in [3, 70_000, u32::MAX, 0] {
            table.insert(id, id);
        }
        table.insert(3, 4);
        assert_eq!(
            [0, 1, 3, 70_000, u32::MAX, 70_001].map(|id| table.get(id).copied()),
            [Some(0), None, Some(4), Some(70_000), Some(u32::MAX), None]
        );
        assert_eq!(table.iter().count(), 4);
    }
}
