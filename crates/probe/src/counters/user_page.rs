//! Reading a counter of the processor without a system call.
//!
//! The kernel says in a page that is mapped for each event which of the processor's counters has it at the moment, and what is to be added
//! to that counter. A lock word tells whether this has changed meanwhile: the thread was switched away.

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// The part of `struct perf_event_mmap_page` that is read, in words.
pub(super) type UserPage = [AtomicU64; 7];

/// Word indices; the first has the lock and, above it, the number of the counter plus one.
const LOCK_AND_INDEX: usize = 1;
const OFFSET: usize = 2;
const TIME_ENABLED: usize = 3;
const TIME_RUNNING: usize = 4;
const CAPABILITIES: usize = 5;
const WIDTH: usize = 6;

/// `cap_user_rdpmc`.
const MAY_READ: u64 = 1 << 2;

/// A thread that is switched away this often within some nanoseconds does not read its counters.
const TRIES: usize = 100;

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserCount {
    pub value: u64,
    /// Nanoseconds for which the event was to be counted and was not, until now.
    pub not_counted_ns: u64,
}

/// Whether the counter can be read without a system call.
pub(super) fn is_readable(page: &UserPage) -> bool {
    page[CAPABILITIES].load(Ordering::Relaxed) & MAY_READ != 0
}

/// Reads a counter. `None` if it is not counted at the moment, or if programs may no longer read it: the instruction would then end the
/// program. (The administrator can change that while the program runs.)
#[inline]
pub(super) fn read(page: &UserPage, read_counter: impl Fn(u32) -> u64) -> Option<UserCount> {
    for _ in 0..TRIES {
        let before = page[LOCK_AND_INDEX].load(Ordering::Relaxed);
        // The kernel writes the page in this thread, or while it does not run.
        compiler_fence(Ordering::SeqCst);
        let counter = ((before >> 32) as u32).checked_sub(1).filter(|_| is_readable(page))?;
        let load = |index: usize| page[index].load(Ordering::Relaxed);
        let unused_bits = 64_u32.checked_sub(u32::from(load(WIDTH) as u16))?;
        let count = (read_counter(counter).checked_shl(unused_bits)? as i64) >> unused_bits;
        let value = load(OFFSET).wrapping_add_signed(count);
        let not_counted_ns = load(TIME_ENABLED).saturating_sub(load(TIME_RUNNING));
        compiler_fence(Ordering::SeqCst);
        if page[LOCK_AND_INDEX].load(Ordering::Relaxed) == before {
            return Some(UserCount { value, not_counted_ns });
        }
    }
    None
}

/// The instruction that reads a counter of the processor. The kernel must have allowed it, as [`is_readable`] tells.
#[inline(always)]
pub(super) fn read_processor_counter(counter: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: changes nothing; allowed in processes that have mapped an event with `cap_user_rdpmc`.
    unsafe { core::arch::asm!("rdpmc", in("ecx") counter, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn page(index: u64, offset: u64, width: u64) -> UserPage {
        [0, 8 | index << 32, offset, 500, 300, MAY_READ, width].map(AtomicU64::new)
    }

    #[test]
    fn a_counter_is_narrower_than_a_word_and_may_be_negative() {
        let counter = |expected| move |counter| if counter == expected { 0xffff_ffff_ff00 } else { 0 };
        assert_eq!(read(&page(3, 1000, 48), counter(2)), Some(UserCount { value: 744, not_counted_ns: 200 }));
        assert_eq!(read(&page(3, 1000, 64), counter(2)).map(|count| count.value), Some(0xffff_ffff_ff00 + 1000));
    }

    #[test]
    fn an_event_that_is_not_on_the_processor_has_no_value() {
        assert_eq!(read(&page(0, 1000, 48), |_| unreachable!()), None);
        assert_eq!(read(&page(1, 1000, 0), |_| 5), None, "a page without a width");
        let not_allowed = page(1, 0, 48);
        assert!(is_readable(&not_allowed));
        not_allowed[CAPABILITIES].store(0, Ordering::Relaxed);
        assert!(!is_readable(&not_allowed));
        assert_eq!(read(&not_allowed, |_| unreachable!()), None);
    }

    #[test]
    fn a_reading_during_which_the_thread_was_switched_away_is_repeated() {
        let (page, reads) = (page(1, 10, 48), Cell::new(0));
        let counter = |_| {
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                // Switched away and back: the kernel has added to the offset, and starts with another value.
                page[OFFSET].store(70, Ordering::Relaxed);
                page[LOCK_AND_INDEX].store(10 | 1 << 32, Ordering::Relaxed);
            }
            reads.get()
        };
        assert_eq!(read(&page, counter).map(|count| count.value), Some(72));
        let always = |_| page[LOCK_AND_INDEX].fetch_add(2, Ordering::Relaxed);
        assert_eq!(read(&page, always), None);
    }
}
