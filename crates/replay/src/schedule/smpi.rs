//! A time-independent SMPI trace as a schedule.

use sintonia_formats::smpi::SmpiTrace;

use super::simulator_trace::SimulatorTraceReader;
use super::{CallReader, LocationId, Schedule};
use crate::Error;

impl Schedule for SmpiTrace {
    fn ranks(&self) -> u32 {
        SmpiTrace::rank_count(self)
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        Ok((0..SmpiTrace::rank_count(self)).map(|rank| LocationId { rank, thread: 0 }).collect())
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(SimulatorTraceReader::new(self.actions(location.rank))))
    }

    /// All communication is on `MPI_COMM_WORLD`.
    fn members(&self, _: u32) -> Vec<u32> {
        (0..SmpiTrace::rank_count(self)).collect()
    }

    fn site_count(&self) -> u32 {
        1
    }

    fn site_name(&self, _: u32) -> String {
        "SMPI trace".to_owned()
    }
}
