//! Removes hooks whose overhead exceeds their use: for a function that is called very often and is very short, the hook would dominate the
//! measurement. The rule is that of TAU's throttling; a hook that only adds to sums costs less, and no reader has to follow it.

use std::time::Duration;

use sintonia_link::probe_protocol::HookCount;

use crate::counting_start::CountingStart;
use crate::patch;
use crate::stub::{self, HookEntry};
use crate::sums;

/// Number of calls that is always allowed.
const FREE_CALLS: u64 = 100_000;
/// Minimum mean duration for more calls if their events are recorded.
const MIN_RECORDED: Duration = Duration::from_micros(10);
/// Minimum mean duration for more calls if they only add to sums: the hook then takes a few percent of it.
const MIN_SUMMED: Duration = Duration::from_micros(1);

/// A hook that was removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThrottledHook {
    /// Hook number.
    pub hook: u32,
    /// Calls since recording started.
    pub calls: u64,
    /// Mean duration of a call; if only entries are seen, mean time between calls.
    pub seconds_per_call: f64,
}

/// Calls of the functions with hooks that may be throttled and were not.
pub fn call_counts() -> Vec<HookCount> {
    let count = |(hook, since): (u32, CountingStart)| {
        let (calls, ticks) = since.since(sums::calls_and_ticks(hook));
        HookCount { hook, calls, seconds: since.ticks_to_seconds(ticks), counted_seconds: since.elapsed_seconds() }
    };
    patch::throttled_candidates().into_iter().map(count).collect()
}

/// Removes hooks of functions that are called too often for their duration. A hook with scheduled actions stays.
pub fn throttle_hooks() -> Vec<ThrottledHook> {
    let mut throttled = Vec::new();
    for (hook, since) in patch::throttled_candidates() {
        let entry = stub::entry(hook as usize);
        let (calls, ticks) = since.since(sums::calls_and_ticks(hook));
        if calls <= FREE_CALLS || entry.has_actions() {
            continue;
        }
        let all = if ticks > 0 { since.ticks_to_seconds(ticks) } else { since.elapsed_seconds() };
        let seconds_per_call = all / calls as f64;
        if seconds_per_call < min_duration(entry).as_secs_f64() {
            // A jump that cannot be removed costs next to nothing.
            let _ = patch::stop_recording(hook);
            throttled.push(ThrottledHook { hook, calls, seconds_per_call });
        }
    }
    throttled
}

fn min_duration(entry: &HookEntry) -> Duration {
    if entry.records_events() { MIN_RECORDED } else { MIN_SUMMED }
}

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::Recorded;

    use super::*;

    #[test]
    fn a_hook_that_only_sums_may_be_called_more_often() {
        let entry = stub::entry(stub::MOST_HOOKS - 1);
        for (at_entry, at_exit, expected) in [(true, true, MIN_RECORDED), (false, true, MIN_RECORDED), (false, false, MIN_SUMMED)] {
            entry.set_records(Recorded { entry: at_entry, exit: at_exit, sums: true });
            assert_eq!(min_duration(entry), expected);
        }
        entry.set_records(Recorded::ALL);
    }
}
