//! Where a process runs: its host, its cores, and who shares a cache with whom.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::PairClass;

/// A cache, as the system tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the nearest.
    pub level: u32,
    /// How much it holds.
    pub bytes: u64,
    /// The cores that share it.
    pub cores: Vec<usize>,
}

/// Where a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The name of its host.
    pub host: String,
    /// What the processor calls itself.
    pub processor: String,
    /// How many cores the host has.
    pub cores: usize,
    /// The cores that the process may use.
    pub allowed: Vec<usize>,
    /// The caches for data of the first of them, the nearest first.
    pub caches: Vec<Cache>,
}

impl Place {
    /// Where this process runs.
    pub fn here() -> Place {
        Place::under(Path::new("/"))
    }

    /// The same, told by the files below another folder.
    fn under(root: &Path) -> Place {
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let online = numbers(&read("sys/devices/system/cpu/online"));
        let information = read("proc/cpuinfo");
        let allowed = field(&read("proc/self/status"), "Cpus_allowed_list").map_or_else(Vec::new, |list| numbers(&list));
        Place {
            host: read("proc/sys/kernel/hostname").trim().to_owned(),
            processor: field(&information, "model name").unwrap_or_else(|| "unknown processor".into()),
            cores: online.len().max(1),
            caches: caches(root, allowed.first().copied().unwrap_or(0)),
            allowed,
        }
    }

    /// What makes two hosts alike.
    pub fn kind(&self) -> (&str, usize, Vec<u64>) {
        (&self.processor, self.cores, self.caches.iter().map(|cache| cache.bytes).collect())
    }

    /// How near a process at another place is.
    pub fn class(&self, other: &Place) -> PairClass {
        if self.host != other.host {
            return PairClass::OtherNode;
        }
        let share = |cache: &Cache| [&self.allowed, &other.allowed].iter().all(|cores| cores.iter().all(|core| cache.cores.contains(core)));
        let known = !self.allowed.is_empty() && !other.allowed.is_empty();
        if known && self.caches.iter().any(share) { PairClass::SameComplex } else { PairClass::SameNode }
    }
}

/// Whether some of the processes must share a core.
pub fn is_oversubscribed(places: &[Place]) -> bool {
    places.iter().any(|place| {
        let on_host = places.iter().filter(|other| other.host == place.host);
        let mut cores: Vec<usize> = on_host.clone().flat_map(|other| other.allowed.iter().copied()).collect();
        cores.sort_unstable();
        cores.dedup();
        !cores.is_empty() && on_host.count() > cores.len()
    })
}

fn caches(root: &Path, core: usize) -> Vec<Cache> {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{core}/cache"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(folder: &Path) -> Option<Cache> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    if read("type")? == "Instruction" {
        return None;
    }
    Some(Cache { level: read("level")?.parse().ok()?, bytes: bytes(&read("size")?)?, cores: numbers(&read("shared_cpu_list")?) })
}

/// A size as the system writes it: `48K`.
fn bytes(text: &str) -> Option<u64> {
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

/// A list of numbers as the system writes it: `0-3,8`. What is no number is left out, and no list is longer than any machine has cores.
fn numbers(list: &str) -> Vec<usize> {
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
    fn host(allowed: &str) -> (tempfile::TempDir, Place) {
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
        let place = Place::under(root.path());
        (root, place)
    }

    #[test]
    fn a_place_is_read_from_the_files_of_the_system() {
        let (_root, place) = host("2");
        assert_eq!((place.host.as_str(), place.processor.as_str(), place.cores), ("node1", "Some CPU @ 2 GHz", 4));
        assert_eq!(place.caches.iter().map(|cache| (cache.level, cache.bytes)).collect::<Vec<_>>(), [(1, 32 << 10), (3, 4 << 20)]);
        assert_eq!(place.caches[1].cores, [2, 3]);
    }

    #[test]
    fn a_place_without_such_files_is_still_one() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(Place::under(empty.path()).cores, 1);
    }

    #[test]
    fn processes_are_as_near_as_the_cache_that_all_their_cores_share() {
        let [a, b, c, any] = ["0", "1", "2", "0-3"].map(|allowed| host(allowed).1);
        assert_eq!(a.class(&b), PairClass::SameComplex);
        assert_eq!(a.class(&c), PairClass::SameNode);
        assert_eq!(any.class(&any), PairClass::SameNode, "not bound to cores, they may be anywhere");
        let far = Place { host: "node2".into(), ..a.clone() };
        assert_eq!(a.class(&far), PairClass::OtherNode);
    }

    #[test]
    fn more_processes_than_cores_share_them() {
        let [a, b] = ["0", "1"].map(|allowed| host(allowed).1);
        assert!(!is_oversubscribed(&[a.clone(), b.clone()]));
        assert!(is_oversubscribed(&[a.clone(), a.clone(), b]));
        let elsewhere = Place { host: "node2".into(), ..a.clone() };
        assert!(!is_oversubscribed(&[a, elsewhere]));
    }

    #[test]
    fn lists_of_cores_are_understood() {
        assert_eq!(numbers("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(numbers("x,3"), [3]);
        assert!(numbers("0-99999999999").len() <= 1 << 16);
        assert_eq!((bytes("48K"), bytes("300M"), bytes("5"), bytes("5Q")), (Some(49152), Some(300 << 20), Some(5), None));
    }
}
