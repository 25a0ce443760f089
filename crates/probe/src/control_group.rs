//! Limits that control groups set for this process, of version 1 and version 2: processor quota and memory.
//!
//! Each ancestor of a group limits it too, so the tightest limit counts. A container with a control group namespace sees its own group as
//! the root, and no ancestors.

use sintonia_recording::host::ProcessLimits;

use crate::system_files::SystemFiles;

/// Limits of a process, and where the time for which its quota stopped it is counted.
#[derive(Debug, Default)]
pub(crate) struct GroupLimits {
    limits: ProcessLimits,
    /// The statistics of the group that sets the quota, and their time at the start.
    throttling: Option<(String, u64)>,
}

impl GroupLimits {
    /// Reads the limits of this process.
    pub(crate) fn read(files: &impl SystemFiles) -> GroupLimits {
        let mut found = GroupLimits::default();
        let (groups, mounts) =
            (files.read("/proc/self/cgroup").unwrap_or_default(), files.read("/proc/self/mountinfo").unwrap_or_default());
        if let Some(group) = ControlGroup::find(&groups, &mounts, "cpu") {
            found.read_quota(&group, files);
        }
        if let Some(group) = ControlGroup::find(&groups, &mounts, "memory") {
            found.limits.memory_bytes = group.levels().filter_map(|(folder, _)| memory_limit(&folder, files)).min();
        }
        found
    }

    /// The limits, with the time for which the quota stopped the group since they were read; `None` if there are none.
    pub(crate) fn until_now(&self, files: &impl SystemFiles) -> Option<ProcessLimits> {
        let mut limits = self.limits.clone();
        if let Some((path, start)) = &self.throttling {
            limits.throttled_ns = throttled(path, files).map(|now| now.saturating_sub(*start));
        }
        (limits != ProcessLimits::default()).then_some(limits)
    }

    fn read_quota(&mut self, group: &ControlGroup, files: &impl SystemFiles) {
        let quotas = group.levels().filter_map(|(folder, name)| Some((quota(&folder, files)?, folder, name)));
        let Some((quota, folder, name)) = quotas.min_by(|(one, ..), (other, ..)| one.total_cmp(other)) else { return };
        // The root control group has no quota, so this is the root of a namespace; the inode identifies the container.
        let unnamed = name.is_empty().then(|| files.inode(&folder).map_or_else(|| "/".into(), |inode| format!("/ (inode {inode})")));
        let statistics = format!("{folder}/cpu.stat");
        self.throttling = throttled(&statistics, files).map(|start| (statistics, start));
        self.limits.cpu_quota = Some(quota);
        self.limits.cpu_quota_group = Some(unnamed.unwrap_or(name));
    }
}

/// A group as the files of this process see it.
#[derive(Debug, PartialEq)]
struct ControlGroup {
    /// Where the hierarchy is mounted.
    mount: String,
    /// Path of the mounted group; empty if it is the root.
    root: String,
    /// Path of the group of this process below the mounted one; empty if it is the mounted one.
    below: String,
}

impl ControlGroup {
    /// The group of this process in the hierarchy that has a controller: that of version 1 where it is used, else that of version 2.
    fn find(groups: &str, mounts: &str, controller: &str) -> Option<ControlGroup> {
        let lines = || groups.lines().filter_map(parse_group);
        let v1 = lines().find(|(controllers, _)| controllers.split(',').any(|known| known == controller)).and_then(|(_, path)| {
            let is_it = |mount: &Mount| mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller);
            ControlGroup::mounted(path, mounts, is_it)
        });
        v1.or_else(|| {
            let (_, path) = lines().find(|(controllers, _)| controllers.is_empty())?;
            ControlGroup::mounted(path, mounts, |mount| mount.kind == "cgroup2")
        })
    }

    fn mounted(path: &str, mounts: &str, is_it: impl Fn(&Mount) -> bool) -> Option<ControlGroup> {
        let candidates: Vec<Mount> = mounts.lines().filter_map(parse_mount).filter(is_it).collect();
        let path = path.trim_end_matches('/');
        let below = |mount: &Mount| path.strip_prefix(mount.root.trim_end_matches('/')).filter(|rest| is_below(rest)).map(str::to_string);
        let (mount, below) = match candidates.iter().find_map(|mount| Some((mount, below(mount)?))) {
            Some(found) => found,
            // A part of the hierarchy that is mounted into a container: what it shows is all that is known.
            None => (candidates.first()?, String::new()),
        };
        Some(ControlGroup { mount: mount.point.into(), root: mount.root.trim_end_matches('/').into(), below })
    }

    /// The folders of the group and its ancestors up to the mounted one, and their names.
    fn levels(&self) -> impl Iterator<Item = (String, String)> {
        let ancestors = std::iter::successors(Some(self.below.as_str()), |below| Some(below.rsplit_once('/')?.0));
        ancestors.map(|below| (format!("{}{below}", self.mount), format!("{}{below}", self.root)))
    }
}

/// Whether the rest of a path behind a group names the group or one below it; `..` leads out of the namespace.
fn is_below(rest: &str) -> bool {
    (rest.is_empty() || rest.starts_with('/')) && !rest.split('/').any(|part| part == "..")
}

/// Parses a line such as `4:cpu,cpuacct:/user.slice`: controllers, none for version 2, and path.
fn parse_group(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// A mounted file system.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

/// Parses a line such as `32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu`.
fn parse_mount(line: &str) -> Option<Mount<'_>> {
    let (mount, file_system) = line.split_once(" - ")?;
    let (mut mount, mut file_system) = (mount.split(' ').skip(3), file_system.split(' '));
    Some(Mount { root: mount.next()?, point: mount.next()?, kind: file_system.next()?, options: file_system.nth(1)? })
}

/// The quota that one group sets, in processors.
fn quota(folder: &str, files: &impl SystemFiles) -> Option<f64> {
    let (quota, period) = match files.read(&format!("{folder}/cpu.max")) {
        Some(text) => {
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.parse().ok()?)
        }
        None => (files.number(&format!("{folder}/cpu.cfs_quota_us"))?, files.number(&format!("{folder}/cpu.cfs_period_us"))?),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// The memory that one group allows, in bytes.
fn memory_limit(folder: &str, files: &impl SystemFiles) -> Option<u64> {
    /// Version 1 writes the largest number of whole pages if there is no limit.
    const UNLIMITED: u64 = 1 << 62;
    let text = files.read(&format!("{folder}/memory.max")).or_else(|| files.read(&format!("{folder}/memory.limit_in_bytes")))?;
    text.trim().parse().ok().filter(|bytes| *bytes < UNLIMITED)
}

/// Time for which the quota has stopped a group, in nanoseconds, summed over processors.
fn throttled(path: &str, files: &impl SystemFiles) -> Option<u64> {
    let text = files.read(path)?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("throttled_usec ").map(|us| us * 1000).or_else(|| field("throttled_time "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_files::TestFiles;

    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn limits(files: &[(&str, &str)]) -> Option<ProcessLimits> {
        let files = TestFiles::new(files);
        GroupLimits::read(&files).until_now(&files)
    }

    #[test]
    fn the_tightest_ancestor_of_version_2_counts() {
        let found = limits(&[
            ("/proc/self/cgroup", "0::/job.slice/step.scope/task\n"),
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/job.slice/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/job.slice/step.scope/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/job.slice/step.scope/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 70\n"),
            ("/sys/fs/cgroup/job.slice/step.scope/task/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/job.slice/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/job.slice/step.scope/memory.max", "max\n"),
            ("/sys/fs/cgroup/job.slice/step.scope/task/memory.max", "2000000\n"),
        ]);
        let found = found.unwrap();
        assert_eq!((found.cpu_quota, found.cpu_quota_group.as_deref()), (Some(1.5), Some("/job.slice/step.scope")));
        assert_eq!((found.memory_bytes, found.throttled_ns), (Some(1_000_000), Some(0)));
    }

    #[test]
    fn version_1_beside_an_empty_version_2() {
        let found = limits(&[
            ("/proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job/a\n0::/\n"),
            ("/proc/self/mountinfo", V1_MOUNTS),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/a/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/a/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n"),
        ]);
        let found = found.unwrap();
        assert_eq!((found.cpu_quota, found.cpu_quota_group.as_deref(), found.memory_bytes), (Some(0.5), Some("/job"), Some(4096)));
    }

    #[test]
    fn a_container_with_its_own_namespace() {
        let found =
            limits(&[("/proc/self/cgroup", "0::/\n"), ("/proc/self/mountinfo", V2_MOUNT), ("/sys/fs/cgroup/cpu.max", "200000 100000\n")]);
        let found = found.unwrap();
        assert_eq!((found.cpu_quota, found.cpu_quota_group.as_deref()), (Some(2.0), Some("/ (inode 77)")));
    }

    #[test]
    fn a_container_of_version_1_without_a_namespace() {
        let found = limits(&[
            ("/proc/self/cgroup", "5:cpu:/docker/abc/in\n"),
            ("/proc/self/mountinfo", "50 40 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(found.and_then(|found| found.cpu_quota_group).as_deref(), Some("/docker/abc"));
    }

    #[test]
    fn a_process_outside_the_mounted_part_uses_what_is_mounted() {
        let mounts = "50 40 0:29 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let group = ControlGroup::find("0::/../def\n", mounts, "cpu").unwrap();
        assert_eq!(group.levels().collect::<Vec<_>>(), [("/sys/fs/cgroup".into(), "/docker/abc".into())]);
    }

    #[test]
    fn without_limits_there_is_nothing_to_say() {
        let unlimited = [
            ("/proc/self/cgroup", "0::/a\n"),
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/a/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/memory.max", "max\n"),
        ];
        assert_eq!(limits(&unlimited), None);
        assert_eq!(limits(&[]), None);
    }
}
