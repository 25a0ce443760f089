//! Starting workers: here, on other hosts through a command such as `ssh`, or by hand.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::coordinator::crew::Processes;
use crate::{Error, Jdk};

/// The variable of the environment with what shows that a worker was meant.
pub const TOKEN: &str = "SINTONIA_TASKS_TOKEN";

const SOURCE: &str = include_str!("../java/SintoniaWorker.java");
const CLASS: &str = "SintoniaWorker";
/// A worker is one core of a computer, so its virtual machine needs no threads that collect memory beside it.
const OPTIONS: [&str; 1] = ["-XX:+UseSerialGC"];

/// How often it is looked whether a worker has ended.
const TICK: Duration = Duration::from_millis(50);

/// What starts workers on this host.
pub struct Launcher {
    jdk: Jdk,
    folder: TempDir,
}

impl Launcher {
    /// Compiles the worker.
    pub fn new(jdk: Jdk) -> Result<Launcher, Error> {
        let folder = tempfile::tempdir().map_err(Error::io("a folder for the worker"))?;
        let file = folder.path().join(format!("{CLASS}.java"));
        std::fs::write(&file, SOURCE).map_err(Error::io("the worker"))?;
        jdk.compile(&[file], folder.path(), folder.path())?;
        Ok(Launcher { jdk, folder })
    }

    /// Starts a worker that connects to that address. It ends when its input closes, as it does when this process ends, however that comes.
    pub fn start(&self, host: &str, port: &str, token: &str) -> Result<Child, Error> {
        let mut command = self.jdk.command(&OPTIONS, self.folder.path(), CLASS);
        command.args([host, port]).env(TOKEN, token).stdin(Stdio::piped()).stdout(not_our_output()?);
        command.spawn().map_err(Error::io("a worker cannot be started"))
    }
}

/// Starts a worker on another host: `words` with the host in place of `{host}`, and then this program as it would be started by hand. What shows
/// that it was meant comes through its standard input, where nobody else sees it.
pub fn start_on(host: &str, words: &str, program: &Path, address: SocketAddr, token: &str) -> Result<Child, Error> {
    let mut words = words.split_whitespace().map(|word| word.replace("{host}", host));
    let mut command =
        Command::new(words.next().ok_or_else(|| Error::Other("--launch is empty: give a command such as `ssh {host}`".into()))?);
    command.args(words).arg(program).args(["run-tasks", "--worker", &address.to_string()]);
    command.stdin(Stdio::piped()).stdout(not_our_output()?);
    let mut child = command.spawn().map_err(Error::io(format!("a worker on {host} cannot be started")))?;
    if let Some(mut input) = child.stdin.take() {
        // One that has ended already is seen to have ended.
        let _ = writeln!(input, "{token}");
    }
    Ok(child)
}

/// What tasks print goes where errors go: standard output is for the results.
fn not_our_output() -> Result<Stdio, Error> {
    let errors = std::io::stderr().as_fd().try_clone_to_owned().map_err(Error::io("the standard error"))?;
    Ok(Stdio::from(errors))
}

/// Is a worker of the coordinator at that address (`HOST:PORT`) until that ends, or `stop` becomes true.
pub fn be_worker(address: &str, stop: &AtomicBool) -> Result<(), Error> {
    let (host, port) = address.rsplit_once(':').ok_or_else(|| Error::Other(format!("{address} is no HOST:PORT")))?;
    let token = std::env::var(TOKEN).or_else(|_| from_input()).map_err(Error::io(format!("{TOKEN} is not set, nor in the input")))?;
    let launcher = Launcher::new(Jdk::find()?)?;
    let mut worker = Processes::default();
    worker.add(launcher.start(host, port, &token)?);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        match worker.ended().pop() {
            None => std::thread::sleep(TICK),
            Some(ended) if ended.status.success() => return Ok(()),
            Some(ended) => return Err(Error::Other(format!("the worker ended with {}", ended.status))),
        }
    }
}

fn from_input() -> std::io::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "" => Err(std::io::ErrorKind::UnexpectedEof.into()),
        token => Ok(token.to_owned()),
    }
}

/// A word that nobody guesses.
pub fn token() -> Result<String, Error> {
    Ok(random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Bytes that nobody guesses.
pub fn random() -> Result<[u8; 16], Error> {
    let mut bytes = [0u8; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Error::io("/dev/urandom"))?;
    Ok(bytes)
}
