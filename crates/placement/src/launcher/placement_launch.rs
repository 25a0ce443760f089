//! A placement for a launcher: its file, and the options and variables that refer to it.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, MpiLauncher, PlacementFormat, RankSlot};
use crate::cluster::{Cluster, Placement};

/// Whether ranks are bound to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreBinding {
    /// The slot of a rank is its core.
    Bound,
    /// A rank may use any core of its host; required if a host has fewer cores than slots.
    Free,
}

/// A placement for a launcher.
#[derive(Clone, Copy, Debug)]
pub struct PlacementLaunch<'a> {
    /// The launcher.
    pub launcher: MpiLauncher,
    /// Whether ranks are bound to cores.
    pub binding: CoreBinding,
    /// The placement.
    pub placement: &'a Placement,
    /// The hosts and their slots.
    pub cluster: &'a Cluster,
}

/// Options for a launcher besides its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LauncherOptions {
    /// Command line arguments.
    pub words: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
}

impl PlacementLaunch<'_> {
    /// The launcher's file, or another format.
    pub fn render_as(&self, form: PlacementFormat) -> Result<String, Error> {
        let rows = RankSlot::from_placement(self.placement, self.cluster)?;
        match form {
            PlacementFormat::Launcher(launcher) => PlacementLaunch { launcher, ..*self }.render(),
            PlacementFormat::Table => Ok(RankSlot::to_table(&rows)),
            PlacementFormat::Json => Ok(RankSlot::to_json(&rows)),
        }
    }

    /// The launcher's file.
    pub fn render(&self) -> Result<String, Error> {
        let rows = RankSlot::from_placement(self.placement, self.cluster)?;
        if let Some(row) = rows.iter().find(|row| !is_host_name(&row.host)) {
            return Err(Error::Name { name: row.host.clone() });
        }
        let lines: Vec<String> = match (self.launcher, self.binding) {
            (MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5, CoreBinding::Bound) => {
                rows.iter().map(|row| format!("rank {}={} slot={}", row.rank, row.host, row.slot)).collect()
            }
            (MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5, CoreBinding::Free) | (MpiLauncher::Slurm, _) => {
                rows.iter().map(|row| row.host.clone()).collect()
            }
            (MpiLauncher::Mpich, CoreBinding::Bound) => consecutive_on_host(&rows).map(mpich_line).collect::<Result<_, _>>()?,
            (MpiLauncher::Mpich, CoreBinding::Free) | (MpiLauncher::Intel, _) => {
                consecutive_on_host(&rows).map(|stay| format!("{}:{}", stay[0].host, stay.len())).collect()
            }
            (MpiLauncher::Cray, _) => vec![self.cray_rank_order()?],
        };
        Ok(lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect())
    }

    /// Whether ranks will be bound to their cores. Intel MPI and Slurm have one list of cores for all hosts, so the n-th rank of every host
    /// gets the same core; Cray MPICH does not bind.
    pub fn binds_cores(&self) -> bool {
        self.binding == CoreBinding::Bound
            && match self.launcher {
                MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5 | MpiLauncher::Mpich => true,
                MpiLauncher::Intel | MpiLauncher::Slurm => self.common_cores().is_some(),
                MpiLauncher::Cray => false,
            }
    }

    /// The options for the launcher besides its file.
    pub fn options(&self, file: &Path) -> Result<LauncherOptions, Error> {
        let path = file.display().to_string();
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let cores =
            self.common_cores().filter(|_| self.binds_cores()).map(|cores| cores.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
        let told = match (self.launcher, self.binding) {
            (MpiLauncher::OpenMpi4, CoreBinding::Bound) => {
                LauncherOptions { words: words(&["--rankfile", &path]), ..LauncherOptions::default() }
            }
            (MpiLauncher::OpenMpi4, CoreBinding::Free) => {
                LauncherOptions { words: words(&["--mca", "rmaps", "seq", "--hostfile", &path]), ..LauncherOptions::default() }
            }
            (MpiLauncher::OpenMpi5, CoreBinding::Bound) => {
                if let Some(character) = path.chars().find(|character| [':', ','].contains(character)) {
                    return Err(Error::Path { path: file.to_owned(), letter: character });
                }
                let mapping = format!("rankfile:file={path}");
                LauncherOptions {
                    words: words(&["--hostfile", &path, "--map-by", &mapping, "--bind-to", "core"]),
                    ..LauncherOptions::default()
                }
            }
            (MpiLauncher::OpenMpi5, CoreBinding::Free) => LauncherOptions {
                words: words(&["--hostfile", &path, "--map-by", "seq", "--bind-to", "none"]),
                ..LauncherOptions::default()
            },
            (MpiLauncher::Mpich, _) => LauncherOptions { words: words(&["-f", &path]), ..LauncherOptions::default() },
            (MpiLauncher::Intel, _) => {
                let pinning = |cores| [("I_MPI_PIN".to_owned(), "1".to_owned()), ("I_MPI_PIN_PROCESSOR_LIST".to_owned(), cores)];
                let environment = cores.map(pinning).into_iter().flatten().collect();
                LauncherOptions { words: words(&["-machinefile", &path]), environment }
            }
            (MpiLauncher::Slurm, _) => {
                let binding = cores.map(|cores| format!("--cpu-bind=map_cpu:{cores}"));
                let words = std::iter::once("--distribution=arbitrary".to_owned()).chain(binding).collect();
                LauncherOptions { words, environment: vec![("SLURM_HOSTFILE".to_owned(), path)] }
            }
            (MpiLauncher::Cray, _) => {
                let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                let environment = vec![variable("MPICH_RANK_REORDER_METHOD", "3"), variable("MPICH_RANK_REORDER_FILE", &path)];
                LauncherOptions { words: Vec::new(), environment }
            }
        };
        Ok(told)
    }

    /// The cores of the ranks of a host, by rank, if they are the same on all hosts (as far as these have ranks).
    fn common_cores(&self) -> Option<Vec<u32>> {
        let mut by_host: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for slot in self.placement.host_slots(self.cluster) {
            by_host.entry(slot.host).or_default().push(slot.slot);
        }
        let longest = by_host.values().max_by_key(|cores| cores.len())?;
        by_host.values().all(|cores| longest.starts_with(cores)).then(|| longest.clone())
    }

    /// The ranks in slot order, for Cray MPICH.
    fn cray_rank_order(&self) -> Result<String, Error> {
        let mut ranks: Vec<(u32, usize)> = self.placement.0.iter().copied().zip(0..).collect();
        ranks.sort_unstable();
        let starts = self.cluster.slot_starts();
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

/// Consecutive ranks on the same host.
fn consecutive_on_host(rows: &[RankSlot]) -> impl Iterator<Item = &[RankSlot]> {
    rows.chunk_by(|a, b| a.host == b.host)
}

/// A line of an MPICH hostfile. A host must not appear on two consecutive lines, so its ranks share one.
fn mpich_line(stay: &[RankSlot]) -> Result<String, Error> {
    const LONGEST: usize = 1023;
    let cores: Vec<String> = stay.iter().map(|row| row.slot.to_string()).collect();
    let line = format!("{}:{} binding=user:{}", stay[0].host, stay.len(), cores.join(","));
    if line.len() >= LONGEST {
        return Err(Error::LongLine { host: stay[0].host.clone(), ranks: stay.len() });
    }
    Ok(line)
}

/// Whether this is a valid host name in every launcher's file.
pub(super) fn is_host_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || ".-_".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Host;

    fn cluster(hosts: &[(&str, u32)]) -> Cluster {
        let hosts = hosts.iter().map(|(name, slots)| Host::new(*name, *slots)).collect();
        Cluster::new(hosts)
    }

    fn text(launcher: MpiLauncher, cores: CoreBinding, placement: &[u32]) -> String {
        let placement = Placement(placement.to_vec());
        PlacementLaunch { launcher, binding: cores, placement: &placement, cluster: &cluster(&[("a", 2), ("b", 3)]) }
            .render()
            .expect("a text")
    }

    fn told(launcher: MpiLauncher, cores: CoreBinding, placement: &[u32]) -> LauncherOptions {
        let placement = Placement(placement.to_vec());
        PlacementLaunch { launcher, binding: cores, placement: &placement, cluster: &cluster(&[("a", 2), ("b", 3)]) }
            .options(Path::new("F"))
            .expect("words")
    }

    #[test]
    fn open_mpi_reads_a_line_for_each_rank() {
        for launcher in [MpiLauncher::OpenMpi4, MpiLauncher::OpenMpi5] {
            assert_eq!(text(launcher, CoreBinding::Bound, &[4, 0, 2]), "rank 0=b slot=2\nrank 1=a slot=0\nrank 2=b slot=0\n");
            assert_eq!(text(launcher, CoreBinding::Free, &[4, 0, 2]), "b\na\nb\n");
        }
    }

    #[test]
    fn hydra_reads_hosts_in_the_order_of_ranks_and_those_in_a_row_at_once() {
        assert_eq!(text(MpiLauncher::Mpich, CoreBinding::Free, &[4, 2, 0, 3]), "b:2\na:1\nb:1\n");
        assert_eq!(
            text(MpiLauncher::Mpich, CoreBinding::Bound, &[4, 2, 0, 3]),
            "b:2 binding=user:2,0\na:1 binding=user:0\nb:1 binding=user:1\n"
        );
        assert_eq!(text(MpiLauncher::Intel, CoreBinding::Bound, &[4, 2, 0, 3]), "b:2\na:1\nb:1\n");
    }

    #[test]
    fn slurm_reads_a_host_for_each_rank() {
        assert_eq!(text(MpiLauncher::Slurm, CoreBinding::Free, &[4, 2, 0, 3]), "b\nb\na\nb\n");
        assert_eq!(told(MpiLauncher::Slurm, CoreBinding::Free, &[0]).environment, [("SLURM_HOSTFILE".to_owned(), "F".to_owned())]);
    }

    #[test]
    fn intel_and_slurm_bind_only_where_all_hosts_have_the_same_order_of_cores() {
        let same = told(MpiLauncher::Intel, CoreBinding::Bound, &[1, 3, 2, 0]);
        assert_eq!(same.environment[1], ("I_MPI_PIN_PROCESSOR_LIST".to_owned(), "1,0".to_owned()));
        assert_eq!(told(MpiLauncher::Intel, CoreBinding::Bound, &[1, 2, 3, 0]).environment, []);
        assert_eq!(told(MpiLauncher::Intel, CoreBinding::Free, &[1, 3, 2, 0]).environment, []);
        assert_eq!(
            told(MpiLauncher::Slurm, CoreBinding::Bound, &[1, 3, 2, 0]).words,
            ["--distribution=arbitrary", "--cpu-bind=map_cpu:1,0"]
        );
        assert_eq!(told(MpiLauncher::Slurm, CoreBinding::Bound, &[1, 2, 3, 0]).words, ["--distribution=arbitrary"]);
    }

    #[test]
    fn cray_mpich_reads_the_ranks_in_the_order_of_slots() {
        assert_eq!(text(MpiLauncher::Cray, CoreBinding::Free, &[2, 0, 3, 1]), "1,3,0,2\n");
        let placement = Placement(vec![2, 0]);
        let launch = PlacementLaunch {
            launcher: MpiLauncher::Cray,
            binding: CoreBinding::Free,
            placement: &placement,
            cluster: &cluster(&[("a", 2), ("b", 3)]),
        };
        assert!(matches!(launch.render(), Err(Error::NotFull { host, ranks: 1, slots: 2 }) if host == "a"));
    }

    #[test]
    fn what_a_launcher_would_misread_is_refused() {
        let placement = Placement::by_core(1);
        for name in ["", "a b", "a:1", "a=b", "-a", "a,b", "a#"] {
            let cluster = cluster(&[(name, 1)]);
            let launch =
                PlacementLaunch { launcher: MpiLauncher::OpenMpi4, binding: CoreBinding::Free, placement: &placement, cluster: &cluster };
            assert!(matches!(launch.render(), Err(Error::Name { .. })), "{name:?}");
        }
        let many = Placement::by_core(400);
        let launch = PlacementLaunch {
            launcher: MpiLauncher::Mpich,
            binding: CoreBinding::Bound,
            placement: &many,
            cluster: &cluster(&[("a", 400)]),
        };
        assert!(matches!(launch.render(), Err(Error::LongLine { ranks: 400, .. })));
        let launch = PlacementLaunch { launcher: MpiLauncher::OpenMpi5, binding: CoreBinding::Bound, ..launch };
        assert!(matches!(launch.options(Path::new("a:b")), Err(Error::Path { letter: ':', .. })));
    }
}
