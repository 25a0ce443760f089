//! The same run on an ideal network: what would be left if moving data took no time.
//!
//! The recording is replayed. Computation takes as long as it took; a receive ends when its message is sent, an operation of a group when
//! those it needs have come; everything else in MPI takes no time, except access to files, which no network makes faster. Sends complete
//! at once unless they are synchronous.

use sintonia_program::history::History;
use sintonia_recording::Recording;
use sintonia_replay::Error;
use sintonia_replay::changes::Changes;
use sintonia_replay::engine::{self, Costs, RecordedNetwork, Sink};
use sintonia_replay::schedule::{Described, LineId, Schedule};

/// A run on an ideal network.
pub struct Ideal {
    /// Nanoseconds from the end of MPI_Init to the moment the last rank would come to MPI_Finalize, over all ranks.
    pub elapsed_ns: i64,
    /// How long each call of the lines that were asked for would take, in seconds.
    pub stays: Vec<Vec<f64>>,
}

impl Ideal {
    /// Replays a recording on an ideal network, and keeps the calls of the lines of a history.
    pub fn of(recording: &Recording, history: Option<&History>) -> Result<Ideal, Error> {
        let network = RecordedNetwork { latency_times: 0.0, per_byte_times: 0.0, ..RecordedNetwork::default() };
        let changes = Changes { goes_on: true, ..Changes::default() };
        let mut stays = match history {
            Some(history) => Stays::new(recording.lines()?, history),
            None => Stays::default(),
        };
        let sink = history.map(|_| &mut stays as &mut dyn Sink);
        let outcome = engine::replay(recording, &Costs::Recorded(network), &changes, sink)?;
        Ok(Ideal { elapsed_ns: (outcome.seconds * 1e9) as i64, stays: stays.kept })
    }
}

/// How long calls take, where somebody asks for it.
#[derive(Default)]
struct Stays {
    /// The place of each line among those that are kept.
    places: Vec<Option<usize>>,
    kept: Vec<Vec<f64>>,
}

impl Stays {
    fn new(lines: Vec<LineId>, history: &History) -> Stays {
        let own = |line: &LineId| {
            let mut threads = history.lines_of(line.rank);
            threads.find(|place| history.lines[*place].calls.thread == line.thread)
        };
        let kept = history.lines.iter().map(|line| Vec::with_capacity(line.len())).collect();
        Stays { places: lines.iter().map(own).collect(), kept }
    }
}

impl Sink for Stays {
    fn actions(&mut self, _: usize, _: &[Described]) -> Result<(), Error> {
        Ok(())
    }

    fn requests(&mut self, _: usize, _: u64) -> Result<(), Error> {
        Ok(())
    }

    fn call(&mut self, line: usize, _: u32, enter_s: f64, leave_s: f64) -> Result<(), Error> {
        if let Some(place) = self.places.get(line).copied().flatten() {
            self.kept[place].push(leave_s - enter_s);
        }
        Ok(())
    }
}
