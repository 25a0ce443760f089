//! What the probe knows of the thread it runs in.
//!
//! The state of a thread is found through one thread-local pointer that needs no call (the probe is always loaded at program start, so the
//! pointer can stand in the thread's static block). Nothing in it is shared: a recorded call touches memory of its own thread only.

use std::sync::Mutex;

use sintonia_recording::definitions::{Definition, Thread as ThreadDefinition};

use crate::communicators::CommunicatorCache;
use crate::datatypes::SizeCache;
use crate::process;
use crate::stream::Recorder;

/// The state of one thread.
pub struct Thread {
    /// Its number in this process.
    pub number: u16,
    /// The MPI call it is inside, if any: calls that MPI makes of itself are not recorded again.
    pub inside: Option<Inside>,
    /// Where its calls are written.
    pub recorder: Recorder,
    /// Sizes of datatypes it used lately.
    pub sizes: SizeCache,
    /// Communicators it used lately.
    pub communicators: CommunicatorCache,
    /// Handles as they were before a call that completes requests.
    pub handles: Vec<usize>,
    /// Room for statuses that the program does not want but the probe does.
    pub statuses: Vec<u64>,
}

/// The recorded call that a thread is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    /// Where its frame is on the stack.
    pub frame: usize,
    /// When it was entered.
    pub enter: u64,
}

impl Inside {
    /// Whether a call with a frame at this address is made from inside this one. A program can leave a call without returning from it
    /// (an error handler that jumps or throws); then the frame is above the new one, or something else has been written over it.
    #[inline(always)]
    pub fn encloses(&self, frame: usize) -> bool {
        // SAFETY: an address of this thread's stack above the new frame.
        frame < self.frame && unsafe { (*(self.frame as *const crate::stub::Frame)).enter } == self.enter
    }
}

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".hidden sintonia_thread",
    ".globl sintonia_thread",
    ".type sintonia_thread, @object",
    ".size sintonia_thread, 8",
    "sintonia_thread: .zero 8",
    ".text",
);

#[inline(always)]
fn pointer() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread-local pointer that the assembly above reserves.
    unsafe {
        core::arch::asm!(
            "mov {t}, qword ptr [rip + sintonia_thread@GOTTPOFF]",
            "mov {t}, qword ptr fs:[{t}]",
            t = out(reg) thread,
            options(nostack, preserves_flags, readonly),
        );
    }
    thread
}

fn set_pointer(thread: *mut Thread) {
    // SAFETY: writes the thread-local pointer that the assembly above reserves.
    unsafe {
        core::arch::asm!(
            "mov {t}, qword ptr [rip + sintonia_thread@GOTTPOFF]",
            "mov qword ptr fs:[{t}], {value}",
            t = out(reg) _,
            value = in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// The state of this thread, made at its first MPI call; `None` if it cannot be recorded.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread> {
    let thread = pointer();
    if thread.is_null() {
        return attach();
    }
    // SAFETY: the pointer is set to a leaked box that only this thread uses; the borrow ends before `current` is called again, since
    // calls inside calls look at `inside` only.
    Some(unsafe { &mut *thread })
}

/// States of threads that have ended, to be used again: a program that makes threads without end needs no memory without end.
static IDLE: Mutex<Vec<IdleThread>> = Mutex::new(Vec::new());

struct IdleThread(*mut Thread);

// SAFETY: the pointer is handed from the thread that ended to exactly one other.
unsafe impl Send for IdleThread {}

#[cold]
fn attach() -> Option<&'static mut Thread> {
    let attached = try_attach();
    if attached.is_none() {
        // Trying again at every call would cost the program dear.
        crate::stub::pass_all();
        process::note("a thread could not be recorded for want of memory or files; nothing is recorded from there on");
    }
    attached
}

fn try_attach() -> Option<&'static mut Thread> {
    let idle = IDLE.lock().ok()?.pop();
    let thread = match idle {
        Some(IdleThread(thread)) => thread,
        None => {
            let number = process::next_thread_number()?;
            let thread = Box::into_raw(Box::new(Thread {
                number,
                inside: None,
                recorder: Recorder::open(number)?,
                sizes: SizeCache::default(),
                communicators: CommunicatorCache::default(),
                handles: Vec::with_capacity(64),
                statuses: Vec::with_capacity(64),
            }));
            ALL.lock().ok()?.push(IdleThread(thread));
            thread
        }
    };
    // SAFETY: just made, or taken from the list of unused ones.
    let state = unsafe { &mut *thread };
    // SAFETY: asks for this thread's number only.
    let system_id = unsafe { libc::syscall(libc::SYS_gettid) };
    process::define(&Definition::Thread(ThreadDefinition { number: state.number, system_id }));
    set_pointer(thread);
    give_back_at_end(thread);
    Some(state)
}

/// Asks the system to call [`release`] when this thread ends.
fn give_back_at_end(thread: *mut Thread) {
    static KEY: std::sync::OnceLock<Option<libc::pthread_key_t>> = std::sync::OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is a valid place to write to, `release` has the type of a destructor.
        (unsafe { libc::pthread_key_create(&mut key, Some(release)) } == 0).then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: the key was made above.
        unsafe { libc::pthread_setspecific(*key, thread.cast()) };
    }
}

unsafe extern "C" fn release(thread: *mut libc::c_void) {
    set_pointer(std::ptr::null_mut());
    if let Ok(mut idle) = IDLE.lock() {
        idle.push(IdleThread(thread.cast()));
    }
}

/// All states ever made, to be finished at the end.
static ALL: Mutex<Vec<IdleThread>> = Mutex::new(Vec::new());

/// Writes out what would be lost with the process. Other threads are not in MPI calls any more, or will not be recorded.
pub fn finish_all() {
    for IdleThread(thread) in ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).iter() {
        // SAFETY: states are never freed.
        unsafe { (**thread).recorder.finish() };
    }
}

/// Forgets the state of this thread: in a forked child.
pub fn forget() {
    set_pointer(std::ptr::null_mut());
}
