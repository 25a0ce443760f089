//! How long calls took, and how much of that in MPI: each return belongs to the entry with the same place on the stack of the same thread.

use std::collections::HashMap;

/// How long something took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    /// All of it.
    pub seconds: f64,
    /// In functions of MPI.
    pub in_mpi: f64,
}

impl Took {
    /// Of a call whose beginning was not seen.
    pub const UNKNOWN: Took = Took { seconds: f64::NAN, in_mpi: f64::NAN };
}

/// Calls that have been entered and not left, by thread and hook: their place on the stack, when, and what the thread had spent in MPI.
#[derive(Debug, Default)]
pub struct Calls {
    under_way: HashMap<(usize, u32), Vec<(u64, Took)>>,
    /// Seconds in MPI, by thread.
    in_mpi: HashMap<usize, f64>,
}

impl Calls {
    /// A call begins.
    pub fn enter(&mut self, thread: usize, hook: u32, stack: u64, time: f64) {
        let calls = self.under_way.entry((thread, hook)).or_default();
        // The stack grows downwards: whatever was entered at or below this place is not there any more.
        while calls.pop_if(|(place, _)| *place <= stack).is_some() {}
        calls.push((stack, Took { seconds: time, in_mpi: self.in_mpi.get(&thread).copied().unwrap_or(0.0) }));
    }

    /// A thread was in MPI for so long.
    pub fn was_in_mpi(&mut self, thread: usize, seconds: f64) {
        *self.in_mpi.entry(thread).or_default() += seconds;
    }

    /// A call ends; how long it took, if its beginning is known.
    pub fn leave(&mut self, thread: usize, hook: u32, stack: u64, time: f64) -> Option<Took> {
        let calls = self.under_way.get_mut(&(thread, hook))?;
        while calls.pop_if(|(place, _)| *place < stack).is_some() {}
        let in_mpi = self.in_mpi.get(&thread).copied().unwrap_or(0.0);
        let took = |begin: Took| Took { seconds: time - begin.seconds, in_mpi: in_mpi - begin.in_mpi };
        calls.pop_if(|(place, _)| *place == stack).map(|(_, begin)| took(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_and_jumps_keep_calls_and_returns_together() {
        let mut calls = Calls::default();
        calls.enter(0, 1, 1000, 1.0);
        calls.enter(0, 1, 900, 2.0);
        calls.enter(0, 1, 800, 3.0);
        let seconds = |took: Option<Took>| took.map(|took| took.seconds);
        assert_eq!(seconds(calls.leave(0, 1, 800, 3.5)), Some(0.5));
        // The one at 900 was left by a jump.
        assert_eq!(seconds(calls.leave(0, 1, 1000, 6.0)), Some(5.0));
        assert_eq!(calls.leave(0, 1, 1000, 7.0), None);
        calls.enter(0, 1, 900, 8.0);
        calls.enter(0, 1, 1000, 9.0);
        assert_eq!(seconds(calls.leave(0, 1, 1000, 9.5)), Some(0.5), "the one below was left by a jump");
        assert_eq!(calls.leave(1, 1, 900, 9.5), None, "another thread");
    }

    #[test]
    fn what_a_thread_spends_in_mpi_counts_for_the_calls_it_is_in() {
        let mut calls = Calls::default();
        calls.was_in_mpi(0, 1.0);
        calls.enter(0, 1, 1000, 10.0);
        calls.was_in_mpi(0, 0.25);
        calls.was_in_mpi(1, 5.0);
        assert_eq!(calls.leave(0, 1, 1000, 11.0), Some(Took { seconds: 1.0, in_mpi: 0.25 }));
    }
}
