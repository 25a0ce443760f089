//! MPI launchers and how each is given a placement.
//!
//! Every launcher has its own file format and options. [`PlacementLaunch`] renders a placement for one of them: the file, and the recorded
//! command line with the options added. [`available_hosts()`] finds the hosts on which a command may run. All formats were tested with the
//! launchers themselves; docs/launchers.md lists the versions.

mod command;
mod error;
mod hosts;
mod option;
mod output_format;
mod placement_launch;
mod shell;

pub use command::{LaunchCommand, RemovedOption};
pub use error::{Error, HostSyntaxError};
pub use hosts::{available_hosts, is_same_host, missing_hosts, parse_hosts};
pub use output_format::{PlacementFormat, RankSlot};
pub use placement_launch::{CoreBinding, PlacementLaunch};

/// A launcher that can be given a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiLauncher {
    /// Open MPI up to version 4.
    OpenMpi4,
    /// Open MPI from version 5 on.
    OpenMpi5,
    /// MPICH, and others with MPICH's Hydra launcher.
    Mpich,
    /// Intel MPI.
    Intel,
    /// Slurm's srun.
    Slurm,
    /// Any launcher of Cray MPICH programs, whose ranks are reordered at start.
    Cray,
}

impl MpiLauncher {
    /// All of them.
    pub const ALL: [MpiLauncher; 6] =
        [MpiLauncher::OpenMpi4, MpiLauncher::OpenMpi5, MpiLauncher::Mpich, MpiLauncher::Intel, MpiLauncher::Slurm, MpiLauncher::Cray];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MpiLauncher::OpenMpi4 => "openmpi4",
            MpiLauncher::OpenMpi5 => "openmpi5",
            MpiLauncher::Mpich => "mpich",
            MpiLauncher::Intel => "intel",
            MpiLauncher::Slurm => "slurm",
            MpiLauncher::Cray => "cray",
        }
    }

    /// The launcher with this name.
    pub fn from_name(name: &str) -> Option<MpiLauncher> {
        MpiLauncher::ALL.into_iter().find(|launcher| launcher.name() == name)
    }

    /// The command that starts it.
    pub fn command_name(self) -> &'static str {
        match self {
            MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5 => "mpirun",
            MpiLauncher::Mpich | MpiLauncher::Intel => "mpiexec",
            MpiLauncher::Slurm | MpiLauncher::Cray => "srun",
        }
    }

    /// Detects the launcher of a command whose program used this MPI library, named as in recordings (`Open MPI 4.1.4`).
    pub fn detect(command: &[String], library: &str) -> Option<MpiLauncher> {
        let word = file_name(&command[launcher_index(command)?]);
        if library.starts_with("Cray MPICH") && word != "mpiexec.hydra" {
            return Some(MpiLauncher::Cray);
        }
        match word {
            "srun" => Some(MpiLauncher::Slurm),
            "orterun" => Some(MpiLauncher::OpenMpi4),
            "prterun" => Some(MpiLauncher::OpenMpi5),
            _ if word.ends_with(".openmpi") => MpiLauncher::for_library(library).or(Some(MpiLauncher::OpenMpi4)),
            _ if word.ends_with(".mpich") => Some(MpiLauncher::Mpich),
            "mpiexec.hydra" => MpiLauncher::for_library(library).or(Some(MpiLauncher::Mpich)),
            "aprun" => None,
            _ => MpiLauncher::for_library(library),
        }
    }

    /// The launcher that comes with a library.
    fn for_library(library: &str) -> Option<MpiLauncher> {
        if let Some(version) = library.strip_prefix("Open MPI") {
            let major = version.trim_start().split('.').next()?.parse::<u32>();
            return Some(if major.is_ok_and(|major| major >= 5) { MpiLauncher::OpenMpi5 } else { MpiLauncher::OpenMpi4 });
        }
        if library.starts_with("Intel") {
            return Some(MpiLauncher::Intel);
        }
        ["MPICH", "MVAPICH"].iter().any(|name| library.starts_with(name)).then_some(MpiLauncher::Mpich)
    }
}

/// Index of the launcher in a command line; `env`, `time` and the like may precede it.
fn launcher_index(command: &[String]) -> Option<usize> {
    const WORDS: [&str; 12] = [
        "mpirun",
        "mpiexec",
        "mpiexec.hydra",
        "orterun",
        "prterun",
        "srun",
        "aprun",
        "mpirun.openmpi",
        "mpiexec.openmpi",
        "mpirun.mpich",
        "mpiexec.mpich",
        "mpirun.hydra",
    ];
    command.iter().position(|word| WORDS.contains(&file_name(word)))
}

/// The last component of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, library: &str) -> Option<MpiLauncher> {
        MpiLauncher::detect(&command.split(' ').map(String::from).collect::<Vec<_>>(), library)
    }

    #[test]
    fn a_launcher_is_known_by_its_word_and_by_the_library() {
        for (command, library, launcher) in [
            ("mpirun -n 2 ./a", "Open MPI 4.1.4", MpiLauncher::OpenMpi4),
            ("/opt/openmpi/bin/mpirun -n 2 ./a", "Open MPI 5.0.11", MpiLauncher::OpenMpi5),
            ("mpirun -n 2 ./a", "Open MPI 10.0.0", MpiLauncher::OpenMpi5),
            ("mpirun.openmpi -n 2 ./a", "", MpiLauncher::OpenMpi4),
            ("orterun -n 2 ./a", "", MpiLauncher::OpenMpi4),
            ("prterun -n 2 ./a", "", MpiLauncher::OpenMpi5),
            ("mpiexec -n 2 ./a", "MPICH 4.0.2", MpiLauncher::Mpich),
            ("mpiexec.hydra -n 2 ./a", "", MpiLauncher::Mpich),
            ("mpiexec.hydra -n 2 ./a", "Intel MPI 2021.18", MpiLauncher::Intel),
            ("mpiexec.mpich -n 2 ./a", "", MpiLauncher::Mpich),
            ("mpiexec -n 2 ./a", "MVAPICH2 2.3.7", MpiLauncher::Mpich),
            ("mpirun -n 2 ./a", "Intel MPI 2021.18", MpiLauncher::Intel),
            ("srun -n 2 ./a", "Open MPI 4.1.4", MpiLauncher::Slurm),
            ("srun -n 2 ./a", "Cray MPICH 8.1.25", MpiLauncher::Cray),
            ("env A=1 time -p /usr/bin/mpirun -n 2 ./a", "Open MPI 4.1.4", MpiLauncher::OpenMpi4),
        ] {
            assert_eq!(of(command, library), Some(launcher), "{command} with {library:?}");
        }
    }

    #[test]
    fn a_command_that_says_too_little_has_no_launcher() {
        for (command, library) in [
            ("./run.sh", "Open MPI 4.1.4"),
            ("mpirun -n 2 ./a", ""),
            ("mpirun -n 2 ./a", "ParaStation MPI 5.9"),
            ("flux run -n 2 ./a", "MPICH 4.0.2"),
            ("aprun -n 2 ./a", ""),
            ("mpirun_rsh -n 2 ./a", "MVAPICH2 2.3.7"),
        ] {
            assert_eq!(of(command, library), None, "{command} with {library:?}");
        }
        assert_eq!(MpiLauncher::detect(&[], "Open MPI 4.1.4"), None);
    }

    #[test]
    fn launchers_have_names_that_lead_back_to_them() {
        for launcher in MpiLauncher::ALL {
            assert_eq!(MpiLauncher::from_name(launcher.name()), Some(launcher));
        }
        assert_eq!(MpiLauncher::from_name("lamboot"), None);
    }
}
