//! Everything a report shows.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use serde::Serialize;
use sintonia_mpi::FunctionId;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::header::{MpiVersion, RecordedRank, RecordingHeader};
use sintonia_recording::host::HostDescription;
use sintonia_replay::Error;
use sintonia_text::quantity::format_plural;
use sintonia_text::rank_list::format_ranks;

use crate::advice::Advice;
use crate::analysis::RunAnalysis;
use crate::call_site_totals::{CallSiteTotals, call_sites};
use crate::core_report::CoreReport;
use crate::core_time::{CoreFindings, CoreSplit};
use crate::counter_report::CounterReport;
use crate::file_report::FileUse;
use crate::function_report::FunctionReport;
use crate::gaps::RecordingGaps;
use crate::openmp::{OpenMpReport, OutsideMpi};
use crate::phase_efficiency::PhaseEfficiency;
use crate::progress::{self, ProgressSink};
use crate::rank_times::{self, FocusOfAnalysis, RankTimes, RunTimes, elapsed_s};
use crate::region_of_interest::{RegionDescription, RegionOfInterest};
use crate::report_rows::{ClockRepair, CoreDelay, CriticalPath, RootCause, WaitState};
use crate::resources::RankUsage;
use crate::sampled_time;
use crate::seconds::seconds;
use crate::segment::Segment;
use crate::tally::{CallSum, CallTally};
use crate::thread_summary::ThreadSummary;
use crate::{Efficiency, SourceLocation};

/// The first activity of an analysis.
const READING: &str = "reading calls";

/// The content of a report. The field names are the keys of its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The command that was recorded.
    pub command: Vec<String>,
    /// The exit status of the command, if it ended.
    pub exit_status: Option<i32>,
    /// Parameters given by the user when recording.
    pub parameters: BTreeMap<String, f64>,
    /// Whether the recording is a profile, without individual calls.
    pub profile: bool,
    /// Number of ranks.
    pub ranks: usize,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// What each of these hosts is, in the same order; empty if the recording does not say.
    pub host_descriptions: Vec<HostDescription>,
    /// What each rank had of its host; empty if the recording does not say.
    pub resources: Vec<RankUsage>,
    /// The MPI library.
    pub mpi: MpiVersion,
    /// The part of the run that all figures are about; `None` for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionDescription>,
    /// Seconds from the start of the first rank to the end of the last; of a part, those of the rank that takes longest.
    pub elapsed_s: f64,
    /// Number of MPI calls of all ranks.
    pub calls: u64,
    /// Seconds from the first exit from MPI_Init to the last entry into MPI_Finalize.
    pub work_s: f64,
    /// The same, summed over the ranks, or over the threads that call MPI if there are several: what shares of the run are shares of.
    pub rank_work_s: f64,
    /// POP efficiencies between MPI_Init and MPI_Finalize; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// The threads that call MPI; `None` if each rank has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadSummary>,
    /// The threads of OpenMP; `None` if there are none, or if they were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openmp: Option<OpenMpReport>,
    /// Seconds in MPI, over the ranks.
    pub mpi_s: RankSpread,
    /// Seconds of computation, over the ranks.
    pub outside_s: RankSpread,
    /// Whether the ranks had cores to run on.
    pub cores: CoreReport,
    /// The recorded ranks.
    pub per_rank: Vec<RankTimes>,
    /// MPI functions, most time first.
    pub operations: Vec<OperationTotals>,
    /// Call sites, most time first.
    pub call_sites: Vec<CallSiteTotals>,
    /// Point-to-point and one-sided messages by size, smallest first.
    pub sizes: Vec<MessageSizeClass>,
    /// Point-to-point and one-sided messages by pair of ranks, most bytes first.
    pub pairs: Vec<RankPair>,
    /// Unmatched point-to-point messages; 0 for a profile.
    pub unmatched: u64,
    /// Messages of several threads that MPI does not order, so that it is not known which send belongs to which receive; 0 for a profile.
    pub unordered: u64,
    /// Calls in progress when their rank ended.
    pub unfinished: Vec<UnfinishedCall>,
    /// Number of calls that the program left by an exception, a jump or the end of their thread.
    pub left_calls: u64,
    /// Ranks with incomplete data.
    pub incomplete_ranks: Vec<u32>,
    /// The same ranks, with reasons.
    pub incomplete: Vec<IncompleteRank>,
    /// What was not recorded, one sentence each.
    pub not_recorded: Vec<String>,
    /// Maximum clock error between hosts, in seconds.
    pub clock_error_s: f64,
    /// Corrections of the clocks.
    pub clock_repair: ClockRepair,
    /// Run time in seconds on an ideal network, between MPI_Init and MPI_Finalize; `None` for a profile.
    pub ideal_s: Option<f64>,
    /// The phases of the program and their efficiencies.
    pub phases: Vec<PhaseEfficiency>,
    /// Wait states by pattern and call site, longest first.
    pub wait_states: Vec<WaitState>,
    /// Root causes of wait states, largest cost first.
    pub root_causes: Vec<RootCause>,
    /// Ranks that made others wait because they had no core, largest cost first; empty if it is unknown when they had none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_delays: Vec<CoreDelay>,
    /// The critical path; `None` for a profile.
    pub critical_path: Option<CriticalPath>,
    /// Where the time on the processor was spent; `None` without samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computation: Option<FunctionReport>,
    /// What was counted in the computation; `None` without counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterReport>,
    /// Advice, in the order in which to make the changes.
    pub advice: Vec<Advice>,
    /// The files that were used through the C library, most time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileUse>,
}

/// Distribution of a time over the ranks, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RankSpread {
    /// The minimum.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The maximum.
    pub max: f64,
    /// Excess of the maximum over the mean: max / mean - 1.
    pub imbalance: f64,
}

/// All calls of one MPI function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationTotals {
    /// The function.
    pub operation: &'static str,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Bytes they sent and received.
    pub bytes: u64,
}

/// Messages of similar size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageSizeClass {
    /// Upper bound of the message size: a power of two, or 0.
    pub up_to: u64,
    /// Number of messages.
    pub messages: u64,
    /// Total bytes.
    pub bytes: u64,
}

/// Messages from one rank to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankPair {
    /// Source rank.
    pub from: i32,
    /// Destination rank.
    pub to: i32,
    /// Number of messages.
    pub messages: u64,
    /// Total bytes.
    pub bytes: u64,
}

/// A call in progress when its rank ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnfinishedCall {
    /// The rank.
    pub rank: u32,
    /// The function.
    pub operation: &'static str,
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
}

/// A rank with incomplete data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncompleteRank {
    /// The rank.
    pub rank: u32,
    /// The reason.
    pub why: String,
}

impl RunSummary {
    /// Number of steps of the progress for a recording read by one process.
    pub fn progress_steps(recording: &Recording) -> usize {
        let analysis = if recording.header.profile { 0 } else { progress::ANALYSIS_STEPS };
        recording.header.ranks.len() * (progress::READING_STEPS + analysis)
    }

    /// Analyses a recording in a process group.
    pub fn from_recording(recording: &Recording, comm: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunSummary, Error> {
        if recording.header.profile {
            return RunSummary::without_history(recording, comm, progress);
        }
        let times = rank_times::read_rank_times(recording, comm, &|| progress(READING, progress::READING_STEPS))?;
        RunSummary::of_analysis(recording, times, &RunAnalysis::from_recording(recording, comm, progress)?)
    }

    fn of_analysis(recording: &Recording, times: RunTimes, analysis: &RunAnalysis) -> Result<RunSummary, Error> {
        let mut summary = RunSummary::new(recording, &analysis.findings.gaps, times);
        summary.computation = FunctionReport::from_times(recording, &analysis.findings.samples)?;
        let computation_ns: i64 = analysis.findings.segments.values().flat_map(|ranks| ranks.values()).map(|time| time.ns).sum();
        summary.counters = CounterReport::from_segments(recording, &analysis.findings.counted, computation_ns as f64 / 1e9)?;
        summary.add_analysis(recording, analysis);
        summary.add_openmp(recording, &analysis.findings.main_serial_segments)?;
        summary.files = FileUse::from_recording(recording)?;
        Ok(summary)
    }

    /// The summary without wait state analysis, which needs memory in proportion to the run.
    pub fn without_history(recording: &Recording, comm: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunSummary, Error> {
        let times = rank_times::read_rank_times(recording, comm, &|| progress(READING, progress::READING_STEPS))?;
        let mut summary = RunSummary::new(recording, &RecordingGaps::from_recording(recording, comm), times);
        summary.computation = FunctionReport::from_times(recording, &sampled_time::without_segments(recording)?)?;
        summary.add_cores(recording, &CoreFindings::without_history(recording)?);
        summary.add_openmp(recording, &BTreeMap::new())?;
        summary.files = FileUse::from_recording(recording)?;
        Ok(summary)
    }

    /// Analyses a part of a recording in a process group.
    pub fn from_region(region: &RegionOfInterest, comm: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunSummary, Error> {
        let recording = &region.recording;
        let times = rank_times::read_rank_times(recording, comm, &|| progress(READING, progress::READING_STEPS))?;
        let summary = RunSummary::of_analysis(recording, times, &RunAnalysis::from_region(region, comm, progress)?)?;
        Ok(RunSummary { region: Some(region.description.clone()), ..summary })
    }

    /// Estimated memory of [`RunSummary::from_recording`] in bytes, over all processes.
    pub fn memory_bytes(recording: &Recording) -> u64 {
        const BYTES_PER_CALL: u64 = 90;
        let calls = recording.header.ranks.iter().map(|rank| rank.calls).fold(0, u64::saturating_add);
        if recording.header.profile { 0 } else { calls.saturating_mul(BYTES_PER_CALL) }
    }

    /// Adds the results of the wait state analysis.
    fn add_analysis(&mut self, recording: &Recording, RunAnalysis { findings, candidates, cores }: &RunAnalysis) {
        let ideal_s = findings.ideal_ns as f64 / 1e9;
        self.ideal_s = Some(ideal_s);
        let work_s = self.work_s;
        let split = |efficiency: Efficiency| efficiency.with_ideal_network(ideal_s, work_s);
        self.efficiency = self.efficiency.map(split);
        if let Some(threads) = &mut self.threads {
            threads.efficiency_without = threads.efficiency_without.map(split);
        }
        self.unmatched = findings.unmatched.sends + findings.unmatched.receives;
        self.unordered = findings.unordered;
        self.clock_repair = ClockRepair::from_findings(findings);
        self.phases = findings.phases.clone();
        self.wait_states = WaitState::from_findings(recording, findings);
        self.root_causes = RootCause::from_findings(recording, findings);
        self.core_delays = CoreDelay::from_findings(findings);
        self.critical_path = Some(CriticalPath::from_findings(recording, findings, cores));
        self.advice = Advice::from_candidates(recording, findings, candidates, cores, self.elapsed_s);
        self.add_cores(recording, cores);
        self.cores.held_back = candidates.held_back;
    }

    /// Adds the threads of OpenMP, and advice about them. Threads without a core seem to compute longer: then there is none.
    fn add_openmp(&mut self, recording: &Recording, main_serial_segments: &BTreeMap<u32, Segment>) -> Result<(), Error> {
        let main = |rank: u32| self.threads.iter().flat_map(|threads| &threads.per_thread).find(|time| time.rank == rank && time.main);
        let outside = |rank: &RankTimes| OutsideMpi {
            rank: rank.rank,
            outside_s: main(rank.rank).map_or(rank.outside_s, |main| main.outside_s + main.blocked_s),
            main_serial: main_serial_segments.get(&rank.rank).copied(),
        };
        let outside: Vec<OutsideMpi> = self.per_rank.iter().map(outside).collect();
        self.openmp = OpenMpReport::from_recording(recording, &outside, self.work_s)?;
        if let Some(report) = &self.openmp {
            let advice = Advice::from_openmp(report, self.elapsed_s);
            let all = advice.len();
            let explained_s = self.cores.explained_s();
            let explained = |advice: &Advice| advice.saving.is_some_and(|saving| saving.likely_s() <= explained_s);
            let kept: Vec<Advice> = advice.into_iter().filter(|advice| !explained(advice)).collect();
            self.cores.held_back += all - kept.len();
            kept.into_iter().for_each(|advice| insert_by_saving(&mut self.advice, advice));
        }
        Ok(())
    }

    /// Adds whether ranks had cores. If not, only computation on a core counts in the efficiencies.
    fn add_cores(&mut self, recording: &Recording, cores: &CoreFindings) {
        self.cores = CoreReport::from_findings(&recording.header, cores);
        if !cores.counts_only_computing() {
            return;
        }
        let computing: Vec<f64> = cores.splits.values().map(CoreSplit::mean_computing_s).collect();
        let efficiency = Efficiency::new(&computing, self.work_s);
        self.efficiency = efficiency.map(|e| e.with_ideal_network(self.ideal_s.unwrap_or(0.0), self.work_s));
        // It counts waiting for a core as computation.
        self.threads.iter_mut().for_each(|threads| threads.efficiency_without = None);
    }

    fn new(recording: &Recording, gaps: &RecordingGaps, times: RunTimes) -> RunSummary {
        let header = &recording.header;
        let elapsed_s = match times.is_excerpt {
            true => times.longest_s(|_| true, false),
            false => elapsed_s(header.ranks.iter().map(|r| (r.begin_ns, r.end_ns))),
        };
        let work = FocusOfAnalysis::from_times(header, &times, gaps);
        let threads = ThreadSummary::new(header, &times, &work);
        let rank_work_s = times.threads.iter().map(|thread| thread.in_focus(work.elapsed_s).active_s).sum();
        let RunTimes { ranks: per_rank, tally, .. } = times;
        let compute: Vec<f64> = per_rank.iter().map(|r| r.outside_s).collect();
        let source = |site| SourceLocation::of(recording, site);
        let incomplete = gaps.incomplete.iter().map(|(rank, why)| IncompleteRank { rank: *rank, why: why.clone() });
        RunSummary {
            command: header.command.clone(),
            exit_status: header.exit_status,
            parameters: header.parameters.clone(),
            profile: header.profile,
            ranks: header.size,
            hosts: header.hosts.clone(),
            host_descriptions: header.host_descriptions.clone(),
            resources: RankUsage::from_header(header),
            mpi: header.mpi.clone(),
            region: None,
            elapsed_s,
            calls: per_rank.iter().map(|r| r.calls).sum(),
            work_s: work.elapsed_s,
            rank_work_s,
            efficiency: work.efficiency,
            threads,
            openmp: None,
            mpi_s: RankSpread::from_values(per_rank.iter().map(|r| r.mpi_s)),
            outside_s: RankSpread::from_values(compute.into_iter()),
            cores: CoreReport::default(),
            per_rank,
            operations: operations(&tally),
            call_sites: call_sites(&tally, source),
            sizes: sizes(&tally),
            pairs: pairs(&tally),
            unmatched: 0,
            unordered: 0,
            unfinished: unfinished(&tally, source),
            left_calls: tally.non_local_exits,
            incomplete_ranks: gaps.incomplete.keys().copied().collect(),
            incomplete: incomplete.collect(),
            not_recorded: not_recorded(header),
            clock_error_s: header.clock_error_s,
            clock_repair: ClockRepair::default(),
            ideal_s: None,
            phases: Vec::new(),
            wait_states: Vec::new(),
            root_causes: Vec::new(),
            core_delays: Vec::new(),
            critical_path: None,
            computation: None,
            counters: None,
            advice: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// Inserts a piece of advice that was not replayed before those that save less. The others keep their order: each saves what it does after
/// those before it.
fn insert_by_saving(list: &mut Vec<Advice>, advice: Advice) {
    let saves_ns = advice.saving.map_or(i64::MAX, |saving| saving.likely_ns);
    let saves_less = |other: &Advice| other.saving.is_some_and(|saving| saving.likely_ns < saves_ns);
    let index = list.iter().position(saves_less).unwrap_or(list.len());
    list.insert(index, advice);
}

impl RankSpread {
    fn from_values(values: impl ExactSizeIterator<Item = f64> + Clone) -> RankSpread {
        if values.len() == 0 {
            return RankSpread::default();
        }
        let mean = values.clone().sum::<f64>() / values.len() as f64;
        let (min, max) = values.fold((f64::INFINITY, 0.0), |(min, max), v| (f64::min(min, v), f64::max(max, v)));
        RankSpread { min, mean, max, imbalance: if mean > 0.0 { max / mean - 1.0 } else { 0.0 } }
    }
}

/// Sums merged by key, most time first.
fn sort_by_time<K: Ord + Hash>(sums: impl Iterator<Item = (K, CallSum)>) -> Vec<(K, CallSum)> {
    let mut merged: HashMap<K, CallSum> = HashMap::new();
    sums.for_each(|(key, sum)| merged.entry(key).or_default().add(sum));
    let mut merged: Vec<(K, CallSum)> = merged.into_iter().collect();
    merged.sort_unstable_by(|(a_key, a), (b_key, b)| b.nanoseconds.cmp(&a.nanoseconds).then_with(|| a_key.cmp(b_key)));
    merged
}

fn operations(tally: &CallTally) -> Vec<OperationTotals> {
    sort_by_time(tally.sites.iter().map(|((operation, _), sum)| (FunctionId(*operation), *sum)))
        .into_iter()
        .map(|(operation, sum)| OperationTotals {
            operation: operation.name(),
            calls: sum.calls,
            seconds: seconds(sum.nanoseconds),
            bytes: sum.bytes,
        })
        .collect()
}

fn sizes(tally: &CallTally) -> Vec<MessageSizeClass> {
    let class =
        |(up_to, sum): (&u64, &crate::tally::MessageTotals)| MessageSizeClass { up_to: *up_to, messages: sum.messages, bytes: sum.bytes };
    let mut sizes: Vec<MessageSizeClass> = tally.sizes.iter().map(class).collect();
    sizes.sort_unstable_by_key(|class| class.up_to);
    sizes
}

fn pairs(tally: &CallTally) -> Vec<RankPair> {
    let mut pairs: Vec<RankPair> =
        tally.pairs.iter().map(|((from, to), sum)| RankPair { from: *from, to: *to, messages: sum.messages, bytes: sum.bytes }).collect();
    pairs.sort_unstable_by_key(|pair| (std::cmp::Reverse((pair.bytes, pair.messages)), pair.from, pair.to));
    pairs
}

fn unfinished(tally: &CallTally, source: impl Fn(u32) -> SourceLocation) -> Vec<UnfinishedCall> {
    let call = |(rank, operation, site): &(u32, u16, u32)| UnfinishedCall {
        rank: *rank,
        operation: FunctionId(*operation).name(),
        source: source(*site),
    };
    let mut calls: Vec<UnfinishedCall> = tally.unfinished.iter().map(call).collect();
    calls.sort_by_key(|call| call.rank);
    calls
}

/// What the recording does not contain, and calls that could not be recorded.
fn not_recorded(header: &RecordingHeader) -> Vec<String> {
    let incomplete: Vec<&RecordedRank> = header.ranks.iter().filter(|rank| rank.dropped > 0).collect();
    let ranks = format_ranks(&incomplete.iter().map(|rank| rank.rank).collect::<Vec<_>>());
    let dropped = match incomplete.iter().map(|rank| rank.dropped).sum() {
        0 => None,
        calls if header.profile => Some(format!("{ranks}: only the function is known of {}", format_plural(calls, "call"))),
        calls => Some(format!("{ranks}: {} could not be recorded", format_plural(calls, "call"))),
    };
    header.notes.iter().cloned().chain(dropped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Saving;

    #[test]
    fn advice_that_was_not_replayed_leaves_the_others_in_their_order() {
        let advice = |kind, saves_s: Option<f64>| Advice {
            kind,
            what: String::new(),
            source: SourceLocation::default(),
            evidence: String::new(),
            try_this: String::new(),
            saving: saves_s.map(Saving::exactly_seconds),
            together_s: None,
            basis: String::new(),
        };
        // The third change saves more than the second, but only after it.
        let mut list = vec![advice("cores", None), advice("first", Some(5.0)), advice("second", Some(1.0)), advice("third", Some(3.0))];
        insert_by_saving(&mut list, advice("threads", Some(2.0)));
        insert_by_saving(&mut list, advice("locks", Some(0.5)));
        let kinds: Vec<&str> = list.iter().map(|advice| advice.kind).collect();
        assert_eq!(kinds, ["cores", "first", "threads", "second", "third", "locks"]);
    }
}
