//! Running a process so that no test can hang: a time limit, and everything the process started ends with it.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Launchers give their ranks process groups of their own; this variable marks every process of a run wherever it is.
const MARK: &str = "SINTONIA_TEST_RUN";

/// A command about to be run.
pub struct Process {
    command: Vec<String>,
    env: Vec<(String, String)>,
    stdin: String,
    limit: Duration,
}

/// What a finished process left.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The exit code, or 128 + the signal that ended it, as a shell reports it.
    pub status: i32,
    /// True if the process itself (not one of its ranks) was ended by a signal.
    pub signalled: bool,
    /// True if it was ended by the time limit.
    pub timed_out: bool,
    /// All it printed.
    pub stdout: String,
    /// All it wrote to stderr.
    pub stderr: String,
}

impl Process {
    /// A command with its arguments.
    pub fn new<S: Into<String>>(command: impl IntoIterator<Item = S>) -> Process {
        let command: Vec<String> = command.into_iter().map(Into::into).collect();
        assert!(!command.is_empty(), "a process needs a command");
        Process { command, env: Vec::new(), stdin: String::new(), limit: Duration::from_secs(60) }
    }

    /// Adds variables to those of the test itself.
    pub fn env(mut self, pairs: &[(String, String)]) -> Process {
        self.env.extend_from_slice(pairs);
        self
    }

    /// Its standard input; empty by default.
    pub fn stdin(mut self, text: &str) -> Process {
        self.stdin = text.to_string();
        self
    }

    /// Its time limit in seconds; 60 by default.
    pub fn limit(mut self, seconds: u64) -> Process {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs it in `folder` to its end or to the end of its time.
    pub fn run_in(&self, folder: &Path) -> Outcome {
        // Files rather than pipes: a grandchild that outlives its parent would keep a pipe open.
        let streams = crate::fresh_dir();
        let path = |name: &str| streams.path().join(name);
        std::fs::write(path("in"), &self.stdin).expect("a file for standard input");
        let mark = unique_mark();
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .current_dir(folder)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, &mark)
            .stdin(File::open(path("in")).expect("standard input"))
            .stdout(File::create(path("out")).expect("standard output"))
            .stderr(File::create(path("err")).expect("standard error"))
            .process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("{}: {error}", self.command[0]),
        };
        let group = child.id();
        let end = Instant::now() + self.limit;
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if Instant::now() > end {
                timed_out = true;
                end_all(group, &mark);
                break child.wait().expect("a killed child can be waited for");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |name: &str| {
            let bytes = std::fs::read(path(name)).expect("what the process wrote");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Outcome { status: shell_status(status), signalled: status.signal().is_some(), timed_out, stdout: text("out"), stderr: text("err") }
    }
}

impl Outcome {
    /// Fails, with all that is known, unless the process ended by itself with that status.
    pub fn expect_status(&self, status: i32) -> &Outcome {
        assert!(!self.timed_out, "did not end in time:\n{}", self.text());
        assert_eq!(self.status, status, "exit status\n{}", self.text());
        self
    }

    /// Fails if the process was ended by a signal or reported a panic of its own.
    pub fn expect_no_crash(&self) -> &Outcome {
        assert!(!self.timed_out, "did not end in time:\n{}", self.text());
        assert!(!self.signalled, "ended by a signal:\n{}", self.text());
        assert!(!self.stderr.contains("panicked at"), "panicked:\n{}", self.text());
        self
    }

    /// Both streams, for messages.
    pub fn text(&self) -> String {
        format!("--- stdout\n{}--- stderr\n{}---", self.stdout, self.stderr)
    }
}

fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn unique_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Asks the process group to end, so that a launcher can clean up, then kills whatever still carries the mark.
fn end_all(group: u32, mark: &str) {
    signal("TERM", &format!("-{group}"));
    std::thread::sleep(Duration::from_secs(2));
    signal("KILL", &format!("-{group}"));
    let wanted = format!("{MARK}={mark}");
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let name = process.file_name().to_string_lossy().into_owned();
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes()) {
            signal("KILL", &name);
        }
    }
}

fn signal(name: &str, target: &str) {
    let line = format!("kill -s {name} {target}");
    let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
}
