//! Every place that was ever hooked, for ever: a thread may be in its moved code, or trap on its first byte, long after the hook is gone.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::code::{Beginning, JUMP, Moved, Refusal, Results};
use crate::near;
use crate::stub::MOST_HOOKS;

/// A hooked place.
pub struct Site {
    /// Where the jump stands or stood.
    pub address: u64,
    /// What stood there before.
    pub original: Vec<u8>,
    /// Where the moved instructions are.
    pub moved: u64,
    /// Where each instruction was, and where it is now.
    pub places: Vec<(u64, u64)>,
    /// Whether a thread can stand between two of the instructions.
    pub has_inner_places: bool,
    /// Where the function may leave results.
    pub results: Results,
    /// Where the jump leads: code that jumps on to the address that stands behind it.
    island: u64,
}

/// `xchg %ax, %ax; jmp *0(%rip)`, so that the address behind can be exchanged at one stroke.
const ISLAND: [u8; 8] = [0x66, 0x90, 0xff, 0x25, 0, 0, 0, 0];

impl Site {
    /// Writes the moved code and the island near the function.
    pub fn build(beginning: &Beginning, original: Vec<u8>, results: Results) -> Result<Site, Refusal> {
        let place = near::room(beginning.address, Beginning::MOST_BYTES).ok_or(Refusal::NotMovable)?;
        let island = near::room(beginning.address, 16).ok_or(Refusal::NotMovable)?;
        let Moved { bytes, places } = beginning.moved_to(place)?;
        // SAFETY: memory that was just given to us, writable and large enough; nobody runs it yet.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, bytes.len());
            std::ptr::copy_nonoverlapping(ISLAND.as_ptr(), island as *mut u8, ISLAND.len());
        }
        let address = beginning.address;
        Ok(Site { address, original, moved: place, places, has_inner_places: beginning.has_inner_places(), results, island })
    }

    /// Where a call of the function goes from now on, once the jump is in place.
    pub fn lead_to(&self, target: u64) {
        // SAFETY: the aligned word behind the island's jump.
        unsafe { (*((self.island + ISLAND.len() as u64) as *const AtomicU64)).store(target, Ordering::Release) };
    }

    /// The bytes with the jump in them.
    pub fn jump(&self) -> Vec<u8> {
        let distance = self.island.wrapping_sub(self.address + JUMP as u64) as u32;
        let mut bytes = vec![0xe9];
        bytes.extend(distance.to_le_bytes());
        // Never run, and never stood upon.
        bytes.resize(self.original.len(), 0x90);
        bytes
    }
}

static SITES: [AtomicPtr<Site>; MOST_HOOKS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_HOOKS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The sites so far, in the order of their hooks' numbers. Quick and without locks: signal handlers ask.
pub fn all() -> impl Iterator<Item = &'static Site> {
    let count = COUNT.load(Ordering::Acquire);
    // SAFETY: a site is written before it is counted, and never freed.
    SITES[..count].iter().filter_map(|site| unsafe { site.load(Ordering::Acquire).as_ref() })
}

/// Adds a site; its number, or `None` if there are too many. Only one thread adds at a time.
pub fn add(site: Site) -> Option<(usize, &'static Site)> {
    let number = COUNT.load(Ordering::Relaxed);
    let place = SITES.get(number)?;
    let site: &'static Site = Box::leak(Box::new(site));
    place.store(std::ptr::from_ref(site).cast_mut(), Ordering::Release);
    COUNT.store(number + 1, Ordering::Release);
    Some((number, site))
}
