//! A placement for a launcher: the text of its file, and the words and variables by which it is told of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, Form, Launcher, Spot};
use crate::cluster::{Cluster, Placement};

/// Whether ranks are told their cores or only their hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// The slot of a rank is the core it stays on.
    Bound,
    /// A rank may use any core of its host; the only way where a host has fewer cores than slots.
    Free,
}

/// A placement for a launcher.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The launcher.
    pub launcher: Launcher,
    /// Whether ranks are told their cores.
    pub cores: Cores,
    /// Which rank goes where.
    pub placement: &'a Placement,
    /// Where there is room.
    pub cluster: &'a Cluster,
}

/// What a launcher is told besides its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Words for its command line.
    pub words: Vec<String>,
    /// Variables.
    pub environment: Vec<(String, String)>,
}

impl Launch<'_> {
    /// The text of the launcher's file, or that of another form.
    pub fn text_as(&self, form: Form) -> Result<String, Error> {
        let rows = Spot::all(self.placement, self.cluster)?;
        match form {
            Form::Launcher(launcher) => Launch { launcher, ..*self }.text(),
            Form::Table => Ok(Spot::table(&rows)),
            Form::Json => Ok(Spot::json(&rows)),
        }
    }

    /// The text of the launcher's file.
    pub fn text(&self) -> Result<String, Error> {
        let rows = Spot::all(self.placement, self.cluster)?;
        if let Some(row) = rows.iter().find(|row| !is_name(&row.host)) {
            return Err(Error::Name { name: row.host.clone() });
        }
        let lines: Vec<String> = match (self.launcher, self.cores) {
            (Launcher::OpenMpi4 | Launcher::OpenMpi5, Cores::Bound) => {
                rows.iter().map(|row| format!("rank {}={} slot={}", row.rank, row.host, row.slot)).collect()
            }
            (Launcher::OpenMpi4 | Launcher::OpenMpi5, Cores::Free) | (Launcher::Slurm, _) => {
                rows.iter().map(|row| row.host.clone()).collect()
            }
            (Launcher::Mpich, Cores::Bound) => stays(&rows).map(with_cores).collect::<Result<_, _>>()?,
            (Launcher::Mpich, Cores::Free) | (Launcher::Intel, _) => {
                stays(&rows).map(|stay| format!("{}:{}", stay[0].host, stay.len())).collect()
            }
            (Launcher::Cray, _) => vec![self.order()?],
        };
        Ok(lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect())
    }

    /// Whether ranks will be bound to their cores. Intel MPI and Slurm have one list of cores for all hosts, so that the n-th rank of every host
    /// gets the same one; Cray MPICH has none.
    pub fn binds(&self) -> bool {
        self.cores == Cores::Bound
            && match self.launcher {
                Launcher::OpenMpi4 | Launcher::OpenMpi5 | Launcher::Mpich => true,
                Launcher::Intel | Launcher::Slurm => self.common_cores().is_some(),
                Launcher::Cray => false,
            }
    }

    /// What the launcher is told besides its file.
    pub fn told(&self, file: &Path) -> Result<Told, Error> {
        let path = file.display().to_string();
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let cores =
            self.common_cores().filter(|_| self.binds()).map(|cores| cores.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
        let told = match (self.launcher, self.cores) {
            (Launcher::OpenMpi4, Cores::Bound) => Told { words: words(&["--rankfile", &path]), ..Told::default() },
            (Launcher::OpenMpi4, Cores::Free) => Told { words: words(&["--mca", "rmaps", "seq", "--hostfile", &path]), ..Told::default() },
            (Launcher::OpenMpi5, Cores::Bound) => {
                if let Some(letter) = path.chars().find(|letter| [':', ','].contains(letter)) {
                    return Err(Error::Path { path: file.to_owned(), letter });
                }
                let mapping = format!("rankfile:file={path}");
                Told { words: words(&["--hostfile", &path, "--map-by", &mapping, "--bind-to", "core"]), ..Told::default() }
            }
            (Launcher::OpenMpi5, Cores::Free) => {
                Told { words: words(&["--hostfile", &path, "--map-by", "seq", "--bind-to", "none"]), ..Told::default() }
            }
            (Launcher::Mpich, _) => Told { words: words(&["-f", &path]), ..Told::default() },
            (Launcher::Intel, _) => {
                let pinning = |cores| [("I_MPI_PIN".to_owned(), "1".to_owned()), ("I_MPI_PIN_PROCESSOR_LIST".to_owned(), cores)];
                let environment = cores.map(pinning).into_iter().flatten().collect();
                Told { words: words(&["-machinefile", &path]), environment }
            }
            (Launcher::Slurm, _) => {
                let binding = cores.map(|cores| format!("--cpu-bind=map_cpu:{cores}"));
                let words = std::iter::once("--distribution=arbitrary".to_owned()).chain(binding).collect();
                Told { words, environment: vec![("SLURM_HOSTFILE".to_owned(), path)] }
            }
            (Launcher::Cray, _) => {
                let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                let environment = vec![variable("MPICH_RANK_REORDER_METHOD", "3"), variable("MPICH_RANK_REORDER_FILE", &path)];
                Told { words: Vec::new(), environment }
            }
        };
        Ok(told)
    }

    /// The cores of the ranks of a host, in the order of ranks, if they are the same on all hosts, as far as there are ranks.
    fn common_cores(&self) -> Option<Vec<u32>> {
        let mut by_host: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for slot in self.placement.slots(self.cluster) {
            by_host.entry(slot.host).or_default().push(slot.slot);
        }
        let longest = by_host.values().max_by_key(|cores| cores.len())?;
        by_host.values().all(|cores| longest.starts_with(cores)).then(|| longest.clone())
    }

    /// The ranks in the order of slots, as Cray MPICH wants them.
    fn order(&self) -> Result<String, Error> {
        let mut ranks: Vec<(u32, usize)> = self.placement.0.iter().copied().zip(0..).collect();
        ranks.sort_unstable();
        let starts = self.cluster.starts();
        let end = ranks.last().map_or(0, |(slot, _)| *slot);
        for (host, range) in self.cluster.hosts.iter().zip(starts.windows(2)).filter(|(_, range)| range[1] <= end) {
            let taken = ranks.partition_point(|(slot, _)| *slot < range[1]) - ranks.partition_point(|(slot, _)| *slot < range[0]);
            if taken < host.slots as usize {
                return Err(Error::NotFull { host: host.name.clone(), ranks: taken, slots: host.slots });
            }
        }
        Ok(ranks.iter().map(|(_, rank)| rank.to_string()).collect::<Vec<_>>().join(","))
    }
}

/// Ranks that follow each other on one host.
fn stays(rows: &[Spot]) -> impl Iterator<Item = &[Spot]> {
    rows.chunk_by(|a, b| a.host == b.host)
}

/// A line of MPICH's file: a host again right behind itself would be an error, so its ranks share a line.
fn with_cores(stay: &[Spot]) -> Result<String, Error> {
    const LONGEST: usize = 1023;
    let cores: Vec<String> = stay.iter().map(|row| row.slot.to_string()).collect();
    let line = format!("{}:{} binding=user:{}", stay[0].host, stay.len(), cores.join(","));
    if line.len() >= LONGEST {
        return Err(Error::LongLine { host: stay[0].host.clone(), ranks: stay.len() });
    }
    Ok(line)
}

/// Whether this is the name of a host in every launcher's file.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && name.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Host;

    fn cluster(hosts: &[(&str, u32)]) -> Cluster {
        let hosts = hosts.iter().map(|(name, slots)| Host::plain(*name, *slots)).collect();
        Cluster::plain(hosts)
    }

    fn text(launcher: Launcher, cores: Cores, placement: &[u32]) -> String {
        let placement = Placement(placement.to_vec());
        Launch { launcher, cores, placement: &placement, cluster: &cluster(&[("a", 2), ("b", 3)]) }.text().expect("a text")
    }

    fn told(launcher: Launcher, cores: Cores, placement: &[u32]) -> Told {
        let placement = Placement(placement.to_vec());
        Launch { launcher, cores, placement: &placement, cluster: &cluster(&[("a", 2), ("b", 3)]) }.told(Path::new("F")).expect("words")
    }

    #[test]
    fn open_mpi_reads_a_line_for_each_rank() {
        for launcher in [Launcher::OpenMpi4, Launcher::OpenMpi5] {
            assert_eq!(text(launcher, Cores::Bound, &[4, 0, 2]), "rank 0=b slot=2\nrank 1=a slot=0\nrank 2=b slot=0\n");
            assert_eq!(text(launcher, Cores::Free, &[4, 0, 2]), "b\na\nb\n");
        }
    }

    #[test]
    fn hydra_reads_hosts_in_the_order_of_ranks_and_those_in_a_row_at_once() {
        assert_eq!(text(Launcher::Mpich, Cores::Free, &[4, 2, 0, 3]), "b:2\na:1\nb:1\n");
        assert_eq!(text(Launcher::Mpich, Cores::Bound, &[4, 2, 0, 3]), "b:2 binding=user:2,0\na:1 binding=user:0\nb:1 binding=user:1\n");
        assert_eq!(text(Launcher::Intel, Cores::Bound, &[4, 2, 0, 3]), "b:2\na:1\nb:1\n");
    }

    #[test]
    fn slurm_reads_a_host_for_each_rank() {
        assert_eq!(text(Launcher::Slurm, Cores::Free, &[4, 2, 0, 3]), "b\nb\na\nb\n");
        assert_eq!(told(Launcher::Slurm, Cores::Free, &[0]).environment, [("SLURM_HOSTFILE".to_owned(), "F".to_owned())]);
    }

    #[test]
    fn intel_and_slurm_bind_only_where_all_hosts_have_the_same_order_of_cores() {
        let same = told(Launcher::Intel, Cores::Bound, &[1, 3, 2, 0]);
        assert_eq!(same.environment[1], ("I_MPI_PIN_PROCESSOR_LIST".to_owned(), "1,0".to_owned()));
        assert_eq!(told(Launcher::Intel, Cores::Bound, &[1, 2, 3, 0]).environment, []);
        assert_eq!(told(Launcher::Intel, Cores::Free, &[1, 3, 2, 0]).environment, []);
        assert_eq!(told(Launcher::Slurm, Cores::Bound, &[1, 3, 2, 0]).words, ["--distribution=arbitrary", "--cpu-bind=map_cpu:1,0"]);
        assert_eq!(told(Launcher::Slurm, Cores::Bound, &[1, 2, 3, 0]).words, ["--distribution=arbitrary"]);
    }

    #[test]
    fn cray_mpich_reads_the_ranks_in_the_order_of_slots() {
        assert_eq!(text(Launcher::Cray, Cores::Free, &[2, 0, 3, 1]), "1,3,0,2\n");
        let placement = Placement(vec![2, 0]);
        let launch =
            Launch { launcher: Launcher::Cray, cores: Cores::Free, placement: &placement, cluster: &cluster(&[("a", 2), ("b", 3)]) };
        assert!(matches!(launch.text(), Err(Error::NotFull { host, ranks: 1, slots: 2 }) if host == "a"));
    }

    #[test]
    fn what_a_launcher_would_misread_is_refused() {
        let placement = Placement::by_core(1);
        for name in ["", "a b", "a:1", "a=b", "-a", "a,b", "a#"] {
            let cluster = cluster(&[(name, 1)]);
            let launch = Launch { launcher: Launcher::OpenMpi4, cores: Cores::Free, placement: &placement, cluster: &cluster };
            assert!(matches!(launch.text(), Err(Error::Name { .. })), "{name:?}");
        }
        let many = Placement::by_core(400);
        let launch = Launch { launcher: Launcher::Mpich, cores: Cores::Bound, placement: &many, cluster: &cluster(&[("a", 400)]) };
        assert!(matches!(launch.text(), Err(Error::LongLine { ranks: 400, .. })));
        let launch = Launch { launcher: Launcher::OpenMpi5, cores: Cores::Bound, ..launch };
        assert!(matches!(launch.told(Path::new("a:b")), Err(Error::Path { letter: ':', .. })));
    }
}
