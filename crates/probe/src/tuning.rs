//! The probe's end of `sintonia tune`: a thread that waits for orders, does them, and says what came of them.
//!
//! It costs nothing while it waits. When the other end is gone, for whatever reason, every hook is taken out and the program runs as if
//! nobody had ever looked.

mod acts;
mod aside;
mod attach;
mod control;
mod door;
mod host;
mod launcher;
mod orders;
pub mod together;
pub mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sintonia_hook::{Rings, Throttled};
use sintonia_link::order::{Command, Order, Outcome, Word};
use sintonia_link::session::{self, Receiver, Secret, Sender, SessionError, Side};

use crate::clock;

/// Chunks of a ring: about four thousand events of a thread may wait to be read.
const CHUNKS: usize = 64;
/// The program waits no longer for the other end before it goes on, unless orders are being done meanwhile;
const PATIENCE: Duration = Duration::from_secs(5);
/// and no longer in any case.
const ALL_PATIENCE: Duration = Duration::from_secs(60);

/// What the other end tells besides orders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The program must not start MPI yet.
    Before,
    /// It may.
    Begun,
    /// It may go on.
    Ready,
    /// There is no other end, or none any more.
    Gone,
}

static STAGE: Mutex<Stage> = Mutex::new(Stage::Before);
static STAGE_CHANGED: Condvar = Condvar::new();
static SPEAKS: Mutex<Option<Sender<door::Way>>> = Mutex::new(None);
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Counts orders when they come and when they are done: odd while one is being done.
static ORDERS: AtomicU64 = AtomicU64::new(0);

fn set_stage(stage: Stage) {
    *STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = stage;
    STAGE_CHANGED.notify_all();
}

/// Waits until the other end has done what must be done now, or has had its time.
fn wait_for(stage: Stage) {
    let begin = Instant::now();
    let behind = |now: &mut Stage| (*now as u8) < stage as u8;
    let mut seen = ORDERS.load(Ordering::Relaxed);
    let mut now = STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    loop {
        let (guard, timeout) = STAGE_CHANGED.wait_timeout_while(now, PATIENCE, behind).unwrap_or_else(|poisoned| poisoned.into_inner());
        now = guard;
        let orders = ORDERS.load(Ordering::Relaxed);
        let is_alive = orders != seen || orders % 2 == 1;
        if !timeout.timed_out() || !is_alive || begin.elapsed() > ALL_PATIENCE {
            return;
        }
        seen = orders;
    }
}

/// Whether this program is tuned.
pub fn is_wanted() -> bool {
    std::env::var_os("SINTONIA_TUNE").is_some()
}

/// At the first call of MPI: meets the other end, if this program is tuned.
pub fn begin() {
    let (Some(door), Some(secret)) = (std::env::var_os("SINTONIA_TUNE"), std::env::var("SINTONIA_SECRET").ok()) else { return };
    let Some(secret) = Secret::parse(&secret) else { return };
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    clock::choose();
    // Functions of the program may be called in it, so its stack is as large as theirs; only what is used of it is ever taken.
    let thread = std::thread::Builder::new().name("sintonia".into()).stack_size(8 << 20);
    if thread.spawn(move || run(&door, &secret)).is_err() {
        set_stage(Stage::Gone);
    }
    wait_for(Stage::Begun);
}

/// After `MPI_Init`: says who this is, and waits until what is wanted at the beginning is in place.
pub fn initialized(rank: u32, size: u32) {
    together::begin(rank, size);
    if say(&Word::Rank { rank, size, clock: now() }) {
        wait_for(Stage::Ready);
    }
}

/// Before `MPI_Finalize`.
pub fn leaving() {
    together::end();
    say(&Word::Leaving);
}

/// In a forked child: the rings and the conversation are the parent's.
pub fn in_child() {
    sintonia_hook::forget();
}

/// Now in ticks of the rings, which are those of the processor's counter whatever the recording's are, and in nanoseconds: the best of a
/// few tries.
fn now() -> (u64, u64) {
    // SAFETY: every x86-64 processor has this counter.
    let ticks = || unsafe { core::arch::x86_64::_rdtsc() };
    let look = |_| {
        let (before, nanoseconds, after) = (ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC), ticks());
        let width = after.wrapping_sub(before);
        (width, (before + width / 2, nanoseconds))
    };
    (0..5).map(look).min().map_or((0, 0), |(_, now)| now)
}

/// Says a word, if there is anybody to hear it.
fn say(word: &Word) -> bool {
    let Ok(message) = postcard::to_allocvec(word) else { return false };
    speaks().as_mut().is_some_and(|sender| sender.send(&message).is_ok())
}

fn speaks() -> MutexGuard<'static, Option<Sender<door::Way>>> {
    SPEAKS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The life of the thread.
fn run(door: &std::ffi::OsStr, secret: &Secret) {
    block_signals();
    // However the conversation ends, the program goes on without it.
    let _ = std::panic::catch_unwind(|| meet(door, secret, launcher::place()).map(listen));
    end();
}

/// Nobody looks any more; somebody else may come.
fn end() {
    set_stage(Stage::Gone);
    *speaks() = None;
    watch::forget();
    let _ = sintonia_hook::unhook_all();
    BEGUN.store(false, Ordering::Release);
}

fn meet(door: &std::ffi::OsStr, secret: &Secret, place: Option<(u32, u32)>) -> Result<Receiver<door::Way>, SessionError> {
    sintonia_hook::entrust(acts::perform);
    let rings = Rings::create(CHUNKS)?;
    let (from, to) = door::open(door)?;
    let (receiver, sender) = session::begin(from, to, secret, Side::Client)?;
    door::hand_over(&rings.file)?;
    *speaks() = Some(sender);
    say(&Word::Here { process: std::process::id(), ring_bytes: rings.bytes as u64, ring_chunks: rings.chunks as u64, clock: now(), place });
    Ok(receiver)
}

fn listen(mut receiver: Receiver<door::Way>) {
    let mut arranged = orders::Arranged::default();
    loop {
        if door::has_something(time_to_wait(&arranged)) {
            let Ok(message) = receiver.receive() else { return };
            let Ok(Command { number, order }) = postcard::from_bytes(&message) else { return };
            match order {
                Order::Begin => set_stage(Stage::Begun),
                Order::GoOn => set_stage(Stage::Ready),
                Order::Clock => drop(say(&Word::Clock { clock: now() })),
                _ => {}
            }
            ORDERS.fetch_add(1, Ordering::Relaxed);
            let outcome = arranged.obey(number, order);
            ORDERS.fetch_add(1, Ordering::Relaxed);
            say(&Word::Answer { number, outcome });
        }
        for (number, given) in arranged.performed() {
            say(&Word::Answer { number, outcome: Outcome::Performed { given } });
        }
        for Throttled { hook, calls, seconds_per_call } in sintonia_hook::throttle() {
            say(&Word::Throttled { hook, calls, seconds_per_call });
        }
    }
}

/// How long the thread may wait for orders.
fn time_to_wait(arranged: &orders::Arranged) -> Option<Duration> {
    /// What was arranged is told soon.
    const SOON: Duration = Duration::from_millis(1);
    /// A hook that fires without end costs the program a few percent of this time before it is taken out.
    const NOW_AND_THEN: Duration = Duration::from_millis(100);
    match arranged.is_waiting() {
        true => Some(SOON),
        false => sintonia_hook::is_throttling().then_some(NOW_AND_THEN),
    }
}

/// No handler of the program's runs in this thread; traps must be noticed wherever hooks may come.
fn block_signals() {
    // SAFETY: a set of signals of our own, and the mask of this thread.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigdelset(&mut all, libc::SIGTRAP);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}
