//! Starts a launcher with this command as its program, and reads what the processes measure.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sintonia_machine::bench::{BenchRecord, BenchSettings, LaunchMeasurements};

use crate::progress::ProgressBar;
use crate::{Error, text};

/// Without output for this long, the processes are considered hung.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(120);

/// What to do with the launcher's standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StderrMode {
    /// Pass it through.
    Inherit,
    /// Print it only if the launcher fails.
    Capture,
}

/// A launcher for two processes, if there is one in PATH.
pub(super) fn find_launcher() -> Option<Vec<OsString>> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich"];
    let name = names.iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()))?;
    Some([name, "-n", "2"].map(OsString::from).to_vec())
}

/// One launch for each of the settings; without a launcher, this command runs alone.
pub(super) fn run_all(launcher: &[OsString], settings: &[BenchSettings], voice: StderrMode) -> Result<Vec<LaunchMeasurements>, Error> {
    let progress = ProgressBar::new("measuring", 100 * settings.len());
    let mut run = BenchLauncher { launcher, stderr: voice, progress, finished: 0, done: 0 };
    let mut launches = Vec::new();
    for settings in settings {
        launches.push(run.run_once(settings)?);
        run.finished += 1;
    }
    Ok(launches)
}

struct BenchLauncher<'a> {
    launcher: &'a [OsString],
    stderr: StderrMode,
    progress: ProgressBar,
    /// The number of finished launches.
    finished: u32,
    /// Total progress, in percent of one launch.
    done: u32,
}

impl BenchLauncher<'_> {
    fn run_once(&mut self, settings: &BenchSettings) -> Result<LaunchMeasurements, Error> {
        let mut child = self.start(settings)?;
        let stderr = child.stderr.take().map(spawn_collector);
        let lines = spawn_line_reader(child.stdout.take());
        let mut launch = LaunchMeasurements::default();
        let mut alone = false;
        let mut silent = false;
        loop {
            match lines.recv_timeout(OUTPUT_TIMEOUT) {
                Ok(BenchRecord::Alone) => alone = true,
                Ok(line) => {
                    self.update_progress(&line);
                    launch.add_record(line);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    silent = true;
                    break;
                }
            }
        }
        let status = if silent { terminate(&mut child)? } else { child.wait()? };
        // Processes that outlive their launcher may keep the pipe open, so do not wait for its end.
        let stderr = stderr.filter(|_| !silent).and_then(|reader| reader.join().ok()).unwrap_or_default();
        if launch.is_complete() && status.success() {
            return Ok(launch);
        }
        Err(Error::Other(self.failure_reason(&launch, alone, silent, status) + stderr.as_str()))
    }

    fn start(&self, settings: &BenchSettings) -> Result<Child, Error> {
        let own = std::env::current_exe()?;
        let mut command = match self.launcher {
            [] => Command::new(&own),
            [launcher, words @ ..] => {
                let mut command = Command::new(launcher);
                command.args(words).arg(&own);
                command
            }
        };
        command.args(["bench", "--inside", &settings.to_string()]);
        if self.launcher.is_empty() {
            command.arg("--alone");
        }
        let errors = if self.stderr == StderrMode::Capture { Stdio::piped() } else { Stdio::inherit() };
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
        started.map_err(|error| Error::Other(format!("cannot start {}: {error}", self.name())))
    }

    fn update_progress(&mut self, line: &BenchRecord) {
        if let BenchRecord::Done(percent) = line {
            while self.done < self.finished * 100 + percent {
                self.done += 1;
                self.progress.step();
            }
        }
    }

    fn name(&self) -> String {
        let words: Vec<String> = self.launcher.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if words.is_empty() { "sintonia bench".into() } else { format!("`{}`", text::shell_command(&words)) }
    }

    /// Why a launch failed.
    fn failure_reason(&self, launch: &LaunchMeasurements, alone: bool, silent: bool, status: ExitStatus) -> String {
        let name = self.name();
        if silent {
            return format!("{name}: no output for {} seconds, so it was terminated", OUTPUT_TIMEOUT.as_secs());
        }
        if alone {
            return format!(
                "{name} started only one process: use a launcher command that starts at least two, such as \
                 `mpirun -n 2`, or no launcher to measure only computation and memory"
            );
        }
        match (launch.has_data(), status.success()) {
            (true, _) => format!("{name} ended with {status} before everything was measured"),
            (false, false) => format!("{name} ended with {status} before anything was measured"),
            (false, true) => {
                format!("{name} ended without running the benchmark: it must run the command appended to it")
            }
        }
    }
}

/// Reads the lines of the measured processes until their end.
fn spawn_line_reader(stdout: Option<impl Read + Send + 'static>) -> Receiver<BenchRecord> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let lines = stdout.map(|stdout| BufReader::new(stdout).lines()).into_iter().flatten();
        for line in lines.map_while(io::Result::ok).filter_map(|line| BenchRecord::parse(&line)) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads everything, for an error message.
fn spawn_collector(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        // What cannot be read cannot be shown.
        let _ = from.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text.is_empty() { text } else { format!("\n{text}") }
    })
}

/// Asks a launcher to terminate, so that it terminates its processes; kills it if it does not.
fn terminate(child: &mut Child) -> io::Result<ExitStatus> {
    const PATIENCE: Duration = Duration::from_secs(10);
    if let Some(process) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have exited already.
        let _ = kill_process(process, Signal::TERM);
    }
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()
}
