//! One run of a program under a tool: what the program said, and what the tool left behind.

use std::path::Path;
use std::process::Command;

use super::output::ProgramOutput;
use super::tool::{SampleCount, Tool};
use crate::error::Error;
use crate::mpi::AS_ROOT;
use crate::paths;

/// Seconds after which a run has failed.
const LIMIT: &str = "300";

/// What a run gave.
pub(super) struct ProgramRun {
    pub output: ProgramOutput,
    /// What the run left on disk.
    pub bytes_on_disk: u64,
    /// For a tool that says how many samples it took.
    pub samples: Option<SampleCount>,
}

/// Runs a program in a folder that is made for the run and removed after it.
pub(super) fn run(tool: &Tool, launch: Vec<String>, program: &Path, folder: &Path) -> Result<ProgramRun, Error> {
    empty(folder)?;
    let command = tool.command(launch, program);
    let failed = |why: String| Error::Failed { command: command.join(" "), why };
    let ended = Command::new("timeout")
        .args(["--kill-after=10", LIMIT])
        .args(&command)
        .current_dir(folder)
        .envs(AS_ROOT)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let (output, errors) = (ProgramOutput::read(&String::from_utf8_lossy(&ended.stdout)), String::from_utf8_lossy(&ended.stderr));
    if !ended.status.success() {
        return Err(failed(format!("{}, {}", ended.status, reason(&errors))));
    }
    let samples = tool.samples.and_then(|count| count(folder, &errors));
    let run = ProgramRun { output, bytes_on_disk: paths::bytes_in(folder), samples };
    check(tool, &run, &errors).map_err(failed)?;
    std::fs::remove_dir_all(folder).map_err(Error::at(folder))?;
    Ok(run)
}

/// A tool that recorded nothing would look cheap.
fn check(tool: &Tool, run: &ProgramRun, errors: &str) -> Result<(), String> {
    let ProgramRun { output, bytes_on_disk, samples } = run;
    if output.calls == 0 || output.cases.is_empty() {
        return Err("the program gave no figures".into());
    }
    if !tool.keeps.is_empty() && *bytes_on_disk == 0 {
        return Err("it left nothing on disk".into());
    }
    if tool.samples.is_some() && samples.is_none_or(|samples| samples.count == 0) {
        return Err("it took no samples".into());
    }
    if !tool.counts {
        return Ok(());
    }
    let said: serde_json::Value = serde_json::from_str(last_line(errors)).unwrap_or_default();
    match said["calls"].as_u64() {
        Some(calls) if calls >= output.calls => Ok(()),
        calls => Err(format!("of {} calls it recorded {}", output.calls, calls.unwrap_or(0))),
    }
}

/// What a failed run said first: launchers put rules and advice around it.
fn reason(errors: &str) -> &str {
    errors.lines().map(str::trim).find(|line| line.contains(char::is_alphabetic)).unwrap_or("without a word")
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("")
}

/// Makes the folder, without what an earlier run left.
fn empty(folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(Error::at(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(Error::at(folder))
}
