//! What a running launcher tells of the hosts of its program: their names, how it reaches them, and how to recognise its daemons there.

use std::path::PathBuf;

use sintonia_link::{host_name, local_addresses};
use sintonia_placement::launcher::{available_hosts, is_same_host};

/// Options of launchers that select the remote shell.
const AGENT_OPTIONS: [&str; 4] = ["plm_rsh_agent", "plm_ssh_agent", "launcher-exec", "bootstrap-exec"];
/// Environment variables for the same.
const AGENT_VARIABLES: [&str; 4] =
    ["OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];
/// Options of the launcher's daemons whose value identifies the job: Open MPI 4 and 5, Hydra.
const JOB_OPTIONS: [&str; 4] = ["ess_base_jobid", "ess_base_nspace", "--control-port", "--upstream-port"];

/// The other hosts of a running program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LauncherHosts {
    /// The remote shell with its options.
    pub agent: Vec<String>,
    /// The hosts besides this one.
    pub hosts: Vec<String>,
    /// Words that the command lines of the launcher's daemons have, and those of no other job.
    pub job_marks: Vec<String>,
}

impl LauncherHosts {
    /// The other hosts of a launcher on this host; none if it is no launcher.
    pub(super) fn find(process: u32) -> LauncherHosts {
        let command = command_line(process);
        let environment = sintonia_inject::environment(process);
        let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let children: Vec<Vec<String>> = sintonia_inject::children(process).into_iter().map(command_line).collect();
        let listed = available_hosts(&absolute_paths(process, &command), &variable).ok().flatten().unwrap_or_default();
        let mut hosts: Vec<String> = listed.into_iter().map(|host| host.name).collect();
        hosts.extend(children.iter().filter_map(|child| remote_shell_host(child)));
        hosts.extend(split_host_list(&command, children.iter().filter(|child| job_mark(child).is_some()).count()));
        let mut others: Vec<String> = Vec::new();
        for host in hosts {
            if !is_this_host(&host) && !others.iter().any(|known| is_same_host(known, &host)) {
                others.push(host);
            }
        }
        let mut job_marks: Vec<String> = children.iter().filter_map(|child| job_mark(child)).collect();
        job_marks.sort_unstable();
        job_marks.dedup();
        LauncherHosts { agent: remote_shell(&command, &variable), hosts: others, job_marks }
    }
}

/// The words of a command line.
pub(super) fn command_line(process: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The command with paths of files relative to the launcher's directory made absolute: a file with hosts may be among them.
fn absolute_paths(process: u32, command: &[String]) -> Vec<String> {
    let folder = PathBuf::from(format!("/proc/{process}/cwd"));
    let absolute = |word: &String| {
        let path = folder.join(word);
        if !word.starts_with(['/', '-']) && path.is_file() { path.display().to_string() } else { word.clone() }
    };
    // The launcher itself stays as it is.
    command.iter().take(1).cloned().chain(command.iter().skip(1).map(absolute)).collect()
}

/// The remote shell of a launcher, with its options.
fn remote_shell(command: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let is_agent = |word: &String| AGENT_OPTIONS.contains(&word.trim_start_matches('-'));
    let option = command.iter().position(is_agent).and_then(|at| command.get(at + 1)).cloned();
    let agent = option.or_else(|| AGENT_VARIABLES.iter().find_map(|name| variable(name)));
    // Open MPI takes a list, of which it uses the first that exists.
    let words = |text: String| text.split(':').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    agent.map(words).filter(|words| !words.is_empty()).unwrap_or_else(|| vec!["ssh".into()])
}

/// The host that a remote shell was called for.
fn remote_shell_host(command: &[String]) -> Option<String> {
    /// Options of ssh with a value.
    const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
    let (shell, mut words) = (command.first()?, command.iter().skip(1));
    if !["ssh", "rsh"].contains(&shell.rsplit('/').next().unwrap_or_default()) {
        return None;
    }
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return word.rsplit('@').next().map(str::to_owned),
            Some(option) if option.len() == 1 && WITH_VALUE.contains(option) => drop(words.next()),
            Some(_) => {}
        }
    }
    None
}

/// The hosts of a list that Hydra has split in its own memory, and so in its command line: `-hosts a 2 b 1`. It has one daemon for each.
fn split_host_list(command: &[String], daemons: usize) -> Vec<String> {
    let Some(option) = command.iter().position(|word| matches!(word.as_str(), "-hosts" | "-host")) else { return Vec::new() };
    let values = command[option + 1..].iter().take_while(|word| !word.starts_with('-'));
    let names = values.filter(|word| !word.contains([',', ':']) && word.parse::<u32>().is_err());
    names.take(daemons).cloned().collect()
}

/// What identifies the job in the command line of a daemon, or of the shell that started it.
fn job_mark(command: &[String]) -> Option<String> {
    let text = command.join(" ");
    let mut words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.find(|word| JOB_OPTIONS.contains(word))?;
    words.next().map(str::to_owned)
}

/// Whether the command line of a daemon belongs to one of these jobs.
pub(super) fn has_mark(command: &[String], marks: &[String]) -> bool {
    job_mark(command).is_some_and(|mark| marks.contains(&mark))
}

fn is_this_host(name: &str) -> bool {
    let is_own_address = name.parse().is_ok_and(|address| local_addresses().contains(&address));
    is_own_address || name == "localhost" || is_same_host(name, &host_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_remote_shell_is_the_launchers() {
        let none = |_: &str| None;
        assert_eq!(remote_shell(&words("mpirun -n 4 ./x"), &none), ["ssh"]);
        let line = "mpirun --mca plm_rsh_agent /opt/oarsh -n 4 ./x";
        assert_eq!(remote_shell(&words(line), &none), ["/opt/oarsh"]);
        assert_eq!(remote_shell(&words("mpiexec -launcher ssh -launcher-exec /opt/agent ./x"), &none), ["/opt/agent"]);
        let set = |name: &str| (name == "OMPI_MCA_plm_rsh_agent").then(|| "ssh -p 2222 : rsh".to_owned());
        assert_eq!(remote_shell(&words("mpirun ./x"), &set), ["ssh", "-p", "2222"]);
    }

    #[test]
    fn hosts_and_jobs_are_read_from_the_launchers_children() {
        let orted = words("/usr/bin/ssh -x -p 22 me@node7 orted -mca ess \"env\" -mca ess_base_jobid \"716963840\" -mca ess_base_vpid 1");
        assert_eq!((remote_shell_host(&orted), job_mark(&orted)), (Some("node7".into()), Some("716963840".into())));
        let proxy = words("sh -c \"/usr/bin/hydra_pmi_proxy\" --control-port 10.78.0.254:40107 --rmk user --proxy-id 0");
        assert_eq!((remote_shell_host(&proxy), job_mark(&proxy)), (None, Some("10.78.0.254:40107".into())));
        assert!(has_mark(&proxy, &["10.78.0.254:40107".into()]) && !has_mark(&orted, &["10.78.0.254:40107".into()]));
        assert_eq!(job_mark(&words("./solver --control 3")), None);
        assert_eq!(split_host_list(&words("mpiexec -hosts a 2 b 1 -n 3 ./x"), 2), ["a", "b"]);
        assert_eq!(split_host_list(&words("mpiexec -n 2 -hosts a b ./x"), 2), ["a", "b"]);
        assert!(split_host_list(&words("mpiexec -hosts a:2,b:1 ./x"), 0).is_empty());
    }
}
