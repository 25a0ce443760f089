//! The program graph does not depend on the number of processes that read the ranks.

mod story;

use std::sync::atomic::{AtomicUsize, Ordering};

use sintonia_program::graph::ProgramGraph;
use sintonia_program::process_group::ProcessGroup;
use story::*;

#[test]
fn every_rank_is_read_by_one_process_of_a_company() {
    let calls = vec![call(0, 10, 1, init()), call(20, 30, 2, collective("MPI_Barrier")), call(40, 50, 9, finalize())];
    let (_folder, recording) = story(&vec![calls; 6]);
    let readings = |comm: &dyn ProcessGroup| {
        let count = AtomicUsize::new(0);
        ProgramGraph::from_recording_in_group(&recording, comm, &|| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
        count.into_inner()
    };
    assert_eq!(together(3, readings), [2 * ProgramGraph::PASSES; 3]);
}

#[test]
fn any_company_finds_the_same_program() {
    let rank = |rank: u64| {
        let mut calls = vec![call(0, 10, 1, init()), call(20, 30, 2, with("MPI_Bcast", 0))];
        for round in 0..3 + rank % 2 {
            let t = 100 + round * 100;
            calls.push(call(t, t + 5, 3, irecv()));
            calls.push(call(t + 10 + rank, t + 20, 4, send(((rank + 1) % 5) as i32)));
            calls.push(call(t + 30, t + 40, 5, wait("MPI_Wait", &[(0, Some(((rank + 4) % 5) as i32))])));
            calls.extend((rank > 2).then(|| (1, t + 50, t + 55, collective("MPI_Comm_dup"))));
        }
        calls.extend([call(900 + rank, 910, 6, collective("MPI_Allreduce")), call(950, 960, 9, finalize())]);
        calls
    };
    let (_folder, recording) = story(&(0..5).map(rank).collect::<Vec<_>>());
    let find = |comm: &dyn ProcessGroup| {
        let ProgramGraph {
            nodes,
            loops,
            roles,
            messages,
            unmatched_sends: not_received,
            unmatched_receives: not_sent,
            collective_sets: together,
            completions,
            phases,
            ..
        } = ProgramGraph::from_recording_in_group(&recording, comm, &|| ()).unwrap();
        (nodes, format!("{loops:?}"), roles, format!("{messages:?}"), (not_received, not_sent), together, completions, phases)
    };
    let alone = find(&sintonia_program::process_group::SingleProcess);
    assert!(alone.0.len() > 6 && alone.2.len() > 1 && alone.7.list.len() > 1, "{alone:#?}");
    for size in [2, 3, 7] {
        for found in together(size, find) {
            assert_eq!(found, alone, "{size} processes");
        }
    }
}
