//! `sintonia record`: runs an MPI program and records what it does.

mod launcher;
mod output;
pub mod probe;
pub mod program;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use sintonia_link::{RollCall, local_addresses};
use sintonia_recording::Run;
use sintonia_recording::definitions::LIVE_FOLDER;
use sintonia_recording::seal::{SealOptions, Sealed, seal};

use crate::{Error, help, text};

/// What `sintonia record` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia report hello.sin"))]
pub struct Arguments {
    /// Folder to record into [default: the program's name with .sin, numbered if that is taken]
    #[arg(short, long, value_name = "NAME.sin")]
    pub output: Option<PathBuf>,
    /// Replace a recording that is there already
    #[arg(long)]
    force: bool,
    /// Keep only sums per call site, peer and message size: a recording of constant size
    #[arg(long)]
    profile: bool,
    /// Memory per thread for calls not yet written to disk
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = bytes)]
    memory: u64,
    /// Where hosts write that do not see the output folder [default: their temporary folder]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// A number to remember with the recording, such as the problem's size: what models are fitted over
    #[arg(long, value_name = "NAME=NUMBER", value_parser = parameter)]
    param: Vec<(String, f64)>,
    /// End with one line of JSON on standard error
    #[arg(long)]
    pub json: bool,
    /// The command to record: mpirun, mpiexec, srun, flux run, a script that calls one, or the program itself
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let (status, _) = run_with(&arguments, &[], &|_| {})?;
    Ok(ExitCode::from(code(status) as u8))
}

/// Runs and records the command with more in its environment; how it ended, and where the recording is. Its folder is told before the command
/// is started.
pub fn run_with(arguments: &Arguments, more: &[(&'static str, OsString)], began: &dyn Fn(&Path)) -> Result<(ExitStatus, PathBuf), Error> {
    // Where files may not grow, writing is to fail with an error. Handlers, unlike ignored signals, are not handed on to the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let executable = program::find(&arguments.command[0])?;
    let folder = output::prepare(arguments.output.as_deref(), &arguments.command, arguments.force)?;
    began(&folder);
    let (status, sealed) = record(arguments, &executable, &folder, more).inspect_err(|_| output::withdraw(&folder))?;
    match sealed {
        Ok(sealed) => tell(arguments, &folder, status, sealed),
        // The program has done its work; what it left is read as well unsealed.
        Err(error) => eprintln!("sintonia: the recording could not be sealed and stays as it is in {}: {error}", folder.display()),
    }
    Ok((status, folder))
}

type Outcome = (ExitStatus, Result<Sealed, Error>);

fn record(arguments: &Arguments, executable: &Path, folder: &Path, more: &[(&'static str, OsString)]) -> Result<Outcome, Error> {
    let command: Vec<String> = arguments.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let started_s = seconds_since_1970();
    let parameters: BTreeMap<String, f64> = arguments.param.iter().cloned().collect();
    Run { command, started_s, parameters, profile: arguments.profile, ..Run::default() }.write(folder)?;
    let mut environment = environment(arguments, folder)?;
    environment.extend_from_slice(more);
    let child = start(executable, &arguments.command, &environment)?;
    let status = wait(child)?;
    let options = SealOptions { exit_status: Some(code(status)), ended_s: Some(seconds_since_1970()), ..SealOptions::default() };
    Ok((status, seal(folder, &options).map_err(Error::from)))
}

fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What tells the probe what to do. The file `token` is how a process on another host knows that it sees the same folder.
fn environment(arguments: &Arguments, folder: &Path) -> Result<Vec<(&'static str, OsString)>, Error> {
    let live = folder.join(LIVE_FOLDER);
    let live = live.canonicalize().map_err(|source| Error::Write { path: live, source })?;
    let token = format!("{}-{}", std::process::id(), SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos()));
    std::fs::write(live.join("token"), &token).map_err(|source| Error::Write { path: live.join("token"), source })?;
    let mut preload = probe::library(&live)?.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut environment = vec![
        ("LD_PRELOAD", preload),
        ("SINTONIA_LIVE", live.into_os_string()),
        ("SINTONIA_LINK", link(&token).into()),
        ("SINTONIA_TOKEN", token.into()),
        ("SINTONIA_MEMORY", arguments.memory.to_string().into()),
        ("SINTONIA_PROFILE", if arguments.profile { "1" } else { "0" }.into()),
    ];
    if let Some(scratch) = &arguments.scratch {
        environment.push(("SINTONIA_SCRATCH", std::path::absolute(scratch).unwrap_or_else(|_| scratch.clone()).into_os_string()));
    }
    Ok(environment)
}

/// Where processes on other hosts can ask whether all of them are recorded. Without it, clocks of hosts are not compared.
fn link(token: &str) -> String {
    let Ok(roll_call) = RollCall::begin(token) else { return String::new() };
    let addresses: Vec<String> = local_addresses().iter().map(|address| format!("{address}:{}", roll_call.port)).collect();
    addresses.join(",")
}

fn start(executable: &Path, command: &[OsString], environment: &[(&'static str, OsString)]) -> Result<Child, Error> {
    let names: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
    Command::new(executable)
        .args(launcher::arguments(executable, &command[1..], &names))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .spawn()
        .map_err(|error| Error::Other(format!("cannot start {}: {error}", executable.display())))
}

/// Waits for the program. Signals meant to end the run go to it; the recording is sealed afterwards all the same.
fn wait(mut child: Child) -> Result<ExitStatus, Error> {
    let _signals = Signalled::passes_on(&child);
    child.wait().map_err(|error| Error::Other(format!("cannot wait for the program: {error}")))
}

/// As long as it lives, signals meant to end this process go to a child instead: whoever waits for it can clear up afterwards.
pub struct Signalled {
    handle: Option<signal_hook::iterator::Handle>,
    /// The number of the last signal, 0 before any.
    last: Arc<AtomicI32>,
}

impl Signalled {
    /// Passes signals on to a child.
    pub fn passes_on(child: &Child) -> Signalled {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let handle = signals.as_ref().ok().map(Signals::handle);
        let last = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&last);
        if let (Ok(mut signals), Some(pid)) = (signals, rustix::process::Pid::from_raw(child.id() as i32)) {
            std::thread::spawn(move || {
                for signal in signals.forever() {
                    noted.store(signal, Ordering::Relaxed);
                    // The terminal sends Ctrl-C to the program too; passing it on would count as a second one.
                    if signal != SIGINT {
                        let signal = if signal == SIGTERM { rustix::process::Signal::TERM } else { rustix::process::Signal::HUP };
                        let _ = rustix::process::kill_process(pid, signal);
                    }
                }
            });
        }
        Signalled { handle, last }
    }

    /// The exit status of the child, as a shell gives it. One that is ended in good time may say that all went well, and is not believed.
    pub fn code(&self, status: ExitStatus) -> i32 {
        match (code(status), self.last.load(Ordering::Relaxed)) {
            (0, signal) if signal != 0 => 128 + signal,
            (code, _) => code,
        }
    }
}

impl Drop for Signalled {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}

/// The exit status as a shell gives it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

fn tell(arguments: &Arguments, folder: &Path, status: ExitStatus, sealed: Sealed) {
    let Sealed { ranks, calls, bytes, recordings } = sealed;
    if ranks == 0 {
        eprintln!("sintonia: no MPI call was seen; {}", program::why_nothing(&arguments.command));
    } else if !arguments.json {
        let plural = if ranks == 1 { "" } else { "s" };
        eprintln!(
            "sintonia: {calls} calls of {ranks} rank{plural} in {} ({}); see them with: sintonia report {}",
            folder.display(),
            text::bytes(bytes),
            folder.display()
        );
    }
    for other in recordings.iter().skip(1) {
        eprintln!("sintonia: the command ran another MPI program, which is in {}", other.display());
    }
    if arguments.json {
        let summary = serde_json::json!({
            "recording": folder, "ranks": ranks, "exit_status": code(status), "calls": calls, "bytes_on_disk": bytes,
        });
        eprintln!("{summary}");
    }
}

/// A size such as `16M`, `512k` or `1G`.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size; write it as 16M, 512k or 1G");
    let text = text.trim().trim_end_matches(['b', 'B']).trim_end_matches('i');
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit() && c != '.') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let size = number.parse::<f64>().map_err(|_| wrong())? * factor;
    const LEAST: f64 = 512.0 * 1024.0;
    if size < LEAST { Err(format!("{size} bytes are too few; at least 512k are needed")) } else { Ok(size as u64) }
}

fn parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is no parameter; write it as n=4096"))?;
    if name.is_empty() {
        return Err(format!("'{text}' has no name; write it as n=4096"));
    }
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.ok_or_else(|| format!("'{value}' is no number; write the parameter as {name}=4096"))?;
    Ok((name.into(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(bytes("16M"), Ok(16 << 20));
        assert_eq!(bytes("16MiB"), Ok(16 << 20));
        assert_eq!(bytes("1.5g"), Ok(3 << 29));
        assert_eq!(bytes("1048576"), Ok(1 << 20));
        for wrong in ["", "M", "16X", "16 bananas", "1k"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_have_a_name_and_a_number() {
        assert_eq!(parameter("n=4096"), Ok(("n".into(), 4096.0)));
        for wrong in ["n", "=1", "n=", "n=many", "n=inf", "n=nan"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }
}
