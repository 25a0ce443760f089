//! A hash table of requests with open addressing, so that neither insertion nor removal allocates.

use super::TrackedRequest;

/// Requests by key: their handle, or the address of their request variable.
pub(super) struct RequestHashTable {
    slots: Vec<TrackedRequest>,
    count: usize,
}

impl RequestHashTable {
    pub(super) const fn new() -> RequestHashTable {
        RequestHashTable { slots: Vec::new(), count: 0 }
    }

    /// Number of requests.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// All requests, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &TrackedRequest> {
        self.slots.iter().filter(|request| request.key != 0)
    }

    #[inline(always)]
    fn home_slot(&self, key: usize) -> usize {
        let hash = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// The slot of a key, or the empty slot where it belongs. There always is an empty one: at most half are in use.
    #[inline(always)]
    fn find_slot(&self, key: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.home_slot(key);
        while self.slots[slot].key != key && self.slots[slot].key != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline(always)]
    fn find_occupied(&self, key: usize) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let slot = self.find_slot(key);
        (self.slots[slot].key != 0).then_some(slot)
    }

    /// Looks up a request.
    #[inline(always)]
    pub(super) fn get(&self, key: usize) -> Option<&TrackedRequest> {
        self.find_occupied(key).map(|slot| &self.slots[slot])
    }

    /// The same, to change it.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut TrackedRequest> {
        self.find_occupied(key).map(|slot| &mut self.slots[slot])
    }

    /// Adds a request; returns the one that had its key.
    #[inline(always)]
    pub(super) fn insert(&mut self, request: TrackedRequest) -> Option<TrackedRequest> {
        if 2 * (self.count + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.find_slot(request.key);
        if self.slots[slot].key != 0 {
            return Some(std::mem::replace(&mut self.slots[slot], request));
        }
        self.count += 1;
        self.slots[slot] = request;
        None
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (2 * self.slots.len()).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![TrackedRequest::NOTHING; larger]);
        self.count = 0;
        for request in old.into_iter().filter(|r| r.key != 0) {
            self.insert(request);
        }
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.slots.fill(TrackedRequest::NOTHING);
        self.count = 0;
    }

    /// Adds a request to `found`, or that there is none, and removes it if the condition holds.
    #[inline(always)]
    pub(super) fn take_if(&mut self, key: usize, condition: impl FnOnce(&TrackedRequest) -> bool, found: &mut Vec<TrackedRequest>) {
        let Some(slot) = self.find_occupied(key) else { return found.push(TrackedRequest::NOTHING) };
        found.push(self.slots[slot]);
        if condition(&self.slots[slot]) {
            self.remove_slot(slot);
        }
    }

    /// Removes this request, unless its key belongs to a later one. Returns whether it was there.
    #[inline(always)]
    pub(super) fn remove(&mut self, request: &TrackedRequest) -> bool {
        let slot = self.find_occupied(request.key).filter(|slot| self.slots[*slot].is_same(request));
        slot.inspect(|slot| self.remove_slot(*slot)).is_some()
    }

    /// Empties a slot and closes the gap (backward-shift deletion), so that no tombstones are needed.
    fn remove_slot(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        self.count -= 1;
        let mut slot = gap;
        loop {
            self.slots[gap] = TrackedRequest::NOTHING;
            loop {
                slot = (slot + 1) & mask;
                if self.slots[slot].key == 0 {
                    return;
                }
                let home = self.home_slot(self.slots[slot].key);
                // An entry may move into the gap only if its home slot is not between the gap and its current slot.
                if (slot.wrapping_sub(home) & mask) >= (slot.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.slots[gap] = self.slots[slot];
            gap = slot;
        }
    }
}
