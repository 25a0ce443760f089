//! A Dimemas trace as a schedule.

use sintonia_formats::dimemas::DimemasTrace;

use super::simulator_trace::SimulatorTraceReader;
use super::{CallReader, LocationId, Schedule};
use crate::Error;

impl Schedule for DimemasTrace {
    fn ranks(&self) -> u32 {
        DimemasTrace::rank_count(self)
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        Ok(self.threads().map(|(rank, thread)| LocationId { rank, thread }).collect())
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(SimulatorTraceReader::new(self.actions(location.rank, location.thread))))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        DimemasTrace::members(self, communicator)
    }

    fn site_count(&self) -> u32 {
        1
    }

    fn site_name(&self, _: u32) -> String {
        "Dimemas trace".to_owned()
    }
}
