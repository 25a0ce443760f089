//! Durations of calls, and their part in MPI. An exit matches the entry with the same stack pointer in the same thread.

use std::collections::HashMap;

use crate::call_duration::CallDuration;

/// Open calls by thread and hook: stack pointer, entry time, and the thread's MPI time then.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    open: HashMap<(usize, u32), Vec<(u64, CallDuration)>>,
    /// Seconds in MPI, by thread.
    mpi_time: HashMap<usize, f64>,
}

impl OpenCalls {
    /// A call begins.
    pub(super) fn enter(&mut self, thread: usize, hook: u32, stack: u64, time: f64) {
        let calls = self.open.entry((thread, hook)).or_default();
        // The stack grows downwards: calls entered at or below this address have been left.
        while calls.pop_if(|(address, _)| *address <= stack).is_some() {}
        calls.push((stack, CallDuration { seconds: time, mpi_seconds: self.mpi_time.get(&thread).copied().unwrap_or(0.0) }));
    }

    /// Adds time that a thread spent in MPI.
    pub(super) fn add_mpi_time(&mut self, thread: usize, seconds: f64) {
        *self.mpi_time.entry(thread).or_default() += seconds;
    }

    /// A call ends; its duration, if its entry is known.
    pub(super) fn leave(&mut self, thread: usize, hook: u32, stack: u64, time: f64) -> Option<CallDuration> {
        let calls = self.open.get_mut(&(thread, hook))?;
        while calls.pop_if(|(address, _)| *address < stack).is_some() {}
        let in_mpi = self.mpi_time.get(&thread).copied().unwrap_or(0.0);
        let duration = |begin: CallDuration| CallDuration { seconds: time - begin.seconds, mpi_seconds: in_mpi - begin.mpi_seconds };
        calls.pop_if(|(address, _)| *address == stack).map(|(_, begin)| duration(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_match_entries_despite_recursion_and_jumps() {
        let mut calls = OpenCalls::default();
        calls.enter(0, 1, 1000, 1.0);
        calls.enter(0, 1, 900, 2.0);
        calls.enter(0, 1, 800, 3.0);
        let seconds = |duration: Option<CallDuration>| duration.map(|duration| duration.seconds);
        assert_eq!(seconds(calls.leave(0, 1, 800, 3.5)), Some(0.5));
        // The call at 900 was left by a jump.
        assert_eq!(seconds(calls.leave(0, 1, 1000, 6.0)), Some(5.0));
        assert_eq!(calls.leave(0, 1, 1000, 7.0), None);
        calls.enter(0, 1, 900, 8.0);
        calls.enter(0, 1, 1000, 9.0);
        assert_eq!(seconds(calls.leave(0, 1, 1000, 9.5)), Some(0.5), "the one below was left by a jump");
        assert_eq!(calls.leave(1, 1, 900, 9.5), None, "another thread");
    }

    #[test]
    fn mpi_time_counts_for_all_open_calls() {
        let mut calls = OpenCalls::default();
        calls.add_mpi_time(0, 1.0);
        calls.enter(0, 1, 1000, 10.0);
        calls.add_mpi_time(0, 0.25);
        calls.add_mpi_time(1, 5.0);
        assert_eq!(calls.leave(0, 1, 1000, 11.0), Some(CallDuration { seconds: 1.0, mpi_seconds: 0.25 }));
    }
}
