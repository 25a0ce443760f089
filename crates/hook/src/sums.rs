//! Sums over the calls of each function, kept by each thread for itself in the memory behind its ring. The layout is defined in
//! [`sintonia_link::call_sums`]; the stubs add the calls of hooked functions, this module those of MPI functions.
//!
//! Each word is changed by one instruction, so a hooked signal handler that interrupts a stub loses nothing.

use std::sync::atomic::Ordering;

use sintonia_link::call_sums::{HOOK_SLOTS, MAXIMUM_BITS, SlotWords, slot_offset};
use sintonia_link::ring::MPI_FUNCTION;

use crate::ring::{self, RingCursor};
use crate::stub::{HookEntry, MOST_HOOKS};
use crate::sum_table::word;

const _: () = assert!(HOOK_SLOTS == MOST_HOOKS);

/// Called by a stub whose thread has no table yet.
///
/// # Safety
/// `cursor` must be that of the calling thread, `entry` that of the hook.
pub(crate) unsafe extern "C" fn claim(cursor: *mut RingCursor, entry: *const HookEntry, _moment: u32) -> usize {
    // SAFETY: the stub passes the cursor of its own thread and the entry of its hook.
    unsafe { (*cursor).claim_sums(!(*entry).records_events()) }
}

/// Number of calls of a hook in all threads, and the ticks of those that have returned.
pub(crate) fn calls_and_ticks(hook: u32) -> (u64, u64) {
    let of_table = |table: usize| {
        let slot = table + slot_offset(hook);
        (word(slot, SlotWords::ENTRIES).load(Ordering::Relaxed), word(slot, SlotWords::DURATION).load(Ordering::Relaxed))
    };
    ring::sum_tables().map(of_table).fold((0, 0), |all, one| (all.0.wrapping_add(one.0), all.1.wrapping_add(one.1)))
}

/// Adds to a word that only this thread writes.
fn add(slot: usize, index: usize, amount: u64) -> bool {
    let word = word(slot, index);
    let (sum, overflows) = word.load(Ordering::Relaxed).overflowing_add(amount);
    word.store(sum, Ordering::Relaxed);
    overflows
}

/// Adds a value to a quantity.
fn add_quantity(slot: usize, first: usize, value: u64, generation: u64) {
    add(slot, first, value);
    let square = u128::from(value) * u128::from(value);
    let carry = add(slot, first + 1, square as u64);
    add(slot, first + 2, ((square >> 64) as u64).wrapping_add(u64::from(carry)));
    let maximum = word(slot, first + 3 + (generation >> MAXIMUM_BITS & 1) as usize);
    let packed = generation | value.min((1 << MAXIMUM_BITS) - 1);
    if packed > maximum.load(Ordering::Relaxed) {
        maximum.store(packed, Ordering::Relaxed);
    }
}

/// The table of the calling thread, and the slot of an MPI function in it.
fn mpi_slot(function: u16) -> (&'static mut RingCursor, usize, usize) {
    // SAFETY: the cursor of this thread; MPI functions are not called from signal handlers.
    let cursor = unsafe { &mut *ring::ring_cursor() };
    let table = if cursor.sums == 0 { cursor.claim_sums(true) } else { cursor.sums };
    (cursor, table, table + slot_offset(MPI_FUNCTION | u32::from(function)))
}

/// A call of an MPI function begins.
pub fn enter_mpi(function: u16) {
    let (_, _, slot) = mpi_slot(function);
    add(slot, SlotWords::ENTRIES, 1);
}

/// A call of an MPI function returns after this many ticks.
pub fn leave_mpi(function: u16, ticks: u64, bytes: u64) {
    let (cursor, table, slot) = mpi_slot(function);
    let generation = word(table, 0).load(Ordering::Relaxed);
    add(slot, SlotWords::EXITS, 1);
    add_quantity(slot, SlotWords::DURATION, ticks, generation);
    add_quantity(slot, SlotWords::SECOND, bytes, generation);
    cursor.mpi_ticks = cursor.mpi_ticks.wrapping_add(ticks);
}
