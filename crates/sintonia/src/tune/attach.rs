//! `sintonia tune --attach`: tunes a running program. Nothing is recorded; the program continues when the command ends.

mod launcher;
pub(crate) mod remote;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_link::session::SharedSecret;
use sintonia_text::quantity::{format_bytes, format_count, format_seconds};
use sintonia_tune::analyzer::{Analyzer, TuningSummary};
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::decision::TuningLogEntry;
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::mpi_totals::{FunctionTotals, MpiTotals};
use sintonia_tune::tree::{HostListener, HostTree};
use sintonia_tune::tunlet::Tunlet;

use self::launcher::LauncherHosts;
use self::remote::{RemoteAgents, RemoteSettings};
use self::targets::{AttachedProcess, HostAttachment, TargetProcess, attach_all, find_targets};
use super::{TuningThread, socket_folder, summary_line, write_log};
use crate::{Error, output};

/// How often to check whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// MPI functions in the summary.
const LISTED_FUNCTIONS: usize = 5;

/// Options of attaching.
pub(super) struct AttachOptions<'words> {
    /// A process of the program, or its launcher.
    pub process: u32,
    /// The tunlets.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// Whether to change nothing.
    pub watch: bool,
    /// Most hosts that one host collects from.
    pub fan_out: usize,
    /// The log file [default: PROGRAM-attached.jsonl in the current directory].
    pub output: Option<&'words Path>,
    /// Whether to print JSON at the end.
    pub json: bool,
}

/// Tunes until the program ends, or until a signal.
pub(super) fn run(mut request: AttachOptions) -> Result<ExitCode, Error> {
    let targets = find_targets(request.process)?;
    let launcher = LauncherHosts::find(request.process);
    if targets.is_empty() && launcher.hosts.is_empty() {
        return Err(nothing_found(request.process));
    }
    let log = request.output.map_or_else(|| default_log(request.process, &targets), Path::to_owned);
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, over.clone())?;
    }
    // The default tunlet reports what it sees; others measure only what they need.
    let totals = request.tunlets.iter().any(|tunlet| tunlet.name() == "advise").then(MpiTotals::new);
    request.tunlets.extend(totals.iter().map(MpiTotals::tunlet));
    let secret = SharedSecret::new()?;
    let folder = socket_folder();
    let collector = ProcessCollector::open(&folder, &secret)?;
    let listener = (!launcher.hosts.is_empty()).then(|| HostListener::bind(&secret, request.fan_out)).transpose()?;
    let parents = listener.as_ref().map(HostListener::addresses).unwrap_or_default();
    let tree = HostTree::new(collector, listener, now_ns());
    let tuning = TuningThread::start(Analyzer::new(request.tunlets, tree, request.watch), request.json, None);
    let mut agents = RemoteAgents::default();
    let settings = RemoteSettings { secret: secret.to_hex(), parents, fan_out: request.fan_out, job_marks: launcher.job_marks.clone() };
    let attached = match attach_everywhere(&targets, &folder, &secret, &launcher, &settings, &mut agents) {
        Ok(attached) => attached,
        // Finishing the tuning closes the socket.
        Err(why) => return tuning.finish().and(Err(why)),
    };
    if !request.json {
        print_attached(&attached, targets.len());
    }
    let is_running = |process: &TargetProcess| sintonia_inject::is_alive(process.process);
    while !over.load(Ordering::Relaxed) && (targets.iter().any(is_running) || agents.are_running()) {
        std::thread::sleep(POLL_INTERVAL);
    }
    let summary = tuning.finish()?;
    write_log(&log, &summary)?;
    print_result(&summary, &attached, totals.as_ref(), &log, request.json)?;
    Ok(ExitCode::SUCCESS)
}

fn nothing_found(process: u32) -> Error {
    let name = sintonia_inject::name(process);
    Error::Other(format!(
        "neither process {process} ({name}) nor any of its children on this host has loaded an MPI library; \
         some launchers start programs from another process: name one of the program's own processes"
    ))
}

fn default_log(process: u32, targets: &[TargetProcess]) -> PathBuf {
    let named = targets.first().map_or(process, |target| target.process);
    PathBuf::from(format!("{}-attached.jsonl", sintonia_inject::name(named)))
}

/// Attaches to the processes of all hosts; fails if all refuse.
fn attach_everywhere(
    targets: &[TargetProcess],
    folder: &Path,
    secret: &SharedSecret,
    launcher: &LauncherHosts,
    settings: &RemoteSettings,
    agents: &mut RemoteAgents,
) -> Result<Vec<AttachedProcess>, Error> {
    let HostAttachment { mut attached, mut problems } = attach_all(targets, folder, secret)?;
    let elsewhere = agents.start(launcher, settings);
    attached.extend(elsewhere.attached);
    problems.extend(elsewhere.problems);
    if attached.is_empty() {
        // If none was reached, the command fails with the first reason.
        return Err(Error::Other(problems.into_iter().next().unwrap_or_else(|| "no process was attached to".into())));
    }
    problems.iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    attached.sort_by_key(|process| process.rank);
    Ok(attached)
}

fn print_attached(attached: &[AttachedProcess], here: usize) {
    let longest = attached.iter().map(|process| process.stopped_ms).fold(0.0, f64::max);
    let size = attached.iter().map(|process| process.size as usize).max().unwrap_or(0).max(attached.len());
    let mut hosts: Vec<&str> = attached.iter().map(|process| process.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let on = if hosts.len() > 1 { format!(" on {} hosts", hosts.len()) } else { String::new() };
    let known = if hosts.len() > 1 { size } else { here.max(attached.len()) };
    eprintln!("sintonia: attached to {} of {known} processes{on}, each stopped for at most {longest:.1} ms", attached.len());
    if size > known {
        eprintln!("sintonia: the program has {size} processes; those on other hosts are not tuned: give the process id of its launcher");
    }
}

fn print_result(
    summary: &TuningSummary,
    attached: &[AttachedProcess],
    totals: Option<&MpiTotals>,
    log: &Path,
    json: bool,
) -> Result<(), Error> {
    let mpi = totals.map(MpiTotals::called).unwrap_or_default();
    if !json {
        mpi.iter().take(LISTED_FUNCTIONS).for_each(print_function);
        eprintln!("sintonia: {}; log: {}", summary_line(summary), log.display());
        return Ok(());
    }
    let decisions: Vec<_> = summary.decisions().collect();
    let is_told = |entry: &&TuningLogEntry| matches!(entry, TuningLogEntry::Finding { .. } | TuningLogEntry::Problem { .. });
    let told: Vec<_> = summary.log.iter().filter(is_told).collect();
    let TuningSummary { events, dropped, .. } = summary;
    let summary_json = serde_json::json!({
        "attached": attached, "decisions": decisions, "told": told, "mpi": mpi, "events": events, "dropped": dropped
    });
    Ok(output::write_json_line(&mut std::io::stderr(), &summary_json)?)
}

fn print_function(totals: &FunctionTotals) {
    let FunctionTotals { function, calls, bytes, seconds } = totals;
    let (calls, bytes, seconds) = (format_count(*calls), format_bytes(*bytes), format_seconds(*seconds));
    eprintln!("sintonia: {function}: {calls} calls, {bytes}, {seconds} in all processes");
}
