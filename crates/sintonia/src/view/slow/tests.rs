//! What is worked out once, how often, and who has to wait.

use super::*;
use std::sync::mpsc;

fn task<W>(work: W) -> Task<W> {
    Task { doing: "counting".into(), steps: 4, turn: None, work }
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

/// Waits until work has begun, and then until it is told to go on.
fn held_up(begun: mpsc::Sender<()>, go_on: mpsc::Receiver<()>) -> impl FnOnce(&Progress) -> Result<Answer, Refusal> {
    move |_| {
        let _ = begun.send(());
        let _ = go_on.recv();
        Ok(Answer::Json("1".into()))
    }
}

fn is_working(answer: &Result<Answer, Refusal>) -> bool {
    matches!(answer, Ok(Answer::Working { .. }))
}

#[test]
fn one_at_a_time_has_its_turn_and_who_does_not_ask_again_never_begins() {
    let (kept, turn) = (Kept::default(), Arc::<Turn>::default());
    let (begun, has_begun) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    assert!(is_working(&kept.answer("first", Task { turn: Some(Arc::clone(&turn)), ..task(held_up(begun, wait)) })));
    has_begun.recv().unwrap();
    let began = Arc::new(AtomicUsize::new(0));
    let ask = |key: &str| {
        let began = Arc::clone(&began);
        let work = move |_: &Progress| {
            began.fetch_add(1, Ordering::Relaxed);
            Ok(Answer::Json("2".into()))
        };
        kept.answer(key, Task { turn: Some(Arc::clone(&turn)), ..task(work) })
    };
    (0..3).for_each(|number| assert!(is_working(&ask(&format!("dial {number}")))));
    assert_eq!(began.load(Ordering::Relaxed), 0);
    go_on.send(()).unwrap();
    assert_eq!(settled(|| ask("dial 2")), Ok(Answer::Json("2".into())));
    assert_eq!(began.load(Ordering::Relaxed), 1, "nobody has asked for the others again");
}

#[test]
fn what_nobody_asks_for_any_more_ends_when_somebody_else_waits() {
    let (kept, turn) = (Kept::default(), Arc::<Turn>::default());
    let (begun, has_begun) = mpsc::channel();
    let work = move |progress: &Progress| {
        let _ = begun.send(());
        while !progress.is_ended() {
            std::thread::yield_now();
        }
        Err(Refusal::NotThere("given up".into()))
    };
    assert!(is_working(&kept.answer("a", Task { turn: Some(Arc::clone(&turn)), ..task(work) })));
    has_begun.recv().unwrap();
    let ask = |key: &str, answer: &'static str| {
        let work = move |_: &Progress| Ok(Answer::Json(answer.into()));
        kept.answer(key, Task { turn: Some(Arc::clone(&turn)), ..task(work) })
    };
    assert_eq!(settled(|| ask("b", "2")), Ok(Answer::Json("2".into())));
    assert_eq!(settled(|| ask("a", "3")), Ok(Answer::Json("3".into())), "it can be asked for again");
}

#[test]
fn what_is_worked_on_is_not_forgotten() {
    let kept = Kept::default();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    assert!(is_working(&kept.answer("long", task(held_up(begun, wait)))));
    has_begun.recv().unwrap();
    let quick = |key: &str| settled(|| kept.answer(key, task(|_: &Progress| Ok(Answer::Json("2".into())))));
    (0..2 * MOST_KEPT).for_each(|number| assert!(quick(&number.to_string()).is_ok()));
    go_on.send(()).unwrap();
    assert_eq!(quick("long"), Ok(Answer::Json("1".into())));
}

#[test]
fn what_was_refused_is_tried_again_later() {
    let slow = Arc::new(Slow::default());
    let ask = |found: Result<u32, Refusal>| slow.answer(task(move |_: &Progress| found), |value| Ok(Answer::json(value)));
    let refusal = Refusal::NotThere("no memory".into());
    assert_eq!(settled(|| ask(Err(refusal.clone()))), Err(refusal.clone()));
    assert_eq!(settled(|| ask(Ok(1))), Err(refusal.clone()));
    let long_ago = Instant::now().checked_sub(2 * REFUSED).unwrap();
    *slow.lock() = State::Refused(refusal, long_ago);
    assert_eq!(settled(|| ask(Ok(1))), Ok(Answer::Json("1".into())));
}
