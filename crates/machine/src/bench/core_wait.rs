//! How long this thread waited for a core: what the kernel's scheduler says, not a guess from times that look long.

use std::time::{Duration, Instant};

/// How long a process is busy to find its share of a processor: several periods of a quota.
const BUSY_TIME: Duration = Duration::from_millis(400);

/// The share of the time for which this thread has a core if it always wants one: less than one where a quota stops it, or others run.
pub(super) fn processor_share() -> f64 {
    let timer = CoreWaitTimer::start();
    while timer.began.elapsed() < BUSY_TIME {
        std::hint::spin_loop();
    }
    1.0 - timer.share()
}

/// Measures the share of a period that this thread was ready to run but had no core.
pub(super) struct CoreWaitTimer {
    began: Instant,
    waited_ns: Option<u64>,
}

impl CoreWaitTimer {
    /// Begins the period.
    pub(super) fn start() -> CoreWaitTimer {
        CoreWaitTimer { waited_ns: waited_ns(), began: Instant::now() }
    }

    /// The share of the period that is over; 0 where the kernel does not say.
    pub(super) fn share(&self) -> f64 {
        let elapsed_ns = self.began.elapsed().as_nanos() as f64;
        let waited = self.waited_ns.zip(waited_ns()).map_or(0, |(before, now)| now.saturating_sub(before));
        (waited as f64 / elapsed_ns.max(1.0)).min(1.0)
    }
}

/// Nanoseconds that this thread has waited for a core since it began.
fn waited_ns() -> Option<u64> {
    parse_waited(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second number of `schedstat`: time on a core, time waiting for one, number of time slices.
fn parse_waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_the_second_number() {
        assert_eq!(parse_waited("117086 2991542 2\n"), Some(2_991_542));
        assert_eq!(parse_waited("117086\n"), None);
    }

    #[test]
    fn the_share_is_at_most_everything() {
        let timer = CoreWaitTimer { began: Instant::now(), waited_ns: waited_ns().map(|_| 0) };
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!((0.0..=1.0).contains(&timer.share()));
    }
}
