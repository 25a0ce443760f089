//! Tests of background jobs: caching, cancellation and permits.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

fn task<W>(work: W) -> JobRequest<W> {
    JobRequest { description: "counting".into(), steps: 4, permit: None, work }
}

/// Polls for an answer, however busy the machine is.
fn settled(ask: impl Fn() -> Result<QueryAnswer, QueryError>) -> Result<QueryAnswer, QueryError> {
    loop {
        match ask() {
            Ok(QueryAnswer::Pending { .. }) => {}
            answer => return answer,
        }
    }
}

#[test]
fn it_is_found_out_once() {
    let slow = Arc::new(BackgroundValue::default());
    let answer = |found: u32| slow.answer(task(move |_: &JobProgress| Ok(found)), |value| Ok(QueryAnswer::json(value)));
    assert_eq!(settled(|| answer(1)), Ok(QueryAnswer::Json("1".into())));
    assert_eq!(settled(|| answer(2)), Ok(QueryAnswer::Json("1".into())));
}

#[test]
fn while_it_is_worked_on_everybody_is_told_how_far_it_is() {
    let slow = Arc::new(BackgroundValue::default());
    let (go_on, wait) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel::<()>();
    let work = move |progress: &JobProgress| {
        progress.step();
        let _ = begun.send(());
        let _ = wait.recv();
        Ok(7)
    };
    let begun = slow.answer(task(work), |value: &i32| Ok(QueryAnswer::json(value)));
    assert!(matches!(begun, Ok(QueryAnswer::Pending { .. })));
    has_begun.recv().unwrap();
    let again = || slow.answer(task(|_: &JobProgress| Ok(0)), |value| Ok(QueryAnswer::json(value)));
    assert_eq!(again(), Ok(QueryAnswer::Pending { activity: "counting".into(), progress: 0.25 }));
    go_on.send(()).unwrap();
    assert_eq!(settled(again), Ok(QueryAnswer::Json("7".into())));
}

#[test]
fn work_that_panics_is_a_refusal() {
    let slow = Arc::new(BackgroundValue::<()>::default());
    let ask = || slow.answer(task(|_: &JobProgress| panic!("on purpose")), |()| Ok(QueryAnswer::Json(String::new())));
    assert_eq!(settled(ask), Err(QueryError::Unavailable("an internal error occurred while counting".into())));
}

#[test]
fn of_particular_answers_only_the_last_few_are_kept() {
    let cache = JobAnswerCache::default();
    let ask =
        |key: &str, answer: &'static str| settled(|| cache.answer(key, task(move |_: &JobProgress| Ok(QueryAnswer::Json(answer.into())))));
    assert_eq!(ask("a", "1"), Ok(QueryAnswer::Json("1".into())));
    assert_eq!(ask("a", "2"), Ok(QueryAnswer::Json("1".into())));
    (0..MAX_ANSWERS).for_each(|number| assert!(ask(&number.to_string(), "0").is_ok()));
    assert_eq!(ask("a", "2"), Ok(QueryAnswer::Json("2".into())));
}

/// Signals that work has begun, and waits to be released.
fn held_up(begun: mpsc::Sender<()>, go_on: mpsc::Receiver<()>) -> impl FnOnce(&JobProgress) -> Result<QueryAnswer, QueryError> {
    move |_| {
        let _ = begun.send(());
        let _ = go_on.recv();
        Ok(QueryAnswer::Json("1".into()))
    }
}

fn is_working(answer: &Result<QueryAnswer, QueryError>) -> bool {
    matches!(answer, Ok(QueryAnswer::Pending { .. }))
}

#[test]
fn one_at_a_time_has_its_turn_and_who_does_not_ask_again_never_begins() {
    let (cache, permit) = (JobAnswerCache::default(), Arc::<ExclusivePermit>::default());
    let (begun, has_begun) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    assert!(is_working(&cache.answer("first", JobRequest { permit: Some(Arc::clone(&permit)), ..task(held_up(begun, wait)) })));
    has_begun.recv().unwrap();
    let began = Arc::new(AtomicUsize::new(0));
    let ask = |key: &str| {
        let began = Arc::clone(&began);
        let work = move |_: &JobProgress| {
            began.fetch_add(1, Ordering::Relaxed);
            Ok(QueryAnswer::Json("2".into()))
        };
        cache.answer(key, JobRequest { permit: Some(Arc::clone(&permit)), ..task(work) })
    };
    (0..3).for_each(|number| assert!(is_working(&ask(&format!("dial {number}")))));
    assert_eq!(began.load(Ordering::Relaxed), 0);
    go_on.send(()).unwrap();
    assert_eq!(settled(|| ask("dial 2")), Ok(QueryAnswer::Json("2".into())));
    assert_eq!(began.load(Ordering::Relaxed), 1, "nobody has asked for the others again");
}

#[test]
fn what_nobody_asks_for_any_more_ends_when_somebody_else_waits() {
    let (cache, permit) = (JobAnswerCache::default(), Arc::<ExclusivePermit>::default());
    let (begun, has_begun) = mpsc::channel();
    let work = move |progress: &JobProgress| {
        let _ = begun.send(());
        while !progress.is_cancelled() {
            std::thread::yield_now();
        }
        Err(QueryError::Unavailable("given up".into()))
    };
    assert!(is_working(&cache.answer("a", JobRequest { permit: Some(Arc::clone(&permit)), ..task(work) })));
    has_begun.recv().unwrap();
    let ask = |key: &str, answer: &'static str| {
        let work = move |_: &JobProgress| Ok(QueryAnswer::Json(answer.into()));
        cache.answer(key, JobRequest { permit: Some(Arc::clone(&permit)), ..task(work) })
    };
    assert_eq!(settled(|| ask("b", "2")), Ok(QueryAnswer::Json("2".into())));
    assert_eq!(settled(|| ask("a", "3")), Ok(QueryAnswer::Json("3".into())), "it can be asked for again");
}

#[test]
fn what_is_worked_on_is_not_forgotten() {
    let cache = JobAnswerCache::default();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    assert!(is_working(&cache.answer("long", task(held_up(begun, wait)))));
    has_begun.recv().unwrap();
    let quick = |key: &str| settled(|| cache.answer(key, task(|_: &JobProgress| Ok(QueryAnswer::Json("2".into())))));
    (0..2 * MAX_ANSWERS).for_each(|number| assert!(quick(&number.to_string()).is_ok()));
    go_on.send(()).unwrap();
    assert_eq!(quick("long"), Ok(QueryAnswer::Json("1".into())));
}

#[test]
fn what_was_refused_is_tried_again_later() {
    let slow = Arc::new(BackgroundValue::default());
    let ask = |found: Result<u32, QueryError>| slow.answer(task(move |_: &JobProgress| found), |value| Ok(QueryAnswer::json(value)));
    let refusal = QueryError::Unavailable("no memory".into());
    assert_eq!(settled(|| ask(Err(refusal.clone()))), Err(refusal.clone()));
    assert_eq!(settled(|| ask(Ok(1))), Err(refusal.clone()));
    let long_ago = Instant::now().checked_sub(2 * RETRY_AFTER).unwrap();
    *slow.lock() = JobState::Failed(refusal, long_ago);
    assert_eq!(settled(|| ask(Ok(1))), Ok(QueryAnswer::Json("1".into())));
}
