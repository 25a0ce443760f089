//! The critical path: the chain of computation and communication that determines the length of the run.
//!
//! It is followed backwards, from the last rank to enter MPI_Finalize to the end of MPI_Init. Where a call waited for another rank, the
//! path continues there. Only shortening activities on the path shortens the run (until another chain is the longest).

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::FunctionRole;
use sintonia_program::history::{CallId, History, Location};
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_recording::{Error, Recording};

use crate::mpi_bounds;
use crate::off_cpu::OffCpuIntervals;
use crate::segment::{self, Segment};
use crate::thread_end;
use crate::wait_states::{self, WaitInstance};

/// The critical-path profile; every process of the group gets all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPathProfile {
    /// Nanoseconds of computation on it, by segment.
    pub segments: BTreeMap<Segment, i64>,
    /// Nanoseconds in MPI calls on it, by call site.
    pub calls: BTreeMap<u32, i64>,
    /// The parts of it in which the thread had no core.
    pub no_core: PathNoCore,
    /// Nanoseconds of it on each rank.
    pub ranks: BTreeMap<u32, i64>,
    /// Number of transitions from one rank to another.
    pub jumps: u64,
    /// The same by (from, to), in time order.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// The location of the path over time.
    pub spans: Vec<PathSpan>,
}

/// Nanoseconds on the path in which the thread was ready to run and had no core; empty if that is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathNoCore {
    /// Of the computation, by segment.
    pub segments: BTreeMap<Segment, i64>,
    /// In MPI calls, by call site.
    pub calls: BTreeMap<u32, i64>,
}

impl PathNoCore {
    /// The sum.
    pub(crate) fn ns(&self) -> i64 {
        self.segments.values().chain(self.calls.values()).sum()
    }
}

/// A section of the path on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSpan {
    /// The rank.
    pub rank: u32,
    /// Timestamp at which the path enters the rank.
    pub begin_ns: i64,
    /// Timestamp at which the path leaves the rank.
    pub end_ns: i64,
}

impl CriticalPathProfile {
    /// Length of the path in nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.ranks.values().sum()
    }

    /// The number of messages on the critical path of a recording, by sender and receiver; `progress` is called for each rank.
    pub fn messages(recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<BTreeMap<(u32, u32), u64>, Error> {
        let history = History::read(recording, &SingleProcess, progress)?;
        Ok(CriticalPathProfile::from_history(&history, &wait_states::find_waits(&history), &SingleProcess).pairs)
    }

    /// Follows the critical path of a history, given its waits by location.
    pub fn from_history(history: &History, waits: &[Vec<WaitInstance>], comm: &dyn ProcessGroup) -> CriticalPathProfile {
        CriticalPathProfile::with_no_core(history, waits, None, comm)
    }

    /// The same, with the parts of the path in which its thread had no core.
    pub(crate) fn with_no_core(
        history: &History,
        waits: &[Vec<WaitInstance>],
        off_cpu: Option<&OffCpuIntervals>,
        comm: &dyn ProcessGroup,
    ) -> CriticalPathProfile {
        let mut walk = PathWalk { history, waits, off_cpu, path: CriticalPathProfile::default() };
        let mut point = run_end(history, comm);
        while let Some(here) = point {
            let leaves = history.location_index(here.call).and_then(|_| walk.follow(here));
            point = hand_over(comm, leaves);
        }
        walk.path.merged(comm)
    }

    /// Adds a section before everything added so far.
    fn add_span(&mut self, rank: u32, (from, to): (i64, i64)) {
        *self.ranks.entry(rank).or_default() += to - from;
        match self.spans.last_mut() {
            Some(later) if later.rank == rank && later.begin_ns == to => later.begin_ns = from,
            _ if from < to => self.spans.push(PathSpan { rank, begin_ns: from, end_ns: to }),
            _ => {}
        }
    }

    /// Merges the sections of all processes.
    fn merged(mut self, comm: &dyn ProcessGroup) -> CriticalPathProfile {
        if comm.size() == 1 {
            self.spans.sort_unstable_by_key(|span| (span.begin_ns, span.end_ns, span.rank));
            return self;
        }
        let segments = self.segments.iter().map(|(segment, ns)| PathRow { kind: 0, a: segment.from, b: segment.to, padding: 0, ns: *ns });
        let calls = self.calls.iter().map(|(site, ns)| PathRow { kind: 1, a: *site, ns: *ns, ..PathRow::zeroed() });
        let ranks = self.ranks.iter().map(|(rank, ns)| PathRow { kind: 2, a: *rank, ns: *ns, ..PathRow::zeroed() });
        let jumps = PathRow { kind: 3, ns: self.jumps as i64, ..PathRow::zeroed() };
        let pairs = self.pairs.iter().map(|((from, to), count)| PathRow { kind: 4, a: *from, b: *to, padding: 0, ns: *count as i64 });
        let no_core_segments = self.no_core.segments.iter();
        let no_core_segments =
            no_core_segments.map(|(segment, ns)| PathRow { kind: 5, a: segment.from, b: segment.to, padding: 0, ns: *ns });
        let no_core_calls = self.no_core.calls.iter().map(|(site, ns)| PathRow { kind: 6, a: *site, ns: *ns, ..PathRow::zeroed() });
        let no_core = no_core_segments.chain(no_core_calls);
        let mine: Vec<PathRow> = segments.chain(calls).chain(ranks).chain([jumps]).chain(pairs).chain(no_core).collect();
        let mut path = CriticalPathProfile { spans: merge_spans(&self.spans, comm), ..CriticalPathProfile::default() };
        for PathRow { kind, a, b, ns, .. } in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
            match kind {
                0 => *path.segments.entry(Segment { from: a, to: b }).or_default() += ns,
                1 => *path.calls.entry(a).or_default() += ns,
                2 => *path.ranks.entry(a).or_default() += ns,
                4 => *path.pairs.entry((a, b)).or_default() += ns as u64,
                5 => *path.no_core.segments.entry(Segment { from: a, to: b }).or_default() += ns,
                6 => *path.no_core.calls.entry(a).or_default() += ns,
                _ => path.jumps += ns as u64,
            }
        }
        path
    }
}

/// The path as far as it has been followed, and what it is followed through.
struct PathWalk<'a> {
    history: &'a History,
    waits: &'a [Vec<WaitInstance>],
    /// When threads had no core, if that is known.
    off_cpu: Option<&'a OffCpuIntervals>,
    path: CriticalPathProfile,
}

impl PathWalk<'_> {
    /// Follows the path until it leaves the ranks of this process; `None` if it ends here.
    fn follow(&mut self, mut point: PathPoint) -> Option<PathPoint> {
        let (history, waits) = (self.history, self.waits);
        let most_jumps = waits.iter().map(Vec::len).sum::<usize>() as u64;
        while let Some(index) = history.location_index(point.call) {
            let location = &history.locations[index];
            let row = point.call.row as usize;
            // An inconsistent recording could send the path round in circles: into the future, or through the same waits again.
            if location.calls.enter[row] > point.time || self.path.jumps > most_jumps {
                return None;
            }
            point = match self.follow_back(index, row) {
                Some(cause) => cause,
                None => self.follow_thread_start(location)?,
            };
        }
        Some(point)
    }

    /// Follows a location back to a call that waited, or to the end of another thread, and returns what it waited for.
    fn follow_back(&mut self, index: usize, mut row: usize) -> Option<PathPoint> {
        let (history, waits) = (self.history, self.waits);
        let location = &history.locations[index];
        loop {
            if let Some(joined) = thread_end::joined_location(history, location, row) {
                return self.follow_thread_end(&history.locations[joined], &waits[joined], (location, row));
            }
            if let Some(segment) = segment::segment_before(location, row) {
                let enter = location.calls.enter[row];
                self.add_segment(segment, location, (enter - segment::segment_ns(location, row), enter));
            }
            row = row.checked_sub(1).filter(|row| location.role(*row) != FunctionRole::Init)?;
            if let Some(cause) = self.follow_call(location, &waits[index], row, location.calls.leave[row]) {
                return Some(cause);
            }
        }
    }

    /// Continues from a call of the main thread in the last call of a thread that ended before.
    fn follow_thread_end(&mut self, ended: &Location, waits: &[WaitInstance], (main, row): (&Location, usize)) -> Option<PathPoint> {
        let last = ended.len().checked_sub(1)?;
        if let Some(segment) = segment::segment_before(main, row) {
            self.add_segment(segment, main, (ended.calls.leave[last], main.calls.enter[row]));
        }
        let here = PathPoint { time: ended.calls.enter[last], call: ended.call_id(last as u32), padding: 0 };
        self.follow_call(ended, waits, last, ended.calls.leave[last]).or(Some(here))
    }

    /// Follows a call back from a timestamp within it, and returns what it had waited for until then.
    fn follow_call(&mut self, location: &Location, waits: &[WaitInstance], row: usize, until: i64) -> Option<PathPoint> {
        let enter = location.calls.enter[row];
        let wait = wait_of_call(waits, row as u32).filter(|(_, ns)| enter + ns <= until);
        let waited = wait.map_or(0, |(_, ns)| ns);
        if !segment::is_outside(location, row) {
            self.add_call(segment::call_site(location, row), location, (enter + waited, until));
        }
        let (cause, ns) = wait?;
        self.path.jumps += 1;
        if cause.rank != location.rank {
            *self.path.pairs.entry((cause.rank, location.rank)).or_default() += 1;
        }
        Some(PathPoint { time: enter + ns, call: cause, padding: 0 })
    }

    /// Continues from the first call of a thread on the first thread of its process, at the same time; `None` if the path ends there.
    fn follow_thread_start(&mut self, location: &Location) -> Option<PathPoint> {
        let (history, waits) = (self.history, self.waits);
        let index = history.locations_of_rank(location.rank).start;
        let first = &history.locations[index];
        let time = *location.calls.enter.first()?;
        let row = first.calls.enter.partition_point(|enter| *enter < time).checked_sub(1)?;
        if first.calls.thread == location.calls.thread {
            return None;
        }
        let until = first.calls.leave[row].min(time);
        if row + 1 < first.len()
            && let Some(segment) = segment::segment_before(first, row + 1)
        {
            self.add_segment(segment, first, (until, time));
        }
        if first.role(row) == FunctionRole::Init {
            return None;
        }
        let here = PathPoint { time: first.calls.enter[row], call: first.call_id(row as u32), padding: 0 };
        self.follow_call(first, &waits[index], row, until).or(Some(here))
    }

    fn add_segment(&mut self, segment: Segment, location: &Location, span: (i64, i64)) {
        *self.path.segments.entry(segment).or_default() += span.1 - span.0;
        if let Some(ns) = self.no_core_ns(location, span) {
            *self.path.no_core.segments.entry(segment).or_default() += ns;
        }
        self.path.add_span(location.rank, span);
    }

    fn add_call(&mut self, site: u32, location: &Location, span: (i64, i64)) {
        *self.path.calls.entry(site).or_default() += span.1 - span.0;
        if let Some(ns) = self.no_core_ns(location, span) {
            *self.path.no_core.calls.entry(site).or_default() += ns;
        }
        self.path.add_span(location.rank, span);
    }

    /// The part of a section in which its thread had no core, if there is any.
    fn no_core_ns(&self, location: &Location, (from, to): (i64, i64)) -> Option<i64> {
        let ns = self.off_cpu?.waiting_ns(location.rank, location.calls.thread.into(), from, to);
        Some(ns.min(to - from)).filter(|ns| *ns > 0)
    }
}

/// The spans of all processes, in time order.
fn merge_spans(mine: &[PathSpan], comm: &dyn ProcessGroup) -> Vec<PathSpan> {
    let mine: Vec<[i64; 3]> = mine.iter().map(|span| [span.begin_ns, span.end_ns, span.rank.into()]).collect();
    let mut all: Vec<[i64; 3]> = comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten().collect();
    all.sort_unstable();
    all.into_iter().map(|[from, to, rank]| PathSpan { rank: rank as u32, begin_ns: from, end_ns: to }).collect()
}

/// A part of the profile, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PathRow {
    kind: u32,
    a: u32,
    b: u32,
    padding: u32,
    ns: i64,
}

/// What a call waited for last, and its total wait time: its waits are consecutive.
fn wait_of_call(waits: &[WaitInstance], row: u32) -> Option<(CallId, i64)> {
    let first = waits.partition_point(|wait| wait.row < row);
    let own = waits[first..].iter().take_while(|wait| wait.row == row).filter(|wait| wait.cause != CallId::NONE);
    own.fold(None, |before, wait| Some((wait.cause, wait.ns + before.map_or(0, |(_, ns)| ns))))
}

/// The call that ended the run: the last one to enter MPI_Finalize, or the last one at all.
fn run_end(history: &History, comm: &dyn ProcessGroup) -> Option<PathPoint> {
    let last = |location: &Location| {
        let row = mpi_bounds::finalize_row(location).or_else(|| location.len().checked_sub(1))?;
        let time = if location.role(row) == FunctionRole::Finalize { location.calls.enter[row] } else { location.calls.leave[row] };
        Some(PathPoint { time, call: location.call_id(row as u32), padding: 0 })
    };
    let latest = |points: Vec<PathPoint>| points.into_iter().max_by_key(|point| (point.time, point.call));
    let mine: Vec<PathPoint> = latest(history.locations.iter().filter_map(last).collect()).into_iter().collect();
    latest(comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten().collect())
}

/// The current point of the path: a call that was entered at or before `time`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PathPoint {
    time: i64,
    call: CallId,
    padding: u32,
}

/// Hands the path over to the process where it continues; `None` if it has ended.
fn hand_over(comm: &dyn ProcessGroup, leaves: Option<PathPoint>) -> Option<PathPoint> {
    if comm.size() == 1 {
        return None;
    }
    let buffer: Vec<PathPoint> = leaves.into_iter().collect();
    comm.all_to_all(vec![buffer; comm.size()]).into_iter().flatten().next()
}
