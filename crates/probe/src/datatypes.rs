//! Sizes of datatypes, remembered per thread so that a send does not ask MPI each time.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::library::{Handle, Library};

const PLACES: usize = 64;

/// Counts freed datatypes: a freed handle can come back with another size, so everything remembered is then forgotten.
static FREED: AtomicU32 = AtomicU32::new(0);

/// Must be called when a datatype is freed.
pub fn freed() {
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// Sizes of datatypes that a thread used lately.
pub struct SizeCache {
    freed: u32,
    places: [(Handle, u64); PLACES],
}

impl Default for SizeCache {
    fn default() -> Self {
        Self { freed: 0, places: [(0, 0); PLACES] }
    }
}

impl SizeCache {
    /// The size of a datatype. Only for handles that MPI has just accepted: asking for an invalid one would be an error of the program's.
    #[inline(always)]
    pub fn size(&mut self, library: &Library, datatype: Handle) -> u64 {
        let freed = FREED.load(Ordering::Relaxed);
        if freed != self.freed {
            *self = Self { freed, ..Self::default() };
        }
        let place = (datatype ^ datatype >> 6 ^ datatype >> 12) % PLACES;
        let (handle, size) = self.places[place];
        if handle == datatype {
            return size;
        }
        let size = library.datatype_size(datatype).unwrap_or(0);
        self.places[place] = (datatype, size);
        size
    }
}
