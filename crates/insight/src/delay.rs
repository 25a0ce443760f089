//! Root causes: the computation that made other ranks wait.
//!
//! A wait names the call that was late. The two ranks are compared since their last synchronisation point: in some segments the late rank
//! spent more time than the waiting one. The wait is attributed to these segments in proportion to their excess, up to the difference of
//! the total computation. If the late rank had itself waited in that interval, part of the cost goes to that wait and is propagated to
//! *its* cause, until it reaches computation. (Böhme, Geimer et al., "Identifying the root causes of wait states", 2010, 2016.)
//!
//! Where the late rank had no core for longer than the waiting one, that part of the excess is the machine's, not computation.
//!
//! Waits are processed in reverse causal order: one is propagated once everything that can be attributed to it is known.

use std::collections::BTreeMap;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_program::history::{CallId, CollectiveCall, History, Location, ReceivedMessage, SentMessage};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::{CollectiveGroup, group_communicator};

use crate::off_cpu::OffCpuIntervals;
use crate::segment::{self, Segment};
use crate::wait_states::WaitInstance;

/// Shorter waits are not traced: there are many, and their sum is small.
const MIN_TRACED_NS: i64 = 1000;

/// Delay costs of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayCost {
    /// Nanoseconds of waits it caused directly.
    pub direct_ns: i64,
    /// Nanoseconds of waits it caused indirectly: propagated by ranks that waited for it.
    pub indirect_ns: i64,
    /// The part of `direct_ns` that it caused because it had no core.
    pub no_core_direct_ns: i64,
    /// The same of `indirect_ns`.
    pub no_core_indirect_ns: i64,
}

impl DelayCost {
    /// Nanoseconds of waits that its computation caused.
    pub(crate) fn computation_ns(&self) -> i64 {
        self.direct_ns + self.indirect_ns - self.no_core_ns()
    }

    /// Nanoseconds of waits that it caused because it had no core.
    pub(crate) fn no_core_ns(&self) -> i64 {
        self.no_core_direct_ns + self.no_core_indirect_ns
    }

    /// Adds the costs of an excess, of which in a part there was no core.
    fn add(&mut self, direct_ns: i64, indirect_ns: i64, no_core_ns: i64, excess_ns: i64) {
        self.direct_ns += direct_ns;
        self.indirect_ns += indirect_ns;
        self.no_core_direct_ns += proportion(direct_ns, no_core_ns, excess_ns);
        self.no_core_indirect_ns += proportion(indirect_ns, no_core_ns, excess_ns);
    }
}

/// Delay costs by segment and delayed rank.
pub type DelayCosts = BTreeMap<(Segment, u32), DelayCost>;

/// Delay costs of ranks that had no core inside MPI calls, after what these waited for was there.
pub type CallDelayCosts = BTreeMap<u32, DelayCost>;

/// The delay costs of a run; every process of the group gets all of them.
pub fn delay_costs(
    recording: &Recording,
    history: &History,
    waits: &[Vec<WaitInstance>],
    off_cpu: Option<&OffCpuIntervals>,
    comm: &dyn ProcessGroup,
) -> (DelayCosts, CallDelayCosts) {
    let mut tracer = DelayTracer { off_cpu, ..DelayTracer::new(recording, history, waits, comm) };
    loop {
        tracer.trace();
        if !tracer.exchange_requests(comm) && !tracer.break_cycle(comm) {
            return tracer.merge_costs(comm);
        }
    }
}

/// The last synchronisation point of two ranks before a wait, in terms the other rank can resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncPoint {
    /// They had not communicated.
    None,
    /// A message or RMA epoch; the row of the other rank's end.
    Message(u32),
    /// A collective: its index in this process's history, and when the last member entered. Without an index, no rank of this process
    /// joined it.
    Collective(Option<u32>, i64),
}

/// Sent from a waiting rank to the late one.
struct DelayRequest {
    /// The call that was late.
    cause: CallId,
    /// Length of the wait, and the cost attributed to it.
    wait_ns: i64,
    charged_ns: i64,
    sync_point: SyncPoint,
    /// Computation of the waiting rank since the synchronisation point.
    computed: SegmentSums,
    /// The part of it in which the waiting rank had no core.
    no_core: SegmentSums,
    /// Nanoseconds without a core in the calls since the synchronisation point.
    calls_no_core_ns: i64,
}

/// Nanoseconds by segment.
type SegmentSums = FxHashMap<Segment, i64>;

/// The waits of a location, traced last to first.
struct LocationWaits<'a> {
    /// Its waits by row.
    waits: &'a [WaitInstance],
    /// The cost attributed to each of them.
    charged_ns: Vec<i64>,
    /// Number of waits up to the last one that is traced and not yet propagated.
    remaining: usize,
    /// Calls that made others wait, by row, with the number of outstanding requests.
    late_calls: Vec<(u32, u32)>,
    /// Where the last request of this location began: the next one begins a little before.
    cursor: CursorPosition,
    /// Index in its joined rows of the last synchronisation point that was looked up.
    joined: usize,
}

/// Whether a wait is traced.
fn is_traced(wait: &WaitInstance) -> bool {
    wait.cause != CallId::NONE && wait.ns >= MIN_TRACED_NS
}

impl<'a> LocationWaits<'a> {
    fn new(location: &Location, waits: &'a [WaitInstance]) -> LocationWaits<'a> {
        let cursor =
            CursorPosition { received: location.received.len(), sent: location.sent.len(), collectives: location.collectives.len() };
        let charged_ns = vec![0; waits.len()];
        let mut location_waits =
            LocationWaits { remaining: waits.len(), waits, charged_ns, late_calls: Vec::new(), cursor, joined: location.collectives.len() };
        location_waits.skip_untraced();
        location_waits
    }

    fn skip_untraced(&mut self) {
        let traced = self.waits[..self.remaining].iter().rposition(is_traced);
        self.remaining = traced.map_or(0, |last| last + 1);
    }

    /// Expects a request against each of these calls.
    fn expect_requests(&mut self, rows: impl Iterator<Item = u32>) {
        let mut rows: Vec<u32> = rows.collect();
        rows.sort_unstable();
        self.late_calls = rows.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    }

    /// A request against a call was processed.
    fn request_arrived(&mut self, row: u32) {
        let index = partition_point_near(&self.late_calls, self.late_calls.len(), |(late, _)| *late < row);
        if let Some((_, claims)) = self.late_calls.get_mut(index).filter(|(late, _)| *late == row) {
            *claims = claims.saturating_sub(1);
        }
        self.drop_settled();
    }

    fn drop_settled(&mut self) {
        while self.late_calls.last().is_some_and(|(_, claims)| *claims == 0) {
            self.late_calls.pop();
        }
    }

    /// The last wait not yet propagated and the cost attributed to it, if no further cost can be attributed to it.
    fn next(&mut self) -> Option<(WaitInstance, i64)> {
        let index = self.remaining.checked_sub(1)?;
        let wait = self.waits[index];
        if self.late_calls.last().is_some_and(|(row, _)| *row > wait.row) {
            return None;
        }
        self.remaining = index;
        self.skip_untraced();
        Some((wait, self.charged_ns[index]))
    }

    /// The waits in calls from one row to before another one. Both are usually near the waits that are traced at the time.
    fn between(&self, first_row: u32, end_row: u32) -> Range<usize> {
        let end = partition_point_near(self.waits, self.remaining, |wait| wait.row < end_row);
        let first = partition_point_near(&self.waits[..end], end, |wait| wait.row < first_row);
        first..end
    }
}

/// The partition point of a slice, searched at growing distances from an index: quick if it is near.
fn partition_point_near<T>(items: &[T], near: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let mut low = 0;
    let mut high = items.len();
    let mut distance = 1;
    if items.get(near).is_some_and(&is_before) {
        low = near + 1;
        while let Some(item) = items.get(low + distance) {
            if !is_before(item) {
                high = low + distance;
                break;
            }
            low += distance + 1;
            distance *= 2;
        }
    } else {
        high = near.min(high);
        while let Some(index) = high.checked_sub(distance) {
            if is_before(&items[index]) {
                low = index + 1;
                break;
            }
            high = index;
            distance *= 2;
        }
    }
    low + items[low..high].partition_point(is_before)
}

struct DelayTracer<'a> {
    history: &'a History,
    /// When threads had no core, if that is known.
    off_cpu: Option<&'a OffCpuIntervals>,
    /// Costs of time without a core in calls.
    call_costs: FxHashMap<u32, DelayCost>,
    members: FxHashMap<CollectiveGroup, Vec<u32>>,
    /// The collectives of each location and the rows in which it joined them, by collective.
    joined_rows: Vec<Vec<(u32, u32)>>,
    locations: Vec<LocationWaits<'a>>,
    ready: Vec<usize>,
    costs: FxHashMap<(Segment, u32), DelayCost>,
    /// Computation of a late location, kept between requests to reuse its memory.
    computed: SegmentSums,
    /// The same of a waiting location.
    waiting_computed: SegmentSums,
    outgoing: Vec<Vec<u8>>,
}

impl<'a> DelayTracer<'a> {
    fn new(recording: &Recording, history: &'a History, waits: &'a [Vec<WaitInstance>], comm: &dyn ProcessGroup) -> DelayTracer<'a> {
        let with_waits = history.locations.iter().zip(waits);
        let mut locations: Vec<LocationWaits> = with_waits.map(|(location, waits)| LocationWaits::new(location, waits)).collect();
        let causes = waits.iter().flatten().filter(|wait| is_traced(wait)).map(|wait| wait.cause);
        let mut late: Vec<Vec<u32>> = vec![Vec::new(); locations.len()];
        let mut add_late = |cause: CallId| {
            if let Some(location) = history.location_index(cause) {
                late[location].push(cause.row);
            }
        };
        match comm.size() {
            // Nothing is exchanged, so nothing is copied.
            1 => causes.for_each(add_late),
            _ => {
                let buffers = history.distribution.group_by_owner(causes, |cause| cause.rank);
                comm.all_to_all(buffers).into_iter().flatten().for_each(&mut add_late);
            }
        }
        locations.iter_mut().zip(late).for_each(|(waits_of_location, rows)| waits_of_location.expect_requests(rows.into_iter()));
        let ready = (0..locations.len()).collect();
        let outgoing = vec![Vec::new(); comm.size()];
        DelayTracer {
            history,
            off_cpu: None,
            call_costs: FxHashMap::default(),
            members: group_members(recording, history, comm),
            joined_rows: history.locations.par_iter().map(joined_rows).collect(),
            locations,
            ready,
            costs: FxHashMap::default(),
            computed: SegmentSums::default(),
            waiting_computed: SegmentSums::default(),
            outgoing,
        }
    }

    /// Propagates waits until every location needs a request from another process.
    fn trace(&mut self) {
        while let Some(location) = self.ready.pop() {
            while let Some((wait, charged_ns)) = self.locations[location].next() {
                let request = self.delay_request(location, &wait, charged_ns);
                match self.history.location_index(wait.cause) {
                    Some(late) => self.attribute(late, &request),
                    None => request.write(self.history, &mut self.outgoing[self.history.distribution.owner(wait.cause.rank)]),
                }
                self.waiting_computed = request.computed;
            }
        }
    }

    /// The request of a waiting location to the one it waited for.
    fn delay_request(&mut self, index: usize, wait: &WaitInstance, charged_ns: i64) -> DelayRequest {
        let location = &self.history.locations[index];
        let mut cursor = BackwardCursor::new(location, wait.row, self.locations[index].cursor);
        self.locations[index].cursor = cursor.position;
        let mut computed = std::mem::take(&mut self.waiting_computed);
        computed.clear();
        let sync_point = loop {
            if let Some(segment) = segment::segment_before(location, cursor.row) {
                *computed.entry(segment).or_default() += segment::segment_ns(location, cursor.row);
            }
            if !cursor.step_back() {
                break SyncPoint::None;
            }
            if let Some(sync_point) = self.sync_point(&cursor, wait) {
                break sync_point;
            }
        };
        let no_core = self.no_core(location, cursor.row + 1, wait.row as usize);
        let calls_no_core_ns = self.calls_no_core_ns(index, cursor.row, wait.row as usize);
        DelayRequest { cause: wait.cause, wait_ns: wait.ns, charged_ns, sync_point, computed, no_core, calls_no_core_ns }
    }

    /// The time without a core in the segments before some consecutive calls.
    fn no_core(&self, location: &Location, first: usize, last: usize) -> SegmentSums {
        self.off_cpu.map(|off_cpu| segment::preempted_by_segment(off_cpu, location, first, last)).unwrap_or_default()
    }

    /// The time without a core in the calls from a synchronisation point to a call, which does not count.
    fn calls_no_core_ns(&self, index: usize, sync_row: usize, row: usize) -> i64 {
        let (location, waits) = (&self.history.locations[index], self.locations[index].waits);
        self.off_cpu.map_or(0, |off_cpu| off_cpu.late_in_calls_ns(location, waits, sync_row..row))
    }

    /// The synchronisation point at this call with the rank that was late, if any. A collective that the waiting rank has started but not
    /// completed has not synchronised them yet: it may be the one that the late rank was late for.
    fn sync_point(&self, cursor: &BackwardCursor, wait: &WaitInstance) -> Option<SyncPoint> {
        let cause = wait.cause;
        let same = |at: CallId| (at.rank, at.thread) == (cause.rank, cause.thread);
        let received = cursor.received().iter().rev().find(|received| same(received.sender)).map(|received| received.sender.row);
        let sent = || cursor.sent().iter().rev().find(|sent| same(sent.receiver)).map(|sent| sent.receiver.row);
        let epoch = || cursor.location.epoch_partners(cursor.row as u32).filter(|partner| same(*partner)).map(|partner| partner.row).max();
        let message = received.or_else(sent).or_else(epoch);
        let instance = || {
            let completed = cursor.collectives().iter().rev().filter(|collective| collective.completion < wait.row);
            let instances = completed.map(|collective| (collective.instance, &self.history.collectives[collective.instance as usize]));
            let mut common = instances.filter(|(_, instance)| self.is_member(instance.group, cause.rank));
            common.next().map(|(index, instance)| SyncPoint::Collective(Some(index), instance.last.1))
        };
        message.map(SyncPoint::Message).or_else(instance)
    }

    fn is_member(&self, group: CollectiveGroup, rank: u32) -> bool {
        self.members.get(&group).is_some_and(|members| members.binary_search(&rank).is_ok())
    }

    /// Attributes a request to the activities of the late location since the synchronisation point.
    fn attribute(&mut self, late: usize, request: &DelayRequest) {
        let location = &self.history.locations[late];
        let first_row = self.sync_row(late, request.sync_point).map_or(0, |row| row + 1).min(request.cause.row);
        let calls_no_core_ns = self.calls_no_core_ns(late, first_row.saturating_sub(1) as usize, request.cause.row as usize);
        let calls_no_core_ns = (calls_no_core_ns - request.calls_no_core_ns).max(0);
        let no_core = self.no_core(location, first_row as usize, request.cause.row as usize);
        let computed = &mut self.computed;
        computed.clear();
        for row in first_row as usize..=request.cause.row as usize {
            if let Some(segment) = segment::segment_before(location, row) {
                *computed.entry(segment).or_default() += segment::segment_ns(location, row);
            }
        }
        let between = self.locations[late].between(first_row, request.cause.row);
        let waits: &'a [WaitInstance] = &self.locations[late].waits[between.clone()];
        let excess = |(segment, ns): (&Segment, &i64)| (*segment, ns - request.computed.get(segment).copied().unwrap_or(0));
        let excess = computed.iter().map(excess).filter(|(_, ns)| *ns > 0);
        let waited: i64 = waits.iter().filter(|wait| is_traced(wait)).map(|wait| wait.ns).sum();
        // Ranks that compute equally long in different segments are both on time: only the difference of the totals counts.
        let longer = (computed.values().sum::<i64>() - request.computed.values().sum::<i64>()).max(0);
        let all_excess: i64 = excess.clone().map(|(_, ns)| ns).sum();
        let whole = longer + waited + calls_no_core_ns;
        let direct = request.wait_ns.min(whole);
        for (segment, ns) in excess {
            let cost = self.costs.entry((segment, location.rank)).or_default();
            let own = proportion(longer, ns, all_excess);
            let no_core_ns = no_core.get(&segment).map_or(0, |own| own - request.no_core.get(&segment).copied().unwrap_or(0)).clamp(0, ns);
            cost.add(proportion(direct, own, whole), proportion(request.charged_ns, own, whole), no_core_ns, ns);
        }
        if calls_no_core_ns > 0 {
            let [direct_ns, indirect_ns] = [direct, request.charged_ns].map(|ns| proportion(ns, calls_no_core_ns, whole));
            self.call_costs.entry(location.rank).or_default().add(direct_ns, indirect_ns, 1, 1);
        }
        let charged_ns = &mut self.locations[late].charged_ns[between];
        for (wait, charged_ns) in waits.iter().zip(charged_ns).filter(|(wait, _)| is_traced(wait)) {
            *charged_ns += proportion(direct, wait.ns, whole) + proportion(request.charged_ns, wait.ns, whole);
        }
        self.locations[late].request_arrived(request.cause.row);
        self.ready.push(late);
    }

    /// The row of the synchronisation point in this location of the late rank. If the location did not join the collective (another thread
    /// did, or nobody on this side of an intercommunicator), it is its last call before the last member entered.
    fn sync_row(&mut self, index: usize, sync_point: SyncPoint) -> Option<u32> {
        let (instance, last_enter) = match sync_point {
            SyncPoint::None => return None,
            SyncPoint::Message(row) => return Some(row),
            SyncPoint::Collective(instance, last_enter) => (instance, last_enter),
        };
        let last_before = || self.history.locations[index].calls.enter.partition_point(|enter| *enter <= last_enter).checked_sub(1);
        let Some(instance) = instance else { return last_before().map(|row| row as u32) };
        let (rows, joined) = (&self.joined_rows[index], &mut self.locations[index].joined);
        *joined = partition_point_near(rows, *joined, |(other, _)| *other < instance);
        let row = rows.get(*joined).filter(|(other, _)| *other == instance).map(|(_, row)| *row);
        row.or_else(|| last_before().map(|row| row as u32))
    }

    /// Exchanges requests with the other processes; returns whether there were any.
    fn exchange_requests(&mut self, comm: &dyn ProcessGroup) -> bool {
        if comm.size() == 1 {
            return false;
        }
        let buffers = std::mem::replace(&mut self.outgoing, vec![Vec::new(); comm.size()]);
        let told = buffers.iter().any(|buffer| !buffer.is_empty());
        for buffer in comm.all_to_all_bytes(buffers) {
            let mut words: &[i64] = &bytemuck::allocation::pod_collect_to_vec(&buffer);
            while let Some(request) = DelayRequest::read(self.history, &mut words) {
                if let Some(late) = self.history.location_index(request.cause) {
                    self.attribute(late, &request);
                }
            }
        }
        comm.all_to_all(vec![vec![u8::from(told)]; comm.size()]).into_iter().flatten().any(|flag| flag != 0)
    }

    /// In an inconsistent recording, requests can block each other: releases the last wait of all; returns whether there was one.
    fn break_cycle(&mut self, comm: &dyn ProcessGroup) -> bool {
        let stalled = self.locations.iter().enumerate().filter_map(|(index, waits_of_location)| {
            let location = &self.history.locations[index];
            let wait = waits_of_location.waits.get(waits_of_location.remaining.checked_sub(1)?)?;
            Some((location.calls.leave[wait.row as usize], location.call_id(wait.row), index))
        });
        let mine = stalled.max();
        let buffer: Vec<StalledWait> = mine.iter().map(|(leave, at, _)| StalledWait { leave: *leave, call: *at, padding: 0 }).collect();
        let all = comm.all_to_all(vec![buffer; comm.size()]).into_iter().flatten().map(|stalled| (stalled.leave, stalled.call)).max();
        let Some(last) = all else { return false };
        if let Some((leave, at, index)) = mine
            && (leave, at) == last
        {
            let waits_of_location = &mut self.locations[index];
            let earlier = waits_of_location.late_calls.partition_point(|(row, _)| *row <= at.row);
            waits_of_location.late_calls.truncate(earlier);
            self.ready.push(index);
        }
        true
    }

    fn merge_costs(self, comm: &dyn ProcessGroup) -> (DelayCosts, CallDelayCosts) {
        let in_calls = self.call_costs.iter().map(|(rank, cost)| [i64::from(*rank), cost.direct_ns, cost.indirect_ns]);
        let mut call_costs = CallDelayCosts::new();
        for [rank, direct_ns, indirect_ns] in comm.all_to_all(vec![in_calls.collect(); comm.size()]).into_iter().flatten() {
            call_costs.entry(rank as u32).or_default().add(direct_ns, indirect_ns, 1, 1);
        }
        let entry = |((segment, rank), cost): (&(Segment, u32), &DelayCost)| DelayCostRow {
            direct_ns: cost.direct_ns,
            indirect_ns: cost.indirect_ns,
            no_core_direct_ns: cost.no_core_direct_ns,
            no_core_indirect_ns: cost.no_core_indirect_ns,
            segment: *segment,
            rank: *rank,
            padding: 0,
        };
        let mine: Vec<DelayCostRow> = self.costs.iter().map(entry).collect();
        let mut costs = DelayCosts::new();
        for entry in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
            let cost = costs.entry((entry.segment, entry.rank)).or_default();
            cost.direct_ns += entry.direct_ns;
            cost.indirect_ns += entry.indirect_ns;
            cost.no_core_direct_ns += entry.no_core_direct_ns;
            cost.no_core_indirect_ns += entry.no_core_indirect_ns;
        }
        (costs, call_costs)
    }
}

/// `part / whole` of an amount, rounded down.
fn proportion(amount: i64, part: i64, whole: i64) -> i64 {
    let whole = whole.max(1);
    // Division of 128 bits is slow, and hardly ever needed.
    match amount.checked_mul(part) {
        Some(product) => product / whole,
        None => (i128::from(amount) * i128::from(part) / i128::from(whole)) as i64,
    }
}

/// The ranks of each group with collectives, sorted. If the communicator of a group is not known, they are those that joined.
fn group_members(recording: &Recording, history: &History, comm: &dyn ProcessGroup) -> FxHashMap<CollectiveGroup, Vec<u32>> {
    let mut members: FxHashMap<CollectiveGroup, Vec<u32>> = FxHashMap::default();
    for instance in &history.collectives {
        members.entry(instance.group).or_insert_with(|| {
            let number = group_communicator(&recording.header, instance.group);
            let both = number.map(|number| recording.members(number).iter().chain(recording.remote(number)));
            both.into_iter().flatten().filter_map(|rank| u32::try_from(*rank).ok()).collect()
        });
    }
    let is_unknown = |group: CollectiveGroup| group_communicator(&recording.header, group).is_none();
    let joined = history.locations.par_iter().flat_map_iter(|location| {
        let groups = location.collectives.iter().map(|collective| history.collectives[collective.instance as usize].group);
        let mut unknown: Vec<[u32; 4]> =
            groups.filter(|group| is_unknown(*group)).map(|group| member_words(group, location.rank)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    });
    for [a, b, c, rank] in comm.all_to_all(vec![joined.collect::<Vec<_>>(); comm.size()]).into_iter().flatten() {
        if let Some(known) = CollectiveGroup::from_words([a, b, c]).and_then(|group| members.get_mut(&group)) {
            known.push(rank);
        }
    }
    members.par_iter_mut().for_each(|(_, ranks)| ranks.sort_unstable());
    members
}

/// A group and one of its members, exchanged between processes.
fn member_words(group: CollectiveGroup, rank: u32) -> [u32; 4] {
    let [a, b, c] = group.to_words();
    [a, b, c, rank]
}

/// The collectives of a location and the rows in which it joined them, by collective.
fn joined_rows(location: &Location) -> Vec<(u32, u32)> {
    let mut rows: Vec<(u32, u32)> = location.collectives.iter().map(|collective| (collective.instance, collective.row)).collect();
    rows.sort_unstable();
    rows
}

/// Steps backwards through the calls of a location.
struct BackwardCursor<'a> {
    location: &'a Location,
    row: usize,
    position: CursorPosition,
}

/// Numbers of messages and collectives up to a call.
#[derive(Clone, Copy)]
struct CursorPosition {
    received: usize,
    sent: usize,
    collectives: usize,
}

impl<'a> BackwardCursor<'a> {
    /// A cursor before a call, which is searched near another position.
    fn new(location: &'a Location, row: u32, near: CursorPosition) -> BackwardCursor<'a> {
        let position = CursorPosition {
            received: partition_point_near(&location.received, near.received, |received| received.row < row),
            sent: partition_point_near(&location.sent, near.sent, |sent| sent.row < row),
            collectives: partition_point_near(&location.collectives, near.collectives, |collective| collective.row < row),
        };
        BackwardCursor { location, row: row as usize, position }
    }

    /// Moves to the previous call; `false` if there is none.
    fn step_back(&mut self) -> bool {
        let Some(row) = self.row.checked_sub(1) else { return false };
        self.position.received -= self.received().len();
        self.position.sent -= self.sent().len();
        self.position.collectives -= self.collectives().len();
        self.row = row;
        true
    }

    /// Messages received by the current call.
    fn received(&self) -> &'a [ReceivedMessage] {
        let before = &self.location.received[..self.position.received];
        &before[before.len() - before.iter().rev().take_while(|received| received.row as usize == self.row).count()..]
    }

    /// Messages sent by the current call.
    fn sent(&self) -> &'a [SentMessage] {
        let before = &self.location.sent[..self.position.sent];
        &before[before.len() - before.iter().rev().take_while(|sent| sent.row as usize == self.row).count()..]
    }

    /// Collectives joined by the current call.
    fn collectives(&self) -> &'a [CollectiveCall] {
        let before = &self.location.collectives[..self.position.collectives];
        &before[before.len() - before.iter().rev().take_while(|collective| collective.row as usize == self.row).count()..]
    }
}

impl DelayRequest {
    /// Serialises the request. A collective is named by its group and number, which are the same in all processes.
    fn write(&self, history: &History, buffer: &mut Vec<u8>) {
        let (kind, [a, b, c], number, last_enter) = match self.sync_point {
            SyncPoint::None | SyncPoint::Collective(None, _) => (0, [0; 3], 0, 0),
            SyncPoint::Message(row) => (1, [row, 0, 0], 0, 0),
            SyncPoint::Collective(Some(instance), last_enter) => {
                let instance = &history.collectives[instance as usize];
                (2, instance.group.to_words(), instance.number, last_enter)
            }
        };
        let CallId { rank, thread, row } = self.cause;
        let head = [rank, thread, row, kind, a, b, c, self.computed.len() as u32].map(i64::from);
        let mut words: Vec<i64> = head.to_vec();
        words.extend([number as i64, self.wait_ns, self.charged_ns, last_enter]);
        words.extend(sum_words(&self.computed));
        words.extend([self.calls_no_core_ns, self.no_core.len() as i64]);
        words.extend(sum_words(&self.no_core));
        buffer.extend_from_slice(bytemuck::cast_slice(&words));
    }

    /// Deserialises the next request.
    fn read(history: &History, words: &mut &[i64]) -> Option<DelayRequest> {
        let (head, rest) = words.split_at_checked(12)?;
        let small = |index: usize| head[index] as u32;
        let sync_point = match small(3) {
            1 => SyncPoint::Message(small(4)),
            2 => {
                let key = (CollectiveGroup::from_words([small(4), small(5), small(6)])?, head[8] as u64);
                let found = history.collectives.binary_search_by_key(&key, |instance| (instance.group, instance.number));
                SyncPoint::Collective(found.ok().map(|instance| instance as u32), head[11])
            }
            _ => SyncPoint::None,
        };
        let (computed, rest) = read_sums(rest, head[7])?;
        let ([calls_no_core_ns, no_core_count], rest) = rest.split_first_chunk()?;
        let (no_core, rest) = read_sums(rest, *no_core_count)?;
        *words = rest;
        let cause = CallId { rank: small(0), thread: small(1), row: small(2) };
        Some(DelayRequest {
            cause,
            wait_ns: head[9],
            charged_ns: head[10],
            sync_point,
            computed,
            no_core,
            calls_no_core_ns: *calls_no_core_ns,
        })
    }
}

fn sum_words(sums: &SegmentSums) -> impl Iterator<Item = i64> {
    sums.iter().flat_map(|(segment, ns)| [i64::from(segment.from), i64::from(segment.to), *ns])
}

/// Reads a number of sums; returns what follows them too.
fn read_sums(words: &[i64], count: i64) -> Option<(SegmentSums, &[i64])> {
    let (sums, rest) = words.split_at_checked(usize::try_from(count).ok()?.checked_mul(3)?)?;
    Some((sums.chunks_exact(3).map(|sum| (Segment { from: sum[0] as u32, to: sum[1] as u32 }, sum[2])).collect(), rest))
}

/// The last wait of a process that cannot be propagated.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct StalledWait {
    leave: i64,
    call: CallId,
    padding: u32,
}

/// A cost, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct DelayCostRow {
    direct_ns: i64,
    indirect_ns: i64,
    no_core_direct_ns: i64,
    no_core_indirect_ns: i64,
    segment: Segment,
    rank: u32,
    padding: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_near_any_index_finds_the_partition_point() {
        for items in [&[][..], &[4], &[1, 2, 2, 5, 7, 7, 7, 9, 12, 13, 20, 21, 22, 40]] {
            for (value, near) in (0..42).flat_map(|value| (0..items.len() + 2).map(move |near| (value, near))) {
                let expected = items.partition_point(|item| *item < value);
                assert_eq!(partition_point_near(items, near, |item| *item < value), expected, "{value} near {near}");
            }
        }
    }
}
