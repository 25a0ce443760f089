//! Launchers, and how each is told which rank goes where.
//!
//! Every launcher reads a file of its own and is told of it in words of its own. [`Launch`] is a placement for one of them: the text of the
//! file, and the command line that was recorded, changed so that it takes effect. [`hosts()`] finds out where a command may run. What is
//! written here was tried with the launchers themselves; docs/launchers.md tells with which.

mod command;
mod error;
mod form;
mod hosts;
mod launch;
mod option;
mod shell;

pub use command::{Command, Removed};
pub use error::{Error, Reason};
pub use form::{Form, Spot};
pub use hosts::{hosts, is_same, parse_hosts, unknown};
pub use launch::{Cores, Launch};

/// A launcher that can be told where each rank goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI up to version 4.
    OpenMpi4,
    /// Open MPI from version 5 on.
    OpenMpi5,
    /// MPICH, and those whose launcher is MPICH's Hydra.
    Mpich,
    /// Intel MPI.
    Intel,
    /// Slurm's srun.
    Slurm,
    /// Any launcher that starts programs of Cray MPICH, whose ranks are renumbered as they start.
    Cray,
}

impl Launcher {
    /// All of them.
    pub const ALL: [Launcher; 6] =
        [Launcher::OpenMpi4, Launcher::OpenMpi5, Launcher::Mpich, Launcher::Intel, Launcher::Slurm, Launcher::Cray];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi4 => "openmpi4",
            Launcher::OpenMpi5 => "openmpi5",
            Launcher::Mpich => "mpich",
            Launcher::Intel => "intel",
            Launcher::Slurm => "slurm",
            Launcher::Cray => "cray",
        }
    }

    /// The launcher of that name.
    pub fn named(name: &str) -> Option<Launcher> {
        Launcher::ALL.into_iter().find(|launcher| launcher.name() == name)
    }

    /// The word that starts it.
    pub fn word(self) -> &'static str {
        match self {
            Launcher::OpenMpi4 | Launcher::OpenMpi5 => "mpirun",
            Launcher::Mpich | Launcher::Intel => "mpiexec",
            Launcher::Slurm | Launcher::Cray => "srun",
        }
    }

    /// The launcher of a command whose program used a library of that name, as recordings have it (`Open MPI 4.1.4`).
    pub fn of(command: &[String], library: &str) -> Option<Launcher> {
        let word = file_name(&command[position(command)?]);
        if library.starts_with("Cray MPICH") && word != "mpiexec.hydra" {
            return Some(Launcher::Cray);
        }
        match word {
            "srun" => Some(Launcher::Slurm),
            "orterun" => Some(Launcher::OpenMpi4),
            "prterun" => Some(Launcher::OpenMpi5),
            _ if word.ends_with(".openmpi") => Launcher::of_library(library).or(Some(Launcher::OpenMpi4)),
            _ if word.ends_with(".mpich") => Some(Launcher::Mpich),
            "mpiexec.hydra" => Launcher::of_library(library).or(Some(Launcher::Mpich)),
            "aprun" => None,
            _ => Launcher::of_library(library),
        }
    }

    /// The launcher that comes with a library.
    fn of_library(library: &str) -> Option<Launcher> {
        if let Some(version) = library.strip_prefix("Open MPI") {
            let major = version.trim_start().split('.').next()?.parse::<u32>();
            return Some(if major.is_ok_and(|major| major >= 5) { Launcher::OpenMpi5 } else { Launcher::OpenMpi4 });
        }
        if library.starts_with("Intel") {
            return Some(Launcher::Intel);
        }
        ["MPICH", "MVAPICH"].iter().any(|name| library.starts_with(name)).then_some(Launcher::Mpich)
    }
}

/// Where in a command the word stands that starts a launcher; `env`, `time` and the like may stand before it.
fn position(command: &[String]) -> Option<usize> {
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

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, library: &str) -> Option<Launcher> {
        Launcher::of(&command.split(' ').map(String::from).collect::<Vec<_>>(), library)
    }

    #[test]
    fn a_launcher_is_known_by_its_word_and_by_the_library() {
        for (command, library, launcher) in [
            ("mpirun -n 2 ./a", "Open MPI 4.1.4", Launcher::OpenMpi4),
            ("/opt/openmpi/bin/mpirun -n 2 ./a", "Open MPI 5.0.11", Launcher::OpenMpi5),
            ("mpirun -n 2 ./a", "Open MPI 10.0.0", Launcher::OpenMpi5),
            ("mpirun.openmpi -n 2 ./a", "", Launcher::OpenMpi4),
            ("orterun -n 2 ./a", "", Launcher::OpenMpi4),
            ("prterun -n 2 ./a", "", Launcher::OpenMpi5),
            ("mpiexec -n 2 ./a", "MPICH 4.0.2", Launcher::Mpich),
            ("mpiexec.hydra -n 2 ./a", "", Launcher::Mpich),
            ("mpiexec.hydra -n 2 ./a", "Intel MPI 2021.18", Launcher::Intel),
            ("mpiexec.mpich -n 2 ./a", "", Launcher::Mpich),
            ("mpiexec -n 2 ./a", "MVAPICH2 2.3.7", Launcher::Mpich),
            ("mpirun -n 2 ./a", "Intel MPI 2021.18", Launcher::Intel),
            ("srun -n 2 ./a", "Open MPI 4.1.4", Launcher::Slurm),
            ("srun -n 2 ./a", "Cray MPICH 8.1.25", Launcher::Cray),
            ("env A=1 time -p /usr/bin/mpirun -n 2 ./a", "Open MPI 4.1.4", Launcher::OpenMpi4),
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
        assert_eq!(Launcher::of(&[], "Open MPI 4.1.4"), None);
    }

    #[test]
    fn launchers_have_names_that_lead_back_to_them() {
        for launcher in Launcher::ALL {
            assert_eq!(Launcher::named(launcher.name()), Some(launcher));
        }
        assert_eq!(Launcher::named("lamboot"), None);
    }
}
