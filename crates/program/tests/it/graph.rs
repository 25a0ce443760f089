//! The program graph does not depend on the number of processes that read the ranks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{CallId, History};
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::raw::ANY;
use sintonia_recording::testing::*;

#[test]
fn every_rank_is_read_by_one_process_of_a_group() {
    let calls = vec![init().line(1).at_ms(0, 10), collective("MPI_Barrier").line(2).at_ms(20, 30), finalize().line(9).at_ms(40, 50)];
    let recording = record_calls(vec![calls; 6]);
    let readings = |comm: &dyn ProcessGroup| {
        let count = AtomicUsize::new(0);
        let history = History::read(&recording, comm, &|| ()).unwrap();
        ProgramGraph::from_history(&recording, &history, comm, &|| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
        count.into_inner()
    };
    assert_eq!(run_in_group(3, readings), [2 * ProgramGraph::PASSES; 3]);
}

#[test]
fn any_number_of_processes_finds_the_same_program() {
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
        } = ProgramGraph::from_history(&recording, &History::read(&recording, comm, &|| ()).unwrap(), comm, &|| ()).unwrap();
        (nodes, format!("{loops:?}"), roles, format!("{messages:?}"), (not_received, not_sent), together, completions, phases)
    };
    let alone = find(&SingleProcess);
    assert!(alone.0.len() > 6 && alone.2.len() > 1 && alone.7.list.len() > 1, "{alone:#?}");
    for size in [2, 3, 7] {
        for found in run_in_group(size, find) {
            assert_eq!(found, alone, "{size} processes");
        }
    }
}

/// What the graph says and what the history says: messages by the lines of the sending call and of the call that completed the receive.
type MessageLines = BTreeMap<(u32, u32), u64>;

fn lines_of_graph(graph: &ProgramGraph) -> MessageLines {
    let mut lines = MessageLines::new();
    for edge in &graph.messages {
        *lines.entry((graph.nodes[edge.from.1].site, graph.nodes[edge.to.1].site)).or_default() += edge.messages;
    }
    lines
}

fn lines_of_history(recording: &Recording, history: &History) -> MessageLines {
    let site = |at: CallId| {
        let calls = &history.locations[history.location_index(at).unwrap()].calls;
        recording.call_paths().canonical(calls.descriptors[calls.descriptor_ids[at.row as usize] as usize].site)
    };
    let mut lines = MessageLines::new();
    for location in &history.locations {
        for sent in location.sent.iter().filter(|sent| sent.receiver != CallId::NONE) {
            *lines.entry((site(location.call_id(sent.row)), site(sent.receiver))).or_default() += 1;
        }
    }
    lines
}

#[test]
fn messages_are_those_of_the_history_whatever_the_program() {
    for workload in Workload::ALL {
        let folder = tempfile::tempdir().unwrap();
        let recording = workload.record(folder.path(), 2000, 4);
        let history = History::read(&recording, &SingleProcess, &|| ()).unwrap();
        let graph = ProgramGraph::from_recording(&recording, || ()).unwrap();
        assert_eq!(lines_of_graph(&graph), lines_of_history(&recording, &history), "{}", workload.name());
        assert_eq!(
            (graph.unmatched_sends, graph.unmatched_receives),
            (history.unmatched.sends, history.unmatched.receives),
            "{}",
            workload.name()
        );
    }
}

#[test]
fn an_outer_exchange_is_not_mistaken_for_an_inner_one() {
    // Per round: one message from line 10 to 11, then three from 20 to 21, all with the same tag.
    let rank = |peer: i32| {
        let mut calls = vec![init().line(1).at_ms(0, 10)];
        for round in 0..4 {
            for inner in 0..4 {
                let (line, t) = (if inner == 0 { 10 } else { 20 }, 100 + round * 100 + inner * 10);
                calls.push(send(peer).line(line).at_ms(t, t + 2));
                calls.push(receive(peer).line(line + 1).at_ms(t + 4, t + 6));
            }
        }
        calls.push(finalize().line(9).at_ms(900, 960));
        calls
    };
    let graph = ProgramGraph::from_recording(&record_calls(vec![rank(1), rank(0)]), || ()).unwrap();
    assert_eq!(lines_of_graph(&graph), MessageLines::from([((10, 11), 8), ((20, 21), 24)]));
}
