//! The processes of a running program on this host, and the attach to each of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sintonia_inject::{AttachReport, AttachRequest, InjectError};
use sintonia_link::host_name;
use sintonia_link::session::SharedSecret;

use crate::Error;
use crate::record::probe;

/// A process of the program.
pub(crate) struct TargetProcess {
    /// Its id.
    pub process: u32,
    rank: u32,
    size: u32,
}

/// A process that was attached to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AttachedProcess {
    /// Its host.
    pub host: String,
    /// Its id there.
    pub process: u32,
    /// Its rank.
    pub rank: u32,
    /// Number of processes of the program.
    pub size: u32,
    /// How long the borrowed thread was stopped.
    pub stopped_ms: f64,
    stopping_ms: f64,
    in_vain: u32,
    in_vain_ms: f64,
    loading_ms: f64,
}

/// The result of attaching on one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostAttachment {
    /// Processes that were attached to.
    pub attached: Vec<AttachedProcess>,
    /// Why others were not.
    pub problems: Vec<String>,
}

/// The processes with MPI among these on this host.
pub(crate) fn targets_among(family: &[u32]) -> Result<Vec<TargetProcess>, Error> {
    let with_mpi: Vec<u32> = family.iter().copied().filter(|process| sintonia_inject::has_mpi(*process).unwrap_or(false)).collect();
    let alone = with_mpi.len() == 1;
    let target = |process| {
        let rank_and_size = sintonia_inject::rank_and_size(process).or(alone.then_some((0, 1)));
        let unknown = || Error::Other(format!("the rank of process {process} is unknown: its launcher is not supported"));
        rank_and_size.map(|(rank, size)| TargetProcess { process, rank, size }).ok_or_else(unknown)
    };
    with_mpi.into_iter().map(target).collect()
}

/// The processes with MPI among a process and all its descendants on this host; none if they are elsewhere.
pub(super) fn find_targets(process: u32) -> Result<Vec<TargetProcess>, Error> {
    let mut family = sintonia_inject::process_tree(process).map_err(to_error)?;
    // A launcher may have started other hosts' processes in network namespaces of this one.
    let here = [process, std::process::id()].map(sintonia_inject::network_namespace);
    family.retain(|one| *one == process || here.contains(&sintonia_inject::network_namespace(*one)));
    // An inaccessible process is an error only if it was named explicitly.
    if let [one] = family[..] {
        sintonia_inject::has_mpi(one).map_err(to_error)?;
    }
    targets_among(&family)
}

pub(crate) fn to_error(problem: InjectError) -> Error {
    Error::Other(problem.to_string())
}

/// Injects the probe into every process.
pub(crate) fn attach_all(targets: &[TargetProcess], folder: &Path, secret: &SharedSecret) -> Result<HostAttachment, Error> {
    for target in targets {
        grant_access(target.process, folder)?;
    }
    let (probe, secret) = (probe::probe_bytes()?, secret.to_hex());
    let mut attachment = HostAttachment::default();
    for target in targets {
        let request = AttachRequest { probe: &probe, socket_dir: folder, secret: &secret, rank_and_size: (target.rank, target.size) };
        match sintonia_inject::attach(target.process, &request) {
            Ok(report) => attachment.attached.push(AttachedProcess::new(target, &report)),
            Err(problem) => attachment.problems.push(problem.to_string()),
        }
    }
    Ok(attachment)
}

impl AttachedProcess {
    fn new(target: &TargetProcess, report: &AttachReport) -> AttachedProcess {
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        AttachedProcess {
            host: host_name(),
            process: target.process,
            rank: target.rank,
            size: target.size,
            stopped_ms: milliseconds(report.stop_duration),
            stopping_ms: milliseconds(report.stop_latency),
            in_vain: report.failed_attempts.0,
            in_vain_ms: milliseconds(report.failed_attempts.1),
            loading_ms: milliseconds(report.load_duration),
        }
    }
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
