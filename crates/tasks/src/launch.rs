//! Starts workers: locally, on other hosts through a command such as `ssh`, or by hand.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sintonia_link::random::{random_bytes, to_hex};
use tempfile::TempDir;

use crate::child_processes::ChildProcesses;
use crate::{Error, Jdk};

/// Environment variable with the token that authenticates a worker.
pub const TOKEN_ENV: &str = "SINTONIA_TASKS_TOKEN";

const WORKER_SOURCE: &str = include_str!("../java/SintoniaWorker.java");
const WORKER_CLASS: &str = "SintoniaWorker";
/// A worker is one core, so its virtual machine needs no parallel garbage collector.
const JVM_FLAGS: [&str; 1] = ["-XX:+UseSerialGC"];

/// How often a worker process is polled for its exit.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Starts workers on this host.
pub(crate) struct WorkerLauncher {
    jdk: Jdk,
    folder: TempDir,
}

impl WorkerLauncher {
    /// Compiles the worker.
    pub(crate) fn new(jdk: Jdk) -> Result<WorkerLauncher, Error> {
        let folder = tempfile::tempdir().map_err(Error::io("a folder for the worker"))?;
        let file = folder.path().join(format!("{WORKER_CLASS}.java"));
        std::fs::write(&file, WORKER_SOURCE).map_err(Error::io("the worker"))?;
        jdk.compile(&[file], folder.path(), folder.path())?;
        Ok(WorkerLauncher { jdk, folder })
    }

    /// Starts a worker that connects to that address. It exits when its standard input closes, and so when this process ends for any reason.
    pub(crate) fn start(&self, host: &str, port: &str, token: &str) -> Result<Child, Error> {
        let mut command = self.jdk.command(&JVM_FLAGS, self.folder.path(), WORKER_CLASS);
        command.args([host, port]).env(TOKEN_ENV, token).stdin(Stdio::piped()).stdout(stderr_as_stdout()?);
        command.spawn().map_err(Error::io("a worker cannot be started"))
    }
}

/// Starts a worker on another host: `launch` with the host in place of `{host}`, followed by this program as one would start it by hand. The token
/// is passed on standard input, where other users cannot see it.
pub(crate) fn start_remote(host: &str, launch: &str, program: &Path, address: SocketAddr, token: &str) -> Result<Child, Error> {
    let mut words = launch.split_whitespace().map(|word| word.replace("{host}", host));
    let mut command =
        Command::new(words.next().ok_or_else(|| Error::Other("--launch is empty: give a command such as `ssh {host}`".into()))?);
    command.args(words).arg(program).args(["run-tasks", "--worker", &address.to_string()]);
    command.stdin(Stdio::piped()).stdout(stderr_as_stdout()?);
    let mut child = command.spawn().map_err(Error::io(format!("a worker on {host} cannot be started")))?;
    if let Some(mut input) = child.stdin.take() {
        // A child that has exited already is noticed later.
        let _ = writeln!(input, "{token}");
    }
    Ok(child)
}

/// Output of tasks goes to standard error: standard output is for the results.
fn stderr_as_stdout() -> Result<Stdio, Error> {
    let errors = std::io::stderr().as_fd().try_clone_to_owned().map_err(Error::io("the standard error"))?;
    Ok(Stdio::from(errors))
}

/// Runs a worker of the coordinator at that address (`HOST:PORT`) until the coordinator ends or `stop` is set.
pub fn run_worker(address: &str, stop: &AtomicBool) -> Result<(), Error> {
    let (host, port) = address.rsplit_once(':').ok_or_else(|| Error::Other(format!("{address} is not HOST:PORT")))?;
    let token = std::env::var(TOKEN_ENV)
        .or_else(|_| read_token())
        .map_err(Error::io(format!("{TOKEN_ENV} is not set, and there is no token on standard input")))?;
    let launcher = WorkerLauncher::new(Jdk::find()?)?;
    let mut worker = ChildProcesses::default();
    worker.add(launcher.start(host, port, &token)?);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        match worker.reap().pop() {
            None => std::thread::sleep(POLL_INTERVAL),
            Some(ended) if ended.status.success() => return Ok(()),
            Some(ended) => return Err(Error::Other(format!("the worker ended with {}", ended.status))),
        }
    }
}

fn read_token() -> std::io::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "" => Err(std::io::ErrorKind::UnexpectedEof.into()),
        token => Ok(token.to_owned()),
    }
}

/// A random token, as hexadecimal text.
pub(crate) fn new_token() -> Result<String, Error> {
    let bytes = random_bytes::<16>().map_err(Error::io("a random token"))?;
    Ok(to_hex(&bytes))
}
