//! Times a call, less the cost of reading the clock.

use std::time::{Duration, Instant};

/// A clock that knows the cost of reading it.
#[derive(Clone, Copy)]
pub(super) struct CalibratedClock {
    read_cost: f64,
}

/// Least time returned: models divide by times.
const MIN_TIME: f64 = 1e-10;

impl CalibratedClock {
    pub(super) fn new() -> CalibratedClock {
        let mut costs: Vec<f64> = (0..1001).map(|_| Instant::now().elapsed().as_secs_f64()).collect();
        costs.sort_unstable_by(f64::total_cmp);
        CalibratedClock { read_cost: costs[costs.len() / 2] }
    }

    /// Seconds since `start`.
    pub(super) fn elapsed_since(&self, start: Instant) -> f64 {
        (start.elapsed().as_secs_f64() - self.read_cost).max(MIN_TIME)
    }

    /// Seconds that `work` takes.
    pub(super) fn time<E>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        let began = Instant::now();
        work()?;
        Ok(self.elapsed_since(began))
    }
}

/// Waits; spins if the time is short, since waking up takes longer.
pub(super) fn wait(time: Duration) {
    if time > Duration::from_millis(1) {
        std::thread::sleep(time);
        return;
    }
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}
