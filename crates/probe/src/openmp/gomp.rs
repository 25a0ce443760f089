//! GCC's runtime, libgomp: wrappers of the functions that a compiled program calls.
//!
//! The compiler turns a region into a function and passes it to libgomp with a pointer to its data. A stub in assembly, one for all
//! functions that start a region, passes [`run`] and a [`Team`] instead: so every thread of the team is seen, also in a loop with a static
//! schedule, for which the program calls nothing. Functions inside a region are called in place, with the time before and after it.

use std::ffi::{CStr, c_char, c_long, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use sintonia_recording::raw::openmp::ThreadActivity;

use super::{ompt, region, task_stub, team};
use crate::call_path::CallerRegisters;
use crate::library;
use crate::openmp::team::Team;
use crate::wrapper::WrappedFunction;

/// Declares the stubs of the functions that start a region.
macro_rules! region_stubs {
    ($($name:ident),*) => {
        unsafe extern "C" { $(fn $name();)* }
    };
}

region_stubs!(
    sintonia_region_0,
    sintonia_region_1,
    sintonia_region_2,
    sintonia_region_3,
    sintonia_region_4,
    sintonia_region_5,
    sintonia_region_6,
    sintonia_region_7,
    sintonia_region_8,
    sintonia_region_9,
    sintonia_region_10
);

/// Index of `GOMP_parallel_reductions`.
const REDUCTIONS: usize = 1;
const BARRIER: usize = 11;

/// The functions of libgomp that have a wrapper. Those that start a region come first: their index is the number of their stub.
pub(crate) static WRAPPED: [WrappedFunction; 40] = [
    WrappedFunction::new("GOMP_parallel", sintonia_region_0 as *const ()),
    WrappedFunction::new("GOMP_parallel_reductions", sintonia_region_1 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_static", sintonia_region_2 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_dynamic", sintonia_region_3 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_guided", sintonia_region_4 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_runtime", sintonia_region_5 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_nonmonotonic_dynamic", sintonia_region_6 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_nonmonotonic_guided", sintonia_region_7 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_nonmonotonic_runtime", sintonia_region_8 as *const ()),
    WrappedFunction::new("GOMP_parallel_loop_maybe_nonmonotonic_runtime", sintonia_region_9 as *const ()),
    WrappedFunction::new("GOMP_parallel_sections", sintonia_region_10 as *const ()),
    WrappedFunction::new("GOMP_barrier", wait::<BARRIER, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_loop_end", wait::<12, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_sections_end", wait::<13, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_taskwait_depend", wait::<14, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_barrier_cancel", wait_flag::<15, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_loop_end_cancel", wait_flag::<16, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_sections_end_cancel", wait_flag::<17, BARRIER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_single_copy_start", wait_flag::<18, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_ordered_start", wait::<19, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_taskwait", wait::<20, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_taskgroup_end", wait::<21, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_taskyield", wait::<22, OTHER_WAIT> as *const ()),
    WrappedFunction::new("GOMP_critical_start", acquire_stub::<23> as *const ()),
    WrappedFunction::new("GOMP_critical_end", release::<24> as *const ()),
    WrappedFunction::new("GOMP_critical_name_start", acquire_stub::<25> as *const ()),
    WrappedFunction::new("GOMP_critical_name_end", release::<26> as *const ()),
    WrappedFunction::new("GOMP_atomic_start", acquire_stub::<27> as *const ()),
    WrappedFunction::new("GOMP_atomic_end", release::<28> as *const ()),
    WrappedFunction::new("omp_set_lock", acquire_stub::<29> as *const ()),
    WrappedFunction::new("omp_unset_lock", release::<30> as *const ()),
    WrappedFunction::new("omp_set_nest_lock", acquire_stub::<31> as *const ()),
    WrappedFunction::new("omp_unset_nest_lock", release::<32> as *const ()),
    WrappedFunction::new("omp_set_lock_", acquire_stub::<33> as *const ()),
    WrappedFunction::new("omp_unset_lock_", release::<34> as *const ()),
    WrappedFunction::new("omp_set_nest_lock_", acquire_stub::<35> as *const ()),
    WrappedFunction::new("omp_unset_nest_lock_", release::<36> as *const ()),
    WrappedFunction::new("GOMP_task", task as *const ()),
    WrappedFunction::new("GOMP_taskloop", taskloop::<38, c_long> as *const ()),
    WrappedFunction::new("GOMP_taskloop_ull", taskloop::<39, u64> as *const ()),
];
const TASK: usize = 37;

/// Activities as constants.
const BARRIER_WAIT: bool = true;
const OTHER_WAIT: bool = false;

/// Stack frame of a stub that starts a region.
#[repr(C)]
struct RegionFrame {
    team: Option<&'static Team>,
    /// Number of the stub.
    number: usize,
    /// Function, data, number of threads, and more.
    arguments: [usize; 6],
    frame_pointer: usize,
    return_address: usize,
    stack: [usize; 2],
}

core::arch::global_asm!(
    ".text",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    ".hidden sintonia_region_\\number",
    ".globl sintonia_region_\\number",
    ".balign 16",
    "sintonia_region_\\number:",
    "mov r11d, \\number",
    "jmp sintonia_region",
    ".endr",
    ".balign 64",
    ".type sintonia_region, @function",
    "sintonia_region:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 80",
    "mov [rbp - 48], rdi",
    "mov [rbp - 40], rsi",
    "mov [rbp - 32], rdx",
    "mov [rbp - 24], rcx",
    "mov [rbp - 16], r8",
    "mov [rbp - 8], r9",
    "mov [rbp - 56], r11",
    "lea rdi, [rbp - 64]",
    "call {enter}",
    "mov r11, rax",
    // The caller's stack arguments: at most two.
    "mov rax, [rbp + 16]",
    "mov [rsp], rax",
    "mov rax, [rbp + 24]",
    "mov [rsp + 8], rax",
    "mov rdi, [rbp - 48]",
    "mov rsi, [rbp - 40]",
    "mov rdx, [rbp - 32]",
    "mov rcx, [rbp - 24]",
    "mov r8, [rbp - 16]",
    "mov r9, [rbp - 8]",
    "call r11",
    "mov [rbp - 56], rax",
    "lea rdi, [rbp - 64]",
    "call {leave}",
    "mov rax, [rbp - 56]",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    enter = sym enter,
    leave = sym leave,
);

/// Functions of the same libgomp that tell about the team.
struct TeamQueries {
    thread_number: unsafe extern "C" fn() -> i32,
    team_size: unsafe extern "C" fn() -> i32,
    most_threads: unsafe extern "C" fn() -> i32,
}

/// Those of the library that has this function.
fn queries(function: usize) -> Option<&'static TeamQueries> {
    static QUERIES: OnceLock<Option<TeamQueries>> = OnceLock::new();
    QUERIES.get_or_init(|| find_queries(function)).as_ref()
}

fn find_queries(function: usize) -> Option<TeamQueries> {
    // SAFETY: all bits zero are a valid `Dl_info`.
    let mut information: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `information` is valid for writes.
    let is_known = unsafe { libc::dladdr(function as *const c_void, &mut information) } != 0 && !information.dli_fname.is_null();
    let path: *const c_char = if is_known { information.dli_fname } else { return None };
    // SAFETY: a string of the dynamic linker.
    let is_path = unsafe { CStr::from_ptr(path) }.to_bytes().contains(&b'/');
    // SAFETY: a file that is loaded already; the handle is kept as long as the process lives.
    let handle = if is_path { unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) } } else { std::ptr::null_mut() };
    let library = if handle.is_null() { libc::RTLD_DEFAULT } else { handle };
    let find = |name: &str| {
        let address = library::symbol(library, name)?;
        // SAFETY: these functions of OpenMP have this type.
        Some(unsafe { std::mem::transmute::<usize, unsafe extern "C" fn() -> i32>(address) })
    };
    Some(TeamQueries {
        thread_number: find("omp_get_thread_num")?,
        team_size: find("omp_get_num_threads")?,
        most_threads: find("omp_get_max_threads")?,
    })
}

/// Runs before libgomp starts a region; returns the function of libgomp.
unsafe extern "C" fn enter(frame: *mut RegionFrame) -> usize {
    // SAFETY: the stub passes the frame on its stack.
    let frame = unsafe { &mut *frame };
    let target = WRAPPED[frame.number].original();
    frame.team = None;
    // A runtime that calls the tool itself reports the region.
    if ompt::is_active() || !region::is_recorded() {
        return target;
    }
    let Some(queries) = queries(target) else { return target };
    let caller = CallerRegisters {
        return_address: frame.return_address as u64,
        stack_pointer: &raw const frame.stack as u64,
        frame_pointer: frame.frame_pointer as u64,
    };
    // SAFETY: a function of OpenMP without arguments.
    let most = unsafe { (queries.most_threads)() }.max(1) as usize;
    let requested = frame.arguments[2] as c_uint as usize;
    let Some(team) = region::enter(caller, requested.max(most)) else { return target };
    let [function, data, ..] = frame.arguments;
    team.function.store(function, Ordering::Relaxed);
    team.data.store(data, Ordering::Relaxed);
    if frame.number == REDUCTIONS {
        // SAFETY: libgomp itself reads this word of the data.
        team.reductions.store(unsafe { *(data as *const usize) }, Ordering::Relaxed);
    }
    frame.arguments[0] = run as *const () as usize;
    frame.arguments[1] = &raw const *team as usize;
    frame.team = Some(team);
    target
}

/// Runs after it.
unsafe extern "C" fn leave(frame: *mut RegionFrame) {
    // SAFETY: the stub passes the frame on its stack, in which `enter` has stored the team.
    if let Some(team) = unsafe { (*frame).team } {
        region::leave(team);
    }
}

/// The function that every thread of a team runs.
unsafe extern "C-unwind" fn run(team: *mut c_void) {
    // SAFETY: `enter` passed a team, which is never freed.
    let team = unsafe { &*team.cast::<Team>() };
    // SAFETY: the function of the program, which takes one pointer.
    let function: unsafe extern "C-unwind" fn(usize) = unsafe { std::mem::transmute(team.function.load(Ordering::Relaxed)) };
    if let Some(queries) = queries(0) {
        // SAFETY: functions of OpenMP without arguments.
        let number = unsafe { (queries.thread_number)() };
        if number == 0 {
            // SAFETY: as above.
            team.size.store(unsafe { (queries.team_size)() }.max(1) as usize, Ordering::Relaxed);
        }
        team.begin_thread(usize::try_from(number).unwrap_or(usize::MAX));
    }
    // SAFETY: the program's own call. Nothing here has to be dropped.
    unsafe { function(team.data.load(Ordering::Relaxed)) };
    team::arrive_at_end();
}

const fn activity(is_barrier: bool) -> ThreadActivity {
    if is_barrier { ThreadActivity::Barrier } else { ThreadActivity::Other }
}

/// A function in which a thread waits; its arguments, if any, are integers or pointers.
unsafe extern "C-unwind" fn wait<const INDEX: usize, const IS_BARRIER: bool>(first: usize, second: usize) {
    // SAFETY: the address of the function. Further argument registers do not matter to it.
    let original: unsafe extern "C-unwind" fn(usize, usize) = unsafe { std::mem::transmute(WRAPPED[INDEX].original()) };
    let previous = team::switch(activity(IS_BARRIER));
    // SAFETY: the program's own call.
    unsafe { original(first, second) };
    team::restore(previous);
}

/// The same for a function with a result.
unsafe extern "C-unwind" fn wait_flag<const INDEX: usize, const IS_BARRIER: bool>(first: usize) -> usize {
    // SAFETY: as in `wait`.
    let original: unsafe extern "C-unwind" fn(usize) -> usize = unsafe { std::mem::transmute(WRAPPED[INDEX].original()) };
    let previous = team::switch(activity(IS_BARRIER));
    // SAFETY: the program's own call.
    let result = unsafe { original(first) };
    team::restore(previous);
    result
}

/// A function that gets a lock: passes the address to which it returns on to [`acquire`], as a second argument.
#[unsafe(naked)]
unsafe extern "C-unwind" fn acquire_stub<const INDEX: usize>(lock: usize) {
    core::arch::naked_asm!("mov rsi, [rsp]", "jmp {acquire}", acquire = sym acquire::<INDEX>)
}

unsafe extern "C-unwind" fn acquire<const INDEX: usize>(lock: usize, return_address: usize) {
    // SAFETY: as in `wait`.
    let original: unsafe extern "C-unwind" fn(usize) = unsafe { std::mem::transmute(WRAPPED[INDEX].original()) };
    let previous = team::switch(ThreadActivity::Lock);
    let is_reported = ompt::is_active();
    if is_reported {
        // LLVM's runtime would report an address of this function.
        team::set_lock_site(return_address as u64);
    }
    // SAFETY: the program's own call.
    unsafe { original(lock) };
    if is_reported {
        team::set_lock_site(0);
        team::restore(previous);
    } else {
        team::lock_acquired(previous, return_address as u64);
    }
}

/// A function that releases a lock.
unsafe extern "C-unwind" fn release<const INDEX: usize>(lock: usize) {
    // SAFETY: as in `wait`.
    let original: unsafe extern "C-unwind" fn(usize) = unsafe { std::mem::transmute(WRAPPED[INDEX].original()) };
    if !ompt::is_active() {
        team::lock_released();
    }
    // SAFETY: the program's own call.
    unsafe { original(lock) };
}

/// What is passed to the functions that create tasks beyond six arguments.
type Word = usize;

unsafe extern "C-unwind" fn task(
    function: usize,
    data: Word,
    copy: Word,
    size: Word,
    alignment: Word,
    condition: bool,
    flags: c_uint,
    depend: Word,
    priority: i32,
    detach: Word,
) {
    type Task = unsafe extern "C-unwind" fn(usize, Word, Word, Word, Word, bool, c_uint, Word, i32, Word);
    // SAFETY: the address of `GOMP_task`. Older versions have fewer arguments, and do not look at further ones.
    let original: Task = unsafe { std::mem::transmute(WRAPPED[TASK].original()) };
    let previous = team::switch(ThreadActivity::Other);
    let function = if previous.is_some() && !ompt::is_active() { task_stub::stub_for(function) } else { function };
    // SAFETY: the program's own call; the stub calls its function.
    unsafe { original(function, data, copy, size, alignment, condition, flags, depend, priority, detach) };
    team::restore(previous);
}

unsafe extern "C-unwind" fn taskloop<const INDEX: usize, T>(
    function: usize,
    data: Word,
    copy: Word,
    size: Word,
    alignment: Word,
    flags: c_uint,
    tasks: Word,
    priority: i32,
    start: T,
    end: T,
    step: T,
) {
    type Taskloop<T> = unsafe extern "C-unwind" fn(usize, Word, Word, Word, Word, c_uint, Word, i32, T, T, T);
    // SAFETY: the address of `GOMP_taskloop` or `GOMP_taskloop_ull`.
    let original: Taskloop<T> = unsafe { std::mem::transmute(WRAPPED[INDEX].original()) };
    let previous = team::switch(ThreadActivity::Other);
    let function = if previous.is_some() && !ompt::is_active() { task_stub::stub_for(function) } else { function };
    // SAFETY: the program's own call; the stub calls its function.
    unsafe { original(function, data, copy, size, alignment, flags, tasks, priority, start, end, step) };
    team::restore(previous);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_have_the_index_of_their_function() {
        let index_of = |name: &str| WRAPPED.iter().position(|function| function.name() == name);
        assert_eq!((index_of("GOMP_barrier"), index_of("GOMP_task")), (Some(BARRIER), Some(TASK)));
        assert_eq!(index_of("GOMP_parallel_reductions"), Some(REDUCTIONS));
        assert_eq!((index_of("omp_unset_nest_lock_"), index_of("GOMP_taskloop_ull")), (Some(36), Some(39)));
    }
}
