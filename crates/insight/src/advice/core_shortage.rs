//! Ranks that had no core to run on: what to change in the way the program is started, or in what the job is given.
//!
//! No saving is promised: how long the run takes with enough cores does not follow from a run without them.

use sintonia_program::core_shortage::{CoreShortage, ShortageCause};
use sintonia_recording::header::RecordingHeader;
use sintonia_text::quantity::format_percent;

use super::phrases::{capitalise, format_ns};
use super::{Advice, AdviceText};
use crate::SourceLocation;
use crate::core_time::CoreFindings;

/// Identifier.
pub const KIND: &str = "core_shortage";
/// Name.
pub const NAME: &str = "no core to run on";
/// Explanation, in a few sentences.
pub const HELP: &str = "Ranks were ready to run and had no core: more ranks than cores, ranks bound to the same core, a CPU quota, or \
    another job on the host. Such a rank seems to compute longer, to send late or to have a slow network, and those that wait for it \
    seem to wait for the program. So advice is held back if missing cores explain what it would save. Start the program with a core for \
    each rank, and record it again. No saving is estimated: how long the run takes with enough cores does not follow from a run without \
    them.";

/// The launcher's family, which decides the options to name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Launcher {
    OpenMpi,
    Hydra,
    Other,
}

/// One piece of advice for each cause.
pub(super) fn advice(header: &RecordingHeader, cores: &CoreFindings) -> Vec<Advice> {
    let Some(shortage) = cores.shortage() else { return Vec::new() };
    shortage.causes.iter().map(|cause| new(header, shortage, cause)).collect()
}

fn new(header: &RecordingHeader, shortage: &CoreShortage, cause: &ShortageCause) -> Advice {
    let share = format_percent(shortage.share_of(cause.ranks()));
    let what = format!("{}.", cause.in_words(header));
    let launcher = Launcher::of(header);
    let AdviceText { what, evidence, try_this } = match cause {
        ShortageCause::Oversubscribed { processors, host_processors, threads, ranks, .. } => AdviceText {
            what,
            evidence: format!("they may run on {} of {}", format_processors(processors), host_processors.len().max(processors.len())),
            try_this: fewer_ranks(
                launcher,
                header,
                processors.len(),
                host_processors.len(),
                (*threads as usize).div_ceil(ranks.len().max(1)),
            ),
        },
        ShortageCause::SharedProcessors { processors, free, .. } => {
            let free = if free.is_empty() { String::new() } else { format!("; no rank is bound to {}", format_processors(free)) };
            AdviceText {
                what,
                evidence: format!("bound to {}{free}", format_processors(processors)),
                try_this: bind_apart(launcher, header),
            }
        }
        ShortageCause::Quota { quota, group, throttled_ns, .. } => {
            let group = group.as_deref().map(|group| format!(" {group}")).unwrap_or_default();
            let evidence = format!("the control group{group} was stopped for {}", format_ns((*throttled_ns).min(i64::MAX as u64) as i64));
            AdviceText { what, evidence, try_this: raise_quota(*quota) }
        }
        ShortageCause::OtherWork { used, load_at_start, processors, .. } => {
            let load = load_at_start.map(|load| format!("; the load average was {load:.1} when the run began")).unwrap_or_default();
            let evidence = format!("something else used {used:.1} of {} on average{load}", format_processors(processors));
            AdviceText { what, evidence, try_this: be_alone(launcher) }
        }
    };
    let basis = "none: a run without enough cores does not tell how long one with them takes".into();
    let source = SourceLocation::default();
    let whose = if cause.is_about_one_rank() { "its" } else { "their" };
    Advice {
        kind: KIND,
        what,
        source,
        evidence: format!("{}; no core for {share} of {whose} time.", capitalise(&evidence)),
        try_this,
        saving: None,
        together_s: None,
        basis,
    }
}

impl Launcher {
    fn of(header: &RecordingHeader) -> Launcher {
        match header.mpi.abi.as_str() {
            "openmpi" => Launcher::OpenMpi,
            "mpich" => Launcher::Hydra,
            _ => Launcher::Other,
        }
    }
}

fn fewer_ranks(launcher: Launcher, header: &RecordingHeader, processors: usize, online: usize, threads_per_rank: usize) -> String {
    let ranks = (processors / threads_per_rank.max(1)).max(1);
    let how = match (launcher, header.hosts.len() > 1) {
        (Launcher::OpenMpi, false) => format!("`mpirun -n {ranks} --bind-to core`"),
        (Launcher::OpenMpi, true) => format!("`mpirun --map-by ppr:{ranks}:node --bind-to core`"),
        (Launcher::Hydra, false) => format!("`mpirun -n {ranks} -bind-to core`"),
        (Launcher::Hydra, true) => format!("`mpirun -ppn {ranks} -bind-to core`"),
        (Launcher::Other, _) => format!("{ranks} per host, each bound to a core"),
    };
    let more = match online > processors {
        true => format!(
            " The host has {online} processors: ask the scheduler for more of them, or remove what limits the ranks to {processors}."
        ),
        false => " Or use more hosts.".into(),
    };
    format!("Start at most {ranks} ranks on such a host: {how}.{more} Then record again.")
}

fn bind_apart(launcher: Launcher, header: &RecordingHeader) -> String {
    let options = match launcher {
        Launcher::OpenMpi => "`mpirun --map-by core --bind-to core`; `--report-bindings` shows the result",
        Launcher::Hydra => "`mpirun -bind-to core -map-by core` (Intel MPI: `I_MPI_PIN_DOMAIN=core`, and `I_MPI_DEBUG=4` shows the result)",
        Launcher::Other => "the launcher's option that binds each rank to a core",
    };
    match binding_option(&header.command) {
        Some(option) => format!("Remove `{option}` from the command and give each rank a core of its own: {options}."),
        None => format!("Give each rank a core of its own: {options}."),
    }
}

/// The part of a command that binds processes by hand.
fn binding_option(command: &[String]) -> Option<String> {
    const WITH_VALUE: [&str; 7] = ["--cpu-set", "-cpu-set", "--cpu-list", "-cpu-list", "--rankfile", "-rankfile", "-rf"];
    let words = |at: usize| -> (&str, &str) { (&command[at], command.get(at + 1).map_or("", String::as_str)) };
    let length = |at: usize| match words(at) {
        ("taskset", _) => Some(3),
        ("numactl", _) => Some(2),
        ("-bind-to" | "--bind-to", list) if list.starts_with("user:") => Some(2),
        (option, _) if WITH_VALUE.contains(&option) => Some(2),
        _ => None,
    };
    let (at, length) = (0..command.len()).find_map(|at| Some((at, length(at)?)))?;
    Some(command[at..].iter().take(length).cloned().collect::<Vec<_>>().join(" "))
}

fn raise_quota(quota: f64) -> String {
    let fit = (quota.floor() as u64).max(1);
    format!(
        "Raise the quota (`docker run --cpus`, a pod's CPU limit, systemd's CPUQuota, the scheduler's number of cores) to one core per \
         thread, or start at most {fit} rank{}. Then record again.",
        if fit == 1 { "" } else { "s" }
    )
}

fn be_alone(launcher: Launcher) -> String {
    let binding = match launcher {
        Launcher::OpenMpi => "Two mpiruns bind to the same first cores: give them different ones (`--cpu-set`).",
        Launcher::Hydra => "Two mpiruns with `-bind-to core` use the same first cores: give them different ones.",
        Launcher::Other => "Two MPI jobs may be bound to the same cores.",
    };
    format!(
        "Ask for the host alone (Slurm: `--exclusive`), or see what else runs there (`top`). {binding} Threads that do not call MPI need \
         cores too (OMP_NUM_THREADS)."
    )
}

/// `processor 0`, or several as ranges: `processors 0-3, 8`.
fn format_processors(numbers: &[u32]) -> String {
    let plain: Vec<i32> = numbers.iter().filter_map(|number| i32::try_from(*number).ok()).collect();
    let list = sintonia_recording::definitions::format_ranks(&plain).replace(',', ", ");
    format!("processor{} {list}", if numbers.len() == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_that_binds_by_hand_is_found_in_the_command() {
        let found = |command: &str| binding_option(&command.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(found("mpirun -n 2 --bind-to core --cpu-set 0 ./a"), Some("--cpu-set 0".into()));
        assert_eq!(found("mpirun -bind-to user:0,0 -n 2 ./a"), Some("-bind-to user:0,0".into()));
        assert_eq!(found("mpirun -n 2 taskset -c 0 ./a"), Some("taskset -c 0".into()));
        assert_eq!(found("mpirun --bind-to core ./a"), None);
    }

    #[test]
    fn one_processor_is_one() {
        assert_eq!([format_processors(&[0]), format_processors(&[0, 1, 4])], ["processor 0", "processors 0-1, 4"]);
    }

    #[test]
    fn as_many_ranks_are_proposed_as_have_cores_for_their_threads() {
        let header = RecordingHeader { hosts: vec!["a".into()], ..RecordingHeader::default() };
        let openmpi = fewer_ranks(Launcher::OpenMpi, &header, 2, 2, 1);
        assert!(openmpi.starts_with("Start at most 2 ranks on such a host: `mpirun -n 2 --bind-to core`. Or use more hosts."), "{openmpi}");
        let hybrid = fewer_ranks(Launcher::Hydra, &header, 8, 16, 4);
        assert!(hybrid.contains("`mpirun -n 2 -bind-to core`. The host has 16 processors"), "{hybrid}");
    }
}
