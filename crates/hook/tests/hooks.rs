//! Hooks on functions of this process. Tests run one after the other, because a process has one set of hooks.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_hook::{
    HookRefusal, PatchError, RingMemory, cancel, claimed_rings, has_throttling, hook, observes, record_event, restore, schedule,
    set_throttling, signal_wrapper, throttle_hooks, unhook,
};
use sintonia_link::probe_protocol::{ActionRepeat, HookKind, HookRead, HookSide, HookTarget, ProbeAction, ReadSource, ValueWidth};
use sintonia_link::ring::{HookEvent, HookPoint, MPI_FUNCTION, RingCounters, RingReader};
use sintonia_link::value_location::{AccessError, AddressStep, ValueLocation};

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

/// The function as a hook target: enough bytes to be hooked, whatever follows.
fn function(address: *const ()) -> HookTarget {
    HookTarget { address: address as u64, size: 32, padding: 0 }
}

struct Setup {
    rings: RingMemory,
}

static SETUP: OnceLock<Setup> = OnceLock::new();
static ALONE: Mutex<()> = Mutex::new(());

fn setup() -> (MutexGuard<'static, ()>, &'static Setup) {
    let guard = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (guard, SETUP.get_or_init(|| Setup { rings: RingMemory::create(32).expect("memory for rings") }))
}

impl Setup {
    /// A reader for the ring of the calling thread, from its current position.
    fn reader(&self) -> RingReader {
        // SAFETY: only queries the thread id.
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
        let readers = (0..claimed_rings())
            .map(|ring| RingReader::new(self.rings.file.try_clone().expect("a file"), (ring * self.rings.bytes) as u64, 32));
        readers.into_iter().find(|reader| reader.counter(RingCounters::THREAD).expect("a counter") == own).expect("this thread has a ring")
    }

    /// The events of code that runs in a new thread.
    fn events(&self, code: impl FnOnce() + Send) -> Vec<HookEvent> {
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
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let value = 5;
    let events = setup.events(|| assert_eq!(work(11, &value, 1.5), 33 + 3 + 1 + 7));
    unhook(number).expect("taken out");
    let [entry, exit] = events[..] else { panic!("two events, not {}", events.len()) };
    assert_eq!((entry.hook, entry.point, exit.hook, exit.point), (number, HookPoint::Entry, number, HookPoint::Exit));
    assert_eq!((entry.words[0], entry.words[1], f64::from_bits(entry.floats[0])), (11, &raw const value as u64, 1.5));
    assert_eq!(exit.words[0], 44);
    assert!(exit.ticks > entry.ticks && exit.stack == entry.stack);
}

/// A value at an offset from the target of a pointer.
fn behind(pointer: &AtomicU64, offset: u64, bits: u8) -> ValueLocation {
    let steps =
        vec![AddressStep::Constant(pointer.as_ptr() as u64), AddressStep::FollowPointer, AddressStep::Constant(offset), AddressStep::Add];
    ValueLocation { steps, first_bit: 0, bits }
}

#[test]
fn t002_globals_arguments_behind_pointers_and_floats_are_read() {
    let (_alone, setup) = setup();
    static RECORD: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
    static POINTER: AtomicU64 = AtomicU64::new(0);
    RECORD[2].store(77, Ordering::Relaxed);
    POINTER.store(RECORD.as_ptr() as u64, Ordering::Relaxed);
    static EMPTY: AtomicU64 = AtomicU64::new(0);
    let read = |source, width| HookRead { source, width };
    let reads = [
        read(ReadSource::At(CHUNK.as_ptr() as u64), ValueWidth::Eight),
        read(ReadSource::Computed(behind(&POINTER, 16, 32)), ValueWidth::Four),
        read(ReadSource::BehindArgument { argument: 1, offset: 0 }, ValueWidth::Two),
        read(ReadSource::FloatArgument(0), ValueWidth::Eight),
        read(ReadSource::Computed(behind(&EMPTY, 8, 8)), ValueWidth::One),
    ];
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &reads, &reads[..1]).expect("hooked");
    let value = 0x1_2345;
    let events = setup.events(|| assert_eq!(work(1, &value, 0.25), 3 + 1 + 7));
    unhook(number).expect("taken out");
    assert_eq!(events[0].reads, [7, 77, 0x2345, 0.25f64.to_bits(), AccessError::NullPointer.marker()]);
    assert_eq!(events[1].reads[0], 7);
}

#[test]
fn t003_arguments_on_the_stack_reach_the_function() {
    let (_alone, setup) = setup();
    let read = HookRead { source: ReadSource::StackArgument(1), width: ValueWidth::Eight };
    let number = hook(function(many as *const ()), HookKind::Wrap { stack: true }, &[read], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8), 204));
    unhook(number).expect("taken out");
    assert_eq!(events[0].words, [1, 2, 3, 4, 5, 6]);
    assert_eq!(events[0].reads[0], 8);
}

#[test]
fn t004_every_level_of_a_recursion_is_seen() {
    let (_alone, setup) = setup();
    let number = hook(function(recursive as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(recursive(9), 9));
    unhook(number).expect("taken out");
    let depths: Vec<u64> = events.iter().filter(|event| event.point == HookPoint::Entry).map(|event| event.words[0]).collect();
    assert_eq!(depths, (0..10).rev().collect::<Vec<u64>>());
    assert_eq!(events.len(), 20);
    assert!(events[..10].windows(2).all(|pair| pair[1].stack < pair[0].stack));
}

#[test]
fn t005_a_function_without_hook_is_byte_for_byte_what_it_was() {
    let (_alone, setup) = setup();
    // SAFETY: the code of a function of this test.
    let bytes = || unsafe { std::slice::from_raw_parts(work as *const u8, 32) }.to_vec();
    let before = bytes();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    assert_ne!(bytes(), before);
    unhook(number).expect("taken out");
    assert_eq!(bytes(), before);
    let _ = setup;
}

#[test]
fn t006_a_function_is_replaced_and_comes_back() {
    let (_alone, _setup) = setup();
    let number = hook(function(work as *const ()), HookKind::Replace(other_work as *const () as u64), &[], &[]).expect("hooked");
    assert_eq!(work(1, std::ptr::null(), 0.0), -1);
    unhook(number).expect("taken out");
    assert_eq!(work(1, std::ptr::null(), 0.0), 10);
}

#[test]
fn t007_a_value_is_set_at_the_next_entry_and_the_old_one_is_told() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let set = ProbeAction::Set { location: ValueLocation::at(CHUNK.as_ptr() as u64, 8), bits: 100 };
    // SAFETY: a variable of this width.
    let pending = unsafe { schedule(number, HookSide::Entry, vec![set], ActionRepeat::Once) };
    assert_eq!((CHUNK.load(Ordering::Relaxed), pending.results()), (7, None));
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 100));
    assert_eq!(pending.results(), Some(&[Ok(7)][..]));
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
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let call = ProbeAction::Call { address: called as *const () as u64, words: [2, 0, 0, 0, 0, 0], floats: [0.5, 0.0, 0.0, 0.0] };
    // SAFETY: a function with such arguments.
    let pending = unsafe { schedule(number, HookSide::Exit, vec![call], ActionRepeat::Always) };
    setup.events(|| (0..5).for_each(|_| assert_eq!(work(0, std::ptr::null(), 0.0), 7)));
    assert!(cancel(number, HookSide::Exit, pending));
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
    // `CYCLES=10000 cargo test -p sintonia-hook t009` takes a minute or two; with the default, a busy machine may do fewer cycles than
    // requested.
    let requested: Option<u32> = std::env::var("CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let (cycles, begin) = (requested.unwrap_or(300), std::time::Instant::now());
    let is_enough = || requested.is_none() && begin.elapsed().as_secs() > 30;
    // SAFETY: the code of a function of this test.
    let bytes = |address: *const ()| unsafe { std::slice::from_raw_parts(address.cast::<u8>(), 32) }.to_vec();
    let before = [bytes(work as *const ()), bytes(recursive as *const ())];
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
        for _ in (0..cycles).take_while(|_| !is_enough()) {
            let numbers = [work as *const (), recursive as *const ()]
                .map(|address| hook(function(address), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked"));
            numbers.into_iter().for_each(|number| unhook(number).expect("taken out"));
        }
    });
    assert!(right.load(Ordering::Relaxed) > 0);
    assert_eq!([bytes(work as *const ()), bytes(recursive as *const ())], before);
    let _ = setup;
}

#[test]
fn t010_a_thread_that_sleeps_is_not_woken() {
    let (_alone, _setup) = setup();
    let sleeping = std::thread::spawn(|| {
        let mut left = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let time = libc::timespec { tv_sec: 0, tv_nsec: 300_000_000 };
        // SAFETY: both structures are valid.
        unsafe { libc::nanosleep(&time, &mut left) }
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    for _ in 0..50 {
        let number = hook(function(recursive as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
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
            // SAFETY: a signal set of our own, and the mask of this thread.
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
        let outcome = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(outcome, Err(PatchError::TrapsBlocked(_))), "{outcome:?}");
    });
}

#[test]
fn t012_more_events_than_are_read_are_dropped_and_counted() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let (calls, mut seen, mut dropped) = (10_000u64, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for a in 0..calls as i64 {
                assert_eq!(work(a, std::ptr::null(), 0.0), 3 * a + 7);
            }
            let mut reader = setup.reader();
            reader.drain(|_| seen += 1).expect("the ring can be read");
            // Events that do not fit are dropped by the chunk; now there is room again.
            for a in 0..200 {
                assert_eq!(work(a, std::ptr::null(), 0.0), 3 * a + 7);
            }
            dropped = reader.counter(RingCounters::DROPPED_RECORDS).expect("a counter");
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
    let short = HookTarget { address: SHORT.as_ptr() as u64, size: 3, padding: 1 };
    let outcome = hook(short, HookKind::Pass, &[], &[]);
    assert!(matches!(outcome, Err(PatchError::Refused(HookRefusal::TooShort(3)))), "{outcome:?}");
    let nowhere = HookTarget { address: 0x10, size: 16, padding: 0 };
    assert!(matches!(hook(nowhere, HookKind::Pass, &[], &[]), Err(PatchError::System(_))));
}

#[test]
fn t014_entry_only_leaves_no_frame() {
    let (_alone, setup) = setup();
    let number = hook(function(many as *const ()), HookKind::Pass, &[], &[]).expect("hooked");
    let events = setup.events(|| assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8), 204));
    unhook(number).expect("taken out");
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].point, events[0].words), (HookPoint::Entry, [1, 2, 3, 4, 5, 6]));
}

#[test]
fn t015_a_replaced_function_can_be_watched_and_comes_back_watched() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let same = hook(function(work as *const ()), HookKind::Replace(other_work as *const () as u64), &[], &[]).expect("replaced");
    assert_eq!(same, number);
    let events = setup.events(|| assert_eq!(work(5, std::ptr::null(), 0.0), -1));
    assert_eq!((events.len(), events[0].words[0], events[1].words[0] as i64), (2, 5, -1));
    restore(number).expect("restored");
    let events = setup.events(|| assert_eq!(work(5, std::ptr::null(), 0.0), 22));
    assert_eq!((events.len(), events[1].words[0]), (2, 22));
    unhook(number).expect("taken out");
}

#[test]
fn t016_what_is_arranged_twice_is_done_twice_in_its_order_and_can_be_taken_back() {
    let (_alone, setup) = setup();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let set = |bits| vec![ProbeAction::Set { location: ValueLocation::at(CHUNK.as_ptr() as u64, 8), bits }];
    // SAFETY: a variable of this width.
    let [first, second, third] = [50, 60, 70].map(|bits| unsafe { schedule(number, HookSide::Entry, set(bits), ActionRepeat::Once) });
    assert!(cancel(number, HookSide::Entry, third));
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 60));
    assert_eq!((first.results(), second.results(), third.results()), (Some(&[Ok(7)][..]), Some(&[Ok(50)][..]), None));
    assert!(!cancel(number, HookSide::Entry, first), "it is done");
    unhook(number).expect("taken out");
    CHUNK.store(7, Ordering::Relaxed);
}

#[test]
fn t017_an_act_that_cannot_be_done_says_why_at_its_moment() {
    let (_alone, setup) = setup();
    static NOTHING: AtomicU64 = AtomicU64::new(0);
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let set = ProbeAction::Set { location: behind(&NOTHING, 8, 64), bits: 1 };
    // SAFETY: a variable of this width.
    let pending = unsafe { schedule(number, HookSide::Exit, vec![set], ActionRepeat::Once) };
    setup.events(|| assert_eq!(work(0, std::ptr::null(), 0.0), 7));
    unhook(number).expect("taken out");
    let Some([Err(why)]) = pending.results() else { panic!("{:?}", pending.results()) };
    assert!(why.contains("null"), "{why}");
}

#[test]
fn t018_a_hook_that_fires_too_often_takes_itself_out() {
    let (_alone, setup) = setup();
    // SAFETY: the code of a function of this test.
    let before = unsafe { std::slice::from_raw_parts(work as *const u8, 32) }.to_vec();
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let call = |times: i64| setup.events(|| (0..times).for_each(|a| assert_eq!(work(a, std::ptr::null(), 0.0), 3 * a + 7)));
    set_throttling(number, false);
    call(100_001);
    assert_eq!(throttle_hooks(), [], "it may not");
    set_throttling(number, true);
    call(100_000);
    assert_eq!(throttle_hooks(), [], "not often enough");
    // On a busy machine a call may seem long, because it waits for a processor; the mean is short.
    let more = (0..1000).map(|_| (call(1000), throttle_hooks()).1).find(|throttled| !throttled.is_empty());
    let Some([throttled]) = more.as_deref() else { panic!("one hook fires too often, not {more:?}") };
    assert_eq!((throttled.hook, throttled.calls % 1000), (number, 0));
    assert!(throttled.seconds_per_call > 0.0 && throttled.seconds_per_call < 10e-6, "{throttled:?}");
    // SAFETY: the code of a function of this test.
    assert_eq!(unsafe { std::slice::from_raw_parts(work as *const u8, 32) }, before);
    assert!(!has_throttling() && !observes(number, HookSide::Entry));
}

#[test]
fn t019_a_function_that_takes_its_time_may_be_called_as_often_as_it_likes() {
    let (_alone, setup) = setup();
    #[inline(never)]
    extern "C" fn slow(rounds: u64) -> u64 {
        // Sleeping would show nothing: what counts is the time between entry and exit.
        let begin = std::time::Instant::now();
        while begin.elapsed().as_nanos() < 11_000 {
            std::hint::spin_loop();
        }
        black_box(rounds)
    }
    let number = hook(function(slow as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    set_throttling(number, true);
    setup.events(|| (0..100_001).for_each(|round| assert_eq!(slow(round), round)));
    let throttled = throttle_hooks();
    unhook(number).expect("taken out");
    assert_eq!(throttled, []);
}

#[test]
fn t020_something_can_be_noted_without_a_hook() {
    let (_alone, setup) = setup();
    let events = setup.events(|| (0..100).for_each(|number| record_event(MPI_FUNCTION | 3, HookPoint::Exit, 17, 4096, [number; 6])));
    assert_eq!(events.len(), 100);
    let last = events[99];
    assert_eq!((last.hook, last.point, last.ticks, last.stack, last.words), (MPI_FUNCTION | 3, HookPoint::Exit, 17, 4096, [99; 6]));
}

type Mask = unsafe extern "C" fn(i32, *const libc::sigset_t, *mut libc::sigset_t) -> i32;
type Action = unsafe extern "C" fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32;

/// The wrapper that a tuned program calls instead of a C library function.
fn in_place_of<F: Copy>(name: &str) -> F {
    let address = signal_wrapper(name).expect("something stands in its place");
    // SAFETY: the wrapper has the type of the function it replaces.
    unsafe { std::mem::transmute_copy(&address) }
}

#[test]
fn t021_a_program_keeps_its_own_handler_of_traps() {
    let (_alone, setup) = setup();
    static TRAPS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn on_trap(_signal: i32) {
        TRAPS.fetch_add(1, Ordering::Relaxed);
    }
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
    let sigaction: Action = in_place_of("sigaction");
    // SAFETY: zero is valid for these structures.
    let (mut own, mut before, mut now): (libc::sigaction, libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    own.sa_sigaction = on_trap as *const () as usize;
    // SAFETY: valid structures; the handler only increments an atomic.
    unsafe {
        assert_eq!(sigaction(libc::SIGTRAP, &own, &mut before), 0);
        assert_eq!(sigaction(libc::SIGTRAP, std::ptr::null(), &mut now), 0);
        libc::raise(libc::SIGTRAP);
    }
    assert_eq!((before.sa_sigaction, now.sa_sigaction), (libc::SIG_DFL, own.sa_sigaction));
    assert_eq!(TRAPS.load(Ordering::Relaxed), 1);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(work(1, std::ptr::null(), 0.0), 10);
            }
        });
        for _ in 0..20 {
            unhook(number).expect("taken out");
            hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
        }
        stop.store(true, Ordering::Relaxed);
    });
    unhook(number).expect("taken out");
    assert_eq!(TRAPS.load(Ordering::Relaxed), 1, "traps of hooks are not the program's");
    // SAFETY: the action that was in place before.
    unsafe { sigaction(libc::SIGTRAP, &before, std::ptr::null_mut()) };
    let _ = setup;
}

#[test]
fn t022_a_program_that_blocks_every_signal_leaves_the_trap_open() {
    let (_alone, _setup) = setup();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
            unhook(number).expect("taken out");
            // SAFETY: zero is valid for this structure.
            let mut blocked: libc::sigset_t = unsafe { std::mem::zeroed() };
            for name in ["pthread_sigmask", "sigprocmask"] {
                let mask: Mask = in_place_of(name);
                for how in [libc::SIG_BLOCK, libc::SIG_SETMASK] {
                    // SAFETY: a set of our own.
                    unsafe {
                        let mut all: libc::sigset_t = std::mem::zeroed();
                        libc::sigfillset(&mut all);
                        assert_eq!(mask(how, &all, std::ptr::null_mut()), 0);
                        assert_eq!(mask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked), 0);
                    }
                    // SAFETY: a set of our own.
                    let blocks = |signal| unsafe { libc::sigismember(&blocked, signal) == 1 };
                    assert!(blocks(libc::SIGUSR1) && !blocks(libc::SIGTRAP), "{name}");
                    assert_eq!((libc::SIGRTMIN()..=libc::SIGRTMAX()).filter(|signal| !blocks(*signal)).count(), 1, "{name}");
                }
            }
        });
    });
}

#[test]
fn t023_under_a_debugger_nothing_is_changed_and_it_is_said() {
    let (_alone, _setup) = setup();
    let (mut ready, mut over) = ([0; 2], [0; 2]);
    let own = std::process::id() as libc::pid_t;
    // The child does what a debugger does first; it makes only system calls, because it has just one of our threads.
    // SAFETY: the child makes only system calls.
    let debugger = unsafe {
        assert_eq!((libc::pipe(ready.as_mut_ptr()), libc::pipe(over.as_mut_ptr())), (0, 0));
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        match libc::fork() {
            0 => {
                libc::close(over[1]);
                let traced = libc::ptrace(libc::PTRACE_SEIZE, own, 0, 0) == 0;
                libc::write(ready[1], [u8::from(traced)].as_ptr().cast(), 1);
                libc::read(over[0], [0u8].as_mut_ptr().cast(), 1);
                libc::_exit(0)
            }
            child => child,
        }
    };
    let mut traced = [0u8];
    // SAFETY: the buffer has room for one byte.
    unsafe { libc::read(ready[0], traced.as_mut_ptr().cast(), 1) };
    let outcome = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]);
    // SAFETY: a child and descriptors of this test.
    unsafe {
        libc::close(over[1]);
        libc::waitpid(debugger, std::ptr::null_mut(), 0);
    }
    assert_eq!(traced, [1], "the system lets nobody trace");
    assert!(matches!(outcome, Err(PatchError::Traced(who)) if who == debugger), "{outcome:?}");
    let number = hook(function(work as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked when it is gone");
    unhook(number).expect("taken out");
}

#[test]
fn t024_a_thread_that_sleeps_again_and_again_is_never_woken() {
    const CYCLES: u64 = 1000;
    let (_alone, _setup) = setup();
    let (stop, interrupted) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let time = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(black_box((0..50_000u64).map(black_box).sum::<u64>()), 1_249_975_000);
                // SAFETY: the structure is valid.
                let result = unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
                interrupted.fetch_add(u64::from(result != 0), Ordering::Relaxed);
            }
        });
        for _ in 0..CYCLES {
            let number = hook(function(recursive as *const ()), HookKind::Wrap { stack: false }, &[], &[]).expect("hooked");
            unhook(number).expect("taken out");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(interrupted.load(Ordering::Relaxed), 0, "of {CYCLES}");
}

core::arch::global_asm!(
    ".globl sintonia_test_leaf, sintonia_test_pair, sintonia_test_careless",
    ".balign 16",
    "sintonia_test_leaf: lea rax, [rdi + rdi * 2]",
    "nop dword ptr [rax]",
    "ret",
    ".balign 16",
    "sintonia_test_pair: mov rax, rdi",
    "mov rdx, rsi",
    "addsd xmm0, xmm0",
    "ret",
    ".balign 16",
    // Clobbers every register that a function may clobber.
    "sintonia_test_careless: mov rax, 1",
    "mov rdx, 2",
    "mov rcx, 3",
    "mov rsi, 4",
    "mov rdi, 5",
    "mov r8, 6",
    "mov r9, 7",
    "mov r10, 8",
    "mov r11, 9",
    "movq xmm0, rax",
    "movq xmm1, rax",
    "movq xmm9, rax",
    "ret",
);

unsafe extern "C" {
    fn sintonia_test_leaf();
    fn sintonia_test_pair();
    fn sintonia_test_careless();
}

/// Calls a function like a compiler that knows which registers it leaves alone, and keeps values in those. Returns rax, rdx, the sum of all
/// registers that the calling convention lets functions change, and xmm0.
fn call_with_full_registers(function: u64) -> (u64, u64, u64, u64) {
    let (rax, rdx, sum, float): (u64, u64, u64, u64);
    // SAFETY: all changed registers are outputs or clobbers; r12 holds the address of a function without arguments.
    unsafe {
        core::arch::asm!(
            "mov rdx, 100",
            "movq xmm0, rdx",
            "movq xmm9, rdx",
            "mov rcx, 1",
            "mov rsi, 10",
            "mov rdi, 1000",
            "mov r8, 10000",
            "mov r9, 100000",
            "mov r10, 1000000",
            "mov r11, 10000000",
            "call r12",
            "add rcx, rsi",
            "add rcx, rdi",
            "add rcx, r8",
            "add rcx, r9",
            "add rcx, r10",
            "add rcx, r11",
            "movq r8, xmm9",
            "add rcx, r8",
            "movq r9, xmm0",
            in("r12") function,
            out("rax") rax,
            out("rdx") rdx,
            out("rcx") sum,
            out("r9") float,
            clobber_abi("C"),
        );
    }
    (rax, rdx, sum, float)
}

#[test]
fn t025_callers_of_a_replaced_function_find_their_registers_as_if_it_were_not() {
    let (_alone, _setup) = setup();
    const KEPT: u64 = 11_111_111;
    let leaf = sintonia_test_leaf as *const ();
    assert_eq!(call_with_full_registers(leaf as u64), (3000, 100, KEPT, 100));
    let of_leaf = HookTarget { address: leaf as u64, size: 8, padding: 0 };
    let careless = HookKind::Replace(sintonia_test_careless as *const () as u64);
    let number = hook(of_leaf, careless, &[], &[]).expect("replaced");
    assert_eq!(call_with_full_registers(leaf as u64), (1, 100, KEPT, 100));
    hook(of_leaf, HookKind::Wrap { stack: false }, &[], &[]).expect("noted as well");
    assert_eq!(call_with_full_registers(leaf as u64), (1, 100, KEPT, 100));
    restore(number).expect("restored");
    assert_eq!(call_with_full_registers(leaf as u64), (3000, 100, KEPT, 100));
    unhook(number).expect("taken out");
    // Where the function itself has a result, that of the replacement is used.
    let pair = sintonia_test_pair as *const ();
    let number = hook(HookTarget { address: pair as u64, size: 11, padding: 0 }, careless, &[], &[]).expect("replaced");
    assert_eq!(call_with_full_registers(pair as u64), (1, 2, KEPT, 1));
    unhook(number).expect("taken out");
}

#[test]
#[allow(clippy::too_many_arguments, reason = "some of them must lie on the stack")]
fn t026_what_takes_the_place_of_a_function_gets_all_its_arguments() {
    let (_alone, _setup) = setup();
    extern "C" fn other_many(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64) -> i64 {
        black_box(a - b + c - d + e - f + 100 * g + 10_000 * h)
    }
    let number = hook(function(many as *const ()), HookKind::Replace(other_many as *const () as u64), &[], &[]).expect("replaced");
    assert_eq!(many(1, 2, 3, 4, 5, 6, 7, 8), 80_697);
    unhook(number).expect("taken out");
}

#[test]
fn t027_a_panic_goes_through_a_function_that_is_replaced() {
    let (_alone, _setup) = setup();
    extern "C-unwind" fn panics(_a: i64, _pointer: *const i64, _factor: f64) -> i64 {
        std::panic::resume_unwind(Box::new(7))
    }
    let number = hook(function(work as *const ()), HookKind::Replace(panics as *const () as u64), &[], &[]).expect("replaced");
    type Work = extern "C-unwind" fn(i64, *const i64, f64) -> i64;
    // SAFETY: the same function and arguments, with an ABI that allows unwinding.
    let work: Work = unsafe { std::mem::transmute(work as *const ()) };
    let caught = std::panic::catch_unwind(|| work(black_box(1), std::ptr::null(), 1.0));
    unhook(number).expect("taken out");
    assert_eq!(caught.expect_err("a panic").downcast_ref::<i32>(), Some(&7));
}
