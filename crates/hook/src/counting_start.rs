//! Since when the calls of a hook are counted.

use std::time::Instant;

/// Start of counting, on the system's clock and in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountingStart {
    time: Instant,
    ticks: u64,
    /// Earlier calls, and their ticks.
    earlier: (u64, u64),
}

/// The time stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this counter; the stubs use it, too.
    unsafe { core::arch::x86_64::_rdtsc() }
}

impl CountingStart {
    /// Now, after this many calls with this many ticks.
    pub(crate) fn now(earlier: (u64, u64)) -> CountingStart {
        CountingStart { time: Instant::now(), ticks: ticks(), earlier }
    }

    /// Calls and their ticks since then, of all of them.
    pub(crate) fn since(&self, all: (u64, u64)) -> (u64, u64) {
        (all.0.wrapping_sub(self.earlier.0), all.1.wrapping_sub(self.earlier.1))
    }

    /// Seconds since then.
    pub(crate) fn elapsed_seconds(&self) -> f64 {
        self.time.elapsed().as_secs_f64()
    }

    /// Converts ticks to seconds.
    pub(crate) fn ticks_to_seconds(&self, count: u64) -> f64 {
        let elapsed = ticks().wrapping_sub(self.ticks).max(1);
        count as f64 * self.elapsed_seconds() / elapsed as f64
    }
}
