//! How this process was started: alone, or by a launcher as one of several; and whose launcher that is.
//!
//! A library of one MPI cannot talk to the launcher of another: every process would believe itself alone. So the launcher decides which
//! library is looked for.

use std::fs::File;
use std::io::Write;
use std::iter::successors;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Who made a launcher or a library, as far as it decides whether they belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and those that descend from it.
    Mpich,
}

impl Maker {
    /// The maker of the library that says this of itself.
    pub fn of_version(version: &str) -> Maker {
        if version.contains("Open MPI") { Maker::OpenMpi } else { Maker::Mpich }
    }
}

/// A launcher that started this process, possibly as one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Whose it is; `None` for those that start programs of any MPI.
    pub maker: Option<Maker>,
    /// How many processes it started, if it says so.
    pub size: Option<usize>,
}

impl Launcher {
    /// The launcher that set these variables; `None` if there was none, or it started only this process.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        let is_set = |name: &str| variable(name).is_some();
        let launcher = if let Some(size) = number("OMPI_COMM_WORLD_SIZE") {
            Launcher { maker: Some(Maker::OpenMpi), size: Some(size) }
        } else if let Some(size) = number("PMI_SIZE") {
            // Slurm and Flux set PMI_SIZE for any MPI; only MPICH's launchers and their descendants set the others.
            let descends_from_mpich = is_set("MPI_LOCALNRANKS") || is_set("MV2_COMM_WORLD_SIZE");
            Launcher { maker: descends_from_mpich.then_some(Maker::Mpich), size: Some(size) }
        } else if is_set("PMIX_RANK") || is_set("PMI_RANK") {
            Launcher { maker: None, size: number("SLURM_STEP_NUM_TASKS") }
        } else {
            return None;
        };
        (launcher.size != Some(1)).then_some(launcher)
    }

    /// How to call it in a message.
    pub fn name(self) -> &'static str {
        match self.maker {
            Some(Maker::OpenMpi) => "a launcher of Open MPI",
            Some(Maker::Mpich) => "a launcher of MPICH or one of its descendants",
            None => "a launcher",
        }
    }

    /// Whether a library that says this of itself can talk to it.
    pub fn suits(self, version: &str) -> bool {
        self.maker.is_none_or(|maker| maker == Maker::of_version(version))
    }
}

/// Tells a launcher of MPICH that this process has failed, so that it ends the others: it takes no notice of the status of a process that
/// has not started MPI. Other launchers do.
pub fn report_failure(status: i32) {
    let Some(connection) = std::env::var("PMI_FD").ok().and_then(|number| number.parse::<RawFd>().ok()) else { return };
    let is_connection = std::fs::metadata(format!("/proc/self/fd/{connection}")).is_ok_and(|file| file.file_type().is_socket());
    if std::env::var_os("MPI_LOCALNRANKS").is_some() && is_connection {
        // SAFETY: the launcher opened it for this process to talk to it, and it is not closed here.
        let mut launcher = ManuallyDrop::new(unsafe { File::from_raw_fd(connection) });
        // Who is not heard can do no more than end, which is what comes next.
        let _ = writeln!(launcher, "cmd=abort exitcode={status}");
    }
}

/// The folders in which the launchers above this process keep their libraries, the nearest launcher first.
pub fn library_folders() -> Vec<PathBuf> {
    let programs = ancestors().filter_map(|process| std::fs::read_link(format!("/proc/{process}/exe")).ok());
    programs.filter(|program| is_launcher(program)).flat_map(|program| folders_beside(&program)).collect()
}

/// The process above this one, the one above that, and so on.
fn ancestors() -> impl Iterator<Item = u32> {
    // Deeper than any batch system nests; process numbers may be used again while they are followed.
    const DEEPEST: usize = 64;
    successors(parent("self"), |process| parent(&process.to_string())).take(DEEPEST)
}

fn parent(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent != 0).then_some(parent)
}

/// Whether a program starts the processes of an MPI, on the host of the user or on another.
fn is_launcher(program: &Path) -> bool {
    const BEGINNINGS: [&str; 8] = ["mpirun", "mpiexec", "orte", "prte", "prun", "hydra", "pmi_proxy", "mpispawn"];
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn folders_beside(program: &Path) -> Vec<PathBuf> {
    let Some(prefix) = program.parent().and_then(Path::parent) else { return Vec::new() };
    // The last one is where Intel MPI keeps the library that is not for debugging.
    ["lib", "lib64", "lib/release"].iter().map(|folder| prefix.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(variables: &[(&str, &str)]) -> Option<Launcher> {
        Launcher::of(|name| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string()))
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
        for (variables, maker, size) in [
            (&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")][..], Some(Maker::OpenMpi), Some(4)),
            (&[("PMI_SIZE", "3"), ("PMI_RANK", "0"), ("MPI_LOCALNRANKS", "3")], Some(Maker::Mpich), Some(3)),
            (&[("PMI_SIZE", "2"), ("MV2_COMM_WORLD_SIZE", "2")], Some(Maker::Mpich), Some(2)),
            (&[("PMI_SIZE", "8"), ("SLURM_STEP_NUM_TASKS", "8")], None, Some(8)),
            (&[("PMIX_RANK", "5"), ("SLURM_STEP_NUM_TASKS", "8")], None, Some(8)),
            (&[("PMIX_RANK", "5")], None, None),
        ] {
            assert_eq!(launcher(variables), Some(Launcher { maker, size }), "{variables:?}");
        }
    }

    #[test]
    fn libraries_suit_only_the_launchers_of_their_maker() {
        let of = |maker| Launcher { maker, size: None };
        assert!(of(Some(Maker::OpenMpi)).suits("Open MPI v5.0.11, package: x"));
        assert!(!of(Some(Maker::OpenMpi)).suits("Intel(R) MPI Library 2021.18"));
        assert!(!of(Some(Maker::Mpich)).suits("Open MPI v4.1.4"));
        assert!(of(None).suits("Open MPI v4.1.4") && of(None).suits("MPICH Version: 4.0.2"));
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
