//! The progress of a job, and whether anybody still waits for it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::answer::QueryAnswer;

/// The page polls every half second: a job that nobody has polled for this long is unwanted.
const WANTED_FOR: Duration = Duration::from_secs(2);

/// The progress of a job.
pub(crate) struct JobProgress {
    description: Cow<'static, str>,
    steps: usize,
    done: AtomicUsize,
    /// When a caller asked last.
    last_asked: Mutex<Instant>,
    cancelled: AtomicBool,
}

impl JobProgress {
    /// The start of a job that a caller asks for.
    pub(crate) fn new(description: Cow<'static, str>, steps: usize) -> JobProgress {
        JobProgress {
            description,
            steps,
            done: AtomicUsize::new(0),
            last_asked: Mutex::new(Instant::now()),
            cancelled: AtomicBool::new(false),
        }
    }

    /// What is being done, for display.
    pub(super) fn description(&self) -> &str {
        &self.description
    }

    /// Advances by one step.
    pub(crate) fn step(&self) {
        self.add_steps(1);
    }

    /// Advances by several steps.
    pub(crate) fn add_steps(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Sets the completed fraction, from 0 to 1.
    pub(crate) fn set_fraction(&self, share: f64) {
        self.done.fetch_max((share * self.steps as f64) as usize, Ordering::Relaxed);
    }

    /// Whether the job should stop: nobody waits for it any more, and others need its permit.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Cancels the job if nobody has asked for it for a while.
    pub(super) fn cancel_if_unwanted(&self) {
        if self.last_asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > WANTED_FOR {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn mark_asked(&self) {
        *self.last_asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn to_answer(&self) -> QueryAnswer {
        let done = self.done.load(Ordering::Relaxed).min(self.steps);
        QueryAnswer::Pending { activity: self.description.clone().into_owned(), progress: done as f64 / self.steps.max(1) as f64 }
    }
}
