//! The communication graph: ranks as vertices, exchanged messages as edges.

use std::collections::HashMap;

use rayon::prelude::*;
use sintonia_collective::{LibraryRules, describe_selection};
use sintonia_mpi::{CollectiveOp, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, DescriptorTotals};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::raw;
use sintonia_recording::{Error, Recording};

use crate::collective::MemberCalls;
use crate::{MessageFlow, RankActivity, collective, intercomm_collective};

/// Ranks as vertices, bytes and messages between them as edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationGraph {
    /// Computation of each rank in microseconds, at least 1.
    pub compute_us: Vec<u64>,
    /// Pairs of ranks that exchanged messages, sorted, each once.
    pub edges: Vec<CommEdge>,
    /// The algorithms by which collectives are counted; `None` if they are not counted.
    pub collectives: Option<&'static [&'static str]>,
    /// Traffic missing from the graph because the recording lacks the details.
    pub omitted: OmittedTraffic,
}

/// Messages between two ranks, both directions summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommEdge {
    /// The two ranks, the smaller one first.
    pub ranks: [u32; 2],
    /// Bytes of all messages.
    pub bytes: u64,
    /// Bytes sent by the first rank.
    pub bytes_forward: u64,
    /// Number of messages.
    pub messages: u64,
}

/// Communication whose endpoints the recording does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedTraffic {
    /// Neighbourhood collectives on communicators whose topology is not recorded.
    pub neighbourhood: bool,
    /// Persistent operations in a profile, which does not say which of them were started.
    pub persistent: bool,
}

impl OmittedTraffic {
    /// One note per kind, for output.
    pub fn notes(self) -> impl Iterator<Item = &'static str> {
        let neighbourhood =
            self.neighbourhood.then_some("neighbourhood collectives are not counted where the recording does not contain the topology");
        let persistent =
            self.persistent.then_some("persistent operations are not counted: a profile does not record which ones were started");
        neighbourhood.into_iter().chain(persistent)
    }

    pub(crate) fn union(self, other: OmittedTraffic) -> OmittedTraffic {
        OmittedTraffic { neighbourhood: self.neighbourhood || other.neighbourhood, persistent: self.persistent || other.persistent }
    }
}

/// One rank's contribution to the graph.
struct RankContribution {
    rank: u32,
    compute_us: u64,
    edges: Vec<CommEdge>,
    omitted: OmittedTraffic,
}

impl CommunicationGraph {
    /// Builds the graph of a recording, with or without collectives; `progress` is called after each rank.
    pub fn from_recording(recording: &Recording, collectives: bool, progress: impl Fn() + Sync) -> Result<CommunicationGraph, Error> {
        let contribution = |rank: &RecordedRank| {
            let contribution = RankContribution::from_activity(recording, &RankActivity::read(recording, rank)?, collectives);
            progress();
            Ok(contribution)
        };
        let contributions: Vec<RankContribution> = recording.header.ranks.par_iter().map(contribution).collect::<Result<_, Error>>()?;
        let size = contributions.iter().map(|c| c.rank as usize + 1).max().unwrap_or(0).max(recording.header.size);
        let algorithms = collectives.then(|| describe_selection(mpi_library(recording)));
        Ok(CommunicationGraph::from_contributions(size, contributions, algorithms))
    }

    fn from_contributions(
        size: usize,
        contributions: Vec<RankContribution>,
        collectives: Option<&'static [&'static str]>,
    ) -> CommunicationGraph {
        let mut compute_us = vec![1; size];
        let mut edges = Vec::new();
        let mut omitted = OmittedTraffic::default();
        for contribution in contributions {
            compute_us[contribution.rank as usize] = contribution.compute_us.max(1);
            edges.extend(contribution.edges);
            omitted = omitted.union(contribution.omitted);
        }
        edges.retain(|edge: &CommEdge| (edge.ranks[1] as usize) < size);
        CommunicationGraph { compute_us, edges: merge_edges(edges), collectives, omitted }
    }
}

impl RankContribution {
    fn from_activity(recording: &Recording, activity: &RankActivity, collectives: bool) -> RankContribution {
        let (flows, omitted) = rank_flows(recording, activity, collectives);
        let edges = flows.into_iter().filter(MessageFlow::is_between_ranks).map(CommEdge::from_flow).collect();
        RankContribution { rank: activity.rank, compute_us: activity.time.compute_ns / 1000, edges: merge_edges(edges), omitted }
    }
}

/// The MPI library of the run, if the recording has it.
fn mpi_library(recording: &Recording) -> Option<LibraryRules> {
    LibraryRules::from_version_string(&recording.header.mpi.library)
}

/// The messages a rank counts, with or without those of collectives, and what it has to omit.
pub(crate) fn rank_flows(recording: &Recording, activity: &RankActivity, collectives: bool) -> (Vec<MessageFlow>, OmittedTraffic) {
    let mut flows: Vec<MessageFlow> = activity.sent_flows().collect();
    let mut omitted =
        OmittedTraffic { persistent: recording.header.profile && activity.data_calls().any(is_start), ..OmittedTraffic::default() };
    if collectives {
        let library = mpi_library(recording);
        for calls in CollectiveCalls::sum_by_size(activity) {
            match calls.op.is_neighborhood() {
                false => {
                    let (members, others) = (recording.members(calls.communicator), recording.remote(calls.communicator));
                    flows.extend(calls.messages(library, activity.rank, members, others));
                }
                true => match recording.neighbours(calls.communicator, activity.rank) {
                    Some(neighbours) => flows.extend(calls.neighbour_messages(activity.rank, &neighbours.destinations)),
                    None => omitted.neighbourhood = true,
                },
            }
        }
    }
    (flows, omitted)
}

impl CommEdge {
    fn from_flow(flow: MessageFlow) -> CommEdge {
        let (from, to) = (flow.from as u32, flow.to as u32);
        let bytes_forward = if from < to { flow.bytes } else { 0 };
        CommEdge { ranks: [from.min(to), from.max(to)], bytes: flow.bytes, bytes_forward, messages: flow.messages }
    }
}

/// Sorted edges, with edges between the same ranks merged.
fn merge_edges(mut edges: Vec<CommEdge>) -> Vec<CommEdge> {
    edges.par_sort_unstable_by_key(|edge| edge.ranks);
    edges.dedup_by(|next, kept| {
        let same = next.ranks == kept.ranks;
        if same {
            kept.bytes = kept.bytes.saturating_add(next.bytes);
            kept.bytes_forward = kept.bytes_forward.saturating_add(next.bytes_forward);
            kept.messages = kept.messages.saturating_add(next.messages);
        }
        same
    });
    edges
}

fn is_start((descriptor, _): &(CallDescriptor, DescriptorTotals)) -> bool {
    matches!(descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll)
}

/// Collective calls of one rank with buffers of the same size, summed. A profile distinguishes classes of sizes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CollectiveCalls {
    op: CollectiveOp,
    communicator: u32,
    root: i32,
    calls: u64,
    sent: u64,
    received: u64,
}

impl CollectiveCalls {
    /// The algorithm depends on the size, so calls are summed by size.
    fn sum_by_size(activity: &RankActivity) -> impl Iterator<Item = CollectiveCalls> {
        let mut sums: HashMap<(CollectiveOp, u32, i32, u64, u64), CollectiveCalls> = HashMap::new();
        for (descriptor, totals) in activity.data_calls() {
            let FunctionRole::Collective(op) = descriptor.function.role() else { continue };
            let (communicator, root) = (descriptor.object, descriptor.peer);
            let none = CollectiveCalls { op, communicator, root, calls: 0, sent: 0, received: 0 };
            let sum = sums.entry((op, communicator, root, descriptor.sent, descriptor.received)).or_insert(none);
            sum.calls += totals.calls;
            sum.sent = sum.sent.saturating_add(totals.sent);
            sum.received = sum.received.saturating_add(totals.received);
        }
        sums.into_values()
    }

    /// The messages of these calls that the rank counts.
    fn messages(&self, library: Option<LibraryRules>, rank: u32, members: &[i32], others: &[i32]) -> Vec<MessageFlow> {
        let index = |rank: i32| members.iter().position(|member| *member == rank).map(|index| index as u32);
        let Some(own_index) = index(rank as i32) else { return Vec::new() };
        let (sent, received) = (self.sent / self.calls.max(1), self.received / self.calls.max(1));
        let calls = MemberCalls { library, members, own_index, root_index: 0, calls: self.calls, sent, received };
        if others.is_empty() {
            collective::message_flows(self.op, &MemberCalls { root_index: index(self.root).unwrap_or(0), ..calls })
        } else {
            intercomm_collective::message_flows(self.op, &calls, others, self.root)
        }
    }

    /// One message per call to each destination. Nothing is sent across non-periodic borders; the parts are assumed equal.
    fn neighbour_messages(&self, rank: u32, destinations: &[i32]) -> Vec<MessageFlow> {
        let destinations = destinations.iter().filter(|to| **to != raw::PROC_NULL);
        let bytes = self.sent / destinations.clone().count().max(1) as u64;
        destinations.map(|to| MessageFlow { from: rank as i32, to: *to, messages: self.calls, bytes }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::raw::part;
    use sintonia_recording::testing::{call, descriptor_totals};

    /// An edge with these bytes in each direction, and this many messages.
    fn edge(a: u32, b: u32, [there, back]: [u64; 2], messages: u64) -> CommEdge {
        CommEdge { ranks: [a, b], bytes: there + back, bytes_forward: there, messages }
    }

    #[test]
    fn both_directions_are_added_and_nobody_is_its_own_neighbour() {
        let flows = [(0, 1, 10), (1, 0, 5), (2, 1, 7)].map(|(from, to, bytes)| MessageFlow { from, to, messages: 1, bytes });
        assert_eq!(merge_edges(flows.map(CommEdge::from_flow).to_vec()), [edge(0, 1, [10, 5], 2), edge(1, 2, [0, 7], 1)]);
    }

    #[test]
    fn ranks_that_left_nothing_are_vertices_of_weight_one() {
        let part = |rank, compute_us| RankContribution {
            rank,
            compute_us,
            edges: vec![edge(0, 2, [4, 0], 1), edge(2, 9, [1, 0], 1)],
            omitted: OmittedTraffic { neighbourhood: rank == 2, persistent: false },
        };
        let graph = CommunicationGraph::from_contributions(3, vec![part(0, 50), part(2, 0)], None);
        assert_eq!((graph.compute_us, graph.edges), (vec![50, 1, 1], vec![edge(0, 2, [8, 0], 2)]));
        assert!(graph.omitted.neighbourhood && graph.collectives.is_none());
    }

    #[test]
    fn calls_that_differ_in_size_are_counted_apart() {
        let bcast = |bytes, count, mark| descriptor_totals(call("MPI_Bcast").on(0).peer(1).sent(bytes).mark(mark), count);
        let ibcast = descriptor_totals(call("MPI_Ibcast").on(0).peer(1).sent(8), 1);
        let send = descriptor_totals(call("MPI_Send").peer(0).sent(1), 1);
        let totals = vec![bcast(8, 3, 0), bcast(100, 2, 0), bcast(7, 9, part::ERROR), ibcast, send];
        let activity = RankActivity { rank: 1, totals, ..RankActivity::default() };
        let mut sums: Vec<CollectiveCalls> = CollectiveCalls::sum_by_size(&activity).collect();
        sums.sort_by_key(|sum| sum.sent);
        let expected = |calls, sent| CollectiveCalls { op: CollectiveOp::Broadcast, communicator: 0, root: 1, calls, sent, received: 0 };
        assert_eq!(sums, [expected(4, 32), expected(2, 200)]);
        assert_eq!(sums[0].messages(None, 1, &[1, 0], &[]), [MessageFlow { from: 1, to: 0, messages: 4, bytes: 32 }]);
        assert_eq!(sums[0].messages(None, 7, &[1, 0], &[]), []);
    }
}
