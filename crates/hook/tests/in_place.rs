//! Hooks on functions that may have arguments on the stack: they find the stack as their caller left it, and their return address is
//! replaced. Tests run one after the other, because a process has one set of hooks.

use std::hint::black_box;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use sintonia_hook::{RingMemory, ScheduledActions, cancel, hook, schedule, unhook};
use sintonia_link::probe_protocol::{ActionRepeat, HookKind, HookSide, HookTarget, ProbeAction};

static ALONE: Mutex<()> = Mutex::new(());
static RINGS: OnceLock<RingMemory> = OnceLock::new();
static EXITS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_exit() -> u64 {
    EXITS.fetch_add(1, Ordering::Relaxed)
}

/// A hook in place; exits are counted.
struct Hooked {
    number: u32,
    counting: &'static ScheduledActions,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Hooked {
    fn new(function: *const ()) -> Hooked {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        RINGS.get_or_init(|| RingMemory::create(32).expect("memory for rings"));
        EXITS.store(0, Ordering::Relaxed);
        let mut hooked = Hooked::another(function);
        hooked._alone = Some(alone);
        hooked
    }

    /// Another one of the same test.
    fn another(function: *const ()) -> Hooked {
        let target = HookTarget { address: function as u64, size: 32, padding: 0 };
        let number = hook(target, HookKind::Wrap { stack: true }, &[], &[]).expect("hooked");
        let call = ProbeAction::Call { address: count_exit as *const () as u64, words: [0; 6], floats: [0.0; 4] };
        // SAFETY: a function that needs no arguments.
        let counting = unsafe { schedule(number, HookSide::Exit, vec![call], ActionRepeat::Always) };
        Hooked { number, counting, _alone: None }
    }

    fn exits(&self) -> u64 {
        EXITS.load(Ordering::Relaxed)
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        assert!(cancel(self.number, HookSide::Exit, self.counting));
        unhook(self.number).expect("taken out");
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Big([u64; 1000]);

#[inline(never)]
extern "C" fn sum_and_scale(big: Big, factor: u64) -> Big {
    black_box(Big(big.0.map(|value| value * factor)))
}

#[test]
fn t101_arguments_and_results_of_any_size_arrive() {
    let hooked = Hooked::new(sum_and_scale as *const ());
    let big = Big(std::array::from_fn(|index| index as u64 * 3));
    let result = sum_and_scale(black_box(big), black_box(7));
    assert!(result.0.iter().enumerate().all(|(index, value)| *value == index as u64 * 21));
    assert_eq!(hooked.exits(), 1);
}

#[inline(never)]
extern "C-unwind" fn leaves(round: u64) -> u64 {
    if black_box(round).is_multiple_of(2) {
        resume_unwind(Box::new(round));
    }
    round
}

#[test]
fn t102_exits_are_seen_however_many_calls_were_left_by_a_panic() {
    let hooked = Hooked::new(leaves as *const ());
    const ROUNDS: u64 = 140_000;
    for round in 0..ROUNDS {
        match catch_unwind(|| leaves(round)) {
            Ok(result) => assert_eq!((result, round % 2), (round, 1)),
            Err(thrown) => assert_eq!((thrown.downcast_ref::<u64>(), round % 2), (Some(&round), 0)),
        }
    }
    assert_eq!(hooked.exits(), ROUNDS / 2);
}

/// Catches a panic of the function that it calls itself: no frame is between them.
#[inline(never)]
fn caught(round: u64) -> bool {
    struct Caught<'a>(&'a mut bool);
    impl Drop for Caught<'_> {
        fn drop(&mut self) {
            *self.0 = true;
        }
    }
    let mut is_dropped = false;
    let outcome = catch_unwind(std::panic::AssertUnwindSafe(|| {
        let guard = Caught(&mut is_dropped);
        leaves(black_box(round));
        std::mem::forget(guard);
    }));
    assert_eq!(outcome.is_err(), is_dropped);
    is_dropped
}

#[test]
fn t108_a_panic_runs_what_its_immediate_caller_must_clean_up() {
    let hooked = Hooked::new(leaves as *const ());
    (0..100).for_each(|round| assert_eq!(caught(round), round % 2 == 0));
    assert_eq!(hooked.exits(), 50);
}

#[inline(never)]
extern "C" fn recursive(depth: u64) -> u64 {
    if depth == 0 { 0 } else { black_box(1 + recursive(black_box(depth - 1))) }
}

#[test]
fn t103_a_recursion_is_right_even_where_not_every_exit_is_seen() {
    let hooked = Hooked::new(recursive as *const ());
    std::thread::scope(|scope| {
        let run = || {
            assert_eq!(recursive(40_000), 40_000);
            assert_eq!(hooked.exits(), 40_001);
            assert_eq!(recursive(150_000), 150_000);
            assert!((90_000..190_000).contains(&hooked.exits()), "{}", hooked.exits());
            // After a while all are seen again.
            let sees_all = || {
                let before = hooked.exits();
                recursive(1000) == 1000 && hooked.exits() - before == 1001
            };
            let begin = Instant::now();
            while !sees_all() {
                assert!(begin.elapsed() < Duration::from_secs(60));
            }
        };
        std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, run).expect("a thread").join().expect("runs");
    });
}

#[test]
fn t104_threads_that_end_leave_nothing_behind() {
    let hooked = Hooked::new(recursive as *const ());
    for _ in 0..300 {
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| assert_eq!(recursive(5), 5)))));
    }
    assert_eq!(hooked.exits(), 300 * 8 * 6);
}

core::arch::global_asm!(
    ".globl sintonia_test_tail_call, sintonia_test_ninth",
    ".balign 16",
    "sintonia_test_tail_call: add rdi, 1",
    "nop dword ptr [rax]",
    "jmp sintonia_test_ninth",
    ".balign 16",
    ".fill 16, 1, 0x90",
    "sintonia_test_ninth: mov rax, [rsp + 24]",
    "add rax, rdi",
    "ret",
    ".fill 16, 1, 0x90",
);

unsafe extern "C" {
    fn sintonia_test_tail_call(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64) -> u64;
    fn sintonia_test_ninth();
}

#[test]
fn t105_a_tail_call_returns_through_both_hooks() {
    let hooked = Hooked::new(sintonia_test_tail_call as *const ());
    let _other = Hooked::another(sintonia_test_ninth as *const ());
    // SAFETY: a function of this test with these arguments.
    let result = unsafe { sintonia_test_tail_call(10, 2, 3, 4, 5, 6, 7, 8, 900) };
    assert_eq!((result, hooked.exits()), (911, 2));
}

core::arch::global_asm!(
    ".globl sintonia_test_tail_panic",
    ".balign 16",
    "sintonia_test_tail_panic: .cfi_startproc",
    "add rdi, 0",
    "nop dword ptr [rax]",
    "jmp {leaves}",
    ".cfi_endproc",
    ".fill 16, 1, 0x90",
    leaves = sym leaves,
);

unsafe extern "C-unwind" {
    fn sintonia_test_tail_panic(round: u64) -> u64;
}

#[test]
fn t107_a_panic_after_a_tail_call_passes_both_hooks() {
    let hooked = Hooked::new(sintonia_test_tail_panic as *const ());
    let _other = Hooked::another(leaves as *const ());
    for round in 0..100 {
        // SAFETY: a function of this test with this argument.
        let outcome = catch_unwind(|| unsafe { sintonia_test_tail_panic(round) });
        assert_eq!(outcome.is_err(), round % 2 == 0);
    }
    assert_eq!(hooked.exits(), 100);
}

/// The coroutine of a test, the place it was resumed from, and its result.
struct Coroutine {
    own: libc::ucontext_t,
    resumer: libc::ucontext_t,
    result: u64,
}

static COROUTINE: AtomicU64 = AtomicU64::new(0);

fn coroutine() -> *mut Coroutine {
    COROUTINE.load(Ordering::Relaxed) as *mut Coroutine
}

#[inline(never)]
extern "C" fn suspends(depth: u64) -> u64 {
    if black_box(depth) > 0 {
        return black_box(1 + suspends(depth - 1));
    }
    let coroutine = coroutine();
    // SAFETY: both contexts are valid, and the coroutine runs.
    unsafe { libc::swapcontext(&mut (*coroutine).own, &(*coroutine).resumer) };
    black_box(100)
}

extern "C" fn body() {
    let result = suspends(20);
    // SAFETY: the coroutine of this test.
    unsafe { (*coroutine()).result = result };
}

#[test]
fn t106_a_coroutine_returns_in_another_thread_than_it_was_called_in() {
    let hooked = Hooked::new(suspends as *const ());
    let mut stack = vec![0u8; 1 << 20];
    // SAFETY: zero is valid for contexts that are then filled in.
    let mut memory: Box<Coroutine> = Box::new(unsafe { std::mem::zeroed() });
    COROUTINE.store(&raw mut *memory as u64, Ordering::Relaxed);
    let resume = || {
        let coroutine = coroutine();
        // SAFETY: the coroutine is suspended, and returns to the context that is saved here.
        unsafe { libc::swapcontext(&mut (*coroutine).resumer, &(*coroutine).own) };
    };
    let own = &mut memory.own;
    // SAFETY: the context gets a stack and a place to return to before it is used.
    unsafe {
        libc::getcontext(own);
        own.uc_stack.ss_sp = stack.as_mut_ptr().cast();
        own.uc_stack.ss_size = stack.len();
        own.uc_link = &raw mut (*coroutine()).resumer;
        libc::makecontext(own, body, 0);
    }
    std::thread::scope(|scope| scope.spawn(resume).join().expect("suspended"));
    assert_eq!(hooked.exits(), 0);
    std::thread::scope(|scope| scope.spawn(resume).join().expect("ends"));
    assert_eq!((memory.result, hooked.exits()), (120, 21));
}
