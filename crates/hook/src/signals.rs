//! The two signals that changing code under running threads needs: a trap, when a thread runs into bytes that are being changed, and one
//! that asks a thread whether it stands in the middle of them. Both lead the thread to the moved code, and it goes on as if nothing were.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::site;

/// What was done with the signals before.
struct Before {
    trap: libc::sigaction,
}

static BEFORE: OnceLock<Before> = OnceLock::new();
static MOVE_SIGNAL: OnceLock<c_int> = OnceLock::new();
/// The place whose inner instructions nobody may stand on.
static CHANGING: AtomicU64 = AtomicU64::new(0);
/// Which question the thread answered that was asked as the n-th.
static ANSWERS: [AtomicU32; MOST_ASKED] = [const { AtomicU32::new(0) }; MOST_ASKED];
static QUESTION: AtomicU32 = AtomicU32::new(0);
/// As many threads are asked at once.
pub const MOST_ASKED: usize = 1024;
/// How often each signal led a thread elsewhere.
pub static TRAPS: AtomicU64 = AtomicU64::new(0);
/// How often a thread stood in the middle.
pub static MOVES: AtomicU64 = AtomicU64::new(0);

/// Puts the handlers in place, for ever; a second call does nothing.
pub fn prepare() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let free =
        (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(|signal| action(*signal).is_ok_and(|now| now.sa_sigaction == libc::SIG_DFL));
    let signal = free.ok_or_else(|| io::Error::other("the program uses every signal"))?;
    let trap = handle(libc::SIGTRAP, on_trap)?;
    handle(signal, on_move)?;
    let _ = (BEFORE.set(Before { trap }), MOVE_SIGNAL.set(signal));
    Ok(())
}

/// A question to threads: do you stand inside this place? Those who do leave it.
pub struct Question {
    number: u32,
}

impl Question {
    /// A new question; nobody has answered it.
    pub fn new(address: u64) -> Question {
        CHANGING.store(address, Ordering::Release);
        Question { number: QUESTION.fetch_add(1, Ordering::AcqRel) + 1 }
    }

    /// Asks a thread as the n-th; `false` if it cannot be asked.
    pub fn ask(&self, thread: c_int, place: usize) -> bool {
        let Some(signal) = MOVE_SIGNAL.get() else { return false };
        // SAFETY: a signal that we have a handler for, to a thread of our own process; the rest of the information may be zero.
        unsafe {
            let mut information: libc::siginfo_t = std::mem::zeroed();
            (information.si_signo, information.si_code) = (*signal, libc::SI_QUEUE);
            let queued = std::ptr::from_mut(&mut information).cast::<Queued>();
            (*queued).value = u64::from(self.number) << 32 | place as u64;
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), thread, *signal, &information) == 0
        }
    }

    /// Whether the thread that was asked as the n-th has answered.
    pub fn is_answered(&self, place: usize) -> bool {
        ANSWERS[place].load(Ordering::Acquire) == self.number
    }
}

/// What the system passes with a signal that was sent with a value.
#[repr(C)]
struct Queued {
    number: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    sender: [c_int; 2],
    value: u64,
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn action(signal: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: asks only; a zeroed structure is a valid place for the answer.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(signal, std::ptr::null(), &mut now) {
            0 => Ok(now),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn handle(signal: c_int, handler: Handler) -> io::Result<libc::sigaction> {
    let before = action(signal)?;
    // SAFETY: the handler is for this kind of action, and does only what a handler may.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        // Traps are not blocked while a trap is handled: a thread that is in the handler could not be told from one that blocks traps.
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_NODEFER;
        new.sa_sigaction = handler as *const () as usize;
        match libc::sigaction(signal, &new, std::ptr::null_mut()) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Where the interrupted thread goes on.
///
/// # Safety
/// `context` must be what the system passes to a handler.
unsafe fn instruction(context: *mut c_void) -> &'static mut i64 {
    // SAFETY: as the caller promises.
    unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] }
}

extern "C" fn on_trap(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this with a context.
    let instruction = unsafe { instruction(context) };
    let place = *instruction as u64 - 1;
    if let Some(site) = site::all().find(|site| site.address == place) {
        TRAPS.fetch_add(1, Ordering::Relaxed);
        *instruction = site.moved as i64;
        return;
    }
    // SAFETY: the arguments are those of this signal.
    unsafe { as_before(signal, information, context) };
}

/// A trap that is not ours: what would have happened without us.
///
/// # Safety
/// The arguments must be those that the system passed to the handler.
unsafe fn as_before(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    let address = before.trap.sa_sigaction;
    // SAFETY: a handler that the program put in place, called as it asked to be; without one, the signal comes again and ends the process.
    unsafe {
        match address {
            libc::SIG_IGN => {}
            libc::SIG_DFL => {
                libc::sigaction(signal, &before.trap, std::ptr::null_mut());
                libc::raise(signal);
            }
            _ if before.trap.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: Handler = std::mem::transmute(address);
                handler(signal, information, context);
            }
            _ => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(address);
                handler(signal);
            }
        }
    }
}

extern "C" fn on_move(_signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this with a context, and with the value that was sent.
    let (instruction, value) = unsafe { (instruction(context), (*information.cast::<Queued>()).value) };
    let changing = CHANGING.load(Ordering::Acquire);
    if let Some(site) = site::all().find(|site| site.address == changing) {
        let here = *instruction as u64;
        // On the first instruction stands who will trap anyway, or has trapped.
        if let Some((_, moved)) = site.places.iter().find(|(place, _)| *place == here && here != site.address) {
            MOVES.fetch_add(1, Ordering::Relaxed);
            *instruction = *moved as i64;
        }
    }
    if let Some(answer) = ANSWERS.get(value as u32 as usize) {
        answer.store((value >> 32) as u32, Ordering::Release);
    }
}
