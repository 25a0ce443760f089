//! The command that was recorded, changed so that a placement takes effect.

use std::fmt;
use std::path::Path;

use super::launch::Told;
use super::option::{About, Given, given};
use super::{Cores, Error, Launch, Launcher, position, shell};

/// A command line, ready to be run or pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Variables it is run with.
    pub environment: Vec<(String, String)>,
    /// Its words.
    pub words: Vec<String>,
    /// What the original had and this has not.
    pub removed: Vec<Removed>,
}

/// Words of a command that would contradict a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The words.
    pub words: Vec<String>,
    /// Why they are not there any more.
    pub why: &'static str,
}

impl fmt::Display for Command {
    /// As it could be typed.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(out, "{name}={} ", shell::quoted(value))?;
        }
        out.write_str(&shell::line(&self.words))
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", shell::line(&self.words), self.why)
    }
}

impl Launch<'_> {
    /// The original command with what tells the launcher of `file` right behind the launcher's word, without what contradicts it.
    pub fn command(&self, original: &[String], file: &Path) -> Result<Command, Error> {
        let told = self.told(file)?;
        let launcher = position(original).ok_or_else(|| Error::NoLauncher { command: shell::line(original) })?;
        let options = given(original, launcher);
        if let Some(word) = several(original, launcher, &options) {
            return Err(Error::SeveralPrograms { word, options: told.to_string() });
        }
        let mut removed = Vec::new();
        let mut kept: Vec<String> = Vec::new();
        let mut is_counted = false;
        let mut end = launcher + 1;
        for option in &options {
            let words = &original[option.words.clone()];
            end = option.words.end;
            match self.contradiction(option) {
                Some(why) => removed.push(Removed { words: words.to_vec(), why }),
                None => kept.extend_from_slice(words),
            }
            is_counted |= option.about == About::Count && self.contradiction(option).is_none();
        }
        let count = (!is_counted).then(|| ["-n".to_owned(), self.placement.0.len().to_string()]);
        let mut words = original[..=launcher].to_vec();
        words.extend(told.words);
        words.extend(count.into_iter().flatten());
        words.extend(kept);
        words.extend_from_slice(&original[end..]);
        Ok(Command { environment: told.environment, words, removed })
    }

    /// Why an option cannot stay.
    fn contradiction(&self, option: &Given) -> Option<&'static str> {
        let is_open_mpi = matches!(self.launcher, Launcher::OpenMpi4 | Launcher::OpenMpi5);
        match option.about {
            About::Count => {
                let is_same = option.value.and_then(|value| value.parse().ok()) == Some(self.placement.0.len());
                (!is_same).then_some("the placement has another number of ranks")
            }
            About::Mapping => Some("the file says which rank goes where"),
            About::HostList | About::HostFile | About::PerHost if self.launcher == Launcher::Cray => None,
            About::HostList | About::HostFile => Some("the file says which hosts there are"),
            About::PerHost => Some("the file says how many ranks a host has"),
            About::Binding if self.binds() => Some("the placement says which core a rank gets"),
            About::Binding if is_open_mpi && self.cores == Cores::Free => {
                Some("Open MPI does not bind ranks that are told their hosts only")
            }
            About::Binding | About::Several | About::Other => None,
        }
    }
}

/// The word that shows that a command starts several programs.
fn several(command: &[String], launcher: usize, options: &[Given]) -> Option<String> {
    let option = options.iter().find(|option| option.about == About::Several).map(|option| command[option.words.start].clone());
    option.or_else(|| command[launcher + 1..].iter().find(|word| *word == ":").cloned())
}

impl fmt::Display for Told {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={}", shell::quoted(value)));
        out.write_str(&variables.chain([shell::line(&self.words)]).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Cluster, Host, Placement};
    use proptest::prelude::*;

    fn command(launcher: Launcher, cores: Cores, original: &str) -> Result<Command, Error> {
        let hosts = vec![Host::plain("a", 2), Host::plain("b", 2)];
        let cluster = Cluster::plain(hosts);
        let placement = Placement(vec![0, 2, 1, 3]);
        let words: Vec<String> = original.split(' ').map(String::from).collect();
        Launch { launcher, cores, placement: &placement, cluster: &cluster }.command(&words, Path::new("my file"))
    }

    fn line(launcher: Launcher, cores: Cores, original: &str) -> String {
        command(launcher, cores, original).expect("a command").to_string()
    }

    #[test]
    fn options_stand_right_behind_the_word_of_the_launcher() {
        let original = "mpirun -n 4 -x PATH ./cg 7";
        for (launcher, cores, expected) in [
            (Launcher::OpenMpi4, Cores::Bound, "mpirun --rankfile 'my file' -n 4 -x PATH ./cg 7"),
            (Launcher::OpenMpi4, Cores::Free, "mpirun --mca rmaps seq --hostfile 'my file' -n 4 -x PATH ./cg 7"),
            (
                Launcher::OpenMpi5,
                Cores::Bound,
                "mpirun --hostfile 'my file' --map-by 'rankfile:file=my file' --bind-to core -n 4 -x PATH ./cg 7",
            ),
            (Launcher::OpenMpi5, Cores::Free, "mpirun --hostfile 'my file' --map-by seq --bind-to none -n 4 -x PATH ./cg 7"),
            (Launcher::Mpich, Cores::Bound, "mpirun -f 'my file' -n 4 -x PATH ./cg 7"),
            (Launcher::Intel, Cores::Bound, "I_MPI_PIN=1 I_MPI_PIN_PROCESSOR_LIST=0,1 mpirun -machinefile 'my file' -n 4 -x PATH ./cg 7"),
        ] {
            assert_eq!(line(launcher, cores, original), expected);
        }
        assert_eq!(
            line(Launcher::Slurm, Cores::Free, "time srun --mpi=pmix -n4 ./cg"),
            "SLURM_HOSTFILE='my file' time srun --distribution=arbitrary --mpi=pmix -n4 ./cg"
        );
    }

    #[test]
    fn what_contradicts_the_placement_is_removed_and_told() {
        let original = "/usr/bin/mpirun --map-by node -np 4 --bind-to socket -H a:2,b:2 --mca btl tcp,self -N 2 ./cg --map-by mine";
        let changed = command(Launcher::OpenMpi4, Cores::Bound, original).expect("a command");
        assert_eq!(changed.to_string(), "/usr/bin/mpirun --rankfile 'my file' -np 4 --mca btl tcp,self ./cg --map-by mine");
        let removed: Vec<String> = changed.removed.iter().map(ToString::to_string).collect();
        assert_eq!(
            removed,
            [
                "--map-by node: the file says which rank goes where",
                "--bind-to socket: the placement says which core a rank gets",
                "-H a:2,b:2: the file says which hosts there are",
                "-N 2: the file says how many ranks a host has",
            ]
        );
    }

    #[test]
    fn slurm_loses_its_nodes_and_their_order() {
        let changed = line(Launcher::Slurm, Cores::Free, "srun -N 2 -w a,b -m cyclic --ntasks-per-node=2 --cpu-bind=cores -p fast ./cg");
        assert_eq!(changed, "SLURM_HOSTFILE='my file' srun --distribution=arbitrary -n 4 --cpu-bind=cores -p fast ./cg");
    }

    #[test]
    fn another_number_of_ranks_or_none_becomes_that_of_the_placement() {
        assert_eq!(line(Launcher::Mpich, Cores::Free, "mpiexec -n 8 ./cg"), "mpiexec -f 'my file' -n 4 ./cg");
        assert_eq!(line(Launcher::Mpich, Cores::Free, "mpiexec ./cg"), "mpiexec -f 'my file' -n 4 ./cg");
    }

    #[test]
    fn cray_mpich_is_told_by_variables_alone() {
        assert_eq!(
            line(Launcher::Cray, Cores::Free, "srun -N 2 -n 4 ./cg"),
            "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE='my file' srun -N 2 -n 4 ./cg"
        );
    }

    #[test]
    fn several_programs_and_unknown_launchers_are_errors_that_say_what_to_do() {
        for original in ["mpirun -n 2 ./a : -n 2 ./b", "mpirun --app list", "mpiexec -configfile list"] {
            let error = command(Launcher::OpenMpi4, Cores::Bound, original).expect_err("two programs").to_string();
            assert!(error.contains("several programs") && error.contains("--rankfile 'my file'"), "{error}");
        }
        let error = command(Launcher::OpenMpi4, Cores::Bound, "./run.sh 4").expect_err("no launcher").to_string();
        assert!(error.contains("./run.sh 4") && error.contains("mpirun"), "{error}");
    }

    #[test]
    fn a_placed_command_can_be_placed_again() {
        for launcher in Launcher::ALL {
            for cores in [Cores::Bound, Cores::Free] {
                let word = launcher.word();
                let once = command(launcher, cores, &format!("{word} -n 4 ./cg")).expect("a command");
                let hosts = vec![Host::plain("a", 2), Host::plain("b", 2)];
                let cluster = Cluster::plain(hosts);
                let placement = Placement(vec![0, 2, 1, 3]);
                let launch = Launch { launcher, cores, placement: &placement, cluster: &cluster };
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
            for launcher in [Launcher::OpenMpi4, Launcher::OpenMpi5, Launcher::Mpich, Launcher::Intel] {
                let cores = if is_bound { Cores::Bound } else { Cores::Free };
                let words = command(launcher, cores, &original).expect("a command").words.join(" ");
                prop_assert!(words.ends_with(&format!(" {program}")), "{words}");
                prop_assert_eq!(words.matches("-n 4 ").count() - program.matches("-n 4 ").count(), original.matches("-n 4 ").count().max(1));
            }
        }
    }
}
