//! The recorded command line with a placement applied.

use std::fmt;
use std::path::Path;

use super::option::{LauncherOption, OptionKind, parse_options};
use super::placement_launch::LauncherOptions;
use super::{CoreBinding, Error, MpiLauncher, PlacementLaunch, launcher_index, shell};

/// A command line, ready to be run or pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCommand {
    /// Environment variables to set.
    pub environment: Vec<(String, String)>,
    /// Its arguments.
    pub words: Vec<String>,
    /// Options of the original that were removed.
    pub removed: Vec<RemovedOption>,
}

/// An option that contradicts the placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedOption {
    /// The arguments.
    pub words: Vec<String>,
    /// The reason.
    pub why: &'static str,
}

impl fmt::Display for LaunchCommand {
    /// As typed in a shell.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(out, "{name}={} ", shell::quote(value))?;
        }
        out.write_str(&shell::join_quoted(&self.words))
    }
}

impl fmt::Display for RemovedOption {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", shell::join_quoted(&self.words), self.why)
    }
}

impl PlacementLaunch<'_> {
    /// The original command with the options for `file` inserted after the launcher, and without options that contradict them.
    pub fn command(&self, original: &[String], file: &Path) -> Result<LaunchCommand, Error> {
        let placement_options = self.options(file)?;
        let launcher = launcher_index(original).ok_or_else(|| Error::NoLauncher { command: shell::join_quoted(original) })?;
        let options = parse_options(original, launcher);
        if let Some(word) = multiple_programs(original, launcher, &options) {
            return Err(Error::SeveralPrograms { word, options: placement_options.to_string() });
        }
        let mut removed = Vec::new();
        let mut kept: Vec<String> = Vec::new();
        let mut is_counted = false;
        let mut end = launcher + 1;
        for option in &options {
            let words = &original[option.words.clone()];
            end = option.words.end;
            match self.contradiction(option) {
                Some(why) => removed.push(RemovedOption { words: words.to_vec(), why }),
                None => kept.extend_from_slice(words),
            }
            is_counted |= option.kind == OptionKind::Count && self.contradiction(option).is_none();
        }
        let count = (!is_counted).then(|| ["-n".to_owned(), self.placement.0.len().to_string()]);
        let mut words = original[..=launcher].to_vec();
        words.extend(placement_options.words);
        words.extend(count.into_iter().flatten());
        words.extend(kept);
        words.extend_from_slice(&original[end..]);
        Ok(LaunchCommand { environment: placement_options.environment, words, removed })
    }

    /// Why an option must be removed.
    fn contradiction(&self, option: &LauncherOption) -> Option<&'static str> {
        let is_open_mpi = matches!(self.launcher, MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5);
        match option.kind {
            OptionKind::Count => {
                let is_same = option.value.and_then(|value| value.parse().ok()) == Some(self.placement.0.len());
                (!is_same).then_some("the placement has a different number of ranks")
            }
            OptionKind::Mapping => Some("the file defines the mapping"),
            OptionKind::HostList | OptionKind::HostFile | OptionKind::PerHost if self.launcher == MpiLauncher::Cray => None,
            OptionKind::HostList | OptionKind::HostFile => Some("the file lists the hosts"),
            OptionKind::PerHost => Some("the file defines the ranks per host"),
            OptionKind::Binding if self.binds_cores() => Some("the placement binds ranks to cores"),
            OptionKind::Binding if is_open_mpi && self.binding == CoreBinding::Free => {
                Some("Open MPI does not bind ranks that are mapped to hosts only")
            }
            OptionKind::Binding | OptionKind::MultiplePrograms | OptionKind::Other => None,
        }
    }
}

/// The argument that shows that a command starts several programs.
fn multiple_programs(command: &[String], launcher: usize, options: &[LauncherOption]) -> Option<String> {
    let option =
        options.iter().find(|option| option.kind == OptionKind::MultiplePrograms).map(|option| command[option.words.start].clone());
    option.or_else(|| command[launcher + 1..].iter().find(|word| *word == ":").cloned())
}

impl fmt::Display for LauncherOptions {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={}", shell::quote(value)));
        out.write_str(&variables.chain([shell::join_quoted(&self.words)]).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Cluster, Host, Placement};
    use proptest::prelude::*;

    fn command(launcher: MpiLauncher, cores: CoreBinding, original: &str) -> Result<LaunchCommand, Error> {
        let hosts = vec![Host::new("a", 2), Host::new("b", 2)];
        let cluster = Cluster::new(hosts);
        let placement = Placement(vec![0, 2, 1, 3]);
        let words: Vec<String> = original.split(' ').map(String::from).collect();
        PlacementLaunch { launcher, binding: cores, placement: &placement, cluster: &cluster }.command(&words, Path::new("my file"))
    }

    fn line(launcher: MpiLauncher, cores: CoreBinding, original: &str) -> String {
        command(launcher, cores, original).expect("a command").to_string()
    }

    #[test]
    fn options_stand_right_behind_the_word_of_the_launcher() {
        let original = "mpirun -n 4 -x PATH ./cg 7";
        for (launcher, cores, expected) in [
            (MpiLauncher::OpenMpi4, CoreBinding::Bound, "mpirun --rankfile 'my file' -n 4 -x PATH ./cg 7"),
            (MpiLauncher::OpenMpi4, CoreBinding::Free, "mpirun --mca rmaps seq --hostfile 'my file' -n 4 -x PATH ./cg 7"),
            (
                MpiLauncher::OpenMpi5,
                CoreBinding::Bound,
                "mpirun --hostfile 'my file' --map-by 'rankfile:file=my file' --bind-to core -n 4 -x PATH ./cg 7",
            ),
            (MpiLauncher::OpenMpi5, CoreBinding::Free, "mpirun --hostfile 'my file' --map-by seq --bind-to none -n 4 -x PATH ./cg 7"),
            (MpiLauncher::Mpich, CoreBinding::Bound, "mpirun -f 'my file' -n 4 -x PATH ./cg 7"),
            (
                MpiLauncher::Intel,
                CoreBinding::Bound,
                "I_MPI_PIN=1 I_MPI_PIN_PROCESSOR_LIST=0,1 mpirun -machinefile 'my file' -n 4 -x PATH ./cg 7",
            ),
        ] {
            assert_eq!(line(launcher, cores, original), expected);
        }
        assert_eq!(
            line(MpiLauncher::Slurm, CoreBinding::Free, "time srun --mpi=pmix -n4 ./cg"),
            "SLURM_HOSTFILE='my file' time srun --distribution=arbitrary --mpi=pmix -n4 ./cg"
        );
    }

    #[test]
    fn what_contradicts_the_placement_is_removed_and_told() {
        let original = "/usr/bin/mpirun --map-by node -np 4 --bind-to socket -H a:2,b:2 --mca btl tcp,self -N 2 ./cg --map-by mine";
        let changed = command(MpiLauncher::OpenMpi4, CoreBinding::Bound, original).expect("a command");
        assert_eq!(changed.to_string(), "/usr/bin/mpirun --rankfile 'my file' -np 4 --mca btl tcp,self ./cg --map-by mine");
        let removed: Vec<String> = changed.removed.iter().map(ToString::to_string).collect();
        assert_eq!(
            removed,
            [
                "--map-by node: the file defines the mapping",
                "--bind-to socket: the placement binds ranks to cores",
                "-H a:2,b:2: the file lists the hosts",
                "-N 2: the file defines the ranks per host",
            ]
        );
    }

    #[test]
    fn slurm_loses_its_nodes_and_their_order() {
        let changed =
            line(MpiLauncher::Slurm, CoreBinding::Free, "srun -N 2 -w a,b -m cyclic --ntasks-per-node=2 --cpu-bind=cores -p fast ./cg");
        assert_eq!(changed, "SLURM_HOSTFILE='my file' srun --distribution=arbitrary -n 4 --cpu-bind=cores -p fast ./cg");
    }

    #[test]
    fn another_number_of_ranks_or_none_becomes_that_of_the_placement() {
        assert_eq!(line(MpiLauncher::Mpich, CoreBinding::Free, "mpiexec -n 8 ./cg"), "mpiexec -f 'my file' -n 4 ./cg");
        assert_eq!(line(MpiLauncher::Mpich, CoreBinding::Free, "mpiexec ./cg"), "mpiexec -f 'my file' -n 4 ./cg");
    }

    #[test]
    fn cray_mpich_is_told_by_variables_alone() {
        assert_eq!(
            line(MpiLauncher::Cray, CoreBinding::Free, "srun -N 2 -n 4 ./cg"),
            "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE='my file' srun -N 2 -n 4 ./cg"
        );
    }

    #[test]
    fn several_programs_and_unknown_launchers_are_errors_that_say_what_to_do() {
        for original in ["mpirun -n 2 ./a : -n 2 ./b", "mpirun --app list", "mpiexec -configfile list"] {
            let error = command(MpiLauncher::OpenMpi4, CoreBinding::Bound, original).expect_err("two programs").to_string();
            assert!(error.contains("several programs") && error.contains("--rankfile 'my file'"), "{error}");
        }
        let error = command(MpiLauncher::OpenMpi4, CoreBinding::Bound, "./run.sh 4").expect_err("no launcher").to_string();
        assert!(error.contains("./run.sh 4") && error.contains("mpirun"), "{error}");
    }

    #[test]
    fn a_placed_command_can_be_placed_again() {
        for launcher in MpiLauncher::ALL {
            for cores in [CoreBinding::Bound, CoreBinding::Free] {
                let word = launcher.command_name();
                let once = command(launcher, cores, &format!("{word} -n 4 ./cg")).expect("a command");
                let hosts = vec![Host::new("a", 2), Host::new("b", 2)];
                let cluster = Cluster::new(hosts);
                let placement = Placement(vec![0, 2, 1, 3]);
                let launch = PlacementLaunch { launcher, binding: cores, placement: &placement, cluster: &cluster };
                let twice = launch.command(&once.words, Path::new("my file")).expect("a command");
                assert_eq!((&twice.words, &twice.environment), (&once.words, &once.environment), "{launcher:?} {cores:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_program_and_its_words_are_never_touched(
            options in proptest::collection::vec(
                prop_oneof!["-n 4", "--mca a b", "-x A", "--map-by core", "-genv A=1", "-genv A 1", "-H a", "--unknown", "-ppn 2", "-f F"], 0..6),
            arguments in proptest::collection::vec("-?-?(n|map-by|H|x|[a-z]{0,3})", 0..5),
            is_bound: bool,
        ) {
            let program = [vec!["./cg".to_owned()], arguments].concat().join(" ");
            let original = [vec!["mpirun".to_owned()], options, vec![program.clone()]].concat().join(" ");
            for launcher in [MpiLauncher::OpenMpi4, MpiLauncher::OpenMpi5, MpiLauncher::Mpich, MpiLauncher::Intel] {
                let cores = if is_bound { CoreBinding::Bound } else { CoreBinding::Free };
                let words = command(launcher, cores, &original).expect("a command").words.join(" ");
                prop_assert!(words.ends_with(&format!(" {program}")), "{words}");
                prop_assert_eq!(words.matches("-n 4 ").count() - program.matches("-n 4 ").count(), original.matches("-n 4 ").count().max(1));
            }
        }
    }
}
