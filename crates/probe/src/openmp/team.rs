//! The threads of a region: what each of them does at present, and for how long it has done what.
//!
//! A thread finds its slot through a thread-local pointer. Teams are used again and never freed, so a pointer that was left behind by a
//! region that has ended is harmless; the generation of the slot shows it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use sintonia_recording::raw::openmp::{DURATIONS, LOCK_HELD, MAX_THREADS, RawLock, RawThread, ThreadActivity};

use crate::clock::ticks;
use crate::thread;

/// In place of an activity: the thread has left the function of the region, and waits for the others.
const AT_END: usize = DURATIONS;

/// Most lock call sites of a thread in a recorded region; further ones are not recorded.
pub(super) const MAX_LOCK_SITES: usize = 8;

/// A team. The threads that run it only read it, but for their slots.
#[repr(C)]
pub(super) struct Team {
    /// First word of the program's data: libgomp reads it in a region with reductions over tasks.
    pub reductions: AtomicUsize,
    /// The function of the program, and its data.
    pub function: AtomicUsize,
    pub data: AtomicUsize,
    /// Begin of the region, in ticks.
    pub begin: AtomicU64,
    /// Word of its call site.
    pub site: AtomicU64,
    /// Number of the calling thread plus one; 0 if it does not call MPI.
    pub caller: AtomicUsize,
    /// Number of threads.
    pub size: AtomicUsize,
    /// Whether the region is in progress.
    pub is_active: AtomicBool,
    generation: AtomicU64,
    level: AtomicUsize,
    outer: AtomicUsize,
    outer_generation: AtomicU64,
    outer_activity: AtomicUsize,
    slots: Vec<ThreadSlot>,
}

/// One thread of a team. Only that thread writes it while the region is in progress.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct ThreadSlot {
    generation: AtomicU64,
    level: AtomicUsize,
    activity: AtomicUsize,
    since: AtomicU64,
    durations: [AtomicU64; DURATIONS + 1],
    locks: AtomicUsize,
    locked: AtomicU64,
    /// The place at which it is about to get a lock, if that is known; else 0.
    next_lock_site: AtomicU64,
    /// Index of the place where it got the lock that it has.
    lock_site: AtomicUsize,
    used_lock_sites: AtomicUsize,
    lock_sites: [LockSite; MAX_LOCK_SITES],
    mpi_before: AtomicU64,
}

/// What a thread did at one place where it gets a lock.
#[derive(Default)]
struct LockSite {
    site: AtomicU64,
    acquisitions: AtomicU64,
    waited: AtomicU64,
    held: AtomicU64,
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct ThreadPosition {
    slot: *const ThreadSlot,
    generation: u64,
}

thread_local! {
    static POSITION: Cell<ThreadPosition> = const { Cell::new(ThreadPosition { slot: std::ptr::null(), generation: 0 }) };
}

impl ThreadPosition {
    fn slot(self) -> Option<&'static ThreadSlot> {
        // SAFETY: null, or a slot of a team, which is never freed.
        let slot = unsafe { self.slot.as_ref() }?;
        (slot.generation.load(Ordering::Relaxed) == self.generation).then_some(slot)
    }
}

/// The slot of the calling thread, if it is in a region.
#[inline(always)]
pub(super) fn current() -> Option<&'static ThreadSlot> {
    POSITION.get().slot()
}

/// What a thread did before it changed its activity.
#[derive(Clone, Copy)]
pub(super) struct PreviousActivity(usize);

impl PreviousActivity {
    /// It computed.
    pub(super) const USEFUL: PreviousActivity = PreviousActivity(ThreadActivity::Useful as usize);

    /// To keep it in a word.
    pub(super) fn to_word(self) -> u64 {
        self.0 as u64
    }

    /// From such a word.
    pub(super) fn from_word(word: u64) -> PreviousActivity {
        PreviousActivity((word as usize).min(AT_END))
    }
}

/// The calling thread begins another activity.
#[inline(always)]
pub(super) fn switch(to: ThreadActivity) -> Option<PreviousActivity> {
    current().map(|slot| PreviousActivity(slot.switch(to as usize, ticks())))
}

/// The calling thread goes on with what it did before.
#[inline(always)]
pub(super) fn restore(previous: Option<PreviousActivity>) {
    if let (Some(previous), Some(slot)) = (previous, current()) {
        slot.switch(previous.0, ticks());
    }
}

/// The calling thread has come to a barrier, which may be the end of the region.
pub(super) fn arrive_at_barrier() {
    if let Some(slot) = current() {
        slot.switch(ThreadActivity::Barrier as usize, ticks());
        slot.account_mpi();
    }
}

/// The calling thread has left the function of the region.
pub(super) fn arrive_at_end() {
    if let Some(slot) = current().filter(|slot| slot.activity.load(Ordering::Relaxed) != AT_END) {
        slot.switch(AT_END, ticks());
        slot.account_mpi();
    }
}

/// The calling thread is about to get a lock at this call site, which the runtime does not know; 0: it has got the lock.
pub(super) fn set_lock_site(site: u64) {
    if let Some(slot) = current() {
        slot.next_lock_site.store(site, Ordering::Relaxed);
    }
}

/// The calling thread has got a critical section or a lock at this call site, and goes on with what it did before.
#[inline(always)]
pub(super) fn lock_acquired(previous: Option<PreviousActivity>, site: u64) {
    let (Some(previous), Some(slot)) = (previous, current()) else { return };
    let now = ticks();
    let waited = now.saturating_sub(slot.since.load(Ordering::Relaxed));
    let is_waiting = slot.switch(previous.0, now) == ThreadActivity::Lock as usize;
    let known = slot.next_lock_site.swap(0, Ordering::Relaxed);
    let site = if known != 0 { known } else { site };
    let index = slot.add_acquisition(site, if is_waiting { waited } else { 0 });
    let locks = slot.locks.load(Ordering::Relaxed);
    if locks == 0 {
        slot.locked.store(now, Ordering::Relaxed);
        slot.lock_site.store(index, Ordering::Relaxed);
    }
    slot.locks.store(locks + 1, Ordering::Relaxed);
}

/// It has released one.
#[inline(always)]
pub(super) fn lock_released() {
    let Some(slot) = current() else { return };
    let locks = slot.locks.load(Ordering::Relaxed);
    if locks == 1 {
        let held = ticks().saturating_sub(slot.locked.load(Ordering::Relaxed));
        slot.add(LOCK_HELD, held);
        if let Some(site) = slot.lock_sites.get(slot.lock_site.load(Ordering::Relaxed)) {
            add(&site.held, held);
        }
    }
    slot.locks.store(locks.saturating_sub(1), Ordering::Relaxed);
}

/// Adds to a sum that only the calling thread changes.
#[inline(always)]
fn add(sum: &AtomicU64, ticks: u64) {
    sum.store(sum.load(Ordering::Relaxed) + ticks, Ordering::Relaxed);
}

/// Ticks that the calling thread has spent in MPI calls.
fn mpi_ticks() -> u64 {
    thread::existing().map_or(0, |thread| thread.mpi_ticks)
}

impl ThreadSlot {
    #[inline(always)]
    fn add(&self, index: usize, ticks: u64) {
        add(&self.durations[index], ticks);
    }

    /// Counts a lock that was got at a call site; returns the index of the site, or one beyond the last if there are too many.
    #[inline(always)]
    fn add_acquisition(&self, site: u64, waited: u64) -> usize {
        let used = self.used_lock_sites.load(Ordering::Relaxed).min(MAX_LOCK_SITES);
        let known = self.lock_sites[..used].iter().position(|known| known.site.load(Ordering::Relaxed) == site);
        let index = known.unwrap_or(used);
        let Some(entry) = self.lock_sites.get(index) else { return index };
        if known.is_none() {
            entry.site.store(site, Ordering::Relaxed);
            [&entry.acquisitions, &entry.waited, &entry.held].iter().for_each(|sum| sum.store(0, Ordering::Relaxed));
            self.used_lock_sites.store(used + 1, Ordering::Relaxed);
        }
        add(&entry.acquisitions, 1);
        add(&entry.waited, waited);
        index
    }

    #[inline(always)]
    fn switch(&self, to: usize, now: u64) -> usize {
        let from = self.activity.load(Ordering::Relaxed).min(AT_END);
        // The counters of two processors may differ by a few ticks.
        self.add(from, now.saturating_sub(self.since.load(Ordering::Relaxed)));
        self.activity.store(to, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        from
    }

    /// Takes the time in MPI calls off the time in which the calling thread computed.
    fn account_mpi(&self) {
        let now = mpi_ticks();
        let useful = &self.durations[ThreadActivity::Useful as usize];
        let mpi = now.saturating_sub(self.mpi_before.swap(now, Ordering::Relaxed)).min(useful.load(Ordering::Relaxed));
        self.add(ThreadActivity::Mpi as usize, mpi);
        useful.store(useful.load(Ordering::Relaxed) - mpi, Ordering::Relaxed);
    }

    fn duration(&self, index: usize) -> u64 {
        self.durations[index].load(Ordering::Relaxed)
    }

    /// What it did until a point in time.
    fn durations_until(&self, now: u64) -> [f32; DURATIONS] {
        let (activity, since) = (self.activity.load(Ordering::Relaxed), self.since.load(Ordering::Relaxed));
        std::array::from_fn(|index| {
            let rest = if index == activity { now.saturating_sub(since) } else { 0 };
            (self.duration(index) + rest) as f32
        })
    }
}

impl Team {
    /// A team for this many threads, which is never freed.
    pub(super) fn new(capacity: usize) -> &'static Team {
        Box::leak(Box::new(Team {
            reductions: AtomicUsize::new(0),
            function: AtomicUsize::new(0),
            data: AtomicUsize::new(0),
            begin: AtomicU64::new(0),
            site: AtomicU64::new(0),
            caller: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            is_active: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            level: AtomicUsize::new(0),
            outer: AtomicUsize::new(0),
            outer_generation: AtomicU64::new(0),
            outer_activity: AtomicUsize::new(AT_END),
            slots: (0..capacity.min(MAX_THREADS)).map(|_| ThreadSlot::default()).collect(),
        }))
    }

    /// Threads that have a slot.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Number of regions around it.
    pub(super) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    /// The calling thread is about to start the region.
    pub(super) fn begin(&self) {
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        self.generation.store(generation, Ordering::Relaxed);
        self.size.store(0, Ordering::Relaxed);
        let outer = POSITION.get();
        let (slot, activity, level) = match outer.slot() {
            Some(slot) => {
                let level = slot.level.load(Ordering::Relaxed) + 1;
                (outer.slot as usize, slot.switch(ThreadActivity::Other as usize, ticks()), level)
            }
            None => (0, AT_END, 0),
        };
        self.outer.store(slot, Ordering::Relaxed);
        self.outer_generation.store(outer.generation, Ordering::Relaxed);
        self.outer_activity.store(activity, Ordering::Relaxed);
        self.level.store(level, Ordering::Relaxed);
        self.begin.store(ticks(), Ordering::Relaxed);
    }

    /// The calling thread begins to run the function of the region, as the thread of this number.
    #[inline(always)]
    pub(super) fn begin_thread(&self, number: usize) {
        let generation = self.generation.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(number) else {
            POSITION.set(ThreadPosition { slot: std::ptr::null(), generation });
            return;
        };
        for duration in &slot.durations {
            duration.store(0, Ordering::Relaxed);
        }
        slot.locks.store(0, Ordering::Relaxed);
        slot.used_lock_sites.store(0, Ordering::Relaxed);
        slot.next_lock_site.store(0, Ordering::Relaxed);
        slot.level.store(self.level(), Ordering::Relaxed);
        slot.mpi_before.store(mpi_ticks(), Ordering::Relaxed);
        slot.generation.store(generation, Ordering::Relaxed);
        POSITION.set(ThreadPosition { slot, generation });
        let now = ticks();
        slot.durations[ThreadActivity::Start as usize].store(now.saturating_sub(self.begin.load(Ordering::Relaxed)), Ordering::Relaxed);
        slot.activity.store(ThreadActivity::Useful as usize, Ordering::Relaxed);
        slot.since.store(now, Ordering::Relaxed);
    }

    /// What the thread of this number did until a point in time.
    pub(super) fn thread(&self, number: usize, now: u64) -> RawThread {
        let slot = self.slots.get(number).filter(|slot| slot.generation.load(Ordering::Relaxed) == self.generation.load(Ordering::Relaxed));
        RawThread { number: number as u16, durations: slot.map_or([0.0; DURATIONS], |slot| slot.durations_until(now)) }
    }

    /// The places where a thread got locks.
    pub(super) fn locks(&self, number: usize) -> impl Iterator<Item = RawLock> {
        let slot = self.slots.get(number).filter(|slot| slot.generation.load(Ordering::Relaxed) == self.generation.load(Ordering::Relaxed));
        let used = slot.map_or(0, |slot| slot.used_lock_sites.load(Ordering::Relaxed).min(MAX_LOCK_SITES));
        slot.into_iter().flat_map(move |slot| &slot.lock_sites[..used]).map(move |entry| RawLock {
            thread: number as u16,
            site: entry.site.load(Ordering::Relaxed),
            acquisitions: entry.acquisitions.load(Ordering::Relaxed).min(u32::MAX.into()) as u32,
            waited: entry.waited.load(Ordering::Relaxed) as f32,
            held: entry.held.load(Ordering::Relaxed) as f32,
        })
    }

    /// The region has ended: the calling thread goes on with what it did before.
    pub(super) fn end(&self, now: u64) {
        let position = ThreadPosition {
            slot: self.outer.load(Ordering::Relaxed) as *const ThreadSlot,
            generation: self.outer_generation.load(Ordering::Relaxed),
        };
        POSITION.set(position);
        let Some(outer) = position.slot() else { return };
        let inner = self.thread(0, now).durations.map(|ticks| ticks as u64);
        let elapsed = now.saturating_sub(outer.since.load(Ordering::Relaxed));
        let (useful, mpi) = (ThreadActivity::Useful as usize, ThreadActivity::Mpi as usize);
        // The time in MPI is found again when the outer region ends.
        outer.add(useful, inner[useful] + inner[mpi]);
        for index in [ThreadActivity::Lock as usize, ThreadActivity::Other as usize, LOCK_HELD] {
            outer.add(index, inner[index]);
        }
        let known = inner[useful] + inner[mpi] + inner[ThreadActivity::Lock as usize] + inner[ThreadActivity::Other as usize];
        outer.add(ThreadActivity::Barrier as usize, elapsed.saturating_sub(known));
        outer.since.store(now, Ordering::Relaxed);
        outer.activity.store(self.outer_activity.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
