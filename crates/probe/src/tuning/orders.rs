//! Orders, done.

use std::ffi::CString;
use std::sync::atomic::Ordering;

use sintonia_hook::Pending;
use sintonia_link::order::{Order, Outcome};

/// What was arranged and not yet done, with the number of its order.
#[derive(Default)]
pub struct Arranged {
    waiting: Vec<(u64, &'static Pending)>,
}

impl Arranged {
    /// Whether something may be done at any moment that has to be told.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What has been done since the last time, and what it gave.
    pub fn performed(&mut self) -> Vec<(u64, Vec<u64>)> {
        let (done, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(_, pending)| pending.done.load(Ordering::Acquire) > 0);
        self.waiting = waiting;
        let given = |pending: &Pending| pending.given.iter().map(|given| given.load(Ordering::Relaxed)).collect();
        let done: Vec<(u64, &'static Pending)> = done;
        done.into_iter().map(|(number, pending)| (number, given(pending))).collect()
    }

    /// Does an order; what came of it.
    pub fn obey(&mut self, number: u64, order: Order) -> Outcome {
        match order {
            Order::Hook { function, shape, at_entry, at_exit } => match sintonia_hook::hook(function, shape, &at_entry, &at_exit) {
                Ok(hook) => Outcome::Hooked(hook),
                Err(problem) => Outcome::Refused(problem.to_string()),
            },
            Order::Unhook(hook) => match sintonia_hook::unhook(hook) {
                Ok(()) => Outcome::Done(0),
                Err(problem) => Outcome::Refused(problem.to_string()),
            },
            // SAFETY: who holds the run's secret found the address in the files of this process, with the type it has there.
            Order::Do(act) => match unsafe { sintonia_hook::perform(&act) } {
                Some(before) => Outcome::Done(before),
                None => Outcome::Refused("a pointer on the way to it is null".into()),
            },
            Order::Arrange { hook, side, acts, when } => {
                // SAFETY: as above.
                let pending = unsafe { sintonia_hook::arrange(hook, side, acts, when) };
                self.waiting.push((number, pending));
                Outcome::Arranged
            }
            Order::Load(path) => load(path),
            Order::GoOn => Outcome::Done(0),
        }
    }
}

/// Loads a library as the program itself could.
fn load(path: String) -> Outcome {
    let Ok(path) = CString::new(path) else { return Outcome::Refused("a path has no zero in it".into()) };
    // SAFETY: a path that ends with zero; what the library does when it is loaded is what the user wants.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: after a failure there is a text.
        let why = unsafe { std::ffi::CStr::from_ptr(libc::dlerror()) };
        return Outcome::Refused(why.to_string_lossy().into_owned());
    }
    Outcome::Done(handle as u64)
}
