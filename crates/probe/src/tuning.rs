//! The probe's end of `sintonia tune`: a thread that waits for orders, does them, and says what came of them.
//!
//! It costs nothing while it waits. When the other end is gone, for whatever reason, every hook is taken out and the program runs as if
//! nobody had ever looked.

mod door;
mod orders;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

use sintonia_hook::Rings;
use sintonia_link::order::{Command, Order, Outcome, Word};
use sintonia_link::session::{self, Receiver, Secret, Sender, SessionError, Side};

use crate::clock;

/// Chunks of a ring: about two thousand events of a thread may wait to be read.
const CHUNKS: usize = 32;
/// The program waits no longer for the other end before it goes on.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the other end tells besides orders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not yet connected.
    Before,
    /// Connected; orders for before `MPI_Init` may come.
    Connected,
    /// The program may go on.
    Ready,
    /// There is no other end, or none any more.
    Gone,
}

static STAGE: Mutex<Stage> = Mutex::new(Stage::Before);
static STAGE_CHANGED: Condvar = Condvar::new();
static SPEAKS: OnceLock<Mutex<Sender<door::Way>>> = OnceLock::new();
static BEGUN: AtomicBool = AtomicBool::new(false);

fn set_stage(stage: Stage) {
    *STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = stage;
    STAGE_CHANGED.notify_all();
}

/// Waits until the other end has done what must be done now, or has had its time.
fn wait_for(stage: Stage) {
    let now = STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let behind = |now: &mut Stage| (*now as u8) < stage as u8;
    drop(STAGE_CHANGED.wait_timeout_while(now, PATIENCE, behind));
}

/// At the first call of MPI: meets the other end, if this program is tuned.
pub fn begin() {
    let (Some(door), Some(secret)) = (std::env::var_os("SINTONIA_TUNE"), std::env::var("SINTONIA_SECRET").ok()) else { return };
    let Some(secret) = Secret::parse(&secret) else { return };
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    clock::choose();
    let thread = std::thread::Builder::new().name("sintonia".into()).stack_size(1 << 18);
    if thread.spawn(move || run(&door, &secret)).is_err() {
        set_stage(Stage::Gone);
    }
    wait_for(Stage::Connected);
}

/// After `MPI_Init`: says who this is, and waits until what is wanted at the beginning is in place.
pub fn initialized(rank: u32, size: u32) {
    if say(&Word::Rank { rank, size, clock: now() }) {
        wait_for(Stage::Ready);
    }
}

/// Before `MPI_Finalize`.
pub fn leaving() {
    say(&Word::Leaving);
}

/// In a forked child: the rings and the conversation are the parent's.
pub fn in_child() {
    sintonia_hook::forget();
}

fn now() -> (u64, u64) {
    let reading = clock::reading();
    (reading.ticks, reading.monotonic_ns)
}

/// Says a word, if there is anybody to hear it.
fn say(word: &Word) -> bool {
    let Some(sender) = SPEAKS.get() else { return false };
    let Ok(message) = postcard::to_allocvec(word) else { return false };
    sender.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send(&message).is_ok()
}

/// The life of the thread.
fn run(door: &std::ffi::OsStr, secret: &Secret) {
    block_signals();
    // However the conversation ends, the program goes on without it.
    let _ = std::panic::catch_unwind(|| meet(door, secret).map(listen));
    set_stage(Stage::Gone);
    let _ = sintonia_hook::unhook_all();
}

fn meet(door: &std::ffi::OsStr, secret: &Secret) -> Result<Receiver<door::Way>, SessionError> {
    let rings = Rings::create(CHUNKS)?;
    let (from, to) = door::open(door)?;
    let (receiver, sender) = session::begin(from, to, secret, Side::Client)?;
    door::hand_over(&rings.file)?;
    let _ = SPEAKS.set(Mutex::new(sender));
    say(&Word::Here { process: std::process::id(), ring_bytes: rings.bytes as u64, ring_chunks: rings.chunks as u64, clock: now() });
    set_stage(Stage::Connected);
    Ok(receiver)
}

fn listen(mut receiver: Receiver<door::Way>) {
    let mut arranged = orders::Arranged::default();
    loop {
        if door::has_something(arranged.is_waiting()) {
            let Ok(message) = receiver.receive() else { return };
            let Ok(Command { number, order }) = postcard::from_bytes(&message) else { return };
            let outcome = match order {
                Order::GoOn => {
                    set_stage(Stage::Ready);
                    Outcome::Done(0)
                }
                order => arranged.obey(number, order),
            };
            say(&Word::Answer { number, outcome });
        }
        for (number, given) in arranged.performed() {
            say(&Word::Answer { number, outcome: Outcome::Performed { given } });
        }
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
