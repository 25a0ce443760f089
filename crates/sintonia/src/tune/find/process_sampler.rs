//! Looks at the processes of a run while it runs: which libraries a rank has loaded, how many of its threads run, how much memory it has.
//!
//! A recording tells about MPI calls only. Whether there are OpenMP threads is seen in `/proc`, a few times per second, for the processes of
//! this host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sintonia_autotune::SystemFacts;

const INTERVAL: Duration = Duration::from_millis(100);
/// A thread that used less of the time than this did not run.
const BUSY_SHARE: f64 = 0.1;
/// Ticks per second of times in `/proc`, on all supported systems.
const TICKS_PER_S: f64 = 100.0;

/// Samples the descendants of a process in a thread of its own.
pub(super) struct ProcessSampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<SystemFacts>,
}

impl ProcessSampler {
    /// Begins with the descendants of this process.
    pub(super) fn start(process: u32) -> ProcessSampler {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut ranks = RankSamples::default();
            while !is_over.load(Ordering::Acquire) {
                ranks.sample(process);
                std::thread::sleep(INTERVAL);
            }
            ranks.facts()
        });
        ProcessSampler { stop, thread }
    }

    /// Ends, and returns what was seen.
    pub(super) fn finish(self) -> SystemFacts {
        self.stop.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

#[derive(Default)]
struct RankSamples {
    libraries: BTreeSet<String>,
    resident_bytes: u64,
    has_runtime_schedule: bool,
    /// For each process, the last processor times of its threads in ticks, and how long it was watched.
    threads: BTreeMap<u32, (BTreeMap<u32, u64>, f64)>,
    looked_at: BTreeSet<String>,
}

impl RankSamples {
    fn sample(&mut self, root: u32) {
        for process in descendants(root) {
            let Ok(maps) = fs::read_to_string(format!("/proc/{process}/maps")) else { continue };
            let files: BTreeSet<&str> = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path)).collect();
            let name = |path: &&str| path.rsplit('/').next().unwrap_or(path).to_owned();
            // Launchers have the MPI library's lower layers only.
            if !files.iter().any(|path| name(path).starts_with("libmpi")) {
                continue;
            }
            self.libraries.extend(files.iter().map(name).filter(|name| name.contains(".so")));
            self.resident_bytes = self.resident_bytes.max(resident_bytes(process).unwrap_or(0));
            let watched = self.threads.entry(process).or_default();
            watched.0.extend(thread_ticks(process));
            watched.1 += INTERVAL.as_secs_f64();
            self.look_for_schedule(process);
        }
    }

    /// Whether the program asks the OpenMP runtime for its schedule.
    fn look_for_schedule(&mut self, process: u32) {
        let Ok(program) = fs::read_link(format!("/proc/{process}/exe")) else { return };
        if self.looked_at.insert(program.display().to_string())
            && let Ok(bytes) = fs::read(&program)
        {
            let contains = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
            self.has_runtime_schedule |=
                ["GOMP_loop_runtime", "GOMP_parallel_loop_runtime", "nonmonotonic_runtime"].into_iter().any(contains);
        }
    }

    fn facts(self) -> SystemFacts {
        let busy = |(ticks, watched_s): &(BTreeMap<u32, u64>, f64)| {
            ticks.values().filter(|ticks| **ticks as f64 / TICKS_PER_S > BUSY_SHARE * watched_s).count() as u32
        };
        SystemFacts {
            busy_threads: self.threads.values().map(busy).max().unwrap_or(0),
            libraries: self.libraries,
            resident_bytes: self.resident_bytes,
            has_runtime_schedule: self.has_runtime_schedule,
            ..SystemFacts::default()
        }
    }
}

/// The processes below a process.
fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for process in numbers {
        if let Some(parent) = stat_fields(&format!("/proc/{process}/stat")).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        let below = children.get(&process).cloned().unwrap_or_default();
        found.extend(&below);
        open.extend(below);
    }
    found
}

/// The fields of a `stat` file after the name, which may contain anything.
fn stat_fields(path: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Processor time of each thread, in ticks.
fn thread_ticks(process: u32) -> Vec<(u32, u64)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ticks = |thread: u32| {
        let fields = stat_fields(&format!("/proc/{process}/task/{thread}/stat"))?;
        Some((thread, fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?))
    };
    threads.filter_map(|entry| ticks(entry.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert!(descendants(std::process::id()).contains(&child.id()));
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 4096));
        assert!(!thread_ticks(std::process::id()).is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
