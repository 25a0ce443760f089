//! Attaching to a running program: the injected thread that loaded the probe becomes the tuning thread. Nothing is recorded; MPI calls are
//! observed ([`crate::attached`]).

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sintonia_link::probe_protocol::ProbeMessage;
use sintonia_link::session::{SessionReceiver, SharedSecret};

use super::{
    SESSION_ACTIVE, TuningStage, after_fork_in_child, before_finalize, block_signals, clock_pair, collector_socket, connect, end_session,
    send_message, serve_commands, set_stage,
};
use crate::attached;
use crate::process::{self, ProcessState};

/// States reported to the injector.
const STATE_CONNECTED: u32 = 3;
const STATE_REFUSED: u32 = 4;
/// Maximum length of an error message to the injector, without the terminating zero.
const MAX_MESSAGE_BYTES: usize = 511;

/// Connects to the collector, reports the result to the injector, and executes commands until the session ends.
///
/// # Safety
/// `socket_dir` and `secret` must be strings, `state` a number and `message` a buffer of 512 bytes, all valid while this function runs.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sintonia_attach(
    socket_dir: *const c_char,
    secret: *const c_char,
    rank: u32,
    size: u32,
    state: *const AtomicU32,
    message: *mut c_char,
) {
    // SAFETY: as the caller promises.
    let (socket_dir, secret, state) =
        unsafe { (OsStr::from_bytes(CStr::from_ptr(socket_dir).to_bytes()), CStr::from_ptr(secret), &*state) };
    prepare();
    match catch_unwind(|| connect_collector(socket_dir, secret, (rank, size))).unwrap_or_else(|_| Err("the probe failed".into())) {
        Ok(receiver) => {
            state.store(STATE_CONNECTED, Ordering::Release);
            let _ = catch_unwind(|| serve_commands(receiver));
            end_session();
        }
        Err(why) => {
            let length = why.len().min(MAX_MESSAGE_BYTES);
            // SAFETY: there is room for that many bytes and a terminating zero.
            unsafe {
                message.copy_from_nonoverlapping(why.as_ptr().cast(), length);
                message.add(length).write(0);
            }
            state.store(STATE_REFUSED, Ordering::Release);
        }
    }
}

fn prepare() {
    static ONCE: Once = Once::new();
    block_signals();
    // SAFETY: the name of this thread; both functions stay loaded for the life of the process.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"sintonia".as_ptr()) };
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|_| {}));
        if process::state() == ProcessState::Waiting {
            // SAFETY: as above.
            unsafe {
                libc::atexit(at_exit);
                libc::pthread_atfork(None, None, Some(after_fork));
            }
        }
    });
}

extern "C" fn at_exit() {
    let _ = catch_unwind(before_finalize);
}

extern "C" fn after_fork() {
    attached::after_fork_in_child();
    after_fork_in_child();
}

/// How long, and how often, the end of another session is waited for.
const SESSION_PAUSE: Duration = Duration::from_millis(10);
const SESSION_TRIES: u32 = 300;

/// Begins a session; false if there is another one. That one may be about to end: its command was killed a moment ago.
fn begin_session() -> bool {
    (0..SESSION_TRIES).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(SESSION_PAUSE);
        }
        !SESSION_ACTIVE.swap(true, Ordering::AcqRel)
    })
}

fn connect_collector(
    folder: &OsStr,
    secret: &CStr,
    (rank, size): (u32, u32),
) -> Result<SessionReceiver<collector_socket::CollectorStream>, String> {
    let secret = secret.to_str().ok().and_then(SharedSecret::from_hex).ok_or("the shared secret is malformed")?;
    if !begin_session() {
        return Err("it is already being tuned".into());
    }
    // A program that initialises MPI only now is not delayed.
    set_stage(TuningStage::Ready);
    let receiver = connect(folder, &secret, Some((rank, size))).map_err(|problem| {
        end_session();
        format!("the probe cannot reach the command from inside the process: {problem}")
    })?;
    attached::bind();
    send_message(&ProbeMessage::Rank { rank, size, clock: clock_pair() });
    Ok(receiver)
}
