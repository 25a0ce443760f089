//! What is to be done in the program at a moment that a hook sees: so a change comes when no thread is in the middle of using it.

use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_link::order::{Act, Side, When, Width};

use crate::ring::Place;
use crate::stub::{self, Entry};

/// Does it now; what was there before, or what the function returned; `None` if a pointer on the way is null.
///
/// # Safety
/// The address must be that of a variable of this width, or of a function with such arguments.
pub unsafe fn perform(act: &Act) -> Option<u64> {
    // SAFETY: as the caller promises.
    unsafe {
        match act {
            Act::Set { address, behind, width, bits } => follow(*address, behind).map(|address| set(address, *width, *bits)),
            Act::Call { address, words: [a, b, c, d, e, f], floats: [s, t, u, v] } => {
                let function: extern "C" fn(u64, u64, u64, u64, u64, u64, f64, f64, f64, f64) -> u64 = std::mem::transmute(*address);
                Some(function(*a, *b, *c, *d, *e, *f, *s, *t, *u, *v))
            }
        }
    }
}

/// Where a value is that stands behind pointers.
///
/// # Safety
/// There must be a pointer at the address, and at each place it leads to but the last.
unsafe fn follow(address: u64, behind: &[u64]) -> Option<u64> {
    behind.iter().try_fold(address, |address, distance| {
        // SAFETY: as the caller promises.
        let pointer = unsafe { (*(address as *const AtomicU64)).load(Ordering::Acquire) };
        (pointer != 0).then(|| pointer.wrapping_add(*distance))
    })
}

/// Writes a value at one stroke; the one before.
///
/// # Safety
/// There must be a variable of this width at the address.
unsafe fn set(address: u64, width: Width, bits: u64) -> u64 {
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32};
    let order = Ordering::SeqCst;
    // SAFETY: as the caller promises; variables stand at multiples of their width.
    unsafe {
        match width {
            Width::One => (*(address as *const AtomicU8)).swap(bits as u8, order).into(),
            Width::Two => (*(address as *const AtomicU16)).swap(bits as u16, order).into(),
            Width::Four => (*(address as *const AtomicU32)).swap(bits as u32, order).into(),
            Width::Eight => (*(address as *const AtomicU64)).swap(bits, order),
        }
    }
}

/// What is to be done, and what came of it.
pub struct Pending {
    acts: Vec<Act>,
    when: When,
    /// How often it was done.
    pub done: AtomicU64,
    /// What each act gave the first time.
    pub given: Vec<AtomicU64>,
}

/// Lets something be done at a hook; it is never freed, a thread may be doing it.
///
/// # Safety
/// As for [`perform`], at every such moment to come.
pub unsafe fn arrange(hook: u32, side: Side, acts: Vec<Act>, when: When) -> &'static Pending {
    let given = acts.iter().map(|_| AtomicU64::new(0)).collect();
    let pending: &'static Pending = Box::leak(Box::new(Pending { acts, when, done: AtomicU64::new(0), given }));
    stub::entry(hook as usize).acts[side as usize].store(std::ptr::from_ref(pending) as u64, Ordering::Release);
    pending
}

/// What is arranged at a hook is not done any more.
pub fn cancel(hook: u32, side: Side) {
    stub::entry(hook as usize).acts[side as usize].store(0, Ordering::Release);
}

/// Called by the stub when something is to be done.
///
/// # Safety
/// The entry must be that of the hook, the moment 1 or 2.
pub unsafe extern "C" fn act(_place: *mut Place, entry: *const Entry, moment: u32) -> u64 {
    // SAFETY: the stub passes its entry, and 1 or 2.
    let slot = unsafe { &(&(*entry).acts)[moment as usize - 1] };
    let address = slot.load(Ordering::Acquire);
    // SAFETY: what is arranged is never freed.
    let Some(pending) = (unsafe { (address as *const Pending).as_ref() }) else { return 0 };
    // Of several threads that come at once, one does what is to be done once.
    if pending.when == When::Once && slot.compare_exchange(address, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return 0;
    }
    let first = pending.done.load(Ordering::Relaxed) == 0;
    for (wanted, given) in pending.acts.iter().zip(&pending.given) {
        // SAFETY: whoever arranged it promised.
        let result = unsafe { perform(wanted) }.unwrap_or(0);
        if first {
            given.store(result, Ordering::Relaxed);
        }
    }
    pending.done.fetch_add(1, Ordering::Release);
    0
}
