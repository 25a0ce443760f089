//! What the probe does when a thread of the program ends, however it ends.

use std::ffi::c_void;
use std::sync::OnceLock;

/// A function that runs at the end of the threads that have registered for it.
pub(crate) struct ThreadExitHook {
    run: unsafe extern "C" fn(*mut c_void),
    key: OnceLock<Option<libc::pthread_key_t>>,
}

impl ThreadExitHook {
    pub(crate) const fn new(run: unsafe extern "C" fn(*mut c_void)) -> ThreadExitHook {
        ThreadExitHook { run, key: OnceLock::new() }
    }

    /// Whether the function is called when the calling thread ends.
    pub(crate) fn is_registered(&self) -> bool {
        // SAFETY: the key was created in `register`.
        self.key.get().copied().flatten().is_some_and(|key| !unsafe { libc::pthread_getspecific(key) }.is_null())
    }

    /// Calls the function with a value when the calling thread ends; null: does not call it.
    pub(crate) fn register(&self, value: *mut c_void) {
        let key = self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: `key` is valid for writes, and the function has the type of a destructor.
            (unsafe { libc::pthread_key_create(&mut key, Some(self.run)) } == 0).then_some(key)
        });
        if let Some(key) = key {
            // SAFETY: the key was created above.
            unsafe { libc::pthread_setspecific(*key, value) };
        }
    }
}
