//! A lock for code that the program can leave at any point.
//!
//! A signal handler of the program may jump out of the probe while it holds a lock: then nobody ever releases it. So nobody waits for one
//! for long, and a thread does not wait for itself at all.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How long, and how often, a lock is tried.
const PAUSE: Duration = Duration::from_micros(100);
const TRIES: u32 = 10_000;

/// A value that is locked.
pub(crate) struct BreakableLock<T> {
    value: Mutex<T>,
    /// The system's id of the thread that has it; 0 if none has.
    owner: AtomicI32,
    /// Whether somebody has waited for it in vain: nobody waits again.
    is_abandoned: AtomicBool,
}

/// The locked value.
pub(crate) struct BreakableGuard<'a, T> {
    value: MutexGuard<'a, T>,
    owner: &'a AtomicI32,
}

impl<T> BreakableLock<T> {
    pub(crate) const fn new(value: T) -> BreakableLock<T> {
        BreakableLock { value: Mutex::new(value), owner: AtomicI32::new(0), is_abandoned: AtomicBool::new(false) }
    }

    /// Locks the value; `None` if the thread that holds it does not release it.
    pub(crate) fn lock(&self) -> Option<BreakableGuard<'_, T>> {
        // SAFETY: only queries the thread id.
        let own_id = unsafe { libc::gettid() };
        let tries = if self.is_abandoned.load(Ordering::Relaxed) { 1 } else { TRIES };
        for _ in 0..tries {
            match self.value.try_lock().map_err(unpoisoned) {
                Ok(value) | Err(Some(value)) => {
                    self.owner.store(own_id, Ordering::Relaxed);
                    self.is_abandoned.store(false, Ordering::Relaxed);
                    return Some(BreakableGuard { value, owner: &self.owner });
                }
                Err(None) if self.owner.load(Ordering::Relaxed) == own_id => return None,
                Err(None) if tries == 1 => return None,
                Err(None) => std::thread::sleep(PAUSE),
            }
        }
        self.is_abandoned.store(true, Ordering::Relaxed);
        None
    }
}

fn unpoisoned<T>(error: TryLockError<MutexGuard<T>>) -> Option<MutexGuard<T>> {
    match error {
        TryLockError::Poisoned(poisoned) => Some(PoisonError::into_inner(poisoned)),
        TryLockError::WouldBlock => None,
    }
}

impl<T> Drop for BreakableGuard<'_, T> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for BreakableGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for BreakableGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_never_released_keeps_nobody_waiting() {
        let lock = BreakableLock::new(5);
        *lock.lock().unwrap() += 1;
        std::mem::forget(lock.lock());
        assert!(lock.lock().is_none(), "the thread has it already");
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| lock.lock().is_none()).join().unwrap());
            let began = std::time::Instant::now();
            assert!(scope.spawn(|| (0..1000).all(|_| lock.lock().is_none())).join().unwrap());
            assert!(began.elapsed() < 100 * PAUSE * TRIES, "nobody waits again");
        });
    }

    #[test]
    fn another_thread_is_waited_for() {
        let lock = BreakableLock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| *lock.lock().unwrap() += 1));
            }
        });
        assert_eq!(*lock.lock().unwrap(), 800);
    }
}
