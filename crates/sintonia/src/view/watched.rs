//! A recording that is replayed for as long as somebody waits for it: it tells how many of its calls were read, and ends where it is told to.

use sintonia_recording::Recording;
use sintonia_replay::Error;
use sintonia_replay::schedule::{LineId, Neighbours, Next, Outcome, Schedule, Stretch, Stretches};

use super::slow::Progress;

/// A recording, and how far its replay is.
pub struct Watched<'a> {
    pub recording: &'a Recording,
    pub progress: &'a Progress,
}

/// One of its lines.
struct WatchedLine<'a> {
    line: Box<dyn Stretches + 'a>,
    progress: &'a Progress,
}

impl Stretches for WatchedLine<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        if self.progress.is_ended() {
            return Err(Error::Ended);
        }
        let next = self.line.next(stretch)?;
        if next != Next::End {
            self.progress.steps(stretch.rows.len());
        }
        Ok(next)
    }

    fn outcome(&mut self) -> Result<Outcome, Error> {
        self.line.outcome()
    }
}

impl Schedule for Watched<'_> {
    fn ranks(&self) -> u32 {
        self.recording.ranks()
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        self.recording.lines()
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(WatchedLine { line: Schedule::open(self.recording, line)?, progress: self.progress }))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        Schedule::members(self.recording, communicator)
    }

    fn is_between_groups(&self, communicator: u32) -> bool {
        self.recording.is_between_groups(communicator)
    }

    fn object(&self, object: u32) -> Option<u32> {
        self.recording.object(object)
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> Neighbours {
        Schedule::neighbours(self.recording, communicator, rank)
    }

    fn sites(&self) -> u32 {
        self.recording.sites()
    }

    fn site(&self, site: u32) -> String {
        Schedule::site(self.recording, site)
    }
}
