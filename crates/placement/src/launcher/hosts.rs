//! On which hosts a command may run: what it says itself, what a file says that it names, or what the batch system says around it.

mod batch;
mod file;
mod list;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use super::option::{About, Given, given};
use super::{Error, file_name, position};
use crate::cluster::Host;

pub use list::parse_hosts;

/// Names of hosts with slots, in the order they came, each once.
#[derive(Debug, Default)]
struct Counted {
    hosts: Vec<(String, u32)>,
    places: HashMap<String, usize>,
}

impl Counted {
    /// So many slots more on a host.
    fn add(&mut self, name: &str, slots: u32) {
        match self.places.get(name) {
            Some(place) => self.hosts[*place].1 = self.hosts[*place].1.saturating_add(slots),
            None => {
                self.places.insert(name.to_owned(), self.hosts.len());
                self.hosts.push((name.to_owned(), slots));
            }
        }
    }

    fn hosts(self) -> Vec<Host> {
        self.hosts.into_iter().map(|(name, slots)| Host::plain(name, slots)).collect()
    }
}

/// The hosts that a command may use and how many ranks each has room for; none if nobody says. A host without a number has one slot for each
/// time it is named.
pub fn hosts(original: &[String], environment: &dyn Fn(&str) -> Option<String>) -> Result<Option<Vec<Host>>, Error> {
    let launcher = position(original);
    let options = launcher.map(|launcher| given(original, launcher)).unwrap_or_default();
    let is_srun = launcher.is_some_and(|launcher| file_name(&original[launcher]) == "srun");
    let around = batch::hosts(environment, is_srun)?;
    let (listed, filed) = (of_lists(&options)?, of_files(&options)?);
    Ok(match (listed, filed) {
        // srun's own list has names only
        (Some(listed), None) if is_srun => Some(around.map_or(listed.clone(), |around| restricted(&around, &listed))),
        (Some(listed), Some(filed)) => Some(restricted(&filed, &listed)),
        (Some(hosts), None) | (None, Some(hosts)) => Some(hosts),
        (None, None) => around,
    })
}

/// The names among `hosts` that a launcher's own list lacks. A short name and a full one are the same host.
pub fn unknown(hosts: &[Host], to: &[Host]) -> Vec<String> {
    let is_known = |host: &&Host| to.iter().any(|known| is_same(&host.name, &known.name));
    hosts.iter().filter(|host| !is_known(host)).map(|host| host.name.clone()).collect()
}

/// Those of the hosts that are in the list; the list itself if there are none.
fn restricted(hosts: &[Host], list: &[Host]) -> Vec<Host> {
    let is_listed = |host: &&Host| list.iter().any(|listed| is_same(&host.name, &listed.name));
    let both: Vec<Host> = hosts.iter().filter(is_listed).cloned().collect();
    if both.is_empty() { list.to_vec() } else { both }
}

/// Whether two names are those of one host: a short name and a full one may be.
pub fn is_same(a: &str, b: &str) -> bool {
    let is_short = |name: &str| !name.contains('.');
    let head =
        |name: &str| if name.parse::<IpAddr>().is_ok() { name.to_owned() } else { name.split('.').next().unwrap_or(name).to_owned() };
    a.eq_ignore_ascii_case(b) || ((is_short(a) || is_short(b)) && head(a).eq_ignore_ascii_case(&head(b)))
}

fn of_lists(options: &[Given]) -> Result<Option<Vec<Host>>, Error> {
    let mut all = Counted::default();
    for (option, text) in options.iter().filter(|option| option.about == About::HostList).filter_map(|option| Some((option, option.value?)))
    {
        let (dashes, name) = (if option.name.len() > 1 { "--" } else { "-" }, option.name);
        let entries = list::entries(text).map_err(|fault| Error::in_list(&format!("{dashes}{name}"), text, fault))?;
        entries.iter().for_each(|entry| all.add(&entry.name, entry.slots));
    }
    Ok(Some(all.hosts()).filter(|hosts| !hosts.is_empty()))
}

fn of_files(options: &[Given]) -> Result<Option<Vec<Host>>, Error> {
    let named = options.iter().filter(|option| option.about == About::HostFile).filter_map(|option| option.value);
    let ranked = options.iter().filter_map(rankfile);
    named.chain(ranked).next().map(|path| file::hosts(Path::new(path))).transpose()
}

/// The rankfile that an option names.
fn rankfile<'a>(option: &Given<'a>) -> Option<&'a str> {
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
        let found = hosts(&words(line), environment).expect("hosts").expect("some");
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
        assert_eq!(hosts(&words("mpirun -n 4 ./x --host z"), &nothing).expect("no fault"), None);
        assert_eq!(hosts(&words("./x --host z"), &nothing).expect("no fault"), None);
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
        let error = |line: &str| hosts(&words(line), &nothing).expect_err(line).to_string();
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
        let list = |names: &[&str]| names.iter().map(|name| Host::plain(*name, 1)).collect::<Vec<_>>();
        let known = list(&["n1.cluster.org", "n2", "10.0.0.1"]);
        assert_eq!(unknown(&list(&["n1", "N2.cluster.org", "n1.cluster.org", "10.0.0.1"]), &known), Vec::<String>::new());
        assert_eq!(unknown(&list(&["n3", "n1.other.org", "10", "10.0.0.2"]), &known), ["n3", "n1.other.org", "10", "10.0.0.2"]);
    }

    #[test]
    fn hosts_are_listed_by_a_user() {
        let hosts = parse_hosts("nodeA:4,nodeB,node[01-03]:8").expect("hosts");
        assert_eq!(named(&hosts), [("nodeA", 4), ("nodeB", 1), ("node01", 8), ("node02", 8), ("node03", 8)]);
    }
}
