//! All functions outside MPI that have a wrapper.

use crate::file_io;
use crate::thread_start;
use crate::wrapper::WrappedFunction;

static WRAPPED: [&[WrappedFunction]; 2] = [&thread_start::WRAPPED, &file_io::WRAPPED];

/// What takes the place of a reference with a name; `target` is the address that the linker has found.
pub(crate) fn wrapper_of(name: &str, target: impl FnOnce() -> Option<usize>) -> Option<usize> {
    WRAPPED.iter().copied().flatten().find(|function| function.name() == name)?.bind(target()?)
}
