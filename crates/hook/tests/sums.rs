//! Sums over calls beside a ledger that the functions keep themselves. Tests run one after the other, because a process has one set of hooks.

use std::hint::black_box;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_hook::{RingMemory, claimed_rings, enter_mpi, hook, leave_mpi, set_records, unhook};
use sintonia_link::call_sums::{CallSums, SumsReader};
use sintonia_link::probe_protocol::{HookKind, HookTarget, Recorded};
use sintonia_link::ring::{HookEvent, HookPoint, MPI_FUNCTION, RingReader};

const CHUNKS: usize = 16;
const SUMS: Recorded = Recorded { entry: false, exit: false, sums: true };
const KINDS: [HookKind; 2] = [HookKind::Wrap { stack: false }, HookKind::Wrap { stack: true }];

static RINGS: OnceLock<RingMemory> = OnceLock::new();
static ALONE: Mutex<()> = Mutex::new(());

fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// What the program itself knows of calls: how many there were, and the total, the squares (in two parts) and the maximum of durations taken
/// inside of the function, and around its calls.
struct Ledger {
    calls: AtomicU64,
    inside: [AtomicU64; 4],
    around: [AtomicU64; 4],
}

impl Ledger {
    fn note(of: &[AtomicU64; 4], duration: u64) {
        of[0].fetch_add(duration, Ordering::Relaxed);
        let square = u128::from(duration) * u128::from(duration);
        of[1].fetch_add(square as u32 as u64, Ordering::Relaxed);
        of[2].fetch_add((square >> 32) as u64, Ordering::Relaxed);
        of[3].fetch_max(duration, Ordering::Relaxed);
    }

    /// Total, squares and maximum.
    fn read(of: &[AtomicU64; 4]) -> [u128; 3] {
        let [total, low, high, maximum] = of.each_ref().map(|word| u128::from(word.load(Ordering::Relaxed)));
        [total, (high << 32) + low, maximum]
    }

    fn clear(&self) {
        [&self.calls].into_iter().chain(&self.inside).chain(&self.around).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

static LEDGER: Ledger =
    Ledger { calls: AtomicU64::new(0), inside: [const { AtomicU64::new(0) }; 4], around: [const { AtomicU64::new(0) }; 4] };

#[inline(never)]
extern "C" fn work(length: u64) -> u64 {
    let begin = ticks();
    LEDGER.calls.fetch_add(1, Ordering::Relaxed);
    let sum = (0..length).fold(0, |sum, step| black_box(sum + step));
    Ledger::note(&LEDGER.inside, ticks() - begin);
    sum
}

fn call_work(length: u64) {
    let begin = ticks();
    black_box(work(black_box(length)));
    Ledger::note(&LEDGER.around, ticks() - begin);
}

/// The sums of a hook since the last time, over all threads.
struct Reader(Vec<SumsReader>);

impl Reader {
    fn take(&mut self, hook: u32) -> CallSums {
        let rings = RINGS.get().expect("set up");
        for ring in self.0.len()..claimed_rings() {
            self.0.push(SumsReader::new(rings.file.try_clone().expect("a file"), (ring * rings.bytes) as u64, CHUNKS as u64));
        }
        let mut all = CallSums::default();
        self.0.iter_mut().for_each(|table| all.add(table.take(hook).expect("read")));
        self.0.iter_mut().for_each(|table| table.begin_interval().expect("written"));
        all
    }
}

static READER: Mutex<Reader> = Mutex::new(Reader(Vec::new()));

/// A hook of which only sums are kept.
struct Summed {
    number: u32,
    _alone: MutexGuard<'static, ()>,
}

impl Summed {
    fn new(function: *const (), kind: HookKind) -> Summed {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        RINGS.get_or_init(|| RingMemory::create(CHUNKS).expect("memory for rings"));
        let number = hook(HookTarget { address: function as u64, size: 32, padding: 0 }, kind, &[], &[]).expect("hooked");
        set_records(number, SUMS);
        let summed = Summed { number, _alone: alone };
        summed.take();
        LEDGER.clear();
        summed
    }

    fn take(&self) -> CallSums {
        READER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take(self.number)
    }

    /// Compares the sums with the ledger of [`work`].
    fn check(&self, context: &str) {
        let sums = self.take();
        let (calls, inside, around) = (LEDGER.calls.load(Ordering::Relaxed), Ledger::read(&LEDGER.inside), Ledger::read(&LEDGER.around));
        assert_eq!((sums.entries, sums.exits), (calls, calls), "{context}");
        let found = [sums.duration.total.into(), sums.duration.squares, sums.duration.maximum.expect("calls").into()];
        for (index, name) in ["total", "squares", "maximum"].into_iter().enumerate() {
            let (least, most) = (inside[index], around[index]);
            assert!((least..=most).contains(&found[index]), "{context}, {name}: {} is not from {least} to {most}", found[index]);
        }
        LEDGER.clear();
    }

    fn events(&self) -> Vec<HookEvent> {
        let rings = RINGS.get().expect("set up");
        let mut events = Vec::new();
        for ring in 0..claimed_rings() {
            let mut reader = RingReader::new(rings.file.try_clone().expect("a file"), (ring * rings.bytes) as u64, CHUNKS as u64);
            reader.drain(|event| events.push(event)).expect("read");
        }
        events.retain(|event| event.hook == self.number);
        events
    }
}

impl Drop for Summed {
    fn drop(&mut self) {
        unhook(self.number).expect("taken out");
    }
}

#[test]
fn t201_sums_of_many_threads_are_those_of_the_ledger() {
    for kind in KINDS {
        let summed = Summed::new(work as *const (), kind);
        for interval in 0..3 {
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    scope.spawn(move || (0..50_000).for_each(|round| call_work((thread * 7 + round) % 50)));
                }
            });
            summed.check(&format!("{kind:?}, interval {interval}"));
        }
        assert!(summed.events().is_empty(), "nothing was recorded");
    }
}

#[test]
fn t202_sums_go_on_when_many_threads_come_and_go() {
    let summed = Summed::new(work as *const (), KINDS[0]);
    for _ in 0..40 {
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..10).for_each(call_work));
            }
        });
    }
    assert!(claimed_rings() <= 256);
    summed.check("640 threads");
}

#[inline(never)]
extern "C" fn recursive(depth: u64) -> u64 {
    if depth == 0 { 0 } else { black_box(1 + recursive(black_box(depth - 1))) }
}

#[test]
fn t203_every_level_of_a_recursion_counts() {
    for kind in KINDS {
        let summed = Summed::new(recursive as *const (), kind);
        let begin = ticks();
        assert_eq!((0..100).map(|depth| recursive(depth)).max(), Some(99));
        let around = ticks() - begin;
        let sums = summed.take();
        assert_eq!((sums.entries, sums.exits), (5050, 5050));
        // The time of an inner call is part of that of the outer ones.
        assert!(sums.duration.total > sums.duration.maximum.expect("calls") && sums.duration.total <= around * 100);
        assert!(sums.duration.maximum.expect("calls") <= around);
    }
}

#[inline(never)]
extern "C-unwind" fn leaves(round: u64) -> u64 {
    if black_box(round).is_multiple_of(3) {
        resume_unwind(Box::new(round));
    }
    round
}

#[test]
fn t204_a_call_that_was_left_has_an_entry_and_no_exit() {
    for kind in KINDS {
        let summed = Summed::new(leaves as *const (), kind);
        let returned = (0..3000).filter(|round| catch_unwind(|| leaves(*round)).is_ok()).count() as u64;
        let sums = summed.take();
        assert_eq!((sums.entries, sums.exits, returned), (3000, returned, 2000));
    }
}

#[test]
fn t205_signal_handlers_lose_nothing() {
    extern "C" fn on_signal(_signal: i32) {
        work(1);
    }
    for kind in KINDS {
        let summed = Summed::new(work as *const (), kind);
        // SAFETY: a handler for a signal of our own; the thread is alive while it gets signals.
        unsafe { libc::signal(libc::SIGURG, on_signal as *const () as usize) };
        let over = AtomicBool::new(false);
        let target = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The first call of a thread claims its table; what interrupts that is counted as dropped.
                work(3);
                // SAFETY: only queries the thread id.
                target.store(unsafe { libc::syscall(libc::SYS_gettid) } as u64, Ordering::Release);
                while !over.load(Ordering::Relaxed) {
                    work(3);
                }
            });
            while target.load(Ordering::Acquire) == 0 {}
            for _ in 0..30_000 {
                // SAFETY: as above.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), target.load(Ordering::Relaxed), libc::SIGURG) };
            }
            over.store(true, Ordering::Relaxed);
        });
        let sums = summed.take();
        let calls = LEDGER.calls.load(Ordering::Relaxed);
        assert_eq!((sums.entries, sums.exits), (calls, calls));
        let [total, squares, maximum] = Ledger::read(&LEDGER.inside);
        assert!(u128::from(sums.duration.total) >= total && sums.duration.squares >= squares);
        assert!(u128::from(sums.duration.maximum.expect("calls")) >= maximum);
        LEDGER.clear();
    }
}

#[test]
fn t206_an_exit_alone_tells_the_duration() {
    for kind in KINDS {
        let summed = Summed::new(work as *const (), kind);
        set_records(summed.number, Recorded { exit: true, ..SUMS });
        let begin = ticks();
        std::thread::scope(|scope| drop(scope.spawn(|| work(10))));
        let events = summed.events();
        let event = events.last().expect("an event");
        assert!(events.iter().all(|event| event.point == HookPoint::Exit));
        assert!(event.words[5] >= begin && event.ticks - event.words[5] >= LEDGER.inside[0].load(Ordering::Relaxed));
        assert_eq!((summed.take().duration.total, event.words[4]), (event.ticks - event.words[5], 0));
    }
}

const BARRIER: u16 = 7;

#[inline(never)]
extern "C" fn exchange(ticks_in_mpi: u64) -> u64 {
    enter_mpi(BARRIER);
    let begin = ticks();
    while ticks() - begin < ticks_in_mpi {}
    leave_mpi(BARRIER, ticks_in_mpi, 100);
    black_box(ticks_in_mpi)
}

#[test]
fn t207_time_in_mpi_counts_for_the_functions_around_it() {
    for kind in KINDS {
        let summed = Summed::new(exchange as *const (), kind);
        let mpi = || READER.lock().expect("not poisoned").take(MPI_FUNCTION | u32::from(BARRIER));
        mpi();
        set_records(summed.number, Recorded { exit: true, ..SUMS });
        std::thread::scope(|scope| drop(scope.spawn(|| [5000, 0, 20_000].map(|ticks| exchange(ticks)))));
        let (sums, of_mpi) = (summed.take(), mpi());
        assert_eq!((sums.second.total, sums.second.squares, sums.second.maximum), (25_000, 425_000_000, Some(20_000)));
        assert!(sums.duration.total >= 25_000);
        assert_eq!((of_mpi.entries, of_mpi.exits, of_mpi.duration.total, of_mpi.second.total), (3, 3, 25_000, 300));
        assert_eq!((of_mpi.duration.squares, of_mpi.second.squares, of_mpi.second.maximum), (425_000_000, 30_000, Some(100)));
        let in_mpi: Vec<u64> = summed.events().iter().rev().take(3).map(|event| event.words[4]).collect();
        assert_eq!(in_mpi, [20_000, 0, 5000]);
    }
}
