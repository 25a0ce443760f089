//! The communication graph: ranks as vertices, what passes between them as edges.

use std::collections::HashMap;

use rayon::prelude::*;
use sintonia_mpi::{Operation, Pattern, Role};
use sintonia_recording::header::Rank;
use sintonia_recording::raw;
use sintonia_recording::table::{Shape, Totals};
use sintonia_recording::{Error, Recording};

use crate::collective::Party;
use crate::{Activity, Flow, between, collective};

/// Ranks as vertices, bytes and messages between them as edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationGraph {
    /// How long each rank computed, in microseconds, at least 1.
    pub compute_us: Vec<u64>,
    /// Pairs of ranks that exchanged messages, in order, each once.
    pub edges: Vec<Edge>,
    /// The algorithms that collectives are counted by; `None` if they are not counted.
    pub collectives: Option<&'static [&'static str]>,
    /// What is not in the graph because the recording does not tell enough.
    pub left_out: LeftOut,
}

/// What two ranks sent each other, both directions added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The two ranks, the smaller one first.
    pub ranks: [u32; 2],
    /// Bytes of all messages.
    pub bytes: u64,
    /// Those of them that the first rank sent.
    pub bytes_there: u64,
    /// How many messages.
    pub messages: u64,
}

/// Communication that a recording shows, but not between whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Neighbourhood collectives on a communicator whose topology the recording does not tell.
    pub neighbourhood: bool,
    /// Persistent operations in a profile: it does not say which ones were started.
    pub persistent: bool,
}

impl LeftOut {
    /// One sentence for each kind.
    pub fn sentences(self) -> impl Iterator<Item = &'static str> {
        let neighbourhood =
            self.neighbourhood.then_some("neighbourhood collectives are not counted where the recording does not tell the neighbours");
        let persistent = self.persistent.then_some("persistent operations are not counted: a profile does not say which ones were started");
        neighbourhood.into_iter().chain(persistent)
    }

    pub(crate) fn and(self, other: LeftOut) -> LeftOut {
        LeftOut { neighbourhood: self.neighbourhood || other.neighbourhood, persistent: self.persistent || other.persistent }
    }
}

/// One rank's part of the graph.
struct Contribution {
    rank: u32,
    compute_us: u64,
    edges: Vec<Edge>,
    left_out: LeftOut,
}

impl CommunicationGraph {
    /// Builds the graph of a recording, with or without collectives; `progress` is called after each rank.
    pub fn of(recording: &Recording, collectives: bool, progress: impl Fn() + Sync) -> Result<CommunicationGraph, Error> {
        let contribution = |rank: &Rank| {
            let contribution = Contribution::of(recording, &Activity::read(recording, rank)?, collectives);
            progress();
            Ok(contribution)
        };
        let contributions: Vec<Contribution> = recording.header.ranks.par_iter().map(contribution).collect::<Result<_, Error>>()?;
        let size = contributions.iter().map(|c| c.rank as usize + 1).max().unwrap_or(0).max(recording.header.size);
        Ok(CommunicationGraph::sum(size, contributions, collectives))
    }

    fn sum(size: usize, contributions: Vec<Contribution>, collectives: bool) -> CommunicationGraph {
        let mut compute_us = vec![1; size];
        let mut edges = Vec::new();
        let mut left_out = LeftOut::default();
        for contribution in contributions {
            compute_us[contribution.rank as usize] = contribution.compute_us.max(1);
            edges.extend(contribution.edges);
            left_out = left_out.and(contribution.left_out);
        }
        edges.retain(|edge: &Edge| (edge.ranks[1] as usize) < size);
        CommunicationGraph { compute_us, edges: merged(edges), collectives: collectives.then_some(collective::ALGORITHMS), left_out }
    }
}

impl Contribution {
    fn of(recording: &Recording, activity: &Activity, collectives: bool) -> Contribution {
        let (flows, left_out) = flows(recording, activity, collectives);
        let edges = flows.into_iter().filter(Flow::is_between_ranks).map(Edge::of).collect();
        Contribution { rank: activity.rank, compute_us: activity.time.outside_ns / 1000, edges: merged(edges), left_out }
    }
}

/// The messages that a rank counts, with or without those of collectives, and what cannot be counted.
pub(crate) fn flows(recording: &Recording, activity: &Activity, collectives: bool) -> (Vec<Flow>, LeftOut) {
    let mut flows: Vec<Flow> = activity.sent().collect();
    let mut left_out = LeftOut { persistent: recording.header.profile && activity.done().any(starts), ..LeftOut::default() };
    if collectives {
        for calls in CollectiveCalls::of(activity) {
            match calls.pattern.is_among_neighbours() {
                false => {
                    flows.extend(calls.messages(activity.rank, recording.members(calls.communicator), recording.remote(calls.communicator)))
                }
                true => match recording.neighbours(calls.communicator, activity.rank) {
                    Some(neighbours) => flows.extend(calls.neighbour_messages(activity.rank, &neighbours.destinations)),
                    None => left_out.neighbourhood = true,
                },
            }
        }
    }
    (flows, left_out)
}

impl Edge {
    fn of(flow: Flow) -> Edge {
        let (from, to) = (flow.from as u32, flow.to as u32);
        let bytes_there = if from < to { flow.bytes } else { 0 };
        Edge { ranks: [from.min(to), from.max(to)], bytes: flow.bytes, bytes_there, messages: flow.messages }
    }
}

/// Edges in order, those between the same ranks added up.
fn merged(mut edges: Vec<Edge>) -> Vec<Edge> {
    edges.par_sort_unstable_by_key(|edge| edge.ranks);
    edges.dedup_by(|next, kept| {
        let same = next.ranks == kept.ranks;
        if same {
            kept.bytes = kept.bytes.saturating_add(next.bytes);
            kept.bytes_there = kept.bytes_there.saturating_add(next.bytes_there);
            kept.messages = kept.messages.saturating_add(next.messages);
        }
        same
    });
    edges
}

fn starts((shape, _): &(Shape, Totals)) -> bool {
    matches!(shape.operation.role(), Role::Start | Role::StartAll)
}

/// Collective calls of one rank that differ only in their sizes, added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CollectiveCalls {
    pattern: Pattern,
    communicator: u32,
    root: i32,
    calls: u64,
    sent: u64,
    received: u64,
}

impl CollectiveCalls {
    fn of(activity: &Activity) -> impl Iterator<Item = CollectiveCalls> {
        let mut sums: HashMap<(Operation, u32, i32), CollectiveCalls> = HashMap::new();
        for (shape, totals) in activity.done() {
            let Role::Collective(pattern) = shape.operation.role() else { continue };
            let (communicator, root) = (shape.object, shape.peer);
            let none = CollectiveCalls { pattern, communicator, root, calls: 0, sent: 0, received: 0 };
            let sum = sums.entry((shape.operation, communicator, root)).or_insert(none);
            sum.calls += totals.calls;
            sum.sent = sum.sent.saturating_add(totals.sent);
            sum.received = sum.received.saturating_add(totals.received);
        }
        sums.into_values()
    }

    /// The messages of these calls that the rank counts.
    fn messages(&self, rank: u32, members: &[i32], others: &[i32]) -> Vec<Flow> {
        let place = |rank: i32| members.iter().position(|member| *member == rank);
        let Some(here) = place(rank as i32) else { return Vec::new() };
        let party = Party { members, here, root: 0, calls: self.calls, sent: self.sent, received: self.received };
        if others.is_empty() {
            collective::messages(self.pattern, &Party { root: place(self.root).unwrap_or(0), ..party })
        } else {
            between::messages(self.pattern, &party, others, self.root)
        }
    }

    /// One message per call to each destination. No data goes where a grid ends, and the parts of the others are taken as equal.
    fn neighbour_messages(&self, rank: u32, destinations: &[i32]) -> Vec<Flow> {
        let destinations = destinations.iter().filter(|to| **to != raw::PROC_NULL);
        let bytes = self.sent / destinations.clone().count().max(1) as u64;
        destinations.map(|to| Flow { from: rank as i32, to: *to, messages: self.calls, bytes }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::sample::{calls, shape};
    use sintonia_recording::raw::part;

    /// An edge with as many bytes there, back, and so many messages.
    fn edge(a: u32, b: u32, [there, back]: [u64; 2], messages: u64) -> Edge {
        Edge { ranks: [a, b], bytes: there + back, bytes_there: there, messages }
    }

    #[test]
    fn both_directions_are_added_and_nobody_is_its_own_neighbour() {
        let flows = [(0, 1, 10), (1, 0, 5), (2, 1, 7)].map(|(from, to, bytes)| Flow { from, to, messages: 1, bytes });
        assert_eq!(merged(flows.map(Edge::of).to_vec()), [edge(0, 1, [10, 5], 2), edge(1, 2, [0, 7], 1)]);
    }

    #[test]
    fn ranks_that_left_nothing_are_vertices_of_weight_one() {
        let part = |rank, compute_us| Contribution {
            rank,
            compute_us,
            edges: vec![edge(0, 2, [4, 0], 1), edge(2, 9, [1, 0], 1)],
            left_out: LeftOut { neighbourhood: rank == 2, persistent: false },
        };
        let graph = CommunicationGraph::sum(3, vec![part(0, 50), part(2, 0)], false);
        assert_eq!((graph.compute_us, graph.edges), (vec![50, 1, 1], vec![edge(0, 2, [8, 0], 2)]));
        assert!(graph.left_out.neighbourhood && graph.collectives.is_none());
    }

    #[test]
    fn calls_that_differ_in_size_are_counted_together() {
        let bcast = |bytes, count, mark| calls(shape("MPI_Bcast").on(0).peer(1).sent(bytes).mark(mark), count);
        let totals = vec![bcast(8, 3, 0), bcast(100, 2, 0), bcast(7, 9, part::ERROR), calls(shape("MPI_Send").peer(0).sent(1), 1)];
        let activity = Activity { rank: 1, totals, started: vec![], time: Time::default() };
        let sums: Vec<CollectiveCalls> = CollectiveCalls::of(&activity).collect();
        let expected = CollectiveCalls { pattern: Pattern::Broadcast, communicator: 0, root: 1, calls: 5, sent: 224, received: 0 };
        assert_eq!(sums, [expected]);
        assert_eq!(expected.messages(1, &[1, 0], &[]), [Flow { from: 1, to: 0, messages: 5, bytes: 224 }]);
        assert_eq!(expected.messages(7, &[1, 0], &[]), []);
    }
}
