//! The program graph does not depend on the number of processes that read the ranks.

use std::sync::atomic::{AtomicUsize, Ordering};

use sintonia_program::graph::ProgramGraph;
use sintonia_program::process_group::ProcessGroup;
use sintonia_program::testing::run_in_group;
use sintonia_recording::raw::ANY;
use sintonia_recording::testing::*;

#[test]
fn every_rank_is_read_by_one_process_of_a_company() {
    let calls = vec![init().line(1).at_ms(0, 10), collective("MPI_Barrier").line(2).at_ms(20, 30), finalize().line(9).at_ms(40, 50)];
    let recording = record_calls(vec![calls; 6]);
    let readings = |comm: &dyn ProcessGroup| {
        let count = AtomicUsize::new(0);
        ProgramGraph::from_recording_in_group(&recording, comm, &|| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
        count.into_inner()
    };
    assert_eq!(run_in_group(3, readings), [2 * ProgramGraph::PASSES; 3]);
}

#[test]
fn any_company_finds_the_same_program() {
    let rank = |rank: u64| {
        let mut calls = vec![init().line(1).at_ms(0, 10), collective("MPI_Bcast").peer(0).line(2).at_ms(20, 30)];
        for round in 0..3 + rank % 2 {
            let t = 100 + round * 100;
            calls.push(irecv(ANY).line(3).at_ms(t, t + 5));
            calls.push(send(((rank + 1) % 5) as i32).line(4).at_ms(t + 10 + rank, t + 20));
            calls.push(wait("MPI_Wait", &[(0, Some(((rank + 4) % 5) as i32))]).line(5).at_ms(t + 30, t + 40));
            calls.extend((rank > 2).then(|| collective("MPI_Comm_dup").at_ms(t + 50, t + 55).thread(1)));
        }
        calls.extend([collective("MPI_Allreduce").line(6).at_ms(900 + rank, 910), finalize().line(9).at_ms(950, 960)]);
        calls
    };
    let recording = record_calls((0..5).map(rank).collect::<Vec<_>>());
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
        for found in run_in_group(size, find) {
            assert_eq!(found, alone, "{size} processes");
        }
    }
}
