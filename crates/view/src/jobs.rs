//! Background jobs: values that take long to compute are computed once, in a thread, and cached. Meanwhile, callers get the progress.
//!
//! Jobs that must not run concurrently need an [`ExclusivePermit`]. There is no queue: a caller that does not get the permit asks again, so what
//! nobody asks for any more is never started.

mod permit;
mod progress;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answer::{QueryAnswer, QueryError};

pub(crate) use permit::ExclusivePermit;
use permit::WorkPermit;
pub(crate) use progress::JobProgress;

/// The name of worker threads.
const THREAD_NAME: &str = "slow-work";
/// How long a caller waits: quick results are answered at once.
const ANSWER_WAIT: Duration = Duration::from_millis(150);
/// A failed job is retried after this time: there may be memory, or the file, by then.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// The maximum number of cached answers; the oldest is evicted first.
const MAX_ANSWERS: usize = 32;

/// A value computed by a background job.
pub(crate) struct BackgroundValue<T> {
    state: Mutex<JobState<T>>,
    state_changed: Condvar,
}

enum JobState<T> {
    Idle,
    Running(Arc<JobProgress>),
    Done(Arc<T>),
    Failed(QueryError, Instant),
}

/// The work of a background job.
pub(crate) struct JobRequest<W> {
    /// What is being done, for display: `finding wait states`.
    pub description: Cow<'static, str>,
    /// The number of progress steps of `work`.
    pub steps: usize,
    /// The permit needed to start, if any.
    pub permit: Option<Arc<ExclusivePermit>>,
    /// The work itself.
    pub work: W,
}

impl<T> Default for BackgroundValue<T> {
    fn default() -> BackgroundValue<T> {
        BackgroundValue { state: Mutex::new(JobState::Idle), state_changed: Condvar::new() }
    }
}

impl<T: Send + Sync + 'static> BackgroundValue<T> {
    /// Answers with the value, or with the progress of its job; the first caller starts the job.
    pub(crate) fn answer<W>(
        self: &Arc<BackgroundValue<T>>,
        task: JobRequest<W>,
        then: impl FnOnce(&T) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError>
    where
        W: FnOnce(&JobProgress) -> Result<T, QueryError> + Send + 'static,
    {
        let (until, description) = (Instant::now() + ANSWER_WAIT, task.description.clone());
        self.start(task, until);
        let patience = until.saturating_duration_since(Instant::now());
        let waited = self.state_changed.wait_timeout_while(self.lock(), patience, |state| matches!(state, JobState::Running(_)));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            JobState::Idle => Ok(QueryAnswer::Pending { activity: format!("{description}: waiting for another job"), progress: 0.0 }),
            JobState::Running(progress) => Ok(progress.to_answer()),
            JobState::Failed(refusal, _) => Err(refusal.clone()),
            JobState::Done(value) => {
                let value = Arc::clone(value);
                drop(state);
                then(&value)
            }
        }
    }

    /// The value, if it is known already.
    pub(crate) fn value(&self) -> Option<Arc<T>> {
        match &*self.lock() {
            JobState::Done(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    /// Sets the value if it is known already.
    pub(crate) fn set_value(&self, value: T) {
        self.set_state(JobState::Done(Arc::new(value)));
    }

    /// Starts the job unless it was started before, if it gets its permit by the deadline.
    fn start<W>(self: &Arc<BackgroundValue<T>>, task: JobRequest<W>, until: Instant)
    where
        W: FnOnce(&JobProgress) -> Result<T, QueryError> + Send + 'static,
    {
        if !self.should_start() {
            return;
        }
        let JobRequest { description, steps, permit, work } = task;
        let progress = Arc::new(JobProgress::new(description, steps));
        let acquired = permit.map(|permit| permit.try_acquire(&progress, until));
        if matches!(acquired, Some(None)) {
            return;
        }
        let mut state = self.lock();
        // Another caller may have started it meanwhile.
        if matches!(*state, JobState::Idle) {
            let (this, shared) = (Arc::clone(self), Arc::clone(&progress));
            let thread =
                std::thread::Builder::new().name(THREAD_NAME.into()).spawn(move || this.run_job(&shared, work, acquired.flatten()));
            *state = match thread {
                Ok(_) => JobState::Running(progress),
                Err(error) => JobState::Failed(QueryError::Unavailable(format!("cannot start a thread: {error}")), Instant::now()),
            };
        }
    }

    /// Whether the job should be started; marks it as asked for.
    fn should_start(&self) -> bool {
        let mut state = self.lock();
        match &*state {
            JobState::Running(progress) => progress.mark_asked(),
            JobState::Failed(_, since) if since.elapsed() > RETRY_AFTER => *state = JobState::Idle,
            _ => {}
        }
        matches!(*state, JobState::Idle)
    }

    fn run_job(&self, progress: &JobProgress, work: impl FnOnce(&JobProgress) -> Result<T, QueryError>, acquired: Option<WorkPermit>) {
        // Whatever goes wrong in the job, its callers must get an answer.
        let broken = || Err(QueryError::Unavailable(format!("an internal error occurred while {}", progress.description())));
        let found = catch_unwind(AssertUnwindSafe(|| work(progress))).unwrap_or_else(|_| broken());
        drop(acquired);
        self.set_state(match found {
            Ok(value) => JobState::Done(Arc::new(value)),
            Err(_) if progress.is_cancelled() => JobState::Idle,
            Err(refusal) => JobState::Failed(refusal, Instant::now()),
        });
    }

    fn is_running(&self) -> bool {
        matches!(*self.lock(), JobState::Running(_))
    }

    fn set_state(&self, state: JobState<T>) {
        *self.lock() = state;
        self.state_changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, JobState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most recent answers to questions that take long.
#[derive(Default)]
pub(crate) struct JobAnswerCache(Mutex<VecDeque<(String, Arc<BackgroundValue<QueryAnswer>>)>>);

impl JobAnswerCache {
    /// The answer to a question, cached by its key.
    pub(crate) fn answer<W>(&self, key: &str, task: JobRequest<W>) -> Result<QueryAnswer, QueryError>
    where
        W: FnOnce(&JobProgress) -> Result<QueryAnswer, QueryError> + Send + 'static,
    {
        self.entry(key).answer(task, |answer| Ok(answer.clone()))
    }

    fn entry(&self, key: &str) -> Arc<BackgroundValue<QueryAnswer>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slow)) = kept.iter().find(|(known, _)| known == key) {
            return Arc::clone(slow);
        }
        // Running jobs are not evicted: they would be started again.
        if kept.len() >= MAX_ANSWERS
            && let Some(first) = kept.iter().position(|(_, slow)| !slow.is_running())
        {
            kept.remove(first);
        }
        let slow = Arc::new(BackgroundValue::default());
        kept.push_back((key.to_owned(), Arc::clone(&slow)));
        slow
    }
}
