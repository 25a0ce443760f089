//! The probe's side of `sintonia tune`: a thread that receives commands, executes them and reports the results.
//!
//! It costs nothing while it waits. When the connection ends, for whatever reason, all hooks are removed and the program runs as before.

mod actions;
pub(crate) mod agreement;
mod attach;
mod collector;
mod collector_socket;
mod commands;
mod control;
mod environment;
mod executed_action;
mod launcher;
pub(crate) mod pieces;
mod process_copy;
mod survey;
pub(crate) mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sintonia_hook::{RingMemory, ThrottledHook};
use sintonia_link::probe_protocol::{CommandEnvelope, ProbeCommand, ProbeMessage};
use sintonia_link::session::{self, SessionError, SessionReceiver, SessionSender, SessionSide, SharedSecret};

use crate::attached;
use crate::clock;

/// Chunks of a ring: about four thousand unread events per thread.
const RING_CHUNKS: usize = 64;
/// How long the program waits for the collector before it continues, unless commands are being executed meanwhile ...
const STAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// ... and in any case.
const MAX_STAGE_WAIT: Duration = Duration::from_secs(60);

/// Progress of tuning, as reported by the collector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TuningStage {
    /// The program must not initialise MPI yet.
    BeforeInit,
    /// It may initialise MPI.
    Begun,
    /// It may continue after `MPI_Init`.
    Ready,
    /// There is no collector, or it is gone.
    Gone,
}

static STAGE: Mutex<TuningStage> = Mutex::new(TuningStage::BeforeInit);
static STAGE_CHANGED: Condvar = Condvar::new();
static SENDER: Mutex<Option<SessionSender<collector_socket::CollectorStream>>> = Mutex::new(None);
static SESSION_ACTIVE: AtomicBool = AtomicBool::new(false);
/// Incremented when a command arrives and when it is done: odd while one is being executed.
static COMMAND_COUNT: AtomicU64 = AtomicU64::new(0);

fn set_stage(stage: TuningStage) {
    *STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = stage;
    STAGE_CHANGED.notify_all();
}

/// Waits until the collector has reached a stage, or until the timeout.
fn wait_for(stage: TuningStage) {
    let begin = Instant::now();
    let behind = |now: &mut TuningStage| (*now as u8) < stage as u8;
    let mut seen = COMMAND_COUNT.load(Ordering::Relaxed);
    let mut now = STAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    loop {
        let (guard, timeout) =
            STAGE_CHANGED.wait_timeout_while(now, STAGE_TIMEOUT, behind).unwrap_or_else(|poisoned| poisoned.into_inner());
        now = guard;
        let commands = COMMAND_COUNT.load(Ordering::Relaxed);
        let is_alive = commands != seen || commands % 2 == 1;
        if !timeout.timed_out() || !is_alive || begin.elapsed() > MAX_STAGE_WAIT {
            return;
        }
        seen = commands;
    }
}

/// At the first MPI call: connects to the collector, if this program is tuned.
pub(crate) fn start() {
    let (Some(socket_dir), Some(secret)) = (std::env::var_os("SINTONIA_TUNE"), std::env::var("SINTONIA_SECRET").ok()) else { return };
    let Some(secret) = SharedSecret::from_hex(&secret) else { return };
    if SESSION_ACTIVE.swap(true, Ordering::Relaxed) {
        return;
    }
    clock::select_source();
    // Functions of the program may be called in this thread, so its stack has their usual size; pages are allocated only when used.
    let thread = std::thread::Builder::new().name("sintonia".into()).stack_size(8 << 20);
    if thread.spawn(move || run_session(&socket_dir, &secret)).is_err() {
        set_stage(TuningStage::Gone);
    }
    wait_for(TuningStage::Begun);
}

/// After `MPI_Init`: reports the rank, and waits until the initial hooks are in place.
pub(crate) fn initialized(rank: u32, size: u32) {
    agreement::start(rank, size);
    pieces::initialized(rank, size);
    if send_message(&ProbeMessage::Rank { rank, size, clock: clock_pair() }) {
        wait_for(TuningStage::Ready);
    }
}

/// Before `MPI_Finalize`.
pub(crate) fn before_finalize() {
    agreement::end();
    if let Some(report) = survey::last() {
        send_message(&ProbeMessage::Surveyed(report));
    }
    send_message(&ProbeMessage::Finalizing);
}

/// In a forked child: rings and session belong to the parent.
pub(crate) fn after_fork_in_child() {
    sintonia_hook::detach_ring();
}

/// Current time in ticks of the rings (always the time stamp counter) and in nanoseconds: the best of several attempts.
fn clock_pair() -> (u64, u64) {
    use sintonia_hook::ticks;
    let look = |_| {
        let (before, nanoseconds, after) = (ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC), ticks());
        let width = after.wrapping_sub(before);
        (width, (before + width / 2, nanoseconds))
    };
    (0..5).map(look).min().map_or((0, 0), |(_, now)| now)
}

/// Sends a message if there is a session.
fn send_message(message: &ProbeMessage) -> bool {
    let Ok(message) = postcard::to_allocvec(message) else { return false };
    lock_sender().as_mut().is_some_and(|sender| sender.send(&message).is_ok())
}

fn lock_sender() -> MutexGuard<'static, Option<SessionSender<collector_socket::CollectorStream>>> {
    SENDER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Body of the tuning thread.
fn run_session(socket_dir: &std::ffi::OsStr, secret: &SharedSecret) {
    block_signals();
    // However the session ends, the program continues without it.
    let _ = std::panic::catch_unwind(|| connect(socket_dir, secret, launcher::rank_and_size()).map(serve_commands));
    end_session();
}

/// Ends the session; another one may start later.
fn end_session() {
    set_stage(TuningStage::Gone);
    *lock_sender() = None;
    watch::clear();
    attached::restore();
    pieces::clear();
    let _ = sintonia_hook::unhook_all();
    SESSION_ACTIVE.store(false, Ordering::Release);
}

fn connect(
    socket_dir: &std::ffi::OsStr,
    secret: &SharedSecret,
    rank_and_size: Option<(u32, u32)>,
) -> Result<SessionReceiver<collector_socket::CollectorStream>, SessionError> {
    sintonia_hook::set_action_handler(actions::execute);
    let rings = RingMemory::create(RING_CHUNKS)?;
    let (from, to) = collector_socket::connect(socket_dir)?;
    let (receiver, sender) = session::handshake(from, to, secret, SessionSide::Client)?;
    collector_socket::send_file_descriptor(&rings.file)?;
    *lock_sender() = Some(sender);
    send_message(&ProbeMessage::Hello {
        process: std::process::id(),
        ring_bytes: rings.bytes as u64,
        ring_chunks: rings.chunks as u64,
        clock: clock_pair(),
        rank_and_size,
    });
    Ok(receiver)
}

fn serve_commands(mut receiver: SessionReceiver<collector_socket::CollectorStream>) {
    let mut executor = commands::CommandExecutor::default();
    loop {
        if collector_socket::wait_readable(poll_timeout(&executor)) {
            let Ok(message) = receiver.receive() else { return };
            let Ok(CommandEnvelope { number, command }) = postcard::from_bytes(&message) else { return };
            match command {
                ProbeCommand::Begin => set_stage(TuningStage::Begun),
                ProbeCommand::Resume => set_stage(TuningStage::Ready),
                ProbeCommand::Clock => drop(send_message(&ProbeMessage::Clock { clock: clock_pair() })),
                _ => {}
            }
            attached::bind_new_objects();
            COMMAND_COUNT.fetch_add(1, Ordering::Relaxed);
            let outcome = executor.execute(number, command);
            COMMAND_COUNT.fetch_add(1, Ordering::Relaxed);
            send_message(&ProbeMessage::Answer { number, outcome });
        }
        for (number, outcome) in executor.take_results() {
            send_message(&ProbeMessage::Answer { number, outcome });
        }
        for ThrottledHook { hook, calls, seconds_per_call } in sintonia_hook::throttle_hooks() {
            send_message(&ProbeMessage::Throttled { hook, calls, seconds_per_call });
        }
    }
}

/// How long the thread may wait for commands.
fn poll_timeout(executor: &commands::CommandExecutor) -> Option<Duration> {
    /// Results of scheduled actions are reported soon.
    const SOON: Duration = Duration::from_millis(1);
    /// A hook that fires all the time costs the program a few percent during this time before it is removed.
    const NOW_AND_THEN: Duration = Duration::from_millis(100);
    match executor.has_unreported() {
        true => Some(SOON),
        false => sintonia_hook::has_throttling().then_some(NOW_AND_THEN),
    }
}

/// The program's signal handlers must not run in this thread; traps must be delivered wherever hooks may be.
fn block_signals() {
    // SAFETY: a signal set of our own, and the mask of this thread.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigdelset(&mut all, libc::SIGTRAP);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}
