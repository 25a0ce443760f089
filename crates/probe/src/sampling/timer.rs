//! Samples where the kernel has no event for them, or not all of what they need: a timer of the thread's time on the processor sends a signal, whose handler copies
//! registers and stack to a ring like that of an event.
//!
//! Linux delivers the signal of such a timer when the thread returns to the program: no system call is interrupted. The signal is a real-time one that
//! programs seldom use, and only if nobody handles it. It is used only on request, since a handler needs room on the stack,
//! and in Python programs, whose frames only the thread itself can read at the time of the sample.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use super::sample_ring::{BP_SP_IP_WORDS, SAMPLE_HEADER_WORDS};
use crate::clock::nanoseconds;
use crate::perf_event::{EventRing, RecordHeader};
use crate::python::PythonInterpreter;
use crate::stack_bounds::StackBounds;

/// Bytes of the stack in a sample, and pages of the ring.
const STACK_BYTES: u64 = 16 << 10;
const PAGES: usize = 64;
const LOST_BYTES: u64 = 24;
/// Most bytes of a sample: the parts before and after the stack, and 64 Python frames.
const MAX_SAMPLE_BYTES: u64 = 8 * (SAMPLE_HEADER_WORDS + BP_SP_IP_WORDS + 3) + STACK_BYTES + 16 * 64;

thread_local! {
    static CURRENT: Cell<*const SignalRing> = const { Cell::new(std::ptr::null()) };
}

/// What the handler of a thread writes to.
struct SignalRing {
    ring: EventRing,
    stack: StackBounds,
    /// The interpreter, if the program is one in Python.
    interpreter: Option<&'static PythonInterpreter>,
    /// Samples since the last record for which there was no room.
    lost: Cell<u64>,
}

/// The timer of a thread.
pub(super) struct SampleTimer {
    timer: libc::timer_t,
    shared: *mut SignalRing,
}

// SAFETY: the timer is an id, and what the handler writes to is freed only by the thread itself.
unsafe impl Send for SampleTimer {}

fn signal() -> c_int {
    libc::SIGRTMAX() - 2
}

/// Installs the handler; `false` if the program handles the signal.
pub(super) fn install() -> bool {
    let mut current = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a valid action is read, and another one installed that was initialised.
    unsafe {
        if libc::sigaction(signal(), std::ptr::null(), current.as_mut_ptr()) != 0 || current.assume_init().sa_sigaction != libc::SIG_DFL {
            return false;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        libc::sigaction(signal(), &action, std::ptr::null_mut()) == 0
    }
}

impl SampleTimer {
    /// Starts the timer of the calling thread, and returns the ring for the reader, too.
    pub(super) fn start(period_ns: u64, interpreter: Option<&'static PythonInterpreter>) -> Option<(SampleTimer, EventRing)> {
        let ring = EventRing::anonymous(PAGES)?;
        let written = SignalRing { ring: ring.alias(), stack: StackBounds::of_this_thread(), interpreter, lost: Cell::new(0) };
        let shared = Box::into_raw(Box::new(written));
        CURRENT.set(shared);
        match create_timer(period_ns) {
            Some(timer) => Some((SampleTimer { timer, shared }, ring)),
            None => {
                CURRENT.set(std::ptr::null());
                // SAFETY: the box from above, which the handler does not find any more.
                drop(unsafe { Box::from_raw(shared) });
                ring.close();
                None
            }
        }
    }

    /// Stops the timer of the calling thread.
    pub(super) fn stop(self) {
        CURRENT.set(std::ptr::null());
        self.stop_from_elsewhere();
        // SAFETY: the box of `start`; the handler of this thread does not find it any more.
        drop(unsafe { Box::from_raw(self.shared) });
    }

    /// Stops the timer of another thread. What its handler writes to stays: it may be running.
    pub(super) fn stop_from_elsewhere(&self) {
        // SAFETY: a timer of our own.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn create_timer(period_ns: u64) -> Option<libc::timer_t> {
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: the structures are initialised, and valid during the calls.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = libc::gettid();
        if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) != 0 {
            return None;
        }
        let interval = libc::timespec { tv_sec: (period_ns / 1_000_000_000) as i64, tv_nsec: (period_ns % 1_000_000_000) as i64 };
        let setting = libc::itimerspec { it_interval: interval, it_value: interval };
        if libc::timer_settime(timer, 0, &setting, std::ptr::null_mut()) == 0 {
            return Some(timer);
        }
        libc::timer_delete(timer);
    }
    None
}

unsafe extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid structures. `errno` is kept for the interrupted code.
    unsafe {
        let errno = *libc::__errno_location();
        if let Some(shared) = CURRENT.get().as_ref()
            && (*info).si_code == libc::SI_TIMER
        {
            let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            let register = |index: c_int| registers[index as usize] as u64;
            shared.write(register(libc::REG_RIP), register(libc::REG_RSP), register(libc::REG_RBP));
        }
        *libc::__errno_location() = errno;
    }
}

impl SignalRing {
    /// Writes a sample as the kernel would, with the frames of Python behind it. Only the handler of the thread writes.
    fn write(&self, ip: u64, sp: u64, bp: u64) {
        let stack = if self.stack.contains(sp) && sp.is_multiple_of(8) { (self.stack.end() - sp).min(STACK_BYTES) } else { 0 };
        let (begin, tail) = (self.ring.head(), self.ring.tail());
        if begin + LOST_BYTES + MAX_SAMPLE_BYTES - tail > self.ring.data_bytes() {
            return self.lost.set(self.lost.get() + 1);
        }
        let at = Cell::new(begin);
        let put = |word: u64| {
            self.ring.store(at.get(), word);
            at.set(at.get() + 8);
        };
        let lost = self.lost.take();
        if lost > 0 {
            [RecordHeader { kind: RecordHeader::LOST, flags: 0, bytes: LOST_BYTES }.to_word(), 0, lost].into_iter().for_each(put);
        }
        const USER_MODE: u16 = 2;
        const REGISTERS_64: u64 = 2;
        let first = at.get();
        [0, ip, nanoseconds(libc::CLOCK_MONOTONIC), REGISTERS_64, bp, sp, ip, stack].into_iter().for_each(put);
        if stack > 0 {
            for offset in (0..stack).step_by(8) {
                // SAFETY: an aligned word between the stack pointer of this thread and the end of its stack.
                put(unsafe { ((sp + offset) as *const u64).read_volatile() });
            }
            put(stack);
        }
        if let Some(interpreter) = self.interpreter {
            interpreter.sample_frames(|frame| [frame.code, frame.line as u64].into_iter().for_each(put));
        }
        let header = RecordHeader { kind: RecordHeader::SAMPLE, flags: USER_MODE, bytes: at.get() - first };
        self.ring.store(first, header.to_word());
        self.ring.publish(at.get());
    }
}
