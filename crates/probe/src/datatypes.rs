//! Per-thread cache of datatype sizes, so that a send does not query MPI each time.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::library::{Handle, ProgramMpi};

const CACHE_SLOTS: usize = 64;

/// Incremented when a datatype is freed: its handle may be reused with another size, so caches are cleared.
static FREED: AtomicU32 = AtomicU32::new(0);

/// Must be called when a datatype is freed.
pub(crate) fn datatype_freed() {
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// Sizes of datatypes that a thread used recently.
pub(crate) struct DatatypeSizeCache {
    freed: u32,
    slots: [(Handle, u64); CACHE_SLOTS],
}

impl Default for DatatypeSizeCache {
    fn default() -> Self {
        Self { freed: 0, slots: [(0, 0); CACHE_SLOTS] }
    }
}

impl DatatypeSizeCache {
    /// The size of a datatype. Only for handles that MPI has just accepted: querying an invalid one would raise the program's error
    /// handler.
    #[inline(always)]
    pub(crate) fn size(&mut self, library: &ProgramMpi, datatype: Handle) -> u64 {
        let freed = FREED.load(Ordering::Relaxed);
        if freed != self.freed {
            *self = Self { freed, ..Self::default() };
        }
        let slot = (datatype ^ datatype >> 6 ^ datatype >> 12) % CACHE_SLOTS;
        let (handle, size) = self.slots[slot];
        if handle == datatype {
            return size;
        }
        let size = library.datatype_size(datatype).unwrap_or(0);
        self.slots[slot] = (datatype, size);
        size
    }
}
