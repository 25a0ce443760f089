//! Raw data of one process, scanned before anything is written because the output depends on all processes.

use crate::error::Error;
use crate::seal::openmp;
use crate::seal::process::{ProcessDefinitions, ThreadFiles};
use crate::seal::profile::RawProfile;
use crate::seal::stream::{RawStream, StreamSummary};

/// The raw data of a process.
#[derive(Default)]
pub(super) struct RawProcess {
    /// Its definitions.
    pub process: ProcessDefinitions,
    /// Summary of all its streams or profiles.
    pub summary: StreamSummary,
    /// Number of threads that called MPI.
    pub threads: u32,
    /// The calls of its threads.
    pub streams: Vec<RawStream>,
    /// The totals of its threads, if it recorded no single calls.
    pub profiles: Vec<RawProfile>,
}

impl RawProcess {
    /// Scans the raw files of a process.
    pub(super) fn scan(process: ProcessDefinitions) -> Result<RawProcess, Error> {
        let mut raw = RawProcess::default();
        for (thread, files) in &process.threads {
            raw.add(*thread, files)?;
        }
        raw.summary.add_sites(openmp::sites(&process)?);
        raw.process = process;
        Ok(raw)
    }

    fn add(&mut self, thread: u16, files: &ThreadFiles) -> Result<(), Error> {
        let summary = if let Some(path) = &files.profile {
            self.profiles.push(RawProfile::read(thread, path)?);
            self.profiles.last().map(|profile| &profile.summary)
        } else {
            self.streams.push(RawStream::open_all(thread, files)?);
            self.streams.last().map(|stream| &stream.summary)
        };
        if let Some(summary) = summary {
            self.threads += u32::from(summary.calls > 0);
            self.summary.add(summary);
        }
        Ok(())
    }

    /// Whether it holds only totals.
    pub(super) fn is_profile(&self) -> bool {
        !self.profiles.is_empty()
    }

    /// First and last known time, in ticks.
    pub(super) fn span(&self) -> (u64, u64) {
        let readings = self.process.readings.iter().map(|reading| reading.ticks);
        let begin = self.summary.first.or(readings.min()).unwrap_or(0);
        (begin, self.summary.last.max(begin))
    }
}
