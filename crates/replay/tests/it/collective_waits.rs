//! Replays without the lateness of a rank for which the others wait inside a collective, where MPI does not require it.

use std::sync::Arc;

use sintonia_program::history::CollectiveDependencies;
use sintonia_recording::testing::{TestCall, collective, finalize, init, record_calls};
use sintonia_replay::changes::{DurationChange, ReplayChanges};
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, replay};

/// One collective with root 0 under MPICH: the late rank computes for 20 ms and all leave after 21 ms. How many milliseconds each rank takes
/// if the late one does not compute.
fn without_lateness(function: &str, ranks: u32, bytes: u64, late: u32) -> Vec<f64> {
    let calls = |rank: u32| -> [TestCall; 3] {
        let call = collective(function).peer(0).sent(bytes).line(10);
        let enter = if rank == late { 20 } else { 0 };
        [init().line(1).at_ms(0, 0), call.at_ms(enter, 21), finalize().line(99).at_ms(21, 21)]
    };
    let recording = record_calls((0..ranks).map(calls)).with_header(|header| header.mpi.library = "MPICH 4.0.2".into());
    let dependencies = CollectiveDependencies::read(&recording).unwrap().map(Arc::new);
    let mut changes = ReplayChanges { collective_dependencies: dependencies, ..ReplayChanges::default() };
    changes.loads.change((1, 10), late, DurationChange::Fixed(0.0));
    let replayed = replay(&recording.recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &changes, None).unwrap();
    replayed.ranks.iter().map(|rank| (rank.replayed_s * 1e6).round() / 1e3).collect()
}

#[test]
fn the_root_of_a_broadcast_around_a_ring_waits_no_longer() {
    assert_eq!(without_lateness("MPI_Bcast", 8, 1 << 20, 5), [1.0; 8]);
}

#[test]
fn the_other_rank_of_a_reduction_by_halves_waits_no_longer() {
    assert_eq!(without_lateness("MPI_Reduce", 2, 4096, 0), [1.0; 2]);
}

#[test]
fn lower_ranks_of_a_scan_wait_no_longer() {
    assert_eq!(without_lateness("MPI_Scan", 4, 8, 3), [1.0; 4]);
}

#[test]
fn an_inner_rank_of_a_gather_waits_no_longer() {
    // Rank 2 is between the late rank and the root; rank 1 is not, but was recorded to leave with them.
    assert_eq!(without_lateness("MPI_Gather", 4, 8, 3), [1.0; 4]);
}
