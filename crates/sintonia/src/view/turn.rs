//! A turn: of what takes much of the machine, one piece at a time is worked on.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::slow::Progress;

/// How long one waits before one looks again whether whoever has the turn is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// The right to begin.
#[derive(Default)]
pub struct Turn {
    /// Who has it.
    holder: Mutex<Option<Arc<Progress>>>,
    is_free: Condvar,
}

/// The turn of somebody, until it is dropped.
pub struct Held(Arc<Turn>);

impl Turn {
    /// Takes the turn when it is free before a moment. Whoever has it and is not wanted any more is told to end.
    pub fn take(self: &Arc<Turn>, progress: &Arc<Progress>, until: Instant) -> Option<Held> {
        let mut holder = self.lock();
        while let Some(other) = &*holder {
            other.end_if_unwanted();
            let patience = until.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return None;
            }
            let waited = self.is_free.wait_timeout(holder, patience.min(GLANCE));
            (holder, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *holder = Some(Arc::clone(progress));
        Some(Held(Arc::clone(self)))
    }

    /// Takes the turn, whenever it is free.
    pub fn wait(self: &Arc<Turn>, progress: &Arc<Progress>) -> Held {
        const LONG: Duration = Duration::from_secs(1);
        loop {
            if let Some(held) = self.take(progress, Instant::now() + LONG) {
                return held;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Progress>>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.lock() = None;
        self.0.is_free.notify_all();
    }
}
