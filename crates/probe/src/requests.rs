//! Pending requests: which call created them, so that their completion can refer to it.
//!
//! A handle identifies a request only while it is pending; MPI reuses it afterwards. Several threads can create and complete requests only
//! under `MPI_THREAD_MULTIPLE`, so only then is there a lock.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::raw::NONE;

use crate::library::Handle;

/// A pending request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackedRequest {
    handle: Handle,
    /// Sequence number among the requests of its thread.
    pub number: u64,
    /// The thread that created it.
    pub thread: u16,
    /// Whether it is a receive, whose status gives source, tag and size.
    pub receive: bool,
    /// Whether it is persistent.
    pub persistent: bool,
    /// Whether it is active.
    pub active: bool,
    /// Receive: requested source.
    pub peer: i32,
    /// Receive: requested tag.
    pub tag: i32,
    /// Receive: size of the buffer in bytes.
    pub bytes: u64,
}

impl TrackedRequest {
    /// A request that was just created.
    pub(crate) fn new(handle: Handle, thread: u16, number: u64, persistent: bool) -> TrackedRequest {
        TrackedRequest { handle, number, thread, persistent, active: !persistent, ..EMPTY }
    }

    /// The same request as a receive with these arguments.
    pub(crate) fn as_receive(self, peer: i32, tag: i32, bytes: u64) -> TrackedRequest {
        TrackedRequest { receive: true, peer, tag, bytes, ..self }
    }
}

const EMPTY: TrackedRequest =
    TrackedRequest { handle: 0, number: 0, thread: 0, receive: false, persistent: false, active: false, peer: NONE, tag: NONE, bytes: 0 };

/// Hash table of requests by handle, with open addressing, so that neither insertion nor removal allocates.
struct RequestHashTable {
    slots: Vec<TrackedRequest>,
    count: usize,
    /// Requests that share one handle because they completed immediately, oldest first.
    shared: VecDeque<TrackedRequest>,
}

impl RequestHashTable {
    const fn new() -> RequestHashTable {
        RequestHashTable { slots: Vec::new(), count: 0, shared: VecDeque::new() }
    }

    #[inline(always)]
    fn home_slot(&self, handle: Handle) -> usize {
        let hash = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// The slot of a handle, or the empty slot where it belongs. There always is an empty one: at most half are in use.
    #[inline(always)]
    fn find_slot(&self, handle: Handle) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.home_slot(handle);
        while self.slots[slot].handle != handle && self.slots[slot].handle != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline(always)]
    fn find_occupied(&self, handle: Handle) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let slot = self.find_slot(handle);
        (self.slots[slot].handle != 0).then_some(slot)
    }

    #[inline(always)]
    fn insert(&mut self, request: TrackedRequest) {
        if 2 * (self.count + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.find_slot(request.handle);
        self.count += usize::from(self.slots[slot].handle == 0);
        self.slots[slot] = request;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (2 * self.slots.len()).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; larger]);
        self.count = 0;
        for request in old.into_iter().filter(|r| r.handle != 0) {
            self.insert(request);
        }
    }

    /// Empties a slot and closes the gap (backward-shift deletion), so that no tombstones are needed.
    fn remove(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        self.count -= 1;
        let mut slot = gap;
        loop {
            self.slots[gap] = EMPTY;
            loop {
                slot = (slot + 1) & mask;
                if self.slots[slot].handle == 0 {
                    return;
                }
                let home = self.home_slot(self.slots[slot].handle);
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

/// The requests of this process.
pub(crate) struct RequestRegistry {
    is_multithreaded: AtomicBool,
    locked: AtomicBool,
    table: UnsafeCell<RequestHashTable>,
}

// SAFETY: the table is accessed only inside `with`, which is exclusive: by the lock under MPI_THREAD_MULTIPLE, otherwise because MPI
// forbids concurrent MPI calls.
unsafe impl Sync for RequestRegistry {}

/// The requests of this process.
pub(crate) static REQUESTS: RequestRegistry = RequestRegistry {
    is_multithreaded: AtomicBool::new(false),
    locked: AtomicBool::new(false),
    table: UnsafeCell::new(RequestHashTable::new()),
};

impl RequestRegistry {
    /// From now on several threads may be in MPI calls at once.
    pub(crate) fn set_multithreaded(&self) {
        self.is_multithreaded.store(true, Ordering::SeqCst);
    }

    #[inline(always)]
    fn with<T>(&self, action: impl FnOnce(&mut RequestHashTable) -> T) -> T {
        let lock = self.is_multithreaded.load(Ordering::Relaxed);
        if lock {
            while self.locked.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
        }
        // SAFETY: see above.
        let result = action(unsafe { &mut *self.table.get() });
        if lock {
            self.locked.store(false, Ordering::Release);
        }
        result
    }

    /// Adds a request. `shared`: its handle is shared by many immediately completed requests.
    #[inline(always)]
    pub(crate) fn insert(&self, request: TrackedRequest, shared: bool) {
        self.with(|table| if shared { table.shared.push_back(request) } else { table.insert(request) });
    }

    /// Looks up a request.
    #[inline(always)]
    pub(crate) fn get(&self, handle: Handle) -> Option<TrackedRequest> {
        self.with(|table| table.find_occupied(handle).map(|slot| table.slots[slot]))
    }

    /// Marks a persistent request as active.
    pub(crate) fn start(&self, handle: Handle) -> Option<TrackedRequest> {
        self.with(|table| {
            let slot = table.find_occupied(handle)?;
            table.slots[slot].active = true;
            Some(table.slots[slot])
        })
    }

    /// Completes a request: removes it, or marks a persistent one as inactive. `None` if it was not active.
    #[inline(always)]
    pub(crate) fn complete(&self, handle: Handle, shared: bool) -> Option<TrackedRequest> {
        self.with(|table| {
            if shared {
                return table.shared.pop_front();
            }
            let slot = table.find_occupied(handle)?;
            let request = table.slots[slot];
            if !request.active {
                return None;
            }
            if request.persistent {
                table.slots[slot].active = false;
            } else {
                table.remove(slot);
            }
            Some(request)
        })
    }

    /// Removes a request that the program freed.
    pub(crate) fn remove(&self, handle: Handle, shared: bool) -> Option<TrackedRequest> {
        self.with(|table| {
            if shared {
                return table.shared.pop_front();
            }
            let slot = table.find_occupied(handle)?;
            let request = table.slots[slot];
            table.remove(slot);
            Some(request)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_until_they_complete() {
        let requests = RequestRegistry {
            is_multithreaded: AtomicBool::new(true),
            locked: AtomicBool::new(false),
            table: UnsafeCell::new(RequestHashTable::new()),
        };
        let mut random = fastrand::Rng::with_seed(7);
        let mut live: Vec<(Handle, u64)> = Vec::new();
        for number in 0..20_000 {
            if random.bool() || live.is_empty() {
                let handle = 8 + random.usize(..50_000) * 8;
                if live.iter().all(|(h, _)| *h != handle) {
                    requests.insert(TrackedRequest::new(handle, 0, number, false), false);
                    live.push((handle, number));
                }
            } else {
                let (handle, number) = live.swap_remove(random.usize(..live.len()));
                assert_eq!(requests.complete(handle, false).map(|r| r.number), Some(number));
                assert!(requests.complete(handle, false).is_none());
            }
        }
        for (handle, number) in live {
            assert_eq!(requests.get(handle).map(|r| r.number), Some(number));
        }
    }

    #[test]
    fn a_persistent_request_completes_once_per_start() {
        let requests = RequestRegistry {
            is_multithreaded: AtomicBool::new(false),
            locked: AtomicBool::new(false),
            table: UnsafeCell::new(RequestHashTable::new()),
        };
        requests.insert(TrackedRequest::new(16, 0, 5, true), false);
        assert!(requests.complete(16, false).is_none());
        for _ in 0..3 {
            assert!(requests.start(16).is_some());
            assert_eq!(requests.complete(16, false).map(|r| r.number), Some(5));
        }
        assert!(requests.remove(16, false).is_some());
        assert!(requests.get(16).is_none());
    }

    #[test]
    fn requests_that_share_a_handle_complete_in_the_order_they_were_made() {
        let requests = RequestRegistry {
            is_multithreaded: AtomicBool::new(false),
            locked: AtomicBool::new(false),
            table: UnsafeCell::new(RequestHashTable::new()),
        };
        for number in 0..4 {
            requests.insert(TrackedRequest::new(64, 0, number, false), true);
        }
        assert_eq!(requests.remove(64, true).map(|r| r.number), Some(0), "one that is given back is none of the others");
        let completed: Vec<_> = std::iter::from_fn(|| requests.complete(64, true)).map(|r| r.number).collect();
        assert_eq!(completed, [1, 2, 3]);
    }
}
