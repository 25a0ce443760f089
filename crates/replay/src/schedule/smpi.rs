//! A time-independent trace of SMPI as a schedule.

use sintonia_formats::smpi::Trace;

use super::script::Script;
use super::{LineId, Schedule, Stretches};
use crate::Error;

impl Schedule for Trace {
    fn ranks(&self) -> u32 {
        Trace::ranks(self)
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok((0..Trace::ranks(self)).map(|rank| LineId { rank, thread: 0 }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Script::of(self.steps(line.rank))))
    }

    /// All is on `MPI_COMM_WORLD`.
    fn members(&self, _: u32) -> Vec<u32> {
        (0..Trace::ranks(self)).collect()
    }

    fn sites(&self) -> u32 {
        1
    }

    fn site(&self, _: u32) -> String {
        "the trace of SMPI".to_owned()
    }
}
