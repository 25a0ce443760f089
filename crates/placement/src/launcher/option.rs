//! Parses launcher options, to find those that affect placement.
//!
//! The number of values of each option must be known to find the program behind the options. Unknown options are assumed to have no value.
//! The names are those of `mpirun --help` (Open MPI 4.1 and 5.0), `mpiexec -h` (MPICH 4.0 and 5.0, Intel MPI 2021) and `man srun` (22.05).

use std::ops::Range;

use super::file_name;

/// The meaning of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionKind {
    /// Number of ranks.
    Count,
    /// A list of hosts.
    HostList,
    /// A file of hosts.
    HostFile,
    /// Ranks per host.
    PerHost,
    /// Mapping of ranks.
    Mapping,
    /// Binding to cores.
    Binding,
    /// Several programs.
    MultiplePrograms,
    /// Not related to placement.
    Other,
}

/// A launcher option of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LauncherOption<'a> {
    /// Its name without dashes.
    pub name: &'a str,
    /// Its last value.
    pub value: Option<&'a str>,
    /// Its meaning.
    pub kind: OptionKind,
    /// Its range in the command.
    pub words: Range<usize>,
}

/// Option names, their number of values, and their meaning.
type OptionTable = &'static [(&'static str, usize, OptionKind)];

/// Launchers of MPI libraries; no name has different meanings in two of them.
const MPIRUN: OptionTable = &[
    ("n np c", 1, OptionKind::Count),
    ("host hosts hostlist machine machines machinelist H hosts-group", 1, OptionKind::HostList),
    ("hostfile machinefile f default-hostfile", 1, OptionKind::HostFile),
    ("N npernode npersocket ppn perhost grr", 1, OptionKind::PerHost),
    ("pernode rr", 0, OptionKind::PerHost),
    ("map-by mapby rank-by rankby rankfile rf rankmap ppr cpus-per-proc cpus-per-rank order-nodes", 1, OptionKind::Mapping),
    ("bynode byslot bycore nolocal skip-launch-node", 0, OptionKind::Mapping),
    ("bind-to bindto binding cpu-bind", 1, OptionKind::Binding),
    ("bind-to-core bind-to-socket", 0, OptionKind::Binding),
    ("app configfile", 1, OptionKind::MultiplePrograms),
    ("mca gmca prtemca pmixmca gprtemca gpmixmca env genv", 2, OptionKind::Other),
    ("am tune cartofile cf cpu-list cpu-set debugger dvm-uri display hnp launch-agent max-restarts max-vm-size", 1, OptionKind::Other),
    (
        "ompi-server output output-filename path personality prefix preload-files pset report-events report-pid report-uri",
        1,
        OptionKind::Other,
    ),
    ("runtime-options stdin timeout wd wdir x xml-file xterm add-host add-hostfile keepalive with-ft", 1, OptionKind::Other),
    ("genvlist envlist bootstrap bootstrap-exec launcher launcher-exec rmk topolib membind demux iface output-from", 1, OptionKind::Other),
    ("prepend-pattern outfile-pattern errfile-pattern outfile errfile nameserver localhost usize gpus-per-proc g", 1, OptionKind::Other),
    ("gpu-subdevs-per-proc memory-alloc-kinds s gtool gtoolfile branch-count pmi-aggregate umask tmpdir", 1, OptionKind::Other),
];

/// Slurm's srun.
const SRUN: OptionTable = &[
    ("n ntasks", 1, OptionKind::Count),
    ("w nodelist", 1, OptionKind::HostList),
    ("F nodefile", 1, OptionKind::HostFile),
    ("N nodes ntasks-per-node ntasks-per-core ntasks-per-socket", 1, OptionKind::PerHost),
    ("spread-job use-min-nodes", 0, OptionKind::PerHost),
    ("m distribution r relative x exclude", 1, OptionKind::Mapping),
    ("cpu-bind", 1, OptionKind::Binding),
    ("multi-prog", 0, OptionKind::MultiplePrograms),
    ("A account acctg-freq B extra-node-info bb bbf begin C constraint c cpus-per-task chdir D cluster-constraint", 1, OptionKind::Other),
    (
        "M clusters comment container core-spec S cores-per-socket cpu-freq cpus-per-gpu d dependency deadline delay-boot",
        1,
        OptionKind::Other,
    ),
    (
        "e error epilog export G gpus gid gpu-bind gpu-freq gpus-per-node gpus-per-socket gpus-per-task gres gres-flags",
        1,
        OptionKind::Other,
    ),
    ("hint i input J job-name jobid L licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu", 1, OptionKind::Other),
    ("mincpus mpi msg-timeout network ntasks-per-gpu o output open-mode p partition power prefer priority profile", 1, OptionKind::Other),
    (
        "prolog q qos reservation signal slurmd-debug sockets-per-node switches t time T threads task-epilog task-prolog",
        1,
        OptionKind::Other,
    ),
    ("thread-spec threads-per-core time-min tmp tres-bind tres-per-task U uid W wait wckey", 1, OptionKind::Other),
];

/// The options between launcher and program.
pub(super) fn parse_options(command: &[String], launcher: usize) -> Vec<LauncherOption<'_>> {
    let is_srun = file_name(&command[launcher]) == "srun";
    let mut options = Vec::new();
    let mut at = launcher + 1;
    while let Some(option) = parse_option(command, at, is_srun) {
        at = option.words.end;
        options.push(option);
    }
    options
}

/// The option at this index, if there is one.
fn parse_option(command: &[String], at: usize, is_srun: bool) -> Option<LauncherOption<'_>> {
    let word = command.get(at)?.as_str();
    let bare = word.strip_prefix('-').filter(|rest| !rest.is_empty() && *rest != "-")?;
    if is_srun && !bare.starts_with('-') {
        return Some(parse_short_option(command, at, bare));
    }
    let bare = bare.strip_prefix('-').unwrap_or(bare);
    let (name, within) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
    let (values, about) = look_up(if is_srun { SRUN } else { MPIRUN }, name);
    if let Some(value) = within {
        return Some(LauncherOption { name, value: Some(value), kind: about, words: at..at + 1 });
    }
    // Hydra takes `-genv A=1` for `-genv A 1`
    let is_pair = |first: &String| name.ends_with("env") && first.contains('=');
    let values = if command.get(at + 1).is_some_and(is_pair) { values.min(1) } else { values };
    let end = (at + 1 + values).min(command.len());
    let value = (values > 0).then(|| command[at + 1..end].last().map(String::as_str)).flatten();
    let about = command.get(at + 1).filter(|_| values > 0).and_then(|first| kind_of_variable(name, first)).unwrap_or(about);
    Some(LauncherOption { name, value, kind: about, words: at..end })
}

/// A single-letter option, whose value may be in the same argument.
fn parse_short_option<'a>(command: &'a [String], at: usize, bare: &'a str) -> LauncherOption<'a> {
    let character = bare.chars().next().map_or(0, char::len_utf8);
    let (name, within) = bare.split_at(character);
    let (values, about) = look_up(SRUN, name);
    if values == 0 || !within.is_empty() {
        return LauncherOption { name, value: (values > 0).then_some(within), kind: about, words: at..at + 1 };
    }
    LauncherOption { name, value: command.get(at + 1).map(String::as_str), kind: about, words: at..(at + 2).min(command.len()) }
}

fn look_up(table: OptionTable, name: &str) -> (usize, OptionKind) {
    let found = table.iter().find(|(names, _, _)| names.split(' ').any(|known| known == name));
    found.map_or((0, OptionKind::Other), |(_, values, about)| (*values, *about))
}

/// The meaning of an MCA parameter or environment variable set by an option.
fn kind_of_variable(option: &str, variable: &str) -> Option<OptionKind> {
    if option.ends_with("env") {
        return variable.starts_with("I_MPI_PIN").then_some(OptionKind::Binding);
    }
    if !option.ends_with("mca") || variable.contains("oversubscribe") {
        return None;
    }
    match variable {
        _ if variable.ends_with("default_hostfile") => Some(OptionKind::HostFile),
        _ if variable.ends_with("binding_policy") => Some(OptionKind::Binding),
        _ if variable.starts_with("rmaps") || variable == "orte_rankfile" => Some(OptionKind::Mapping),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    fn abouts(line: &str) -> Vec<(String, Option<String>, OptionKind)> {
        let options = |option: LauncherOption| (option.name.to_string(), option.value.map(String::from), option.kind);
        parse_options(&words(line), 0).into_iter().map(options).collect()
    }

    #[test]
    fn options_end_where_the_program_begins() {
        let command = words("mpirun -n 4 -x PATH --mca btl tcp,self --map-by node ./app --map-by mine -n 7");
        let options = parse_options(&command, 0);
        assert_eq!(options.last().map(|option| (option.name, option.words.clone())), Some(("map-by", 8..10)));
        assert_eq!(options.iter().filter(|option| option.kind == OptionKind::Count).count(), 1);
    }

    #[test]
    fn parameters_and_variables_may_say_where_ranks_go() {
        let options =
            abouts("mpirun --mca rmaps seq --mca rmaps_base_oversubscribe 1 --mca hwloc_base_binding_policy none -genv I_MPI_PIN=0 ./a");
        let about: Vec<OptionKind> = options.iter().map(|option| option.2).collect();
        assert_eq!(about, [OptionKind::Mapping, OptionKind::Other, OptionKind::Binding, OptionKind::Binding]);
    }

    #[test]
    fn values_may_stand_in_the_same_word() {
        let one = |name: &str, value: &str, about| vec![(name.to_string(), Some(value.to_string()), about)];
        assert_eq!(abouts("srun -n4 ./a"), one("n", "4", OptionKind::Count));
        assert_eq!(abouts("srun -n 4 ./a"), one("n", "4", OptionKind::Count));
        assert_eq!(abouts("srun --ntasks=4 ./a -w x"), one("ntasks", "4", OptionKind::Count));
        assert_eq!(abouts("mpirun --host=a:2,b ./a"), one("host", "a:2,b", OptionKind::HostList));
        assert_eq!(abouts("mpiexec -genv A=1 ./a"), one("genv", "A=1", OptionKind::Other));
        assert_eq!(abouts("mpiexec -genv A 1 ./a"), one("genv", "1", OptionKind::Other));
    }

    #[test]
    fn commands_that_stop_in_the_middle_are_read_as_far_as_they_go() {
        for line in ["mpirun", "mpirun -n", "mpirun --mca", "mpirun --mca a", "srun -n", "srun -", "srun --", "mpirun -genv"] {
            assert!(parse_options(&words(line), 0).iter().all(|option| option.words.end <= words(line).len()), "{line}");
        }
    }
}
