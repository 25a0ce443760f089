//! Starts a launcher with this command as its program, and reads what the processes measure.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

/// What to measure, how often, and until when.
pub(super) struct BenchPlan {
    /// Settings of the first launch; each has its own seed and its share of the time.
    pub settings: BenchSettings,
    /// Number of launches.
    pub launches: u64,
    /// The end of the time for all of them.
    pub deadline: Instant,
    /// Whether something else is measured if the first launch fails. It then ends while there is time for that.
    pub has_fallback: bool,
}

impl BenchPlan {
    /// The settings of a launch and when it ends; none if no time is left for another one.
    fn launch(&self, index: u64) -> Option<(BenchSettings, Instant)> {
        const SHORTEST: Duration = Duration::from_secs(1);
        let now = Instant::now();
        let budget = self.deadline.saturating_duration_since(now) / (self.launches - index) as u32;
        let ends = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + budget;
        // Every launch has its own order.
        let settings = BenchSettings { seed: self.settings.seed.wrapping_add(index), budget, ends, ..self.settings };
        (index == 0 || budget >= SHORTEST).then_some((settings, now + budget))
    }
}

/// All launches of a plan, as far as there is time; without a launcher, this command runs alone.
pub(super) fn run_all(
    launcher: &[OsString],
    plan: &BenchPlan,
    voice: StderrMode,
    notes: &mut Vec<String>,
) -> Result<Vec<LaunchMeasurements>, Error> {
    let progress = ProgressBar::with_lines("measuring", 100 * plan.launches as usize);
    let mut run = BenchLauncher { launcher, stderr: voice, progress, finished: 0, done: 0 };
    let mut launches = Vec::new();
    for index in 0..plan.launches {
        let Some((settings, ends)) = plan.launch(index) else {
            notes.push(format!("no time for more than {index} of {} launches", plan.launches));
            break;
        };
        let reserve = if plan.has_fallback && launches.is_empty() { settings.budget / FALLBACK_PARTS } else { Duration::ZERO };
        match run.run_once(&settings, LaunchEnds { any: ends - reserve, all: ends }) {
            Ok(launch) => {
                if !launch.is_complete() {
                    notes.push(format!("launch {} was ended before it was complete, since its time was over", index + 1));
                }
                launches.push(launch);
                run.finished += 1;
            }
            Err(error) if launches.is_empty() => return Err(error),
            Err(error) => {
                eprintln!("sintonia: launch {} of {} failed: {error}", index + 1, plan.launches);
                let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
                notes.push(format!("launch {} of {} failed and was the last: {reason}", index + 1, plan.launches));
                break;
            }
        }
    }
    Ok(launches)
}

/// This part of the time of a launch is left for what is measured if it fails.
const FALLBACK_PARTS: u32 = 5;

/// When a launch is terminated.
#[derive(Clone, Copy)]
struct LaunchEnds {
    /// If nothing that counts has been measured until then.
    any: Instant,
    /// In any case.
    all: Instant,
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

/// Why a launch was terminated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlyEnd {
    /// Its processes printed nothing for long.
    Silent,
    /// Its time was over.
    OutOfTime,
}

impl BenchLauncher<'_> {
    fn run_once(&mut self, settings: &BenchSettings, ends: LaunchEnds) -> Result<LaunchMeasurements, Error> {
        let mut child = self.start(settings)?;
        let stderr = child.stderr.take().map(spawn_collector);
        let lines = spawn_line_reader(child.stdout.take());
        let mut launch = LaunchMeasurements::default();
        let mut alone = false;
        let early_end = loop {
            let ends = if self.is_enough(&launch) { ends.all } else { ends.any };
            match lines.recv_timeout(OUTPUT_TIMEOUT.min(ends.saturating_duration_since(Instant::now()))) {
                Ok(BenchRecord::Alone) => alone = true,
                Ok(line) => {
                    self.update_progress(&line);
                    launch.add_record(line);
                }
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= ends => break Some(EarlyEnd::OutOfTime),
                Err(RecvTimeoutError::Timeout) => break Some(EarlyEnd::Silent),
            }
        };
        let status = if early_end.is_some() { terminate(&mut child)? } else { child.wait()? };
        // Processes that outlive their launcher may keep the pipe open, so do not wait for its end.
        let stderr = stderr.filter(|_| early_end.is_none()).and_then(|reader| reader.join().ok()).unwrap_or_default();
        let is_enough = match early_end {
            None => launch.is_complete() && status.success(),
            Some(EarlyEnd::OutOfTime) => self.is_enough(&launch),
            Some(EarlyEnd::Silent) => false,
        };
        if is_enough {
            return Ok(launch);
        }
        Err(Error::Other(self.failure_reason(&launch, alone, early_end, status, settings) + stderr.as_str()))
    }

    /// Whether a launch that is out of time has measured something that counts.
    fn is_enough(&self, launch: &LaunchMeasurements) -> bool {
        launch.is_complete() || launch.has_messages() || (self.launcher.is_empty() && launch.has_data())
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
    fn failure_reason(
        &self,
        launch: &LaunchMeasurements,
        alone: bool,
        early_end: Option<EarlyEnd>,
        status: ExitStatus,
        settings: &BenchSettings,
    ) -> String {
        let name = self.name();
        match early_end {
            Some(EarlyEnd::Silent) => return format!("{name}: no output for {} seconds, so it was terminated", OUTPUT_TIMEOUT.as_secs()),
            Some(EarlyEnd::OutOfTime) => {
                let seconds = settings.budget.as_secs_f64();
                let between = if self.launcher.is_empty() { "" } else { " between processes" };
                return format!("{name}: nothing was measured{between} within {seconds:.0} seconds: give more time with --budget");
            }
            None => {}
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
    const PATIENCE: Duration = Duration::from_secs(3);
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

#[cfg(test)]
mod tests {
    use sintonia_machine::bench::{BenchQuantity, BenchSample, ProcessBinding};
    use sintonia_machine::{MessageMetric, PairClass};

    use super::*;

    /// A plan of three launches in this time.
    fn plan(budget: Duration, has_fallback: bool) -> BenchPlan {
        let settings = BenchSettings { seed: 1, max_bytes: 64, budget, ends: Duration::ZERO, quick: true };
        BenchPlan { settings, launches: 3, deadline: Instant::now() + budget, has_fallback }
    }

    /// A launcher that runs a script in a folder with the output of a complete launch in `launch`.
    fn launcher(folder: &std::path::Path, script: &str) -> Vec<OsString> {
        let quantity = BenchQuantity::Message { class: PairClass::SameNode, what: MessageMetric::Transfer };
        let mut lines = Vec::new();
        for record in [
            BenchRecord::Hello { library: None, places: vec![ProcessBinding::current()] },
            BenchRecord::Sample(BenchSample::from_values(quantity, 8, &[1e-6]).unwrap()),
            BenchRecord::End,
        ] {
            record.write(&mut lines).unwrap();
        }
        std::fs::write(folder.join("launch"), lines).unwrap();
        ["sh", "-c", &format!("cd {}; {script}", folder.display())].map(OsString::from).into()
    }

    fn failure(result: Result<Vec<LaunchMeasurements>, Error>) -> String {
        result.map(|launches| launches.len()).unwrap_err().to_string()
    }

    #[test]
    fn what_was_measured_before_a_launch_fails_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = launcher(folder.path(), "test ! -e ran || exit 3; touch ran; cat launch");
        let mut notes = Vec::new();
        let launches = run_all(&launcher, &plan(Duration::from_secs(60), false), StderrMode::Inherit, &mut notes).unwrap();
        assert_eq!((launches.len(), notes.len()), (1, 1), "{notes:?}");
        assert!(notes[0].starts_with("launch 2 of 3 failed and was the last: `sh -c "), "{notes:?}");
        assert!(notes[0].ends_with("ended with exit status: 3 before anything was measured"), "{notes:?}");
        let error = failure(run_all(&launcher, &plan(Duration::from_secs(60), false), StderrMode::Inherit, &mut notes));
        assert!(error.ends_with("before anything was measured"), "nothing is kept of none: {error}");
    }

    #[test]
    fn a_launch_that_measures_nothing_leaves_time_for_the_fallback() {
        let folder = tempfile::tempdir().unwrap();
        let plan = BenchPlan { launches: 1, ..plan(Duration::from_secs(5), true) };
        let hangs = launcher(folder.path(), "exec sleep 60");
        let error = failure(run_all(&hangs, &plan, StderrMode::Inherit, &mut Vec::new()));
        assert!(Instant::now() < plan.deadline, "{error}");
        assert!(error.contains("nothing was measured between processes"), "{error}");
    }
}
