//! When the calls of a history happen in a replay of its recording.

use sintonia_program::history::History;

use crate::Error;
use crate::engine::ReplaySink;
use crate::schedule::LocationId;

/// Keeps something of each replayed call of the locations of a history, in a collection `C` for each location.
pub struct CallTimes<C> {
    /// Index of each replayed location in the history.
    location_indices: Vec<Option<usize>>,
    /// Adds what is kept of a call, from its enter and exit time in seconds since `MPI_Init`.
    keep: fn(&mut C, f64, f64),
    times: Vec<C>,
}

impl<C> CallTimes<C> {
    /// Expects a replay of these locations; `with_capacity` makes a collection for a number of calls.
    pub fn new(locations: &[LocationId], history: &History, with_capacity: fn(usize) -> C, keep: fn(&mut C, f64, f64)) -> CallTimes<C> {
        let index = |location: &LocationId| {
            let mut threads = history.locations_of_rank(location.rank);
            threads.find(|index| history.locations[*index].calls.thread == location.thread)
        };
        let times = history.locations.iter().map(|location| with_capacity(location.len())).collect();
        CallTimes { location_indices: locations.iter().map(index).collect(), keep, times }
    }

    /// The collections, by location of the history.
    pub fn into_times(self) -> Vec<C> {
        self.times
    }
}

impl<C> ReplaySink for CallTimes<C> {
    fn call(&mut self, location: usize, _: u32, enter_s: f64, leave_s: f64) -> Result<(), Error> {
        if let Some(index) = self.location_indices.get(location).copied().flatten() {
            (self.keep)(&mut self.times[index], enter_s, leave_s);
        }
        Ok(())
    }
}
