//! Finds the hosts on which a command may run: from its options, from a file they name, or from the batch system.

mod batch_system;
mod host_list;
mod hostfile;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use super::option::{LauncherOption, OptionKind, parse_options};
use super::{Error, file_name, launcher_index};
use crate::cluster::Host;

pub use host_list::parse_hosts;

/// Hosts with their slots, in order of appearance, each once.
#[derive(Debug, Default)]
struct HostSlotCounts {
    hosts: Vec<(String, u32)>,
    indices: HashMap<String, usize>,
}

impl HostSlotCounts {
    /// Adds slots to a host.
    fn add(&mut self, name: &str, slots: u32) {
        match self.indices.get(name) {
            Some(index) => self.hosts[*index].1 = self.hosts[*index].1.saturating_add(slots),
            None => {
                self.indices.insert(name.to_owned(), self.hosts.len());
                self.hosts.push((name.to_owned(), slots));
            }
        }
    }

    fn into_hosts(self) -> Vec<Host> {
        self.hosts.into_iter().map(|(name, slots)| Host::new(name, slots)).collect()
    }
}

/// The hosts a command may use with their slots; `None` if unknown. A host without a number has one slot per mention.
pub fn available_hosts(original: &[String], environment: &dyn Fn(&str) -> Option<String>) -> Result<Option<Vec<Host>>, Error> {
    let launcher = launcher_index(original);
    let options = launcher.map(|launcher| parse_options(original, launcher)).unwrap_or_default();
    let is_srun = launcher.is_some_and(|launcher| file_name(&original[launcher]) == "srun");
    let around = batch_system::job_hosts(environment, is_srun)?;
    let (listed, filed) = (hosts_from_lists(&options)?, hosts_from_files(&options)?);
    Ok(match (listed, filed) {
        // srun's own list has names only
        (Some(listed), None) if is_srun => Some(around.map_or(listed.clone(), |around| intersect(&around, &listed))),
        (Some(listed), Some(filed)) => Some(intersect(&filed, &listed)),
        (Some(hosts), None) | (None, Some(hosts)) => Some(hosts),
        (None, None) => around,
    })
}

/// The names in `hosts` that a launcher's own list lacks. A short and a full name are the same host.
pub fn missing_hosts(hosts: &[Host], to: &[Host]) -> Vec<String> {
    let is_known = |host: &&Host| to.iter().any(|known| is_same_host(&host.name, &known.name));
    hosts.iter().filter(|host| !is_known(host)).map(|host| host.name.clone()).collect()
}

/// The hosts that are in the list; the list itself if there are none.
fn intersect(hosts: &[Host], list: &[Host]) -> Vec<Host> {
    let is_listed = |host: &&Host| list.iter().any(|listed| is_same_host(&host.name, &listed.name));
    let both: Vec<Host> = hosts.iter().filter(is_listed).cloned().collect();
    if both.is_empty() { list.to_vec() } else { both }
}

/// Whether two names denote the same host; one may be short and the other fully qualified.
pub fn is_same_host(a: &str, b: &str) -> bool {
    let is_short = |name: &str| !name.contains('.');
    let head =
        |name: &str| if name.parse::<IpAddr>().is_ok() { name.to_owned() } else { name.split('.').next().unwrap_or(name).to_owned() };
    a.eq_ignore_ascii_case(b) || ((is_short(a) || is_short(b)) && head(a).eq_ignore_ascii_case(&head(b)))
}

fn hosts_from_lists(options: &[LauncherOption]) -> Result<Option<Vec<Host>>, Error> {
    let mut all = HostSlotCounts::default();
    for (option, text) in
        options.iter().filter(|option| option.kind == OptionKind::HostList).filter_map(|option| Some((option, option.value?)))
    {
        let (dashes, name) = (if option.name.len() > 1 { "--" } else { "-" }, option.name);
        let entries = host_list::parse_entries(text).map_err(|fault| Error::in_list(&format!("{dashes}{name}"), text, fault))?;
        entries.iter().for_each(|entry| all.add(&entry.name, entry.slots));
    }
    Ok(Some(all.into_hosts()).filter(|hosts| !hosts.is_empty()))
}

fn hosts_from_files(options: &[LauncherOption]) -> Result<Option<Vec<Host>>, Error> {
    let named = options.iter().filter(|option| option.kind == OptionKind::HostFile).filter_map(|option| option.value);
    let ranked = options.iter().filter_map(rankfile_path);
    named.chain(ranked).next().map(|path| hostfile::read_hosts(Path::new(path))).transpose()
}

/// The rankfile named by an option.
fn rankfile_path<'a>(option: &LauncherOption<'a>) -> Option<&'a str> {
    match option.name {
        "rankfile" | "rf" => option.value,
        "map-by" | "mapby" => option.value?.strip_prefix("rankfile:file="),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    fn named(hosts: &[Host]) -> Vec<(&str, u32)> {
        hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect()
    }

    fn of(line: &str, environment: &dyn Fn(&str) -> Option<String>) -> Vec<(String, u32)> {
        let found = available_hosts(&words(line), environment).expect("hosts").expect("some");
        found.into_iter().map(|host| (host.name, host.slots)).collect()
    }

    #[test]
    fn a_command_says_its_hosts() {
        let expected = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        for line in [
            "mpirun --host a:2,b ./x",
            "mpirun -H a,b,a -n 3 ./x --host z",
            "mpirun --host a --host b --host a ./x",
            "mpiexec -hosts a:1,b:1,a:1 ./x",
            "env A=b mpiexec -hosts a:2,b:1 ./x",
        ] {
            assert_eq!(of(line, &nothing), expected, "{line}");
        }
        assert_eq!(available_hosts(&words("mpirun -n 4 ./x --host z"), &nothing).expect("no fault"), None);
        assert_eq!(available_hosts(&words("./x --host z"), &nothing).expect("no fault"), None);
    }

    #[test]
    fn a_command_names_a_file_with_its_hosts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hosts").display().to_string();
        let expected = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        for text in
            ["a slots=2\nb\n", "a:2\nb:1\n", "a\nb\na\n", "# x\n\n a slots = 2 max_slots=4\nb # y\n", "a:1 binding=user:0\nb\na:1\n"]
        {
            std::fs::write(&path, text).expect("a file");
            for line in ["mpirun --hostfile FILE ./x", "mpiexec -f FILE ./x", "mpiexec -machinefile FILE ./x"] {
                assert_eq!(of(&line.replace("FILE", &path), &nothing), expected, "{line}: {text:?}");
            }
        }
        assert_eq!(of(&format!("mpirun --hostfile {path} --host b,c ./x"), &nothing), [("b".to_owned(), 1)]);
        std::fs::write(&path, "rank 0=a slot=1\nrank 2=a slot=0\nrank 1=b slot=0:1\n").expect("a file");
        for line in ["mpirun --rankfile FILE ./x", "mpirun --map-by rankfile:file=FILE ./x"] {
            assert_eq!(of(&line.replace("FILE", &path), &nothing), expected, "{line}");
        }
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let error = |line: &str| available_hosts(&words(line), &nothing).expect_err(line).to_string();
        assert_eq!(error("mpirun --host a:2,b:x ./x"), "--host, character 7: `x` is not a number of slots\n    a:2,b:x\n          ^");
        assert!(error("mpirun --hostfile /no/such/file ./x").starts_with("/no/such/file: No such file"));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hosts").display().to_string();
        std::fs::write(&path, "a\nb slots=none\n").expect("a file");
        let text = error(&format!("mpirun --hostfile {path} ./x"));
        assert_eq!(text, format!("{path}:2:9: `none` is not a number of slots\n    b slots=none\n            ^^^^"));
    }

    #[test]
    fn a_batch_system_says_the_hosts_of_a_command_that_does_not() {
        let slurm = |name: &str| match name {
            "SLURM_JOB_NODELIST" => Some("n[01-03],x".to_owned()),
            "SLURM_TASKS_PER_NODE" => Some("4(x3),2".to_owned()),
            _ => None,
        };
        let all = [("n01", 4), ("n02", 4), ("n03", 4), ("x", 2)].map(|(name, slots)| (name.to_owned(), slots));
        assert_eq!(of("mpirun ./x", &slurm), all);
        assert_eq!(of("srun -w n03,x ./x", &slurm), all[2..]);
        assert_eq!(of("mpirun --host y:3 ./x", &slurm), [("y".to_owned(), 3)]);
    }

    #[test]
    fn short_and_full_names_are_one_host() {
        let list = |names: &[&str]| names.iter().map(|name| Host::new(*name, 1)).collect::<Vec<_>>();
        let known = list(&["n1.cluster.org", "n2", "10.0.0.1"]);
        assert_eq!(missing_hosts(&list(&["n1", "N2.cluster.org", "n1.cluster.org", "10.0.0.1"]), &known), Vec::<String>::new());
        assert_eq!(missing_hosts(&list(&["n3", "n1.other.org", "10", "10.0.0.2"]), &known), ["n3", "n1.other.org", "10", "10.0.0.2"]);
    }

    #[test]
    fn hosts_are_listed_by_a_user() {
        let hosts = parse_hosts("nodeA:4,nodeB,node[01-03]:8").expect("hosts");
        assert_eq!(named(&hosts), [("nodeA", 4), ("nodeB", 1), ("node01", 8), ("node02", 8), ("node03", 8)]);
    }
}
