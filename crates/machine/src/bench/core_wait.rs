//! How long this thread waited for a core: what the kernel's scheduler says, not a guess from times that look long.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a process is busy to find its share of a processor: several periods of a quota.
pub(super) const BUSY_TIME: Duration = Duration::from_millis(400);

/// With a larger share of a processor, a process is not limited.
pub(super) const LIMITED_SHARE: f64 = 0.9;

/// The share of the time for which a quota lets this thread have a core if it always wants one. Where control groups count how often they
/// throttle, a wait without that is not a quota's; elsewhere others that run cannot be distinguished from a quota.
pub(super) fn processor_share() -> f64 {
    let root = Path::new("/");
    let (timer, throttled) = (CoreWaitTimer::start(), throttled_periods(root));
    while timer.began.elapsed() < BUSY_TIME {
        std::hint::spin_loop();
    }
    let was_throttled = throttled.zip(throttled_periods(root)).is_none_or(|(before, now)| now > before);
    if was_throttled { 1.0 - timer.share() } else { 1.0 }
}

/// In how many periods the control groups of this process that can be seen were throttled; none if none of them counts that.
fn throttled_periods(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let mounts: &[&str] = match controllers {
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|name| name == "cpu") => &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"],
            _ => return None,
        };
        // Ancestors limit a group, too. In a container its group is the one that is mounted, whatever its name is outside.
        let levels = Path::new(group.trim_start_matches('/')).ancestors();
        let count = |folder: &Path| parse_throttled(&fs::read_to_string(folder.join("cpu.stat")).ok()?);
        let counts = levels.flat_map(|level| mounts.iter().filter_map(move |mount| count(&root.join(mount).join(level))));
        counts.reduce(|sum, count| sum + count)
    })
}

/// The throttled periods in `cpu.stat`.
fn parse_throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

/// Measures the share of a period that this thread was ready to run but had no core.
pub(super) struct CoreWaitTimer {
    began: Instant,
    waited_ns: Option<u64>,
}

impl CoreWaitTimer {
    /// Begins the period.
    pub(super) fn start() -> CoreWaitTimer {
        CoreWaitTimer { waited_ns: waited_ns(), began: Instant::now() }
    }

    /// The share of the period that is over; 0 where the kernel does not say.
    pub(super) fn share(&self) -> f64 {
        let elapsed_ns = self.began.elapsed().as_nanos() as f64;
        let waited = self.waited_ns.zip(waited_ns()).map_or(0, |(before, now)| now.saturating_sub(before));
        (waited as f64 / elapsed_ns.max(1.0)).min(1.0)
    }
}

/// Nanoseconds that this thread has waited for a core since it began.
fn waited_ns() -> Option<u64> {
    parse_waited(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second number of `schedstat`: time on a core, time waiting for one, number of time slices.
fn parse_waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_the_second_number() {
        assert_eq!(parse_waited("117086 2991542 2\n"), Some(2_991_542));
        assert_eq!(parse_waited("117086\n"), None);
    }

    #[test]
    fn all_groups_that_can_be_seen_may_throttle() {
        let throttled = |files: &[(&str, &str)]| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            throttled_periods(root.path())
        };
        let statistics = "nr_periods 9\nnr_throttled 3\n";
        let of_version_1 = [
            ("proc/self/cgroup", "2:cpuset:/\n1:cpu,cpuacct:/job/step\n0::/x\n"),
            ("sys/fs/cgroup/cpu/job/step/cpu.stat", statistics),
            ("sys/fs/cgroup/cpu/job/cpu.stat", "nr_throttled 4\nthrottled_time 8\n"),
        ];
        assert_eq!(throttled(&of_version_1), Some(7));
        let in_container = [("proc/self/cgroup", "0::/docker/abc\n"), ("sys/fs/cgroup/cpu.stat", statistics)];
        assert_eq!(throttled(&in_container), Some(3));
        let uncounted = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.stat", "usage_usec 7\n")];
        assert_eq!(throttled(&uncounted), None, "the group has no quota to throttle it");
    }

    #[test]
    fn the_share_is_at_most_everything() {
        let timer = CoreWaitTimer { began: Instant::now(), waited_ns: waited_ns().map(|_| 0) };
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!((0.0..=1.0).contains(&timer.share()));
    }
}
