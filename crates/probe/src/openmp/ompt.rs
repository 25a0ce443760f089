//! LLVM's and Intel's runtime, libomp: it calls a tool through the interface of OpenMP 5 (OMPT).
//!
//! When it starts, it looks for `ompt_start_tool` among the symbols of the process, and finds that of the probe. Only one tool can be
//! active, so the probe stays out where the program has its own, or the user asks for another one.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::raw::openmp::ThreadActivity;

use super::region;
use super::team::{self, PreviousActivity, Team};
use crate::call_path::CallerRegisters;
use crate::library;
use crate::settings;

/// Whether a runtime reports its regions.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether a runtime reports its regions; references to its functions are then only passed on.
#[inline(always)]
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// A word that the runtime keeps for the tool.
#[repr(C)]
struct ToolData {
    value: u64,
}

/// Frames of a task.
#[repr(C)]
struct TaskFrame {
    exit_frame: u64,
    enter_frame: u64,
    exit_flags: c_int,
    enter_flags: c_int,
}

type AnyFunction = unsafe extern "C" fn();
type LookUp = unsafe extern "C" fn(*const c_char) -> Option<AnyFunction>;

/// What the runtime calls when it starts and ends.
#[repr(C)]
pub(crate) struct ToolFunctions {
    initialize: unsafe extern "C" fn(LookUp, c_int, *mut ToolData) -> c_int,
    finalize: unsafe extern "C" fn(*mut ToolData),
    data: ToolData,
}

static mut TOOL: ToolFunctions = ToolFunctions { initialize, finalize, data: ToolData { value: 0 } };

/// Called by a runtime of OpenMP when it starts. Null: no tool.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut ToolFunctions {
    // A tool behind the probe in the order of symbols is the user's. (The runtime itself has such a function, which looks for one.)
    if let Some(next) = library::symbol(libc::RTLD_NEXT, "ompt_start_tool") {
        // SAFETY: a function with this name has this type.
        let next: unsafe extern "C" fn(c_uint, *const c_char) -> *mut ToolFunctions = unsafe { std::mem::transmute(next) };
        // SAFETY: as the runtime would call it without the probe.
        let other = unsafe { next(version, runtime) };
        if !other.is_null() {
            return other;
        }
    }
    let is_wanted = settings::records_openmp()
        && std::env::var_os("OMP_TOOL_LIBRARIES").is_none_or(|libraries| libraries.is_empty())
        && std::env::var_os("OMP_TOOL").is_none_or(|tool| !tool.eq_ignore_ascii_case("disabled"));
    if is_wanted { &raw mut TOOL } else { std::ptr::null_mut() }
}

/// Events of OMPT, by their number in `omp-tools.h`.
mod event {
    pub(super) const PARALLEL_BEGIN: i32 = 3;
    pub(super) const PARALLEL_END: i32 = 4;
    pub(super) const TASK_CREATE: i32 = 5;
    pub(super) const TASK_SCHEDULE: i32 = 6;
    pub(super) const IMPLICIT_TASK: i32 = 7;
    pub(super) const MUTEX_RELEASED: i32 = 17;
    pub(super) const SYNC_REGION: i32 = 23;
    pub(super) const MUTEX_ACQUIRE: i32 = 26;
    pub(super) const MUTEX_ACQUIRED: i32 = 27;
}

unsafe extern "C" fn initialize(look_up: LookUp, _device: c_int, _data: *mut ToolData) -> c_int {
    // SAFETY: the runtime's own function with a string.
    let Some(set_callback) = (unsafe { look_up(c"ompt_set_callback".as_ptr()) }) else { return 0 };
    // SAFETY: this function of the interface has this type.
    let set_callback: unsafe extern "C" fn(c_int, *const c_void) -> c_int = unsafe { std::mem::transmute(set_callback) };
    let callbacks = [
        (event::PARALLEL_BEGIN, parallel_begin as *const c_void),
        (event::PARALLEL_END, parallel_end as *const c_void),
        (event::TASK_CREATE, task_create as *const c_void),
        (event::TASK_SCHEDULE, task_schedule as *const c_void),
        (event::IMPLICIT_TASK, implicit_task as *const c_void),
        (event::SYNC_REGION, sync_region as *const c_void),
        (event::MUTEX_ACQUIRE, mutex_acquire as *const c_void),
        (event::MUTEX_ACQUIRED, mutex_acquired as *const c_void),
        (event::MUTEX_RELEASED, mutex_released as *const c_void),
    ];
    for (event, callback) in callbacks {
        // SAFETY: each callback has the type of its event.
        unsafe { set_callback(event, callback) };
    }
    ACTIVE.store(true, Ordering::Relaxed);
    1
}

unsafe extern "C" fn finalize(_data: *mut ToolData) {}

unsafe extern "C" fn parallel_begin(
    _task: *mut ToolData,
    frame: *const TaskFrame,
    parallel: *mut ToolData,
    threads: c_uint,
    _flags: c_int,
    return_address: *const c_void,
) {
    // SAFETY: the runtime passes its frame of the encountering task, or null.
    let caller = caller(unsafe { frame.as_ref() }, return_address as u64);
    let team = region::enter(caller, threads.max(1) as usize);
    // SAFETY: the runtime passes a word for the region.
    unsafe { (*parallel).value = team.map_or(0, |team| &raw const *team as u64) };
}

/// The caller of the runtime, if the frame that the runtime tells is that of a function with a frame pointer.
fn caller(frame: Option<&TaskFrame>, return_address: u64) -> CallerRegisters {
    let enter = frame.map_or(0, |frame| frame.enter_frame);
    if enter != 0 && enter.is_multiple_of(8) {
        let words = enter as *const u64;
        // SAFETY: a frame on the stack of this thread, above the present one.
        let (frame_pointer, found) = unsafe { (words.read(), words.add(1).read()) };
        if found == return_address {
            return CallerRegisters { return_address, stack_pointer: enter + 16, frame_pointer };
        }
    }
    CallerRegisters { return_address, stack_pointer: 0, frame_pointer: 0 }
}

unsafe extern "C" fn parallel_end(parallel: *mut ToolData, _task: *mut ToolData, _flags: c_int, _return_address: *const c_void) {
    // SAFETY: the word that `parallel_begin` has set.
    if let Some(team) = unsafe { team_of(parallel) } {
        region::leave(team);
    }
}

/// # Safety
///
/// The word is null, or one that `parallel_begin` has set.
unsafe fn team_of(parallel: *mut ToolData) -> Option<&'static Team> {
    // SAFETY: teams are never freed.
    unsafe { (parallel.as_ref()?.value as *const Team).as_ref() }
}

const BEGIN: c_int = 1;
const END: c_int = 2;

unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *mut ToolData,
    _task: *mut ToolData,
    threads: c_uint,
    index: c_uint,
    flags: c_int,
) {
    const INITIAL: c_int = 1;
    // The end is reported late: a thread that waits for the next region is still inside.
    if endpoint != BEGIN || flags & INITIAL != 0 {
        return;
    }
    // SAFETY: the word that `parallel_begin` has set.
    if let Some(team) = unsafe { team_of(parallel) } {
        if index == 0 {
            team.size.store(threads as usize, Ordering::Relaxed);
        }
        team.begin_thread(index as usize);
    }
}

unsafe extern "C" fn sync_region(
    kind: c_int,
    endpoint: c_int,
    _parallel: *mut ToolData,
    _task: *mut ToolData,
    _return_address: *const c_void,
) {
    const TASKWAIT: c_int = 5;
    const TASKGROUP: c_int = 6;
    const REDUCTION: c_int = 7;
    const END_OF_REGION: c_int = 9;
    match (kind, endpoint) {
        (REDUCTION, _) => {}
        (END_OF_REGION, BEGIN) => team::arrive_at_end(),
        (END_OF_REGION, _) => {}
        (TASKWAIT | TASKGROUP, BEGIN) => _ = team::switch(ThreadActivity::Other),
        (_, BEGIN) => team::arrive_at_barrier(),
        (_, END) => _ = team::switch(ThreadActivity::Useful),
        _ => {}
    }
}

unsafe extern "C" fn mutex_acquire(_kind: c_int, _hint: c_uint, _implementation: c_uint, _id: u64, _return_address: *const c_void) {
    team::switch(ThreadActivity::Lock);
}

unsafe extern "C" fn mutex_acquired(_kind: c_int, _id: u64, return_address: *const c_void) {
    team::lock_acquired(Some(PreviousActivity::USEFUL), return_address as u64);
}

unsafe extern "C" fn mutex_released(_kind: c_int, _id: u64, _return_address: *const c_void) {
    team::lock_released();
}

/// Marks a task of the program; the lower bits are what the thread did before it ran the task.
const EXPLICIT: u64 = 1 << 63;

unsafe extern "C" fn task_create(
    _task: *mut ToolData,
    _frame: *const TaskFrame,
    new: *mut ToolData,
    flags: c_int,
    _has_dependences: c_int,
    _return_address: *const c_void,
) {
    const EXPLICIT_TASK: c_int = 4;
    if flags & EXPLICIT_TASK != 0 {
        // SAFETY: the runtime passes a word for the task.
        unsafe { (*new).value = EXPLICIT };
    }
}

unsafe extern "C" fn task_schedule(prior: *mut ToolData, status: c_int, next: *mut ToolData) {
    const COMPLETE: c_int = 1;
    const CANCEL: c_int = 3;
    const DETACH: c_int = 4;
    const TASKWAIT_COMPLETE: c_int = 8;
    // SAFETY: words of tasks, or null.
    let (prior, next) = unsafe { (prior.as_ref(), next.as_mut()) };
    match status {
        COMPLETE | CANCEL | DETACH => {
            if let Some(prior) = prior.filter(|prior| prior.value & EXPLICIT != 0) {
                team::restore(Some(PreviousActivity::from_word(prior.value & !EXPLICIT)));
            }
        }
        TASKWAIT_COMPLETE => {}
        _ => {
            if let Some(next) = next.filter(|next| next.value & EXPLICIT != 0)
                && let Some(previous) = team::switch(ThreadActivity::Useful)
            {
                next.value = EXPLICIT | previous.to_word();
            }
        }
    }
}
