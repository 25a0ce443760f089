//! Hooks that cost more than they tell take themselves out: a function that is called very often and takes very little time would be slowed
//! down by being looked at, and what is told of it would be the looking. The rule is that of TAU.

use std::time::{Duration, Instant};

use crate::patch;
use crate::stub;

/// So often a function may be called in any case.
const CALLS: u64 = 100_000;
/// So long a call must take on the average to be looked at more often.
const LEAST: Duration = Duration::from_micros(10);

/// When counting began, on the system's clock and in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    time: Instant,
    ticks: u64,
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this counter; the stubs read it, too.
    unsafe { core::arch::x86_64::_rdtsc() }
}

impl Since {
    /// Now.
    pub fn now() -> Since {
        Since { time: Instant::now(), ticks: ticks() }
    }

    /// How long ticks take.
    fn seconds_of(&self, count: u64) -> f64 {
        let elapsed = ticks().wrapping_sub(self.ticks).max(1);
        count as f64 * self.time.elapsed().as_secs_f64() / elapsed as f64
    }
}

/// A hook that took itself out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttled {
    /// Its number.
    pub hook: u32,
    /// How often the function was called since calls were noted.
    pub calls: u64,
    /// How long a call took on the average; where only entries are noted, how much time there was for one.
    pub seconds_per_call: f64,
}

/// Takes out those that are called too often for what they do. What waits to be done at a hook keeps it in place.
pub fn throttle() -> Vec<Throttled> {
    let mut throttled = Vec::new();
    for (hook, since) in patch::throttling() {
        let entry = stub::entry(hook as usize);
        let (calls, ticks) = entry.counts();
        if calls <= CALLS || entry.has_something_to_do() {
            continue;
        }
        let all = if ticks > 0 { since.seconds_of(ticks) } else { since.time.elapsed().as_secs_f64() };
        let seconds_per_call = all / calls as f64;
        if seconds_per_call < LEAST.as_secs_f64() {
            // Should the jump have to stay, it costs next to nothing.
            let _ = patch::unnote(hook);
            throttled.push(Throttled { hook, calls, seconds_per_call });
        }
    }
    throttled
}
