//! Starting a launcher with this command as its program, and hearing what the processes measure.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sintonia_machine::bench::{Launch, Line, Settings};

use crate::progress::Progress;
use crate::{Error, text};

/// Processes that say nothing for so long will say nothing more.
const SILENCE: Duration = Duration::from_secs(120);

/// What becomes of what a launcher writes to its standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// It is seen at once.
    Heard,
    /// It is seen if the launcher fails.
    Kept,
}

/// A launcher for two processes, if there is one.
pub fn found() -> Option<Vec<OsString>> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich"];
    let name = names.iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()))?;
    Some([name, "-n", "2"].map(OsString::from).to_vec())
}

/// One launch for each of the settings; without a launcher, this command alone.
pub fn all(launcher: &[OsString], settings: &[Settings], voice: Voice) -> Result<Vec<Launch>, Error> {
    let progress = Progress::new("measuring", 100 * settings.len());
    let mut run = Run { launcher, voice, progress, launch: 0, done: 0 };
    let mut launches = Vec::new();
    for settings in settings {
        launches.push(run.launch(settings)?);
        run.launch += 1;
    }
    Ok(launches)
}

struct Run<'a> {
    launcher: &'a [OsString],
    voice: Voice,
    progress: Progress,
    /// How many launches are over.
    launch: u32,
    /// How much is done of all of them, in percent of one.
    done: u32,
}

impl Run<'_> {
    fn launch(&mut self, settings: &Settings) -> Result<Launch, Error> {
        let mut child = self.start(settings)?;
        let said = child.stderr.take().map(collect);
        let lines = listen(child.stdout.take());
        let mut launch = Launch::default();
        let mut alone = false;
        let mut silent = false;
        loop {
            match lines.recv_timeout(SILENCE) {
                Ok(Line::Alone) => alone = true,
                Ok(line) => {
                    self.follow(&line);
                    launch.hear(line);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    silent = true;
                    break;
                }
            }
        }
        let status = if silent { end(&mut child)? } else { child.wait()? };
        // Processes that outlive their launcher may keep the pipe, so what is to be read from it is not waited for then.
        let said = said.filter(|_| !silent).and_then(|reader| reader.join().ok()).unwrap_or_default();
        if launch.is_complete() && status.success() {
            return Ok(launch);
        }
        Err(Error::Other(self.why(&launch, alone, silent, status) + said.as_str()))
    }

    fn start(&self, settings: &Settings) -> Result<Child, Error> {
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
        let errors = if self.voice == Voice::Kept { Stdio::piped() } else { Stdio::inherit() };
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
        started.map_err(|error| Error::Other(format!("{} cannot be started: {error}", self.name())))
    }

    fn follow(&mut self, line: &Line) {
        if let Line::Done(percent) = line {
            while self.done < self.launch * 100 + percent {
                self.done += 1;
                self.progress.step();
            }
        }
    }

    fn name(&self) -> String {
        let words: Vec<String> = self.launcher.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if words.is_empty() { "sintonia bench".into() } else { format!("`{}`", text::command(&words)) }
    }

    /// Why nothing, or not everything, was heard.
    fn why(&self, launch: &Launch, alone: bool, silent: bool, status: ExitStatus) -> String {
        let name = self.name();
        if silent {
            return format!("{name}: nothing was heard for {} seconds, so it was ended", SILENCE.as_secs());
        }
        if alone {
            return format!(
                "{name} started a process that has no other to talk to: give a launcher that starts at least two, such as \
                 `mpirun -n 2`, or none to measure computation and memory only"
            );
        }
        match (launch.has_begun(), status.success()) {
            (true, _) => format!("{name} ended with {status} before everything was measured"),
            (false, false) => format!("{name} ended with {status} before anything was measured"),
            (false, true) => {
                format!("{name} ended without running the benchmark: it must be a launcher that runs the command put behind it")
            }
        }
    }
}

/// The lines that a launcher passes on, until there are no more.
fn listen(stdout: Option<impl Read + Send + 'static>) -> Receiver<Line> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let lines = stdout.map(|stdout| BufReader::new(stdout).lines()).into_iter().flatten();
        for line in lines.map_while(io::Result::ok).filter_map(|line| Line::read(&line)) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Everything that comes from there, for a message.
fn collect(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        // What cannot be read cannot be shown.
        let _ = from.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if text.is_empty() { text } else { format!("\n{text}") }
    })
}

/// Asks a launcher to end, which then ends its processes; one that does not is ended.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    const PATIENCE: Duration = Duration::from_secs(10);
    if let Some(process) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Who has ended already needs no telling.
        let _ = kill_process(process, Signal::TERM);
    }
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()
}
