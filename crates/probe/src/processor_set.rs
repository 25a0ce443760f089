//! Sets of logical processors, as the kernel writes them: `0-3,8`.
//!
//! Affinity masks are compared with files of `/sys`, with `taskset -c` and with what launchers print, so they are kept in that form.

use std::fmt::Write;

/// Bits of one word of a mask.
const WORD_BITS: usize = u64::BITS as usize;
/// Words of the largest mask that is asked for: more processors than any kernel supports.
const MAX_WORDS: usize = 1024;

/// The processors on which a thread may run; `None` if the kernel does not tell. 0 is the calling thread.
pub(crate) fn affinity(thread: libc::pid_t) -> Option<String> {
    // The kernel refuses a mask that is smaller than its own, whose size it does not tell. 1024 processors suffice nearly everywhere.
    let mut words = 16;
    while words <= MAX_WORDS {
        let mut mask = vec![0u64; words];
        // SAFETY: the kernel writes at most the given number of bytes to the mask.
        let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, words * size_of::<u64>(), mask.as_mut_ptr()) };
        if written > 0 {
            return Some(format_mask(&mask));
        }
        words *= 4;
    }
    None
}

/// Writes a mask as ranges.
fn format_mask(mask: &[u64]) -> String {
    let is_set = |processor: usize| mask.get(processor / WORD_BITS).is_some_and(|word| word >> (processor % WORD_BITS) & 1 == 1);
    let mut text = String::new();
    let mut processor = 0;
    while processor < mask.len() * WORD_BITS {
        if !is_set(processor) {
            processor += 1;
            continue;
        }
        let first = processor;
        while is_set(processor) {
            processor += 1;
        }
        let separator = if text.is_empty() { "" } else { "," };
        let _ = match processor - first {
            1 => write!(text, "{separator}{first}"),
            _ => write!(text, "{separator}{first}-{}", processor - 1),
        };
    }
    text
}

/// The processors of a set that is written as ranges; `None` if it is not one.
pub(crate) fn parse(text: &str) -> Option<Vec<u32>> {
    let mut processors = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last as usize >= MAX_WORDS * WORD_BITS {
            return None;
        }
        processors.extend(first..=last);
    }
    Some(processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_parsed() {
        assert_eq!(parse("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse("7"), Some(vec![7]));
        for wrong in ["", "a", "1-", "0-4000000000", "1,,2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn masks_are_written_as_the_kernel_writes_them() {
        for (mask, text) in [
            (vec![0], ""),
            (vec![1], "0"),
            (vec![0b11], "0-1"),
            (vec![0b1101], "0,2-3"),
            (vec![1 << 63, 1], "63-64"),
            (vec![u64::MAX, u64::MAX, 0b10], "0-127,129"),
        ] {
            assert_eq!(format_mask(&mask), text);
        }
    }

    /// `/proc/self/status` has the same mask, written by the kernel.
    #[test]
    fn the_affinity_of_this_thread_is_that_of_proc() {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        assert_eq!(affinity(0).unwrap(), allowed.trim());
    }
}
