//! Keeps the program's own use of the signals that hooks need apart from ours.
//!
//! A thread that blocks SIGTRAP would be killed when it runs into code being changed, and a program that installs its own handler would
//! remove ours. A tuned program therefore calls these wrappers instead of the C library's functions: neither signal is ever blocked, and
//! the program's action is stored, returned when it asks, and run for signals that are not ours.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::{Handler, query_signal};

/// Guard of SIGTRAP.
pub(crate) static TRAP: SignalGuard = SignalGuard::new();
/// Guard of the query signal.
pub(crate) static QUERY: SignalGuard = SignalGuard::new();

/// A signal that both the program and we may use.
pub(crate) struct SignalGuard {
    /// Whether our handler is installed or about to be.
    is_ours: AtomicBool,
    /// The program's action; never freed, because a handler may be reading it.
    program_action: AtomicPtr<libc::sigaction>,
}

impl SignalGuard {
    const fn new() -> SignalGuard {
        SignalGuard { is_ours: AtomicBool::new(false), program_action: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The guard of a signal, if our handler is installed.
    fn for_signal(signal: c_int) -> Option<&'static SignalGuard> {
        let guard = match signal {
            libc::SIGTRAP => &TRAP,
            _ if signal == query_signal() => &QUERY,
            _ => return None,
        };
        guard.is_ours.load(Ordering::Acquire).then_some(guard)
    }

    /// Installs our handler and stores the program's action.
    pub(crate) fn install(&self, signal: c_int, handler: Handler) -> io::Result<()> {
        self.is_ours.store(true, Ordering::Release);
        // SAFETY: a zeroed sigaction is valid; the handler has the right type and is async-signal-safe.
        let before = unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            // SA_NODEFER: a thread in the handler must not look like one that blocks traps.
            new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_NODEFER;
            new.sa_sigaction = handler as *const () as usize;
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, &new, &mut before) != 0 {
                self.is_ours.store(false, Ordering::Release);
                return Err(io::Error::last_os_error());
            }
            before
        };
        let before = Box::into_raw(Box::new(before));
        // If the program has set an action meanwhile, keep that.
        let _ = self.program_action.compare_exchange(std::ptr::null_mut(), before, Ordering::AcqRel, Ordering::Relaxed);
        Ok(())
    }

    fn program_action(&self) -> libc::sigaction {
        // SAFETY: never freed; without one, the default action is all zero.
        unsafe { self.program_action.load(Ordering::Acquire).as_ref().copied().unwrap_or_else(|| std::mem::zeroed()) }
    }

    /// Stores the program's new action and returns the old one.
    fn set_program_action(&self, new: libc::sigaction) -> libc::sigaction {
        let before = self.program_action.swap(Box::into_raw(Box::new(new)), Ordering::AcqRel);
        // SAFETY: as above.
        unsafe { before.as_ref().copied().unwrap_or_else(|| std::mem::zeroed()) }
    }

    /// Runs the program's action for a signal that is not ours.
    ///
    /// # Safety
    /// The arguments must be those that the kernel passed to the handler.
    pub(crate) unsafe fn forward(&self, signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
        let wanted = self.program_action();
        // SAFETY: a handler installed by the program, called as it requested; without one, the signal is raised again and ends the process.
        unsafe {
            match wanted.sa_sigaction {
                libc::SIG_IGN => {}
                libc::SIG_DFL => {
                    libc::sigaction(signal, &wanted, std::ptr::null_mut());
                    libc::raise(signal);
                }
                address if wanted.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: Handler = std::mem::transmute(address);
                    handler(signal, information, context);
                }
                address => {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(address);
                    handler(signal);
                }
            }
        }
    }
}

/// The current action of a signal.
pub(crate) fn current_action(signal: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: only queries; a zeroed struct is valid output space.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(signal, std::ptr::null(), &mut now) {
            0 => Ok(now),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The wrapper that a program must call instead of a C library function; `None` for functions that need none.
pub fn signal_wrapper(name: &str) -> Option<usize> {
    match name {
        "sigaction" => Some(sigaction as *const () as usize),
        "signal" => Some(signal as *const () as usize),
        "sigprocmask" => Some(sigprocmask as *const () as usize),
        "pthread_sigmask" => Some(pthread_sigmask as *const () as usize),
        _ => None,
    }
}

/// The set without the signals that hooks need.
fn without_reserved(mut set: libc::sigset_t) -> libc::sigset_t {
    // SAFETY: a set of our own.
    unsafe {
        libc::sigdelset(&mut set, libc::SIGTRAP);
        libc::sigdelset(&mut set, query_signal());
    }
    set
}

unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the program passes what it would pass to the C library.
    unsafe {
        let wanted = new.as_ref().map(|new| libc::sigaction { sa_mask: without_reserved(new.sa_mask), ..*new });
        let Some(guard) = SignalGuard::for_signal(signal) else {
            return libc::sigaction(signal, wanted.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), old);
        };
        let before = wanted.map_or_else(|| guard.program_action(), |wanted| guard.set_program_action(wanted));
        if let Some(old) = old.as_mut() {
            *old = before;
        }
        0
    }
}

unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let Some(guard) = SignalGuard::for_signal(signal) else {
        // SAFETY: forwards the program's call.
        return unsafe { libc::signal(signal, handler) };
    };
    // SAFETY: a zeroed sigaction is valid.
    let mut wanted: libc::sigaction = unsafe { std::mem::zeroed() };
    (wanted.sa_sigaction, wanted.sa_flags) = (handler, libc::SA_RESTART);
    guard.set_program_action(wanted).sa_sigaction
}

/// Sets the signal mask of this thread through one of the C library's two functions.
///
/// # Safety
/// The sets must be those that the program passed.
unsafe fn set_mask(
    system: unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int,
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: as the caller promises; the set passed on outlives the call.
    unsafe {
        match set.as_ref() {
            Some(set) if how != libc::SIG_UNBLOCK => system(how, &without_reserved(*set), old),
            _ => system(how, set, old),
        }
    }
}

unsafe extern "C" fn sigprocmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: what the program passed.
    unsafe { set_mask(libc::sigprocmask, how, set, old) }
}

unsafe extern "C" fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: what the program passed.
    unsafe { set_mask(libc::pthread_sigmask, how, set, old) }
}
