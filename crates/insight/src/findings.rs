//! All results of the wait state analysis, over all ranks.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionId;
use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{ClockViolations, History, Location, UnmatchedMessages};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::core_time::CoreFindings;
use crate::counted_time::{self, CountedSegments};
use crate::critical_path::CriticalPathProfile;
use crate::delay::{self, CallDelayCosts, DelayCosts};
use crate::gaps::RecordingGaps;
use crate::ideal_network::IdealRun;
use crate::openmp;
use crate::phase_efficiency::{self, PhaseEfficiency, PhasesOfExcerpt};
use crate::progress::{self, ProgressSink, report_activity};
use crate::sampled_time::{self, SampledTimes};
use crate::segment::{self, Segment, SegmentTimes};
use crate::wait_states::{WAIT_PATTERNS, WaitInstance, WaitPattern};

/// The analysis results; every process of the group has all of them.
pub struct RunFindings {
    /// Waits by pattern and call site.
    pub waits: Vec<SiteWaits>,
    /// Run time in nanoseconds on an ideal network, from MPI_Init to MPI_Finalize.
    pub ideal_ns: i64,
    /// The critical path.
    pub critical_path: CriticalPathProfile,
    /// Delay costs.
    pub delay_costs: DelayCosts,
    /// Delay costs of ranks that had no core inside MPI calls.
    pub call_delay_costs: CallDelayCosts,
    /// Computation of each rank by segment.
    pub segments: SegmentTimes,
    /// Samples of each rank by segment.
    pub samples: SampledTimes,
    /// Counters of each rank by segment.
    pub counted: CountedSegments,
    /// The segment of each rank with the most computation outside regions of OpenMP; none of ranks without regions.
    pub main_serial_segments: BTreeMap<u32, Segment>,
    /// Ranks with incomplete data.
    pub gaps: RecordingGaps,
    /// Messages of which one end is missing.
    pub unmatched: UnmatchedMessages,
    /// Messages of several threads that MPI does not order: see [`History::unordered`].
    pub unordered: u64,
    /// Clock condition violations that were corrected.
    pub clock_violations: ClockViolations,
    /// The phases of the program and their efficiencies.
    pub phases: Vec<PhaseEfficiency>,
}

/// The waits of one pattern at one call site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteWaits {
    /// Their pattern.
    pub pattern: &'static WaitPattern,
    /// The waiting MPI function.
    pub operation: FunctionId,
    /// Its call site.
    pub site: u32,
    /// Wait time of each rank.
    pub ranks: BTreeMap<u32, WaitTotals>,
    /// Time each rank was waited for, in nanoseconds.
    pub causes: BTreeMap<u32, i64>,
    /// The same by (waiting rank, late rank).
    pub by_pair: BTreeMap<(u32, u32), i64>,
}

/// The waits of one rank at a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WaitTotals {
    /// Nanoseconds.
    pub ns: i64,
    /// Number of waits.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: i64,
    /// The part in which the awaited thread had no core, in nanoseconds.
    pub machine_ns: i64,
}

impl RunFindings {
    /// Runs all analyses of a history, given its waits.
    pub(crate) fn from_history(
        recording: &Recording,
        history: &History,
        waits: &[Vec<WaitInstance>],
        excerpt_phases: Option<&PhasesOfExcerpt>,
        cores: &CoreFindings,
        comm: &dyn ProcessGroup,
        progress: &ProgressSink,
    ) -> Result<RunFindings, Error> {
        let off_cpu = cores.off_cpu();
        let phases = |comm: &dyn ProcessGroup| find_phases(recording, history, excerpt_phases, cores, comm, progress);
        let along_history = |comm: &dyn ProcessGroup| {
            let critical_path = |comm: &dyn ProcessGroup| CriticalPathProfile::with_no_core(history, waits, off_cpu, comm);
            let (critical_path, site_waits) = comm.join(critical_path, |comm| sum_by_site(history, waits, &cores.machine_ns, comm));
            (critical_path, site_waits, segment::segment_times(history, off_cpu, comm))
        };
        let delays = |comm: &dyn ProcessGroup| {
            report_activity(progress, "tracing root causes", progress::DELAY_STEPS * recording.header.ranks.len(), || {
                delay::delay_costs(recording, history, waits, off_cpu, comm)
            })
        };
        let (phases, ((delay_costs, call_delay_costs), (critical_path, waits, segments))) =
            comm.join(phases, |comm| comm.join(delays, along_history));
        let (ideal_ns, phases) = phases?;
        Ok(RunFindings {
            ideal_ns,
            phases,
            critical_path,
            delay_costs,
            call_delay_costs,
            segments,
            samples: sampled_time::sampled_times(recording, history, comm)?,
            counted: counted_time::counted_segments(recording, history, comm)?,
            main_serial_segments: openmp::main_serial_segments(recording, history, comm)?,
            waits,
            gaps: RecordingGaps::from_recording(recording, comm),
            unmatched: UnmatchedMessages::total(history, comm),
            unordered: comm.all_to_all(vec![vec![history.unordered]; comm.size()]).into_iter().flatten().sum(),
            clock_violations: history.clock_violations,
        })
    }
}

/// Nanoseconds of the run on an ideal network, and the phases with their efficiencies. Those of a part are the phases of the whole run.
fn find_phases(
    recording: &Recording,
    history: &History,
    excerpt_phases: Option<&PhasesOfExcerpt>,
    cores: &CoreFindings,
    comm: &dyn ProcessGroup,
    progress: &ProgressSink,
) -> Result<(i64, Vec<PhaseEfficiency>), Error> {
    if let Some(phases) = excerpt_phases {
        let ideal = IdealRun::replay(recording, Some(history))?;
        let efficiencies = phase_efficiency::phase_efficiencies_of_excerpt(recording, phases, history, &ideal, cores, comm)?;
        return Ok((ideal.longest_ns(history, comm), efficiencies));
    }
    let graph = |comm: &dyn ProcessGroup| {
        ProgramGraph::from_history(recording, history, comm, &|| progress("finding the phases of the program", progress::GRAPH_PASS_STEPS))
    };
    let ideal = |_: &dyn ProcessGroup| {
        report_activity(progress, "replaying on an ideal network", progress::IDEAL_STEPS * recording.header.ranks.len(), || {
            IdealRun::replay(recording, Some(history))
        })
    };
    let (ideal, graph) = comm.join(ideal, graph);
    let (ideal, graph) = (ideal?, graph?);
    Ok((ideal.elapsed_ns, phase_efficiency::phase_efficiencies(recording, &graph, history, &ideal, cores, comm)?))
}

impl SiteWaits {
    /// Nanoseconds summed over all ranks.
    pub fn ns(&self) -> i64 {
        self.ranks.values().map(|waited| waited.ns).sum()
    }

    /// Number of waits over all ranks.
    pub fn count(&self) -> u64 {
        self.ranks.values().map(|waited| waited.count).sum()
    }

    /// The part in which the awaited threads had no core, in nanoseconds, over all ranks.
    pub fn machine_ns(&self) -> i64 {
        self.ranks.values().map(|waited| waited.machine_ns).sum()
    }

    /// The longest wait.
    pub fn longest_ns(&self) -> i64 {
        self.ranks.values().map(|waited| waited.longest_ns).max().unwrap_or(0)
    }

    /// The ranks that waited more than a tenth of the mean.
    pub fn significant_ranks(&self) -> Vec<u32> {
        significant_ranks(&self.ranks.iter().map(|(rank, waited)| (*rank, waited.ns)).collect())
    }
}

/// The ranks with more than a tenth of the mean.
pub(crate) fn significant_ranks(ranks: &BTreeMap<u32, i64>) -> Vec<u32> {
    let worth = ranks.values().sum::<i64>() / (10 * ranks.len().max(1) as i64);
    ranks.iter().filter(|(_, ns)| **ns > worth).map(|(rank, _)| *rank).collect()
}

/// Waits of one rank for another, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct WaitRow {
    totals: WaitTotals,
    pattern: u32,
    operation: u32,
    site: u32,
    rank: u32,
    /// The rank that was waited for, or the waiting rank if there is no specific one.
    cause: u32,
    padding: u32,
}

fn sum_by_site(history: &History, waits: &[Vec<WaitInstance>], machine_ns: &[Vec<i64>], comm: &dyn ProcessGroup) -> Vec<SiteWaits> {
    let locations = history.locations.par_iter().zip(waits).zip(machine_ns);
    let mine: Vec<WaitRow> = locations.flat_map_iter(|((location, waits), machine_ns)| wait_rows(location, waits, machine_ns)).collect();
    let mut all: BTreeMap<(u32, u32, u32), SiteWaits> = BTreeMap::new();
    for row in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
        let waits = all.entry((row.pattern, row.operation, row.site)).or_insert_with(|| SiteWaits {
            pattern: &WAIT_PATTERNS[row.pattern as usize],
            operation: FunctionId(row.operation as u16),
            site: row.site,
            ranks: BTreeMap::new(),
            causes: BTreeMap::new(),
            by_pair: BTreeMap::new(),
        });
        waits.ranks.entry(row.rank).or_default().add(row.totals);
        if row.cause != row.rank {
            *waits.causes.entry(row.cause).or_default() += row.totals.ns;
            *waits.by_pair.entry((row.rank, row.cause)).or_default() += row.totals.ns;
        }
    }
    let mut all: Vec<SiteWaits> = all.into_values().collect();
    all.sort_by_key(|waits| std::cmp::Reverse(waits.ns()));
    all
}

/// The waits of one location, summed.
fn wait_rows(location: &Location, waits: &[WaitInstance], machine_ns: &[i64]) -> Vec<WaitRow> {
    // Patterns are compared by name, which is slow: most are the same object. If one is two, its rows are added later.
    let mut sums: FxHashMap<(*const WaitPattern, u32, u32, u32), (&WaitPattern, WaitTotals)> = FxHashMap::default();
    for (wait, machine_ns) in waits.iter().zip(machine_ns.iter().chain(std::iter::repeat(&0))) {
        let descriptor = &location.calls.descriptors[location.calls.descriptor_ids[wait.row as usize] as usize];
        let cause = wait.cause.into_option().map_or(location.rank, |cause| cause.rank);
        let key = (std::ptr::from_ref(wait.pattern), descriptor.function.0.into(), descriptor.site, cause);
        let (_, sum) = sums.entry(key).or_insert((wait.pattern, WaitTotals::default()));
        sum.add(WaitTotals { ns: wait.ns, count: 1, longest_ns: wait.ns, machine_ns: *machine_ns });
    }
    let number = |pattern: &WaitPattern| WAIT_PATTERNS.iter().position(|other| other == pattern).unwrap_or(0) as u32;
    let row = |((_, operation, site, cause), (pattern, totals))| WaitRow {
        totals,
        pattern: number(pattern),
        operation,
        site,
        rank: location.rank,
        cause,
        padding: 0,
    };
    sums.into_iter().map(row).collect()
}

impl WaitTotals {
    fn add(&mut self, other: WaitTotals) {
        self.ns += other.ns;
        self.count += other.count;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.machine_ns += other.machine_ns;
    }
}
