//! What is added to an MPI call: its programs, and one run of each under a tool.

use std::path::{Path, PathBuf};

use super::output::ProgramOutput;
use super::run::run;
use super::tool::Tool;
use super::{programs, rounds::MeasuredRounds};
use crate::error::Error;
use crate::mpi::Mpi;

/// The programs that make calls.
pub(super) struct CallPrograms {
    calls: PathBuf,
    pingpong: PathBuf,
}

/// One tool in one round.
pub(super) struct CallSample {
    pub calls: ProgramOutput,
    pub pingpong: ProgramOutput,
    /// What the run of `calls` left on disk.
    pub bytes_on_disk: u64,
}

/// All rounds.
pub(super) type CallRounds = MeasuredRounds<CallSample>;

impl CallPrograms {
    /// Compiles them into a folder.
    pub(super) fn build(mpi: &Mpi, folder: &Path) -> Result<CallPrograms, Error> {
        let compiled = |name| programs::build(mpi, name, folder);
        Ok(CallPrograms { calls: compiled("calls")?, pingpong: compiled("pingpong")? })
    }

    /// Runs both under a tool.
    pub(super) fn sample(&self, mpi: &Mpi, tool: &Tool, folder: &Path) -> Result<CallSample, Error> {
        let calls = run(tool, mpi.launch_bound(1), &self.calls, folder)?;
        let pingpong = run(tool, mpi.launch_bound(2), &self.pingpong, folder)?;
        Ok(CallSample { calls: calls.output, pingpong: pingpong.output, bytes_on_disk: calls.bytes_on_disk })
    }
}
