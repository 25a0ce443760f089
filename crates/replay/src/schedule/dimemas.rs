//! A trace of Dimemas as a schedule.

use sintonia_formats::dimemas::Trace;

use super::script::Script;
use super::{LineId, Schedule, Stretches};
use crate::Error;

impl Schedule for Trace {
    fn ranks(&self) -> u32 {
        Trace::ranks(self)
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok(self.threads().map(|(rank, thread)| LineId { rank, thread }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Script::of(self.steps(line.rank, line.thread))))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        Trace::members(self, communicator)
    }

    fn sites(&self) -> u32 {
        1
    }

    fn site(&self, _: u32) -> String {
        "the trace of Dimemas".to_owned()
    }
}
