//! Whether ranks had cores to run on, and what that does to the other results.
//!
//! A rank that is preempted seems to compute longer; one that waits for a core inside MPI seems to wait for a message; and those that wait
//! for it seem to wait for a late sender. The intervals in which threads had no core are therefore intersected with calls, segments and
//! waits.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use sintonia_mpi::FunctionRole;
use sintonia_program::CoreShortage;
use sintonia_program::history::{CallId, History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::header::RecordedRank;
use sintonia_replay::Error;

use crate::off_cpu::OffCpuIntervals;
use crate::segment;
use crate::wait_states::WaitInstance;

/// What is known about cores in a run.
pub struct CoreFindings {
    /// Time without a core; `None` if the recording does not say.
    pub measured: Option<CoreShortage>,
    /// How the time of each rank splits; empty if it is not known when threads had no core.
    pub splits: BTreeMap<u32, CoreSplit>,
    /// For each wait of each location: the part of it in which the awaited thread had no core, in nanoseconds. Empty for a location if it
    /// is not known when threads had no core.
    pub(crate) machine_ns: Vec<Vec<i64>>,
    /// When the threads of all ranks had no core.
    off_cpu: OffCpuIntervals,
}

/// How the time of a rank between MPI_Init and MPI_Finalize splits, over its threads that call MPI, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CoreSplit {
    /// Computation on a core.
    pub computing_ns: i64,
    /// Computation for which there was no core.
    pub preempted_ns: i64,
    /// In MPI, waiting for a message or transferring one.
    pub message_ns: i64,
    /// In MPI, ready to go on, without a core.
    pub core_ns: i64,
    /// The part of the time without a core that can delay anyone: of `preempted_ns` all, of `core_ns` what was not in a wait. A rank that
    /// polls for a message that is not there yet loses nothing without a core.
    pub delay_ns: i64,
    /// Number of threads.
    pub threads: i64,
}

impl CoreSplit {
    fn add(&mut self, other: &CoreSplit) {
        self.computing_ns += other.computing_ns;
        self.preempted_ns += other.preempted_ns;
        self.message_ns += other.message_ns;
        self.core_ns += other.core_ns;
        self.delay_ns += other.delay_ns;
        self.threads += other.threads;
    }

    /// The share of its time by which the lack of a core may have delayed it, from 0 to 1.
    fn delay_share(&self) -> f64 {
        let all = self.computing_ns + self.preempted_ns + self.message_ns + self.core_ns;
        self.delay_ns as f64 / all.max(1) as f64
    }

    /// Seconds of computation on a core, the mean over its threads.
    pub(crate) fn mean_computing_s(&self) -> f64 {
        self.computing_ns as f64 / 1e9 / self.threads.max(1) as f64
    }
}

impl CoreFindings {
    /// Intersects the intervals without a core with the calls of a history and their waits.
    pub(crate) fn from_history(
        recording: &Recording,
        history: &History,
        waits: &[Vec<WaitInstance>],
        comm: &dyn ProcessGroup,
    ) -> Result<CoreFindings, Error> {
        let spans = gather_spans(history, comm);
        let span = |rank: &RecordedRank| spans.get(&rank.rank).copied().unwrap_or((rank.begin_ns, rank.end_ns));
        let off_cpu = OffCpuIntervals::read(recording)?;
        let find = |(location, waits): (&Location, &Vec<WaitInstance>)| {
            let known = if off_cpu.is_empty() { &[] } else { &waits[..] };
            known.iter().map(|wait| off_cpu.machine_ns(location, wait)).collect()
        };
        Ok(CoreFindings {
            measured: measure(recording, span)?,
            splits: if CoreShortage::has_intervals(&recording.header) {
                gather_splits(history, waits, &off_cpu, comm)
            } else {
                BTreeMap::new()
            },
            machine_ns: history.locations.par_iter().zip(waits).map(find).collect(),
            off_cpu,
        })
    }

    /// What is known without the calls: of a profile, and if there is too little memory for a history.
    pub(crate) fn without_history(recording: &Recording) -> Result<CoreFindings, Error> {
        let measured = measure(recording, |rank| (rank.begin_ns, rank.end_ns))?;
        Ok(CoreFindings { measured, splits: BTreeMap::new(), machine_ns: Vec::new(), off_cpu: OffCpuIntervals::default() })
    }

    /// The shortage, if it is noticeable and may have delayed ranks.
    pub fn shortage(&self) -> Option<&CoreShortage> {
        self.measured.as_ref().filter(|measured| measured.is_noticeable() && self.delays())
    }

    /// When threads had no core; `None` if that is not known of every rank.
    pub(crate) fn off_cpu(&self) -> Option<&OffCpuIntervals> {
        (!self.splits.is_empty()).then_some(&self.off_cpu)
    }

    /// Whether only computation on a core counts in the efficiencies: cores were missing, and it is known when.
    pub(crate) fn counts_only_computing(&self) -> bool {
        self.shortage().is_some() && !self.splits.is_empty()
    }

    fn delays(&self) -> bool {
        let mut all = CoreSplit::default();
        self.splits.values().for_each(|split| all.add(split));
        self.splits.is_empty() || CoreShortage::is_noticeable_share(all.delay_share(), self.splits.values().map(CoreSplit::delay_share))
    }
}

fn measure(recording: &Recording, span: impl Fn(&RecordedRank) -> (i64, i64)) -> Result<Option<CoreShortage>, Error> {
    if !CoreShortage::is_known(&recording.header) {
        return Ok(None);
    }
    Ok(Some(CoreShortage::measure(recording, span)?))
}

impl OffCpuIntervals {
    /// The part of a wait in which the awaited thread had no core; if nobody in particular is awaited, the waiting thread itself.
    fn machine_ns(&self, location: &Location, wait: &WaitInstance) -> i64 {
        let (enter, leave) = (location.calls.enter[wait.row as usize], location.calls.leave[wait.row as usize]);
        let found = match wait.cause {
            CallId::NONE => self.waiting_ns(location.rank, location.calls.thread.into(), leave - wait.ns, leave),
            cause => self.waiting_ns(cause.rank, cause.thread, enter, enter + wait.ns),
        };
        found.clamp(0, wait.ns)
    }

    fn split(&self, location: &Location, waits: &[WaitInstance]) -> CoreSplit {
        let Some((begin, end)) = work_span(location) else { return CoreSplit::default() };
        let (mut calls_ns, mut core_ns, mut outside_ns) = (0, 0, 0);
        let own = self.of_location(location);
        for (row, (enter, leave)) in location.calls.enter.iter().zip(&location.calls.leave).enumerate() {
            let (enter, leave) = ((*enter).max(begin), (*leave).min(end));
            if segment::is_outside(location, row) {
                outside_ns += (leave - enter).max(0);
            } else if enter < leave {
                calls_ns += leave - enter;
                core_ns += own.map_or(0, |own| own.within(enter, leave).waiting_ns as i64);
            }
        }
        let all = self.waiting_ns(location.rank, location.calls.thread.into(), begin, end);
        let (core_ns, compute_ns) = (core_ns.min(calls_ns), end - begin - calls_ns - outside_ns);
        let preempted_ns = (all - core_ns).clamp(0, compute_ns);
        let delay_ns = preempted_ns + (core_ns - self.within_waits(location, waits)).max(0);
        CoreSplit { computing_ns: compute_ns - preempted_ns, preempted_ns, message_ns: calls_ns - core_ns, core_ns, delay_ns, threads: 1 }
    }

    /// The time a thread had no core while what it waited for was not there; of several waits in one call the longest counts.
    fn within_waits(&self, location: &Location, waits: &[WaitInstance]) -> i64 {
        let mut longest: BTreeMap<u32, i64> = BTreeMap::new();
        for wait in waits.iter().filter(|wait| wait.cause != CallId::NONE) {
            let ns = longest.entry(wait.row).or_default();
            *ns = wait.ns.max(*ns);
        }
        let enter = |row: u32| location.calls.enter[row as usize];
        let thread = location.calls.thread.into();
        longest.into_iter().map(|(row, ns)| self.waiting_ns(location.rank, thread, enter(row), enter(row) + ns)).sum()
    }
}

/// From the end of MPI_Init to the begin of MPI_Finalize, as far as the thread called them.
fn work_span(location: &Location) -> Option<(i64, i64)> {
    let last = location.len().checked_sub(1)?;
    let begin = if location.role(0) == FunctionRole::Init { location.calls.leave[0] } else { location.calls.enter[0] };
    let end = if location.role(last) == FunctionRole::Finalize { location.calls.enter[last] } else { location.calls.leave[last] };
    Some((begin, end.max(begin)))
}

/// The span of the first thread of each rank, exchanged between processes.
fn gather_spans(history: &History, comm: &dyn ProcessGroup) -> BTreeMap<u32, (i64, i64)> {
    let first = history.locations.iter().filter(|location| location.calls.thread == 0);
    let mine: Vec<[i64; 3]> =
        first.filter_map(|location| work_span(location).map(|(begin, end)| [location.rank.into(), begin, end])).collect();
    let all = comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten();
    all.map(|[rank, begin, end]| (rank as u32, (begin, end))).collect()
}

/// A rank's split, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SplitRow {
    split: CoreSplit,
    rank: i64,
}

fn gather_splits(
    history: &History,
    waits: &[Vec<WaitInstance>],
    off_cpu: &OffCpuIntervals,
    comm: &dyn ProcessGroup,
) -> BTreeMap<u32, CoreSplit> {
    let row =
        |(location, waits): (&Location, &Vec<WaitInstance>)| SplitRow { split: off_cpu.split(location, waits), rank: location.rank.into() };
    let mine: Vec<SplitRow> = history.locations.par_iter().zip(waits).map(row).collect();
    let mut splits: BTreeMap<u32, CoreSplit> = BTreeMap::new();
    for row in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
        splits.entry(row.rank as u32).or_default().add(&row.split);
    }
    splits
}
