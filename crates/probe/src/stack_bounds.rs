//! The stack of a thread: words outside it are not read.

use std::mem::MaybeUninit;

/// Bytes of the stack that unwinding may need.
const ROOM: u64 = 32 << 10;

/// Addresses of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackBounds {
    low: u64,
    high: u64,
}

impl StackBounds {
    /// No address is in it.
    pub(crate) const UNKNOWN: StackBounds = StackBounds { low: 0, high: 0 };

    /// The stack that the system gave this thread. A program may run on another one, for a signal handler or a coroutine.
    pub(crate) fn of_this_thread() -> StackBounds {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        let (mut address, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the attributes are initialised by the first call, and freed if it succeeds.
        let is_known = unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return StackBounds::UNKNOWN;
            }
            let is_known = libc::pthread_attr_getstack(attributes.as_ptr(), &mut address, &mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            is_known
        };
        if is_known { StackBounds { low: address as u64, high: address as u64 + size as u64 } } else { StackBounds::UNKNOWN }
    }

    /// Whether a stack pointer is in it, with room below for the unwinding itself.
    pub(crate) fn has_room_below(self, stack_pointer: u64) -> bool {
        (self.low.saturating_add(ROOM)..self.high).contains(&stack_pointer)
    }

    /// Whether an address is in it.
    pub(crate) fn contains(self, address: u64) -> bool {
        (self.low..self.high).contains(&address)
    }

    /// The address behind it.
    pub(crate) fn end(self) -> u64 {
        self.high
    }

    /// A word of the stack above the given stack pointer, which is in it; `None` outside.
    pub(crate) fn read(self, stack_pointer: u64, address: u64) -> Option<u64> {
        let is_inside = address >= stack_pointer && address.is_multiple_of(8) && address.checked_add(8)? <= self.high;
        // SAFETY: an aligned word between the stack pointer of this thread and the end of its stack.
        is_inside.then(|| unsafe { (address as *const u64).read() })
    }
}
