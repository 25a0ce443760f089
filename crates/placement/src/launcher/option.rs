//! The options of launchers: which words of a command are theirs, and which of them say where ranks go.
//!
//! One has to know how many values an option takes to find the program behind the options: what stands there is the program's own, whatever
//! it looks like. Options that are not known are taken to have no value. Names are those of `mpirun --help` (Open MPI 4.1 and 5.0),
//! `mpiexec -h` (MPICH 4.0 and 5.0, Intel MPI 2021) and `man srun` (22.05).

use std::ops::Range;

use super::file_name;

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// How many ranks there are.
    Count,
    /// On which hosts, in a list.
    HostList,
    /// On which hosts, in a file.
    HostFile,
    /// How many ranks a host gets.
    PerHost,
    /// Which rank goes where.
    Mapping,
    /// On which cores ranks may run.
    Binding,
    /// That there are several programs.
    Several,
    /// Nothing about places.
    Other,
}

/// An option that a command gives to its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its name without dashes.
    pub name: &'a str,
    /// Its last value.
    pub value: Option<&'a str>,
    /// What it says.
    pub about: About,
    /// Which words of the command these are.
    pub words: Range<usize>,
}

/// Names of options, how many values each has, and what they say.
type Table = &'static [(&'static str, usize, About)];

/// Launchers of MPI libraries: no name means different things in two of them.
const MPIRUN: Table = &[
    ("n np c", 1, About::Count),
    ("host hosts hostlist machine machines machinelist H hosts-group", 1, About::HostList),
    ("hostfile machinefile f default-hostfile", 1, About::HostFile),
    ("N npernode npersocket ppn perhost grr", 1, About::PerHost),
    ("pernode rr", 0, About::PerHost),
    ("map-by mapby rank-by rankby rankfile rf rankmap ppr cpus-per-proc cpus-per-rank order-nodes", 1, About::Mapping),
    ("bynode byslot bycore nolocal skip-launch-node", 0, About::Mapping),
    ("bind-to bindto binding cpu-bind", 1, About::Binding),
    ("bind-to-core bind-to-socket", 0, About::Binding),
    ("app configfile", 1, About::Several),
    ("mca gmca prtemca pmixmca gprtemca gpmixmca env genv", 2, About::Other),
    ("am tune cartofile cf cpu-list cpu-set debugger dvm-uri display hnp launch-agent max-restarts max-vm-size", 1, About::Other),
    ("ompi-server output output-filename path personality prefix preload-files pset report-events report-pid report-uri", 1, About::Other),
    ("runtime-options stdin timeout wd wdir x xml-file xterm add-host add-hostfile keepalive with-ft", 1, About::Other),
    ("genvlist envlist bootstrap bootstrap-exec launcher launcher-exec rmk topolib membind demux iface output-from", 1, About::Other),
    ("prepend-pattern outfile-pattern errfile-pattern outfile errfile nameserver localhost usize gpus-per-proc g", 1, About::Other),
    ("gpu-subdevs-per-proc memory-alloc-kinds s gtool gtoolfile branch-count pmi-aggregate umask tmpdir", 1, About::Other),
];

/// Slurm's srun.
const SRUN: Table = &[
    ("n ntasks", 1, About::Count),
    ("w nodelist", 1, About::HostList),
    ("F nodefile", 1, About::HostFile),
    ("N nodes ntasks-per-node ntasks-per-core ntasks-per-socket", 1, About::PerHost),
    ("spread-job use-min-nodes", 0, About::PerHost),
    ("m distribution r relative x exclude", 1, About::Mapping),
    ("cpu-bind", 1, About::Binding),
    ("multi-prog", 0, About::Several),
    ("A account acctg-freq B extra-node-info bb bbf begin C constraint c cpus-per-task chdir D cluster-constraint", 1, About::Other),
    ("M clusters comment container core-spec S cores-per-socket cpu-freq cpus-per-gpu d dependency deadline delay-boot", 1, About::Other),
    ("e error epilog export G gpus gid gpu-bind gpu-freq gpus-per-node gpus-per-socket gpus-per-task gres gres-flags", 1, About::Other),
    ("hint i input J job-name jobid L licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu", 1, About::Other),
    ("mincpus mpi msg-timeout network ntasks-per-gpu o output open-mode p partition power prefer priority profile", 1, About::Other),
    ("prolog q qos reservation signal slurmd-debug sockets-per-node switches t time T threads task-epilog task-prolog", 1, About::Other),
    ("thread-spec threads-per-core time-min tmp tres-bind tres-per-task U uid W wait wckey", 1, About::Other),
];

/// The options between the launcher's word and the program.
pub fn given(command: &[String], launcher: usize) -> Vec<Given<'_>> {
    let is_srun = file_name(&command[launcher]) == "srun";
    let mut options = Vec::new();
    let mut at = launcher + 1;
    while let Some(option) = option(command, at, is_srun) {
        at = option.words.end;
        options.push(option);
    }
    options
}

/// The option that stands there, if one does.
fn option(command: &[String], at: usize, is_srun: bool) -> Option<Given<'_>> {
    let word = command.get(at)?.as_str();
    let bare = word.strip_prefix('-').filter(|rest| !rest.is_empty() && *rest != "-")?;
    if is_srun && !bare.starts_with('-') {
        return Some(short(command, at, bare));
    }
    let bare = bare.strip_prefix('-').unwrap_or(bare);
    let (name, within) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
    let (values, about) = known(if is_srun { SRUN } else { MPIRUN }, name);
    if let Some(value) = within {
        return Some(Given { name, value: Some(value), about, words: at..at + 1 });
    }
    // Hydra takes `-genv A=1` for `-genv A 1`
    let is_pair = |first: &String| name.ends_with("env") && first.contains('=');
    let values = if command.get(at + 1).is_some_and(is_pair) { values.min(1) } else { values };
    let end = (at + 1 + values).min(command.len());
    let value = (values > 0).then(|| command[at + 1..end].last().map(String::as_str)).flatten();
    let about = command.get(at + 1).filter(|_| values > 0).and_then(|first| of_variable(name, first)).unwrap_or(about);
    Some(Given { name, value, about, words: at..end })
}

/// Options of one letter, whose value may stand in the same word.
fn short<'a>(command: &'a [String], at: usize, bare: &'a str) -> Given<'a> {
    let letter = bare.chars().next().map_or(0, char::len_utf8);
    let (name, within) = bare.split_at(letter);
    let (values, about) = known(SRUN, name);
    if values == 0 || !within.is_empty() {
        return Given { name, value: (values > 0).then_some(within), about, words: at..at + 1 };
    }
    Given { name, value: command.get(at + 1).map(String::as_str), about, words: at..(at + 2).min(command.len()) }
}

fn known(table: Table, name: &str) -> (usize, About) {
    let found = table.iter().find(|(names, _, _)| names.split(' ').any(|known| known == name));
    found.map_or((0, About::Other), |(_, values, about)| (*values, *about))
}

/// What a parameter of Open MPI or a variable says that an option sets.
fn of_variable(option: &str, variable: &str) -> Option<About> {
    if option.ends_with("env") {
        return variable.starts_with("I_MPI_PIN").then_some(About::Binding);
    }
    if !option.ends_with("mca") || variable.contains("oversubscribe") {
        return None;
    }
    match variable {
        _ if variable.ends_with("default_hostfile") => Some(About::HostFile),
        _ if variable.ends_with("binding_policy") => Some(About::Binding),
        _ if variable.starts_with("rmaps") || variable == "orte_rankfile" => Some(About::Mapping),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    fn abouts(line: &str) -> Vec<(String, Option<String>, About)> {
        let told = |option: Given| (option.name.to_string(), option.value.map(String::from), option.about);
        given(&words(line), 0).into_iter().map(told).collect()
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let command = words("mpirun -n 4 -x PATH --mca btl tcp,self --map-by node ./app --map-by mine -n 7");
        let options = given(&command, 0);
        assert_eq!(options.last().map(|option| (option.name, option.words.clone())), Some(("map-by", 8..10)));
        assert_eq!(options.iter().filter(|option| option.about == About::Count).count(), 1);
    }

    #[test]
    fn parameters_and_variables_may_say_where_ranks_go() {
        let told =
            abouts("mpirun --mca rmaps seq --mca rmaps_base_oversubscribe 1 --mca hwloc_base_binding_policy none -genv I_MPI_PIN=0 ./a");
        let about: Vec<About> = told.iter().map(|option| option.2).collect();
        assert_eq!(about, [About::Mapping, About::Other, About::Binding, About::Binding]);
    }

    #[test]
    fn values_may_stand_in_the_same_word() {
        let one = |name: &str, value: &str, about| vec![(name.to_string(), Some(value.to_string()), about)];
        assert_eq!(abouts("srun -n4 ./a"), one("n", "4", About::Count));
        assert_eq!(abouts("srun -n 4 ./a"), one("n", "4", About::Count));
        assert_eq!(abouts("srun --ntasks=4 ./a -w x"), one("ntasks", "4", About::Count));
        assert_eq!(abouts("mpirun --host=a:2,b ./a"), one("host", "a:2,b", About::HostList));
        assert_eq!(abouts("mpiexec -genv A=1 ./a"), one("genv", "A=1", About::Other));
        assert_eq!(abouts("mpiexec -genv A 1 ./a"), one("genv", "1", About::Other));
    }

    #[test]
    fn commands_that_stop_in_the_middle_are_read_as_far_as_they_go() {
        for line in ["mpirun", "mpirun -n", "mpirun --mca", "mpirun --mca a", "srun -n", "srun -", "srun --", "mpirun -genv"] {
            assert!(given(&words(line), 0).iter().all(|option| option.words.end <= words(line).len()), "{line}");
        }
    }
}
