//! Functions outside MPI whose calls are observed: references to them are replaced by references to wrappers.
//!
//! A wrapper has the type of the function, and calls it. Unlike MPI functions these have different types of arguments and results, so each
//! is written out.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that has a wrapper.
pub(crate) struct WrappedFunction {
    name: &'static str,
    wrapper: *const (),
    original: AtomicUsize,
}

// SAFETY: the pointer is that of a function.
unsafe impl Sync for WrappedFunction {}

impl WrappedFunction {
    pub(crate) const fn new(name: &'static str, wrapper: *const ()) -> WrappedFunction {
        WrappedFunction { name, wrapper, original: AtomicUsize::new(0) }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Address of the function itself; valid in its wrapper.
    #[inline(always)]
    pub(crate) fn original(&self) -> usize {
        self.original.load(Ordering::Relaxed)
    }

    /// The wrapper, in place of a reference to this address. `None` if references to another function of that name are replaced already: a
    /// wrapper calls one function.
    pub(crate) fn bind(&self, target: usize) -> Option<usize> {
        let bound = self.original.compare_exchange(0, target, Ordering::Relaxed, Ordering::Relaxed);
        (bound.is_ok() || bound == Err(target)).then_some(self.wrapper as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_one_function_are_replaced_and_those_to_others_of_its_name_are_not() {
        let function = WrappedFunction::new("work", 0x500 as *const ());
        assert_eq!([7, 8, 7].map(|target| function.bind(target)), [Some(0x500), None, Some(0x500)]);
        assert_eq!(function.original(), 7);
    }
}
