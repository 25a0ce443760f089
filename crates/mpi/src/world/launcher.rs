//! Detects whether a launcher started this process, and to which MPI the launcher belongs.
//!
//! A library of one MPI cannot connect to the launcher of another: every process would see itself as the only one. So the launcher decides
//! which library is loaded.

use std::fs::File;
use std::io::Write;
use std::iter::successors;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// MPI implementation of a launcher or library, as far as it matters for compatibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MpiVendor {
    /// Open MPI.
    OpenMpi,
    /// MPICH and its derivatives.
    Mpich,
}

impl MpiVendor {
    /// The implementation, from a library's version text.
    pub(super) fn from_version(version: &str) -> MpiVendor {
        if version.contains("Open MPI") { MpiVendor::OpenMpi } else { MpiVendor::Mpich }
    }
}

/// The launcher that started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DetectedLauncher {
    /// Its implementation; `None` for launchers that work with any MPI.
    pub vendor: Option<MpiVendor>,
    /// Number of processes it started, if known.
    pub size: Option<usize>,
}

impl DetectedLauncher {
    /// Detects the launcher from environment variables; `None` if there was none or it started only this process.
    pub(super) fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Option<DetectedLauncher> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        let is_set = |name: &str| variable(name).is_some();
        let launcher = if let Some(size) = number("OMPI_COMM_WORLD_SIZE") {
            DetectedLauncher { vendor: Some(MpiVendor::OpenMpi), size: Some(size) }
        } else if let Some(size) = number("PMI_SIZE") {
            // Slurm and Flux set PMI_SIZE for any MPI; the others are set only by MPICH's launchers and derivatives.
            let descends_from_mpich = is_set("MPI_LOCALNRANKS") || is_set("MV2_COMM_WORLD_SIZE");
            DetectedLauncher { vendor: descends_from_mpich.then_some(MpiVendor::Mpich), size: Some(size) }
        } else if is_set("PMIX_RANK") || is_set("PMI_RANK") {
            DetectedLauncher { vendor: None, size: number("SLURM_STEP_NUM_TASKS") }
        } else {
            return None;
        };
        (launcher.size != Some(1)).then_some(launcher)
    }

    /// Name for messages.
    pub(super) fn name(self) -> &'static str {
        match self.vendor {
            Some(MpiVendor::OpenMpi) => "a launcher of Open MPI",
            Some(MpiVendor::Mpich) => "a launcher of MPICH or one of its derivatives",
            None => "a launcher",
        }
    }

    /// Whether a library with this version text can connect to it.
    pub(super) fn is_compatible(self, version: &str) -> bool {
        self.vendor.is_none_or(|maker| maker == MpiVendor::from_version(version))
    }
}

/// Reports a failure to an MPICH launcher, so that it ends the other processes: it ignores the exit status of a process that has not
/// initialised MPI. Other launchers do not need this.
pub(super) fn report_failure(status: i32) {
    let Some(connection) = std::env::var("PMI_FD").ok().and_then(|number| number.parse::<RawFd>().ok()) else { return };
    let is_connection = std::fs::metadata(format!("/proc/self/fd/{connection}")).is_ok_and(|file| file.file_type().is_socket());
    if std::env::var_os("MPI_LOCALNRANKS").is_some() && is_connection {
        // SAFETY: the launcher opened it for this process, and it is not closed here.
        let mut launcher = ManuallyDrop::new(unsafe { File::from_raw_fd(connection) });
        // If this fails, the process exits anyway.
        let _ = writeln!(launcher, "cmd=abort exitcode={status}");
    }
}

/// Library directories of the launchers among the ancestors of this process, nearest first.
pub(super) fn library_dirs() -> Vec<PathBuf> {
    let programs = ancestors().filter_map(|process| std::fs::read_link(format!("/proc/{process}/exe")).ok());
    programs.filter(|program| is_launcher(program)).flat_map(|program| library_dirs_beside(&program)).collect()
}

/// The ancestors of this process, parent first.
fn ancestors() -> impl Iterator<Item = u32> {
    // Deeper than batch systems nest; process ids may be reused while they are followed.
    const DEEPEST: usize = 64;
    successors(parent("self"), |process| parent(&process.to_string())).take(DEEPEST)
}

fn parent(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent != 0).then_some(parent)
}

/// Whether a program is an MPI launcher or one of its helpers.
fn is_launcher(program: &Path) -> bool {
    const BEGINNINGS: [&str; 8] = ["mpirun", "mpiexec", "orte", "prte", "prun", "hydra", "pmi_proxy", "mpispawn"];
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn library_dirs_beside(program: &Path) -> Vec<PathBuf> {
    let Some(prefix) = program.parent().and_then(Path::parent) else { return Vec::new() };
    // The last one is the release build of Intel MPI.
    ["lib", "lib64", "lib/release"].iter().map(|folder| prefix.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(variables: &[(&str, &str)]) -> Option<DetectedLauncher> {
        DetectedLauncher::from_environment(|name| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn without_a_launcher_there_is_nobody_to_join() {
        assert_eq!(launcher(&[]), None);
        assert_eq!(launcher(&[("SLURM_NTASKS", "16"), ("SLURM_STEP_NUM_TASKS", "16")]), None, "a batch script, not one of its tasks");
    }

    #[test]
    fn one_process_has_nobody_to_join() {
        assert_eq!(launcher(&[("OMPI_COMM_WORLD_SIZE", "1")]), None);
        assert_eq!(launcher(&[("PMI_SIZE", "1"), ("MPI_LOCALNRANKS", "1")]), None);
        assert_eq!(launcher(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
    }

    #[test]
    fn launchers_are_known_by_what_they_set() {
        for (variables, vendor, size) in [
            (&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")][..], Some(MpiVendor::OpenMpi), Some(4)),
            (&[("PMI_SIZE", "3"), ("PMI_RANK", "0"), ("MPI_LOCALNRANKS", "3")], Some(MpiVendor::Mpich), Some(3)),
            (&[("PMI_SIZE", "2"), ("MV2_COMM_WORLD_SIZE", "2")], Some(MpiVendor::Mpich), Some(2)),
            (&[("PMI_SIZE", "8"), ("SLURM_STEP_NUM_TASKS", "8")], None, Some(8)),
            (&[("PMIX_RANK", "5"), ("SLURM_STEP_NUM_TASKS", "8")], None, Some(8)),
            (&[("PMIX_RANK", "5")], None, None),
        ] {
            assert_eq!(launcher(variables), Some(DetectedLauncher { vendor, size }), "{variables:?}");
        }
    }

    #[test]
    fn libraries_suit_only_the_launchers_of_their_maker() {
        let of = |maker| DetectedLauncher { vendor: maker, size: None };
        assert!(of(Some(MpiVendor::OpenMpi)).is_compatible("Open MPI v5.0.11, package: x"));
        assert!(!of(Some(MpiVendor::OpenMpi)).is_compatible("Intel(R) MPI Library 2021.18"));
        assert!(!of(Some(MpiVendor::Mpich)).is_compatible("Open MPI v4.1.4"));
        assert!(of(None).is_compatible("Open MPI v4.1.4") && of(None).is_compatible("MPICH Version: 4.0.2"));
    }

    #[test]
    fn launchers_are_told_from_shells() {
        for program in ["/usr/bin/orterun", "/x/bin/orted", "/x/bin/prted", "/x/bin/prterun", "/usr/bin/mpiexec.hydra", "/x/bin/mpirun"] {
            assert!(is_launcher(Path::new(program)), "{program}");
        }
        for program in ["/usr/bin/bash", "/usr/bin/python3", "/usr/sbin/slurmstepd"] {
            assert!(!is_launcher(Path::new(program)), "{program}");
        }
    }

    #[test]
    fn the_ancestors_of_a_process_begin_with_its_parent() {
        assert_eq!(ancestors().next(), Some(std::os::unix::process::parent_id()));
    }
}
