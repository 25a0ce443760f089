//! Every site that was ever hooked, kept forever: a thread may be in its relocated code, or trap at its first byte, long after the hook is
//! gone.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::code_arena;
use crate::prologue::{FunctionPrologue, HookRefusal, JUMP_BYTES, RelocatedCode, ResultRegisters};
use crate::stub::MOST_HOOKS;

/// A hook site.
pub(crate) struct HookSite {
    /// Address of the jump.
    pub address: u64,
    /// The original bytes.
    pub original: Vec<u8>,
    /// Address of the relocated instructions.
    pub relocated: u64,
    /// Old and new address of each instruction.
    pub address_map: Vec<(u64, u64)>,
    /// Whether a thread can be stopped between two of the instructions.
    pub has_inner_boundary: bool,
    /// Result registers of the function.
    pub results: ResultRegisters,
    /// Target of the jump: code that jumps on to the address stored after it.
    island: u64,
}

/// `xchg %ax, %ax; jmp *0(%rip)`, so that the following address is aligned and can be replaced atomically.
const ISLAND: [u8; 8] = [0x66, 0x90, 0xff, 0x25, 0, 0, 0, 0];

impl HookSite {
    /// Writes the relocated code and the island near the function.
    pub(crate) fn build(prologue: &FunctionPrologue, original: Vec<u8>, results: ResultRegisters) -> Result<HookSite, HookRefusal> {
        let relocated = code_arena::allocate(prologue.address, FunctionPrologue::MAX_RELOCATED_BYTES).ok_or(HookRefusal::NotMovable)?;
        let island = code_arena::allocate(prologue.address, 16).ok_or(HookRefusal::NotMovable)?;
        let RelocatedCode { bytes, address_map } = prologue.relocate(relocated)?;
        // SAFETY: memory just allocated to us, writable and large enough; no thread executes it yet.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), relocated as *mut u8, bytes.len());
            std::ptr::copy_nonoverlapping(ISLAND.as_ptr(), island as *mut u8, ISLAND.len());
        }
        let address = prologue.address;
        Ok(HookSite { address, original, relocated, address_map, has_inner_boundary: prologue.has_inner_boundary(), results, island })
    }

    /// Sets the target of calls through the jump.
    pub(crate) fn set_target(&self, target: u64) {
        // SAFETY: the aligned word after the island's jump.
        unsafe { (*((self.island + ISLAND.len() as u64) as *const AtomicU64)).store(target, Ordering::Release) };
    }

    /// The replacement bytes with the jump.
    pub(crate) fn jump_bytes(&self) -> Vec<u8> {
        let distance = self.island.wrapping_sub(self.address + JUMP_BYTES as u64) as u32;
        let mut bytes = vec![0xe9];
        bytes.extend(distance.to_le_bytes());
        // Never executed.
        bytes.resize(self.original.len(), 0x90);
        bytes
    }
}

static SITES: [AtomicPtr<HookSite>; MOST_HOOKS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_HOOKS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The sites so far, by hook number. Lock-free, because signal handlers use it.
pub(crate) fn all() -> impl Iterator<Item = &'static HookSite> {
    let count = COUNT.load(Ordering::Acquire);
    // SAFETY: a site is written before it is counted, and never freed.
    SITES[..count].iter().filter_map(|site| unsafe { site.load(Ordering::Acquire).as_ref() })
}

/// Adds a site and returns its number, or `None` if there are too many. Callers are serialised.
pub(crate) fn add(site: HookSite) -> Option<(usize, &'static HookSite)> {
    let number = COUNT.load(Ordering::Relaxed);
    let slot = SITES.get(number)?;
    let site: &'static HookSite = Box::leak(Box::new(site));
    slot.store(std::ptr::from_ref(site).cast_mut(), Ordering::Release);
    COUNT.store(number + 1, Ordering::Release);
    Some((number, site))
}
