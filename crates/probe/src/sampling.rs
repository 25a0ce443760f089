//! Samples of the stacks of threads, by the time they run.

/// Begins to sample the calling thread.
pub(crate) fn attach() {}
