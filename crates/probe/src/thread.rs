//! Per-thread state of the probe.
//!
//! It is found through one thread-local pointer without a call (the probe is loaded at program start, so the pointer can be in the static
//! TLS block). Nothing in it is shared: a recorded call accesses memory of its own thread only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sintonia_recording::definitions::{DefinitionRecord, ThreadDefinition};
use sintonia_recording::raw::NonLocalExit;

use crate::breakable_lock::BreakableLock;
use crate::call_path::CallPathTracker;
use crate::cancellation::CancellationGuard;
use crate::clock::ticks;
use crate::communicators::CommunicatorCache;
use crate::counters::SegmentCounters;
use crate::datatypes::DatatypeSizeCache;
use crate::file_counters::ThreadFileCounters;
use crate::off_cpu::OffCpuMonitor;
use crate::process::{self, ProcessState};
use crate::recorder::CallRecorder;
use crate::requests::{REQUESTS, TrackedRequest};
use crate::sampling;
use crate::settings;
use crate::stub;
use crate::thread_exit::ThreadExitHook;
use crate::thread_usage;

/// The state of one thread.
pub(crate) struct ThreadState {
    /// Its number in this process.
    pub number: u16,
    /// The MPI call it is inside, if any: nested calls made by MPI itself are not recorded.
    pub current_call: Option<CurrentCall>,
    /// Number of calls in progress inside it, at most.
    pub nested_calls: u32,
    /// Finds the paths of its calls.
    pub call_path: CallPathTracker,
    /// When it was off the processor.
    pub off_cpu: OffCpuMonitor,
    /// What is counted between its calls.
    pub counters: SegmentCounters,
    /// Ticks it has spent in MPI calls.
    pub mpi_ticks: u64,
    /// What it does with files.
    pub files: ThreadFileCounters,
    /// Records its calls.
    pub recorder: CallRecorder,
    /// Sizes of recently used datatypes.
    pub sizes: DatatypeSizeCache,
    /// Recently used communicators.
    pub communicators: CommunicatorCache,
    /// Handles saved before a call that changes them.
    pub handles: Vec<usize>,
    /// The requests with these handles.
    pub resolved: Vec<TrackedRequest>,
    /// Statuses that the probe needs but the program ignores.
    pub statuses: Vec<u64>,
}

/// The recorded call that a thread is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CurrentCall {
    /// Address of its frame on the stack.
    pub frame: usize,
    /// Enter time.
    pub enter: u64,
}

impl ThreadState {
    /// Records the current call, if any, as one that the program left without returning from it, and whose arguments may no longer be
    /// there: see [`crate::non_local_exit`].
    #[cold]
    pub(crate) fn record_exit(&mut self, exit: NonLocalExit, now: u64) {
        if self.current_call.take().is_none() {
            return;
        }
        if self.recorder.staged_function().role().is_completion() {
            // Which of them are complete is not known. The handle of one that is complete is replaced with the next request that gets it.
            self.resolved.iter().for_each(|request| REQUESTS.restore(request));
        }
        self.recorder.mark_exit(exit);
        self.commit(now);
    }

    /// Commits the staged call, unless recording is switched off.
    #[inline(always)]
    pub(crate) fn commit(&mut self, now: u64) {
        if process::is_recording_off() {
            self.recorder.discard();
        } else {
            self.recorder.commit(now);
        }
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
fn pointer() -> *mut ThreadState {
    let thread: *mut ThreadState;
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

fn set_pointer(thread: *mut ThreadState) {
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

/// The state of this thread, created at its first MPI call; `None` if it cannot be recorded.
#[inline(always)]
pub(crate) fn current() -> Option<&'static mut ThreadState> {
    let thread = pointer();
    if thread.is_null() {
        return attach();
    }
    // SAFETY: the pointer is a leaked box that only this thread uses; the borrow ends before `current` is called again, since nested calls
    // only look at `current_call`.
    Some(unsafe { &mut *thread })
}

/// The state of this thread, if it has called MPI.
#[inline(always)]
pub(crate) fn existing() -> Option<&'static mut ThreadState> {
    // SAFETY: as in `current`.
    unsafe { pointer().as_mut() }
}

/// States of ended threads, for reuse: bounds the memory of a program that keeps creating threads.
static IDLE_THREADS: BreakableLock<Vec<IdleThread>> = BreakableLock::new(Vec::new());

struct IdleThread(*mut ThreadState);

// SAFETY: the pointer is handed from the ended thread to exactly one other.
unsafe impl Send for IdleThread {}

#[cold]
fn attach() -> Option<&'static mut ThreadState> {
    let _guard = CancellationGuard::new();
    let attached = try_attach();
    if attached.is_none() {
        // Retrying at every call would be expensive for the program.
        stub::disable_all();
        process::note("a thread could not be recorded for lack of memory or files; nothing is recorded from then on");
    }
    attached
}

fn try_attach() -> Option<&'static mut ThreadState> {
    let idle = IDLE_THREADS.lock()?.pop();
    let thread = match idle {
        Some(IdleThread(thread)) => thread,
        None => {
            let number = process::next_thread_number()?;
            let thread = Box::into_raw(Box::new(ThreadState {
                number,
                current_call: None,
                nested_calls: 0,
                call_path: CallPathTracker::new(),
                off_cpu: OffCpuMonitor::new(number),
                counters: SegmentCounters::new(number),
                mpi_ticks: 0,
                files: ThreadFileCounters::new(number),
                recorder: CallRecorder::open(number)?,
                sizes: DatatypeSizeCache::default(),
                communicators: CommunicatorCache::default(),
                handles: Vec::with_capacity(64),
                resolved: Vec::with_capacity(64),
                statuses: Vec::with_capacity(64),
            }));
            ALL_THREADS.lock()?.push(IdleThread(thread));
            thread
        }
    };
    // SAFETY: just created, or taken from the list of unused ones.
    let state = unsafe { &mut *thread };
    // SAFETY: only queries the thread id.
    let system_id = unsafe { libc::syscall(libc::SYS_gettid) };
    process::define(&DefinitionRecord::Thread(ThreadDefinition { number: state.number, system_id }));
    if !settings::is_attached() {
        thread_usage::attach(state.number, system_id as libc::pid_t);
    }
    set_pointer(thread);
    RELEASE.register(thread.cast());
    state.call_path.attach();
    state.off_cpu.attach();
    state.counters.attach();
    sampling::attach();
    Some(state)
}

/// Releases the state of a thread when it ends.
static RELEASE: ThreadExitHook = ThreadExitHook::new(release);

unsafe extern "C" fn release(thread: *mut libc::c_void) {
    // SAFETY: the state of this thread, which nothing else refers to any more.
    let state = unsafe { &mut *thread.cast::<ThreadState>() };
    let _ = catch_unwind(AssertUnwindSafe(|| state.record_exit(NonLocalExit::Unobserved, ticks())));
    set_pointer(std::ptr::null_mut());
    state.off_cpu.release();
    state.counters.release();
    // Not in a forked child, where a lock may be held by a thread that is not there.
    if process::state() == ProcessState::Recording {
        thread_usage::release(state.number);
    }
    if let Some(mut idle) = IDLE_THREADS.lock() {
        idle.push(IdleThread(thread.cast()));
    }
}

/// All states ever created, to be finished at the end.
static ALL_THREADS: BreakableLock<Vec<IdleThread>> = BreakableLock::new(Vec::new());

/// Writes what would be lost with the process. Other threads are no longer in MPI calls, or will not be recorded.
pub(crate) fn finish_all() {
    let Some(threads) = ALL_THREADS.lock() else { return };
    for IdleThread(thread) in threads.iter() {
        // SAFETY: states are never freed.
        unsafe {
            (**thread).recorder.finish();
            (**thread).off_cpu.finish();
            (**thread).counters.finish();
            (**thread).files.finish();
        }
    }
}

/// Clears the state of this thread, in a forked child: its files and memory are the parent's.
pub(crate) fn forget() {
    if !pointer().is_null() {
        set_pointer(std::ptr::null_mut());
        RELEASE.register(std::ptr::null_mut());
    }
}
