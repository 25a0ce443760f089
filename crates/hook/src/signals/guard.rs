//! A program's own use of the signals that hooks need, kept apart from ours.
//!
//! A thread that blocks traps would be ended by the system if it ran into code that is being changed, and a program that sets a handler of
//! its own would take ours away. So a program that is tuned calls these functions in the place of the system's: neither signal is ever
//! blocked, and what the program wants to happen at them is remembered, told when it asks, and done when a signal is not ours.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::{Handler, question};

/// Who gets the traps.
pub static TRAP: Guard = Guard::new();
/// Who gets the signal by which threads are asked.
pub static QUESTION: Guard = Guard::new();

/// A signal that both the program and we may want.
pub struct Guard {
    /// Whether our handler is, or is about to be, in place.
    is_ours: AtomicBool,
    /// What the program wants to happen; never freed, a handler may be looking at it.
    wanted: AtomicPtr<libc::sigaction>,
}

impl Guard {
    const fn new() -> Guard {
        Guard { is_ours: AtomicBool::new(false), wanted: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The guard of a signal, if our handler is in place.
    fn of(signal: c_int) -> Option<&'static Guard> {
        let guard = match signal {
            libc::SIGTRAP => &TRAP,
            _ if signal == question() => &QUESTION,
            _ => return None,
        };
        guard.is_ours.load(Ordering::Acquire).then_some(guard)
    }

    /// Puts our handler in place, and remembers the program's.
    pub fn take_over(&self, signal: c_int, handler: Handler) -> io::Result<()> {
        self.is_ours.store(true, Ordering::Release);
        // SAFETY: a zeroed action is one; the handler is of this kind, and does only what a handler may.
        let before = unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            // Traps are not blocked while a trap is handled: a thread that is in the handler could not be told from one that blocks traps.
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
        // Should the program have said something meanwhile, that is what it wants.
        let _ = self.wanted.compare_exchange(std::ptr::null_mut(), before, Ordering::AcqRel, Ordering::Relaxed);
        Ok(())
    }

    fn wanted(&self) -> libc::sigaction {
        // SAFETY: never freed; without one, the system's own way is all zero.
        unsafe { self.wanted.load(Ordering::Acquire).as_ref().copied().unwrap_or_else(|| std::mem::zeroed()) }
    }

    /// Remembers what the program wants from now on; what it wanted before.
    fn want(&self, new: libc::sigaction) -> libc::sigaction {
        let before = self.wanted.swap(Box::into_raw(Box::new(new)), Ordering::AcqRel);
        // SAFETY: as above.
        unsafe { before.as_ref().copied().unwrap_or_else(|| std::mem::zeroed()) }
    }

    /// A signal that is not ours: what would have happened without us.
    ///
    /// # Safety
    /// The arguments must be those that the system passed to the handler.
    pub unsafe fn as_without_us(&self, signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
        let wanted = self.wanted();
        // SAFETY: a handler that the program put in place, called as it asked to be; without one, the signal comes again and ends the process.
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

/// What the system does at a signal now.
pub fn now(signal: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: asks only; a zeroed structure is a valid place for the answer.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(signal, std::ptr::null(), &mut now) {
            0 => Ok(now),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The function that a program is to call in the place of one of the system's; `None` where the system's will do.
pub fn stand_in(name: &str) -> Option<usize> {
    match name {
        "sigaction" => Some(sigaction as *const () as usize),
        "signal" => Some(signal as *const () as usize),
        "sigprocmask" => Some(sigprocmask as *const () as usize),
        "pthread_sigmask" => Some(pthread_sigmask as *const () as usize),
        _ => None,
    }
}

/// The same set without the signals that hooks need.
fn without_ours(mut set: libc::sigset_t) -> libc::sigset_t {
    // SAFETY: a set of our own.
    unsafe {
        libc::sigdelset(&mut set, libc::SIGTRAP);
        libc::sigdelset(&mut set, question());
    }
    set
}

unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the program passes what it would pass to the system.
    unsafe {
        let wanted = new.as_ref().map(|new| libc::sigaction { sa_mask: without_ours(new.sa_mask), ..*new });
        let Some(guard) = Guard::of(signal) else {
            return libc::sigaction(signal, wanted.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), old);
        };
        let before = wanted.map_or_else(|| guard.wanted(), |wanted| guard.want(wanted));
        if let Some(old) = old.as_mut() {
            *old = before;
        }
        0
    }
}

unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let Some(guard) = Guard::of(signal) else {
        // SAFETY: what the program asked of the system.
        return unsafe { libc::signal(signal, handler) };
    };
    // SAFETY: a zeroed action is one.
    let mut wanted: libc::sigaction = unsafe { std::mem::zeroed() };
    (wanted.sa_sigaction, wanted.sa_flags) = (handler, libc::SA_RESTART);
    guard.want(wanted).sa_sigaction
}

/// Sets the mask of this thread through one of the system's two functions.
///
/// # Safety
/// The sets must be those that the program passed.
unsafe fn mask(
    system: unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int,
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: as the caller promises; the set that is passed on lives as long as the call.
    unsafe {
        match set.as_ref() {
            Some(set) if how != libc::SIG_UNBLOCK => system(how, &without_ours(*set), old),
            _ => system(how, set, old),
        }
    }
}

unsafe extern "C" fn sigprocmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: what the program passed.
    unsafe { mask(libc::sigprocmask, how, set, old) }
}

unsafe extern "C" fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: what the program passed.
    unsafe { mask(libc::pthread_sigmask, how, set, old) }
}
