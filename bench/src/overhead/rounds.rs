//! The measurement itself: every tool once in each round, in an order that changes.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use super::AbsentTool;
use super::output::ProgramOutput;
use super::programs::BenchPrograms;
use super::tool::Tool;
use crate::error::Error;
use crate::mpi::{AS_ROOT, Mpi};
use crate::paths;
use crate::random::Random;

/// Seconds after which a run has failed.
const LIMIT: &str = "300";

/// What was measured with one MPI library.
pub(super) struct MeasuredRounds {
    pub tools: Vec<Tool>,
    /// By round and tool; none where the run failed.
    pub samples: Vec<Vec<Option<ToolSample>>>,
}

/// One tool in one round.
pub(super) struct ToolSample {
    pub calls: ProgramOutput,
    pub pingpong: ProgramOutput,
    /// What the run of `calls` left on disk.
    pub bytes_on_disk: u64,
}

impl MeasuredRounds {
    /// Measures in so many rounds. A tool that does not work is moved to the absent ones when first tried.
    pub(super) fn measure(
        mpi: &Mpi,
        programs: &BenchPrograms,
        tools: Vec<Tool>,
        rounds: u32,
        folder: &Path,
        absent: &mut Vec<AbsentTool>,
    ) -> Result<MeasuredRounds, Error> {
        let bench = RoundRunner { mpi, programs, folder };
        let tools = bench.working(tools, absent)?;
        let mut random = Random::new();
        let mut samples = Vec::new();
        for round in 1..=rounds {
            show_progress(&format!("{}: round {round} of {rounds}", mpi.name));
            samples.push(bench.round(&tools, &random.order(tools.len()))?);
        }
        show_progress("");
        Ok(MeasuredRounds { tools, samples })
    }
}

/// What stays the same from run to run.
struct RoundRunner<'a> {
    mpi: &'a Mpi,
    programs: &'a BenchPrograms,
    /// Where programs run: made for each run, removed after it.
    folder: &'a Path,
}

impl RoundRunner<'_> {
    fn working(&self, tools: Vec<Tool>, absent: &mut Vec<AbsentTool>) -> Result<Vec<Tool>, Error> {
        let mut working = Vec::new();
        for tool in tools {
            show_progress(&format!("{}: trying {}", self.mpi.name, tool.name));
            match self.sample(&tool) {
                Ok(_) => working.push(tool),
                // Without the bare program there is nothing to compare with, and without Sintonia nothing to tell.
                Err(error) if working.is_empty() || tool.counts => return Err(error),
                Err(Error::Failed { why, .. }) => absent.push(AbsentTool { name: tool.name, why }),
                Err(error) => return Err(error),
            }
        }
        Ok(working)
    }

    fn round(&self, tools: &[Tool], order: &[usize]) -> Result<Vec<Option<ToolSample>>, Error> {
        let mut samples: Vec<Option<ToolSample>> = tools.iter().map(|_| None).collect();
        for &number in order {
            match self.sample(&tools[number]) {
                Ok(sample) => samples[number] = Some(sample),
                // It worked when it was tried, so the other rounds can tell.
                Err(error @ Error::Failed { .. }) => eprintln!("left out of this round: {error}"),
                Err(error) => return Err(error),
            }
        }
        Ok(samples)
    }

    fn sample(&self, tool: &Tool) -> Result<ToolSample, Error> {
        let (calls, bytes_on_disk) = self.run(tool, 1, &self.programs.calls)?;
        let (pingpong, _) = self.run(tool, 2, &self.programs.pingpong)?;
        Ok(ToolSample { calls, pingpong, bytes_on_disk })
    }

    fn run(&self, tool: &Tool, ranks: u32, program: &Path) -> Result<(ProgramOutput, u64), Error> {
        empty(self.folder)?;
        let command = tool.command(self.mpi.launch_bound(ranks), program);
        let failed = |why: String| Error::Failed { command: command.join(" "), why };
        let ended = Command::new("timeout")
            .args(["--kill-after=10", LIMIT])
            .args(&command)
            .current_dir(self.folder)
            .envs(AS_ROOT)
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let (output, errors) = (ProgramOutput::read(&String::from_utf8_lossy(&ended.stdout)), String::from_utf8_lossy(&ended.stderr));
        let bytes = paths::bytes_in(self.folder);
        if !ended.status.success() {
            return Err(failed(format!("{}, {}", ended.status, reason(&errors))));
        }
        check(tool, &output, &errors, bytes).map_err(failed)?;
        std::fs::remove_dir_all(self.folder).map_err(Error::at(self.folder))?;
        Ok((output, bytes))
    }
}

/// A tool that recorded nothing would look cheap.
fn check(tool: &Tool, output: &ProgramOutput, errors: &str, bytes: u64) -> Result<(), String> {
    if output.calls == 0 || output.cases.is_empty() {
        return Err("the program gave no figures".into());
    }
    if !tool.keeps.is_empty() && bytes == 0 {
        return Err("it left nothing on disk".into());
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

/// Shows how far it is, on a terminal.
fn show_progress(text: &str) {
    let mut errors = std::io::stderr();
    if errors.is_terminal() {
        let _ = write!(errors, "\r\x1b[K{text}");
    }
}
