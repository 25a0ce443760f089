//! Removes hooks whose overhead exceeds their use: for a function that is called very often and is very short, the hook would dominate the
//! measurement. The rule is that of TAU's throttling.

use std::time::{Duration, Instant};

use crate::patch;
use crate::stub;

/// Number of calls that is always allowed.
const FREE_CALLS: u64 = 100_000;
/// Minimum mean duration for more calls.
const MIN_DURATION: Duration = Duration::from_micros(10);

/// Start of counting, on the system's clock and in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountingStart {
    time: Instant,
    ticks: u64,
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this counter; the stubs use it, too.
    unsafe { core::arch::x86_64::_rdtsc() }
}

impl CountingStart {
    /// Now.
    pub(crate) fn now() -> CountingStart {
        CountingStart { time: Instant::now(), ticks: ticks() }
    }

    /// Converts ticks to seconds.
    fn ticks_to_seconds(&self, count: u64) -> f64 {
        let elapsed = ticks().wrapping_sub(self.ticks).max(1);
        count as f64 * self.time.elapsed().as_secs_f64() / elapsed as f64
    }
}

/// A hook that was removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThrottledHook {
    /// Hook number.
    pub hook: u32,
    /// Calls since recording started.
    pub calls: u64,
    /// Mean duration of a call; if only entries are recorded, mean time between calls.
    pub seconds_per_call: f64,
}

/// Removes hooks of functions that are called too often for their duration. A hook with scheduled actions stays.
pub fn throttle_hooks() -> Vec<ThrottledHook> {
    let mut throttled = Vec::new();
    for (hook, since) in patch::throttled_candidates() {
        let entry = stub::entry(hook as usize);
        let (calls, ticks) = entry.counts();
        if calls <= FREE_CALLS || entry.has_actions() {
            continue;
        }
        let all = if ticks > 0 { since.ticks_to_seconds(ticks) } else { since.time.elapsed().as_secs_f64() };
        let seconds_per_call = all / calls as f64;
        if seconds_per_call < MIN_DURATION.as_secs_f64() {
            // A jump that cannot be removed costs next to nothing.
            let _ = patch::stop_recording(hook);
            throttled.push(ThrottledHook { hook, calls, seconds_per_call });
        }
    }
    throttled
}
