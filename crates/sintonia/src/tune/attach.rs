//! `sintonia tune --attach`: tunes a running program. Nothing is recorded; the program continues when the command ends.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_inject::{AttachReport, AttachRequest, InjectError};
use sintonia_link::host_name;
use sintonia_link::session::SharedSecret;
use sintonia_tune::analyzer::{Analyzer, TuningSummary};
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::tree::HostTree;
use sintonia_tune::tunlet::Tunlet;

use super::{TuningThread, socket_folder, summary_line, write_log};
use crate::record::probe;
use crate::{Error, output};

/// How often to check whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Options of attaching.
pub(super) struct AttachOptions<'words> {
    /// A process of the program, or its launcher.
    pub process: u32,
    /// The tunlets.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// Whether to change nothing.
    pub watch: bool,
    /// The log file [default: PROGRAM-attached.jsonl in the current directory].
    pub output: Option<&'words Path>,
    /// Whether to print JSON at the end.
    pub json: bool,
}

/// A process of the program.
struct TargetProcess {
    process: u32,
    rank: u32,
    size: u32,
}

/// Tunes until the program ends, or until a signal.
pub(super) fn run(request: AttachOptions) -> Result<ExitCode, Error> {
    let members = find_targets(request.process)?;
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, over.clone())?;
    }
    let name = sintonia_inject::name(members[0].process);
    let log = request.output.map_or_else(|| PathBuf::from(format!("{name}-attached.jsonl")), Path::to_owned);
    let secret = SharedSecret::new()?;
    let folder = socket_folder();
    let collector = ProcessCollector::open(&folder, &secret)?;
    for member in &members {
        grant_access(member.process, &folder)?;
    }
    let tuning =
        TuningThread::start(Analyzer::new(request.tunlets, HostTree::new(collector, None, now_ns()), request.watch), request.json, None);
    let attached = match attach_all(&members, &folder, &secret) {
        Ok(attached) => attached,
        // Finishing the tuning closes the socket.
        Err(why) => return tuning.finish().and(Err(why)),
    };
    if !request.json {
        print_attached(&members, &attached);
    }
    while !over.load(Ordering::Relaxed) && attached.iter().any(|(member, _)| sintonia_inject::is_alive(member.process)) {
        std::thread::sleep(POLL_INTERVAL);
    }
    let summary = tuning.finish()?;
    write_log(&log, &summary)?;
    print_result(&summary, &attached, &log, request.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The target processes: those with MPI among the given process and all its descendants.
fn find_targets(process: u32) -> Result<Vec<TargetProcess>, Error> {
    let family = sintonia_inject::process_tree(process).map_err(to_error)?;
    let with_mpi = family.into_iter().filter(|one| match sintonia_inject::has_mpi(*one) {
        Ok(has_mpi) => has_mpi,
        // An inaccessible process is an error only if it was named explicitly.
        Err(_) => *one == process,
    });
    let with_mpi: Vec<u32> = with_mpi.collect();
    if let [one] = with_mpi[..]
        && one == process
    {
        sintonia_inject::has_mpi(one).map_err(to_error)?;
    }
    let alone = with_mpi.len() == 1;
    let member = |process| {
        let rank_and_size = sintonia_inject::rank_and_size(process).or(alone.then_some((0, 1)));
        let unknown = || Error::Other(format!("the rank of process {process} is unknown: its launcher is not supported"));
        rank_and_size.map(|(rank, size)| TargetProcess { process, rank, size }).ok_or_else(unknown)
    };
    if with_mpi.is_empty() {
        let name = sintonia_inject::name(process);
        return Err(Error::Other(format!(
            "neither process {process} ({name}) nor any of its children on this host has loaded an MPI library; \
             some launchers start programs from another process: name one of the program's own processes"
        )));
    }
    with_mpi.into_iter().map(member).collect()
}

fn to_error(problem: InjectError) -> Error {
    Error::Other(problem.to_string())
}

/// Lets a process of another user connect to the socket, and checks that the process can see it.
fn grant_access(process: u32, folder: &Path) -> Result<(), Error> {
    let own = rustix::process::geteuid().as_raw();
    if let Some(user) = sintonia_inject::owner(process).filter(|user| *user != own) {
        for path in [folder.to_owned(), folder.join(host_name())] {
            std::os::unix::fs::chown(&path, Some(user), None)?;
        }
    }
    let seen = PathBuf::from(format!("/proc/{process}/root")).join(folder.strip_prefix("/").unwrap_or(folder));
    if seen.join(host_name()).exists() {
        return Ok(());
    }
    let folder = folder.parent().unwrap_or(folder);
    Err(Error::Other(format!(
        "process {process} runs in a container that does not see {}: set XDG_RUNTIME_DIR to a directory that both see",
        folder.display()
    )))
}

/// Injects the probe into every process; fails if all refuse.
fn attach_all<'members>(
    members: &'members [TargetProcess],
    folder: &Path,
    secret: &SharedSecret,
) -> Result<Vec<(&'members TargetProcess, AttachReport)>, Error> {
    let (probe, secret) = (probe::probe_bytes()?, secret.to_hex());
    let mut attached = Vec::new();
    let mut problems = Vec::new();
    for member in members {
        let message = AttachRequest { probe: &probe, socket_dir: folder, secret: &secret, rank_and_size: (member.rank, member.size) };
        match sintonia_inject::attach(member.process, &message) {
            Ok(attach) => attached.push((member, attach)),
            Err(problem) => problems.push(problem),
        }
    }
    // If none was reached, the command fails with the first reason.
    let why = if attached.is_empty() { problems.drain(..1).next() } else { None };
    problems.iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    why.map_or(Ok(attached), |problem| Err(to_error(problem)))
}

fn print_attached(members: &[TargetProcess], attached: &[(&TargetProcess, AttachReport)]) {
    let longest = attached.iter().map(|(_, attach)| attach.stop_duration).max().unwrap_or_default();
    let longest = 1e3 * longest.as_secs_f64();
    eprintln!("sintonia: attached to {} of {} processes, each stopped for at most {longest:.1} ms", attached.len(), members.len());
    if let Some(member) = members.iter().find(|member| member.size as usize > members.len()) {
        eprintln!("sintonia: the program has {} processes; those on other hosts are not tuned", member.size);
    }
}

fn print_result(summary: &TuningSummary, attached: &[(&TargetProcess, AttachReport)], log: &Path, json: bool) -> Result<(), Error> {
    if !json {
        eprintln!("sintonia: {}; log: {}", summary_line(summary), log.display());
        return Ok(());
    }
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    let attached: Vec<_> = attached
        .iter()
        .map(|(member, attach)| {
            serde_json::json!({
                "process": member.process, "rank": member.rank, "stopped_ms": milliseconds(attach.stop_duration),
                "stopping_ms": milliseconds(attach.stop_latency), "in_vain": attach.failed_attempts.0, "in_vain_ms": milliseconds(attach.failed_attempts.1),
                "loading_ms": milliseconds(attach.load_duration),
            })
        })
        .collect();
    let decisions: Vec<_> = summary.decisions().collect();
    let TuningSummary { events, dropped, .. } = summary;
    let summary_json = serde_json::json!({ "attached": attached, "decisions": decisions, "events": events, "dropped": dropped });
    Ok(output::write_json_line(&mut std::io::stderr(), &summary_json)?)
}
