//! Taking the time of one call, less the time that taking the time takes.

use std::time::{Duration, Instant};

/// A clock that knows what reading it costs.
#[derive(Clone, Copy)]
pub struct Clock {
    cost: f64,
}

/// No time is shown as less: models divide by times.
const LEAST: f64 = 1e-10;

impl Clock {
    pub fn new() -> Clock {
        let mut costs: Vec<f64> = (0..1001).map(|_| Instant::now().elapsed().as_secs_f64()).collect();
        costs.sort_unstable_by(f64::total_cmp);
        Clock { cost: costs[costs.len() / 2] }
    }

    /// The seconds since then.
    pub fn since(&self, began: Instant) -> f64 {
        (began.elapsed().as_secs_f64() - self.cost).max(LEAST)
    }

    /// The seconds that `work` takes.
    pub fn time<E>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        let began = Instant::now();
        work()?;
        Ok(self.since(began))
    }
}

/// Lets time pass: busily if it is short, since waking up takes longer.
pub fn pause(time: Duration) {
    if time > Duration::from_millis(1) {
        std::thread::sleep(time);
        return;
    }
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}
