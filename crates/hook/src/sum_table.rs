//! The memory of a table of sums.

use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_link::call_sums::TABLE_BYTES;

/// Target of writes by threads without a table, and by forked children.
#[repr(C, align(128))]
struct PrivateTable([AtomicU64; TABLE_BYTES / 8]);
static PRIVATE_TABLE: PrivateTable = PrivateTable([const { AtomicU64::new(0) }; TABLE_BYTES / 8]);

/// The address of a table that is never read.
pub(crate) fn private_table() -> usize {
    PRIVATE_TABLE.0.as_ptr() as usize
}

/// A word of a slot.
pub(crate) fn word(slot: usize, index: usize) -> &'static AtomicU64 {
    // SAFETY: slots lie in tables, which stay mapped.
    unsafe { &*((slot + 8 * index) as *const AtomicU64) }
}

/// Sets the sums of a table to zero. Calls in progress may still add their exits.
pub(crate) fn clear(table: usize) {
    // SAFETY: frees pages of our own shared memory, which then read as zero.
    let failed = unsafe { libc::madvise(table as *mut libc::c_void, TABLE_BYTES, libc::MADV_REMOVE) };
    if failed != 0 {
        (0..TABLE_BYTES / 8).for_each(|index| word(table, index).store(0, Ordering::Relaxed));
    }
}
