//! All functions outside MPI that have a wrapper.

use crate::file_io;
use crate::openmp;
use crate::thread_start;
use crate::wrapper::WrappedFunction;

static WRAPPED: [&[WrappedFunction]; 3] = [&thread_start::WRAPPED, &file_io::WRAPPED, &openmp::WRAPPED];

/// What takes the place of a reference with a name; `target` is the address that the linker has found.
pub(crate) fn wrapper_of(name: &str, target: impl FnOnce() -> Option<usize>) -> Option<usize> {
    WRAPPED.iter().copied().flatten().find(|function| function.name() == name)?.bind(target()?)
}
