//! Writes a replay as a recording, so that all tools for recordings also work on predictions.

use std::path::Path;

use sintonia_formats::{NANOSECOND_CLOCK, StagedRecording};
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::header::{ProcessExit, RecordedRank, RecordingHeader};
use sintonia_recording::sealed::RankFileWriter;

use crate::Error;
use crate::engine::ReplaySink;
use crate::scenario::ReplayScenario;
use crate::schedule::{DescribedAction, LocationId};

/// Records a replay.
pub(crate) struct ReplayRecorder {
    recording: StagedRecording,
    locations: Vec<LocationId>,
    calls: Vec<Vec<CallDescriptor>>,
    writers: Vec<Option<RankFileWriter>>,
    ends: Vec<f64>,
}

impl ReplayRecorder {
    /// Creates a recording of these locations.
    pub(crate) fn create(into: &Path, locations: Vec<LocationId>) -> Result<ReplayRecorder, Error> {
        let new = StagedRecording::create(into)?;
        let ranks = locations.iter().map(|location| location.rank as usize + 1).max().unwrap_or(0);
        let calls = locations.iter().map(|_| Vec::new()).collect();
        Ok(ReplayRecorder { recording: new, locations, calls, writers: (0..ranks).map(|_| None).collect(), ends: vec![0.0; ranks] })
    }

    /// Completes the recording; the header is copied from the original where the replay does not change it.
    pub(crate) fn finish(self, original: RecordingHeader) -> Result<u64, Error> {
        let mut header = original;
        let (mut calls, mut ranks) = (0, Vec::new());
        for (rank, (writer, end)) in self.writers.into_iter().zip(&self.ends).enumerate() {
            let Some(writer) = writer else { continue };
            let written = writer.finish()?;
            calls += written.calls;
            let known = header.ranks.iter().find(|known| known.rank as usize == rank).cloned().unwrap_or_default();
            ranks.push(RecordedRank {
                rank: rank as u32,
                calls: written.calls,
                begin_ns: 0,
                end_ns: to_nanoseconds(*end) as i64,
                end: ProcessExit::Finalized,
                dropped: 0,
                damaged_blocks: 0,
                clock: NANOSECOND_CLOCK,
                usage: Vec::new(),
                limits: None,
                memory: None,
                off_cpu: None,
                ..known
            });
        }
        header.ranks = ranks;
        // The host is that of the recording, not of the replayed run.
        header.host_descriptions.clear();
        header.clock_error_s = 0.0;
        self.recording.finish(header)?;
        Ok(calls)
    }
}

impl ReplaySink for ReplayRecorder {
    fn actions(&mut self, location: usize, actions: &[DescribedAction]) -> Result<(), Error> {
        self.calls[location].clear();
        self.calls[location].extend(actions.iter().map(|described| described.call.clone()));
        Ok(())
    }

    fn call(&mut self, location: usize, action: u32, enter_s: f64, leave_s: f64) -> Result<(), Error> {
        let LocationId { rank, thread } = self.locations[location];
        let writer = match &mut self.writers[rank as usize] {
            Some(writer) => writer,
            none => none.insert(RankFileWriter::create(self.recording.folder(), rank)?),
        };
        let end = &mut self.ends[rank as usize];
        *end = end.max(leave_s);
        writer.write_call(thread, to_nanoseconds(enter_s), to_nanoseconds(leave_s), &self.calls[location][action as usize])?;
        Ok(())
    }

    fn requests(&mut self, location: usize, next: u64) -> Result<(), Error> {
        let LocationId { rank, thread } = self.locations[location];
        if let Some(writer) = &mut self.writers[rank as usize] {
            writer.set_next_request(thread, next)?;
        }
        Ok(())
    }
}

impl ReplayScenario<'_> {
    /// Replays the scenario once more, and writes it as a recording; the header is that of the original.
    pub fn write_recording(&self, original: RecordingHeader, into: &Path) -> Result<(), Error> {
        raise_file_limit();
        let mut written = ReplayRecorder::create(into, self.schedule.locations()?)?;
        let outcome = self.run_with_sink(&mut written)?;
        let mut header = original;
        header.notes.push("this run was replayed, not recorded".into());
        if outcome.core_waits.share > 0.0 {
            let share = 100.0 * outcome.core_waits.share;
            header
                .notes
                .push(format!("it was replayed without the time in which ranks waited for a core: {share:.1} % of the recorded time"));
        }
        written.finish(header)?;
        Ok(())
    }
}

/// Every rank has a file, so raise the limit of open files.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If this fails, opening a file too many reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn to_nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}
