//! The two signals needed to change code under running threads: a trap for threads that reach bytes being changed, and a query that moves a
//! thread out of them. Both make the thread continue in the relocated code.
//!
//! The program may use the same signals: its actions are kept in [`guard`] and run for signals that are not ours.

pub(crate) mod guard;
mod syscall_restart;

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::site;

/// The site whose inner instructions must be vacated.
static CHANGING: AtomicU64 = AtomicU64::new(0);
/// The last query answered by the n-th queried thread.
static ANSWERED: [AtomicU32; MAX_QUERIED] = [const { AtomicU32::new(0) }; MAX_QUERIED];
static QUERY_COUNT: AtomicU32 = AtomicU32::new(0);
/// Maximum number of threads queried at once.
pub(crate) const MAX_QUERIED: usize = 1024;

/// The query signal: the last real-time signal unused by the program when first needed; 0 if all are in use.
pub(crate) fn query_signal() -> c_int {
    static SIGNAL: OnceLock<c_int> = OnceLock::new();
    *SIGNAL.get_or_init(|| {
        let is_free = |signal: &c_int| guard::current_action(*signal).is_ok_and(|now| now.sa_sigaction == libc::SIG_DFL);
        (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(is_free).unwrap_or(0)
    })
}

/// Installs the handlers, permanently; idempotent.
pub(crate) fn prepare() -> io::Result<()> {
    static PREPARED: OnceLock<()> = OnceLock::new();
    if PREPARED.get().is_some() {
        return Ok(());
    }
    if query_signal() == 0 {
        return Err(io::Error::other("the program uses every signal"));
    }
    guard::TRAP.install(libc::SIGTRAP, on_trap)?;
    guard::QUERY.install(query_signal(), on_query)?;
    let _ = PREPARED.set(());
    Ok(())
}

/// A query to threads: those inside the site being changed leave it.
pub(crate) struct ThreadQuery {
    number: u32,
}

impl ThreadQuery {
    /// A new query, without answers.
    pub(crate) fn new(address: u64) -> ThreadQuery {
        CHANGING.store(address, Ordering::Release);
        ThreadQuery { number: QUERY_COUNT.fetch_add(1, Ordering::AcqRel) + 1 }
    }

    /// Queries a thread as the n-th.
    pub(crate) fn ask(&self, thread: c_int, index: usize) {
        let signal = query_signal();
        // SAFETY: a signal with a handler of ours, sent to a thread of this process; the rest of siginfo may be zero.
        unsafe {
            let mut information: libc::siginfo_t = std::mem::zeroed();
            (information.si_signo, information.si_code) = (signal, libc::SI_QUEUE);
            let queued = std::ptr::from_mut(&mut information).cast::<QueuedSignal>();
            (*queued).sender = [libc::getpid(), 0];
            (*queued).value = u64::from(self.number) << 32 | index as u64;
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), thread, signal, &information);
        }
    }

    /// Whether the n-th queried thread has answered.
    pub(crate) fn is_answered(&self, index: usize) -> bool {
        ANSWERED[index].load(Ordering::Acquire) == self.number
    }
}

/// Layout of siginfo for a signal sent with a value.
#[repr(C)]
struct QueuedSignal {
    number: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    sender: [c_int; 2],
    value: u64,
}

/// A signal handler of ours.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Instruction pointer of the interrupted thread.
///
/// # Safety
/// `context` must be what the kernel passes to a handler.
unsafe fn instruction_pointer(context: *mut c_void) -> &'static mut i64 {
    // SAFETY: as the caller promises.
    unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] }
}

extern "C" fn on_trap(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel calls this with a context.
    let instruction = unsafe { instruction_pointer(context) };
    let address = *instruction as u64 - 1;
    match site::all().find(|site| site.address == address) {
        Some(site) => *instruction = site.relocated as i64,
        // SAFETY: the arguments are those of this signal.
        None => unsafe { guard::TRAP.forward(signal, information, context) },
    }
}

extern "C" fn on_query(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel calls this with a context, and with the value that was sent.
    let (queued, is_queued) = unsafe { (&*information.cast::<QueuedSignal>(), (*information).si_code == libc::SI_QUEUE) };
    let (number, index) = ((queued.value >> 32) as u32, queued.value as u32 as usize);
    // SAFETY: only queries the process id.
    let is_ours =
        is_queued && queued.sender[0] == unsafe { libc::getpid() } && number != 0 && number <= QUERY_COUNT.load(Ordering::Acquire);
    if !is_ours {
        // SAFETY: the arguments are those of this signal.
        return unsafe { guard::QUERY.forward(signal, information, context) };
    }
    // SAFETY: the context of this handler; the two borrows do not overlap.
    let instruction = unsafe {
        syscall_restart::restart_interrupted(&mut *context.cast());
        instruction_pointer(context)
    };
    let changing = CHANGING.load(Ordering::Acquire);
    if let Some(site) = site::all().find(|site| site.address == changing) {
        let here = *instruction as u64;
        // A thread at the first instruction will trap anyway, or has trapped.
        if let Some((_, moved)) = site.address_map.iter().find(|(address, _)| *address == here && here != site.address) {
            *instruction = *moved as i64;
        }
    }
    if let Some(answer) = ANSWERED.get(index) {
        answer.store(number, Ordering::Release);
    }
}
