//! Where a process runs: its host, its cores, and which caches they share.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::core_wait::processor_share;
use crate::PairClass;

/// A data or unified cache, as the system reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Cores that share it.
    pub cores: Vec<usize>,
}

/// The host and cores of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessBinding {
    /// Host name.
    pub host: String,
    /// Processor model.
    pub processor: String,
    /// Number of cores of the host.
    pub cores: usize,
    /// Cores that the process may use.
    pub allowed: Vec<usize>,
    /// Data caches of the first of them, nearest first.
    pub caches: Vec<CpuCache>,
    /// The share of the time for which a quota lets it have a core while all processes of the launch are busy.
    pub processor_share: f64,
}

impl ProcessBinding {
    /// The binding of this process.
    pub fn current() -> ProcessBinding {
        ProcessBinding::from_root(Path::new("/"))
    }

    /// The same, with the measured share of a processor.
    pub(super) fn measured() -> ProcessBinding {
        ProcessBinding { processor_share: processor_share(), ..ProcessBinding::current() }
    }

    /// The binding from the files below another root.
    fn from_root(root: &Path) -> ProcessBinding {
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let online = parse_cpu_list(&read("sys/devices/system/cpu/online"));
        let information = read("proc/cpuinfo");
        let allowed = field(&read("proc/self/status"), "Cpus_allowed_list").map_or_else(Vec::new, |list| parse_cpu_list(&list));
        ProcessBinding {
            host: read("proc/sys/kernel/hostname").trim().to_owned(),
            processor: field(&information, "model name").unwrap_or_else(|| "unknown processor".into()),
            cores: online.len().max(1),
            caches: read_caches(root, allowed.first().copied().unwrap_or(0)),
            allowed,
            processor_share: 1.0,
        }
    }

    /// What identifies nodes of the same type.
    pub fn node_type(&self) -> (&str, usize, Vec<u64>) {
        (&self.processor, self.cores, self.caches.iter().map(|cache| cache.bytes).collect())
    }

    /// The distance class of a pair of processes.
    pub fn pair_class(&self, other: &ProcessBinding) -> PairClass {
        if self.host != other.host {
            return PairClass::OtherNode;
        }
        let share =
            |cache: &CpuCache| [&self.allowed, &other.allowed].iter().all(|cores| cores.iter().all(|core| cache.cores.contains(core)));
        let known = !self.allowed.is_empty() && !other.allowed.is_empty();
        if known && self.caches.iter().any(share) { PairClass::SameComplex } else { PairClass::SameNode }
    }
}

/// Whether some processes must share a core.
pub(super) fn is_oversubscribed(bindings: &[ProcessBinding]) -> bool {
    bindings.iter().any(|binding| {
        let on_host = bindings.iter().filter(|other| other.host == binding.host);
        let mut cores: Vec<usize> = on_host.clone().flat_map(|other| other.allowed.iter().copied()).collect();
        cores.sort_unstable();
        cores.dedup();
        !cores.is_empty() && on_host.count() > cores.len()
    })
}

fn read_caches(root: &Path, core: usize) -> Vec<CpuCache> {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{core}/cache"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<CpuCache> = entries.filter_map(|entry| read_cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn read_cache(folder: &Path) -> Option<CpuCache> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    if read("type")? == "Instruction" {
        return None;
    }
    Some(CpuCache {
        level: read("level")?.parse().ok()?,
        bytes: parse_size(&read("size")?)?,
        cores: parse_cpu_list(&read("shared_cpu_list")?),
    })
}

/// Parses a size as the kernel writes it: `48K`.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Parses a list of CPUs as the kernel writes it: `0-3,8`. Skips what is not a number, and limits the length.
fn parse_cpu_list(list: &str) -> Vec<usize> {
    const MOST: usize = 1 << 16;
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    });
    ranges.flatten().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with two complexes of two cores.
    fn host(allowed: &str) -> (tempfile::TempDir, ProcessBinding) {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/hostname", "node1\n");
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2 GHz\n");
        write("proc/self/status", &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
        write("sys/devices/system/cpu/online", "0-3\n");
        for core in 0..4 {
            for (index, level, kind, size, shared) in [
                (0, 1, "Data", "32K", [core, core]),
                (1, 1, "Instruction", "32K", [core, core]),
                (2, 3, "Unified", "4M", [core & 2, core | 1]),
            ] {
                let folder = format!("sys/devices/system/cpu/cpu{core}/cache/index{index}");
                write(&format!("{folder}/level"), &level.to_string());
                write(&format!("{folder}/type"), kind);
                write(&format!("{folder}/size"), size);
                write(&format!("{folder}/shared_cpu_list"), &format!("{}-{}", shared[0], shared[1]));
            }
        }
        let binding = ProcessBinding::from_root(root.path());
        (root, binding)
    }

    #[test]
    fn a_binding_is_read_from_system_files() {
        let (_root, binding) = host("2");
        assert_eq!((binding.host.as_str(), binding.processor.as_str(), binding.cores), ("node1", "Some CPU @ 2 GHz", 4));
        assert_eq!(binding.caches.iter().map(|cache| (cache.level, cache.bytes)).collect::<Vec<_>>(), [(1, 32 << 10), (3, 4 << 20)]);
        assert_eq!(binding.caches[1].cores, [2, 3]);
    }

    #[test]
    fn a_binding_without_system_files_has_defaults() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(ProcessBinding::from_root(empty.path()).cores, 1);
    }

    #[test]
    fn the_pair_class_follows_the_shared_cache() {
        let [a, b, c, any] = ["0", "1", "2", "0-3"].map(|allowed| host(allowed).1);
        assert_eq!(a.pair_class(&b), PairClass::SameComplex);
        assert_eq!(a.pair_class(&c), PairClass::SameNode);
        assert_eq!(any.pair_class(&any), PairClass::SameNode, "not bound to cores, they may be anywhere");
        let far = ProcessBinding { host: "node2".into(), ..a.clone() };
        assert_eq!(a.pair_class(&far), PairClass::OtherNode);
    }

    #[test]
    fn more_processes_than_cores_are_oversubscribed() {
        let [a, b] = ["0", "1"].map(|allowed| host(allowed).1);
        assert!(!is_oversubscribed(&[a.clone(), b.clone()]));
        assert!(is_oversubscribed(&[a.clone(), a.clone(), b]));
        let elsewhere = ProcessBinding { host: "node2".into(), ..a.clone() };
        assert!(!is_oversubscribed(&[a, elsewhere]));
    }

    #[test]
    fn lists_of_cores_are_understood() {
        assert_eq!(parse_cpu_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(parse_cpu_list("x,3"), [3]);
        assert!(parse_cpu_list("0-99999999999").len() <= 1 << 16);
        assert_eq!(
            (parse_size("48K"), parse_size("300M"), parse_size("5"), parse_size("5Q")),
            (Some(49152), Some(300 << 20), Some(5), None)
        );
    }
}
