//! Hooks on functions of this very process. One test after the other: a process has one set of hooks.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_hook::{PatchError, Refusal, Rings, arrange, hook, taken, unhook};
use sintonia_link::order::{Act, Function, Read, Shape, Side, Source, When, Width};
use sintonia_link::ring::{Counters, Event, Moment, Reader};

static CHUNK: AtomicI64 = AtomicI64::new(7);

#[inline(never)]
extern "C" fn work(a: i64, pointer: *const i64, factor: f64) -> i64 {
    black_box(a * 3 + (factor * 2.0) as i64 + i64::from(!pointer.is_null()) + CHUNK.load(Ordering::Relaxed))
}

#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "some of them must lie on the stack")]
extern "C" fn many(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64) -> i64 {
    black_box(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h)
}

#[inline(never)]
extern "C" fn recursive(depth: u64) -> u64 {
    if depth == 0 { 0 } else { black_box(1 + recursive(black_box(depth - 1))) }
}

#[inline(never)]
extern "C" fn other_work(_a: i64, _pointer: *const i64, _factor: f64) -> i64 {
    black_box(-1)
}

/// The function's bytes: enough of them to be hooked, whatever follows.
fn function(address: *const ()) -> Function {
    Function { address: address as u64, size: 32, padding: 0 }
}

struct Setup {
    rings: Rings,
}

static SETUP: OnceLock<Setup> = OnceLock::new();
static ALONE: Mutex<()> = Mutex::new(());

fn setup() -> (MutexGuard<'static, ()>, &'static Setup) {
    let guard = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (guard, SETUP.get_or_init(|| Setup { rings: Rings::create(32).expect("memory for rings") }))
}

impl Setup {
    /// A reader of the ring that the calling thread has, from where it stands now.
    fn reader(&self) -> Reader {
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
        let readers =
            (0..taken()).map(|ring| Reader::new(self.rings.file.try_clone().expect("a file"), (ring * self.rings.bytes) as u64, 32));
        readers.into_iter().find(|reader| reader.counter(Counters::THREAD).expect("a counter") == own).expect("this thread has a ring")
    }

    /// The events of a piece of code that runs in a thread of its own.
    fn events(&self, code: impl FnOnce() + Send) -> Vec<Event> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                code();
                let mut events = Vec::new();
                self.reader().drain(|event| events.push(event)).expect("the ring can be read");
                events
            });
            thread.join().expect("the code runs")
        })
    }
}

#[test]
fn t001_entry_and_exit_carry_arguments_result_and_time() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    let value = 5;
    let events = setup.events(|| assert_eq!(work(11, &value, 1.5), 33 + 3 + 1 + 7));
    unhook(number).expect("taken out");
    let [entry, exit] = events[..] else { panic!("two events, not {}", events.len()) };
    assert_eq!((entry.hook, entry.moment, exit.hook, exit.moment), (number, Moment::Entry, number, Moment::Exit));
    assert_eq!((entry.words[0], entry.words[1], f64::from_bits(entry.floats[0])), (11, &raw const value as u64, 1.5));
    assert_eq!(exit.words[0], 44);
    assert!(exit.ticks > entry.ticks && exit.stack == entry.stack);
}

#[test]
fn t002_globals_arguments_behind_pointers_and_floats_are_read() {
    let (_alone, setup) = setup();
    static RECORD: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
    static POINTER: AtomicU64 = AtomicU64::new(0);
    RECORD[2].store(77, Ordering::Relaxed);
    POINTER.store(RECORD.as_ptr() as u64, Ordering::Relaxed);
    static EMPTY: AtomicU64 = AtomicU64::new(0);
    let read = |source, width| Read { source, width };
    let reads = [
        read(Source::At(CHUNK.as_ptr() as u64), Width::Eight),
        read(Source::Behind { pointer: POINTER.as_ptr() as u64, offset: 16 }, Width::Four),
        read(Source::BehindArgument { argument: 1, offset: 0 }, Width::Two),
        read(Source::FloatArgument(0), Width::Eight),
        read(Source::Behind { pointer: EMPTY.as_ptr() as u64, offset: 8 }, Width::One),
    ];
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &reads, &reads[..1]).expect("hooked");
    let value = 0x1_2345;
    let events = setup.events(|| assert_eq!(work(1, &value, 0.25), 3 + 1 + 7));
    unhook(number).expect("taken out");
    assert_eq!(events[0].reads, [7, 77, 0x2345, 0.25f64.to_bits(), 0]);
    assert_eq!(events[1].reads[0], 7);
}

#[test]
fn t003_arguments_on_the_stack_reach_the_function() {
    let (_alone, setup) = setup();
    let read = Read { source: Source::StackArgument(1), width: Width::Eight };
    let number = hook(function(many as *const ()), Shape::Wrap { stack: true }, &[read], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8), 204));
    unhook(number).expect("taken out");
    assert_eq!(events[0].words, [1, 2, 3, 4, 5, 6]);
    assert_eq!(events[0].reads[0], 8);
}

#[test]
fn t004_every_level_of_a_recursion_is_seen() {
    let (_alone, setup) = setup();
    let number = hook(function(recursive as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(recursive(9), 9));
    unhook(number).expect("taken out");
    let depths: Vec<u64> = events.iter().filter(|event| event.moment == Moment::Entry).map(|event| event.words[0]).collect();
    assert_eq!(depths, (0..10).rev().collect::<Vec<u64>>());
    assert_eq!(events.len(), 20);
    assert!(events[..10].windows(2).all(|pair| pair[1].stack < pair[0].stack));
}

#[test]
fn t005_a_function_without_hook_is_byte_for_byte_what_it_was() {
    let (_alone, setup) = setup();
    let bytes = || unsafe { std::slice::from_raw_parts(work as *const u8, 32) }.to_vec();
    let before = bytes();
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    assert_ne!(bytes(), before);
    unhook(number).expect("taken out");
    assert_eq!(bytes(), before);
    let _ = setup;
}

#[test]
fn t006_a_function_is_replaced_and_comes_back() {
    let (_alone, _setup) = setup();
    let number = hook(function(work as *const ()), Shape::Replace(other_work as *const () as u64), &[], &[]).expect("hooked");
    assert_eq!(work(1, std::ptr::null(), 0.0), -1);
    unhook(number).expect("taken out");
    assert_eq!(work(1, std::ptr::null(), 0.0), 10);
}

#[test]
fn t007_a_value_is_set_at_the_next_entry_and_the_old_one_is_told() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    let set = Act::Set { address: CHUNK.as_ptr() as u64, behind: vec![], width: Width::Eight, bits: 100 };
    let pending = unsafe { arrange(number, Side::Entry, vec![set], When::Once) };
    assert_eq!((CHUNK.load(Ordering::Relaxed), pending.done.load(Ordering::Relaxed)), (7, 0));
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 100));
    assert_eq!((pending.done.load(Ordering::Relaxed), pending.given[0].load(Ordering::Relaxed)), (1, 7));
    CHUNK.store(7, Ordering::Relaxed);
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 7));
    unhook(number).expect("taken out");
}

#[test]
fn t008_a_function_is_called_at_exits_as_often_as_they_come() {
    let (_alone, setup) = setup();
    static CALLED: AtomicI64 = AtomicI64::new(0);
    extern "C" fn called(by: i64, _: i64, _: i64, _: i64, _: i64, _: i64, half: f64) -> i64 {
        CALLED.fetch_add(by + (2.0 * half) as i64, Ordering::Relaxed)
    }
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    let call = Act::Call { address: called as *const () as u64, words: [2, 0, 0, 0, 0, 0], floats: [0.5, 0.0, 0.0, 0.0] };
    unsafe { arrange(number, Side::Exit, vec![call], When::Always) };
    setup.events(|| (0..5).for_each(|_| assert_eq!(work(0, std::ptr::null(), 0.0), 7)));
    sintonia_hook::cancel(number, Side::Exit);
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 7));
    unhook(number).expect("taken out");
    assert_eq!(CALLED.load(Ordering::Relaxed), 15);
}

#[test]
fn t009_hot_threads_survive_hooks_that_come_and_go() {
    let (_alone, setup) = setup();
    let stop = AtomicBool::new(false);
    let right = AtomicU64::new(0);
    struct StopAtEnd<'a>(&'a AtomicBool);
    impl Drop for StopAtEnd<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let cycles: u32 = std::env::var("CYCLES").ok().and_then(|cycles| cycles.parse().ok()).unwrap_or(300);
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..4 {
            scope.spawn(|| {
                let mut rounds = 0;
                while !stop.load(Ordering::Relaxed) {
                    for a in 0..100 {
                        assert_eq!(work(a, std::ptr::null(), 1.0), 3 * a + 2 + 7);
                        assert_eq!(recursive(3), 3);
                    }
                    rounds += 100;
                }
                right.fetch_add(rounds, Ordering::Relaxed);
            });
        }
        for _ in 0..cycles {
            let numbers = [work as *const (), recursive as *const ()]
                .map(|address| hook(function(address), Shape::Wrap { stack: false }, &[], &[]).expect("hooked"));
            numbers.into_iter().for_each(|number| unhook(number).expect("taken out"));
        }
    });
    assert!(right.load(Ordering::Relaxed) > 0);
    let _ = setup;
}

#[test]
fn t010_a_thread_that_sleeps_is_not_woken() {
    let (_alone, _setup) = setup();
    let sleeping = std::thread::spawn(|| {
        let mut left = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let time = libc::timespec { tv_sec: 0, tv_nsec: 300_000_000 };
        unsafe { libc::nanosleep(&time, &mut left) }
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    for _ in 0..50 {
        let number = hook(function(recursive as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
        unhook(number).expect("taken out");
    }
    assert_eq!(sleeping.join().expect("ends"), 0, "a call of the system was interrupted");
}

#[test]
fn t011_a_thread_that_blocks_traps_is_not_put_at_risk() {
    let (_alone, _setup) = setup();
    let (stop, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
            }
            ready.store(true, Ordering::Release);
            while !stop.load(Ordering::Relaxed) {
                black_box(work(1, std::ptr::null(), 1.0));
            }
        });
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let outcome = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(outcome, Err(PatchError::TrapsBlocked(_))), "{outcome:?}");
    });
}

#[test]
fn t012_more_events_than_are_read_are_dropped_and_counted() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), Shape::Wrap { stack: false }, &[], &[]).expect("hooked");
    let (calls, mut seen, mut dropped) = (10_000u64, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for a in 0..calls as i64 {
                assert_eq!(work(a, std::ptr::null(), 0.0), 3 * a + 7);
            }
            let mut reader = setup.reader();
            reader.drain(|_| seen += 1).expect("the ring can be read");
            // What does not fit is dropped by the chunk; now there is room again.
            for a in 0..200 {
                assert_eq!(work(a, std::ptr::null(), 0.0), 3 * a + 7);
            }
            dropped = reader.counter(Counters::DROPPED).expect("a counter");
            assert!(reader.drain(|_| ()).expect("the ring can be read") > 200);
        });
    });
    unhook(number).expect("taken out");
    assert_eq!(seen, 32 * 63);
    assert!(dropped >= 2 * calls - seen && dropped < 2 * calls - seen + 63, "{dropped} of {}", 2 * calls);
}

#[test]
fn t013_what_cannot_be_hooked_says_why_and_stays_as_it_is() {
    let (_alone, _setup) = setup();
    static SHORT: [u8; 4] = [0x31, 0xc0, 0xc3, 0x55];
    let short = Function { address: SHORT.as_ptr() as u64, size: 3, padding: 1 };
    let outcome = hook(short, Shape::Pass, &[], &[]);
    assert!(matches!(outcome, Err(PatchError::Refused(Refusal::TooShort(3)))), "{outcome:?}");
    let nowhere = Function { address: 0x10, size: 16, padding: 0 };
    assert!(matches!(hook(nowhere, Shape::Pass, &[], &[]), Err(PatchError::System(_))));
}

#[test]
fn t014_entry_only_leaves_no_frame() {
    let (_alone, setup) = setup();
    let number = hook(function(many as *const ()), Shape::Pass, &[], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8), 204));
    unhook(number).expect("taken out");
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].moment, events[0].words), (Moment::Entry, [1, 2, 3, 4, 5, 6]));
}
