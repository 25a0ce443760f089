//! Tuning that begins in the middle of a program's life: the probe was brought in by a thread that somebody outside has made, and that
//! becomes the one which waits for orders. Nothing is recorded, and calls of MPI go their own way as before.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use sintonia_link::order::Word;
use sintonia_link::session::{Receiver, Secret};

use super::{BEGUN, Stage, block_signals, door, end, in_child, leaving, listen, meet, now, say, set_stage};
use crate::process::{self, State};
use crate::settings;

/// What is told to the one outside.
const MET: u32 = 3;
const UNWILLING: u32 = 4;
/// Room for words to the one outside, with a zero behind them.
const WORDS: usize = 511;

/// Whether calls of MPI are led through the probe.
pub fn sees_mpi() -> bool {
    settings::is_read()
}

/// Meets the other end at a door, tells the one outside how that went, and does what the other end orders until it is gone.
///
/// # Safety
/// Door and secret must be texts, `state` a number and `said` room for 512 bytes, which stay while this function runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sintonia_attach(
    door: *const c_char,
    secret: *const c_char,
    rank: u32,
    size: u32,
    state: *const AtomicU32,
    said: *mut c_char,
) {
    // SAFETY: as the caller promises.
    let (door, secret, state) = unsafe { (OsStr::from_bytes(CStr::from_ptr(door).to_bytes()), CStr::from_ptr(secret), &*state) };
    prepare();
    match catch_unwind(|| come(door, secret, (rank, size))).unwrap_or_else(|_| Err("the probe failed".into())) {
        Ok(receiver) => {
            state.store(MET, Ordering::Release);
            let _ = catch_unwind(|| listen(receiver));
            end();
        }
        Err(why) => {
            let length = why.len().min(WORDS);
            // SAFETY: there is room for that many, and the zero behind them.
            unsafe {
                said.copy_from_nonoverlapping(why.as_ptr().cast(), length);
                said.add(length).write(0);
            }
            state.store(UNWILLING, Ordering::Release);
        }
    }
}

fn prepare() {
    static ONCE: Once = Once::new();
    block_signals();
    // SAFETY: the name of this thread; both functions stay loaded as long as the process lives.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"sintonia".as_ptr()) };
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|_| {}));
        if process::state() == State::Waiting {
            // SAFETY: as above.
            unsafe {
                libc::atexit(at_exit);
                libc::pthread_atfork(None, None, Some(after_fork));
            }
        }
    });
}

extern "C" fn at_exit() {
    let _ = catch_unwind(leaving);
}

extern "C" fn after_fork() {
    in_child();
}

fn come(folder: &OsStr, secret: &CStr, (rank, size): (u32, u32)) -> Result<Receiver<door::Way>, String> {
    let secret = secret.to_str().ok().and_then(Secret::parse).ok_or("the secret of the run is none")?;
    if BEGUN.swap(true, Ordering::AcqRel) {
        return Err("it is being tuned already".into());
    }
    // A program that begins MPI only now is not held up.
    set_stage(Stage::Ready);
    let receiver = meet(folder, &secret, Some((rank, size))).map_err(|problem| {
        end();
        format!("the probe cannot reach the command from inside the process: {problem}")
    })?;
    say(&Word::Rank { rank, size, clock: now() });
    Ok(receiver)
}
