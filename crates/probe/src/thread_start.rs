//! Threads that the program creates, seen from their start: most of them never call MPI.
//!
//! References to `pthread_create` are replaced. The new thread first runs the probe's function, which calls that of the program.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::process::{self, ProcessState};
use crate::sampling;
use crate::wrapper::WrappedFunction;

/// The functions that create threads.
pub(crate) static WRAPPED: [WrappedFunction; 1] = [WrappedFunction::new("pthread_create", create as *const ())];

// A thread may be cancelled, or call `pthread_exit`: both unwind its stack.
type ThreadFunction = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What the program passed to `pthread_create`.
struct StartArguments {
    function: ThreadFunction,
    argument: *mut c_void,
}

unsafe extern "C" fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: ThreadFunction,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, ThreadFunction, *mut c_void) -> c_int;
    // SAFETY: the address of `pthread_create`.
    let original: Create = unsafe { std::mem::transmute(WRAPPED[0].original()) };
    if process::state() == ProcessState::Ended {
        // SAFETY: the program's own call.
        return unsafe { original(thread, attributes, function, argument) };
    }
    let arguments = Box::into_raw(Box::new(StartArguments { function, argument }));
    // SAFETY: the program's own call with another function, which takes the box.
    let result = unsafe { original(thread, attributes, start, arguments.cast()) };
    if result != 0 {
        // SAFETY: no thread was created that could have taken it.
        drop(unsafe { Box::from_raw(arguments) });
    }
    result
}

unsafe extern "C-unwind" fn start(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: the box of `create`, which this thread alone gets.
    let StartArguments { function, argument } = *unsafe { Box::from_raw(arguments.cast::<StartArguments>()) };
    let _ = catch_unwind(AssertUnwindSafe(sampling::attach));
    // SAFETY: the program's own function with its argument. Nothing here has to be dropped when the stack is unwound.
    unsafe { function(argument) }
}
