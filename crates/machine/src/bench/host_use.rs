//! What else used the cores of a host during a launch: other programs, and the hypervisor.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// Processor time of a host and of this process, in ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HostTicks {
    host: String,
    /// Identifies the kernel: hosts that are containers of one machine share its cores.
    kernel: String,
    total: u64,
    busy: u64,
    stolen: u64,
    own: u64,
}

/// Shares of a host's processor time that were not the benchmark's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Host name.
    pub host: String,
    /// Used by other programs.
    pub others: f64,
    /// Used by other guests of the hypervisor (steal).
    pub stolen: f64,
}

impl HostTicks {
    /// The ticks so far.
    pub(super) fn now() -> HostTicks {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let [total, busy, stolen] = parse_stat(&read("/proc/stat")).unwrap_or_default();
        HostTicks {
            host: read("/proc/sys/kernel/hostname").trim().to_owned(),
            kernel: read("/proc/sys/kernel/random/boot_id").trim().to_owned(),
            total,
            busy,
            stolen,
            own: parse_own(&read("/proc/self/stat")).unwrap_or_default(),
        }
    }

    /// The ticks since an earlier reading.
    pub(super) fn since(&self, before: &HostTicks) -> HostTicks {
        HostTicks {
            total: self.total.saturating_sub(before.total),
            busy: self.busy.saturating_sub(before.busy),
            stolen: self.stolen.saturating_sub(before.stolen),
            own: self.own.saturating_sub(before.own),
            ..self.clone()
        }
    }
}

/// What others used of each host, from the ticks of all processes of the launch.
pub(super) fn host_use(processes: &[HostTicks]) -> Vec<HostUse> {
    let mut by_kernel: BTreeMap<&str, Vec<&HostTicks>> = BTreeMap::new();
    processes.iter().for_each(|ticks| by_kernel.entry(&ticks.kernel).or_default().push(ticks));
    let of = |ticks: &Vec<&HostTicks>| {
        let first = ticks.first().filter(|first| first.total > 0)?;
        let own: u64 = ticks.iter().map(|ticks| ticks.own).sum();
        let share = |part: u64| (part as f64 / first.total as f64).min(1.0);
        Some(HostUse { host: first.host.clone(), others: share(first.busy.saturating_sub(own)), stolen: share(first.stolen) })
    };
    by_kernel.values().filter_map(of).collect()
}

/// All, busy and stolen ticks of all cores.
fn parse_stat(text: &str) -> Option<[u64; 3]> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
    // user, nice, system, idle, waiting for I/O, interrupts, soft interrupts, stolen; guests are counted with the users.
    let [user, nice, system, idle, io, hard, soft, stolen, ..] = ticks[..] else { return None };
    let busy = user + nice + system + hard + soft;
    Some([busy + idle + io + stolen, busy, stolen])
}

/// Ticks of a process, in its own code and in the kernel. The name of its program may contain anything, so fields are counted from its end.
fn parse_own(text: &str) -> Option<u64> {
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(kernel: &str, total: u64, busy: u64, stolen: u64, own: u64) -> HostTicks {
        HostTicks { host: format!("host of {kernel}"), kernel: kernel.into(), total, busy, stolen, own }
    }

    #[test]
    fn what_is_not_our_own_is_of_others() {
        let used = host_use(&[ticks("a", 1000, 900, 50, 200), ticks("a", 1000, 900, 50, 300), ticks("b", 400, 100, 0, 100)]);
        assert_eq!(used[0], HostUse { host: "host of a".into(), others: 0.4, stolen: 0.05 });
        assert_eq!((used[1].others, used.len()), (0.0, 2));
        assert!(host_use(&[ticks("c", 0, 0, 0, 0)]).is_empty(), "nothing is known");
    }

    #[test]
    fn files_of_the_kernel_are_read() {
        assert_eq!(parse_stat("cpu  100 10 20 300 5 1 4 7 50 0\ncpu0 1 2 3\n"), Some([447, 135, 7]));
        assert_eq!(parse_own("12 (a) b) R 1 2 3 4 5 6 7 8 9 10 30 12 0 0\n"), Some(42));
        assert_eq!((parse_stat("cpu 1 2"), parse_own("12")), (None, None));
    }
}
