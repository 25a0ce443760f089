//! Whether the threads of a run had processors to run on.
//!
//! A rank that is ready to run and has no processor looks like a rank that computes more, sends late or has a slow network. So this is
//! asked before any verdict: the share of the threads' time in which they were ready to run without a processor, and why.
//!
//! The kernel counts that time for each thread. Where it does not, it is inferred from the processor time of threads that share too few
//! processors. A recording without either says nothing about it.

mod causes;
mod display;

pub use causes::ShortageCause;

use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::host::{OffCpuSource, ThreadUsage};
use sintonia_recording::off_cpu::ThreadOffCpu;
use sintonia_recording::{Error, Recording};

/// A smaller share of all threads' time is nothing: every host runs something else now and then.
const MIN_SHARE: f64 = 0.03;

/// The same for a single rank, which the others may wait for.
const MIN_RANK_SHARE: f64 = 0.10;

/// A thread that ran or wanted to run for a smaller share of its time does not compete for processors.
const MIN_DEMAND: f64 = 0.05;

/// Threads that were ready to run and had no processor.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreShortage {
    /// How it is known.
    pub basis: ShortageBasis,
    /// The ranks of which it is known, in order.
    pub ranks: Vec<RankCoreTime>,
    /// Why, the one with most time first; several are possible.
    pub causes: Vec<ShortageCause>,
}

/// How it is known that threads had no processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortageBasis {
    /// The kernel counted the time.
    Measured,
    /// Threads that share too few processors had less processor time than time.
    Inferred,
}

/// The time of a rank, summed over its threads that called MPI, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankCoreTime {
    /// The rank.
    pub rank: u32,
    /// Its time.
    pub elapsed_ns: u64,
    /// Time for which it was ready to run and had no processor.
    pub waiting_ns: u64,
    /// Number of its threads that ran or wanted to run.
    pub busy_threads: u32,
}

impl RankCoreTime {
    /// The share of its time without a processor, from 0 to 1.
    pub fn share(&self) -> f64 {
        share(std::slice::from_ref(self))
    }
}

impl CoreShortage {
    /// The shortage of a run; `None` if its threads had processors, or if it is not known ([`CoreShortage::is_known`]).
    pub fn from_recording(recording: &Recording) -> Result<Option<CoreShortage>, Error> {
        CoreShortage::within(recording, |rank| (rank.begin_ns, rank.end_ns))
    }

    /// The same between two points in time of each rank, where the recording says when threads had no processor; over the whole run where
    /// it has only sums.
    pub fn within(recording: &Recording, span: impl Fn(&RecordedRank) -> (i64, i64)) -> Result<Option<CoreShortage>, Error> {
        Ok(Some(CoreShortage::measure(recording, span)?).filter(CoreShortage::is_noticeable))
    }

    /// The same, however small it is.
    pub fn measure(recording: &Recording, span: impl Fn(&RecordedRank) -> (i64, i64)) -> Result<CoreShortage, Error> {
        let mut threads = Vec::new();
        for rank in &recording.header.ranks {
            threads.extend(thread_times(recording, rank, span(rank))?);
        }
        let basis =
            if threads.iter().any(|thread| thread.waiting_ns.is_some()) { ShortageBasis::Measured } else { ShortageBasis::Inferred };
        if basis == ShortageBasis::Inferred {
            causes::infer_waiting(&mut threads);
        }
        Ok(CoreShortage { basis, ranks: sum_by_rank(&threads), causes: causes::find(&recording.header, &threads) })
    }

    /// Whether a recording says if its threads had processors.
    pub fn is_known(header: &RecordingHeader) -> bool {
        header.ranks.iter().any(|rank| !rank.usage.is_empty() || has_intervals(rank))
    }

    /// Whether it also says when the threads of every rank had none.
    pub fn has_intervals(header: &RecordingHeader) -> bool {
        !header.ranks.is_empty() && header.ranks.iter().all(has_intervals)
    }

    /// The share of all threads' time in which they were ready to run and had no processor, from 0 to 1.
    pub fn share(&self) -> f64 {
        share(&self.ranks)
    }

    /// The same for some ranks.
    pub fn share_of(&self, ranks: &[u32]) -> f64 {
        let known: Vec<RankCoreTime> = self.ranks.iter().filter(|time| ranks.contains(&time.rank)).copied().collect();
        share(&known)
    }

    /// The time of a rank, if it is known.
    pub fn rank(&self, rank: u32) -> Option<&RankCoreTime> {
        self.ranks.iter().find(|time| time.rank == rank)
    }

    /// Whether it is a shortage at all: less than that happens on every host.
    pub fn is_noticeable(&self) -> bool {
        CoreShortage::is_noticeable_share(self.share(), self.ranks.iter().map(RankCoreTime::share))
    }

    /// Whether a share of all threads' time is noticeable, given the same of each rank.
    pub fn is_noticeable_share(all: f64, ranks: impl IntoIterator<Item = f64>) -> bool {
        all >= MIN_SHARE || ranks.into_iter().any(|share| share >= MIN_RANK_SHARE)
    }
}

fn share(ranks: &[RankCoreTime]) -> f64 {
    let [elapsed, waiting] = [|rank: &RankCoreTime| rank.elapsed_ns, |rank: &RankCoreTime| rank.waiting_ns]
        .map(|time| ranks.iter().map(time).fold(0, u64::saturating_add));
    if elapsed == 0 { 0.0 } else { (waiting as f64 / elapsed as f64).min(1.0) }
}

/// What is known of a thread.
struct ThreadCoreTime<'a> {
    rank: &'a RecordedRank,
    elapsed_ns: u64,
    cpu_ns: u64,
    waiting_ns: Option<u64>,
    /// Processors on which it may run.
    affinity: Vec<u32>,
}

impl ThreadCoreTime<'_> {
    /// The share of its time in which it ran or wanted to.
    fn demand(&self) -> f64 {
        (self.cpu_ns.saturating_add(self.waiting_ns.unwrap_or(0))) as f64 / self.elapsed_ns.max(1) as f64
    }

    fn is_busy(&self) -> bool {
        self.demand() >= MIN_DEMAND
    }
}

/// The threads of a rank. Intervals are preferred to sums: they can be limited to the part of the run that is judged.
fn thread_times<'a>(recording: &Recording, rank: &'a RecordedRank, (begin, end): (i64, i64)) -> Result<Vec<ThreadCoreTime<'a>>, Error> {
    let intervals = if has_intervals(rank) { Some(recording.off_cpu(rank.rank)?) } else { None };
    let span_ns = u64::try_from(end.saturating_sub(begin)).unwrap_or(0);
    let unknown = ThreadUsage { elapsed_ns: span_ns, cpu_ns: span_ns, ..ThreadUsage::default() };
    let usage: Vec<&ThreadUsage> = match (rank.usage.is_empty(), &intervals) {
        (true, Some(_)) => vec![&unknown],
        _ => rank.usage.iter().collect(),
    };
    let times = |usage: &ThreadUsage| match &intervals {
        Some(threads) => within_span(rank, usage, threads, (begin, end)),
        None => ThreadCoreTime {
            rank,
            elapsed_ns: usage.elapsed_ns,
            cpu_ns: usage.cpu_ns,
            waiting_ns: usage.waiting_ns,
            affinity: causes::parse_processors(&usage.affinity),
        },
    };
    Ok(usage.into_iter().map(times).collect())
}

/// A thread in a part of the run; a thread that did not live as long as its rank counts with its own time.
fn within_span<'a>(rank: &'a RecordedRank, usage: &ThreadUsage, threads: &[ThreadOffCpu], (begin, end): (i64, i64)) -> ThreadCoreTime<'a> {
    let span_ns = u64::try_from(end.saturating_sub(begin)).unwrap_or(0);
    let elapsed_ns = if usage.elapsed_ns == 0 { span_ns } else { span_ns.min(usage.elapsed_ns) };
    let off = threads.iter().find(|thread| thread.thread == usage.thread).map(|thread| thread.within(begin, end)).unwrap_or_default();
    let on_cpu = elapsed_ns.saturating_sub(off.waiting_ns).saturating_sub(off.blocked_ns);
    ThreadCoreTime {
        rank,
        elapsed_ns,
        cpu_ns: on_cpu,
        waiting_ns: Some(off.waiting_ns.min(elapsed_ns)),
        affinity: causes::parse_processors(&usage.affinity),
    }
}

fn has_intervals(rank: &RecordedRank) -> bool {
    matches!(rank.off_cpu, Some(OffCpuSource::ContextSwitches | OffCpuSource::RunQueue))
}

fn sum_by_rank(threads: &[ThreadCoreTime]) -> Vec<RankCoreTime> {
    let mut ranks: Vec<RankCoreTime> = Vec::new();
    for thread in threads {
        if ranks.last().is_none_or(|last| last.rank != thread.rank.rank) {
            ranks.push(RankCoreTime { rank: thread.rank.rank, ..RankCoreTime::default() });
        }
        let Some(sum) = ranks.last_mut() else { continue };
        sum.elapsed_ns = sum.elapsed_ns.saturating_add(thread.elapsed_ns);
        sum.waiting_ns = sum.waiting_ns.saturating_add(thread.waiting_ns.unwrap_or(0));
        sum.busy_threads += u32::from(thread.is_busy());
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::host::{HostDescription, ProcessLimits};
    use sintonia_recording::off_cpu::OffCpuInterval;
    use sintonia_recording::testing::{RecordingBuilder, TestRecording, finalize, init};

    const SECOND: u64 = 1_000_000_000;

    /// A thread's processor time and waiting time in hundredths of a second, and where it may run.
    fn usage(cpu: u64, waiting: impl Into<Option<u64>>, affinity: &str) -> ThreadUsage {
        let waiting_ns = waiting.into().map(|hundredths: u64| hundredths * SECOND / 100);
        ThreadUsage { elapsed_ns: SECOND, cpu_ns: cpu * SECOND / 100, waiting_ns, affinity: affinity.into(), ..ThreadUsage::default() }
    }

    fn on_host(processors: &str, ranks: impl IntoIterator<Item = ThreadUsage>) -> RecordingBuilder {
        let ranks: Vec<ThreadUsage> = ranks.into_iter().collect();
        let calls = [init().at(0, 1), finalize().at(SECOND - 1, SECOND)];
        RecordingBuilder::new().ranks(ranks.iter().map(|_| calls.clone())).header(|header| {
            header.host_descriptions = vec![HostDescription { processors: processors.into(), ..HostDescription::default() }];
            header.ranks.iter_mut().zip(ranks).for_each(|(rank, usage)| rank.usage = vec![usage]);
        })
    }

    fn shortage(recording: &TestRecording) -> CoreShortage {
        CoreShortage::from_recording(recording).unwrap().expect("a shortage")
    }

    #[test]
    fn ranks_on_too_few_cores_have_none_for_a_share_of_their_time() {
        let recording = on_host("0-1", (0..8).map(|_| usage(25, 71, "0-1"))).write();
        let shortage = shortage(&recording);
        assert_eq!((shortage.basis, (shortage.share() * 100.0).round()), (ShortageBasis::Measured, 71.0));
        let said = "8 ranks shared 2 cores: 71 % of their time they waited for a core.";
        assert_eq!(shortage.statement(&recording.header), said);
        let [ShortageCause::Oversubscribed { threads: 8, processors, .. }] = &shortage.causes[..] else { panic!("{shortage:?}") };
        assert_eq!(processors, &[0, 1]);
    }

    #[test]
    fn ranks_bound_to_one_core_are_named_with_the_cores_that_are_free() {
        let affinity = ["0", "0", "1", "2"];
        let recording = on_host("0-7", affinity.map(|core| usage(50, if core == "0" { 49 } else { 0 }, core))).write();
        let shortage = shortage(&recording);
        let said = "Ranks 0 and 1 were bound to the same core 0: 49 % of their time they waited for a core.";
        assert_eq!(shortage.statement(&recording.header), said);
        let [ShortageCause::SharedProcessors { free, .. }] = &shortage.causes[..] else { panic!("{shortage:?}") };
        assert_eq!(free, &[3, 4, 5, 6, 7]);
        assert_eq!((shortage.share_of(&[0, 1]), shortage.share_of(&[2, 3])), (0.49, 0.0));
    }

    #[test]
    fn other_work_is_named_beside_too_many_ranks() {
        let recording = on_host("0-1", (0..8).map(|_| usage(10, 89, "0-1"))).write();
        let shortage = shortage(&recording);
        let [ShortageCause::Oversubscribed { .. }, ShortageCause::OtherWork { used, .. }] = &shortage.causes[..] else {
            panic!("{shortage:?}")
        };
        assert!((used - 1.2).abs() < 1e-9, "of two processors the ranks had 0.8");
    }

    #[test]
    fn a_pair_on_one_core_is_noticed_among_many_ranks() {
        let core = |rank: u32| if rank == 1 { 0 } else { rank };
        let ranks = (0..64).map(|rank| usage(50, if rank < 2 { 45 } else { 0 }, &core(rank).to_string()));
        let shortage = shortage(&on_host("0-63", ranks).write());
        assert!(shortage.share() < MIN_SHARE);
        assert_eq!(shortage.causes[0].ranks(), [0, 1]);
    }

    #[test]
    fn threads_that_fit_and_still_wait_share_their_cores_with_other_work() {
        let recording = on_host("0-1", (0..2).map(|_| usage(66, 33, "0-1"))).write();
        let shortage = shortage(&recording);
        let [ShortageCause::OtherWork { used, .. }] = &shortage.causes[..] else { panic!("{shortage:?}") };
        assert!((used - 0.66).abs() < 1e-9);
        let said = "Other work ran on the cores of ranks 0 and 1: 33 % of their time they waited for a core.";
        assert_eq!(shortage.statement(&recording.header), said);
    }

    #[test]
    fn a_single_rank_is_spoken_of_as_one() {
        let recording = on_host("0-1", [usage(66, 33, "0-1")]).write();
        let said = "Other work ran on the cores of rank 0: 33 % of its time it waited for a core.";
        assert_eq!(shortage(&recording).statement(&recording.header), said);
    }

    #[test]
    fn a_quota_that_stopped_the_run_is_the_cause() {
        let limits = ProcessLimits {
            cpu_quota: Some(0.5),
            cpu_quota_group: Some("/job".into()),
            throttled_ns: Some(SECOND / 2),
            memory_bytes: None,
        };
        let ranks = (0..2).map(|_| usage(25, 70, "0-3"));
        let limited = on_host("0-3", ranks).header(|header| header.ranks.iter_mut().for_each(|rank| rank.limits = Some(limits.clone())));
        let recording = limited.write();
        let said = "A CPU quota of 0.5 cores stopped 2 ranks: 70 % of their time they waited for a core.";
        assert_eq!(shortage(&recording).statement(&recording.header), said);
    }

    #[test]
    fn enough_cores_are_no_shortage_and_nothing_known_is_none_either() {
        let clean = on_host("0-3", (0..4).map(|core: u32| usage(98, 1, &core.to_string()))).write();
        assert_eq!(CoreShortage::from_recording(&clean).unwrap(), None);
        assert!(CoreShortage::is_known(&clean.header));
        let old = RecordingBuilder::new().rank([init().at(0, 1)]).write();
        assert_eq!(CoreShortage::from_recording(&old).unwrap(), None);
        assert!(!CoreShortage::is_known(&old.header));
    }

    #[test]
    fn a_thread_that_sleeps_does_not_compete() {
        let recording = on_host("0-3", [usage(85, 15, "0"), usage(1, 0, "0")]).write();
        let shortage = shortage(&recording);
        assert!(matches!(shortage.causes[..], [ShortageCause::OtherWork { .. }]), "{shortage:?}");
    }

    #[test]
    fn without_the_kernels_count_it_is_inferred_from_processor_time() {
        let recording = on_host("0-1", (0..8).map(|_| usage(25, None, "0-1"))).write();
        let found = shortage(&recording);
        assert_eq!((found.basis, found.share()), (ShortageBasis::Inferred, 0.75));
        assert!(found.statement(&recording.header).contains("estimated"));
        let enough = on_host("0-1", (0..2).map(|_| usage(50, None, "0-1"))).write();
        assert_eq!(CoreShortage::from_recording(&enough).unwrap(), None, "they may have slept");
    }

    #[test]
    fn intervals_are_judged_within_a_part_of_the_run() {
        let waiting = |begin: u64, end: u64| OffCpuInterval {
            begin: begin as i64,
            end: end as i64,
            waiting_ns: end - begin,
            ..OffCpuInterval::default()
        };
        let calls = [init().at(0, SECOND / 2), finalize().at(SECOND - 1, SECOND)];
        let early = [ThreadOffCpu::new(0, vec![waiting(0, SECOND / 4)])];
        let recording = RecordingBuilder::new().rank(calls).off_cpu(&early).write();
        assert_eq!(shortage(&recording).share(), 0.25);
        assert_eq!(CoreShortage::within(&recording, |rank| (SECOND as i64 / 2, rank.end_ns)).unwrap(), None);
    }
}
