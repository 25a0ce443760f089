//! Input of the rules besides the waits: computation by segment, rank and time, and the time of calls without waiting.
//!
//! What is kept is summed by call site and rank, and does not grow with the run.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_mpi::{BlockingMode, FunctionId};
use sintonia_program::history::{CallId, History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::call_overrides::{RepetitionTracker, mergeable_call};

use super::poll_gaps::{self, POLL_GAP_NS, PollGaps, is_poll};
use super::relays::{self, Relay, RelayTotals, Relays};
use super::serial_file_io::SerialFileIo;
use super::site_groups::SiteGroups;
use super::what_if::{WhatIfReplay, call_descriptor, is_blocking_transfer};
use crate::off_cpu::OffCpuIntervals;
use crate::segment::{self, Segment};
use crate::wait_states::WaitInstance;

/// Number of parts of the executions of a segment, first to last, in which computation is summed separately.
pub const WINDOWS: usize = 4;

/// Number of long executions that are listed.
pub const LISTED_LONG: usize = 3;

/// An execution is long if it takes more than this many times the median.
const LONG_FACTOR: i64 = 2;

/// Messages of at least this size are worth overlapping with computation.
const LARGE_BYTES: u64 = 64 * 1024;

/// Computation of a rank in a segment; where it is known when the rank had no core, only computation on a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SegmentLoad {
    /// Nanoseconds in each part of the executions.
    pub windows: [i64; WINDOWS],
    /// Median of an execution in each part, in nanoseconds: a single long one does not change it.
    pub medians: [i64; WINDOWS],
    /// Number of executions.
    pub visits: u64,
    /// Number of executions that took much longer than the median of this rank.
    pub long_visits: u64,
    /// Nanoseconds by which these exceeded the median.
    pub long_excess_ns: i64,
    /// The numbers of the first of these, from 1; 0 for none.
    pub first_long: [u64; LISTED_LONG],
}

impl SegmentLoad {
    /// Sums the executions of a segment, in order.
    pub(super) fn from_visits(visits: &[i64]) -> SegmentLoad {
        let mut load = SegmentLoad { visits: visits.len() as u64, ..SegmentLoad::default() };
        let all = median(visits);
        for (number, ns) in (1..).zip(visits).filter(|(_, ns)| **ns > LONG_FACTOR * all) {
            if let Some(listed) = load.first_long.get_mut(load.long_visits as usize) {
                *listed = number;
            }
            load.long_visits += 1;
            load.long_excess_ns += ns - all;
        }
        for window in 0..WINDOWS {
            let [begin, end] = [window, window + 1].map(|bound| bound * visits.len() / WINDOWS);
            load.windows[window] = visits[begin..end].iter().sum();
            load.medians[window] = median(&visits[begin..end]);
        }
        load
    }

    fn add(&mut self, other: &SegmentLoad) {
        (0..WINDOWS).for_each(|window| self.windows[window] += other.windows[window]);
        (0..WINDOWS).for_each(|window| self.medians[window] += other.medians[window]);
        self.visits += other.visits;
        self.long_visits += other.long_visits;
        self.long_excess_ns += other.long_excess_ns;
        let mut long: Vec<u64> = self.first_long.into_iter().chain(other.first_long).filter(|number| *number > 0).collect();
        long.sort_unstable();
        long.dedup();
        long.resize(LISTED_LONG, 0);
        self.first_long.copy_from_slice(&long);
    }

    /// Nanoseconds in the whole run.
    pub fn ns(&self) -> i64 {
        self.windows.iter().sum()
    }
}

/// The median; 0 of nothing.
fn median(values: &[i64]) -> i64 {
    let mut sorted = values.to_vec();
    if sorted.is_empty() { 0 } else { *sorted.select_nth_unstable(values.len() / 2).1 }
}

/// Sums over the calls of a rank at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct RankCallTotals {
    /// Number of calls.
    pub calls: u64,
    /// Nanoseconds after all dependencies were satisfied.
    pub own_ns: i64,
    /// Bytes they sent and received.
    pub bytes: u64,
    /// Number of calls that could be merged with an equal one just before: little data, and hardly any computation in between.
    pub consecutive: u64,
    /// Nanoseconds in those.
    pub consecutive_ns: i64,
    /// Nanoseconds of large transfers that could overlap with the computation that follows.
    pub overlappable_ns: i64,
}

impl RankCallTotals {
    fn add(&mut self, other: &RankCallTotals) {
        self.calls += other.calls;
        self.own_ns += other.own_ns;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.consecutive += other.consecutive;
        self.consecutive_ns += other.consecutive_ns;
        self.overlappable_ns += other.overlappable_ns;
    }
}

/// The calls at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteCalls {
    /// The function.
    pub operation: FunctionId,
    /// Sums for each rank.
    pub ranks: BTreeMap<u32, RankCallTotals>,
}

impl SiteCalls {
    /// Sum of a quantity over all ranks.
    pub fn sum<T: std::iter::Sum>(&self, pick: impl Fn(&RankCallTotals) -> T) -> T {
        self.ranks.values().map(pick).sum()
    }
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PairTraffic {
    /// Bytes.
    pub bytes: u64,
    /// Number of received messages.
    pub messages: u64,
    /// Nanoseconds in the receiver's calls after the messages were sent.
    pub ns: i64,
}

/// The input of the rules; every process of the group has all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdviceInputs {
    /// The call sites, grouped by source line.
    pub sites: SiteGroups,
    /// Nanoseconds from the end of MPI_Init to the begin of MPI_Finalize, over all ranks.
    pub run_ns: i64,
    /// Computation by segment and rank.
    pub loads: BTreeMap<Segment, BTreeMap<u32, SegmentLoad>>,
    /// Calls by site.
    pub calls: BTreeMap<u32, SiteCalls>,
    /// Number of ranks to which each rank sent about as much as to the one that got most.
    pub partner_counts: BTreeMap<u32, u32>,
    /// Time between unsuccessful polls and the next ones, by segment and rank.
    pub poll_gaps: BTreeMap<Segment, BTreeMap<u32, PollGaps>>,
    /// The largest message of an `MPI_Send` that returned before its receive was posted: the library buffered it. 0 if none did, and with
    /// several hosts, between which it may differ.
    pub buffered_bytes: u64,
    /// Messages by (sender, receiver); empty on a single host.
    pub pairs: BTreeMap<(u32, u32), PairTraffic>,
    /// What ranks receive and then send on.
    pub relays: Relays,
    /// File I/O that one rank does alone, by that rank.
    pub serial_file_io: BTreeMap<u32, SerialFileIo>,
}

impl AdviceInputs {
    /// Collects the input from a history; `off_cpu` says when ranks had no core, if that is known.
    pub fn from_history(
        recording: &Recording,
        history: &History,
        waits: &[Vec<WaitInstance>],
        replay: &WhatIfReplay,
        sites: SiteGroups,
        off_cpu: Option<&OffCpuIntervals>,
        comm: &dyn ProcessGroup,
    ) -> AdviceInputs {
        let run_ns = replay.recorded_ns();
        let several_hosts = recording.header.hosts.len() > 1;
        let of_location = |(index, location): (usize, &Location)| LocationInputs {
            loads: segment_loads(location, &sites, off_cpu),
            calls: call_totals(location, index, &sites, replay),
            partner_count: count_partners(location),
            poll_gaps: poll_gaps::location_gaps(location, &sites, off_cpu),
            buffered_bytes: if several_hosts { 0 } else { largest_buffered(location) },
            relays: relays::location_relays(location, &waits[index], &sites),
            pairs: if several_hosts { pair_traffic(location, index, replay) } else { FxHashMap::default() },
        };
        let locations: Vec<LocationInputs> = history.locations.par_iter().enumerate().map(of_location).collect();
        let mut inputs = AdviceInputs { run_ns, ..AdviceInputs::default() };
        inputs.add(history, locations, comm);
        inputs.sites = sites;
        inputs
    }

    fn add(&mut self, history: &History, locations: Vec<LocationInputs>, comm: &dyn ProcessGroup) {
        let (mut loads, mut calls, mut partners, mut pairs, mut relays) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut gaps, mut buffered) = (Vec::new(), Vec::new());
        for (location, found) in history.locations.iter().zip(locations) {
            let rank = location.rank;
            loads.extend(found.loads.into_iter().map(|(segment, load)| SegmentLoadRow { load, segment, rank, padding: 0 }));
            let row = |((site, operation), totals)| CallTotalsRow { totals, site, operation, rank, padding: 0 };
            calls.extend(found.calls.into_iter().map(row));
            partners.push([rank, found.partner_count]);
            buffered.push(found.buffered_bytes);
            gaps.extend(found.poll_gaps.into_iter().map(|(segment, gaps)| PollGapsRow { gaps, segment, rank, padding: 0 }));
            relays.extend(found.relays.into_iter().map(|(relay, totals)| RelayRow { totals, relay, padding: 0 }));
            pairs.extend(found.pairs.into_iter().map(|((from, to), traffic)| PairTrafficRow { traffic, from, to }));
        }
        for row in all_gather_rows(comm, loads) {
            self.loads.entry(row.segment).or_default().entry(row.rank).or_default().add(&row.load);
        }
        for row in all_gather_rows(comm, calls) {
            let operation = FunctionId(row.operation as u16);
            let calls = self.calls.entry(row.site).or_insert_with(|| SiteCalls { operation, ranks: BTreeMap::new() });
            // Two functions on one source line: the one with the smaller id gives the name.
            calls.operation = FunctionId(calls.operation.0.min(operation.0));
            calls.ranks.entry(row.rank).or_default().add(&row.totals);
        }
        for [rank, partners] in all_gather_rows(comm, partners) {
            let most = self.partner_counts.entry(rank).or_default();
            *most = partners.max(*most);
        }
        for row in all_gather_rows(comm, gaps) {
            self.poll_gaps.entry(row.segment).or_default().entry(row.rank).or_default().add(&row.gaps);
        }
        self.buffered_bytes = all_gather_rows(comm, buffered).max().unwrap_or(0);
        for row in all_gather_rows(comm, relays) {
            self.relays.entry(row.relay).or_default().add(&row.totals);
        }
        for row in all_gather_rows(comm, pairs) {
            let traffic = self.pairs.entry((row.from, row.to)).or_default();
            traffic.bytes = traffic.bytes.saturating_add(row.traffic.bytes);
            traffic.messages += row.traffic.messages;
            traffic.ns += row.traffic.ns;
        }
    }
}

/// The rows of all processes.
fn all_gather_rows<T: Pod>(comm: &dyn ProcessGroup, mine: Vec<T>) -> impl Iterator<Item = T> {
    comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten()
}

/// The input from one location.
struct LocationInputs {
    loads: FxHashMap<Segment, SegmentLoad>,
    calls: FxHashMap<(u32, u32), RankCallTotals>,
    partner_count: u32,
    poll_gaps: FxHashMap<Segment, PollGaps>,
    buffered_bytes: u64,
    relays: FxHashMap<Relay, RelayTotals>,
    pairs: FxHashMap<(u32, u32), PairTraffic>,
}

/// The executions of a location's segments. They are divided by number, not by time: iterations of a loop in which ranks wait for each other
/// have the same number on all of them.
fn segment_loads(location: &Location, sites: &SiteGroups, off_cpu: Option<&OffCpuIntervals>) -> FxHashMap<Segment, SegmentLoad> {
    let mut visits: FxHashMap<Segment, Vec<i64>> = FxHashMap::default();
    for row in 1..location.len() {
        let Some(segment) = segment::segment_before(location, row) else { continue };
        let ns = segment::segment_ns(location, row);
        if ns < POLL_GAP_NS && is_poll(location, row) && is_poll(location, row - 1) {
            continue;
        }
        let on_core_ns = ns - off_cpu.map_or(0, |off_cpu| off_cpu.preempted_ns(location, row));
        visits.entry(sites.representative_segment(segment)).or_default().push(on_core_ns);
    }
    visits.into_iter().map(|(segment, visits)| (segment, SegmentLoad::from_visits(&visits))).collect()
}

fn call_totals(location: &Location, index: usize, sites: &SiteGroups, replay: &WhatIfReplay) -> FxHashMap<(u32, u32), RankCallTotals> {
    let mut calls: FxHashMap<(u32, u32), RankCallTotals> = FxHashMap::default();
    let mut repetitions = RepetitionTracker::default();
    for row in 0..location.len() {
        let descriptor = call_descriptor(location, row);
        let own_ns = replay.own_ns(index, row);
        let (signature, gap_s) = (mergeable_call(descriptor), segment::segment_ns(location, row) as f64 * 1e-9);
        let follower = repetitions.repeats(signature, gap_s);
        repetitions.note(signature, gap_s, (location.calls.leave[row] - location.calls.enter[row]) as f64 * 1e-9);
        let bytes = match descriptor.function.definition().mode {
            BlockingMode::Persistent => 0,
            BlockingMode::Blocking | BlockingMode::Nonblocking => descriptor.bytes_sent().saturating_add(descriptor.bytes_received()),
        };
        let hides = is_blocking_transfer(descriptor) && bytes >= LARGE_BYTES && row + 1 < location.len();
        let totals = calls.entry((sites.representative(descriptor.site), descriptor.function.0.into())).or_default();
        totals.add(&RankCallTotals {
            calls: 1,
            own_ns,
            bytes,
            consecutive: follower.into(),
            consecutive_ns: if follower { own_ns } else { 0 },
            overlappable_ns: if hides { own_ns.min(segment::segment_ns(location, row + 1)) } else { 0 },
        });
    }
    calls
}

/// The ranks that get at least three quarters of what the one that gets most does: neighbours across a face, an edge and a corner of a grid
/// get different amounts.
fn count_partners(location: &Location) -> u32 {
    let mut bytes: FxHashMap<u32, u64> = FxHashMap::default();
    for sent in location.sent.iter().filter(|sent| sent.receiver != CallId::NONE && sent.receiver.rank != location.rank) {
        let sum = bytes.entry(sent.receiver.rank).or_default();
        *sum = sum.saturating_add(sent.bytes);
    }
    let most = bytes.values().copied().max().unwrap_or(0);
    bytes.values().filter(|sum| **sum >= most / 4 * 3).count() as u32
}

/// The largest message of a standard send that returned before its receive was posted.
fn largest_buffered(location: &Location) -> u64 {
    let sends = location.sent.iter().filter(|sent| sent.completion == sent.row && sent.receiver != CallId::NONE);
    let buffered = sends.filter(|sent| {
        call_descriptor(location, sent.row as usize).function.name() == "MPI_Send"
            && location.calls.leave[sent.row as usize] < sent.posted_enter
    });
    buffered.map(|sent| sent.bytes).max().unwrap_or(0)
}

fn pair_traffic(location: &Location, index: usize, replay: &WhatIfReplay) -> FxHashMap<(u32, u32), PairTraffic> {
    let mut pairs: FxHashMap<(u32, u32), PairTraffic> = FxHashMap::default();
    for sent in location.sent.iter().filter(|sent| sent.receiver != CallId::NONE) {
        let traffic = pairs.entry((location.rank, sent.receiver.rank)).or_default();
        traffic.bytes = traffic.bytes.saturating_add(call_descriptor(location, sent.row as usize).bytes_sent());
    }
    for same in location.received.chunk_by(|a, b| a.row == b.row) {
        for received in same.iter().filter(|received| received.consumed && received.sender != CallId::NONE) {
            let traffic = pairs.entry((received.sender.rank, location.rank)).or_default();
            traffic.messages += 1;
            traffic.ns += replay.own_ns(index, received.row as usize) / same.len() as i64;
        }
    }
    pairs
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SegmentLoadRow {
    load: SegmentLoad,
    segment: Segment,
    rank: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CallTotalsRow {
    totals: RankCallTotals,
    site: u32,
    operation: u32,
    rank: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PollGapsRow {
    gaps: PollGaps,
    segment: Segment,
    rank: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct RelayRow {
    totals: RelayTotals,
    relay: Relay,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PairTrafficRow {
    traffic: PairTraffic,
    from: u32,
    to: u32,
}
