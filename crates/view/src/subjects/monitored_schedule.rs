//! A recording as a schedule that reports the progress of its replay, and can be cancelled.

use sintonia_recording::Recording;
use sintonia_replay::Error;
use sintonia_replay::core_waits::LocationCoreWaits;
use sintonia_replay::schedule::{CallChunk, CallReader, ChunkStatus, LocationId, NeighbourRanks, Schedule, WildcardMatch};

use crate::jobs::JobProgress;

/// A recording, and the progress of its replay.
pub(super) struct MonitoredSchedule<'a> {
    pub recording: &'a Recording,
    pub progress: &'a JobProgress,
}

/// One of its locations.
struct MonitoredReader<'a> {
    reader: Box<dyn CallReader + 'a>,
    progress: &'a JobProgress,
}

impl CallReader for MonitoredReader<'_> {
    fn read_chunk(&mut self, stretch: &mut CallChunk) -> Result<ChunkStatus, Error> {
        if self.progress.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let next = self.reader.read_chunk(stretch)?;
        if next != ChunkStatus::End {
            self.progress.add_steps(stretch.calls.len());
        }
        Ok(next)
    }

    fn next_wildcard_match(&mut self) -> Result<WildcardMatch, Error> {
        self.reader.next_wildcard_match()
    }
}

impl Schedule for MonitoredSchedule<'_> {
    fn ranks(&self) -> u32 {
        self.recording.ranks()
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        self.recording.locations()
    }

    fn open(&self, line: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(MonitoredReader { reader: Schedule::open(self.recording, line)?, progress: self.progress }))
    }

    fn core_waits(&self, line: LocationId) -> Result<Option<LocationCoreWaits>, Error> {
        self.recording.core_waits(line)
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        Schedule::members(self.recording, communicator)
    }

    fn is_intercommunicator(&self, communicator: u32) -> bool {
        self.recording.is_intercommunicator(communicator)
    }

    fn object_communicator(&self, object: u32) -> Option<u32> {
        self.recording.object_communicator(object)
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> NeighbourRanks {
        Schedule::neighbours(self.recording, communicator, rank)
    }

    fn site_count(&self) -> u32 {
        self.recording.site_count()
    }

    fn site_name(&self, site: u32) -> String {
        Schedule::site_name(self.recording, site)
    }
}
