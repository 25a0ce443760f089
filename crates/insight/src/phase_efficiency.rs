//! POP efficiencies of the phases of a program. The whole run can hide that one phase performs well and another does not. Time without a
//! core counts as in those of the whole run.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use sintonia_mpi::FunctionRole;
use sintonia_program::graph::{PhaseTime, PhaseTree, ProgramGraph, ProgramPhase};
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::off_cpu::ThreadOffCpu;
use sintonia_replay::Error;

use crate::Efficiency;
use crate::call_durations::CallDurations;
use crate::core_time::CoreFindings;
use crate::ideal_network::IdealRun;

/// A phase and its efficiencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseEfficiency {
    /// Its source location.
    pub name: String,
    /// Index of the enclosing phase.
    pub part_of: Option<usize>,
    /// Whether it is a loop.
    pub repeats: bool,
    /// Number of participating ranks; 0 in the report of a part of a run that does not touch it.
    pub ranks: usize,
    /// Seconds of the thread that spent most time in it, without MPI_Init and MPI_Finalize.
    pub seconds: f64,
    /// Share of its ranks' time in it in which they were ready to run and had no core; `None` if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_core: Option<f64>,
    /// Its efficiencies, relative to that time; `None` if no rank computed in it.
    pub efficiency: Option<Efficiency>,
}

/// Time of a thread in one phase, in MPI also on an ideal network.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct PhaseThreadTime {
    ns: i64,
    ideal_ns: i64,
    /// Outside MPI and not blocked.
    compute_ns: i64,
    blocked_ns: i64,
    /// The part of `compute_ns` without a core.
    preempted_ns: i64,
    /// The part of `ns` without a core.
    mpi_no_core_ns: i64,
    calls: u64,
    rank: u32,
    phase: u32,
}

impl PhaseThreadTime {
    fn add(&mut self, other: PhaseThreadTime) {
        self.ns += other.ns;
        self.ideal_ns += other.ideal_ns;
        self.compute_ns += other.compute_ns;
        self.blocked_ns += other.blocked_ns;
        self.preempted_ns += other.preempted_ns;
        self.mpi_no_core_ns += other.mpi_no_core_ns;
        self.calls += other.calls;
    }

    /// Whether the thread did anything in the phase.
    fn is_present(&self) -> bool {
        self.calls > 0 || self.ns + self.compute_ns + self.blocked_ns > 0
    }
}

/// The times of the threads of a rank in a phase, by rank and phase.
type PhaseThreads = FxHashMap<(u32, usize), Vec<PhaseThreadTime>>;

/// The phases of a call and of the computation before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPhases {
    /// That of the computation since the previous call; `None` at the first one.
    pub segment: Option<usize>,
    /// That of the call.
    pub call: usize,
    /// Whether the call is counted, or only the time in it.
    pub is_counted: bool,
}

/// The phases of the whole program in a part of a run, which is too short to find them in it.
pub(crate) struct PhasesOfExcerpt {
    /// The phases of the program.
    pub tree: PhaseTree,
    /// For each location of the part, by rank and thread, the phases of its rows.
    pub rows: BTreeMap<(u32, u32), Vec<Option<RowPhases>>>,
}

impl RowPhases {
    /// The phases of all rows of a location.
    pub(crate) fn of_location(graph: &ProgramGraph, location: &Location) -> impl Iterator<Item = Option<RowPhases>> {
        let mut along = graph.node_cursor(location.rank);
        let mut previous: Option<usize> = None;
        location.calls.calls().map(move |call| {
            let node = along.next_node(&call)?;
            let segment = previous.replace(node).map(|from| graph.phases.segment_phase(from, node));
            Some(RowPhases { segment, call: graph.phases.innermost_phase(node), is_counted: true })
        })
    }
}

/// The efficiencies of all phases, in program order; every process of the group gets all of them.
pub(crate) fn phase_efficiencies(
    recording: &Recording,
    graph: &ProgramGraph,
    history: &History,
    ideal: &IdealRun,
    cores: &CoreFindings,
    comm: &dyn ProcessGroup,
) -> Result<Vec<PhaseEfficiency>, Error> {
    let rows = |location| RowPhases::of_location(graph, location);
    let threads = phase_threads(recording, history, &graph.phases, rows, ideal, cores, comm)?;
    let of_phase = |(index, about): (usize, &ProgramPhase)| {
        let ranks: Vec<_> = graph.phases.ranks.iter().filter(|(_, times)| times[index].calls > 0).collect();
        let times = ranks.iter().flat_map(|(rank, times)| rank_threads(*rank, &times[index], index, &threads));
        efficiency(about, ranks.len(), &times.collect::<Vec<_>>(), cores)
    };
    Ok(graph.phases.list.iter().enumerate().map(of_phase).collect())
}

/// The same of a part of a run. Phases that are not in it have no ranks.
pub(crate) fn phase_efficiencies_of_excerpt(
    recording: &Recording,
    phases: &PhasesOfExcerpt,
    history: &History,
    ideal: &IdealRun,
    cores: &CoreFindings,
    comm: &dyn ProcessGroup,
) -> Result<Vec<PhaseEfficiency>, Error> {
    let rows = |location: &Location| phases.rows.get(&(location.rank, location.calls.thread.into())).into_iter().flatten().copied();
    let threads = phase_threads(recording, history, &phases.tree, rows, ideal, cores, comm)?;
    let of_phase = |(index, about): (usize, &ProgramPhase)| {
        let of_rank = |rank: &RecordedRank| threads.get(&(rank.rank, index)).map_or(&[][..], Vec::as_slice);
        let present = |rank: &&RecordedRank| of_rank(rank).iter().any(PhaseThreadTime::is_present);
        let ranks: Vec<&RecordedRank> = recording.header.ranks.iter().filter(present).collect();
        let times = ranks.iter().flat_map(|rank| of_rank(rank)).filter(|time| time.is_present()).copied();
        efficiency(about, ranks.len(), &times.collect::<Vec<_>>(), cores)
    };
    Ok(phases.tree.list.iter().enumerate().map(of_phase).collect())
}

/// The times of all threads in all phases.
fn phase_threads<'a, R: Iterator<Item = Option<RowPhases>>>(
    recording: &Recording,
    history: &'a History,
    phases: &PhaseTree,
    rows: impl Fn(&'a Location) -> R + Sync,
    ideal: &IdealRun,
    cores: &CoreFindings,
    comm: &dyn ProcessGroup,
) -> Result<PhaseThreads, Error> {
    let locations = history.locations.par_iter().zip(&ideal.call_durations);
    let times = locations.map(|(location, ideal)| {
        let is_only_thread = history.locations_of_rank(location.rank).len() == 1;
        let off_cpu = if is_only_thread { Vec::new() } else { recording.off_cpu(location.rank)? };
        let blocked = off_cpu.iter().find(|intervals| intervals.thread == location.calls.thread);
        let waiting = cores.off_cpu().and_then(|off_cpu| off_cpu.of_location(location));
        Ok(time_by_phase(phases, location, rows(location), ideal, ThreadIntervals { blocked, waiting }))
    });
    let mine: Vec<Vec<PhaseThreadTime>> = times.collect::<Result<_, Error>>()?;
    let mut all = PhaseThreads::default();
    for time in comm.all_to_all(vec![mine.concat(); comm.size()]).into_iter().flatten() {
        all.entry((time.rank, time.phase as usize)).or_default().push(time);
    }
    Ok(all)
}

/// When a thread was off the processor.
#[derive(Clone, Copy)]
struct ThreadIntervals<'a> {
    /// When it was blocked; only of ranks in which several threads call MPI.
    blocked: Option<&'a ThreadOffCpu>,
    /// When it had no core.
    waiting: Option<&'a ThreadOffCpu>,
}

impl ThreadIntervals<'_> {
    /// Whether one thread ended in that time, and another one with its number began.
    fn is_reused_between(&self, begin: i64, end: i64) -> bool {
        self.blocked.is_some_and(|intervals| intervals.is_reused_between(begin, end))
    }

    fn blocked_ns(&self, begin: i64, end: i64) -> i64 {
        self.blocked.map_or(0, |intervals| intervals.within(begin, end).blocked_ns as i64).min(end - begin)
    }

    fn waiting_ns(&self, begin: i64, end: i64) -> i64 {
        self.waiting.map_or(0, |intervals| intervals.within(begin, end).waiting_ns as i64).min(end - begin)
    }
}

/// Time of a thread by phase, including child phases.
fn time_by_phase(
    phases: &PhaseTree,
    location: &Location,
    rows: impl Iterator<Item = Option<RowPhases>>,
    ideal: &CallDurations,
    off_cpu: ThreadIntervals,
) -> Vec<PhaseThreadTime> {
    let new = |phase| PhaseThreadTime { rank: location.rank, phase: phase as u32, ..PhaseThreadTime::default() };
    let mut sums: Vec<PhaseThreadTime> = (0..phases.list.len()).map(new).collect();
    for ((row, call), about) in location.calls.calls().enumerate().zip(rows) {
        let Some(about) = about else { continue };
        if let Some(phase) = about.segment {
            let begin = location.compute_begin(row);
            let active_ns = if off_cpu.is_reused_between(begin, call.enter) { 0 } else { call.enter - begin };
            let blocked_ns = off_cpu.blocked_ns(begin, call.enter).min(active_ns);
            let compute_ns = active_ns - blocked_ns;
            let preempted_ns = off_cpu.waiting_ns(begin, call.enter).min(compute_ns);
            sums[phase].add(PhaseThreadTime { compute_ns, blocked_ns, preempted_ns, ..PhaseThreadTime::default() });
        }
        let sum = &mut sums[about.call];
        sum.calls += u64::from(about.is_counted);
        if !matches!(call.descriptor.function.role(), FunctionRole::Init | FunctionRole::Finalize) {
            sum.ns += call.leave - call.enter;
            sum.mpi_no_core_ns += off_cpu.waiting_ns(call.enter, call.leave);
            sum.ideal_ns += ideal.get(row).unwrap_or(0);
        }
    }
    // Every phase comes after its parent.
    for phase in (0..sums.len()).rev() {
        if let Some(whole) = phases.list[phase].parent {
            let part = sums[phase];
            sums[whole].add(part);
        }
    }
    sums
}

/// The times of a rank in a phase: of all its threads that took part, or, if only one calls MPI, as the phase has them.
fn rank_threads(rank: u32, time: &PhaseTime, phase: usize, threads: &PhaseThreads) -> Vec<PhaseThreadTime> {
    match threads.get(&(rank, phase)).map_or(&[][..], Vec::as_slice) {
        [] => vec![PhaseThreadTime { compute_ns: time.compute_ns as i64, ..PhaseThreadTime::default() }],
        [only] => vec![PhaseThreadTime { compute_ns: time.compute_ns as i64, ..*only }],
        several => several.iter().filter(|thread| thread.calls > 0).copied().collect(),
    }
}

fn efficiency(about: &ProgramPhase, ranks: usize, times: &[PhaseThreadTime], cores: &CoreFindings) -> PhaseEfficiency {
    let longest = |mpi: fn(&PhaseThreadTime) -> i64| {
        times.iter().map(|time| time.compute_ns + time.blocked_ns + mpi(time)).max().unwrap_or(0) as f64 / 1e9
    };
    let (seconds, ideal) = (longest(|time| time.ns), longest(|time| time.ideal_ns));
    let lost_ns = |time: &PhaseThreadTime| if cores.counts_only_computing() { time.preempted_ns.min(time.compute_ns) } else { 0 };
    let computed: Vec<f64> = times.iter().map(|time| (time.compute_ns - lost_ns(time)) as f64 / 1e9).collect();
    let efficiency = Efficiency::new(&computed, seconds).map(|efficiency| efficiency.with_ideal_network(ideal, seconds));
    PhaseEfficiency {
        name: about.name.clone(),
        part_of: about.parent,
        repeats: about.repeats,
        ranks,
        seconds,
        no_core: cores.off_cpu().map(|_| no_core_share(times)),
        efficiency,
    }
}

/// The share of the threads' time in a phase in which they had no core, from 0 to 1.
fn no_core_share(times: &[PhaseThreadTime]) -> f64 {
    let sum = |part: fn(&PhaseThreadTime) -> i64| times.iter().map(part).sum::<i64>() as f64;
    let all = sum(|time| time.compute_ns + time.blocked_ns + time.ns);
    if all > 0.0 { sum(|time| time.preempted_ns + time.mpi_no_core_ns) / all } else { 0.0 }
}
