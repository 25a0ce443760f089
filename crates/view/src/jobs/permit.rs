//! A permit for exclusive work: heavy jobs run one at a time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::progress::JobProgress;

/// Poll interval for cancelling a permit holder that nobody is waiting for.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A semaphore with one permit.
#[derive(Default)]
pub(crate) struct ExclusivePermit {
    /// The job that holds it.
    holder: Mutex<Option<Arc<JobProgress>>>,
    is_free: Condvar,
}

/// A held permit, released when dropped.
pub(crate) struct WorkPermit(Arc<ExclusivePermit>);

impl ExclusivePermit {
    /// Acquires the permit if it becomes free before the deadline. An unwanted holder is cancelled.
    pub(super) fn try_acquire(self: &Arc<ExclusivePermit>, progress: &Arc<JobProgress>, until: Instant) -> Option<WorkPermit> {
        let mut holder = self.lock();
        while let Some(other) = &*holder {
            other.cancel_if_unwanted();
            let patience = until.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return None;
            }
            let waited = self.is_free.wait_timeout(holder, patience.min(CANCEL_POLL_INTERVAL));
            (holder, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *holder = Some(Arc::clone(progress));
        Some(WorkPermit(Arc::clone(self)))
    }

    /// Acquires the permit, however long that takes.
    pub(crate) fn acquire(self: &Arc<ExclusivePermit>, progress: &Arc<JobProgress>) -> WorkPermit {
        const LONG: Duration = Duration::from_secs(1);
        loop {
            if let Some(permit) = self.try_acquire(progress, Instant::now() + LONG) {
                return permit;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<JobProgress>>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        *self.0.lock() = None;
        self.0.is_free.notify_all();
    }
}
