//! Requests under way: which call made them, so that the call that completes them can say so.
//!
//! A request is known by its handle only while it is under way; afterwards MPI uses the handle again. Several threads may make and
//! complete requests only under `MPI_THREAD_MULTIPLE`, so only then is there a lock.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::raw::NONE;

use crate::library::Handle;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    handle: Handle,
    /// Its number among those of the thread that made it.
    pub number: u64,
    /// The thread that made it.
    pub thread: u16,
    /// Whether it receives, so that its status says from whom, with which tag and how much.
    pub receive: bool,
    /// Whether it stays after completion, to be started again.
    pub persistent: bool,
    /// Whether it has been started.
    pub active: bool,
    /// For a receive: the source asked for.
    pub peer: i32,
    /// For a receive: the tag asked for.
    pub tag: i32,
    /// For a receive: the bytes there is room for.
    pub bytes: u64,
}

impl Request {
    /// A request that was just made.
    pub fn new(handle: Handle, thread: u16, number: u64, persistent: bool) -> Request {
        Request { handle, number, thread, persistent, active: !persistent, ..EMPTY }
    }

    /// The same as a receive of what was asked for.
    pub fn receiving(self, peer: i32, tag: i32, bytes: u64) -> Request {
        Request { receive: true, peer, tag, bytes, ..self }
    }
}

const EMPTY: Request =
    Request { handle: 0, number: 0, thread: 0, receive: false, persistent: false, active: false, peer: NONE, tag: NONE, bytes: 0 };

/// A table of requests by handle: open addressing, so that neither making nor completing a request allocates.
struct Table {
    places: Vec<Request>,
    count: usize,
    /// Requests that share one handle because they were complete at once, oldest first.
    shared: VecDeque<Request>,
}

impl Table {
    const fn new() -> Table {
        Table { places: Vec::new(), count: 0, shared: VecDeque::new() }
    }

    #[inline(always)]
    fn home(&self, handle: Handle) -> usize {
        let hash = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.places.len() - 1)
    }

    /// The place of a handle, or the empty place where it would stand. There always is an empty one: at most half are in use.
    #[inline(always)]
    fn place(&self, handle: Handle) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.home(handle);
        while self.places[place].handle != handle && self.places[place].handle != 0 {
            place = (place + 1) & mask;
        }
        place
    }

    #[inline(always)]
    fn find(&self, handle: Handle) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let place = self.place(handle);
        (self.places[place].handle != 0).then_some(place)
    }

    #[inline(always)]
    fn insert(&mut self, request: Request) {
        if 2 * (self.count + 1) > self.places.len() {
            self.grow();
        }
        let place = self.place(request.handle);
        self.count += usize::from(self.places[place].handle == 0);
        self.places[place] = request;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (2 * self.places.len()).max(1024);
        let old = std::mem::replace(&mut self.places, vec![EMPTY; larger]);
        self.count = 0;
        for request in old.into_iter().filter(|r| r.handle != 0) {
            self.insert(request);
        }
    }

    /// Empties a place and closes the gap, so that searches need no marks of removed entries.
    fn remove(&mut self, mut gap: usize) {
        let mask = self.places.len() - 1;
        self.count -= 1;
        let mut place = gap;
        loop {
            self.places[gap] = EMPTY;
            loop {
                place = (place + 1) & mask;
                if self.places[place].handle == 0 {
                    return;
                }
                let home = self.home(self.places[place].handle);
                // May the entry move into the gap? Only if its home does not lie between the gap and its place.
                if (place.wrapping_sub(home) & mask) >= (place.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.places[gap] = self.places[place];
            gap = place;
        }
    }
}

/// The requests of this process.
pub struct Requests {
    threads: AtomicBool,
    locked: AtomicBool,
    table: UnsafeCell<Table>,
}

// SAFETY: the table is only touched inside `with`, which is exclusive: by the lock under MPI_THREAD_MULTIPLE, otherwise because MPI
// forbids the program to be in two MPI calls at once.
unsafe impl Sync for Requests {}

/// The requests of this process.
pub static REQUESTS: Requests =
    Requests { threads: AtomicBool::new(false), locked: AtomicBool::new(false), table: UnsafeCell::new(Table::new()) };

impl Requests {
    /// From now on several threads may be in MPI calls at once.
    pub fn expect_threads(&self) {
        self.threads.store(true, Ordering::SeqCst);
    }

    #[inline(always)]
    fn with<T>(&self, action: impl FnOnce(&mut Table) -> T) -> T {
        let lock = self.threads.load(Ordering::Relaxed);
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

    /// Remembers a request. `shared` says that its handle stands for many requests that were complete at once.
    #[inline(always)]
    pub fn made(&self, request: Request, shared: bool) {
        self.with(|table| if shared { table.shared.push_back(request) } else { table.insert(request) });
    }

    /// Looks a request up without changing it.
    #[inline(always)]
    pub fn get(&self, handle: Handle) -> Option<Request> {
        self.with(|table| table.find(handle).map(|place| table.places[place]))
    }

    /// Marks a persistent request as started.
    pub fn started(&self, handle: Handle) -> Option<Request> {
        self.with(|table| {
            let place = table.find(handle)?;
            table.places[place].active = true;
            Some(table.places[place])
        })
    }

    /// Takes a completed request: forgets it, or marks a persistent one as no longer active. `None` for one that was not under way.
    #[inline(always)]
    pub fn completed(&self, handle: Handle, shared: bool) -> Option<Request> {
        self.with(|table| {
            if shared {
                return table.shared.pop_front();
            }
            let place = table.find(handle)?;
            let request = table.places[place];
            if !request.active {
                return None;
            }
            if request.persistent {
                table.places[place].active = false;
            } else {
                table.remove(place);
            }
            Some(request)
        })
    }

    /// Forgets a request that the program gave back.
    pub fn freed(&self, handle: Handle, shared: bool) -> Option<Request> {
        self.with(|table| {
            if shared {
                return table.shared.pop_front();
            }
            let place = table.find(handle)?;
            let request = table.places[place];
            table.remove(place);
            Some(request)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_until_they_complete() {
        let requests = Requests { threads: AtomicBool::new(true), locked: AtomicBool::new(false), table: UnsafeCell::new(Table::new()) };
        let mut state = 7u64;
        let mut live: Vec<(Handle, u64)> = Vec::new();
        for number in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if state >> 63 == 0 || live.is_empty() {
                let handle = 8 + (state >> 20) as usize % 50_000 * 8;
                if live.iter().all(|(h, _)| *h != handle) {
                    requests.made(Request::new(handle, 0, number, false), false);
                    live.push((handle, number));
                }
            } else {
                let (handle, number) = live.swap_remove((state >> 33) as usize % live.len());
                assert_eq!(requests.completed(handle, false).map(|r| r.number), Some(number));
                assert!(requests.completed(handle, false).is_none());
            }
        }
        for (handle, number) in live {
            assert_eq!(requests.get(handle).map(|r| r.number), Some(number));
        }
    }

    #[test]
    fn a_persistent_request_completes_once_per_start() {
        let requests = Requests { threads: AtomicBool::new(false), locked: AtomicBool::new(false), table: UnsafeCell::new(Table::new()) };
        requests.made(Request::new(16, 0, 5, true), false);
        assert!(requests.completed(16, false).is_none());
        for _ in 0..3 {
            assert!(requests.started(16).is_some());
            assert_eq!(requests.completed(16, false).map(|r| r.number), Some(5));
        }
        assert!(requests.freed(16, false).is_some());
        assert!(requests.get(16).is_none());
    }

    #[test]
    fn requests_that_share_a_handle_complete_in_the_order_they_were_made() {
        let requests = Requests { threads: AtomicBool::new(false), locked: AtomicBool::new(false), table: UnsafeCell::new(Table::new()) };
        for number in 0..4 {
            requests.made(Request::new(64, 0, number, false), true);
        }
        assert_eq!(requests.freed(64, true).map(|r| r.number), Some(0), "one that is given back is none of the others");
        let completed: Vec<_> = std::iter::from_fn(|| requests.completed(64, true)).map(|r| r.number).collect();
        assert_eq!(completed, [1, 2, 3]);
    }
}
