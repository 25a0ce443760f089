//! `sintonia record`: runs an MPI program and records its MPI calls.

mod launcher;
mod no_calls;
mod output_folder;
pub(crate) mod probe;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use sintonia_link::{RendezvousServer, local_addresses};
use sintonia_recording::RunDescription;
use sintonia_recording::counter_event::{CounterEvent, MAX_EVENTS};
use sintonia_recording::definitions::LIVE_DIR;
use sintonia_recording::program_name::find_executable;
use sintonia_recording::seal::{SealOptions, SealReport, seal};

use crate::{Error, help, text};

pub(crate) use launcher::launcher_arguments;

/// Arguments of `sintonia record`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia report hello.sin"))]
pub(crate) struct RecordArgs {
    /// Recording to write (a directory) [default: the program's name with .sin, numbered if that exists]
    #[arg(short, long, value_name = "NAME.sin")]
    pub output: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
    /// Record only totals per call site, peer and message size: a recording of constant size
    #[arg(long)]
    profile: bool,
    /// Times off the processor: only totals of each thread, sums for each call and segment, or every context switch [default: every
    /// context switch where the kernel allows it, else sums]
    #[arg(long, value_name = "WHAT", value_parser = ["off", "sums", "exact"])]
    off_cpu: Option<String>,
    /// Frames of the call path that are recorded with each call; off: only the call site [default: 64, which is the most]
    #[arg(long, value_name = "N|off", value_parser = parse_call_path)]
    callpath: Option<u32>,
    /// Samples of each thread per second on the processor, or off [default: 99, where the kernel allows it without signals]
    #[arg(long, value_name = "HZ|off", value_parser = parse_sampling)]
    sample: Option<SamplingRate>,
    /// Up to four events to count between MPI calls and between samples, by the names of `perf list` or as rNNN, the hexadecimal number
    /// that the processor has for it, or off [default: instructions, cycles and cache misses where the host counts them, else page faults and
    /// major page faults]
    #[arg(long, value_name = "EVENTS|off", value_parser = parse_counters)]
    counters: Option<String>,
    /// OpenMP regions: record them or not [default: on]
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    openmp: Option<String>,
    /// Accesses to files through the C library; off: they are not recorded [default: on]
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    io: Option<String>,
    /// Memory per thread for calls not yet written to disk
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_size)]
    memory: u64,
    /// Directory for hosts that do not see the output directory [default: their temporary directory]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Parameter to store with the recording, such as the problem size; `sintonia fit` fits over parameters
    #[arg(long, value_name = "NAME=NUMBER", value_parser = parse_parameter)]
    param: Vec<(String, f64)>,
    /// Print JSON, one line on standard error at the end
    #[arg(long)]
    pub json: bool,
    /// Command to record: mpirun, mpiexec, srun, flux run, a script that calls one, or the program itself
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs `sintonia record`.
pub(crate) fn run(args: RecordArgs) -> Result<ExitCode, Error> {
    let (status, _) = record_command(&args, &[], &|_| {})?;
    Ok(ExitCode::from(exit_code(status) as u8))
}

/// Runs and records the command with additional environment variables; returns its status and the recording. `began` is called with the
/// folder before the command starts.
pub(crate) fn record_command(args: &RecordArgs, more: &[(&str, OsString)], began: &dyn Fn(&Path)) -> Result<(ExitStatus, PathBuf), Error> {
    // Makes writes beyond a file size limit fail with an error. Handlers, unlike ignored signals, are not inherited by the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let executable = find_executable(&args.command[0])?;
    let folder = output_folder::prepare_folder(args.output.as_deref(), &args.command, args.force)?;
    began(&folder);
    let (status, sealed) = run_and_seal(args, &executable, &folder, more).inspect_err(|_| output_folder::remove_prepared(&folder))?;
    match sealed {
        Ok(sealed) => print_summary(args, &folder, status, sealed),
        // The program has done its work, and unsealed recordings can be read as well.
        Err(error) if is_disk_full(&error) => eprintln!(
            "sintonia: the disk is full: the recording in {} is not sealed and holds only what could be written",
            folder.display()
        ),
        Err(error) => eprintln!("sintonia: the recording in {} could not be sealed and stays as it is: {error}", folder.display()),
    }
    Ok((status, folder))
}

/// Runs the command with the probe and keeps no recording; returns its status.
pub(crate) fn run_without_recording(args: RecordArgs, more: &[(&str, OsString)]) -> Result<ExitStatus, Error> {
    let args = RecordArgs { profile: true, sample: Some(SamplingRate::Off), ..args };
    let Some(program) = args.command.first() else {
        return Err(Error::Other("give a program to list, or a command to run after `--`".into()));
    };
    let executable = find_executable(program)?;
    let failed = |error: std::io::Error| Error::Other(format!("cannot create a temporary folder: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    std::fs::create_dir(folder.path().join(LIVE_DIR)).map_err(failed)?;
    let mut environment = environment(&args, folder.path())?;
    environment.extend_from_slice(more);
    wait_for_program(spawn_command(&executable, &args.command, &environment)?)
}

fn is_disk_full(error: &Error) -> bool {
    let source = match error {
        Error::Recording(sintonia_recording::Error::Io { source, .. }) | Error::Write { source, .. } => source,
        _ => return false,
    };
    matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

type RecordOutcome = (ExitStatus, Result<SealReport, Error>);

fn run_and_seal(args: &RecordArgs, executable: &Path, folder: &Path, more: &[(&str, OsString)]) -> Result<RecordOutcome, Error> {
    let command: Vec<String> = args.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let started_s = seconds_since_1970();
    let parameters: BTreeMap<String, f64> = args.param.iter().cloned().collect();
    RunDescription { command, started_s, parameters, profile: args.profile, ..RunDescription::default() }.write(folder)?;
    let mut environment = environment(args, folder)?;
    environment.extend_from_slice(more);
    let child = spawn_command(executable, &args.command, &environment)?;
    let status = wait_for_program(child)?;
    let options = SealOptions { exit_status: Some(exit_code(status)), ended_s: Some(seconds_since_1970()), ..SealOptions::default() };
    Ok((status, seal(folder, &options).map_err(Error::from)))
}

fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The environment that configures the probe. By the file `token`, a process on another host recognises the same folder.
fn environment(args: &RecordArgs, folder: &Path) -> Result<Vec<(&'static str, OsString)>, Error> {
    let live = folder.join(LIVE_DIR);
    let live = live.canonicalize().map_err(|source| Error::Write { path: live, source })?;
    let token = format!("{}-{}", std::process::id(), SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos()));
    std::fs::write(live.join("token"), &token).map_err(|source| Error::Write { path: live.join("token"), source })?;
    let mut preload = probe::probe_path(&live)?.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut environment = vec![
        ("LD_PRELOAD", preload),
        ("SINTONIA_LIVE", live.into_os_string()),
        ("SINTONIA_LINK", start_roll_call(&token).into()),
        ("SINTONIA_TOKEN", token.into()),
        ("SINTONIA_MEMORY", args.memory.to_string().into()),
        ("SINTONIA_PROFILE", if args.profile { "1" } else { "0" }.into()),
    ];
    if let Some(off_cpu) = &args.off_cpu {
        environment.push(("SINTONIA_OFF_CPU", off_cpu.into()));
    }
    if let Some(openmp) = &args.openmp {
        environment.push(("SINTONIA_OPENMP", openmp.into()));
    }
    if let Some(frames) = args.callpath {
        environment.push(("SINTONIA_CALLPATH", frames.to_string().into()));
    }
    if let Some(rate) = args.sample {
        environment.push(("SINTONIA_SAMPLE", rate.to_string().into()));
    }
    if let Some(counters) = &args.counters {
        environment.push(("SINTONIA_COUNTERS", counters.into()));
    }
    if let Some(io) = &args.io {
        environment.push(("SINTONIA_IO", io.into()));
    }
    if let Some(scratch) = &args.scratch {
        environment.push(("SINTONIA_SCRATCH", std::path::absolute(scratch).unwrap_or_else(|_| scratch.clone()).into_os_string()));
    }
    Ok(environment)
}

/// Addresses where processes on other hosts can ask whether all of them are recorded. Without them, host clocks are not compared.
fn start_roll_call(token: &str) -> String {
    let Ok(roll_call) = RendezvousServer::start(token) else { return String::new() };
    let addresses: Vec<String> = local_addresses().iter().map(|address| format!("{address}:{}", roll_call.port)).collect();
    addresses.join(",")
}

fn spawn_command(executable: &Path, command: &[OsString], environment: &[(&str, OsString)]) -> Result<Child, Error> {
    let names: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
    Command::new(executable)
        .args(launcher_arguments(executable, &command[1..], &names))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .spawn()
        .map_err(|error| Error::Other(format!("cannot start {}: {error}", executable.display())))
}

/// Waits for the program. Termination signals are forwarded to it; the recording is sealed afterwards anyway.
fn wait_for_program(mut child: Child) -> Result<ExitStatus, Error> {
    let _signals = SignalForwarder::forward_to(&child);
    child.wait().map_err(|error| Error::Other(format!("cannot wait for the program: {error}")))
}

/// While it lives, termination signals are forwarded to a child, so that the waiting parent can clean up afterwards.
pub(crate) struct SignalForwarder {
    handle: Option<signal_hook::iterator::Handle>,
    /// The last signal number, 0 before any.
    last_signal: Arc<AtomicI32>,
}

impl SignalForwarder {
    /// Forwards signals to a child.
    pub(crate) fn forward_to(child: &Child) -> SignalForwarder {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let handle = signals.as_ref().ok().map(Signals::handle);
        let last_signal = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&last_signal);
        if let (Ok(mut signals), Some(pid)) = (signals, rustix::process::Pid::from_raw(child.id() as i32)) {
            std::thread::spawn(move || {
                for signal in signals.forever() {
                    noted.store(signal, Ordering::Relaxed);
                    // The terminal sends Ctrl-C to the program, too; forwarding would send it twice.
                    if signal != SIGINT {
                        let signal = if signal == SIGTERM { rustix::process::Signal::TERM } else { rustix::process::Signal::HUP };
                        let _ = rustix::process::kill_process(pid, signal);
                    }
                }
            });
        }
        SignalForwarder { handle, last_signal }
    }

    /// The child's exit status as a shell reports it. After a forwarded signal, a status of 0 is not trusted.
    pub(crate) fn exit_code(&self, status: ExitStatus) -> i32 {
        match (exit_code(status), self.last_signal.load(Ordering::Relaxed)) {
            (0, signal) if signal != 0 => 128 + signal,
            (code, _) => code,
        }
    }
}

impl Drop for SignalForwarder {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}

/// The exit status as a shell reports it.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

fn print_summary(args: &RecordArgs, folder: &Path, status: ExitStatus, sealed: SealReport) {
    let SealReport { ranks, calls, bytes, recordings } = sealed;
    if ranks == 0 {
        let reason = no_calls::no_calls_reason(&args.command, folder);
        eprintln!("sintonia: no MPI calls were recorded; {reason} ({} is an empty recording)", folder.display());
    } else if !args.json {
        let plural = if ranks == 1 { "" } else { "s" };
        eprintln!(
            "sintonia: {calls} calls of {ranks} rank{plural} in {} ({}); next: sintonia report {}",
            folder.display(),
            text::format_bytes(bytes),
            folder.display()
        );
    }
    for other in recordings.iter().skip(1) {
        eprintln!("sintonia: the command ran another MPI program, recorded in {}", other.display());
    }
    if args.json {
        let summary = serde_json::json!({
            "recording": folder, "ranks": ranks, "exit_status": exit_code(status), "calls": calls, "bytes_on_disk": bytes,
        });
        eprintln!("{summary}");
    }
}

/// How often threads are sampled.
#[derive(Clone, Copy)]
enum SamplingRate {
    Off,
    Hertz(u32),
}

impl std::fmt::Display for SamplingRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SamplingRate::Off => write!(f, "off"),
            SamplingRate::Hertz(hertz) => write!(f, "{hertz}"),
        }
    }
}

/// Parses a frequency, or `off`.
fn parse_sampling(text: &str) -> Result<SamplingRate, String> {
    match text.parse() {
        _ if text == "off" => Ok(SamplingRate::Off),
        Ok(hertz @ 1..=10_000) => Ok(SamplingRate::Hertz(hertz)),
        _ => Err("expected a number from 1 to 10000, or `off`".into()),
    }
}

/// Checks a list of events, or `off`.
fn parse_counters(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split(',').collect();
    if let Some(unknown) = names.iter().find(|name| text != "off" && CounterEvent::from_name(name).is_none()) {
        let known: Vec<&str> = CounterEvent::names().collect();
        return Err(format!(
            "'{unknown}' is not an event; known are {}, and rNNN with the number of an event of the processor",
            known.join(", ")
        ));
    }
    if names.len() > MAX_EVENTS {
        return Err(format!("at most {MAX_EVENTS} events can be counted in a run"));
    }
    Ok(text.into())
}

/// Parses a number of frames, or `off`.
fn parse_call_path(text: &str) -> Result<u32, String> {
    match text {
        "off" => Ok(1),
        _ => text.parse().ok().filter(|frames| *frames >= 1).ok_or_else(|| format!("'{text}' is neither a number of frames nor `off`")),
    }
}

/// Parses a size such as `16M`, `512k` or `1G`.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size; expected a size such as 16M, 512k or 1G");
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
    if size < LEAST { Err(format!("{size} bytes are too few; the minimum is 512k")) } else { Ok(size as u64) }
}

fn parse_parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not a parameter; expected NAME=NUMBER, such as n=4096"))?;
    if name.is_empty() {
        return Err(format!("'{text}' has no name; expected NAME=NUMBER, such as n=4096"));
    }
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.ok_or_else(|| format!("'{value}' is not a number; expected NAME=NUMBER, such as {name}=4096"))?;
    Ok((name.into(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("16M"), Ok(16 << 20));
        assert_eq!(parse_size("16MiB"), Ok(16 << 20));
        assert_eq!(parse_size("1.5g"), Ok(3 << 29));
        assert_eq!(parse_size("1048576"), Ok(1 << 20));
        for wrong in ["", "M", "16X", "16 bananas", "1k"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_have_a_name_and_a_number() {
        assert_eq!(parse_parameter("n=4096"), Ok(("n".into(), 4096.0)));
        for wrong in ["n", "=1", "n=", "n=many", "n=inf", "n=nan"] {
            assert!(parse_parameter(wrong).is_err(), "{wrong}");
        }
    }
}
