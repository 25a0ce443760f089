//! The two signals that changing code under running threads needs: a trap, when a thread runs into bytes that are being changed, and one
//! that asks a thread whether it stands in the middle of them. Both lead the thread to the moved code, and it goes on as if nothing were.
//!
//! A program may use the same signals: what it does with them is kept in [`guard`], and done when they are not ours.

mod call;
pub mod guard;

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::site;

/// The place whose inner instructions nobody may stand on.
static CHANGING: AtomicU64 = AtomicU64::new(0);
/// Which question the thread answered that was asked as the n-th.
static ANSWERS: [AtomicU32; MOST_ASKED] = [const { AtomicU32::new(0) }; MOST_ASKED];
static QUESTION: AtomicU32 = AtomicU32::new(0);
/// As many threads are asked at once.
pub const MOST_ASKED: usize = 1024;

/// The signal by which threads are asked: the last that the program has no use for when it is first needed; 0 if it uses every one.
pub fn question() -> c_int {
    static SIGNAL: OnceLock<c_int> = OnceLock::new();
    *SIGNAL.get_or_init(|| {
        let is_free = |signal: &c_int| guard::now(*signal).is_ok_and(|now| now.sa_sigaction == libc::SIG_DFL);
        (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(is_free).unwrap_or(0)
    })
}

/// Puts the handlers in place, for ever; a second call does nothing.
pub fn prepare() -> io::Result<()> {
    static PREPARED: OnceLock<()> = OnceLock::new();
    if PREPARED.get().is_some() {
        return Ok(());
    }
    if question() == 0 {
        return Err(io::Error::other("the program uses every signal"));
    }
    guard::TRAP.take_over(libc::SIGTRAP, on_trap)?;
    guard::QUESTION.take_over(question(), on_question)?;
    let _ = PREPARED.set(());
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

    /// Asks a thread as the n-th.
    pub fn ask(&self, thread: c_int, place: usize) {
        let signal = question();
        // SAFETY: a signal that we have a handler for, to a thread of our own process; the rest of the information may be zero.
        unsafe {
            let mut information: libc::siginfo_t = std::mem::zeroed();
            (information.si_signo, information.si_code) = (signal, libc::SI_QUEUE);
            let queued = std::ptr::from_mut(&mut information).cast::<Queued>();
            (*queued).sender = [libc::getpid(), 0];
            (*queued).value = u64::from(self.number) << 32 | place as u64;
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), thread, signal, &information);
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

/// What a handler of ours is.
pub type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

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
    match site::all().find(|site| site.address == place) {
        Some(site) => *instruction = site.moved as i64,
        // SAFETY: the arguments are those of this signal.
        None => unsafe { guard::TRAP.as_without_us(signal, information, context) },
    }
}

extern "C" fn on_question(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this with a context, and with the value that was sent.
    let (queued, is_queued) = unsafe { (&*information.cast::<Queued>(), (*information).si_code == libc::SI_QUEUE) };
    let (number, place) = ((queued.value >> 32) as u32, queued.value as u32 as usize);
    // SAFETY: asks for a number.
    let is_ours = is_queued && queued.sender[0] == unsafe { libc::getpid() } && number != 0 && number <= QUESTION.load(Ordering::Acquire);
    if !is_ours {
        // SAFETY: the arguments are those of this signal.
        return unsafe { guard::QUESTION.as_without_us(signal, information, context) };
    }
    // SAFETY: it is the context of this handler, seen by one after the other.
    let instruction = unsafe {
        call::make_again(&mut *context.cast());
        instruction(context)
    };
    let changing = CHANGING.load(Ordering::Acquire);
    if let Some(site) = site::all().find(|site| site.address == changing) {
        let here = *instruction as u64;
        // On the first instruction stands who will trap anyway, or has trapped.
        if let Some((_, moved)) = site.places.iter().find(|(place, _)| *place == here && here != site.address) {
            *instruction = *moved as i64;
        }
    }
    if let Some(answer) = ANSWERS.get(place) {
        answer.store(number, Ordering::Release);
    }
}
