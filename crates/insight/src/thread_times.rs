//! The time of each thread that calls MPI, where ranks have several of them.

use serde::{Deserialize, Serialize};
use sintonia_program::ThreadTime;

use crate::efficiency::ActiveThread;
use crate::seconds::seconds;

/// The time of one thread. MPI, computation and blocked time make up its active time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadTimes {
    /// Its rank.
    pub rank: u32,
    /// Its number in the process.
    pub thread: u16,
    /// Whether it is the main thread: active from the begin to the end of its rank. Others are active from their first call to their last.
    pub main: bool,
    /// Seconds for which it was active.
    pub active_s: f64,
    /// Seconds in MPI, including polling.
    pub mpi_s: f64,
    /// Seconds of computation.
    pub outside_s: f64,
    /// Seconds blocked outside MPI; 0 if not known.
    pub blocked_s: f64,
    /// Whether blocked time is known.
    pub blocked_known: bool,
    /// Whether it is a helper that spends at least 95 % of its active time in MPI.
    pub only_communicates: bool,
    /// Number of MPI calls; 0 in a profile.
    pub calls: u64,
}

impl ThreadTimes {
    pub(crate) fn new(rank: u32, time: &ThreadTime) -> ThreadTimes {
        ThreadTimes {
            rank,
            thread: time.thread,
            main: time.main,
            active_s: seconds(time.active_ns()),
            mpi_s: seconds(time.mpi_ns),
            outside_s: seconds(time.compute_ns),
            blocked_s: seconds(time.blocked_ns),
            blocked_known: time.blocked_known,
            only_communicates: time.only_communicates(),
            calls: time.calls,
        }
    }

    /// What counts in efficiencies over `elapsed_s` seconds: the main thread is there all the time.
    pub(crate) fn in_focus(&self, elapsed_s: f64) -> ActiveThread {
        let active_s = if self.main { elapsed_s } else { self.active_s.min(elapsed_s) };
        ActiveThread { compute_s: self.outside_s, active_s }
    }
}
