//! What takes a while to find out: worked out once, in a thread of its own, and kept. Whoever asks meanwhile is told how far it is.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sintonia_view::answer::{Answer, Refusal};

/// How long an asker waits: what is found out within it is answered at once.
const PATIENCE: Duration = Duration::from_millis(150);
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
    Done(Result<Arc<T>, Refusal>),
}

/// How far it is.
pub struct Progress {
    doing: &'static str,
    steps: usize,
    done: AtomicUsize,
}

impl Progress {
    /// One step is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// So much of it is done, from 0 to 1.
    pub fn reach(&self, share: f64) {
        self.done.fetch_max((share * self.steps as f64) as usize, Ordering::Relaxed);
    }

    fn answer(&self) -> Answer {
        let done = self.done.load(Ordering::Relaxed).min(self.steps);
        Answer::Working { doing: self.doing.to_owned(), done: done as f64 / self.steps.max(1) as f64 }
    }
}

/// What there is to do for something slow.
pub struct Task<W> {
    /// What is being done, for people: `finding wait states`.
    pub doing: &'static str,
    /// How often `work` tells that a step is done.
    pub steps: usize,
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
        self.begin(task);
        let waited = self.is_done.wait_timeout_while(self.lock(), PATIENCE, |state| matches!(state, State::Working(_)));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Working(progress) => Ok(progress.answer()),
            State::Done(Err(refusal)) => Err(refusal.clone()),
            State::Done(Ok(value)) => {
                let value = Arc::clone(value);
                drop(state);
                then(&value)
            }
            State::NotAsked => Err(Refusal::NotThere("nobody has begun to find it out".into())),
        }
    }

    /// What somebody else has found out.
    pub fn set(&self, value: T) {
        self.finish(Ok(value));
    }

    fn begin<W>(self: &Arc<Slow<T>>, task: Task<W>)
    where
        W: FnOnce(&Progress) -> Result<T, Refusal> + Send + 'static,
    {
        let mut state = self.lock();
        if !matches!(*state, State::NotAsked) {
            return;
        }
        let Task { doing, steps, work } = task;
        let progress = Arc::new(Progress { doing, steps, done: AtomicUsize::new(0) });
        *state = State::Working(Arc::clone(&progress));
        let this = Arc::clone(self);
        std::thread::spawn(move || {
            // Whatever goes wrong in there, those who wait must be told, and everything else goes on.
            let found = catch_unwind(AssertUnwindSafe(|| work(&progress)));
            this.finish(found.unwrap_or_else(|_| Err(Refusal::NotThere(format!("something went wrong while {doing}")))));
        });
    }

    fn finish(&self, found: Result<T, Refusal>) {
        *self.lock() = State::Done(found.map(Arc::new));
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
        let slow = Arc::new(Slow::default());
        kept.push_back((key.to_owned(), Arc::clone(&slow)));
        if kept.len() > MOST_KEPT {
            kept.pop_front();
        }
        slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn task<W>(work: W) -> Task<W> {
        Task { doing: "counting", steps: 4, work }
    }

    /// The answer when it is there, however busy the machine is.
    fn settled(ask: impl Fn() -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        loop {
            match ask() {
                Ok(Answer::Working { .. }) => {}
                answer => return answer,
            }
        }
    }

    #[test]
    fn it_is_found_out_once() {
        let slow = Arc::new(Slow::default());
        let answer = |found: u32| slow.answer(task(move |_: &Progress| Ok(found)), |value| Ok(Answer::json(value)));
        assert_eq!(settled(|| answer(1)), Ok(Answer::Json("1".into())));
        assert_eq!(settled(|| answer(2)), Ok(Answer::Json("1".into())));
    }

    #[test]
    fn while_it_is_worked_on_everybody_is_told_how_far_it_is() {
        let slow = Arc::new(Slow::default());
        let (go_on, wait) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel::<()>();
        let work = move |progress: &Progress| {
            progress.step();
            let _ = begun.send(());
            let _ = wait.recv();
            Ok(7)
        };
        let begun = slow.answer(task(work), |value: &i32| Ok(Answer::json(value)));
        assert!(matches!(begun, Ok(Answer::Working { .. })));
        has_begun.recv().unwrap();
        let again = || slow.answer(task(|_: &Progress| Ok(0)), |value| Ok(Answer::json(value)));
        assert_eq!(again(), Ok(Answer::Working { doing: "counting".into(), done: 0.25 }));
        go_on.send(()).unwrap();
        assert_eq!(settled(again), Ok(Answer::Json("7".into())));
    }

    #[test]
    fn work_that_panics_is_a_refusal() {
        let slow = Arc::new(Slow::<()>::default());
        let ask = || slow.answer(task(|_: &Progress| panic!("on purpose")), |()| Ok(Answer::Json(String::new())));
        assert_eq!(settled(ask), Err(Refusal::NotThere("something went wrong while counting".into())));
    }

    #[test]
    fn of_particular_answers_only_the_last_few_are_kept() {
        let kept = Kept::default();
        let ask = |key: &str, answer: &'static str| settled(|| kept.answer(key, task(move |_: &Progress| Ok(Answer::Json(answer.into())))));
        assert_eq!(ask("a", "1"), Ok(Answer::Json("1".into())));
        assert_eq!(ask("a", "2"), Ok(Answer::Json("1".into())));
        (0..MOST_KEPT).for_each(|number| assert!(ask(&number.to_string(), "0").is_ok()));
        assert_eq!(ask("a", "2"), Ok(Answer::Json("2".into())));
    }
}
