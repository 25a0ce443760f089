//! What takes a while to find out: worked out once, in a thread of its own, and kept. Whoever asks meanwhile is told how far it is.
//!
//! Where something must not be done by several at once, each needs its [`Turn`]. Nobody queues for it: who asks and does not get it asks again,
//! so what nobody asks for any more is never begun.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sintonia_view::answer::{Answer, Refusal};

use super::turn::{Held, Turn};

/// What threads are called that work.
const THREAD: &str = "slow-work";
/// How long an asker waits: what is found out within it is answered at once.
const PATIENCE: Duration = Duration::from_millis(150);
/// The page asks again after half a second: what nobody has asked for in this time is not wanted any more.
const WANTED: Duration = Duration::from_secs(2);
/// What could not be found out is tried again when somebody asks after this time: there may be memory by then, or the file.
const REFUSED: Duration = Duration::from_secs(10);
/// Answers to particular questions that are kept; of the others, the one that was asked first is forgotten first.
const MOST_KEPT: usize = 32;

/// Something that takes a while to find out.
pub struct Slow<T> {
    state: Mutex<State<T>>,
    is_done: Condvar,
}

enum State<T> {
    NotAsked,
    Working(Arc<Progress>),
    Done(Arc<T>),
    Refused(Refusal, Instant),
}

/// How far it is.
pub struct Progress {
    doing: Cow<'static, str>,
    steps: usize,
    done: AtomicUsize,
    /// When somebody asked last.
    asked: Mutex<Instant>,
    is_ended: AtomicBool,
}

impl Progress {
    /// At the beginning of something, which somebody asks for.
    pub fn new(doing: Cow<'static, str>, steps: usize) -> Progress {
        Progress { doing, steps, done: AtomicUsize::new(0), asked: Mutex::new(Instant::now()), is_ended: AtomicBool::new(false) }
    }

    /// One step is done.
    pub fn step(&self) {
        self.steps(1);
    }

    /// So many steps are done.
    pub fn steps(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// So much of it is done, from 0 to 1.
    pub fn reach(&self, share: f64) {
        self.done.fetch_max((share * self.steps as f64) as usize, Ordering::Relaxed);
    }

    /// Whether it should be given up: nobody waits for it any more, and others wait for their turn.
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Gives it up if nobody has asked for it for a while.
    pub fn end_if_unwanted(&self) {
        if self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > WANTED {
            self.is_ended.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn answer(&self) -> Answer {
        let done = self.done.load(Ordering::Relaxed).min(self.steps);
        Answer::Working { doing: self.doing.clone().into_owned(), done: done as f64 / self.steps.max(1) as f64 }
    }
}

/// What there is to do for something slow.
pub struct Task<W> {
    /// What is being done, for people: `finding wait states`.
    pub doing: Cow<'static, str>,
    /// How often `work` tells that a step is done.
    pub steps: usize,
    /// What it takes to begin, if not everybody may at once.
    pub turn: Option<Arc<Turn>>,
    /// The work itself.
    pub work: W,
}

impl<T> Default for Slow<T> {
    fn default() -> Slow<T> {
        Slow { state: Mutex::new(State::NotAsked), is_done: Condvar::new() }
    }
}

impl<T: Send + Sync + 'static> Slow<T> {
    /// Answers with what was found out, or says that it is being worked on; whoever asks first sets it going.
    pub fn answer<W>(self: &Arc<Slow<T>>, task: Task<W>, then: impl FnOnce(&T) -> Result<Answer, Refusal>) -> Result<Answer, Refusal>
    where
        W: FnOnce(&Progress) -> Result<T, Refusal> + Send + 'static,
    {
        let (until, doing) = (Instant::now() + PATIENCE, task.doing.clone());
        self.begin(task, until);
        let patience = until.saturating_duration_since(Instant::now());
        let waited = self.is_done.wait_timeout_while(self.lock(), patience, |state| matches!(state, State::Working(_)));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::NotAsked => Ok(Answer::Working { doing: format!("{doing}: when something else is done"), done: 0.0 }),
            State::Working(progress) => Ok(progress.answer()),
            State::Refused(refusal, _) => Err(refusal.clone()),
            State::Done(value) => {
                let value = Arc::clone(value);
                drop(state);
                then(&value)
            }
        }
    }

    /// What somebody else has found out.
    pub fn set(&self, value: T) {
        self.set_state(State::Done(Arc::new(value)));
    }

    /// Sets it going if that was not done before, and it gets its turn until a moment.
    fn begin<W>(self: &Arc<Slow<T>>, task: Task<W>, until: Instant)
    where
        W: FnOnce(&Progress) -> Result<T, Refusal> + Send + 'static,
    {
        if !self.is_due() {
            return;
        }
        let Task { doing, steps, turn, work } = task;
        let progress = Arc::new(Progress::new(doing, steps));
        let held = turn.map(|turn| turn.take(&progress, until));
        if matches!(held, Some(None)) {
            return;
        }
        let mut state = self.lock();
        // Somebody else may have had a turn for it meanwhile.
        if matches!(*state, State::NotAsked) {
            let (this, shared) = (Arc::clone(self), Arc::clone(&progress));
            let thread = std::thread::Builder::new().name(THREAD.into()).spawn(move || this.work(&shared, work, held.flatten()));
            *state = match thread {
                Ok(_) => State::Working(progress),
                Err(error) => State::Refused(Refusal::NotThere(format!("nothing more can be begun: {error}")), Instant::now()),
            };
        }
    }

    /// Whether it should be begun; somebody asks for it.
    fn is_due(&self) -> bool {
        let mut state = self.lock();
        match &*state {
            State::Working(progress) => progress.ask(),
            State::Refused(_, since) if since.elapsed() > REFUSED => *state = State::NotAsked,
            _ => {}
        }
        matches!(*state, State::NotAsked)
    }

    fn work(&self, progress: &Progress, work: impl FnOnce(&Progress) -> Result<T, Refusal>, held: Option<Held>) {
        // Whatever goes wrong in there, those who wait must be told, and everything else goes on.
        let broken = || Err(Refusal::NotThere(format!("something went wrong while {}", progress.doing)));
        let found = catch_unwind(AssertUnwindSafe(|| work(progress))).unwrap_or_else(|_| broken());
        drop(held);
        self.set_state(match found {
            Ok(value) => State::Done(Arc::new(value)),
            Err(_) if progress.is_ended() => State::NotAsked,
            Err(refusal) => State::Refused(refusal, Instant::now()),
        });
    }

    fn is_being_worked_on(&self) -> bool {
        matches!(*self.lock(), State::Working(_))
    }

    fn set_state(&self, state: State<T>) {
        *self.lock() = state;
        self.is_done.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers to questions in particular that took a while: the last few of them.
#[derive(Default)]
pub struct Kept(Mutex<VecDeque<(String, Arc<Slow<Answer>>)>>);

impl Kept {
    /// The answer to a question, told apart from others by its key.
    pub fn answer<W>(&self, key: &str, task: Task<W>) -> Result<Answer, Refusal>
    where
        W: FnOnce(&Progress) -> Result<Answer, Refusal> + Send + 'static,
    {
        self.slow(key).answer(task, |answer| Ok(answer.clone()))
    }

    fn slow(&self, key: &str) -> Arc<Slow<Answer>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slow)) = kept.iter().find(|(known, _)| known == key) {
            return Arc::clone(slow);
        }
        // What is worked on is not forgotten: it would be begun again beside itself.
        if kept.len() >= MOST_KEPT
            && let Some(first) = kept.iter().position(|(_, slow)| !slow.is_being_worked_on())
        {
            kept.remove(first);
        }
        let slow = Arc::new(Slow::default());
        kept.push_back((key.to_owned(), Arc::clone(&slow)));
        slow
    }
}

#[cfg(test)]
mod tests;
