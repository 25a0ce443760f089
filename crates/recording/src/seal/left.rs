//! A process with its calls: looked through before anything is written, because what is written depends on all of them.

use std::path::Path;

use crate::error::Error;
use crate::seal::process::{Process, ThreadFiles};
use crate::seal::profile::{self, Profile};
use crate::seal::rank;
use crate::seal::stream::{Stream, Survey};
use crate::seal::translate::Translator;
use crate::sealed::Written;

/// A process and its calls.
#[derive(Default)]
pub struct Left {
    /// What it says of itself.
    pub process: Process,
    /// What its streams or sums hold together.
    pub survey: Survey,
    /// Threads that called MPI.
    pub threads: u32,
    streams: Vec<Stream>,
    profiles: Vec<Profile>,
}

impl Left {
    /// Looks through the calls of a process.
    pub fn look_through(process: Process) -> Result<Left, Error> {
        let mut left = Left::default();
        for (thread, files) in &process.threads {
            left.add(*thread, files)?;
        }
        left.process = process;
        Ok(left)
    }

    fn add(&mut self, thread: u16, files: &ThreadFiles) -> Result<(), Error> {
        let survey = if let Some(path) = &files.profile {
            self.profiles.push(Profile::read(thread, path)?);
            self.profiles.last().map(|profile| &profile.survey)
        } else {
            self.streams.push(Stream::find(thread, files)?);
            self.streams.last().map(|stream| &stream.survey)
        };
        if let Some(survey) = survey {
            self.threads += u32::from(survey.calls > 0);
            self.survey.add(survey);
        }
        Ok(())
    }

    /// Whether there are only sums of its calls.
    pub fn is_profile(&self) -> bool {
        !self.profiles.is_empty()
    }

    /// The first and the last moment that is known of it, in ticks.
    pub fn span(&self) -> (u64, u64) {
        let readings = self.process.readings.iter().map(|reading| reading.ticks);
        let begin = self.survey.first.or(readings.min()).unwrap_or(0);
        (begin, self.survey.last.max(begin))
    }

    /// Writes its calls.
    pub fn write(&self, folder: &Path, rank: u32, translator: &Translator) -> Result<Written, Error> {
        if self.is_profile() {
            profile::write(folder, rank, &self.profiles, translator)
        } else {
            rank::write(folder, rank, &self.streams, translator, self.span().1)
        }
    }
}
