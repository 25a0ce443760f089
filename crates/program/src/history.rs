//! The history of a run: the calls of every thread, and their dependencies on calls of other ranks.
//!
//! A recording contains the calls of each process by itself. Here sends are matched with receives ([`message_matching`]), the participants
//! of collectives with each other ([`collectives`]), and epochs of one-sided communication ([`rma_epochs`]). Timestamps that contradict
//! each other are corrected ([`clock_correction`]). All wait state analysis is based on a [`History`].

mod call_dependency;
mod causal_walk;
mod clock_correction;
mod collective_dependencies;
mod collectives;
mod excerpt;
mod member_dependencies;
mod member_needs;
mod message_matching;
mod neighbour_topology;
mod progress_updates;
mod rank_scan;
mod rma_epochs;

use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::{CallDescriptor, CallTable};
use sintonia_recording::{Error, Recording};

use crate::process_group::{ProcessGroup, RankDistribution};
pub use call_dependency::{MemberDependency, member_dependency};
pub use causal_walk::{CausalVisitor, causal_walk};
pub use clock_correction::ClockViolations;
pub use collective_dependencies::CollectiveDependencies;
pub use collectives::CollectiveInstance;
pub use excerpt::{ExcerptRow, ExcerptRowKind, HistoryExcerpt, RegionWindow};
use member_needs::MemberNeeds;
use neighbour_topology::NeighbourTopology;
pub use neighbour_topology::is_neighbourhood_op;
use rank_scan::OrderedCalls;
pub use rma_epochs::{AccessEpoch, ExposureEpoch, LockEpoch};

/// Identifies a call: rank, thread, and row in the thread's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CallId {
    /// The rank.
    pub rank: u32,
    /// The thread of the rank.
    pub thread: u32,
    /// Row in the thread's call table.
    pub row: u32,
}

/// No row: the call is unknown or does not exist.
pub const NO_ROW: u32 = u32::MAX;

impl CallId {
    /// No call.
    pub const NONE: CallId = CallId { rank: NO_ROW, thread: NO_ROW, row: NO_ROW };

    /// The call, or `None`.
    pub fn into_option(self) -> Option<CallId> {
        (self != CallId::NONE).then_some(self)
    }
}

/// A message received by a call, or seen by a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceivedMessage {
    /// The call that completed the receive.
    pub row: u32,
    /// The sending call; [`CallId::NONE`] if it was not recorded.
    pub sender: CallId,
    /// Index among the messages sent by that thread.
    pub sender_index: u32,
    /// Whether the message was received, not only probed.
    pub consumed: bool,
    /// Whether it was a partitioned send; the sending call is then the last `MPI_Pready`.
    pub partitioned: bool,
    /// When the sending call was entered.
    pub send_enter: i64,
}

/// A message sent by a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentMessage {
    /// The call that started the send.
    pub row: u32,
    /// The call of the same thread that completed it; [`NO_ROW`] if none did.
    pub completion: u32,
    /// Bytes sent; 0 if that is not known.
    pub bytes: u64,
    /// Whether it was a synchronous send.
    pub synchronous: bool,
    /// The receiving call; [`CallId::NONE`] if it was not recorded.
    pub receiver: CallId,
    /// Row of the call of the same rank that posted the receive.
    pub posted_row: u32,
    /// The thread of that call.
    pub posted_thread: u16,
    /// When that call was entered.
    pub posted_enter: i64,
    /// Row of the first call of the receiving thread that is in progress, or entered, once the message is sent and its receive posted.
    pub progress_row: u32,
    /// When that call was entered.
    pub progress_enter: i64,
}

impl SentMessage {
    /// The call in which the receiver can first make progress on the message; [`CallId::NONE`] if the receive was not recorded.
    pub fn progress(&self) -> CallId {
        match self.receiver {
            CallId::NONE => CallId::NONE,
            receiver => CallId { row: self.progress_row, ..receiver },
        }
    }

    /// The call that posted the receive; [`CallId::NONE`] if the receive was not recorded.
    pub fn posted(&self) -> CallId {
        match self.receiver {
            CallId::NONE => CallId::NONE,
            receiver => CallId { rank: receiver.rank, thread: self.posted_thread.into(), row: self.posted_row },
        }
    }
}

/// A call's participation in a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveCall {
    /// The call that entered it.
    pub row: u32,
    /// The call of the same thread that completed it; [`NO_ROW`] if none did.
    pub completion: u32,
    /// Index in [`History::collectives`].
    pub instance: u32,
    /// Index in the location's table of dependencies; [`NO_ROW`] if it has none. Few collectives have one, so it is not stored here.
    dependency: u32,
}

/// The subset of members that a member depends on: lower ranks, neighbours, or those that its algorithm makes it wait for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubsetDependency {
    /// Number of lower ranks or neighbours.
    pub members: u32,
    /// The last of them to enter, and when.
    pub last: (CallId, i64),
    /// Whether it depends on that one only, as far as is known: it is the algorithm that makes it wait, not MPI.
    pub only_last: bool,
}

/// The calls of one thread and their dependencies (a location in terms of OTF2).
#[derive(Clone, Debug, Default)]
pub struct Location {
    /// The rank.
    pub rank: u32,
    /// The calls.
    pub calls: CallTable,
    /// Messages received, ordered by completing call.
    pub received: Vec<ReceivedMessage>,
    /// Messages sent, ordered by sending call.
    pub sent: Vec<SentMessage>,
    /// The collectives they participated in, in order.
    pub collectives: Vec<CollectiveCall>,
    /// Access epochs (`MPI_Win_start` to `MPI_Win_complete`), in order.
    pub accesses: Vec<AccessEpoch>,
    /// Exposure epochs (`MPI_Win_post` to `MPI_Win_wait`), in order.
    pub exposures: Vec<ExposureEpoch>,
    /// Lock epochs.
    pub locks: Vec<LockEpoch>,
    /// The calls that ended epochs, with the calls of other ranks they depended on.
    epoch_ends: Vec<(u32, CallId)>,
    /// What its collectives depended on, where that is not all members or the root.
    dependencies: Vec<SubsetDependency>,
    /// What its collectives need again in a replay beyond the semantics of MPI, by index of the collective.
    needs: Vec<(u32, MemberNeeds)>,
}

impl Location {
    /// Number of calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The id of one of its calls.
    pub fn call_id(&self, row: u32) -> CallId {
        CallId { rank: self.rank, thread: self.calls.thread.into(), row }
    }

    /// The calls of other ranks on which the epochs ended by this call depended: the post of an accessed window, the end of an access epoch
    /// on the own window, the release of a lock.
    pub fn epoch_partners(&self, row: u32) -> impl Iterator<Item = CallId> {
        let first = self.epoch_ends.partition_point(|(end, _)| *end < row);
        self.epoch_ends[first..].iter().take_while(move |(end, _)| *end == row).map(|(_, at)| *at)
    }

    /// What a call depends on in a collective of which it needs only some members. For a scan: the lower ranks. For a neighbourhood
    /// collective: the sources. For the inner rank of a tree: its children or its parent.
    pub fn dependency(&self, collective: &CollectiveCall) -> Option<SubsetDependency> {
        self.dependencies.get(collective.dependency as usize).copied()
    }

    fn set_dependency(&mut self, collective: usize, dependency: SubsetDependency) {
        self.collectives[collective].dependency = self.dependencies.len() as u32;
        self.dependencies.push(dependency);
    }

    fn set_needs(&mut self, collective: u32, needs: MemberNeeds) {
        if needs != MemberNeeds::default() {
            self.needs.push((collective, needs));
        }
    }

    /// Releases memory that was reserved for further entries.
    fn shrink_to_fit(&mut self) {
        self.received.shrink_to_fit();
        self.sent.shrink_to_fit();
        self.collectives.shrink_to_fit();
    }

    /// Everything about a call but its time.
    pub fn descriptor(&self, row: usize) -> &CallDescriptor {
        &self.calls.descriptors[self.calls.descriptor_ids[row] as usize]
    }

    /// The role of a call.
    pub fn role(&self, row: usize) -> FunctionRole {
        self.descriptor(row).function.role()
    }

    /// Start of the computation before a call: when the previous call returned; for the first call, when it was entered.
    pub fn compute_begin(&self, row: usize) -> i64 {
        let enter = self.calls.enter[row];
        if row == 0 { enter } else { self.calls.leave[row - 1].min(enter) }
    }
}

/// Messages of which only one end was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedMessages {
    /// Sent, but not received by a recorded call.
    pub sends: u64,
    /// Received, but not sent by a recorded call.
    pub receives: u64,
}

impl UnmatchedMessages {
    /// Those of all processes that read the history.
    pub fn total(history: &History, comm: &dyn ProcessGroup) -> UnmatchedMessages {
        let own = [history.unmatched.sends, history.unmatched.receives];
        let all = comm.all_to_all(vec![vec![own]; comm.size()]).into_iter().flatten();
        all.fold(UnmatchedMessages::default(), |sum, [sends, receives]| UnmatchedMessages {
            sends: sum.sends + sends,
            receives: sum.receives + receives,
        })
    }
}

/// The history of a run, as far as this process owns it.
pub struct History {
    /// The distribution of ranks over processes.
    pub distribution: RankDistribution,
    /// The locations of this process's ranks, by rank and thread.
    pub locations: Vec<Location>,
    /// The collectives in which they participated.
    pub collectives: Vec<CollectiveInstance>,
    /// Messages of its ranks whose other end is missing.
    pub unmatched: UnmatchedMessages,
    /// Messages received by its ranks that several threads sent or received at the same time with the same communicator, peer and tag. MPI does
    /// not order them, so it is not known which send belongs to which receive.
    pub unordered: u64,
    /// Clock condition violations that were corrected, over all ranks.
    pub clock_violations: ClockViolations,
    /// The locations of each of its ranks.
    location_ranges: Vec<Range<u32>>,
    /// Neighbour topologies, by communicator.
    topologies: FxHashMap<u32, NeighbourTopology>,
}

impl History {
    /// Reads the ranks of this process and matches their calls; `progress` is called for each rank.
    pub fn read(recording: &Recording, comm: &dyn ProcessGroup, progress: &(dyn Fn() + Sync)) -> Result<History, Error> {
        let distribution = RankDistribution::new(recording, comm);
        let ranks: Vec<u32> = distribution.own_ranks().collect();
        let processes = ranks.par_iter().map(|rank| Ok(OrderedCalls::new(*rank, recording.tables(*rank)?)));
        let processes: Vec<OrderedCalls> = processes.collect::<Result<_, Error>>()?;
        let mut history = History::from_processes(recording, comm, distribution, processes, progress);
        if history.clock_violations.violations > 0 {
            // Threads are corrected independently; the order of the calls of a rank must stay as recorded.
            let orders = history.call_orders();
            let repair = clock_correction::correct_clocks(&mut history, comm);
            let (distribution, processes) = history.into_processes(orders);
            history = History::from_processes(recording, comm, distribution, processes, &|| {});
            history.clock_violations = repair;
        }
        Ok(history)
    }

    /// The same calls at other times: enter and leave of each call of each location, in nanoseconds. The order of the calls of a rank stays.
    pub fn with_times(mut self, recording: &Recording, comm: &dyn ProcessGroup, times: Vec<Vec<(i64, i64)>>) -> History {
        let orders = self.call_orders();
        for (location, times) in self.locations.iter_mut().zip(times) {
            (location.calls.enter, location.calls.leave) = times.into_iter().unzip();
        }
        let (distribution, processes) = self.into_processes(orders);
        History::from_processes(recording, comm, distribution, processes, &|| {})
    }

    fn from_processes(
        recording: &Recording,
        comm: &dyn ProcessGroup,
        distribution: RankDistribution,
        processes: Vec<OrderedCalls>,
        progress: &(dyn Fn() + Sync),
    ) -> History {
        let scan = |process: OrderedCalls| {
            let scanned = rank_scan::scan_rank(recording, process);
            progress();
            scanned
        };
        let scanned: Vec<rank_scan::RankScan> = processes.into_par_iter().map(scan).collect();
        let mut locations = Vec::new();
        let mut ranges = Vec::new();
        let (mut envelopes, mut receives, mut joins, mut epochs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for scan in scanned {
            let first = locations.len() as u32;
            locations.extend(scan.locations);
            ranges.push(first..locations.len() as u32);
            envelopes.push(scan.envelopes);
            receives.push((scan.receives, scan.probed));
            joins.push(scan.joins);
            epochs.push(scan.epochs);
        }
        let instances = collectives::match_collectives(recording, comm, &mut locations, &ranges, joins);
        member_dependencies::find_member_dependencies(recording, comm, &distribution, &mut locations, &ranges, &instances);
        let (unmatched, repair) = (UnmatchedMessages::default(), ClockViolations::default());
        let topologies = collectives::neighbour_topologies(recording, &instances);
        let mut history = History {
            distribution,
            locations,
            collectives: instances,
            unmatched,
            unordered: 0,
            clock_violations: repair,
            location_ranges: ranges,
            topologies,
        };
        message_matching::match_messages(&mut history, comm, envelopes, receives);
        rma_epochs::match_epochs(&mut history, comm, epochs);
        history.clock_violations = clock_correction::count_violations(&history, comm);
        history
    }

    /// The completion order of the calls of each rank.
    fn call_orders(&self) -> Vec<Vec<(u32, u32)>> {
        let tables = |ranges: &Range<u32>| -> Vec<&CallTable> {
            self.locations[ranges.start as usize..ranges.end as usize].iter().map(|location| &location.calls).collect()
        };
        self.location_ranges.iter().map(|ranges| rank_scan::completion_order(&tables(ranges))).collect()
    }

    fn into_processes(self, orders: Vec<Vec<(u32, u32)>>) -> (RankDistribution, Vec<OrderedCalls>) {
        let History { distribution, locations, location_ranges: ranges, .. } = self;
        let mut locations = locations.into_iter();
        let mut processes = Vec::with_capacity(ranges.len());
        for ((rank, ranges), order) in distribution.own_ranks().zip(ranges).zip(orders) {
            let tables = locations.by_ref().take(ranges.len()).map(|location| location.calls).collect();
            processes.push(OrderedCalls { rank, tables, order });
        }
        (distribution, processes)
    }

    /// Index of a call's location in [`History::locations`]; `None` if another process owns it.
    pub fn location_index(&self, at: CallId) -> Option<usize> {
        let own = self.distribution.own_ranks();
        let ranges = self.location_ranges.get(at.rank.checked_sub(own.start)? as usize)?.clone();
        ranges.map(|index| index as usize).find(|index| u32::from(self.locations[*index].calls.thread) == at.thread)
    }

    /// The locations of one rank of this process.
    pub fn locations_of_rank(&self, rank: u32) -> Range<usize> {
        let index = rank.checked_sub(self.distribution.own_ranks().start).and_then(|index| self.location_ranges.get(index as usize));
        index.map_or(0..0, |ranges| ranges.start as usize..ranges.end as usize)
    }
}
