//! Why threads had no processor.
//!
//! Threads that may run only on a set of processors compete for that set. If more of them are busy than the set has processors, that is the
//! reason; the smallest such sets are named. If they fit, a quota or other work on the host is left.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_recording::definitions;
use sintonia_recording::header::RecordingHeader;

use super::{MIN_SHARE, ThreadCoreTime};

/// A quota that stopped its control group for a smaller share of the time is not the reason.
const MIN_THROTTLED_SHARE: f64 = 0.01;

/// Threads that share too few processors lose a smaller share of these to the kernel and to switching.
const MIN_OTHER_SHARE: f64 = 0.25;

/// Why threads had no processor.
#[derive(Clone, Debug, PartialEq)]
pub enum ShortageCause {
    /// More threads than processors that they may use.
    Oversubscribed {
        /// Index of the host.
        host: u32,
        /// The ranks.
        ranks: Vec<u32>,
        /// Number of their threads that compete.
        threads: u32,
        /// The processors they may use.
        processors: Vec<u32>,
        /// All processors of the host; empty if not known.
        host_processors: Vec<u32>,
    },
    /// Several threads are bound to the same processors although the host has others that none of the run is bound to.
    SharedProcessors {
        /// Index of the host.
        host: u32,
        /// The ranks.
        ranks: Vec<u32>,
        /// Number of their threads that compete.
        threads: u32,
        /// The processors to which they are bound.
        processors: Vec<u32>,
        /// Processors to which no thread of the run is bound.
        free: Vec<u32>,
    },
    /// The quota of a control group was used up.
    Quota {
        /// Index of the host.
        host: u32,
        /// The ranks in that control group.
        ranks: Vec<u32>,
        /// Processor time per time, in processors.
        quota: f64,
        /// The control group, if known.
        group: Option<String>,
        /// Time for which the quota stopped it, in nanoseconds.
        throttled_ns: u64,
    },
    /// The threads fit on their processors and still had to wait: another job, or threads of the program that do not call MPI.
    OtherWork {
        /// Index of the host.
        host: u32,
        /// The ranks that waited.
        ranks: Vec<u32>,
        /// The processors they may use.
        processors: Vec<u32>,
        /// Processors that the other work used on average, as far as it took them from these ranks.
        used: f64,
        /// The load average over one minute when the run began, if known.
        load_at_start: Option<f64>,
    },
}

impl ShortageCause {
    /// The ranks it concerns.
    pub fn ranks(&self) -> &[u32] {
        match self {
            ShortageCause::Oversubscribed { ranks, .. }
            | ShortageCause::SharedProcessors { ranks, .. }
            | ShortageCause::Quota { ranks, .. }
            | ShortageCause::OtherWork { ranks, .. } => ranks,
        }
    }

    /// Index of its host.
    pub fn host(&self) -> u32 {
        match self {
            ShortageCause::Oversubscribed { host, .. }
            | ShortageCause::SharedProcessors { host, .. }
            | ShortageCause::Quota { host, .. }
            | ShortageCause::OtherWork { host, .. } => *host,
        }
    }
}

/// The processors of a list such as `0-3,8`; empty if it cannot be read.
pub(super) fn parse_processors(text: &str) -> Vec<u32> {
    let numbers = definitions::parse_ranks(text.trim()).unwrap_or_default();
    let processors: BTreeSet<u32> = numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).collect();
    processors.into_iter().collect()
}

/// The causes on all hosts, the one with most waiting time first.
pub(super) fn find(header: &RecordingHeader, threads: &[ThreadCoreTime]) -> Vec<ShortageCause> {
    let mut causes: Vec<(u64, ShortageCause)> = Vec::new();
    for (host, all) in by_host(threads) {
        let mut unexplained = all.clone();
        let mut explain = |members: &[usize], cause: ShortageCause| {
            unexplained.retain(|index| !members.contains(index));
            causes.push((sum(threads, members, waiting), cause));
        };
        let limited = quotas(host, threads, &all);
        limited.into_iter().for_each(|(members, cause)| explain(&members, cause));
        let online = host_processors(header, host);
        let mut beside = Vec::new();
        for set in overfull_sets(threads, &all) {
            if waits(threads, &set.threads) {
                explain(&set.threads, set.cause(host, threads, &all, &online));
                beside.extend(set.other_work(header, host, threads));
            }
        }
        causes.extend(other_work(header, host, threads, &unexplained));
        causes.extend(beside.into_iter().map(|cause| (0, cause)));
    }
    causes.sort_by_key(|(waiting, cause)| (std::cmp::Reverse(*waiting), cause.ranks().to_vec()));
    causes.into_iter().map(|(_, cause)| cause).collect()
}

/// Estimates the waiting time of threads of which the kernel does not report it: on processors that too many threads share, what a thread
/// lacks of its time is waiting, up to an equal share for all. A thread that blocks is taken for one that waits, so it is an upper bound.
pub(super) fn infer_waiting(threads: &mut [ThreadCoreTime]) {
    for (_, all) in by_host(threads) {
        for set in overfull_sets(threads, &all) {
            let most = 1.0 - set.processors.len() as f64 / set.threads.len() as f64;
            for index in set.threads {
                let thread = &mut threads[index];
                let lacking = thread.elapsed_ns.saturating_sub(thread.cpu_ns);
                thread.waiting_ns = Some(lacking.min((thread.elapsed_ns as f64 * most) as u64));
            }
        }
    }
}

fn by_host(threads: &[ThreadCoreTime]) -> BTreeMap<u32, Vec<usize>> {
    let mut hosts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    threads.iter().enumerate().for_each(|(index, thread)| hosts.entry(thread.rank.host).or_default().push(index));
    hosts
}

fn host_processors(header: &RecordingHeader, host: u32) -> Vec<u32> {
    header.host_descriptions.get(host as usize).map(|host| parse_processors(&host.processors)).unwrap_or_default()
}

/// Threads that compete for processors of which there are fewer than threads.
struct OverfullSet {
    processors: BTreeSet<u32>,
    threads: Vec<usize>,
}

impl OverfullSet {
    fn cause(&self, host: u32, threads: &[ThreadCoreTime], all: &[usize], online: &[u32]) -> ShortageCause {
        let ranks = ranks_of(threads, &self.threads);
        let processors: Vec<u32> = self.processors.iter().copied().collect();
        let competing = self.threads.len() as u32;
        let used: BTreeSet<u32> = all.iter().flat_map(|index| threads[*index].affinity.iter().copied()).collect();
        let free: Vec<u32> = online.iter().copied().filter(|processor| !used.contains(processor)).collect();
        // A job that was given a part of the host also has one set for all its threads: several processors for all is no binding.
        let is_bound = processors.len() == 1 || used.len() > processors.len();
        if is_bound && (!free.is_empty() || used.len() > processors.len()) {
            return ShortageCause::SharedProcessors { host, ranks, threads: competing, processors, free };
        }
        ShortageCause::Oversubscribed { host, ranks, threads: competing, processors, host_processors: online.to_vec() }
    }
}

impl OverfullSet {
    /// Other work, if the threads had clearly less of their processors than there was although they wanted all.
    fn other_work(&self, header: &RecordingHeader, host: u32, threads: &[ThreadCoreTime]) -> Option<ShortageCause> {
        let own = |index: &usize| threads[*index].cpu_ns as f64 / threads[*index].elapsed_ns.max(1) as f64;
        let wanted: f64 = self.threads.iter().map(|index| threads[*index].demand()).sum();
        let available = self.processors.len() as f64;
        let used = wanted.min(available) - self.threads.iter().map(own).sum::<f64>();
        let cause = || ShortageCause::OtherWork {
            host,
            ranks: ranks_of(threads, &self.threads),
            processors: self.processors.iter().copied().collect(),
            used,
            load_at_start: load_at_start(header, host),
        };
        (used > MIN_OTHER_SHARE * available).then(cause)
    }
}

/// The sets of processors with more busy threads than processors, smallest first. Threads and processors of one set are not counted again
/// in a larger one.
fn overfull_sets(threads: &[ThreadCoreTime], all: &[usize]) -> Vec<OverfullSet> {
    let busy: Vec<usize> = all.iter().copied().filter(|index| threads[*index].is_busy() && !threads[*index].affinity.is_empty()).collect();
    let union: BTreeSet<u32> = busy.iter().flat_map(|index| threads[*index].affinity.iter().copied()).collect();
    let mut candidates: BTreeSet<(usize, Vec<u32>)> = BTreeSet::new();
    candidates.extend(busy.iter().map(|index| (threads[*index].affinity.len(), threads[*index].affinity.clone())));
    candidates.insert((union.len(), union.into_iter().collect()));
    let mut found: Vec<OverfullSet> = Vec::new();
    for (_, candidate) in candidates {
        let mut processors: BTreeSet<u32> = candidate.into_iter().collect();
        let mut members: Vec<usize> =
            busy.iter().copied().filter(|index| threads[*index].affinity.iter().all(|processor| processors.contains(processor))).collect();
        members.retain(|index| !found.iter().any(|set| set.threads.contains(index)));
        processors.retain(|processor| !found.iter().any(|set| set.processors.contains(processor)));
        if members.len() > processors.len() && !processors.is_empty() {
            found.push(OverfullSet { processors, threads: members });
        }
    }
    found
}

/// The quotas that stopped ranks, with their threads.
fn quotas(host: u32, threads: &[ThreadCoreTime], all: &[usize]) -> Vec<(Vec<usize>, ShortageCause)> {
    let mut groups: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
    for index in all {
        let limits = threads[*index].rank.limits.as_ref().filter(|limits| limits.cpu_quota.is_some());
        if let Some(limits) = limits {
            groups.entry(limits.cpu_quota_group.clone()).or_default().push(*index);
        }
    }
    let mut found = Vec::new();
    for (group, members) in groups {
        let limits = || members.iter().filter_map(|index| threads[*index].rank.limits.as_ref());
        let quota = limits().filter_map(|limits| limits.cpu_quota).fold(f64::INFINITY, f64::min);
        let throttled_ns = limits().filter_map(|limits| limits.throttled_ns).max().unwrap_or(0);
        let longest = members.iter().map(|index| threads[*index].elapsed_ns).max().unwrap_or(0);
        if throttled_ns as f64 >= MIN_THROTTLED_SHARE * longest as f64 && throttled_ns > 0 {
            let ranks = ranks_of(threads, &members);
            found.push((members, ShortageCause::Quota { host, ranks, quota, group, throttled_ns }));
        }
    }
    found
}

/// What is left if threads waited that fit on their processors.
fn other_work(header: &RecordingHeader, host: u32, threads: &[ThreadCoreTime], members: &[usize]) -> Option<(u64, ShortageCause)> {
    let waiting_members: Vec<usize> = members.iter().copied().filter(|index| waits(threads, &[*index])).collect();
    if waiting_members.is_empty() {
        return None;
    }
    let processors: BTreeSet<u32> = waiting_members.iter().flat_map(|index| threads[*index].affinity.iter().copied()).collect();
    let used = waiting_members.iter().map(|index| waiting(&threads[*index]) as f64 / threads[*index].elapsed_ns.max(1) as f64).sum();
    let load_at_start = load_at_start(header, host);
    let ranks = ranks_of(threads, &waiting_members);
    let cause = ShortageCause::OtherWork { host, ranks, processors: processors.into_iter().collect(), used, load_at_start };
    Some((sum(threads, &waiting_members, waiting), cause))
}

/// The load average over one minute.
fn load_at_start(header: &RecordingHeader, host: u32) -> Option<f64> {
    header.host_descriptions.get(host as usize).and_then(|host| host.load_at_start).map(|load| load[0])
}

fn ranks_of(threads: &[ThreadCoreTime], members: &[usize]) -> Vec<u32> {
    let ranks: BTreeSet<u32> = members.iter().map(|index| threads[*index].rank.rank).collect();
    ranks.into_iter().collect()
}

fn waiting(thread: &ThreadCoreTime) -> u64 {
    thread.waiting_ns.unwrap_or(0)
}

/// Whether threads waited for a noticeable share of their time.
fn waits(threads: &[ThreadCoreTime], members: &[usize]) -> bool {
    sum(threads, members, waiting) as f64 >= MIN_SHARE * sum(threads, members, |thread| thread.elapsed_ns).max(1) as f64
}

fn sum(threads: &[ThreadCoreTime], members: &[usize], time: impl Fn(&ThreadCoreTime) -> u64) -> u64 {
    members.iter().map(|index| time(&threads[*index])).fold(0, u64::saturating_add)
}
