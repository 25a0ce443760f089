//! The hosts a batch system (Slurm, PBS, LSF) has allocated to a job, from its environment variables.

use std::path::Path;

use super::{HostSlotCounts, host_list, hostfile};
use crate::cluster::Host;
use crate::launcher::error::HostFault;
use crate::launcher::{Error, HostSyntaxError};

/// More repetitions than this are an input error.
const MAX_COUNTS: usize = 1_000_000;

/// The hosts of the job with these variables; srun reads its own file first.
pub(super) fn job_hosts(environment: &dyn Fn(&str) -> Option<String>, is_srun: bool) -> Result<Option<Vec<Host>>, Error> {
    let variable = |name: &'static str| environment(name).filter(|value| !value.trim().is_empty()).map(|value| (name, value));
    if let Some((_, path)) = variable("SLURM_HOSTFILE").filter(|_| is_srun) {
        return hostfile::read_hosts(Path::new(&path)).map(Some);
    }
    if let Some((name, nodes)) = variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST")) {
        let counts = variable("SLURM_TASKS_PER_NODE").or_else(|| variable("SLURM_JOB_CPUS_PER_NODE"));
        return slurm_hosts((name, &nodes), counts.as_ref().map(|(name, counts)| (*name, counts.as_str()))).map(Some);
    }
    if let Some((_, path)) = variable("PBS_NODEFILE") {
        return hostfile::read_hosts(Path::new(&path)).map(Some);
    }
    let lsf = |(name, value): (&str, String)| parse_lsf_hosts(&value).map_err(|fault| Error::in_list(name, &value, fault));
    variable("LSB_MCPU_HOSTS").map(lsf).transpose()
}

/// Slurm's nodes with their number of tasks, if given.
fn slurm_hosts((name, nodes): (&str, &str), counts: Option<(&str, &str)>) -> Result<Vec<Host>, Error> {
    let entries = host_list::parse_entries(nodes).map_err(|fault| Error::in_list(name, nodes, fault))?;
    let Some((name, text)) = counts else {
        return Ok(entries.into_iter().map(|entry| Host::new(entry.name, entry.slots)).collect());
    };
    let counts = expand_counts(text).map_err(|fault| Error::in_list(name, text, fault))?;
    if counts.len() != entries.len() {
        let reason = HostSyntaxError::Counts { counts: counts.len(), hosts: entries.len() };
        return Err(Error::in_list(name, text, (0..text.len(), reason)));
    }
    Ok(entries.into_iter().zip(counts).map(|(entry, slots)| Host::new(entry.name, slots)).collect())
}

/// The numbers of `4(x3),2`.
fn expand_counts(text: &str) -> Result<Vec<u32>, HostFault> {
    let mut counts = Vec::new();
    for part in host_list::split_commas(text)? {
        let whole = &text[part.clone()];
        let (number, times) = match whole.split_once("(x") {
            None => (part.clone(), 1),
            Some((number, times)) => {
                let times = times.strip_suffix(')').and_then(|times| times.parse().ok());
                (part.start..part.start + number.len(), times.ok_or_else(|| (part.clone(), HostSyntaxError::Slots(whole.to_owned())))?)
            }
        };
        let slots = host_list::parse_slots(text, number)?;
        if counts.len().saturating_add(times) > MAX_COUNTS {
            return Err((part, HostSyntaxError::TooMany(MAX_COUNTS)));
        }
        counts.extend(std::iter::repeat_n(slots, times));
    }
    Ok(counts)
}

/// LSF's hosts: `hostA 4 hostB 2`.
fn parse_lsf_hosts(text: &str) -> Result<Vec<Host>, HostFault> {
    let mut hosts = HostSlotCounts::default();
    let mut words = text.split_whitespace().map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    });
    while let Some(name) = words.next() {
        let slots = words.next().unwrap_or(text.len()..text.len());
        let slots = host_list::parse_slots(text, slots)?;
        host_list::expand_names(text, name)?.iter().for_each(|name| hosts.add(name, slots));
    }
    Ok(hosts.into_hosts())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], is_srun: bool) -> Result<Option<Vec<(String, u32)>>, Error> {
        let environment = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let named = |hosts: Vec<Host>| hosts.into_iter().map(|host| (host.name, host.slots)).collect();
        job_hosts(&environment, is_srun).map(|hosts| hosts.map(named))
    }

    fn all(expected: &[(&str, u32)]) -> Option<Vec<(String, u32)>> {
        Some(expected.iter().map(|(name, slots)| (name.to_string(), *slots)).collect())
    }

    #[test]
    fn slurm_tells_nodes_and_tasks() {
        let options = of(&[("SLURM_JOB_NODELIST", "node[01-02,07],x"), ("SLURM_TASKS_PER_NODE", "4(x3),2")], false);
        assert_eq!(options.expect("hosts"), all(&[("node01", 4), ("node02", 4), ("node07", 4), ("x", 2)]));
        let options = of(&[("SLURM_NODELIST", "x"), ("SLURM_JOB_CPUS_PER_NODE", "16")], false);
        assert_eq!(options.expect("hosts"), all(&[("x", 16)]));
    }

    #[test]
    fn numbers_that_do_not_fit_the_nodes_are_a_fault() {
        let fault = |counts: &str| {
            let options = of(&[("SLURM_JOB_NODELIST", "n[1-3]"), ("SLURM_TASKS_PER_NODE", counts)], false);
            options.expect_err(counts).to_string().lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(fault("4(x2)"), "SLURM_TASKS_PER_NODE, character 1: slot counts for 2 hosts, but there are 3 hosts");
        assert_eq!(fault("4,4(y2)"), "SLURM_TASKS_PER_NODE, character 3: `4(y2)` is not a number of slots");
        assert_eq!(fault("4(x99999999999999)"), "SLURM_TASKS_PER_NODE, character 1: more than 1000000 hosts");
    }

    #[test]
    fn pbs_names_a_file_and_lsf_tells_pairs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("nodes").display().to_string();
        std::fs::write(&path, "b\nb\na\nb\n").expect("a file");
        assert_eq!(of(&[("PBS_NODEFILE", &path)], false).expect("hosts"), all(&[("b", 3), ("a", 1)]));
        assert_eq!(of(&[("LSB_MCPU_HOSTS", "a 4 b 2 a 1")], false).expect("hosts"), all(&[("a", 5), ("b", 2)]));
        let fault = of(&[("LSB_MCPU_HOSTS", "a 4 b")], false).expect_err("no number").to_string();
        assert!(fault.starts_with("LSB_MCPU_HOSTS, character 6: `` is not a number of slots"), "{fault}");
    }

    #[test]
    fn only_srun_reads_its_own_file_of_hosts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hosts").display().to_string();
        std::fs::write(&path, "b\na\nb\n").expect("a file");
        let variables = [("SLURM_HOSTFILE", path.as_str()), ("SLURM_JOB_NODELIST", "c")];
        assert_eq!(of(&variables, true).expect("hosts"), all(&[("b", 2), ("a", 1)]));
        assert_eq!(of(&variables, false).expect("hosts"), all(&[("c", 1)]));
    }

    #[test]
    fn without_a_batch_system_nobody_tells() {
        assert_eq!(of(&[("PBS_NODEFILE", "")], false).expect("nothing"), None);
    }
}
