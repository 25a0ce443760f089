//! The communication graph of a recording whose messages are known.

use sintonia_program::{CommEdge, CommunicationGraph, CommunicationMatrix, MatrixCell, RankActivity, RankTraffic, TimeSplit};
use sintonia_recording::neighbours::{self, TopologyNeighbours};
use sintonia_recording::raw::PROC_NULL;
use sintonia_recording::testing::*;

fn edges(graph: &CommunicationGraph) -> Vec<(u32, u32, u64, u64)> {
    graph.edges.iter().map(|CommEdge { ranks: [a, b], bytes, messages, .. }| (*a, *b, *bytes, *messages)).collect()
}

#[test]
fn every_message_is_counted_once_and_collectives_as_their_algorithm_sends_them() {
    let recording = sample::recording();
    let graph = CommunicationGraph::from_recording(&recording, true, || ()).unwrap();
    assert_eq!(graph.compute_us, [5_000_000, 4_500_000, 7_000_000, 5_000_000, 1]);
    // Open MPI broadcasts 100 bytes to 5 ranks down a tree with the edges 0-1, 0-2, 0-4 and 1-3.
    assert_eq!(edges(&graph), [(0, 1, 2100, 3), (0, 2, 100, 1), (0, 4, 100, 1), (1, 2, 192, 3), (1, 3, 100, 1)]);
    assert!(graph.collectives.is_some_and(|lines| lines[0].contains("Open MPI")));
    assert_eq!(graph.omitted.notes().count(), 0);
}

#[test]
fn collectives_can_be_left_out() {
    let recording = sample::recording();
    let graph = CommunicationGraph::from_recording(&recording, false, || ()).unwrap();
    assert_eq!(edges(&graph), [(0, 1, 2000, 2), (1, 2, 192, 3)]);
    assert_eq!(graph.collectives, None);
}

#[test]
fn the_matrix_tells_directions_apart_and_has_the_time_of_both_ends() {
    let recording = sample::recording();
    let traffic: Vec<RankTraffic> = recording.header.ranks.iter().map(|rank| RankTraffic::read(&recording, rank).unwrap()).collect();
    let matrix =
        |group_of: &[u32]| CommunicationMatrix::from_traffic(&recording, &traffic, false, group_of).cells.into_iter().collect::<Vec<_>>();
    let tenth = 100_000_000;
    // Two sends of a second each; a receive of two, and half a second for the wait that completes the other.
    let there = MatrixCell { messages: 2, bytes: 2000, call_ns: 45 * tenth };
    let nobody_receives = MatrixCell { messages: 3, bytes: 192, call_ns: 0 };
    assert_eq!(matrix(&[0, 1, 2, 3, 4]), [((0, 1), there), ((2, 1), nobody_receives)]);
    assert_eq!(matrix(&[0, 0, 1, 1, 1]), [((0, 0), there), ((1, 0), nobody_receives)]);
}

#[test]
fn neighbourhood_collectives_go_straight_to_the_neighbours() {
    let alltoall = |sent: u64| vec![collective("MPI_Neighbor_alltoall").sent(sent).line(1).at_ms(0, 1)];
    let calls = [alltoall(10), alltoall(20), alltoall(10)];
    // A line of three ranks, non-periodic.
    let others = |rank: i32| [rank - 1, rank + 1].map(|other| if (0..3).contains(&other) { other } else { PROC_NULL }).to_vec();
    let line = (0..3).map(|rank| (rank as u32, TopologyNeighbours { sources: others(rank), destinations: others(rank) })).collect();
    let recording =
        RecordingBuilder::new().ranks(&calls).header(|header| header.communicators[0].neighbours = neighbours::encode(&line)).write();
    let graph = CommunicationGraph::from_recording(&recording, true, || ()).unwrap();
    assert_eq!((edges(&graph), graph.omitted.neighbourhood), (vec![(0, 1, 20, 2), (1, 2, 20, 2)], false));
    let recording = record_calls(&calls);
    let graph = CommunicationGraph::from_recording(&recording, true, || ()).unwrap();
    assert_eq!((edges(&graph), graph.omitted.neighbourhood), (vec![], true));
}

#[test]
fn a_profile_gives_the_same_but_for_persistent_operations() {
    let recording = sample::profile();
    let graph = CommunicationGraph::from_recording(&recording, true, || ()).unwrap();
    assert_eq!(graph.compute_us, [5_000_000, 4_500_000, 7_000_000, 5_000_000, 1]);
    assert_eq!(edges(&graph), [(0, 1, 2100, 3), (0, 2, 100, 1), (0, 4, 100, 1), (1, 3, 100, 1)]);
    assert_eq!(graph.omitted.notes().count(), 1);
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_time_of_a_rank_is_that_of_all_its_threads() {
    let recording = sample::threads();
    let activity = RankActivity::read(&recording, &recording.header.ranks[0]).unwrap();
    assert_eq!(activity.time, TimeSplit { mpi_ns: 10 * SECOND, compute_ns: 8 * SECOND, init_ns: SECOND, finalize_ns: SECOND });
    assert_eq!(activity.totals.iter().map(|(_, totals)| totals.calls).sum::<u64>(), 3);
    let threads: Vec<_> = activity.threads.iter().map(|t| (t.thread, t.main, t.active_ns() / SECOND, t.only_communicates())).collect();
    assert_eq!(threads, [(0, true, 10, false), (1, false, 8, true)]);
}
