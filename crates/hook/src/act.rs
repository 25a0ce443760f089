//! What is to be done in the program at a moment that a hook sees: so a change comes when no thread is in the middle of using it.

use std::panic::catch_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sintonia_link::order::{Act, Side, When, Width};

use crate::ring::Place;
use crate::stub::{self, Entry};

/// Does acts that are not about memory; what they give, or why they cannot be done.
pub type Doer = fn(&Act) -> Result<u64, String>;

static DOER: OnceLock<Doer> = OnceLock::new();

/// Says who does acts that are not about memory.
pub fn entrust(doer: Doer) {
    let _ = DOER.set(doer);
}

/// Does it now; what was there before, or what the function returned, or why it cannot be done.
///
/// # Safety
/// The address must be that of a variable of this width, or of a function with such arguments.
pub unsafe fn perform(act: &Act) -> Result<u64, String> {
    // SAFETY: as the caller promises.
    unsafe {
        match act {
            Act::Set { address, behind, width, bits } => {
                let address = follow(*address, behind).ok_or("a pointer on the way to it is null")?;
                Ok(set(address, *width, *bits))
            }
            Act::Call { address, words: [a, b, c, d, e, f], floats: [s, t, u, v] } => {
                let function: extern "C" fn(u64, u64, u64, u64, u64, u64, f64, f64, f64, f64) -> u64 = std::mem::transmute(*address);
                Ok(function(*a, *b, *c, *d, *e, *f, *s, *t, *u, *v))
            }
            Act::Load { .. } | Act::Environment { .. } | Act::Control { .. } => {
                DOER.get().ok_or("nothing in the process knows how to do it")?(act)
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
#[derive(Debug)]
pub struct Pending {
    acts: Vec<Act>,
    when: When,
    /// Whether a thread has begun with it, or it was taken back: what is to be done once is not done again.
    is_taken: AtomicBool,
    /// What each act gave the first time.
    given: OnceLock<Vec<Result<u64, String>>>,
}

impl Pending {
    /// What each act gave the first time, once it has been done.
    pub fn given(&self) -> Option<&[Result<u64, String>]> {
        self.given.get().map(Vec::as_slice)
    }

    /// Whether it may be done once more.
    fn is_open(&self) -> bool {
        !self.is_taken.load(Ordering::Acquire)
    }

    fn perform(&self) {
        // Of several threads that come at once, one does what is to be done once.
        let is_taken = match self.when {
            When::Once => self.is_taken.swap(true, Ordering::AcqRel),
            When::Always => !self.is_open(),
        };
        if is_taken {
            return;
        }
        // SAFETY: whoever arranged it promised.
        let given = self.acts.iter().map(|act| unsafe { perform(act) }).collect();
        let _ = self.given.set(given);
    }
}

/// All that is to be done at one side of a hook, in the order in which it was asked for; never changed, only replaced by another.
type Plan = Vec<&'static Pending>;

/// The plan at one side of a hook.
struct Slot(&'static AtomicU64);

impl Slot {
    fn of(hook: u32, side: Side) -> Slot {
        Slot(&stub::entry(hook as usize).acts[side as usize])
    }

    fn plan(&self) -> (u64, &'static [&'static Pending]) {
        let address = self.0.load(Ordering::Acquire);
        // SAFETY: plans are never freed: a thread may be at one.
        (address, unsafe { (address as *const Plan).as_ref() }.map_or(&[], Vec::as_slice))
    }

    /// Replaces the plan by what is still open of it, and something more.
    fn renew(&self, more: Option<&'static Pending>) {
        loop {
            let (address, plan) = self.plan();
            let new: Plan = plan.iter().copied().filter(|pending| pending.is_open()).chain(more).collect();
            let new = if new.is_empty() { 0 } else { std::ptr::from_ref(Box::leak(Box::new(new))) as u64 };
            if self.0.compare_exchange(address, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}

/// Lets something be done at a hook, after what is to be done there already; it is never freed, a thread may be doing it.
///
/// # Safety
/// As for [`perform`], at every such moment to come.
pub unsafe fn arrange(hook: u32, side: Side, acts: Vec<Act>, when: When) -> &'static Pending {
    let pending: &'static Pending = Box::leak(Box::new(Pending { acts, when, is_taken: AtomicBool::new(false), given: OnceLock::new() }));
    Slot::of(hook, side).renew(Some(pending));
    pending
}

/// Takes back what was arranged at a hook; `false` if it was to be done once, and is done.
pub fn cancel(hook: u32, side: Side, pending: &Pending) -> bool {
    let was_open = !pending.is_taken.swap(true, Ordering::AcqRel);
    Slot::of(hook, side).renew(None);
    was_open
}

/// Called by the stub when something is to be done.
///
/// # Safety
/// The entry must be that of the hook, the moment 1 or 2.
pub unsafe extern "C" fn act(_place: *mut Place, entry: *const Entry, moment: u32) -> u64 {
    // SAFETY: the stub passes its entry, and 1 or 2.
    let slot = Slot(unsafe { &(&(*entry).acts)[moment as usize - 1] });
    let (address, plan) = slot.plan();
    // The program goes on, whatever happens here.
    let _ = catch_unwind(|| plan.iter().for_each(|pending| pending.perform()));
    // Calls to come need not even ask. Should the plan have been replaced meanwhile, the new one stays.
    if !plan.iter().any(|pending| pending.is_open()) {
        let _ = slot.0.compare_exchange(address, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
    0
}
